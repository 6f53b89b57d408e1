"""Open-Meteo with a handful of places: its search for them, and a forecast made from where they lie."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from playground.web.service import PublicService, Refused

MOST_DAYS = 16
_CURRENT: dict[str, str] = {
    "temperature_2m": "°C",
    "apparent_temperature": "°C",
    "relative_humidity_2m": "%",
    "is_day": "",
    "precipitation": "mm",
    "weather_code": "wmo code",
    "cloud_cover": "%",
    "wind_speed_10m": "km/h",
    "wind_direction_10m": "°",
    "wind_gusts_10m": "km/h",
}
_DAILY: dict[str, str] = {
    "weather_code": "wmo code",
    "temperature_2m_max": "°C",
    "temperature_2m_min": "°C",
    "precipitation_sum": "mm",
    "precipitation_probability_max": "%",
    "wind_speed_10m_max": "km/h",
    "sunrise": "iso8601",
    "sunset": "iso8601",
}


@dataclass(frozen=True, slots=True)
class Town:
    """One place as the search knows it; `names` by language, `en` always."""

    names: dict[str, str]
    region: str
    country: dict[str, str]
    code: str
    latitude: float
    longitude: float
    people: int
    zone: str


_USA = {"en": "United States", "zh": "美国"}
_CHINA = {"en": "China", "zh": "中国"}
_BRITAIN = {"en": "United Kingdom", "zh": "英国"}
_GERMANY = {"en": "Germany", "zh": "德国"}
TOWNS: tuple[Town, ...] = (
    Town(
        {"en": "Oslo", "zh": "奥斯陆"},
        "Oslo",
        {"en": "Norway", "zh": "挪威"},
        "NO",
        59.91,
        10.75,
        580000,
        "Europe/Oslo",
    ),
    Town(
        {"en": "Beijing", "zh": "北京"},
        "Beijing",
        _CHINA,
        "CN",
        39.91,
        116.4,
        18960744,
        "Asia/Shanghai",
    ),
    Town(
        {"en": "Paris", "zh": "巴黎"},
        "Île-de-France",
        {"en": "France", "zh": "法国"},
        "FR",
        48.85,
        2.35,
        2138551,
        "Europe/Paris",
    ),
    Town({"en": "Paris"}, "Texas", _USA, "US", 33.66, -95.56, 24782, "America/Chicago"),
    Town({"en": "Paris"}, "Kentucky", _USA, "US", 38.21, -84.25, 9846, "America/New_York"),
    Town({"en": "Portland"}, "Oregon", _USA, "US", 45.52, -122.68, 652503, "America/Los_Angeles"),
    Town({"en": "Portland"}, "Maine", _USA, "US", 43.66, -70.26, 68408, "America/New_York"),
    Town({"en": "Springfield"}, "Missouri", _USA, "US", 37.22, -93.3, 166810, "America/Chicago"),
    Town({"en": "Springfield"}, "Massachusetts", _USA, "US", 42.1, -72.59, 154341, "America/New_York"),
    Town({"en": "Springfield"}, "Illinois", _USA, "US", 39.8, -89.64, 116565, "America/Chicago"),
    Town(
        {"en": "Tokyo", "zh": "东京"},
        "Tokyo",
        {"en": "Japan", "zh": "日本"},
        "JP",
        35.69,
        139.69,
        9733276,
        "Asia/Tokyo",
    ),
    Town({"en": "Shanghai", "zh": "上海"}, "Shanghai", _CHINA, "CN", 31.22, 121.46, 24874500, "Asia/Shanghai"),
    Town({"en": "London", "zh": "伦敦"}, "England", _BRITAIN, "GB", 51.51, -0.13, 8961989, "Europe/London"),
    Town({"en": "New York", "zh": "纽约"}, "New York", _USA, "US", 40.71, -74.01, 8804190, "America/New_York"),
    Town({"en": "Berlin", "zh": "柏林"}, "Berlin", _GERMANY, "DE", 52.52, 13.41, 3426354, "Europe/Berlin"),
)


class OpenMeteoServer(PublicService):
    """The forecast and the search for places on one loopback port."""

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        super().__init__(host, port)
        self.towns: list[Town] = list(TOWNS)
        self._now = now
        self.serve("/v1/search", self._search)
        self.serve("/v1/forecast", self._forecast)

    def too_many(self) -> Refused:
        # The service names no Retry-After.
        return Refused(429, _error("Minutely API request limit exceeded. Please try again in one minute."))

    def _search(self, request: web.Request) -> dict[str, Any]:
        query = request.query
        name = query.get("name", "").strip()
        if "name" not in query:
            raise Refused(400, _error("Parameter 'name' is required"))
        count = query.get("count", "10")
        if not count.isdigit() or not 1 <= int(count) <= 100:
            raise Refused(400, _error("Parameter 'count' must be between 1 and 100."))
        language = query.get("language", "en")
        found = [self._town(at, one, language) for at, one in enumerate(self.towns) if _named(one, name)]
        answer: dict[str, Any] = {"generationtime_ms": 0.4}
        # No match is an answer without results, as in the service.
        return {"results": found[: int(count)], **answer} if found and len(name) > 1 else answer

    def _town(self, at: int, town: Town, language: str) -> dict[str, Any]:
        return {
            "id": 1000 + at,
            "name": town.names.get(language, town.names["en"]),
            "latitude": town.latitude,
            "longitude": town.longitude,
            "elevation": 30.0,
            "feature_code": "PPL",
            "country_code": town.code,
            "timezone": town.zone,
            "population": town.people,
            "country": town.country.get(language, town.country["en"]),
            "admin1": town.region,
        }

    def _forecast(self, request: web.Request) -> dict[str, Any]:
        query = request.query
        try:
            latitude, longitude = float(query["latitude"]), float(query["longitude"])
        except (KeyError, ValueError):
            raise Refused(400, _error("Parameter 'latitude' and 'longitude' must have the same number")) from None
        if not -90 <= latitude <= 90:
            raise Refused(400, _error(f"Latitude must be in range of -90 to 90°. Given: {latitude}."))
        days = query.get("forecast_days", "7")
        if not days.isdigit() or not 0 <= int(days) <= MOST_DAYS:
            raise Refused(400, _error(f"Forecast days is invalid. Allowed range 0 to {MOST_DAYS}. Given {days}."))
        current, daily = _wanted(query.get("current", ""), _CURRENT), _wanted(query.get("daily", ""), _DAILY)
        if daily and "timezone" not in query:
            raise Refused(400, _error("Timezone is required"))
        us = query.get("temperature_unit") == "fahrenheit"
        town = min(self.towns, key=lambda one: math.hypot(one.latitude - latitude, one.longitude - longitude))
        today = self._now()
        answer: dict[str, Any] = {"latitude": latitude, "longitude": longitude, "timezone": town.zone}
        if current:
            answer["current_units"] = {"time": "iso8601", **_units(current, us)}
            answer["current"] = {
                "time": f"{today:%Y-%m-%dT%H}:00",
                "interval": 900,
                **_values(current, latitude, 0, us),
            }
        if daily:
            dates = [today.date() + datetime.timedelta(days=day) for day in range(int(days))]
            rows = [_values(daily, latitude, day, us) for day in range(len(dates))]
            answer["daily_units"] = {"time": "iso8601", **_units(daily, us)}
            answer["daily"] = {
                "time": [str(date) for date in dates],
                **{key: [row[key] for row in rows] for key in daily},
            }
            for key, hour in (("sunrise", "06:12"), ("sunset", "18:34")):
                if key in daily:
                    answer["daily"][key] = [f"{date}T{hour}" for date in dates]
        return answer


def _named(town: Town, name: str) -> bool:
    """Whether a search for `name` finds `town`: any language, or "name, region or country"."""
    wanted, *around = [part.strip().lower() for part in name.split(",")]
    fits = any(one.lower() == wanted for one in town.names.values())
    places = {town.region.lower(), town.code.lower(), *(one.lower() for one in town.country.values())}
    return fits and all(part in places for part in around)


def _wanted(given: str, known: dict[str, str]) -> list[str]:
    names = [name for name in given.split(",") if name]
    for name in names:
        if name not in known:
            reason = (
                f"Data corrupted at path ''. Cannot initialize SurfacePressureAndHeightVariable from invalid {name}."
            )
            raise Refused(400, _error(reason))
    return names


def _units(names: list[str], us: bool) -> dict[str, str]:
    turned = {"°C": "°F", "km/h": "mp/h", "mm": "inch"} if us else {}
    units = {**_DAILY, **_CURRENT}
    return {name: turned.get(units[name], units[name]) for name in names}


def _values(names: list[str], latitude: float, day: int, us: bool) -> dict[str, Any]:
    """Invented, but always the same: colder away from the equator, a little different each day."""
    warm = 30 - abs(latitude) / 2.5 + 2 * math.sin(day)
    wind, rain = 12.0 + 3 * day % 7, [0.0, 0.0, 4.2, 0.6][day % 4]
    values: dict[str, Any] = {
        "temperature_2m": warm,
        "apparent_temperature": warm - 2,
        "relative_humidity_2m": 64,
        "is_day": 1,
        "precipitation": rain,
        "weather_code": [2, 0, 61, 80][day % 4],
        "cloud_cover": 40,
        "wind_speed_10m": wind,
        "wind_direction_10m": 268,
        "wind_gusts_10m": wind * 2,
        "temperature_2m_max": warm + 3,
        "temperature_2m_min": warm - 5,
        "precipitation_sum": rain,
        "precipitation_probability_max": int(rain * 20),
        "wind_speed_10m_max": wind,
        "sunrise": "",
        "sunset": "",
    }
    units = {**_DAILY, **_CURRENT}
    found = {}
    for name in names:
        value = values[name]
        if us and units[name] == "°C":
            value = value * 9 / 5 + 32
        elif us and units[name] == "km/h":
            value = value / 1.609344
        elif us and units[name] == "mm":
            value = value / 25.4
        found[name] = round(value, 1) if isinstance(value, float) else value
    return found


def _error(reason: str) -> dict[str, Any]:
    return {"error": True, "reason": reason}
