"""The operator's page in a real browser, on a real store: every view, by keyboard, in light and dark, on a phone."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.contract import reference_of
from bot.contract.messages import ChatId, MessageRef, MessageSent, ReplyTarget, Sender
from bot.contract.metrics import Metrics
from bot.contract.transcript import AssistantEntry, ToolEntry, Usage, UserEntry
from bot.operations import AdminPage, HttpServer, Outlet
from bot.store import Delivered, PageState, Store, TurnState
from playground import website
from tests.bot.store.manyturns import write_turns
from tests.conftest import FakeClock, RawObject
from tests.playground.conftest import NEEDS_BROWSER, Tab, browser, opened
from tests.playground.test_page_traps import AXE, resize
from tools.contract.base import Source, ToolCall, ToolResult, ToolStatus

__all__ = ["browser"]
pytestmark = NEEDS_BROWSER

TOKEN = "correct-horse-battery-staple"
SECRET = "sk-0123456789abcdef0123456789"
TURNS = 3_000
HOSTILE = "<img src=x onerror='window.pwned = 1'><script>window.pwned = 1</script>"
ROOM = ChatId("telegram", "42", "-1001234")
COURSE = [[500, 60, 27], [2000, 300, 135], [10_000, 540, 540]]
"""A hostile turn on its way to the screen: 27 letters are read in a second."""
VIEWS = {
    "overview?days=30": "document.querySelectorAll('.tile').length === 6",
    "overview?days=365": "document.querySelectorAll('.tile').length === 6",
    "turns?kind=all": "document.querySelector('.rows')",
    "turns?kind=slow&days=90": "document.querySelector('.rows')",
    "chats": "document.querySelector('.rows')",
    "people": "document.querySelector('.rows')",
    "tools?tool=search_web": "document.querySelector('.graph')",
    f"chat?chat={ROOM}": "document.querySelector('.rows')",
    "person?person=telegram:7": "document.querySelector('.rows')",
    f"turn?turn={TURNS + 1}": "document.querySelector('.steps')",
    "find?q=rosebud": "document.querySelector('#spoken').textContent.includes('turns found')",
    "find?q=nothing": "document.querySelector('#spoken').textContent.includes('turns found')",
    "turn?turn=99999": "document.title.startsWith('Problem')",
}
"""Each view, and when it stands."""
LOGIN = "document.querySelector('#token')"
ALIKE = {"overview?days=365", "turns?kind=all", "person?person=telegram:7", "find?q=nothing"}
"""Views whose parts others have as well: axe takes seconds for each."""
FAILS_TO_LOAD = {"turn?turn=99999"}
WHOLE = "[document.documentElement, document.querySelector('main')].every((one) => one.scrollWidth <= one.clientWidth)"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a year of turns."""
    path = tmp_path_factory.mktemp("admin") / "parley.db"
    write_turns(path, TURNS, FakeClock().wall())
    return path


async def ask_hostile(store: Store) -> int:
    """Store a turn whose every word attacks whoever reads it."""
    sender = Sender(id="telegram:7", name=HOSTILE)
    text = f"{HOSTILE} Rosebud {SECRET} ‮"
    target = ReplyTarget("telegram", {})
    asked = MessageSent(delivery="h", chat=ROOM, sender=sender, target=target, text=text, message_id="500")
    turn = await store.intake.take_in(asked)
    assert turn is not None
    call = ToolCall("c", "search_web", {"query": HOSTILE})
    entry = AssistantEntry(HOSTILE, (call,))
    sources = (Source(HOSTILE, "javascript:window.pwned=1"), Source("Weather", "https://weather.example/"))
    result = ToolResult(
        text=f"{HOSTILE} {'x' * 3000}", status=ToolStatus.FAILED, ok=False, sources=sources, seconds=1.0
    )
    await store.turns.begin(turn, ROOM, sender.id)
    await store.turns.save_pass(turn, 1, entry, "openai:x", Usage())
    await store.turns.start_call(turn, call, passnumber=1, position=0, effects=True)
    await store.turns.end_call(turn, "c", result)
    ref = MessageRef("501")
    await store.turns.save_page(turn, 0, body="", ref=ref, state=PageState.FINAL, nonce="n")
    await store.turns.close(
        turn,
        TurnState.FAILED,
        [UserEntry(text), entry, ToolEntry("c", "search_web", result.text, ok=False), AssistantEntry(HOSTILE)],
        visible=f"{HOSTILE} " + "wide" * 200,
        reasoning=HOSTILE,
        model="openai:x",
        usage=Usage(1000, 200, 50, 5),
        dollars=0.5,
        error=HOSTILE,
        delivered=Delivered(0.7, 4.3, 7, 1, json.dumps({"points": COURSE, "stands": ["0123456789"]})),
    )
    await store.turns.rate(turn, "bad")
    return turn


