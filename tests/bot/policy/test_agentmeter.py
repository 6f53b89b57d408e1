"""What an agent of another author uses: reserved before it begins, counted by what it reports."""

from __future__ import annotations

import pytest

from bot.contract.errors import Unaffordable
from bot.contract.transcript import Usage
from bot.policy.metering import AgentMeter
from bot.policy.quotas import Quotas, charge
from bot.store import Store
from tests.bot.policy.conftest import ADA, Make, spent
from tests.letters import count_letters

NAME, MODEL = "mine:agent", "openai:gpt-5-mini"


def meter(quotas: Quotas, models: dict[str, str] | None = None) -> AgentMeter:
    return AgentMeter(quotas, NAME, {} if models is None else models, count_letters, 100)


async def test_what_it_reports_is_counted_and_what_it_does_not_need_is_returned(store: Store, make: Make) -> None:
    with charge(ADA):
        one = meter(make())
        await one.reserve()
        assert await spent(store) > 1_000
        await one.settle(MODEL, Usage(300, 40), None)
        assert await spent(store) == 340
        await one.reserve("more")
        assert await spent(store) > 1_340
        await one.settle(MODEL, Usage(10, 5), 0.25)
        await one.settle(MODEL, Usage(1, 1), None)  # nothing is reserved any more
        await one.close()

    assert await spent(store) == 357
    [found] = await store.spending.list_spent(["person telegram:7"], 86_400)
    assert found.dollars == pytest.approx(301 * 0.25e-6 + 41 * 2e-6 + 0.25)


async def test_one_that_reports_nothing_is_charged_with_an_estimate(store: Store, make: Make) -> None:
    quotas = make()
    with charge(ADA):
        one = meter(quotas)
        await one.reserve()
        await one.reserve("w" * 50)
        await one.close()
    await quotas.close()

    assert await spent(store) == 150


async def test_a_spent_quota_refuses_the_next_request(store: Store, make: Make) -> None:
    with charge(ADA):
        one = meter(make(tokens_per_day_person=2_000))
        await one.reserve()
        await one.settle(MODEL, Usage(1_500, 400), None)
        with pytest.raises(Unaffordable):
            await one.reserve("more")

    assert await spent(store) == 1_900


async def test_the_price_of_the_model_that_it_named_before_is_reserved(store: Store, make: Make) -> None:
    models: dict[str, str] = {}
    quotas = make()
    with charge(ADA):
        first = meter(quotas, models)
        await first.reserve()
        await first.settle(MODEL, Usage(1, 1), None)
        await meter(quotas, models).reserve()

    [found] = await store.spending.list_spent(["person telegram:7"], 86_400)
    assert found.dollars > 0.001


async def test_an_answer_that_outgrows_its_reservation_raises_it_or_ends(store: Store, make: Make) -> None:
    quotas = make(tokens_per_day_person=8_000)
    written = 0
    with charge(ADA):
        one = meter(quotas)
        await one.reserve()
        with pytest.raises(Unaffordable) as refused:
            while True:
                await one.reserve("w" * 40)
                written += 40
        assert refused.value.whose == "person" and await spent(store) <= 8_000
        await one.close()
    await quotas.close()

    assert 7_700 < written <= 7_900 and written < await spent(store) <= 8_000


async def test_each_result_is_another_request_of_one_that_reports_nothing(store: Store, make: Make) -> None:
    quotas = make()
    with charge(ADA):
        one = meter(quotas)
        await one.reserve("w" * 10)
        await one.read("r" * 20)
        await one.read("r" * 20)  # of a parallel call: both are read at once
        await one.reserve("w" * 10)
        await one.close()
    await quotas.close()

    assert await spent(store) == (100 + 10) + (120 + 10)


async def test_the_next_request_is_expected_to_read_what_the_last_one_did(store: Store, make: Make) -> None:
    with charge(ADA):
        one = meter(make(tokens_per_day_person=20_000))
        await one.reserve()
        await one.settle(MODEL, Usage(9_000, 600), None)
        with pytest.raises(Unaffordable):
            await one.read("r")

    assert await spent(store) == 9_600
