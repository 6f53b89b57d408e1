"""Reading text, tables of values and HTML, and what happens to a reader that does not behave."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.tools.documents.conftest import Read
from tools.documents.kinds import DocumentUnreadable, Kind, Reason
from tools.documents.plain import find_delimiter
from tools.documents.reading import Document, DocumentReader, Part, ReadingLimits
from tools.documents.trees import split_sections
from tools.fetch import readers
from tools.fetch.readers import Program, Start, start_plain

Refusal = Callable[..., Awaitable[Reason]]
ReadHere: TypeAlias = Callable[..., Document]
CHINESE = "第5章 网络设置\n价格和数量：苹果三个，香蕉十二个，都在北京。\n"
JAPANESE = "第5章 ネットワークの設定\nりんごの価格は東京では三百円です。\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Bridges hang — high.", "utf-8"),
        ("Bridges hang — high.", "utf-8-sig"),
        (CHINESE, "utf-16"),
        ("Bridges hang, and the wind blows.", "utf-16-le"),
        ("Bridges hang, and the wind blows.", "utf-16-be"),
        (CHINESE, "gb18030"),
        (JAPANESE, "shift_jis"),
        ("Die Brücke hängt höher als größere Gebäude, sagte Müller: «schön».", "latin-1"),
    ],
)
def test_text_is_read_in_the_encoding_its_bytes_show(read_here: ReadHere, text: str, encoding: str) -> None:
    found = read_here(text.encode(encoding), "notes.txt", "text/plain")

    assert (found.kind, found.parts) == (Kind.TEXT, (Part("", text.strip()),))


def test_a_text_about_encodings_is_not_taken_at_its_word(read_here: ReadHere) -> None:
    text = 'So ist es schön:\n\n    <meta charset="gb2312">\n\nund größer.'

    found = read_here(text.encode(), "notes.md")

    assert found.parts[0].text == text


def test_code_stays_as_it_is(read_here: ReadHere) -> None:
    code = "def bridge(n):\n\tif n:\n\t    return [n, '<html>']\n"

    found = read_here(code.encode(), "bridge.py", "text/x-python")

    assert found.parts[0].text == code.strip()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_of_values_is_a_table(read_here: ReadHere, delimiter: str) -> None:
    rows = ["city,bridges", '"Köln, am Rhein",7', "重庆,1400"]
    body = "\n".join(row if delimiter == "," else row.replace(",", delimiter, 1) for row in rows)
    if delimiter != ",":
        body = body.replace(f'"Köln{delimiter} am Rhein",7', f'"Köln, am Rhein"{delimiter}7')

    found = read_here(body.encode(), "bridges.csv")

    assert found.kind is Kind.CSV
    assert found.parts[0].text.splitlines() == [
        "| city | bridges |",
        "| --- | --- |",
        "| Köln, am Rhein | 7 |",
        "| 重庆 | 1400 |",
    ]


def test_a_csv_that_is_no_table_is_read_as_text(read_here: ReadHere) -> None:
    found = read_here(b"only words here\nand here, too\n", "words.csv")

    assert found.parts[0].text == "only words here\nand here, too"


def test_a_long_table_is_cut_and_it_is_said(read_here: ReadHere) -> None:
    found = read_here(b"a,b\n" + b"1,2\n" * 30_000, "long.csv")

    assert found.note == "Only the first 20,000 rows were read."
    assert found.parts[0].text.count("\n") == 20_000


def test_html_is_read_as_a_page_of_the_web_whatever_it_is_called(read_here: ReadHere) -> None:
    html = "<!doctype html><title>Bridges</title><script>hide()</script><h1>They hang</h1><p>High above the water.</p>"

    found = read_here(html.encode(), "bridges.csv", "text/csv")

    assert (found.kind, found.title) == (Kind.HTML, "Bridges")
    assert "High above the water." in found.parts[0].text
    assert "hide" not in found.parts[0].text


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", Reason.NOTHING_TO_READ),
        (b"  \n\n ", Reason.NOTHING_TO_READ),
        (b"<html><body></body></html>", Reason.NOTHING_TO_READ),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", Reason.UNKNOWN_KIND),
        (b"\x7fELF\x02\x01\x01\x00" + b"\x00" * 60, Reason.UNKNOWN_KIND),
        (rb"{\rtf1 Bridges}", Reason.OLD_FORMAT),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"), Reason.OLD_FORMAT),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, Reason.UNKNOWN_KIND),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le"),
            Reason.ENCRYPTED,
        ),
        (b"PK\x03\x04 and no more", Reason.DAMAGED),
    ],
)
def test_what_cannot_be_read_is_refused_for_its_reason(
    refusal_here: Callable[..., Reason], body: bytes, reason: Reason
) -> None:
    assert refusal_here(body, "letter.txt", "text/plain") is reason


async def test_what_cannot_be_read_is_refused_by_a_reader_of_its_own(refusal: Refusal) -> None:
    assert await refusal(b"PK\x03\x04 and no more", "letter.txt", "text/plain") is Reason.DAMAGED


async def test_a_file_that_is_too_large_is_not_even_loaded(refusal: Refusal) -> None:
    assert await refusal(b"x" * 101, limits=ReadingLimits(size=100)) is Reason.TOO_LARGE


@pytest.mark.parametrize("memory", [8 << 20, 48 << 20], ids=["for a library", "for the text"])
async def test_what_takes_too_much_memory_is_refused(refusal: Refusal, memory: int) -> None:
    assert await refusal(b"bridge " * 4_000_000, limits=ReadingLimits(memory=memory)) is Reason.TOO_LARGE


def test_a_document_without_end_is_cut(read_here: ReadHere) -> None:
    found = read_here(b"bridge " * 400_000)

    assert len(found.parts[0].text) == 2_000_000
    assert found.note.endswith("it is too long.")


# A reader that does not behave


def possessed(tmp_path: Path, code: str) -> Start:
    """Starts a reader that a document has taken over."""
    file = tmp_path / "possessed.py"
    file.write_text(f"import os, sys, time\nsys.stdin.buffer.read()\nsay = os.write\n{code}\n")
    return lambda: start_plain(Program(file, ()))


PARTS = 'say(1, b\'{"kind": "pdf"}\\n{"label": "page 1", "text": "Bridges"}\\n{"label": "page 2", "te\')\n'


@pytest.mark.parametrize("code", ["while True: pass", "time.sleep(60)"], ids=["computes", "sleeps"])
async def test_a_reader_that_hangs_is_killed_and_nothing_is_left(
    refusal: Refusal, tmp_path: Path, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.documents.reading._LATEST", 0.1)
    limits = ReadingLimits(seconds=0.5)
    start = possessed(tmp_path, code)
    started = []

    async def watched() -> asyncio.subprocess.Process:
        started.append(await start())
        return started[-1]

    assert await refusal(b"x", limits=limits, start=watched) is Reason.TOO_LONG_TO_READ
    assert started[0].returncode is not None


@pytest.mark.parametrize(
    ("code", "note"),
    [
        ("time.sleep(60)", "Only the first 1 parts were read: the time was up."),
        ("os.kill(os.getpid(), 9)", "Only the first 1 parts were read: what follows cannot be read."),
    ],
    ids=["hangs", "crashes"],
)
async def test_what_was_read_before_a_reader_was_killed_is_kept(
    read: Read, tmp_path: Path, code: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.documents.reading._LATEST", 0.1)

    found = await read(b"x", limits=ReadingLimits(seconds=1), start=possessed(tmp_path, PARTS + code))

    assert (found.kind, found.parts, found.note) == (Kind.PDF, (Part("page 1", "Bridges"),), note)


@pytest.mark.parametrize(
    "answer",
    [
        "no JSON",
        "[1]",
        '{"label": 1, "text": 2}',
        '{"unreadable": "because"}',
        '{"title": "x", "note": ""}',
        "[" * 9000,
    ],
)
async def test_a_reader_that_answers_anything_else_is_not_believed(
    refusal: Refusal, tmp_path: Path, answer: str
) -> None:
    start = possessed(tmp_path, f"say(1, {answer!r}.encode() + b'\\n')")

    assert await refusal(b"x", start=start) is Reason.DAMAGED


async def test_a_reader_that_never_stops_answering_is_ended(read: Read, tmp_path: Path) -> None:
    line = '{"label": "", "text": "' + "x" * 100_000 + '"}'

    found = await read(b"x", start=possessed(tmp_path, f"while True: say(1, {line!r}.encode() + b'\\n')"))

    assert sum(len(part.text) for part in found.parts) <= readers.MOST_BYTES
    assert found.note


async def test_cancelling_ends_the_reader(tmp_path: Path) -> None:
    started: list[asyncio.subprocess.Process] = []
    running = asyncio.Event()

    async def start() -> asyncio.subprocess.Process:
        started.append(await possessed(tmp_path, "time.sleep(60)")())
        running.set()
        return started[-1]

    path = tmp_path / "notes.txt"
    path.write_bytes(b"x")
    reading = asyncio.create_task(DocumentReader(start=start).read(path))
    await running.wait()
    reading.cancel()
    await asyncio.wait((reading,))

    assert reading.cancelled()
    assert started[0].returncode is not None


# Where documents are read


async def test_documents_are_read_in_the_sandbox_that_pages_are_read_in(tmp_path: Path, sandbox_possible: None) -> None:
    reader = DocumentReader()
    assert await reader.prove() == "documents are read in a bubblewrap sandbox"
    path = tmp_path / "bridges.html"
    path.write_text("<html><title>Bridges</title><p>They hang from cables, high above the water.</p>")

    found = await reader.read(path)

    assert found.title == "Bridges"
    assert await reader.prove(whole=True) == "documents are read in a bubblewrap sandbox"


async def test_without_bubblewrap_documents_are_read_without_a_sandbox_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    path = tmp_path / "notes.txt"
    path.write_text("Bridges hang.")
    reader = DocumentReader()

    found = await reader.read(path)

    assert found.parts == (Part("", "Bridges hang."),)
    assert (await reader.prove()).startswith("documents are read with the bot's rights")


async def test_a_trial_that_takes_too_long_says_nothing_of_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(self: object, kind: str) -> None:
        raise TimeoutError

    monkeypatch.setattr(readers.Readers, "prove", slow)

    assert (await DocumentReader().prove()).endswith("a trial took too long")


async def test_without_the_libraries_text_is_read_and_html_asks_for_them(
    monkeypatch: pytest.MonkeyPatch, read: Read, refusal: Refusal, tmp_path: Path
) -> None:
    bare = tmp_path / "site"
    bare.mkdir()
    for name in ("lxml", "trafilatura", "charset_normalizer"):
        (bare / f"{name}.py").write_text("raise ModuleNotFoundError")
    monkeypatch.setenv("PYTHONPATH", str(bare))

    found = await read("价格,数量\n苹果,3\n".encode(), "prices.csv")
    why = await refusal(b"<html><p>Bridges hang.</p></html>")

    assert "| 苹果 | 3 |" in found.parts[0].text
    assert why is Reason.EXTRA_MISSING


# Pure functions


def test_sections_begin_with_headings_outside_of_code() -> None:
    text = "before\n\n# One\n\n```\n# no heading\n```\n\n# Two\n\nlast"

    assert split_sections(text) == [
        ("", "before"),
        ("One", "# One\n\n```\n# no heading\n```"),
        ("Two", "# Two\n\nlast"),
    ]
    assert split_sections("# One\n\nalone") == [("", "# One\n\nalone")]


def test_no_delimiter_is_found_in_nothing() -> None:
    assert find_delimiter("") == ","
    assert find_delimiter("a;b\nc;d") == ";"


async def test_a_missing_file_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        await DocumentReader().read(Path("/nowhere/at/all"))


def test_a_refusal_names_its_reason() -> None:
    assert str(DocumentUnreadable(Reason.TOO_LARGE)) == "too_large"
