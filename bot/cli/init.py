"""`parley init`: asks for what the first start needs, checks each answer at once, and writes it into `.env`."""

from __future__ import annotations

import asyncio
import getpass
import os
import re
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from bot.cli.doctor import ask_a_word, check_platform, platform_table
from bot.cli.envfile import check_value, write_settings
from bot.cli.machine import examine_database
from bot.contract import BotError, SettingsError, SetupRefused, SystemClock, identity
from bot.model import PROVIDERS, ModelName, Models, default_model
from bot.operations import Outlet, set_up
from bot.settings import (
    Configuration,
    CoreSettings,
    model_options,
    names_in,
    secrets_of,
    settings_classes,
    texts,
    variables,
)
from bot.store import is_server
from tools.contract.credentials import in_address
from tools.contract.findings import Finding
from tools.contract.forms import sentences

CHECK_SECONDS = 60.0
_YES = ("y", "yes")


class Terminal(Protocol):
    """Where the questions are asked."""

    def say(self, line: str) -> None:
        """Show a line."""

    def ask(self, question: str, *, hidden: bool = False) -> str:
        """Return the typed line, without showing it if `hidden`.

        Raises:
            EOFError: the input has ended.
        """


class _Console:
    """The terminal this program was started in."""

    def __init__(self, outlet: Outlet) -> None:
        if not sys.stdin.isatty():
            raise SettingsError(
                "`parley init` asks questions in a terminal; without one, write .env as .env.example says"
            )
        self._outlet = outlet

    def say(self, line: str) -> None:
        print(self._outlet.line(line), flush=True)  # noqa: T201

    def ask(self, question: str, *, hidden: bool = False) -> str:
        return getpass.getpass(question) if hidden else input(question)


def begin(outlet: Outlet, terminal: Terminal | None = None, *, offline: bool = False) -> int:
    """Ask the questions, and write the answers in one step at the end; return the exit code.

    Args:
        terminal: None: the one in which this program was started.
        offline: ask no service anything.

    Raises:
        SettingsError: there is no terminal, or the settings file cannot be used.
    """
    set_up("CRITICAL", "console", outlet)
    terminal = terminal or _Console(outlet)
    named = os.environ.get("PARLEY_ENV_FILE")
    if named == "":
        raise SettingsError("PARLEY_ENV_FILE is empty, so no settings file is read")
    asking = _Asking(Path(named or ".env"), terminal, outlet, offline)
    try:
        asking.platforms()
        asking.model()
        asking.owner()
        asking.data()
    except (KeyboardInterrupt, EOFError):
        terminal.say("")
        terminal.say("Nothing was written.")
        return 130
    if asking.found:
        write_settings(asking.file, asking.found)
        terminal.say(f"Written into {asking.file}, which only you can read: {', '.join(asking.found)}.")
    else:
        terminal.say("There is nothing to write.")
    terminal.say("`parley doctor` checks everything; `parley run` starts the bot.")
    return 0


