"""What arrives: little, in time, as text; and why something did not, in a sentence."""

from __future__ import annotations

import asyncio
import gzip
import io
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.patience import PATIENCE
from tests.tools.fetch.conftest import Canary, Site
from tools.contract.base import ToolError
from tools.fetch.bodies import MOST_BYTES, Unreadable, read_body
from tools.fetch.client import PDF_BYTES, Fetcher

TEXT = "Bridges hang from cables. 桥。 " * 200


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("identity", bytes),
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", bare),
        ("gzip", lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:]) + b"\0\0junk"),
    ],
)
async def test_a_packed_page_is_unpacked(encoding: str, pack: Any, site: Site, fetcher: Fetcher) -> None:
    url = site.page("/", pack(TEXT.encode()), "text/plain; charset=utf-8", Content_Encoding=encoding)

    page = await fetcher.get(url)

    assert page.body.decode() == TEXT
    assert (page.media_type, page.charset, page.cut) == ("text/plain", "utf-8", False)


async def test_a_bomb_ends_at_two_mebibytes_and_not_in_memory(site: Site, fetcher: Fetcher) -> None:
    """64 MiB of zeros in 64 KiB, and packed once more where the server says so."""
    url = site.page("/", gzip.compress(bytes(64 << 20), 9), "text/html", Content_Encoding="gzip")
    tracemalloc.start()

    page = await fetcher.get(site.page("/", gzip.compress(b" " * (64 << 20), 9), Content_Encoding="gzip"))
    _, peak = tracemalloc.get_traced_memory()

    tracemalloc.stop()
    assert page.cut
    assert len(page.body) == MOST_BYTES
    assert peak < 80 << 20  # 64 of them are the site's own, which packs it
    with pytest.raises(ToolError, match="packed in a way"):
        await fetcher.get(site.page("/", b"x", Content_Encoding="gzip, gzip"))
    with pytest.raises(ToolError, match="binary"):
        site.page("/", gzip.compress(bytes(100)), Content_Encoding="gzip")
        await fetcher.get(url)


async def test_a_long_page_is_cut_and_a_long_pdf_is_refused(site: Site, fetcher: Fetcher) -> None:
    page = await fetcher.get(site.page("/long", b"x" * (MOST_BYTES + 1), "text/plain"))
    whole = await fetcher.get(site.page("/whole", b"x" * MOST_BYTES, "text/plain"))

    assert (len(page.body), page.cut) == (MOST_BYTES, True)
    assert (len(whole.body), whole.cut) == (MOST_BYTES, False)
    pdf = await fetcher.get(site.page("/p", b"%PDF-1.7".ljust(PDF_BYTES), "application/pdf"), pdf=True)
    assert (len(pdf.body), pdf.cut) == (PDF_BYTES, False)
    with pytest.raises(ToolError, match="larger than 20 MiB"):
        await fetcher.get(site.page("/p", b"%PDF-1.7".ljust(PDF_BYTES + 1), "application/pdf"), pdf=True)


@pytest.mark.parametrize(
    "kind",
    ["image/png", "image/svg+xml", "application/octet-stream", "application/zip", "video/mp4", "application/pdf"],
)
async def test_what_is_no_text_is_not_read(kind: str, site: Site, fetcher: Fetcher) -> None:
    with pytest.raises(ToolError, match=kind.replace("+", r"\+")):
        await fetcher.get(site.page("/", b"x", kind))


@pytest.mark.parametrize("body", [b"\x89PNG\r\n\x1a\n\0\0", b"MZ\0\0", bytes(50)])
async def test_what_only_calls_itself_text_is_not_read(body: bytes, site: Site, fetcher: Fetcher) -> None:
    with pytest.raises(ToolError, match="binary"):
        await fetcher.get(site.page("/", body, "text/html"))


@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml", "application/json", "application/rss+xml"])
async def test_texts_are_read(kind: str, site: Site, fetcher: Fetcher) -> None:
    page = await fetcher.get(site.page("/", "x", kind))

    assert page.body == b"x"


@pytest.mark.parametrize(
    ("status", "says"), [(404, "no such page"), (403, "does not let"), (401, "login"), (500, "fault"), (204, "no page")]
)
async def test_a_refusal_says_why(status: int, says: str, site: Site, fetcher: Fetcher) -> None:
    with pytest.raises(ToolError, match=f"{status}.*{says}"):
        await fetcher.get(site.status("/", status))


async def test_a_page_that_wants_patience_says_how_long(site: Site, fetcher: Fetcher) -> None:
    with pytest.raises(ToolError, match="wait 30 s"):
        await fetcher.get(site.status("/", 429, Retry_After="30"))


async def test_a_page_that_never_ends_costs_its_time_and_no_more(site: Site, fetcher: Fetcher) -> None:
    left = asyncio.Event()

    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/html"})
        await response.prepare(request)
        await response.write(b"<html>")
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        return response

    site.answers["/"] = drip

    with pytest.raises(ToolError, match=r"within 0\.2 s"):
        await fetcher.get(site.url("/"), seconds=0.2)

    await asyncio.wait_for(left.wait(), PATIENCE)


async def test_nobody_there_is_a_sentence(fetcher: Fetcher, canary: Canary) -> None:
    await canary.close()

    with pytest.raises(ToolError, match="cannot be reached"):
        await Fetcher(allow=[f"127.0.0.1:{canary.port}"]).get(f"http://127.0.0.1:{canary.port}/")


@pytest.mark.parametrize("answer", [b"", b"\x15\x03\x01", b"HTTP/1.1 banana\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Le"])
async def test_a_server_that_speaks_no_http_is_a_sentence(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    with pytest.raises(ToolError, match="no proper answer"):
        await Fetcher(allow=[f"127.0.0.1:{port}"]).get(f"http://127.0.0.1:{port}/")

    server.close()
    await server.wait_closed()


class Chunks:
    """A body in pieces of any size."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = io.BytesIO(data)
        self._size = size
        self.given = 0

    async def read(self, n: int = -1) -> bytes:
        piece = self._data.read(min(self._size, n))
        self.given += len(piece)
        return piece


@given(st.binary(max_size=3000), st.integers(1, 100), st.integers(1, 2000), st.sampled_from(["gzip", "deflate", ""]))
async def test_a_body_in_any_pieces_is_the_same(data: bytes, size: int, most: int, encoding: str) -> None:
    pack: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress, "": bytes}
    packed = pack[encoding](data)

    body, cut = await read_body(Chunks(packed, size), encoding, most)

    assert body == data[:most]
    assert cut == (len(data) > most)


@given(st.binary(max_size=500), st.sampled_from(["gzip", "deflate", "br", "identity", "GZIP, deflate"]))
async def test_any_bytes_are_a_body_or_unreadable(data: bytes, encoding: str) -> None:
    try:
        body, _ = await read_body(Chunks(data, 7), encoding, 1000)
    except Unreadable:
        return
    assert len(body) <= 1000


async def test_junk_after_the_end_is_not_read_for_ever() -> None:
    endless = Chunks(gzip.compress(b"x") + b"\x1f" * (64 << 20), 1 << 16)

    with pytest.raises(Unreadable):
        await read_body(endless, "gzip", 1000)
    empty = Chunks(gzip.compress(b"") * (1 << 16), 1 << 16)
    _, cut = await read_body(empty, "gzip", 1000)

    assert cut
    assert empty.given < 1 << 18
