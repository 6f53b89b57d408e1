"""A platform more: its row is all that is needed for its people and chats to be listed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters import PLATFORMS, Platform
from adapters.settings import PlatformSettings
from bot.contract import ChatId, SettingsError, identity
from bot.settings import read_channels
from bot.settings.configuration import configure

ROW = Platform(
    "nowhere.matrix",
    PlatformSettings,
    identity.PlatformIds(
        person=identity.Form(r"@[a-z0-9._=-]+:[a-z0-9.-]+", "@ada:example.org"),
        chat=identity.Form(r"[^/\s]+/[^/\s]+", "BOT/ROOM"),
        account=identity.Form(r"[^/\s]+/\*"),
        workspace=identity.Form(r"[a-z0-9.-]+", "SERVER", kind="server"),
    ),
)
ROOM = ChatId("matrix", "@bot:example.org", "!room:example.org")


@pytest.fixture(autouse=True)
def matrix(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PARLEY_ENV_FILE", "")
    known = {name: one.ids for name, one in PLATFORMS.items()}
    monkeypatch.setitem(PLATFORMS, "matrix", ROW)
    yield
    identity.use(known)


def test_people_of_a_new_platform_are_listed_wherever_people_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "channels.yaml"
    file.write_text(
        f"matrix:*:\n  model: openai:small\n'{ROOM}':\n  who: ['matrix:@ada:example.org', admins]\n"
        "'matrix:@bot:example.org/*':\n  tools: ['-run_python']\n"
    )
    monkeypatch.setenv("ALLOWED_USERS", "telegram:7,matrix:@ada:example.org")
    monkeypatch.setenv("ADMINS", "matrix:@eve:example.org")
    monkeypatch.setenv("ALLOWED_CHATS", str(ROOM))
    monkeypatch.setenv("ALLOWED_WORKSPACES", "matrix:example.org")
    monkeypatch.setenv("TOOLS_FOR", "run_python=matrix:@eve:example.org,matrix:server/example.org")
    monkeypatch.setenv("CHANNELS_FILE", str(file))

    core = configure().core
    channel = read_channels(core.channels_file).channel_of(ROOM)

    assert core.allowed_users == ("telegram:7", "matrix:@ada:example.org")
    assert core.admins == ("matrix:@eve:example.org",)
    assert core.allowed_chats == (str(ROOM),)
    assert core.allowed_workspaces == ("matrix:server/example.org",)
    assert core.tools_for == (("run_python", ("matrix:@eve:example.org", "matrix:server/example.org")),)
    assert channel.who is not None and channel.who.value == ("matrix:@ada:example.org", "admins")
    assert channel.model is not None and channel.model.value == "openai:small"


def test_what_is_wrong_in_a_list_is_told_with_its_ids_among_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    for written, told in (
        ("matrix:ada", "telegram:123, slack:T1/U1, discord:456, matrix:@ada:example.org"),
        ("@ada:example.org", "'@ada:example.org' lacks its platform: write matrix:@ada:example.org."),
        ("Matrix:@ada:example.org", "would match nobody: write matrix:@ada:example.org."),
    ):
        monkeypatch.setenv("ALLOWED_USERS", written)
        with pytest.raises(SettingsError) as refused:
            configure()
        assert told in str(refused.value)


def test_its_ids_are_unknown_where_it_has_no_row() -> None:
    configure()
    assert identity.is_person("matrix:@ada:example.org")

    identity.use({name: one.ids for name, one in PLATFORMS.items() if name != "matrix"})

    assert not identity.is_person("matrix:@ada:example.org")


@pytest.mark.parametrize(
    ("name", "text", "left_out"),
    [
        ("matrix", "from adapters import Platform\nfrom tests.contract.test_fourth_platform import ROW\n", ""),
        ("matrix", "ROW = 5\n", "the platform matrix of the package parley-matrix is left out: TypeError: "),
        ("matrix", "import a_library_that_nobody_has\n", "No module named 'a_library_that_nobody_has'"),
        ("matrix", "raise SystemExit\n", "left out: SystemExit"),
        ("matrix", "class Panic(BaseException): ...\nraise Panic\n", "threw Panic"),
        ("slack", "ROW = 5\n", "the platform slack of the package parley-matrix is left out: "),
        ("Matrix", "ROW = 5\n", "small letters"),
    ],
)
def test_a_package_brings_a_platform_and_one_that_cannot_be_used_is_named(
    name: str, text: str, left_out: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = dict(PLATFORMS)
    monkeypatch.delitem(PLATFORMS, "matrix")
    (tmp_path / "parley_matrix_of_a_test.py").write_text(text)
    info = tmp_path / "parley_matrix-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parley-matrix\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[parley.adapters]\n{name} = parley_matrix_of_a_test:ROW\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    configuration = configure()

    sys.modules.pop("parley_matrix_of_a_test", None)
    if left_out:
        [sentence] = configuration.left_out
        assert left_out in sentence and "\n" not in sentence
        assert {one: row for one, row in before.items() if one != "matrix"} == PLATFORMS
    else:
        assert not configuration.left_out and PLATFORMS["matrix"] is ROW and "matrix" in configuration.platforms
