"""`python .ci/release.py`: build what a release consists of into `dist/`, and try it in an empty environment.

    python .ci/release.py [--tag v0.2.0] [--home ADDRESS] [--files FOLDER] [--into dist]

It takes what is committed, so that the same commit gives the same bytes: a wheel; a source distribution, from which the
wheel is built once more and must come out equal; the packages of `requirements.lock` as CycloneDX JSON; the release's
notes from `CHANGELOG.md`; `SHA256SUMS`. Then the wheel and the libraries of the lock are installed into an environment
of their own. `--files` names a folder with the lock's files (`pip download --no-deps -r requirements.lock -d FOLDER`);
with it nothing is fetched. It needs the build back end of `pyproject.toml`, and the standard library alone otherwise.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements.lock"
LICENCES = ".ci/licences.json"
"""The licence of each package of the lock, as an SPDX expression."""
_BUILD = "import sys, setuptools.build_meta as build; print(getattr(build, sys.argv[1])(sys.argv[2]))"
_TRIALS = (
    (("-m", "parley_chat", "--version"), "parley {version}"),
    (("-m", "parley_chat", "tools", "calculator", '{"expression": "17 * 23"}'), "391"),
    (("-m", "parley_chat", "doctor", "--help"), "--offline"),
)
"""What an empty environment must be able to run, and what it says then; the first needs no library."""


class Unfit(Exception):
    """There is no release of this; says why."""


def main(arguments: Sequence[str]) -> int:
    """Build and try a release; return 0 when it is fit to be published, else 1."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tag", help="the tag that is released: it must name the version of pyproject.toml")
    parser.add_argument("--files", type=Path, help="a folder with the files of the lock; nothing is fetched then")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="where the release is written (dist)")
    parser.add_argument("--home", default="", help="the project's address, for links in the wheel")
    options = parser.parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory() as place:
            made = build(ROOT, options.into.absolute(), Path(place), options.tag, options.home)
            for file in made:
                print(f"{digest(file)}  {file.name}")
            verify(made[0], ROOT / LOCK, options.files and options.files.absolute(), Path(place))
    except Unfit as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    print("release: installed and tried in an empty environment")
    return 0


def build(root: Path, into: Path, place: Path, tag: str | None = None, home: str = "") -> list[Path]:
    """Write the release of what is committed in `root`; return the wheel, the source distribution and the parts list.

    Raises:
        Unfit: something is not committed, or the version, the tag and the changelog differ, or two builds do.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    version = project["project"]["version"]
    if tag is not None and tag != f"v{version}":
        raise Unfit(f"the tag {tag} is not v{version}, the version of pyproject.toml")
    notes = notes_of((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if changed := _ran(["git", "status", "--porcelain", "--untracked-files=no"], root).strip():
        raise Unfit(f"not everything is committed: {changed.splitlines()[0].strip()}")
    epoch = int(_ran(["git", "log", "-1", "--format=%ct"], root))
    tree = place / "tree"
    _unpack(subprocess.run(["git", "archive", "HEAD"], cwd=root, capture_output=True, check=True).stdout, tree)
    into.mkdir(parents=True, exist_ok=True)
    wheel = into / _built("build_wheel", tree, into, epoch, home)
    source = into / _built("build_sdist", tree, into, epoch, home)
    steady(source, epoch)
    _unpack(source.read_bytes(), place / "source")
    (again,) = (place / "source").iterdir()
    second = place / _built("build_wheel", again, place, epoch, home)
    if digest(second) != digest(wheel):
        raise Unfit(f"the wheel from {source.name} is not the wheel from the repository: {_difference(wheel, second)}")
    parts = into / f"parley_chat-{version}.cdx.json"
    lock, licences = ((root / name).read_text(encoding="utf-8") for name in (LOCK, LICENCES))
    parts.write_text(parts_list(project["project"], lock, json.loads(licences), epoch), encoding="utf-8")
    (into / "NOTES.md").write_text(notes, encoding="utf-8")
    made = [wheel, source, parts]
    (into / "SHA256SUMS").write_text("".join(f"{digest(file)}  {file.name}\n" for file in made), encoding="utf-8")
    return made


def notes_of(changelog: str, version: str) -> str:
    """Return what the changelog says of a version, without sections that say nothing.

    Raises:
        Unfit: it says nothing of it, or gives no day.
    """
    found = re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if found is None or "\n- " not in found[1]:
        raise Unfit(f"CHANGELOG.md has no section `## {version} (YYYY-MM-DD)` that says anything")
    return re.sub(r"^### \w+\s+(?=^### |\Z)", "", found[1], flags=re.M).strip() + "\n"


def steady(archive: Path, epoch: int) -> None:
    """Write a source distribution anew, in order, of one moment and of nobody: its bytes say what it holds."""
    packed = io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode, member.pax_headers = 0o755 if member.isdir() or member.mode & 0o100 else 0o644, {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    archive.write_bytes(gzip.compress(packed.getvalue(), mtime=epoch))


def locked(lock: str) -> dict[tuple[str, str, str], set[str]]:
    """Return what a lock lists: name, version and marker → the hashes of its files."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for entry in re.split(r"\n(?=[A-Za-z0-9])", lock.replace("\\\n", " ")):
        head = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;]+)(?:\s*;\s*(.*?))?(?=\s+--hash|\s*$)", entry.strip())
        if head is not None:
            found[head[1], head[2], head[3] or ""] = set(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
    return found


def parts_list(project: dict[str, object], lock: str, licences: dict[str, str], epoch: int) -> str:
    """Return the software bill of materials in CycloneDX 1.6: the lock's packages, their licences and files.

    Raises:
        Unfit: the licence of a package is not listed.
    """
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    components = []
    for (name, version, marker), hashes in sorted(locked(lock).items()):
        if name not in licences:
            raise Unfit(f"{LICENCES} does not name the licence of {name}")
        address = f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{version}"
        properties = [{"name": "parley:file:sha256", "value": one} for one in sorted(hashes)]
        properties += [{"name": "parley:marker", "value": marker}] if marker else []
        components.append(
            {
                "type": "library",
                "bom-ref": f"{address}#{marker}" if marker else address,
                "name": name,
                "version": version,
                "licenses": [{"expression": licences[name]}],
                "purl": address,
                "properties": properties,
            }
        )
    root = {
        "type": "application",
        "bom-ref": own,
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "licenses": [{"license": {"id": project["license"]}}],
        "purl": own,
    }
    written = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, own + lock)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": root,
        },
        "components": components,
        "dependencies": [{"ref": own, "dependsOn": [one["bom-ref"] for one in components]}],
    }
    return json.dumps(written, indent=2, ensure_ascii=False) + "\n"


