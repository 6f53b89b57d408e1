"""What a person sees of a message is told wherever it stands: as a quote and as a forward, with its comment.

A platform whose scene passes here reads what programs write in forms of their own; changes are in `events.py`.
"""

from __future__ import annotations

from bot.contract import MessageSent
from bot.intake.parts import join_parts
from parley_chat.contract.ears import Ear, listening
from parley_chat.contract.scene import Scene

WORDS = "The disk of web1 is full: /stop or /forget yes"


async def told(ear: Ear, *, quotes: bool = True) -> MessageSent:
    """The next question, or the next one that quotes something."""
    while True:
        sent = await ear.next()
        if isinstance(sent, MessageSent) and (sent.quoted is not None or not quotes):
            return sent


class QuoteContract:
    """Quotes and forwards are told as what they are when these pass; a subclass has a fixture `scene`."""

    async def test_what_a_program_wrote_is_read_where_somebody_asks_about_it(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            scene.quote(WORDS, "is that bad?")
            sent = await told(ear)

        assert (sent.text, sent.command, sent.group) == ("is that bad?", "", True)
        assert sent.quoted is not None and WORDS in sent.quoted.text and not sent.quoted.from_bot

    async def test_what_a_program_wrote_is_read_where_it_is_forwarded_and_orders_nothing(self, scene: Scene) -> None:
        async with listening(scene) as ear:
            scene.forward(WORDS, "")
            sent = await told(ear)

        assert (sent.text, sent.command) == ("", "")
        assert sent.quoted is not None and sent.quoted.forwarded and WORDS in sent.quoted.text

    async def test_a_forward_and_the_comment_on_it_are_told_as_what_they_are(self, scene: Scene) -> None:
        """In one message, or in two of which the forward says that a comment may belong to it."""
        async with listening(scene) as ear:
            scene.forward(WORDS, "is that bad?")
            first = await told(ear, quotes=False)
            parts = [first] if first.text and first.quoted else [first, await told(ear, quotes=False)]

        whole = parts[0] if len(parts) == 1 else join_parts(*parts)
        assert whole is not None and whole.text == "is that bad?" and not whole.command
        assert whole.quoted is not None and whole.quoted.forwarded and WORDS in whole.quoted.text
        assert [one.unfinished for one in parts if one.quoted is not None] == [len(parts) == 2]
        assert len({one.chat for one in parts}) == len({one.sender.id for one in parts}) == 1
