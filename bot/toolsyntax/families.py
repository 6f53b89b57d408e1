"""Every marker that a model may write around a call, as data: a new model is a new row in `FAMILIES`.

Markers are compared with `FOLD` applied: ASCII case is ignored inside them, and the full-width bar and block underscore
of some vocabularies equal `|` and `_`, which some runtimes print instead.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeAlias

from bot.toolsyntax.tokens import CONTROL_TOKENS, ENDINGS, HEADS, MESSAGES, TURNS


class Body(enum.Enum):
    """The content between an opener and its closer."""

    JSON = "JSON values"
    NAMED = "name + JSON"
    ELEMENT = "<parameter> XML"
    PAIRS = "<arg_key> pairs"
    INVOKE = "invoke XML"
    PYTHON = "Python call list"
    BRACES = "name{key:value}"
    XTML = "<|open|>argument elements"
    ARROWS = "{key => value}"


class Role(enum.Enum):
    """The role of a marker."""

    OPEN = enum.auto()
    ELEMENT = enum.auto()
    """Opens the head of an element that names the tool: `<function=`, `<invoke name=`."""
    CLOSE = enum.auto()
    ELEMENT_END = enum.auto()
    PARAMETER = enum.auto()
    PARAMETER_END = enum.auto()
    TAG = enum.auto()
    """An element of other XML, whose end does not end a call."""
    KEY = enum.auto()
    KEY_END = enum.auto()
    VALUE = enum.auto()
    VALUE_END = enum.auto()
    SEPARATOR = enum.auto()
    CONTROL = enum.auto()
    THINK = enum.auto()
    THINK_END = enum.auto()
    WRAP = enum.auto()
    """Wraps the answer after the thoughts; the answer itself is visible."""
    WRAP_END = enum.auto()
    MESSAGE = enum.auto()
    """Begins the head of a message, with its channel and its recipient."""
    ROLE = enum.auto()
    """Begins a turn of the conversation: the role's name after it is syntax, too."""
    END = enum.auto()
    """A token only if nothing but such tokens follows it in the reply."""
    CALL = enum.auto()
    """A registered name with its bracket, `name(`."""
    USE = enum.auto()
    """`使用工具`"""
    NEED = enum.auto()
    """`我需要使用工具`"""
    ACTION = enum.auto()
    """`Action:`"""
    NAMED = enum.auto()
    """A registered name that fills its line."""
    STRAY = enum.auto()
    """A word that fills the line before a call."""


@dataclass(frozen=True, slots=True)
class Family:
    """One way of writing calls: its opening, the tool's name, its body and its closing."""

    name: str
    openers: tuple[str, ...]
    closers: tuple[str, ...]
    bodies: tuple[Body, ...]
    separators: tuple[str, ...] = ()
    """Texts between the name and the arguments."""
    words: bool = True
    """Words can come between the opener and the body (a repair; off for an opener that is a word itself)."""
    colons: bool = False
    """A colon follows each marker."""


@dataclass(frozen=True, slots=True)
class Thought:
    """One way of separating thoughts from the answer."""

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    tag: bool = False
    """The marks are the beginnings of tags: a suffix or attributes may follow, up to `>`."""
    told: bool = False
    """It contains a tool's result, as the model invents it."""
    until: tuple[str, ...] = ()
    """These end it, too."""


J, N, E, P, V, Y = Body.JSON, Body.NAMED, Body.ELEMENT, Body.PAIRS, Body.INVOKE, Body.PYTHON

HARMONY: Final = Family("harmony", (), ("<|call|>",), ())
"""Opened by the head of a message with a recipient (`channels.py`)."""

BRACKETED: Final = Family("bracketed", ("[TOOL_CALL]",), ("[/TOOL_CALL]",), (Body.ARROWS,))

