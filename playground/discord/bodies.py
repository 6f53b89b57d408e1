"""Reading what a bot wants to send: every field checked before anything is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playground.discord.errors import TOO_LARGE, TOO_MANY_FILES, Form, Refusal
from playground.discord.limits import Limits
from playground.discord.world import COMPONENTS_V2, Json, parts

_EMBED_LENGTHS = {"title": 256, "description": 4096}


@dataclass(frozen=True, slots=True)
class Upload:
    """One file of a multipart request: the number in `files[n]`, and what came with it."""

    number: str
    name: str
    media_type: str
    content: bytes


@dataclass(slots=True)
class Draft:
    """A message body that may be shown. A field that was not sent is not in `given`."""

    given: frozenset[str]
    content: str = ""
    embeds: list[Json] = field(default_factory=list)
    components: list[Json] = field(default_factory=list)
    flags: int = 0
    uploads: list[Upload] = field(default_factory=list)
    stickers: list[str] = field(default_factory=list)
    poll: str = ""
    poll_ends: bool = True
    kept: list[str] | None = None
    """Attachments that stay, by id, when an edit names any; None: all of them."""
    allowed: Mapping[str, Any] | None = None
    reference: str = ""
    must_exist: bool = True
    """Refuse when the message replied to is gone."""
    nonce: str | int | None = None
    enforce_nonce: bool = False


def read_draft(body: Mapping[str, Any], uploads: Sequence[Upload], limits: Limits) -> Draft:
    """Check a message body, for a send or an edit.

    Raises:
        Refusal: a field or a file breaks a rule.
    """
    form = Form()
    draft = Draft(frozenset(key for key in body if body[key] is not None or key in ("content", "embeds", "components")))
    content = body.get("content")
    if isinstance(content, list | dict):
        form.add("content", "STRING_TYPE_CONVERT", f'Could not interpret "{content}" as string.')
    elif content is not None:
        draft.content = str(content).strip()
        form.longest("content", draft.content, limits.content)
    draft.embeds = _objects(body, "embeds", form)
    _check_embeds(draft.embeds, form)
    draft.components = _objects(body, "components", form)
    if isinstance(flags := body.get("flags") or 0, int):
        draft.flags = flags
    else:
        form.add("flags", "NUMBER_TYPE_COERCE", f'Value "{flags}" is not int.')
    _check_components(draft, form, limits)
    _read_allowed(body, draft, form)
    _read_reference(body, draft, form)
    nonce = body.get("nonce")
    if nonce is not None:
        draft.nonce = nonce
        form.longest("nonce", str(nonce), 25)
        draft.enforce_nonce = bool(body.get("enforce_nonce"))
    _read_files(body, uploads, draft, form, limits)
    form.check()
    return draft


def _objects(body: Mapping[str, Any], key: str, form: Form) -> list[Json]:
    value = body.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        form.add(key, "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")
        return []
    return value


def _check_embeds(embeds: list[Json], form: Form) -> None:
    if len(embeds) > 10:
        form.add("embeds", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.")
    total = 0
    for number, embed in enumerate(embeds):
        for key, most in _EMBED_LENGTHS.items():
            text = str(embed.get(key) or "")
            form.longest(f"embeds.{number}.{key}", text, most)
            total += len(text)
        entries = embed.get("fields") or []
        if len(entries) > 25:
            form.add(f"embeds.{number}.fields", "BASE_TYPE_MAX_LENGTH", "Must be 25 or fewer in length.")
        for index, entry in enumerate(entries):
            for key, most in (("name", 256), ("value", 1024)):
                text = str(entry.get(key) or "")
                if not text:
                    form.add(f"embeds.{number}.fields.{index}.{key}", "BASE_TYPE_REQUIRED", "This field is required")
                form.longest(f"embeds.{number}.fields.{index}.{key}", text, most)
                total += len(text)
        footer = str((embed.get("footer") or {}).get("text") or "")
        form.longest(f"embeds.{number}.footer.text", footer, 2048)
        total += len(footer) + len(str((embed.get("author") or {}).get("name") or ""))
    if total > 6000:
        form.add("embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000")


def _check_components(draft: Draft, form: Form, limits: Limits) -> None:
    rich = bool(draft.flags & COMPONENTS_V2)
    found = parts(draft.components)
    if rich:
        for key in ("content", "embeds"):
            if getattr(draft, key):
                form.add(
                    key,
                    "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
                    f"The '{key}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
                )
        if len(found) > 40:
            form.add("components", "BASE_TYPE_MAX_LENGTH", "Must be 40 or fewer in length.")
        if sum(len(str(part.get("content") or "")) for part in found if part.get("type") == 10) > limits.display:
            form.add(
                "components",
                "COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED",
                f"The total displayable text size exceeds maximum size of {limits.display}",
            )
    else:
        if len(draft.components) > 5:
            form.add("components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
        for number, row in enumerate(draft.components):
            if row.get("type") != 1:
                form.add(
                    f"components.{number}.type", "UNION_TYPE_CHOICES", 'Value of field "type" must be one of (1,).'
                )
    seen: set[str] = set()
    for number, row in enumerate(draft.components):
        if row.get("type") == 1 and not 1 <= len(row.get("components") or ()) <= 5:
            form.add(f"components.{number}.components", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 5 in length.")
        for index, part in enumerate(parts(row.get("components") or [])):
            where = f"components.{number}.components.{index}"
            custom = part.get("custom_id")
            if part.get("type") in (2, 3) and part.get("style") not in (5, 6) and not custom:
                form.add(f"{where}.custom_id", "BASE_TYPE_REQUIRED", "This field is required")
            if custom:
                form.longest(f"{where}.custom_id", str(custom), 100)
                if custom in seen:
                    form.add(
                        f"{where}.custom_id",
                        "COMPONENT_CUSTOM_ID_DUPLICATED",
                        "Component custom id cannot be duplicated",
                    )
                seen.add(custom)
            form.longest(f"{where}.label", str(part.get("label") or ""), 80)


def _read_allowed(body: Mapping[str, Any], draft: Draft, form: Form) -> None:
    rule = body.get("allowed_mentions")
    if rule is None:
        return
    parse = rule.get("parse") or []
    for number, kind in enumerate(parse):
        if kind not in ("users", "roles", "everyone"):
            choices = "Value must be one of ('users', 'roles', 'everyone')."
            form.add(f"allowed_mentions.parse.{number}", "BASE_TYPE_CHOICES", choices)
    for kind in ("users", "roles"):
        if kind in parse and rule.get(kind):
            form.add(
                "allowed_mentions",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
            )
        if len(rule.get(kind) or ()) > 100:
            form.add(f"allowed_mentions.{kind}", "BASE_TYPE_MAX_LENGTH", "Must be 100 or fewer in length.")
    draft.allowed = rule


def _read_reference(body: Mapping[str, Any], draft: Draft, form: Form) -> None:
    reference = body.get("message_reference")
    if reference is None:
        return
    target = str(reference.get("message_id") or "")
    if not target:
        form.add("message_reference.message_id", "BASE_TYPE_REQUIRED", "This field is required")
    elif not target.isdecimal():
        form.add("message_reference.message_id", "NUMBER_TYPE_COERCE", f'Value "{target}" is not snowflake.')
    draft.reference = target
    draft.must_exist = bool(reference.get("fail_if_not_exists", True))


def _read_files(body: Mapping[str, Any], uploads: Sequence[Upload], draft: Draft, form: Form, limits: Limits) -> None:
    if any(len(upload.content) > limits.file for upload in uploads):
        raise Refusal(TOO_LARGE)
    if sum(len(upload.content) for upload in uploads) > limits.request:
        raise Refusal(TOO_LARGE)
    if len(uploads) > limits.files:
        raise Refusal(TOO_MANY_FILES)
    draft.uploads = list(uploads)
    named = body.get("attachments")
    if named is None:
        return
    numbers = {upload.number for upload in uploads}
    draft.kept = []
    for index, one in enumerate(named):
        id = str(one.get("id"))
        if id in numbers:
            continue
        if int(id) < 100 if id.isdecimal() else True:
            form.add(
                f"attachments.{index}.id",
                "ATTACHMENT_NOT_FOUND",
                f"The attachment {id} was not found among the uploaded files",
            )
        else:
            draft.kept.append(id)
