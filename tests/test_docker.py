"""The image's recipe, as far as it can be followed without a Docker engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bot.operations.stopping import STOP_SECONDS
from bot.store import is_server
from tools.programs.subprocesses import END_SECONDS

ROOT = Path(__file__).parent.parent
UNIT = ROOT / "contrib" / "parley.service"
RECIPE = (ROOT / "Dockerfile").read_text()


def test_the_image_installs_from_the_lock_with_hashes_and_runs_as_nobody() -> None:
    assert "pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock" in RECIPE
    assert RECIPE.index("USER parley") < RECIPE.index("ENTRYPOINT")
    assert "://" not in RECIPE.replace("http://127.0.0.1:8080/health", "").replace("sqlite:////data/parley.db", "")


def test_what_is_copied_is_compiled_while_that_can_be_written() -> None:
    copied = set(re.findall(r"COPY (\w+) \1\n", RECIPE))
    compiled = RECIPE.index("RUN python -m compileall -q ")

    assert set(RECIPE[compiled:].splitlines()[0].split()[5:]) == copied
    assert RECIPE.rindex("COPY ") < compiled < RECIPE.index("USER parley")


def test_a_published_port_reaches_what_listens_inside() -> None:
    ports = {int(port) for port in re.findall(r"_PORT=(\d+)", RECIPE)}

    assert re.findall(r"_HOST=(\S+)", RECIPE) == ["0.0.0.0", "0.0.0.0"]
    assert {int(port) for port in RECIPE.split("\nEXPOSE ")[1].splitlines()[0].split()} == ports == {8080, 8081}


def test_what_compose_starts_is_the_image_with_its_volume_and_its_health_check_and_has_time_to_end() -> None:
    composed = yaml.safe_load((ROOT / "compose.yaml").read_text())
    bot = composed["services"]["parley"]
    health = json.loads(RECIPE.split("    CMD ")[1].splitlines()[0])

    assert (bot["build"], bot["env_file"], bot["volumes"]) == (".", ".env", ["parley:/data"])
    assert "VOLUME /data" in RECIPE and "parley" in composed["volumes"]
    assert bot["healthcheck"]["test"] == ["CMD", *health]
    assert float(bot["stop_grace_period"].removesuffix("s")) > STOP_SECONDS + END_SECONDS
    assert all(port.startswith("127.0.0.1:") for port in bot["ports"])
    assert bot["cap_drop"] == ["ALL"] and bot["read_only"] and not bot.get("privileged")


def test_of_several_on_postgresql_each_is_the_same_bot_and_none_starts_unasked() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    one, many, server = services["parley"], services["many"], services["postgres"]
    address = many["environment"]["DATABASE_URL"]

    own = {"profiles", "environment", "deploy", "depends_on"}
    assert {name: said for name, said in many.items() if name not in own} == {
        name: said for name, said in one.items() if name not in ("volumes", "ports")
    }, "nothing is published twice, and no file is shared"
    assert many["profiles"] == server["profiles"] == ["many"] and many["deploy"]["replicas"] > 1
    assert many["depends_on"]["postgres"]["condition"] == "service_healthy" and server["healthcheck"]
    assert is_server(address) and "@postgres:5432/" in address
    assert server["environment"]["POSTGRES_PASSWORD"] in address, "the same one, and none that is known"


def read_unit() -> dict[str, str]:
    lines = (line for line in UNIT.read_text().splitlines() if "=" in line and not line.startswith("#"))
    return {name: text for name, _, text in (line.partition("=") for line in lines)}


def test_the_service_of_systemd_has_time_to_end_and_leaves_a_wrong_setting_to_people() -> None:
    unit = read_unit()

    assert float(unit["TimeoutStopSec"]) > STOP_SECONDS + END_SECONDS
    assert (unit["Restart"], unit["RestartPreventExitStatus"]) == ("on-failure", "2")
    assert unit["ExecStart"].split()[1:] == [*json.loads(RECIPE.split("ENTRYPOINT ")[1].splitlines()[0])[1:], "run"]


def test_the_sandbox_keeps_what_it_needs_in_the_service() -> None:
    """A part of /proc that is covered, and the kernel lets nobody mount another one in a namespace of their own."""
    assert not read_unit().keys() & {
        *("RestrictNamespaces", "ProtectKernelTunables", "ProtectKernelLogs", "ProcSubset", "PrivateUsers")
    }
    assert "AF_NETLINK" in read_unit()["RestrictAddressFamilies"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_reads_the_service_without_a_complaint(tmp_path: Path) -> None:
    file = tmp_path / "parley.service"
    file.write_text(UNIT.read_text().replace("/opt/parley/.venv/bin/python", sys.executable))

    told = subprocess.run(["systemd-analyze", "verify", str(file)], capture_output=True, text=True, check=False)

    assert (told.returncode, [line for line in told.stderr.splitlines() if "parley.service" in line]) == (0, [])


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    copied = re.findall(r"^COPY (\S+) ", RECIPE, re.M)
    ignored = (ROOT / ".dockerignore").read_text().split()

    assert {"adapters", "bot", "parley_chat", "playground", "tools"} < set(copied)
    for name in copied:
        assert (ROOT / name).exists() and f"!{name}" in ignored


def test_its_command_starts_from_its_folders(tmp_path: Path) -> None:
    """As in the image: the packages by PYTHONPATH, another working directory, nothing configured."""
    entry = json.loads(RECIPE.split("ENTRYPOINT ")[1].splitlines()[0])
    command = json.loads(RECIPE.split("\nCMD ")[1].splitlines()[0])

    told = subprocess.run(
        [sys.executable, *entry[1:], *command],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == 2
    assert "no platform is configured" in told.stderr and "Traceback" not in told.stderr
