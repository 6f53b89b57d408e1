"""What a person sees of a Slack message, as the model is told it: other programs write in blocks and attachments."""

from __future__ import annotations

import pytest

from adapters.slack.reading import readable, shared_text, shown_text, written_text
from bot.contract import MessageEdited, MessageSent, Quoted
from playground.slack import SlackServer
from tests.adapters.slack.test_adapter import Inbox, listening
from tests.adapters.slack.test_threads import before
from tests.conftest import FakeClock, RawJson, RawObject

BOT, APP = "U1BOT", {"bot_id": "B9"}


def named(id: str) -> str:
    return {"U7": "Carol"}.get(id, id)


def seen(message: RawObject) -> str:
    return readable(shown_text(message, own=BOT), BOT, named)


def rich(*elements: RawJson) -> RawJson:
    return {"type": "rich_text", "elements": list(elements)}


def section(*elements: RawJson, kind: str = "rich_text_section") -> RawJson:
    return {"type": kind, "elements": list(elements)}


def words(text: str, **style: bool) -> RawJson:
    return {"type": "text", "text": text, **({"style": style} if style else {})}


BLOCKS = {
    "a header": ({"type": "header", "text": {"type": "plain_text", "text": "Disk <full>"}}, "Disk <full>"),
    "a section": ({"type": "section", "text": {"type": "mrkdwn", "text": "*db-7* &lt; 1 <https://a.b|graph>"}},
                  "*db-7* < 1 graph (https://a.b)"),
    "fields": ({"type": "section", "fields": [{"type": "mrkdwn", "text": "*Host*"}, {"type": "plain_text",
               "text": "db-7"}]}, "*Host*\ndb-7"),
    "a section with a button": ({"type": "section", "text": {"type": "mrkdwn", "text": "Down"}, "accessory": {
        "type": "button", "text": {"type": "plain_text", "text": "Runbook"}, "url": "https://a.b/r"}},
        "Down\nRunbook (https://a.b/r)"),
    "a button that does something": ({"type": "actions", "elements": [{"type": "button", "text": {
        "type": "plain_text", "text": "Ack"}, "action_id": "x"}]}, ""),
    "a line": ({"type": "divider"}, ""),
    "a context": ({"type": "context", "elements": [{"type": "image", "image_url": "https://a", "alt_text": "fire"},
                  {"type": "mrkdwn", "text": "since 9:41"}]}, "fire since 9:41"),
    "a picture": ({"type": "image", "title": {"type": "plain_text", "text": "Load"}, "alt_text": "curve",
                  "image_url": "https://a"}, "Load\ncurve"),
    "Markdown": ({"type": "markdown", "text": "**Down** <3"}, "**Down** <3"),
    "a table": ({"type": "table", "rows": [[{"type": "raw_text", "text": "host"}, {"type": "raw_text", "text": "load"}],
                [{"type": "raw_text", "text": "db-7"}, rich(section(words("9")))]]}, "host | load\ndb-7 | 9"),
    "rich text": (rich(section(words("Tell "), {"type": "user", "user_id": "U7"}, words(" a<b "),
                  {"type": "link", "url": "https://a.b?x=1|2", "text": "now"}, words("!", bold=True),
                  {"type": "emoji", "name": "fire", "unicode": "1f525"}, {"type": "emoji", "name": "own"},
                  {"type": "broadcast", "range": "here"}, {"type": "date", "timestamp": 1, "fallback": "Friday"})),
                  "Tell @Carol a<b now (https://a.b?x=1%7C2)*!*\U0001f525:own:@hereFriday"),
    "a list": (rich({"type": "rich_text_list", "style": "ordered", "indent": 1, "offset": 2,
               "elements": [section(words("one")), section(words("two"))]}), "3. one\n  4. two"),
    "a quote": (rich(section(words("a\nb"), kind="rich_text_quote")), "> a\n> b"),
    "code": (rich(section(words("rm -rf"), kind="rich_text_preformatted")), "```\nrm -rf\n```"),
    "a kind of later": ({"type": "card", "title": {"type": "mrkdwn", "text": "Incident 5"}, "body": {
        "type": "mrkdwn", "text": "db-7 is down"}}, "Incident 5\ndb-7 is down"),
    "a kind of later with rich text": ({"type": "card", "title": "Load", "alt_text": "a curve",
        "body": rich(section({"type": "usergroup", "usergroup_id": "S1"}, words(" in "),
        {"type": "channel", "channel_id": "C1"}, {"type": "emoji", "name": "odd", "unicode": "no-point"},
        {"type": "date", "timestamp": 5}, {"type": "color", "value": "#f00"}))}, None),
    "a kind without words": ({"type": "new_chart", "series": [1, 2]}, "[new chart]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BLOCKS)
def test_each_kind_of_block_is_read_as_it_is_seen(kind: str) -> None:
    block, expected = BLOCKS[kind]
    if expected is None:
        said = seen({"text": "", "blocks": [block], **APP})
        assert "Load" in said and "a curve" not in said
        assert "in #C1" in said and ":odd:5#f00" in said and "@" in said
        return

    assert seen({"text": "", "blocks": [block], **APP}) == expected
    assert seen({"text": "", "attachments": [{"blocks": [block], "fallback": "[no preview available]"}]}) == expected


ALERT = {
    "pretext": "Alert",
    "author_name": "Grafana",
    "title": "Disk full",
    "title_link": "https://g.example/1",
    "text": "on &lt;db-7&gt;",
    "fields": [{"title": "Host", "value": "db-7", "short": True}, {"title": "", "value": "alone"}],
    "actions": [{"type": "button", "text": "Open", "url": "https://g.example/2"}, {"type": "button", "text": "Ack"}],
    "footer": "Grafana v11",
    "fallback": "Disk full on db-7",
}
SEEN = (
    "Alert\nGrafana\nDisk full (https://g.example/1)\non <db-7>\nHost: db-7\nalone\nOpen (https://g.example/2)\n"
    "Grafana v11"
)


def test_of_an_attachment_everything_is_read_that_is_seen() -> None:
    assert seen({"text": "", "attachments": [ALERT]}) == SEEN
    assert (
        seen({"text": "one", "attachments": [{}, {"fallback": "two"}, "odd", {"text": "three"}]}) == "one\ntwo\nthree"
    )


def test_what_is_read_of_a_message_ends_where_it_is_asked_to() -> None:
    message = {"text": "one", "attachments": [{"fallback": "two"}, {"text": "three"}, {"text": "four"}]}

    assert shown_text(message, 10) == "one\ntwo\nth"
    assert shown_text(message, 7) == "one\ntwo"


def test_an_apps_blocks_stand_in_place_of_its_text_and_our_own_and_peoples_text_says_all() -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "the whole alert"}}]

    assert written_text({"text": "alert", "blocks": blocks, **APP}, own=BOT) == "the whole alert"
    assert written_text({"text": "alert", "blocks": [{"type": "divider"}], **APP}, own=BOT) == "alert"
    assert written_text({"text": "answer", "blocks": blocks, "user": BOT, **APP}, own=BOT) == "answer"
    assert written_text({"text": "hello", "blocks": [rich(section(words("hello")))], "user": "U7"}) == "hello"


