"""What takes text from outside, and how it is fed. Loaded with `runpy`, as this folder is no package.

`FED` feeds a function, or all of a class by way of the method that is named. `INSIDE` names what runs inside of
something that is fed, `OWN` what no text from outside reaches in a length that matters, each with the reason. A new
function that takes text belongs into one of the three.
"""

from __future__ import annotations

import asyncio
import datetime
import gzip
import io
import json
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import discord
from mcp_types import CallToolResult, TextContent
from slack_sdk.web.async_client import AsyncWebClient
from telegram import Bot, MessageEntity, User

from adapters import download
from adapters.console import terminal as console_terminal
from adapters.discord import events as discord_events
from adapters.discord import markdown as discord_markdown
from adapters.discord import webhook as discord_webhook
from adapters.discord.pages import rendered, without_links
from adapters.formatting import layout, shortcodes
from adapters.settings import SlackSettings
from adapters.slack import errors as slack_errors
from adapters.slack import events as slack_events
from adapters.slack import installing as slack_installing
from adapters.slack import marks as slack_marks
from adapters.slack import mrkdwn as slack_mrkdwn
from adapters.slack import reading as slack_reading
from adapters.slack import streams as slack_streams
from adapters.slack import webhook as slack_webhook
from adapters.slack.sealing import Seal
from adapters.telegram import entities as telegram_entities
from adapters.telegram import html as telegram_html
from adapters.telegram import live as telegram_live
from adapters.telegram import updates as telegram_updates
from adapters.telegram import webhook as telegram_webhook
from adapters.telegram.pages import draw
from adapters.web import asking as web_asking
from adapters.web import chores as web_chores
from adapters.web import completions as web_completions
from adapters.web import files as web_files
from adapters.web import runs as web_runs
from adapters.web import surface as web_surface
from bot import sentences
from bot.agent import echoes, nudges
from bot.agent.provenance import brings, learn_result, policy_for, stands_in
from bot.app import recorded
from bot.commands import chatfile, exports
from bot.context import question, summary, window
from bot.contract import (
    DeliveryError,
    SystemClock,
    answers,
    identity,
    is_recent,
    is_same,
    proven,
    transcript,
    utf16_length,
    words,
)
from bot.contract.messages import (
    ChatId,
    Enclosure,
    EnclosureKind,
    MessageSent,
    Page,
    Quoted,
    ReplyTarget,
    Sender,
    Status,
)
from bot.contract.transcript import AssistantEntry, ToolEntry, UserEntry
from bot.intake.parts import join_parts
from bot.markdown import addresses, dialect, lines, nesting, spoken, tree, unfinished, variants
from bot.model import (
    arguments,
    assembly,
    endings,
    failures,
    lengths,
    ollama,
    pictures,
    protocol,
    providers,
    rendering,
    responses,
    schemas,
    searched,
    sse,
    usage,
)
from bot.model.loops import LoopWatch, is_loop
from bot.operations import outlet
from bot.operations.http import is_own
from bot.pacing import Pacer
from bot.pacing.reader import Reader, is_readable, seconds_to_read
from bot.reply import approvalcard, cutting, graphemes, preamble
from bot.reply.paging import Paginator, beginning, whole_words, worth_showing
from bot.safety import (
    characters,
    citations,
    enclosures,
    linkpolicy,
    links,
    redacted,
    redactor,
    sources,
    spans,
    spellings,
    untrusted,
)
from bot.sentences.scripts import simplified
from bot.store import facts, incoming
from bot.store import text as stored
from bot.toolchoice import index, named, presearch, smalltalk, terms
from bot.toolchoice.chooser import Chooser
from bot.toolsyntax import Detector, parse, repair
from bot.toolsyntax import arguments as written
from bot.toolsyntax.elements import typed
from bot.turn import footer, footnotes, jobs, recalling
from tests.conftest import RawJson, RawObject
from tools import get_weather, read_file, search_papers, token_price, wikipedia
from tools.calculation import display, units
from tools.calculation import reader as calculation
from tools.calling import conversion, parts, schema
from tools.calling.function import tool
from tools.calling.registry import ToolRegistry
from tools.contract import addresses as addresses_of
from tools.contract import credentials, json_values, languages, names, plaintext
from tools.contract.base import Json, Source, ToolCall, ToolContext, ToolError, ToolResult, ToolSpec
from tools.fetch import bodies, encodings, entries, extraction, guard, keyless_search, reader, search_results, service
from tools.fetch import client as fetch_client
from tools.mcp import config, content
from tools.mcp.listed import ListedTool
from tools.mcp.plain import plain_text
from tools.mcp.tool import offers_of
from tools.programs import output
from tools.sandbox import cell
from tools.times import cron, moments, numerals, repeats, zones

# What is said and told

