"""Marks for sources that models write for their makers' own pages are on no screen, not even for one edit."""

from __future__ import annotations

from playground.model import Reply
from tests.bot.safety.test_citations import MARKS
from tests.journeys.conftest import Start, World
from tests.journeys.test_enclosures import PLATFORMS, Place


async def test_no_mark_of_any_model_is_seen_while_an_answer_is_written(world: World, start: Start) -> None:
    said = "\n\n".join(f"{model}: {text} And so on." for model, (text, _) in MARKS.items() if "unfinished" not in model)
    pieces = tuple({"content": said[at : at + 3]} for at in range(0, len(said), 3))
    world.model.script = lambda body: Reply(chunks=pieces, words_per_second=400)
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
