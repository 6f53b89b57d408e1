"""Flood control on a clock that the test turns."""

from __future__ import annotations

import datetime

import pytest
from telegram import Bot
from telegram.error import RetryAfter

from playground.faults import Fault
from playground.telegram import Limits, TelegramServer
from tests.playground.telegram.conftest import Clock, Raw

# The library warns that the wait will become a timedelta one day.
pytestmark = pytest.mark.filterwarnings("ignore::telegram.warnings.PTBDeprecationWarning")


def seconds_of(error: RetryAfter) -> float:
    """The wait, whichever of its two types the library gives it."""
    wait = error.retry_after
    return wait.total_seconds() if isinstance(wait, datetime.timedelta) else float(wait)


async def test_a_private_chat_takes_three_at_once_and_then_one_a_second(
    server: TelegramServer, bot: Bot, clock: Clock
) -> None:
    message = await bot.send_message(7, "1")
    await bot.edit_message_text("2", 7, message.message_id)
    await bot.send_message_draft(7, 5, "3")

    with pytest.raises(RetryAfter) as caught:
        await bot.send_message(7, "4")

    assert seconds_of(caught.value) == 1
    assert server.refusals == 1
    refused = server.calls[-1]
    assert (refused.method, refused.chat, refused.status, refused.retry_after) == ("sendMessage", "7", 429, 1)
    clock.pass_(1)
    await bot.send_message(7, "4")


async def test_the_429_has_the_body_of_the_service(server: TelegramServer, raw: Raw) -> None:
    for number in range(3):
        await raw("sendMessage", chat_id=7, text=str(number))

    assert await raw("sendMessage", chat_id=7, text="4") == (
        429,
        {
            "ok": False,
            "error_code": 429,
            "description": "Too Many Requests: retry after 1",
            "parameters": {"retry_after": 1},
        },
    )


async def test_a_group_takes_twenty_a_minute(server: TelegramServer, bot: Bot, clock: Clock) -> None:
    for number in range(20):
        await bot.send_message(-500, str(number))
        clock.pass_(1)

    with pytest.raises(RetryAfter) as caught:
        await bot.send_message(-500, "one more")

    assert seconds_of(caught.value) == 40
    clock.pass_(39)
    with pytest.raises(RetryAfter) as caught:
        await bot.send_chat_action(-500, "typing")
    assert seconds_of(caught.value) == 1, "while the penalty lasts every call of the chat is refused"
    clock.pass_(1)
    await bot.send_message(-500, "one more")
    assert server.refusals == 2


async def test_a_group_takes_three_at_once_and_then_one_a_second_as_any_chat(
    server: TelegramServer, bot: Bot, clock: Clock
) -> None:
    for number in range(3):
        await bot.send_message(-500, str(number))

    with pytest.raises(RetryAfter) as caught:
        await bot.send_message(-500, "4")

    assert seconds_of(caught.value) == 1
    clock.pass_(1)
    await bot.send_message(-500, "4")


async def test_all_chats_share_thirty_a_second_and_typing_counts(
    server: TelegramServer, bot: Bot, clock: Clock
) -> None:
    for person in range(100, 129):
        server.person(person)
        await bot.send_message(person, "hi")
    await bot.send_chat_action(7, "typing")

    with pytest.raises(RetryAfter):
        await bot.send_message(7, "late")

    clock.pass_(1)
    assert (await bot.send_message(100, "the next second is free")).text


async def test_a_chat_in_its_penalty_does_not_hold_up_another(server: TelegramServer, bot: Bot) -> None:
    server.person(8)
    for number in range(3):
        await bot.send_message(7, str(number))
    with pytest.raises(RetryAfter):
        await bot.send_message(7, "4")

    assert (await bot.send_message(8, "hello")).text == "hello"


async def test_a_429_by_fault_closes_the_chat_for_the_time_it_names(
    server: TelegramServer, bot: Bot, clock: Clock
) -> None:
    server.faults.add("sendMessage", Fault(status=429, retry_after=12.2))
    with pytest.raises(RetryAfter) as caught:
        await bot.send_message(7, "x")
    assert seconds_of(caught.value) == 13
    assert server.refusals == 0, "the test asked for it"

    clock.pass_(12)
    with pytest.raises(RetryAfter):
        await bot.send_message(7, "too early")
    assert server.refusals == 1

    clock.pass_(1)
    await bot.send_message(7, "in time")


async def test_limits_are_parameters_and_can_be_left_out(clock: Clock) -> None:
    strict = Limits(chat_rate=0.5, chat_burst=1, least_penalty=30)
    for limits, refusals in ((strict, 1), (False, 0)):
        async with TelegramServer(now=clock, limits=limits) as server:
            server.person(7)
            async with Bot(server.token, base_url=f"{server.base_url}/bot") as bot:
                await bot.send_message(7, "1")
                if refusals:
                    with pytest.raises(RetryAfter) as caught:
                        await bot.send_message(7, "2")
                    assert seconds_of(caught.value) == 30
                else:
                    await bot.send_message(7, "2")
            assert server.refusals == refusals


async def test_what_is_refused_for_its_form_costs_nothing(server: TelegramServer, raw: Raw) -> None:
    for _ in range(5):
        status, _body = await raw("sendMessage", chat_id=7, text="<b>open", parse_mode="HTML")
        assert status == 400

    assert (await raw("sendMessage", chat_id=7, text="fine"))[0] == 200
