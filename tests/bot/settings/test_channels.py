"""The operator's file of single chats: what holds where, from which line, and one sentence for each mistake."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from bot.contract.errors import SettingsError
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.policy.access import Access
from bot.policy.toolrights import ToolRights
from bot.settings.channels import MOST_VALUES, Channel, ChannelsFile, Given, read_channels
from bot.store import Store
from tests.bot.conftest import OpenRig
from tests.conftest import FakeClock
from tools.calling.registry import ToolRegistry

FILE = """
# Everywhere on Telegram
telegram:*:
  model: openai:a
  tools: [-run_python, "-github__*"]
  who: [telegram:7]
telegram:-100:
  instructions: |
    Be brief.
    Be kind.
  tools: [calculator, "wiki*", -wikipedia]
telegram:42/-100/5: {model: openai:c, who: everybody}
telegram:42/-100:
  model: openai:b
slack:T1/*: &team
  who:
    - slack:T1
    - admins
slack:T2/C1: *team
"""


def write(folder: Path, text: str | bytes) -> str:
    file = folder / "channels.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(file)


def channel(file: ChannelsFile, chat: str) -> Channel:
    return file.channel_of(ChatId.parse(chat))


def test_each_key_holds_from_the_nearest_place_that_names_it(tmp_path: Path) -> None:
    file = read_channels(write(tmp_path, FILE))

    topic, group, other = (channel(file, f"telegram:42/{one}") for one in ("-100/5", "-100", "8"))
    assert topic.model == Given("openai:c", "channels.yaml line 12")
    assert topic.instructions == Given("Be brief.\nBe kind.", "channels.yaml line 8")
    assert topic.who == Given(("everybody",), "channels.yaml line 12")
    assert group.model == Given("openai:b", "channels.yaml line 14")
    assert group.who == Given(("telegram:7",), "channels.yaml line 6")
    assert (group.tools_only, group.tools_off) == (("calculator", "wiki*"), ("wikipedia",))
    assert channel(file, "telegram:99/-100").model == Given("openai:a", "channels.yaml line 4")
    assert channel(file, "telegram:99/-100").instructions == group.instructions
    assert (other.tools_only, other.tools_off) == ((), ("run_python", "github__*"))
    assert other.instructions is None
    assert channel(file, "slack:T1/C9/1.000001").who == Given(("slack:T1", "admins"), "channels.yaml line 16")
    assert channel(file, "slack:T2/C1").who == channel(file, "slack:T1/C9").who
    assert channel(file, "slack:T2/C2") == channel(file, "discord:1/2") == Channel()
    assert file.models == ("openai:a", "openai:c", "openai:b") and file.opens
    assert file.resolve("telegram:-100").model == Given("openai:a", "channels.yaml line 4")
    assert file.resolve("slack:T1/*").who is not None and file.resolve("telegram:*").instructions is None


def test_what_is_said_of_a_chat_holds_under_another_id(tmp_path: Path) -> None:
    file = read_channels(write(tmp_path, FILE))
    file.move(ChatId.parse("telegram:42/-100"), ChatId.parse("telegram:42/-100100"))

    moved = channel(file, "telegram:42/-100100")

    assert moved.model == channel(file, "telegram:42/-100").model == Given("openai:b", "channels.yaml line 14")
    assert moved.who == Given(("telegram:7",), "channels.yaml line 6")


@pytest.mark.parametrize("key", ["discord:1/500", "discord:500", "discord:1/20/500"])
def test_a_discord_thread_is_named_by_its_own_id_or_with_its_channel(tmp_path: Path, key: str) -> None:
    """Its own id was the only way until threads were told of their channel."""
    written = f"discord:1/20: {{model: openai:a, who: admins}}\n{key}: {{model: openai:b}}"
    file = read_channels(write(tmp_path, written))
    topic = read_channels(write(tmp_path, "telegram:1/500: {model: openai:b}"))

    thread, other = channel(file, "discord:1/20/500"), channel(file, "discord:1/20/501")
    assert thread.model is not None and thread.model.value == "openai:b"
    assert other.model is not None and other.model.value == "openai:a"
    assert thread.who is not None and thread.who == other.who
    assert channel(topic, "telegram:1/-20/500").model is None, "topics are counted in each chat anew"


@pytest.mark.parametrize("text", ["", "# nothing\n", "\ufeff", None])
def test_without_a_file_or_words_in_it_nothing_is_said(tmp_path: Path, text: str | None) -> None:
    file = read_channels("" if text is None else write(tmp_path, text))

    assert channel(file, "telegram:42/7") == Channel() and not file.opens and not file.models
    assert Channel().tools_only == Channel().tools_off == ()


CHAT = "telegram:42/7:\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"\xff\xfe\xff", "is not UTF-8 text"),
        (b"#" * 262_145, "is larger than 256 KiB"),
        ("telegram:*: [", "line 1 is no YAML: "),
        ("a: b\n---\nc: d\n", "is no YAML"),
        (CHAT + "  model: *gone\n", "line 2 is no YAML: found undefined alias"),
        (CHAT + "\tmodel: x\n", "line 2 is no YAML"),
        ("- telegram:*\n", "line 1: the file must be a list of chats"),
        ("12345:\n  model: x\n", "line 1: '12345' lacks its platform"),
        ("telegram:042:\n  model: x\n", "line 1: 'telegram:042' is written wrongly"),
        ("telegram:4*:\n  model: x\n", "line 1: 'telegram:4*' is not a chat. Write one as telegram:BOT/CHAT"),
        ("[a, b]: x\n", "line 1: a chat must be a text"),
        (CHAT + "  model: a\n" + CHAT, "line 3: telegram:42/7 stands in line 1 already"),
        ("slack:T1/C1:\n  model: a\nslack:T1/%431:\n  model: a\n", "slack:T1/C1 stands in line 1 already"),
        ("telegram:42/7: x\n", "line 1: telegram:42/7 must have keys of its own below it: agent, instructions"),
        (CHAT, "must have keys of its own"),
        (CHAT + "  instuctions: x\n", "line 2: telegram:42/7 has no key 'instuctions'; did you mean instructions?"),
        (
            CHAT + "  zebra: x\n",
            "line 2: telegram:42/7 has no key 'zebra'; there are agent, instructions, model, tools, who",
        ),
        (CHAT + "  <<: {model: x}\n", "line 2: telegram:42/7 has no key '<<'"),
        (
            CHAT + "  model: a\n  who: admins\n  model: b\n",
            "line 4: model of telegram:42/7 stands in line 2 already",
        ),
        (CHAT + "  [model]: a\n", "line 2: a key of telegram:42/7 must be a text"),
        (CHAT + "  model: [a, b]\n", "line 2: model of telegram:42/7 must be a text, as model: openai:gpt-5-mini"),
        (CHAT + "  model:\n", "line 2: model of telegram:42/7 is empty"),
        (CHAT + f"  instructions: {'x' * 9_000}\n", "line 2: instructions of telegram:42/7 may have at most 8,000"),
        (CHAT + "  tools: {a: b}\n", "line 2: tools of telegram:42/7 must be a text, as tools: [search_web"),
        (CHAT + "  tools: []\n", "line 2: tools of telegram:42/7 names nobody and nothing"),
        (CHAT + "  tools: [a, '-']\n", "names nobody and nothing"),
        (CHAT + "  tools:\n    - a\n    - [b]\n", "line 4: tools of telegram:42/7 must be a text"),
        (CHAT + "  who:\n    - telegram:7\n    - '@ada'\n", "line 4: who of telegram:42/7: '@ada' is not an id"),
        (CHAT + "  who: telegram:-100\n", "line 2: who of telegram:42/7: 'telegram:-100' is a group"),
        (CHAT + "  who: discord:1/2\n", "'discord:1/2' is not an id"),
        ("x: " + "[" * 90_000, "too much is nested"),
    ],
)
def test_a_file_that_is_not_right_is_one_sentence_with_line_and_key(
    tmp_path: Path, text: str | bytes, says: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        read_channels(write(tmp_path, text))

    said = str(refused.value)
    assert said.startswith("CHANNELS_FILE: ") and says in said and "\n" not in said and len(said) < 600


def test_a_file_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(SettingsError, match=r"CHANNELS_FILE: there is no file gone\.yaml"):
        read_channels("gone.yaml")


def test_aliases_that_stand_for_aliases_cost_no_more_than_they_are_long(tmp_path: Path) -> None:
    """A billion laughs: nine lists of ten aliases each; and one list of people that many chats name."""
    laughs = ["a0: &a0 [ha, ha]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    people = ", ".join(f"telegram:{number}" for number in range(1, 2_000))
    chats = f"telegram:1: &one\n  who: [{people}]\n" + "".join(f"telegram:{one}: *one\n" for one in range(2, 2_000))
    began = time.process_time()

    for text, says in (
        ("\n".join(laughs), "'a0' is not a chat"),
        (CHAT + "  tools: &a [*a]\n", "tools of telegram:42/7 must be a text"),
        (chats, f"has more than {MOST_VALUES:,} values"),
    ):
        with pytest.raises(SettingsError, match=says):
            read_channels(write(tmp_path, text))
    assert time.process_time() - began < 20


def test_nothing_that_a_tag_names_is_built(tmp_path: Path) -> None:
    made = tmp_path / "made"
    text = CHAT + f"  model: !!python/object/apply:os.mkdir ['{made}']\n"

    with pytest.raises(SettingsError, match="model of telegram:42/7 must be a text"):
        read_channels(write(tmp_path, text))

    assert not made.exists()


def message(chat: str, person: str, **sender: object) -> MessageSent:
    return MessageSent(
        delivery="d",
        chat=ChatId.parse(chat),
        sender=Sender(id=person, name="Ada", **sender),  # type: ignore[arg-type]
        target=ReplyTarget("telegram"),
        text="here",
    )


async def test_who_may_write_is_what_the_file_says_and_a_chat_cannot_widen_it(store: Store, tmp_path: Path) -> None:
    file = read_channels(write(tmp_path, FILE))
    access = Access(
        roles=store.access,
        clock=FakeClock(),
        allow_all=True,
        users=("telegram:8",),
        chats=("telegram:42/9",),
        admins=("telegram:1",),
        channels=file,
    )
    admin = message("telegram:42/9", "telegram:1")

    assert not await access.is_closed()
    assert await access.allows(message("telegram:42/9", "telegram:7")) and await access.allows(admin)
    assert not await access.allows(message("telegram:42/9", "telegram:8"))
    assert await access.allows(message("telegram:42/-100/5", "telegram:8"))
    assert await access.allows(message("slack:T1/C1", "slack:T1/U1", groups=("slack:T1",)))
    assert not await access.allows(message("slack:T1/C1", "slack:T3/U1", groups=("slack:T3",)))
    assert await access.allows(message("discord:1/2", "discord:5")), "nothing is said of it"

    assert await access.change(admin, "here") == ("allow_operator", {})
    assert await access.change(admin, "telegram:8") == ("allowed", {"id": "telegram:8", "role": "allowed"})
    assert not await access.allows(message("telegram:42/9", "telegram:8"))
    assert (await access.change(admin, "telegram:7", forbid=True))[0] == "forbidden"
    assert not await access.allows(message("telegram:42/9", "telegram:7"))


@pytest.mark.parametrize(("who", "closed"), [("admins", True), ("[admins, slack:T1]", False)])
async def test_a_file_that_lets_somebody_in_needs_no_pairing_code(
    store: Store, tmp_path: Path, who: str, closed: bool
) -> None:
    file = read_channels(write(tmp_path, f"telegram:*:\n  who: {who}\n"))
    access = Access(
        roles=store.access, clock=FakeClock(), allow_all=False, users=(), chats=(), admins=(), channels=file
    )

    assert await access.is_closed() == closed


async def test_tools_are_those_of_the_file_as_far_as_settings_leave_them(rig: OpenRig, tmp_path: Path) -> None:
    text = "telegram:*:\n  tools: [calculator, 'w*', -wikipedia]\ntelegram:8:\n  tools: [-calculator]\n"
    settings = {"CHANNELS_FILE": write(tmp_path, text), "TOOLS_FOR": "calculator=telegram:7"}
    async with rig(**settings) as it:
        rights: ToolRights = it.bot.rights
        registry: ToolRegistry = it.bot.registry
        ada = await rights.permit_for(it.message("x", person="telegram:7"))
        bob = await rights.permit_for(it.message("x", person="telegram:8"))
        other = await rights.permit_for(it.message("x", person="telegram:7", chat="8"))
        [off] = await it.say("/tool wikipedia tea")
        [unnamed] = await it.say("/tool current_time")
        closed = rights.explain_closed(bob, "en")

        assert ada.allows("calculator") and not bob.allows("calculator")
        assert [ada.allows(name) for name in ("wikipedia", "weather", "current_time")] == [False, True, False]
        assert not other.allows("calculator") and other.allows("current_time")
        assert "switched off here" in off and "switched off here" in unnamed
        assert "may not use" in closed["calculator"]
        assert len(registry.specs(ada.allows)) < len(registry.specs(other.allows))