ME = slack_events.Me("T1", "U1", "B1")
BOT = Bot("42:token")
BOT._bot_user = User(42, "Parley", True, username="parley_bot")
NOW = datetime.datetime(2026, 11, 22, 12, tzinfo=datetime.UTC)
SECRETS = ("sk-live-0123456789abcdef", "aaaaaaaaaaaaaaab", "hunter2hunter2!")
PROPERTIES: dict[str, Json] = {
    "query": {"type": "string"},
    "count": {"type": "integer"},
    "order": {"type": "string", "enum": ["new", "old"]},
    "places": {"type": "array", "items": {"type": "string"}},
    "more": {"type": "object"},
}
PARAMETERS: dict[str, Json] = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["query"],
}
SPEC = ToolSpec(name="look", purpose="Look.", parameters=PARAMETERS, subject="query", per_minute=10**9)
OTHER = ToolSpec(name="search_web", purpose="Search the web.", parameters=PARAMETERS)
MODEL = providers.ModelName.parse("openai:scripted")
SENT: dict[str, Json] = {
    "tools": [{"type": "function", "function": {"name": "look"}}],
    "messages": [
        {"role": "system"},
        {"role": "assistant", "tool_calls": [{}], "reasoning_content": "x"},
        {"role": "tool"},
    ],
}
"""A request with everything that a refusal may be about."""
TOOLS: dict[str, dict[str, Json]] = {
    "look": PARAMETERS,
    "search_web": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def _same(text: str) -> str:
    return text


def _slack(text: str) -> Mapping[str, RawJson]:
    event: RawObject = {"type": "message", "channel": "D1", "channel_type": "im", "user": "U2", "ts": "1.0"}
    event |= {"text": text, "attachments": [{"is_share": True, "text": text}]}
    return {"type": "event_callback", "event_id": "Ev1", "event": event}


def _slack_alert(text: str) -> Mapping[str, RawJson]:
    """What another program posts: all of it in blocks and attachments, of which there are as many as it is long."""
    pieces = [text[at : at + 200] for at in range(0, len(text), 200)]
    words = [{"type": "text", "text": one} for one in pieces]
    rich = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": words}]}
    section = [{"type": "section", "text": {"type": "mrkdwn", "text": one}} for one in pieces]
    fields = [{"title": one, "value": one} for one in pieces]
    inner = {"is_share": True, "message_blocks": [{"message": {"blocks": section}}]}
    return {"bot_id": "B1", "text": "", "blocks": [rich, *section], "attachments": [{"fields": fields}, inner]}


def _telegram(text: str) -> RawObject:
    person = {"id": 7, "is_bot": False, "first_name": "Ada"}
    mentions = [{"type": "mention", "offset": at, "length": 11} for at in range(0, len(text), len(text) // 100 or 1)]
    message = {"message_id": 1, "date": 1, "chat": {"id": 7, "type": "private"}, "from": person, "text": text}
    return {"update_id": 1, "message": message | {"entities": mentions, "reply_to_message": message}}


def _formatted(text: str) -> list[MessageEntity]:
    """Entities as many as the text is long, in one quote."""
    words = [MessageEntity(kind, at, 20) for kind in ("bold", "pre") for at in range(0, len(text), 40)]
    return [MessageEntity("blockquote", 0, len(text)), *words]


def _pasted(text: str) -> RawObject:
    """A rich message: as many blocks, cells and pieces of text as it is long."""
    update = _telegram("")
    pieces = [text[at : at + 200] for at in range(0, len(text), 200)]
    words = [{"type": "paragraph", "text": [{"type": "bold", "text": one}, one]} for one in pieces]
    table = {"type": "table", "cells": [[{"text": one}] for one in pieces]}
    listed = {"type": "list", "items": [{"label": "•", "blocks": [one]} for one in words]}
    message = {
        key: one for key, one in update["message"].items() if key not in ("text", "entities", "reply_to_message")
    }
    return {"update_id": 1, "message": message | {"rich_message": {"blocks": [*words, table, listed]}}}


def _discord(text: str) -> Any:
    person = SimpleNamespace(id=7, bot=False, display_name="Ada", roles=())
    return SimpleNamespace(
        **dict.fromkeys(("guild", "webhook_id", "reference")),
        **dict.fromkeys(("attachments", "role_mentions", "stickers", "message_snapshots", "components"), ()),
        embeds=[discord.Embed(description=text)],
        id=1,
        author=person,
        content=text,
        mentions=[person],
        channel=SimpleNamespace(id=3),
        created_at=NOW,
        edited_at=NOW,
        type=discord.MessageType.default,
        flags=SimpleNamespace(forwarded=False, components_v2=False),
    )


def _asked(text: str) -> MessageSent:
    return MessageSent(
        delivery="1",
        chat=ChatId("telegram", "42", "-5"),
        sender=Sender(id="telegram:7", name=text),
        target=ReplyTarget("telegram"),
        text=text,
        group=True,
        quoted=Quoted(text=text, author=text),
        enclosed=(
            Enclosure(kind=EnclosureKind.FILE, name=text, media_type=text),
            Enclosure(kind=EnclosureKind.VOICE, text=text),
        ),
    )


def _call(text: str) -> ToolCall:
    return ToolCall("a", "look", {"query": text, "order": text, "count": text, "more": {text: [text]}})


def _told(text: str) -> list[UserEntry | AssistantEntry | ToolEntry]:
    answer = AssistantEntry(text, (_call(text),), origin="outside")
    return [UserEntry(text, "telegram:7"), answer, ToolEntry("a", "look", text)]


def _page(text: str) -> Page:
    return Page(text, (Status(text),), final=False)


# How things are fed


def _streamed(new: Callable[[], Any], size: int) -> Callable[[str], object]:
    """A filter of a stream, fed in pieces of so many characters."""

    def feed(text: str) -> None:
        one = new()
        for start in range(0, len(text), size):
            one.feed(text[start : start + size])
        one.finish()

    return feed


def _closed_in(closers: variants.Closers, text: str) -> None:
    for start in range(len(text)):
        closers.find("\0never\0", start, len(text))


def _powers_in(closers: variants.Closers, text: str) -> None:
    for start in range(len(text)):
        closers.is_power(start)


def _scanned(text: str) -> None:
    scanner = lines.LineScanner()
    at = 0
    for line in text.splitlines(keepends=True):
        scanner.feed(line, at)
        at += len(line)


def _paged(size: int, again: bool) -> Callable[[str], object]:
    """Cut into pages while it grows; `again`: what is stored is cut again, shorter."""

    def feed(text: str) -> None:
        pages = Paginator(PAGE_CHARS, utf16_length)
        for start in range(0, len(text), size):
            pages.extend(text[start : start + size])
        pages.finish()
        made = pages.pages
        if again:
            Paginator.resume(PAGE_CHARS, utf16_length, text, [one.end for one in made[:-1]]).shrink(100)

    return feed


PAGE_CHARS = 900
"""Half a page of Discord, so that what each page costs shows in shorter texts."""


def _progress(text: str) -> str:
    call = ToolCall("1", "plan", {"steps": [text, *text.split()[:50]], "done": 1})
    return jobs.describe_progress([AssistantEntry(text, calls=(call,))], "en")


def _footer(text: str) -> str:
    citations = sources.Citations()
    citations.add([Source("Tea", "https://example.org/tea", 1)])
    return citations.list_cited(f"Tea is a leaf [1].\nSources:\n{text}", "en")


def _numbered(text: str) -> object:
    found = tuple(Source(f"Tea {number}", f"https://a.b/{number}") for number in range(20))
    return sources.number_sources(ToolResult(text=f"[1] one\n{text}", sources=found), 3)


def _chat_stream(text: str) -> None:
    """An answer whose every field is the text, in one call and in many, as it streams."""
    answer = assembly.ChatAssembly()
    for at in range(0, len(text), 64):
        piece = text[at : at + 64]
        calls: list[RawObject] = [{"index": 0, "id": "x", "function": {"name": "look", "arguments": piece}}]
        calls.append({"id": f"call {at}", "function": {"name": "look", "arguments": "{}"}})
        said = {"content": piece, "reasoning_content": piece, "tool_calls": calls}
        said |= {"reasoning_details": [{"type": "text", "text": piece}]}
        answer.add({"choices": [{"index": 0, "delta": said}]}, assembly.Delta())
        list(answer.whole_calls())
    answer.calls()
    answer.message()


def _ollama_stream(text: str) -> None:
    """An answer of Ollama's whose every field is the text, in many calls, as it streams."""
    answer = ollama.OllamaAssembly()
    for at in range(0, len(text), 64):
        piece = text[at : at + 64]
        call = {"function": {"name": "look", "arguments": {"query": piece}}}
        answer.add({"message": {"content": piece, "thinking": piece, "tool_calls": [call]}}, assembly.Delta())
        list(answer.whole_calls())
    answer.calls()


def _responses_stream(text: str) -> None:
    answer = responses.ResponsesAssembly()
    for at in range(0, len(text), 64):
        for kind in ("output_text", "reasoning_text", "function_call_arguments"):
            event = {"type": f"response.{kind}.delta", "delta": text[at : at + 64], "output_index": 0}
            answer.add(event, assembly.Delta())
    answer.add({"type": "response.completed", "response": {}}, assembly.Delta())
    answer.message()


def _halves(text: str) -> None:
    characters = assembly.SplitCharacters()
    for at in range(0, len(text), 16):
        characters.join(text[at : at + 16])


def _structure(text: str) -> None:
    end = arguments.ObjectEnd()
    for at in range(0, len(text), 16):
        end.feed(text[at : at + 16])


def _events(
    start: str, size: int, decoding: Callable[[], sse.Decoder] = lambda: sse.EventDecoder()
) -> Callable[[str], object]:
    """A stream from a server, cut into pieces of so many bytes."""

    def feed(text: str) -> None:
        stream = (start + text).encode(errors="surrogatepass")
        decoder = decoding()
        for at in range(0, len(stream), size):
            decoder.feed(stream[at : at + size])
        decoder.finish()
        assert isinstance(decoder.stray, str)

    return feed


async def _stored(what: object) -> bool:
    return True


async def _granted(what: object) -> None:
    return None


SLACK_ENTRANCE = slack_webhook.SlackEntrance("secret", SystemClock(), _stored)
SLACK_INSTALLING = slack_installing.Installing(
    settings=SlackSettings.model_validate({"slack_client_secret": "secret"}),
    scopes={},
    web=AsyncWebClient(),
    clock=SystemClock(),
    grant=_granted,
)
SLACK_SEAL = Seal(["A" * 43 + "="])
DISCORD_ENTRANCE = discord_webhook.DiscordEntrance("0" * 64, SystemClock(), lambda told: None)


def _done(work: Coroutine[Any, Any, object]) -> object:
    """What comes of work that waits for nothing."""
    with asyncio.Runner() as runner:
        return runner.run(work)


@tool(name="look", per_minute=10**9)
async def _look(query: str, order: str = "", count: int = 0) -> str:
    """Look."""
    return query


def _ran(text: str) -> object:
    """A call through the registry, whose tool returns what it was given."""
    registry = ToolRegistry([_look])
    registry.status(_call(text))
    return _done(registry.run(ToolCall("a", "look", {"query": text}), ToolContext(scope="s", person="p")))


def _printed(text: str) -> None:
    console_terminal.Screen(io.StringIO(), terminal=True).show(console_terminal.draw(_page(text)), None)


def _exported(text: str) -> None:
    """Write a turn of which everything that somebody may have written is `text`, in each form."""
    turn = {
        **dict.fromkeys(("person", "state", "answer", "model", "rating"), text),
        "turn": 1,
        "started_at": 0.0,
        "replaced_by": None,
        "question": {"text": text, "sender": {"name": text}, "enclosed": [{"name": text}]},
        "calls": [{"name": text, "arguments": {text: [text]}}],
    }
    for form in chatfile.Form:
        chatfile.ChatWriter(form, redactor.Redactor(["k" * 40]).redact).write(turn)


def _mcp_answer(text: str) -> CallToolResult:
    structured = {"text": text, "words": text.split(" ")}
    return CallToolResult(content=[TextContent(type="text", text=text)] * 2, structured_content=structured)


def _listed(text: str) -> object:
    part = {
        "type": "string",
        "description": text,
        "pattern": text,
        "enum": [text],
        "default": text,
        "$ref": f"#/{text}",
    }
    inputs = {"type": "object", "properties": {"a": part, text: part}, "required": [text]}
    listed = ListedTool(name=text[:500], title=text, description=text, parameters=inputs)
    return offers_of(config.ServerConfig(name="s", prefix="s", reach=config.Endpoint("http://a.b")), text, [listed])


def _found(text: str) -> object:
    page = {"title": text, "url": f"https://a.b/{text}", "content": text, "published_date": text, "score": 0.5}
    answer = {"results": [page, page], "answer": text}
    search_results.best_score(answer)
    return search_results.written(text, answer, 8000, "en")


def _article(text: str) -> object:
    article = {"title": text, "extract": text, "canonicalurl": "https://a.b", "description": text}
    return wikipedia._written("", [article, article], 8000)


def _papers(text: str) -> object:
    paper = {"display_name": text, "doi": f"https://doi.org/{text}", "abstract_inverted_index": {text: [1]}}
    return search_papers._written(text, [paper], 1, 1, 8000)


def _masked(text: str) -> None:
    stream = output.MaskedStream(io.StringIO(), OUTLET.words)
    for at in range(0, len(text), 16):
        stream.write(text[at : at + 16])
    stream.flush()


def _weather(text: str) -> object:
    """A forecast and the places of a name, each field of which is the text."""
    row = {"name": text, "admin1": text, "country": text, "country_code": text, "latitude": 1, "longitude": "2"}
    places = get_weather._drop_duplicates(
        get_weather._parse_places([row, row | {"latitude": 7}, row | {"longitude": text}])
    )
    fields = {key: [text, text] for key in (*get_weather._DAILY.split(","), "time")}
    found = {"current": {"time": text, "weather_code": text}, "daily": fields, "timezone": text}
    found["daily_units"] = dict.fromkeys(fields, text)
    get_weather._lies_in(places[0], [text])
    return get_weather._write_report(places[0], found, text, 8000)


def _price(text: str) -> object:
    """Pools of a token that is named by the text."""
    pool = {"chainId": text, "baseToken": {"address": text, "symbol": text, "name": text}, "priceUsd": "1", "url": text}
    pool |= {"liquidity": {"usd": "2"}, "volume": {"h24": text}, "marketCap": text, "dexId": text}
    tokens = token_price._tokens([pool, pool | {"chainId": "base"}], "tea", by_address=False)
    tokens += token_price._tokens([pool], service.text_of(text), by_address=True)
    return token_price._written(text, tokens, False, 8000) if tokens else None


def _keyless(text: str) -> object:
    row = {"title": text, "href": f"https://{text}", "body": text}
    return keyless_search._pages([row, row | {"href": f"https://a.b/{text}"}, text], 5, ["a.b"], [text[:200]])


def _service(text: str) -> object:
    """An answer of a public service: counted, refused with its words, and read field by field."""
    counter = json_values.ValueCounter()
    body = json.dumps({"reason": text, "items": [text]}).encode()
    for at in range(0, len(body), 64):
        counter.feed(body[at : at + 64])
    counter.feed(text.encode(errors="replace"))
    service._read_reason(body)
    service._read_reason(text.encode(errors="replace"))
    return service.number_of(text), service.items_of([{text: text}])


class _Body:
    """A body as it comes from the network."""

    def __init__(self, data: bytes) -> None:
        self._left = data

    async def read(self, n: int = -1) -> bytes:
        part, self._left = self._left[:64], self._left[64:]
        return part


def _body(text: str) -> None:
    plain = text.encode(errors="replace")
    for encoding, data in (("", plain), ("gzip", gzip.compress(plain, 1)), ("deflate", plain)):
        with suppress(bodies.Unreadable):
            _done(bodies.read_body(_Body(data), encoding, 10**6))


def _page_head(text: str) -> None:
    """What a reader says of a page, and by what a page is known."""
    extraction._kind(fetch_client.Fetched("https://a.b", "", "", text.encode(errors="replace"), False))
    extraction._line(text)
    for head in (text, json.dumps({"title": text})):
        with suppress(ToolError):
            extraction._fields(head.encode(errors="replace"))


def _html(text: str) -> None:
    """Our own reading of a page's tree; what libraries make of it is stopped when it takes too long."""
    tree = reader.parse_html(
        f'<title>{text}</title><meta name="author"><a href="/b">c</a><p>{text}<code><a>d</a></code>'
    )
    reader.read_metadata(tree)
    reader.flatten_code(tree)
    reader.resolve_links(tree, "https://a.b/")
    reader.extract_all_text(tree, frozenset())


OUTLET = outlet.Outlet(SECRETS)
REDACTOR = redactor.Redactor(SECRETS)
REGISTRY = written.Registry(TOOLS)
CHOOSER = Chooser(most=1)
INDEX = index.ToolIndex((SPEC, OTHER))
LONG = ("integer", "array", "object")


def _read_events(*texts: str) -> None:
    for text in texts:
        with suppress(ValueError):
            sse.read_event(text.encode("utf-8", "replace"))


def _asked_by_web(text: str) -> None:
    """A program's request, whose parts are texts and files of any kind."""
    parts = [
        {"type": "text", "text": text},
        {"type": "file", "file": {"file_data": f"data:text/plain;base64,{text}", "filename": text}},
    ]
    asked: list[dict[str, Any]] = [{"messages": [{"role": "user", "content": part}]} for part in (text, parts)]
    asked += [{"user": text}, {"resume": [{"interruptId": text, "status": "resolved"}], "threadId": "1", "runId": "1"}]
    for one in asked:
        for read in (web_asking.read_completion, web_asking.read_run):
            with suppress(web_asking.MisaskedError):
                read({"Accept-Language": text, "X-Thread-Id": text}, json.dumps(one).encode())
    with suppress(web_asking.MisaskedError):
        web_asking.read_completion({}, text.encode(errors="replace"))


def _fetched_from_the_web(text: str) -> None:
    with suppress(DeliveryError):
        web_files.content_of(f"x:{text}")
    web_files.content_of(web_files.as_source(text.encode(errors="replace")))


def _grown_on_the_web(text: str) -> None:
    """A message that grows, and is then rewritten from its middle on."""
    run = web_runs.Run()
    for body in (text[: len(text) // 2], text, text[: len(text) // 2] + "x" + text):
        run.show("1", body, final=False)


async def _no_calls(chat: str, run: str, reader: web_runs.Run) -> tuple[()]:
    return ()


async def _kept(chat: str, run: str, text: str) -> None:
    return None


FED: dict[str, Callable[[str], object]] = {
    # Platforms
    "adapters.console.terminal.draw": _printed,
    "adapters.discord.events.message_edited": lambda text: discord_events.message_edited(_discord(text), 1, 7),
    "adapters.discord.pages.without_links": without_links,
    "adapters.discord.pages.rendered": lambda text: rendered(Page(text, plain=True)),
    "adapters.discord.markdown.render": discord_markdown.render,
    "adapters.discord.markdown.written": discord_markdown.written,
    "adapters.formatting.layout.taken_apart": layout.taken_apart,
    "adapters.formatting.layout.width": layout.width,
    "adapters.formatting.shortcodes.colons_of_names": shortcodes.colons_of_names,
    "adapters.formatting.shortcodes.without_names": shortcodes.without_names,
    "adapters.formatting.shortcodes.words_with_names": lambda text: list(shortcodes.words_with_names(text)),
    "adapters.web.asking.read_completion": _asked_by_web,
    "adapters.web.runs.Run.show": _grown_on_the_web,
    "adapters.web.surface.WebSurface.draw": lambda text: web_surface.WebSurface(
        web_runs.Runs(), ReplyTarget("web", {}), _no_calls, _kept
    ).draw(_page(text)),
    "adapters.web.chores.is_chore": lambda text: web_chores.is_chore(f"### Task:{text}"),
    "adapters.web.completions.event": lambda text: web_completions.event({"text": text}),
    "adapters.web.files.content_of": _fetched_from_the_web,
    "adapters.download.is_of": lambda text: download.is_of(f"https://{text}", f"https://{text}", "slack.com"),
    "adapters.slack.marks.as_text": lambda text: slack_marks.as_text(slack_marks.held(text)),
    "adapters.slack.marks.look_alike": slack_marks.look_alike,
    "adapters.slack.mrkdwn.render": slack_mrkdwn.render,
    "adapters.slack.reading.shown_text": lambda text: slack_reading.readable(
        slack_reading.shown_text(_slack_alert(text)), "U1", _same
    ),
    "adapters.slack.streams.in_markdown": slack_streams.in_markdown,
    "adapters.telegram.html.render": telegram_html.render,
    "adapters.telegram.html.visible_length": telegram_html.visible_length,
    "adapters.telegram.live.defang": telegram_live.defang,
    "adapters.slack.errors.refused": lambda text: slack_errors.refused(500, text, text),
    "adapters.slack.events.incoming": lambda text: slack_events.incoming(_slack(text), ME, _same, now=0.0),
    "adapters.slack.events.people_in": lambda text: slack_events.people_in(_slack(text)),
    "adapters.telegram.pages.draw": lambda text: draw(Page(text, plain=True), 4096),
    "adapters.telegram.webhook.TelegramEntrance.take_in": lambda text: _done(
        telegram_webhook.TelegramEntrance("secret", _stored).take_in({}, text.encode())
    ),
    "adapters.slack.webhook.SlackEntrance.expect": lambda text: SLACK_ENTRANCE.expect(
        {"X-Slack-Request-Timestamp": text, "X-Slack-Signature": text}
    ),
    "adapters.slack.installing.Installing.visit": lambda text: [
        _done(SLACK_INSTALLING.visit(page, {"state": state, "code": text, "error": ""}, {"parley_install": text}))
        for page in ("installed", text)
        for state in (text, f"1.{text}.{text}")
    ],
    "adapters.slack.sealing.Seal.open": lambda text: SLACK_SEAL.open(text, text),
    "adapters.slack.webhook.SlackEntrance.take_in": lambda text: [
        _done(SLACK_ENTRANCE.take_in({"Content-Type": kind}, text.encode()))
        for kind in ("application/json", "application/x-www-form-urlencoded")
    ],
    "adapters.discord.webhook.DiscordEntrance.expect": lambda text: DISCORD_ENTRANCE.expect(
        {"X-Signature-Timestamp": text, "X-Signature-Ed25519": text}
    ),
    "adapters.discord.webhook.DiscordEntrance.take_in": lambda text: _done(DISCORD_ENTRANCE.take_in({}, text.encode())),
    "bot.contract.entrance.is_same": lambda text: is_same(text, "secret"),
    "bot.contract.entrance.is_recent": lambda text: is_recent(text, 0.0),
    "bot.operations.http.is_own": lambda text: is_own(text, ("*.example.org",)),
    "bot.contract.entrance.proven": lambda text: proven(text.encode(errors="replace")),
    "adapters.telegram.entities.written_in": lambda text: telegram_entities.written_in(text, _formatted(text)),
    "adapters.telegram.reading.words_of": lambda text: telegram_updates.meant_for(BOT, [_pasted(text)]),
    "adapters.telegram.updates.meant_for": lambda text: telegram_updates.meant_for(BOT, [_telegram(text)]),
    # Messages
    "bot.markdown.addresses.bare_url": lambda text: addresses.bare_url(f"https://a.b/{text}", 0),
    "bot.markdown.addresses.bare_mail": lambda text: addresses.bare_mail("a", f"a@{text}", 1),
    "bot.markdown.addresses.host_of": lambda text: addresses.host_of(f"https://{text}"),
    "bot.markdown.addresses.mail_link": lambda text: addresses.mail_link(f"mailto:a@{text}", 0),
    "bot.markdown.addresses.scheme_of": addresses.scheme_of,
    "bot.markdown.addresses.trim_url": addresses.trim_url,
    "bot.agent.provenance.brings": lambda text: brings("a.b/c?d=1", _told(text), "telegram:7", lambda name: SPEC),
    "bot.agent.provenance.learn_result": lambda text: learn_result(
        links.LinkPolicy(), SPEC, _call("t"), ToolResult(text=text)
    ),
    "bot.agent.provenance.policy_for": lambda text: policy_for(_asked(text)),
    "bot.agent.provenance.stands_in": lambda text: stands_in("a.b/c?d=1", text),
    "bot.toolchoice.chooser.Chooser.choose": lambda text: _done(CHOOSER.choose(text, (SPEC, OTHER), before=text)),
    "bot.contract.words.bare": lambda text: [words.bare(f"{word} {text}") for word in ("", "allow", "persona", "busy")],
    "bot.contract.words.parse": lambda text: (words.parse(text), words.parse(f"/new {text}")),
    "bot.context.window.fit": lambda text: window.fit(_told(text), 10**9, usage.Estimator().count),
    "bot.reply.approvalcard.exact": lambda text: (
        approvalcard.exact(text),
        approvalcard.write_card("t", {"x": text, text: [text], "token": text}, "en", seconds=60.0),
    ),
    "bot.reply.cutting.border_at": lambda text: cutting.border_at(text, len(text) - 1, 3600, "a"),
    "bot.reply.cutting.find_cut": lambda text: cutting.find_cut(text, 0, 3600, len, 3600),
    "bot.reply.cutting.sentence_end": lambda text: cutting.sentence_end(text, 0),
    "bot.reply.cutting.fit": lambda text: cutting.fit(text, 3600, utf16_length),
    "bot.markdown.dialect.references": dialect.references,
    "bot.contract.answers.problem_of": lambda text: answers.problem_of(
        answers.Call(id="c", name="n", arguments={"text": text})
    ),
    "bot.agent.echoes.Echoes.could_build": lambda text: echoes.Echoes({"query": text}).could_build(
        f"https://a.b/{text}"
    ),
    "bot.reply.graphemes.boundary_before": lambda text: graphemes.boundary_before(text, len(text) - 1),
    "bot.contract.identity.anything": identity.anything,
    "bot.markdown.lines.LineScanner.feed": _scanned,
    "bot.markdown.lines.LineScanner.feed, in one line": lambda text: lines.LineScanner().feed(text),
    "bot.markdown.lines.columns": lines.columns,
    "bot.markdown.spoken.to_spoken": spoken.to_spoken,
    "bot.markdown.spoken.first_sentences": spoken.first_sentences,
    "bot.markdown.spoken.seconds_to_say": spoken.seconds_to_say,
    "bot.markdown.spoken.shorten": lambda text: spoken.shorten(text, 180.0),
    "bot.markdown.lines.in_cells": lambda text: lines.in_cells(f"｜{text}", 10**9),
    "bot.markdown.lines.heading_level": lambda text: lines.heading_level(f"#{text}"),
    "bot.markdown.nesting.NestedFences.feed": _streamed(nesting.NestedFences, 16),
    "bot.markdown.variants.is_power": lambda text: [variants.is_power(text, at) for at in range(len(text))],
    "bot.markdown.variants.Closers.is_power": lambda text: _powers_in(variants.Closers(text), text),
    "bot.markdown.variants.Closers.find": lambda text: _closed_in(variants.Closers(text), text),
    "bot.commands.chatfile.ChatWriter.write": _exported,
    "bot.commands.exports.read_wish": lambda text: exports.read_wish(_asked(text)),
    "bot.turn.footer.as_paragraph": lambda text: footer.as_paragraph([text], text),
    "bot.safety.linkpolicy.LinkPolicy.learn": lambda text: linkpolicy.LinkPolicy().learn(text),
    "bot.safety.linkpolicy.LinkPolicy.decide": lambda text: linkpolicy.LinkPolicy().decide(text, f"https://a.b/{text}"),
    "bot.safety.linkpolicy.LinkPolicy.decide, as a host": lambda text: linkpolicy.LinkPolicy().decide(
        text, f"https://{text}"
    ),
    "bot.safety.linkpolicy.carries_data": lambda text: linkpolicy.carries_data(f"https://example.org/{text}"),
    "bot.markdown.addresses.hides_host": lambda text: addresses.hides_host(text, "https://example.org"),
    "bot.safety.links.LinkFilter.feed": _streamed(lambda: links.LinkFilter(linkpolicy.LinkPolicy()), 10**9),
    "bot.safety.links.LinkFilter.feed, as text": _streamed(
        lambda: links.LinkFilter(linkpolicy.LinkPolicy(unknown="text")), 10**9
    ),
    "bot.safety.links.LinkFilter.feed, live": _streamed(
        lambda: links.LinkFilter(linkpolicy.LinkPolicy(unknown="live")), 64
    ),
    "bot.safety.spans.as_words": spans.as_words,
    "bot.safety.links.LinkFilter.feed, in pieces": _streamed(lambda: links.LinkFilter(linkpolicy.LinkPolicy()), 64),
    "bot.safety.spans.as_code": spans.as_code,
    "bot.safety.spans.mark_code": lambda text: spans.mark_code(text, ()),
    "bot.safety.spans.separate": spans.separate,
    "bot.markdown.tree.escape": tree.escape,
    "bot.markdown.tree.quote": tree.quote,
    "bot.toolchoice.named.named_call": lambda text: named.named_call(f"/tool look {text}", (SPEC, OTHER)),
    "bot.safety.enclosures.describe_enclosed": lambda text: enclosures.describe_enclosed(_asked(text)),
    "bot.safety.enclosures.answer_unread": lambda text: enclosures.answer_unread(replace(_asked(text), text=""), "en"),
    "bot.operations.outlet.Outlet.value": lambda text: OUTLET.value({text: [text]}),
    "bot.pacing.pacer.Pacer.lasts": lambda text: Pacer().lasts(Reader(()), text),
    "bot.pacing.pacer.Pacer.seen": lambda text: Pacer().seen(Reader(()), text),
    "bot.pacing.reader.Reader.see": lambda text: Reader(()).see(text, 0.0),
    "bot.pacing.reader.is_readable": is_readable,
    "bot.pacing.reader.seconds_to_read": seconds_to_read,
    "bot.reply.paging.Paginator.extend": _paged(10**9, again=True),
    "bot.reply.paging.Paginator.extend, in pieces": _paged(64, again=False),
    "bot.reply.paging.beginning": lambda text: beginning(Page(text)),
    "bot.reply.paging.whole_words": whole_words,
    "bot.reply.paging.worth_showing": lambda text: worth_showing(Page(text)),
    "bot.sentences.scripts.simplified": simplified,
    "bot.toolchoice.presearch.pre_search": lambda text: presearch.pre_search(text, (SPEC, OTHER), index=INDEX),
    "bot.agent.nudges.announces_search": nudges.announces_search,
    "bot.agent.nudges.claims_search": lambda text: nudges.claims_search(text, results=False),
    "bot.toolchoice.smalltalk.is_small_talk": smalltalk.is_small_talk,
    "bot.model.protocol.results_message": lambda text: protocol.results_message([ToolEntry(text, text, text, True)]),
    "bot.intake.parts.join_parts": lambda text: join_parts(_asked(text), _asked(text)),
    "bot.reply.preamble.write_preamble": lambda text: preamble.write_preamble(_asked(text)),
    "bot.context.question.user_entry": lambda text: question.user_entry(_asked(text)),
    "bot.safety.redacted.redact_call": lambda text: redacted.redact_call(_call(text), REDACTOR.redact),
    "bot.safety.redacted.redact_message": lambda text: redacted.redact_message(_asked(text), REDACTOR.redact),
    "bot.safety.redactor.Redactor.feed": _streamed(lambda: redactor.Redactor(SECRETS), 10**9),
    "bot.safety.redactor.Redactor.feed, in pieces": _streamed(lambda: redactor.Redactor(SECRETS), 16),
    "bot.safety.characters.AnswerFilter.feed": _streamed(characters.AnswerFilter, 16),
    "bot.safety.citations.CitationFilter.feed": _streamed(citations.CitationFilter, 16),
    "bot.safety.citations.rewrite_citations": citations.rewrite_citations,
    "bot.safety.characters.clean_answer": characters.clean_answer,
    "bot.safety.characters.clean_name": characters.clean_name,
    "bot.safety.characters.shows_nothing": lambda text: [
        characters.shows_nothing(said) for said in (text, "\u2800" + text, "<!--" + text, "<!---->" * len(text) + text)
    ],
    "bot.sentences.language.language_of": sentences.language_of,
    "bot.sentences.language.language_of, written before": lambda text: sentences.language_of(
        "", "", [text, f"茶{text}"]
    ),
    "bot.safety.sources.Citations.list_cited": _footer,
    "bot.safety.sources.number_sources": _numbered,
    "bot.turn.jobs.describe_progress": _progress,
    "bot.turn.footer.describe_reasoning": lambda text: footer.describe_reasoning(
        text, "en", redactor.Redactor(["k" * 40]).redact
    ),
    "bot.turn.footer.collapsed_reasoning": lambda text: footer.collapsed_reasoning(text, "en", str),
    "bot.turn.recalling.cut_argument": lambda text: recalling.cut_argument([text]),
    "bot.turn.footer.code_line": lambda text: footer.code_line(text, redactor.Redactor(["k" * 40]).redact, 200),
    "bot.safety.sources.source_line": lambda text: sources.source_line(Source(text, text)),
    "bot.safety.spellings.secret_forms": lambda text: spellings.secret_forms([text]),
    "bot.safety.spellings.decode_spelled": spellings.decode_spelled,
    "bot.store.facts.match_expression": facts.match_expression,
    "bot.store.facts.split_words": facts.split_words,
    "bot.store.incoming.incoming_from_json": lambda text: incoming.incoming_from_json(
        incoming.incoming_to_json(_asked(text))
    ),
    "bot.store.text.to_json": lambda text: stored.to_json({text: text}),
    "bot.context.summary.Summaries": lambda text: (
        [summary._write_entry(entry) for entry in _told(text)] and summary._cut_to_statement(text)
    ),
    "bot.toolchoice.terms.names_of": terms.names_of,
    "bot.toolchoice.terms.terms_of": terms.terms_of,
    "bot.toolchoice.index.ToolIndex.about": INDEX.about,
    "bot.toolchoice.index.ToolIndex.named": INDEX.named,
    "bot.toolchoice.index.ToolIndex.ranked": lambda text: index.ToolIndex((SPEC, OTHER)).ranked(text),
    "bot.contract.transcript.entry_from_json": lambda text: [
        transcript.entry_from_json(transcript.entry_to_json(entry)) for entry in _told(text)
    ],
    "bot.markdown.unfinished.close_open": unfinished.close_open,
    "bot.safety.untrusted.attribute": lambda text: untrusted.attribute("Ada", text),
    "bot.safety.untrusted.without_boundaries": untrusted.without_boundaries,
    "bot.app.recorded.bare": recorded.bare,
    "bot.turn.footnotes.is_stop_note": footnotes.is_stop_note,
    "bot.turn.footnotes.finish_told": footnotes.finish_told,
    "bot.turn.footnotes.asks_from_outside": footnotes.asks_from_outside,
    "bot.safety.untrusted.BoundaryFilter.feed": _streamed(untrusted.BoundaryFilter, 10**9),
    "bot.safety.untrusted.BoundaryFilter.feed, in pieces": _streamed(untrusted.BoundaryFilter, 64),
    "bot.safety.untrusted.tool_entry": lambda text: untrusted.tool_entry(
        _call(""), ToolResult(text=text, untrusted=True), "0123abcd", "outside"
    ),
    # Models
    "bot.model.arguments.ObjectEnd.feed": _structure,
    "bot.model.arguments.read_arguments": lambda text: [
        arguments.read_arguments(said) for said in (text, f'{{"query": {text}', f'{{"query": "{text}"}}')
    ],
    "bot.model.assembly.ChatAssembly.add": _chat_stream,
    "bot.model.searched.annotated_in": lambda text: searched.annotated_in([{"title": text, "url": f"https://{text}"}]),
    "bot.model.searched.list_cited": lambda text: searched.list_cited(f"[1] {text}", [("Tea", "https://a.b/")] * 90),
    "bot.model.searched.sources_in": lambda text: searched.sources_in(
        {"citations": [text, {"title": text, "url": text}]}
    ),
    "bot.model.pictures.Pictures.add": lambda text: [
        pictures.Pictures().add(said) for said in (text, f"data:image/png;base64,{text}", [{"url": text}] * 9)
    ],
    "bot.model.endings.meaning_of": lambda text: [endings.meaning_of(text), endings.name_of(text)],
    "bot.model.assembly.SplitCharacters.join": _halves,
    "bot.model.failures.refusal": lambda text: [
        failures.refusal(status, text, MODEL, {**dict.fromkeys(("tool_choice", "stop")), **SENT})
        for status in (0, 400, 404, 500)
    ],
    "bot.model.failures.reset_in": lambda text: failures.reset_in(
        {"x-ratelimit-reset": text, "x-ratelimit-reset-tokens": text, "x-ratelimit-remaining-tokens": "0"}, 0.0
    ),
    "bot.model.failures.retry_after": lambda text: failures.retry_after({"retry-after": text}, 0.0),
    "bot.model.failures.stream_fault": lambda text: failures.stream_fault({"m": text}, MODEL, {}),
    "bot.model.lengths.refused_length": lambda text: lengths.refused_length(
        text[:8000], 100, asked=1000, model="m", shown=""
    ),
    "bot.model.loops.is_loop": is_loop,
    "bot.model.loops.LoopWatch.feed": lambda text: list(
        map(LoopWatch().feed, (text[start : start + 7] for start in range(0, len(text), 7)))
    ),
    "bot.model.schemas.simplified": lambda text: schemas.simplified(
        {
            "properties": {
                text: {"$ref": text, "description": text, "enum": list(text), "allOf": [{"$ref": f"#/{text}"}]}
            }
        }
    ),
    "bot.model.rendering.call_id": lambda text: rendering.call_id(text, own=False),
    "bot.model.rendering.tool_name": rendering.tool_name,
    "bot.model.responses.ResponsesAssembly.add": _responses_stream,
    "bot.model.ollama.OllamaAssembly.add": _ollama_stream,
    "bot.model.sse.LineDecoder.feed": _events("", 64, lambda: sse.LineDecoder()),
    "bot.model.sse.EventDecoder.feed": _events("", 64),
    "bot.model.sse.EventDecoder.feed, of one event": _events("data: ", 64),
    "bot.model.sse.read_together": lambda text: sse.read_together([text.encode("utf-8", "replace"), b"{}"]),
    "bot.model.sse.read_event": lambda text: _read_events(
        text, f'{{"a": "{text}', f'{{"a": {text}{{"b": 1}}', f'{{"a": 1}}{text}'
    ),
    "bot.model.usage.Estimator.tokens": lambda text: usage.Estimator().tokens(text),
    # Calls in text
    "bot.toolsyntax.arguments.Registry.arguments_from_line": lambda text: REGISTRY.arguments_from_line("look", text),
    "bot.toolsyntax.arguments.Registry.arguments_from_parentheses": lambda text: [
        REGISTRY.arguments_from_parentheses(name, text) for name in TOOLS
    ],
    "bot.toolsyntax.arguments.Registry.name": REGISTRY.name,
    "bot.toolsyntax.arguments.Registry.typed": lambda text: [REGISTRY.typed("look", key, text) for key in PROPERTIES],
    "bot.toolsyntax.detector.Detector.feed": _streamed(lambda: Detector(TOOLS), 10**9),
    "bot.toolsyntax.detector.Detector.feed, in pieces": _streamed(lambda: Detector(TOOLS), 16),
    "bot.toolsyntax.elements.typed": lambda text: typed(f"<a>{text}</a>", {"type": "object"}),
    "bot.toolsyntax.detector.parse": lambda text: [
        parse(f"{before}{text}", TOOLS)
        for before in (
            '<tool_call>{"name": "look", "arguments": {',
            "<function=look><parameter=query>",
            '<|tool_call>call:look{query:<|"|>',
            "<|channel|>analysis<|message|>",
            "<|channel|>commentary to=functions.look<|message|>",
            '<invoke name="look"><query>',
            "<thinking>",
            "```tool_code\nlook(",
            "<|unknown|>",
            '<|open|>call tool="look" index="1"<|sep|><|open|>argument key="query" type="string"<|sep|>',
            '[TOOL_CALL]{tool => "look", args => {',
            "<s>",
            "[INST]",
            "analysisA",
            "Tea.</s>",
            "<|im_start|>user\n",
        )
    ],
    "bot.toolsyntax.repair.loads": lambda text: repair.loads(f"{{'query': '{text}',}}"),
    "bot.toolsyntax.repair.unquote": repair.unquote,
    # Tools
    "tools.calculation.display.compute": lambda text: display.compute(text, 15),
    "tools.calculation.reader.read": calculation.read,
    "tools.calculation.units.find": units.find,
    "tools.calling.conversion.converted": lambda text: conversion.converted(
        PARAMETERS, {"query": text, "count": text, "places": text, "more": text}
    ),
    "tools.contract.addresses.split_address": lambda text: [
        addresses_of.split_address(f"{at}{text}") for at in ("//", "a:")
    ],
    "tools.contract.credentials.in_address": lambda text: list(credentials.in_address(text)),
    "tools.contract.credentials.in_arguments": lambda text: list(credentials.in_arguments([text, f"--token={text}"])),
    "tools.contract.credentials.in_table": lambda text: list(credentials.in_table({"X-A": text})),
    "tools.fetch.entries.joined": lambda text: entries.joined(text, text.split("a"), 8000),
    "tools.contract.languages.language_of_tag": languages.language_of_tag,
    "tools.contract.languages.language_of_tag, in parts": lambda text: languages.language_of_tag(
        f"zh-{text.replace('a', '-')}"
    ),
    "tools.fetch.bodies.read_body": _body,
    "tools.fetch.extraction.extract": _page_head,
    "tools.fetch.guard.destination": lambda text: guard.destination(f"https://{text}"),
    "tools.fetch.guard.wire_form": lambda text: guard.wire_form(f"https://a.b/{text}"),
    "tools.fetch.encodings.decode_body": lambda text: encodings.decode_body(text.encode(errors="replace"), ""),
    "tools.fetch.encodings.guess_encoding": lambda text: encodings.guess_encoding(b"\xff" + text.encode("utf-16")),
    "tools.fetch.reader.read_html": _html,
    "tools.fetch.reader.tidy": reader.tidy,
    "tools.fetch.reader.join_broken_words": reader.join_broken_words,
    "tools.fetch.service.JsonService.get": _service,
    "tools.fetch.service.read_retry_after": lambda text: service.read_retry_after({"Retry-After": text}),
    "tools.fetch.service.text_of": service.text_of,
    "tools.get_weather.Weather.get_weather": _weather,
    "tools.fetch.keyless_search.search": _keyless,
    "tools.token_price.TokenPrice.price": _price,
    "tools.mcp.config.substitute_variables": lambda text: config.substitute_variables(text, {}, "here"),
    "tools.mcp.content.convert_answer": lambda text: content.convert_answer(_mcp_answer(text), text),
    "tools.contract.names.unique_names": lambda text: names.unique_names([text, text[1:]], 60, fallback="tool"),
    "tools.mcp.plain.plain_text": lambda text: plain_text(text, 400),
    "tools.mcp.tool.offers_of": _listed,
    "tools.times.cron.parse": cron.parse,
    "tools.times.repeats.read": lambda text: repeats.read(text, datetime.UTC, NOW),
    "tools.times.moments.read": lambda text: moments.read(text, NOW),
    "tools.times.moments.read_span": moments.read_span,
    "tools.times.numerals.read": numerals.read,
    "tools.programs.output.MaskedStream.write": _masked,
    "tools.contract.plaintext.to_plain": lambda text: (plaintext.to_plain(text), plaintext.to_plain(f"{text}\ud83d\0")),
    "tools.contract.plaintext.plain_values": lambda text: plaintext.plain_values([text, {text: f"{text}\0"}]),
    "tools.contract.plaintext.read_stored": lambda text: plaintext.read_stored(json.dumps([f"{text}\ud83d", text])),
    "tools.read_file.find_words": lambda text: read_file.find_words([text, "x"], text[:200] or "x", 8000),
    "tools.calling.parts.in_parts": lambda text: parts.in_parts(text, 6000),
    "tools.calling.registry.ToolRegistry.run": _ran,
    "tools.sandbox.cell.safe_name": lambda text: cell.safe_name(text, set()),
    "tools.calling.schema.check": lambda text: schema.check(PARAMETERS, {"query": 1, "order": text, "count": text}),
    "tools.calling.schema.of_docstring": schema.of_docstring,
    "tools.search_papers.SearchPapers.search": _papers,
    "tools.search_papers.rebuilt": lambda text: search_papers.rebuilt(
        {word: [place] for place, word in enumerate(text.split(" "))}
    ),
    "tools.fetch.search_results.written": _found,
    "tools.wikipedia.Wikipedia.look_up": _article,
    "tools.times.zones.find": zones.find,
}


def _runs(*units: str) -> dict[str, Callable[[int], str]]:
    def run(unit: str) -> Callable[[int], str]:
        return lambda size: (unit * (size // len(unit) + 1))[:size]

    return {repr(unit): run(unit) for unit in units}


SHAPES: dict[str, Callable[[int], str]] = {
    "spaces between letters": lambda size: "a" + " " * size + "b",
    "newlines between letters": lambda size: "a" + "\n" * size + "b",
    "backticks of all lengths": lambda size: " ".join("`" * run for run in range(1, int((2 * size) ** 0.5))),
    "one long string in JSON": lambda size: json.dumps({"a": "x" * size}),
    **_runs("\t\n", "- a\n", "> ", "|a|b|\n", "_\n", "<a", "[", ":[a](", '[a](b "', "(", ")", "{", '{"a":', "`"),
    **_runs("it's \"", '\\"', "\u0301 ", "\u0323\u0301", "\U0001f1e9", "漢字a", "*a ", "_a_", "a-", "a.", "1,", "a@"),
    **_runs("https://a.b/c ", "&amp;\x00"),
}

SIZES = {"adapters.formatting": 2_000, "bot.reply.paging": 10_000}
"""What is drawn is a page, 4,096 characters at most; and text is cut into pages while it grows."""

INSIDE: dict[str, str] = {
    "adapters.formatting.shortcodes.names_as_code": "adapters.formatting.shortcodes.words_with_names",
    "bot.safety.spans": "bot.safety.links.LinkFilter.feed",
    "adapters.console.adapter": "adapters.console.terminal.draw",
    "adapters.web.asking.read_run": "adapters.web.asking.read_completion",
    "adapters.web.asking.decision_about": "adapters.web.asking.read_completion",
    "adapters.web.adapter.WebAdapter": "adapters.web.asking.read_completion",
    "adapters.telegram.drafts.draft_stopped": "adapters.telegram.updates.meant_for",
    "adapters.discord.reading": "adapters.discord.events.message_edited",
    "adapters.discord.events.message_sent": "adapters.discord.events.message_edited",
    "adapters.discord.threads": "adapters.discord.events.message_edited",
    "adapters.discord.ownthread": "adapters.discord.events.message_edited",
    "adapters.discord.surface.DiscordSurface": "adapters.discord.pages.rendered",
    "adapters.discord.pages.draw_page": "adapters.discord.pages.rendered",
    "adapters.formatting.layout.Dialect": "adapters.discord.markdown.render",
    "adapters.formatting.layout.aligned": "adapters.discord.markdown.render",
    "adapters.formatting.layout.unnested": "adapters.slack.mrkdwn.render",
    "adapters.slack.marks.held": "adapters.slack.marks.as_text",
    "adapters.slack.mrkdwn.escaped": "adapters.slack.mrkdwn.render",
    "adapters.telegram.live": "adapters.telegram.live.defang",
    "adapters.slack.events": "adapters.slack.events.incoming",
    "adapters.slack.reading": "adapters.slack.reading.shown_text",
    "adapters.slack.files": "adapters.slack.events.incoming",
    "adapters.slack.drawing.drawn_of": "adapters.slack.mrkdwn.render",
    "adapters.slack.drawing.draw_page": "adapters.slack.mrkdwn.render",
    "adapters.slack.streams.Growing": "adapters.slack.streams.in_markdown",
    "adapters.slack.surface.SlackSurface": "adapters.slack.mrkdwn.render",
    "adapters.slack.threads": "adapters.slack.events.incoming",
    "adapters.telegram.surface.TelegramSurface": "adapters.telegram.pages.draw",
    "adapters.telegram.pages.draw_page": "adapters.telegram.pages.draw",
    "adapters.telegram.reading": "adapters.telegram.reading.words_of",
    "adapters.telegram.updates.incoming": "adapters.telegram.updates.meant_for",
    "bot.policy.access.Access": "bot.contract.identity.anything",
    "bot.agent.events": "bot.safety.enclosures.answer_unread",
    "bot.model.base.ask": "bot.context.window.fit",
    "bot.model.usage.token_count": "bot.context.window.fit",
    "bot.model.usage.picture_token_count": "bot.context.window.fit",
    "bot.model.usage.text_of": "bot.context.window.fit",
    "bot.agent.callpolicy": "bot.agent.provenance.brings",
    "bot.toolchoice.chooser": "bot.toolchoice.chooser.Chooser.choose",
    "bot.contract.words": "bot.contract.words.parse",
    "bot.context.window": "bot.context.window.fit",
    "bot.safety.enclosures": "bot.safety.enclosures.describe_enclosed",
    "bot.agent.echoes.leaves_of": "bot.agent.echoes.Echoes.could_build",
    "bot.reply.approvalcard.write_card": "bot.reply.approvalcard.exact",
    "bot.turn.recalling.CallRecall.list_calls": "bot.turn.recalling.cut_argument",
    "adapters.web.runs.Run.works": "adapters.web.runs.Run.show",
    "bot.sentences.labels.label_of": "bot.reply.approvalcard.exact",
    "bot.reply.graphemes.is_boundary": "bot.reply.graphemes.boundary_before",
    "bot.contract.identity": "bot.contract.identity.anything",
    "bot.safety.linkpolicy.LinkPolicy.allows": "bot.safety.linkpolicy.LinkPolicy.decide",
    "bot.safety.linkpolicy.LinkPolicy.knows": "bot.safety.linkpolicy.LinkPolicy.decide",
    "bot.markdown.variants.is_wide": "bot.markdown.lines.heading_level",
    "bot.markdown.tree.parse": "adapters.discord.markdown.render",
    "bot.markdown.tree.text_of": "adapters.discord.markdown.render",
    "bot.contract.surface": "bot.reply.cutting.fit",
    "bot.model.assembly.Assembly.add": "bot.model.assembly.ChatAssembly.add",
    "bot.model.endings.name_of": "bot.model.endings.meaning_of",
    "bot.model.callslots": "bot.model.assembly.ChatAssembly.add",
    "bot.model.arguments.alone": "bot.model.arguments.read_arguments",
    "bot.model.arguments.is_object": "bot.model.assembly.ChatAssembly.add",
    "bot.model.assembly.count_of": "bot.model.assembly.ChatAssembly.add",
    "bot.model.assembly.table_in": "bot.model.assembly.ChatAssembly.add",
    "bot.model.assembly.tables_in": "bot.model.assembly.ChatAssembly.add",
    "bot.model.sse.Decoder.feed": "bot.model.sse.EventDecoder.feed",
    "bot.model.causes": "bot.model.failures.refusal",
    "bot.model.failures": "bot.model.failures.refusal",
    "bot.model.unfitparts": "bot.model.failures.refusal",
    "bot.model.lengths": "bot.model.lengths.refused_length",
    "bot.model.rendering": "bot.model.protocol.results_message",
    "bot.model.usage.Estimator.tokens_once": "bot.model.usage.Estimator.tokens",
    "bot.model.usage.Estimator.count": "bot.model.usage.Estimator.tokens",
    "bot.operations.outlet.Outlet": "bot.operations.outlet.Outlet.value",
    "bot.reply.paging.Paginator": "bot.reply.paging.Paginator.extend",
    "bot.turn.draft": "bot.context.window.fit",
    "bot.context.question": "bot.context.question.user_entry",
    "bot.safety.redacted": "bot.safety.redacted.redact_call",
    "bot.safety.redactor": "bot.safety.redactor.Redactor.feed",
    "bot.reply.filtering": "bot.safety.characters.AnswerFilter.feed",
    "bot.reply.stream.ReplyStream": "bot.reply.paging.Paginator.extend",
    "bot.reply.cadence": "bot.pacing.reader.seconds_to_read",
    "bot.reply.pageset": "bot.reply.paging.Paginator.extend",
    "bot.safety.characters.clean_untrusted": "bot.safety.characters.clean_name",
    "bot.sentences.language": "bot.sentences.language.language_of",
    "bot.reply.preamble": "bot.reply.preamble.write_preamble",
    "bot.safety.sources.Citations.add": "bot.safety.sources.Citations.list_cited",
    "bot.turn.footer.write_footer": "bot.turn.footer.collapsed_reasoning",
    "bot.turn.draft.Draft": "bot.turn.footer.as_paragraph",
    "bot.turn.footer.gap_after": "bot.turn.footer.as_paragraph",
    "bot.safety.spellings": "bot.safety.spellings.decode_spelled",
    "bot.commands.chatfile": "bot.commands.chatfile.ChatWriter.write",
    "bot.store.facts.StoredFacts": "bot.store.facts.split_words",
    "bot.store.incoming": "bot.store.incoming.incoming_from_json",
    "bot.store.text": "bot.store.text.to_json",
    "bot.toolchoice.terms": "bot.toolchoice.terms.terms_of",
    "bot.toolchoice.index.ToolIndex": "bot.toolchoice.index.ToolIndex.named",
    "bot.toolsyntax": "bot.toolsyntax.detector.Detector.feed",
    "bot.contract.transcript": "bot.contract.transcript.entry_from_json",
    "bot.safety.untrusted": "bot.safety.untrusted.tool_entry",
    "tools.calculation.quantities": "tools.calculation.display.compute",
    "tools.calculation.reader": "tools.calculation.reader.read",
    "tools.calculator.calculator": "tools.calculation.display.compute",
    "tools.contract.credentials": "tools.contract.credentials.in_arguments",
    "tools.calling.conversion.is_of": "tools.calling.conversion.converted",
    "tools.calling.conversion.is_of_any": "tools.calling.conversion.converted",
    "tools.calling.conversion.kinds_of": "tools.calling.conversion.converted",
    "tools.times.cron.next_after": "tools.times.cron.parse",
    "tools.current_time.current_time": "tools.times.moments.read",
    "tools.contract.languages": "tools.contract.languages.language_of_tag",
    "tools.calling.problems": "tools.calling.schema.check",
    "tools.fetch.reader.read_metadata": "tools.fetch.reader.read_html",
    "tools.fetch.reader.flatten_code": "tools.fetch.reader.read_html",
    "tools.fetch.reader.parse_html": "tools.fetch.reader.read_html",
    "tools.fetch.reader.resolve_links": "tools.fetch.reader.read_html",
    "tools.fetch.reader.extract_all_text": "tools.fetch.reader.read_html",
    "tools.fetch.service": "tools.fetch.service.JsonService.get",
    "tools.get_weather": "tools.get_weather.Weather.get_weather",
    "tools.contract.json_values": "tools.fetch.service.JsonService.get",
    "tools.token_price": "tools.token_price.TokenPrice.price",
    "tools.contract.names": "tools.contract.names.unique_names",
    "tools.mcp.argument_names": "tools.mcp.tool.offers_of",
    "tools.mcp.parameters.usable_schema": "tools.mcp.tool.offers_of",
    "tools.mcp.shortening": "tools.mcp.tool.offers_of",
    "tools.programs.output.inert": "tools.programs.output.MaskedStream.write",
    "tools.read_page.ReadPage.read": "tools.calling.parts.in_parts",
    "tools.read_file.ReadFile.read": "tools.read_file.find_words",
    "tools.calling.registry.ToolRegistry": "tools.calling.registry.ToolRegistry.run",
    "tools.remind_me.remind_me": "tools.times.moments.read",
    "tools.sandbox.cell.produced": "tools.sandbox.cell.safe_name",
    "tools.calling.schema.without_unknown": "tools.calling.schema.check",
    "tools.fetch.search_results": "tools.fetch.search_results.written",
    "tools.search_web": "tools.fetch.search_results.written",
}
"""Function, class or module → what is fed and runs it."""

_HANDS_ON = "hands it on to what is fed, or to a service"
_SHORT = "an id, a name, a key or an address of ours, or of the operator"
_OURS_AND_CALLS = "ours, and the arguments and results of calls, which are fed on their way here"
_OPERATOR = "the operator's own words"
_BOUND = "at most so long as the registry lets arguments be"
_OTHER_PROCESS = "runs in a process of its own, which is stopped when it takes too long"
_STORE = "SQLite writes and reads it, in a thread of its own"

OWN: dict[str, str] = {
    "adapters.slack.client.Client.api_call": _SHORT,
    "adapters.web.completions.problem": _SHORT,
    "tools.contract.base.ToolResult.failed": "it looks at the first letters alone",
    "adapters.web.runs.Runs": _SHORT,
    "adapters.web.files.as_source": "is fed with what reads it",
    "adapters.web.surface.WebSurface": _SHORT,
    "adapters.telegram.library": "the name of a package",
    "bot.operations.session": "tokens and cookies of at most 4,096 and 8,190 bytes",
    "bot.operations.export": "what a view shows: fifty rows, each text looked at once",
    "adapters.telegram.compat.RawBot.raw_updates": _SHORT,
    "bot.reply.pages.PageNow.renew_as": _SHORT,
    "adapters.discord.adapter.DiscordAdapter": _HANDS_ON,
    "adapters.discord.client": _HANDS_ON,
    "adapters.discord.forwards.Forwards": _HANDS_ON,
    "adapters.discord.shards": _SHORT,
    "adapters.discord.compat": _SHORT,
    "adapters.discord.intake": _HANDS_ON,
    "adapters.discord.events": _HANDS_ON,
    "adapters.discord.about": _HANDS_ON,
    "adapters.discord.commands.names_of": _SHORT,
    "adapters.slack.about": _HANDS_ON,
    "adapters.slack.adapter.SlackAdapter": _HANDS_ON,
    "adapters.slack.webhook.SlackEntrance.visit": _HANDS_ON,
    "adapters.slack.workspace.Workspace": _HANDS_ON,
    "adapters.slack.workspaces.Workspaces": _HANDS_ON,
    "adapters.slack.errors.field": _SHORT,
    "adapters.slack.people": _SHORT,
    "adapters.slack.prompts": _SHORT,
    "adapters.slack.sessions": _SHORT,
    "adapters.download.download": _SHORT,
    "bot.reply.typingsign.TypingSign": _SHORT,
    "bot.turn.attachments": "hands texts on, and looks at the first bytes of a picture, of which ten are taken",
    "tools.pictures": "looks at the first bytes",
    "bot.turn.listening": "looks at the first bytes of a recording",
    "bot.model.local": "is handed names of our own; a process that is killed hears the rest",
    "bot.intake.changes.Arrivals": _HANDS_ON,
    "adapters.telegram.numbers.Numbers": _SHORT,
    "bot.intake.changes.Changes.as_meant": "takes a sign off the beginning, and hands the rest on",
    "bot.model.service": _SHORT,
    "bot.model.speaking": "is handed what is spoken in three minutes at most",
    "bot.turn.jobs.is_job": _SHORT,
    "tools.plan": _BOUND,
    "bot.turn.narration": "hands texts on: what is looked at grows no longer than 1,000 and 12,000 characters",
    "bot.model.transcribing": "is handed names of our own, and cuts what a server says",
    "adapters.telegram.adapter.TelegramAdapter": _HANDS_ON,
    "adapters.telegram.request": _HANDS_ON,
    "adapters.telegram.webhook.secret_of": _OPERATOR,
    "bot.operations.listener": _OPERATOR,
    "bot.operations.traces": _OPERATOR,
    "bot.policy.access.ids_of": _SHORT,
    "bot.policy.once": _SHORT,
    "bot.commands.actions": _HANDS_ON,
    "bot.commands.answers": _HANDS_ON,
    "adapters.console.terminal.Screen.welcome": _OPERATOR,
    "adapters.console.terminal.Screen.find_choice": "compares a typed line with four words of our own",
    "bot.cli.backup": _OPERATOR,
    "bot.cli.doctor": _SHORT,
    "bot.cli.envfile": _OPERATOR,
    "bot.cli.chat": _OPERATOR,
    "bot.cli.run": _OPERATOR,
    "adapters.telegram.compat": _HANDS_ON,
    "bot.settings.configuration": _OPERATOR,
    "bot.app": _HANDS_ON,
    "bot.context.brief": _HANDS_ON,
    "bot.agent.calls": _HANDS_ON,
    "bot.agent.modelpass": _HANDS_ON,
    "bot.agent.foreign.tool_digest": _HANDS_ON,
    "bot.agent.provenance.spec_of": _HANDS_ON,
    "bot.context.chatoptions": _HANDS_ON,
    "bot.cli.counts": _SHORT,
    "bot.cli.chats": _OPERATOR,
    "bot.cli.moving": _OPERATOR,
    "bot.cli.replay": _OPERATOR,
    "bot.reply.course": _HANDS_ON,
    "bot.cli.replaytest": _OPERATOR,
    "bot.app.recorded.RecordedPlatform": _HANDS_ON,
    "bot.app.recorded.RecordedTools": "the calls of one turn, each compared with those left",
    "bot.settings.channels": _OPERATOR,
    "bot.contract.permits": _OPERATOR,
    "bot.model.providersfile": _OPERATOR,
    "bot.cli.machine": _OPERATOR,
    "bot.cli.standing": _OPERATOR,
    "tools.contract.latenames": "names of our own modules",
    "tools.contract.nearness.closest": "its callers are fed, and cut the word where it is a person's",
    "bot.cli.fleetcheck": _OPERATOR,
    "bot.cli.main": _OPERATOR,
    "bot.reply.closing": _HANDS_ON,
    "bot.reply.notices": _HANDS_ON,
    "bot.reply.opening": _HANDS_ON,
    "bot.turn.conversation": _HANDS_ON,
    "bot.intake.admission": _HANDS_ON,
    "bot.turn.closing": _HANDS_ON,
    "bot.intake.parts.Parts": _HANDS_ON,
    "bot.intake.missingrights.MissingRights": _SHORT,
    "bot.intake.dispatcher": _HANDS_ON,
    "bot.sentences.__init__.refuses": _SHORT,
    "bot.turn.thread_context": _HANDS_ON,
    "bot.agent.earlycalls": _HANDS_ON,
    "bot.settings.environment": _OPERATOR,
    "bot.contract.errors": _SHORT,
    "bot.operations.logs": _SHORT,
    "bot.commands.reminders": _HANDS_ON,
    "bot.context.facts": _HANDS_ON,
    "bot.contract.enclosure": _SHORT,
    "bot.contract.messages": _SHORT,
    "bot.contract.target": _SHORT,
    "bot.contract.metrics": _SHORT,
    "bot.model.api": _HANDS_ON,
    "bot.context.language": _HANDS_ON,
    "bot.model.chain": _HANDS_ON,
    "bot.model.client": _HANDS_ON,
    "bot.model.reading": _HANDS_ON,
    "bot.model.learned": _SHORT,
    "bot.model.providers": _OPERATOR,
    "bot.model.responses.ResponsesWire": _HANDS_ON,
    "bot.model.ollama.OllamaWire": _HANDS_ON,
    "bot.model.transport": _HANDS_ON,
    "bot.model.wire": _HANDS_ON,
    "bot.turn.tool_offer": _HANDS_ON,
    "bot.turn.run.close_told": _HANDS_ON,
    "bot.contract.origin": _SHORT,
    "bot.intake.lateness": _HANDS_ON,
    "bot.intake.platforms": _HANDS_ON,
    "bot.intake.agreement": _OPERATOR,
    "bot.policy.prices": _OPERATOR,
    "bot.agent.nudges.describe_problem": _OURS_AND_CALLS,
    "bot.context.system_prompt": _OURS_AND_CALLS,
    "bot.model.protocol": _OURS_AND_CALLS,
    "bot.sentences.scripts.any_of": "words of our own tables",
    "bot.sentences.scripts.phrases": "words of our own tables",
    "bot.network": _OPERATOR,
    "bot.operations.machine": _OPERATOR,
    "bot.contract.steps.tell_aside": _HANDS_ON,
    "bot.policy.metering": _SHORT,
    "bot.reply.pages.PageNow.draw": _HANDS_ON,
    "bot.reply.record": _HANDS_ON,
    "bot.turn.approvals.Approvals.decision_of": _HANDS_ON,
    "bot.turn.approvals.Approvals.end_due": _SHORT,
    "bot.turn.approvals.Approvals.keep_out": _SHORT,
    "bot.safety.redacted.redact_nothing": "gives it back",
    "bot.contract.reference": "six letters of a log line",
    "bot.turn.reminders": _SHORT,
    "bot.settings": _OPERATOR,
    "bot.agent.shortening": "counts entries; what shortens one is fed",
    "bot.policy.budgets": _HANDS_ON,
    "bot.policy.holdings": _HANDS_ON,
    "bot.policy.quotas": _HANDS_ON,
    "bot.store": _STORE,
    "bot.turn.story": _HANDS_ON,
    "bot.intake.background": _SHORT,
    "bot.contract.logthrottle": _SHORT,
    "bot.policy.toolrights": _SHORT,
    "bot.intake.waiting": _SHORT,
    "bot.intake.ownership": _SHORT,
    "bot.intake.serving": _SHORT,
    "bot.intake.engine": _SHORT,
    "bot.intake.direct": _SHORT,
    "bot.intake.fleet": _SHORT,
    "bot.intake.membership": _SHORT,
    "bot.reply.settling": _SHORT,
    "bot.turn.merging": _HANDS_ON,
    "bot.turn.queue": _HANDS_ON,
    "bot.reply.approvalcard.card_in": "finds words of our own in a text",
    "bot.turn.recalling.CallRecall.recall": _HANDS_ON,
    "bot.reply.approvalcard.text_with_outcome": "compares the end of a text with a line of our own",
    "adapters.telegram.surface.TelegramPressSurface.draw": _HANDS_ON,
    "tools.__init__": _OPERATOR,
    "tools.calling.descriptions.fits": _OPERATOR,
    "tools.calling.plugins": _OPERATOR,
    "tools.__main__": _OPERATOR,
    "tools.calculator": _OPERATOR,
    "tools.programs.cancelling": _SHORT,
    "tools.current_time": _OPERATOR,
    "tools.databases": _BOUND,
    "tools.documents": _OTHER_PROCESS,
    "tools.speech": _OTHER_PROCESS,
    "tools.fetch.client": _HANDS_ON,
    "tools.fetch.reader": _OTHER_PROCESS,
    "tools.fetch.readers": _HANDS_ON,
    "tools.contract.findings": _HANDS_ON,
    "tools.contract.forms": _OPERATOR,
    "tools.contract.network": _SHORT,
    "tools.times.zones.checked_name": _OPERATOR,
    "tools.generate_image": _BOUND,
    "tools.mcp.config": _OPERATOR,
    "tools.mcp.errors": "a line of a server's standard error, cut before it comes here",
    "tools.mcp.keeper": _OTHER_PROCESS,
    "tools.mcp.mending": _HANDS_ON,
    "tools.mcp.process": _SHORT,
    "tools.mcp.session": _HANDS_ON,
    "tools.mcp.source": _SHORT,
    "tools.query_database": _BOUND,
    "tools.recall": _BOUND,
    "tools.remember": _BOUND,
    "tools.remind_me": _OPERATOR,
    "tools.run_python": _BOUND,
    "tools.sandbox": _OTHER_PROCESS,
    "tools.calling.schema.of_function": "docstrings of ours",
    "tools.programs.subprocesses": _OPERATOR,
    "tools.shell.shelf": "the shell's own file of notes",
    "tools.shell.run": _OPERATOR,
}
"""Function, class or module → why nothing is fed to it."""
