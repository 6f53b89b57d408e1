"""What a killed process leaves in the temporary folder goes at the next start, and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tools.contract.folders import PREFIX, sweep_folders, temporary_folder

MAKER = """
import sys, time
from tools.contract.folders import temporary_folder
with temporary_folder() as folder:
    open(folder + "/part", "w").close()
    print(folder, flush=True)
    time.sleep(600)
"""


def age(path: Path) -> None:
    os.utime(path, (0, 0))


def test_folders_of_dead_processes_are_removed_and_those_of_living_ones_and_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    root = Path(__file__).parents[3]
    maker = subprocess.Popen(
        [sys.executable, "-c", MAKER], cwd=root, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert maker.stdout is not None
    left = Path(maker.stdout.readline().strip())
    foreign, young, link = tmp_path / "parley-other", tmp_path / f"{PREFIX}young", tmp_path / f"{PREFIX}link"
    foreign.mkdir()
    link.symlink_to(foreign)
    os.utime(link, (0, 0), follow_symlinks=False)
    with temporary_folder() as own:
        for path in (left, foreign, Path(own)):
            age(path)
        young.mkdir()
        assert sweep_folders() == 0 and left.exists(), "its maker lives"

        maker.send_signal(signal.SIGKILL)
        maker.wait()
        maker.stdout.close()
        assert sweep_folders() == 1

        assert sorted(tmp_path.iterdir()) == sorted([foreign, young, link, Path(own)])
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        age(young)
        assert sweep_folders() == 0, "somebody else's"
    assert not Path(own).exists()
