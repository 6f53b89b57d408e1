"""What the bot may write, and with which words it is refused."""

from __future__ import annotations

import io
from typing import Any

import aiohttp
import pytest

from playground.discord import DiscordServer
from playground.discord.world import Channel
from tests.conftest import RawJson
from tests.playground.discord.conftest import Raw, Time

V2 = 1 << 15


@pytest.fixture
def place(server: DiscordServer) -> Channel:
    return server.channel(20, 10, "general")


async def test_two_thousand_characters_pass_and_one_more_does_not(raw: Raw, place: Channel) -> None:
    assert (await raw.send(place, "😀" * 2000)).status == 200
    refused = await raw.send(place, "😀" * 2001)

    assert (refused.status, refused.code, refused.text) == (400, 50035, "Invalid Form Body")
    assert refused.body["errors"]["content"]["_errors"] == [
        {"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}
    ]


@pytest.mark.parametrize("content", ["", " \n ", None])
async def test_an_empty_message_is_refused(raw: Raw, place: Channel, content: RawJson) -> None:
    refused = await raw.send(place, content)

    assert (refused.status, refused.code, refused.text) == (400, 50006, "Cannot send an empty message")


async def test_an_edit_that_leaves_nothing_is_refused_and_changes_nothing(
    raw: Raw, server: DiscordServer, place: Channel
) -> None:
    sent = await raw.send(place, "here")

    refused = await raw.edit(place, sent.body["id"], "")

    assert refused.code == 50006
    assert server.screen.of("20")[0].text == "here"


async def test_every_answer_in_json_says_exactly_so(raw: Raw, place: Channel) -> None:
    for answer in (await raw("GET", "/users/@me"), await raw.send(place, ""), await raw("GET", "/nowhere")):
        assert answer.headers["content-type"] == "application/json"


async def test_a_wrong_token_is_unauthorized(raw: Raw) -> None:
    refused = await raw("GET", "/users/@me", token="wrong")

    assert (refused.status, refused.body) == (401, {"message": "401: Unauthorized", "code": 0})


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "text"),
    [
        ("GET", "/channels/99", 404, 10003, "Unknown Channel"),
        ("PATCH", "/channels/20/messages/99", 404, 10008, "Unknown Message"),
        ("DELETE", "/channels/20/messages/99", 404, 10008, "Unknown Message"),
        ("GET", "/channels/21", 403, 50001, "Missing Access"),
        ("POST", "/channels/21/messages", 403, 50001, "Missing Access"),
        ("POST", "/channels/22/messages", 403, 50013, "Missing Permissions"),
        ("POST", "/channels/22/typing", 403, 50013, "Missing Permissions"),
        ("GET", "/channels/general", 400, 50035, "Invalid Form Body"),
        ("PUT", "/users/@me", 405, 0, "405: Method Not Allowed"),
    ],
)
async def test_what_is_not_there_or_not_allowed_has_its_own_code(
    raw: Raw, server: DiscordServer, place: Channel, method: str, path: str, status: int, code: int, text: str
) -> None:
    server.channel(21, 10, member=False)
    server.deny(server.channel(22, 10), "SEND_MESSAGES")

    refused = await raw(method, path, {"content": "x"} if method != "GET" else None)

    assert (refused.status, refused.code, refused.text) == (status, code, text)


async def test_a_person_who_blocked_the_bot_gets_nothing(raw: Raw, server: DiscordServer) -> None:
    direct = server.direct(1)
    server.block(1)

    refused = await raw("POST", f"/channels/{direct.id}/messages", {"content": "x"})

    assert (refused.status, refused.code, refused.text) == (403, 50007, "Cannot send messages to this user")


async def test_only_its_own_messages_can_be_edited(raw: Raw, server: DiscordServer, place: Channel) -> None:
    theirs = server.say(place, "mine", person=1)

    edited = await raw.edit(place, theirs, "yours")
    deleted = await raw("DELETE", f"/channels/20/messages/{theirs}")

    assert (edited.status, edited.code) == (403, 50005)
    assert edited.text == "Cannot edit a message authored by another user"
    assert deleted.code == 50013
    assert server.screen.of("20", author="1")[0].text == "mine"


