"""The right tool is offered at the price of a few, in English and in Chinese."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace

import pytest

from bench import offered_tools
from bot.contract.errors import ModelBusy
from bot.contract.transcript import SystemEntry, UserEntry
from bot.model.base import Answer, Piece, Request, TextPiece
from bot.toolchoice import chooser as chooser_module
from bot.toolchoice import glossary, languages, terms
from bot.toolchoice.chooser import Choice, Chooser, Room, small_model
from bot.toolchoice.index import ToolIndex
from bot.toolchoice.terms import terms_of
from tests.bot.toolchoice.conftest import SERVER
from tests.conftest import FakeClock, RawObject
from tests.letters import count_letters
from tools.contract.base import ToolSpec

Specs = tuple[ToolSpec, ...]


def names(specs: Sequence[ToolSpec]) -> list[str]:
    return [spec.name for spec in specs]


@pytest.mark.parametrize("asked", ["held_out", "tuning"])
async def test_of_a_hundred_tools_those_that_a_question_needs_are_offered_in_every_language(asked: str) -> None:
    figures = await offered_tools.measure(Chooser(), offered_tools.every_tool(), offered_tools.questions(asked))
    shares = {group: found / of for group, (found, of) in figures.recall.items()}

    assert shares["all"] >= 0.97, figures.missed
    assert min(shares["English"], shares["Chinese"], shares["other languages"]) >= 0.9, figures.missed
    assert figures.tokens < 8_000 and figures.name_tokens < 600


def test_the_held_out_questions_are_in_many_languages_and_ask_for_every_server() -> None:
    asked = offered_tools.questions("held_out")
    languages = {question.language for question in asked}
    servers = {
        name.partition("__")[0] for question in asked for need in question.needs for name in need if "__" in name
    }

    assert len(asked) == 150 and len({question.text for question in asked}) == 150
    assert len([question for question in asked if question.language not in ("en", "zh")]) == 50
    assert len(languages) >= 15 and len(servers) >= 15
    assert {question.kind for question in asked} == {"plain", "vague", "chain"}
    assert not {question.text for question in asked} & {one.text for one in offered_tools.questions("tuning")}


async def test_of_65_tools_of_one_server_the_right_one_is_offered(
    sixty_five: Specs, labelled: list[tuple[str, str]]
) -> None:
    chooser = Chooser(most=10)
    missed: dict[bool, list[str]] = {True: [], False: []}
    for number, (question, tool) in enumerate(labelled):
        if tool not in names((await chooser.choose(question, sixty_five)).tools):
            missed[number % 3 == 2].append(question)
    held_out = len(labelled) // 3

    assert len(sixty_five) == 65
    assert len(labelled) >= 100
    assert len(missed[True]) + len(missed[False]) <= 0.05 * len(labelled), missed
    assert len(missed[True]) <= 0.05 * held_out


def test_the_questions_ask_for_every_tool_in_both_languages(sixty_five: Specs, labelled: list[tuple[str, str]]) -> None:
    chinese = [question for question, _ in labelled if any("\u4e00" <= sign <= "\u9fff" for sign in question)]

    assert {tool for _, tool in labelled} == set(names(sixty_five))
    assert 0.4 < len(chinese) / len(labelled) < 0.6


@pytest.mark.parametrize(
    ("question", "tool"),
    [
        ("明天要带伞吗", "getWeatherForecast"),
        ("幫我跑一下這段程式", "run_python"),
        ("明天要帶傘嗎，天氣預報怎麼說", "getWeatherForecast"),
        ("when is there a train to Suzhou", "train_tickets"),
        ("where has my parcel got to", "track_parcel"),
    ],
)
def test_a_question_finds_a_tool_that_is_described_in_another_language(
    sixty_five: Specs, question: str, tool: str
) -> None:
    assert SERVER + tool in names(ToolIndex(sixty_five).ranked(question))[:3]


async def test_up_to_twenty_tools_of_servers_are_all_offered_in_their_order(sixty_five: Specs) -> None:
    assert await Chooser().choose("draw me a cat", sixty_five[:20]) == Choice(sixty_five[:20])


async def test_all_tools_of_ours_are_offered_before_those_of_servers(few: Specs, sixty_five: Specs) -> None:
    offer = await Chooser(most=5).choose("will it rain", (*few, *sixty_five))

    assert offer.tools[: len(few)] == few
    assert len(offer.tools) == len(few) + 5
    assert sorted(names((*offer.tools, *offer.others))) == sorted(names((*few, *sixty_five)))


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Thanks so much!",
        "got it, thanks",
        "好的，谢谢",
        "谢谢你的帮助！",
        "知道了",
        "哈哈哈",
        "sounds good",
        "你真棒",
        "謝謝你的幫助！",
        "Vielen Dank!",
        "Merci beaucoup 🙂",
        "Muchas gracias!",
        "Obrigado!",
        "Спасибо!",
        "ありがとうございます！",
        "감사합니다",
        "شكرا",
        "धन्यवाद",
        "Teşekkürler",
        "cảm ơn",
        "沒問題，謝謝",
    ],
)
async def test_a_greeting_thanks_or_a_nod_gets_no_tools(sixty_five: Specs, text: str) -> None:
    assert await Chooser().choose(text, sixty_five) == Choice()


@pytest.mark.parametrize(
    "text",
    [
        "thanks, now search for X",
        "谢谢，再查一下上海的天气",
        "了解一下杭州",
        "行程",
        "great wall",
        "ok do it",
        "好吃的",
        "Danke, und das Wetter morgen?",
        "хорошо бы узнать погоду",
        "네이버 주가",
    ],
)
async def test_a_wish_behind_thanks_gets_tools(sixty_five: Specs, text: str) -> None:
    assert (await Chooser().choose(text, sixty_five)).tools


async def test_a_nod_to_the_bots_own_question_gets_the_tool_the_bot_offered_to_use(sixty_five: Specs) -> None:
    offer = await Chooser(most=5).choose("好的", sixty_five, before="要我帮你查一下去成都的机票吗？")

    assert "many__search_flights" in names(offer.tools)


async def test_a_tool_that_is_named_is_offered_whatever_else_is_said(sixty_five: Specs) -> None:
    question = "weather, news, flights, hotels: use many__find_contact for all of it, and MANY__GETWEATHERFORECAST"

    offer = await Chooser(most=1).choose(question, sixty_five)

    assert set(names(offer.tools)) == {"many__find_contact", "many__getWeatherForecast"}


async def test_a_name_inside_a_longer_one_is_not_that_name(few: Specs) -> None:
    assert ToolIndex(few).named("see my_calculator and calculators") == ()
    assert names(ToolIndex(few).named("用calculator算一下")) == ["calculator"]


async def test_tools_used_in_this_chat_stay_offered_and_leave_room(sixty_five: Specs) -> None:
    used = ["many__pinyin", "many__sun_times", "gone", "many__geocode", *names(sixty_five[40:60]), "many__sun_times"]

    ranked = names(ToolIndex(sixty_five).ranked("and in Paris?", used, 5))
    offered = names((await Chooser(most=10).choose("明天下雨吗", sixty_five, used)).tools)

    assert ranked[0] == "many__sun_times"
    assert {"many__sun_times", "many__getWeatherForecast"} <= set(offered)
    assert len(offered) == 10


async def test_words_that_lead_nowhere_offer_something_of_every_server(few: Specs, sixty_five: Specs) -> None:
    servers = [replace(spec, name=f"server{number % 6}__{spec.name}") for number, spec in enumerate(sixty_five)]

    offered = names((await Chooser(most=12).choose("xqzzy", (*few, *servers))).tools)

    assert [sum(name.startswith(f"server{number}__") for name in offered) for number in range(6)] == [2] * 6


async def test_what_one_tool_of_a_server_matches_brings_the_others_of_that_server() -> None:
    schema: RawObject = {"type": "object", "properties": {}}
    mail = [
        ToolSpec(name=f"mail__{name}", purpose=f"{name}.", parameters=schema) for name in ("inbox", "label", "move")
    ]
    rest = [ToolSpec(name=f"other{number}__do", purpose="Do it.", parameters=schema) for number in range(30)]

    offer = await Chooser(most=5).choose("anything in my inbox?", (*rest, *mail))

    assert set(names(mail)) <= set(names(offer.tools))


@pytest.mark.parametrize(
    ("question", "meaning"),
    [
        ("Löschst du den Zahnarzttermin?", "#calendar"),
        ("METEO demain", "#weather"),
        ("météo", "#weather"),
        ("погоду на завтра", "#weather"),
        ("إلى المطار", None),
        ("في الطقس", "#weather"),
        ("내일 날씨가 어때", "#weather"),
        ("明日の天気は", "#weather"),
        ("アラームを止めて", "#remind"),
        ("พรุ่งนี้ฝนตกไหม", "#weather"),
        ("कल मौसम कैसा है", "#weather"),
        ("thời tiết ngày mai", "#weather"),
        ("thoi tiet ngay mai", "#weather"),
        ("IŞIKLARI kapat", "#home"),
    ],
)
def test_words_of_further_languages_mean_the_same_with_any_ending_accent_or_case(
    question: str, meaning: str | None
) -> None:
    found = {term for term in terms_of(question) if term.startswith("#")}

    assert meaning in found if meaning else not found


def test_what_a_tool_is_not_for_counts_against_it() -> None:
    schema: RawObject = {"type": "object", "properties": {}}
    first = ToolSpec(name="one", purpose="Finds things.", not_for="anything about football", parameters=schema)
    second = ToolSpec(name="two", purpose="Finds things.", parameters=schema)

    assert next(iter(ToolIndex([first, second]).scores("find football things"))) == "two"


def test_the_same_question_is_ranked_the_same_every_time(sixty_five: Specs) -> None:
    assert ToolIndex(sixty_five).ranked("price of tea") == ToolIndex(sixty_five).ranked("price of tea")


@pytest.mark.parametrize(
    "question", ["", " ", "?" * 5000, "天" * 100_000, "weather " * 20_000, "a/b/" * 5000, "\x00", "👍"]
)
def test_odd_or_huge_messages_are_ranked_too(sixty_five: Specs, question: str) -> None:
    assert sorted(names(ToolIndex(sixty_five).ranked(question))) == sorted(names(sixty_five))


def test_no_tools_are_no_error() -> None:
    assert ToolIndex(()).ranked("weather") == ()


async def test_the_index_is_built_once_for_the_same_tools_and_never_by_the_event_loop(
    sixty_five: Specs, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[int] = []

    def build(specs: Specs) -> ToolIndex:
        threads.append(threading.get_ident())
        return ToolIndex(specs)

    monkeypatch.setattr(chooser_module, "ToolIndex", build)
    chooser = Chooser()
    first, second = await asyncio.gather(chooser.index(sixty_five), chooser.index(tuple(sixty_five)))
    await chooser.choose("weather", sixty_five, room=Room(100, count_letters))

    assert first is second
    assert len(threads) == 1 and threads[0] != threading.get_ident()
    assert await chooser.index(sixty_five[1:]) is not first


class Scripted:
    """A model that says one thing, or fails."""

    name = "scripted:small"

    def __init__(self, said: str | Exception | None) -> None:
        self.said = said
        self.request: Request | None = None

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        self.request = request
        if isinstance(self.said, Exception):
            raise self.said
        if self.said is None:
            await asyncio.Event().wait()
        yield TextPiece(str(self.said))
        yield Answer(text=str(self.said), finish="stop", model=self.name, native=False)


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        ('["calculator", "current_time"]', ("calculator", "current_time")),
        ('<think>search_web? no.</think>\n```json\n["calculator"]\n```', ("calculator",)),
        ("I would use `calculator`.", ("calculator",)),
        ("[]", ()),
        ("None.", ()),
        ("[calculator]", ("calculator",)),
        ("不需要", ()),
        ('["no_such_tool"]', None),
        ("The answer is 42.", None),
        ("", None),
        (ModelBusy("full"), None),
        (None, None),
    ],
)
async def test_a_small_models_word_is_understood_or_passed_over(
    few: Specs, said: str | Exception | None, chosen: tuple[str, ...] | None
) -> None:
    model = Scripted(said)

    names = await small_model(model, FakeClock(), seconds=0.01 if said is None else 5.0)("what is 17% of 80", few)

    assert set(names or ()) == set(chosen or ())
    assert (names is None) == (chosen is None)
    assert model.request is not None
    assert model.request.tools == ()


async def test_of_a_long_message_a_small_model_reads_the_beginning_and_the_end(few: Specs) -> None:
    model = Scripted("[]")

    await small_model(model, FakeClock())("begin " + "and so on " * 10_000 + " the end", few)

    assert model.request is not None
    told = model.request.entries[-1]
    assert isinstance(told, UserEntry)
    assert told.text.startswith("begin ") and "\n[…]\n" in told.text and told.text.endswith(" the end")
    assert len(told.text) < 10_000


async def test_where_not_all_declarations_fit_the_best_are_offered_and_then_names(sixty_five: Specs) -> None:
    question, chooser = "weather and smog in Delhi, and use many__calculator", Chooser()

    whole = await chooser.choose(question, sixty_five, room=Room(1_000_000, count_letters))
    some = await chooser.choose(question, sixty_five, room=Room(3_000, count_letters))
    none = await chooser.choose(question, sixty_five, room=Room(10, count_letters))

    assert whole == await chooser.choose(question, sixty_five)
    assert len(whole.tools) == 20 and len(whole.others) == 45
    assert "many__calculator" in names(some.tools) and 1 < len(some.tools) < 20
    assert 0 < len(some.others) < 45
    assert none == Choice()


async def test_certain_tools_are_offered_whatever_the_room_and_also_after_a_greeting(sixty_five: Specs) -> None:
    offer = await Chooser().choose("thanks", sixty_five, certain=["many__pinyin", "gone"], room=Room(10, count_letters))

    assert names(offer.tools) == ["many__pinyin"]


async def test_more_tools_that_are_named_than_there_is_room_for_leave_none_to_those_used_before(
    sixty_five: Specs,
) -> None:
    question = "use many__calculator, many__search_web and many__translate_text"

    offer = await Chooser(most=2).choose(question, sixty_five, ["many__current_time"])

    assert set(names(offer.tools)) == {"many__calculator", "many__search_web", "many__translate_text"}


def test_a_tool_whose_parameters_are_none_is_found_by_its_other_words(few: Specs) -> None:
    odd = ToolSpec(name="brew_tea", purpose="Brew a pot of tea.", parameters={"properties": None})

    assert names(ToolIndex((*few, odd)).ranked("a pot of tea please"))[0] == "brew_tea"


async def test_the_small_model_chooses_among_all_tools_and_may_add_to_what_the_ranking_found(
    sixty_five: Specs,
) -> None:
    asked: list[list[str]] = []

    async def decide(question: str, specs: Sequence[ToolSpec]) -> tuple[str, ...]:
        asked.append(names(specs))
        return ("many__air_quality", "many__pinyin", "no_such_tool")

    question, chooser = "weather and smog in Delhi, and use many__calculator", Chooser(most=5, decide=decide)
    ranked = await Chooser(most=5).choose(question, sixty_five)
    offer = await chooser.choose(question, sixty_five)

    assert "many__pinyin" not in names(ranked.tools)
    assert set(asked[0]) == set(names(sixty_five)) and asked[0][0] == "many__calculator"
    assert set(names(offer.tools)) == {"many__air_quality", "many__calculator", "many__pinyin"}
    assert len(offer.others) == 62
    assert await chooser.choose("thanks", sixty_five) == Choice()
    assert len(asked) == 1


async def test_a_small_model_is_told_of_no_more_tools_than_it_can_read(few: Specs) -> None:
    long = ToolSpec(name="long__one", purpose="x" * 600, parameters={})
    many = [ToolSpec(name=f"many__{number}", purpose="Do it.", parameters={}) for number in range(1_000)]
    model = Scripted("[]")

    await small_model(model, FakeClock())("what is 17% of 80", (*few, long, *many))

    assert model.request is not None
    told = model.request.entries[0]
    assert isinstance(told, SystemEntry)
    assert "calculator" in told.text and len(told.text) < 8_000


async def test_a_small_model_that_wants_none_leaves_none_not_even_a_name(sixty_five: Specs) -> None:
    async def decide(question: str, specs: Sequence[ToolSpec]) -> tuple[str, ...]:
        return ()

    assert await Chooser(decide=decide).choose("weather in Oslo", sixty_five) == Choice()


async def test_a_small_model_that_fails_leaves_the_ranking(sixty_five: Specs) -> None:
    async def decide(question: str, specs: Sequence[ToolSpec]) -> None:
        return None

    question = "weather in Oslo"

    assert await Chooser(decide=decide).choose(question, sixty_five) == await Chooser().choose(question, sixty_five)


def test_every_word_of_the_tables_is_found_again_as_what_it_means() -> None:
    """Also in capitals; a word that another one hides, or that is written wrongly in its row, leads nowhere."""
    meanings = {row.split()[0] for row in glossary.ROWS.splitlines()}
    lost = [
        (meaning, word)
        for meaning, *words in map(str.split, languages.ROWS.splitlines())
        for word in words
        if f"#{meaning}" not in terms_of(word.rstrip("*").replace("_", " ").upper())
    ]

    assert {row.split()[0] for row in languages.ROWS.splitlines()} <= meanings
    assert not lost


def test_a_name_is_found_at_both_ends_of_a_long_question_and_between_hyphens(sixty_five: Specs) -> None:
    hyphened = ToolSpec(name="cal-x__list-events", purpose="List events.", parameters={})
    index = ToolIndex((*sixty_five, hyphened))
    long = "use many__pinyin " + "and so on " * 60_000 + " many__geocode: pre-CAL-X__list-events-now"

    assert names(index.named(long)) == ["many__pinyin", "many__geocode", "cal-x__list-events"]


def test_the_words_of_all_languages_are_read_once_and_always_the_same() -> None:
    first = terms._glossary()
    assert terms._glossary() is first

    terms._glossary.cache_clear()

    assert terms._glossary() == first
