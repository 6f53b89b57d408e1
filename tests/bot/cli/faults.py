"""Faults to plant into the program, each with the kind of turn that it must spoil."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC
from typing import Any, Final, TypeAlias

import pytest

from bot.app import RecordedTools
from bot.app.output import Output
from bot.context import Past
from bot.contract import Button, Control, Drawn, File, MessageRef, MessageSent, Page, ReplyTarget, Status
from bot.reply.course import Noting
from tools.contract.base import ToolResult

Plant: TypeAlias = Callable[[pytest.MonkeyPatch], None]
Change: TypeAlias = Callable[[Page], Page]

draw, show, attach = Noting.draw, Noting.show, Noting.attach


def drawn(change: Change) -> Plant:
    """Change every page before it is drawn."""
    return lambda patch: patch.setattr(Noting, "draw", lambda self, page: draw(self, change(page)))


def ended(change: Change) -> Plant:
    """Change pages that are final."""
    return drawn(lambda page: change(page) if page.final else page)


def body(change: Callable[[str], str]) -> Plant:
    return ended(lambda page: replace(page, body=change(page.body)))


def buttons(change: Callable[[tuple[Button, ...]], tuple[Button, ...]]) -> Plant:
    return ended(lambda page: replace(page, buttons=change(page.buttons)))


def shown(how: Callable[..., object]) -> Plant:
    return lambda patch: patch.setattr(Noting, "show", how)


def attached(how: Callable[..., object]) -> Plant:
    return lambda patch: patch.setattr(Noting, "attach", how)


def put(target: str, value: object) -> Plant:
    return lambda patch: patch.setattr(target, value)


def said(key: str, language: str) -> Plant:
    """Say everything in one language."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        import bot.sentences

        say = bot.sentences.say
        patch.setattr(key, lambda name, _, **words: say(name, language, **words))

    return plant


