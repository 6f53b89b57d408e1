"""The tool interface: calls, results, and the ports a tool may use. Knows no chat and no model.

A tool is written as an annotated async function with a docstring, and `@tool` makes the rest:

    @tool(category="time", icon="🕒")
    async def current_time(context: ToolContext, zone: str = "UTC") -> ToolResult | str:
        '''The date and time now.

        Use when: the person asks for today's date, the time, or a weekday.
        Not for: durations between two dates.

        Args:
            zone: IANA time zone, as "Europe/Paris". Example: "Asia/Shanghai"
        '''
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from tools.contract.findings import Finding
from tools.contract.languages import Words
from tools.contract.payments import Bill, Purse

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
Arguments: TypeAlias = Mapping[str, Json]


class ToolError(Exception):
    """A call failed in a way that the model can read: what went wrong, and what to change.

    Leaves the registry only as a `ToolResult`. `retry` says that other arguments may help.
    """

    def __init__(self, message: str, *, retry: bool = True) -> None:
        super().__init__(message)
        self.retry = retry


class Unpaid(ToolError):
    """No quota has enough left for the call's purchases."""


class Unavailable(Exception):
    """A tool cannot be offered as configured; the text says what it needs. `wanted`: the operator configured it."""

    def __init__(self, message: str, *, wanted: bool = False) -> None:
        super().__init__(message)
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as a model requested it."""

    id: str
    name: str
    arguments: Arguments
    problem: str = ""
    """Why it cannot run as requested (arguments that are not JSON, a call cut off); empty if it can."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of a result."""

    title: str
    url: str
    number: int = 0
    """The number by which the model can cite it in this turn; set by the core, 0 until then."""


@dataclass(frozen=True, slots=True)
class ProducedFile:
    """A file that a tool produced."""

    name: str
    media_type: str
    content: bytes


