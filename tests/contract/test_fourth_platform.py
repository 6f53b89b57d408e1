"""With its row in the table, a new platform's people and chats can be listed in every setting.

Its name is of none that anybody will add.
"""

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
    "nowhere.pigeon",
    PlatformSettings,
    identity.PlatformIds(
        person=identity.Form(r"ring:[a-z]+@[a-z]+", "ring:ada@coop"),
        chat=identity.Form(r"[^/\s]+/[^/\s]+", "BOT/ROOM"),
        account=identity.Form(r"[^/\s]+/\*"),
        workspace=identity.Form(r"[a-z0-9.-]+", "SERVER", kind="server"),
    ),
)
ROOM = ChatId("pigeon", "@bot:example.org", "!room:example.org")


@pytest.fixture(autouse=True)
def pigeon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PARLEY_ENV_FILE", "")
    known = {name: one.ids for name, one in PLATFORMS.items()}
    monkeypatch.setitem(PLATFORMS, "pigeon", ROW)
    yield
    identity.use(known)


def test_people_of_a_new_platform_are_listed_wherever_people_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "channels.yaml"
    file.write_text(
        f"pigeon:*:\n  model: openai:small\n'{ROOM}':\n  who: ['pigeon:ring:ada@coop', admins]\n"
        "'pigeon:@bot:example.org/*':\n  tools: ['-run_python']\n"
    )
    monkeypatch.setenv("ALLOWED_USERS", "telegram:7,pigeon:ring:ada@coop")
    monkeypatch.setenv("ADMINS", "pigeon:ring:eve@coop")
    monkeypatch.setenv("ALLOWED_CHATS", str(ROOM))
    monkeypatch.setenv("ALLOWED_WORKSPACES", "pigeon:example.org")
    monkeypatch.setenv("TOOLS_FOR", "run_python=pigeon:ring:eve@coop,pigeon:server/example.org")
    monkeypatch.setenv("CHANNELS_FILE", str(file))

    core = configure().core
    channel = read_channels(core.channels_file).channel_of(ROOM)

    assert core.allowed_users == ("telegram:7", "pigeon:ring:ada@coop")
    assert core.admins == ("pigeon:ring:eve@coop",)
    assert core.allowed_chats == (str(ROOM),)
    assert core.allowed_workspaces == ("pigeon:server/example.org",)
    assert core.tools_for == (("run_python", ("pigeon:ring:eve@coop", "pigeon:server/example.org")),)
    assert channel.who is not None and channel.who.value == ("pigeon:ring:ada@coop", "admins")
    assert channel.model is not None and channel.model.value == "openai:small"


def test_what_is_wrong_in_a_list_is_told_with_its_ids_among_the_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    for written, told in (
        ("pigeon:ada", ", pigeon:ring:ada@coop"),
        ("ring:ada@coop", "'ring:ada@coop' lacks its platform: write pigeon:ring:ada@coop."),
        ("Pigeon:ring:ada@coop", "would match nobody: write pigeon:ring:ada@coop."),
    ):
        monkeypatch.setenv("ALLOWED_USERS", written)
        with pytest.raises(SettingsError) as refused:
            configure()
        assert told in str(refused.value)


def test_its_ids_are_unknown_where_it_has_no_row() -> None:
    configure()
    assert identity.is_person("pigeon:ring:ada@coop")

    identity.use({name: one.ids for name, one in PLATFORMS.items() if name != "pigeon"})

    assert not identity.is_person("pigeon:ring:ada@coop")


@pytest.mark.parametrize(
    ("name", "text", "left_out"),
    [
        ("pigeon", "from adapters import Platform\nfrom tests.contract.test_fourth_platform import ROW\n", ""),
        ("pigeon", "ROW = 5\n", "the platform pigeon of the package parley-pigeon is left out: TypeError: "),
        ("pigeon", "import a_library_that_nobody_has\n", "No module named 'a_library_that_nobody_has'"),
        ("pigeon", "raise SystemExit\n", "left out: SystemExit"),
        ("pigeon", "class Panic(BaseException): ...\nraise Panic\n", "threw Panic"),
        ("slack", "ROW = 5\n", "the platform slack of the package parley-pigeon is left out: "),
        ("Pigeon", "ROW = 5\n", "small letters"),
    ],
)
def test_a_package_brings_a_platform_and_one_that_cannot_be_used_is_named(
    name: str, text: str, left_out: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = dict(PLATFORMS)
    monkeypatch.delitem(PLATFORMS, "pigeon")
    (tmp_path / "parley_pigeon_of_a_test.py").write_text(text)
    info = tmp_path / "parley_pigeon-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parley-pigeon\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[parley.adapters]\n{name} = parley_pigeon_of_a_test:ROW\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    configuration = configure()

    sys.modules.pop("parley_pigeon_of_a_test", None)
    if left_out:
        [sentence] = configuration.left_out
        assert left_out in sentence and "\n" not in sentence
        assert {one: row for one, row in before.items() if one != "pigeon"} == PLATFORMS
    else:
        assert not configuration.left_out and PLATFORMS["pigeon"] is ROW and "pigeon" in configuration.platforms
