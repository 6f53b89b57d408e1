"""Habits of models that were made for other screens: marks for sources of their makers' pages, blocks within blocks."""

from __future__ import annotations

import json
import re

from playground.model import Reply
from tests.bot.markdown.test_nesting import README
from tests.bot.safety.test_citations import MARKS
from tests.conftest import RawObject
from tests.journeys.conftest import Start, World
from tests.journeys.test_enclosures import PLATFORMS, Place
from tests.journeys.test_stream_shapes import data, event


async def test_no_mark_of_any_model_is_seen_while_an_answer_is_written(world: World, start: Start) -> None:
    said = "\n\n".join(f"{model}: {text} And so on." for model, (text, _) in MARKS.items() if "unfinished" not in model)
    pieces = tuple({"content": said[at : at + 3]} for at in range(0, len(said), 3))
    world.model.script = lambda body: Reply(chunks=pieces, words_per_second=4_000)
    async with start(*PLATFORMS):
        places = [Place(world, platform) for platform in PLATFORMS]
        for place in places:
            place.send("Does it rain?")
        for place in places:
            await place.until("Claude: It rains, it snows And so on.")

    signs = (
        "\ue200",
        "\ue202",
        "turn0",
        "oaicite",
        "†",
        "citation",
        "[^",
        "cite_",
        "[cite",
        "grok",
        "<cite",
        "&lt;cite",
    )
    for place in places:
        messages = getattr(world, place.platform).screen.of(place.id)
        seen = [version.text for message in messages for version in message.versions]
        assert seen and not [text for text in seen for sign in signs if sign in text]


async def test_a_readme_with_code_in_an_answer_is_one_block(world: World, start: Start) -> None:
    """Models open the block of the README and those within with the same three backticks."""
    pieces = tuple({"content": README[at : at + 5]} for at in range(0, len(README), 5))
    world.model.script = lambda body: Reply(chunks=pieces, words_per_second=4_000)
    async with start(*PLATFORMS):
        places = [Place(world, platform) for platform in PLATFORMS]
        for place in places:
            place.send("Write a README")
        for place in places:
            await place.until("Enjoy it.")

    for place in places:
        [message] = getattr(world, place.platform).screen.of(place.id)
        shown = message.versions[-1].html
        assert re.search(r"Enjoy <(b|strong)>it</", shown) and shown.count("<pre") == 1


async def test_sources_beside_an_answer_that_its_text_cites_are_listed_under_it(world: World, start: Start) -> None:
    """As a server with a web search of its own sends them: Perplexity with every event."""
    beside = {"search_results": [{"title": "Leaves of tea", "url": "https://tea.example/leaf"}, {"url": "x"}]}
    events = [
        json.loads(one) | beside for one in (event(content="Tea is a le"), event(content="af[1]."), event("stop"))
    ]
    world.model.script = lambda body: Reply(lines=data(*map(json.dumps, events)))
    async with start(*PLATFORMS):
        places = [Place(world, platform) for platform in PLATFORMS]
        for place in places:
            place.send("What is tea?")
        for place in places:
            await place.until("https://tea.example/leaf")

    for place in places:
        [message] = getattr(world, place.platform).screen.of(place.id)
        assert message.text == "Tea is a leaf[1].\n\n[1] Leaves of tea (https://tea.example/leaf)"


AROUND = {
    "Kimi K3": ("Hm.<|close|>think<|sep|><|open|>response<|sep|>", "<|close|>response<|sep|><|close|>message<|sep|>"),
    "Muse": (" to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>", "<|eot|>"),
    "gpt-oss without its tokens": ("analysisThey ask.assistantfinal", ""),
    "Mistral": ("<s>[INST] What? [/INST] ", "</s><s>[INST] And? [/INST] More."),
    "Qwen": ("<|im_start|>assistant\n", "<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\nMore."),
    "GLM": ("[gMASK]<sop><|assistant|>\n", "\n<|user|>\nAnd?\n<|assistant|>\nMore."),
}


async def test_nothing_of_a_model_s_template_is_left_around_an_answer(world: World, start: Start) -> None:
    def script(body: RawObject) -> Reply:
        number = re.findall(r"number (\d)", str(body["messages"][-1]["content"]))[-1]
        before, after = list(AROUND.values())[int(number)]
        said = f"{before}Tea is leaf {number}.{after}"
        return Reply(chunks=tuple({"content": said[at : at + 3]} for at in range(0, len(said), 3)))

    world.model.script = script
    async with start(*PLATFORMS):
        places = [Place(world, platform) for platform in PLATFORMS]
        for number in range(len(AROUND)):
            for place in places:
                place.send(f"What is tea, number {number}?")
            for place in places:
                await place.until(f"Tea is leaf {number}.")

    for place in places:
        shown = [message.text for message in getattr(world, place.platform).screen.of(place.id)]
        assert shown == [f"Tea is leaf {number}." for number in range(len(AROUND))]
