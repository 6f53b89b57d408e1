"""What is set aside for a call follows from what its model's answers take, and grows with the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.contract.errors import StoreError, Unaffordable
from bot.contract.messages import ChatId, MessageSent, ReplyTarget, Sender
from bot.contract.transcript import Picture, Usage, UserEntry
from bot.model.base import Answer, AskedAgain, CallPiece, Piece, ReasoningPiece, Request, TextPiece
from bot.policy.answersizes import MOST_AHEAD, AnswerSize, PromptSize
from bot.policy.budgets import ANSWER_TOKENS, DAY, WISHED_TOKENS, Payer
from bot.policy.metering import MeteredModel
from bot.policy.prices import Prices, read_prices
from bot.policy.quotas import CROWD, LOOK_SECONDS, Quotas, charge
from bot.settings import QuotaSettings
from bot.store import Amount, Limit, Reserved, Store, TurnState
from tests.bot.policy.conftest import ADA, PROMPT, RESERVED, WISHED, Make, Scripted, answer, ask, spent
from tests.conftest import FakeClock
from tests.letters import count_letters
from tests.patience import PATIENCE
from tools.contract.base import ToolCall

PIECE = "w" * 20
"""Of an answer: 20 tokens."""


def people(many: int) -> list[Payer]:
    return [Payer(f"telegram:{number}", ChatId("telegram", "42", str(number))) for number in range(many)]


class Telling(Scripted):
    """Writes so many tokens in sight, and stops where it is told to; counts what it really wrote."""

    def __init__(self, tokens: int, *, hidden: int = 0) -> None:
        super().__init__()
        self.tokens, self.hidden, self.written = tokens, hidden, 0
        self.go = asyncio.Event()
        self.go.set()

    async def stream(self, request: Request, *, longest_wait: float = 0.0) -> AsyncGenerator[Piece, None]:
        self.asked += 1
        self.allowed.append(request.max_tokens)
        await self.go.wait()
        hidden = min(self.hidden, request.max_tokens)
        said, most = 0, min(self.tokens, request.max_tokens - hidden)
        self.written += PROMPT + hidden
        while said < most:
            said += len(PIECE)
            self.written += len(PIECE)
            await asyncio.sleep(0)
            yield TextPiece(PIECE)
        finish = "length" if self.tokens > most else "stop"
        used = Usage(PROMPT, said + hidden)
        yield Answer(text="x", finish=finish, usage=used, model=self.name, native=True)


async def test_a_hundred_at_once_hold_what_answers_take_and_none_waits(store: Store, make: Make) -> None:
    """Of 50,000 tokens: less than two answers may come to at most, more than twice what a hundred really take."""
    quotas, model = make(tokens_per_day=50_000), Telling(100)
    await ask(quotas, model)
    model.go.clear()

    asking = [asyncio.create_task(ask(quotas, model, payer)) for payer in people(100)]
    while model.asked < 101:
        await asyncio.sleep(0)

    assert 100 * (PROMPT + 100) < await spent(store, "*") < 50_000
    model.go.set()
    assert all(isinstance(pieces[-1], Answer) for pieces in await asyncio.gather(*asking))
    assert await spent(store, "*") == 101 * (PROMPT + 100)


async def test_the_first_hundred_of_a_new_database_are_all_asked_at_once(store: Store, clock: FakeClock) -> None:
    """With the quotas of the settings, the prompt of many tools, and a model of which nothing is known."""
    most, model = QuotaSettings.model_construct(), Telling(30_000)
    quotas = Quotas(spending=store.spending, clock=clock, settings=most)
    long = Request(entries=(UserEntry("w" * 3_400),))
    model.go.clear()

    async def ask_long(payer: Payer) -> None:
        with charge(payer):
            assert [piece async for piece in MeteredModel(model, quotas, count_letters).stream(long)]

    asking = [asyncio.create_task(ask_long(payer)) for payer in people(100)]
    async with asyncio.timeout(PATIENCE):
        while model.asked < 100:  # none waits for what others give back
            await asyncio.sleep(0)
    model.go.set()
    await asyncio.gather(*asking)
    assert min(model.allowed) >= WISHED_TOKENS
    assert await spent(store, "*") <= most.tokens_per_day


LONG = Request(entries=(UserEntry("w" * 3_394),))
"""A prompt of 3,400 tokens."""


class Counting(Telling):
    """Its server counts so many tokens for each one that we estimate in a prompt."""

    def __init__(self, tokens: int, *ratios: float) -> None:
        super().__init__(tokens)
        self.ratios = ratios

    async def stream(self, request: Request, *, longest_wait: float = 0.0) -> AsyncGenerator[Piece, None]:
        prompt = int(3_400 * self.ratios[self.asked % len(self.ratios)])
        self.written += prompt - PROMPT
        async for piece in super().stream(request):
            yield replace(piece, usage=replace(piece.usage, prompt=prompt)) if isinstance(piece, Answer) else piece


async def ask_long(quotas: Quotas, model: Scripted, payer: Payer = ADA) -> list[Piece]:
    with charge(payer):
        return [piece async for piece in MeteredModel(model, quotas, count_letters).stream(LONG)]


async def test_on_a_days_last_quarter_everybody_who_fits_is_asked_at_once_and_answered(
    store: Store, make: Make
) -> None:
    """A hundred prompts of 3,400 tokens, estimated well, and their answers come to 350,000 of 400,000."""
    quotas, model = make(tokens_per_day=400_000 + 8 * 3_500), Counting(100, 1.0)
    for _ in range(8):
        await ask_long(quotas, model)
    model.go.clear()

    asking = [asyncio.create_task(ask_long(quotas, model, payer)) for payer in people(100)]
    async with asyncio.timeout(PATIENCE):
        while model.asked < 108:
            await asyncio.sleep(0)
    model.go.set()

    ends = [pieces[-1] for pieces in await asyncio.gather(*asking)]
    assert all(isinstance(end, Answer) and end.finish == "stop" for end in ends)


@pytest.mark.parametrize("ratios", [(1.6,), (0.8, 1.0, 1.2)], ids=["always more", "now more, now less"])
async def test_two_hundred_whose_prompts_the_server_counts_otherwise_come_to_no_more_than_there_is(
    store: Store, make: Make, ratios: tuple[float, ...]
) -> None:
    quotas, model = make(tokens_per_day=600_000), Counting(100, *ratios)
    for _ in ratios:
        await ask_long(quotas, model)

    await asyncio.gather(*(ask_long(quotas, model, payer) for payer in people(200)), return_exceptions=True)

    assert 560_000 < model.written <= 600_000
    assert model.written <= await spent(store, "*") <= 600_000


async def take_all(store: Store, most: int) -> None:
    reserved = await store.spending.reserve([Limit("*", DAY, Amount(most))], Amount(10), Amount(most))
    assert isinstance(reserved, Reserved)


async def test_what_calls_that_end_meanwhile_teach_leaves_a_running_answer_more_room(store: Store, make: Make) -> None:
    """Of a prompt of 3,400 tokens 12 % more are set aside after one answer, and 5 % after five."""
    quotas, text = make(tokens_per_day=100_000), TextPiece("w" * 100)
    await ask_long(quotas, Scripted(text, answer(3_400, 100)))

    async def others() -> None:
        for _ in range(4):
            await ask_long(quotas, Scripted(text, answer(3_400, 100)))
        await take_all(store, 100_000)

    pieces = await ask_long(quotas, Scripted(others, *[text] * 4, answer(3_400, 400)))

    assert isinstance(pieces[-1], Answer) and pieces[-1].finish == "stop"


async def test_an_answer_ends_whose_prompt_turns_out_to_have_taken_its_room(store: Store, make: Make) -> None:
    quotas, text = make(tokens_per_day=100_000), TextPiece("w" * 100)
    await ask_long(quotas, Scripted(text, answer(3_400, 100)))

    async def other() -> None:
        await ask_long(quotas, Scripted(text, answer(5_000, 100)))
        await take_all(store, 100_000)

    pieces = await ask_long(quotas, Scripted(other, text, text, answer(5_000, 200)))

    end = pieces[-1]
    assert isinstance(end, Answer) and (end.finish, end.text, end.usage.completion) == ("length", "w" * 100, 100)


def test_the_margin_of_prompts_follows_the_error_of_their_estimates() -> None:
    prompts = PromptSize()
    assert prompts.most(1_000) == 1_250, "nothing is known"
    prompts.learn(1_000, 1_000)
    assert prompts.most(1_000) == 1_125
    for _ in range(40):
        prompts.learn(1_000, 900)
    assert prompts.most(1_000) == 1_050, "a server that counts less may count more next time"
    assert prompts.most(3_000) == 1_050 + 2_500, "of long prompts nothing is known yet"
    assert prompts.most(1_000, pictures=1_000) == 1_050 + 1_250
    prompts.learn(1_000, 1_300)
    assert prompts.most(1_000) == 1_350
    assert prompts.most(3_000) == 3 * 1_350
    for _ in range(32):
        prompts.learn(1_000, 1_000)
    assert prompts.most(1_000) == 1_050
    prompts.learn(30, 40)
    prompts.learn(100, 1_000)
    assert prompts.most(1_000) == 2_050


async def test_a_prompt_with_pictures_teaches_nothing_about_words(make: Make) -> None:
    quotas, picture = make(), Picture(1, "image/png", b"cat")
    shown = Request(entries=(UserEntry("w" * 94, pictures=(picture,)),))
    with charge(ADA):
        assert [piece async for piece in MeteredModel(Scripted(answer(5_000, 5)), quotas, count_letters).stream(shown)]

    assert (await quotas.size_of(Scripted.name)).prompt.most(1_000) == 1_250


async def test_the_first_answer_alone_may_take_what_a_model_that_thinks_needs_of_a_small_quota(make: Make) -> None:
    quotas, model = make(tokens_per_day=20_000), Telling(100)

    await ask(quotas, model)

    assert model.allowed == [WISHED_TOKENS + (20_000 - WISHED_TOKENS - RESERVED) // (CROWD + 1)]


@pytest.mark.parametrize("limits", [{"tokens_per_day": 30_000}, {"money_per_day": 0.03}])
async def test_an_answer_longer_than_usual_is_whole_where_there_is_enough(
    store: Store, make: Make, limits: dict[str, float]
) -> None:
    quotas = make(Prices(read_prices([f"{Scripted.name}=1/1/1"])), **limits)
    await ask(quotas, Telling(100))

    pieces = await ask(quotas, Telling(20_000))

    assert isinstance(pieces[-1], Answer) and pieces[-1].finish == "stop"
    assert await spent(store, "*") == 2 * PROMPT + 100 + 20_000


async def test_usual_answers_are_whole_where_nothing_more_can_be_set_aside(store: Store, make: Make) -> None:
    """However much of each comes at once, as on a busy machine."""
    quotas, text = make(tokens_per_day=10_000), TextPiece("w" * 150)
    for _ in range(3):
        await ask(quotas, Scripted(text, text, answer(PROMPT, 300)))
    everything = asyncio.Event()

    async def others_take_all() -> None:
        everybody = [Limit("*", DAY, Amount(10_000))]
        assert isinstance(await store.spending.reserve(everybody, Amount(10), Amount(10_000)), Reserved)
        everything.set()

    pieces = await ask(quotas, Scripted(others_take_all, text, text, answer(PROMPT, 300)))

    assert everything.is_set() and isinstance(pieces[-1], Answer) and pieces[-1].finish == "stop"


async def test_an_answer_ends_at_the_limit_where_there_is_no_more(store: Store, make: Make) -> None:
    """What was written stands, and it can be asked to go on."""
    quotas = make(tokens_per_day=6_000)
    await ask(quotas, Telling(100))
    [other, model] = Telling(100), Telling(20_000)
    other.go.clear()
    beside = asyncio.create_task(ask(quotas, other))  # so that the server is told no exact limit
    while not other.asked:
        await asyncio.sleep(0)

    pieces = await ask(quotas, model)

    end = pieces[-1]
    assert isinstance(end, Answer) and end.finish == "length"
    assert end.text == "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    assert 4_000 < model.written <= 6_000 - await spent(store, "*") + end.usage.completion + PROMPT
    other.go.set()
    await beside
    assert await spent(store, "*") <= 6_000


@pytest.mark.parametrize("limits", [{"tokens_per_day": 100_000}, {"money_per_day": 0.1}])
async def test_two_hundred_long_answers_at_once_come_to_no_more_than_there_is(
    store: Store, make: Make, limits: dict[str, float]
) -> None:
    quotas = make(Prices(read_prices([f"{Scripted.name}=1/1/1"])), **limits)
    model = Telling(100)
    await ask(quotas, model)
    model.tokens = 3_000

    outcomes = await asyncio.gather(*(ask(quotas, model, payer) for payer in people(200)), return_exceptions=True)

    assert all(isinstance(outcome, list | Unaffordable) for outcome in outcomes)
    assert 80_000 < model.written <= 100_000
    assert model.written <= await spent(store, "*") <= 100_000


async def test_of_a_model_that_hides_what_it_writes_all_is_set_aside_first(store: Store, make: Make) -> None:
    quotas, model = make(tokens_per_day=20_000), Telling(100, hidden=2_000)
    await ask(quotas, model)
    model.tokens = 50_000

    await asyncio.gather(*(ask(quotas, model, payer) for payer in people(30)), return_exceptions=True)

    assert model.written <= 20_000
    assert max(model.allowed[1:]) < 20_000 and min(model.allowed) >= ANSWER_TOKENS


async def test_a_call_alone_is_allowed_no_more_than_there_is(make: Make) -> None:
    quotas, model = make(tokens_per_day_person=5_000), Telling(100)
    await ask(quotas, model)
    await ask(quotas, model)

    assert model.allowed[1] == 5_000 - int(PROMPT * 1.125) - PROMPT - 100


async def test_a_new_process_knows_what_answers_took(store: Store, make: Make) -> None:
    for number, (seen, tokens) in enumerate((("wort " * 90, 100), ("wort " * 110, 120)), 1):
        chat = ChatId("telegram", "42", str(number))
        sender, target = Sender(id="telegram:7", name="Ada"), ReplyTarget("telegram", {})
        asked = MessageSent(delivery=f"d{number}", chat=chat, sender=sender, target=target, text="Tell me.")
        turn = await store.intake.take_in(asked)
        assert turn is not None
        await store.turns.begin(turn, chat, "telegram:7")
        used = Usage(1_000, tokens)
        await store.turns.close(turn, TurnState.DONE, (), visible=seen, reasoning="", model=Scripted.name, usage=used)

    size = await make().size_of(Scripted.name)

    assert size.grows and 200 <= size.wanted(WISHED)[1] <= 400
    assert not (await make().size_of("openai:other")).grows, "of which nothing is known"


async def test_what_a_second_request_reads_is_counted(store: Store, make: Make) -> None:
    """An empty answer is asked for once more within the same call, and its prompt is read twice."""
    quotas = make(tokens_per_day=5_000)
    await ask(quotas, Telling(100))
    everybody = [Limit("*", DAY, Amount(5_000))]
    assert isinstance(await store.spending.reserve(everybody, Amount(4_340)), Reserved)
    asked_again = Scripted(AskedAgain(), TextPiece("w" * 260), answer(2 * PROMPT, 260))

    pieces = await ask(quotas, asked_again)

    assert isinstance(pieces[-1], Answer) and pieces[-1].finish == "length", "there is not enough for both"
    assert pieces[-1].text == "w" * 260


async def test_what_a_second_request_reads_is_set_aside_however_much_longer_it_is_than_answers_are(make: Make) -> None:
    quotas = make(tokens_per_day=50_000)
    await ask(quotas, Telling(100))
    long = Request(entries=(UserEntry("w" * 9_000),))
    asked_again = Scripted(AskedAgain(), TextPiece("w" * 260), answer(18_000, 260))

    with charge(ADA):
        pieces = [piece async for piece in MeteredModel(asked_again, quotas, count_letters).stream(long)]

    assert isinstance(pieces[-1], Answer) and pieces[-1].finish == "stop"


async def test_calls_of_an_answer_that_ends_early_are_kept(make: Make) -> None:
    quotas = make(tokens_per_day=2_000)
    await ask(quotas, Telling(100))
    call = ToolCall("c1", "search_web", {"query": "solar"})

    pieces = await ask(quotas, Scripted(ReasoningPiece("so"), CallPiece(call), TextPiece("w" * 3_000)))

    assert isinstance(pieces[-1], Answer)
    assert (pieces[-1].calls, pieces[-1].reasoning, pieces[-1].finish) == ((call,), "so", "length")


async def test_an_answer_stopped_while_more_is_set_aside_leaves_nothing_there(store: Store, make: Make) -> None:
    quotas = make(tokens_per_day=100_000)
    await ask(quotas, Telling(100))
    model = Telling(20_000)
    running = asyncio.create_task(ask(quotas, model))
    while model.written < 3_000:
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await quotas.close()

    assert PROMPT + 100 < await spent(store, "*") <= PROMPT + 100 + model.written + len(PIECE)
    assert await store.spending.list_workers() == set()


async def test_a_store_that_fails_while_an_answer_grows_does_not_cut_it(
    store: Store, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise StoreError("the disk is full")

    quotas = make(tokens_per_day=100_000)
    await ask(quotas, Telling(100))
    with monkeypatch.context() as patched:
        patched.setattr(store.spending, "extend", broken)
        pieces = await ask(quotas, Telling(2_000))

    assert isinstance(pieces[-1], Answer) and pieces[-1].finish == "stop"
    assert await spent(store, "*") == 2 * PROMPT + 100 + 2_000


async def test_what_another_process_gives_back_goes_to_an_answer_that_grows(
    tmp_path: Path, store: Store, make: Make, clock: FakeClock
) -> None:
    quotas = make(tokens_per_day=10_000)
    await ask(quotas, Telling(100))
    async with Store.open(f"sqlite:///{tmp_path}/parley.db", clock=clock, worker="elsewhere") as other:
        everybody = [Limit("*", DAY, Amount(10_000))]
        held = await other.spending.reserve(everybody, Amount(8_900))
        assert isinstance(held, Reserved)
        began = asyncio.Event()

        async def give_back() -> None:
            began.set()
            await other.spending.settle((held, Amount()))
            clock.started += LOOK_SECONDS

        text = TextPiece("w" * 200)
        pieces = await ask(quotas, Scripted(text, text, text, give_back, *[text] * 9, answer(PROMPT, 2_400)))

    assert began.is_set() and isinstance(pieces[-1], Answer) and pieces[-1].usage.completion == 2_400


async def test_sizes_follow_what_answers_take() -> None:
    size = AnswerSize()
    assert size.wanted(WISHED) == (ANSWER_TOKENS, WISHED)
    for _ in range(50):
        size.learn(500, 500, 20)
    least, usual = size.wanted(WISHED)
    assert (least, size.ahead) == (usual, 64) and 600 <= usual < 650
    for _ in range(50):
        size.learn(5_000, 5_000, 20)
    assert size.wanted(WISHED)[0] == ANSWER_TOKENS and 5_100 <= size.wanted(WISHED)[1] < 6_000
    size.learn(5_000, 4_000, 20)
    assert size.factor == 1.25 and size.grows, "servers count otherwise than we do"
    size.learn(5_000, 5_000, MOST_AHEAD)
    assert not size.grows, "it came at once"
    for _ in range(3):
        size.learn(5_000, 5_000, 20)
    assert size.grows
