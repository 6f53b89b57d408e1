"""What is enclosed with a question is brought within its limits, and what cannot be brought stays unread."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from bot.contract import (
    ChatId,
    DeliveryError,
    Enclosure,
    EnclosureKind,
    MessageSent,
    Picture,
    Quoted,
    ReplyTarget,
    Sender,
    StoreError,
    TooLong,
)
from bot.model.transcribing import Heard
from bot.policy import Prices
from bot.safety.redacted import MOST_ENCLOSED, redact_message
from bot.sentences import say
from bot.store import Store
from bot.turn.attachments import (
    BRING_SECONDS,
    FILE_BYTES,
    HEAR_SECONDS,
    MOST_BROUGHT,
    MOST_CHARS,
    PICTURE_BYTES,
    PICTURES_BYTES,
    AttachmentReader,
)
from bot.turn.listening import Listener
from playground.model import Reply
from tests.bot.conftest import OpenRig
from tests.bot.turn.test_listening import OGG, Purse, Service
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tools.documents.kinds import DocumentUnreadable, Kind, Reason
from tools.documents.reading import Document, Part
from tools.pictures import kind_of

SMALL = b"\xff\xd8\xff small"
PNG = b"\x89PNG\r\n\x1a\n"
HEAD = PNG + b"\0\0\0\rIHDR\0\0\0\2\0\0\0\2"
"""The same with the size of a small picture."""


class Platform:
    """Files by their source, and what was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.held: set[str] = set()

    async def fetch(self, platform: str, source: str, into: BinaryIO, most: int) -> None:
        self.asked.append(source)
        if source in self.held:
            await asyncio.get_running_loop().create_future()
        if source not in self.files:
            raise DeliveryError("it is gone")
        into.write(self.files[source])


async def read(path: Path, name: str = "", media_type: str = "") -> Document:
    text = path.read_bytes().decode()
    if text in list(Reason):
        raise DocumentUnreadable(Reason(text))
    if not text:
        return Document(Kind.TEXT, "", (Part("", ""),))
    return Document(Kind.TEXT, name.removesuffix(".txt"), (Part("page 1", text), Part("", text)), "That is all.")


async def make(content: bytes, most: int) -> tuple[str, bytes]:
    if b"odd" in content:
        raise DocumentUnreadable(Reason.EXTRA_MISSING)
    return "image/jpeg", SMALL


@pytest.fixture
def platform() -> Platform:
    return Platform()


@pytest.fixture
def service() -> Service:
    return Service(Heard("I said hidden", 1.0))


@pytest.fixture
async def enclosed(
    store: Store, platform: Platform, clock: FakeClock, service: Service
) -> AsyncIterator[AttachmentReader]:
    yield AttachmentReader(
        store=store,
        fetch=platform.fetch,
        read=read,
        clock=clock,
        redact=lambda text: text.replace("hidden", "…"),
        listener=Listener(service, Purse(), Prices()),
        make=make,
    )


def picture(source: str, size: int = 0) -> Enclosure:
    return Enclosure(kind=EnclosureKind.PICTURE, source=source, size=size)


def file(source: str, name: str = "") -> Enclosure:
    return Enclosure(kind=EnclosureKind.FILE, name=name, source=source)


def asking(*enclosures: Enclosure, quoted: Quoted | None = None) -> MessageSent:
    return MessageSent(
        delivery="d1",
        chat=ChatId("telegram", "42", "7"),
        sender=Sender(id="telegram:7"),
        target=ReplyTarget("telegram"),
        text="What is it?",
        enclosed=enclosures,
        quoted=quoted,
    )


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (PNG + b"x", ("image/png", "png")),
        (b"\xff\xd8\xff\xe0", ("image/jpeg", "jpg")),
        (b"GIF87a..", ("image/gif", "gif")),
        (b"GIF89a..", ("image/gif", "gif")),
        (b"RIFF....WEBPVP8 ", ("image/webp", "webp")),
        (b"RIFF....WAVEfmt ", ("", "")),
        (b"<svg xmlns=", ("", "")),
        (b"", ("", "")),
    ],
)
def test_a_picture_is_known_by_its_first_bytes(head: bytes, found: tuple[str, str]) -> None:
    assert kind_of(head) == found


