"""A hundred documents that nobody made for this reader: PDF, EPUB, HTML and text of Debian's documentation packages.

`pytest -m soak tests/tools/documents/test_real_documents.py -s`; the packages are fetched.
"""

from __future__ import annotations

import asyncio
import gzip
import random
import re
import resource
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tools.documents.reading import Document, DocumentReader

PACKAGES = (
    "debian-faq",
    "debian-policy",
    "debmake-doc",
    "developers-reference",
    "developers-reference-ja",
    "maint-guide",
)
HAN = re.compile("[\u4e00-\u9fff]")
MANY = 100


@pytest.fixture
def documents(tmp_path: Path) -> list[Path]:
    """A hundred of them: every PDF and EPUB there is, and some of the rest."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("this machine has no packages of Debian")
    fetched = subprocess.run(["apt-get", "download", "-q", *PACKAGES], cwd=tmp_path, capture_output=True, check=False)
    if fetched.returncode:
        pytest.skip("the packages cannot be fetched now")
    for package in tmp_path.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, tmp_path / "files"], check=True)
    found = sorted(path for path in (tmp_path / "files").rglob("*") if path.is_file())
    large = [path for path in found if re.search(r"\.(pdf|epub)(\.gz)?$", path.name)]
    small = [path for path in found if re.search(r"\.(html|txt)(\.gz)?$", path.name)]
    return large + random.Random(1).sample(small, MANY - len(large))


@pytest.mark.soak
def test_a_hundred_real_documents_are_read_whole_and_soon(documents: list[Path], tmp_path: Path) -> None:
    reader, seconds, read, han = DocumentReader(), list[float](), Counter[str](), dict[str, int]()
    left: dict[str, Counter[str]] = {}

    async def read_one(path: Path) -> Document:
        body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        (tmp_path / "one").write_bytes(body)
        begun = time.monotonic()
        document = await reader.read(tmp_path / "one", path.name.removesuffix(".gz"))
        seconds.append(time.monotonic() - begun)
        return document

    for path in documents:
        document = asyncio.run(read_one(path))
        read[document.kind] += 1
        for count, kind in re.findall(r"([\d,]+) ([a-z ']+)[,.]", document.note):
            left.setdefault(document.kind, Counter())[kind.removesuffix("s")] += int(count.replace(",", ""))
        assert document.markdown.strip() and "parts were read" not in document.note, path.name
        han[path.name] = len(HAN.findall(document.markdown))

    seconds.sort()
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    print(
        f"{dict(read)}: {seconds[49]:.2f} s (p50), {seconds[94]:.2f} s (p95), {seconds[99]:.2f} s; {most} MiB at most"
    )
    print(f"left out, by what each document is: { {kind: dict(found) for kind, found in left.items()} }")
    for name in ("debmake-doc.zh-cn", "debmake-doc.zh-tw"):
        assert abs(han[f"{name}.pdf"] - han[f"{name}.epub"]) < 0.01 * han[f"{name}.epub"], "the same book twice"
