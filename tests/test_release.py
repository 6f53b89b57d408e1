"""What a release consists of, and what the host of the repository is told: each file names what exists."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import re
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.licenses import canonicalize_license_expression

from setup import readme
from tests.released import release
from tools.fetch.service import USER_AGENT

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
LICENCES: dict[str, str] = json.loads((ROOT / release.LICENCES).read_text(encoding="utf-8"))
LOCK = """\
b-tea[x]==1.2 ; sys_platform == 'win32' \\
    --hash=sha256:{0} \\
    --hash=sha256:{1}
A_leaf==2.0 \\
    --hash=sha256:{1}
""".format("0" * 64, "1" * 64)


def test_everything_that_names_the_version_names_the_same() -> None:
    version = PROJECT["version"]
    newest = re.search(r"^## (\d\S*) \(", CHANGELOG, re.M)

    assert newest is not None and newest[1] == version
    assert USER_AGENT.startswith(f"parley-chat/{version.rpartition('.')[0]} ")
    assert f'name="parley", version="{version}"' in (ROOT / "tools/mcp/session.py").read_text(encoding="utf-8")


def test_the_notes_of_a_release_are_its_section_and_leave_out_empty_headings() -> None:
    own = "### Added\n\n- one\n\n### Changed\n\n### Fixed\n\n- two\n"
    page = f"## Unreleased\n\n### Added\n\n- new\n\n## 1.1 (2026-01-02)\n\n{own}\n## 1.0\n"

    assert release.notes_of(page, "1.1") == "### Added\n\n- one\n\n### Fixed\n\n- two\n"
    assert release.notes_of(CHANGELOG, PROJECT["version"]).startswith("### Added")
    for version in ("1.0", "Unreleased", "2.0"):
        with pytest.raises(release.Unfit, match=re.escape(version)):
            release.notes_of(page, version)


def test_the_parts_list_names_each_package_of_the_lock_with_its_files() -> None:
    told = json.loads(release.parts_list(PROJECT, LOCK, {"b-tea": "MIT", "A_leaf": "MIT OR ISC"}, 1_790_000_000))
    leaf, tea = told["components"]

    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    assert told["metadata"]["component"]["purl"] == f"pkg:pypi/parley-chat@{PROJECT['version']}"
    assert (leaf["purl"], tea["purl"]) == ("pkg:pypi/a-leaf@2.0", "pkg:pypi/b-tea@1.2")
    assert leaf["licenses"] == [{"expression": "MIT OR ISC"}]
    assert [one["value"] for one in tea["properties"]] == ["0" * 64, "1" * 64, "sys_platform == 'win32'"]
    assert told["dependencies"][0]["dependsOn"] == [leaf["bom-ref"], tea["bom-ref"]]
    with pytest.raises(release.Unfit, match="does not name the licence of A_leaf"):
        release.parts_list(PROJECT, LOCK, {}, 0)
    whole = json.loads(release.parts_list(PROJECT, (ROOT / release.LOCK).read_text(), LICENCES, 0))
    names = [one["bom-ref"] for one in whole["components"]]
    assert len(names) == len(set(names)) > 80
    assert all(one["properties"] for one in whole["components"]), "each has the hash of a file"


def test_the_licence_of_each_package_is_the_one_that_it_declares() -> None:
    locked = {name: version for name, version, _ in release.locked((ROOT / release.LOCK).read_text())}
    declared = {}
    for name, version in locked.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            package = importlib.metadata.distribution(name)
            said = "".join(package.metadata.get_all("License-Expression") or ())
            if said and package.version == version:
                declared[name] = canonicalize_license_expression(said)

    assert set(LICENCES) == set(locked)
    assert {name: LICENCES[name] for name in declared} == declared
    assert all(canonicalize_license_expression(one) == one for one in LICENCES.values())
    assert len(declared) > 30


def test_a_source_distribution_is_the_same_whoever_packed_it_and_when(tmp_path: Path) -> None:
    written: list[bytes] = []
    for place, names in (("a", ("x", "y")), ("b", ("y", "x"))):
        folder = tmp_path / place
        folder.mkdir()
        with tarfile.open(folder / "s.tar.gz", "w:gz") as packed:
            for name in names:
                member = tarfile.TarInfo(f"s/{name}")
                member.size, member.mtime, member.uid = 1, time.time(), len(written)
                packed.addfile(member, io.BytesIO(name.encode()))
        release.steady(folder / "s.tar.gz", 1_790_000_000)
        written.append((folder / "s.tar.gz").read_bytes())
        with tarfile.open(folder / "s.tar.gz") as packed:
            assert [(one.name, one.mtime, one.uid) for one in packed] == [
                ("s/x", 1_790_000_000, 0),
                ("s/y", 1_790_000_000, 0),
            ]

    assert written[0] == written[1]


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with a small wheel named as ours, one of a library, a lock of that, and the sums of the first."""
    for name, package in (("parley_chat", "parley_chat"), ("leaf", "leaf")):
        with zipfile.ZipFile(tmp_path / f"{name}-2.0-py3-none-any.whl", "w") as packed:
            packed.writestr(f"{package}/__init__.py", "")
            packed.writestr(f"{package}/__main__.py", "import leaf; print('it runs with', leaf.__name__)")
            about = f"{name}-2.0.dist-info"
            packed.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n")
            packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            packed.writestr(f"{about}/RECORD", "")
    sums = {
        name: release.digest(tmp_path / name)
        for name in ("parley_chat-2.0-py3-none-any.whl", "leaf-2.0-py3-none-any.whl")
    }
    (tmp_path / "SHA256SUMS").write_text("".join(f"{one}  {name}\n" for name, one in sums.items()))
    lines = [f"leaf==2.0 --hash=sha256:{sums['leaf-2.0-py3-none-any.whl']}"]
    lines.append(f"tea==1.0 ; sys_platform == 'none' --hash=sha256:{'0' * 64}")
    (tmp_path / "some.lock").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_a_release_is_tried_in_an_empty_environment_without_a_network(wheels: Path, tmp_path: Path) -> None:
    """From the lock's files alone; and what is missing of them, or was changed, is said."""
    place = tmp_path / "place"
    place.mkdir()
    wheel, lock = wheels / "parley_chat-2.0-py3-none-any.whl", wheels / "some.lock"

    release.verify(wheel, lock, wheels, place, [(["-m", "parley_chat"], "it runs with leaf")])

    lock.write_text(f"{lock.read_text()}gone==3.1 --hash=sha256:{'2' * 64}\n")
    with pytest.raises(release.Unfit, match=r"lacks the files of 1 packages in some.lock: gone==3.1$"):
        release.verify(wheel, lock, wheels, place)
    (wheels / "leaf-2.0-py3-none-any.whl").write_bytes(b"another")
    with pytest.raises(release.Unfit, match="not as SHA256SUMS says: leaf"):
        release.verify(wheel, lock, wheels, place)


