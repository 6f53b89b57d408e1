"""A model of a local Ollama is told everything, though its window is small when it is started."""

from __future__ import annotations

from playground.model import Reply
from playground.model.ollama import Ollama
from playground.model.wire import prompt_tokens
from tests.bot.conftest import OpenRig

DEFAULT_WINDOW = 4_096


async def test_a_first_question_with_all_tools_fits_a_default_window(rig: OpenRig) -> None:
    async with rig(MODEL="ollama:scripted", TOOL_MODE="native") as it:
        it.model.ollama = ollama = Ollama(default_window=DEFAULT_WINDOW)
        it.model.reply(Reply("", calls=(("calculator", {"expression": "17*3"}),)), Reply("51."))

        assert await it.say("What is 17*3, and what time is it in Paris?") == ["51."]

        first, _ = it.model.requests
        assert prompt_tokens(first.body) < DEFAULT_WINDOW
        offered = {tool["function"]["name"] for tool in first.body["tools"]}
        assert offered == {spec.name for spec in it.bot.registry.specs() if not spec.jobs}
        assert ollama.dropped == [0, 0]


async def test_a_conversation_beyond_a_default_window_is_told_whole(rig: OpenRig) -> None:
    async with rig(MODEL="ollama:scripted", TOOL_MODE="native", CONTEXT_TOKENS="30000") as it:
        it.model.ollama = ollama = Ollama(default_window=DEFAULT_WINDOW)
        for number in range(6):
            it.model.reply(Reply(f"Chapter {number}: " + "and then it rained for a day " * 140))
            await it.say(f"Tell me chapter {number} of the tale, please")
        it.model.reply(Reply("Of rain."))
        await it.say("What was chapter 0 about?")

        assert "Chapter 0" in str(it.model.requests[-1].body["messages"])
        assert prompt_tokens(it.model.requests[-1].body) > 2 * DEFAULT_WINDOW
    assert not any(ollama.dropped) and ollama.loads == sorted(set(ollama.loads))
    assert len(ollama.loads) <= 3
