"""Replies to commands that need neither a model nor a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from bot.commands.reminders import ReminderList, asked_page, page_of
from bot.commands.usage import write_usage
from bot.commands.why import write_receipt
from bot.context import PERSONA_CHARS, Admitted, Briefings, Busy, ChatBook, ChatFacts
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

    async def answer(self, asked: Admitted) -> str:  # noqa: C901  # a case for each command
        """Return the reply to a command as Markdown; `CommandActions` runs those that run or end a turn."""
        message = asked.message
        limits = self.surface(message).limits
        form = limits.command_form
        match message.command:
            case "start" if not await self.access.allows(message):
                key = "stranger_first" if await self.access.is_closed() else "stranger"
                text = asked.say(key, id=message.sender.id, pair=form.format(word="pair"))
            case "start":
                text = asked.say("started", help=form.format(word="help"))
            case "help":
                text = help_text(asked.language, form, admin=await self.access.is_admin(message.sender))
            case "tools":
                text = list_tools(
                    self.registry.specs((await self.rights.permit_for(message)).allows), asked.language, form
                )
            case "model":
                text = await self._model(asked)
            case "persona":
                text = await self._persona(asked, form)
            case "busy":
                text = await self._busy(asked, form)
            case "voice":
                text = await self._voice(asked, form)
            case "memory":
                text = await ChatFacts(self.store.facts, message).command(asked, form)
            case "reminders":
                text = await self.reminders.answer(asked, limits)
            case "context":
                text = await self.briefings.report(asked)
            case "why":
                text = await self._why(asked)
            case "whoami":
                text = asked.say("whoami", person=message.sender.id, chat=message.chat)
            case "usage":
                text = await self._usage(asked)
            case "pair" if not message.text.strip() and await self.access.is_admin(message.sender):
                said, values = await self.access.change(message, "here")
                text = asked.say(said, **values)
            case "pair":
                key = "pair_usage" if await self.access.is_closed() else "pair_usage_link"
                text = asked.say(key, pair=form.format(word="pair"))
            case "link":
                said, values = await self.access.link(message)
                text = asked.say(said, **values)
            case "allow":
                said, values = await self.access.change(message, message.text)
                text = asked.say(said, whoami=form.format(word="whoami"), **values)
            case "people":
                text = await self._people(asked)
            case word:
                text = asked.say("unknown_command", word=word, help=form.format(word="help"))
        return text

    async def _why(self, asked: Admitted) -> str:
        """Return how the last answer was made, for its asker or an admin; for others, their own last one."""
        message = asked.message
        turns = self.store.turns
        last = await turns.find_last(message.chat)
        if last is None:
            return asked.say("why_nothing")
        if last.person != message.sender.id and not await self.access.is_admin(message.sender):
            last = await turns.find_last_of_channel(message.chat, message.sender.id)
            if last is None or last.person != message.sender.id or last.chat != message.chat:
                return asked.say("not_yours")
        return await write_receipt(
            self.store, self.quotas.prices, last, asked.language, self.redact, thoughts=self.thoughts
        )

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

    async def buttons(self, asked: Admitted) -> tuple[Button, ...]:
        """Return the buttons below the reply to a command."""
        message = asked.message
        if message.command != "reminders" or (page := asked_page(message)) is None:
            return ()
        return (await self.reminders.write_list(asked, self.surface(message).limits, page))[1]

    async def press(self, press: ControlPressed, asked: Admitted) -> str:
        """Do what such a button says, as if its presser had written the command, and return the outcome."""
        form = self.surface(press.aside).limits.command_form
        return await self.reminders.change(asked, press.control, press.turn, form)

    async def list_again(self, press: ControlPressed, asked: Admitted) -> tuple[str, tuple[Button, ...]]:
        """Return the new content of such a button's message: its page of the present list, if the presser owns the
        reminders; otherwise nothing."""
        if not press.message_id or not (page := page_of(press.mark, press.sender.id)):
            return "", ()
        return await self.reminders.write_list(
            Admitted(press.there, asked.language), self.surface(press.there).limits, page
        )

    async def _usage(self, asked: Admitted) -> str:
        """Return today's usage of this person and this chat; in private, an admin sees everybody's."""
        message = asked.message
        admin = not message.group and await self.access.is_admin(message.sender)
        report = await self.quotas.report(payer_of(message), everybody=admin)
        model = await self.book.model_of(message.chat)
        return write_usage(
            report, asked.language, priced=self.quotas.prices.price_of(model) is not None, everybody=admin
        )

    async def _people(self, asked: Admitted) -> str:
        message = asked.message
        if not await self.access.is_admin(message.sender):
            return asked.say("admins_only")
        if message.group:
            return asked.say("in_private")
        people = await self.access.list_people()
        names = await self.store.people.names_of(id for id, _ in people)
        lines = [f"- `{id}`{_as_code(names.get(id, ''))}: {role}" for id, role in people]
        return "\n".join(lines) or asked.say("people_nobody")

    async def _model(self, asked: Admitted) -> str:
        message = asked.message
        name = message.text.strip()
        if not name:
            given = (await self.book.options_of(message.chat)).given_model
            model = await self.book.model_of(message.chat)
            now = asked.say("model_given" if given else "model_now", model=model)
            others = len(self.models.choices) > 1 and await self._may_change(message)
            return f"{now} {asked.say('model_choices', choices=self._list_choices())}" if others else now
        if not await self._may_change(message):
            return asked.say("admins_only")
        if name.lower() in OFF:
            await self.book.set(message.chat, "model", None)
            return asked.say("model_set", model=await self.book.model_of(message.chat))
        if name not in self.models.choices:
            return asked.say("model_unknown", model=name, choices=self._list_choices())
        await self.book.set(message.chat, "model", name)
        return asked.say("model_set", model=name)

    def _list_choices(self) -> str:
        return ", ".join(f"`{name}`" for name in self.models.choices)

    async def _persona(self, asked: Admitted, form: str) -> str:
        """Show, set or clear the chat's own instructions."""
        message = asked.message
        text, words = message.text.strip(), {"command": form.format(word="persona")}
        if not text:
            options = await self.book.options_of(message.chat)
            key = "persona_now" if options.persona else "persona_none"
            shown = [asked.say(key, **words)]
            if options.persona:
                shown.append(quote(clean_untrusted(options.persona)))
            if options.instructions:
                shown.append(asked.say("persona_given"))
            return "\n\n".join(shown)
        if not await self._may_change(message):
            return asked.say("admins_only")
        if text.lower() in OFF:
            await self.book.set(message.chat, "persona", None)
            return asked.say("persona_off")
        if len(text) > PERSONA_CHARS:
            return asked.say("persona_long", length=len(text), limit=PERSONA_CHARS)
        await self.book.set(message.chat, "persona", text)
        return asked.say("persona_set", **words)

    async def _busy(self, asked: Admitted, form: str) -> str:
        """Show or set what happens to a question while another is being answered."""
        message = asked.message
        mode, command = message.text.strip().lower(), form.format(word="busy")
        if mode and not await self._may_change(message):
            return asked.say("admins_only")
        if mode in OFF:
            mode = Busy.QUEUE
        if mode in _MODES:
            await self.book.set(message.chat, "busy", None if mode == Busy.QUEUE else mode)
        busy = (await self.book.options_of(message.chat)).busy
        now = asked.say(f"busy_{busy}")
        return now if mode in _MODES else f"{now}\n\n{asked.say('busy_modes', command=command)}"

    async def _voice(self, asked: Admitted, form: str) -> str:
        """Set whether answers in this chat are spoken."""
        message = asked.message
        wish, command = message.text.strip().lower(), form.format(word="voice")
        if self.models.speaker is None:
            return asked.say("voice_unset")
        if wish and not await self._may_change(message):
            return asked.say("admins_only")
        if wish in ON or wish in OFF:
            await self.book.set(message.chat, "voice", "on" if wish in ON else None)
        spoken = (await self.book.options_of(message.chat)).voice
        return asked.say("voice_on" if spoken else "voice_off", command=command)

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
