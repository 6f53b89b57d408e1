"""The README's pictures: the page with three answers of the real bot, one of them half written.

`--pictures` writes `docs/picture-light.png`, `docs/picture-dark.png` and `picture.json` anew. Without it the page is
laid out like the pictures and says the same words; fonts differ between machines, so no pixels are compared.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
from pathlib import Path

import pytest

from playground.child import BOT
from playground.model.reply import Body, Reply
from playground.show import Playground
from tests.conftest import RawObject
from tests.playground.conftest import NEEDS_BROWSER, Tab, opened

pytestmark = [NEEDS_BROWSER, pytest.mark.first]

ROOT = Path(__file__).parents[2]
BOXES = Path(__file__).with_name("picture.json")
NAMES = ("telegram", "slack", "discord")
WIDTH, HEIGHT = 1440, 900
KEYS = "[...document.querySelectorAll('[data-skin=discord] .keys')]"
CLOCK = """
Date.prototype.toLocaleTimeString = () => "3:41 PM";
Date.prototype.toDateString = () => "Thu Nov 26 2026";
"""
"""The page's clock stands still."""

TEA = "what does green tea cost in Kyoto right now? look it up"
CUT = "@Parley a function that shortens a text without cutting a word"
REMEMBER = "@Parley remember that I like green tea"
FORGET = "@Parley forget fact 1"
ANSWERS = {
    "green tea cost": """\
Green tea in Kyoto costs between **800 and 3,000 yen** for 100 g in the shops, depending on the leaf [1]:

- **Bancha**, for every day: 300 to 800 yen
- **Sencha**, first harvest: 800 to 2,000 yen
- **Gyokuro**, grown in the shade: 1,500 to 3,000 yen and more

Matcha for the ceremony is sold in tins of 20 to 40 g. Prices have risen since the spring, because""",
    "shortens a text": '''\
It cuts at the last space that fits:

```python
def shorten(text: str, most: int) -> str:
    """At most so many characters."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", 0, most)
    return text[: max(end, 0)] + "…"
```

| text | most | result |
| --- | --- | --- |
| green tea | 20 | green tea |
| green tea in Kyoto | 12 | green tea… |
| Gyokuro | 4 | … |

A word that is longer than the limit leaves only the dots.''',
}
PARTS = {
    "frame": ".frame",
    "field": "form",
    "question": "[data-who=you] .body",
    "answer": "[data-who=bot] .body",
    "buttons": "[data-who=bot] .keys",
}
"""What a pane consists of; of several the last that can be seen is meant."""
SEEN = """((selector) => {
    const seen = [...document.querySelectorAll(selector)].filter((one) => one.getBoundingClientRect().height);
    const { left, top, width, height } = seen.at(-1).getBoundingClientRect();
    const words = seen.at(-1).innerText.replace(/\\(edited\\)|\\u200b/g, "").trim();
    return { box: [left, top, width, height].map(Math.round), words };
})"""
FIXED = ("bar", "scenes", "frame", "field")
NEAR = 14
"""Pixels by which an element may lie elsewhere: letters are higher with another font."""
AGAIN = "run this test with --pictures and look at them"


def scripted(playground: Playground) -> asyncio.Event:
    """Let the model write the answers of the pictures; return what lets it finish the one on Telegram."""
    go_on = asyncio.Event()

    def answer(body: Body) -> Reply:
        asked = next(str(one["content"]) for one in reversed(body["messages"]) if one["role"] == "user")
        text = next((text for words, text in ANSWERS.items() if words in asked), "")
        if not text:
            return playground.model.scripted(body)
        if "tea" not in asked:
            return Reply(text, words_per_second=50)
        if body["messages"][-1]["role"] != "tool":
            return Reply(calls=(("search_web", {"query": "green tea price Kyoto"}),))
        return Reply(text, words_per_second=50, hang_after=len(text), until=go_on)

    playground.model.script = answer
    return go_on


async def write(playground: Playground, name: str, text: str) -> None:
    await playground._connected(name)
    window = playground.windows[name]
    place = window.places[0]
    window.say(place.id, text.replace("@Parley", place.mention), "")


async def elements(tab: Tab) -> RawObject:
    """The boxes of the named elements, and what they say."""
    named = {"bar": ".top", "scenes": "#strip"}
    named |= {f"{name} {part}": f"[data-skin={name}] {of}" for name in NAMES for part, of in PARTS.items()}
    return {name: await tab.value(f"{SEEN}({json.dumps(of)})") for name, of in named.items()}


def small(picture: bytes) -> bytes:
    """The same picture in 256 colours."""
    from PIL import Image

    written = io.BytesIO()
    drawn = Image.open(io.BytesIO(picture)).convert("RGB")
    drawn.quantize(256, Image.Quantize.MAXCOVERAGE, 10, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()


async def test_the_page_looks_like_its_pictures_in_the_readme(
    browser: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    async with (
        Playground(port=0, data=tmp_path, command=BOT, environ={}) as playground,
        opened(browser, playground.url, CLOCK) as tab,
    ):
        shown = {}
        go_on = scripted(playground)
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        await tab.send("Emulation.setDeviceMetricsOverride", **size)
        await tab.value("document.activeElement.blur()")
        for name, text in (("slack", CUT), ("discord", REMEMBER)):
            await write(playground, name, text)
        for name in ("slack", "discord"):
            await tab.until(f"document.querySelectorAll('[data-skin={name}] [data-who=bot] .keys button').length === 3")
        await write(playground, "discord", FORGET)
        await write(playground, "telegram", TEA)
        await tab.until(f"{KEYS}.some((one) => one.innerText.includes('Allow'))")
        await tab.until(
            "document.querySelector('[data-skin=telegram] [data-live] .body')?.innerText.includes('because')"
        )
        for scheme in ("light", "dark"):
            features = [
                {"name": "prefers-color-scheme", "value": scheme},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ]
            await tab.send("Emulation.setEmulatedMedia", features=features)
            moving = "document.getAnimations().filter((one) => one instanceof CSSTransition).length"
            assert await tab.value(moving) == 0, "colours change at once for who asked for less motion"
            shown[scheme] = await elements(tab)
            if pytestconfig.getoption("pictures"):
                shot = await tab.send("Page.captureScreenshot", format="png")
                (ROOT / "docs" / f"picture-{scheme}.png").write_bytes(small(base64.b64decode(shot["data"])))
        go_on.set()
    if pytestconfig.getoption("pictures"):
        BOXES.write_text(json.dumps(shown["light"], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    drawn = json.loads(BOXES.read_text(encoding="utf-8"))

    assert shown["dark"] == shown["light"], "dark and light differ in colours alone"
    assert tab.errors == []
    for name, one in drawn.items():
        seen = shown["light"][name]
        assert seen["words"] == one["words"], f"{name} says other words than the picture: {AGAIN}"
        measured = 4 if name.split()[-1] in FIXED else 1
        off = [abs(here - there) for here, there in zip(seen["box"], one["box"], strict=True)][:measured]
        assert max(off) <= NEAR, f"{name} lies elsewhere than in the picture: {AGAIN}"
    for name in NAMES:
        left, top, width, height = shown["light"][f"{name} frame"]["box"]
        parts = [shown["light"][f"{name} {part}"]["box"] for part in ("question", "answer", "buttons", "field")]
        assert all(left <= x and x + w <= left + width for x, _, w, _ in parts), name
        tops = [top, *(y for _, y, _, _ in parts), top + height]
        assert tops == sorted(tops), name
