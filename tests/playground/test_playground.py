"""The playground: what a newcomer sees and does on the page, with the real emulators and a child we choose."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from playground.child import BOT, ROOT, Child
from playground.choices import of_ollama
from playground.show import Playground
from playground.windows import DiscordWindow
from tests.conftest import RawJson, RawObject
from tests.patience import PATIENCE
from tools.settings import SETTINGS

ECHO = """
import asyncio, html, json, os, pathlib, aiohttp
from aiohttp import web

async def main():
    pathlib.Path("environment.json").write_text(json.dumps(dict(os.environ)))
    async def state(request):
        return web.json_response({"ready": True, "platforms": {"telegram": "listening"}, "model": "m", "busy": 0})
    app = web.Application()
    app.router.add_get("/state", state)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, os.environ["HTTP_HOST"], int(os.environ["HTTP_PORT"])).start()
    root = f"{os.environ['TELEGRAM_API_BASE_URL']}/bot{os.environ['TELEGRAM_BOT_TOKEN']}"
    async with aiohttp.ClientSession() as session:
        async def call(method, **body):
            async with session.post(f"{root}/{method}", json=body) as answer:
                return (await answer.json())["result"]
        offset = 0
        while True:
            for update in await call("getUpdates", offset=offset, timeout=20):
                offset = update["update_id"] + 1
                chat, text = update["message"]["chat"]["id"], html.escape(update["message"]["text"])
                await call("sendChatAction", chat_id=chat, action="typing")
                sent = await call("sendMessage", chat_id=chat, text="You")
                for said in ("You said", f"You said <b>{text}</b>"):
                    number = sent["message_id"]
                    await call("editMessageText", chat_id=chat, message_id=number, text=said, parse_mode="HTML")

asyncio.run(main())
"""
"""A bot in a few lines: it answers on Telegram, in three versions of one message."""


class Page:
    """What a browser would do: read the events, press the buttons."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.session = session
        self.url = url
        self.events: list[tuple[str, Any]] = []
        self.raw = ""
        self._changed = asyncio.Condition()

    async def read(self) -> None:
        async with self.session.get(f"{self.url}events") as answer:
            kind = ""
            async for line in answer.content:
                text = line.decode()
                self.raw += text
                if text.startswith("event: "):
                    kind = text[7:].strip()
                elif text.startswith("data: "):
                    async with self._changed:
                        data = json.loads(text[6:])
                        self.events.append((kind, data))
                        if kind == "start":
                            self.events.append(("state", data["state"]))
                        self._changed.notify_all()

    async def sees(self, kind: str, wanted: Any = lambda data: True, after: int = 0) -> Any:
        """Wait for an event; its data."""

        def found() -> list[Any]:
            return [data for one, data in self.events[after:] if one == kind and wanted(data)]

        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(found)
        return found()[0]

    async def does(self, act: str, **body: RawJson) -> RawObject:
        async with self.session.post(f"{self.url}do/{act}", json=body) as answer:
            return {"status": answer.status, **await answer.json()}


@asynccontextmanager
async def opened(playground: Playground) -> AsyncIterator[Page]:
    async with playground, aiohttp.ClientSession(read_bufsize=2**20) as session:
        page = Page(session, playground.url)
        reading = asyncio.create_task(page.read())
        try:
            await page.sees("start")
            yield page
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


def playground(tmp_path: Path, *command: str, **environ: str) -> Playground:
    return Playground(port=0, data=tmp_path, command=command or (sys.executable, "-c", ECHO), environ=environ)


async def test_the_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    async with playground(tmp_path) as shown, aiohttp.ClientSession() as session:
        kinds = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
        files = {path.name: kinds[path.suffix] for path in (ROOT / "playground" / "page").iterdir()}
        for path, media in {"": "text/html", **files}.items():
            async with session.get(shown.url + path) as answer:
                text = await answer.text()
                assert answer.status == 200
                assert answer.content_type == media
                assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
                text = text.replace("http://www.w3.org/2000/svg", "")  # a name and no address
                assert "http://" not in text and "https://" not in text
                assert ' style="' not in text, "the policy forbids it"