async def test_a_channel_the_bot_was_removed_from_is_closed(raw: Raw, server: DiscordServer, place: Channel) -> None:
    sent = await raw.send(place)
    server.kick(10)

    assert (await raw.edit(place, sent.body["id"], "x")).code == 50001


async def test_an_enforced_nonce_brings_back_the_message_it_made(raw: Raw, time: Time, place: Channel) -> None:
    first = await raw.send(place, "once", nonce="n", enforce_nonce=True)
    again = await raw.send(place, "twice", nonce="n", enforce_nonce=True)
    loose = await raw.send(place, "loose", nonce="n")
    time.pass_(301)
    late = await raw.send(place, "late", nonce="n", enforce_nonce=True)

    assert (again.body["id"], again.body["content"]) == (first.body["id"], "once")
    assert loose.body["id"] != first.body["id"] != late.body["id"]


async def test_a_nonce_has_at_most_25_characters(raw: Raw, place: Channel) -> None:
    assert (await raw.send(place, "x", nonce="n" * 26)).code == 50035


async def test_a_reply_to_a_message_that_is_gone(raw: Raw, server: DiscordServer, place: Channel) -> None:
    target = server.say(place, "question", person=1)
    server.delete(target)

    refused = await raw.send(place, "answer", message_reference={"message_id": target})
    loose = await raw.send(place, "answer", message_reference={"message_id": target, "fail_if_not_exists": False})

    assert refused.code == 50035 and refused.body["errors"]["message_reference"]["_errors"][0]["message"] == (
        "Unknown message"
    )
    assert loose.status == 200 and "message_reference" not in loose.body


async def test_the_history_is_newest_first_and_can_be_paged(raw: Raw, server: DiscordServer, place: Channel) -> None:
    said = [server.say(place, str(number), person=1) for number in range(5)]

    newest = await raw("GET", "/channels/20/messages?limit=2")
    older = await raw("GET", f"/channels/20/messages?limit=2&before={said[3]}")
    after = await raw("GET", f"/channels/20/messages?limit=2&after={said[0]}")

    assert [one["id"] for one in newest.body] == [said[4], said[3]]
    assert [one["id"] for one in older.body] == [said[2], said[1]]
    assert [one["id"] for one in after.body] == [said[2], said[1]]
    assert newest.body[0]["content"] == ""
    assert (await raw("GET", "/channels/20/messages?limit=101")).code == 50035


async def test_a_file_over_ten_mebibytes_is_refused_whole(raw: Raw, server: DiscordServer, place: Channel) -> None:
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", '{"content": "big"}')
    form.add_field("files[0]", io.BytesIO(b"x" * (10 * 1024 * 1024 + 1)), filename="big.bin")

    refused = await raw("POST", "/channels/20/messages", form=form)

    assert (refused.status, refused.code, refused.text) == (413, 40005, "Request entity too large")
    assert server.screen.of("20") == []


async def test_files_stay_unless_an_edit_leaves_them_out(raw: Raw, server: DiscordServer, place: Channel) -> None:
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", '{"attachments": [{"id": 0, "filename": "a.txt"}]}')
    form.add_field("files[0]", b"A", filename="a.txt")
    sent = await raw("POST", "/channels/20/messages", form=form)

    await raw.edit(place, sent.body["id"], "text")
    kept = len(server.screen.of("20")[0].files)
    await raw.edit(place, sent.body["id"], "text", attachments=[])

    assert (kept, server.screen.of("20")[0].files) == (1, [])
    assert sent.body["attachments"][0]["filename"] == "a.txt"


async def test_broken_json_and_strange_fields_are_named(raw: Raw, place: Channel) -> None:
    broken = await raw("POST", "/channels/20/messages", form=b"{")
    listed = await raw.send(place, ["x"])

    assert (broken.status, broken.code) == (400, 50109)
    assert listed.body["errors"]["content"]["_errors"][0]["code"] == "STRING_TYPE_CONVERT"


