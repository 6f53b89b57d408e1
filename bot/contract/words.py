"""The words a person may write instead of a question: the same on every platform, each in its own form.

Adapters recognise a command with `parse`, and with `bare` where the bot is addressed by name or a platform has no slash
commands of its own, and put it into `MessageSent.command`; `bot/commands` answers it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

from bot.sentences import say


@dataclass(frozen=True, slots=True)
class Command:
    """One word. What it does is told by the sentence `command_WORD`, what may follow it by `argument_WORD`."""

    word: str
    argument: str = ""
    """What may follow it, as help shows it."""
    open: bool = False
    """Works for people the bot does not know."""
    queued: bool = False
    """Waits for the chat's current turn, because it changes what the next one knows."""
    admin: bool = False
    """For admins; help shows it to them only."""
    private: bool = False
    """Its answer is for who asked: others in the place need not read it, or must not."""


COMMANDS = (
    Command("start", open=True, private=True),
    Command("help", private=True),
    Command("new", argument="[all]", queued=True),
    Command("stop"),
    Command("retry", queued=True),
    Command("tool", argument="NAME ARGUMENTS", queued=True),
    Command("tools", private=True),
    Command("model", argument="[provider:name]"),
    Command("persona", argument="[TEXT …]"),
    Command("busy", argument="[queue | collect | interrupt | steer]"),
    Command("voice", argument="[on | off]", queued=True),
    Command(
        "memory",
        argument="[forget N]",
        private=True,
    ),
    Command("reminders", argument="[N | pause|resume|delete N]", private=True),
    Command("context", private=True),
    Command("forget", argument="[yes]", queued=True),
    Command("export", argument="[json | all]", queued=True),
    Command("why", private=True),
    Command("whoami", open=True, private=True),
    Command("usage", private=True),
    Command(
        "pair",
        "[CODE]",
        open=True,
        private=True,
    ),
    Command("link", admin=True, private=True),
    Command("allow", "WHO", admin=True, private=True),
    Command("forbid", "WHO", admin=True, private=True),
    Command("people", admin=True, private=True),
)
OFF = frozenset({"off", "关", "关闭", "關", "關閉"})
"""Takes away what a command has set."""
ON = frozenset({"on", "开", "打开", "開", "打開", "開啟"})
"""Chooses what `OFF` takes away, where a command has nothing else to choose."""
BY_WORD = {command.word: command for command in COMMANDS}


def is_private(word: str) -> bool:
    """Whether a command, also one that is none of ours, is answered to who asked alone."""
    return bool(word) and (word not in BY_WORD or BY_WORD[word].private)


ASK = "ask"
"""Written with a slash before a question; Discord has it as a command."""
_SLASH = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@(\w+))?(?:\s+(.*))?", re.DOTALL)
_FIRST = re.compile(r"(?=\S{0,40}[！-～])\S{1,40}")
"""A first word with forms of full width."""
_WORD = re.compile(r"(?P<word>[A-Za-z]+)(?:(?P<colon>[ \t]*[:：])|(?=\s)|\Z)")
_TAKES = {
    "N": r"\d+",
    "CODE": r"[\d\s-]+",
    "WHO": r"(?:\S{1,200}:\S{1,200}|here|这里|此聊天|這裡|這個聊天室)(?:[\s=]+\w+)?",
    "provider:name": r"\S{1,100}:\S{1,200}",
    "TEXT …": r"(?s:.*[^?？])",
}
"""What is written in the place of a name in `Command.argument`. Any words make no question: those end in `?`."""


def parse(text: str) -> tuple[str, str] | None:
    """(`word`, argument) of a text that begins with a slash and a word; None for everything else.

    The word is empty for `/ask` and a question. An unknown word is returned too, so that a person is told instead of
    the model, but not before a sentence, which is for the model; a path like `/etc/hosts` is not one.
    """
    match = _SLASH.fullmatch(_narrow(text.strip()))
    if match is None:
        return None
    word, argument = match[1].lower(), (match[3] or "").strip()
    if word == ASK:
        return ("", argument) if argument else ("help", "")
    # East Asian sentences have no blanks.
    sentence = len(argument.split(maxsplit=1)) > 1 or not argument.isascii()
    return None if sentence and word not in BY_WORD else (word, argument)


def named_in(text: str) -> str:
    """Return whom a slash command names, as `/new@parley_bot`; empty where it names nobody, or there is none."""
    match = _SLASH.fullmatch(_narrow(text.strip()[:100]))
    return (match[2] or "") if match else ""


def _narrow(text: str) -> str:
    """Return a text whose first word is in the usual width: East Asian keyboards write `／ｎｅｗ`."""
    first = _FIRST.match(text)
    return text if first is None else unicodedata.normalize("NFKC", first[0]) + text[first.end() :]


def bare(text: str, *, certain: bool = False) -> tuple[str, str] | None:
    """A command written without a slash, as the whole message: `new`, `model openai:gpt-5-mini`, `busy collect`.

    What follows must be what the command takes, word for word. One that takes any words takes no question, which ends
    in a question mark (`persona non grata means what?`), and behind a colon everything (`persona: who am I?`).

    Args:
        certain: the bot is addressed by name, so that a word which is also a question (`why`) is a command.
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
    if word == "tool":
        # Without a slash it may be an English sentence; `bot.toolchoice.named` looks whether it names a tool.
        return (word, argument) if slash else None
    if named["colon"] and ("…" in command.argument or not argument):
        return (word, argument) if "…" in command.argument else None
    optional = not command.argument or command.argument.startswith("[")
    takes = _pattern(command.argument).fullmatch(argument) if argument else optional
    return (word, argument) if takes or (optional and command.argument and argument.lower() in OFF) else None


@cache
def _pattern(form: str) -> re.Pattern[str]:
    """Return what matches an argument of this form: its words, in any order where they stand between ` | `."""
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
