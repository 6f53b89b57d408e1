"""An answer that took long ends as a fresh message, once, whatever happens meanwhile; the former one is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace

import pytest

from bot.contract import (
    CallCost,
    ChatId,
    DeliveryError,
    Drawn,
    File,
    MessageRef,
    MessageSent,
    RateBudget,
    RateLimited,
    ReplyTarget,
    Sender,
    SurfaceLimits,
    Unreachable,
    Usage,
)
from bot.pacing.pacer import Pacer
from bot.reply.opening import Replies
from bot.reply.stream import ReplyStream
from bot.safety import LinkPolicy
from bot.store import Store, TurnState
from tests.bot.conftest import BareSurface
from tests.conftest import FakeClock
from tests.surfaces import page_of

CHAT = ChatId("telegram", "42", "7")
ADA = Sender(id="telegram:7", name="Ada")
FIRST, REST = "The first words stand here.", " Then comes the rest of it, and its end."


@dataclass
class Screen(BareSurface):
    """A chat that knows its messages by the names of their posts, as far as its platform does."""

    knows: str = "nothing"
    unread: bool = True
    length: int = 400
    texts: dict[str, str] = field(default_factory=dict)
    """What stands, by id, oldest first."""
    names: dict[str, str] = field(default_factory=dict)
    made: int = 0
    calls: list[str] = field(default_factory=list)
    kill_at: int = -1
    """The process dies within this call, when it was made or before."""
    after: bool = False
    killed: asyncio.Event = field(default_factory=asyncio.Event)
    resists: bool = False
    post_faults: list[Exception] = field(default_factory=list)

    @property
    def limits(self) -> SurfaceLimits:
        return SurfaceLimits(self.length, 2 * self.length, len, typing_seconds=0.0, unread=self.unread)

    def cost(self, drawn: Drawn | None, at: MessageRef | None) -> CallCost:
        budget = RateBudget("posts" if at is None else "edits", rate=1.0, burst=3)
        return CallCost((budget,), at is not None or self.knows == "repeats", found_again=self.knows == "found")

    async def _called(self, name: str, *, done: bool) -> None:
        if not done:
            self.calls.append(name)
        if len(self.calls) - 1 == self.kill_at and done == self.after:
            self.killed.set()
            await asyncio.Event().wait()

    async def show(self, drawn: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
        page = page_of(drawn)
        await self._called("post" if at is None else "edit", done=False)
        if at is None and self.post_faults and self.texts:
            raise self.post_faults.pop(0)
        id = at.id if at is not None else ""
        if at is None and self.knows == "repeats" and nonce in self.names:
            id = self.names[nonce]
        if not id:
            self.made += 1
            id = self.names[nonce] = f"m{self.made}"
        self.texts[id] = page.body
        await self._called("", done=True)
        return MessageRef(id)

    async def remove(self, at: MessageRef) -> None:
        await self._called("remove", done=False)
        if self.resists:
            raise DeliveryError("compliance_exports_prevent_deletion")
        self.texts.pop(at.id, None)
        await self._called("", done=True)

    async def attach(self, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
        return MessageRef("f1")

    async def find(self, nonce: str) -> MessageRef | None:
        id = self.names.get(nonce) if self.knows == "found" else None
        return MessageRef(id) if id in self.texts else None


class Desk:
    """Ada's turn, in as many processes as it takes."""

    def __init__(self, store: Store, clock: FakeClock, after: float = 60.0, **more: object) -> None:
        self.store, self.clock = store, clock
        self.pacer = Pacer(clock)
        self.replies = Replies(store=store, pacer=self.pacer, clock=clock, fresh_after=after)
        self.turn = 0
        self.question = MessageSent(delivery="d1", chat=CHAT, sender=ADA, target=ReplyTarget("telegram"), text="?")

    async def open(self, screen: Screen, *, in_place: bool = False) -> ReplyStream:
        if not self.turn:
            turn = await self.store.intake.take_in(self.question)
            assert turn is not None
            self.turn = turn
            await self.store.turns.begin(turn, CHAT, ADA.id)
        before = await self.store.turns.load(self.turn)
        return self.replies.answer(screen, CHAT, before, LinkPolicy(), "en", question=self.question, in_place=in_place)

    async def end(self, reply: ReplyStream) -> None:
        ending = asyncio.create_task(reply.finish())
        while not ending.done():
            await self.clock.advance(0.5)
        await ending

    async def answer(self, screen: Screen, seconds: float = 61.0, *, first: str = FIRST, rest: str = REST) -> None:
        async with await self.open(screen) as reply:
            reply.append(first)
            await self.clock.advance(seconds)
            reply.append(rest)
            await self.end(reply)


async def killed(desk: Desk, screen: Screen, answer: Coroutine[None, None, None]) -> None:
    """Let a process answer until it dies within the call."""
    process = asyncio.create_task(answer)
    await asyncio.wait([process, dies := asyncio.create_task(screen.killed.wait())], return_when="FIRST_COMPLETED")
    for task in (process, dies):
        task.cancel()
    await asyncio.gather(process, dies, return_exceptions=True)


@pytest.fixture
async def desk(store: Store, clock: FakeClock) -> Desk:
    return Desk(store, clock)


async def test_a_long_answer_ends_as_a_fresh_message_and_the_former_one_is_gone(desk: Desk) -> None:
    screen = Screen(knows="found")
    await desk.answer(screen)

    assert screen.texts == {"m2": FIRST + REST}
    assert screen.calls == ["post", "edit", "post", "remove"], "no end was wasted on the former one"
    stored = await desk.store.turns.load(desk.turn)
    assert [page.ref for page in stored.pages if page.ref] == [MessageRef("m2")]


