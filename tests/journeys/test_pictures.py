"""A picture that comes with a question is shown to the model, and what it cannot see is said."""

from __future__ import annotations

import base64
import io
import logging
import re
import sqlite3
from contextlib import closing

import pytest

from playground.faults import Fault
from playground.model import Reply
from tests.conftest import RawJson
from tests.journeys.conftest import Process, Start, World
from tests.journeys.test_enclosures import PDF, PLATFORMS, PNG, UNREAD, Place

UNSEEN = "(The model that answered cannot see pictures, so this answer ignores them.)"
LARGE = ("large.png", "image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (30_000).to_bytes(4, "big") * 2)
NO_PICTURE = ("page.png", "image/png", b"<html>no picture</html>")


def seen_in(message: RawJson) -> list[bytes]:
    """The pictures of one message of a request."""
    content = message["content"]
    if isinstance(content, str):
        return []
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def words_of(message: RawJson) -> str:
    """The text of one message of a request."""
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def last(world: World) -> RawJson:
    return world.model.requests[-1].body["messages"][-1]


async def answered(place: Place, times: int) -> None:
    """Wait until so many answers stand."""
    screen = getattr(place.world, place.platform).screen
    await screen.until(lambda _: sum("A cat" in text for text in place.texts) >= times)


async def test_a_picture_is_shown_to_the_model_with_the_question_and_again_with_the_next(
    world: World, start: Start
) -> None:
    world.model.script = lambda body: Reply("A cat.")
    async with start(*PLATFORMS) as bot:
        for platform in PLATFORMS:
            place = Place(world, platform)
            place.send("What is this?", PNG)
            await place.until("A cat.")
            await bot.dispatcher.wait_idle()
            assert place.texts == ["A cat."]
            assert seen_in(last(world)) == [PNG[2]]
            assert "for you to look at" in words_of(last(world)) and "cannot see" not in words_of(last(world))

            place.send("And what colour has it?")
            await answered(place, 2)
            await bot.dispatcher.wait_idle()
            told = [one for one in world.model.requests[-1].body["messages"] if one["role"] == "user"]
            assert [seen_in(one) for one in told] == [[PNG[2]], []]


async def test_a_picture_that_no_model_takes_or_is_sent_as_a_file_is_made_one_that_they_do(
    world: World, start: Start
) -> None:
    image = pytest.importorskip("PIL.Image", reason="the extra `pictures` is not installed")
    written = io.BytesIO()
    image.new("RGB", (30, 20), (255, 0, 0)).save(written, "BMP")
    world.model.script = lambda body: Reply("A cat.")
    async with start(*PLATFORMS) as bot:
        places = [Place(world, platform) for platform in PLATFORMS]
        for place in places:
            # Telegram makes a document of it, as of every picture that is sent as a file.
            place.send("What is this?", ("scan.bmp", "image/bmp", written.getvalue()))
        for place in places:
            await place.until("A cat.")
        await bot.dispatcher.wait_idle()

    for request in world.model.requests:
        [shown] = seen_in(request.body["messages"][-1])
        assert image.open(io.BytesIO(shown)).size == (30, 20)
    assert len(world.model.requests) == len(PLATFORMS)


async def test_a_picture_that_the_model_made_is_what_a_later_question_is_about(world: World, start: Start) -> None:
    image = {"image_url": {"url": f"data:image/png;base64,{base64.b64encode(PNG[2]).decode()}"}}
    world.model.script = lambda body: Reply(chunks=({"content": "A cat."}, {"images": [image]}))
    async with start(*PLATFORMS) as bot:
        for platform in PLATFORMS:
            place = Place(world, platform)
            place.send("Draw a cat.")
            await place.until("A cat.")
            await bot.dispatcher.wait_idle()

            place.send("Make that picture blue.")
            await answered(place, 2)
            await bot.dispatcher.wait_idle()
            assert seen_in(last(world)) == [PNG[2]]
            said = words_of(last(world))
            name = re.search(r"picture-[0-9a-f]{8}\.png", said)
            assert name is not None and "Make that picture blue." in said.partition(name[0])[2]


async def test_the_four_newest_pictures_are_shown_again_as_long_as_they_are_small(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("A cat.")
    small = [PNG[2] + bytes([number]) for number in range(3)]
    many, large = [PNG[2] + bytes([10 + number]) for number in range(2)], PNG[2] + b"x" * (2 * 1024 * 1024)
    async with start("discord") as bot:
        place = Place(world, "discord")
        for number, contents in enumerate(([large], small, many, [])):
            place.send(f"Question {number}", *[("cat.png", "image/png", content) for content in contents])
            await answered(place, number + 1)
            await bot.dispatcher.wait_idle()
            told = [one for one in world.model.requests[-1].body["messages"] if one["role"] == "user"]
            shown = [seen_in(one) for one in told]
            match number:
                case 1:
                    assert shown == [[], small], "the large one is too much to be shown again"
                case 3:
                    assert shown == [[], small[:2], many, []]
                    assert ["cannot see the pictures" in words_of(one) for one in told] == [True, True, False, False]
        await bot.store.files.prune(-1e9)
        place.send("Question 4")
        await answered(place, 5)
        told = [one for one in world.model.requests[-1].body["messages"] if one["role"] == "user"]
        assert not any(seen_in(one) for one in told), "they are kept no longer"


async def test_pictures_alone_are_a_question_and_an_album_is_one(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("A cat.")
    async with start(*PLATFORMS) as bot:
        places = [Place(world, platform) for platform in PLATFORMS]
        for place in places:
            place.send("", *[PNG] * 3)
        for place in places:
            await place.until("A cat.")
        await bot.dispatcher.wait_idle()

    assert [place.texts for place in places] == [["A cat."]] * 3
    assert [seen_in(one.body["messages"][-1]) for one in world.model.requests] == [[PNG[2]] * 3] * 3


async def test_what_is_no_picture_or_too_large_or_no_picture_at_all_is_said(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("A cat.")
    async with start(*PLATFORMS) as bot:
        places = [Place(world, platform) for platform in ("slack", "discord")]
        for place in places:
            place.send("What are these?", PNG, LARGE, NO_PICTURE, PDF)
        for place in places:
            await place.until("A cat.")
        await bot.dispatcher.wait_idle()

    for place in places:
        [text] = place.texts
        assert text.split("\n\n") == [
            "This is too large for me to read: a picture (large.png). Please send a smaller version, or the part that "
            "matters.",
            f"{UNREAD}, so my answer ignores it: a picture (page.png).",
            "This seems to be damaged, so I cannot read it: a file (report.pdf). Please send it again.",
            "A cat.",
        ]
    for request in world.model.requests:
        assert seen_in(request.body["messages"][-1]) == [PNG[2]]
        assert words_of(request.body["messages"][-1]).count("> picture") == 3


async def test_a_picture_that_cannot_be_fetched_is_said_and_the_question_answered(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.model.script = lambda body: Reply("A cat.")
    world.slack.scopes.discard("files:read")
    world.telegram.faults.add("getFile", Fault(status=500))
    async with start(*PLATFORMS) as bot:
        places = [Place(world, platform) for platform in ("telegram", "slack")]
        with caplog.at_level(logging.WARNING):
            for place in places:
                place.send("What is this?", PNG)
            for place in places:
                await place.until("A cat.")
        await bot.dispatcher.wait_idle()

    assert places[0].texts[0].startswith(f"{UNREAD}, so my answer ignores it: a picture")
    assert places[1].texts[0].startswith("I am not allowed to read files here: a picture")
    assert caplog.text.count("a picture is left unread") == 2
    assert world.slack.bot_token not in caplog.text and world.telegram.token not in caplog.text


@pytest.mark.parametrize(
    ("said", "lasting"),
    [
        ("unknown variant `image_url`, expected `text`", True),
        ("Invalid content type. image_url is only supported by certain models.", True),
        ("this model does not support image input", True),
        ("image input is not supported - hint: you may need to provide the mmproj", True),
        ("Could not process image", False),
    ],
)
async def test_a_model_that_sees_none_answers_without_and_is_not_shown_another(
    world: World, start: Start, said: str, lasting: bool
) -> None:
    def script(body: RawJson) -> Reply:
        shown = any(seen_in(one) for one in body["messages"])
        return Reply(status=400, error={"message": said}) if shown else Reply("A cat, I guess.")

    world.model.script = script
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        place.send("What is this?", PNG)
        await place.until("A cat, I guess.")
        await bot.dispatcher.wait_idle()
        place.send("And this?", PNG)
        await answered(place, 2)
        await bot.dispatcher.wait_idle()

    assert "You cannot see the pictures" in words_of(last(world))
    assert len(world.model.requests) == (3 if lasting else 4)
    assert [UNSEEN in text for text in place.texts] == [lasting] * 2


async def test_who_sends_a_picture_and_has_nothing_left_is_told_so(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """No model began to answer, so none is reported to lack vision."""
    async with start("telegram", TOKENS_PER_DAY_PERSON="300") as bot:
        place = Place(world, "telegram")
        place.send("What is this?", PNG)
        await world.telegram.screen.until(lambda _: place.texts)
        await bot.dispatcher.wait_idle()

    assert world.model.requests == [] and len(place.texts) == 1
    assert [one.getMessage() for one in caplog.records if one.levelno > logging.WARNING] == []


async def test_a_picture_in_a_quoted_or_forwarded_message_is_shown_too(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("A cat.")
    async with start(*PLATFORMS) as bot:
        places = [Place(world, platform) for platform in PLATFORMS]
        for place in places:
            place.forward("Look", PNG)
        for place in places:
            await place.until("A cat.")
        await bot.dispatcher.wait_idle()

    assert [seen_in(one.body["messages"][-1]) for one in world.model.requests] == [[PNG[2]]] * 3


async def test_a_picture_is_kept_with_its_chat_and_forgotten_with_it(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("A cat.")
    async with start("telegram") as bot:
        place = Place(world, "telegram")
        place.send("What is this?", PNG)
        await place.until("A cat.")
        await bot.dispatcher.wait_idle()
        assert stored(world) == [PNG[2]]
        place.send("/forget yes")
        await place.until("is deleted")
        place.send("And now?")
        await answered(place, 2)
        await bot.dispatcher.wait_idle()
        assert "PNG" not in str(world.model.requests[-1].body) and seen_in(last(world)) == []
        assert stored(world) == []


def stored(world: World) -> list[bytes]:
    with closing(sqlite3.connect(world.data / "parley.db")) as db:
        return [bytes(row[0]) for row in db.execute("SELECT content FROM blobs")]


async def test_a_kill_while_the_model_looks_shows_the_picture_again(world: World, process: Process) -> None:
    world.settings = {"SLACK_BOT_TOKEN": "", "DISCORD_BOT_TOKEN": ""}
    world.model.reply(Reply(hang_before_headers=True), Reply("A cat."))
    await process.start()
    place = Place(world, "telegram")
    place.send("What is this?", PNG)
    await world.model.asked(1)
    await process.kill()

    await process.start()
    await place.until("A cat.")

    assert [seen_in(one.body["messages"][-1]) for one in world.model.requests] == [[PNG[2]]] * 2
    assert stored(world) == [PNG[2]]
