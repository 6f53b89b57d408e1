"""The command line: its commands and their exit codes.

0: done. 1: it failed while running. 2: it cannot start as configured or as called; one sentence says why. Heavy imports
happen inside the commands, so that `parley --help` answers at once.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from bot.operations import Outlet
    from bot.settings import Configuration

    class _Commands(Protocol):
        """The used part of what `add_subparsers` returns."""

        def add_parser(self, name: str, *, help: str, description: str) -> argparse.ArgumentParser: ...


log = logging.getLogger(__name__)

_DESCRIPTION = """\
One assistant that answers in Telegram, Slack and Discord.

Without a command: `run` when a platform token is set, else `playground`.
Settings come from the environment or a file .env; .env.example explains each.
"""


_UNUSABLE = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP)
"""Errors about a path that the operator named, not faults of this program."""
_CHAT = "the chat's id, as `parley chats` lists it"
_ADDRESS = "sqlite:///FILE or postgresql://…, or the name of a variable that contains it, so that no password shows"


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    from bot.cli.installation import read_version

    top = argparse.ArgumentParser(
        prog="parley", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {read_version()}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Command)

    def add(name: str, purpose: str) -> argparse.ArgumentParser:
        return _add(commands, name, purpose)

    run = add("run", "answer on every platform whose token is set")
    run.add_argument(
        "--only",
        choices=("intake", "turns"),
        help="one of several processes on a PostgreSQL: only receive (intake), or only answer (turns)",
    )
    run.add_argument(
        "--new-settings",
        action="store_true",
        help="start even though running processes have other settings, to replace them one by one",
    )
    init = add("init", "ask for tokens, model, owner and database, check each, and write them into .env")
    init.add_argument("--offline", action="store_true", help="ask no services")
    playground = add("playground", "try it in the browser: no account, no key, nothing leaves this machine")
    playground.add_argument("--port", type=int, help="port of the page (8765, or the next free one)")
    playground.add_argument("--no-browser", action="store_true", help="do not open a browser")
    playground.add_argument("--data", help="folder for its conversations (default: a temporary one)")
    chat = add("chat", "talk to it in this terminal")
    chat.add_argument("--name", default="me", help="whose conversation to continue (me)")
    tools = add("tools", "list the tools, or run one")
    tools.add_argument("name", nargs="?", help="the tool to run")
    tools.add_argument("arguments", nargs="?", default="{}", help="its arguments as JSON")
    tools.add_argument("--data", metavar="FILE", type=Path, help="a file in which tools keep their data")
    doctor = add("doctor", "check tokens, model and tools, and say how to fix them")
    doctor.add_argument("--offline", action="store_true", help="ask no services")
    usage = add("usage", "show tokens and dollars by day, person, chat and model")
    usage.add_argument("--days", metavar="N", type=int, default=30, help="days to show, today included (30)")
    usage.add_argument("--json", action="store_true", help="as JSON, every row")
    _add_chats(add("chats", "list, export or delete stored chats; trace one question"))
    replay = add("replay", "repeat a stored turn offline, and say whether it comes out the same")
    replay.add_argument("reference", metavar="REFERENCE", help="the six characters that the person saw, as a1b2c3")
    replay.add_argument("--test", metavar="FILE", help="write it as a test, without people's names, ids and keys")
    backup = add("backup", "write a copy of the whole database to a file, also while the bot runs")
    backup.add_argument("file", metavar="FILE", help="the file to write; only its owner can read it")
    backup.add_argument("--overwrite", action="store_true", help="replace an existing file")
    restore = add("restore", "replace the database with a backup, and keep the old one beside it")
    restore.add_argument("file", metavar="FILE", help="a file from `parley backup`, or a copy that the bot kept")
    restore.add_argument("--yes", action="store_true", help="do not ask first")
    return top


class _Command(argparse.ArgumentParser):
    """The parser of one command, whose options can come before, between and after its arguments."""

    _intermixed = False
    _has_commands = False

    def add_subparsers(self, **kwargs: Any) -> Any:
        self._has_commands = True
        return super().add_subparsers(**kwargs)

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse like the base class, which accepts optional arguments only side by side, and refuse the rest."""
        if self._intermixed:
            return super().parse_known_args(args, namespace)
        self._intermixed = True
        try:
            parse = super().parse_known_args if self._has_commands else self.parse_known_intermixed_args
            parsed, left = parse(args, namespace)
        finally:
            self._intermixed = False
        if left:
            self.error(f"unrecognized arguments: {' '.join(left)}")
        return parsed, left


