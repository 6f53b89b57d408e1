"""Files of Slack that are none as others are: of another organisation, canvases, e-mails, deleted ones, links."""

from __future__ import annotations

import logging

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Start, World
from tests.journeys.test_enclosures import PNG
from tests.journeys.test_pictures import seen_in, words_of
from tests.journeys.test_sent_files import NOTES, told
from tests.journeys.test_voice import SAID, hears, questions, voice

CANVAS = b"<h1 id='a'>Plan</h1><p class='line'>Tea at six.</p><ul data-section-style='5'><li>Milk</li></ul>"
EMAIL: RawJson = {
    "filetype": "email",
    "mode": "email",
    "subject": "Tea on Friday",
    "from": [{"address": "eve@example.com", "name": "Eve", "original": "Eve <eve@example.com>"}],
    "to": [{"address": "ada@example.com", "name": "Ada", "original": "Ada <ada@example.com>"}],
    "cc": [],
    "headers": {"date": "Fri, 20 Nov 2026 18:58:30 +0000"},
    "attached": [
        ("menu.txt", "text/plain", b"Green tea: 3"),
        ("leaf.png", "image/png", PNG[2]),
        ("broken.pdf", "application/pdf", b"%PDF-1.7 broken"),
        ("song.mp3", "audio/mpeg", b"ID3"),
    ],
    "original_attachment_count": 5,
    "plain_text": "Shall we meet at six?",
}
READ: list[tuple[str, tuple[str, str, bytes], RawJson, list[str]]] = [
    ("of another organisation", NOTES, {}, [NOTES[2].decode()]),
    (
        "a canvas",
        ("Plan", "application/vnd.slack-docs", CANVAS),
        {"filetype": "quip", "mode": "quip"},
        ["Plan", "six", "Milk"],
    ),
    (
        "an e-mail",
        ("Tea on Friday", "text/html", b"<p>Shall we meet at six?</p>"),
        EMAIL,
        [
            "Subject: Tea on Friday\nFrom: Eve <eve@example.com>\nTo: Ada <ada@example.com>\nDate: Fri, 20 Nov 2026",
            "Attachments: 5 (menu.txt, leaf.png, broken.pdf, song.mp3, …)\n\nShall we meet at six?",
            "[attached: menu.txt]\nGreen tea: 3",
            "[attached: leaf.png; shown as a picture]\n\n[attached: broken.pdf; not read]",
            "[attached: song.mp3; not read]",
        ],
    ),
    (
        "an e-mail of which only the page is told",
        ("Tea", "text/html", b"<p>Shall we meet <b>at six</b>?</p>"),
        {"filetype": "email", "mode": "email", "subject": "Tea"},
        ["Shall we meet", "at six"],
    ),
    ("a page", ("page.html", "text/html", b"<html><body><p>Tea at six.</p></body></html>"), {}, ["Tea at six."]),
]


def ask(
    world: World,
    number: int,
    file: tuple[str, str, bytes],
    facts: RawJson,
    *,
    connected: bool,
    text: str = "What is it?",
) -> str:
    """Send a file with a question in a chat of its own; the chat."""
    person = f"U{number}"
    world.slack.person(person, f"Person {number}")
    channel = world.slack.direct(person)
    world.slack.say(channel, text, person=person, files=[file], facts=facts, connected=connected)
    return channel


def texts(world: World, channel: str) -> list[str]:
    return [message.text for message in world.slack.screen.of(channel)]


async def answered(world: World, channel: str) -> str:
    await world.slack.screen.until(lambda _: any("Tea." in text for text in texts(world, channel)))
    return texts(world, channel)[-1]


@pytest.mark.parametrize("connected", [False, True])
async def test_a_file_is_read_whatever_slack_calls_it(world: World, start: Start, connected: bool) -> None:
    world.model.script = lambda body: Reply("Tea.")
    async with start("slack") as bot:
        channels = [
            ask(world, number, file, facts, connected=connected) for number, (_, file, facts, _) in enumerate(READ)
        ]
        assert [await answered(world, channel) for channel in channels] == ["Tea."] * len(READ)
        await bot.dispatcher.wait_idle()

    questions = [words_of(one.body["messages"][-1]) for one in world.model.requests]
    for case, _, _, words in READ:
        assert any(all(word in said for word in words) for one in questions for said in told(one)), case
    assert not any("<p" in said for one in questions for said in told(one))
    assert [PNG[2]] in [seen_in(one.body["messages"][-1]) for one in world.model.requests]