async def test_what_is_typed_stands_in_its_chat_and_the_reply_grows_in_place(tmp_path: Path) -> None:
    async with opened(playground(tmp_path)) as page:
        await page.sees("state", lambda state: state["phase"] == "ready")

        assert (await page.does("say", platform="telegram", place="1001", text="你好 <there>"))["status"] == 200
        mine = await page.sees("message", lambda view: view["author"] == "you")
        sign = await page.sees("sign")
        last = await page.sees("message", lambda view: view["author"] == "bot" and view["edits"] == 2)

    assert mine["html"] == "你好 &lt;there&gt;"
    assert sign == {"platform": "telegram", "place": "1001", "thread": "", "kind": "typing", "text": ""}
    assert last["html"] == "You said <b>你好 &lt;there&gt;</b>"
    ids = {view["id"] for kind, view in page.events if kind == "message" and view["author"] == "bot"}
    assert ids == {last["id"]}


async def test_a_mention_reaches_slack_and_discord_as_theirs(tmp_path: Path) -> None:
    shown = playground(tmp_path)
    async with opened(shown) as page:
        for name in ("slack", "discord"):
            place = shown.windows[name].places[0].id
            await page.does("say", platform=name, place=place, text="hi **you**", mention=True)

            view = await page.sees("message", lambda view, name=name: view["platform"] == name)
            assert "mention" in view["html"]
            assert view["place"] == place


async def test_a_typed_mention_is_one_and_none_is_added(tmp_path: Path) -> None:
    shown = playground(tmp_path)
    async with opened(shown) as page:
        for name, place in ((one, place.id) for one, window in shown.windows.items() for place in window.places):
            await page.does("say", platform=name, place=place, text="@Parley why, not a@parley.com", mention=True)

            view = await page.sees("message", lambda view, place=place: view["place"] == place)
            assert view["html"].count('class="mention"') == 1, view["html"]
            assert "why, not a@parley.com" in re.sub("<[^>]*>", "", view["html"])


async def test_a_message_in_a_slack_thread_stands_under_its_first(tmp_path: Path) -> None:
    async with opened(playground(tmp_path)) as page:
        await page.does("say", platform="slack", place="C0GENERAL", text="first")
        first = await page.sees("message")
        await page.does("say", platform="slack", place="C0GENERAL", text="second", thread=first["id"])
        second = await page.sees("message", lambda view: view["id"] != first["id"])

    assert first["thread"] == ""
    assert second["thread"] == first["id"]


async def test_an_unregistered_slash_command_is_explained(tmp_path: Path) -> None:
    shown = playground(tmp_path)
    async with opened(shown) as page:
        discord = await page.does("say", platform="discord", place=shown.windows["discord"].places[0].id, text="/ask x")
        slack = await page.does("say", platform="slack", place="C0GENERAL", text="/dance")

    assert discord["status"] == slack["status"] == 409
    assert "no registered command" in discord["problem"]
    assert "/parley is" in slack["problem"]


async def test_a_slash_command_without_what_it_needs_is_explained(tmp_path: Path) -> None:
    shown = playground(tmp_path)
    question = {"name": "question", "description": "What", "type": 3, "required": True}
    async with opened(shown) as page:
        window = shown.windows["discord"]
        assert isinstance(window, DiscordWindow)
        window._server.commands.registered[""] = {"1": {"id": "1", "name": "ask", "type": 1, "options": [question]}}
        told = await page.does("say", platform="discord", place=shown.windows["discord"].places[0].id, text="/ask")

    assert (told["status"], told["problem"]) == (409, "/ask needs something behind it: /ask QUESTION")