@pytest.fixture
async def address(filled: Path, tmp_path: Path, clock: FakeClock) -> AsyncIterator[str]:
    path = tmp_path / "parley.db"
    path.write_bytes(filled.read_bytes())
    outlet = Outlet([SECRET])

    async def state() -> RawObject:
        return {}

    async with Store.open(f"sqlite:///{path}", clock=clock) as store:
        assert await ask_hostile(store) == TURNS + 1
        admin = AdminPage(TOKEN, store.insights.read, outlet, clock)
        async with HttpServer("127.0.0.1", 0, state, Metrics(), outlet, (), admin) as server:
            yield f"http://127.0.0.1:{server.port}/admin"


@asynccontextmanager
async def entered(browser: str, address: str) -> AsyncIterator[Tab]:
    """A tab in which the operator has logged in."""
    async with opened(browser, address, shown=LOGIN) as tab:
        await tab.send("Network.enable")
        await tab.send("Input.insertText", text=TOKEN)
        await tab.press("Enter")
        await tab.until(VIEWS["overview?days=30"])
        yield tab


async def go(tab: Tab, view: str) -> None:
    bare = "document.title = ''; for (const id of ['main', 'spoken']) document.getElementById(id).replaceChildren()"
    await tab.value(f"{bare}; location.hash = {json.dumps(f'#/{view}')}; 1")
    await tab.until(f"document.title && {VIEWS.get(view, 'document.querySelector(`h2`)')}")


async def test_it_opens_with_the_token_by_keyboard_alone(browser: str, address: str) -> None:
    async with opened(browser, address, shown=LOGIN) as tab:
        assert tab.errors == []
        await tab.send("Input.insertText", text="wrong")
        await tab.press("Enter")
        await tab.until("document.querySelector('#problem').textContent.includes('ADMIN_TOKEN')")
        await tab.send("Input.insertText", text=TOKEN)
        await tab.press("Enter")
        await tab.until(VIEWS["overview?days=30"])
        assert await tab.value("document.cookie + document.querySelector('#problem').textContent") == ""

        await tab.value("document.querySelector('.skip').focus()")
        await tab.press("Tab")
        assert await tab.value("document.activeElement.id") == "find"
        for name in ("1 day", "7 days", "30 days", "90 days", "Year"):
            await tab.press("Tab")
            assert await tab.value("document.activeElement.textContent") == name
        await tab.press("Tab")
        await tab.press("Enter")
        assert await tab.value("document.querySelector('#export').open")
        await tab.press("Escape")
        assert not await tab.value("document.querySelector('#export').open")
        assert await tab.value("document.activeElement.matches('#export summary')")
        await tab.press("Tab")
        assert await tab.value("document.activeElement.id") == "leave"
        for name in ("Overview", "Turns", "Chats", "People", "Tools"):
            await tab.press("Tab")
            assert await tab.value("document.activeElement.textContent") == name
        await tab.press("Enter")
        await tab.until("document.title.startsWith('Tools')")
        await tab.value("document.querySelector('#leave').focus()")
        await tab.press("Enter")
        await tab.until("document.activeElement.id === 'token'")
        await tab.send("Page.reload")
        await tab.until("document.querySelector('#token') && document.querySelector('#sections').hidden")


async def test_a_link_or_a_reference_leads_to_the_whole_story_in_one_step(browser: str, address: str) -> None:
    async with entered(browser, address) as tab:
        for pasted in ("https://t.me/c/1234/501", "https://t.me/c/1234/500", reference_of(TURNS + 1)):
            await go(tab, "chats")
            await tab.value(f"document.querySelector('#find').value = {json.dumps(pasted)}")
            await tab.value("document.querySelector('#find').focus()")
            await tab.press("Enter")
            await tab.until("document.querySelector('.steps')")
            assert await tab.value("document.querySelector('h2').textContent") == reference_of(TURNS + 1)
        await tab.value("document.querySelectorAll('.steps details').forEach((one) => (one.open = true))")
        story = await tab.value("document.querySelector('main').innerText")
        assert tab.errors == []

    for told in ("Rosebud", "search_web", "7 edits, 1 refused", "a reader waited 4.3 s", "$0.50", '"query":', "x" * 99):
        assert told in story, told
    assert SECRET not in story


async def test_a_turn_shows_what_was_written_what_stood_on_the_screen_and_what_was_read(
    browser: str, address: str
) -> None:
    async with entered(browser, address) as tab:
        await go(tab, f"turn?turn={TURNS + 1}")
        label = await tab.value("document.querySelector('svg.graph').getAttribute('aria-label')")
        paths = await tab.value(
            "[...document.querySelectorAll('svg.graph path.line')].map((one) => one.getAttribute('d'))"
        )
        await tab.value("document.querySelector('svg.graph').parentNode.querySelector('details').open = true")
        rows = await tab.value(
            "[...document.querySelectorAll('.card:has(svg.graph) table tr')].map((one) => one.innerText.split('\\t'))"
        )
        legend = await tab.value("document.querySelector('.card:has(svg.graph) .legend').innerText")
        await go(tab, "turn?turn=1")
        earlier = await tab.value("document.querySelectorAll('svg.graph').length")
        assert tab.errors == []

    assert label == "540 characters written and 540 on the screen after 10 s; read after 25 s"
    assert len(paths) == 3 and all(path.startswith("M") and "NaN" not in path for path in paths)
    assert rows[1:] == [["0.50", "60", "27", "0"], ["2.00", "300", "135", "27"], ["10.00", "540", "540", "135"]]
    assert legend.split() == ["written", "on", "the", "screen", "read"]
    assert earlier == 0


