"""What others may import: the names stay, are typed, and stand in the guide."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMES = {
    "parley_chat.tool": """
        Arguments Checked Finding FunctionTool Json Key Late ProducedFile Source Tool ToolContext ToolError
        ToolResult ToolSettings ToolSpec Unavailable tool
    """,
    "parley_chat.agent": """
        Answers Ask Call Checkpoint Decision Event Fault File Json Message Question Result Source Text Thought Used
    """,
    "parley_chat.adapter": """
        LONGEST_TEXT NEXT PRESSED Adapter Address Button CallCost ChatId Clock Contested Control ControlPressed
        Deliver DeliveryError Dialect Drawn Earlier Enclosure EnclosureKind Entrance File FileWithheld Finding
        Form Headers Identified Incoming Inline Item Key Line Link MessageDeleted MessageEdited MessageGone
        MessageRef MessageSent Pace Page Platform PlatformIds PlatformSettings Proof PublicAddress Quoted
        RateBudget RateLimited Refused ReplyTarget RightMissing Scalar Sender SettingsError Sole Status
        StoreError Style Styled Surface SurfaceLimits SystemClock Timer TooLong Unclear Uneditable Unreachable
        Unrenderable Verbatim WebAnswer Window download is_same origin_of parse_bare_command parse_button
        parse_command parse_markdown proxy_before read_json text_of time_limit utf16_length
    """,
    "parley_chat.contract.suites": """
        Call EventContract FailureContract FakeClock QuoteContract Scene Shown SurfaceContract ThreadContract Version
        listening until
    """,
}
"""To take one away breaks what others have written."""
GUIDES = {"parley_chat.agent": "docs/agents.md"}


@pytest.mark.parametrize("module", NAMES)
def test_its_names_stay_and_stand_in_the_guide(module: str) -> None:
    public = importlib.import_module(module)
    guide = (ROOT / GUIDES.get(module, "docs/extending.md")).read_text(encoding="utf-8")
    told = re.search(rf"^`{re.escape(module)}`[^:]*: ((?:`\w+`[,.]\s+)+)", guide, re.MULTILINE)

    assert public.__all__ == NAMES[module].split()
    assert all(hasattr(public, name) for name in public.__all__)
    assert told and re.findall(r"\w+", told[1]) == public.__all__


@pytest.mark.parametrize("module", NAMES)
def test_it_loads_no_library_of_a_platform(module: str) -> None:
    """It is imported to read the settings, also by whoever uses another platform."""
    looks = f"import {module}, sys; print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", looks], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert not {name for name in ("telegram", "discord", "slack_bolt", "slack_sdk", "openai") if f"'{name}'" in loaded}
