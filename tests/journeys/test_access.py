"""Who is not let in, or has nothing left, costs no model call and is told once; on every platform."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing

import pytest

from bot.app import App
from bot.contract.limits import Limits
from playground.faults import Fault
from playground.model import Reply
from tests.journeys.conftest import Start, World
from tests.patience import PATIENCE

ADA, BOB = 7, 8
CLOSED = {"ALLOW_ALL": "false", "ALLOWED_USERS": "telegram:7,slack:T0PARLEY/U7,discord:7"}
PLATFORMS = ("telegram", "slack", "discord")
FACELESS = "Here you write as a group or a channel, so I cannot tell who is asking. Please write as yourself."


class Place:
    """One place of one platform, where several people write."""

    def __init__(self, world: World, platform: str, *, group: bool = False, person: int = BOB) -> None:
        for id, name in ((ADA, "Ada"), (BOB, "Bob")):
            world.telegram.person(id, name)
            world.slack.person(f"U{id}", name)
            world.discord.person(id, name)
        self.world, self.platform, self.group, self.person = world, platform, group, person
        match platform:
            case "telegram" if group:
                world.telegram.group(-50, "Friends")
                self.id = "-50"
            case "telegram":
                self.id = str(person)
            case "slack" if group:
                world.slack.channel("C1", "general")
                self.id = "C1"
            case "slack":
                self.id = world.slack.direct(f"U{person}")
            case "discord" if group:
                world.discord.guild(1, "Guild")
                world.discord.channel(11, 1, "general")
                self.id = "11"
            case _:
                self.id = world.discord.direct(person).id
        self.root = ""

    def say(self, text: str, person: int | None = None) -> None:
        """Write to the bot: with a mention where there are others."""
        person = person or self.person
        match self.platform:
            case "telegram":
                name = f"@{self.world.telegram.bot['username']} " if self.group and not text.startswith("/") else ""
                self.world.telegram.say(int(self.id), name + text, person=person)
            case "slack":
                name = f"<@{self.world.slack.bot_user_id}> " if self.group else ""
                # One thread, so that it is one conversation.
                ts = self.world.slack.say(
                    self.id, name + text.removeprefix("/"), person=f"U{person}", thread_ts=self.root
                )
                if self.group:
                    self.root = self.root or ts
            case _:
                name = f"{self.world.discord.mention()} " if self.group else ""
                self.world.discord.say(int(self.id), name + text, person=person)

    def forward(self, text: str) -> None:
        """Forward to the bot what somebody unknown wrote elsewhere."""
        match self.platform:
            case "telegram":
                eve = self.world.telegram.person(666, "Eve")
                self.world.telegram.people.forward(int(self.id), text, eve, person=self.person)
            case "slack":
                self.world.slack.channel("C9", "elsewhere", member=False)
                said = self.world.slack.say("C9", text, person="U666")
                self.world.slack.forward(self.id, ("C9", said), person=f"U{self.person}")
            case _:
                self.world.discord.person(666, "Eve")
                elsewhere = self.world.discord.direct(666)
                said = self.world.discord.say(elsewhere, text)
                self.world.discord.forward(self.id, said, person=self.person)

    @property
    def texts(self) -> list[str]:
        return [message.text for message in getattr(self.world, self.platform).screen.of(self.id)]

    async def until(self, seen: Callable[[list[str]], object]) -> None:
        await getattr(self.world, self.platform).screen.until(lambda _: seen(self.texts))


def counted(world: World) -> Counter[str]:
    """How many deliveries are in each state."""
    with closing(sqlite3.connect(f"file:{world.data}/parley.db?mode=ro", uri=True)) as db:
        return Counter(dict(db.execute("SELECT state, count(*) FROM inbox GROUP BY state")))


async def stored(world: World, **states: int) -> None:
    """Wait until so many deliveries have ended so."""
    async with asyncio.timeout(PATIENCE):
        while any(counted(world)[state] < most for state, most in states.items()):
            await asyncio.sleep(0.01)


async def decided(world: World, bot: App, **states: int) -> None:
    """Wait until so many deliveries have ended so, and everything that is said of them is said."""
    await stored(world, **states)
    await bot.dispatcher.wait_idle()
    assert {state: counted(world)[state] for state in states} == states


async def test_a_stranger_in_private_is_told_once_with_the_id_to_add(world: World, start: Start) -> None:
    async with start(*PLATFORMS, **CLOSED) as bot:
        places = {platform: Place(world, platform) for platform in PLATFORMS}
        for place in places.values():
            for number in range(3):
                place.say(f"question number {number}")
        await decided(world, bot, refused=9)

    ids = {"telegram": "telegram:8", "slack": "slack:T0PARLEY/U8", "discord": "discord:8"}
    for platform, place in places.items():
        [text] = place.texts
        assert ids[platform] in text
    assert world.model.requests == []


async def test_a_stranger_in_a_group_is_told_nothing(world: World, start: Start) -> None:
    async with start(*PLATFORMS, **CLOSED) as bot:
        places = {platform: Place(world, platform, group=True) for platform in PLATFORMS}
        for place in places.values():
            place.say("please answer me")
            place.say("/new")
        await decided(world, bot, refused=6)

    assert {platform: place.texts for platform, place in places.items()} == {platform: [] for platform in PLATFORMS}
    assert world.model.requests == []


async def test_a_crowd_of_strangers_does_not_hold_up_who_may_write(world: World, start: Start) -> None:
    world.settings |= {"ALLOW_ALL": "false", "ALLOWED_USERS": "telegram:1"}
    world.model.script = lambda body: Reply("Tea is a leaf.")
    for person in range(1, 102):
        world.telegram.person(person, f"Person {person}")
    goes_on = asyncio.Event()
    async with start("telegram") as bot:
        telling = world.telegram.faults.add("sendMessage", Fault(hold=goes_on))
        for number, person in enumerate(range(2, 102)):
            world.telegram.say(person, "/start" if number % 2 else "hello", person=person)
        await asyncio.wait_for(telling.reached.wait(), PATIENCE)
        world.telegram.say(1, "What is tea?", person=1)
        await world.telegram.screen.until(lambda screen: any("leaf" in one.text for one in screen.of("1")), PATIENCE)
        # They are told one after the other, and here the first of them is still being told.
        assert not any(world.telegram.screen.of(str(person)) for person in range(2, 102))
        goes_on.set()
        await bot.dispatcher.wait_idle()

    told = [world.telegram.screen.of(str(person))[-1].text for person in range(2, 102)]
    assert all(str(person) in text for person, text in enumerate(told, 2))


async def test_a_strangers_slash_command_is_answered_each_time_so_that_nothing_is_left_thinking(
    world: World, start: Start
) -> None:
    async with start("discord", **CLOSED) as bot:
        place = Place(world, "discord", group=True)
        for number in range(2):
            world.discord.slash("ask", {"question": f"question {number}"}, 11, BOB)
        await decided(world, bot, refused=2)

    assert len(place.texts) == 2
    assert all("discord:8" in text for text in place.texts)
    assert world.model.requests == []


async def test_a_chat_a_workspace_and_a_server_that_are_listed_let_their_people_in(world: World, start: Start) -> None:
    lists = {
        "ALLOW_ALL": "false",
        "ALLOWED_CHATS": f"telegram:{world.telegram.bot['id']}/-50",
        "ALLOWED_WORKSPACES": "slack:T0PARLEY,discord:1",
    }
    world.model.script = lambda body: Reply("Welcome here.")
    async with start(*PLATFORMS, **lists) as bot:
        places = [Place(world, platform, group=True) for platform in PLATFORMS]
        for place in places:
            place.say("please answer me")
        await decided(world, bot, done=3)
        # A group's permission is none for a private chat.
        private = Place(world, "telegram")
        private.say("please answer me here too")
        await decided(world, bot, refused=1)

    assert [place.texts for place in places] == [["Welcome here."]] * 3
    assert len(world.model.requests) == 3
    assert "telegram:8" in "".join(private.texts)


async def test_a_listed_person_is_answered_in_a_group_that_is_not_listed_and_the_others_there_are_not(
    world: World, start: Start
) -> None:
    world.model.script = lambda body: Reply("Welcome here.")
    async with start(*PLATFORMS, **CLOSED) as bot:
        places = [Place(world, platform, group=True) for platform in PLATFORMS]
        for place in places:
            place.say("please answer me", ADA)
        await decided(world, bot, done=3)
        for place in places:
            place.say("and me", BOB)
        await decided(world, bot, done=3, refused=3)

    assert [place.texts for place in places] == [["Welcome here."]] * 3
    assert len(world.model.requests) == 3


async def test_a_guest_in_a_listed_slack_channel_is_let_in_only_when_listed_himself(world: World, start: Start) -> None:
    slack = world.slack
    world.model.script = lambda body: Reply("Welcome here.")
    slack.channel("C1", "with-others", shared=True)
    slack.person("U7", "Ada")
    slack.person("U8", "Bob", team="T0OTHER")
    async with start("slack", ALLOW_ALL="false", ALLOWED_CHATS="slack:T0PARLEY/C1", ADMINS="slack:T0PARLEY/U1") as bot:
        for person in ("U7", "U8"):
            slack.say("C1", f"<@{slack.bot_user_id}> please answer me", person=person)
        await decided(world, bot, done=1, refused=1)
        slack.say(slack.direct("U1"), "allow slack:T0OTHER/U8", person="U1")
        await decided(world, bot, done=2, refused=1)
        slack.say("C1", f"<@{slack.bot_user_id}> and now?", person="U8")
        await decided(world, bot, done=3, refused=1)

    assert [message.text for message in slack.screen.of("C1")] == ["Welcome here."] * 2


async def test_the_direct_messages_of_several_are_a_group_to_which_a_person_takes_his_permission(
    world: World, start: Start
) -> None:
    slack, discord = world.slack, world.discord
    world.model.script = lambda body: Reply("Welcome here.")
    for id, name in ((ADA, "Ada"), (BOB, "Bob")):
        slack.person(f"U{id}", name)
        discord.person(id, name)
    slack.direct_of_several("C5", "U7", "U8")
    discord.direct_of_several(40, "friends")
    async with start("slack", "discord", **CLOSED) as bot:
        for id in (ADA, BOB):
            slack.say("C5", f"<@{slack.bot_user_id}> please answer me", person=f"U{id}")
            discord.slash("ask", {"question": "please answer me"}, 40, id)
        await decided(world, bot, done=2, refused=2)

    assert [message.text for message in slack.screen.of("C5")] == ["Welcome here."]
    answered, refused = sorted(message.text for message in discord.screen.of("40"))[::-1]
    assert "Welcome here." in answered and "discord:8" in refused
    assert len(world.model.requests) == 2


async def test_other_bots_are_not_heard_though_everybody_may_write(world: World, start: Start) -> None:
    telegram, slack, discord = world.telegram, world.slack, world.discord
    world.model.script = lambda body: Reply("Welcome here.")
    async with start(*PLATFORMS) as bot:
        places = {platform: Place(world, platform, group=True) for platform in PLATFORMS}
        news = telegram.people.channel(-1_001_000_000_009, "News")
        name = f"@{telegram.bot['username']}"
        telegram.people.say(-50, f"{name} hello", as_chat=telegram.world.chats[-50])
        telegram.people.say(-50, f"{name} hello", as_chat=news)
        telegram.people.channel_post(-50, f"{name} hello", news)
        slack.say("C1", f"<@{slack.bot_user_id}> hello", person="U9", bot_id="B7")
        discord.say(11, f"{discord.mention()} hello", person=discord.person(99, "Other", bot=True))
        discord.say(11, f"{discord.mention()} hello", webhook="News")
        for place in places.values():
            place.say("a person")
        await decided(world, bot, done=3, refused=2)

    assert [place.texts for place in list(places.values())[1:]] == [["Welcome here."]] * 2
    assert sorted(places["telegram"].texts) == [FACELESS, "Welcome here."], "once an hour, however many write so"


@pytest.mark.parametrize("shut", [False, True])
async def test_who_writes_as_a_chat_is_asked_to_write_as_a_person(world: World, start: Start, shut: bool) -> None:
    """An anonymous admin may be somebody who is listed; in a forbidden chat nothing is said to anybody."""
    async with start("telegram", **CLOSED) as bot:
        Place(world, "telegram", group=True)
        if shut:
            await bot.store.access.set_role(f"telegram:{world.telegram.bot['id']}/-50", "blocked")
        name, group = f"@{world.telegram.bot['username']}", world.telegram.world.chats[-50]
        for text in (f"{name} 你好", f"/new{name}"):
            world.telegram.people.say(-50, text, as_chat=group)
        await decided(world, bot, refused=2)

    shown = [message.text for message in world.telegram.screen.of("-50")]
    assert [text[:6] for text in shown] == ([] if shut else ["我只回答个人"])
    assert world.model.requests == []


async def test_who_has_a_listed_role_is_let_in_where_discord_tells_of_roles(world: World, start: Start) -> None:
    """On the server, by mention, in threads and by slash command; not by a role of the same name, nor in private."""
    discord, cid = world.discord, 9
    world.model.script = lambda body: Reply("Welcome here.")
    discord.guild(1, "Guild")
    discord.guild(2, "Elsewhere")
    discord.role(500, 1, "Staff")
    discord.role(600, 2, "Staff")
    async with start("discord", ALLOW_ALL="false", ALLOWED_ROLES="discord:500,discord:501") as bot:
        ours, theirs = discord.channel(11, 1, "general"), discord.channel(21, 2, "general")
        for id, name in ((ADA, "Ada"), (BOB, "Bob"), (cid, "Cid")):
            discord.person(id, name)
        discord.grant(500, 1, ADA)
        discord.grant(600, 2, BOB)
        mention = discord.mention()
        discord.say(ours, f"{mention} with the role", person=ADA)
        discord.say(ours, f"{mention} without a role", person=BOB)
        discord.say(theirs, f"{mention} with a role of that name", person=BOB)
        discord.say(theirs, f"{mention} with the role elsewhere", person=ADA)
        await decided(world, bot, done=1, refused=3)
        discord.say(discord.thread(ours, "Aside"), f"{mention} in a thread", person=ADA)
        discord.slash("ask", {"question": "with the role?"}, ours, ADA)
        discord.slash("ask", {"question": "without a role?"}, ours, BOB)
        discord.say(discord.direct(ADA), "in private", person=ADA)
        await decided(world, bot, done=3, refused=5)
        # Made and given while the bot runs; and taken away, which Discord tells with the next message.
        discord.role(501, 1, "Guests")
        discord.grant(501, 1, cid)
        discord.grant(500, 1, ADA, take=True)
        discord.say(ours, f"{mention} with the new role", person=cid)
        discord.say(ours, f"{mention} without the role", person=ADA)
        await decided(world, bot, done=4, refused=6)

    asked = [str(request.messages[-1]["content"]) for request in world.model.requests]
    for words in ("with the role", "in a thread", "with the role?", "with the new role"):
        assert any(words in one for one in asked), words
    assert len(asked) == 4
    [told] = [message.text for message in discord.screen.of(discord.direct(ADA).id) if message.author == "bot"]
    assert "discord:7" in told


async def test_an_owner_pairs_lets_a_group_in_and_keeps_a_person_out(
    world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    world.model.script = lambda body: Reply("Here you are.")
    async with start("telegram", ALLOW_ALL="false") as bot:
        code = next(re.findall(r"/pair (\S+)", r.getMessage()) for r in caplog.records if "/pair" in r.msg)[0]
        private = Place(world, "telegram", person=ADA)
        private.say(f"/pair {code}")
        await decided(world, bot, done=1)
        place = Place(world, "telegram", group=True)
        place.say("may I?")
        await decided(world, bot, refused=1)

        place.say("/pair", ADA)
        await decided(world, bot, done=2)
        place.say("may I now?")
        await decided(world, bot, done=3)
        assert place.texts[-1] == "Here you are."

        private.say("/forbid telegram:8")
        await decided(world, bot, done=4)
        place.say("and now?")
        await decided(world, bot, refused=2)
        private.say("/people")
        await decided(world, bot, done=5)

    assert len(world.model.requests) == 1
    people = private.texts[-1]
    assert "telegram:7: owner" in people
    assert "telegram:8 Bob: blocked" in people
    assert "/-50: allowed" in people


@pytest.mark.parametrize(("first", "second"), [("telegram", "slack"), ("slack", "discord"), ("discord", "telegram")])
async def test_an_owner_adds_the_own_account_on_another_platform(
    first: str, second: str, world: World, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """By a code that only a private chat shows; the owner is told who used it, and how to undo that."""
    world.model.script = lambda body: Reply("Here you are.")
    async with start(*PLATFORMS, ALLOW_ALL="false") as bot:
        code = next(re.findall(r"/pair (\S+)", r.getMessage()) for r in caplog.records if "/pair" in r.msg)[0]
        known, group, new = Place(world, first, person=ADA), Place(world, first, group=True), Place(world, second)
        known.say(f"/pair {code}")
        await known.until(lambda texts: len(texts) == 1)
        new.say(f"/pair {code}")
        await new.until(lambda texts: len(texts) == 1)
        group.say("/link", ADA)
        await decided(world, bot, done=3)
        known.say("/link")
        await known.until(lambda texts: len(texts) == (2 if group.texts else 3))
        # As it is written there, whatever is written here.
        [code] = re.findall(r"write `?/pair (\d{4}-\d\d)", known.texts[-1])
        new.say(f"/pair {code}")
        await decided(world, bot, done=5)
        new.say("please answer me")
        await decided(world, bot, done=6)
        new.say("/people")
        await decided(world, bot, done=7)

    wrong, welcome, answer, people = new.texts
    assert wrong.startswith("This code is wrong or has expired. If this bot is yours, write ")
    assert welcome == "Welcome! This account now owns this bot, too."
    assert answer == "Here you are."
    assert people.count(": owner") == 2
    ids = {"telegram": "telegram:8", "slack": "slack:T0PARLEY/U8", "discord": "discord:8"}
    assert known.texts[-1].startswith(f"{ids[second]} used your code and now owns this bot, too.")
    assert "I only tell you that in a private chat." in [*group.texts, *known.texts]
    assert not any(re.search(r"\d{4}-\d\d", text) for text in group.texts)


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_an_owner_reads_names_beside_the_ids_of_who_may_write(platform: str, world: World, start: Start) -> None:
    """People choose their names, so a name is shown as code, and makes no markup and no link."""
    admin = {"telegram": "telegram:7", "slack": "slack:T0PARLEY/U7", "discord": "discord:7"}[platform]
    place = Place(world, platform, person=ADA)
    world.model.reply(Reply("Hello."), Reply("Rain."))
    async with start(platform, ALLOW_ALL="false", ADMINS=admin):
        # Of the first message Slack tells no name; it is looked up for the next.
        place.say("who are you, please?")
        await place.until(lambda texts: "Hello." in texts)
        place.say("how is the weather in Oslo?")
        await place.until(lambda texts: "Rain." in texts)
        place.say("/people")
        await place.until(lambda texts: admin in texts[-1])

    [line] = [line for line in place.texts[-1].splitlines() if admin in line]
    assert re.search(rf"{admin}\W+Ada\W*: admin", line), line


async def test_an_owner_who_forwards_a_command_has_not_given_it(world: World, start: Start) -> None:
    """What was forwarded stands before the model as somebody else's words, and nothing is done of it."""
    world.model.script = lambda body: Reply("Somebody wants to be let in.")
    admins = "telegram:7,slack:T0PARLEY/U7,discord:7"
    async with start(*PLATFORMS, ALLOW_ALL="false", ADMINS=admins) as bot:
        places = {platform: Place(world, platform, person=ADA) for platform in PLATFORMS}
        ids = {"telegram": "telegram:666", "slack": "slack:T0PARLEY/U666", "discord": "discord:666"}
        for platform, place in places.items():
            sign = "" if platform == "slack" else "/"
            place.forward(f"{sign}allow {ids[platform]} admin")
        await decided(world, bot, done=3)
        people = await bot.access.list_people()

    assert people == [(id, "admin") for id in sorted(admins.split(","))]
    assert [place.texts for place in places.values()] == [["Somebody wants to be let in."]] * 3
    asked = [str(request.messages[-1]["content"]) for request in world.model.requests]
    assert len(asked) == 3
    for text in asked:
        first, second, *rest = text.splitlines()
        assert first.startswith("(Forwarded") and second.startswith("> ") and "allow" in second
        assert "allow" not in "".join(rest)