def test_a_shared_message_is_read_with_its_blocks_and_attachments() -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "Disk full"}}]
    shared = {"is_share": True, "text": "", "fallback": "[no preview available]"}

    assert shared_text({**shared, "message_blocks": [{"message": {"blocks": blocks}}]}) == "Disk full"
    assert readable(shared_text({**shared, "attachments": [ALERT]}), BOT, named) == SEEN
    assert shared_text({**shared, "attachments": [{"is_share": True, "text": "inner"}]}) == "inner"
    assert shared_text({**shared, "files": [{"id": "F1"}]}) == ""


@pytest.mark.parametrize("odd", [None, 5, "text", [5, None], {"type": 5}, [{"elements": "x"}], [[[]]]])
def test_what_slack_would_never_send_is_read_past(odd: RawJson) -> None:
    message = {"text": odd, "blocks": odd, "attachments": odd, **APP}

    assert isinstance(seen(message), str)
    assert isinstance(shared_text({"message_blocks": odd, "attachments": odd, "blocks": odd, "fields": odd}), str)


def test_blocks_without_an_end_are_read_to_a_depth() -> None:
    block: RawJson = {"type": "container", "elements": []}
    block["elements"].append(block)
    share: RawJson = {"is_share": True, "attachments": []}
    share["attachments"].append(share)

    assert len(seen({"text": "", "blocks": [block], "attachments": [share]})) < 100


