"""Requests with the token at a real port: what goes wrong between a program and an answer."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack

import aiohttp
import openai
import pytest
from pydantic import SecretStr

from adapters.settings import WebSettings
from adapters.web.adapter import MOST_READERS, MOST_RUNS, PATIENCE, WebAdapter, check
from adapters.web.completions import BROKEN
from adapters.web.runs import QUIET_SECONDS, Run, Runs, Said
from bot.contract import (
    ChatId,
    File,
    Incoming,
    MessageRef,
    MessageSent,
    Metrics,
    Page,
    Recalled,
    RecalledCall,
    ReplyTarget,
    Status,
    StoreError,
    Surface,
    WebAnswer,
)
from bot.operations import WebServer, web
from bot.operations.web import MOST_BYTES, MOST_READING, READ_SECONDS, SEND_SECONDS
from bot.sentences import say
from tests import patience
from tests.agui import verified
from tests.conftest import FakeClock, RawObject

TOKEN = "0123456789abcdef0123456789abcdef"


class Desk:
    """An adapter that listens at a port, whose core and store a test plays."""

    def __init__(self, adapter: WebAdapter, clock: FakeClock) -> None:
        self.adapter, self.clock = adapter, clock
        self.taken: list[Incoming] = []
        self.stored: dict[str, Recalled] = {}
        self.calls: list[RecalledCall] = []
        self.failing = False
        self.unreadable = False
        """What an earlier run asked cannot be read."""
        self.begun = asyncio.Queue[str]()
        """The runs whose streams have begun."""
        self.port = 0
        self.http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), headers={"Authorization": f"Bearer {TOKEN}"}
        )

    async def deliver(self, incoming: Incoming) -> None:
        if self.failing:
            raise StoreError("the disk is full")
        self.taken.append(incoming)
        self.stored.setdefault(incoming.delivery, Recalled(ended=False))

    async def recall(self, chat: ChatId, delivery: str) -> Recalled | None:
        if self.failing:
            raise StoreError("the disk is full")
        return self.stored.get(delivery)

    async def recall_calls(self, chat: ChatId, delivery: str, known: Collection[str]) -> tuple[RecalledCall, ...]:
        if self.failing:
            raise StoreError("the disk is full")
        if self.unreadable and not delivery:
            raise StoreError("the disk is full")
        return tuple(call for call in self.calls if call.id not in known)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/behind/a/proxy"

    def surface(self) -> Surface:
        """Where the reply to the newest request is written, as any process reads it."""
        return self.adapter.surface(ReplyTarget.from_json(self.taken[-1].target.to_json()))

    async def show(
        self, body: str, at: MessageRef | None = None, *, final: bool = False, status: str = ""
    ) -> MessageRef:
        page = Page(body, (Status(status),) if status else (), final=final)
        return await self.surface().show(self.surface().draw(page), at, "t1-0")

    def begin(self, run: str = "r1", path: str = "/agui", **more: object) -> asyncio.Task[str]:
        """Send a request, and return the task that reads the whole answer to it."""
        asked = {"threadId": "tea", "runId": run, "messages": [{"role": "user", "content": "what is tea"}], **more}

        async def read() -> str:
            async with self.http.post(self.address + path, json=asked, headers={"X-Run-Id": run}) as response:
                self.begun.put_nowait(run)
                return await response.text()

        return asyncio.create_task(read())

    async def taken_in(self, count: int = 1) -> None:
        async with asyncio.timeout(patience.PATIENCE):
            while len(self.taken) < count:
                await asyncio.sleep(0.001)

    async def end(self, run: str = "r1", **how: object) -> None:
        """Store that a delivery has ended, and let it be found."""
        self.stored[run] = Recalled(**{"ended": True, **how})  # type: ignore[arg-type]  # what a test names
        await self.clock.advance(1.0)


@pytest.fixture
async def desk(clock: FakeClock) -> AsyncIterator[Desk]:
    adapter = WebAdapter(WebSettings.model_validate({"web_token": SecretStr(TOKEN)}), clock)
    desk = Desk(adapter, clock)
    adapter.recall, adapter.recall_calls = desk.recall, desk.recall_calls
    serves = {"web": WebSettings.model_validate({}).serves}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(adapter)
        server = WebServer("127.0.0.1", 0, ["web"], {"web": adapter}.get, Metrics(), clock, serves)
        desk.port = (await stack.enter_async_context(server)).port
        await stack.enter_async_context(desk.http)
        listening = asyncio.create_task(adapter.listen(desk.deliver))
        await asyncio.sleep(0)
        yield desk
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


def events(answer: str) -> list[RawObject]:
    return [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]


def text_of(answer: str) -> str:
    return "".join(one.get("delta", "") for one in events(answer))


async def test_a_silent_stream_says_every_fifteen_seconds_that_it_lives(desk: Desk) -> None:
    reading = desk.begin()
    await desk.taken_in()
    for _ in range(3):
        await desk.clock.advance(QUIET_SECONDS)
    await desk.show("Tea is a leaf.", final=True)
    await desk.end(text="Tea is a leaf.")

    answer = await reading
    assert 3 <= answer.count(": still here\n\n") <= 4
    assert text_of(answer) == "Tea is a leaf."


async def test_what_is_rewritten_follows_from_its_paragraph_and_nothing_is_taken_back(desk: Desk) -> None:
    reading = desk.begin()
    await desk.taken_in()
    ref = await desk.show("Tea is a leaf.\n\nI call search", status="Searching")
    await desk.show("Tea is a leaf.\n\nIt is green", ref)
    await desk.show("Tea is a leaf.\n\nIt is green.\n\n", ref, final=True)
    await desk.show("Tea is a leaf.\n\nIt is green.", ref, final=True)
    await desk.end()

    told = events(await reading)
    messages = [one["messageId"] for one in told if one["type"] == "TEXT_MESSAGE_START"]
    by_message = [[one["delta"] for one in told if one.get("messageId") == id and "delta" in one] for id in messages]
    assert ["".join(parts) for parts in by_message] == ["Tea is a leaf.\n\nI call search", "It is green."]
    assert [one["type"] for one in told].count("STEP_FINISHED") == 1


def called(id: str, result: str | None = None, **more: bool) -> RecalledCall:
    return RecalledCall(id=id, name="search", arguments={"query": "茶"}, result=result, **more)


async def test_calls_come_between_the_text_before_them_and_their_results_before_the_text_after_them(desk: Desk) -> None:
    reading = desk.begin()
    await desk.taken_in()
    desk.calls = [called("c1"), called("c2")]
    ref = await desk.show("I look.", status="Searching")
    desk.calls = [called("c1", "Green."), called("c2")]
    await desk.show("I look.", ref, status="Searching on")
    desk.calls = [called("c1", "Green."), called("c2", "Black."), called("c3", "White.")]
    await desk.show("I look.\n\nTea is", ref)
    await desk.show("I look.\n\nTea is a leaf.", ref, final=True)
    await desk.end()

    told = verified(events(await reading))
    shown = [
        (one["type"], one.get("delta") or one.get("content")) for one in told if "delta" in one or "content" in one
    ]
    asked = ("TOOL_CALL_ARGS", '{"query": "茶"}')
    assert shown == [
        ("TEXT_MESSAGE_CONTENT", "I look."),
        *(asked, asked, ("TOOL_CALL_RESULT", "Green."), ("TOOL_CALL_RESULT", "Black.")),
        *(asked, ("TOOL_CALL_RESULT", "White.")),
        *(("TEXT_MESSAGE_CONTENT", "Tea is"), ("TEXT_MESSAGE_CONTENT", " a leaf.")),
    ]


async def test_a_completion_has_no_calls_since_its_client_would_run_them(desk: Desk) -> None:
    whole, stream = (desk.begin(run, "/v1/chat/completions", stream=run == "r2") for run in ("r1", "r2"))
    await desk.taken_in(2)
    desk.calls = [called("c1", "Green.")]
    for run in ("r1", "r2"):
        await desk.end(run, text="Tea is a leaf.")

    [choice] = json.loads(await whole)["choices"]
    assert choice["message"]["content"] == "Tea is a leaf." and choice["finish_reason"] == "stop"
    assert "tool_calls" not in choice["message"] and "tool_calls" not in await stream and "Green" not in await stream


async def test_no_call_is_left_open_when_its_result_cannot_be_read_or_the_program_ends(desk: Desk) -> None:
    first, second = desk.begin("r1"), desk.begin("r2")
    await desk.taken_in(2)
    desk.calls = [called("c1"), called("c0", decided=True)]
    for asked in desk.taken:
        surface = desk.adapter.surface(asked.target)
        await surface.show(surface.draw(Page("I look.", (Status("Searching"),))), None, "t1-0")
    await desk.end("r1", stopped=True, text="I look.")
    await desk.adapter.__aexit__(None, None, None)

    stopped, broken = verified(events(await first)), verified(events(await second))
    assert stopped[-1]["outcome"] == {"type": "cancelled"} and broken[-1]["code"] == "broken_off"
    for told in (stopped, broken):
        ends = [(one["toolCallId"], one["content"][:6]) for one in told if one["type"] == "TOOL_CALL_RESULT"]
        assert ends == [("c1", "Error:"), ("c0", "Error:")]


async def test_the_call_that_a_run_asks_about_has_no_result_and_is_named_by_its_interrupt(desk: Desk) -> None:
    reading = desk.begin()
    await desk.taken_in()
    desk.calls = [called("c1", "Green."), called("c2", waits=True)]
    await desk.show("May I?", final=True)
    desk.failing = True
    await desk.clock.advance(1.0)
    desk.failing = False
    await desk.end(text="May I?", asks="1:abc")

    told = verified(events(await reading))
    [interrupt] = told[-1]["outcome"]["interrupts"]
    assert interrupt["toolCallId"] == "c2"


@pytest.mark.parametrize("failing", [False, True])
async def test_what_an_earlier_run_asked_ends_this_one_too_if_it_can_be_read(desk: Desk, failing: bool) -> None:
    reading = desk.begin("r2")
    await desk.taken_in()
    desk.stored[""] = Recalled(ended=True, text="I look. May I?", question="May I?", asks="1:abc")
    desk.unreadable = failing
    await desk.show("Tea is a leaf.", final=True)
    await desk.end("r2", text="Tea is a leaf.")

    outcome = verified(events(await reading))[-1]["outcome"]
    told = [(one["id"], one["message"], one.get("toolCallId")) for one in outcome.get("interrupts", ())]
    assert told == ([] if failing else [("1:abc", "May I?", None)])


async def test_an_answer_goes_on_while_its_calls_cannot_be_read(desk: Desk) -> None:
    reading = desk.begin()
    await desk.taken_in()
    desk.calls, desk.failing = [called("c1", "Green.")], True
    await desk.show("Tea is a leaf.", final=True)
    desk.failing = False
    await desk.end(text="Tea is a leaf.")

    told = verified(events(await reading))
    kinds = [one["type"] for one in told]
    assert kinds[-4:] == ["TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "RUN_FINISHED"]


async def test_files_of_an_answer_come_with_it_in_each_form(desk: Desk) -> None:
    events_, whole = desk.begin("r1"), desk.begin("r2", "/v1/chat/completions")
    await desk.taken_in(2)
    address = "data:image/png;base64,cG5n"
    for asked in desk.taken:
        surface = desk.adapter.surface(asked.target)
        await surface.show(surface.draw(Page("Look:", final=True)), None, "t1-0")
        await surface.attach(File("cat].png", "image/png", b"png"), None)
    for run in ("r1", "r2"):
        await desk.end(run)

    [custom] = [one for one in events(await events_) if one["type"] == "CUSTOM"]
    assert custom["name"] == "file"
    assert custom["value"] == {"name": "cat].png", "mimeType": "image/png", "url": address}
    assert json.loads(await whole)["choices"][0]["message"]["content"] == f"Look:\n\n![cat.png]({address})"


async def test_an_answer_that_another_process_wrote_comes_whole(desk: Desk) -> None:
    stream, whole = desk.begin("r1"), desk.begin("r2", "/v1/chat/completions")
    await desk.taken_in(2)
    await desk.end("r1", text="Tea is a leaf.")
    await desk.end("r2", text="Tea is a leaf.")

    assert text_of(await stream) == "Tea is a leaf."
    assert json.loads(await whole)["choices"][0]["message"]["content"] == "Tea is a leaf."


async def test_a_sentence_that_comes_after_its_end_is_waited_for_and_silence_is_said(desk: Desk) -> None:
    reading = desk.begin("r1")
    await desk.taken_in()
    await desk.end("r1")
    await desk.show("You may not ask.", final=True)
    await desk.clock.advance(2.0)
    assert text_of(await reading) == "You may not ask."

    silent = desk.begin("r2"), desk.begin("r3", "/v1/chat/completions", stream=True)
    await desk.taken_in(3)
    desk.stored["r3"] = Recalled(ended=True)
    await desk.end("r2")
    await desk.clock.advance(2 * PATIENCE)
    assert all(say("answered_elsewhere", "en") in answer for answer in [await one for one in silent])


async def test_a_program_that_ends_says_so_and_nothing_is_left_of_runs(desk: Desk) -> None:
    answers = [
        desk.begin("r1"),
        desk.begin("r2", "/v1/chat/completions"),
        desk.begin("r3", "/v1/chat/completions", stream=True),
    ]
    await desk.taken_in(3)
    await desk.show("Tea is", None)
    await desk.adapter.__aexit__(None, None, None)

    assert all(BROKEN in answer for answer in [await one for one in answers])
    assert events(await answers[0])[-1]["type"] == "RUN_ERROR" and "[DONE]" not in await answers[2]
    assert len(desk.adapter._runs) == 0


async def test_more_runs_than_there_is_room_for_are_refused_and_a_known_one_is_not(desk: Desk) -> None:
    runs = [desk.adapter._runs.open("chat", str(number)) for number in range(MOST_RUNS - 1)]
    reading = desk.begin("r1")
    await desk.taken_in()
    async with desk.http.post(
        f"{desk.address}/v1/chat/completions", json={"messages": [{"role": "user", "content": "x"}]}
    ) as more:
        refused = more.status, (await more.json())["error"]["message"]
    again = desk.begin("r1")
    await desk.begun.get()
    await desk.begun.get()
    await desk.show("Tea.", final=True)
    await desk.end()

    assert refused[0] == 503 and refused[1].startswith("Too many answers")
    assert text_of(await reading) == text_of(await again) == "Tea." and len(desk.taken) == 1
    assert len(desk.adapter._runs) == len(runs)


async def test_readers_of_one_run_leave_connections_for_platforms(desk: Desk) -> None:
    streams = [desk.begin("r1") for _ in range(MOST_READERS)]
    for _ in streams:
        await desk.begun.get()
    async with asyncio.timeout(patience.PATIENCE):
        while desk.adapter._readers < MOST_READERS:
            await asyncio.sleep(0.001)
    assert "Too many answers" in await desk.begin("r1") and "Too many answers" in await desk.begin("r2")
    await desk.show("Tea.", final=True)
    await desk.end()

    assert {text_of(await stream) for stream in streams} == {"Tea."}
    assert desk.adapter._readers == 0 and len(desk.taken) == 1


async def test_what_cannot_be_stored_is_said_and_may_be_sent_again(desk: Desk) -> None:
    desk.failing = True
    assert "could not be stored" in await desk.begin("r1")
    assert len(desk.adapter._runs) == 0

    desk.failing = False
    reading = desk.begin("r1")
    await desk.taken_in()
    desk.failing = True
    await desk.clock.advance(30.0)
    desk.failing = False
    await desk.show("Tea.", final=True)
    await desk.end()
    assert text_of(await reading) == "Tea."


async def test_what_was_said_is_kept_once_it_is_whole_and_nothing_fails_where_it_cannot_be(desk: Desk) -> None:
    kept = list[tuple[str, str, str]]()

    async def keep(chat: ChatId, delivery: str, text: str) -> None:
        kept.append((str(chat), delivery, text))
        raise StoreError("the disk is full")

    for keeps in (None, keep):
        desk.adapter.keep_said = keeps
        reading = desk.begin("r1")
        await desk.taken_in(len(desk.taken) + 1)
        ref = await desk.show("This")
        await desk.show("This is help.", ref, final=True)
        await desk.end("r1")
        assert text_of(await reading) == "This is help."

    assert kept == [("web:client/tea", "r1", "This is help.")]


async def test_a_request_that_is_sent_again_is_the_run_that_it_began_if_that_is_known(desk: Desk) -> None:
    found = ["", "r7"]

    async def find(chat: ChatId, beginning: str) -> str:
        assert str(chat) == "web:client/tea"
        return found.pop(0)

    asked = {"messages": [{"role": "user", "content": "what is tea"}]}
    headers = {"X-Thread-Id": "tea", "X-Stainless-Retry-Count": "1"}
    for number, finds in enumerate((None, find, find), 1):
        desk.adapter.find_repeated = finds
        address = f"{desk.address}/v1/chat/completions"
        reading = asyncio.create_task(desk.http.post(address, json=asked, headers=headers))
        await desk.taken_in(number)
        await desk.show("A leaf.", final=True)
        await desk.end(desk.taken[-1].delivery)
        (await reading).close()

    first, second, third = (one.delivery for one in desk.taken)
    assert third == "r7" and first != second and first.partition("-")[0] == second.partition("-")[0]


async def test_a_reader_that_takes_nothing_is_cut_off_and_the_run_goes_on(desk: Desk) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", desk.port, limit=1024)
    body = json.dumps({"threadId": "tea", "runId": "r1", "messages": [{"role": "user", "content": "x"}]}).encode()
    head = f"POST /agui HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await desk.taken_in()
    assert b"200" in await reader.readline()
    surface = desk.surface()
    for number in range(20):
        await surface.attach(File(f"{number}.bin", "application/octet-stream", b"x" * 1_000_000), None)
    run = desk.adapter._runs.find(str(desk.taken[0].chat), "r1")
    for _ in range(3):
        await desk.clock.advance(SEND_SECONDS)
    async with asyncio.timeout(patience.PATIENCE):
        with pytest.raises(ConnectionError):
            while True:
                writer.write(b"x" * 100_000)
                await writer.drain()
                await asyncio.sleep(0)
    writer.close()
    await desk.end(text="Tea.")

    assert run is not None and run.end is not None and len(desk.adapter._runs) == 0


async def test_half_sent_and_slow_requests_keep_nobody_else_out(desk: Desk) -> None:
    head = f"POST /agui HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 100000\r\n\r\n"
    half = [await asyncio.open_connection("127.0.0.1", desk.port) for _ in range(2 * MOST_READING)]
    for _, writer in half:
        writer.write(head.encode() + b'{"messages": [')
        await desk.clock.settle()
    given_up = [await reader.readline() for reader, _ in half[:MOST_READING]]
    reading = desk.begin()
    await desk.taken_in()
    await desk.show("Tea.", final=True)
    await desk.end()
    assert text_of(await reading) == "Tea."

    await desk.clock.advance(READ_SECONDS)
    slow = [await reader.read() for reader, _ in half[MOST_READING + 1 :]]
    for _, writer in half:
        writer.close()
    assert all(b"503" in line for line in given_up)
    assert all(b"408" in answer and b"invalid" not in answer and b'"error"' in answer for answer in slow)
    assert len(desk.taken) == 1


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"[" * 100_000, 400, "JSON"),
        (b"[]", 400, "object"),
        (b'{"messages": []}', 400, "no user message"),
        (b'{"messages": [{"role": "system", "content": "x"}]}', 400, "no user message"),
        (
            b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://x"}}]}]}',
            400,
            "fetched",
        ),
        (b'{"messages": [{"role": "user", "content": "x"}], "n": 2}', 400, "n must be 1"),
        (b'{"messages": [{"role": "user", "content": "x"}], "user": "telegram:1"}', 400, "user must be"),
        (b'{"messages": [{"role": "user", "content": "x"}], "user": "../admin"}', 400, "user must be"),
        (b" " * (MOST_BYTES + 1), 413, "2,097,152"),
    ],
    ids=["deep", "list", "empty", "system", "address", "n", "forged", "path", "large"],
)
async def test_what_cannot_be_answered_is_named_in_one_sentence(
    desk: Desk, body: bytes, status: int, said: str
) -> None:
    async with desk.http.post(f"{desk.address}/v1/chat/completions", data=io.BytesIO(body)) as response:
        error = (await response.json())["error"]

    assert (response.status, error["type"]) == (status, "invalid_request_error")
    assert said in error["message"] and TOKEN not in error["message"] and not desk.taken


async def test_of_a_body_that_is_far_too_large_only_so_much_is_thrown_away(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client reads no answer before it has sent everything, but one that never ends is cut off."""
    monkeypatch.setattr(web, "MOST_DISCARDED", 2 * MOST_BYTES)
    sent = list[int]()

    async def parts(count: int) -> AsyncIterator[bytes]:
        for number in range(count):
            sent.append(number)
            yield b" " * (MOST_BYTES // 4)

    address = f"{desk.address}/v1/chat/completions"
    async with desk.http.post(address, data=parts(7)) as response:
        assert response.status == 413 and "2,097,152" in (await response.json())["error"]["message"]
    assert len(sent) == 7
    with contextlib.suppress(aiohttp.ClientError):
        await desk.http.post(address, data=parts(100_000))
    with contextlib.suppress(aiohttp.ClientError):
        await desk.http.post(address, data=io.BytesIO(b" " * (2 * MOST_BYTES + 1)))
    assert len(sent) < 10_000 and not desk.taken


async def test_a_thread_named_like_another_platforms_chat_is_only_a_thread(desk: Desk) -> None:
    reading = desk.begin("r1", threadId="telegram:1")
    await desk.taken_in()
    await desk.show("Tea.", final=True)
    await desk.end()
    await reading

    [asked] = desk.taken
    assert isinstance(asked, MessageSent) and str(asked.chat) == "web:client/telegram%3A1"
    assert ChatId.parse(str(asked.chat)) == asked.chat and asked.sender.id == "web:client"


async def test_a_stream_is_neither_kept_back_by_proxies_nor_stored(desk: Desk) -> None:
    asked = {"threadId": "tea", "runId": "r1", "messages": [{"role": "user", "content": "what is tea"}]}
    async with desk.http.post(f"{desk.address}/agui", json=asked) as response:
        headers = dict(response.headers)

    assert headers["Content-Type"] == "text/event-stream"
    assert (headers["X-Accel-Buffering"], headers["Cache-Control"]) == ("no", "no-store")


async def test_no_other_sites_page_may_call_it(desk: Desk) -> None:
    headers = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    async with desk.http.options(f"{desk.address}/agui", headers=headers) as asked:
        assert asked.status == 405 and not [name for name in asked.headers if name.startswith("Access-Control")]


async def test_readers_of_a_run_each_get_all_of_it_in_whatever_order_they_come(clock: FakeClock) -> None:
    runs = Runs()
    run = runs.open("chat", "r1")

    async def read(run: Run) -> str:
        return "".join([one.text async for one in run.read(clock) if isinstance(one, Said)])

    readers = [asyncio.create_task(read(run))]
    for length in range(1, 30):
        run.show("m", "word " * length, final=False)
        readers.append(asyncio.create_task(read(run)))
        await asyncio.sleep(0)
    run.finish(Recalled(ended=True))
    readers.append(asyncio.create_task(read(run)))

    assert {await reader for reader in readers} == {"word " * 29}


async def test_a_fault_of_our_own_is_told_in_the_form_of_the_api_and_without_what_was_sent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(*asked: object) -> None:
        raise RuntimeError("what is tea")

    monkeypatch.setattr(desk.adapter, "answer", fails)
    answer = json.loads(await desk.begin("r1"))

    assert answer["error"]["type"] == "server_error" and "tea" not in str(answer) and "tea" not in caplog.text


@pytest.mark.parametrize("token", ["", TOKEN])
async def test_other_addresses_below_v1_and_other_methods_are_refused_in_the_form_of_the_api(
    desk: Desk, token: str
) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    for method, address, status in (
        ("POST", "v1/embeddings", 404),
        ("GET", "v1/models/gpt-5", 404),
        ("GET", "v1", 404),
        ("GET", "proxied/v1/files/1", 404),
        ("GET", "v1/chat/completions", 405),
        ("POST", "v1/models", 405),
    ):
        async with desk.http.request(method, f"{desk.address}/{address}", headers=headers) as asked:
            error = (await asked.json())["error"]
            allowed = asked.headers.get("Allow", "")
        assert (asked.status, error["type"], error["param"], error["code"]) == (
            status,
            "invalid_request_error",
            None,
            None,
        )
        assert allowed == ({"POST": "GET", "GET": "POST"}[method] if status == 405 else "")
        assert ("There is nothing at this address" in error["message"]) == (status == 404)
    async with desk.http.get(f"{desk.address}/v2/models", headers=headers) as asked:
        assert asked.status == 404 and not (await asked.text()).startswith("{")


async def test_the_real_client_reads_that_there_is_no_such_address(desk: Desk) -> None:
    async with openai.AsyncOpenAI(base_url=f"{desk.address}/v1", api_key=TOKEN, max_retries=0) as client:
        with pytest.raises(openai.NotFoundError, match="There is nothing at this address"):
            await client.embeddings.create(model="parley", input="tea")


async def test_before_it_listens_and_at_other_addresses_it_says_so(clock: FakeClock) -> None:
    adapter = WebAdapter(WebSettings.model_validate({"web_token": SecretStr(TOKEN)}), clock)
    early = await adapter.answer("v1/models", {}, b"")
    elsewhere = await adapter.take_in({}, b"")

    assert isinstance(early, WebAnswer) and (early.status, elsewhere.status) == (503, 404)
    assert not adapter.listening


async def test_the_doctor_says_who_may_ask() -> None:
    findings = await check(WebSettings.model_validate({"web_token": SecretStr(TOKEN)}))

    assert [finding.well for finding in findings] == [True, True]
    assert "ALLOWED_USERS" in findings[1].text and TOKEN not in str(findings)
