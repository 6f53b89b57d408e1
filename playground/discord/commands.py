"""Application commands: what a bot may register, and what a person can then use."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from playground.discord.errors import (
    MISSING_ACCESS,
    NOT_THIS_APPLICATION,
    TOO_MANY_COMMANDS,
    TOO_MANY_DAILY_COMMANDS,
    Form,
    Refusal,
    form_error,
)
from playground.discord.rest import Answer, Asked, Route
from playground.discord.state import State
from playground.discord.world import Json

CHAT_INPUT, ON_MESSAGE = 1, 3
_TYPED = (3, 4, 10)
"""Types of options that are written: text, and numbers of both kinds."""
_DAY = 86_400.0
LOCALES = frozenset(
    (
        *(
            "id",
            "da",
            "de",
            "en-GB",
            "en-US",
            "es-ES",
            "es-419",
            "fr",
            "hr",
            "it",
            "lt",
            "hu",
            "nl",
            "no",
            "pl",
            "pt-BR",
        ),
        *("ro", "fi", "sv-SE", "vi", "tr", "cs", "el", "bg", "ru", "uk", "hi", "th", "zh-CN", "ja", "zh-TW", "ko"),
    )
)
"""The languages a person may have set. https://discord.com/developers/docs/reference#locales"""
_LOCALIZED = ("name_localizations", "description_localizations")
_KEPT = (
    "options",
    "default_member_permissions",
    "dm_permission",
    "integration_types",
    "contexts",
    "nsfw",
    *_LOCALIZED,
)


class Commands:
    """The registered commands of the application: global ones under "", a guild's under its id."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.registered: dict[str, dict[str, Json]] = {}
        self._created: list[float] = []

    def routes(self) -> list[Route]:
        routes = []
        for base in ("/applications/{application}/commands", "/applications/{application}/guilds/{guild}/commands"):
            routes += [
                Route("GET", base, self.list, bucket="commands"),
                Route("PUT", base, self.replace, bucket="commands"),
            ]
        return routes

    def find(self, name: str, guild: str, kind: int = CHAT_INPUT) -> Json | None:
        """The command that a person would use who types `name` in `guild`, or chooses it in a menu."""
        for scope in (guild, ""):
            for command in self.registered.get(scope, {}).values():
                if command["name"] == name and command["type"] == kind:
                    return command
        return None

    def list(self, asked: Asked) -> Answer:
        found = [*self._scope(asked).values()]
        if asked.query.get("with_localizations", "").lower() in ("true", "1"):
            return Answer(200, found)
        return Answer(200, [_without_translations(command) for command in found])

    def replace(self, asked: Asked) -> Answer:
        scope = self._scope(asked)
        if not isinstance(asked.body, list):
            raise form_error("_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
        form = Form()
        seen: set[tuple[int, str]] = set()
        for number, command in enumerate(asked.body):
            check_command(command, form, f"{number}.")
            key = (int(command.get("type") or CHAT_INPUT), str(command.get("name")))
            if key in seen:
                names = "Application command names must be unique"
                form.add(f"{number}", "APPLICATION_COMMANDS_DUPLICATE_NAME", names)
            seen.add(key)
        form.check()
        if len(asked.body) > 100:
            raise Refusal(TOO_MANY_COMMANDS)
        kept = {(command["type"], command["name"]): command for command in scope.values()}
        scope.clear()
        for command in asked.body:
            self._store(asked, command, kept.get((int(command.get("type") or CHAT_INPUT), command["name"])))
        return Answer(200, [*scope.values()])

    def _scope(self, asked: Asked) -> dict[str, Json]:
        if asked.parameters["application"] != self.state.application:
            raise Refusal(NOT_THIS_APPLICATION)
        guild = asked.parameters.get("guild", "")
        if guild and (guild not in self.state.guilds or not self.state.guilds[guild].member):
            raise Refusal(MISSING_ACCESS)
        return self.registered.setdefault(guild, {})

    def _store(self, asked: Asked, command: Json, known: Json | None) -> Json:
        now = self.state.clock.now()
        if known is None:
            self._created = [at for at in self._created if at > now - _DAY]
            if len(self._created) >= self.state.limits.daily_commands:
                raise Refusal(TOO_MANY_DAILY_COMMANDS)
            self._created.append(now)
        id = known["id"] if known else self.state.clock.snowflake()
        stored: Json = {
            "id": id,
            "application_id": self.state.application,
            "version": self.state.clock.snowflake(),
            "type": int(command.get("type") or CHAT_INPUT),
            "name": command["name"],
            "description": command.get("description") or "",
            "default_member_permissions": None,
            "nsfw": False,
        }
        stored |= {key: command[key] for key in _KEPT if key in command}
        if guild := asked.parameters.get("guild"):
            stored["guild_id"] = guild
        self._scope(asked)[id] = stored
        return stored


def check_command(command: Json, form: Form, path: str = "") -> None:
    """Note in `form` everything Discord would refuse about one command."""
    kind = command.get("type") or CHAT_INPUT
    name = command.get("name")
    if not isinstance(name, str):
        form.add(f"{path}name", "BASE_TYPE_REQUIRED", "This field is required")
    elif kind == CHAT_INPUT:
        _check_name(name, form, f"{path}name")
    elif not 1 <= len(name) <= 32:
        form.add(f"{path}name", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 32 in length.")
    if kind == CHAT_INPUT:
        _check_description(command, form, path)
        _check_options(command.get("options") or [], form, path)
        if _size(command) > 8000:
            form.add(path.rstrip(".") or "_", "APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)")
    elif command.get("description"):
        form.add(
            f"{path}description",
            "APPLICATION_COMMAND_CONTEXT_MENU_DESCRIPTION_NOT_ALLOWED",
            "Context menu commands cannot have description",
        )


def value_options(options: Sequence[Json], given: dict[str, object]) -> list[Json]:
    """What a person filled in, in the order of the command's options.

    Raises:
        ValueError: a required option is missing, or one is given that the command does not have.
    """
    unknown = set(given) - {option["name"] for option in options}
    missing = [option["name"] for option in options if option.get("required") and option["name"] not in given]
    if unknown or missing:
        raise ValueError(f"options {sorted(unknown)} are unknown and {missing} are missing")
    filled = [option for option in options if option["name"] in given]
    return [{"name": option["name"], "type": option["type"], "value": given[option["name"]]} for option in filled]


def typed_options(options: Sequence[Json], given: dict[str, str], focused: str) -> list[Json]:
    """What a person has written so far, also where required options are still missing.

    Raises:
        ValueError: the command has no such options, or nothing is offered while `focused` is written.
    """
    by_name = {option["name"]: option for option in options}
    if set(given) - set(by_name) or not by_name.get(focused, {}).get("autocomplete"):
        raise ValueError(f"nothing is offered for {focused!r} of {sorted(by_name)}")
    return [
        {"name": name, "type": by_name[name]["type"], "value": value} | ({"focused": True} if name == focused else {})
        for name, value in given.items()
    ]


def read_choices(data: Json) -> list[Json]:
    """What is offered to a person who types.

    Raises:
        Refusal: something of it breaks Discord's rules.
    """
    choices, form = data.get("choices"), Form()
    if not isinstance(choices, list) or len(choices) > 25:
        raise form_error("data.choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    for number, one in enumerate(choices):
        for field in ("name", "value"):
            if not 1 <= len(str(one.get(field) or "")) <= 100:
                form.add(
                    f"data.choices.{number}.{field}", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length."
                )
    form.check()
    return choices


def _without_translations(command: Json) -> Json:
    """A command as it is listed for who does not ask for the translations."""
    bare = {key: value for key, value in command.items() if key not in _LOCALIZED}
    if "options" in bare:
        bare["options"] = [_without_translations(option) for option in bare["options"] or ()]
    return bare


def _translations(one: Json, field: str, form: Form, path: str) -> dict[str, str]:
    """The texts of `field` in other languages, those noted in `form` left out that are for no language."""
    given = one.get(f"{field}_localizations") or {}
    for locale in given:
        if locale not in LOCALES:
            where = f"{path}{field}_localizations.{locale}"
            form.add(where, "ENUM_TYPE_COERCE", f'Value "{locale}" is not a valid enum value.')
    return {locale: str(text) for locale, text in given.items() if locale in LOCALES}


def _check_name(name: str, form: Form, path: str) -> None:
    if not 1 <= len(name) <= 32:
        form.add(path, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 32 in length.")
    elif name != name.lower() or not all(_in_name(letter) for letter in name):
        form.add(path, "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")


def _in_name(letter: str) -> bool:
    """Letters, numbers, - _ ' and the marks of Devanagari and Thai."""
    category = unicodedata.category(letter)
    marks = "\u0900" <= letter <= "\u097f" or "\u0e00" <= letter <= "\u0e7f"
    return letter in "-_'" or category[0] in "LN" or (marks and category[0] == "M")


