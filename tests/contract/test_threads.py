"""What is set for a channel holds in its threads and topics, on every platform, and commands find the answers there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.context.chatoptions import ChatBook
from bot.contract.messages import MessageEdited, MessageSent
from bot.contract.transcript import Usage
from bot.model import ModelOptions, Models
from bot.policy.access import Access
from bot.policy.budgets import payer_of
from bot.policy.toolrights import ToolRights
from bot.settings.channels import Channel, ChannelsFile, Given
from bot.store import Store
from bot.store.states import TurnState
from tests.conftest import FakeClock
from tests.contract.scenes import SCENES
from tests.contract.test_events import listening
from tools.calling.registry import ToolRegistry


@pytest.fixture(params=["telegram", "discord", "slack"])
async def asked(request: pytest.FixtureRequest) -> tuple[MessageSent, MessageSent]:
    """A question in a channel, and one in a thread of it."""
    async with SCENES[request.param]() as scene, listening(scene) as ear:
        told = list[MessageSent]()
        for ask, text in ((scene.ask, "in the channel"), (scene.ask_in_thread, "in the thread")):
            ask(text)
            sent = await ear.next()
            while getattr(sent, "text", "") != text:
                sent = await ear.next()
            assert isinstance(sent, MessageSent)
            told.append(sent)
    return told[0], told[1]


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock) as opened:
        yield opened


def access(store: Store, clock: FakeClock, *, all_: bool = False, chat: str = "", file: ChannelsFile) -> Access:
    chats = (chat,) if chat else ()
    return Access(roles=store.access, clock=clock, allow_all=all_, users=(), chats=chats, admins=(), channels=file)


@pytest.mark.parametrize("place", ["telegram", "discord", "slack"])
async def test_a_mention_that_is_added_by_editing_is_told_as_a_question(place: str) -> None:
    async with SCENES[place]() as scene, listening(scene) as ear:
        scene.mention_later("what is tea?")
        told = await ear.next()
        while getattr(told, "text", "") != "what is tea?":
            told = await ear.next()

    asked = told.question if isinstance(told, MessageEdited) else told
    assert isinstance(asked, MessageSent) and asked.group and (asked.text, asked.command) == ("what is tea?", "")


async def test_a_thread_belongs_to_its_channel_and_has_its_own_history(asked: tuple[MessageSent, MessageSent]) -> None:
    channel, thread = asked

    assert thread.chat.place == channel.chat.place and thread.chat.thread
    assert thread.chat != channel.chat and thread.group and channel.group


async def test_what_the_operator_sets_for_a_channel_holds_in_its_threads(
    asked: tuple[MessageSent, MessageSent], store: Store, clock: FakeClock
) -> None:
    place = str(asked[0].chat.place)
    shut = ChannelsFile(
        {
            place: Channel(
                who=Given(("admins",), "line 2"),
                tools=Given(("-calculator",), "line 3"),
                model=Given("openai:other", "line 4"),
            )
        }
    )
    open_ = ChannelsFile()
    rights = ToolRights(ToolRegistry([]), limits=(("search_web", (place,)),), channels=shut)

    for sent in asked:
        assert not await access(store, clock, all_=True, file=shut).allows(sent)
        assert not await access(store, clock, file=open_).allows(sent)
        assert await access(store, clock, chat=place, file=open_).allows(sent)
        permit = await rights.permit_for(sent)
        assert permit.allows("search_web") and not permit.allows("calculator")
        assert shut.channel_of(sent.chat).model is not None
        assert payer_of(sent).keys[1] == f"chat {place}"


async def test_what_people_set_in_a_channel_holds_in_its_threads_until_one_has_its_own(
    asked: tuple[MessageSent, MessageSent], store: Store, clock: FakeClock
) -> None:
    channel, thread = asked
    options = ModelOptions(name="openai:first", tool_mode="auto", turn_seconds=300.0, keys={"openai": "sk-x"})
    async with Models(options, clock) as models:
        book = ChatBook(store.settings, models)
    await book.set(channel.chat.place, "persona", "a pirate")
    inherited = await book.options_of(thread.chat)
    await book.set(thread.chat, "persona", "a poet")
    await store.access.set_role(str(channel.chat.place), "blocked")

    assert inherited.persona == "a pirate"
    assert (await book.options_of(thread.chat)).persona == "a poet"
    assert (await book.options_of(channel.chat.place)).persona == "a pirate"
    for sent in asked:
        assert not await access(store, clock, all_=True, file=ChannelsFile()).allows(sent)


async def test_a_command_for_the_whole_channel_finds_the_answer_in_a_thread(
    asked: tuple[MessageSent, MessageSent], store: Store
) -> None:
    channel, thread = asked
    turn = await store.intake.take_in(replace(thread, delivery="d1"))
    assert turn is not None
    await store.turns.open(turn, thread.chat, thread.sender.id)
    end = TurnState.DONE
    await store.turns.close(turn, end, [], visible="Tea.", reasoning="", model="", usage=Usage())

    last = await store.turns.find_last_of_channel(channel.chat.place, channel.sender.id)

    assert last is not None and (last.id, last.chat) == (turn, thread.chat)
