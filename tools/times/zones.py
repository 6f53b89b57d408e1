"""Time zones by the names people say: a city, a country, an abbreviation, an offset, in English and Chinese."""

from __future__ import annotations

import datetime
import functools
import re
import unicodedata
import zoneinfo
from dataclasses import dataclass

from tools.contract.base import ToolError
from tools.contract.nearness import closest

_REGIONS = ("Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian", "Antarctica", "Arctic")

# One line a zone; a name may be in one line only. Cities that have a zone of their own are found without it.
_NAMES = """
UTC: utc, gmt, z, zulu, universal time, greenwich mean time, 世界时, 协调世界时, 格林威治, 格林尼治
Asia/Shanghai: beijing, peking, china, prc, shenzhen, guangzhou, hangzhou, chengdu, wuhan, nanjing, tianjin, xian, \
china standard time, 北京, 上海, 中国, 深圳, 广州, 杭州, 成都, 武汉, 南京, 天津, 西安, \
重庆, 苏州, 厦门, 青岛, 大连, 哈尔滨, 国内
Asia/Urumqi: xinjiang, 乌鲁木齐, 新疆
Asia/Hong_Kong: hk, hkt, 香港
Asia/Macau: macao, 澳门
Asia/Taipei: taiwan, 台北, 台湾
Asia/Tokyo: japan, jst, osaka, kyoto, 东京, 日本, 大阪, 京都
Asia/Seoul: korea, south korea, kst, busan, 首尔, 韩国, 釜山
Asia/Pyongyang: north korea, 平壤, 朝鲜
Asia/Singapore: sgt, 新加坡
Asia/Kuala_Lumpur: malaysia, 吉隆坡, 马来西亚
Asia/Bangkok: thailand, 曼谷, 泰国
Asia/Ho_Chi_Minh: vietnam, hanoi, 河内, 胡志明市, 越南
Asia/Jakarta: indonesia, wib, 雅加达, 印度尼西亚, 印尼
Asia/Makassar: bali, denpasar, 巴厘岛
Asia/Manila: philippines, 马尼拉, 菲律宾
Asia/Kolkata: india, ist, delhi, new delhi, mumbai, bombay, bangalore, bengaluru, chennai, hyderabad, \
印度, 新德里, 孟买, 班加罗尔
Asia/Karachi: pakistan, pkt, islamabad, lahore, 巴基斯坦, 卡拉奇
Asia/Dhaka: bangladesh, 达卡, 孟加拉
Asia/Kathmandu: nepal, 加德满都, 尼泊尔
Asia/Colombo: sri lanka, 斯里兰卡
Asia/Yangon: myanmar, burma, rangoon, 缅甸, 仰光
Asia/Dubai: uae, abu dhabi, emirates, gst, 迪拜, 阿联酋
Asia/Riyadh: saudi arabia, saudi, mecca, 沙特, 利雅得
Asia/Qatar: doha, 卡塔尔, 多哈
Asia/Tehran: iran, 伊朗, 德黑兰
Asia/Baghdad: iraq, 伊拉克, 巴格达
Asia/Jerusalem: israel, tel aviv, idt, 以色列, 耶路撒冷, 特拉维夫
Asia/Almaty: kazakhstan, astana, 哈萨克斯坦
Asia/Tashkent: uzbekistan, 乌兹别克斯坦
Asia/Ulaanbaatar: mongolia, 蒙古, 乌兰巴托
Asia/Kabul: afghanistan, 阿富汗
Europe/London: uk, britain, great britain, england, scotland, wales, united kingdom, bst, edinburgh, manchester, \
伦敦, 英国
Europe/Dublin: ireland, 都柏林, 爱尔兰
Europe/Paris: france, cet, cest, central european time, lyon, marseille, 巴黎, 法国
Europe/Berlin: germany, munich, frankfurt, hamburg, cologne, 柏林, 德国, 慕尼黑, 法兰克福
Europe/Madrid: spain, barcelona, 马德里, 西班牙, 巴塞罗那
Europe/Rome: italy, milan, venice, florence, 罗马, 意大利, 米兰
Europe/Vienna: austria, 维也纳, 奥地利
Europe/Zurich: switzerland, geneva, bern, basel, 苏黎世, 瑞士, 日内瓦
Europe/Amsterdam: netherlands, holland, rotterdam, the hague, 阿姆斯特丹, 荷兰
Europe/Brussels: belgium, 布鲁塞尔, 比利时
Europe/Lisbon: portugal, wet, west, 里斯本, 葡萄牙
Europe/Warsaw: poland, krakow, 华沙, 波兰
Europe/Prague: czechia, czech republic, 布拉格, 捷克
Europe/Budapest: hungary, 布达佩斯, 匈牙利
Europe/Athens: greece, eet, eest, 雅典, 希腊
Europe/Stockholm: sweden, 斯德哥尔摩, 瑞典
Europe/Oslo: norway, 奥斯陆, 挪威
Europe/Copenhagen: denmark, 哥本哈根, 丹麦
Europe/Helsinki: finland, 赫尔辛基, 芬兰
Europe/Bucharest: romania, 罗马尼亚
Europe/Sofia: bulgaria, 保加利亚
Europe/Kyiv: ukraine, kiev, 基辅, 乌克兰
Europe/Moscow: russia, msk, st petersburg, saint petersburg, 莫斯科, 俄罗斯, 圣彼得堡
Europe/Istanbul: turkey, türkiye, ankara, 伊斯坦布尔, 土耳其
Atlantic/Reykjavik: iceland, 冰岛
America/New_York: est, edt, et, eastern, eastern time, us eastern, washington, washington dc, dc, boston, miami, \
atlanta, philadelphia, nyc, florida, 纽约, 华盛顿, 波士顿, 美东, 美国东部, 迈阿密
America/Chicago: cst, cdt, ct, central, central time, us central, texas, dallas, houston, austin, \
芝加哥, 休斯顿, 达拉斯, 美中
America/Denver: mst, mdt, mt, mountain, mountain time, us mountain, colorado, 丹佛
America/Phoenix: arizona, 凤凰城
America/Los_Angeles: pst, pdt, pt, pacific, pacific time, us pacific, california, san francisco, sf, la, seattle, \
portland, san diego, las vegas, silicon valley, 洛杉矶, 旧金山, 西雅图, 加州, 美西, 美国西部, 硅谷, 拉斯维加斯
America/Anchorage: alaska, akst, akdt, 阿拉斯加
Pacific/Honolulu: hawaii, hst, 夏威夷, 檀香山
America/Toronto: ottawa, montreal, 多伦多, 渥太华, 蒙特利尔
America/Vancouver: british columbia, 温哥华
America/Edmonton: calgary, alberta, 卡尔加里
America/Halifax: atlantic time, ast, adt, nova scotia
America/St_Johns: newfoundland, nst
America/Mexico_City: mexico, 墨西哥, 墨西哥城
America/Sao_Paulo: brazil, brasilia, rio, rio de janeiro, brt, 巴西, 圣保罗, 里约
America/Argentina/Buenos_Aires: argentina, buenos aires, 阿根廷, 布宜诺斯艾利斯
America/Santiago: chile, 智利
America/Lima: peru, 秘鲁
America/Bogota: colombia, 哥伦比亚
America/Caracas: venezuela, 委内瑞拉
America/Havana: cuba, 古巴
Africa/Cairo: egypt, 开罗, 埃及
Africa/Johannesburg: south africa, cape town, sast, pretoria, 南非, 约翰内斯堡, 开普敦
Africa/Lagos: nigeria, wat, abuja, 尼日利亚
Africa/Nairobi: kenya, eat, 肯尼亚, 内罗毕
Africa/Casablanca: morocco, rabat, 摩洛哥
Africa/Algiers: algeria, 阿尔及利亚
Africa/Addis_Ababa: ethiopia, 埃塞俄比亚
Africa/Accra: ghana, 加纳
Australia/Sydney: australia, aest, aedt, canberra, 悉尼, 澳大利亚, 堪培拉
Australia/Melbourne: victoria, 墨尔本
Australia/Brisbane: queensland, gold coast, 布里斯班
Australia/Adelaide: acst, acdt, 阿德莱德
Australia/Perth: awst, 珀斯
Pacific/Auckland: new zealand, nzst, nzdt, wellington, 新西兰, 奥克兰, 惠灵顿
"""
_MANY = {
    "cst": "CST was read as US Central time; China's time is Asia/Shanghai.",
    "ist": "IST was read as India's time; Israel's is Asia/Jerusalem, Ireland's Europe/Dublin.",
    "bst": "BST was read as British time; Bangladesh's is Asia/Dhaka.",
    "ast": "AST was read as Atlantic time in America; Arabia's is Asia/Riyadh.",
    "gst": "GST was read as Gulf time (Dubai).",
    "australia": "Australia has several zones; this is Sydney's.",
    "russia": "Russia has eleven zones; this is Moscow's.",
    "俄罗斯": "Russia has eleven zones; this is Moscow's.",
    "brazil": "Brazil has several zones; this is São Paulo's.",
    "indonesia": "Indonesia has three zones; this is Jakarta's.",
}
_SEVERAL = {
    "usa": "America/New_York, America/Chicago, America/Denver or America/Los_Angeles",
    "canada": "America/Toronto, America/Winnipeg, America/Edmonton or America/Vancouver",
}
_SEVERAL |= dict.fromkeys(("us", "united states", "america", "美国"), _SEVERAL["usa"]) | {"加拿大": _SEVERAL["canada"]}
_LONGEST_NAME = 100
_OFFSET = re.compile(r"(?:utc|gmt)?\s*([+-])\s*(\d{1,2})(?::?([0-5]\d))?$")
_CHINESE_OFFSET = re.compile(r"([东西])\s*(十[一二]?|[一二三四五六七八九]|\d{1,2})区$")
_DIGITS = {word: number for number, word in enumerate("零一二三四五六七八九十")} | {"十一": 11, "十二": 12}
_FIXED = ("est", "edt", "cst", "cdt", "mst", "mdt", "pst", "pdt", "cet", "cest", "bst", "eet", "eest", "aest", "aedt")


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone with the name it was found under."""

    name: str
    """IANA name, or `UTC+08:00`."""
    info: datetime.tzinfo
    note: str = ""
    """How an ambiguous name was understood."""


class UnknownZone(ToolError):
    """No zone, or more than one, has that name. The text says what to write."""


def find(name: str) -> Zone:
    """The zone of that name: IANA, a city, a country, an abbreviation or an offset.

    Raises:
        UnknownZone: no zone fits, or more than one.
    """
    said = _normalize(name[:_LONGEST_NAME])
    for ending in (" standard time", " daylight time", " local time", " time", "时间", "当地"):
        if said not in _build_table() and said.removesuffix(ending).strip():
            said = said.removesuffix(ending).strip()
    if said in _SEVERAL:
        raise UnknownZone(f"{name!r} has several time zones: write {_SEVERAL[said]}, or a city.")
    fixed = _parse_offset(said)
    if fixed is not None:
        return fixed
    key = _build_table().get(said) or _build_table().get(said.split(",")[0].strip())
    if key is None:
        raise UnknownZone(
            f"There is no time zone {name[:60]!r}: write an IANA name such as Europe/Paris, a large city, or UTC+8."
        )
    note = _MANY.get(said, "")
    if not note and said in _FIXED:
        note = f"{name.strip().upper()} was read as the time kept in {key}, summer time included."
    return Zone(key, zoneinfo.ZoneInfo(key), note)


def checked_name(name: str) -> str:
    """Return the name of a zone if this machine knows it.

    Raises:
        ValueError: it does not; says which one is probably meant.
    """
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        if has_data():
            meant = _nearest(name)
            hint = f"did you mean {meant}?" if meant else "write a name such as Europe/Paris"
            raise ValueError(f"there is no time zone {name[:60]!r}; {hint}") from None
        if name != "UTC":
            raise ValueError("this machine knows no time zones: install its package tzdata") from None
    return name


def _nearest(name: str) -> str:
    """Return the IANA name that is probably meant; empty if none is near."""
    every = zoneinfo.available_timezones()
    for said in (name, name.rpartition("/")[2]):
        if several := _SEVERAL.get(_normalize(said)):
            return several
        try:
            found = find(said)
        except UnknownZone:
            continue
        return found.name if found.name in every else _place_with(found)
    table = _build_table()
    near = closest(_normalize(name[:_LONGEST_NAME]), table, 1, 0.75)
    return table[near[0]] if near else ""


def _place_with(offset: Zone) -> str:
    """Return the first place of our list that keeps this offset in winter; empty if none does."""
    winter = datetime.datetime(2026, 1, 15, tzinfo=datetime.UTC)
    wanted = winter.astimezone(offset.info).utcoffset()
    keys = re.findall(r"^(\S+): ", _NAMES, re.MULTILINE)
    return next((key for key in keys if winter.astimezone(zoneinfo.ZoneInfo(key)).utcoffset() == wanted), "")


def has_data() -> bool:
    """Whether this machine has time zone data."""
    try:
        zoneinfo.ZoneInfo("Europe/Paris")
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        return False
    return True


@functools.cache
def _build_table() -> dict[str, str]:
    """All names with their IANA keys. Built at the first use: listing the files takes 20 ms."""
    every = zoneinfo.available_timezones()
    found: dict[str, str] = {}
    for line in _NAMES.strip().splitlines():
        key, _, names = line.partition(": ")
        for name in names.split(","):
            if key in every:
                found[_normalize(name)] = key
    for key in sorted(every):
        region, _, place = key.rpartition("/")
        if region.split("/")[0] in _REGIONS:
            found.setdefault(_normalize(place), key)
    for key in every:
        found.setdefault(_normalize(key), key)
    return found


def _parse_offset(said: str) -> Zone | None:
    match = _OFFSET.match(said)
    if match:
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        sign = match[1]
    else:
        match = _CHINESE_OFFSET.match(said)
        if not match:
            return None
        minutes = (int(match[2]) if match[2].isdecimal() else _DIGITS[match[2]]) * 60
        sign = "+" if match[1] == "东" else "-"
    if minutes > 14 * 60:
        raise UnknownZone(f"No place is {said!r}: offsets go from UTC-12 to UTC+14.")
    delta = datetime.timedelta(minutes=minutes)
    name = f"UTC{sign}{minutes // 60:02}:{minutes % 60:02}"
    return Zone(name, datetime.timezone(delta if sign == "+" else -delta, name))


def _normalize(name: str) -> str:
    """Lower case without accents, dots and repeated spaces, so that `New_York` equals `new york`."""
    text = unicodedata.normalize("NFKD", name.replace("−", "-"))
    text = "".join(char for char in text if not unicodedata.combining(char))
    return " ".join(text.lower().replace("_", " ").replace(".", "").split())
