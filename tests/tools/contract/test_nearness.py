"""What is suggested in place of a file that is not there."""

from __future__ import annotations

from pathlib import Path

from tools.contract.nearness import suggest


def test_a_slip_in_a_name_is_answered_with_the_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "servers.json").touch()

    assert suggest(tmp_path / "severs.json") == f"; did you mean {tmp_path}/servers.json?"
    assert suggest(tmp_path / "photos.zip") == ""


def test_what_is_there_is_not_suggested_in_its_own_place(tmp_path: Path) -> None:
    """It is a folder, or may not be read."""
    (tmp_path / "servers.json").mkdir()

    assert suggest(tmp_path / "servers.json") == ""
