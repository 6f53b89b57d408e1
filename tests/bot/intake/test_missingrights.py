"""Rights that the bot lacks somewhere: noted when a platform says so, until a call of that kind works there again."""

from __future__ import annotations

import pytest

from bot.contract import DeliveryError, FileWithheld, Refused, RightMissing
from bot.intake.missingrights import MissingRights

ODD = Refused("Telegram: Forbidden: a new word", lasting=RightMissing("the bot lacks a right (a new word)"))


async def call(rights: MissingRights, *errors: DeliveryError | None, kind: str = "show") -> list[str]:
    """Make a call after another with these outcomes; what is told then."""

    async def made(error: DeliveryError | None) -> None:
        if error is not None:
            raise error

    for error in errors:
        if error is None:
            await rights.noting("telegram -5", kind, made(error))
        else:
            with pytest.raises(type(error)):
                await rights.noting("telegram -5", kind, made(error))
    return rights.told


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ([RightMissing("it lacks Send Messages")], ["telegram -5: it lacks Send Messages"]),
        ([RightMissing("it lacks Send Messages"), None], []),
        ([ODD], []),
        ([ODD, None, ODD], []),
        ([ODD, Refused("another", lasting=RightMissing("x")), ODD], []),
        ([ODD, ODD], ["telegram -5: the bot lacks a right (a new word)"]),
        ([ODD, ODD, None], []),
        ([Refused("the page is refused"), Refused("the page is refused")], []),
        ([DeliveryError("no connection")], []),
        ([FileWithheld("it lacks files:read", why="right")], ["telegram -5: it lacks files:read"]),
        ([FileWithheld("too large", why="large")], []),
    ],
)
async def test_a_right_is_missing_until_a_call_of_its_kind_works(
    outcomes: list[DeliveryError | None], told: list[str]
) -> None:
    """What may be an odd answer is believed when it is given again."""
    assert await call(MissingRights(), *outcomes) == told


async def test_another_kind_of_call_tells_nothing_of_it() -> None:
    rights = MissingRights()
    await call(rights, RightMissing("it lacks Send Messages"))

    assert await call(rights, None, kind="attach") == ["telegram -5: it lacks Send Messages"]
