"""The commands, the same on every platform in each platform's notation.

Adapters recognise a command with `parse`, and with `bare` if the bot is addressed by name or the platform has no slash
commands, and put it into `MessageSent.command`; `bot/commands` answers it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from bot.sentences import say


@dataclass(frozen=True, slots=True)
class Command:
    """One command. The sentence `command_WORD` describes it, `argument_WORD` its argument."""

    word: str
    argument: str = ""
    """The notation of its argument, as help shows it."""
    open: bool = False
    """Works for people the bot does not know."""
    queued: bool = False
    """Waits for the chat's current turn, because it changes what the next one knows."""
    admin: bool = False
    """For admins; help shows it only to them."""
    private: bool = False
    """Its answer is private: others in the chat need not, or must not, read it."""


COMMANDS = (
    Command("start", open=True, private=True),
    Command("help", private=True),
    Command("new", argument="[all]", queued=True),
    Command("stop"),
    Command("retry", queued=True),
    Command("job", argument="TASK", queued=True),
    Command("tool", argument="NAME ARGUMENTS", queued=True),
    Command("tools", private=True),
    Command("model", argument="[provider:name]"),
    Command("persona", argument="[TEXT …]"),
    Command("busy", argument="[queue | collect | interrupt | steer]"),
    Command("voice", argument="[on | off]", queued=True),
    Command("memory", argument="[forget N]", private=True),
    Command("reminders", argument="[N | pause|resume|delete N]", private=True),
    Command("context", private=True),
    Command("forget", argument="[yes]", queued=True),
    Command("export", argument="[json | all]", queued=True),
    Command("why", private=True),
    Command("whoami", open=True, private=True),
    Command("usage", private=True),
    Command("pair", "[CODE]", open=True, private=True),
    Command("link", admin=True, private=True),
    Command("allow", "WHO", admin=True, private=True),
    Command("forbid", "WHO", admin=True, private=True),
    Command("people", admin=True, private=True),
)
OFF = frozenset({"off", "关", "关闭", "關", "關閉"})
"""Words that undo what a command has set."""
ON = frozenset({"on", "开", "打开", "開", "打開", "開啟"})
"""The opposite of `OFF`, for a command without other values."""
BY_WORD = {command.word: command for command in COMMANDS}


def is_private(word: str) -> bool:
    """Return True if the answer to this command, also an unknown one, is private."""
    return bool(word) and (word not in BY_WORD or BY_WORD[word].private)


ASK = "ask"
"""Written with a slash before a question; on Discord it is a command."""
JOB = "job"
"""Begins a question that is worked on for up to an hour; see `bot.turn.jobs`."""
_SLASH = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@(\w+))?(?:\s+(.*))?", re.DOTALL)
_FIRST = re.compile(r"(?=\S{0,40}[！-～])\S{1,40}")
"""A first word with full-width characters."""
_WORD = re.compile(r"(?P<word>[A-Za-z]+)(?:(?P<colon>[ \t]*[:：])|(?=\s)|\Z)")
_TAKES = {
    "N": r"\d+",
    "CODE": r"[\d\s-]+",
    "WHO": r"(?:\S{1,200}:\S{1,200}|here|这里|此聊天|這裡|這個聊天室)(?:[\s=]+\w+)?",
    "provider:name": r"\S{1,100}:\S{1,200}",
    "TEXT …": r"(?s:.*[^?？])",
}
"""Patterns for the names in `Command.argument`. Any words, unless they are a question, which ends in `?`."""


def parse(text: str) -> tuple[str, str] | None:
    """Return (`word`, argument) of a text that begins with a slash and a word; None for all other texts.

    The word is empty for `/ask` with a question. An unknown word is returned, too, and answered by us rather than the
    model, unless a sentence follows, which is for the model; a path like `/etc/hosts` is not a command.
    """
    match = _SLASH.fullmatch(_narrow(text.strip()))
    if match is None:
        return None
    word, argument = match[1].lower(), (match[3] or "").strip()
    if word == ASK:
        return ("", argument) if argument else ("help", "")
    # East Asian sentences have no spaces.
    sentence = len(argument.split(maxsplit=1)) > 1 or not argument.isascii()
    return None if sentence and word not in BY_WORD else (word, argument)


def named_in(text: str) -> str:
    """Return the bot that a slash command names, as in `/new@parley_bot`; empty if it names none, or is not a
    command."""
    match = _SLASH.fullmatch(_narrow(text.strip()[:100]))
    return (match[2] or "") if match else ""


def _narrow(text: str) -> str:
    """Return a text whose first word has the usual width: East Asian keyboards write `／ｎｅｗ`."""
    first = _FIRST.match(text)
    return text if first is None else unicodedata.normalize("NFKC", first[0]) + text[first.end() :]


def bare(text: str, *, certain: bool = False) -> tuple[str, str] | None:
    """A command written without a slash, as the whole message: `new`, `model openai:gpt-5-mini`, `busy collect`.

    The rest must match the command's argument word for word. A command that takes any words does not take a question,
    which ends in a question mark (`persona non grata means what?`), but takes everything after a colon (`persona: who
    am I?`).

    Args:
        certain: the bot is addressed by name, so a word that is also a question (`why`) is a command.
    """
    text = _narrow(text)
    slash, text = text.startswith("/"), text.removeprefix("/").strip()
    named = _WORD.match(text)
    if named is None:
        return None
    word, argument = named["word"].lower(), text[named.end() :].strip()
    if slash and word == ASK and argument:
        return "", argument
    command = BY_WORD.get(word)
    if command is None or (word == "why" and not certain):
        return None
    if word in ("tool", JOB):
        # Without a slash it may be an English sentence; `bot.toolchoice.named` checks whether it names a tool.
        return (word, argument) if slash else None
    if named["colon"] and ("…" in command.argument or not argument):
        return (word, argument) if "…" in command.argument else None
    optional = not command.argument or command.argument.startswith("[")
    takes = _pattern(command.argument).fullmatch(argument) if argument else optional
    return (word, argument) if takes or (optional and command.argument and argument.lower() in OFF) else None


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return the pattern of an argument in this notation: words separated by ` | ` may come in any order."""
    inner = form.strip("[]")
    if inner in _TAKES:
        return re.compile(_TAKES[inner])
    if " | " in inner:
        word = f"(?:{'|'.join(map(_in_order, inner.split(' | ')))})"
        return re.compile(rf"{word}(?:\s+{word})*", re.IGNORECASE)
    return re.compile(_in_order(inner), re.IGNORECASE)


def _in_order(form: str) -> str:
    """Return the pattern of words that follow each other."""
    return r"\s+".join(_TAKES.get(part, f"(?:{part})") for part in form.split())


def help_text(language: str, form: str, *, admin: bool = False) -> str:
    """All commands with one line each; `form` is how the platform writes one, as `/{word}`."""
    lines = []
    for command in COMMANDS:
        if command.admin and not admin:
            continue
        written = form.format(word=command.word) + (f" {command.argument}" if command.argument else "")
        lines.append(f"- `{written}` — {say(f'command_{command.word}', language)}")
    return "\n".join(lines)
