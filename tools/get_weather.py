"""The tool that gets the current weather and the forecast from Open-Meteo, for a place name or coordinates."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tools.calling.function import FunctionTool
from tools.contract.base import Source, ToolContext, ToolError, ToolResult
from tools.contract.findings import Finding, Verdict
from tools.fetch.entries import joined
from tools.fetch.service import JsonService, fields_of, items_of, number_of, text_of
from tools.settings import WeatherSettings

MOST_DAYS = 16
_CANDIDATES = 10
_OTHERS = 5
_NOW = (
    "temperature_2m,apparent_temperature,relative_humidity_2m,is_day,precipitation,weather_code,cloud_cover,"
    "wind_speed_10m,wind_direction_10m,wind_gusts_10m"
)
_DAILY = (
    "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,precipitation_probability_max,"
    "wind_speed_10m_max,sunrise,sunset"
)
_UNITS: dict[str, dict[str, str | int | float]] = {
    "metric": {},
    "imperial": {"temperature_unit": "fahrenheit", "wind_speed_unit": "mph", "precipitation_unit": "inch"},
}
# WMO code 4677 as far as Open-Meteo uses it.
_SKY = {
    0: "clear",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "freezing fog",
    51: "light drizzle",
    53: "drizzle",
    55: "heavy drizzle",
    56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "freezing rain",
    71: "light snow",
    73: "snow",
    75: "heavy snow",
    77: "snow grains",
    80: "light showers",
    81: "showers",
    82: "violent showers",
    85: "light snow showers",
    86: "heavy snow showers",
    95: "thunderstorm",
    96: "thunderstorm with light hail",
    99: "thunderstorm with heavy hail",
}
_WINDS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
_COORDINATES = re.compile(r"(-?\d{1,3}(?:\.\d+)?)\s*[,，;\s]\s*(-?\d{1,3}(?:\.\d+)?)$")
# Chinese and Japanese suffixes that the search does not know: 北京市, 云南省, 東京都.
_SUFFIX = re.compile(r"(?<=..)(?:市|省|县|縣|区|區|镇|鎮|都|府|特别行政区)$")
_EXAMPLES = (
    {"place": "Oslo"},
    {"place": "Portland, Maine", "days": 7, "units": "imperial"},
    {"latitude": 48.86, "longitude": 2.35},
)
_ASKED = (
    "Do I need an umbrella in Oslo today?",
    "How will the week be in Portland, Maine? In Fahrenheit, please.",
)
_KEYWORDS = (
    *("weather", "forecast", "temperature", "rain", "snow", "wind", "sunny", "umbrella", "degrees", "sunrise"),
    *("sunset", "humidity", "天气", "气温", "温度", "下雨", "下雪", "预报", "刮风", "带伞", "日出", "日落", "几度"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place on the map."""

    name: str
    region: str
    country: str
    code: str
    latitude: float
    longitude: float
    people: float

    @property
    def full(self) -> str:
        return ", ".join(dict.fromkeys(one for one in (self.name, self.region, self.country) if one))


def open_tool(settings: WeatherSettings | None) -> Weather:
    """The tool, which needs no key."""
    return Weather(settings if settings is not None else WeatherSettings.model_construct())


