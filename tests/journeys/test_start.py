"""What a start loads: with one platform nothing of the others, and nothing that only rare answers need."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from playground.child import clean_environment
from playground.model import ModelServer, Reply
from playground.telegram import TelegramServer
from tests.patience import PATIENCE

LATER = frozenset(
    (
        # the other platforms
        *("slack_bolt", "slack_sdk", "discord"),
        # the SDKs of models and tools
        *("openai.types", "openai.types.responses", "openai.types.image"),
        *("tavily", "mcp", "mcp_types", "e2b", "ddgs", "faster_whisper", "tiktoken"),
        # pages, documents and pictures
        *("lxml", "trafilatura", "pypdfium2", "PIL", "docx", "openpyxl", "numpy", "matplotlib"),
        # what libraries load where it is installed
        *("cryptography.exceptions", "click", "rich", "pygments"),
        # several processes
        *("psycopg", "asyncpg", "dbos", "sqlalchemy"),
        # traces
        *("opentelemetry.sdk", "opentelemetry.exporter", "requests"),
        # our own parts that most programs do not use: a port, several processes, agents of others, copies, repeating
        *("aiohttp.web", "bot.operations.admin", "bot.operations.http", "bot.operations.web"),
        *("bot.intake.fleet", "bot.intake.membership", "bot.agent.foreign", "bot.app.recorded"),
        *("bot.store.backup", "bot.store.insights", "bot.store.moving", "bot.store.recordings"),
        *("bot.model.local", "bot.model.ollama", "bot.model.responses", "bot.model.speaking", "bot.store.server"),
        *("bot.model.providersfile", "tomllib"),
        *("tools.mcp.server", "tools.sandbox.e2b", "tools.sandbox.monty", "difflib", "yaml", "pytz"),
    )
)

PROGRAM = """
import atexit, sys
from bot.__main__ import main

atexit.register(lambda: print("LOADED", *filter(sys.modules.get, sys.modules), file=sys.stderr, flush=True))
main()
"""
"""The bot, which names at its end what is loaded, in the order in which it was."""


async def test_one_platform_and_a_first_answer_load_nothing_of_the_others(tmp_path: Path) -> None:
    async with TelegramServer() as telegram, ModelServer() as model:
        model.script = lambda body: Reply("Tea is a **leaf**.")
        telegram.person(7, "Ada")
        settings = {
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "TELEGRAM_API_BASE_URL": telegram.base_url,
            "MODEL": "openai:scripted",
            "OPENAI_API_KEY": "sk-loopback",
            "OPENAI_BASE_URL": model.base_url,
            "ALLOW_ALL": "true",
            "DATABASE_URL": f"sqlite:///{tmp_path}/start.db",
        }
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", PROGRAM, "run"),
            env=clean_environment(settings),
            stderr=asyncio.subprocess.PIPE,
            cwd=tmp_path,
        )
        reading = asyncio.create_task(program.communicate())
        try:
            async with asyncio.timeout(PATIENCE):
                telegram.say(7, "What is tea?", person=7)
                while not any(message.text == "Tea is a leaf." for message in telegram.screen.of("7")):
                    assert program.returncode is None
                    await asyncio.sleep(0.05)
        finally:
            if program.returncode is None:
                program.terminate()
            _, told = await reading

    [line] = [line for line in told.decode().splitlines() if line.startswith("LOADED ")]
    loaded = line.split()[1:]
    # The platforms are asked first; then models are got ready.
    begun = max(loaded.index(name) for name in ("telegram", "bot.app", "adapters.telegram.surface", "bot.model.chain"))
    assert loaded.index("openai") > begun
    assert LATER & set(loaded) == set()
