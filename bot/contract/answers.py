"""The seam to an agent of another author: it takes a `Question` and yields small events; see docs/agents.md.

All of this is plain data, and public as `parley_chat.agent`. `problem_of` checks what an agent yields.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from bot.contract.messages import File
from tools.contract.base import Json, Source
from tools.contract.json_values import write_json

MOST_STATE: Final = 256 * 1024
"""Characters of a `Checkpoint`, of an `Ask`'s state and of a call's arguments as JSON."""
LONGEST_NAME: Final = 500
"""Characters of the id and the name of a call, and of the name of a model or a file."""
MOST_FILES: Final = 20
"""Files of one result."""
MOST_SOURCES: Final = 100
LONGEST_SOURCE: Final = 4_000
"""Characters of the title and of the address of a source."""
MOST_TOKENS: Final = 1_000_000_000
MOST_DOLLARS: Final = 1_000.0
"""More than this is used by no answer: it is a mistake, and would leave nobody anything for today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The agent calls one of its own tools. Yield it before the tool runs: it is stored before `answer` goes on."""

    id: str
    """The framework's own id; its `Result` has the same."""
    name: str
    arguments: Mapping[str, Json]
    status: str = ""
    """What the person reads while it runs, as `Searching the archive`; empty: the name."""
    effects: bool = True
    """It changes something: after a restart its outcome is unknown, and it must not be repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation, for the agent's model."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    """The calls that an assistant requested; a tool's message follows for each."""
    call: str = ""
    """The id of the call that a tool's message belongs to."""
    ok: bool | None = None
    """Whether a tool's call succeeded; None: it had begun when the process died, and its outcome is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A person's decision about the call of an `Ask`."""

    call: Call
    """As it was shown to the person; an allowed call may run with these arguments only."""
    allowed: bool
    state: str
    """The state of the `Ask`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question, ready to be answered."""

    turn: str
    """The id of this answer: the same after a restart."""
    attempt: int
    """How many processes have begun it, this one included."""
    chat: str
    person: str
    name: str
    """What the person is called."""
    language: str
    """An IETF tag, as `en` or `zh-Hant`."""
    zone: str
    """An IANA time zone."""
    instructions: str
    """The operator's and the chat's words, with remembered facts and a summary of what is no longer in `messages`."""
    messages: tuple[Message, ...]
    """The history, the question, and what this turn did before a restart."""
    done: int = 0
    """How many of the last messages this turn did before a restart."""
    files: tuple[File, ...] = ()
    """The pictures and files of the question; the text of files is in `messages` as well."""
    decision: Decision | None = None
    """A person decided about a call: this turn acts on it."""
    checkpoint: str = ""
    """The last `Checkpoint` of this turn."""
    seconds: float = 300.0
    """Seconds until the turn ends."""


@dataclass(frozen=True, slots=True)
class Text:
    """Text that goes to the end of the reply, as Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning: kept for `/why`, never shown in the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A call has ended. Its text and files count as words from outside."""

    id: str
    """The id of the `Call`."""
    text: str
    ok: bool = True
    files: tuple[File, ...] = ()
    """They are posted under the answer."""
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What has been used since the last `Used`; it counts in the quotas."""

    model: str = ""
    """As `openai:gpt-5-mini`: with its price the dollars are known."""
    prompt: int = 0
    completion: int = 0
    cached: int = 0
    """Those of `prompt` that were cached."""
    dollars: float | None = None
    """None: by the price of `model`."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A state of the agent's own, stored before `answer` goes on; given back as `Question.checkpoint`."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The last event: a person must allow this call. The decision begins another turn, which gets `state` back."""

    call: Call
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The last event: there is no answer, or only a part of it."""

    detail: str
    """For the operator's log; no message text, no key."""
    retry: bool = True
    """Asking again may help."""


Event: TypeAlias = Text | Thought | Call | Result | Used | Checkpoint | Ask | Fault


