"""What reading a streamed answer costs: our decoding beside the SDK's, over the same loopback stream.

    python -m bench.stream_decode [--chunks 200] [--rounds 10]

Prints CPU seconds an answer, the least of all rounds, and their ratio, which holds across machines where the
seconds do not. The server's own cost is measured apart (read without decoding) and taken off both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable

import openai
from aiohttp import web
from openai.types.chat import ChatCompletionUserMessageParam

from bot.contract.clock import SystemClock
from bot.contract.transcript import UserEntry
from bot.model import ModelOptions, Models
from bot.model.assembly import ChatAssembly, Delta
from bot.model.base import Answer, Request
from bot.model.sse import EventDecoder


def answer(chunks: int) -> list[bytes]:
    """The lines of one answer, as a hosted provider sends them."""

    def line(delta: dict[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        event = {
            "id": "chatcmpl-0123456789abcdef",
            "object": "chat.completion.chunk",
            "created": 1_795_000_000,
            "model": "bench",
            "system_fingerprint": "fp_0123456789",
            "choices": [choice],
        }
        return f"data: {json.dumps(event)}\n\n".encode()

    words = [line({"content": f"word{number} "}) for number in range(chunks)]
    return [line({"role": "assistant", "content": ""}), *words, line({}, "stop"), b"data: [DONE]\n\n"]


async def serve(lines: list[bytes]) -> web.AppRunner:
    """Stream the answer, a line at a time, each in a packet of its own."""

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for line in lines:
            await response.write(line)
            await asyncio.sleep(0.001)  # else several lines would arrive together, at less cost
        await response.write_eof()
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


def serve_apart(lines: list[bytes]) -> tuple[str, Callable[[], None]]:
    """Run the server in a thread of its own, so that only the reader's thread is measured."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    runner = asyncio.run_coroutine_threadsafe(serve(lines), loop).result()
    host, port = runner.addresses[0][:2]

    def stop() -> None:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)

    return f"http://{host}:{port}/v1", stop


async def least(rounds: int, read: Callable[[], Awaitable[int]], expected: int) -> float:
    """The least CPU seconds that one reading costs."""
    best = float("inf")
    for _ in range(rounds):
        begun = time.thread_time()
        length = await read()
        best = min(best, time.thread_time() - begun)
        assert length == expected, f"read {length} of {expected} characters"
    return best


def decode_alone(lines: list[bytes]) -> float:
    """Decoding and assembling without any network."""
    best = float("inf")
    for _ in range(50):
        begun = time.thread_time()
        decoder, assembly = EventDecoder(), ChatAssembly()
        for line in lines[:-1]:
            delta = Delta()
            for data in decoder.feed(line):
                assembly.add(json.loads(data), delta)
        best = min(best, time.thread_time() - begun)
    return best


async def measure(chunks: int, rounds: int) -> None:
    lines = answer(chunks)
    expected = sum(len(f"word{number} ") for number in range(chunks))
    url, stop = serve_apart(lines)
    question: ChatCompletionUserMessageParam = {"role": "user", "content": "Hello"}
    sdk = openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0, http_client=openai.DefaultAsyncHttpxClient())
    sdk_aio = openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0, http_client=openai.DefaultAioHttpClient())

    def by(client: openai.AsyncOpenAI) -> Callable[[], Awaitable[int]]:
        async def read() -> int:
            length = 0
            stream = await client.chat.completions.create(model="bench", messages=[question], stream=True)
            async for chunk in stream:
                length += len(chunk.choices[0].delta.content or "")
            return length

        return read

    async def bare() -> int:
        async with sdk_aio.chat.completions.with_streaming_response.create(
            model="bench", messages=[question], stream=True
        ) as response:
            read = b"".join([part async for part in response.iter_bytes()])
        return expected if read == b"".join(lines) else 0

    options = ModelOptions(name="vllm:bench", tool_mode="auto", turn_seconds=300.0, base_urls={"vllm": url})
    async with Models(options, SystemClock()) as models:

        async def ours() -> int:
            length = 0
            async for piece in models.stream(Request(entries=(UserEntry("Hello"),))):
                if isinstance(piece, Answer):
                    length = len(piece.text)
            return length

        theirs = await least(rounds, by(sdk), expected)
        theirs_aio = await least(rounds, by(sdk_aio), expected)
        own = await least(rounds, ours, expected)
        network = await least(rounds, bare, expected)
    for client in (sdk, sdk_aio):
        await client.close()
    stop()
    print(f"{chunks} chunks, least of {rounds} rounds, CPU seconds of the reading thread")
    print(f"  the SDK as shipped (httpx2)       {theirs:.4f}   {theirs / own:4.1f} x ours")
    print(f"  the SDK over aiohttp              {theirs_aio:.4f}   {theirs_aio / own:4.1f} x ours")
    print(f"  ours, request to answer           {own:.4f}")
    print(f"  of this the bytes alone           {network:.4f}")
    print(f"  decoding and assembling, offline  {decode_alone(lines):.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--chunks", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    asyncio.run(measure(given.chunks, given.rounds))


if __name__ == "__main__":
    main()