async def test_an_alert_is_known_in_a_thread_as_a_forward_and_as_a_question(
    slack: SlackServer, clock: FakeClock
) -> None:
    """As other programs post it: with an empty text."""
    inbox = Inbox()
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "Disk full on <https://g.example|db-7>"}}
    root = slack.say("C1", "", person="U9", bot_id="B9", blocks=[block])
    plain = slack.say("C1", "", person="U9", bot_id="B9", thread_ts=root, attachments=[ALERT])
    mention = {"type": "user", "user_id": slack.bot_user_id}

    async with listening(slack, inbox.deliver, clock) as adapter:
        found, _ = await before(slack, adapter, root).page(0.0, "")
        await inbox.until(1)
        for ts in (root, plain):
            slack.forward("C1", ("C1", ts), f"<@{slack.bot_user_id}> what is this?", person="U1")
        slack.say("C1", "", person="U1", blocks=[rich(section(mention, words(" what is up?")))])
        await inbox.until(4)

    assert [one.text for one in found] == ["Disk full on db-7 (https://g.example)", SEEN]
    quoted = [one.quoted for one in inbox.sent if isinstance(one, MessageSent) and isinstance(one.quoted, Quoted)]
    assert [one.text for one in quoted] == ["Disk full on db-7 (https://g.example)", SEEN]
    assert inbox.sent[-1].text == "what is up?"


TABLE = {"type": "table", "rows": [[{"type": "raw_text", "text": "host"}, {"type": "raw_text", "text": "load"}],
         [{"type": "raw_text", "text": "db-7"}, rich(section(words("9")))]]}  # fmt: skip
PASTED = {"blocks": [TABLE], "fallback": "[no preview available]"}
"""As Slack stores cells of a spreadsheet that somebody pastes: in no text."""


async def test_a_table_that_somebody_pastes_is_a_part_of_the_question(slack: SlackServer, clock: FakeClock) -> None:
    """Also as the whole message, in an edit, in the thread, and where Slack puts it among the blocks."""
    inbox = Inbox()
    mine = f"<@{slack.bot_user_id}> which is loaded?"

    async with listening(slack, inbox.deliver, clock) as adapter:
        root = slack.say("C1", mine, person="U1", attachments=[PASTED])
        slack.say("C1", mine, person="U1", blocks=[rich(section(words("which is loaded?"))), TABLE])
        await inbox.until(2)
        slack.say(slack.direct("U1"), "", person="U1", attachments=[PASTED])
        await inbox.until(3)
        slack.say("C1", f"{mine} https://a.b", person="U1", attachments=[{"from_url": "https://a.b", **PASTED}])
        await inbox.until(4)
        slack.edit("C1", root, f"<@{slack.bot_user_id}> which is idle?")
        await inbox.until(5)
        found, _ = await before(slack, adapter, root).page(0.0, "")

    table = "host | load\ndb-7 | 9"
    said = [one.text for one in inbox.taken[:5] if isinstance(one, MessageSent | MessageEdited)]
    asked = f"which is loaded?\n{table}"
    assert said == [asked, asked, table, "which is loaded? https://a.b", f"which is idle?\n{table}"]
    assert [one.text for one in found] == [f"which is idle?\n{table}"]


async def test_hosts_and_names_of_files_are_read_as_they_were_typed(slack: SlackServer, clock: FakeClock) -> None:
    """Slack's client makes links of them: operable/cog #121, hubot-slack #181."""
    typed = "run main.py and README.md from github.com/a/b (see https://a.example/x?y=1, ask ann@a.example), `x.py`"
    inbox = Inbox()
    async with listening(slack, inbox.deliver, clock):
        slack.say(slack.direct("U7"), typed, person="U7")
        await inbox.until(1)

    assert inbox.sent[0].text == typed
    assert readable("<tel:+441234|+441234> <http://a.example|A shop> <https://a.example|a.example>", BOT, named) == (
        "+441234 A shop (http://a.example) https://a.example"
    )
