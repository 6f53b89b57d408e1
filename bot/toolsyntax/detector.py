"""Hold and release: one reply, chunk by chunk, into visible text, reasoning and calls.

The detector emits text as soon as it cannot belong to a call, and holds only what still could. The output does not
depend on where the chunks were cut, no emitted character is ever taken back, and each character is looked at a bounded
number of times however long a call is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from bot.toolsyntax.arguments import Registry
from bot.toolsyntax.arriving import Arriving
from bot.toolsyntax.bodies import COLONS, Bodies
from bot.toolsyntax.channels import Channels
from bot.toolsyntax.families import (
    ANALYSIS,
    ANYWHERE,
    HARMONY,
    INNER_ENDS,
    LINE_HEADS,
    MARKERS,
    Body,
    Marker,
    Role,
    Thought,
)
from bot.toolsyntax.fences import Fences
from bot.toolsyntax.guard import Guard
from bot.toolsyntax.marks import Marks
from bot.toolsyntax.outcomes import Outcome, Verdict
from bot.toolsyntax.pieces import Call, Piece, Schema, Text, Withdrawn
from bot.toolsyntax.protected import Visible
from bot.toolsyntax.reader import Reader, Steps, end_of
from bot.toolsyntax.scan import JsonScan
from bot.toolsyntax.tagged import Tagged, TaggedCalls
from bot.toolsyntax.tokens import HEADS
from bot.toolsyntax.turns import Turns
from bot.toolsyntax.untagged import Untagged

_FIRST: Final = "".join(sorted({marker.written[0] for marker in MARKERS}))
_PLAIN: Final = re.compile(f"[^`~\\n{re.escape(_FIRST)}]*")
_SPACES: Final = re.compile(r"\s*")
_FENCE_MARKS: Final = "`~"
_FENCED_FAMILIES: Final = frozenset({"", "tool_call", "python_tag"})
_SPECIAL: Final = ("<|", "<｜")
_HEADS: Final = "".join({head[0] for head in HEADS})


class Detector:
    """Finds the calls in one reply of a model.

    `feed` takes the text as it arrives, `finish` ends the reply; both return what became certain. Joined, every `Text`
    is the trimmed visible reply. A call that was cut off or cannot be read is in `dropped`.
    """

    def __init__(self, tools: Mapping[str, Schema], *, nested: bool = False) -> None:
        """
        Args:
            nested: it reads a part of a reply, which is not taken apart again.
        """
        self._registry = Registry(tools)
        self._arriving = Arriving()
        self._reader = Reader()
        self._bodies = Bodies(self._reader, self._registry)
        self._tagged = TaggedCalls(self._reader, self._registry, self._bodies)
        self._guard = Guard(self._reader, self._registry)
        self._channels = Channels(self._reader, self._registry, self._bodies)
        self._untagged = Untagged(self._reader, self._registry, self._bodies)
        self._visible = Visible()
        self._marks = Marks(self._reader, self._visible, self._guard)
        self._fences = Fences(
            self._reader, self._visible, None if nested else lambda: Detector(tools, nested=True), self._registry
        )
        self._turns = Turns(self._reader, self._visible, self._fences, self._guard)
        self._in_word = False
        self._plain_until = 0
        """Up to here a line was found not to be a call; it is not tried again."""
        self._quoted: set[str] = set()
        """Families and elements whose opener is in the visible text, so that their closer is, too."""
        self._forms: list[tuple[str, Body | None]] = []
        self.dropped: list[str] = []
        """Calls that do not run, as written: cut off in the middle, or beyond repair."""
        self._steps = self._run()
        next(self._steps)

    @property
    def only_json(self) -> bool:
        """True while every call so far is in a format that can also fill the only fence of a reply."""
        return all(
            family in _FENCED_FAMILIES and (body is Body.JSON or family == "python_tag") for family, body in self._forms
        )

    def feed(self, text: str) -> list[Piece]:
        """Take the next piece of the reply."""
        reader = self._reader
        text = self._arriving.feed(text)
        quick = reader.quick
        if quick is not None:
            if quick(text) is None:
                reader.absorb(text)
                return []
            reader.quick = None
            reader.unread = False
        if reader.ended or not text:
            return []
        reader.feed(text)
        next(self._steps)
        return self._visible.take()

    def finish(self, cut: bool = False) -> list[Piece]:
        """End the reply; `cut`: the model stopped for length."""
        reader = self._reader
        if reader.ended:
            return []
        reader.feed(self._arriving.finish())
        reader.quick = None
        reader.ended = True
        self._bodies.cut = self._fences.cut = cut
        for _ in self._steps:
            pass
        return self._visible.take()

    def tool_meant(self, written: str) -> str:
        """Return the registered name that `written` means, without a model's decoration; itself if it means none."""
        name = self._registry.name(written)
        return name if name in self._registry else written

    @property
    def unknown_tokens(self) -> list[str]:
        """Words in the shape of a special token that are in no table, and were not shown."""
        return self._guard.noted

    def close(self) -> None:
        """Abandon a reply that broke off: the suspended parse would keep this object alive."""
        self._steps.close()

    # the visible text

    def _run(self) -> Steps[None]:
        r, v = self._reader, self._visible
        if self._fences.inner is not None:
            yield from self._turns.first()
            self._fenced()
        while True:
            if r.pos >= len(r.text):
                if r.ended:
                    return
                yield
                continue
            c = r.text[r.pos]
            if c.isspace():
                end = end_of(_SPACES, r.text, r.pos)
                self._show(r.text[r.pos : end])
                r.pos = end
            elif v.blank and r.offset >= self._plain_until and (yield from self._line(c)):
                self._in_word = False
            elif c in _FENCE_MARKS:
                yield from self._fences.backticks(c, only=not v.wrote and not self._forms)
                self._fenced()
                self._in_word = False
            elif not v.inline and c in _FIRST and not (self._in_word and c.isalpha()):
                yield from self._marker()
            else:
                end = end_of(_PLAIN, r.text, r.pos + 1)
                self._show(r.text[r.pos : end])
                r.pos = end

    def _fenced(self) -> None:
        """Emit the calls of a fence that contained nothing else, or keep those that cannot run."""
        fences, v = self._fences, self._visible
        if not fences.calls and not fences.dropped:
            return
        v.drop_spaces()
        self._forms.append(("fence", None))
        if fences.dropped:
            self.dropped.append(fences.dropped)
        for call in fences.calls:
            v.add(call)
        fences.calls, fences.dropped = (), ""

    def _show(self, text: str) -> None:
        self._visible.write(text)
        if text:
            self._in_word = text[-1] == "_" or (text[-1].isalnum() and text[-1].isascii())

    def _show_one(self) -> None:
        r = self._reader
        if r.pos < len(r.text):
            self._show(r.text[r.pos])
            r.pos += 1

    # calls at the beginning of a line

    def _line(self, c: str) -> Steps[bool]:
        """Read a call at the beginning of this line; return False and consume nothing if there is none."""
        r = self._reader
        if c in _HEADS:
            start = r.hold()
            head = yield from r.match(LINE_HEADS, {})
            if isinstance(head, Marker):
                r.rewind(start)
                if head.written.startswith("assistantc"):
                    r.pos += len("assistant")
                if (yield from self._message("<|start|>" if c == "t" else "<|channel|>", start)):
                    r.drop()
                    return True
            r.rewind(start)
            r.drop()
        if c not in "{[" and not self._untagged.may_begin(c):
            return False
        start = r.hold()
        if c == "[" and (yield from r.match(ANYWHERE)) is not None:
            r.rewind(start)
            r.drop()
            return False
        if c == "{":
            line = yield from self._untagged.json(start, records=False)
        elif c == "[":
            line = yield from self._untagged.listed(start)
        else:
            line = yield from self._untagged.worded(start, alone=not self._visible.wrote and not self._forms)
        verdict = line.outcome.verdict
        if verdict is Verdict.TEXT and line.data:
            self._show(r.taken(start))
            r.drop()
            if line.unfinished is not None:
                yield from self._data(line.unfinished)
        elif verdict is Verdict.TEXT:
            self._plain_until = max(r.offset, start + 1)
            r.rewind(start)
            r.drop()
            return False
        else:
            self._fire(line.outcome, r.taken(start), "", line.body)
            r.drop()
            if verdict is Verdict.CALLS:
                yield from self._after(None)
        return True

    def _data(self, scan: JsonScan) -> Steps[None]:
        """Show JSON that is not a call as it arrives, up to its end, without looking for calls in it."""
        r = self._reader
        while not scan.done and not scan.broken and not scan.stopped:
            if r.pos >= len(r.text):
                if r.ended:
                    return
                yield
                continue
            end = scan.advance(r.text, r.pos, len(r.text))
            self._show(r.text[r.pos : end])
            r.pos = end

    # calls behind a marker

    def _marker(self) -> Steps[None]:
        r = self._reader
        start = r.hold()
        marker = yield from r.match(ANYWHERE)
        if not isinstance(marker, Marker):
            if not (yield from self._unknown(start)):
                self._show_one()
            r.drop()
            return
        after = r.offset
        self._in_word = False
        match marker.role:
            case Role.CONTROL | Role.ROLE | Role.END | Role.WRAP | Role.WRAP_END:
                yield from self._mark(marker, start)
                r.drop()
            case Role.MESSAGE:
                yield from self._message(marker.written, start)
                r.drop()
            case Role.THINK | Role.THINK_END:
                yield from self._thought(marker, start)
                r.drop()
            case Role.TAG | Role.PARAMETER | Role.KEY | Role.VALUE:
                self._quoted.add(marker.element)
                self._show(r.taken(start))
                r.drop()
            case role if role is Role.CLOSE or role in INNER_ENDS:
                yield from self._stray(marker, start)
                r.drop()
            case _ if r.offset < self._tagged.no_call_until:
                yield from self._empty(marker, start)
                r.drop()
            case _:
                tagged = yield from self._tagged.read(marker)
                if tagged.outcome.verdict is Verdict.TEXT:
                    r.rewind(after)
                    yield from self._empty(marker, start)
                    r.drop()
                else:
                    family = tagged.family.name if tagged.family else "element"
                    self._fire(tagged.outcome, r.taken(start), family, tagged.body)
                    r.drop()
                    yield from self._after(tagged)
        self._bodies.fenced = False

    def _mark(self, marker: Marker, start: int) -> Steps[None]:
        """Read a token, or a tag, around an answer; show it if it is a word."""
        r, written = self._reader, marker.written
        match marker.role:
            case Role.CONTROL:
                if written[0] == "✿":
                    yield from r.skip(COLONS)
                yield from self._turns.after(written)
                return
            case Role.ROLE:
                yield from self._turns.begin()
                return
            case Role.END:
                syntax = (yield from self._marks.ends()) or (yield from self._turns.goes_on(written, start))
            case _:
                syntax = yield from self._marks.wraps(marker)
        if not syntax:
            self._show(r.taken(start))

    def _thought(self, marker: Marker, start: int) -> Steps[None]:
        """Read reasoning after its opener, or the end of reasoning without one."""
        thought = marker.thought
        assert thought is not None
        if thought.tag and not (yield from self._fences.tag_ends()):
            self._show(self._reader.taken(start))
        elif marker.role is Role.THINK:
            # A special token is one unless a sentence continues after it.
            token = marker.written[:2] == "<|" and (yield from self._reader.peek()) != " "
            yield from self._reason(thought, start, sure=token or self._visible.blank)
            if thought.until:
                yield from self._reader.skip(COLONS)
        else:
            if (yield from self._fences.stray_end(thought, start)):
                self._visible.withdraw()
                self._forms.clear()
                self.dropped.clear()

    def _reason(self, thought: Thought, start: int, *, sure: bool) -> Steps[None]:
        """Read reasoning after its opener, and its calls if it is the whole reply."""
        alone = not self._visible.wrote and not self._visible.thought and not self._forms and not thought.told
        yield from self._fences.reasoning(thought, start, sure=sure, alone=alone)
        self._fenced()

    def _message(self, first: str, start: int) -> Steps[bool]:
        """Read a message after the token, or the words, that begin it; return False if they begin none."""
        r, v = self._reader, self._visible
        head = yield from self._channels.head(first)
        if head is None:
            if not v.blank:
                self._show(r.taken(start))
            return False
        v.drop_spaces()
        if head.whole and head.is_call:
            if (yield from self._channels.wraps_call()):
                return True  # in another notation, which follows
            outcome = yield from self._channels.call(head)
            tagged = Tagged(outcome, HARMONY, Body.JSON)
            self._fire(outcome, r.taken(start), HARMONY.name, Body.JSON)
            yield from self._after(tagged)
        elif head.is_thought:
            yield from self._reason(ANALYSIS, start, sure=True)
        elif v.wrote:
            v.write("\n\n")
        return True

    def _stray(self, marker: Marker, start: int) -> Steps[None]:
        """Read a closer without an opener: syntax at the beginning or end of a line, a word in the middle."""
        r, v = self._reader, self._visible
        quoted = (marker.family.name if marker.family is not None else marker.element) in self._quoted
        if not quoted and (v.blank or marker.role is Role.CLOSE) and (yield from self._marks.ends_line()):
            v.drop_spaces()
        elif quoted or not v.blank or marker.role is not Role.CLOSE:
            self._show(r.taken(start))

    def _empty(self, opener: Marker, start: int) -> Steps[None]:
        """Read an opener without a call: syntax if it is alone on its line, otherwise a word in the text."""
        r, v = self._reader, self._visible
        family = opener.family
        if family is not None and family.words and v.blank and (yield from self._marks.ends_line()):
            v.drop_spaces()
            self.dropped.append(r.taken(start))
            return
        if opener.written[:2] in _SPECIAL and (yield from self._guard.precedes_call(line=not v.blank)):
            yield from self._give_up(start)
            return
        self._quoted.add(family.name if family is not None else opener.element)
        self._show(r.taken(start))

    def _unknown(self, start: int) -> Steps[bool]:
        """Read something in a token's shape that is in no table; return False if there is none, or it is shown."""
        r, v = self._reader, self._visible
        token = (yield from self._guard.token()) if r.text[r.pos] in "<[" else ""
        if not token:
            return False
        blank = v.blank
        if (yield from self._guard.precedes_call(line=not blank)):
            self._guard.note(token)
            yield from self._give_up(start)
        elif token[0] == "[":
            r.rewind(start)
            return False
        elif blank:
            self._guard.note(token)
        elif not (yield from self._marks.ends()):
            self._show(r.taken(start))
        return True

    def _give_up(self, start: int) -> Steps[None]:
        """Hide the rest of the reply: it contains a call that cannot be read."""
        self._visible.drop_spaces()
        self._forms.append(("unknown", None))
        self.dropped.append((yield from self._guard.swallow(start)))

    def _after(self, tagged: Tagged | None) -> Steps[None]:
        """Skip the rest of a call, and emit further calls in the same tag."""
        r = self._reader
        while True:
            start = r.hold()
            outcome = yield from self._tagged.rest(tagged)
            if outcome is None:
                r.drop()
                return
            family = tagged.family.name if tagged and tagged.family else ""
            self._fire(outcome, r.taken(start), family, tagged.body if tagged else None)
            r.drop()

    def _fire(self, outcome: Outcome, raw: str, family: str, body: Body | None) -> None:
        """Emit the calls of an outcome, or keep those that cannot run."""
        self._visible.drop_spaces()
        self._forms.append((family, body))
        if outcome.verdict is not Verdict.CALLS:
            self.dropped.append(raw)
        for found in outcome.calls:
            known = found.name in self._registry
            problem = "" if known else f"there is no tool {found.name!r}"
            self._visible.add(Call(found.name, found.arguments, known, raw, problem))


def parse(text: str, tools: Mapping[str, Schema]) -> tuple[str, list[Call]]:
    """Return the trimmed visible text and the calls of a whole reply."""
    detector = Detector(tools)
    pieces = [*detector.feed(text), *detector.finish()]
    while Withdrawn() in pieces:
        del pieces[: pieces.index(Withdrawn()) + 1]
    visible = "".join(piece.text for piece in pieces if isinstance(piece, Text))
    return visible, [piece for piece in pieces if isinstance(piece, Call)]
