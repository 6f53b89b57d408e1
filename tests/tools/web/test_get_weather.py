"""get_weather against Open-Meteo on loopback."""

from __future__ import annotations

import pytest

from playground.web import OpenMeteoServer
from tests.conftest import RawJson
from tests.tools.web.conftest import Call, Caller
from tools.contract.base import Source
from tools.get_weather import open_tool
from tools.settings import WeatherSettings


def settings_for(server: OpenMeteoServer) -> WeatherSettings:
    return WeatherSettings.model_construct(
        open_meteo_base_url=server.base_url + "/", open_meteo_geocoding_url=server.base_url
    )


@pytest.fixture
def weather(openmeteo: OpenMeteoServer, caller: Caller) -> Call:
    return caller(open_tool(settings_for(openmeteo)))


async def test_now_and_three_days_are_told_with_units(weather: Call) -> None:
    result = await weather(place="Oslo")

    lines = result.text.splitlines()
    assert result.ok
    assert lines[0] == "Weather for Oslo, Norway (59.91, 10.75)"
    assert lines[1].startswith("Now (")
    assert "Europe/Oslo): partly cloudy, 6.0 °C, feels like 4.0 °C, humidity 64%, wind 12 km/h from W" in lines[1]
    assert len(lines) == 5
    assert "light rain, 3 °C to 11 °C, precipitation 4.2 mm, chance of rain 84%" in lines[4]
    assert "sun 06:12–18:34" in lines[4]
    assert result.sources == (Source("Open-Meteo", "https://open-meteo.com/"),)


async def test_other_places_of_the_name_are_listed_with_their_coordinates(weather: Call) -> None:
    paris = await weather(place="Paris")
    springfield = await weather(place="Springfield", days=1)

    assert "Weather for Paris, Île-de-France, France" in paris.text
    assert "Paris, Texas, United States (33.66, -95.56)" in paris.text
    assert "Kentucky" not in paris.text  # two hundred times smaller: nobody means it
    assert "Weather for Springfield, Missouri" in springfield.text
    assert "Springfield, Massachusetts" in springfield.text
    assert "Springfield, Illinois" in springfield.text


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("Paris, Texas", "Paris, Texas, United States"),
        ("Paris, TEXAS, us", "Paris, Texas, United States"),
        ("Springfield, Illinois", "Springfield, Illinois"),
        ("Portland, Maine", "Portland, Maine"),
        ("Paris，法国", "巴黎, Île-de-France, 法国"),
    ],
)
async def test_a_region_behind_a_comma_narrows(place: str, found: str, weather: Call) -> None:
    result = await weather(place=place)

    assert f"Weather for {found}" in result.text
    assert "Other places" not in result.text


async def test_a_place_that_is_not_in_that_region_is_said_with_those_there_are(weather: Call) -> None:
    result = await weather(place="Paris, Spain")

    assert not result.ok
    assert "Paris, Texas, United States" in result.text


@pytest.mark.parametrize("place", ["北京", "北京市", "Beijing"])
async def test_places_are_found_in_chinese_and_named_in_the_person_s_language(
    place: str, openmeteo: OpenMeteoServer, caller: Caller
) -> None:
    result = await caller(open_tool(settings_for(openmeteo)), language="zh-CN")(place=place)

    assert "Weather for 北京, Beijing, 中国" in result.text
    assert openmeteo.requests[0].query["language"] == "zh"


@pytest.mark.parametrize("place", ["48.85, 2.35", "48.85，2.35", "48.85 2.35"])
async def test_coordinates_need_no_search(place: str, openmeteo: OpenMeteoServer, weather: Call) -> None:
    written = await weather(place=place)
    given = await weather(latitude=48.85, longitude=2.35)

    assert written.text == given.text
    assert written.text.startswith("Weather for 48.85, 2.35\n")
    assert {one.path for one in openmeteo.requests} == {"/v1/forecast"}


async def test_imperial_units(weather: Call) -> None:
    result = await weather(place="Oslo", units="imperial", days=1)

    assert "42.9 °F" in result.text
    assert "mph" in result.text
    assert "°C" not in result.text


async def test_a_long_forecast_is_cut_between_days_and_says_so(openmeteo: OpenMeteoServer, caller: Caller) -> None:
    result = await caller(open_tool(settings_for(openmeteo)), chars=900)(place="Paris", days=16)

    assert len(result.text) <= 900
    assert " of 16 days are shown.)" in result.text
    assert "Other places of this name" in result.text


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, "Say where"),
        ({"place": "Atlantis"}, "no place named 'Atlantis'"),
        ({"place": "Oslo", "days": 17}, "between 1 and 16"),
        ({"latitude": 10.0}, "together"),
        ({"latitude": 91.0, "longitude": 0.0}, "between -90 and 90"),
        ({"place": "95.0, 200.0"}, "between -90 and 90"),
    ],
)
async def test_what_cannot_be_answered_says_why(wrong: RawJson, says: str, weather: Call) -> None:
    result = await weather(**wrong)

    assert not result.ok
    assert says in result.text


async def test_a_limit_of_the_service_is_told(openmeteo: OpenMeteoServer, weather: Call) -> None:
    openmeteo.per_minute = 0

    result = await weather(place="Oslo")

    assert not result.ok
    assert "too many requests" in result.text