async def test_a_picture_and_a_recording_of_another_organisation_are_what_they_are(world: World, start: Start) -> None:
    hears(world)
    async with start("slack") as bot:
        shown = ask(world, 1, PNG, {}, connected=True)
        await world.slack.screen.until(lambda _: bool(texts(world, shown)))
        await bot.dispatcher.wait_idle()
        assert texts(world, shown) == ["At six."] and seen_in(world.model.requests[-1].body["messages"][-1]) == [PNG[2]]

        said = ask(world, 2, voice("slack"), {}, connected=True, text="")
        await world.slack.screen.until(lambda _: bool(texts(world, said)))
        await bot.dispatcher.wait_idle()

    assert texts(world, said) == [f"🎤 {SAID}\n\nAt six."]
    assert questions(world)[-1].startswith(SAID)


AWAY: list[tuple[RawJson, bool, str]] = [
    ({"mode": "tombstone"}, False, "This was deleted"),
    ({"mode": "hidden_by_limit"}, False, "This is too old for your workspace's plan"),
    ({"is_external": True, "url_private": "https://drive.example.com/x"}, False, "This is kept by another service"),
    ({"is_external": True, "url_private": "https://drive.example.com/x"}, True, "This is kept by another service"),
    ({"file_access": "access_denied"}, False, "I have no access to this"),
    ({"refused": "file_not_found"}, True, "I have no access to this"),
    ({"refused": "file_deleted"}, True, "This was deleted"),
    ({"url_private_download": "https://evil.example.com/x"}, True, "I cannot read this yet"),
]


async def test_a_file_that_cannot_be_had_is_told_of_in_one_sentence(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("Tea.")
    async with start("slack") as bot:
        channels = [
            ask(world, number, NOTES, facts, connected=connected) for number, (facts, connected, _) in enumerate(AWAY)
        ]
        shown = [await answered(world, channel) for channel in channels]
        await bot.dispatcher.wait_idle()

    for text, (facts, _, sentence) in zip(shown, AWAY, strict=True):
        said, answer = text.split("\n\n")
        assert said.startswith(sentence) and answer == "Tea.", facts


async def test_without_the_scope_people_and_operator_are_told_what_to_do(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.model.script = lambda body: Reply("Tea.")
    world.slack.scopes.discard("files:read")
    async with start("slack") as bot:
        with caplog.at_level(logging.WARNING):
            channels = [ask(world, number, NOTES, {}, connected=number == 1) for number in range(2)]
            shown = [await answered(world, channel) for channel in channels]
        await bot.dispatcher.wait_idle()

    assert [text.split("\n\n")[0][:40] for text in shown] == ["I am not allowed to read files here: a fi"[:40]] * 2
    assert caplog.text.count("add the scope files:read under OAuth & Permissions") == 1


async def test_a_sign_in_page_in_a_files_place_is_no_file(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("Tea.")
    async with start("slack") as bot:
        page = ("report.pdf", "application/pdf", b"<!DOCTYPE html><title>Sign in</title>")
        channel = ask(world, 1, page, {"served": "text/html"}, connected=False)
        text = await answered(world, channel)
        await bot.dispatcher.wait_idle()

    assert text.startswith("I cannot read this yet") and "Sign in" not in words_of(
        world.model.requests[-1].body["messages"][-1]
    )


@pytest.mark.parametrize(
    ("file", "facts"),
    [
        (("notes.html", "text/html", b"<p>Tea.</p>"), {"size": 11}),
        (("Plans", "application/vnd.slack-docs", b"<p>Tea.</p>"), {"filetype": "quip", "mode": "quip"}),
    ],
    ids=["page", "canvas"],
)
async def test_a_sign_in_page_in_the_place_of_a_page_or_a_canvas_is_none(
    world: World, start: Start, file: tuple[str, str, bytes], facts: dict[str, object]
) -> None:
    world.model.script = lambda body: Reply("Tea.")
    async with start("slack") as bot:
        name, kind, _ = file
        page = (name, kind, b"<!DOCTYPE html><title>Sign in to Slack</title>" + b" " * 100)
        text = await answered(world, ask(world, 1, page, {"served": "text/html", **facts}, connected=False))
        await bot.dispatcher.wait_idle()

    assert text.startswith("I cannot read this yet") and "Sign in" not in words_of(
        world.model.requests[-1].body["messages"][-1]
    )


async def test_slack_that_says_nothing_of_a_file_leaves_it_unread(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("Tea.")
    world.slack.faults.add("files.info", Fault(status=503))
    async with start("slack") as bot:
        text = await answered(world, ask(world, 1, NOTES, {}, connected=True))
        await bot.dispatcher.wait_idle()

    assert text.startswith("I cannot read this yet, so my answer ignores it: a file.")
