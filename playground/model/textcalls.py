"""Calls as models of many families write them into their text; a writer for each family.

Written on its own from the vendors' templates, so that a parser can be tested against it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Call: TypeAlias = tuple[str, Mapping[str, Any]]


def write(name: str, calls: Sequence[Call]) -> str:
    """`calls` in the format called `name`.

    Raises:
        KeyError: no such format.
    """
    return FORMATS[name](calls)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(value: object) -> str:
    """A value as XML-like formats carry it: text as it is, the rest as JSON."""
    return value if isinstance(value, str) else _json(value)


def _python(value: object) -> str:
    return repr(value) if value is None or isinstance(value, bool) else _json(value)


def _each(write_one: Callable[[str, Mapping[str, Any]], str], join: str = "\n") -> Callable[[Sequence[Call]], str]:
    return lambda calls: join.join(write_one(name, arguments) for name, arguments in calls)


def _list(before: str, after: str, key: str = "arguments") -> Callable[[Sequence[Call]], str]:
    return lambda calls: before + _json([{"name": name, key: dict(given)} for name, given in calls]) + after


def _keywords(name: str, arguments: Mapping[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={_python(value)}' for key, value in arguments.items())})"


def _function_xml(name: str, arguments: Mapping[str, Any]) -> str:
    lines = [f"<parameter={key}>\n{_plain(value)}\n</parameter>" for key, value in arguments.items()]
    return "\n".join([f"<function={name}>", *lines, "</function>"])


def _invoke(name: str, arguments: Mapping[str, Any]) -> str:
    lines = [f'<parameter name="{key}">{_plain(value)}</parameter>' for key, value in arguments.items()]
    return "\n".join([f'<invoke name="{name}">', *lines, "</invoke>"])


def _dsml(name: str, arguments: Mapping[str, Any]) -> str:
    lines = [
        f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{_plain(value)}'
        "</｜DSML｜parameter>"
        for key, value in arguments.items()
    ]
    return "\n".join([f'<｜DSML｜invoke name="{name}">', *lines, "</｜DSML｜invoke>"])


def _glm(name: str, arguments: Mapping[str, Any]) -> str:
    lines = [f"<arg_key>{key}</arg_key>\n<arg_value>{_plain(value)}</arg_value>" for key, value in arguments.items()]
    return "\n".join([f"<tool_call>{name}", *lines, "</tool_call>"])


def _kimi(calls: Sequence[Call]) -> str:
    body = "".join(
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{_json(dict(given))}<|tool_call_end|>"
        for index, (name, given) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{body}<|tool_calls_section_end|>"


def _deepseek(write_one: Callable[[str, Mapping[str, Any]], str]) -> Callable[[Sequence[Call]], str]:
    def write_all(calls: Sequence[Call]) -> str:
        body = "".join(f"<｜tool▁call▁begin｜>{write_one(*call)}<｜tool▁call▁end｜>" for call in calls)
        return f"<｜tool▁calls▁begin｜>{body}<｜tool▁calls▁end｜>"

    return write_all


def _wire(calls: Sequence[Call]) -> str:
    written = [
        {"id": f"c{index}", "type": "function", "function": {"name": name, "arguments": _json(dict(given))}}
        for index, (name, given) in enumerate(calls, 1)
    ]
    return _json({"tool_calls": written})


FORMATS: dict[str, Callable[[Sequence[Call]], str]] = {
    "tag-flat": _each(lambda name, given: f"<tool_call>{_json({'tool': name, **given})}</tool_call>"),
    "tag-open": _each(lambda name, given: f"<tool_call>{_json({'tool': name, **given})}"),
    "bare": _each(lambda name, given: _json({"tool": name, **given})),
    "name-args": _each(lambda name, given: _json({"name": name, "args": dict(given)})),
    "tool-name": _each(
        lambda name, given: (
            "<tool_call>" + _json({"id": "call_9", "tool_name": name, "arguments": dict(given)}) + "</tool_call>"
        )
    ),
    "function": _each(lambda name, given: f"{name}({', '.join(_python(value) for value in given.values())})"),
    "shiyong": _each(lambda name, given: f"使用工具：{name}: {', '.join(_plain(value) for value in given.values())}"),
    "xuyao": _each(lambda name, given: f"我需要使用工具：{name} {' '.join(_plain(value) for value in given.values())}"),
    "hermes": _each(
        lambda name, given: f"<tool_call>\n{_json({'name': name, 'arguments': dict(given)})}\n</tool_call>"
    ),
    "qwen-coder": _each(lambda name, given: f"<tool_call>\n{_function_xml(name, given)}\n</tool_call>"),
    "function-tag": _each(lambda name, given: f"<function={name}>{_json(dict(given))}</function>"),
    "llama": _each(lambda name, given: _json({"name": name, "parameters": dict(given)}), "; "),
    "llama-tag": lambda calls: (
        "<|python_tag|>" + "; ".join(_json({"name": name, "parameters": dict(given)}) for name, given in calls)
    ),
    "llama-call": _each(
        lambda name, given: "<|python_tag|>" + _keywords(f"{name}.call", given),
    ),
    "mistral": _list("[TOOL_CALLS] ", ""),
    "mistral-args": _each(lambda name, given: f"[TOOL_CALLS]{name}[ARGS]{_json(dict(given))}", ""),
    "mistral-name": _each(lambda name, given: f"[TOOL_CALLS]{name}{_json(dict(given))}", ""),
    "deepseek": _deepseek(lambda name, given: f"function<｜tool▁sep｜>{name}\n```json\n{_json(dict(given))}\n```\n"),
    "deepseek-v31": _deepseek(lambda name, given: f"{name}<｜tool▁sep｜>{_json(dict(given))}"),
    "deepseek-dsml": lambda calls: (
        "<｜DSML｜function_calls>\n"
        + "\n".join(_dsml(name, given) for name, given in calls)
        + "\n</｜DSML｜function_calls>"
    ),
    "kimi": _kimi,
    "glm": _each(_glm),
    "granite": _list("<|tool_call|>", ""),
    "pythonic": lambda calls: "[" + ", ".join(_keywords(name, given) for name, given in calls) + "]",
    "lfm2": lambda calls: (
        "<|tool_call_start|>[" + ", ".join(_keywords(name, given) for name, given in calls) + "]<|tool_call_end|>"
    ),
    "doubao": _list("<|FunctionCallBegin|>", "<|FunctionCallEnd|>", "parameters"),
    "seed-oss": _each(lambda name, given: f"<seed:tool_call>\n{_function_xml(name, given)}\n</seed:tool_call>"),
    "minimax": lambda calls: (
        "<minimax:tool_call>\n" + "\n".join(_invoke(name, given) for name, given in calls) + "\n</minimax:tool_call>"
    ),
    "function-calls": lambda calls: (
        "<function_calls>\n" + "\n".join(_invoke(name, given) for name, given in calls) + "\n</function_calls>"
    ),
    "hunyuan": _list("<tool_calls>", "</tool_calls>"),
    "nemotron": _list("<TOOLCALL>", "</TOOLCALL>"),
    "phi": _list("functools", ""),
    "command-r": lambda calls: (
        "<|START_ACTION|>"
        + _json(
            [
                {"tool_call_id": str(index), "tool_name": name, "parameters": dict(given)}
                for index, (name, given) in enumerate(calls)
            ]
        )
        + "<|END_ACTION|>"
    ),
    "internlm": _each(
        lambda name, given: (
            "<|action_start|><|plugin|>" + _json({"name": name, "parameters": dict(given)}) + "<|action_end|>"
        )
    ),
    "wire": _wire,
    "fence": lambda calls: (
        "```json\n" + _json([{"name": name, "arguments": dict(given)} for name, given in calls]) + "\n```"
    ),
}
"""Every format by a short name; the value writes a list of calls."""