async def test_four_thousand_characters_of_text_displays_and_no_content_beside_them(raw: Raw, place: Channel) -> None:
    def display(length: int) -> list[Any]:
        return [{"type": 10, "content": "x" * (length // 2)}] * 2

    fits = await raw.send(place, None, components=display(4000), flags=V2)
    long = await raw.send(place, None, components=display(4002), flags=V2)
    mixed = await raw.send(place, "x", components=display(2), flags=V2)

    assert fits.status == 200
    assert long.body["errors"]["components"]["_errors"][0]["message"].endswith("maximum size of 4000")
    assert "content" in mixed.body["errors"]


async def test_embeds_are_measured_one_by_one_and_together(raw: Raw, place: Channel) -> None:
    one = await raw.send(place, "x", embeds=[{"description": "d" * 4097}])
    all_ = await raw.send(place, "x", embeds=[{"description": "d" * 3001}] * 2)
    many = await raw.send(place, "x", embeds=[{"title": "t"}] * 11)

    assert "description" in one.body["errors"]["embeds"]["0"]
    assert all_.body["errors"]["embeds"]["_errors"][0]["code"] == "MAX_EMBED_SIZE_EXCEEDED"
    assert many.body["errors"]["embeds"]["_errors"][0]["message"] == "Must be 10 or fewer in length."


async def test_buttons_need_distinct_ids(raw: Raw, place: Channel) -> None:
    button = {"type": 2, "style": 1, "label": "Go", "custom_id": "go"}

    twice = await raw.send(place, "x", components=[{"type": 1, "components": [button, button]}])
    nameless = await raw.send(place, "x", components=[{"type": 1, "components": [{**button, "custom_id": ""}]}])
    crowded = await raw.send(
        place, "x", components=[{"type": 1, "components": [{**button, "custom_id": str(n)} for n in range(6)]}]
    )

    assert [answer.code for answer in (twice, nameless, crowded)] == [50035] * 3


async def test_unset_allowed_mentions_ping_everybody_named(raw: Raw, server: DiscordServer, place: Channel) -> None:
    role = server.role(30, 10, "Readers")

    await raw.send(place, f"@everyone @here <@1> <@!1> <@&{role}> `<@2>` ```\n@here\n```")

    assert [ping.whom for ping in server.pings] == [("@everyone", "@here", "<@1>", "<@&30>")]


@pytest.mark.parametrize(
    ("rule", "whom"),
    [
        ({"parse": []}, ()),
        ({"parse": ["users"]}, ("<@1>", "<@2>")),
        ({"parse": ["everyone"]}, ("@everyone",)),
        ({"parse": [], "users": ["2"]}, ("<@2>",)),
        ({"parse": [], "replied_user": True}, ("<@1>",)),
        ({"parse": ["roles"], "users": ["1"]}, ("<@1>", "<@&30>")),
    ],
)
async def test_allowed_mentions_are_honoured(
    raw: Raw, server: DiscordServer, place: Channel, rule: RawJson, whom: tuple[str, ...]
) -> None:
    target = server.say(place, "question", person=1)
    text = "@everyone <@1> <@2> <@&30>"

    await raw.send(place, text, allowed_mentions=rule, message_reference={"message_id": target})

    assert [ping.whom for ping in server.pings] == ([whom] if whom else [])


async def test_a_reply_pings_its_target_unless_told_otherwise(raw: Raw, server: DiscordServer, place: Channel) -> None:
    target = server.say(place, "question", person=1)

    await raw.send(place, "answer", message_reference={"message_id": target})

    assert [ping.whom for ping in server.pings] == [("<@1>",)]


async def test_allowed_mentions_cannot_name_what_they_parse(raw: Raw, place: Channel) -> None:
    refused = await raw.send(place, "x", allowed_mentions={"parse": ["users"], "users": ["1"]})

    assert refused.body["errors"]["allowed_mentions"]["_errors"][0]["message"] == (
        'parse:["users"] and users: [ids...] are mutually exclusive.'
    )


async def test_mentions_in_an_edit_are_recorded_as_such(raw: Raw, server: DiscordServer, place: Channel) -> None:
    sent = await raw.send(place, "quiet")

    await raw.edit(place, sent.body["id"], "<@1>")
    await raw.edit(place, sent.body["id"], "<@1> again", allowed_mentions={"parse": []})

    assert [(ping.whom, ping.edit) for ping in server.pings] == [(("<@1>",), True)]


async def test_bare_links_become_previews_and_quiet_ones_do_not(
    raw: Raw, server: DiscordServer, place: Channel
) -> None:
    quiet = "<https://a.example/> `https://b.example` [c](<https://c.example>)"
    sent = await raw.send(place, quiet)
    assert server.previews == []

    await raw.edit(place, sent.body["id"], f"{quiet} https://d.example/x, [e](https://e.example/y)")

    assert [preview.url for preview in server.previews] == ["https://d.example/x", "https://e.example/y"]


async def test_suppressed_embeds_stay_suppressed_through_edits(raw: Raw, server: DiscordServer, place: Channel) -> None:
    sent = await raw.send(place, "https://a.example", flags=4)
    await raw.edit(place, sent.body["id"], "https://b.example")
    assert server.previews == []

    await raw.edit(place, sent.body["id"], "https://c.example", flags=0)

    assert [preview.url for preview in server.previews] == ["https://c.example"]


async def test_reactions_and_typing_are_noticed(raw: Raw, server: DiscordServer, place: Channel) -> None:
    sent = await raw.send(place)
    path = f"/channels/20/messages/{sent.body['id']}/reactions"

    assert (await raw("POST", "/channels/20/typing")).status == 204
    assert (await raw("PUT", f"{path}/%F0%9F%91%80/@me")).status == 204
    seen = await raw("GET", f"/channels/20/messages/{sent.body['id']}")
    assert (await raw("DELETE", f"{path}/%F0%9F%91%80/@me")).status == 429
    assert (await raw("PUT", f"{path}/eyes/@me")).status == 429

    assert seen.body["reactions"][0]["emoji"]["name"] == "👀" and seen.body["reactions"][0]["me"]
    assert [what for _, _, what in server.screen.notices] == ["typing", "Parley reacted 👀"]


async def test_threads_open_once_under_a_message_of_a_text_channel(
    raw: Raw, server: DiscordServer, place: Channel
) -> None:
    said = server.say(place, "question", person=1)
    path = f"/channels/20/messages/{said}/threads"

    made = await raw("POST", path, {"name": "answers"})
    again = await raw("POST", path, {"name": "answers"})
    nameless = await raw("POST", "/channels/20/threads", {"name": "", "auto_archive_duration": 5})
    nested = await raw("POST", f"/channels/{said}/threads", {"name": "x"})

    assert (made.status, made.body["id"], made.body["parent_id"]) == (201, said, "20")
    assert (again.status, again.code) == (400, 160004)
    assert set(nameless.body["errors"]) == {"name", "auto_archive_duration"}
    assert nested.code == 50024


async def test_an_archived_thread_opens_by_writing_unless_it_is_locked(
    raw: Raw, server: DiscordServer, place: Channel
) -> None:
    thread = server.thread(place, "old")
    sent = await raw.send(thread, "one")
    server.archive(thread)

    said, one = f"/channels/{thread.id}/messages/{sent.body['id']}", f"/channels/{thread.id}"
    assert (await raw.edit(thread, sent.body["id"], "two")).code == 50083
    assert (await raw("DELETE", said)).code == 50083
    assert (await raw("PUT", f"{said}/reactions/%F0%9F%91%80/@me")).code == 50083
    assert (await raw.send(thread, "three")).status == 200
    assert (await raw.edit(thread, sent.body["id"], "two")).status == 200
    server.archive(thread)
    assert (await raw("PATCH", one, {"archived": False})).body["thread_metadata"]["archived"] is False
    assert (await raw.edit(thread, sent.body["id"], "two")).status == 200
    server.archive(thread, locked=True)
    assert (await raw.send(thread, "four")).code == 50083
    assert (await raw("PATCH", one, {"archived": False})).code == 50013
    assert (await raw("PATCH", "/channels/20", {"archived": False})).code == 50013


async def test_threads_need_a_permission_of_their_own(raw: Raw, server: DiscordServer, place: Channel) -> None:
    thread = server.thread(place, "talk")
    server.deny(thread, "SEND_MESSAGES_IN_THREADS")

    assert (await raw.send(thread)).code == 50013
    with pytest.raises(ValueError, match="SPEAK"):
        server.deny(thread, "SPEAK")