async def test_only_who_asked_may_stop_or_retry_and_others_are_told_once(world: World, start: Start) -> None:
    answer = " ".join(f"word{number}" for number in range(60))
    go_on = asyncio.Event()
    world.model.script = lambda body: Reply(answer, words_per_second=40, hang_after=20, until=go_on)
    async with start(*PLATFORMS, TOOL_MODE="native") as bot:
        places = {platform: Place(world, platform, group=True, person=ADA) for platform in PLATFORMS}
        for place in places.values():
            place.say("please write something long")
        for place in places.values():
            await place.until(lambda texts: any("word" in text for text in texts))
            for _ in range(3):
                place.say("/stop", BOB)
        # The three questions are still being answered.
        await stored(world, done=9)
        go_on.set()
        await decided(world, bot, done=12)
        for place in places.values():
            place.say("/retry", BOB)
        await decided(world, bot, done=12, refused=3)

    told = sorted([answer, "Only the person who asked, or an admin, may do that."])
    assert {platform: sorted(place.texts) for platform, place in places.items()} == dict.fromkeys(PLATFORMS, told)
    assert len(world.model.requests) == 3


async def test_stopping_by_slash_command_says_so_where_discord_waits_for_an_answer(world: World, start: Start) -> None:
    world.model.reply(Reply(" ".join(["word"] * 400), words_per_second=40))
    async with start("discord") as bot:
        place = Place(world, "discord", group=True, person=ADA)
        place.say("please write something long")
        await place.until(lambda texts: any("word" in text for text in texts))
        world.discord.slash("stop", {}, 11, ADA)
        await decided(world, bot, done=1, stopped=1)

    first, second = place.texts
    assert first.startswith("word") and first.endswith("Stopped.")
    assert second == "Stopped."


