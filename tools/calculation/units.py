"""A table of units with exact factors to the base unit of their dimension, and the names people use for them.

A line is: symbol, factor, names. A star after the symbol allows SI prefixes, a plus those of bytes; `_` is a space in
a name; English names also match with a plural s. Units that differ between countries have a note.

By hand instead of pint 0.25: its registry lacks 637 of these 1,965 names and takes 49 for other units, and its import
and definitions take 430 ms and 11 MB (this table: 19 ms, 1.8 MB). See docs/decisions.md, 2026-11-22.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from tools.calculation.curves import PI
from tools.calculation.numbers import Number, multiply

# metre, kilogram, second, kelvin, ampere, bit
Dimension = tuple[int, int, int, int, int, int]
NONE: Dimension = (0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: `number` of it is `(number + offset) * factor` in base units."""

    symbol: str
    dimension: Dimension
    factor: Number
    offset: Fraction = Fraction(0)
    """Set for degrees Celsius and Fahrenheit, whose zero is not the kelvin's."""
    plain: bool = False
    """A number word, as dozen: it multiplies and is not shown."""


_TABLE = """
[1 0 0 0 0 0]
m* 1 metre meter 米 公尺
in 0.0254 inch inches " ″ 英寸 吋
ft 0.3048 foot feet ' ′ 英尺 呎
yd 0.9144 yard yds 码
mi 1609.344 mile 英里 哩
nmi 1852 nautical_mile 海里
ly 9460730472580800 light_year lightyear light-year 光年
au 149597870700 AU astronomical_unit 天文单位
pc 30856775814913673 parsec 秒差距
Å 0.0000000001 angstrom ångström
mil 0.0000254 thou
furlong 201.168
fathom 1.8288
里 500 市里 华里
丈 10/3
尺 1/3 市尺
寸 1/30 市寸
公里 1000
[2 0 0 0 0 0]
ha 10000 hectare 公顷
acre 4046.8564224 英亩
are 100
亩 2000/3 市亩 mu
sqft 0.09290304 sq.ft
[3 0 0 0 0 0]
L* 0.001 l litre liter 升 公升
gal 0.003785411784 gallon US_gallon 加仑
imperial_gallon 0.00454609 UK_gallon 英制加仑
qt 0.000946352946 quart 夸脱
pt 0.000473176473 pint 品脱
cup 0.0002365882365 c. 杯
floz 0.0000295735295625 fl_oz fl._oz fluid_ounce 液量盎司
tbsp 0.00001478676478125 tablespoon Tbsp 汤匙 大勺
tsp 0.00000492892159375 teaspoon 茶匙 小勺
bbl 0.158987294928 barrel 桶
cc 0.000001 ccm
方 1
[0 1 0 0 0 0]
g* 0.001 gram gramme 克
t 1000 tonne metric_ton metric_tonne 吨 公吨
kt 1000000 kilotonne
Mt 1000000000 megatonne
lb 0.45359237 lbs pound 磅 英磅
oz 0.028349523125 ounce 盎司
st 6.35029318 stone 英石
ton 907.18474 US_ton short_ton
long_ton 1016.0469088
ct 0.0002 carat 克拉
gr 0.00006479891 grain
斤 0.5 市斤
两 0.05 市两
钱 0.005
公斤 1
[0 0 1 0 0 0]
s* 1 sec second 秒 秒钟
min 60 mins minute 分钟 分
h 3600 hr hrs hour 小时 个小时 钟头
d 86400 day 天 日
week 604800 wk 周 星期 个星期
month 2629746 个月
year 31556952 yr 年
decade 315569520
century 3155695200 centuries 世纪
fortnight 1209600
[0 0 0 1 0 0]
K* 1 kelvin 开尔文
°C 1 C celsius centigrade degC deg_C degree_celsius degrees_celsius 摄氏度
°F 5/9 F fahrenheit degF deg_F degree_fahrenheit degrees_fahrenheit 华氏度
[0 0 0 0 1 0]
A* 1 amp ampere 安 安培
[0 0 0 0 0 1]
bit+ 1 bits 比特
B+ 8 byte bytes 字节
[0 0 -1 0 0 1]
bps+ 1
[0 0 -1 0 0 0]
Hz* 1 hertz 赫兹 赫
rpm 1/60
[1 0 -1 0 0 0]
mph 0.44704 英里每小时
km/h 5/18 kph kmh kmph 公里每小时
fps 0.3048
kn 463/900 knot kts 节
[-2 0 0 0 0 0]
mpg 1609344000000000/3785411784 miles_per_gallon
[1 0 -2 0 0 0]
g0 9.80665 standard_gravity
[1 1 -2 0 0 0]
N* 1 newton 牛 牛顿
lbf 4.4482216152605 pound-force
kgf 9.80665 公斤力
dyn 0.00001 dyne
[-1 1 -2 0 0 0]
Pa* 1 pascal 帕 帕斯卡
bar* 100000 巴
atm 101325 atmosphere 大气压
psi 6894.757293168361
mmHg 133.322387415 毫米汞柱
torr 20265/152 Torr
inHg 3386.389
[2 1 -2 0 0 0]
J* 1 joule 焦 焦耳
Wh* 3600 watt-hour watthour watt_hour 瓦时
kcal 4184 Cal kilocalorie Calorie Calories 千卡 大卡
cal 4.184 calorie 卡 卡路里
BTU 1055.05585262 Btu btu
eV* 1.602176634e-19 electronvolt 电子伏特
erg 0.0000001
度电 3600000
[2 1 -3 0 0 0]
W* 1 watt 瓦 瓦特
hp 745.69987158227022 horsepower 英制马力
PS 735.49875 metric_horsepower 马力
[0 0 1 0 1 0]
coulomb 1
mAh 3.6 毫安时
Ah 3600 安时
[2 1 -3 0 -1 0]
V* 1 volt 伏 伏特
[2 1 -3 0 -2 0]
Ω* 1 ohm 欧 欧姆
[-2 -1 4 0 2 0]
farad* 1
[0 0 0 0 0 0]
rad 1 radian 弧度
"""
_PLAIN = """
dozen 12 打
score 20
gross 144
hundred 100
thousand 1000
million 1000000 mio
billion 1000000000 bn
trillion 1000000000000
"""
_PREFIXES = (
    ("c", "centi", "厘", -2), ("m", "milli", "毫", -3), ("k", "kilo", "千", 3), ("M", "mega", "兆", 6),
    ("µ", "micro", "微", -6), ("μ", "micro", "微", -6), ("u", "micro", "微", -6), ("n", "nano", "纳", -9),
    ("G", "giga", "吉", 9), ("T", "tera", "太", 12), ("P", "peta", "拍", 15), ("E", "exa", "艾", 18),
    ("d", "deci", "分", -1), ("da", "deca", "十", 1), ("h", "hecto", "百", 2), ("p", "pico", "皮", -12),
    ("f", "femto", "飞", -15),
)  # fmt: skip
_BINARY = (("Ki", "kibi"), ("Mi", "mebi"), ("Gi", "gibi"), ("Ti", "tebi"), ("Pi", "pebi"), ("Ei", "exbi"))
_BYTES = {"KB": "kB", "kb": "kB", "mb": "MB", "gb": "GB", "tb": "TB", "Kb": "kbit", "Mb": "Mbit", "Gb": "Gbit"}
_ALSO = {"兆字节": "MB", "吉字节": "GB", "千字节": "kB", "公分": "cm", "千瓦时": "kWh"}
NOTES = {
    "cup": "A cup is the US cup of 236.5882365 ml; a metric cup is 250 ml.",
    "gal": "A gallon is the US gallon of 3.785411784 L; write 'imperial gallon' for the British one.",
    "pt": "A pint is the US pint of 473.176473 ml; the British one has 568.26125 ml.",
    "qt": "A quart is the US quart of 946.352946 ml.",
    "ton": "A ton is the US ton of 907.18474 kg; write t or tonne for 1000 kg.",
    "month": "A month is taken as a twelfth of 365.2425 days.",
    "year": "A year is taken as 365.2425 days.",
    "hp": "hp is the mechanical horsepower of 745.7 W; write PS for the metric one.",
}
_OFFSETS = {"°C": Fraction("273.15"), "°F": Fraction("459.67")}


