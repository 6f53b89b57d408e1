"""Every marker a model may write around a call, as data: a new model is a new row in `FAMILIES`.

Markers are compared with `FOLD` applied: ASCII case does not matter inside them, and runtimes that print the
full-width bar and the block underscore of some vocabularies as `|` and `_` are understood as well.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias


class Body(enum.Enum):
    """What stands between an opener and its closer."""

    JSON = "JSON values"
    NAMED = "name + JSON"
    ELEMENT = "<parameter> XML"
    PAIRS = "<arg_key> pairs"
    INVOKE = "invoke XML"
    PYTHON = "Python call list"


class Role(enum.Enum):
    """What a marker does."""

    OPEN = enum.auto()
    ELEMENT = enum.auto()
    """Opens the head of an element that names the tool: `<function=`, `<invoke name=`."""
    CLOSE = enum.auto()
    ELEMENT_END = enum.auto()
    PARAMETER = enum.auto()
    PARAMETER_END = enum.auto()
    KEY = enum.auto()
    KEY_END = enum.auto()
    VALUE = enum.auto()
    VALUE_END = enum.auto()
    SEPARATOR = enum.auto()
    CONTROL = enum.auto()
    THINK = enum.auto()
    THINK_END = enum.auto()
    CALL = enum.auto()
    """A registered name with its bracket, `name(`."""
    USE = enum.auto()
    """`使用工具`"""
    NEED = enum.auto()
    """`我需要使用工具`"""


@dataclass(frozen=True, slots=True)
class Family:
    """One way of writing calls."""

    name: str
    openers: tuple[str, ...]
    closers: tuple[str, ...]
    bodies: tuple[Body, ...]
    separators: tuple[str, ...] = ()
    """Stand between the name and the arguments."""
    words: bool = True
    """Words may stand between the opener and the body (a repair; off for an opener that is a word itself)."""


J, N, E, P, V, Y = Body.JSON, Body.NAMED, Body.ELEMENT, Body.PAIRS, Body.INVOKE, Body.PYTHON

FAMILIES: Final = (
    Family("tool_call", ("<tool_call>",), ("</tool_call>",), (J, N, E, P, V, Y)),
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
        ("<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"),
        ("</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"),
        (V,),
    ),
    Family(
        "kimi",
        ("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        ("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
        (N, J),
        ("<|tool_call_argument_begin|>",),
    ),
    Family("granite", ("<|tool_call|>",), ("<|/tool_call|>",), (J, Y)),
    Family("lfm2", ("<|tool_call_start|>",), (), (Y, J)),
    Family("doubao", ("<|FunctionCallBegin|>",), ("<|FunctionCallEnd|>",), (J,)),
    Family("seed", ("<seed:tool_call>",), ("</seed:tool_call>",), (E, J)),
    Family("minimax", ("<minimax:tool_call>",), ("</minimax:tool_call>",), (V, J)),
    Family("function_calls", ("<function_calls>",), ("</function_calls>",), (V, E, J)),
    Family("tool_calls", ("<tool_calls>",), ("</tool_calls>",), (J, E, P, V, Y)),
    Family("nemotron", ("<TOOLCALL>",), ("</TOOLCALL>",), (J, Y)),
    Family("functools", ("functools",), (), (J,), words=False),
    Family("command", ("<|START_ACTION|>",), ("<|END_ACTION|>",), (J,)),
    Family("internlm", ("<|action_start|>", "<|plugin|>"), ("<|action_end|>",), (J,)),
)

ELEMENTS: Final = (
    # element name in a family's XML, what may stand before its name, the body it makes
    ("function", "=", Body.ELEMENT),
    ("invoke", " ", Body.INVOKE),
    ("｜DSML｜invoke", " ", Body.INVOKE),
)
PARAMETERS: Final = ("parameter", "｜DSML｜parameter")

CONTROL_TOKENS: Final = (
    "<｜end▁of▁sentence｜>",
    "<｜begin▁of▁sentence｜>",
    "<|eom_id|>",
    "<|eot_id|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|begin_of_text|>",
    "<|endoftext|>",
)

REASONING: Final = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    # A result that the model invents in our own notation is no more meant for people than its thoughts are.
    ("<tool_result", "</tool_result>"),
)

FOLD: Final[dict[str, str]] = {chr(c): chr(c + 32) for c in range(ord("A"), ord("Z") + 1)} | {"｜": "|", "▁": "_"}
END: Final = "end"
Trie: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class Marker:
    """A piece of syntax as it stands in the text, with its role."""

    written: str
    role: Role
    family: Family | None = None
    body: Body | None = None
    partner: str = ""
    """What ends it, for reasoning."""


def trie(markers: Iterable[Marker], fold: Mapping[str, str] = FOLD) -> Trie:
    """Make the tree that `Reader.match` walks. No marker may begin another one."""
    root: Trie = {}
    for marker in markers:
        node = root
        for c in marker.written:
            node = node.setdefault(fold.get(c, c), {})
        node.setdefault(END, marker)
    return root


def _markers() -> list[Marker]:
    found = []
    for family in FAMILIES:
        found += [Marker(word, Role.OPEN, family) for word in family.openers]
        found += [Marker(word, Role.CLOSE, family) for word in family.closers]
        found += [Marker(word, Role.SEPARATOR, family) for word in family.separators]
    for name, before, body in ELEMENTS:
        found.append(Marker(f"<{name}{before}", Role.ELEMENT, None, body))
        found.append(Marker(f"</{name}>", Role.ELEMENT_END, None, body))
    for name in PARAMETERS:
        found += [Marker(f"<{name}{before}", Role.PARAMETER) for before in "= "]
        found.append(Marker(f"</{name}>", Role.PARAMETER_END))
    for name, begin, end in (("arg_key", Role.KEY, Role.KEY_END), ("arg_value", Role.VALUE, Role.VALUE_END)):
        found += [Marker(f"<{name}>", begin), Marker(f"</{name}>", end)]
    found += [Marker(word, Role.CONTROL) for word in CONTROL_TOKENS]
    for begin_word, end_word in REASONING:
        found += [Marker(begin_word, Role.THINK, partner=end_word), Marker(end_word, Role.THINK_END)]
    return found


WORDINGS: Final = (Marker("使用工具", Role.USE), Marker("我需要使用工具", Role.NEED))
"""How a call begins that is written as a sentence; only at the beginning of a line."""

MARKERS: Final = tuple(_markers())


def trie_of(*roles: Role) -> Trie:
    """The tree of all markers with one of these roles."""
    return trie(marker for marker in MARKERS if marker.role in roles)


OPENERS: Final = trie_of(Role.OPEN, Role.ELEMENT)
CLOSERS: Final = trie_of(Role.CLOSE, Role.ELEMENT_END)
CLOSERS_AND_CONTROLS: Final = trie_of(Role.CLOSE, Role.ELEMENT_END, Role.CONTROL)
CONTROLS: Final = trie_of(Role.CONTROL)
SEPARATORS: Final = trie_of(Role.SEPARATOR)
INNER_ENDS: Final = frozenset({Role.ELEMENT_END, Role.PARAMETER_END, Role.KEY_END, Role.VALUE_END})
"""Ends that other XML may have too."""
STRAYS: Final = trie_of(Role.CLOSE, Role.CONTROL, *INNER_ENDS)
"""What a call leaves behind that a server has taken out of its text."""
ANYWHERE: Final = trie_of(Role.OPEN, Role.ELEMENT, Role.CLOSE, Role.CONTROL, Role.THINK, Role.THINK_END, *INNER_ENDS)
IN_XML: Final = trie_of(Role.OPEN, Role.ELEMENT, Role.CLOSE, Role.ELEMENT_END, Role.PARAMETER, Role.PARAMETER_END)
IN_PAIRS: Final = trie_of(Role.OPEN, Role.ELEMENT, Role.CLOSE, Role.KEY, Role.KEY_END, Role.VALUE, Role.VALUE_END)