def _add(commands: _Commands, name: str, purpose: str) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")


def _add_chats(chats: argparse.ArgumentParser) -> None:
    actions = chats.add_subparsers(dest="action", metavar="ACTION", help="without one: list", parser_class=_Command)
    _add(actions, "list", "list the stored chats, the latest first")
    export = _add(actions, "export", "write one chat to standard output, as JSON: a line for each turn")
    export.add_argument("chat", metavar="ID", help=_CHAT)
    export.add_argument("--markdown", action="store_true", help="as people saw it, to read, instead of JSON")
    forget = _add(actions, "forget", "delete one chat, or everything of one person, for good")
    forget.add_argument("chat", metavar="ID", nargs="?", help=_CHAT)
    forget.add_argument("--person", metavar="PERSON", help="everything of one person in all chats, as telegram:123")
    forget.add_argument("--yes", action="store_true", help="do not ask first")
    move = _add(actions, "move", "copy everything from one database to another of either kind, and compare")
    move.add_argument("source", metavar="FROM", help=_ADDRESS)
    move.add_argument("target", metavar="TO", help=f"{_ADDRESS}; empty, or left by an interrupted move")
    trace = _add(actions, "trace", "show what is stored of one question: its calls, messages and error")
    trace.add_argument("reference", metavar="REFERENCE", help="the six characters that the person saw, as a1b2c3")


def main(arguments: Sequence[str]) -> int:
    """Run one command; return the exit code. All output passes through one outlet until the process ends."""
    options = parser().parse_args(list(arguments))
    from bot.contract import BotError, SettingsError
    from bot.operations import Outlet, set_up

    outlet = Outlet()
    outlet.take_over()
    set_up("WARNING", "console", outlet)
    try:
        code = _run_command(options, outlet)
        sys.stdout.flush()
        return code
    except BotError as error:
        for problem in error.args if isinstance(error, SettingsError) else [str(error)]:
            print(f"parley: {outlet.line(str(problem))}", file=sys.stderr)  # noqa: T201
        return 2 if isinstance(error, SettingsError) else 1
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. Otherwise the interpreter would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 130
    except OSError as error:
        if error.filename is None or error.errno not in _UNUSABLE:
            raise
        # Also raised by looking for a file in a folder that this user may not enter.
        said = f"{os.fsdecode(error.filename)!r} cannot be used by this user: {error.strerror}"
        print(f"parley: {outlet.line(said)}", file=sys.stderr)  # noqa: T201
        return 2
    except KeyboardInterrupt:
        return 130


def _run_command(options: argparse.Namespace, outlet: Outlet) -> int:
    if options.command == "playground":
        return _run_playground(options)
    if options.command == "init":
        from bot.cli.init import begin

        return begin(outlet, offline=options.offline)
    if options.command in ("run", None):
        from bot.operations import keep_compact

        keep_compact()  # before much is loaded
    configuration = configured(outlet)
    if options.command is None and not configuration.configured:
        return _run_playground(parser().parse_args(["playground"]))
    if options.command not in ("run", None, "doctor"):
        for sentence in _warnings(configuration):
            print(f"parley: {sentence}", file=sys.stderr)  # noqa: T201
    match options.command:
        case "run" | None:
            return _run(configuration, outlet, options)
        case "chat":
            return _run_chat(configuration, outlet, options.name)
        case "tools":
            return _run_tools(configuration, outlet, options)
        case "doctor":
            from bot.cli.doctor import examine

            return asyncio.run(examine(configuration, outlet, offline=options.offline))
        case "backup":
            from bot.cli.backup import write_backup

            return write_backup(configuration.core.database_url, options.file, overwrite=options.overwrite)
        case "restore":
            from bot.cli.backup import restore_backup

            return restore_backup(configuration.core.database_url, options.file, sure=options.yes)
        case "replay":
            return _replay(configuration, outlet, options)
        case "usage":
            from bot.cli.usage import print_usage

            return asyncio.run(print_usage(configuration.core, options.days, as_json=options.json))
        case _:
            return asyncio.run(_look_after_chats(configuration.core.database_url, options))