class Weather(FunctionTool):
    """`get_weather`."""

    def __init__(self, settings: WeatherSettings) -> None:
        self._forecast = JsonService(
            "The weather service",
            settings.open_meteo_base_url,
            "OPEN_METEO_BASE_URL",
            configured=bool(settings.model_fields_set),
        )
        self._places = JsonService(
            "The weather service's search for places",
            settings.open_meteo_geocoding_url,
            "OPEN_METEO_GEOCODING_URL",
            configured=bool(settings.model_fields_set),
        )
        super().__init__(
            self.get_weather,
            self._forecast,
            self._places,
            name="get_weather",
            category="weather",
            examples=_EXAMPLES,
            asked=_ASKED,
            keywords=_KEYWORDS,
            same="current weather forecast daily hourly today condition city location | weather forecast",
            icon="⛅",
            verb=("Checking the weather", "正在查询天气", "正在查詢天氣"),
            label=("Look up the weather and the forecast", "查询天气和天气预报", "查詢天氣與天氣預報"),
            subject="place",
            cache_seconds=600.0,
            timeout=25.0,
        )

    async def get_weather(
        self,
        context: ToolContext,
        place: str = "",
        latitude: float | None = None,
        longitude: float | None = None,
        days: int = 3,
        units: Literal["metric", "imperial"] = "metric",
    ) -> ToolResult:
        """The weather now and the forecast for up to 16 days, for a place or for coordinates.

        Use when: the person asks about weather, temperature, rain, wind, sunrise or sunset anywhere.
        Not for: the climate or weather of the past (search_web), or the time in a place (current_time).
        Source: Open-Meteo

        Args:
            place: City or place in any language, with the region or country where the name is common.
                Example: "Springfield, Illinois"
            latitude: Degrees north, instead of a place.
            longitude: Degrees east, instead of a place.
            days: How many days of forecast, today included.
            units: metric is °C, km/h and mm; imperial is °F, mph and inch.
        """
        if not 1 <= days <= MOST_DAYS:
            raise ToolError(f"days must be between 1 and {MOST_DAYS}; there is no forecast beyond.")
        where, others = await self._locate(" ".join(place.split()), latitude, longitude, context.language)
        asked: dict[str, str | int | float] = {
            "latitude": where.latitude,
            "longitude": where.longitude,
            "current": _NOW,
            "daily": _DAILY,
            "timezone": "auto",
            "forecast_days": days,
            **_UNITS[units],
        }
        found = fields_of(await self._forecast.get("/v1/forecast", asked))
        # The other places stand before the days, so that a long forecast cannot push them out.
        note = ""
        if others:
            listed = "; ".join(f"{one.full} ({one.latitude:.2f}, {one.longitude:.2f})" for one in others)
            note = f"Other places of this name: {listed}. If one of these is meant, call again with its coordinates.\n"
        text = _write_report(where, found, note, context.chars)
        return ToolResult(text=text, sources=(Source("Open-Meteo", "https://open-meteo.com/"),), untrusted=True)

    async def check(self, *, offline: bool = False) -> Finding:
        """Whether both services answer: the forecast, and the search for places."""
        at: dict[str, str | int | float] = {"latitude": 59.91, "longitude": 10.75, "current": "temperature_2m"}
        named: dict[str, str | int | float] = {"name": "Oslo", "count": 1, "language": "en", "format": "json"}
        both = await asyncio.gather(
            self._forecast.check("/v1/forecast", at, expected="current", offline=offline),
            self._places.check("/v1/search", named, expected="results", offline=offline),
        )
        worst = max((finding.verdict for finding in both), key=list(Verdict).index)
        return Finding(worst, "; ".join(finding.text for finding in both))

    async def _locate(
        self, name: str, latitude: float | None, longitude: float | None, language: str
    ) -> tuple[Place, Sequence[Place]]:
        """The most probable place, and others of that name."""
        if len(name) > 100:
            raise ToolError(f"The place has {len(name)} characters; write the nearest town or city alone.")
        given = _COORDINATES.match(name)
        if given and latitude is None and longitude is None:
            name, latitude, longitude = "", float(given[1]), float(given[2])
        if (latitude is None) != (longitude is None):
            raise ToolError("latitude and longitude must be given together.")
        if latitude is not None and longitude is not None:
            if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
                raise ToolError("latitude must be between -90 and 90, longitude between -180 and 180.")
            return Place(name, "", "", "", latitude, longitude, 0), ()
        if not name:
            raise ToolError("Say where: a place, or latitude and longitude. Ask the person if it is not known.")
        found = await self._find_places(name, _choose_language(language, name))
        if not found:
            raise ToolError(
                f"There is no place named {name!r}. Write the nearest town or city alone, in its local or English name."
            )
        return found[0], found[1 : 1 + _OTHERS]

    async def _find_places(self, name: str, language: str) -> list[Place]:
        """Places of that name, best first; "Paris, Texas" finds the one in Texas."""
        parts = [part.strip() for part in re.split(r"[,，]", name) if part.strip()] or [name]
        tried = [name, _SUFFIX.sub("", name), parts[0], _SUFFIX.sub("", parts[0])]
        for at, query in enumerate(dict.fromkeys(tried)):
            asked = {"name": query, "count": _CANDIDATES, "language": language, "format": "json"}
            found = _parse_places(fields_of(await self._places.get("/v1/search", asked)).get("results"))[:_CANDIDATES]
            # A name cut off before its comma finds namesakes everywhere: only those in the region asked for count.
            narrowed = [one for one in found if _lies_in(one, parts[1:])]
            if at and len(parts) > 1 and found and not narrowed:
                listed = "; ".join(one.full for one in found[:_OTHERS])
                raise ToolError(f"There is no {parts[0]!r} in {', '.join(parts[1:])!r}, but: {listed}.")
            if found:
                return _drop_duplicates(narrowed or found)
        return []