async def _twice(self: Noting, page: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
    if at is None:
        await show(self, page, None, nonce)
    return await show(self, page, at, nonce)


async def _twice_posted(self: Noting, page: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
    await show(self, page, at, nonce)
    return await show(self, page, None, nonce)


def _as_late(name: str, language: str, **words: object) -> str:
    import bot.sentences

    return bot.sentences.say("reminder_late" if name == "reminder_missed" else name, language, **words)


async def _nobody(*_: object) -> bool:
    return False


async def _never_edited(self: Noting, page: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
    return await show(self, page, at, nonce) if at is None else at


async def _not_posted(self: Noting, page: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
    return MessageRef(f"lost {nonce}")


async def _first_lost(self: Noting, page: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
    return MessageRef("lost") if nonce.endswith("-0") else await show(self, page, at, nonce)


async def _last_lost(self: Noting, page: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
    return await show(self, page, at, nonce) if nonce.endswith("-0") else MessageRef(f"lost {nonce}")


async def _removed(self: Noting, page: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
    ref = await show(self, page, at, nonce)
    await self.remove(ref)
    return ref


async def _always_new(self: Noting, page: Drawn, at: MessageRef | None, nonce: str = "") -> MessageRef:
    return await show(self, page, None, nonce)


async def _no_file(self: Noting, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
    return MessageRef("lost")


async def _file_twice(self: Noting, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
    await attach(self, file, after, nonce)
    return await attach(self, file, after, nonce)


async def _file_renamed(self: Noting, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
    return await attach(self, replace(file, name="file.bin"), after, nonce)


async def _file_of_another_kind(self: Noting, file: File, after: MessageRef | None, nonce: str = "") -> MessageRef:
    return await attach(self, replace(file, media_type="text/plain"), after, nonce)


def _places(**data: str) -> Plant:
    def surface(output: Output, message: MessageSent) -> object:
        target = message.target
        return output.platforms.surface(ReplyTarget(target.platform, {**target.data, **data}))

    return put("bot.app.output.Output.surface", surface)


def _results(change: Callable[[ToolResult], ToolResult]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        import bot.app.recorded as recorded

        returned = recorded.as_returned
        patch.setattr(recorded, "as_returned", lambda record: change(returned(record)))

    return plant


def _any_call(patch: pytest.MonkeyPatch) -> None:
    """Each call gets the newest stored result, not its own."""

    async def run(self: RecordedTools, call: object, context: object) -> ToolResult:
        from bot.app.recorded import as_returned

        return as_returned(self._left.pop())

    patch.setattr("bot.app.recorded.RecordedTools.run", run)


def _without(what: str) -> Plant:
    """Leave out entries of one kind from the history."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        from bot.turn.draft import Progress

        made = Progress.to_entries
        patch.setattr(
            Progress,
            "to_entries",
            lambda self, *given, **named: [
                one for one in made(self, *given, **named) if type(one).__name__ != what or not one.text
            ],
        )

    return plant


def _written(change: Callable[[str], str]) -> Plant:
    """Change the words of the model on their way into the reply."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        from bot.turn.draft import Draft

        say = Draft.say
        patch.setattr(Draft, "say", lambda self, text: say(self, change(text)))

    return plant


async def _nothing_heard(*_: object) -> list[object]:
    return []


async def _one_at_most(*_: object) -> int:
    return 1


async def _no_job(*_: object) -> str:
    return ""


async def _nothing_known(*_: object) -> Past:
    return Past(None, ())


async def _no_footer(*_: object) -> list[str]:
    return ["Written by a model."]


def _card(change: Callable[[str], str]) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        import bot.turn.approvals as approvals
        from bot.reply import write_card as write

        def changed(*given: Any, **named: Any) -> object:
            card = write(*given, **named)
            return replace(card, text=change(card.text))

        patch.setattr(approvals, "write_card", changed)

    return plant


CALL: Final = '<tool_call>{"name": "search_notes", "arguments": {"query": "tea"}}</tool_call>'


def _refusal(key: str, language: str, **words: object) -> str:
    import bot.sentences

    return bot.sentences.say("refused" if key == "busy" else key, language, **words)


FAULTS: Final[Mapping[str, tuple[str, Plant]]] = {
    "the last words are cut": ("plain", body(lambda text: text[:-6])),
    "the first words are cut": ("search", body(lambda text: text[5:])),
    "a word is missing": ("several", body(lambda text: text.replace("cups", "", 1))),
    "a word comes twice": ("failed", body(lambda text: text.replace("search", "search search"))),
    "all in small letters": ("plain", body(str.lower)),
    "a raw call is shown": ("search", body(lambda text: f"{text}\n\n{CALL}")),
    "a raw call stands first": ("several", body(lambda text: f"{CALL}\n\n{text}")),
    "reasoning is shown": ("plain", body(lambda text: f"They ask about tea.\n\n{text}")),
    "a boundary is shown": ("search", body(lambda text: f"[data 0123abcd from search_notes]\n{text}")),
    "everybody is called": ("plain", body(lambda text: f"@everyone {text}")),
    "a key is shown": ("several", body(lambda text: f"{text} sk-loopback-key-1234")),
    "the whole text comes twice": ("search", body(lambda text: f"{text}\n\n{text}")),
    "the bold words are plain": ("plain", body(lambda text: text.replace("**", ""))),
    "all markup is lost": ("plain", ended(lambda page: replace(page, plain=True))),
    "paragraphs are joined": ("several", body(lambda text: text.replace("\n\n", " "))),
    "a number is another": ("search", body(lambda text: text.replace("800", "900"))),
    "an ellipsis stays": ("failed", body(lambda text: f"{text}…")),
    "a status stays": ("search", ended(lambda page: replace(page, status=(Status("Searching…"),)))),
    "a Chinese sentence follows": ("plain", body(lambda text: f"{text}\n\n已停止。")),
    "the sources are missing": ("search", put("bot.safety.Citations.list_cited", lambda *_: "")),
    "other sources are listed": ("several", put("bot.safety.Citations.list_cited", lambda *_: "Sources: none.")),
    "no buttons": ("plain", buttons(lambda given: ())),
    "a button is missing": ("search", buttons(lambda given: given[1:])),
    "the last button is missing": ("long", buttons(lambda given: given[:-1])),
    "the buttons change places": ("several", buttons(lambda given: given[::-1])),
    "a button says another word": ("plain", buttons(lambda given: tuple(replace(one, label="OK") for one in given))),
    "a button belongs to another turn": (
        "failed",
        buttons(lambda given: tuple(replace(one, turn=one.turn + 1) for one in given)),
    ),
    "a button does something else": (
        "plain",
        buttons(lambda given: tuple(replace(one, control=Control.DELETE) for one in given)),
    ),
    "the Stop button stays": (
        "search",
        buttons(lambda given: (*given, *(replace(one, control=Control.STOP) for one in given[:1]))),
    ),
    "the buttons come in Chinese": ("plain", put("bot.reply.buttons._label", lambda *_: "重新回答")),
    "a post comes twice": ("plain", shown(_twice)),
    "nothing is edited": ("stopped in words", shown(_never_edited)),
    "nothing is posted": ("search", shown(_not_posted)),
    "the first page is dropped": ("long", shown(_first_lost)),
    "later pages are dropped": ("long", shown(_last_lost)),
    "the answer is deleted again": ("several", shown(_removed)),
    "every edit is a new message": ("stopped in words", shown(_always_new)),
    "pages are cut elsewhere": (
        "long",
        put("bot.cli.replay.memory_of", lambda platform: _short_paper(platform)),
    ),
    "the file is missing": ("file", attached(_no_file)),
    "the file comes twice": ("file", attached(_file_twice)),
    "the file has another name": ("file", attached(_file_renamed)),
    "the file is of another kind": ("file", attached(_file_of_another_kind)),
    "the file is not produced": ("file", _results(lambda result: replace(result, files=()))),
    "it goes to another thread": ("plain", _places(thread="another")),
    "it goes to another chat": ("search", _places(chat="another")),
    "it answers another message": ("several", _places(reply_to="another")),
    "a result belongs to another call": ("several", _any_call),
    "a result is cut": ("search", _results(lambda result: replace(result, text=result.text[:20]))),
    "a result counts as failed": ("search", _results(lambda result: replace(result, ok=False))),
    "a result has no sources": ("several", _results(lambda result: replace(result, sources=()))),
    "results are not kept": ("search", _without("ToolEntry")),
    "the answer is not kept": ("plain", _without("AssistantEntry")),
    "what was added is not heard": ("steered", put("bot.turn.merging.Merging.steer", _nothing_heard)),
    "a footer is added": ("plain", put("bot.turn.closing.footer.write_footer", _no_footer)),
    "passes run together": ("search", put("bot.turn.draft.footer.gap_after", lambda *_: "")),
    "the model's words are cut": ("plain", _written(lambda text: text[:-1])),
    "a card hides the arguments": ("allowed", _card(lambda text: text.partition("\n")[0])),
    "a card shows other arguments": ("undecided", _card(lambda text: text.replace("sencha", "matcha"))),
    "the buttons of a card are missing": ("undecided", put("bot.turn.conversation.approval_buttons", lambda _: ())),
    "a stop says nothing": ("stopped in words", put("bot.turn.conversation.say", lambda *_, **__: "")),
    "a stop is told in Chinese": ("stopped in words", said("bot.turn.conversation.say", "zh-Hans")),
    "a stop is told in old Chinese signs": ("stopped in a call", said("bot.turn.conversation.say", "zh-Hant")),
    "the end of an answer is told in Chinese": ("cut off", said("bot.turn.closing.say", "zh-Hans")),
    "a failure is told in Chinese": ("key refused", said("bot.turn.closing.say", "zh-Hans")),
    "a fault of the program is told in Chinese": ("failed in a call", said("bot.turn.closing.say", "zh-Hans")),
    "a failure says nothing": ("broken off", put("bot.turn.closing.Closing.write_note", lambda *_: "")),
    "a busy model is called a refusal": ("busy", put("bot.turn.closing.say", _refusal)),
    "the text of a file is lost": ("a file", put("bot.context.question.describe_enclosed", lambda _: "")),
    "a picture is not mentioned": ("a picture", put("bot.context.question.describe_enclosed", lambda _: "")),
    "a file that cannot be read is passed over": (
        "a file that cannot be read",
        put("bot.safety.enclosures._left_out", lambda *_: ""),
    ),
    "Continue asks in Chinese": ("continued", said("bot.commands.presses.say", "zh-Hans")),
    "Continue asks in English": ("continued in Chinese", said("bot.commands.presses.say", "en")),
    "a continued job is no job": ("continued job", put("bot.commands.presses.Presses._job_of", _no_job)),
    "Continue forgets what it continues": (
        "continued after a stop",
        put("bot.context.brief.Briefings.load_past", _nothing_known),
    ),
    "an answer that was asked for anew has lost its buttons": ("regenerated", buttons(lambda given: ())),
    "a model's picture is missing": ("a model's picture", attached(_no_file)),
    "a model's picture comes twice": ("a model's picture", attached(_file_twice)),
    "a model's pictures are not read": ("nothing but pictures", put("bot.model.pictures.kind_of", lambda _: ("", ""))),
    "a picture has no name": ("a picture after a search", attached(_file_renamed)),
    "a replaced answer lists no sources": ("replaced", put("bot.safety.Citations.list_cited", lambda *_: "")),
    "the file of a replaced answer is missing": ("replaced", attached(_no_file)),
    "what was done is not kept": ("done, and asked anew", put("bot.store.turns.keep_effects", lambda *_: None)),
    "what was allowed is not kept": ("allowed, and asked anew", put("bot.store.turns.keep_effects", lambda *_: None)),
    "a late reminder is told in Chinese": ("a late reminder", said("bot.turn.reminders.say", "zh-Hans")),
    "a reminder is cut": ("a reminder", body(lambda text: text[:-4])),
    "a reminder comes twice": ("a reminder", shown(_twice_posted)),
    "a late reminder does not say so": ("a late reminder", put("bot.turn.reminders.LATE_AFTER", 1e9)),
    "a late reminder names another hour": ("a late reminder", put("bot.turn.reminders.zone_or_utc", lambda _: UTC)),
    "a missed reminder is called a late one": (
        "a repeated reminder that was missed",
        put("bot.turn.reminders.say", _as_late),
    ),
    "a question that came too late is told as a reminder": (
        "a reminder's question that came too late",
        put("bot.turn.reminders.Reminders._text", lambda self, due, language: due.text),
    ),
    "a Chinese reminder is told in English": ("a reminder in Chinese", said("bot.turn.reminders.say", "en")),
    "a reminder is refused": ("a reminder", put("bot.policy.Access.allows", _nobody)),
    "a reminder's question is refused": (
        "a reminder's question",
        put("bot.policy.quotas.Quotas.count_scheduled", _one_at_most),
    ),
    "a job keeps its plan": ("job", put("bot.turn.draft.Draft.end_progress", lambda self: None)),
}


def _short_paper(platform: str) -> object:
    from bot.app import RecordedPlatform
    from bot.contract import SurfaceLimits

    return RecordedPlatform(platform, SurfaceLimits(page_length=700, hard_length=900, measure=len))
