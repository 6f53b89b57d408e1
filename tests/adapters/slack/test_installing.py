"""One app in several workspaces: installing it by the pages, answering in each, and leaving where it is removed."""

from __future__ import annotations

import asyncio
import io
import re
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import aiohttp
import pytest
from yarl import URL

from adapters.settings import SlackSettings
from adapters.slack.adapter import SlackAdapter, check, open_adapter
from adapters.slack.sealing import Granted, Seal
from bot.contract import (
    DeliveryError,
    Grants,
    Incoming,
    MessageSent,
    Page,
    ReplyTarget,
    SettingsError,
    StoreError,
    Unreachable,
    Visited,
)
from bot.store import Store
from playground.slack import SlackServer, SlackService
from tests.adapters.slack.conftest import until
from tests.conftest import FakeClock, RawObject
from tests.patience import PATIENCE
from tests.web import Web, serving

KEY, NEWER = "A" * 43 + "=", "B" * 43 + "="


@dataclass(eq=False)
class Stage:
    """Two workspaces that could install the app, its public address, and its store."""

    acme: SlackServer
    other: SlackServer
    service: SlackService
    web: Web
    store: Store
    clock: FakeClock
    heard: list[MessageSent] = field(default_factory=list)

    def settings(self, **changes: str) -> SlackSettings:
        values = {
            "slack_signing_secret": self.acme.signing_secret,
            "slack_client_id": self.service.client_id,
            "slack_client_secret": self.service.client_secret,
            "slack_install_url": f"{self.web.address}/slack/install",
            "slack_token_key": KEY,
            "slack_api_base_url": self.service.base_url,
        }
        settings = SlackSettings.model_validate(values | changes)
        settings.require()
        return settings

    @asynccontextmanager
    async def running(
        self, grants: Grants | None = None, changes: Mapping[str, str] = MappingProxyType({})
    ) -> AsyncIterator[SlackAdapter]:
        """The adapter as the program runs it."""
        adapter = open_adapter(self.settings(**changes), self.clock)
        adapter.grants = grants or self.store.grants
        async with adapter:
            listening = asyncio.create_task(adapter.listen(self._hear))
            self.web.entrance = lambda platform: adapter.entrance if platform == "slack" else None
            await until(lambda: adapter.entrance)
            try:
                yield adapter
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    async def _hear(self, said: Incoming) -> None:
        if isinstance(said, MessageSent):
            self.heard.append(said)

    async def install(self, server: SlackServer) -> tuple[int, str]:
        """What an admin of a workspace does, in a browser of their own; the page they end at."""
        async with Browser(self) as browser:
            return await browser.open(self.service.allow(await browser.begin(), server.team_id))

    async def ask(self, server: SlackServer, text: str = "why?") -> MessageSent:
        """Somebody mentions the bot there; what was stored of it."""
        before = len(self.heard)
        server.say("C1", f"<@{server.bot_user_id}> {text}", person="U1")
        async with asyncio.timeout(PATIENCE):
            while len(self.heard) == before:
                await asyncio.sleep(0.001)
        return self.heard[-1]