class _Asking:
    """The four questions. `found` collects the answers to write."""

    def __init__(self, file: Path, terminal: Terminal, outlet: Outlet, offline: bool) -> None:
        self.file = file
        self.found: dict[str, str] = {}
        self._terminal = terminal
        self._outlet = outlet
        self._offline = offline
        self._table = platform_table()
        identity.use({name: one.ids for name, one in self._table.items()})
        self._old = file if file.exists() else None
        if self._old is not None:
            names_in(file)  # raises if it cannot be read
        self._environment = {name.upper() for name, text in os.environ.items() if text.strip()}
        self._set = {name.upper(): text.strip() for name, text in texts(self._old).items()}
        self._about = variables([CoreSettings, *(one.settings for one in self._table.values())])
        outlet.mask(secrets_of(settings_classes(), self._old))

    def platforms(self) -> None:
        """Ask for the tokens of each platform."""
        self._terminal.say("1 of 4: where it answers. Tokens and keys are not shown while you type.")
        for platform, one in self._table.items():
            names = re.findall(r"[A-Z][A-Z_]+", one.settings.needs) if one.settings.begins else []
            if names and self._kept(names):
                names = [name for name in names if not self._set.get(name)]
                if not names:
                    self._try(platform, partial(self._examine_platform, platform, {}))
            if names and (origin := one.origin()):
                self._terminal.say(f"{platform.title()}: {origin}")
            while given := self._tokens(platform, names):
                if self._try(platform, partial(self._examine_platform, platform, given)):
                    self.found |= given
                    break

    def model(self) -> None:
        """Ask for the model, and its provider's key."""
        self._terminal.say(f"2 of 4: which model answers. Providers: {', '.join(PROVIDERS)}.")
        keys = {name: self._set.get(row.key, "") for name, row in PROVIDERS.items()}
        if self._kept(["MODEL"]):
            self._try("model", partial(self._examine_model, {}))
            return
        usual = default_model(keys) or str(ModelName(PROVIDERS["openai"], PROVIDERS["openai"].default_model))
        while True:
            text = self._terminal.ask(f"Model, as provider:name [{usual}]: ").strip() or usual
            if row := PROVIDERS.get(text.lower()):
                text = str(ModelName(row, row.default_model))
            given = {"MODEL": text}
            try:
                row = ModelName.parse(text).provider
            except SettingsError as error:
                self._report("model", Finding.bad(str(error)))
                continue
            if row.key_needed and not self._kept([row.key]):
                if not (key := self._secret(row.key, "no model yet")):
                    self._terminal.say("Without a model the bot does not start: MODEL and its key are missing.")
                    return
                given[row.key] = key
            if self._try("model", partial(self._examine_model, given)):
                self.found |= given
                return

    def owner(self) -> None:
        """Ask who owns the bot."""
        self._terminal.say(
            "3 of 4: who owns it. /whoami shows your id; without one, the start prints a code, and the first"
        )
        self._terminal.say("person who sends that code to the bot owns it.")
        if self._kept(["ADMINS"]):
            return
        while text := self._terminal.ask("Your id, as telegram:123 (Enter: use the code): ").strip():
            try:
                self.found["ADMINS"] = ",".join(identity.person(one.strip()) for one in text.split(","))
            except ValueError as error:
                self._report("owner", Finding.bad(str(error)))
            else:
                return

    def data(self) -> None:
        """Ask where chats are kept."""
        usual = self._about["DATABASE_URL"][0]
        self._terminal.say("4 of 4: where chats are kept.")
        if self._kept(["DATABASE_URL"]):
            self._try("database", partial(self._examine_data, {}))
            return
        while text := self._terminal.ask(f"File, or postgresql for a server [{usual}]: ").strip():
            if text.lower() in ("postgres", "postgresql"):
                text = self._secret("DATABASE_URL", "a file", "postgresql://USER:PASSWORD@HOST/NAME")
            elif "://" not in text:
                text = f"sqlite:///{os.path.expanduser(text)}"  # noqa: PTH111 - `Path` would take its dots away
            if text and self._try("database", partial(self._examine_data, {"DATABASE_URL": text})):
                self.found["DATABASE_URL"] = text
                return
        self._try("database", partial(self._examine_data, {}))

    def _tokens(self, platform: str, names: list[str]) -> dict[str, str]:
        """Return the typed values of these; empty if one is left out."""
        given = {}
        for name in names:
            if not (text := self._secret(name, f"without {platform.title()}")):
                return {}
            given[name] = text
        return given

    def _secret(self, name: str, otherwise: str, about: str = "") -> str:
        """Return a setting's value, typed hidden; empty: none."""
        while True:
            text = self._terminal.ask(f"{about or self._about[name][1]} (Enter: {otherwise}): ", hidden=True).strip()
            try:
                check_value(name, text)
            except SettingsError as error:
                self._report(name, Finding.bad(str(error)))
                continue
            if text:
                self._outlet.mask([text] if "://" not in text else in_address(text))
            return text

    def _kept(self, names: list[str]) -> bool:
        """Return True if these settings stay as they are: the environment wins over the file, and values in the file
        are replaced only if the person says so."""
        held = [name for name in names if self._set.get(name)]
        if not held:
            return False
        outside = [name for name in held if name in self._environment]
        if outside:
            self._terminal.say(f"{' and '.join(outside)} is set in the environment, which wins over {self.file}.")
            return True
        answer = self._terminal.ask(f"{self.file} sets {' and '.join(held)}. Replace? [y/N]: ")
        return answer.strip().lower() not in _YES

    def _try(self, what: str, check: Callable[[], Awaitable[list[Finding]]]) -> bool:
        """Show a check's findings; return False if the typed value is refused."""
        try:
            found = asyncio.run(_within(check))
        except (SettingsError, SetupRefused) as error:
            found = [Finding.bad(str(one)) for one in error.args]
        except (BotError, TimeoutError) as error:
            why = str(error) or "no answer came in time"
            found = [Finding.not_asked(f"{why}; accepted without a check, `parley doctor` checks it again")]
        for finding in found:
            self._report(what, finding)
        return all(finding.well for finding in found)

    def _report(self, what: str, finding: Finding) -> None:
        self._terminal.say(self._outlet.line(f"  {finding.verdict}  {what}: {finding.text}"))

    async def _examine_platform(self, platform: str, given: dict[str, str]) -> list[Finding]:
        settings = self._read(self._table[platform].settings, given)
        settings.require()
        if self._offline:
            return [Finding.not_asked("it looks like a token")]
        found = await check_platform(platform, settings)
        # The token is valid; other problems there do not make it wrong.
        return [finding if finding.well else Finding.note(finding.text) for finding in found]

    async def _examine_model(self, given: dict[str, str]) -> list[Finding]:
        core = self._read(CoreSettings, given)
        options = model_options(Configuration(core=core, platforms={}, tools={}, file=self._old))
        async with Models(options, SystemClock()) as models:
            model = models.only(options.name, "MODEL")
            if self._offline:
                return [Finding.not_asked(f"{options.name} is configured")]
            await ask_a_word(model, SystemClock())
        return [Finding.ok(f"{options.name} answers")]

    async def _examine_data(self, given: dict[str, str]) -> list[Finding]:
        core = self._read(CoreSettings, given)
        if self._offline and is_server(core.database_url):
            return [Finding.not_asked("it is a server's address")]
        found, _ = await examine_database(core, SystemClock())
        return [finding for _, finding in found]

    def _read(self, kind: Any, given: dict[str, str]) -> Any:
        """Return the settings as they will be: those in the file and those typed.

        Raises:
            SettingsError: some are malformed.
        """
        try:
            return kind(_env_file=self._old, **{name.lower(): text for name, text in given.items()})
        except ValidationError as error:
            raise SettingsError(*sentences(kind, error)) from None


async def _within(check: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    async with asyncio.timeout(CHECK_SECONDS):
        return await check()
