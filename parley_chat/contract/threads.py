"""What is set for a channel holds in its threads and topics, on every platform, and commands find the answers there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from bot.context import ChatBook
from bot.contract import MessageEdited, MessageSent, Usage
from bot.model import ModelOptions, Models
from bot.policy import Access, ToolRights, payer_of
from bot.settings.channels import Channel, ChannelsFile, Given
from bot.store import Store, TurnState
from parley_chat.contract.clock import FakeClock
from parley_chat.contract.ears import listening
from parley_chat.contract.scene import Scene
from tools.calling.registry import ToolRegistry


async def in_channel_and_thread(scene: Scene) -> tuple[MessageSent, MessageSent]:
    """A question in a channel, and one in a thread of it."""
    told = list[MessageSent]()
    async with listening(scene) as ear:
        for ask, text in ((scene.ask, "in the channel"), (scene.ask_in_thread, "in the thread")):
            ask(text)
            sent = await ear.next()
            while getattr(sent, "text", "") != text:
                sent = await ear.next()
            assert isinstance(sent, MessageSent)
            told.append(sent)
    return told[0], told[1]


@asynccontextmanager
async def empty_store(folder: Path) -> AsyncIterator[tuple[Store, FakeClock]]:
    clock = FakeClock()
    async with Store.open(f"sqlite:///{folder}/parley.db", clock=clock) as opened:
        yield opened, clock


def access(store: Store, clock: FakeClock, *, all_: bool = False, chat: str = "", file: ChannelsFile) -> Access:
    chats = (chat,) if chat else ()
    return Access(roles=store.access, clock=clock, allow_all=all_, users=(), chats=chats, admins=(), channels=file)


class ThreadContract:
    """Threads belong to their channels when these pass; a subclass has a fixture `scene`."""

    async def test_a_mention_that_is_added_by_editing_is_told_as_a_question(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            scene.mention_later("what is tea?")
            told = await ear.next()
            while getattr(told, "text", "") != "what is tea?":
                told = await ear.next()

        asked = told.question if isinstance(told, MessageEdited) else told
        assert isinstance(asked, MessageSent) and asked.group and (asked.text, asked.command) == ("what is tea?", "")

    async def test_a_thread_belongs_to_its_channel_and_has_its_own_history(self, scene: Scene) -> None:
        channel, thread = await in_channel_and_thread(scene)

        assert thread.chat.place == channel.chat.place and thread.chat.thread
        assert thread.chat != channel.chat and thread.group and channel.group

    async def test_what_the_operator_sets_for_a_channel_holds_in_its_threads(
        self, scene: Scene, tmp_path: Path
    ) -> None:
        asked = await in_channel_and_thread(scene)
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

        async with empty_store(tmp_path) as (store, clock):
            for sent in asked:
                assert not await access(store, clock, all_=True, file=shut).allows(sent)
                assert not await access(store, clock, file=open_).allows(sent)
                assert await access(store, clock, chat=place, file=open_).allows(sent)
                permit = await rights.permit_for(sent)
                assert permit.allows("search_web") and not permit.allows("calculator")
                assert shut.channel_of(sent.chat).model is not None
                assert payer_of(sent).keys[1] == f"chat {place}"

    async def test_what_people_set_in_a_channel_holds_in_its_threads_until_one_has_its_own(
        self, scene: Scene, tmp_path: Path
    ) -> None:
        channel, thread = asked = await in_channel_and_thread(scene)
        options = ModelOptions(name="openai:first", tool_mode="auto", turn_seconds=300.0, keys={"openai": "sk-x"})
        async with empty_store(tmp_path) as (store, clock):
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
        self, scene: Scene, tmp_path: Path
    ) -> None:
        channel, thread = await in_channel_and_thread(scene)
        async with empty_store(tmp_path) as (store, _):
            turn = await store.intake.take_in(replace(thread, delivery="d1"))
            assert turn is not None
            await store.turns.open(turn, thread.chat, thread.sender.id)
            end = TurnState.DONE
            await store.turns.close(turn, end, [], visible="Tea.", reasoning="", model="", usage=Usage())

            last = await store.turns.find_last_of_channel(channel.chat.place, channel.sender.id)

            assert last is not None and (last.id, last.chat) == (turn, thread.chat)