class Browser:
    """Keeps cookies, and shows where it would be sent."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def __aenter__(self) -> Browser:
        self._session = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._session.close()

    async def begin(self) -> str:
        """Open the link; where Slack asks whether to allow it."""
        async with self._session.get(f"{self._stage.web.address}/slack/install", allow_redirects=False) as answer:
            assert answer.status == 302
            return answer.headers["Location"]

    async def open(self, address: str) -> tuple[int, str]:
        async with self._session.get(URL(address, encoded=True), allow_redirects=False) as answer:
            return answer.status, re.sub(r"<[^>]+>", " ", await answer.text()).strip()


@pytest.fixture
async def stage(clock: FakeClock, tmp_path: Path) -> AsyncIterator[Stage]:
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(SlackServer(now=clock.monotonic, wall=clock.wall, team=team))
            for team in ("T0ACME", "T0OTHER")
        ]
        service = await stack.enter_async_context(SlackService(*servers))
        web = await stack.enter_async_context(serving(clock))
        store = await stack.enter_async_context(Store.open(f"sqlite:///{tmp_path / 'parley.db'}", clock=clock))
        for server in servers:
            server.person("U1", "ann")
            server.channel("C1", "general")
            server.deliver_to(f"{web.address}/slack")
        service.redirect_uris.append(f"{web.address}/slack/installed")
        yield Stage(servers[0], servers[1], service, web, store, clock)


async def kept(stage: Stage) -> Mapping[str, str]:
    return await stage.store.grants.list_kept("slack")


async def test_whoever_installs_the_app_is_answered_in_their_workspace(stage: Stage) -> None:
    async with stage.running() as adapter:
        for server in (stage.acme, stage.other):
            status, words = await stage.install(server)
            assert (status, words) == (200, "Slack   Installed in playground. Mention the bot in a channel there.")
        for server in (stage.acme, stage.other):
            asked = await stage.ask(server, f"who is {server.team_id}?")
            assert (asked.text, asked.chat.account) == (f"who is {server.team_id}?", server.team_id)
            surface = adapter.surface(asked.target)
            await surface.show(surface.draw(Page(f"You are {server.team_id}.", final=True)), None, "n")
        shown = [server.screen.messages[-1].text for server in (stage.acme, stage.other)]
        assert shown == ["You are T0ACME.", "You are T0OTHER."]


async def test_each_workspace_has_calls_of_its_own(stage: Stage) -> None:
    async with stage.running() as adapter:
        scopes = []
        for server in (stage.acme, stage.other):
            await stage.install(server)
            surface = adapter.surface((await stage.ask(server)).target)
            cost = surface.cost(surface.draw(Page("x", final=True)), None)
            scopes.append({budget.scope for budget in cost.budgets})
        assert scopes[0] and not scopes[0] & scopes[1]


async def test_a_file_is_fetched_with_the_token_of_its_workspace(stage: Stage) -> None:
    async with stage.running() as adapter:
        for server in (stage.acme, stage.other):
            await stage.install(server)
            server.say(
                "C1",
                f"<@{server.bot_user_id}> read",
                person="U1",
                files=[("note.txt", "text/plain", b"of " + server.team_id.encode())],
            )
            await until(lambda: stage.heard and stage.heard[-1].enclosed)
            into = io.BytesIO()
            await adapter.fetch(stage.heard[-1].enclosed[0].source, into, 100)
            assert into.getvalue() == b"of " + server.team_id.encode()
            stage.heard.clear()


async def test_the_next_start_serves_them_and_the_database_holds_no_token(stage: Stage, tmp_path: Path) -> None:
    async with stage.running():
        await stage.install(stage.acme)
        await stage.install(stage.other)
    with closing(sqlite3.connect(tmp_path / "parley.db")) as db:
        rows = db.execute("SELECT * FROM grants").fetchall()
    assert len(rows) == 2 and stage.acme.bot_token not in str(rows) and "xoxb" not in str(rows)
    async with stage.running() as adapter:
        assert (await stage.ask(stage.other)).chat.account == "T0OTHER"
        assert adapter.surface((await stage.ask(stage.acme)).target)


async def test_what_another_process_was_granted_is_known_at_the_first_event(stage: Stage) -> None:
    async with stage.running() as adapter:
        granted = Granted("T0OTHER", stage.other.bot_token, stage.other.bot_user_id, scopes="chat:write")
        await stage.store.grants.keep("slack", "T0OTHER", Seal([KEY]).close(granted))
        asked = await stage.ask(stage.other)
        assert adapter.surface(asked.target)


async def test_processes_that_share_a_database_know_of_it_within_seconds(stage: Stage) -> None:
    adapter = open_adapter(stage.settings(), stage.clock)
    adapter.grants, adapter.shared = stage.store.grants, True
    async with adapter:
        target = ReplyTarget("slack", {"team": "T0OTHER", "channel": "C1"})
        with pytest.raises(Unreachable, match="T0OTHER"):
            adapter.surface(target)
        granted = Granted("T0OTHER", stage.other.bot_token, stage.other.bot_user_id)
        await stage.store.grants.keep("slack", "T0OTHER", Seal([KEY]).close(granted))
        await stage.clock.advance(5.0)
        await until(lambda: adapter._workspaces.all)
        assert adapter.surface(target)


async def test_a_process_that_has_something_to_show_there_looks_at_once(stage: Stage) -> None:
    """Before its next look: whoever asked waits for no more than the second try."""
    adapter = open_adapter(stage.settings(), stage.clock)
    adapter.grants, adapter.shared = stage.store.grants, True
    async with adapter:
        target = ReplyTarget("slack", {"team": "T0OTHER", "channel": "C1"})
        granted = Granted("T0OTHER", stage.other.bot_token, stage.other.bot_user_id)
        await stage.store.grants.keep("slack", "T0OTHER", Seal([KEY]).close(granted))
        with pytest.raises(Unreachable, match="T0OTHER"):
            adapter.surface(target)
        await until(lambda: adapter._workspaces.all)
        assert adapter.surface(target)


@pytest.mark.parametrize(
    ("event", "leaves"),
    [
        ({"type": "app_uninstalled"}, True),
        ({"type": "tokens_revoked", "tokens": {"bot": ["U0OTHER"]}}, True),
        ({"type": "tokens_revoked", "tokens": {"oauth": ["U1"], "bot": []}}, False),
        ({"type": "tokens_revoked"}, False),
    ],
)
async def test_where_it_is_removed_its_token_is_deleted(stage: Stage, event: RawObject, leaves: bool) -> None:
    async with stage.running() as adapter:
        await stage.install(stage.acme)
        await stage.install(stage.other)
        target = (await stage.ask(stage.other)).target
        sent = stage.other.send_event(event)
        await stage.other.until_delivery(lambda all: sent.acked.is_set(), PATIENCE)
        assert ("T0OTHER" in await kept(stage)) is not leaves and "T0ACME" in await kept(stage)
        if leaves:
            with pytest.raises(Unreachable, match="not installed in the Slack workspace T0OTHER"):
                adapter.surface(target)
            again = stage.other.send_event({"type": "app_mention", "channel": "C1", "user": "U1", "text": "hello?"})
            await stage.other.until_delivery(lambda all: again.acked.is_set(), PATIENCE)
            assert stage.heard[-1].target == target  # nothing more was heard of it
        assert (await stage.ask(stage.acme)).chat.account == "T0ACME"
        assert (await stage.install(stage.other))[0] == 200
        assert (await stage.ask(stage.other)).chat.account == "T0OTHER"


async def test_a_token_that_is_refused_ends_only_its_workspace(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    async with stage.running() as adapter:
        await stage.install(stage.acme)
        await stage.install(stage.other)
        surface = adapter.surface((await stage.ask(stage.other)).target)
        stage.service.removed.add("T0OTHER")
        with pytest.raises(DeliveryError):
            await surface.show(surface.draw(Page("late", final=True)), None, "n")
        await until(lambda: len(adapter._workspaces.all) == 1)
        assert "the token that T0OTHER (playground) granted is refused" in caplog.text
        assert (await stage.ask(stage.acme)).chat.account == "T0ACME"


async def test_beside_them_the_workspace_of_the_settings_is_served(stage: Stage) -> None:
    async with stage.running(changes={"slack_bot_token": stage.acme.bot_token}) as adapter:
        await stage.install(stage.other)
        for server in (stage.acme, stage.other):
            assert adapter.surface((await stage.ask(server)).target)
        assert adapter.workspace.me.team == "T0ACME"


async def test_only_the_browser_that_began_can_finish(stage: Stage) -> None:
    async with stage.running(), Browser(stage) as browser, Browser(stage) as another:
        back = stage.service.allow(await browser.begin(), "T0ACME")
        await another.begin()
        for address in (back, re.sub(r"state=\w", "state=1", back), re.sub(r"state=[^&]*", "state=%00", back)):
            status, words = await another.open(address)
            assert status == 400 and "in another browser, or too long ago" in words
        for address in (back.partition("?")[0], re.sub("code=[^&]*", "code=", back), f"{back}&state=1"):
            assert (await browser.open(address))[0] in (400, 200)
        await stage.clock.advance(601.0)
        assert (await browser.open(back))[0] == 400
        assert not [team for team in await kept(stage) if team != "T0ACME"]


@pytest.mark.parametrize("state", ["", ".", "..", "a.b.c", "9" * 5_000, "١.x.y", "-1..", "1" * 400 + ".x.y"])
@pytest.mark.parametrize("cookie", ["", "x", "y" * 5_000, "é"])
async def test_a_forged_state_is_refused(stage: Stage, state: str, cookie: str) -> None:
    async with stage.running() as adapter:
        assert isinstance(adapter.entrance, Visited)
        answer = await adapter.entrance.visit("installed", {"state": state, "code": "c"}, {"parley_install": cookie})
        assert answer.status == 400 and not await kept(stage)


async def test_a_code_is_taken_once_and_none_of_it_is_logged(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    async with stage.running(), Browser(stage) as browser:
        back = stage.service.allow(await browser.begin(), "T0ACME")
        assert (await browser.open(back))[0] == 200
        assert await browser.open(back) == (400, "Slack   Slack did not confirm it.   Begin again")
    for secret in (stage.acme.bot_token, "code-1", stage.service.client_secret):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ({"is_enterprise_install": True, "team": None}, "in one workspace, and not in a whole organisation"),
        ({"refresh_token": "xoxe-1", "expires_in": 43_200}, "not set up for this"),
        ({"scope": "chat:write"}, "Without app_mentions:read, commands, im:history the bot cannot work"),
        ({"team": {"id": "T0OTHER"}}, "Slack named two workspaces"),
        ({"access_token": "xoxb-nobodys"}, "Slack did not confirm it"),
        ({"access_token": None}, "Slack did not confirm it"),
        ({"ok": False, "error": "invalid_client_id"}, "Slack did not confirm it"),
    ],
)
async def test_what_is_of_no_use_is_refused_with_the_reason(stage: Stage, extra: RawObject, sentence: str) -> None:
    stage.service.extra = extra
    async with stage.running():
        status, words = await stage.install(stage.acme)
        assert status == 400 and sentence in words and not await kept(stage)


async def test_who_changes_their_mind_is_told_that_nothing_happened(stage: Stage) -> None:
    async with stage.running(), Browser(stage) as browser:
        await browser.begin()
        status, words = await browser.open(f"{stage.web.address}/slack/installed?error=access_denied&state=x")
        assert status == 200 and "Nothing was installed." in words


async def test_with_pkce_the_code_alone_is_of_no_use(stage: Stage) -> None:
    stage.service.pkce = True
    async with stage.running(changes={"slack_pkce": "true"}), Browser(stage) as browser:
        asked = await browser.begin()
        assert "code_challenge_method=S256" in asked
        assert (await browser.open(stage.service.allow(asked, "T0ACME")))[0] == 200
    async with stage.running(), Browser(stage) as browser:  # as somebody who does not know the verifier
        asked = await browser.begin() + "&code_challenge=another"
        assert (await browser.open(stage.service.allow(asked, "T0OTHER")))[0] == 400
    assert list(await kept(stage)) == ["T0ACME"]


async def test_a_store_in_trouble_is_said_and_nothing_is_served_that_would_be_forgotten(stage: Stage) -> None:
    class Broken:
        async def list_kept(self, platform: str) -> Mapping[str, str]:
            return {}

        async def keep(self, platform: str, account: str, sealed: str) -> None:
            raise StoreError("the disk is full")

        async def drop(self, platform: str, account: str) -> None: ...

    async with stage.running(Broken()) as adapter:
        status, words = await stage.install(stage.acme)
        assert (status, adapter._workspaces.all) == (503, []) and "could not be stored just now" in words


async def test_a_key_is_replaced_while_the_former_one_stands_behind_it(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage.running():
        await stage.install(stage.acme)
    async with stage.running(changes={"slack_token_key": f"{NEWER},{KEY}"}):
        await stage.install(stage.other)
        assert (await stage.ask(stage.acme)).chat.account == "T0ACME"
    async with stage.running(changes={"slack_token_key": NEWER}) as adapter:
        assert [one.me.team for one in adapter._workspaces.all] == ["T0OTHER"]
    assert caplog.text.count("the grant of T0ACME was encrypted with another key") == 1


def test_what_one_workspace_granted_is_not_anothers() -> None:
    sealed = Seal([KEY]).close(Granted("T1", "xoxb-1", "U1"))
    assert Seal([KEY]).open("T1", sealed) == Granted("T1", "xoxb-1", "U1")
    assert Seal([KEY]).open("T2", sealed) is None
    for other in ("", "é", "x" * 10_000, sealed[:-3]):
        assert Seal([KEY]).open("T1", other) is None


async def test_without_installing_there_are_no_pages(stage: Stage) -> None:
    changes = dict.fromkeys(("slack_client_id", "slack_client_secret", "slack_install_url", "slack_token_key"), "")
    async with stage.running(changes={**changes, "slack_bot_token": stage.acme.bot_token}), Browser(stage) as browser:
        for page in ("install", "installed", "other"):
            assert (await browser.open(f"{stage.web.address}/slack/{page}"))[0] == 404
        assert (await browser.open(f"{stage.web.address}/telegram/install"))[0] == 503


async def test_doctor_says_where_the_app_is_installed(stage: Stage) -> None:
    [finding] = await check(stage.settings())
    assert f"others install the app at {stage.web.address}/slack/install" in str(finding)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"slack_client_secret": ""}, "SLACK_CLIENT_SECRET is not set; others need it to install the app"),
        ({"slack_signing_secret": ""}, "SLACK_SIGNING_SECRET is not set"),
        ({"slack_app_token": "xapp-1"}, "SLACK_APP_TOKEN should be unset"),
        ({"slack_install_url": "https://bot.example.org/slack"}, "SLACK_INSTALL_URL should end in /slack/install"),
        ({"slack_token_key": "secret"}, "SLACK_TOKEN_KEY should be 32 random bytes"),
        ({"slack_token_key": f"{KEY},x"}, "openssl rand -base64 32"),
    ],
)
def test_what_is_missing_is_named(stage: Stage, changes: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError) as told:
        stage.settings(**changes)
    assert sentence in str(told.value)