def list_names() -> list[str]:
    """All names of all units."""
    return list(_build_tables()[0])


def find(name: str) -> Unit | None:
    """The unit of that name, else the one whose name differs in case only, else None."""
    exact, folded = _build_tables()
    return exact.get(name) or folded.get(name.lower())


@functools.cache
def _build_tables() -> tuple[dict[str, Unit], dict[str, Unit]]:
    found: dict[str, Unit] = {}
    prefixed: list[tuple[str, Unit]] = []
    for symbol, mark, unit, names in _parse_rows():
        for name in (symbol, *names):
            found.setdefault(name, unit)
            if len(name) > 2 and name.isascii() and name[0].isalpha() and not name.endswith("s"):
                found.setdefault(f"{name}s", unit)
        if mark == "*":
            prefixed += _apply_si_prefixes(unit, symbol, names)
        elif mark == "+":
            prefixed += _apply_data_prefixes(unit, symbol, names)
    degree = Unit("°", NONE, multiply(PI, Fraction(1, 180)))
    for name in ("°", "deg", "degs", "degree", "degrees", "度"):
        found[name] = degree
    for name, unit in (
        ("arcmin", Unit("arcmin", NONE, multiply(PI, Fraction(1, 10_800)))),
        ("arcsec", Unit("arcsec", NONE, multiply(PI, Fraction(1, 648_000)))),
        ("turn", Unit("turn", NONE, multiply(PI, Fraction(2)))),
    ):
        found[name] = found[f"{name}s"] = unit
    for name, unit in prefixed:
        found.setdefault(name, unit)
    for name, meant in (*_BYTES.items(), *_ALSO.items()):
        if meant in found:
            found[name] = found[meant]
    folded: dict[str, Unit] = {}
    for name, unit in found.items():
        folded.setdefault(name.lower(), unit)
    return found, folded


