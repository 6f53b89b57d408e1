"""What a cell draws and saves comes back as files."""

from __future__ import annotations

import importlib.util

import pytest

from tools.sandbox.bwrap import Bubblewrap

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed (extra: code)"
)
PNG = b"\x89PNG\r\n\x1a\n"
_PLOT = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9]); "


@pytest.fixture
def slow_enough(backend: Bubblewrap) -> float:
    """Importing matplotlib takes longer than the attacks may."""
    from dataclasses import replace

    backend.limits = replace(backend.limits, wall=15.0, cpu=15.0, memory=512 * 2**20)
    return 15.0


async def test_open_figures_come_back_as_images_in_whatever_way_the_code_ends(
    backend: Bubblewrap, slow_enough: float
) -> None:
    """Left open, shown, as the last value, displayed, or before an error; each once; saved ones not twice."""
    cells = {
        "left open": (_PLOT, ["figure.png"]),
        "shown": (_PLOT + "plt.show()", ["figure.png"]),
        "two figures": (_PLOT + "plt.figure(); plt.bar([1], [2]);", ["figure.png", "figure-2.png"]),
        "before an error": (_PLOT + "\n1 / 0", ["figure.png"]),
        "saved by the code": (_PLOT + "plt.savefig('squares.png')", ["squares.png"]),
        "a figure without pyplot": (
            "from matplotlib.figure import Figure\nf = Figure()\nf.subplots().plot([1])\nf",
            ["figure.png"],
        ),
        "no figure": ("plt.close('all')", []),
        "displayed bytes": (
            "import io\nbuffer = io.BytesIO()\nf.savefig(buffer)\nclass Image:\n"
            "    def _repr_png_(self): return buffer.getvalue()\ndisplay(Image(), 'and text')",
            ["figure.png"],
        ),
    }
    for title, (code, names) in cells.items():
        cell = await backend.run("chat", code, slow_enough)

        assert [file.name for file in cell.files] == names, title
        assert all(file.media_type == "image/png" and file.content.startswith(PNG) for file in cell.files), title
        assert ("ZeroDivisionError" in cell.error) == (title == "before an error"), cell.error
        assert "non-interactive" not in cell.output


async def test_a_figure_that_cannot_be_drawn_is_told(backend: Bubblewrap, slow_enough: float) -> None:
    cell = await backend.run("chat", _PLOT + "plt.title('$\\\\broken{$');", slow_enough)

    assert cell.files == ()
    assert "A figure could not be drawn" in cell.notes[0]


async def test_a_file_comes_back_when_it_is_new_or_changed_and_only_then(backend: Bubblewrap) -> None:
    first = await backend.run("chat", "_ = open('a.csv', 'w').write('1,2')", 1.0)
    nothing = await backend.run("chat", "open('a.csv').read()", 1.0)
    changed = await backend.run("chat", "_ = open('a.csv', 'a').write('\\n3,4')", 1.0)

    assert [(file.name, file.media_type, file.content) for file in first.files] == [("a.csv", "text/csv", b"1,2")]
    assert nothing.files == ()
    assert [file.content for file in changed.files] == [b"1,2\n3,4"]


async def test_a_file_is_called_an_image_only_when_it_is_one(backend: Bubblewrap) -> None:
    cell = await backend.run("chat", "_ = open('a.png', 'w').write('<script>')", 1.0)

    assert [file.media_type for file in cell.files] == ["application/octet-stream"]