async def test_where_nothing_can_be_brought_nothing_is_asked_for(
    enclosed: AttachmentReader, platform: Platform
) -> None:
    voice = Enclosure(kind=EnclosureKind.VOICE, source="v", seconds=5_000)
    large, huge = picture("p", FILE_BYTES + 1), Enclosure(kind=EnclosureKind.FILE, source="f", size=FILE_BYTES + 1)
    question = asking(voice, large, huge, picture(""))

    assert await enclosed.bring(question) == (question, ())
    assert platform.asked == []


async def test_pictures_and_files_of_a_message_and_its_quote_are_marked_in_their_places(
    enclosed: AttachmentReader, platform: Platform, store: Store
) -> None:
    platform.files = {"a": PNG, "b": b"tea hidden", "c": PNG + b"c", "d": b"<svg"}
    quoted = Quoted(text="Look", enclosed=(picture("c"),))
    question = asking(picture("a"), file("b", "tea.txt"), picture("d"), picture("gone"), quoted=quoted)

    marked, pictures = await enclosed.bring(question)

    assert [bool(one.stored) for one in marked.enclosed] == [True, True, False, False]
    assert marked.enclosed[1].text == "tea\n\n(That is all.)\n\n## page 1\n\ntea …\n\ntea …"
    assert marked.quoted is not None and marked.quoted.enclosed[0].stored
    assert [one.content for one in pictures] == [PNG, PNG + b"c"]
    kept = [await store.files.get(one.stored) for one in pictures]
    assert [one and one.content for one in kept] == [PNG, PNG + b"c"]
    assert marked == question, "what is set by the core makes no other message"


async def test_what_says_nothing_stays_unread(enclosed: AttachmentReader, platform: Platform) -> None:
    platform.files = {"a": b"unknown_kind", "b": b"x", "c": b""}

    marked, _ = await enclosed.bring(asking(file("a"), file("b"), file("c")))

    assert [bool(one.stored) for one in marked.enclosed] == [False, True, False]


async def test_a_person_is_told_why_a_file_stays_unread(enclosed: AttachmentReader, platform: Platform) -> None:
    platform.files = {reason: reason.encode() for reason in Reason}
    platform.files["empty"] = b""

    marked, _ = await enclosed.bring(asking(*map(file, platform.files), replace(file("large"), size=FILE_BYTES + 1)))
    problems = [one.problem for one in marked.enclosed]

    reasons = [reason for reason in Reason if reason not in (Reason.UNKNOWN_KIND, Reason.EXTRA_MISSING)]
    assert {one for one in problems if one} == {f"unread_{reason}" for reason in reasons}
    assert problems[-2:] == ["unread_nothing_to_read", "unread_too_large"] and problems.count("") == 2
    assert "large" not in platform.asked, "it is not downloaded"
    for problem in filter(None, problems):
        assert "`a.txt`" in say(problem, "en", what="a file (`a.txt`)")