async def test_a_flood_of_messages_is_refused_once_a_minute_and_can_still_be_stopped(
    world: World, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.contract.clock.SystemClock.wall", lambda _: 1_800_000_010.0)  # one and the same minute
    world.model.script = lambda body: Reply("Yes.")
    world.limits = Limits(waiting_per_person=0)
    async with start("telegram", MESSAGES_PER_MINUTE="3") as bot:
        place = Place(world, "telegram")
        for number in range(8):
            place.say(f"/whoami {number}" if number % 2 else f"question number {number}")
        await decided(world, bot, done=6, refused=2)
        place.say("/stop")
        await decided(world, bot, done=7)

    # Commands are counted apart, so that who asked too much is still told how much that was.
    assert len(world.model.requests) == 3
    assert sum("a lot of messages" in text for text in place.texts) == 1
    assert place.texts[-1] == "Nothing is being answered right now."


async def test_who_has_nothing_left_today_is_told_once_until_when_and_others_go_on(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("Yes.", usage={"prompt_tokens": 50_000, "completion_tokens": 60_000})
    async with start(*PLATFORMS, TOKENS_PER_DAY_PERSON="100000") as bot:
        places = [Place(world, platform) for platform in PLATFORMS]
        for place in places:
            place.say("please answer the first question")
        await decided(world, bot, done=3)
        for place in places:
            place.say("please answer the second question")
            place.say("/retry")
            place.say("please answer the third question")
        await decided(world, bot, done=3, refused=9)
        for place in places:
            place.say("/usage")
        await decided(world, bot, done=6)
        others = [Place(world, platform, person=ADA) for platform in PLATFORMS]
        for other in others:
            other.say("please answer me")
        await decided(world, bot, done=9)

    for place in places:
        answer, refusal, usage = place.texts
        assert answer == "Yes.", place.platform
        assert refusal.startswith("Your budget for today is used up. It resets in ")
        assert "4 questions, 110,000 tokens of 100,000 (0 left), cost unknown" in usage, place.platform
        assert "everybody" not in usage, place.platform
    assert [other.texts for other in others] == [["Yes."]] * 3
    assert len(world.model.requests) == 6


async def test_used_up_is_not_said_where_nothing_was_used(world: World, start: Start) -> None:
    async with start(*PLATFORMS, TOKENS_PER_DAY_PERSON="500") as bot:
        places = [Place(world, platform) for platform in PLATFORMS]
        for number in (1, 2):
            for place in places:
                place.say("please answer the question")
            await decided(world, bot, failed=3 * number)

    for place in places:
        # Each question hears of it: a shorter one may fit.
        assert [text.startswith("This question needs more than") for text in place.texts] == [True, True], (
            place.platform
        )
    assert not world.model.requests


async def test_a_quota_that_ends_within_a_turn_keeps_what_stands_and_says_so(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply(
        "Let me look.",
        calls=(("current_time", {}),),
        usage={"prompt_tokens": 90_000, "completion_tokens": 9_500},
    )
    async with start("telegram", TOKENS_PER_DAY_PERSON="100000", TOOL_MODE="native") as bot:
        place = Place(world, "telegram")
        place.say("please look up what time it is in Paris")
        await decided(world, bot, failed=1)
        place.say("and again please")
        await decided(world, bot, failed=2)

    [text] = place.texts
    assert text.startswith("Let me look.\n\nYour budget for today is used up.")
    assert len(world.model.requests) == 1


async def test_what_a_turn_cost_is_kept_and_an_admin_sees_the_whole_day(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("Yes.", usage={"prompt_tokens": 30_000, "completion_tokens": 10_000})
    settings = {"PRICES": "openai:scripted=10/1/50", "MONEY_PER_DAY": "2", "MONEY_PER_DAY_PERSON": "0"}
    settings |= {"ADMINS": "telegram:7"}
    world.limits = Limits(admin_share=0.0)
    async with start("telegram", **settings) as bot:
        place, admin = Place(world, "telegram"), Place(world, "telegram", person=ADA)
        for number in range(3):
            place.say(f"please answer question number {number}")
            await decided(world, bot, done=number + 1)
        place.say("please answer one more question")
        await decided(world, bot, refused=1)
        admin.say("/usage")
        await decided(world, bot, done=4)

    assert place.texts[-1].startswith("Today's budget is used up.")
    everybody = next(line for line in admin.texts[-1].splitlines() if "everybody" in line)
    assert "120,000 tokens of 2,000,000 (1,880,000 left), $2.40 of $2.00 ($0.00 left)" in everybody
    assert "telegram:8: 4 questions, 120,000 tokens, $2.40" in admin.texts[-1]
    with closing(sqlite3.connect(world.data / "parley.db")) as db:
        assert [cost for (cost,) in db.execute("SELECT dollars FROM turns")] == pytest.approx([0.8] * 3)


async def test_ten_strangers_of_an_open_bot_leave_its_owner_what_is_kept_for_admins(world: World, start: Start) -> None:
    world.model.script = lambda body: Reply("Yes.", usage={"prompt_tokens": 10_000, "completion_tokens": 9_000})
    async with start("telegram", TOKENS_PER_DAY="100000", ADMINS="telegram:7") as bot:
        strangers = [Place(world, "telegram", person=100 + number) for number in range(10)]
        for stranger in strangers:
            stranger.say("please answer me")
            await stranger.until(bool)
        await decided(world, bot, done=4, failed=6)
        owner = Place(world, "telegram", person=ADA)
        owner.say("please answer me")
        await decided(world, bot, done=5)
        owner.say("/usage")
        await decided(world, bot, done=6)

    assert owner.texts[0] == "Yes."
    assert "95,000 tokens of 100,000 (5,000 left)" in owner.texts[-1]
    assert "not counting admins: 76,000 tokens of 80,000 (4,000 left)" in owner.texts[-1]
    assert sum(stranger.texts == ["Yes."] for stranger in strangers) == 4
