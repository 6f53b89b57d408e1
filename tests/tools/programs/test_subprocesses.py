"""Programs end with everything they started, and with who waits for their end."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tools.programs import subprocesses


async def test_a_program_whose_end_is_cancelled_has_ended_all_the_same() -> None:
    program = await subprocesses.start(sys.executable, "-c", "import time; time.sleep(600)", env=dict(os.environ))
    ending = asyncio.create_task(subprocesses.end(program))
    await asyncio.sleep(0)

    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending

    assert program.returncode is not None
