"""Ids as messages name them, and nothing that would match nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters import PLATFORMS
from bot.contract import identity
from bot.contract.identity import MalformedIdError
from bot.contract.messages import ChatId

PERSONS = ("telegram:123", "slack:T1/U1", "slack:E1/W1", "discord:456", "console:me")
CHATS = ("telegram:42/7", "telegram:42/-100200", "telegram:42/-50/3", "slack:T1/C1", "slack:T1/D1/17.000005")


@pytest.fixture(autouse=True, scope="module")
def these_platforms() -> Iterator[None]:
    """The sentences that are compared name examples of these, and of no platform added later."""
    every = {name: one.ids for name, one in PLATFORMS.items()}
    identity.use({name: every[name] for name in ("telegram", "slack", "discord", "console")})
    yield
    identity.use(every)


@pytest.mark.parametrize(
    ("check", "ids"),
    [
        (identity.person, PERSONS),
        (identity.chat, (*CHATS, "slack:T1/G1", "discord:42/77", "console:local/me")),
        (identity.workspace, ("slack:T1", "slack:E1", "discord:guild/9")),
        (identity.role, ("discord:role/5",)),
    ],
)
def test_an_id_in_its_own_form_is_kept(check: Callable[[str], str], ids: tuple[str, ...]) -> None:
    assert [check(id) for id in ids] == list(ids)
    assert [identity.anything(id) for id in ids] == list(ids)


def test_a_number_alone_is_a_server_or_a_role_where_one_is_asked_for() -> None:
    assert identity.workspace("discord:9") == "discord:guild/9"
    assert identity.role("discord:9") == "discord:role/9"


@pytest.mark.parametrize(
    ("check", "written", "meant"),
    [
        (identity.person, "telegram:１２３", "telegram:123"),
        (identity.person, "telegram:١٢٣", "telegram:123"),
        (identity.person, "telegram:00123", "telegram:123"),
        (identity.person, "Telegram:123", "telegram:123"),
        (identity.person, "telegram：123", "telegram:123"),
        (identity.person, "discord:0456", "discord:456"),
        (identity.person, "slack:t1/u1", "slack:T1/U1"),
        (identity.person, "slack: T1 / U1", "slack:T1/U1"),
        (identity.chat, "telegram:42/−50", "telegram:42/-50"),
        (identity.chat, "telegram:042/-0050/03", "telegram:42/-50/3"),
        (identity.chat, "slack:T1/c1", "slack:T1/C1"),
        (identity.workspace, "slack:t1", "slack:T1"),
        (identity.workspace, "discord:００９", "discord:guild/9"),
        (identity.role, "discord:role/05", "discord:role/5"),
    ],
)
def test_one_that_would_match_nobody_is_refused_with_the_one_that_was_meant(
    check: Callable[[str], str], written: str, meant: str
) -> None:
    with pytest.raises(MalformedIdError) as refused:
        check(written)

    assert str(refused.value) == f"{written!r} is written wrongly and would match nobody: write {meant}."
    assert check(meant) == meant


@pytest.mark.parametrize(
    ("check", "written", "helps"),
    [
        (identity.person, "123", "lacks its platform: write telegram:123, discord:123."),
        (identity.person, "０１２", "lacks its platform: write telegram:12, discord:12."),
        (identity.person, "telegram:-100200", "telegram:BOT/-100200"),
        (identity.person, "telegram:0", "telegram:123, slack:T1/U1, discord:456"),
        (identity.person, "slack:U1", "slack:T1/U1"),
        (identity.person, "slack:T1/C1", "slack:T1/U1"),
        (identity.person, "telegramm:1", "telegram:123"),
        (identity.person, "telegram:" + "9" * 21, "telegram:123"),
        (identity.chat, "telegram:42/general", "telegram:BOT/CHAT"),
        (identity.chat, "slack:T1/U1", "slack:TEAM/CHANNEL"),
        (identity.chat, "slack:T1/C1/17.5", "slack:TEAM/CHANNEL"),
        (identity.workspace, "slack:U1", "slack:T1, discord:SERVER"),
        (identity.workspace, "t1", "lacks its platform: write slack:T1."),
        (identity.chat, "C1", "slack:TEAM/CHANNEL"),
        (identity.person, "-100200", "is a group, not a person: groups are written telegram:BOT/-100200"),
        (identity.person, "T1/U1", "lacks its platform: write slack:T1/U1."),
        (identity.channel, "general", "telegram:BOT/CHAT, slack:TEAM/CHANNEL, discord:APP/CHANNEL, telegram:CHAT"),
        (identity.channel, "pigeon:*", "is not a chat"),
        (identity.anyone, "guild/5", "lacks its platform: write discord:guild/5."),
        (identity.role, "discord:guild/5", "discord:ROLE"),
        (identity.anything, "nobody", "`here`"),
    ],
)
def test_what_is_no_id_is_told_what_one_looks_like(check: Callable[[str], str], written: str, helps: str) -> None:
    with pytest.raises(MalformedIdError) as refused:
        check(written)

    assert helps in str(refused.value) and repr(written) in str(refused.value)


def test_a_long_text_is_not_repeated_whole() -> None:
    with pytest.raises(MalformedIdError) as refused:
        identity.anything("x" * 100_000)

    assert len(str(refused.value)) < 300


@given(st.text(max_size=40) | st.from_regex(r"(telegram|slack|discord):[\w/:.-]{0,20}", fullmatch=True))
def test_what_is_accepted_is_ascii_and_read_as_the_same_chat(text: str) -> None:
    """What adapters write is ASCII but for the console's names, and a chat has one way to be written."""
    for check in (identity.person, identity.chat, identity.workspace, identity.role, identity.anything):
        try:
            id = check(text)
        except MalformedIdError as error:
            assert "\n" not in str(error)
            continue
        assert id.isascii() or id.startswith("console:")
        assert check(id) == id
        if check is identity.chat:
            assert str(ChatId.parse(id)) == id
