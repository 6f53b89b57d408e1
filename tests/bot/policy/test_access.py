"""Who may talk to the bot: closed by default, by ids, and no permission reaches further than it was given."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bot.contract.errors import SettingsError
from bot.contract.messages import (
    ChatId,
    Control,
    ControlPressed,
    MessageEdited,
    MessageSent,
    ReplyTarget,
    Sender,
    TimerDue,
)
from bot.policy.access import Access
from bot.sentences import say
from bot.settings import CoreSettings, read
from bot.store import Store
from tests.conftest import FakeClock
from tools.contract.languages import LANGUAGES

PRIVATE = ChatId("telegram", "42", "7")
GROUP = ChatId("telegram", "42", "-50")
TOPIC = ChatId("telegram", "42", "-50", "3")
SAME_GROUP_OTHER_BOT = ChatId("telegram", "43", "-50")


def written(
    person: str = "telegram:7", chat: ChatId = PRIVATE, groups: tuple[str, ...] = (), *, guest: bool = False
) -> MessageSent:
    sender = Sender(id=person, groups=groups, guest=guest)
    return MessageSent(delivery="1", chat=chat, sender=sender, target=ReplyTarget(chat.platform), text="hi")


Make = Callable[..., Access]


@pytest.fixture
def make(store: Store, clock: FakeClock) -> Make:
    def make(**lists: Any) -> Access:
        defaults: dict[str, Any] = {"allow_all": False, "users": (), "chats": (), "admins": ("telegram:1",)}
        return Access(roles=store.access, clock=clock, **(defaults | lists))

    return make


async def test_nobody_may_write_until_somebody_is_let_in(make: Make) -> None:
    assert not await make().allows(written())
    assert await make(allow_all=True).allows(written())


async def test_a_listed_person_may_write_and_nobody_else(make: Make) -> None:
    access = make(users=("telegram:7",))
    assert await access.allows(written())
    assert not await access.allows(written("telegram:77"))
    assert not await access.allows(written("discord:7"))


async def test_a_listed_chat_lets_its_people_write_there_and_nowhere_else(make: Make) -> None:
    access = make(chats=(str(GROUP),))
    assert await access.allows(written(chat=GROUP))
    assert await access.allows(written(chat=TOPIC))
    assert not await access.allows(written(chat=PRIVATE))
    assert not await access.allows(written(chat=SAME_GROUP_OTHER_BOT))


async def test_a_listed_discord_thread_stays_open_where_only_its_own_id_was_listed(make: Make) -> None:
    thread, other = ChatId("discord", "1", "20", "500"), ChatId("discord", "1", "20", "501")
    for listed in ("discord:1/500", "discord:1/20/500"):
        assert await make(chats=(listed,)).allows(written("discord:7", thread))
        assert not await make(chats=(listed,)).allows(written("discord:7", other))
    # A topic's number may be a person's.
    assert not await make(chats=("telegram:42/3",)).allows(written(chat=TOPIC))


async def test_a_listed_private_chat_opens_no_group(make: Make) -> None:
    access = make(chats=(str(PRIVATE),))
    assert await access.allows(written(chat=PRIVATE))
    assert not await access.allows(written(chat=GROUP))


async def test_a_listed_person_may_write_in_a_group_that_is_not_listed(make: Make) -> None:
    """Else the group would have to be opened to everybody in it, so that one of them can ask."""
    access = make(users=("telegram:7",))
    assert await access.allows(written(chat=GROUP))
    assert not await access.allows(written("telegram:8", GROUP))


SHARED = ChatId("slack", "T1", "C1")
GUEST = written("slack:T2/U9", SHARED, ("slack:T2",), guest=True)


async def test_a_listed_channel_lets_in_no_guests_of_another_organisation(make: Make) -> None:
    """Members may share a channel later; its list was made for those who were in it."""
    access = make(chats=(str(SHARED),))
    assert await access.allows(written("slack:T1/U1", SHARED, ("slack:T1",)))
    assert not await access.allows(GUEST)
    await access.change(written("telegram:1", SHARED), "here")
    assert not await access.allows(GUEST)

    assert await make(users=("slack:T2/U9",)).allows(GUEST)
    assert await make(groups=("slack:T2",)).allows(GUEST)
    assert await make(allow_all=True).allows(GUEST)
    await access.change(ADMIN, "slack:T2/U9")
    assert await access.allows(GUEST)


async def test_a_chat_that_is_forbidden_is_so_for_guests_too(make: Make) -> None:
    access = make(allow_all=True)
    await access.change(ADMIN, str(SHARED), forbid=True)
    assert not await access.allows(GUEST)


async def test_a_role_of_a_chat_makes_none_of_its_people_an_admin(make: Make, store: Store) -> None:
    await store.access.set_role(str(GROUP), "admin")
    assert not await make().allows(written(chat=GROUP))


async def test_the_people_of_a_workspace_or_role_may_write(make: Make) -> None:
    access = make(groups=("slack:T1", "discord:guild/9", "discord:role/5"))
    place = ChatId("discord", "1", "2")
    assert await access.allows(written("slack:T1/U1", ChatId("slack", "T1", "C1"), ("slack:T1",)))
    # In a channel shared with another organisation, its people are not ours.
    assert not await access.allows(written("slack:T2/U1", ChatId("slack", "T1", "C1"), ("slack:T2",)))
    assert await access.allows(written("discord:7", place, ("discord:guild/9",)))
    assert await access.allows(written("discord:7", place, ("discord:guild/8", "discord:role/5")))
    assert not await access.allows(written("discord:7", place, ("discord:guild/5", "discord:role/9")))


ADMIN = written("telegram:1")


async def test_an_admin_lets_a_person_in_and_keeps_them_out(make: Make) -> None:
    access = make()
    assert await access.change(ADMIN, "telegram:7") == ("allowed", {"id": "telegram:7", "role": "allowed"})
    assert await access.allows(written(chat=GROUP))
    assert (await access.change(ADMIN, "telegram:7", forbid=True))[0] == "forbidden"
    assert not await access.allows(written())
    # A list in the settings does not bring back whom an admin keeps out.
    assert not await make(users=("telegram:7",), allow_all=True).allows(written())


async def test_here_lets_in_this_chat_with_all_its_topics(make: Make) -> None:
    access = make()
    said, values = await access.change(written("telegram:1", TOPIC), "here")
    assert (said, values["id"]) == ("allowed", str(GROUP))
    assert await access.allows(written(chat=TOPIC))
    assert not await access.allows(written())

    await access.change(written("telegram:1", GROUP), "here", forbid=True)
    assert not await make(allow_all=True).allows(written(chat=TOPIC))
    # Else nobody could let it in again.
    assert await access.allows(written("telegram:1", GROUP))


@pytest.mark.parametrize("id", ["slack:T1", "discord:guild/9", "discord:role/5", "slack:T1/U1", "discord:42/77"])
async def test_whatever_a_list_may_name_may_be_let_in_from_the_chat(make: Make, store: Store, id: str) -> None:
    assert (await make().change(ADMIN, id))[0] == "allowed"
    assert await store.access.role_of(id) == "allowed"


@pytest.mark.parametrize("argument", ["", "telegram:7 king", "here admin", "slack:T1 owner", "a b c"])
async def test_what_is_no_role_changes_nothing(make: Make, store: Store, argument: str) -> None:
    assert (await make().change(ADMIN, argument))[0] == "allow_usage"
    assert await store.access.list_roles() == {}


@pytest.mark.parametrize("forbid", [False, True])
@pytest.mark.parametrize("argument", ["7", "@ada", "telegram:", "x:/", "telegram:007", "telegram:７", "slack:t1/u1"])
async def test_what_is_no_id_changes_nothing_and_says_what_would_be_one(
    make: Make, store: Store, argument: str, forbid: bool
) -> None:
    key, values = await make().change(ADMIN, argument, forbid=forbid)
    for language in LANGUAGES:
        sentence = say(key, language, **values)
        assert argument in sentence and ("telegram:" in sentence or "slack:T1/U1" in sentence)
    assert await store.access.list_roles() == {}


async def test_there_may_be_several_owners_and_only_owners_make_admins(make: Make, store: Store) -> None:
    access = make(admins=())
    await store.access.set_role("telegram:1", "owner")
    assert (await access.change(ADMIN, "telegram:2=owner"))[0] == "allowed"
    assert (await access.change(written("telegram:2"), "telegram:3 admin"))[0] == "allowed"

    third = written("telegram:3")
    assert (await access.change(third, "telegram:4"))[0] == "allowed"
    assert (await access.change(third, "telegram:4 admin"))[0] == "owners_only"
    assert (await access.change(third, "telegram:1", forbid=True))[0] == "owners_only"
    assert (await access.change(third, "telegram:2"))[0] == "owners_only"
    assert (await access.change(written("telegram:4"), "telegram:5"))[0] == "admins_only"
    assert [id for id, role in await access.list_people() if role == "owner"] == ["telegram:1", "telegram:2"]


async def test_nobody_locks_themselves_or_the_operators_admins_out(make: Make, store: Store) -> None:
    await store.access.set_role("telegram:2", "owner")
    access = make()
    assert (await access.change(written("telegram:2"), "telegram:2", forbid=True))[0] == "allow_not_this"
    assert (await access.change(written("telegram:2"), "telegram:1", forbid=True))[0] == "allow_not_this"


async def test_a_pairing_code_is_offered_only_while_nobody_could_write(make: Make) -> None:
    assert await make(admins=()).new_pairing_code() is not None
    for lists in ({"users": ("telegram:7",)}, {"chats": (str(GROUP),)}, {"groups": ("slack:T1",)}, {"allow_all": True}):
        assert await make(**{"admins": (), **lists}).new_pairing_code() is None


async def test_a_second_process_leaves_the_code_that_the_first_one_showed(make: Make, clock: FakeClock) -> None:
    code = await make(admins=()).new_pairing_code(keep=True)

    assert code and await make(admins=()).new_pairing_code(keep=True) == ""
    assert await paired(make(admins=()), OWNER, code) == "paired"


async def test_what_is_shown_of_a_code_says_where_it_is_to_be_found(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    for access in (make(admins=()), make(admins=()), make()):
        await access.show_pairing_code(keep=True)

    assert ["another process" in line for line in caplog.messages] == [False, True]


async def test_a_listed_chat_that_has_another_id_stays_listed(make: Make, store: Store) -> None:
    new, other = ChatId("telegram", "42", "-100050"), ChatId("telegram", "42", "-100060")
    access = make(chats=(str(GROUP),))
    for _ in range(2):
        await access.move(GROUP, new)
    await access.move(ChatId("telegram", "42", "-60"), other)

    assert [await make().allows(written(chat=chat)) for chat in (new, other)] == [True, False]


OWNER, ELSEWHERE, STRANGER = "telegram:7", "slack:T1/U7", "telegram:666"


async def paired(access: Access, person: str, code: str) -> str:
    """What somebody is told who writes a code."""
    return (await access.pair(written(person), code)).said


async def linked(access: Access, person: str = OWNER) -> str:
    """The code that an owner is shown."""
    key, values = await access.link(written(person))
    assert key == "link_code"
    return values["code"]


@pytest.fixture
async def owned(make: Make) -> Access:
    """A bot that was paired with one owner."""
    access = make(admins=())
    code = await access.new_pairing_code()
    assert code is not None and await paired(access, OWNER, code) == "paired"
    return access


def wrong(code: str, by: int = 1) -> str:
    """Another code than this one."""
    digits = f"{(int(code.replace('-', '')) + by) % 1_000_000:06d}"
    return f"{digits[:4]}-{digits[4:]}"


async def test_a_guesser_is_not_heard_for_long_and_others_are(make: Make, clock: FakeClock) -> None:
    access = make(admins=())
    code = await access.new_pairing_code()
    assert code is not None
    for by in range(1, 6):
        assert await paired(access, STRANGER, wrong(code, by)) == "pair_wrong"
    clock.now += 60
    refused = await access.pair(written(STRANGER), code)
    assert (refused.said, refused.wait) == ("pair_too_many", 14 * 60)
    assert await paired(access, OWNER, code) == "paired"
    assert await access.is_admin_id(OWNER)


async def test_each_case_of_a_useless_code_has_its_sentence(make: Make, clock: FakeClock) -> None:
    access = make(admins=())
    code = await access.new_pairing_code()
    assert code is not None
    assert await paired(access, STRANGER, wrong(code)) == "pair_wrong"
    clock.now += 15 * 60
    assert await paired(access, OWNER, code) == "pair_gone"
    code = await access.new_pairing_code()
    assert code is not None and await paired(access, OWNER, code) == "paired"
    assert await paired(access, OWNER, code) == "pair_already"
    assert await paired(access, STRANGER, code) == "pair_stranger"
    await access.change(written(OWNER), "telegram:8")
    assert await paired(access, "telegram:8", code) == "pair_allowed"
    assert await paired(make(allow_all=True), "telegram:9", code) == "pair_allowed"
    assert await paired(make(admins=("telegram:5",)), "telegram:5", code) == "pair_already"


@pytest.mark.parametrize("form", ["{}", " {} ", "{}\n"])
async def test_an_owner_adds_an_account_elsewhere_by_a_code_that_works_once(owned: Access, form: str) -> None:
    code = await linked(owned)

    used = await owned.pair(written(ELSEWHERE), form.format(code))

    assert used.said == "linked" and used.asked == written(OWNER)
    assert await owned.is_admin_id(ELSEWHERE)
    assert await paired(owned, STRANGER, code) == "pair_stranger"
    assert not await owned.is_admin_id(STRANGER)


@pytest.mark.parametrize("divided", ["482193", "4821 93", "4821–93", "４８２１-９３"])
async def test_a_code_is_right_however_a_person_writes_it(
    make: Make, monkeypatch: pytest.MonkeyPatch, divided: str
) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda most: 482_193)
    access = make(admins=())
    assert await access.new_pairing_code() == "4821-93"

    assert await paired(access, OWNER, divided) == "paired"


async def test_a_code_is_shown_to_owners_alone_and_only_in_private(owned: Access, make: Make) -> None:
    await owned.change(written(OWNER), "telegram:8 admin")
    for person in (STRANGER, "telegram:8"):
        assert await owned.link(written(person)) == ("owners_only", {})
    assert await owned.link(replace(written(OWNER, GROUP), group=True)) == ("in_private", {})
    assert (await make(admins=("telegram:5",)).link(written("telegram:5")))[0] == "link_code"


async def test_a_code_ends_with_its_time_the_next_one_and_its_owners_role(
    owned: Access, make: Make, clock: FakeClock
) -> None:
    replaced = await linked(owned)
    late = await linked(owned)
    assert await paired(owned, ELSEWHERE, replaced) == "pair_stranger"
    clock.now += 15 * 60
    assert await paired(owned, ELSEWHERE, late) == "pair_stranger"

    assert await paired(owned, ELSEWHERE, await linked(owned)) == "linked"
    left = await linked(owned, ELSEWHERE)
    await owned.change(written(OWNER), ELSEWHERE, forbid=True)
    assert await paired(owned, STRANGER, left) == "pair_stranger"
    assert not await owned.allows(written(ELSEWHERE))
    # Whom the owner lets in again is in again.
    assert await paired(owned, ELSEWHERE, await linked(owned)) == "linked"


async def test_a_code_outlives_a_restart_and_one_of_an_admin_of_the_settings_the_admin_alone(
    owned: Access, make: Make
) -> None:
    code = await linked(owned)
    assert await paired(make(admins=()), ELSEWHERE, code) == "linked"

    code = await linked(make(admins=("telegram:5",)), "telegram:5")
    assert await paired(make(admins=()), "discord:5", code) == "pair_stranger"


async def test_guessing_from_many_accounts_finds_no_code(owned: Access) -> None:
    code = await linked(owned)
    for guess in range(20):
        assert await paired(owned, f"telegram:{1_000 + guess // 4}", wrong(code, guess + 1)) == "pair_stranger"

    assert await paired(owned, ELSEWHERE, code) == "pair_stranger"
    assert await paired(owned, ELSEWHERE, await linked(owned)) == "linked"


async def test_when_too_many_guess_nobody_is_heard_for_a_while(owned: Access) -> None:
    code = await linked(owned)
    said = [await paired(owned, f"telegram:{1_000 + guess // 4}", wrong(code, guess + 1)) for guess in range(60)]

    assert set(said[-4:]) == {"pair_too_many"}


async def test_guesses_in_many_chats_at_once_are_no_more_than_in_one(owned: Access) -> None:
    code = await linked(owned)
    said = await asyncio.gather(*(paired(owned, STRANGER, wrong(code, by)) for by in range(1, 19)))
    assert sorted(said) == ["pair_stranger"] * 5 + ["pair_too_many"] * 13
    assert await paired(owned, ELSEWHERE, code) == "linked"


async def test_two_who_use_a_code_at_once_are_one_owner_more(owned: Access) -> None:
    code = await linked(owned)
    said = await asyncio.gather(*(paired(owned, f"slack:T1/U{number}", code) for number in range(5)))
    assert sorted(said) == ["linked", *["pair_stranger"] * 4]


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        (
            "ALLOWED_CHATS",
            "telegram:42/-50, slack:T1/C1/17.000005",
            ("telegram:42/-50", "slack:T1/C1/17.000005"),
        ),
        (
            "ALLOWED_WORKSPACES",
            "slack:T1,discord:9,discord:guild/8",
            ("slack:T1", "discord:guild/9", "discord:guild/8"),
        ),
        ("ALLOWED_ROLES", "discord:5,discord:role/6", ("discord:role/5", "discord:role/6")),
        ("ALLOWED_CHATS", "", ()),
    ],
)
def test_lists_are_kept_as_messages_name_them(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, kept: tuple[str, ...]
) -> None:
    monkeypatch.setenv(name, value)
    assert getattr(read(CoreSettings), name.lower()) == kept


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("ALLOWED_CHATS", "telegram:-50", "telegram:BOT/CHAT"),
        ("ALLOWED_CHATS", "general", "telegram:BOT/CHAT"),
        ("ALLOWED_WORKSPACES", "T1", "lacks its platform: write slack:T1"),
        ("ALLOWED_WORKSPACES", "discord:role/5", "slack:T1, discord:SERVER"),
        ("ALLOWED_ROLES", "Readers", "discord:ROLE"),
        ("TOKENS_PER_DAY", "-1", "a whole number of at least 0"),
    ],
)
def test_a_malformed_list_is_one_clear_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as refused:
        read(CoreSettings)
    assert sentence in str(refused.value)


async def test_a_listed_person_may_write_in_groups_that_no_list_names_unless_that_is_switched_off(make: Make) -> None:
    def in_group(person: str, chat: ChatId) -> MessageSent:
        return replace(written(person, chat), group=True)

    lists = {"users": ("telegram:7",), "chats": (str(GROUP),)}
    access = make(**lists, people_in_groups=False)

    assert await access.allows(written()) and await access.allows(in_group("telegram:7", GROUP))
    assert not await access.allows(in_group("telegram:7", SAME_GROUP_OTHER_BOT))
    assert await access.allows(in_group("telegram:1", SAME_GROUP_OTHER_BOT))
    assert await make(**lists).allows(in_group("telegram:7", SAME_GROUP_OTHER_BOT))


@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (MessageSent, {"text": "hi"}),
        (MessageSent, {"text": "/usage", "command": "usage"}),
        (MessageSent, {"text": "hi", "scheduled": True}),
        (MessageEdited, {"text": "hi", "message_id": "5"}),
        (ControlPressed, {"control": Control.REGENERATE, "turn": 1}),
        (TimerDue, {"text": "the tea"}),
    ],
    ids=["question", "command", "reminder that is a question", "edit", "button", "reminder"],
)
async def test_in_such_a_group_a_listed_person_is_let_in_by_no_door(
    make: Make, kind: type[Any], more: dict[str, Any], group: bool
) -> None:
    target = ReplyTarget("telegram")
    incoming = kind(delivery="1", chat=GROUP, sender=Sender(id="telegram:7"), target=target, group=group, **more)

    assert await make(users=("telegram:7",), people_in_groups=False).allows(incoming) is not group
    assert await make(users=("telegram:7",)).allows(incoming)
    assert await make(users=("telegram:7",), chats=(str(GROUP),), people_in_groups=False).allows(incoming)
