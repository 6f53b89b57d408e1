"""A die for Parley: a package of one module that brings one tool."""

from __future__ import annotations

import secrets

from pydantic import Field

from parley_chat.tool import FunctionTool, Tool, ToolError, ToolSettings


class Settings(ToolSettings):
    """Read from `.env` and the environment like Parley's own."""

    dice_most_sides: int = Field(1_000, ge=2, description="How many sides a die may have.")


def open_tool(settings: Settings) -> Tool:
    """Return the tool; called once, when the bot starts."""

    async def roll_dice(sides: int = 6) -> str:
        """Roll one die.

        Use when: the person wants a die rolled, or a random number.
        Not for: sums and other arithmetic.
        Source: this machine's random numbers

        Args:
            sides: How many sides the die has. Example: 20
        """
        if not 2 <= sides <= settings.dice_most_sides:
            raise ToolError(f"sides must be from 2 to {settings.dice_most_sides}, not {sides}.")
        return f"A die of {sides} sides shows {1 + secrets.randbelow(sides)}."

    return FunctionTool(
        roll_dice,
        category="fun",
        examples=({"sides": 20}, {}),
        keywords=("dice", "die", "roll", "骰子"),
        icon="🎲",
        verb=("Rolling a die", "正在掷骰子", "正在擲骰子"),
        label=("Roll a die", "掷骰子", "擲骰子"),
    )
