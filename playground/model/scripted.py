"""The built-in model: no AI, the same answer to the same request, in English and Chinese.

It reads what any model would be given (messages, tools or a description of them) and writes what a good one would
write: a call where a question needs one, an answer from the results, its memory from the history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from playground.model import asking, texts
from playground.model.job import work
from playground.model.reply import Body, Reply
from playground.model.wire import tokens

_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_RESULT = re.compile(r"<tool_result\b([^>]*)>(.*?)</tool_result\s*>", re.S)
_ATTRIBUTE = re.compile(r"(\w+)\s*=\s*[\"']([^\"']*)[\"']")
_URL = re.compile(r"https?://[^\s<>\"'|）)\]]+")
_GREETING = re.compile(r"^\W*(hi|hello|hey|good (morning|evening|afternoon)|你好|您好|嗨|早上好|晚上好|哈喽)\W*$", re.I)
_HELP = re.compile(r"^\W*(help|what can you do|帮助|你会什么|你能做什么)\W*$", re.I)
_LONG = re.compile(r"\blong\b|长文|长一点|很长", re.I)
_CODE = re.compile(r"^\W*(code|show me (some )?code|代码|写代码)\W*$", re.I)
_BREAK = re.compile(r"^\W*(break|drop)\b|断开|中断连接", re.I)
_THINK = re.compile(r"\bthink\b|想一想|思考", re.I)
_BEFORE = re.compile(
    r"what (did|have) i (just )?(say|said|write|written|told|tell)|刚才说了?什么|之前说了?什么|我说过什么", re.I
)
_NAME = re.compile(
    r"\bmy name is ([^\s,.!?，。！]+)|\bi am called ([^\s,.!?]+)|我(?:的名字)?(?:叫|是)([^\s,.!?，。！？什么]+)", re.I
)
_WHO = re.compile(r"what('s| is) my name|who am i|我叫什么|我是谁|我的名字是什么", re.I)
_SPEAKER = re.compile(r"^[^\n:：]{1,40}: (?=\S)")
"""In groups a bot writes the speaker's name before what he said."""
_ENCLOSED = re.compile(r"(?:^|\n)\((?:Sent with|The person said this)[^\n]*:\)\n")
"""What a bot says of files and voice messages, behind the words themselves."""
_FILES = re.compile(r"^\(Sent with this message[^\n]*:\)\n((?:> [^\n]*(?:\n|$))+)", re.M)
_BOUNDARY = re.compile(r"^\[(?:end of )?data \w+.*\]$\n?", re.M)
"""The lines between which a bot puts what comes from outside."""
_INSTRUCTION = re.compile(r"\n\n\[[^\n]*\]\Z")
"""What a bot says, in brackets, behind the last result."""
_LISTED_SOURCE = re.compile(r"\[(\d+)\] .*https?://\S+")
_ENTRY = re.compile(r"\[(\d+)\] (.+)")
_SHOWN_CHARACTERS = 220
_SHOWN_LINES = 8
_SLOWER = 10
"""How many times slower than its answers it writes within a job."""


@dataclass(frozen=True, slots=True)
class _Result:
    tool: str
    text: str
    ok: bool


@dataclass(frozen=True, slots=True)
class _Talk:
    """What the last question was, what came before it, and what the tools have said since."""

    question: str
    earlier: tuple[str, ...]
    results: tuple[_Result, ...]
    tools: dict[str, Body]
    """Name → schema of the arguments; empty schemas in the text protocol."""
    native: bool
    may_call: bool
    sent: str = ""
    """What is told of the files that came with the question."""

    @property
    def language(self) -> str:
        return "zh" if _CHINESE.search(self.question) else "en"


class ScriptedModel:
    """Called with a Chat Completions request; answers like a small, honest, entirely predictable model."""

    def __init__(self, words_per_second: float = 50.0) -> None:
        self.words_per_second = words_per_second
        """The pace of its answers; 0: at once."""

    def __call__(self, body: Body) -> Reply:
        talk = _read(body)
        if "plan" in talk.tools:
            sums = [one.text for one in talk.results if one.tool == "calculator"]
            reply = work(talk.language, sums, len(talk.results) - len(sums))
            return replace(reply, words_per_second=self.words_per_second / _SLOWER)
        reply = _go_on(body["messages"]) or (_answer_results(talk) if talk.results else _answer(talk))
        if reply.calls and not talk.native:
            reply = replace(reply, text_calls="hermes")
        if _THINK.search(talk.question) and not reply.reasoning:
            reply = replace(reply, reasoning=texts.REASONING[talk.language])
        return replace(reply, words_per_second=self.words_per_second)


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


