"""Messages about wrong arguments: in English for a model, in their language for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.contract.languages import Words, phrase

_PROBLEMS: Final[Mapping[str, Words]] = {
    "arguments": ("the arguments", "参数", "參數"),
    "type": (
        "{name} must be {kinds}, not {given}",
        "{name} 应为{kinds}，而不是{given}",
        "{name} 應為{kinds}，而非{given}",
    ),
    "or": (" or ", "或", "或"),
    "enum": (
        "{name} must be one of {listed}, not {given}",
        "{name} 只能是 {listed} 之一，而不是 {given}",
        "{name} 只能是 {listed} 其中之一，而非 {given}",
    ),
    "const": ("{name} must be {wanted}", "{name} 只能是 {wanted}", "{name} 只能是 {wanted}"),
    "required": ("{name} is required", "缺少 {name}", "缺少 {name}"),
    "minimum": (
        "{name} must be at least {bound}, not {given}",
        "{name} 不能小于 {bound}，收到的是 {given}",
        "{name} 不能小於 {bound}，收到的是 {given}",
    ),
    "maximum": (
        "{name} must be at most {bound}, not {given}",
        "{name} 不能大于 {bound}，收到的是 {given}",
        "{name} 不能大於 {bound}，收到的是 {given}",
    ),
    "exclusiveMinimum": (
        "{name} must be more than {bound}, not {given}",
        "{name} 必须大于 {bound}，收到的是 {given}",
        "{name} 必須大於 {bound}，收到的是 {given}",
    ),
    "exclusiveMaximum": (
        "{name} must be less than {bound}, not {given}",
        "{name} 必须小于 {bound}，收到的是 {given}",
        "{name} 必須小於 {bound}，收到的是 {given}",
    ),
    "empty": ("{name} must not be empty", "{name} 不能为空", "{name} 不能為空"),
    "short": ("{name} must not be so short", "{name} 太短", "{name} 太短"),
    "maxLength": (
        "{name} must have at most {bound:character|characters}, not {given}",
        "{name} 最多 {bound} 个字符，现在是 {given} 个",
        "{name} 最多 {bound} 個字元，目前為 {given} 個",
    ),
    "pattern": ("{name} must match {wanted}", "{name} 应符合格式 {wanted}", "{name} 應符合格式 {wanted}"),
    "minItems": (
        "{name} must have at least {bound:item|items}",
        "{name} 至少要有 {bound} 项",
        "{name} 至少要有 {bound} 項",
    ),
    "maxItems": (
        "{name} must have at most {bound:item|items}, not {given}",
        "{name} 最多 {bound} 项，现在是 {given} 项",
        "{name} 最多 {bound} 項，目前為 {given} 項",
    ),
    "null": ("null", "空值", "空值"),
    "a boolean": ("a boolean", "布尔值", "布林值"),
    "a string": ("a string", "文本", "文字"),
    "a number": ("the number {given}", "数字 {given}", "數字 {given}"),
    "an array": ("an array", "列表", "清單"),
    "an object": ("an object", "对象", "物件"),
    "kind string": ("string", "文本", "文字"),
    "kind integer": ("integer", "整数", "整數"),
    "kind number": ("number", "数字", "數字"),
    "kind boolean": ("boolean", "布尔值", "布林值"),
    "kind array": ("array", "列表", "清單"),
    "kind object": ("object", "对象", "物件"),
    "kind null": ("null", "空值", "空值"),
}


def problem(key: str, language: str, **values: object) -> str:
    """Return the message `key` in a language."""
    return phrase(_PROBLEMS[key], language, **values)


def kind_name(kind: object, language: str) -> str:
    """Return a readable name of a JSON type; other text stays as it is."""
    return problem(f"kind {kind}", language) if f"kind {kind}" in _PROBLEMS else str(kind)
