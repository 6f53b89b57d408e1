"""Text is read in the encoding that all of its bytes show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from tools.documents.reading import Document

ReadHere: TypeAlias = Callable[..., Document]


@pytest.mark.parametrize("encoding", ["gb18030", "big5", "shift_jis", "cp1252"])
@pytest.mark.parametrize("name", ["log.txt", "log.csv"])
def test_an_encoding_is_decided_on_the_whole_file(read_here: ReadHere, encoding: str, name: str) -> None:
    text = {
        "gb18030": "价格和数量，苹果三个，香蕉十二个，都在北京的仓库里",
        "big5": "價格和數量，蘋果三個，香蕉十二個，都在台北的倉庫裡",
        "shift_jis": "りんごの価格は東京では三百円です、バナナもあります",
        "cp1252": "Größere Brücken hängen höher – schön für Müller und Jäger",
    }[encoding]
    body = b"id,name\n" + b"17,plain words only\n" * 8000 + f"18,{text}\n".encode(encoding) * 3

    found = read_here(body, name)

    assert found.parts[0].text.count(text) == 3


def test_a_few_broken_bytes_leave_utf8_what_it_is(read_here: ReadHere) -> None:
    found = read_here("价格和数量，苹果三个。\n".encode() * 20 + b"cut \xe4\xbb here\n")

    assert found.parts[0].text.count("苹果三个") == 20
    assert found.parts[0].text.endswith("cut \ufffd here")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"one\0two\n", "onetwo"),
        ("价格\0和数量".encode(), "价格和数量"),
        (b"\0" * 3000 + b"after a crash", "after a crash"),
        (b"a\0b\0\0c" * 200, "abc" * 200),
        (
            "价格和数量，苹果三个，香蕉十二个，都在北京".encode("gb18030") + b"\0",
            "价格和数量，苹果三个，香蕉十二个，都在北京",
        ),
    ],
    ids=["ASCII", "UTF-8", "zeros of a crash", "many", "GB18030"],
)
def test_zeros_in_a_text_do_not_make_it_another(read_here: ReadHere, body: bytes, text: str) -> None:
    assert read_here(body, "notes.log").parts[0].text == text
