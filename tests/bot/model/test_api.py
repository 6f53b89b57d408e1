"""One server asked through the SDK's client: what is sent, how a refusal is read, and answers that are no stream."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator

import httpx2
import pytest
from aiohttp import web

from bot.model.api import Api, Refused, _write, read_value
from tests.bot.model.conftest import RawServer
from tests.conftest import RawJson


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(follow_redirects=True, trust_env=False) as client:
        yield client


async def test_a_request_is_json_with_the_key(http: httpx2.AsyncClient, raw_server: RawServer) -> None:
    async def echo(request: web.Request) -> web.Response:
        asked = {"path": request.path, "body": await request.text(), "headers": dict(request.headers)}
        return web.json_response(asked)

    async with Api(http, f"{await raw_server(echo)}/", "sk-1").post("/chat/completions", {"said": "茶"}) as response:
        told = await read_value(response)

    assert (told["path"], told["body"]) == ("/v1/chat/completions", '{"said":"茶"}')
    sent = {name.lower(): value for name, value in told["headers"].items()}
    assert sent["authorization"] == "Bearer sk-1" and sent["content-type"] == "application/json"


async def test_a_file_is_sent_in_a_form_and_from_its_start(http: httpx2.AsyncClient, raw_server: RawServer) -> None:
    async def read(request: web.Request) -> web.Response:
        form = await request.post()
        sent = form["file"]
        assert isinstance(sent, web.FileField)
        return web.json_response([sent.filename, sent.content_type, sent.file.read().decode(), form["model"]])

    recording = io.BytesIO(b"sound")
    recording.seek(3)
    api = Api(http, await raw_server(read), "k")
    async with api.post("/audio", {"model": "whisper"}, ("a.ogg", recording, "audio/ogg")) as response:
        assert await read_value(response) == ["a.ogg", "audio/ogg", "sound", "whisper"]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ('{"error": {"code": "x", "message": "no"}}', {"code": "x", "message": "no"}),
        ('{"error": "no"}', "no"),
        ('{"detail": "no"}', {"detail": "no"}),
        ('["no"]', ["no"]),
        (" <h1>No</h1>\n", "<h1>No</h1>"),
        ("", ""),
        ("[" * 9_000, "[" * 9_000),
    ],
    ids=["object", "sentence", "other object", "list", "page", "nothing", "nested too deeply"],
)
@pytest.mark.parametrize("status", [304, 400, 503])
async def test_a_refusal_holds_what_the_server_said(
    http: httpx2.AsyncClient, raw_server: RawServer, status: int, text: str, body: object
) -> None:
    async def refuse(request: web.Request) -> web.Response:
        return web.Response(status=status, text="" if status == 304 else text, headers={"Retry-After": "7"})

    api = Api(http, await raw_server(refuse), "k")
    for asked in (api.post("/any", {}).__aenter__, lambda: api.get("/any")):
        with pytest.raises(Refused) as caught:
            await asked()
        assert caught.value.status == status and caught.value.headers["retry-after"] == "7"
        assert caught.value.body == ("" if status == 304 else body)


async def test_a_request_follows_a_server_that_has_moved_with_what_it_asks(
    http: httpx2.AsyncClient, raw_server: RawServer
) -> None:
    async def moved(request: web.Request) -> web.Response:
        if request.path == "/v1/old":
            return web.Response(status=307, headers={"Location": "/v1/new"})
        return web.json_response([request.method, request.path, json.loads(await request.text())])

    async with Api(http, await raw_server(moved), "k").post("/old", {"a": 1}) as response:
        assert await read_value(response) == ["POST", "/v1/new", {"a": 1}]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<h1>Welcome</h1>", "Expecting value"),
        ("[" + "[]," * 60_000 + "[]]", "too many values"),
        ('"' + "x" * 5_000_000 + '"', "too many values"),
    ],
    ids=["page", "many", "long"],
)
async def test_an_answer_that_takes_long_to_read_or_is_no_json_is_a_value_error(
    http: httpx2.AsyncClient, raw_server: RawServer, text: str, why: str
) -> None:
    async def tell(request: web.Request) -> web.Response:
        return web.Response(text=text, content_type="application/json")

    with pytest.raises(ValueError, match=why):
        await Api(http, await raw_server(tell), "k").beside(await raw_server(tell)).get("/api/ps")


async def test_numbers_that_are_not_finite_are_not_sent(http: httpx2.AsyncClient) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        await Api(http, "http://127.0.0.1:9", "k").post("/any", {"a": float("nan")}).__aenter__()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"a": [], "b": {}, "c": None, "d": [[]], "e": [{"f": [1, 2.5, True, "茶\n\"'\ud83d\ude00"]}]},
        {"messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": [{"type": "text", "text": "x"}]}]},
        {"tools": [{"type": "function", "function": {"parameters": {"required": ["a"], "properties": {}}}}], "n": 1},
    ],
)
async def test_what_is_sent_in_pieces_is_the_same_json(
    http: httpx2.AsyncClient, raw_server: RawServer, body: dict[str, RawJson]
) -> None:
    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    body = json.loads(json.dumps(body))
    async with Api(http, await raw_server(echo), "k").post("/any", body) as response:
        assert await response.aread() == json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


async def test_others_have_their_turn_while_many_pictures_are_written() -> None:
    turns, done = 0, asyncio.Event()

    async def other() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    url = "data:image/png;base64," + "QUJD" * 100_000
    content = [{"type": "image_url", "image_url": {"url": url}}] * 8
    await _write({"messages": [{"role": "user", "content": content}]})
    done.set()
    await beside

    assert turns >= 8