class ToolStatus(StrEnum):
    """The state of a call."""

    PENDING = "pending"
    """Requested by a model."""
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    """Its turn ended without a result."""
    CACHED = "cached"
    """The result of an earlier call with the same arguments was used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call. `text` is for the model, as data and never as an instruction."""

    text: str
    ok: bool = True
    status: ToolStatus = ToolStatus.COMPLETED
    sources: tuple[Source, ...] = ()
    """A text with several entries begins each with `[1] `, `[2] `, … on its own line and gives its address there; the
    core continues the numbers of the turn's earlier results."""
    files: tuple[ProducedFile, ...] = ()
    retry: bool = True
    """After a failure: other arguments may help."""
    untrusted: bool = False
    """The text comes from outside (a page, a search): it may try to instruct the model."""
    own_words: bool = False
    """The text contains only sentences of this program and the call's own words. Every other text is put inside a
    boundary for the model."""
    seconds: float = 0.0
    """How long the call took."""
    dollars: float = 0.0
    """What it paid to others; set by the registry."""

    @classmethod
    def failed(
        cls, text: str, *, status: ToolStatus = ToolStatus.FAILED, retry: bool = True, own_words: bool = True
    ) -> ToolResult:
        """The result of a call that failed, or was not made; its text begins with "Error"."""
        text = text if text.startswith("Error") else f"Error: {text}"
        return cls(text=text, ok=False, status=status, retry=retry, own_words=own_words)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """The declaration of a tool: its description for models, and its treatment by the registry."""

    name: str
    purpose: str
    """One sentence: what it does."""
    parameters: Mapping[str, Json]
    """JSON schema of the arguments: an object with `properties` in declared order."""
    category: str = "general"
    use_when: str = ""
    not_for: str = ""
    rather: tuple[tuple[str, str], ...] = ()
    """Other tools, each with its advantage; given only to people who may use that one, too."""
    source: str = ""
    """The source of its data."""
    examples: tuple[Mapping[str, Json], ...] = ()
    """Arguments of typical calls."""
    asked: tuple[str, ...] = ()
    """Questions that lead to the first of `examples`, in their order: shown to models that call in text."""
    keywords: tuple[str, ...] = ()
    """Words that mean this tool, in any language."""
    same: str = ""
    """Words in the names of other tools for the same purpose; after `|`, words of which such a tool has one in its name
    or purpose: `current time now | time clock`."""
    icon: str = "🔧"
    verb: Words | str = ""
    """The status for people while it runs, as `Searching the web`; empty: the name."""
    label: Words | str = ""
    """What it does for a person, in a few words; empty: the name. The purpose is written for models."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other accepted names of arguments, each with the name in `parameters`."""
    subject: str = ""
    """The argument shown after the verb; empty: the first string argument."""
    effects: bool = False
    """It changes something outside the turn; such calls run one after another."""
    asks: bool = False
    """It acts beyond the chat: a person sees the call, and decides, before it runs."""
    outside: bool = False
    """Its arguments may reach unknown others: it pays, sends, or is another program's."""
    address: str = ""
    """The argument with the internet address that it opens; empty: it opens none."""
    echoes: bool = False
    """Its results repeat what a model wrote, now or earlier (code, SQL, notes): their addresses come from nobody
    else."""
    own_words: bool = False
    """All its results are `own_words`, including errors."""
    jobs: bool = False
    """It is offered in jobs alone."""
    cache_seconds: float = 0.0
    """How long a success may be reused; 0: never."""
    timeout: float | None = None
    """Seconds; None: the registry's."""
    per_minute: int = 10
    """Calls of one chat in a minute; those made at once all run."""
    most_chars: int = 10_000
    """Characters of a call's arguments, as JSON."""
    schema_text: str = field(init=False, repr=False, compare=False)
    """The parameters as text, for counting tokens."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "schema_text", str(self.parameters))

    def named(self, arguments: Arguments) -> dict[str, Json]:
        """Return arguments under the names of `parameters`."""
        return {self.aliases.get(name, name): one for name, one in arguments.items()}

    @property
    def description(self) -> str:
        """The description for models, assembled from the parts."""
        parts = [f"[{self.category}] {self.purpose}"]
        if self.use_when:
            parts.append(f"Use when: {self.use_when}")
        if self.not_for:
            parts.append(f"Not for: {self.not_for}")
        if self.source:
            parts.append(f"Source: {self.source}")
        return " ".join(part if part.endswith((".", "。", "!", "?")) else part + "." for part in parts)


class Facts(Protocol):
    """Storage for facts about a person or a chat."""

    async def remember(self, owner: str, text: str, *, outside: bool = False) -> int:
        """Store a fact; `outside` as in `ToolContext`."""
        ...

    async def recall(self, owners: tuple[str, ...], query: str, limit: int) -> list[tuple[int, str, str]]:
        """Return the best matches as (id, owner, text); for an empty query all facts, newest first."""
        ...

    async def forget(self, owners: tuple[str, ...], fact: int) -> bool: ...


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often a reminder comes."""

    rule: str
    """Five cron fields, see `tools.times.cron`."""
    zone: str
    """In the notation of `tools.times.zones`."""
    said: str
    """The repetition in words, as requested."""


@dataclass(frozen=True, slots=True)
class Reminder:
    """A reminder that waits."""

    number: int
    due: float
    """Wall-clock time at which it comes next."""
    text: str
    repeat: Repeat | None = None
    """None: it comes once."""
    paused: bool = False
    question: bool = False
    """The model answers the text at that time; otherwise the text itself is sent."""


@dataclass(frozen=True, slots=True)
class NewReminder:
    """A reminder to be set; see `Reminder`."""

    due: float
    text: str
    repeat: Repeat | None = None
    question: bool = False
    outside: bool = False
    """As in `ToolContext`."""


class Timers(Protocol):
    """Storage for reminders."""

    async def set(self, scope: str, person: str, wanted: NewReminder) -> int:
        """Set a reminder and return its number.

        Raises:
            ToolError: this chat has no target that lasts until then, or there are too many reminders.
        """
        ...

    async def pending(self, scope: str, person: str) -> list[Reminder]:
        """Return the person's reminders in this scope, the earliest first."""
        ...

    async def pause(self, scope: str, person: str, timer: int) -> bool:
        """Pause a repeated reminder; return False if there is none of this number."""
        ...

    async def resume(self, scope: str, person: str, timer: int) -> bool:
        """Resume a repeated reminder at its next time; return False if there is none of this number."""
        ...

    async def cancel(self, scope: str, person: str, timer: int) -> bool:
        """Delete a reminder; return False if there is none of this number."""
        ...