FAMILIES: Final = (
    Family(
        "tool_call",
        ("<tool_call>", "<tool_call:opensource>", "<zyphra_tool_call>", "<longcat_tool_call>"),
        ("</tool_call>", "</tool_call:opensource>", "</zyphra_tool_call>", "</longcat_tool_call>"),
        (J, N, E, P, V, Y),
        ("<tool_sep>",),
    ),
    Family("python_tag", ("<|python_tag|>",), (), (J, Y)),
    Family("mistral", ("[TOOL_CALLS]",), ("[/TOOL_CALLS]",), (J, N), ("[ARGS]", "[CALL_ID]")),
    Family(
        "deepseek",
        ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>"),
        ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"),
        (N, J),
        ("<｜tool▁sep｜>",),
    ),
    Family(
        "dsml",
        ("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "<｜DSML｜calls>"),
        ("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>", "</｜DSML｜calls>"),
        (V,),
    ),
    Family(
        "kimi",
        ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        ("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
        (N, J),
        ("<|tool_call_argument_begin|>",),
    ),
    Family("llama4", ("<|python_start|>",), ("<|python_end|>",), (Y, J)),
    Family("lmstudio", ("[TOOL_REQUEST]",), ("[END_TOOL_REQUEST]",), (J, Y)),
    Family("granite", ("<|tool_call|>",), ("<|/tool_call|>",), (J, Y)),
    Family("lfm2", ("<|tool_call_start|>",), (), (Y, J)),
    Family("doubao", ("<|FunctionCallBegin|>",), ("<|FunctionCallEnd|>",), (J,)),
    Family("seed", ("<seed:tool_call>",), ("</seed:tool_call>",), (E, J)),
    Family("minimax", ("<minimax:tool_call>",), ("</minimax:tool_call>",), (V, J)),
    Family(
        "function_calls",
        ("<function_calls>", "<atem:function_calls>"),
        ("</function_calls>", "</atem:function_calls>"),
        (V, E, J),
    ),
    Family(
        "tool_calls",
        ("<tool_calls>", "<tool_calls:opensource>"),
        ("</tool_calls>", "</tool_calls:opensource>"),
        (J, E, P, V, Y),
    ),
    Family("nemotron", ("<TOOLCALL>",), ("</TOOLCALL>",), (J, Y)),
    Family("functools", ("functools",), (), (J,), words=False),
    Family("command", ("<|START_ACTION|>",), ("<|END_ACTION|>",), (J,)),
    Family(
        "gemma4",
        ("<|tool_call>", "<start_function_call>"),
        ("<tool_call|>", "<end_function_call>"),
        (Body.BRACES, J),
    ),
    Family("qwen_agent", ("✿FUNCTION✿",), (), (N,), ("✿ARGS✿",), colons=True),
    HARMONY,
    Family("internlm", ("<|action_start|>", "<|plugin|>"), ("<|action_end|>",), (J,)),
    Family("kimi_k3", ("<|open|>tools<|sep|>",), ("<|close|>tools<|sep|>", "<|close|>call<|sep|>"), ()),
    Family("apertus", ("<|tools_prefix|>",), ("<|tools_suffix|>",), (J,)),
    BRACKETED,
    Family("function_call", ("<function_call>",), ("</function_call>",), (J, N, Y)),
    # Words that other XML has, too.
    Family("tools", ("<tools>", "<tool>"), ("</tools>", "</tool>"), (J,), words=False),
)

ELEMENTS: Final = (
    # element name in a family's XML, what may stand before its name, the body it makes
    ("function", "=", Body.ELEMENT),
    ("function", " ", Body.INVOKE),
    ("invoke", " ", Body.INVOKE),
    ("｜DSML｜invoke", " ", Body.INVOKE),
    ("steptml:invoke", " ", Body.INVOKE),
    ("atem:invoke", " ", Body.INVOKE),
)
PARAMETERS: Final = ("parameter", "｜DSML｜parameter", "steptml:parameter", "atem:parameter")
PAIRS: Final = ("arg_{}", "arg_{}:opensource", "longcat_arg_{}")
"""Names of the elements that hold a key or a value."""
XTML_HEADS: Final = ("<|open|>call ", "<|open|>toolscall ")
"""What opens a call of Kimi K3; in the second, tokens were lost."""

_SLIPS: Final = ("/", *"0123456789")
"""Characters that models wrongly write before the `>` of an end."""

THOUGHTS: Final = (
    Thought(("<think", "<mm:think"), ("</think", "</mm:think"), tag=True),
    Thought(("<thought",), ("</thought",), tag=True),
    Thought(("<seed:think",), ("</seed:think",), tag=True),
    Thought(("[THINK]",), ("[/THINK]",)),
    Thought(("<|START_THINKING|>",), ("<|END_THINKING|>",)),
    # A result that the model invents is hidden like its thoughts.
    Thought(("<tool_result",), ("</tool_result>",), told=True),
    Thought(("<tool_response>",), ("</tool_response>",), told=True),
    Thought(("<|START_TOOL_RESULT|>",), ("<|END_TOOL_RESULT|>",), told=True),
    Thought(("<|channel>",), ("<channel|>",)),
    Thought(("<longcat_think",), ("</longcat_think",), tag=True),
    Thought(("◁think▷",), ("◁/think▷",)),
    Thought(("<|open|>think<|sep|>",), ("<|close|>think<|sep|>",)),
    Thought(("<|begin_of_thought|>",), ("<|end_of_thought|>",)),
    Thought(("<|inner_prefix|>",), ("<|inner_suffix|>",)),
    Thought(("<unused94>",), ("<unused95>",)),
    # Its beginning is a sentence of the prompt.
    Thought((), ("[BEGIN FINAL RESPONSE]",)),
    Thought(("<｜tool▁outputs▁begin｜>", "<｜tool▁output▁begin｜>"), ("<｜tool▁outputs▁end｜>",), told=True),
    Thought(("<function_results>",), ("</function_results>",), told=True),
    Thought(("<|tool_response>",), ("<tool_response|>",), told=True),
    Thought(("<start_function_response>",), ("<end_function_response>",), told=True),
    Thought(("✿RESULT✿",), ("✿RETURN✿",), told=True, until=("✿FUNCTION✿",)),
)

ANALYSIS: Final = Thought((), ("<|end|>", "<|return|>", "<|call|>", "<|eom|>", "<|eot|>"), until=MESSAGES)
"""A message of Harmony, or of Muse, that is not for people."""
BARE: Final = Thought((), ("assistantfinal",), until=("assistantcommentary to=functions.",))
"""An analysis of Harmony whose tokens a server has removed, so that only its words are left: `analysisWe …`."""

WRAPPERS: Final = ("answer", "answer:opensource", "response")
"""Elements around the whole answer after the thoughts."""

FOLD: Final[dict[str, str]] = {chr(c): chr(c + 32) for c in range(ord("A"), ord("Z") + 1)} | {
    "｜": "|",
    "‖": "|",
    "▁": "_",
}
END: Final = "end"
Trie: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class Marker:
    """A piece of syntax in the text, with its role."""

    written: str
    role: Role
    family: Family | None = None
    body: Body | None = None
    thought: Thought | None = None
    """The row, for reasoning."""

    @property
    def element(self) -> str:
        """The name of the element that a tag begins or ends."""
        return self.written.strip("</=> 0123456789")


def trie(markers: Iterable[Marker], fold: Mapping[str, str] = FOLD) -> Trie:
    """Return the tree that `Reader.match` walks. No marker may begin another one.

    A branch is a function that returns its tree, until the first text leads into it: most text leads into few.
    """
    return _branch([("".join(fold.get(c, c) for c in marker.written), marker) for marker in markers], 0)


def _branch(words: Sequence[tuple[str, Marker]], depth: int) -> Trie:
    """Return the tree of words that agree in their first `depth` characters."""
    node: Trie = {}
    further: dict[str, list[tuple[str, Marker]]] = {}
    for word, marker in words:
        if len(word) == depth:
            node.setdefault(END, marker)
        else:
            further.setdefault(word[depth], []).append((word, marker))
    return node | {c: partial(_branch, found, depth + 1) for c, found in further.items()}


def _markers() -> list[Marker]:
    found = []
    for family in FAMILIES:
        found += [Marker(word, Role.OPEN, family) for word in family.openers]
        found += [Marker(word, Role.CLOSE, family) for word in family.closers]
        found += [Marker(word, Role.SEPARATOR, family) for word in family.separators]
    for name, before, body in ELEMENTS:
        found.append(Marker(f"<{name}{before}", Role.ELEMENT, None, body))
        found += [Marker(f"</{name}{slip}>", Role.ELEMENT_END, None, body) for slip in ("", "/")]
    for name in PARAMETERS:
        found += [Marker(f"<{name}{before}", Role.PARAMETER) for before in "= "]
        found += [Marker(f"</{name}{slip}>", Role.PARAMETER_END) for slip in ("", *_SLIPS)]
    found += [Marker(word, Role.ELEMENT, None, Body.XTML) for word in XTML_HEADS]
    for pair in PAIRS:
        for name, begin, end in (("key", Role.KEY, Role.KEY_END), ("value", Role.VALUE, Role.VALUE_END)):
            found += [Marker(f"<{pair.format(name)}>", begin), Marker(f"</{pair.format(name)}>", end)]
    found += [Marker(f"<{name}>", Role.TAG) for name in ("function", "invoke", "parameter")]
    found += [Marker(word, Role.ROLE if word in TURNS else Role.CONTROL) for word in CONTROL_TOKENS]
    found += [Marker(word, Role.END) for word in ENDINGS]
    found += [Marker(word, Role.MESSAGE) for word in MESSAGES]
    for thought in THOUGHTS:
        found += [Marker(word, Role.THINK, thought=thought) for word in thought.openers]
        ends = [word for word in thought.closers if word not in CONTROL_TOKENS]
        found += [Marker(word, Role.THINK_END, thought=thought) for word in ends]
    for name in WRAPPERS:
        found += [Marker(f"<{name}>", Role.WRAP), Marker(f"</{name}>", Role.WRAP_END)]
    return found


WORDINGS: Final = (
    Marker("使用工具", Role.USE),
    Marker("我需要使用工具", Role.NEED),
)
"""Beginnings of a call written as a sentence; only at the beginning of a line."""
LINE_STARTS: Final = (
    *WORDINGS,
    Marker("Action:", Role.ACTION),
    Marker(">>>all\n", Role.NAMED),
    Marker("all\n", Role.NAMED),
    # Claude's: https://github.com/anthropics/claude-code/issues/69529
    *(Marker(f"{word}\n", Role.STRAY) for word in ("call", "count", "court")),
)
"""These, and words with another meaning elsewhere."""

MARKERS: Final = tuple(_markers())


def trie_of(*roles: Role) -> Trie:
    """Return the tree of all markers with one of these roles."""
    return trie(marker for marker in MARKERS if marker.role in roles)


OPENERS: Final = trie_of(Role.OPEN, Role.ELEMENT)
CLOSERS: Final = trie_of(Role.CLOSE, Role.ELEMENT_END)
TOKENS: Final = (Role.CONTROL, Role.ROLE)
CLOSERS_AND_CONTROLS: Final = trie_of(Role.CLOSE, Role.ELEMENT_END, *TOKENS)
SEPARATORS: Final = trie_of(Role.SEPARATOR)
ELEMENT_HEADS: Final = trie_of(Role.ELEMENT)
INNER_ENDS: Final = frozenset({Role.ELEMENT_END, Role.PARAMETER_END, Role.KEY_END, Role.VALUE_END})
"""Ends that other XML can have, too."""
STRAYS: Final = trie_of(Role.CLOSE, *TOKENS, *INNER_ENDS)
"""The remains of a call that a server has removed from its text."""
ENDS: Final = trie_of(Role.CLOSE, Role.END, *TOKENS, *INNER_ENDS)
"""What can be at the very end of a reply."""
HEAD_TOKENS: Final = trie(Marker(word, Role.MESSAGE) for word in (*MESSAGES, "<|constrain|>", "<|message|>"))
LINE_HEADS: Final = trie(Marker(word, Role.MESSAGE) for word in HEADS)
MESSAGE_ENDS: Final = trie(Marker(word, Role.CONTROL) for word in (*ANALYSIS.closers, *ANALYSIS.until))
ANYWHERE: Final = trie_of(*set(Role) - {Role.SEPARATOR})
IN_XML: Final = trie_of(Role.OPEN, Role.ELEMENT, Role.CLOSE, Role.ELEMENT_END, Role.PARAMETER, Role.PARAMETER_END)
IN_PAIRS: Final = trie_of(Role.OPEN, Role.ELEMENT, Role.CLOSE, Role.KEY, Role.KEY_END, Role.VALUE, Role.VALUE_END)
