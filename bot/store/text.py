"""Convert entries, results and counts for the database, as JSON that its UTF-8 can hold."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import zip_longest

from bot.contract import Entry, Usage, entry_to_json
from tools.contract.base import Json, Source, ToolResult, ToolStatus
from tools.contract.plaintext import to_plain

_HALF = re.compile("[\ud800-\udfff]")


def to_json(value: Json) -> str:
    """Write JSON that keeps every string exactly, including halves of surrogate pairs."""
    return escape_halves(json.dumps(value, ensure_ascii=False))


def escape_halves(document: str) -> str:
    """Escape the surrogate halves in a JSON document; they can only occur inside its strings."""
    return _HALF.sub(lambda half: f"\\u{ord(half.group()):04x}", document)


def entry_json(entry: Entry) -> str:
    return escape_halves(entry_to_json(entry))


def usage_json(usage: Usage) -> str:
    return json.dumps([usage.prompt, usage.completion, usage.cached, usage.reasoning])


def usage_from_json(text: str) -> Usage:
    return Usage(*json.loads(text))


def result_json(result: ToolResult, files: Sequence[int] = ()) -> str:
    """Write what a call came to, without its text, which lies apart.

    Args:
        files: the ids in `store.files` of those that it produced, in their order; 0 for one that is not kept.
    """
    kept = [one for one, id in zip(result.files, files, strict=False) if id]
    made: list[Json] = [[to_plain(one.name), to_plain(one.media_type), len(one.content)] for one in kept]
    return to_json(
        {
            "ok": result.ok,
            "retry": result.retry,
            "untrusted": result.untrusted,
            "own_words": result.own_words,
            "dollars": result.dollars,
            "sources": [[source.title, source.url, source.number] for source in result.sources],
            "files": [id for id in files if id],
            **({"made": made} if made else {}),
        }
    )


def files_from_json(document: str) -> list[int]:
    """Return the ids of the files that `result_json` was given."""
    return [int(id) for id in json.loads(document).get("files", ())]


def made_from_json(document: str) -> list[tuple[int, tuple[str, str, int] | None]]:
    """Return the same with the name, kind and size of each, which stay when it is deleted; None: an earlier version
    stored it."""
    made = [(str(name), str(kind), int(size)) for name, kind, size in json.loads(document).get("made", ())]
    return list(zip_longest(files_from_json(document), made))


def result_from_json(document: str, text: str, status: ToolStatus, seconds: float) -> ToolResult:
    """Read what `result_json` wrote, in whatever version, with what lies apart; its files are not read."""
    facts = json.loads(document)
    return ToolResult(
        text=text,
        ok=facts["ok"],
        status=status,
        sources=tuple(Source(*source) for source in facts["sources"]),
        retry=facts["retry"],
        untrusted=facts["untrusted"],
        own_words=facts.get("own_words", False),
        seconds=seconds,
        dollars=facts.get("dollars", 0.0),
    )
