"""Tokens of models' templates around an answer, as words: a new one is a line here."""

from __future__ import annotations

from typing import Final

CONTROL_TOKENS: Final = (
    "<｜end▁of▁sentence｜>",
    "<｜begin▁of▁sentence｜>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|eom|>",
    "<|eot|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|header_start|>",
    "<|header_end|>",
    "<|begin_of_text|>",
    "<|endoftext|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    "<|START_OF_TURN_TOKEN|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|CHATBOT_TOKEN|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<|im_assistant|>",
    "<|im_user|>",
    "<|im_system|>",
    "<|im_middle|>",
    "<|turn>",
    "<turn|>",
    "<|end|>",
    "<|return|>",
    "<|message|>",
    "<|constrain|>",
    "✿RETURN✿",
    "[e~[",
    "<|open|>response<|sep|>",
    "<|close|>response<|sep|>",
    "<|close|>message<|sep|>",
    "<|sep|>",
    "<|end_of_msg|>",
    "<|begin_of_box|>",
    "<|end_of_box|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|begin_of_solution|>",
    "<|end_of_solution|>",
    "<|assistant_start|>",
    "<|assistant_end|>",
    "<|start_of_role|>",
    "<|end_of_role|>",
    "<|end_of_text|>",
    "[END FINAL RESPONSE]",
)

NOISE: Final = "]<]minimax[>["
"""Comes before each tag of MiniMax M3 and means nothing."""

MESSAGES: Final = ("<|start|>", "<|channel|>")
"""Tokens that begin the head of a message."""
HEADS: Final = (
    "to=functions.",
    "commentary to=functions.",
    "analysis to=functions.",
    "analysis<|message|>",
    "commentary<|message|>",
    "final<|message|>",
    "to=self<|message|>",
    "to=user<|message|>",
    "assistantcommentary to=functions.",
)
"""Beginnings of a line whose first token was in the prompt, or was lost on the way."""

TURNS: Final = (
    "<|im_start|>",
    "<|im_assistant|>",
    "<|im_user|>",
    "<|im_system|>",
    "<|start_header_id|>",
    "<|header_start|>",
    "<start_of_turn>",
    "<|start_of_role|>",
    "<|turn>",
)
"""Control tokens that begin a turn."""

ENDINGS: Final = (
    "</s>",
    "<eos>",
    "[EOS]",
    "<pad>",
    "[PAD]",
    "<end_of_utterance>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "<|observation|>",
)
"""Control tokens that also occur in prose: they are tokens only at the end of a reply."""

BEGINNINGS: Final = (
    "<s>",
    "<bos>",
    "<pad>",
    "<unk>",
    "[BOS]",
    "[gMASK]",
    "<sop>",
    "[INST]",
    "[/INST]",
    "<|user|>",
    "<|system|>",
    "<|assistant|>",
)
"""Tokens that are one only at the beginning of a reply, where elsewhere they are words, or HTML."""
FIRST_WORDS: Final = ("assistant\n", "model\n", "assistantfinal", "analysis")
"""Names of a role or a channel at the beginning of a reply, whose tokens are missing."""
