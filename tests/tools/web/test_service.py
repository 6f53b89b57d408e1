"""What any of the services may do wrong is a sentence, and nobody waits for it longer than its time."""

from __future__ import annotations

import asyncio
import email.utils
import json
import time
from collections.abc import AsyncIterator

import pytest

from playground.faults import Fault
from playground.web import OpenMeteoServer
from tests.conftest import RawJson
from tools.contract.base import ToolError
from tools.fetch.service import (
    LONGEST_TEXT,
    MOST_ITEMS,
    JsonService,
    items_of,
    number_of,
    read_retry_after,
    text_of,
)


@pytest.fixture
async def service(openmeteo: OpenMeteoServer) -> AsyncIterator[JsonService]:
    made = JsonService("The service", openmeteo.base_url, "SERVICE_BASE_URL", seconds=5)
    yield made
    await made.close()


async def asked(service: JsonService) -> RawJson:
    return await service.get("/v1/search", {"name": "Oslo"})


@pytest.mark.parametrize(
    ("fault", "says", "again"),
    [
        (Fault(status=429, retry_after=30), "again in 30 s", False),
        (Fault(status=429, headers={"Retry-After": "nonsense"}), "again later", False),
        (Fault(status=500), "fault of its own", True),
        (Fault(status=503), "fault of its own", True),
        (Fault(status=400, body='{"reason": "Latitude is wrong."}'), "refuses the request: Latitude is wrong.", True),
        (Fault(status=400, body="<html>"), "refuses the request. Change", True),
        (Fault(status=403), "Only its operator", False),
        (Fault(status=301, headers={"Location": "http://127.0.0.1:1/"}), "not where it should be", False),
        (Fault(status=200, body="<html>welcome</html>"), "cannot be read", False),
        (Fault(status=200, body="[" * 100_000), "cannot be read", False),
        (Fault(status=200, body=f"[{'[],' * 60_000}1]"), "cannot be read", False),
        (Fault(drop="before"), "cannot be reached", False),
    ],
)
async def test_every_fault_is_a_sentence(
    fault: Fault, says: str, again: bool, openmeteo: OpenMeteoServer, service: JsonService
) -> None:
    openmeteo.faults.add("get", fault, times=2)

    with pytest.raises(ToolError) as failed:
        await asked(service)

    assert says in str(failed.value)
    assert failed.value.retry is again
    openmeteo.faults.clear()
    assert (await asked(service))["results"]


async def test_no_answer_costs_its_time(openmeteo: OpenMeteoServer) -> None:
    service = JsonService("The service", openmeteo.base_url, "X", seconds=0.05)
    openmeteo.faults.add("get", Fault(hold=asyncio.Event()))

    with pytest.raises(ToolError, match=r"within 0\.05 s"):
        await asked(service)

    await service.close()


async def test_an_endless_answer_is_not_read_to_its_end(openmeteo: OpenMeteoServer, service: JsonService) -> None:
    openmeteo.faults.add("get", Fault(status=200, body="[" + "1," * 3_000_000 + "1]"))

    with pytest.raises(ToolError, match="cannot be read"):
        await asked(service)


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1", "nonsense", "http://"])
async def test_a_wrong_address_is_said_to_the_operator_and_not_to_the_person(
    base_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    service = JsonService("The service", base_url, "SERVICE_BASE_URL")

    with pytest.raises(ToolError, match="cannot be reached") as failed:
        await asked(service)

    await service.close()
    assert "SERVICE_BASE_URL" in caplog.text
    assert "127.0.0.1" not in str(failed.value)


async def test_what_is_not_there_is_none(service: JsonService) -> None:
    assert await service.get("/nowhere", {}) is None


async def test_a_long_text_is_read_and_its_beginning_looked_at(
    openmeteo: OpenMeteoServer, service: JsonService
) -> None:
    """Split into words, three megabytes would hold up every chat."""
    openmeteo.faults.add("get", Fault(status=200, body=json.dumps({"extract": "a [b], " * 400_000})))

    found = await asked(service)

    assert len(found["extract"]) == 2_800_000
    assert len(text_of(found["extract"])) <= LONGEST_TEXT
    assert len(items_of([{}] * 10_000)) == MOST_ITEMS
    assert number_of("1" * 100_000) is None


def test_a_wait_may_be_seconds_or_a_date() -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)

    assert read_retry_after({"Retry-After": "7"}) == 7
    assert 90 < (read_retry_after({"Retry-After": date}) or 0) <= 100
    assert read_retry_after({"Retry-After": "soon"}) is None
    assert read_retry_after({}) is None


@pytest.mark.parametrize("value", [None, True, "x", [], {}, float("nan"), float("inf"), "1e999", 10**400])
def test_what_is_no_number_is_none(value: RawJson) -> None:
    assert number_of(value) is None