async def test_a_page_opened_later_finds_everything_that_stands(tmp_path: Path) -> None:
    shown = playground(tmp_path)
    async with opened(shown) as page:
        await page.does("say", platform="slack", place="C0GENERAL", text="early")
        await page.sees("message")
        late = Page(page.session, shown.url)
        reading = asyncio.create_task(late.read())
        start = await late.sees("start")
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)

    assert [window["title"] for window in start["windows"]] == ["Telegram", "Slack", "Discord"]
    assert [view["html"] for view in start["messages"]] == ["early"]


async def test_a_killed_bot_starts_again_by_itself_and_the_page_says_so(tmp_path: Path) -> None:
    async with opened(playground(tmp_path)) as page:
        first = await page.sees("state", lambda state: state["phase"] == "ready")
        await page.does("kill")
        note = await page.sees("note")
        again = await page.sees("state", lambda state: state["phase"] == "ready" and state["starts"] == 2)

    assert "killed (kill -9)" in note["text"]
    assert again["pid"] != first["pid"]


async def test_the_bot_gets_none_of_the_operators_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "the operator's own")
    monkeypatch.setenv("ALLOWED_USERS", "telegram:1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-operator")
    operators = ("DATABASES", "E2B_API_KEY", "FETCH_ALLOW", "CONTACT", "SEARCH_FALLBACK", "HTTPS_PROXY")
    for name in (*operators, "TAVILY_API_KEY", "IMAGE_API_KEY", "WIKIPEDIA_BASE_URL", "MCP_CONFIG"):
        monkeypatch.setenv(name, "https://operator.example")
    shown = playground(tmp_path, OPENAI_API_KEY="sk-operator")
    async with opened(shown) as page:
        await page.sees("state", lambda state: state["phase"] == "ready")
    environment = json.loads((tmp_path / "environment.json").read_text())

    assert environment["TELEGRAM_BOT_TOKEN"] == shown.telegram.token
    assert environment["MODEL"] == "openai:scripted"
    assert environment["OPENAI_API_KEY"] != "sk-operator"
    assert environment["PARLEY_ENV_FILE"] == ""
    assert environment["ALLOW_ALL"] == "true"
    assert environment["DATABASE_URL"] == f"sqlite:///{tmp_path}/parley.db"
    assert "ALLOWED_USERS" not in environment
    assert not set(operators) & set(environment)
    assert "operator" not in str({**environment, "PYTHONPATH": "", "PATH": ""})
    for name in ("SLACK_API_BASE_URL", "DISCORD_API_BASE_URL", "OPENAI_BASE_URL"):
        assert environment[name].startswith("http://127.0.0.1:")
    assert environment["PLAYGROUND_STAYS_HOME"]
    assert json.loads(Path(environment["MCP_CONFIG"]).read_text()) == {"mcpServers": {}}


async def test_every_service_of_a_tool_is_one_of_the_playgrounds(tmp_path: Path) -> None:
    async with opened(playground(tmp_path)) as page:
        await page.sees("state", lambda state: state["phase"] == "ready")
    environment = json.loads((tmp_path / "environment.json").read_text())

    services = {
        name.upper()
        for kind in SETTINGS.values()
        for name, field in kind.model_fields.items()
        if str(field.default).startswith("https://")
    }
    # Without its key, which nobody hands over here, E2B is not used.
    services.remove("E2B_API_BASE_URL")
    assert len(services) >= 7
    for name in services:
        assert environment[name].startswith("http://127.0.0.1:"), name


