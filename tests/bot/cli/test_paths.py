"""Every setting that names a path, in every way in which a path can be wrong: one sentence, which names the setting."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bot.cli.machine import examine_machine
from bot.contract import SystemClock
from bot.settings import CoreSettings
from tests.bot.cli.conftest import Inside
from tests.bot.cli.test_wrong_configurations import WELL
from tools.contract.findings import Verdict

FILES = {
    "PARLEY_ENV_FILE": "{}",
    "CHANNELS_FILE": "{}",
    "MCP_CONFIG": "{}",
    "DATABASES": "sales=sqlite:///{}",
    "DATABASE_URL": "sqlite:///{}",
    "SSL_CERT_FILE": "{}",
}
FOLDERS = {"TRANSCRIBE_MODEL": "local:{}", "SSL_CERT_DIR": "{}", "cwd": "{}"}
# In place of a folder that is closed to this user, which nothing is to root: a name that nothing can have. Of both the
# system says so where it is only looked whether something is there.
CLOSED = f"{'n' * 300}/notes"
ROWS = [
    *((setting, place) for setting in FILES for place in ("nodes", "dangling", CLOSED, "folder", "notes/below")),
    *((setting, place) for setting in FOLDERS for place in ("foldr", "dangling", CLOSED, "notes", "notes/below")),
]
# A database that is missing is made: where the link leads, too.
ROWS = [row for row in ROWS if row not in (("DATABASE_URL", "nodes"), ("DATABASE_URL", "dangling"))]


@pytest.mark.parametrize(
    ("setting", "place"), ROWS, ids=[f"{name}-{place.replace(CLOSED, 'closed')}" for name, place in ROWS]
)
def test_a_path_that_cannot_be_used_is_one_sentence(inside: Inside, tmp_path: Path, setting: str, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes").write_text("no database, no certificate")
    (tmp_path / "dangling").symlink_to("nothing")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **WELL}
    named = {**FILES, **FOLDERS}[setting].format(tmp_path / place)
    if setting == "cwd":
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"memory": {"command": "true", "cwd": named}}}))
        environment["MCP_CONFIG"] = str(tmp_path / "mcp.json")
    else:
        environment[setting] = named

    ended = inside.run("run", folder=tmp_path, environment=environment)

    assert (ended.code, ended.out) == (2, "")
    [line] = [line for line in ended.err.splitlines() if " WARNING " not in line]
    assert line.startswith("parley: ") and setting in line and "Errno" not in line
    if place in ("nodes", "foldr"):
        assert line.endswith(f"; did you mean {tmp_path / {'nodes': 'notes', 'foldr': 'folder'}[place]}?")
    elif place == CLOSED:
        assert "File name too long" in line
    elif place in ("folder", "notes"):
        assert "folder" in line
    else:
        assert "there is no " in line or "there is no such " in line or setting == "DATABASE_URL"


@pytest.mark.parametrize("place", ["far/below/parley.db", CLOSED, "folder", "notes/below", "loop"])
async def test_the_doctor_calls_no_database_well_with_which_the_start_ends(tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes").write_text("no database")
    (tmp_path / "loop").symlink_to("loop")
    core = CoreSettings.model_construct(database_url=f"sqlite:///{tmp_path / place}")

    found = dict(await examine_machine(core, (), SystemClock()))

    assert found["database"].verdict is Verdict.BAD and "Errno" not in found["database"].text
