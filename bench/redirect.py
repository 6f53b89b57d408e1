"""Run another bot's program, in its own environment, with its platform's library led to an emulator.

    PYTHON bench/redirect.py SCRIPT [ARGUMENTS]

Addresses come from the variables that Parley's own settings have. Only addresses change, and a tokenizer that would
load its vocabulary over the network counts four letters as a token.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import runpy
import sys
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def lead_telegram(root: str) -> None:
    """Lead python-telegram-bot to this address."""
    builder: Any = importlib.import_module("telegram.ext").ApplicationBuilder
    build = builder.build
    builder.build = lambda self: build(self.base_url(f"{root}/bot").base_file_url(f"{root}/file/bot"))


def lead_discord(root: str) -> None:
    """Lead discord.py to this address, and to the gateway that it names."""
    http: Any = importlib.import_module("discord.http")
    http.Route.BASE = root
    asked = urllib.request.Request(
        f"{root}/gateway/bot", headers={"Authorization": f"Bot {os.environ['DISCORD_BOT_TOKEN']}"}
    )
    with urllib.request.urlopen(asked) as answer:
        gateway = json.load(answer)["url"]
    socket: Any = importlib.import_module("discord.gateway").DiscordWebSocket
    socket.DEFAULT_GATEWAY = importlib.import_module("yarl").URL(gateway)


def lead_slack(root: str) -> None:
    """Lead slack-sdk to this address."""
    client: Any = importlib.import_module("slack_sdk.web.base_client").BaseClient
    start = client.__init__
    client.__init__ = lambda self, *given, **named: start(self, *given, **{**named, "base_url": root})


LEADS = {
    "TELEGRAM_API_BASE_URL": lead_telegram,
    "DISCORD_API_BASE_URL": lead_discord,
    "SLACK_API_BASE_URL": lead_slack,
}


def count_letters() -> None:
    """Replace tiktoken's vocabularies, which it downloads."""
    tokenizer: Any = importlib.import_module("tiktoken")
    letters = SimpleNamespace(encode=lambda text, **how: [text[at : at + 4] for at in range(0, len(text), 4)])
    tokenizer.get_encoding = tokenizer.encoding_for_model = lambda name: letters


def main() -> None:
    """Lead the libraries, and run the script as Python would."""
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    for name, lead in LEADS.items():
        if root := os.environ.get(name):
            lead(root.rstrip("/") + "/" * (name == "SLACK_API_BASE_URL"))
    if importlib.util.find_spec("tiktoken"):
        count_letters()
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