def _parse_rows() -> Iterator[tuple[str, str, Unit, list[str]]]:
    """The lines of the tables: symbol, star or plus, unit, names."""
    dimension = NONE
    for line in _TABLE.strip().splitlines():
        if line.startswith("["):
            a, b, c, d, e, f = (int(part) for part in line.strip("[]").split())
            dimension = (a, b, c, d, e, f)
            continue
        head, factor, *names = line.split()
        mark = head[-1] if head[-1] in "*+" else ""
        symbol = head.rstrip("*+").replace("_", " ")
        unit = Unit(symbol, dimension, Fraction(factor), _OFFSETS.get(symbol, Fraction(0)))
        yield symbol, mark, unit, [name.replace("_", " ") for name in names]
    for line in _PLAIN.strip().splitlines():
        symbol, factor, *names = line.split()
        yield symbol, "", Unit(symbol, NONE, Fraction(factor), plain=True), names


def _apply_si_prefixes(unit: Unit, symbol: str, names: list[str]) -> Iterator[tuple[str, Unit]]:
    short = [symbol, *(name for name in names if name == "l")]
    for prefix, long, chinese, exponent in _PREFIXES:
        one = Unit(prefix + symbol, unit.dimension, multiply(unit.factor, Fraction(10) ** exponent))
        for name in short:
            yield prefix + name, one
        for name in names:
            if name.isascii() and len(name) > 2:
                yield long + name, one
                yield f"{long}{name}s", one
            elif not name.isascii():
                yield chinese + name, one


def _apply_data_prefixes(unit: Unit, symbol: str, names: list[str]) -> Iterator[tuple[str, Unit]]:
    steps = [(prefix, long, Fraction(10) ** exponent) for prefix, long, _, exponent in _PREFIXES if exponent >= 3]
    steps += [(prefix, long, Fraction(1024) ** power) for power, (prefix, long) in enumerate(_BINARY, 1)]
    for prefix, long, factor in steps:
        one = Unit(prefix + symbol, unit.dimension, multiply(unit.factor, factor))
        yield prefix + symbol, one
        for name in (symbol, *names):
            if name.isascii() and len(name) > 2:
                yield long + name, one