async def test_a_key_is_named_used_only_after_a_click_and_never_sent_to_the_page(tmp_path: Path) -> None:
    shown = playground(tmp_path, OPENAI_API_KEY="sk-operator", OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    async with opened(shown) as page:
        before = await page.sees("state", lambda state: state["phase"] == "ready")
        await page.does("use", id="openai:gpt-5-mini")
        after = await page.sees("state", lambda state: state["phase"] == "ready" and state["starts"] == 2)
        environment = json.loads((tmp_path / "environment.json").read_text())
        await page.does("use", id="scripted")
        back = await page.sees("state", lambda state: state["phase"] == "ready" and state["starts"] == 3)

    label = "openai:gpt-5-mini using your OPENAI_API_KEY (at most $2 or 1,000,000 tokens a day)"
    assert {"id": "openai:gpt-5-mini", "label": label} in before["choices"]
    assert before["scripted"] and not after["scripted"] and back["scripted"]
    assert environment["MODEL"] == "openai:gpt-5-mini"
    assert environment["OPENAI_API_KEY"] == "sk-operator"
    assert not environment["PLAYGROUND_STAYS_HOME"], "the model is outside"
    limits = {name: environment[name] for name in ("MONEY_PER_DAY", "TOKENS_PER_DAY", "TOKENS_PER_DAY_PERSON")}
    assert limits == {"MONEY_PER_DAY": "2", "TOKENS_PER_DAY": "1000000", "TOKENS_PER_DAY_PERSON": "0"}
    assert environment["IMAGE_API_KEY"] != "sk-operator", "an image nobody clicked on would cost money"
    assert "sk-operator" not in page.raw


async def test_a_running_ollama_is_found_on_this_machine_only() -> None:
    async def tags(request: web.Request) -> web.Response:
        return web.json_response({"models": [{"name": "qwen3:8b"}]})

    app = web.Application()
    app.router.add_get("/api/tags", tags)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        found = await of_ollama({"OLLAMA_API_URL": url})
    finally:
        await runner.cleanup()

    assert [choice.id for choice in found] == ["ollama:qwen3:8b"]
    assert found[0].environment == {"MODEL": "ollama:qwen3:8b", "OLLAMA_API_URL": url}
    assert await of_ollama({"OLLAMA_API_URL": url}) == []
    assert await of_ollama({"OLLAMA_API_URL": "http://ollama.example/v1"}) == []


@pytest.mark.parametrize(
    ("command", "phase", "words"),
    [
        (("/nowhere/python",), "failed", "No such file"),
        ((sys.executable, "-c", "import sys; sys.exit('no module named bot')"), "pausing", "no module named bot"),
        ((sys.executable, "-c", "print('MODEL is wrong'); raise SystemExit(2)"), "failed", "MODEL is wrong"),
    ],
)
async def test_a_bot_that_cannot_start_leaves_the_page_alive(
    tmp_path: Path, command: tuple[str, ...], phase: str, words: str
) -> None:
    async with opened(playground(tmp_path, *command)) as page:
        state = await page.sees("state", lambda state: state["phase"] == phase)
        said = await page.does("say", platform="slack", place="C0GENERAL", text="anybody there?")
        await page.sees("message")
        await page.does("restart")
        await page.sees("state", lambda state: state["starts"] == 2)

    assert words in state["message"]
    assert said["status"] == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Host": "evil.example:8765"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
async def test_other_web_sites_cannot_act_here(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    async with opened(playground(tmp_path)) as page:
        request = page.session.post(
            f"{page.url}do/kill", data="{}", headers={"Content-Type": "application/json", **headers}
        )
        async with request as answer:
            assert answer.status == status


async def test_a_file_is_shown_as_a_picture_or_kept_as_a_download(tmp_path: Path) -> None:
    shown = playground(tmp_path)
    async with opened(shown) as page:
        files = [("a.png", "image/png", b"\x89PNG"), ("évil.html", "text/html", b"<script>")]
        shown.slack.say("C0GENERAL", "look", person="U0ADA", files=files)
        view = await page.sees("message", lambda view: view["files"])
        base = f"{page.url}files/slack/{view['chat']}/{view['id']}"
        async with page.session.get(f"{base}/0") as picture, page.session.get(f"{base}/1") as other:
            kinds = (picture.content_type, other.content_type)
            disposition = other.headers["Content-Disposition"]
        async with page.session.get(f"{base}/7") as missing:
            assert missing.status == 404

    assert kinds == ("image/png", "application/octet-stream")
    assert disposition == 'attachment; filename="_vil.html"'


async def test_the_next_free_port_is_taken_unless_one_was_asked_for(tmp_path: Path) -> None:
    command = (sys.executable, "-c", "input()")
    async with Playground(data=tmp_path / "a", command=command, environ={}) as first:
        async with Playground(data=tmp_path / "b", command=command, environ={}) as second:
            assert first.url != second.url
        with pytest.raises(OSError):
            port = int(first.url.rsplit(":", 1)[1].strip("/"))
            async with Playground(port=port, data=tmp_path / "c", command=command, environ={}):
                pass


async def test_the_command_prints_its_address_first_and_ends_on_sigterm() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "playground", "--no-browser", "--port", "0"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=environment,
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    async with aiohttp.ClientSession() as session, session.get(line.split()[-1]) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGTERM)
    _, errors = await process.communicate()

    assert line.startswith("Parley playground: http://127.0.0.1:")
    assert process.returncode == 0, errors.decode()


async def test_a_port_that_is_taken_is_one_sentence_and_exit_code_2() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "playground", "--no-browser", "--port", port),
            stderr=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        _, errors = await process.communicate()

    assert process.returncode == 2
    assert errors.decode().startswith(f"playground: port {port} cannot be used")


