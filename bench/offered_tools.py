"""Do the tools that a question is offered hold what it needs? 16 tools of ours, 84 of 19 public MCP servers.

    python -m bench.offered_tools
    python -m bench.offered_tools tuning
    python -m bench.offered_tools sentences FOLDER

The first prints the figures of the held-out questions, which were written before any word or weight was changed, and
whose misses nobody looked at; the second those of the other questions, and which of them miss what. Both say what a
question costs: the tokens of what is declared and named to the model, and the milliseconds of choosing. The third asks
what people wrote who know nothing of us: the sentences of Home Assistant's tests, in a copy of `intents`.

`bench/toolchoice/` holds the questions (language, kind, text, and what is needed: of each entry one of the tools that
`|` separates) and the tools as their servers list them: names, arguments and what is said of them, shortened.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from sqlite3 import connect

from bot.model import tool_token_count
from bot.model.usage import Estimator
from bot.toolchoice import Chooser
from tools import open_registry
from tools.calling.descriptions import told_apart
from tools.contract.base import ToolSpec
from tools.mcp.config import Command, ServerConfig
from tools.mcp.listed import ListedTool
from tools.mcp.tool import offers_of
from tools.settings import SETTINGS

FOLDER = Path(__file__).parent / "toolchoice"


@dataclass(frozen=True, slots=True)
class Question:
    """A question that needs tools."""

    language: str
    kind: str
    """`plain`, `vague` (it does not say what is to be done) or `chain` (it needs two tools)."""
    text: str
    needs: tuple[frozenset[str], ...]
    """Of each one tool must be offered."""

    def missed(self, offered: Sequence[ToolSpec]) -> list[str]:
        """What is needed and not offered."""
        names = {spec.name for spec in offered}
        return ["|".join(sorted(need)) for need in self.needs if need.isdisjoint(names)]


def questions(name: str) -> list[Question]:
    """The questions of a set, `held_out` or `tuning`."""
    rows = json.loads((FOLDER / f"{name}.json").read_text())
    return [
        Question(language, kind, text, tuple(frozenset(need.split("|")) for need in needs))
        for language, kind, text, needs in rows
    ]


def our_tools() -> tuple[ToolSpec, ...]:
    """Every tool of ours, as it is told to models."""
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "sales.db"
        with closing(connect(database)) as opened:
            opened.execute("CREATE TABLE orders (id INTEGER)")
        given: dict[str, dict[str, str]] = {
            "search_web": {"tavily_api_key": "key"},
            "query_database": {"databases": f"sales=sqlite:///{database}"},
            "generate_image": {"image_model": "openai:gpt-image-1", "image_api_key": "key"},
            "run_python": {"code_backend": "monty"},
        }
        settings = {name: kind.model_construct() for name, kind in SETTINGS.items() if name != "mcp"}
        settings |= {name: SETTINGS[name].model_validate(values) for name, values in given.items()}
        return open_registry(settings).specs()


def server_tools() -> tuple[ToolSpec, ...]:
    """The servers' tools, as they are told to models."""
    found: list[ToolSpec] = []
    for server, tools in json.loads((FOLDER / "servers.json").read_text()).items():
        config = ServerConfig(name=server, prefix=server, reach=Command("server"))
        listed = [
            ListedTool(name=one["name"], description=one["description"], parameters=one["inputSchema"]) for one in tools
        ]
        offered, refused = offers_of(config, server, listed)
        assert not refused, refused
        found += [offer.spec for offer in offered]
    return tuple(found)


def every_tool() -> tuple[ToolSpec, ...]:
    """All of them, near-equal ones told apart."""
    return told_apart((*our_tools(), *server_tools()))


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured with some questions."""

    recall: dict[str, tuple[int, int]]
    """Language or kind → questions whose tools were all offered, and all questions."""
    tools: float
    tokens: float
    """Of what is declared."""
    name_tokens: float
    """Of the names of the others."""
    milliseconds: float
    missed: list[tuple[str, list[str]]]


async def measure(chooser: Chooser, specs: Sequence[ToolSpec], asked: Sequence[Question]) -> Figures:
    """Choose for every question, and count."""
    estimator = Estimator()
    held: dict[str, list[bool]] = defaultdict(list)
    sizes, costs, names, missed = [], [], [], []
    for question in asked:
        choice = await chooser.choose(question.text, specs)
        offered = choice.tools
        lacks = question.missed(offered)
        group = {"en": "English", "zh": "Chinese"}.get(question.language, "other languages")
        for one in ("all", group, question.kind):
            held[one].append(not lacks)
        sizes.append(len(offered))
        costs.append(tool_token_count(offered, estimator.count))
        names.append(estimator.tokens(", ".join(spec.name for spec in choice.others)))
        if lacks:
            missed.append((question.text, lacks))
    started = time.process_time()
    for question in asked:
        await chooser.choose(question.text, specs)
    seconds = time.process_time() - started
    return Figures(
        {name: (sum(found), len(found)) for name, found in held.items()},
        statistics.fmean(sizes),
        statistics.fmean(costs),
        statistics.fmean(names),
        1000 * seconds / len(asked),
        missed,
    )


_INTENTS = {
    "HassTurnOff": "home-assistant__HassTurnOff",
    "HassTurnOn": "home-assistant__HassTurnOn",
    "HassLightSet": "home-assistant__HassLightSet",
    "HassListAddItem": "todoist__todoist_create_task",
    "HassShoppingListAddItem": "todoist__todoist_create_task",
    "HassListCompleteItem": "todoist__todoist_complete_task",
    "HassMediaPause": "spotify__pausePlayback",
    "HassMediaSearchAndPlay": "spotify__playMusic",
}
"""What Home Assistant's tests expect, and which tool does the same here."""
_KINDS = "light|cover|fan|climate|homeassistant|media_player|todo|shopping_list"
_LANGUAGES = "de fr es pt pt-br it nl pl ru uk tr ar hi vi id ko ja th sv cs ro hu el fi da he"
_EACH = 8
"""Sentences of a file: most differ only in a word."""


def sentences(folder: Path) -> list[Question]:
    """The sentences of Home Assistant's tests in languages that we have words of."""
    found = []
    for language in _LANGUAGES.split():
        for file in sorted((folder / "tests" / language).glob("*.yaml")):
            match = re.fullmatch(rf"(?:{_KINDS})_(\w+)", file.stem)
            if match is None or match[1] not in _INTENTS:
                continue
            # Only the sentences are lists of plain texts that stand so far to the right.
            said = re.findall(r"^ {6,}- [\"']?([^\"'\n:{}\[\]]+)", file.read_text(), re.MULTILINE)
            for text in said[:: max(1, len(said) // _EACH)][:_EACH]:
                found.append(Question(language, "sentence", text, (frozenset({_INTENTS[match[1]]}),)))
    return found


def main() -> None:
    """Print the figures."""
    name, *folder = sys.argv[1:] or ["held_out"]
    specs = every_tool()
    asked = sentences(Path(*folder)) if name == "sentences" else questions(name)
    figures = asyncio.run(measure(Chooser(), specs, asked))
    print(f"{len(specs)} tools, {len(asked)} questions: {name}")
    for group, (found, of) in figures.recall.items():
        print(f"{group:16} {found:5} of {of:5} {found / of:7.1%}")
    print(f"tools {figures.tools:.1f}, tokens {figures.tokens:,.0f} and for names {figures.name_tokens:,.0f}")
    print(f"{figures.milliseconds:.2f} ms a question")
    if name == "tuning":
        for text, lacks in figures.missed:
            print(f"  {text} → {', '.join(lacks)}")


if __name__ == "__main__":
    main()