def _check_description(command: Json, form: Form, path: str) -> None:
    text = command.get("description")
    if text is None:
        form.add(f"{path}description", "BASE_TYPE_REQUIRED", "This field is required")
    elif not 1 <= len(str(text)) <= 100:
        form.add(f"{path}description", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
    for locale, translated in _translations(command, "description", form, path).items():
        if not 1 <= len(translated) <= 100:
            where = f"{path}description_localizations.{locale}"
            form.add(where, "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.")
    for locale, translated in _translations(command, "name", form, path).items():
        _check_name(translated, form, f"{path}name_localizations.{locale}")


def _check_options(options: Sequence[Json], form: Form, path: str) -> None:
    if len(options) > 25:
        form.add(f"{path}options", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
    seen: set[str] = set()
    optional = False
    for number, option in enumerate(options):
        where = f"{path}options.{number}."
        _check_name(str(option.get("name") or ""), form, f"{where}name")
        _check_description(option, form, where)
        if option.get("name") in seen:
            form.add(
                f"{where}name", "APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option by that name already exists"
            )
        seen.add(str(option.get("name")))
        kind = option.get("type")
        if not isinstance(kind, int) or not 1 <= kind <= 11:
            form.add(f"{where}type", "BASE_TYPE_CHOICES", "Value must be one of (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11).")
        if option.get("required"):
            if optional:
                form.add(
                    f"{where.rstrip('.')}",
                    "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
                    "Required options must be placed before non-required options",
                )
        else:
            optional = True
        if option.get("autocomplete") and (kind not in _TYPED or option.get("choices")):
            form.add(
                f"{where}autocomplete",
                "APPLICATION_COMMAND_OPTIONS_AUTOCOMPLETE_INVALID",
                "Autocomplete is for options that are written, and have no choices",
            )
        if len(option.get("choices") or ()) > 25:
            form.add(f"{where}choices", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")


def _size(command: Json) -> int:
    """Characters of names, descriptions and values, all the way down; of translated ones the longest counts."""
    own = sum(
        max(
            len(str(text))
            for text in (command.get(field) or "", *(command.get(f"{field}_localizations") or {}).values())
        )
        for field in ("name", "description")
    )
    choices = sum(len(str(one.get("name"))) + len(str(one.get("value"))) for one in command.get("choices") or ())
    return own + choices + sum(_size(option) for option in command.get("options") or ())
