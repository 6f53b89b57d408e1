"""Asking about a message: the entry in its menu, the form, and what the bot is asked then."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adapters.discord import about
from adapters.discord import client as client_module
from bot.contract import Page, Quoted
from playground.discord.interactions import MODAL, Interaction
from playground.discord.state import CONTENT
from tests.adapters.discord.conftest import Stage, Wait

ENTRY = "Ask about this message"


@pytest.fixture(autouse=True)
def nothing_fails(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    if "cannot_be_shown" not in request.node.name:
        assert "could not be shown" not in caplog.text


async def opened(stage: Stage, wait: Wait, message: str, person: int = 2) -> Interaction:
    """The form for a question about a message, as it stands before a person."""
    made = stage.server.choose(message, ENTRY, person)
    await wait(lambda: made.answered)
    assert made.answered == MODAL and made.form is not None
    return made


async def test_what_is_written_in_the_form_is_asked_about_the_message(stage: Stage, wait: Wait) -> None:
    await stage.listen()
    id = stage.server.say(stage.place, "tea is <@2>'s favourite", person=1)
    form = await opened(stage, wait, id)
    made = stage.server.fill_in(form, {"question": " is that true? "})

    sent = await stage.mailbox.next()

    quoted = sent.quoted
    assert (sent.text, sent.sender.id, sent.command, sent.quote_question) == ("is that true?", "discord:2", "", True)
    assert quoted is not None and not quoted.from_bot
    assert (quoted.text, quoted.author, quoted.message_id) == ("tea is @Bob's favourite", "Ada", id)
    await wait(lambda: made.answered)
    assert stage.server.screen.of("20")[-1].live


@pytest.mark.parametrize(
    ("language", "text"),
    [("en-US", "Explain this message."), ("zh-CN", "请解释这条消息。"), ("de", "Explain this message.")],
)
async def test_an_empty_form_asks_to_explain_the_message(stage: Stage, wait: Wait, language: str, text: str) -> None:
    await stage.listen()
    stage.server.person(3, "Cy").locale = language
    form = await opened(stage, wait, stage.server.say(stage.place, "why?", person=1), 3)
    stage.server.fill_in(form, {})

    assert (await stage.mailbox.next()).text == text


async def test_after_a_restart_the_message_is_named_for_the_core_to_look_up(stage: Stage, wait: Wait) -> None:
    """Where the application may read what people write to each other; elsewhere Discord withholds the words."""
    stage.server.privileged_intents = CONTENT
    await stage.listen()
    id = stage.server.say(stage.place, "why?", person=1)
    form = await opened(stage, wait, id)
    await stage.stop()
    adapter = await stage.listen(await stage.enter())
    stage.server.fill_in(form, {"question": "is that true?"})

    sent = await stage.mailbox.next()

    assert sent.quoted == Quoted(text="", message_id=id)
    reader = adapter.earlier(sent)
    assert reader is not None
    [found], _ = await reader.page(0.0, "")
    assert found.text == "why?"


async def test_the_answer_of_the_bot_can_be_asked_about(stage: Stage, wait: Wait) -> None:
    adapter = await stage.listen()
    surface, _ = await stage.answer_to(adapter)
    ref = await surface.show(surface.draw(Page("A leaf.")), None, "n1")
    form = await opened(stage, wait, ref.id)
    stage.server.fill_in(form, {"question": "are you sure?"})

    sent = await stage.mailbox.next()

    assert sent.quoted is not None
    assert (sent.quoted.text.endswith("A leaf."), sent.quoted.from_bot) == (True, True)


async def test_only_the_newest_messages_are_kept(stage: Stage, wait: Wait, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(about, "_MOST_OPEN", 1)
    await stage.listen()
    forms = [await opened(stage, wait, stage.server.say(stage.place, text, person=1)) for text in ("one", "two")]
    for form in forms:
        stage.server.fill_in(form, {"question": "why?"})

    quoted = [(await stage.mailbox.next()).quoted.text for _ in forms]

    assert quoted == ["", "two"]


async def test_a_form_that_cannot_be_shown_disturbs_nothing(
    stage: Stage, wait: Wait, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.listen()
    id = stage.server.say(stage.place, "secret words", person=1)
    with monkeypatch.context() as broken:
        broken.setattr(about, "_form", lambda *given: 1 / 0)
        made = stage.server.choose(id, ENTRY, 2)
        await wait(lambda: "could not be shown" in caplog.text)
    stage.server.slash("ask", {"question": "hello"}, stage.place, 1)

    assert (await stage.mailbox.next()).text == "hello"
    assert not made.answered and "secret words" not in caplog.text


async def test_other_forms_are_nobodys(stage: Stage, wait: Wait) -> None:
    await stage.listen()
    form = await opened(stage, wait, stage.server.say(stage.place, "why?", person=1))
    assert form.form is not None
    form.form["custom_id"] = "feedback:7"
    stage.server.fill_in(form, {"question": "hello"})
    stage.server.slash("ask", {"question": "what is tea?"}, stage.place, 1)

    assert (await stage.mailbox.next()).text == "what is tea?"


async def test_of_the_oldest_bots_whose_application_has_another_id_an_answer_is_their_own(
    stage: Stage, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.listen()
    monkeypatch.setattr(client_module.Client, "_ids", property(lambda client: (client.application_id, 1)))
    stage.server.fill_in(await opened(stage, wait, stage.server.say(stage.place, "why?", person=1)), {})

    assert (await stage.mailbox.next()).quoted.from_bot
