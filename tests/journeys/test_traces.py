"""What a collector on this machine gets of the whole program, and what people get when it takes nothing."""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from bot.operations.traces import CLOSE_SECONDS
from playground.model import Reply
from tests.conftest import RawJson, RawObject
from tests.journeys.conftest import Process, World
from tests.patience import PATIENCE

pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter", reason="needs parley-chat[otel]")

ADA = 7
QUESTION, ANSWER = "what does marzipan cost, look it up", "Marzipan costs nine dollars."


class Collector:
    """Takes traces as OTLP over HTTP, or lets every request wait."""

    def __init__(self) -> None:
        self.spans: list[RawObject] = []
        self.raw = b""
        self.keys: list[str] = []
        self.came = asyncio.Event()
        self.hangs = False

    async def take(self, request: web.Request) -> web.Response:
        service = importlib.import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        body = await request.read()
        self.raw += body
        self.keys.append(request.headers.get("x-key", ""))
        self.came.set()
        if self.hangs:
            await asyncio.Event().wait()
        told = service.ExportTraceServiceRequest.FromString(body)
        for one in told.resource_spans:
            resource = _values(one.resource.attributes)
            for scope in one.scope_spans:
                for span in scope.spans:
                    self.spans.append({"span": span, "resource": resource, **_values(span.attributes)})
        return web.Response(body=service.ExportTraceServiceResponse().SerializeToString())

    def children_of(self, root: RawObject) -> list[RawObject]:
        own = [one for one in self.spans if one["span"].parent_span_id == root["span"].span_id]
        return sorted(own, key=lambda one: one["span"].start_time_unix_nano)


def _values(attributes: RawJson) -> RawObject:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@asynccontextmanager
async def collector(world: World) -> AsyncIterator[Collector]:
    """A collector, named in the environment of the program."""
    made, application = Collector(), web.Application()
    application.router.add_post("/v1/traces", made.take)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        [(_, port)] = [address[:2] for address in runner.addresses]
        world.settings |= {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=abcdef0123456789",
            "OTEL_SERVICE_NAME": "bot-of-ours",
            "NO_PROXY": "127.0.0.1",
        }
        yield made
    finally:
        await runner.cleanup()


async def ask(world: World) -> None:
    world.telegram.person(ADA, "Ada")
    world.telegram.say(ADA, QUESTION, person=ADA)
    await world.telegram.screen.until(
        lambda screen: any(ANSWER in one.text and one.author == "bot" for one in screen.of(str(ADA)))
    )


async def test_a_search_is_one_trace_of_a_turn_its_passes_and_its_call(world: World, process: Process) -> None:
    """Sent at the end at the latest; with the collector's key, and without a word of anybody."""
    world.settings |= {"TOOL_MODE": "native", "PRICES": "openai:scripted=10/1/50"}
    world.model.reply(
        Reply(calls=(("search_web", {"query": "marzipan"}),)),
        Reply(ANSWER, usage={"prompt_tokens": 77, "completion_tokens": 5}),
    )
    async with collector(world) as made:
        await process.start()
        await ask(world)
        code = await process.stop()

    [root] = [one for one in made.spans if not one["span"].parent_span_id]
    children = made.children_of(root)
    assert code == 0 and len(made.spans) == 4
    assert [root["span"].name, *(one["span"].name for one in children)] == [
        "invoke_agent parley",
        "chat scripted",
        "execute_tool search_web",
        "chat scripted",
    ]
    assert {one["span"].trace_id for one in made.spans} == {root["span"].trace_id}
    # A call may begin while its pass is still written.
    assert children[1]["span"].end_time_unix_nano <= children[2]["span"].start_time_unix_nano
    assert root["span"].start_time_unix_nano <= children[0]["span"].start_time_unix_nano
    assert children[-1]["span"].end_time_unix_nano <= root["span"].end_time_unix_nano
    last = children[-1]
    assert last["gen_ai.usage.input_tokens"] >= 77 and last["gen_ai.usage.output_tokens"] == 5
    assert root["parley.state"] == "done" and root["parley.edits"] >= 1 and root["parley.dollars"] > 0.008
    assert 0 < root["parley.first_words_seconds"] < PATIENCE
    assert root["resource"]["service.name"] == "bot-of-ours" and set(made.keys) == {"abcdef0123456789"}
    assert b"arzipan" not in made.raw and b"Ada" not in made.raw and b"telegram:7" not in made.raw
    assert "turns are traced" in process.said and "abcdef" not in process.said


async def test_a_collector_that_hangs_holds_up_neither_the_answer_nor_the_end(world: World, process: Process) -> None:
    world.settings["OTEL_BSP_SCHEDULE_DELAY"] = "50"
    world.model.script = lambda body: Reply(ANSWER)
    async with collector(world) as made:
        made.hangs = True
        await process.start()
        await ask(world)
        async with asyncio.timeout(PATIENCE):
            await made.came.wait()
        await ask(world)
        since = time.monotonic()
        code = await process.stop()
        took = time.monotonic() - since

    assert code == 0 and "the last traces are lost: the collector does not answer" in process.said
    assert CLOSE_SECONDS <= took < PATIENCE