async def test_where_a_post_cannot_be_found_again_its_beginning_is_posted_and_completed(desk: Desk) -> None:
    screen = Screen()
    await desk.answer(screen)

    assert screen.texts == {"m2": FIRST + REST} and screen.calls[-3:] == ["post", "edit", "remove"]


async def test_a_quick_answer_ends_where_it_stands(desk: Desk) -> None:
    screen = Screen()
    await desk.answer(screen, 58.0)

    assert screen.texts == {"m1": FIRST + REST}


async def test_of_several_messages_the_last_one_is_posted_anew_unless_it_is_new(store: Store, clock: FakeClock) -> None:
    rest = " ".join(f"Sentence {number} says something." for number in range(10))
    desk, screen = Desk(store, clock), Screen(length=200)
    async with await desk.open(screen) as reply:
        reply.append(FIRST + " " + rest)
        await clock.advance(5.0)
        assert [*screen.texts] == ["m1", "m2"]
        reply.append(REST)
        await clock.advance(70.0)
        reply.append(" That was all.")
        await desk.end(reply)
    assert [*screen.texts] == ["m1", "m3"]
    assert "".join(screen.texts.values()).replace("\n", "").endswith("That was all.")

    desk.question = MessageSent(delivery="d2", chat=CHAT, sender=ADA, target=ReplyTarget("telegram"), text="?")
    desk.turn, screen = 0, Screen(length=200)
    await desk.answer(screen, first=FIRST, rest=" " + rest)
    assert [*screen.texts] == ["m1", "m2"], "what ends in a further message is new"


@pytest.mark.parametrize("why", ["off", "stopped", "file", "in its place", "platform", "nothing new"])
async def test_it_ends_where_it_stands(store: Store, clock: FakeClock, why: str) -> None:
    desk, screen = Desk(store, clock, 0.0 if why == "off" else 60.0), Screen(unread=why != "platform", knows="found")
    async with await desk.open(screen, in_place=why == "in its place") as reply:
        reply.append(FIRST)
        await clock.advance(61.0)
        if why != "nothing new":
            reply.append(REST)
        if why == "stopped":
            reply.end_in_place()
        if why == "file":
            reply.attach(File("a.txt", "text/plain", b"1"))
        await desk.end(reply)

    assert [*screen.texts] == ["m1"]


@pytest.mark.parametrize(
    "fault", [Unreachable("the thread is locked"), RateLimited("limited", retry_after=9_000, scope="posts")]
)
async def test_where_nothing_new_may_be_posted_it_ends_where_it_stands(desk: Desk, fault: Exception) -> None:
    screen = Screen(post_faults=[fault])
    await desk.answer(screen)

    assert screen.texts == {"m1": FIRST + REST}
    stored = await desk.store.turns.load(desk.turn)
    assert [page.ref for page in stored.pages if page.ref] == [MessageRef("m1")]


async def test_a_former_message_that_cannot_be_removed_says_where_the_answer_is(desk: Desk) -> None:
    screen = Screen(resists=True, knows="found")
    await desk.answer(screen)

    assert screen.texts == {"m1": "⬇️ The answer is below.", "m2": FIRST + REST}


async def answered_before(desk: Desk, screen: Screen, delivery: str) -> None:
    """Ada changes a question that was answered."""
    await desk.answer(screen, 1.0, first="An answer", rest=" to what she asked before.")
    done = desk.turn
    await desk.store.turns.close(done, TurnState.DONE, [], visible="", reasoning="", model="", usage=Usage())
    desk.question = replace(desk.question, delivery=f"{delivery} changed", replaces=done)
    turn = await desk.store.intake.take_in(desk.question)
    assert turn is not None
    desk.turn = turn
    await desk.store.turns.take_over(turn, done, CHAT, ADA.id)


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("knows", ["nothing", "found", "repeats"])
@pytest.mark.parametrize("after", [False, True])
async def test_killed_within_any_call_it_is_there_whole_and_once(
    store: Store, clock: FakeClock, knows: str, after: bool, changed: bool
) -> None:
    """As each platform knows its posts again: Telegram not at all, Slack by a look, Discord by their names; of an
    answer that takes the place of another, too."""
    for kill_at in range(1, 7):
        desk, screen = Desk(store, clock), Screen(knows=knows)
        desk.question = MessageSent(
            delivery=f"{kill_at}", chat=CHAT, sender=ADA, target=ReplyTarget("telegram"), text="?"
        )
        if changed:
            await answered_before(desk, screen, f"{kill_at}")
            screen.calls.clear()
        screen.kill_at, screen.after = kill_at, after
        await killed(desk, screen, desk.answer(screen))
        was_killed, screen.kill_at = screen.killed.is_set(), -1
        await desk.answer(screen, 3.0)

        texts = [*screen.texts.values()]
        assert texts.count(FIRST + REST) == 1, (kill_at, texts)
        left = [text for text in texts if text != FIRST + REST]
        # Of a post that nobody can look up a beginning may be left, as of every such post.
        assert len(left) <= (was_killed and after and knows == "nothing"), (kill_at, texts)
        assert all((FIRST + REST).startswith(text) for text in left)


async def test_an_answer_that_a_former_process_began_long_ago_ends_fresh(desk: Desk) -> None:
    screen = Screen(knows="found", kill_at=1)
    await killed(desk, screen, desk.answer(screen, 2.0))
    screen.kill_at = -1
    await desk.clock.advance(60.0)
    await desk.answer(screen, 2.0)

    assert screen.texts == {"m2": FIRST + REST}
    await desk.answer(screen, 100.0)
    assert screen.texts == {"m2": FIRST + REST}, "once, also where the process dies before the turn is closed"