def test_links_of_the_readme_lead_somewhere_outside_the_repository_too() -> None:
    text = "[a](docs/x.md#y) ![b](docs/p.svg) [c](https://example.org/) [d](#here) [`e`](.env.example)"

    assert readme(text, "https://example.org/p", "1.2") == (
        "[a](https://example.org/p/blob/v1.2/docs/x.md#y) ![b](https://example.org/p/raw/v1.2/docs/p.svg) "
        "[c](https://example.org/) [d](#here) [`e`](https://example.org/p/blob/v1.2/.env.example)"
    )
    assert readme(text, "", "1.2") == "a b [c](https://example.org/) [d](#here) `e`"
    picture = '<picture>\n  <source srcset="docs/a.png">\n  <img src="docs/b.png">\n</picture>\n\n'
    assert readme(f"{picture}c", "", "1.2") == "c"
    assert 'srcset="https://example.org/p/raw/v1.2/docs/a.png"' in readme(picture, "https://example.org/p", "1.2")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_exists_with_actions_of_a_named_version(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    told = yaml.safe_load(text)
    steps = [step for job in told["jobs"].values() for step in job["steps"]]
    commands = "\n".join(step["run"] for step in steps if "run" in step)

    assert told[True] and told["permissions"] == {"contents": "read"}, "`on` is true in YAML 1.1"
    assert all(job["timeout-minutes"] <= 60 for job in told["jobs"].values())
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    named = re.findall(r"(?<![\w/])(\.ci/\S+|\S+\.lock)", commands)
    assert named and all((ROOT / name).is_file() for name in named)
    assert "${{" not in commands, "a branch's name is no part of a command"


def test_the_workflows_check_with_the_script_of_contributors_on_every_python_we_promise() -> None:
    check, publish = ((ROOT / f".github/workflows/{name}.yml").read_text() for name in ("check", "release"))
    promised = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)}

    assert "- run: bash .ci/run\n" in check
    assert set(re.findall(r"^ +(3\.\d+)$", check, re.M)) == promised
    options = subprocess.run(
        [sys.executable, ROOT / ".ci/release.py", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(option in options for option in re.findall(r"release\.py .*?(--\w+)", publish))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_asks_with_words_of_its_own(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    asked = [one for one in form["body"] if one["type"] != "markdown"]
    ids = [one["id"] for one in asked]

    assert form["name"] and form["description"]
    assert {one["type"] for one in form["body"]} <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}
    assert len(ids) == len(set(ids)) and all(one["attributes"]["label"] for one in asked)
    assert any(one.get("validations", {}).get("required") for one in asked)
    for command in re.findall(r"`parley (\w+)", path.read_text(encoding="utf-8")):
        assert command in ("doctor", "chats"), command


def test_hooks_before_a_commit_are_programs_of_the_environment() -> None:
    told = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repo in told["repos"] for hook in repo["hooks"]]
    needed = {re.split(r"[^\w-]", one)[0] for one in PROJECT["optional-dependencies"]["dev"]}

    assert [repo["repo"] for repo in told["repos"]] == ["local"], "nothing is fetched"
    for hook in hooks:
        assert hook["language"] == "system"
        assert hook["entry"].split()[0].removeprefix(".venv/bin/") in needed


def test_the_keeper_of_dependencies_looks_where_they_stand() -> None:
    told = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))
    files = {"pip": "pyproject.toml", "docker": "Dockerfile", "github-actions": ".github/workflows/check.yml"}

    assert told["version"] == 2
    assert {one["package-ecosystem"] for one in told["updates"]} == set(files)
    assert all((ROOT / file).is_file() for file in files.values())


def test_the_wheel_is_described_for_an_index() -> None:
    assert PROJECT["authors"] == [{"name": "The Parley authors"}]
    assert "The Parley authors" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Typing :: Typed" in PROJECT["classifiers"] and (ROOT / "parley_chat/py.typed").is_file()
    assert not [one for one in PROJECT["classifiers"] if one.startswith("License ::")], "`license` says it"
    assert len(set(PROJECT["keywords"])) == len(PROJECT["keywords"])
