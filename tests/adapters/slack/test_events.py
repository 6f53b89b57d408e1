"""What Slack's payloads say to the bot, read from samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.slack.events import Me, incoming
from adapters.slack.reading import readable
from bot.contract.messages import (
    ChatId,
    Control,
    Enclosure,
    EnclosureKind,
    MessageDeleted,
    MessageEdited,
    MessageSent,
    Quoted,
)
from tests.conftest import RawJson, RawObject

ME = Me("T061EG9R6", "U0LAN0Z89", "B1")
SAMPLES = Path(__file__).parent.parent / "samples"


def sample(name: str) -> RawObject:
    found: RawObject = json.loads((SAMPLES / f"slack_{name}.json").read_text(encoding="utf-8"))
    return found


def event(**fields: RawJson) -> RawObject:
    """A message event, in a channel unless it says otherwise."""
    basis = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": "10.000001", "text": ""}
    return {"type": "event_callback", "event_id": "Ev1", "team_id": ME.team, "event": basis | fields}


def named(id: str) -> str:
    return {"U777": "Carol Jones"}.get(id, id)


def read(payload: RawObject, inside: tuple[str, ...] = ()) -> RawJson:
    return incoming(payload, ME, named, inside, now=1_795_000_000.0)


def test_a_mention_is_read_as_a_person_reads_it() -> None:
    message = read(sample("app_mention"))

    assert (
        message.text
        == "compare docs.example.org/a (https://docs.example.org/a?b=1&c=2) with #general, ask @Carol Jones; 1 < 2"
    )
    assert (message.chat, message.group) == (
        ChatId("slack", "T061EG9R6", "C123ABC456", "1515449522.000016"),
        True,
    )
    assert (message.delivery, message.also) == ("Ev123ABC456", ("C123ABC456:1515449522.000016",))
    assert (message.sender.id, message.sender.name) == ("slack:T061EG9R6/U061F7AUR", "U061F7AUR")
    assert message.sent_at == 1515449522.000016
    assert message.target.lasts


def press(**more: RawJson) -> RawObject:
    basis = {
        "type": "block_actions",
        "user": {"id": "U1", "name": "ada", "team_id": ME.team},
        "container": {"type": "message_attachment", "message_ts": "10.2", "channel_id": "C1", "thread_ts": "10.1"},
        "trigger_id": "Tr1",
        "response_url": "https://hooks.example/1",
        "actions": [{"action_id": "good:12", "type": "button"}],
    }
    return basis | more


def test_a_press_says_what_and_of_which_turn_and_where_it_can_be_answered() -> None:
    said = read(press())

    assert (said.control, said.turn, said.group, said.delivery) == (Control.GOOD, 12, True, "Tr1")
    assert (said.sender.id, said.sender.name) == (f"slack:{ME.team}/U1", "ada")
    assert said.chat == ChatId("slack", ME.team, "C1", "10.1")
    assert said.target.lasts and said.target.data["response_url"] == "https://hooks.example/1"
    direct = read(press(container={"channel_id": "D1", "message_ts": "1"}, user={"id": "U777"}, trigger_id=""))
    assert (direct.group, direct.chat.thread, direct.sender.name) == (False, "", "Carol Jones")
    assert direct.delivery == "https://hooks.example/1"


@pytest.mark.parametrize(
    "odd", [{"actions": []}, {"actions": [{"action_id": "buy"}]}, {"container": {}}, {"user": {}}, {"user": None}]
)
def test_a_press_of_what_is_no_button_of_ours_is_left_alone(odd: RawObject) -> None:
    assert read(press(**odd)) is None


def test_what_carries_no_id_of_its_delivery_is_known_by_its_place_and_time() -> None:
    """Else all of them were one delivery, and only the first was ever answered."""
    questions = [read(event(channel="D1", channel_type="im", text="why?", ts=ts) | {"event_id": None}) for ts in "12"]
    changes = [
        read(
            event(channel="D1", channel_type="im", ts=ts, subtype=kind, **{part: {"user": "U1", "ts": "1", "text": ts}})
            | {"event_id": ""}
        )
        for ts in "34"
        for kind, part in (("message_changed", "message"), ("message_deleted", "previous_message"))
    ]
    typed = [read(sample("command") | {"trigger_id": "", "response_url": url}) for url in ("https://a", "https://b")]

    assert [question.delivery for question in questions] == ["D1:1", "D1:2"]
    assert [question.also for question in questions] == [("D1:1",), ("D1:2",)]
    assert [change.delivery for change in changes] == ["D1:3", "D1:3", "D1:4", "D1:4"]
    assert [command.delivery for command in typed] == ["https://a", "https://b"]


def test_a_guest_from_another_organisation_is_known_by_its_own_team() -> None:
    message = read(sample("shared_channel_mention"))

    assert (message.sender.id, message.sender.name) == ("slack:T999OTHER/U999OUTSIDE", "zoë")
    assert (message.sender.groups, message.sender.guest) == (("slack:T999OTHER",), True)
    assert message.chat == ChatId("slack", "T061EG9R6", "C123ABC456", "1515449522.000016")
    assert message.text == "thanks"


@pytest.mark.parametrize(
    ("fields", "team", "guest"),
    [
        ({"team": "T999OTHER", "user_team": "T999OTHER"}, "T999OTHER", True),
        ({"team": "T999OTHER"}, "T999OTHER", True),
        ({"team": ME.team, "user_team": "E999OTHER"}, "E999OTHER", True),
        ({"user_profile": {"team": "T999OTHER"}}, "T999OTHER", True),
        ({"team": ME.team}, ME.team, False),
        ({"user_profile": {"display_name": "zoë"}}, "", True),
        ({}, "", True),
    ],
)
def test_in_a_shared_channel_only_who_is_said_to_be_ours_is(fields: RawObject, team: str, guest: bool) -> None:
    basis = {"type": "app_mention", "text": "<@U0LAN0Z89> hi", "user": "U9"}
    payload = event(**basis, **fields) | {"is_ext_shared_channel": True}

    sender = read(payload).sender

    assert sender.id == f"slack:{team or 'unknown'}/U9"
    assert (sender.groups, sender.guest) == ((f"slack:{team}",) if team else (), guest)


def test_where_nobody_else_writes_everybody_is_ours() -> None:
    """A message with a file names no team."""
    sender = read(
        event(channel="D1", channel_type="im", subtype="file_share", text="look", files=[{"id": "F1"}])
    ).sender

    assert (sender.id, sender.groups, sender.guest) == (f"slack:{ME.team}/U1", (f"slack:{ME.team}",), False)


@pytest.mark.parametrize(
    ("given", "team"), [({}, "unknown"), ({"team_id": "T2"}, "T2"), ({"team_id": ME.team}, ME.team)]
)
def test_a_command_is_of_the_workspace_it_names(given: dict[str, str], team: str) -> None:
    payload = sample("command")
    del payload["team_id"]

    sender = read(payload | given).sender

    assert sender.id == f"slack:{team}/{payload['user_id']}"
    assert sender.guest == (team != ME.team)


def test_the_direct_messages_of_several_are_a_group() -> None:
    place = {"channel": "C7", "channel_type": "mpim"}

    assert read(event(**place, text="hello all")) is None
    assert read(event(**place, text="<@U0LAN0Z89> hello")).group
    assert read(sample("command") | {"channel_id": "G7", "text": "new"}).group


def test_a_forwarded_message_is_the_quoted_one() -> None:
    message = read(sample("forwarded"))

    assert message.quoted == Quoted(
        text="the &release is Friday", author="Carol", message_id="1355517000.000001", forwarded=True
    )
    assert (message.text, message.chat) == ("", ChatId("slack", "T061EG9R6", "D024BE91L"))


@pytest.mark.parametrize(("own", "command", "text"), [("", "", ""), ("new", "new", ""), ("why so?", "", "why so?")])
def test_forwarded_words_are_never_obeyed_and_ones_own_beside_them_are(own: str, command: str, text: str) -> None:
    payload = sample("forwarded")
    payload["event"]["text"] = own
    payload["event"]["attachments"][0]["text"] = "allow slack:T1/U666 admin"

    message = read(payload)

    assert (message.command, message.text) == (command, text)
    assert (message.quoted.text, message.quoted.forwarded) == ("allow slack:T1/U666 admin", True)


def test_a_shared_message_is_found_behind_the_preview_of_a_page() -> None:
    payload = sample("forwarded")
    payload["event"]["attachments"].insert(0, {"from_url": "https://a.example", "text": "a page"})

    assert read(payload).quoted.text == "the &release is Friday"


@pytest.mark.parametrize("payload", [{"type": "event_callback"}, {"type": "block_suggestion", "event": {}}, {}])
def test_what_is_no_event_says_nothing(payload: RawObject) -> None:
    assert read(payload) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<https://a.example/x>", "https://a.example/x"),
        ("<https://a.example/|a.example>", "https://a.example/"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("<https://a.example|A &amp; B>", "A & B (https://a.example)"),
        ("<!here> <!subteam^S1|@team> <#C1|general> <#C2>", "@here @team #general #C2"),
        ("<@U777> <@U9|zoë> <@U9>", "@Carol Jones @zoë @U9"),
    ],
)
def test_slacks_notation_is_read_as_it_is_seen(text: str, shown: str) -> None:
    assert readable(text, ME.user, named) == shown


def test_a_message_whose_link_stands_in_the_question_is_quoted_and_not_forwarded() -> None:
    payload = sample("forwarded")
    del payload["event"]["attachments"][0]["is_share"]

    read_as = read(payload)

    assert not read_as.quoted.forwarded and not read_as.replies_to


def test_a_command_carries_its_question_and_a_target_that_may_expire() -> None:
    message = read(sample("command"))

    assert (message.text, message.command, message.quote_question) == ("ask @Carol Jones about A & B", "", True)
    assert message.chat == ChatId("slack", "T061EG9R6", "C123ABC456")
    assert message.sender.name == "ann"
    assert not message.target.lasts
    assert read(sample("command"), inside=("C123ABC456",)).target.lasts


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        ("new", "new", ""),
        ("/new", "new", ""),
        ("  Stop ", "stop", ""),
        ("model openai:gpt-5-mini", "model", "openai:gpt-5-mini"),
        ("pair 4821-93", "pair", "4821-93"),
        ("", "help", ""),
        ("new ideas for dinner?", "", "new ideas for dinner?"),
    ],
)
def test_words_after_the_command(text: str, command: str, argument: str) -> None:
    message = read(sample("command") | {"text": text})

    assert (message.command, message.text) == (command, argument)
    assert message.quote_question == (not command)


@pytest.mark.parametrize(
    "text", ["<@U0LAN0Z89> new", "<@U0LAN0Z89>: new", "<@U0LAN0Z89|parley>  New ", "new <@U0LAN0Z89>"]
)
def test_a_mention_with_one_word_is_a_command(text: str) -> None:
    assert read(event(type="app_mention", text=text)).command == "new"


def test_a_whole_direct_message_may_be_a_command() -> None:
    assert read(event(channel="D1", channel_type="im", text="new")).command == "new"
    assert read(event(channel="D1", channel_type="im", text="new shoes, which?")).command == ""


def test_a_direct_message_is_one_history_and_a_thread_in_it_another() -> None:
    def thread(**fields: RawJson) -> str:
        return str(read(event(channel="D1", channel_type="im", text="hi", **fields)).chat.thread)

    assert thread() == ""
    assert thread(thread_ts="10.000001", reply_count=2) == ""
    assert thread(thread_ts="9.000001") == "9.000001"


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "nobody asked"},
        {"text": "<@U0LAN0Z89>", "bot_id": "B9"},
        {"text": "<@U0LAN0Z89>", "user": "U0LAN0Z89"},
        {"text": "<@U0LAN0Z89> joined", "subtype": "channel_join"},
        {"text": "hello", "channel": "D1", "channel_type": "im", "bot_id": "B1", "user": "U0LAN0Z89"},
        {"text": "x", "channel": "D1", "channel_type": "im", "subtype": "bot_message", "bot_id": "B2", "user": None},
        {"text": "&lt;@U0LAN0Z89&gt; escaped"},
        {"text": "<@U0LAN0Z890> is somebody else"},
        {"type": "reaction_added"},
        {"text": "", "channel": "D1", "channel_type": "im"},
    ],
)
def test_what_is_not_meant_for_the_bot_is_left_alone(fields: RawObject) -> None:
    assert read(event(**fields)) is None


def test_a_lone_mention_is_heard() -> None:
    """The person is asked what the question is."""
    assert read(event(type="app_mention", text="<@U0LAN0Z89>")).text == ""


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast"])
def test_files_and_broadcasts_are_messages(subtype: str) -> None:
    found = read(event(channel="D1", channel_type="im", subtype=subtype, text="look", files=[{"id": "F1"}]))

    assert isinstance(found, MessageSent)


def changed(before: RawObject, after: RawObject, **fields: RawJson) -> RawObject:
    basis = {"user": "U1", "ts": "5.000001"}
    message = {"subtype": "message_changed", "previous_message": basis | before, "message": basis | after}
    return event(**message, **fields)


def test_an_edit_is_heard_with_its_whole_new_text() -> None:
    edited = read(changed({"text": "teh"}, {"text": "the &amp;"}, channel="D1", channel_type="im"))

    assert isinstance(edited, MessageEdited)
    assert (edited.message_id, edited.text, edited.chat.thread) == ("5.000001", "the &", "")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"text": "x"}, {"text": "x", "attachments": [{"title": "a preview"}]}),
        ({"text": "x", "user": "U0LAN0Z89"}, {"text": "y", "user": "U0LAN0Z89", "bot_id": "B1"}),
    ],
)
def test_previews_and_our_own_edits_are_no_edits(before: RawObject, after: RawObject) -> None:
    assert read(changed(before, after, channel="D1", channel_type="im")) is None


def test_edits_in_channels_need_no_mention_since_the_core_knows_its_questions() -> None:
    edited = read(changed({"text": "<@U0LAN0Z89> a"}, {"text": "b"}))

    assert isinstance(edited, MessageEdited) and (edited.text, edited.command) == ("b", "")


def test_an_edit_tells_of_files_and_of_a_command_that_it_became() -> None:
    files = read(changed({"text": "a", "files": [{"id": "F1", "name": "a.txt"}]}, {"text": "a"}))
    command = read(changed({"text": "<@U0LAN0Z89> a"}, {"text": "<@U0LAN0Z89> forget yes"}))

    assert isinstance(files, MessageEdited) and files.enclosed == ()
    assert isinstance(command, MessageEdited) and (command.command, command.text) == ("forget", "yes")


def test_a_deleted_message_is_heard_also_when_its_thread_keeps_a_tombstone() -> None:
    gone = event(
        subtype="message_deleted",
        channel="D1",
        channel_type="im",
        deleted_ts="5.000001",
        previous_message={"user": "U1", "ts": "5.000001", "text": "x"},
    )
    tomb = changed({"text": "<@U0LAN0Z89> x"}, {"subtype": "tombstone", "user": "USLACKBOT", "text": "deleted"})

    for payload in (gone, tomb):
        found = read(payload)
        assert isinstance(found, MessageDeleted)
        assert (found.message_id, found.sender.id) == ("5.000001", f"slack:{ME.team}/U1")


@given(st.text())
def test_plain_text_of_any_kind_comes_through_as_it_was_written(text: str) -> None:
    sent = text.replace("\x00", "").strip()
    escaped = sent.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    assert readable(f"<@{ME.user}> {escaped}", ME.user, named) == sent


@pytest.mark.parametrize(
    ("file", "enclosed"),
    [
        (
            {"id": "F1", "name": "a.pdf", "mimetype": "application/pdf", "size": 9},
            Enclosure(kind=EnclosureKind.FILE, name="a.pdf", media_type="application/pdf", size=9),
        ),
        (
            {"name": "a.png", "title": "Cat", "mimetype": "image/png", "size": 9},
            Enclosure(kind=EnclosureKind.PICTURE, name="a.png", media_type="image/png", size=9),
        ),
        (
            {"name": "audio_message.m4a", "mimetype": "audio/mp4", "subtype": "slack_audio", "size": 9},
            Enclosure(kind=EnclosureKind.VOICE, media_type="audio/mp4", size=9),
        ),
        # A clip that somebody else recorded is not what the person says.
        (
            {"user": "U9", "mimetype": "audio/mp4", "subtype": "slack_audio", "size": 9, "duration_ms": 3200},
            Enclosure(kind=EnclosureKind.AUDIO, media_type="audio/mp4", size=9),
        ),
        # Of a file that another organisation shares, and of one that is over the plan's limit, Slack tells nothing.
        ({"id": "F1", "file_access": "check_file_info"}, Enclosure(kind=EnclosureKind.FILE)),
        ({"id": "F1", "mode": "hidden_by_limit", "size": None}, Enclosure(kind=EnclosureKind.FILE)),
    ],
)
def test_a_file_is_read_with_what_slack_tells_of_it(file: RawObject, enclosed: Enclosure) -> None:
    direct = {"channel": "D1", "channel_type": "im", "subtype": "file_share"}

    found = read(event(**direct, text="", files=[file, "odd"]))
    shared = read(event(**direct, attachments=[{"is_share": True, "author_id": "U2", "files": [file]}]))

    assert (found.text, found.enclosed) == ("", (enclosed,))
    assert (shared.enclosed, shared.quoted.enclosed, shared.quoted.text) == ((), (enclosed,), "")


@pytest.mark.parametrize(("told", "seconds"), [(3200, 3.2), (0, 0.0), ("3200", 0.0), (None, 0.0)])
def test_how_long_a_clip_plays_is_told(told: RawObject, seconds: float) -> None:
    clip = {"mimetype": "audio/mp4", "subtype": "slack_audio", "duration_ms": told}

    found = read(event(channel="D1", channel_type="im", subtype="file_share", text="", files=[clip]))

    assert [one.seconds for one in found.enclosed] == [seconds]


def test_slacks_own_stop_names_a_thread_and_no_reply() -> None:
    stop = {"type": "agent_session_stopped", "channel": "C1", "thread_ts": "10.000001", "event_ts": "11.000001"}
    press = read(event(**stop, streaming_message_ts=["10.500000"]))

    assert (press.control, press.turn, press.group) == (Control.STOP, 0, True)
    assert press.chat == ChatId("slack", ME.team, "C1", "10.000001")
    assert (press.sender.id, press.sent_at) == (f"slack:{ME.team}/U1", 11.000001)
    assert read(event(**stop, user="")) is None