def _parse_places(rows: object) -> list[Place]:
    found = []
    for row in items_of(rows):
        latitude, longitude = number_of(row.get("latitude")), number_of(row.get("longitude"))
        if latitude is None or longitude is None:
            continue
        name, region, country, code = (text_of(row.get(key)) for key in ("name", "admin1", "country", "country_code"))
        found.append(Place(name, region, country, code, latitude, longitude, number_of(row.get("population")) or 0))
    return found


def _drop_duplicates(places: Sequence[Place]) -> list[Place]:
    """Drop places next to one listed before, and those that are tiny compared with the first."""
    kept: list[Place] = []
    for one in places:
        near = any(abs(one.latitude - at.latitude) < 0.3 and abs(one.longitude - at.longitude) < 0.3 for at in kept)
        tiny = bool(kept) and one.people * 200 < kept[0].people
        if not near and not tiny:
            kept.append(one)
    return kept


def _lies_in(place: Place, regions: Sequence[str]) -> bool:
    around = (place.region.lower(), place.country.lower(), place.code.lower())
    return all(
        any(region.lower() == one or (len(region) > 2 and region.lower() in one) for one in around)
        for region in regions
    )


def _choose_language(tag: str, name: str) -> str:
    """The language for place names, in two letters: the person's, or that of the question's script.

    Regions and countries are compared with the question, so both must be in one language.
    """
    found = re.match(r"[a-z]{2}(?![a-z])", tag.lower())
    own = found[0] if found else "en"
    return "zh" if re.search(r"[\u4e00-\u9fff]", name) and own not in ("zh", "ja", "ko") else own


def _write_report(where: Place, found: Mapping[str, Any], note: str, chars: int) -> str:
    now, daily = fields_of(found.get("current")), fields_of(found.get("daily"))
    if not now and not daily:
        raise ToolError("The weather service sent no weather for this place. Answer without it.", retry=False)
    units = {**fields_of(found.get("current_units")), **fields_of(found.get("daily_units"))}
    zone = text_of(found.get("timezone")) or "UTC"
    at = f"{where.latitude:.2f}, {where.longitude:.2f}"
    lines = [f"Weather for {where.full} ({at})" if where.full else f"Weather for {at}"]

    def write(values: Mapping[str, Any], key: str, *, digits: int = 0) -> str:
        number = number_of(values.get(key))
        unit = text_of(units.get(key)).replace("mp/h", "mph")
        return "" if number is None else f"{number:.{digits}f}{'' if unit in ('%', '') else ' '}{unit}"

    if now:
        winds = number_of(now.get("wind_direction_10m"))
        parts = [
            _describe_sky(now.get("weather_code")),
            write(now, "temperature_2m", digits=1),
            _label("feels like ", write(now, "apparent_temperature", digits=1)),
            _label("humidity ", write(now, "relative_humidity_2m")),
            _label("wind ", write(now, "wind_speed_10m"))
            + ("" if winds is None else f" from {_WINDS[round(winds / 45) % 8]}"),
            _label("gusts ", write(now, "wind_gusts_10m")),
            _label("precipitation ", write(now, "precipitation", digits=1)),
        ]
        time = text_of(now.get("time")).replace("T", " ")
        lines.append(f"Now ({time}, {zone}): " + ", ".join(part for part in parts if part))
    days = daily.get("time")
    asked = {key: values for key in _DAILY.split(",") if isinstance(values := daily.get(key), list)}
    forecast: list[str] = []
    for index, day in enumerate(days[:MOST_DAYS] if isinstance(days, list) else []):
        row = {key: values[index] for key, values in asked.items() if index < len(values)}
        low, high = write(row, "temperature_2m_min"), write(row, "temperature_2m_max")
        parts = [
            _describe_sky(row.get("weather_code")),
            f"{low} to {high}" if low and high else low or high,
            _label("precipitation ", write(row, "precipitation_sum", digits=1)),
            _label("chance of rain ", write(row, "precipitation_probability_max")),
            _label("wind up to ", write(row, "wind_speed_10m_max")),
            _label("sun ", "–".join(text_of(row.get(key))[-5:] for key in ("sunrise", "sunset") if row.get(key))),
        ]
        forecast.append(f"{text_of(day)}: " + ", ".join(part for part in parts if part) + "\n")
    text, _ = joined("\n".join(lines) + "\n" + note, forecast, chars, what="days")
    return text.rstrip("\n")


def _describe_sky(code: object) -> str:
    number = number_of(code)
    return _SKY.get(int(number), "") if number is not None else ""


def _label(label: str, value: str) -> str:
    return f"{label}{value}" if value else ""