async def test_words_lead_to_their_turns_and_links_from_view_to_view(browser: str, address: str) -> None:
    async with entered(browser, address) as tab:
        await go(tab, "find?q=question 12")
        await tab.until("document.querySelectorAll('.rows tbody tr').length >= 100")
        await go(tab, "find?q=rosebud")
        assert await tab.value("document.querySelectorAll('.rows tbody tr').length") == 1
        for row, then in (("chat?", "chat"), ("person?", "person"), ("turn?", "turn")):
            await go(tab, "turns?kind=bad")
            await tab.until(f"document.querySelector('.rows a[href*=\"/{row}\"]')")
            await tab.value(f"document.querySelector('.rows a[href*=\"/{row}\"]').click()")
            await tab.until(f"location.hash.startsWith('#/{then}?') && document.title && document.querySelector('h2')")
        await go(tab, "turns?kind=all")
        await tab.until("document.querySelector('.rows tbody a')")
        first = await tab.value("document.querySelector('.rows tbody a').textContent")
        await tab.value("document.querySelector('.more').click()")
        await tab.until(f"document.querySelector('.rows tbody a').textContent !== {json.dumps(first)}")
        assert "before=" in await tab.value("location.hash")
        assert tab.errors == []


async def test_what_attackers_wrote_is_shown_and_never_obeyed(browser: str, address: str) -> None:
    async with entered(browser, address) as tab:
        for view in VIEWS:
            await go(tab, view)
        await go(tab, f"turn?turn={TURNS + 1}")
        await tab.value("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        links = await tab.value("[...document.querySelectorAll('a')].map((one) => one.getAttribute('href'))")
        assert "https://weather.example/" in links and not [one for one in links if "javascript" in (one or "")]
        assert await tab.value("document.querySelectorAll('main img, main script').length") == 0
        assert await tab.value("document.querySelector('main').innerText.includes('<img')")
        assert await tab.value("window.pwned === undefined")


async def test_a_view_is_downloaded_as_it_is_shown(browser: str, address: str) -> None:
    async with entered(browser, address) as tab:
        await go(tab, f"chat?chat={ROOM}")
        for form in ("csv", "json"):
            asked = f"fetch(document.querySelector('#as-{form}').href).then((one) => one.text())"
            text = await tab.value(asked)
            assert reference_of(TURNS + 1) in text and SECRET not in text
        assert tab.errors == []


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: tests/real/install puts it into .real/")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
async def test_axe_finds_nothing_and_nothing_leaves_the_machine(
    browser: str, address: str, width: int, scheme: str
) -> None:
    rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    where = "one.nodes.map((node) => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join(' | ')"
    violations = f"told.violations.map((one) => `${{one.id}}: ${{{where}}}`)"
    found = f"axe.run(document, {json.dumps(rules)}).then((told) => {violations})"
    async with opened(browser, address, shown=LOGIN) as tab:
        await resize(tab, width, 900, scheme)
        await tab.value(f"{AXE.read_text(encoding='utf-8')}; 1")
        assert await tab.value(found) == []
    async with entered(browser, address) as tab:
        await resize(tab, width, 900, scheme)
        await tab.value(f"{AXE.read_text(encoding='utf-8')}; 1")
        for view in VIEWS.keys() - ALIKE:
            await go(tab, view)
            await tab.value("document.querySelectorAll('main details').forEach((one) => (one.open = true))")
            assert await tab.value(found) == [], view
            assert await tab.value(WHOLE), view
            if width == 390:
                await resize(tab, 320, 900, scheme)
                assert await tab.value(WHOLE), view
                await resize(tab, width, 900, scheme)
            if view not in FAILS_TO_LOAD:
                assert tab.errors == [], view
            tab.errors.clear()
        origin = address.removesuffix("/admin")
        assert tab.requests and not [one for one in tab.requests if not one.startswith((f"{origin}/admin/", "data:"))]


def test_it_shares_its_colours_elements_and_icons_with_the_playground() -> None:
    """Each exists once, and each page's files import only what its server has."""
    root = Path(__file__).parents[3]
    own, other = root / "bot/operations/page", root / "playground/page"
    names = {folder: {path.name for path in folder.iterdir() if path.is_file()} for folder in (own, other)}
    shared = set(website._SHARED)

    assert shared == {"tokens.css", "elements.js", "icons.js"}
    assert shared <= names[own] and not shared & names[other]
    for folder, served in ((own, names[own]), (other, names[other] | shared)):
        texts = [path.read_text(encoding="utf-8") for path in folder.iterdir() if path.suffix in (".js", ".html")]
        wanted = {
            name for text in texts for name in re.findall(r'(?:from "\./|(?:href|src)=")([a-z]+\.(?:js|css))"', text)
        }
        assert len(wanted) > 5 and wanted <= served
    assert not re.search(r"^\s+--[\w-]+: ", (other / "base.css").read_text(encoding="utf-8"), re.MULTILINE)