class Files(Protocol):
    """Read access to the files of this chat."""

    async def read(self, scope: str, name: str) -> bytes | None: ...


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The caller and the ports of a call. `scope` and `person` are opaque keys, never parsed by a tool."""

    scope: str = "shell"
    """Keeps the state of one chat apart from another's."""
    person: str = "shell"
    language: str = ""
    """IETF tag of the person's language; empty when unknown."""
    zone: str = "UTC"
    """IANA time zone of the person."""
    seconds: float = 30.0
    """How long the call may take."""
    chars: int = 8000
    """How long the result may be; a tool that knows where to cut does so itself."""
    now: Callable[[], datetime.datetime] = _utc_now
    """The aware current time."""
    facts: Facts | None = None
    timers: Timers | None = None
    files: Files | None = None
    purse: Purse | None = None
    """Pays for the call's purchases; None: no limit."""
    bill: Bill = field(default_factory=Bill)
    """The tool pays through it; the registry gives each call its own."""
    outside: bool = False
    """The conversation that led to the call contains words from outside: stored text may be theirs."""
    follow: Callable[[str], bool] = field(default=lambda address: True)
    """Whether a page may redirect the tool to this address."""
    together: object = None
    """The same for calls that are made at once: all of these run, whatever their tool's limit a minute."""
    time_left: Callable[[], float] = field(default=lambda: 0.0)
    """Seconds that the turn has left; a tool may wait for at most half of them for its next call."""
    progress: Callable[[str], None] = field(default=lambda text: None)
    """Tells the person, in a few words, what is being done now."""


def facts_of(context: ToolContext) -> Facts:
    """Return the storage of facts.

    Raises:
        ToolError: there is none, in a shell without a data file.
    """
    if context.facts is None:
        raise ToolError("Nothing can be remembered here: there is no place to keep it (--data FILE).", retry=False)
    return context.facts


@runtime_checkable
class Proven(Protocol):
    """A tool whose function on this machine only a trial can show."""

    async def prove(self) -> str:
        """Try it without contacting other machines; return a line for the operator, empty if nothing is new.

        Raises:
            Unavailable: it does not work here.
        """
        ...


@runtime_checkable
class Holding(Protocol):
    """A tool with state in this process between calls, such as an interpreter with its variables."""

    def held_scopes(self) -> Iterable[str]:
        """Return the scopes with such state."""
        ...


@runtime_checkable
class Checked(Protocol):
    """A tool that depends on a checkable thing: a service, a server, a program."""

    async def check(self, *, offline: bool = False) -> Finding:
        """Ask it once and cheaply, for `parley doctor`; `offline`: ask no other machine.

        Raises:
            Unavailable: it does not work here.
            ToolError: it is configured and does not work; the text is for the operator.
        """
        ...


class Tool(Protocol):
    """A tool that a model can call."""

    @property
    def spec(self) -> ToolSpec: ...

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Run it with `arguments` that fit the schema. The registry turns any exception into a result."""
        ...

    async def close(self) -> None:
        """Release its resources."""
        ...


class ToolSource(Protocol):
    """Brings tools while the bot runs, and may lose them again, as servers do."""

    @property
    def unavailable(self) -> Mapping[str, str]:
        """The tools or servers that are not offered now, each with the reason."""
        ...

    @property
    def faults(self) -> Mapping[str, str]:
        """The same without those still starting."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Keys that must never be shown."""
        ...

    def could_bring(self, pattern: str) -> bool:
        """Return True if it may still bring a tool of this name or pattern."""
        ...

    def starting(self, permits: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the names of those still starting, whose tools may be used."""
        ...

    async def wait_for(self, tool: str) -> None:
        """Wait until a tool can be called again, for as long as a start may take."""
        ...

    def start(self) -> None:
        """Start in the background; a second call does nothing."""
        ...

    async def settle(self, seconds: float) -> None:
        """Wait until it knows its tools, up to a limit of seconds since its start."""
        ...

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return the tools that can be called now."""
        ...

    def tool(self, name: str) -> Tool | None: ...

    async def close(self) -> None: ...