async def test_files_share_the_room_and_pictures_theirs(enclosed: AttachmentReader, platform: Platform) -> None:
    half = HEAD + b"odd" + b"x" * (PICTURES_BYTES // 2)
    platform.files = {"a": b"x" * 20_000, "b": b"y" * 100, "p": half, "q": half, "r": PNG}

    question = asking(file("a"), file("b"), picture("p"), picture("q"), picture("r"))
    marked, pictures = await enclosed.bring(question, 30_000)

    first, second = (one.text for one in marked.enclosed[:2])
    assert (
        first.endswith("(Only the first 30,000 characters are shown; read_file reads the rest.)")
        and len(first) < 30_100
    )
    assert second == "\n\n(Only the first 0 characters are shown; read_file reads the rest.)"
    assert [one.content for one in pictures] == [half, PNG]
    assert [bool(one.stored) for one in marked.enclosed[2:]] == [True, False, True]


async def test_a_picture_that_is_more_than_its_share_is_made_smaller_and_kept_as_it_came(
    enclosed: AttachmentReader, platform: Platform, store: Store
) -> None:
    phone = HEAD + b"x" * (PICTURE_BYTES + 1)
    platform.files = {"p": phone, "q": PNG}

    large = Enclosure(kind=EnclosureKind.PICTURE, name="IMG_1.HEIC", source="p", size=len(phone))
    _, pictures = await enclosed.bring(asking(large, picture("q")))

    assert [one.content for one in pictures] == [SMALL, PNG]
    digest = hashlib.sha256(phone).hexdigest()[:12]
    assert await store.files.read(str(asking().chat), f"picture-{digest}-original.HEIC") == phone
    assert await store.files.read(str(asking().chat), f"picture-{digest}.jpg") == SMALL


async def test_many_pictures_share_what_a_question_may_show(enclosed: AttachmentReader, platform: Platform) -> None:
    platform.files = {str(number): HEAD + bytes([number]) * 600_000 for number in range(8)}

    _, pictures = await enclosed.bring(asking(*map(picture, platform.files)))

    assert [one.content for one in pictures] == [SMALL] * 8


@pytest.mark.parametrize("media_type", ["image/png", "application/octet-stream", ""])
async def test_a_picture_that_is_sent_as_a_file_is_looked_at(
    enclosed: AttachmentReader, platform: Platform, media_type: str
) -> None:
    platform.files = {"p": PNG}
    sent = Enclosure(kind=EnclosureKind.FILE, name="a.png", media_type=media_type, source="p")

    marked, pictures = await enclosed.bring(asking(sent))

    assert [one.content for one in pictures] == [PNG] and marked.enclosed[0].stored


@pytest.mark.parametrize(
    ("content", "problem", "shown"),
    [
        (b"II*\0odd", "", []),
        (HEAD + b"odd" + b"x" * PICTURE_BYTES, "unread_too_large", []),
        (PNG + b"\0\0\0\rIHDR" + (30_000).to_bytes(4, "big") * 2, "unread_too_large", []),
        (b"GIF89a\5\0\5\0odd", "", [b"GIF89a\5\0\5\0odd"]),
    ],
    ids=["a kind nobody takes", "too long", "a bomb", "as it came"],
)
async def test_a_picture_that_cannot_be_made_fit_is_shown_as_it_came_or_named(
    enclosed: AttachmentReader, platform: Platform, content: bytes, problem: str, shown: list[bytes]
) -> None:
    platform.files = {"p": content}

    marked, pictures = await enclosed.bring(asking(picture("p")))

    assert [one.content for one in pictures] == shown
    assert marked.enclosed[0].problem == problem


async def test_no_question_brings_more_than_can_be_sent_at_once(enclosed: AttachmentReader, platform: Platform) -> None:
    platform.files = {str(number): PNG for number in range(MOST_BROUGHT + 5)}

    marked, pictures = await enclosed.bring(asking(*map(picture, platform.files)))

    assert len(pictures) == len(platform.asked) == MOST_BROUGHT
    assert len({one.stored for one in pictures}) == 1, "the same picture is kept once"
    assert [bool(one.stored) for one in marked.enclosed] == [True] * MOST_BROUGHT + [False] * 5


async def test_the_text_of_a_huge_file_is_cut_before_it_is_searched_for_secrets(
    store: Store, platform: Platform, clock: FakeClock
) -> None:
    searched: list[int] = []

    def redact(text: str) -> str:
        searched.append(len(text))
        return text

    platform.files = {"a": b"x" * 3_000_000}
    enclosed = AttachmentReader(
        store=store,
        fetch=platform.fetch,
        read=read,
        clock=clock,
        redact=redact,
        listener=Listener(None, Purse(), Prices()),
    )
    marked, _ = await enclosed.bring(asking(file("a")))

    assert searched[0] < MOST_CHARS + 10_000 and len(marked.enclosed[0].text) < MOST_CHARS + 100


async def test_what_takes_too_long_is_left_out(
    enclosed: AttachmentReader, platform: Platform, store: Store, clock: FakeClock
) -> None:
    platform.files, platform.held = {"a": PNG}, {"b"}
    bringing = asyncio.create_task(enclosed.bring(asking(picture("a"), picture("b"))))
    async with asyncio.timeout(PATIENCE):
        while await store.files.get(1) is None:
            await asyncio.sleep(0.001)
    await clock.advance(BRING_SECONDS)

    marked, pictures = await bringing

    assert [bool(one.stored) for one in marked.enclosed] == [True, False] and len(pictures) == 1


async def test_a_store_that_fails_is_an_error_and_the_turn_waits_for_it(
    enclosed: AttachmentReader, platform: Platform, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> int:
        raise StoreError("The disk is full.")

    platform.files = {"a": PNG}
    monkeypatch.setattr(store.files, "put", fails)

    with pytest.raises(StoreError):
        await enclosed.bring(asking(picture("a")))


def test_a_picture_shows_nothing_of_itself_in_a_log() -> None:
    assert repr(Picture(3, "image/png", PNG)) == "Picture(stored=3, media_type='image/png')"


def voice(source: str = "v", *, text: str = "", problem: str = "") -> Enclosure:
    return Enclosure(kind=EnclosureKind.VOICE, source=source, text=text, problem=problem)


async def test_what_is_said_is_brought_in_its_place_without_secrets(
    enclosed: AttachmentReader, platform: Platform, store: Store
) -> None:
    platform.files = {"v": OGG, "a": b"tea", "q": OGG}
    question = asking(file("a"), voice(), quoted=Quoted(text="", enclosed=(voice("q"),)))

    marked, _ = await enclosed.bring(question)

    assert [one.text for one in marked.enclosed] == ["(That is all.)\n\n## page 1\n\ntea\n\ntea", "I said …"]
    assert marked.quoted is not None and marked.quoted.enclosed[0].text == "I said …"
    assert marked.enclosed[1].stored == 0 and await store.files.get(2) is None, "the recording itself is not kept"


async def test_what_was_heard_before_is_neither_fetched_nor_paid_again(
    enclosed: AttachmentReader, platform: Platform, service: Service
) -> None:
    question = asking(voice(text="Hello"), voice("gone", problem="unheard_now"))

    marked, _ = await enclosed.bring(question)

    assert [(one.text, one.problem) for one in marked.enclosed] == [("Hello", ""), ("", "unheard_now")]
    assert platform.asked == ["gone"] and service.asked == []


async def test_what_a_former_process_noted_of_a_picture_is_found_anew(
    enclosed: AttachmentReader, platform: Platform
) -> None:
    marked, pictures = await enclosed.bring(asking(Enclosure(kind=EnclosureKind.PICTURE, source="gone", stored=7)))

    assert marked.enclosed[0].stored == 0 and pictures == ()


async def test_a_recording_larger_than_its_platform_says_is_too_large(
    enclosed: AttachmentReader, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fetch(platform: str, source: str, into: BinaryIO, most: int) -> None:
        raise TooLong("it has more", by=1)

    monkeypatch.setattr(enclosed, "fetch", fetch)
    marked, _ = await enclosed.bring(asking(voice(), picture("p")))

    assert [one.problem for one in marked.enclosed] == ["unheard_large", "unread_too_large"]


async def test_a_transcript_that_takes_too_long_is_left_out(
    enclosed: AttachmentReader, platform: Platform, clock: FakeClock
) -> None:
    platform.held = {"v"}
    bringing = asyncio.create_task(enclosed.bring(asking(voice())))
    async with asyncio.timeout(PATIENCE):
        while not platform.asked:
            await asyncio.sleep(0.001)
    await clock.advance(HEAR_SECONDS)

    marked, _ = await bringing

    assert marked.enclosed[0].problem == "unheard_now"


async def test_of_hundreds_of_files_all_that_are_left_out_are_counted(rig: OpenRig) -> None:
    files = [Enclosure(kind=EnclosureKind.FILE, name=f"{number}.pdf") for number in range(480)]
    pictures = [Enclosure(kind=EnclosureKind.PICTURE)] * 20
    async with rig() as it:
        it.model.reply(Reply("Tea."))
        [said] = await it.say("What is in them?", enclosed=(*files, *pictures))
        told = str(it.model.requests[-1].body["messages"][-1])

    assert "480 files (`0.pdf`, `1.pdf`, `2.pdf`, …), 20 pictures" in said
    assert "and 480 more" in told and "19.pdf" in told and "20.pdf" not in told


def test_what_is_counted_stays_counted_however_often_it_comes_in() -> None:
    files = tuple(Enclosure(kind=EnclosureKind.FILE, name=str(number)) for number in range(500))
    message = redact_message(asking(*files), str)

    assert isinstance(message, MessageSent) and len(message.enclosed) == MOST_ENCLOSED + 1
    assert sum(one.count for one in message.enclosed) == 500
    assert redact_message(message, str) == message
