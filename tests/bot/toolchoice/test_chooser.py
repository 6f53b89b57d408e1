"""The right tool is offered at the price of a few, in English and in Chinese."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence

import pytest

from bot.contract.errors import ModelBusy
from bot.contract.transcript import UserEntry
from bot.model import protocol
from bot.model.base import Answer, Piece, Request, TextPiece
from bot.toolchoice.chooser import Chooser, small_model
from bot.toolchoice.index import LEAST, ToolIndex
from tests.conftest import FakeClock, RawObject
from tools.base import ToolSpec

Specs = tuple[ToolSpec, ...]


def names(specs: Sequence[ToolSpec]) -> list[str]:
    return [spec.name for spec in specs]


def schemas(specs: Sequence[ToolSpec]) -> int:
    """Characters that native calls cost for these tools."""
    return sum(
        len(json.dumps([spec.name, spec.description, spec.parameters], ensure_ascii=False, default=dict))
        for spec in specs
    )


async def test_of_65_tools_the_right_one_is_offered_and_the_prompt_stays_under_a_quarter(
    sixty_five: Specs, labelled: list[tuple[str, str]]
) -> None:
    chooser = Chooser()
    whole, native = len(protocol.tool_protocol(sixty_five)), schemas(sixty_five)
    missed: dict[bool, list[str]] = {True: [], False: []}
    shares: list[float] = []
    for number, (question, tool) in enumerate(labelled):
        offered = await chooser.offered(question, sixty_five)
        if tool not in names(offered):
            missed[number % 3 == 2].append(question)
        shares += [len(protocol.tool_protocol(offered)) / whole, schemas(offered) / native]
    held_out = len(labelled) // 3
    all_missed = len(missed[True]) + len(missed[False])
    print(
        f"\n{len(labelled)} questions: {1 - all_missed / len(labelled):.1%} offered the right tool "
        f"(held out: {1 - len(missed[True]) / held_out:.1%} of {held_out}); "
        f"share of the full listing: mean {sum(shares) / len(shares):.1%}, most {max(shares):.1%}"
    )

    assert len(sixty_five) == 65
    assert len(labelled) >= 100
    assert all_missed <= 0.05 * len(labelled), missed
    assert len(missed[True]) <= 0.05 * held_out
    assert max(shares) < 0.25


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
    assert tool in names(ToolIndex(sixty_five).best(question, 3))


async def test_up_to_twenty_tools_are_all_offered_in_their_order(sixty_five: Specs) -> None:
    offered = await Chooser().offered("draw me a cat", sixty_five[:20])

    assert offered == sixty_five[:20]


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
        "沒問題，謝謝",
    ],
)
async def test_a_greeting_thanks_or_a_nod_gets_no_tools(sixty_five: Specs, text: str) -> None:
    assert await Chooser().offered(text, sixty_five) == ()


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
    ],
)
async def test_a_wish_behind_thanks_gets_tools(sixty_five: Specs, text: str) -> None:
    assert await Chooser().offered(text, sixty_five)


async def test_a_nod_to_the_bots_own_question_gets_the_tool_the_bot_offered_to_use(sixty_five: Specs) -> None:
    offered = await Chooser().offered("好的", sixty_five, before="要我帮你查一下去成都的机票吗？")

    assert "search_flights" in names(offered)


async def test_a_tool_that_is_named_is_offered_whatever_else_is_said(sixty_five: Specs) -> None:
    question = "weather, news, flights, hotels: use find_contact for all of it, and GETWEATHERFORECAST"

    assert names(await Chooser(most=1).offered(question, sixty_five)) == ["find_contact", "getWeatherForecast"]


async def test_a_name_inside_a_longer_one_is_not_that_name(few: Specs) -> None:
    assert ToolIndex(few).named("see my_calculator and calculators") == ()
    assert names(ToolIndex(few).named("用calculator算一下")) == ["calculator"]


async def test_tools_used_in_this_chat_stay_offered_the_latest_first_and_leave_room(sixty_five: Specs) -> None:
    used = ["pinyin", "sun_times", "gone", "geocode", *names(sixty_five[40:60]), "sun_times"]

    offered = names(await Chooser().offered("and in Paris?", sixty_five, used))
    weather = names(await Chooser().offered("明天下雨吗", sixty_five, used))

    assert offered[0] == "sun_times"
    assert "getWeatherForecast" in weather
    assert len(weather) == 10


async def test_words_that_lead_nowhere_still_offer_the_first_tools(sixty_five: Specs) -> None:
    assert names(await Chooser().offered("xqzzy", sixty_five)) == names(sixty_five[:LEAST])


def test_what_a_tool_is_not_for_counts_against_it() -> None:
    schema: RawObject = {"type": "object", "properties": {}}
    first = ToolSpec(name="one", purpose="Finds things.", not_for="anything about football", parameters=schema)
    second = ToolSpec(name="two", purpose="Finds things.", parameters=schema)

    assert next(iter(ToolIndex([first, second]).scores("find football things"))) == "two"


def test_the_same_question_is_ranked_the_same_every_time(sixty_five: Specs) -> None:
    assert ToolIndex(sixty_five).best("price of tea", 10) == ToolIndex(sixty_five).best("price of tea", 10)


@pytest.mark.parametrize(
    "question", ["", " ", "?" * 5000, "天" * 100_000, "weather " * 20_000, "a/b/" * 5000, "\x00", "👍"]
)
def test_odd_or_huge_messages_are_ranked_too(sixty_five: Specs, question: str) -> None:
    assert len(ToolIndex(sixty_five).best(question, 10)) >= LEAST


def test_no_tools_are_no_error() -> None:
    assert ToolIndex(()).best("weather", 10) == ()


def test_the_index_is_built_once_for_the_same_tools(sixty_five: Specs) -> None:
    chooser = Chooser()
    index = chooser.index(sixty_five)

    assert chooser.index(tuple(sixty_five)) is index
    assert chooser.index(sixty_five[1:]) is not index


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


def test_where_not_all_declarations_fit_the_best_ones_are_offered(sixty_five: Specs) -> None:
    question = "weather and smog in Delhi, and use calculator"

    whole = Chooser.fitting(question, sixty_five, (), 1_000_000, len)
    some = Chooser.fitting(question, sixty_five, (), 3_000, len)
    none = Chooser.fitting(question, sixty_five, (), 10, len)

    assert (whole, none) == (sixty_five, ())
    assert names(some)[0] == "calculator" and 1 < len(some) < 20


def test_more_tools_that_are_named_than_there_is_room_for_leave_none_to_those_used_before(sixty_five: Specs) -> None:
    found = ToolIndex(sixty_five).best("use calculator, search_web and translate_text", 2, ["current_time"])

    assert set(names(found)) == {"calculator", "search_web", "translate_text"}


def test_a_tool_whose_parameters_are_none_is_found_by_its_other_words(few: Specs) -> None:
    odd = ToolSpec(name="brew_tea", purpose="Brew a pot of tea.", parameters={"properties": None})

    assert names(ToolIndex((*few, odd)).best("a pot of tea please", 1)) == ["brew_tea"]


async def test_the_small_model_is_asked_only_about_what_the_ranking_left(sixty_five: Specs) -> None:
    asked: list[list[str]] = []

    async def decide(question: str, specs: Sequence[ToolSpec]) -> tuple[str, ...]:
        asked.append(names(specs))
        return ("air_quality", "no_such_tool")

    chooser = Chooser(decide=decide)
    offered = await chooser.offered("weather and smog in Delhi, and use calculator", sixty_five)

    assert len(asked[0]) == 10
    assert set(names(offered)) == {"air_quality", "calculator"}
    assert await chooser.offered("thanks", sixty_five) == ()
    assert len(asked) == 1


async def test_a_small_model_that_fails_leaves_the_ranking(sixty_five: Specs) -> None:
    async def decide(question: str, specs: Sequence[ToolSpec]) -> None:
        return None

    question = "weather in Oslo"

    assert await Chooser(decide=decide).offered(question, sixty_five) == await Chooser().offered(question, sixty_five)