async def _look_after_chats(database_url: str, options: argparse.Namespace) -> int:
    from bot.cli import chats
    from bot.contract import SettingsError

    match options.action:
        case "export":
            return await chats.export(database_url, options.chat, markdown=options.markdown)
        case "forget":
            if (options.chat is None) == (options.person is None):
                raise SettingsError("delete what? Either one chat (ID) or one person (--person telegram:123)")
            if options.person is not None:
                return await chats.forget_person(database_url, options.person, sure=options.yes)
            return await chats.forget(database_url, options.chat, sure=options.yes)
        case "move":
            from bot.cli.moving import move

            return await move(options.source, options.target)
        case "trace":
            return await chats.trace(database_url, options.reference)
        case _:
            return await chats.list_chats(database_url)


def configured(outlet: Outlet) -> Configuration:
    """Return all settings. Secrets are masked before any is checked, so that no error message shows one."""
    from bot.settings import configure, env_file, secrets_of, settings_classes

    outlet.mask(secrets_of(settings_classes(), env_file()))
    return configure()


def _warnings(configuration: Configuration) -> list[str]:
    """Return the warnings about the settings that come before anything else."""
    from bot.cli.standing import open_files

    return [*configuration.left_out, *configuration.strays.sentences, *open_files(configuration.secret_files)]


def _run(configuration: Configuration, outlet: Outlet, options: argparse.Namespace) -> int:
    from bot.cli.run import run
    from bot.contract import SettingsError
    from bot.operations import read_in_pieces, set_up

    read_in_pieces()
    set_up(configuration.core.log_level, configuration.core.log_format, outlet)
    for sentence in _warnings(configuration):
        log.warning("%s", sentence)
    names = configuration.configured
    if not names:
        needs = " or ".join(one.needs for one in configuration.platforms.values() if one.needs)
        raise SettingsError(f"no platform is configured: set {needs} (`parley playground` needs none)")
    only, other = getattr(options, "only", None), getattr(options, "new_settings", False)
    asyncio.run(run(configuration, names, outlet, only, new_settings=other))
    return 0


def _run_playground(options: argparse.Namespace) -> int:
    """Replace this process by the playground's, which imports none of our code and starts the bot as its child."""
    from bot.cli.installation import package_path

    # -P: a folder `playground` in the working directory is somebody else's.
    command = [sys.executable, "-P", "-m", "playground"]
    if options.port is not None:
        command += ["--port", str(options.port)]
    if options.no_browser:
        command += ["--no-browser"]
    if options.data:
        command += ["--data", options.data]
    os.execve(sys.executable, command, {**os.environ, **package_path()})


def _run_chat(configuration: Configuration, outlet: Outlet, name: str) -> int:

    from bot.cli.chat import chat
    from bot.operations import set_up

    set_up("ERROR", configuration.core.log_format, outlet)
    return chat(configuration, outlet, name)


def _replay(configuration: Configuration, outlet: Outlet, options: argparse.Namespace) -> int:
    from bot.cli.replay import replay
    from bot.cli.replaytest import record

    if options.test:
        return asyncio.run(record(configuration, options.reference, options.test, outlet.words))
    return asyncio.run(replay(configuration, options.reference))


def _run_tools(configuration: Configuration, outlet: Outlet, options: argparse.Namespace) -> int:
    import importlib

    shell = importlib.import_module("tools.shell.run")
    return int(
        shell.main(
            configuration.tools,
            options.name,
            options.arguments,
            data=options.data,
            plugins=configuration.plugins,
            mask=outlet.mask,
            off=configuration.core.tools_off,
        )
    )
