"""`parley chat`: a conversation in a terminal or through a pipe, as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from io import StringIO
from pathlib import Path

import pytest

from adapters.console.adapter import ConsoleAdapter
from adapters.console.terminal import Screen, draw, lines_of
from bot.contract import Button, Control, Deliver, Incoming, MessageRef, MessageSent, Page, Status, StoreError
from playground.model import ModelServer, Reply
from tests.conftest import Nursery
from tests.patience import PATIENCE


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer(words_per_second=0) as server:
        yield server


def environment(model: ModelServer, folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    return kept | {
        "MODEL": "openai:scripted",
        "OPENAI_API_KEY": "sk-loopback-key",
        "OPENAI_BASE_URL": model.base_url,
        "DATABASE_URL": f"sqlite:///{folder / 'parley.db'}",
        "PARLEY_ENV_FILE": "",
        "CODE_BACKEND": "off",
    }


Chat = Callable[..., Awaitable[tuple[int, str, str]]]


@pytest.fixture
def chat(model: ModelServer, tmp_path: Path, nursery: Nursery) -> Chat:
    """`await chat(typed, *options, **settings)`: exit code, what was printed, and what was complained about."""

    async def chat(typed: str, *more: str, **settings: str) -> tuple[int, str, str]:
        wanted = environment(model, tmp_path) | settings
        told = await nursery.talk("bot", "chat", *more, folder=tmp_path, environment=wanted, typed=typed)
        return told.code, told.out, told.err

    return chat


async def test_every_line_of_a_pipe_is_answered_in_order(model: ModelServer, chat: Chat) -> None:
    model.reply(Reply("The sky is blue.", words_per_second=100), Reply("So is the sea."))

    code, out, err = await chat("why is the sky blue?\n\nand the sea")

    assert (code, err) == (0, "")
    assert out == "The sky is blue.\nSo is the sea.\n"
    assert [message["content"] for message in model.requests[1].messages if message["role"] == "assistant"] == [
        "The sky is blue."
    ]


async def test_each_name_has_a_conversation_that_goes_on(model: ModelServer, chat: Chat) -> None:
    model.reply(Reply("Noted."), Reply("Yes."), Reply("No."))

    await chat("my name is Ann\n", "--name", "ann")
    await chat("do you know me?\n", "--name", "ann")
    await chat("do you know me?\n", "--name", "bob")

    said = [[str(message["content"]) for message in request.messages] for request in model.requests]
    assert any("my name is Ann" in text for text in said[1])
    assert not any("my name is Ann" in text for text in said[2])


async def test_commands_work_and_nobody_else_is_let_in(model: ModelServer, chat: Chat) -> None:
    """The person at the terminal needs no list; `/whoami` names the id a list would hold."""
    code, out, _ = await chat("/whoami\n/new\n", ALLOWED_USERS="telegram:1")

    assert code == 0
    assert out.startswith("You: `console:me`\nThis chat: `console:local/me`\n")
    assert model.requests == []


async def test_a_conversation_is_exported_to_a_file_that_is_named(model: ModelServer, chat: Chat) -> None:
    model.reply(Reply("A leaf."))

    code, out, err = await chat("what is tea?\n/export json\n")

    [path] = re.findall(r"\[file: (\S+)\]", out)
    [turn] = json.loads(Path(path).read_text(encoding="utf-8"))
    assert (code, err) == (0, "") and path.endswith("/chat.json")
    assert (turn["question"], turn["answer"]) == ("what is tea?", "A leaf.")


@pytest.mark.parametrize(
    ("typed", "said", "told"), [("y", "✅ Allowed.", "6 × 7 = 42"), ("no", "🚫 Refused", "refused it")]
)
async def test_a_tool_that_asks_first_is_decided_about_by_a_typed_line(
    model: ModelServer, chat: Chat, typed: str, said: str, told: str
) -> None:
    model.reply(Reply(calls=(("calculator", {"expression": "6*7"}),)), Reply("That is all."), Reply("You said yes."))

    code, out, err = await chat(f"what is 6*7?\n{typed}\nyes\n", CONFIRM_TOOLS="calculator")

    assert (code, err) == (0, "") and out.count("May I do this?") == 1
    asked, _, after = out.partition("y = ✅ Allow · n = 🚫 Refuse\n")
    assert "**Expression**: `6*7`" in asked and said in after and "That is all.\nYou said yes.\n" in after
    assert told in str(model.requests[1].messages[-1]["content"])
    assert model.requests[2].messages[-1]["content"] == "yes", "nothing waits any more: it is a message"


async def test_without_a_model_it_says_which_setting_is_missing(chat: Chat) -> None:
    code, out, err = await chat("hello\n", MODEL="", OPENAI_API_KEY="")

    assert (code, out) == (2, "")
    assert "MODEL" in err


@pytest.mark.parametrize(
    ("settings", "person", "operator"),
    [
        (
            {"OPENAI_API_KEY": "sk-wrong-key-0123456"},
            "The model is not set up correctly.",
            "parley: openai:scripted refuses the key of OPENAI_API_KEY (status 401",
        ),
        (
            {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"},
            "The model cannot be reached right now.",
            "parley: openai:scripted cannot be reached at 127.0.0.1:9 (",
        ),
        (
            {"MODEL": "openai:gone"},
            "The model is not set up correctly.",
            "parley: openai:gone is not known to its server (status 404",
        ),
    ],
)
async def test_the_operator_who_asks_is_told_why_there_is_no_answer(
    model: ModelServer, chat: Chat, settings: dict[str, str], person: str, operator: str
) -> None:
    model.key = "sk-loopback-key"

    code, out, err = await chat("hello there\n", **settings)

    assert code == 1 and out.startswith(person)
    [line] = err.splitlines()
    assert line.startswith(operator) and "sk-wrong" not in line


async def test_what_will_not_work_is_told_before_the_first_question(model: ModelServer, chat: Chat) -> None:
    model.reply(Reply("Fine."))

    code, out, err = await chat("how are you\n", OPENAI_APIKEY="sk-1")

    assert (code, out) == (0, "Fine.\n")
    assert [line.split()[1] for line in err.splitlines()] == ["OPENAI_APIKEY"]


def shown(*steps: tuple[Page, str], terminal: bool = False) -> str:
    """What is printed when these pages are shown, each in the message of that name."""
    out = StringIO()
    screen = Screen(out, terminal)
    refs: dict[str, MessageRef] = {}
    for page, name in steps:
        refs[name] = screen.show(draw(page), refs.get(name))
    return out.getvalue()


def growing(texts: Sequence[str]) -> list[tuple[Page, str]]:
    return [(Page(text, final=text == texts[-1]), "a") for text in texts]


def test_a_page_is_printed_as_it_grows() -> None:
    assert shown(*growing(["The", "The sky", "The sky is blue."])) == "The sky is blue.\n"


def test_a_page_that_changed_is_printed_anew_at_its_end_only() -> None:
    assert shown(*growing(["The key", "The [mas", "The [masked] key"])) == "The key\nThe [masked] key\n"


def test_what_was_asked_says_what_became_of_it_and_nothing_is_decided_twice() -> None:
    out = StringIO()
    screen = Screen(out, terminal=False)
    buttons = tuple(Button(control, 1, control.name, "0" * 16) for control in (Control.ALLOW, Control.DENY))
    assert screen.find_choice("y") is None
    ref = screen.show(draw(Page("May I?", final=False, buttons=buttons)), None)
    assert screen.find_choice("y") is None, "not yet: it is still being written"
    for _ in range(2):
        screen.show(draw(Page("May I?\n\nWaits.", final=True, buttons=buttons)), ref)
    chosen = [screen.find_choice(line) for line in ("Y", "yes", "n", "NO", "maybe", "")]
    assert chosen == [buttons[0], buttons[0], buttons[1], buttons[1], None, None]

    screen.show(draw(Page("May I?\n\nIn vain.", final=True)), ref)
    assert screen.find_choice("y") is None
    assert out.getvalue() == "May I?\n\nWaits.\ny = ALLOW · n = DENY\nIn vain.\n"


def test_two_replies_do_not_run_into_each_other() -> None:
    steps = [(Page("one"), "a"), (Page("two", final=True), "b"), (Page("one, more", final=True), "a")]

    assert shown(*steps) == "one\ntwo\n, more\n"


def test_statuses_have_lines_of_their_own_and_only_in_terminals() -> None:
    steps = [
        (Page("", (Status("searching"),)), "a"),
        (Page("", (Status("searching"),)), "a"),
        (Page("found", final=True), "a"),
    ]

    assert shown(*steps) == "found\n"
    assert shown(*steps, terminal=True) == "\x1b[2msearching\x1b[0m\nfound\n"


def test_an_answer_cannot_move_the_cursor() -> None:
    assert shown((Page("a\x1b[2Jb\x07c\td\n", final=True), "a")) == "a[2Jbc\td\n"


class Terminal(StringIO):
    """What is printed where a person looks on."""

    def isatty(self) -> bool:
        return True


async def conversation(
    ends: tuple[int, int], out: StringIO, deliver: Deliver, idle: Callable[[], Awaitable[None]] | None = None
) -> str:
    """What is printed until the person leaves; `ends` are where the lines are read, and where they are written."""
    source, sink = ends
    async with asyncio.timeout(PATIENCE), ConsoleAdapter("ada", source, out) as adapter:
        adapter.idle = idle
        await adapter.listen(deliver)
        assert adapter.ended.is_set()
        os.close(sink)
        for reading in [thread for thread in threading.enumerate() if thread.name == "console input"]:
            await asyncio.to_thread(reading.join)
    os.close(source)
    return out.getvalue()


async def test_a_line_of_a_pipe_is_delivered_when_the_one_before_it_is_answered() -> None:
    source, sink = os.pipe()
    os.write(sink, b"one\n\n  \n/new\ntwo\nquit\n")
    happened: list[str] = []

    async def deliver(incoming: Incoming) -> None:
        assert isinstance(incoming, MessageSent)
        happened.append(incoming.command or incoming.text)

    async def idle() -> None:
        happened.append("answered")

    assert await conversation((source, sink), StringIO(), deliver, idle) == ""
    assert happened == ["one", "answered", "new", "answered", "two", "answered"]


async def test_what_is_not_stored_is_said_and_the_next_line_is_heard() -> None:
    source, sink = os.pipe()
    os.write(sink, b"one\ntwo\n/quit\nthree\n")
    stored: list[str] = []

    async def deliver(incoming: Incoming) -> None:
        assert isinstance(incoming, MessageSent)
        if incoming.text == "one":
            raise StoreError("the disk is full")
        stored.append(incoming.text)

    printed = await conversation((source, sink), StringIO(), deliver)

    assert printed == "Not stored, please write it again: the disk is full\n"
    assert stored == ["two"]


async def test_who_types_on_while_an_answer_is_written_is_invited_once_at_its_end() -> None:
    mine, source = os.openpty()
    answered, both = asyncio.Event(), asyncio.Event()
    stored: list[Incoming] = []

    async def deliver(incoming: Incoming) -> None:
        stored.append(incoming)
        if len(stored) == 2:
            both.set()

    async def idle() -> None:
        await answered.wait()

    async def typing() -> None:
        os.write(mine, b"one\n\ntwo\n")
        await both.wait()
        answered.set()
        os.write(mine, b"/quit\n")

    async with asyncio.TaskGroup() as group:
        group.create_task(typing())
        printed = await conversation((source, mine), Terminal(), deliver, idle)

    welcome, _, prompts = printed.partition("\n")
    assert welcome.startswith("Ctrl-D or /quit ends this")
    assert prompts == "you> you> you> "


async def test_who_leaves_at_once_has_asked_nothing() -> None:
    source, sink = os.pipe()
    os.write(sink, b"Exit\n")
    stored: list[Incoming] = []

    async def deliver(incoming: Incoming) -> None:
        stored.append(incoming)

    assert await conversation((source, sink), StringIO(), deliver) == ""
    assert stored == []


async def test_a_terminal_that_is_closed_ends_its_input() -> None:
    mine, source = os.openpty()
    lines = lines_of(source)
    os.close(mine)

    async with asyncio.timeout(PATIENCE):
        assert await lines.get() is None
    os.close(source)


@pytest.mark.parametrize("end", ["", "\n"])
async def test_lines_come_whole_however_they_were_cut(end: str) -> None:
    source, sink = os.pipe()
    lines = lines_of(source)
    text = f"héllo\nwörld{end}".encode()
    for index in range(len(text)):
        os.write(sink, text[index : index + 1])
    os.close(sink)

    async with asyncio.timeout(PATIENCE):
        found = [await lines.get() for _ in range(3)]
    os.close(source)

    assert found == ["héllo", "wörld", None]


@pytest.mark.parametrize(("leave", "echoed"), [(b"\x04", ""), (b"/quit\n", "/quit\r\n"), (b"exit\n", "exit\r\n")])
async def test_a_terminal_invites_after_each_answer_and_ends_when_told(
    model: ModelServer, tmp_path: Path, nursery: Nursery, leave: bytes, echoed: str
) -> None:
    model.reply(Reply("The sky is blue."))
    mine, theirs = os.openpty()
    process = nursery.start(
        "bot", "chat", folder=tmp_path, environment=environment(model, tmp_path), streams=(theirs, theirs, theirs)
    )
    os.close(theirs)
    seen = ""
    try:
        async with asyncio.timeout(PATIENCE):
            for wanted, typed in (("you> ", b"why?\n"), ("blue.\r\nyou> ", leave)):
                while wanted not in seen:
                    seen += (await asyncio.to_thread(os.read, mine, 1024)).decode()
                os.write(mine, typed)
            code = await process.wait()
            while not seen.endswith(f"you> {echoed}"):
                seen += (await asyncio.to_thread(os.read, mine, 1024)).decode()
    finally:
        os.close(mine)

    assert (code, seen) == (
        0,
        "Ctrl-D or /quit ends this, /help shows what else there is.\r\nyou> why?\r\nThe sky is blue.\r\nyou> " + echoed,
    )
