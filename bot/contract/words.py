"""The words a person may write instead of a question: the same on every platform, each in its own form.

Adapters recognise a command with `parse` (or `bare` where a platform has no slash commands of its own) and put it
into `MessageSent.command`; `dispatcher.py` calls what answers it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

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
    Command("busy", argument="[queue | collect | interrupt | steer …]"),
    Command("voice", argument="[on | off]"),
    Command(
        "memory",
        argument="[forget N]",
        private=True,
    ),
    Command("reminders", argument="[pause|resume|delete N]", private=True),
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


_SLASH = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@\w+)?(?:\s+(.*))?", re.DOTALL)
_FIRST = re.compile(r"(?=\S{0,40}[！-～])\S{1,40}")
"""A first word with forms of full width."""
_WORD = re.compile(r"(?P<word>[A-Za-z]+)(?:(?P<colon>[ \t]*[:：])|(?=\s)|\Z)")


def parse(text: str) -> tuple[str, str] | None:
    """(`word`, argument) of a text that begins with a slash and a word; None for everything else.

    Unknown words are returned too, so that a person is told instead of the model; a path like `/etc/hosts` is not one.
    """
    match = _SLASH.fullmatch(_narrow(text.strip()))
    return (match[1].lower(), (match[2] or "").strip()) if match else None


def _narrow(text: str) -> str:
    """Return a text whose first word is in the usual width: East Asian keyboards write `／ｎｅｗ`."""
    first = _FIRST.match(text)
    return text if first is None else unicodedata.normalize("NFKC", first[0]) + text[first.end() :]


def bare(text: str, *, certain: bool = False) -> tuple[str, str] | None:
    """A command written without a slash, as the whole message: `new`, `model openai:gpt-5-mini`, `pair 1234-56`.

    What may be followed by any words needs a slash or a colon: `persona: answer in rhymes`.

    Args:
        certain: it stands where only commands are written, so that a word which is also a question (`why`) is one.
    """
    text = _narrow(text)
    slash, text = text.startswith("/"), text.removeprefix("/").strip()
    named = _WORD.match(text)
    command = BY_WORD.get(named["word"].lower()) if named is not None else None
    if named is None or command is None or (command.word == "why" and not certain):
        return None
    argument = text[named.end() :].strip()
    if command.word == "tool":
        # Without a slash it may be an English sentence; `bot.toolchoice.named` looks whether it names a tool.
        return (command.word, argument) if slash else None
    if command.argument.endswith("…]"):
        meant = slash or named["colon"] or not argument or argument.lower() in OFF
        return (command.word, argument) if meant else None
    if named["colon"]:
        return None
    fits = _fits(command.argument, argument) if command.argument else not argument
    return (command.word, argument) if fits or (not argument and command.argument.startswith("[")) else None


def _fits(form: str, argument: str) -> bool:
    """Whether `argument` looks like `form`: as many words, and those in small letters as they are; of `a | b` any."""
    wanted, given = form.strip("[]").split(), argument.split()
    if "|" in wanted:
        return {word.lower() for word in given} <= {*wanted} - {"|"}
    return len(wanted) == len(given) and all(
        not (word.isalpha() and word.islower()) or word == said.lower()
        for word, said in zip(wanted, given, strict=True)
    )


def help_text(language: str, form: str, *, admin: bool = False) -> str:
    """All commands with one line each; `form` is how the platform writes one, as `/{word}`."""
    lines = []
    for command in COMMANDS:
        if command.admin and not admin:
            continue
        written = form.format(word=command.word) + (f" {command.argument}" if command.argument else "")
        lines.append(f"- `{written}` — {say(f'command_{command.word}', language)}")
    return "\n".join(lines)