def _read(body: Body) -> _Talk:
    messages: list[Body] = body["messages"]
    questions: list[str] = []
    results: list[_Result] = []
    names: dict[str, str] = {}
    sent = ""
    for message in messages:
        text = _text(message.get("content"))
        match message["role"]:
            case "user" if "<tool_result" in text:
                results += [_text_result(*found) for found in _RESULT.findall(text)]
            case "user":
                written, sent = _parted(text.strip())
                questions.append(_SPEAKER.sub("", written))
                results = []
            case "assistant":
                names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls", [])}
            case "tool":
                # Nothing in a tool message says whether the call went well; its own words do.
                bad = text.lower().startswith(("error", "failed", "timed out", "错误"))
                said = _BOUNDARY.sub("", _INSTRUCTION.sub("", text)).strip()
                results.append(_Result(names.get(message["tool_call_id"], "tool"), said, not bad))
    system = "\n".join(
        _text(message.get("content")) for message in messages if message["role"] in ("system", "developer")
    )
    tools = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in body.get("tools", [])}
    native = bool(tools)
    if not tools and "<tool_call>" in system:
        tools = {name: {} for name in asking.TOOLS if re.search(rf"\b{name}\b", system)}
    may_call = bool(tools) and body.get("tool_choice") != "none"
    question = questions[-1] if questions else ""
    return _Talk(question, tuple(questions[:-1]), tuple(results), tools, native, may_call, sent)


def _parted(text: str) -> tuple[str, str]:
    """What a person wrote or said, and what is told of files that came with it."""
    written = _ENCLOSED.split(text, maxsplit=1)[0].strip()
    lines = [line.removeprefix("> ") for found in _FILES.finditer(text) for line in found[1].splitlines()]
    return written, "; ".join(lines)


def _text_result(attributes: str, text: str) -> _Result:
    given = dict(_ATTRIBUTE.findall(attributes))
    return _Result(
        given.get("name", "tool"), _BOUNDARY.sub("", text.strip()).strip(), given.get("status", "ok") == "ok"
    )