class Answers(Protocol):
    """An agent of another author. One object answers all questions, many at the same time."""

    def answer(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the answer to `question` as events; it is complete when the generator ends.

        It is closed when nobody needs it any more (`/stop`, a newer question): then end within five seconds.
        """
        ...


def problem_of(event: object) -> str:
    """Return what is wrong with something that an agent yielded; empty if it is a sound event."""
    try:
        return _problem_of(event)
    except Exception as error:  # noqa: BLE001 - what it yields may be of any type, and raise whatever it likes
        return f"its {type(event).__name__} cannot be read: {type(error).__name__}"


def _problem_of(event: object) -> str:
    match event:
        case Text(text) | Thought(text):
            return _not_text(event, text=text)
        case Call():
            return _call_problem(event)
        case Result():
            return _not_text(event, id=event.id, text=event.text) or _result_problem(event)
        case Used():
            return _used_problem(event)
        case Checkpoint(state):
            return _not_text(event, state=state) or _too_long(event, state)
        case Ask():
            if not isinstance(event.call, Call):
                return f"Ask.call is a {type(event.call).__name__}, not a Call"
            return _call_problem(event.call) or _not_text(event, state=event.state) or _too_long(event, event.state)
        case Fault():
            return _not_text(event, detail=event.detail) or _not_truth(event, retry=event.retry)
        case _:
            return f"it yielded a {type(event).__name__}, which is no event"


def _not_text(event: object, **values: object) -> str:
    for name, value in values.items():
        if not isinstance(value, str):
            return f"{type(event).__name__}.{name} is a {type(value).__name__}, not a text"
    return ""


def _no_name(event: object, **values: object) -> str:
    """Return what is wrong with values that are short texts."""
    for name, value in values.items():
        if isinstance(value, str) and len(value) > LONGEST_NAME:
            return f"{type(event).__name__}.{name} has more than {LONGEST_NAME} characters"
    return _not_text(event, **values)


def _not_truth(event: object, **values: object) -> str:
    for name, value in values.items():
        if not isinstance(value, bool):
            return f"{type(event).__name__}.{name} is a {type(value).__name__}, not True or False"
    return ""


def _too_long(event: object, text: str) -> str:
    return f"a {type(event).__name__} has more than {MOST_STATE:,} characters" if len(text) > MOST_STATE else ""


def _call_problem(call: Call) -> str:
    wrong = _no_name(call, id=call.id, name=call.name) or _not_text(call, status=call.status)
    wrong = wrong or _not_truth(call, effects=call.effects)
    if wrong or not (call.id and call.name):
        return wrong or "a Call has no id or no name"
    if not isinstance(call.arguments, Mapping) or not all(isinstance(name, str) for name in call.arguments):
        return "Call.arguments is no mapping from names to JSON values"
    try:
        return _too_long(call, write_json(dict(call.arguments)))
    except (TypeError, ValueError):
        return "Call.arguments contains something that is no JSON"


def _result_problem(result: Result) -> str:
    if not isinstance(result.files, tuple | list) or not isinstance(result.sources, tuple | list):
        return "Result.files and Result.sources must be tuples"
    if len(result.files) > MOST_FILES:
        return f"a Result has more than {MOST_FILES} files"
    for file in result.files:
        if not isinstance(file, File) or not isinstance(file.content, bytes):
            return "Result.files contains something that is no File with bytes"
        if wrong := _no_name(file, name=file.name, media_type=file.media_type):
            return wrong
    for source in result.sources:
        if not isinstance(source, Source):
            return "Result.sources contains something that is no Source"
        if wrong := _not_text(source, title=source.title, url=source.url):
            return wrong
    return _not_truth(result, ok=result.ok)


def _used_problem(used: Used) -> str:
    counts = (used.prompt, used.completion, used.cached)
    if not all(isinstance(count, int) and 0 <= count <= MOST_TOKENS for count in counts):
        return f"Used counts tokens that are no numbers from 0 to {MOST_TOKENS:,}"
    if used.dollars is not None and not (isinstance(used.dollars, int | float) and 0 <= used.dollars <= MOST_DOLLARS):
        return f"Used.dollars is no amount from 0 to {MOST_DOLLARS:,.0f}"
    return _no_name(used, model=used.model)
