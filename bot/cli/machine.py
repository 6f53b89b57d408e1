"""Examine the machine for `parley doctor`: the database and its disk, the time zone, the prices, the HTTP port."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import urllib.request
from collections.abc import Collection, Sequence
from pathlib import Path

from bot.cli.fleetcheck import Result, examine_server, format_size, list_unfinished
from bot.cli.standing import explain_unpriced, has_limits, open_files
from bot.contract import BotError, Clock, SettingsError, Usage
from bot.policy import ANSWER_TOKENS, PROMPT_MARGIN, Prices, count_at_once, read_prices
from bot.settings import CoreSettings
from bot.store import database_files, inspect, is_server, open_to_all, real_path
from tools.contract.findings import Finding
from tools.contract.network import find_proxy_faults

LEAST_FREE = 200 * 2**20
"""Bytes of free disk below which the doctor warns."""


async def examine_machine(
    core: CoreSettings,
    models: Sequence[str],
    clock: Clock,
    platforms: Collection[str] = (),
    secret_files: Sequence[Path] = (),
    *,
    by_web: bool = False,
    digests: str = "",
    prompt: int = 0,
) -> list[Result]:
    """Check everything that needs no service.

    Args:
        models: the `provider:name` of every model that can answer.
        platforms: the configured platforms.
        secret_files: the operator's files that contain keys and tokens.
        by_web: a platform posts to our public address.
        digests: the digests of the settings that all processes on one database share, from `digests_of`.
        prompt: the tokens of a first question's prompt, without the person's message.
    """
    results, usual = await examine_database(core, clock, platforms, digests)
    results += [("settings", Finding.bad(sentence)) for sentence in open_files(secret_files)]
    results += [("network", Finding.bad(sentence)) for sentence in find_proxy_faults()]
    results.append(("time zone", Finding.ok(core.time_zone)))
    results += _examine_prices(core, models)
    results += examine_quotas(core, models, usual or prompt)
    if core.http_port:
        results.append(await asyncio.to_thread(_examine_port, "HTTP_PORT", core.http_host, core.http_port))
    if by_web and core.web_port:
        results.append(await asyncio.to_thread(_examine_port, "WEB_PORT", core.web_host, core.web_port))
    return results


async def examine_database(
    core: CoreSettings, clock: Clock, platforms: Collection[str] = (), digests: str = ""
) -> tuple[list[Result], int]:
    """Return the findings, and the tokens of a usual question's prompt; 0: no question was answered yet."""
    if is_server(core.database_url):
        return await examine_server(core.database_url, clock, platforms, digests)
    try:
        path = real_path(core.database_url)
        found = await inspect(path, clock)
    except BotError as error:
        return [("database", Finding.bad(str(error)))], 0
    if found is None:
        results = [_examine_place(path)]
    elif found.damage:
        text = f"{path} is damaged ({found.damage}); the start renames it and begins a new one"
        results = [("database", Finding.bad(f"{text}: restore a backup first (parley restore FILE), if there is one"))]
    elif not found.writable:
        results = [("database", Finding.bad(f"this user must be able to write {path} and its folder"))]
    else:
        size = f"{path} is sound, {format_size(found.bytes)}"
        log = f" and {format_size(found.wal_bytes)} in its write-ahead log" if found.wal_bytes else ""
        mode = "" if found.journal == "wal" else "; the start switches its write-ahead log on"
        results = [("database", Finding.ok(size + log + mode))]
        if found.older:
            text = f"{path} is from an earlier version; the next start upgrades it and keeps a copy"
            results.append(("database", Finding.note(text)))
    if found is not None and found.kept_bytes:
        results.append(("database", Finding.note(_explain_kept(path, found.kept_bytes))))
    for file in database_files(path):
        if mode := open_to_all(file):
            text = f"every user of this machine can read {file} (mode {mode}); the next start changes that"
            results.append(("database", Finding.bad(text)))
    home = next(folder for folder in path.parents if folder.exists())
    free = shutil.disk_usage(home).free
    few = "" if free >= LEAST_FREE else "; a full disk stops every answer: make room"
    space = f"{format_size(free)} free at {home}{few}"
    results.append(("disk", Finding.bad(space) if few else Finding.ok(space)))
    if found is not None and all(finding.well for _, finding in results):
        results += list_unfinished(found.unfinished, platforms)
    return results, found.prompt if found is not None else 0


def _explain_kept(path: Path, count: int) -> str:
    return (
        f"{format_size(count)} of earlier copies are beside {path}, with data that was deleted since: "
        f"delete {path.name}.before-… and {path.name}.damaged-… when all is well"
    )


def _examine_place(path: Path) -> Result:
    """Check that a missing database can be created."""
    home = next(folder for folder in path.parents if folder.exists())
    if home.is_dir() and os.access(home, os.W_OK):
        return "database", Finding.ok(f"the first start makes {path}")
    return "database", Finding.bad(f"{path} cannot be made: this user cannot write {home}; see DATABASE_URL")


def _examine_prices(core: CoreSettings, models: Sequence[str]) -> list[Result]:
    try:
        prices = Prices(read_prices(core.prices))
    except SettingsError as error:
        return [("prices", Finding.bad(str(error)))]
    results = []
    for model in models:
        price = prices.price_of(model)
        if price is not None:
            cost = f"${price.input:g} in, ${price.output:g} out for a million tokens" if price.output else "free"
            cost = f"${price.minute:g} for a minute of speech" if price.minute else cost
            results.append(("prices", Finding.ok(f"{model}: {cost}")))
        elif has_limits(core):
            # An operator who set no limit need not know it about a server of their own.
            wanted = {"money_per_day", "money_per_day_person", "money_per_day_workspace"} & core.model_fields_set
            text = explain_unpriced(model)
            results.append(("prices", Finding.bad(text) if wanted else Finding.note(text)))
        else:
            results.append(("prices", Finding.note(f"the price of {model} is unknown; /usage counts its tokens")))
    return results


def examine_quotas(core: CoreSettings, models: Sequence[str], prompt: int) -> list[Result]:
    """Report how many people can ask at once within the daily quotas.

    Args:
        prompt: the tokens of a usual question's prompt.
    """
    try:
        prices = Prices(read_prices(core.prices))
    except SettingsError:
        return []  # reported elsewhere
    question = Usage(int(prompt * PROMPT_MARGIN), ANSWER_TOKENS)
    dearest = max((prices.dollars_of(model, question) or 0.0 for model in models), default=0.0)
    people = count_at_once(core, question.prompt + question.completion, dearest)
    if people is None:
        return [("quotas", Finding.ok("any number of people may ask at once"))]
    text = f"about {people:,} people may ask at once on a fresh day; TOKENS_PER_DAY and MONEY_PER_DAY allow more"
    return [("quotas", Finding.ok(text) if people else Finding.bad(f"{text}: nobody gets an answer"))]


def _examine_port(setting: str, host: str, port: int) -> Result:
    """Check that we can listen there, or that a running bot of ours already does."""
    name, what = setting.partition("_")[0].lower(), f"{host}:{port}"
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
    except OSError as error:
        if _answers_as_ours(host, port):
            return name, Finding.ok(f"a running bot serves {what}")
        text = f"{setting} {port} at {host} cannot be used ({error.strerror}); choose another or unset it"
        return name, Finding.bad(text)
    return name, Finding.ok(f"{what} is free")


def _answers_as_ours(host: str, port: int) -> bool:
    asked = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{asked}:{port}/health", timeout=2) as answer:
            told = json.loads(answer.read(4096))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("ok") is True
