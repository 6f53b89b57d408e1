"""The public address: what is not proven is neither read nor parsed, and nothing else is found there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import pytest

from bot.contract import Headers, Metrics, Proof, SettingsError, WebAnswer, is_same
from bot.operations import WebServer
from bot.operations.web import MOST_BYTES, MOST_READING, READ_SECONDS
from tests.conftest import FakeClock
from tests.patience import PATIENCE
from tests.web import HOSTILE, Web, serving


class Gate:
    """An entrance whose platform signs with the word "friend", in a header and at the end of the body."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.looked = 0
        self.answer = WebAnswer()
        self.error: Exception | None = None

    def expect(self, headers: Headers) -> Proof | None:
        self.looked += 1
        return self._proves if is_same(headers.get("X-Sign", ""), "friend") else None

    def _proves(self, body: bytes) -> bool:
        return body.endswith(b"friend")

    async def take_in(self, headers: Headers, body: bytes) -> WebAnswer:
        self.taken.append(body)
        if self.error is not None:
            raise self.error
        return self.answer


SIGNED = [("X-Sign", b"friend")]


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def web(gate: Gate, clock: FakeClock) -> AsyncIterator[Web]:
    async with serving(clock) as web:
        web.entrance = {"slack": gate}.get
        yield web


async def test_what_is_proven_is_taken_in_and_answered_as_the_platform_wants(web: Web, gate: Gate) -> None:
    gate.answer = WebAnswer(202, b'{"type": 1}')

    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{web.address}/slack", data=b"hello friend", headers={"x-sign": "friend"}) as answer,
    ):
        told = answer.status, answer.content_type, await answer.read()

    assert (told, gate.taken) == ((202, "application/json", b'{"type": 1}'), [b"hello friend"])
    assert web.answered("slack", 202) == 1


@pytest.mark.parametrize(
    ("headers", "body"),
    [([], b"hello friend"), ([("X-Sign", b"foe")], b"hello friend"), (SIGNED, b"hello fiend"), (SIGNED, b"")],
    ids=["unsigned", "wrongly signed", "changed", "empty"],
)
async def test_what_is_not_proven_is_refused_and_not_taken_in(
    web: Web, gate: Gate, headers: list[tuple[str, bytes]], body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert await web.post("slack", headers, body) == 401

    assert gate.taken == []
    assert web.answered("slack", 401) == 1
    assert "a request for slack was refused: no valid signature" in caplog.text


async def test_what_no_signature_can_prove_is_refused_before_its_body_is_there(web: Web, gate: Gate) -> None:
    head = b"POST /parley/slack HTTP/1.1\r\nHost: bot.example\r\nContent-Length: 100000\r\n\r\n"

    assert await web.send(head) == 401


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: f"{len(value)} bytes {value[:9]!r}")
async def test_hostile_headers_prove_nothing_and_break_nothing(
    web: Web, gate: Gate, value: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert await web.post("slack", [("X-Sign", value)]) in (400, 401)

    assert gate.taken == []
    assert "Traceback" not in caplog.text
    assert await web.post("slack", SIGNED, b"friend") == 200


async def test_a_body_that_is_announced_too_large_is_refused_unread(web: Web, gate: Gate) -> None:
    head = b"POST /parley/slack HTTP/1.1\r\nHost: bot.example\r\nX-Sign: friend\r\n"

    assert await web.send(head + f"Content-Length: {MOST_BYTES + 1}\r\n\r\n".encode()) == 413
    assert gate.taken == []


async def test_a_body_without_an_announced_length_is_read_no_further_than_it_may_be_long(web: Web, gate: Gate) -> None:
    head = b"POST /parley/slack HTTP/1.1\r\nHost: bot.example\r\nX-Sign: friend\r\nTransfer-Encoding: chunked\r\n\r\n"
    endless = f"{MOST_BYTES + 1:x}\r\n".encode() + b"a" * (MOST_BYTES + 1)

    assert await web.send(head + endless) == 413
    assert await web.send(head + b"6\r\nfriend\r\n0\r\n\r\n") == 200
    assert gate.taken == [b"friend"]


async def test_a_body_is_proven_as_it_was_sent_and_not_unpacked(web: Web, gate: Gate) -> None:
    assert await web.post("slack", [*SIGNED, ("Content-Encoding", b"gzip")], b"no gzip, but friend") == 200


async def test_who_sends_too_slowly_is_not_waited_for(web: Web, gate: Gate, clock: FakeClock) -> None:
    head = b"POST /parley/slack HTTP/1.1\r\nHost: bot.example\r\nX-Sign: friend\r\nContent-Length: 100\r\n\r\nslow"
    asking = asyncio.create_task(web.send(head))
    await clock.sleeper()
    await clock.advance(READ_SECONDS)

    assert await asking == 408


async def test_of_too_many_bodies_that_may_be_anybodys_the_oldest_is_given_up(web: Web, gate: Gate) -> None:
    head = b"POST /parley/slack HTTP/1.1\r\nHost: bot.example\r\nX-Sign: friend\r\nContent-Length: 100\r\n\r\nslow"
    slow = []
    async with asyncio.timeout(PATIENCE):
        for number in range(MOST_READING + 1):
            slow.append(asyncio.create_task(web.send(head)))
            while gate.looked <= number:
                await asyncio.sleep(0.001)
        assert await slow[0] == 503

    assert not any(one.done() for one in slow[1:])
    assert await web.post("slack", SIGNED, b"friend") == 200
    assert await slow[1] == 503


async def test_who_leaves_in_the_middle_of_a_body_is_no_error_of_ours(
    web: Web, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    head = b"POST /parley/slack HTTP/1.1\r\nHost: bot.example\r\nX-Sign: friend\r\nContent-Length: 100\r\n\r\nslow"
    async with asyncio.timeout(PATIENCE):
        _, writer = await asyncio.open_connection("127.0.0.1", web.port)
        writer.write(head)
        while not gate.looked:
            await asyncio.sleep(0.001)
        writer.close()
        while not web.answered("slack", 400):
            await asyncio.sleep(0.001)

    assert "ended before its body" in caplog.text and "could not be stored" not in caplog.text


async def test_a_platform_that_takes_nothing_in_now_is_told_so(web: Web) -> None:
    assert await web.post("telegram", SIGNED, b"friend") == 503


async def test_an_error_of_our_own_is_told_without_what_was_posted(
    web: Web, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    gate.error = KeyError("what Ada wrote")

    assert await web.post("slack", SIGNED, b"friend") == 500
    assert "a post of slack could not be stored: KeyError" in caplog.text
    assert "what Ada wrote" not in caplog.text


async def test_nothing_of_the_operators_is_served_there(web: Web) -> None:
    places = {"health": 200, "ready": 404, "state": 404, "metrics": 404, "slack": 405, "": 404, "../metrics": 404}
    places |= {"xslack": 404, "slack/": 404, "slack/x": 404}
    found = {}
    for place in places:
        found[place] = await web.send(f"GET /parley/{place} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    assert found == places
    for path, status in {"/health": 200, "/metrics": 404, "/slack": 405, "//metrics": 404}.items():
        assert await web.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()) == status


async def test_a_port_in_use_is_one_sentence_that_names_the_setting(web: Web, clock: FakeClock) -> None:
    taken = WebServer("127.0.0.1", web.port, (), lambda platform: None, Metrics(), clock)

    with pytest.raises(SettingsError, match="WEB_PORT"):
        async with taken:
            pass
