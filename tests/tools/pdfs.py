"""PDFs made while the tests run."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

LOCKED = b"""%PDF-1.3
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Count 1 /Kids [3 0 R] >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] >> endobj
4 0 obj << /Filter /Standard /V 1 /R 2 /Length 40 /P 4294967292
/O <34eabdcc63ec8fa8b075f647923c3b8b0738936f3961f8942b90e92d05fa8f41>
/U <33a883825dd54e675e07624ae22ff3c8ebc57c94a7391c7a5d6a65af1be7ba56> >> endobj
trailer << /Size 5 /Root 1 0 R /Encrypt 4 0 R
/ID [<4deada47b2596fbcfe00fbdaad31ceac> <4deada47b2596fbcfe00fbdaad31ceac>] >>
"""
"""A PDF that another program locked with a password."""


def pdf(*contents: str, notes: Sequence[str] = (), **about: str) -> bytes:
    """A PDF with a page for each content stream; each page has the `notes`, written as dictionaries of a PDF."""
    first = 5 + 2 * len(contents)
    noted = b" ".join(b"%d 0 R" % (first + place) for place in range(len(notes)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [%s] >> >>" % noted,
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    objects.append("<< {} >>".format(" ".join(f"/{name} ({value})" for name, value in about.items())).encode())
    for content in contents:
        packed = zlib.compress(content.encode("latin-1"))
        objects.append(b"<< /Filter /FlateDecode /Length %d >> stream\n%s\nendstream" % (len(packed), packed))
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents %d 0 R "
            b"/Annots [%s] /Resources << /Font << /F1 3 0 R >> >> >>" % (len(objects), noted)
        )
    objects += [note.encode("latin-1") for note in notes]
    pages = b" ".join(b"%d 0 R" % (6 + 2 * number) for number in range(len(contents)))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(contents), pages)
    made, starts = bytearray(b"%PDF-1.7\n"), []
    for number, written in enumerate(objects, 1):
        starts.append(len(made))
        made += b"%d 0 obj %s endobj\n" % (number, written)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    return bytes(made) + b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R /Info 4 0 R >>\n" % (
        len(objects) + 1, table, len(objects) + 1,
    ) + b"startxref\n%d\n%%%%EOF\n" % len(made)  # fmt: skip


def lines(*texts: str) -> str:
    """A page's content with a line for each text, from its top."""
    return "".join(f"BT /F1 12 Tf 20 {780 - 20 * place} Td ({text}) Tj ET\n" for place, text in enumerate(texts))
