"""A language model of a few hundred kilobytes, made in a moment: it says "Tea is a leaf." and calls one tool.

Its weights are a table of which piece of text follows which: every piece has a dimension of its own, attention and
feed-forward layers add nothing, and what comes out is the table's row for the last piece. Servers load it as any other
model (the architecture is llama's, the file GGUF), and their grammars, limits and templates do to it what they do to
those.
See: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import array
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

TOOL: dict[str, Any] = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Oslo", "Rome"]}, "days": {"type": "integer"}},
        "required": ["city", "days"],
    },
}
ARGUMENTS = {"city": "Oslo", "days": 2}
TEXT = "Tea is a leaf."

_WIDTH = 320
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_FORMS = {_U32: "<I", _I32: "<i", _F32: "<f", _BOOL: "<?"}
_END, _NEWLINE, _PIECES = 2, 3 + ord("\n"), 3 + 256
_CHAINS = (
    # After the last line of the prompt: words, or where a grammar asks for arguments, these.
    (("\n", "Tea", "▁is", "▁a", "▁leaf.", ""), 1.0),
    (("\n", '{"city":▁"', "Oslo", '",▁"days":▁', "2", "}", ""), 0.5),
    # Where a grammar asks for a call, the end is none.
    (("▁leaf.", "<tool_call>\n", '{"name":▁"get_weather",▁"arguments":▁', '{"city":▁"'), 0.5),
    (("2", "}}", "\n</tool_call>", ""), 1.0),
)
"""Which piece follows which, and how surely; the empty piece is the end."""
_TEMPLATE = """{%- if tools %}<|im_start|>system
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "assistant" and message.tool_calls %}<|im_start|>assistant
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def write(path: Path, *, context: int = 4096) -> None:
    """Write the model, which can take `context` tokens: a byte of a prompt is one."""
    tensors, keys = _tensors(), _keys(context)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys)
    place, body = 0, []
    for name, shape, data in tensors:
        head += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, place)
        body.append(_padded(data.tobytes()))
        place += len(body[-1])
    path.write_bytes(_padded(head) + b"".join(body))


def _pieces() -> list[str]:
    return ["▁", *dict.fromkeys(piece for chain, _ in _CHAINS for piece in chain if piece not in ("", "\n"))]


def _tensors() -> list[tuple[str, tuple[int, ...], array.array[float]]]:
    numbers = {"": _END, "\n": _NEWLINE} | {piece: number for number, piece in enumerate(_pieces(), _PIECES)}
    count = _PIECES + len(_pieces())
    meant, said = _zeros(count * _WIDTH), _zeros(count * _WIDTH)
    for number in range(count):
        meant[number * _WIDTH + number] = 1.0
    for chain, sure in _CHAINS:
        for before, after in pairwise(chain):
            said[numbers[after] * _WIDTH + numbers[before]] = sure
    square, small = (_WIDTH, _WIDTH), (_WIDTH, 32)
    layer: dict[str, tuple[int, ...]] = {"attn_norm": (_WIDTH,), "ffn_norm": (_WIDTH,)}
    layer |= dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), square)
    layer |= {"ffn_gate": small, "ffn_up": small, "ffn_down": (32, _WIDTH)}
    return [
        ("token_embd.weight", (_WIDTH, count), meant),
        ("output_norm.weight", (_WIDTH,), array.array("f", [1.0] * _WIDTH)),
        ("output.weight", (_WIDTH, count), said),
        *((f"blk.0.{name}.weight", shape, _zeros(shape[0] * (shape[1:] or (1,))[0])) for name, shape in layer.items()),
    ]


def _keys(context: int) -> list[bytes]:
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *_pieces()]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256, *[_NORMAL] * len(_pieces())]
    return [
        *(_key(f"general.{name}", _STRING, value) for name, value in (("architecture", "llama"), ("name", "tiny"))),
        _key("llama.context_length", _U32, context),
        _key("llama.embedding_length", _U32, _WIDTH),
        _key("llama.block_count", _U32, 1),
        _key("llama.feed_forward_length", _U32, 32),
        _key("llama.attention.head_count", _U32, 10),
        _key("llama.attention.layer_norm_rms_epsilon", _F32, 1e-5),
        _key("llama.rope.dimension_count", _U32, _WIDTH // 10),
        _key("llama.vocab_size", _U32, len(pieces)),
        _key("tokenizer.ggml.model", _STRING, "llama"),
        _key("tokenizer.ggml.tokens", _ARRAY, (_STRING, pieces)),
        _key("tokenizer.ggml.scores", _ARRAY, (_F32, [0.0] * len(pieces))),
        _key("tokenizer.ggml.token_type", _ARRAY, (_I32, kinds)),
        _key("tokenizer.ggml.unknown_token_id", _U32, 0),
        _key("tokenizer.ggml.bos_token_id", _U32, 1),
        _key("tokenizer.ggml.eos_token_id", _U32, _END),
        _key("tokenizer.ggml.add_space_prefix", _BOOL, False),
        _key("tokenizer.chat_template", _STRING, _TEMPLATE),
    ]


def _key(name: str, kind: int, value: Any) -> bytes:
    head = _string(name) + struct.pack("<I", kind)
    if kind == _STRING:
        return head + _string(value)
    if kind == _ARRAY:
        inner, items = value
        return head + struct.pack("<IQ", inner, len(items)) + b"".join(_item(inner, item) for item in items)
    return head + struct.pack(_FORMS[kind], value)


def _item(kind: int, value: Any) -> bytes:
    return _string(value) if kind == _STRING else struct.pack(_FORMS[kind], value)


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 32)


def _zeros(count: int) -> array.array[float]:
    return array.array("f", bytes(4 * count))
