"""The template around an answer: its first token, the heads of turns, and turns of others that a model invents."""

from __future__ import annotations

from typing import Final

from bot.toolsyntax.families import BARE, Marker, Role, Thought, trie
from bot.toolsyntax.fences import Fences
from bot.toolsyntax.guard import Guard
from bot.toolsyntax.protected import Visible
from bot.toolsyntax.reader import Reader, Steps
from bot.toolsyntax.tokens import BEGINNINGS, FIRST_WORDS, TURNS

_OURS: Final = frozenset({"assistant", "model"})
_ROLES: Final = frozenset({*_OURS, "user", "system", "developer", "tool", "ipython", "tool_response"})
_LONGEST_ROLE: Final = 16
_STRUCK: Final = 200
"""How far an end of struck text is looked for."""
_TURN_ENDS: Final = frozenset({"<|eot_id|>", "<|im_end|>", "<end_of_turn>", "<turn|>", "<|eom_id|>"})
"""Tokens that end a turn; a role alone on its line after them begins the next one."""
_FIRST_TOKENS: Final = trie(Marker(word, Role.CONTROL) for word in BEGINNINGS)
_FIRST_WORDS: Final = trie((Marker(word, Role.ROLE) for word in FIRST_WORDS), {})
_AGAIN: Final = trie(Marker(word, Role.CONTROL) for word in ("<s>", "<bos>", "[INST]"))
_OTHERS: Final = Thought((), (), until=(*TURNS, "<|assistant|>"))
"""A turn of somebody else before the answer, as the prompt was echoed."""
_ECHO: Final = Thought((), ("[/INST]",))


class Turns:
    """Reads the marks of one reply's turns; the caller holds."""

    def __init__(self, reader: Reader, visible: Visible, fences: Fences, guard: Guard) -> None:
        self._reader = reader
        self._visible = visible
        self._fences = fences
        self._guard = guard

    def first(self) -> Steps[None]:
        """Read what only a template writes at the beginning of a reply."""
        r = self._reader
        going = True
        while going:
            start = r.hold()
            yield from r.skip()
            here = r.offset
            token = yield from r.match(_FIRST_TOKENS)
            if isinstance(token, Marker):
                going = yield from self._token(token.written, here)
            else:
                word = yield from r.match(_FIRST_WORDS, {})
                going = isinstance(word, Marker) and (yield from self._word(word.written, here))
            if not going:
                r.rewind(start)
            r.drop()

    def _token(self, token: str, start: int) -> Steps[bool]:
        """Return True if this is the beginning of a reply, and not a word or HTML; read what belongs to it."""
        if token == "<s>":
            return not (yield from self._is_struck())
        if token == "[INST]":
            yield from self._fences.reasoning(_ECHO, start, sure=False, alone=False)
            return self._visible.thought
        if token in ("<|user|>", "<|system|>"):
            yield from self._fences.reasoning(_OTHERS, start, sure=True, alone=False)
        return True

    def _is_struck(self) -> Steps[bool]:
        """Return True if an end of struck text follows on this line, and more text after it. Consumes nothing."""
        text = yield from self._reader.ahead(1)
        if not text or text.isspace():
            return False
        line, _, _ = (yield from self._reader.ahead(_STRUCK)).lower().partition("\n")
        behind = line.partition("</s>")[2].strip()
        return bool(behind) and not line.startswith("[inst]") and not behind.startswith(("<s>", "[inst]"))

    def _word(self, word: str, start: int) -> Steps[bool]:
        """Return True if this begins a reply without its tokens; read the analysis that it begins."""
        if word != "analysis":
            return True
        following = yield from self._reader.peek()
        if not ("A" <= following <= "Z"):
            return False
        yield from self._fences.reasoning(BARE, start, sure=True, alone=True)
        return True

    def begin(self) -> Steps[None]:
        """Read the role's name after the token that begins a turn; a turn of somebody else, too."""
        r = self._reader
        begin = r.offset
        name = yield from r.read_until(" <", _LONGEST_ROLE)
        c = yield from r.peek()
        if name not in _ROLES or c not in ("", "\n", "\r", "<"):
            r.rewind(begin)
        elif name not in _OURS:
            yield from self._others(begin)

    def after(self, token: str) -> Steps[None]:
        """Read a role alone on its line after a token that ends a turn."""
        r = self._reader
        if token not in _TURN_ENDS:
            return
        begin = r.offset
        yield from r.skip()
        name = yield from r.read_until(" <", _LONGEST_ROLE)
        if name not in _ROLES or (yield from r.peek()) not in ("\n", "\r"):
            r.rewind(begin)
        elif name not in _OURS:
            yield from self._others(begin)

    def goes_on(self, token: str, start: int) -> Steps[bool]:
        """Return True if a token that may be a word begins a turn: `<|user|>` before a line break, or with wide bars.

        After `</s>` another beginning follows.
        """
        r = self._reader
        if token in ("</s>", "<eos>", "[EOS]"):
            here = r.offset
            yield from r.skip()
            again = isinstance((yield from r.match(_AGAIN)), Marker)
            r.rewind(here)
            if again:
                yield from self._others(start)
            return again
        if "｜" not in r.taken(start) and (yield from r.peek()) not in ("\n", "\r"):
            return False
        if token != "<|assistant|>":
            yield from self._others(start)
        return True

    def _others(self, start: int) -> Steps[None]:
        """Hide a turn of somebody else, and everything after it if an answer was shown before."""
        self._visible.drop_spaces()
        if self._visible.wrote:
            yield from self._guard.swallow(start)
        else:
            yield from self._fences.reasoning(_OTHERS, start, sure=True, alone=False)