def _answer(talk: _Talk) -> Reply:
    """The answer to a question no tool has said anything about yet."""
    language, question = talk.language, talk.question
    if _GREETING.match(question):
        return _say(texts.GREETING[language])
    if _HELP.match(question):
        return _worded(texts.HELP, language)
    if _BEFORE.search(question):
        return _remember(talk)
    if _WHO.search(question):
        name = _name_in(talk.earlier)
        return _worded(texts.NAMED, language, name=name) if name else _worded(texts.NAMELESS, language)
    if _BREAK.search(question):
        text = texts.BREAK[language]
        # Behind a word, as servers send whole ones.
        return Reply(text, drop_after=max(text.rfind(" ", 0, len(text) // 2), len(text) // 3))
    wanted = asking.asked_for(question, talk.tools)
    calls = tuple((name, arguments) for name, arguments in wanted if name in talk.tools)
    if calls and talk.may_call:
        return Reply(calls=calls)
    if _LONG.search(question):
        return Reply(texts.long_answer(language))
    if _CODE.match(question):
        return _worded(texts.CODE, language)
    if wanted:
        return _worded(texts.UNARMED, language, tool=wanted[0][0])
    name = _name_in((question,))
    if name:
        return _worded(texts.NOTED, language, name=name)
    if talk.sent:
        return _worded(texts.SENT, language, sent=_short(talk.sent))
    template = texts.THOUGHT if _THINK.search(question) else texts.ECHO
    return _worded(template, language, question=_short(question))


def _go_on(messages: Sequence[Body]) -> Reply | None:
    """The rest of the sentence that broke off, where a bot asks for it; None for every other question."""
    begun = _text(messages[-2].get("content")).strip() if len(messages) > 1 else ""
    if not begun or messages[-2]["role"] != "assistant":
        return None
    whole = next((text for text in texts.BREAK.values() if text.startswith(begun)), begun)
    return Reply(whole[len(begun) :].strip()) if whole != begun else None


def _say(text: str) -> Reply:
    return Reply(text)


def _worded(template: dict[str, str], language: str, **values: str) -> Reply:
    text = template[language]
    for key, value in values.items():
        text = text.replace("{" + key + "}", value)
    return Reply(text)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else line[:_SHOWN_CHARACTERS] + "…"


def _name_in(said: Sequence[str]) -> str:
    for text in reversed(said):
        found = None if _WHO.search(text) else _NAME.search(text)
        if found:
            return next(group for group in found.groups() if group)
    return ""


def _remember(talk: _Talk) -> Reply:
    if not talk.earlier:
        return _worded(texts.SILENT, talk.language)
    said = "\n".join(f"{number}. {_short(text)}" for number, text in enumerate(talk.earlier[-10:], 1))
    return _worded({talk.language: f"{texts.SAID[talk.language]}\n\n{said}"}, talk.language)


def _answer_results(talk: _Talk) -> Reply:
    language = talk.language
    parts: list[str] = []
    sources: list[tuple[str, str]] = []
    for result in talk.results:
        if not result.ok:
            parts.append(_fill(texts.FAILED, language, tool=result.tool, result=_failure(result.text)))
        elif result.tool == "search_web":
            parts.append(_cite(result.text, language, sources))
        else:
            parts.append(_tell(result, language))
    if sources:
        lines = [f"{number}. [{title}]({url})" for number, (title, url) in enumerate(sources, 1)]
        parts.append("\n".join([f"**{texts.SOURCES[language]}**", "", *lines]))
    return Reply("\n\n".join(parts))


def _tell(result: _Result, language: str) -> str:
    """What a tool other than the search has said."""
    match result.tool:
        case "calculator":
            return _fill(texts.COMPUTED, language, tool=result.tool, result=_first_line(result.text))
        case "current_time":
            return _fill(texts.CLOCK, language, tool=result.tool, result=_first_line(result.text))
        case "generate_image":
            return texts.IMAGE[language]
        case "run_python":
            # That files were sent, a person sees.
            printed = re.sub(r"^Sent to the chat: .*$", "", result.text, flags=re.M).strip()
            return f"{texts.RAN[language]}\n\n```\n{printed}\n```" if printed else texts.RAN[language]
        case "get_weather" | "wikipedia" | "search_papers" | "token_price" | "recall":
            return _listed(result.text)
        case "remind_me" | "remember" | "forget":
            return _first_sentence(_first_line(result.text))
        case _:
            return _fill(texts.PLAIN, language, tool=result.tool, result=_first_line(result.text))


def _listed(text: str) -> str:
    """A result of several lines: its numbered entries, cited, or else all its lines under the first.

    Its sources may stand before it, a line each with number, title and address; these are cited behind the first line.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    cited = ""
    while lines and (source := _LISTED_SOURCE.fullmatch(lines[0])):
        cited += f" [{source[1]}]"
        del lines[0]
    head, *lines = lines or ["—"]
    entries = [found for found in map(_ENTRY.match, lines) if found]
    # A bot lists by itself what is cited.
    others = [line for line in lines if not (cited and line.startswith("Source:"))]
    shown = [f"{found[2]} [{found[1]}]" for found in entries] or others
    return "\n".join(
        [f"**{_first_sentence(head)}**{cited}", "", *(f"- {line}" for line in shown[:_SHOWN_LINES])]
    ).rstrip()


def _fill(template: dict[str, str], language: str, *, tool: str, result: str) -> str:
    return template[language].replace("{tool}", tool).replace("{result}", result)


def _first_line(text: str) -> str:
    """The first line that says something; the result of a tool that answers in JSON, when it has one."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict) and "result" in value:
        return str(value["result"])
    lines = [line.strip() for line in text.splitlines() if line.strip(" \t#-*`")]
    return _short(lines[0]) if lines else "—"


def _failure(text: str) -> str:
    return _first_line(text).removeprefix("Error: ")


def _first_sentence(line: str) -> str:
    """What comes behind it is mostly advice for a model that can follow some."""
    return line.partition(". ")[0].rstrip(".:")


def _cite(text: str, language: str, sources: list[tuple[str, str]]) -> str:
    """What a search found, one point a source; adds the sources to `sources`.

    The layout of a result is the tool's own affair: a title stands on the address's line or above it, content below.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    places = [index for index, line in enumerate(lines) if _URL.search(line)]
    points: list[str] = []
    for index in places[:4]:
        found = _URL.search(lines[index])
        url = found.group().rstrip(".,;，。；") if found else ""
        if not url or any(url == known for _, known in sources):
            continue
        title = _clean(lines[index].replace(url, "")) or (_clean(lines[index - 1]) if index else "") or url
        body = next((line for line in lines[index + 1 :] if tokens(line) > 8 and not _URL.search(line)), "")
        sources.append((title, url))
        points.append(f"- {_short(_clean(body) or title)} [{len(sources)}]")
    if not points:
        return f"{texts.FOUND[language]}\n\n{_first_line(text)}"
    return "\n".join([texts.FOUND[language], "", *points])


def _clean(line: str) -> str:
    """A title without its number, its label and its marks."""
    line = re.sub(r"^\W*\d+[.):、]\s*", "", line)
    line = re.sub(
        r"^\W*(title|url|source|content|标题|標題|来源|來源|地址|链接|連結|内容|內容)\s*[:：]\s*", "", line, flags=re.I
    )
    line = re.sub(r"^\s*[\[(]?\d{1,3}[\]).:]\s+", "", line)
    return line.strip(" \t-*#[]()<>（）·|—:：")
