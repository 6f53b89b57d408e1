"""What is spoken of an answer that the model begins anew: only what it stands by in the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest

from bot.contract import File
from bot.reply import FilterChain, VoicePosts
from bot.turn.narration import Narration, Narrator


class Speaking:
    """Keeps what it is to say, and speaks at once."""

    ready = True

    def __init__(self) -> None:
        self.said: list[str] = []

    async def speak(self, text: str, form: str) -> File:
        self.said.append(text)
        return File("answer.ogg", "audio/ogg", b"sound", spoken=1.0)


class Posts:
    """Takes what is posted."""

    def __init__(self, begun: Mapping[int, bool]) -> None:
        self._begun = begun

    def begun(self, number: int) -> bool:
        return self._begun.get(number, False)

    async def post(self, number: int, file: File) -> str:
        return ""


def narration(speaking: Speaking, *, begun: Mapping[int, bool] | None = None) -> Narration:
    posts = cast(VoicePosts, Posts(begun or {}))
    return Narration(cast(Narrator, speaking), posts, FilterChain(lambda: ()), "opus", "en", "turn 1")


async def test_what_the_model_takes_back_before_a_sentence_is_whole_is_not_spoken() -> None:
    speaking = Speaking()
    voice = narration(speaking)

    for piece in ("It ", "may be ", "that "):
        voice.say(piece)
    voice.take_back(2)
    voice.say("is 391.")
    voice.end()

    assert await voice.wait() == ""
    assert " ".join(speaking.said) == "It is 391."
    await voice.close()


async def test_taking_all_back_leaves_nothing_to_say() -> None:
    speaking = Speaking()
    voice = narration(speaking)

    voice.say("Let me look")
    voice.take_back(1)
    voice.end()

    assert await voice.wait() == "" and speaking.said == []
    await voice.close()


async def test_a_rest_that_a_former_process_began_to_post_is_not_spoken_again() -> None:
    speaking = Speaking()
    voice = narration(speaking, begun={1: True})

    voice.say("It is 391. And more of it.")
    voice.end()

    assert await voice.wait() == "" and speaking.said == []
    await voice.close()


@pytest.mark.parametrize(("text", "heard"), [("It is 391. And more of it.", True), ("```\nprint(1)\n```", False)])
async def test_an_answer_knows_whether_its_end_is_heard(text: str, heard: bool) -> None:
    voice = narration(Speaking())

    voice.say(text)
    voice.end()

    assert await voice.ends_spoken() == heard
    await voice.wait()
    await voice.close()
