"""Replies to commands that need neither a model nor a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from bot.commands.reminders import ReminderList, asked_page, page_of
from bot.commands.usage import write_usage
from bot.commands.why import write_receipt
from bot.context import PERSONA_CHARS, Briefings, Busy, ChatBook, ChatFacts
from bot.contract import OFF, ON, Button, ControlPressed, MessageSent, Surface, help_text
from bot.markdown import escape, quote
from bot.model import Models
from bot.policy import Access, Quotas, ToolRights, payer_of
from bot.safety import Redact, clean_name, clean_untrusted
from bot.sentences import say
from bot.store import Store
from tools.calling.registry import ToolRegistry
from tools.contract.base import ToolSpec
from tools.contract.languages import in_language
from tools.contract.names import owner

_NAME_CHARS = 60
_MODES = frozenset(Busy)
_HEADINGS: Final = {
    "tools_finding": ("web", "files", "knowledge", "research", "weather", "finance", "data"),
    "tools_making": ("math", "code", "images"),
    "tools_keeping": ("memory", "time"),
}
_HEADING_OF: Final = {category: heading for heading, categories in _HEADINGS.items() for category in categories}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswers:
    """Reads and changes what a command names; one for the process."""

    store: Store
    access: Access
    models: Models
    registry: ToolRegistry
    quotas: Quotas
    briefings: Briefings
    book: ChatBook
    rights: ToolRights
    surface: Callable[[MessageSent], Surface]
    redact: Redact
    reminders: ReminderList
    list_tools: Callable[[], Awaitable[Iterable[str]]]
    """Returns the names of the tools of the processes that answer."""
    thoughts: bool = True
    """`/why` shows the beginning of a model's reasoning."""

    async def answer(self, message: MessageSent, language: str) -> str:  # noqa: C901  # a case for each command
        """Return the reply to a command as Markdown; `CommandActions` runs those that run or end a turn."""
        limits = self.surface(message).limits
        form = limits.command_form
        match message.command:
            case "start" if not await self.access.allows(message):
                key = "stranger_first" if await self.access.is_closed() else "stranger"
                text = say(key, language, id=message.sender.id, pair=form.format(word="pair"))
            case "start":
                text = say("started", language, help=form.format(word="help"))
            case "help":
                text = help_text(language, form, admin=await self.access.is_admin(message.sender))
            case "tools":
                text = list_tools(self.registry.specs((await self.rights.permit_for(message)).allows), language, form)
            case "model":
                text = await self._model(message, language)
            case "persona":
                text = await self._persona(message, language, form)
            case "busy":
                text = await self._busy(message, language, form)
            case "voice":
                text = await self._voice(message, language, form)
            case "memory":
                text = await ChatFacts(self.store.facts, message).command(message.text, language, form)
            case "reminders":
                text = await self.reminders.answer(message, language, limits)
            case "context":
                text = await self.briefings.report(message, language)
            case "why":
                text = await self._why(message, language)
            case "whoami":
                text = say("whoami", language, person=message.sender.id, chat=message.chat)
            case "usage":
                text = await self._usage(message, language)
            case "pair" if not message.text.strip() and await self.access.is_admin(message.sender):
                said, values = await self.access.change(message, "here")
                text = say(said, language, **values)
            case "pair":
                key = "pair_usage" if await self.access.is_closed() else "pair_usage_link"
                text = say(key, language, pair=form.format(word="pair"))
            case "link":
                said, values = await self.access.link(message)
                text = say(said, language, **values)
            case "allow":
                said, values = await self.access.change(message, message.text)
                text = say(said, language, whoami=form.format(word="whoami"), **values)
            case "people":
                text = await self._people(message, language)
            case word:
                text = say("unknown_command", language, word=word, help=form.format(word="help"))
        return text

    async def _why(self, message: MessageSent, language: str) -> str:
        """Return how the last answer was made, for its asker or an admin; for others, their own last one."""
        turns = self.store.turns
        last = await turns.find_last(message.chat)
        if last is None:
            return say("why_nothing", language)
        if last.person != message.sender.id and not await self.access.is_admin(message.sender):
            last = await turns.find_last_of_channel(message.chat, message.sender.id)
            if last is None or last.person != message.sender.id or last.chat != message.chat:
                return say("not_yours", language)
        return await write_receipt(self.store, self.quotas.prices, last, language, self.redact, thoughts=self.thoughts)

    async def suggest(self, message: MessageSent) -> tuple[str, ...]:
        """Return suggestions for the argument of a command that is being typed, likeliest first."""
        if not await self.access.allows(message):
            return ()
        match message.command:
            case "model" if await self._may_change(message):
                names: Iterable[str] = self.models.choices
            case "tool":
                permit = await self.rights.permit_for(message)
                names = (name for name in await self.list_tools() if permit.allows(name))
            case _:
                return ()
        begun = message.text.strip().lower()
        found = [name for name in names if begun in name.lower()]
        return tuple(sorted(found, key=lambda name: not name.lower().startswith(begun)))

    async def buttons(self, message: MessageSent, language: str) -> tuple[Button, ...]:
        """Return the buttons below the reply to a command."""
        if message.command != "reminders" or (page := asked_page(message)) is None:
            return ()
        return (await self.reminders.write_list(message, language, self.surface(message).limits, page))[1]

    async def press(self, press: ControlPressed, language: str) -> str:
        """Do what such a button says, as if its presser had written the command, and return the outcome."""
        form = self.surface(press.aside).limits.command_form
        return await self.reminders.change(press.aside, press.control, press.turn, language, form)

    async def list_again(self, press: ControlPressed, language: str) -> tuple[str, tuple[Button, ...]]:
        """Return the new content of such a button's message: its page of the present list, if the presser owns the
        reminders; otherwise nothing."""
        if not press.message_id or not (page := page_of(press.mark, press.sender.id)):
            return "", ()
        return await self.reminders.write_list(press.there, language, self.surface(press.there).limits, page)

    async def _usage(self, message: MessageSent, language: str) -> str:
        """Return today's usage of this person and this chat; in private, an admin sees everybody's."""
        admin = not message.group and await self.access.is_admin(message.sender)
        report = await self.quotas.report(payer_of(message), everybody=admin)
        model = await self.book.model_of(message.chat)
        return write_usage(report, language, priced=self.quotas.prices.price_of(model) is not None, everybody=admin)

    async def _people(self, message: MessageSent, language: str) -> str:
        if not await self.access.is_admin(message.sender):
            return say("admins_only", language)
        if message.group:
            return say("in_private", language)
        people = await self.access.list_people()
        names = await self.store.people.names_of(id for id, _ in people)
        lines = [f"- `{id}`{_as_code(names.get(id, ''))}: {role}" for id, role in people]
        return "\n".join(lines) or say("people_nobody", language)

    async def _model(self, message: MessageSent, language: str) -> str:
        name = message.text.strip()
        if not name:
            given = (await self.book.options_of(message.chat)).given_model
            model = await self.book.model_of(message.chat)
            now = say("model_given" if given else "model_now", language, model=model)
            others = len(self.models.choices) > 1 and await self._may_change(message)
            return f"{now} {say('model_choices', language, choices=self._list_choices())}" if others else now
        if not await self._may_change(message):
            return say("admins_only", language)
        if name.lower() in OFF:
            await self.book.set(message.chat, "model", None)
            return say("model_set", language, model=await self.book.model_of(message.chat))
        if name not in self.models.choices:
            return say("model_unknown", language, model=name, choices=self._list_choices())
        await self.book.set(message.chat, "model", name)
        return say("model_set", language, model=name)

    def _list_choices(self) -> str:
        return ", ".join(f"`{name}`" for name in self.models.choices)

    async def _persona(self, message: MessageSent, language: str, form: str) -> str:
        """Show, set or clear the chat's own instructions."""
        text, words = message.text.strip(), {"command": form.format(word="persona")}
        if not text:
            options = await self.book.options_of(message.chat)
            key = "persona_now" if options.persona else "persona_none"
            shown = [say(key, language, **words)]
            if options.persona:
                shown.append(quote(clean_untrusted(options.persona)))
            if options.instructions:
                shown.append(say("persona_given", language))
            return "\n\n".join(shown)
        if not await self._may_change(message):
            return say("admins_only", language)
        if text.lower() in OFF:
            await self.book.set(message.chat, "persona", None)
            return say("persona_off", language)
        if len(text) > PERSONA_CHARS:
            return say("persona_long", language, length=len(text), limit=PERSONA_CHARS)
        await self.book.set(message.chat, "persona", text)
        return say("persona_set", language, **words)

    async def _busy(self, message: MessageSent, language: str, form: str) -> str:
        """Show or set what happens to a question while another is being answered."""
        mode, command = message.text.strip().lower(), form.format(word="busy")
        if mode and not await self._may_change(message):
            return say("admins_only", language)
        if mode in OFF:
            mode = Busy.QUEUE
        if mode in _MODES:
            await self.book.set(message.chat, "busy", None if mode == Busy.QUEUE else mode)
        busy = (await self.book.options_of(message.chat)).busy
        now = say(f"busy_{busy}", language)
        return now if mode in _MODES else f"{now}\n\n{say('busy_modes', language, command=command)}"

    async def _voice(self, message: MessageSent, language: str, form: str) -> str:
        """Set whether answers in this chat are spoken."""
        wish, command = message.text.strip().lower(), form.format(word="voice")
        if self.models.speaker is None:
            return say("voice_unset", language)
        if wish and not await self._may_change(message):
            return say("admins_only", language)
        if wish in ON or wish in OFF:
            await self.book.set(message.chat, "voice", "on" if wish in ON else None)
        spoken = (await self.book.options_of(message.chat)).voice
        return say("voice_on" if spoken else "voice_off", language, command=command)

    async def _may_change(self, message: MessageSent) -> bool:
        """Return True if the sender may change how this chat is answered: in a group, only admins."""
        return not message.group or await self.access.is_admin(message.sender)


def _as_code(name: str) -> str:
    """Return a person's shown name, which is untrusted, as code if an id precedes it, so that it has no effect."""
    clean = clean_name(name).replace("`", "'")[:_NAME_CHARS]
    return f" `{clean}`" if clean else ""


def list_tools(specs: Iterable[ToolSpec], language: str, form: str) -> str:
    """Return all tools as Markdown, a short line each: ours by purpose, those of MCP servers by server.

    Args:
        form: the notation of commands here, as `/{word}`.
    """
    groups: dict[str, list[str]] = {say(heading, language): [] for heading in _HEADINGS}
    for spec in specs:
        label = in_language(spec.label, language) or spec.name
        groups.setdefault(_heading(spec, language), []).append(
            f"- {spec.icon} {escape(clean_name(label))} · `{spec.name}`"
        )
    parts = [f"**{heading}**\n" + "\n".join(lines) for heading, lines in groups.items() if lines]
    if not parts:
        return say("tools_none", language)
    return "\n\n".join([*parts, say("tools_foot", language, command=form.format(word="tool"))])


def _heading(spec: ToolSpec, language: str) -> str:
    if owner(spec.name):
        return escape(clean_name(spec.category))
    return say(_HEADING_OF.get(spec.category, "tools_more"), language)