async def test_the_bot_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    """The child holds the parent's output open: the end of that output is the end of the child."""
    (tmp_path / "waiting.py").write_text("import time\nprint('started', flush=True)\ntime.sleep(600)\n")
    parent = f"""
import subprocess, sys, time
child = subprocess.Popen(
    [sys.executable, "-m", "playground.leash", "waiting"], stdin=subprocess.PIPE, cwd={str(tmp_path)!r},
    env={{"PYTHONPATH": {str(ROOT)!r}}},
)
time.sleep(600)
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", parent, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    assert (await process.stdout.readline()).strip() == b"started"

    process.kill()
    async with asyncio.timeout(PATIENCE):
        assert await process.stdout.read() == b""
    await process.wait()


async def test_what_runs_on_the_leash_reaches_this_machine_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "calling.py").write_text("""
import asyncio, socket
server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]
def attempt(name, call):
    try:
        call()
        print(name, "reached")
    except OSError as error:
        print(name, error.strerror)
async def stream(host):
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
attempt("own", lambda: socket.create_connection(("127.0.0.1", port), 5))
attempt("named", lambda: asyncio.run(stream("localhost")))
attempt("outside", lambda: socket.create_connection(("192.0.2.1", port), 5))
attempt("looked-up", lambda: asyncio.run(stream("playground.invalid")))
attempt("metadata", lambda: asyncio.run(stream("169.254.169.254")))
attempt("six", lambda: socket.socket(socket.AF_INET6).connect(("2001:db8::1", 80)))
attempt("datagram", lambda: datagram.sendto(b"x", ("192.0.2.1", 53)))
""")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "playground.leash", "calling"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PLAYGROUND_STAYS_HOME": "1"},
    )
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        # Its input stays open: that is the leash.
        said = (await process.stdout.read()).decode().splitlines()
    await process.wait()

    refused = "nothing leaves this machine from the playground"
    assert said == [
        "own reached",
        "named reached",
        *(f"{name} {refused}" for name in ("outside", "looked-up", "metadata", "six", "datagram")),
    ]


async def test_a_bot_that_does_not_end_in_order_is_ended_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.child._STOP_SECONDS", 0.1)
    up = tmp_path / "up"
    os.mkfifo(up)
    stubborn = f"""
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open({str(up)!r}, "w").close()
time.sleep(600)
"""
    child = Child(tmp_path, dict, lambda: None, lambda text: None, (sys.executable, "-c", stubborn))
    running = asyncio.create_task(child.run())
    await asyncio.wait_for(asyncio.to_thread(up.read_text), PATIENCE)
    async with asyncio.timeout(PATIENCE):
        while not child.state.pid:
            await asyncio.sleep(0)

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await child.close()

    assert child.state.phase == "ended"
    with pytest.raises(ProcessLookupError):
        os.kill(child.state.pid, 0)


def test_the_real_bot_is_what_runs() -> None:
    assert BOT[1:] == ("-P", "-m", "playground.leash", "parley_chat", "run")
