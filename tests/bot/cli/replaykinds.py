"""Every kind of turn that `parley replay` repeats: stopped, failed, continued, with files, allowed, joined, jobs."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat

from bot.agent import Event, Failed, Finished, ToolFinished
from bot.contract import Enclosure, EnclosureKind, MessageEdited, Quoted, TimerDue
from bot.turn.draft import Draft
from bot.turn.events import EventTaker
from playground.model import Reply
from tests.bot.cli.replaying import JOB, LONG, PNG, Control, Stored, calls
from tools.pictures import kind_of

Made = Callable[[Stored], Awaitable[int]]
REFUSED = Reply(status=401)
ASKS = Reply("I order it.", calls=(("order_tea", {"query": "sencha"}),))


async def _stopped_in_words(one: Stored) -> int:
    return await one.ask_and_stop(lambda: one.shows("Green tea is grown in Uji"), Reply(LONG, hang_after=70))


async def _stopped_before_words(one: Stored) -> int:
    before = len(one.model.requests)
    return await one.ask_and_stop(lambda: len(one.model.requests) > before, Reply(LONG, hang_after=0))


async def _stopped_in_a_later_pass(one: Stored) -> int:
    return await one.ask_and_stop(
        lambda: one.shows("Green tea is grown in Uji"), calls("tea", "cups"), Reply(LONG, hang_after=70)
    )


async def _stopped_in_a_call(one: Stored) -> int:
    return await one.ask_and_stop(one.tool.hung.is_set, calls("tea"), calls("cups", "slow"))


async def _file(one: Stored) -> int:
    return await one.ask(calls("a table", "tea"), Reply("Here is the table [1]."))


async def _allowed(one: Stored) -> int:
    turn = await one.ask(ASKS)
    return await one.press(Control.ALLOW, turn, Reply("It is ordered."))


async def _denied(one: Stored) -> int:
    turn = await one.ask(ASKS)
    return await one.press(Control.DENY, turn, Reply("Then I leave it."))


async def _undecided(one: Stored) -> int:
    return await one.ask(ASKS)


async def _allowed_twice(one: Stored) -> int:
    turn = await one.ask(calls("tea"), ASKS)
    turn = await one.press(Control.ALLOW, turn, Reply("And cups.", calls=(("order_tea", {"query": "cups"}),)))
    return await one.press(Control.ALLOW, turn, Reply("Both are ordered."))


async def _collected(one: Stored) -> int:
    await one.app.store.settings.set(one.question().chat, "busy", "collect")
    one.model.reply(Reply("Both cost 800 yen."))
    await one.app.dispatcher.deliver(one.question("What does tea cost?"))
    await one.app.dispatcher.deliver(one.question("And what do cups cost?"))
    await one.app.dispatcher.wait_idle()
    return await one.app.store.turns.find_newest()


async def _steered(one: Stored) -> int:
    return await _steer(one)


async def _steered_in_group(one: Stored) -> int:
    return await _steer(one, group=True)


async def _steer(one: Stored, **given: object) -> int:
    first = one.question("What does tea cost?\n\nIn Kyoto.", **given)
    await one.app.store.settings.set(first.chat, "busy", "steer")
    one.model.reply(calls("tea", "wait for me"), Reply("Tea 800 yen, cups too."))
    run, begun, go_on = one.tool.run, asyncio.Event(), asyncio.Event()

    async def wait(arguments: object, context: object) -> object:
        begun.set()
        await go_on.wait()
        return await run(arguments, context)  # type: ignore[arg-type]

    one.tool.run = wait  # type: ignore[method-assign, assignment]
    await one.app.dispatcher.deliver(first)
    await begun.wait()
    await one.app.dispatcher.deliver(one.question("And what do cups cost?\n\nThank you.", **given))
    while one.app.dispatcher.queue.peek(first.chat) is None:
        await asyncio.sleep(0.005)
    go_on.set()
    await one.app.dispatcher.wait_idle()
    one.tool.run = run  # type: ignore[method-assign]
    return await one.app.store.turns.find_newest()


async def _job(one: Stored) -> int:
    plan = Reply("Plan.", calls=(("search_notes", {"query": "tea"}),))
    return await one.ask(plan, calls("cups"), Reply("The whole report [1]."), command=JOB)


async def _named_call(one: Stored) -> int:
    return await one.ask(Reply("It is 42."), command="tool", text="calculator 6*7")


async def _cut_off(one: Stored) -> int:
    return await one.ask(Reply("Tea is a leaf and", finish_reason="length"))


async def _too_long(one: Stored) -> int:
    return await one.ask(Reply("Green tea is grown in Uji, and sold in Kyoto.\n\n" * 2_200))


async def _continued(one: Stored) -> int:
    return await one.press(Control.CONTINUE, await _cut_off(one), Reply("it grows in Uji."))


async def _continued_twice(one: Stored) -> int:
    turn = await one.press(Control.CONTINUE, await _cut_off(one), Reply("it grows in", finish_reason="length"))
    return await one.press(Control.CONTINUE, turn, calls("tea"), Reply("Uji [1]."))


async def _continued_in_chinese(one: Stored) -> int:
    turn = await one.ask(Reply("茶是一片叶子，", finish_reason="length"), text="京都的绿茶多少钱？")
    return await one.press(Control.CONTINUE, turn, Reply("长在宇治", finish_reason="length"))


async def _continued_after_a_stop(one: Stored) -> int:
    return await one.press(Control.CONTINUE, await _stopped_in_a_later_pass(one), Reply("in Kyoto."))


async def _continued_job(one: Stored) -> int:
    plan, cut = calls("tea", text="Plan."), Reply("The report and", finish_reason="length")
    turn = await one.ask(plan, cut, command=JOB)
    return await one.press(Control.CONTINUE, turn, calls("cups"), Reply("its end [1]."))


async def _regenerated(one: Stored) -> int:
    turn = await one.ask(Reply("Tea is a stone."))
    return await one.press(Control.REGENERATE, turn, Reply("Tea is a leaf."))


async def _replaced(one: Stored) -> int:
    turn = await one.ask(calls("a table", "tea"), Reply("Here is the table [1]."))
    await one.press(Control.REGENERATE, turn, Reply("Tea is a leaf."))
    return turn


async def _continued_anew(one: Stored) -> int:
    return await one.press(Control.REGENERATE, await _continued(one), Reply("it is a leaf."))


async def _allowed_anew(one: Stored) -> int:
    return await one.press(Control.REGENERATE, await _allowed(one), Reply("Yes, it is ordered."))


async def _denied_anew(one: Stored) -> int:
    return await one.press(Control.REGENERATE, await _denied(one), calls("tea"), Reply("I left it [1]."))


async def _done_anew(one: Stored) -> int:
    turn = await one.ask(calls("sencha", tool="water_tea"), Reply("Watered."))
    return await one.press(Control.REGENERATE, turn, calls("tea"), Reply("It is watered [1]."))


async def _edited(one: Stored) -> int:
    asked = one.question("What is tee?")
    one.model.reply(Reply("A peg for golf."))
    await one.app.dispatcher.deliver(asked)
    await one.app.dispatcher.wait_idle()
    where = {"chat": asked.chat, "sender": asked.sender, "target": asked.target}
    edited = MessageEdited(**where, delivery=one.question().delivery, message_id=asked.message_id, text="What is tea?")  # type: ignore[arg-type]
    one.model.reply(Reply("A leaf."))
    await one.app.dispatcher.deliver(edited)
    await one.app.dispatcher.wait_idle()
    return await one.app.store.turns.find_newest()


async def _scheduled(one: Stored) -> int:
    return await one.ask(calls("tea"), Reply("It costs 800 yen [1]."), scheduled=True)


def _reminded(late: float = 0.0, **given: object) -> Made:
    """A reminder that comes, so many seconds late."""

    async def make(one: Stored) -> int:
        asked = one.question("Call Ada about tea in Kyoto", group=True)
        due = TimerDue(
            delivery=asked.delivery,
            chat=asked.chat,
            sender=asked.sender,
            target=asked.target,
            group=asked.group,
            sent_at=time.time() - late,
            text=asked.text,
            zone="Asia/Tokyo",
        )
        await one.app.dispatcher.deliver(replace(due, **given))  # type: ignore[arg-type]
        await one.app.dispatcher.wait_idle()
        return await one.app.store.turns.find_newest()

    return make


REMINDERS: Mapping[str, Made] = {
    "a reminder": _reminded(),
    "a late reminder": _reminded(late=7200.0),
    "a repeated reminder that was missed": _reminded(late=7200.0, several=True),
    "a reminder's question that came too late": _reminded(late=90_000.0, question=True),
    "a reminder in Chinese": _reminded(late=7200.0, text="给艾达打电话"),
}


def _failing(*replies: Reply, **given: object) -> Made:
    """A turn whose model says this, and the last of it again and again."""

    async def make(one: Stored) -> int:
        says = chain(replies, repeat(replies[-1]))
        one.model.script = lambda _: next(says)
        try:
            return await one.ask(**given)  # type: ignore[arg-type]
        finally:
            one.model.script = None

    return make


async def _failed_in_a_call(one: Stored) -> int:
    """The program fails when one of two calls has ended."""
    take, ended = EventTaker.take, list[Event]()

    async def taking(self: EventTaker, draft: Draft, event: Event) -> Finished | Failed | None:
        if isinstance(event, ToolFinished):
            ended.append(event)
            if len(ended) == 2:
                raise RuntimeError("a fault of the program")
        return await take(self, draft, event)

    EventTaker.take = taking  # type: ignore[method-assign]
    try:
        return await one.ask(calls("tea", "cups"))
    finally:
        EventTaker.take = take  # type: ignore[method-assign]


FAILED: Mapping[str, Made] = {
    "failed in a call": _failed_in_a_call,
    "key refused": _failing(REFUSED),
    "no money": _failing(Reply(status=402)),
    "busy": _failing(Reply(status=429, retry_after=600)),
    "content refused": _failing(Reply(status=400, error={"code": "content_filter", "message": "it is filtered"})),
    "filtered": _failing(Reply("", finish_reason="content_filter")),
    "broken off": _failing(Reply(LONG, error_object=60), REFUSED),
    "broken off twice": _failing(Reply(LONG, drop_after=60), Reply(LONG, drop_after=30)),
    "refused after a search": _failing(calls("tea", "nothing"), REFUSED),
    "broken off after a search": _failing(calls("tea"), Reply(LONG, drop_after=60), REFUSED),
    "nothing said": _failing(Reply("")),
    "nothing said after a search": _failing(calls("tea", text=""), Reply("")),
    "failed job": _failing(calls("tea"), calls("cups"), REFUSED, command=JOB),
}


def _enclosing(*enclosed: Enclosure, **given: object) -> Made:
    """A turn whose question came with attachments."""

    async def make(one: Stored) -> int:
        return await one.ask(calls("tea"), Reply("It costs 800 yen [1]."), enclosed=enclosed, **given)  # type: ignore[arg-type]

    return make


def _alone(*enclosed: Enclosure) -> Made:
    """A turn about nothing but attachments that cannot be read: no model is asked."""
    return lambda one: one.ask(text=" ", enclosed=enclosed)


PRICES = Enclosure(kind=EnclosureKind.FILE, name="prices.csv", media_type="text/csv", size=27, source="the prices")
NOTES = Enclosure(kind=EnclosureKind.FILE, name="Ada's notes.txt", media_type="text/plain", size=90, source="the notes")
PHOTO = Enclosure(kind=EnclosureKind.PICTURE, media_type="image/png", size=500, source="a photo")
SPEECH = Enclosure(kind=EnclosureKind.VOICE, media_type="audio/ogg", size=900, seconds=3, source="speech")
NOTHING = Enclosure(kind=EnclosureKind.FILE, name="tea.bin", size=68, source="nothing")
QUOTED = Quoted(author="Grace Hopper", text="These are the prices.", enclosed=(NOTES, PHOTO))
FILES: Mapping[str, Made] = {
    "a file": _enclosing(PRICES),
    "a file without words": _enclosing(PRICES, text=" "),
    "a picture": _enclosing(PHOTO),
    "a voice message": _enclosing(SPEECH, text=" "),
    "a voice message that nobody hears": _alone(replace(SPEECH, source="noise")),
    "a file that cannot be read": _enclosing(NOTHING),
    "files of every kind": _enclosing(PRICES, PHOTO, NOTES, SPEECH, NOTHING),
    "a quoted file": _enclosing(PRICES, quoted=QUOTED),
}


def _drawing(*pictures: bytes, text: str = "Here it is.", first: Sequence[Reply] = ()) -> Made:
    """A turn whose model makes pictures."""
    urls = [f"data:{kind_of(one)[0]};base64,{base64.b64encode(one).decode()}" for one in pictures]
    image = {"images": [{"image_url": {"url": url}} for url in urls]}
    return lambda one: one.ask(*first, Reply(chunks=(*([{"content": text}] if text else []), image)))


DRAWN = PNG + bytes(900)
PHOTOGRAPHED = b"\xff\xd8\xff\xe0" + bytes(40)
PICTURES: Mapping[str, Made] = {
    "a model's picture": _drawing(DRAWN),
    "nothing but pictures": _drawing(DRAWN, PHOTOGRAPHED, b"GIF89a", b"RIFF    WEBPVP8 ", text=""),
    "a picture after a search": _drawing(PHOTOGRAPHED, first=(calls("tea", "a table"),)),
}
KINDS: Mapping[str, Made] = {
    **FAILED,
    **FILES,
    **PICTURES,
    **REMINDERS,
    "stopped in words": _stopped_in_words,
    "stopped before words": _stopped_before_words,
    "stopped in a later pass": _stopped_in_a_later_pass,
    "stopped in a call": _stopped_in_a_call,
    "file": _file,
    "allowed": _allowed,
    "denied": _denied,
    "undecided": _undecided,
    "allowed twice": _allowed_twice,
    "collected": _collected,
    "steered": _steered,
    "steered in a group": _steered_in_group,
    "job": _job,
    "named call": _named_call,
    "cut off": _cut_off,
    "too long": _too_long,
    "continued": _continued,
    "continued twice": _continued_twice,
    "continued in Chinese": _continued_in_chinese,
    "continued after a stop": _continued_after_a_stop,
    "continued job": _continued_job,
    "continued anew": _continued_anew,
    "regenerated": _regenerated,
    "replaced": _replaced,
    "allowed, and asked anew": _allowed_anew,
    "refused, and asked anew": _denied_anew,
    "done, and asked anew": _done_anew,
    "edited": _edited,
    "a reminder's question": _scheduled,
}


async def _other(one: Stored) -> int:
    return await one.ask(text="What does tea cost?")


async def _other_file(one: Stored) -> int:
    return await one.ask(text="Give me a file.")


async def _other_asks(one: Stored) -> int:
    turn = await one.ask(text="Please book it.")
    return await one.press(Control.ALLOW, turn)


async def _other_denied(one: Stored) -> int:
    turn = await one.ask(text="Please book it.")
    return await one.press(Control.DENY, turn)


async def _other_stopped(one: Stored) -> int:
    return await one.ask_and_stop(lambda: one.shows("It costs"), text="Tell me slowly.")


async def _other_failed(one: Stored) -> int:
    return await one.ask(text="Please fail.")


async def _other_crashed(one: Stored) -> int:
    return await one.ask(text="Please crash.")


async def _other_continued(one: Stored) -> int:
    return await one.press(Control.CONTINUE, await _other_stopped(one))


OTHERS: Mapping[str, Made] = {
    "answer": _other,
    "file": _other_file,
    "allowed": _other_asks,
    "denied": _other_denied,
    "stopped": _other_stopped,
    "failed": _other_failed,
    "crashed in a call": _other_crashed,
    "continued": _other_continued,
}