def verify(
    wheel: Path, lock: Path, files: Path | None, place: Path, trials: Sequence[tuple[Sequence[str], str]] = _TRIALS
) -> None:
    """Install the wheel and the lock into an empty environment, and run what must run there.

    Args:
        files: a folder with the lock's files, beside which nothing is fetched; None: pip fetches what it does not have.

    Raises:
        Unfit: something cannot be installed, and what, or does not run as it should.
    """
    sums = dict(reversed(line.split("  ")) for line in (wheel.parent / "SHA256SUMS").read_text().splitlines())
    if wrong := [name for name, told in sums.items() if digest(wheel.parent / name) != told]:
        raise Unfit(f"not as SHA256SUMS says: {', '.join(wrong)}")
    fetch: list[str] = []
    if files is not None:
        fetch = ["--no-index", "--find-links", str(files)]
        there = {digest(file) for file in files.iterdir() if file.is_file()}
        needed = locked(lock.read_text(encoding="utf-8"))
        holds = _holding({marker for _, _, marker in needed}, place)
        if lacking := [
            f"{name}=={version}"
            for (name, version, marker), hashes in needed.items()
            if marker in holds and not hashes & there
        ]:
            raise Unfit(f"{files} lacks the files of {len(lacking)} packages in {lock.name}: {', '.join(lacking)}")
    made = place / "environment"
    _ran([sys.executable, "-m", "venv", "--without-pip", str(made)], place)
    python = str(made / ("Scripts" if os.name == "nt" else "bin") / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check", "--no-deps"]
    _ran([*pip, *fetch, "--require-hashes", "-r", str(lock)], place)
    _ran([*pip, "--no-index", str(wheel)], place)
    version = wheel.name.split("-")[1]
    for command, said in trials:
        if (wanted := said.format(version=version)) not in (told := _ran([python, "-P", *command], place)):
            raise Unfit(f"{' '.join(command)} says {told.strip()[:200]!r}, not {wanted!r}")


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _holding(markers: set[str], place: Path) -> set[str]:
    """Return the markers that hold for this interpreter, as its pip sees it."""
    ask = (
        "import json, sys; from pip._vendor.packaging.markers import Marker; "
        "print(json.dumps([one for one in json.loads(sys.argv[1]) if not one or Marker(one).evaluate()]))"
    )
    return set(json.loads(_ran([sys.executable, "-c", ask, json.dumps(sorted(markers))], place)))


def _built(how: str, tree: Path, into: Path, epoch: int, home: str) -> str:
    """Build in `tree`; return the name of the file that was written into `into`."""
    command = [sys.executable, "-W", "ignore", "-c", _BUILD, how, str(into)]
    return _ran(command, tree, SOURCE_DATE_EPOCH=str(epoch), PROJECT_URL=home).splitlines()[-1]


def _unpack(archive: bytes, into: Path) -> None:
    """Unpack a tar file with files that everybody may read, whoever unpacks it."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        for member in packed.getmembers():
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            packed.extract(member, into, filter="data")


def _difference(one: Path, other: Path) -> str:
    """Name the first file that two wheels do not have alike."""
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        names = sorted({*first.namelist()} ^ {*second.namelist()})
        names += [name for name in first.namelist() if name not in names and first.read(name) != second.read(name)]
    return names[0] if names else "the same files, packed otherwise"


def _ran(command: Sequence[str], folder: Path, **settings: str) -> str:
    """Run a program without the settings of whoever releases, and return what it prints.

    Raises:
        Unfit: it failed; with its last words.
    """
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    told = subprocess.run(command, cwd=folder, env=kept | settings, capture_output=True, text=True, check=False)
    if told.returncode:
        words = (told.stderr or told.stdout).strip().splitlines()
        raise Unfit(f"{Path(command[0]).name} {' '.join(command[1:4])[:80]}: {words[-1] if words else told.returncode}")
    return told.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
