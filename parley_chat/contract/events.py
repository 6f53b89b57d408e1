"""What every adapter tells: questions, and what happens to them after they were sent (changes, deletions, presses).

A platform whose scene passes here rewrites changed questions and has working buttons; the core does the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io

import pytest

from bot.contract import (
    PRESSED,
    Adapter,
    Control,
    ControlPressed,
    DeliveryError,
    Incoming,
    MessageDeleted,
    MessageEdited,
    MessageRef,
    MessageSent,
    Page,
    ReplyTarget,
    StoreError,
    TooLong,
    Unreachable,
)
from parley_chat.contract import waiting
from parley_chat.contract.ears import listening
from parley_chat.contract.scene import Scene, awaited_amiss, show, until
from parley_chat.contract.surfaces import GOOD, STOP


class EventContract:
    """An adapter tells all that the core must know when these pass; a subclass has a fixture `scene`."""

    async def test_its_row_names_what_opens_and_checks_it(self, scene: Scene) -> None:
        module = importlib.import_module(scene.platform.module)

        assert callable(module.open_adapter) and callable(module.check)
        assert scene.platform.settings.needs

    async def test_its_methods_are_async_where_they_are_awaited(self, scene: Scene) -> None:
        assert awaited_amiss(type(await scene.enter()), Adapter) == []

    async def test_people_and_chats_are_named_as_an_operator_lists_them(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            sent = await ear.asked(scene, "why does it rain?")

        before, ids = f"{ear.adapter.platform}:", scene.platform.ids
        person, chat = sent.sender.id.removeprefix(before), str(sent.chat).removeprefix(before)
        assert f"{before}{person}" == sent.sender.id and f"{before}{chat}" == str(sent.chat)
        assert scene.target.platform == sent.target.platform == sent.chat.platform == ear.adapter.platform
        assert ids.person.read(person, short=False) == person
        assert ids.chat.read(chat, short=False) == chat

    async def test_what_the_bot_writes_itself_is_told_to_nobody(self, scene: Scene) -> None:
        """Else it would answer itself for ever."""
        async with listening(scene) as ear:
            ref = await show(scene.surface, Page("why does it rain?"), None, "t1-0")
            await show(scene.surface, Page("why does it rain today?", final=True), ref, "t1-0")

            await ear.asked(scene, "why does it snow?")

    async def test_what_people_say_to_each_other_is_no_question(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            scene.say_to_others("tea at five?")
            scene.ask("why does it rain?")
            told = [await ear.next()]
            while getattr(told[-1], "text", "") != "why does it rain?":
                told.append(await ear.next())

        # What may belong to a question, or continues a thread, says so of itself.
        assert all(isinstance(one, MessageSent) and (one.beside or one.follow_up) for one in told[:-1])
        assert isinstance(told[-1], MessageSent) and not (told[-1].beside or told[-1].follow_up)

    async def test_what_could_not_be_stored_comes_again(self, scene: Scene) -> None:
        """Only what `deliver` returned for is received; until then the platform, or the adapter, keeps it."""
        adapter, stored, tries = await scene.enter(), asyncio.Queue[Incoming](), 0

        async def deliver(told: Incoming) -> None:
            nonlocal tries
            tries += 1
            if tries == 1:
                raise StoreError("the disk is full")
            await stored.put(told)

        async def listen() -> None:
            while True:
                with contextlib.suppress(StoreError, Unreachable):
                    await adapter.listen(deliver)
                await asyncio.sleep(0)

        listening = asyncio.create_task(listen())
        try:
            await until(lambda: adapter.listening)
            id = scene.say("why does it rain?")
            async with asyncio.timeout(waiting.seconds):
                told = await stored.get()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

        assert isinstance(told, MessageSent) and (told.message_id, told.text) == (id, "why does it rain?")
        assert tries == 2

    async def test_a_change_of_a_text_is_told_with_all_of_the_new_text(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            sent = await ear.asked(scene, "why does it rain?")
            scene.edit(sent.message_id, "why does it snow?")
            first = await ear.next()
            scene.edit(sent.message_id, "why does it hail?")
            second = await ear.next()

        edits = [one for one in (first, second) if isinstance(one, MessageEdited)]
        assert [one.text for one in edits] == ["why does it snow?", "why does it hail?"]
        for edit in edits:
            assert (edit.message_id, edit.chat, edit.sender.id) == (sent.message_id, sent.chat, sent.sender.id)
            assert (edit.target, edit.command, edit.group) == (sent.target, "", sent.group)
            assert edit.enclosed in ((), None) and edit.sent_at >= sent.sent_at
        assert len({sent.delivery, *sent.also, *(one.delivery for one in edits)}) == 3 + len(sent.also)

    async def test_a_change_that_no_reader_sees_is_none(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            sent = await ear.asked(scene, "why does it rain?")
            scene.touch(sent.message_id)
            scene.edit(sent.message_id, "why does it snow?")
            told = [await ear.next()]
            if isinstance(told[0], MessageEdited) and told[0].text == sent.text:
                told.append(await ear.next())
            await ear.asked(scene, "and hail?")

        # The core takes what reads as before for no change; see tests/bot/intake/test_changes.py.
        edits = [(one.text, one.enclosed) for one in told if isinstance(one, MessageEdited)]
        assert edits[-1] == ("why does it snow?", ())
        assert edits[:-1] in ([], [(sent.text, sent.enclosed)]) and len(edits) == len(told)

    async def test_a_question_that_is_a_command_after_its_change_says_so(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            sent = await ear.asked(scene, "why does it rain?")
            scene.edit(sent.message_id, "/new")
            edit = await ear.next()

        assert isinstance(edit, MessageEdited) and (edit.command, edit.text) == ("new", "")

    async def test_a_deletion_is_told_where_the_platform_tells_it(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            sent = await ear.asked(scene, "why does it rain?")
            scene.withdraw(sent.message_id)
            deleted = await ear.next()

        assert isinstance(deleted, MessageDeleted)
        assert (deleted.message_id, deleted.chat) == (sent.message_id, sent.chat)
        assert deleted.sender.id in ("", sent.sender.id) and deleted.delivery != sent.delivery

    async def test_a_press_says_what_is_asked_of_which_turn_and_by_whom(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            sent = await ear.asked(scene, "why does it rain?")
            ref = await show(scene.surface, Page("It rains", buttons=(STOP, GOOD)), None, "t1-0")
            scene.press(ref.id, "Good")
            good = await ear.next()
            scene.press(ref.id, "Stop")
            stop = await ear.next()

        assert isinstance(good, ControlPressed) and isinstance(stop, ControlPressed)
        assert [(one.control, one.turn) for one in (good, stop)] == [(Control.GOOD, 12), (Control.STOP, 12)]
        for press in (good, stop):
            assert (press.sender.id, press.chat.place, press.group) == (sent.sender.id, sent.chat.place, sent.group)
        assert good.delivery != stop.delivery
        assert {good.message_id, stop.message_id} == {ref.id}

    async def test_what_a_press_changed_is_shown_in_the_message_that_was_pressed(self, scene: Scene) -> None:
        """By another process, too, to which the press was stored."""
        async with listening(scene) as ear:
            ref = await show(scene.surface, Page("Two reminders", buttons=(STOP, GOOD)), None, "t1-0")
            scene.press(ref.id, "Good")
            press = await ear.next()
            assert isinstance(press, ControlPressed)
            later = (await scene.enter()).surface(ReplyTarget.from_json(press.there.target.to_json()))
            at = MessageRef(press.message_id, PRESSED)
            await show(later, Page("One reminder", buttons=(GOOD,), final=True), at, "p1-0")

        [shown] = scene.shown
        assert (shown.text, list(shown.buttons)) == ("One reminder", ["Good"])

    async def test_a_press_is_answered_for_who_pressed_alone_or_for_everybody(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            ref = await show(scene.surface, Page("It rains", buttons=(STOP, GOOD)), None, "t1-0")
            scene.press(ref.id, "Good")
            press = await ear.next()
            assert isinstance(press, ControlPressed)
            aside = ear.adapter.surface(ReplyTarget.from_json(press.aside.target.to_json()))
            await show(aside, Page("Only for Ada", final=True), None, "p1-0")
            below = ear.adapter.surface(press.target)
            await show(below, Page("For everybody", final=True), None, "t2-0")

        public = ["It rains", "For everybody"] if scene.aside else ["It rains", "Only for Ada", "For everybody"]
        assert [one.text for one in scene.shown if not one.ephemeral] == public
        assert not scene.aside or list(scene.told) == ["Only for Ada"]

    @pytest.mark.parametrize("name", ["cat.png", "report.pdf"])
    async def test_a_file_is_fetched_by_what_its_message_tells(self, scene: Scene, name: str) -> None:
        content = b"\x89PNG\r\n\x1a\n" + b"\0" * 8 + b"\0\0\0\2\0\0\0\2" + b"x" * 200_000
        async with listening(scene) as ear:
            scene.send((name, "image/png" if name.endswith("png") else "application/pdf", content))
            sent = await ear.next()
            assert isinstance(sent, MessageSent)
            [enclosed] = sent.enclosed
            into = io.BytesIO()
            await ear.adapter.fetch(enclosed.source, into, len(content))
            assert into.getvalue() == content

            with pytest.raises(TooLong):
                await ear.adapter.fetch(enclosed.source, io.BytesIO(), len(content) - 1)

    async def test_a_file_that_cannot_be_had_is_an_error_of_delivery(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            scene.send(("cat.png", "image/png", b"\x89PNG\r\n\x1a\n" + b"\0\0\0\2" * 10))
            sent = await ear.next()
            assert isinstance(sent, MessageSent)
            source = sent.enclosed[0].source
            for wrong in (source[: len(source) // 2], "https://evil.example/cat.png", "http://[", ""):
                with pytest.raises(DeliveryError) as caught:
                    await ear.adapter.fetch(wrong, io.BytesIO(), 1_000_000)
                assert "evil" not in str(caught.value) and ":" not in str(caught.value)
