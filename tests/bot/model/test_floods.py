"""Servers that send without end, or far more than they seem to: what is unpacked is counted, and a line has an end."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest
from aiohttp import web

from bot.contract import ModelDropped, ModelRefused
from bot.model import Request
from bot.model import sse as decoding
from bot.model import transport as module
from bot.model.sse import EventDecoder, LineDecoder, read_event
from tests.bot.model.conftest import Ask, Events, Handler, Open, RawServer

PACKED = gzip.compress(b'{"error": {"message": "' + bytes(4 * 1024 * 1024))
"""4 MiB, as 4 KiB."""
ENDLESS = 40
"""Pieces of what never ends by itself, each a quarter of the limit."""


def flood(status: int, piece: bytes, headers: dict[str, str]) -> tuple[Handler, list[int]]:
    """A server that sends a piece again and again, and how often it did."""
    sent: list[int] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers=headers)
        await response.prepare(request)
        for number in range(ENDLESS):
            sent.append(number)
            await response.write(piece)
        return response

    return handle, sent


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_packed_refusal_is_read_no_further_than_a_plain_one(
    raw_server: RawServer, opened: Open, asking: Ask, question: Request, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[int] = []
    piece_of = module._Unpacked.__aiter__

    async def counted(body: module._Unpacked) -> object:
        async for piece in piece_of(body):
            unpacked.append(len(piece))
            yield piece

    monkeypatch.setattr(module._Unpacked, "__aiter__", counted)
    packed = PACKED if encoding == "gzip" else zlib.compress(gzip.decompress(PACKED))
    handle, _ = flood(400, packed, {"Content-Encoding": encoding, "Content-Type": "application/json"})
    address = await raw_server(handle)

    asked = await asking(opened(base_urls={"openai": address}), question)

    assert isinstance(asked.error, ModelRefused)
    assert 0 < sum(unpacked) <= module.MOST_ERROR_BYTES + 2 * max(unpacked) and max(unpacked) <= 1024 * 1024


@pytest.mark.parametrize(
    "piece", [b": keep-alive\n\n" * 20_000, b"data: " + b"x" * 250_000], ids=["comments", "an endless line"]
)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_a_stream_without_end_breaks_off_and_others_have_their_turn(
    raw_server: RawServer,
    opened: Open,
    asking: Ask,
    question: Request,
    piece: bytes,
    encoding: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 4 * len(piece))
    monkeypatch.setattr(decoding, "MOST_EVENT_BYTES", 2 * len(piece))
    packed = gzip.compress(piece * ENDLESS) if encoding == "gzip" else piece
    handle, sent = flood(200, packed, {"Content-Encoding": encoding, "Content-Type": "text/event-stream"})
    address = await raw_server(handle)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(others())
    asked = await asking(opened(base_urls={"openai": address}), question)
    other.cancel()

    assert isinstance(asked.error, ModelDropped) and asked.pieces == []
    assert turns > 10 and (encoding == "gzip" or len(sent) < ENDLESS)


async def test_what_it_wrote_before_it_flooded_is_kept(
    raw_server: RawServer, opened: Open, asking: Ask, question: Request, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1_000_000)
    said = '{"choices": [{"index": 0, "delta": {"content": "Tea is"}}]}'
    address = await raw_server(events(said, chunks=[b": ping\n\n" * 20_000] * 10))

    asked = await asking(opened(base_urls={"openai": address}), question)

    assert asked.text == "Tea is" and isinstance(asked.error, ModelDropped)


@pytest.mark.parametrize("decoder", [EventDecoder, LineDecoder])
def test_only_what_is_not_complete_counts_as_a_long_line(
    decoder: type[EventDecoder | LineDecoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "MOST_EVENT_BYTES", 1_000)
    whole, line = decoder(), b'data: {"a": 1}\n\n' if decoder is EventDecoder else b'{"a": 1}\n'
    for _ in range(1_000):
        assert whole.feed(line) and not whole.too_long
    assert not whole.feed(b"x" * 999) and not whole.too_long
    assert not whole.feed(b"xx") and whole.too_long


def test_an_event_of_many_lines_without_its_end_is_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MOST_EVENT_BYTES", 1_000)
    decoder = EventDecoder()
    for _ in range(100):
        assert decoder.feed(b"data: 1, \n") == []

    assert not decoder.too_long
    assert decoder.feed(b"data: 1\n") == [] and decoder.too_long


@pytest.mark.parametrize("data", [b"[" + b"[]," * 60_000 + b"[]]", b"1\n" * 60_000], ids=["lists", "numbers"])
def test_an_event_of_too_many_values_is_not_parsed(data: bytes) -> None:
    with pytest.raises(ValueError, match="too many values"):
        read_event(data)


def test_a_large_event_of_few_values_is_read() -> None:
    assert read_event(b'{"picture": "' + b"a" * 1_000_000 + b'"}')[0][0]["picture"] == "a" * 1_000_000
