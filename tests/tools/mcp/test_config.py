"""mcp.json: what is read from it, and what is said of a mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import RawJson
from tools.calling.descriptions import Description
from tools.mcp.config import Command, Endpoint, McpConfig, read_config
from tools.mcp.source import open_source


def config_of(folder: Path, servers: RawJson, **environment: str) -> McpConfig:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return read_config(file, environment)


def test_a_program_and_a_service_are_read_in_the_usual_form(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        {
            "files": {"command": "npx", "args": ["-y", "server"], "env": {"KEY": "k"}, "cwd": "/srv", "timeout": 5},
            "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"X": "y"}},
        },
    )

    files, web = config.servers
    assert files.reach == Command("npx", ("-y", "server"), {"KEY": "k"}, "/srv")
    assert files.timeout == 5
    assert web.reach == Endpoint("https://example.org/mcp", {"X": "y"})
    assert not config.problems


def test_variables_are_replaced_wherever_a_text_stands(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        {
            "a": {"command": "${BIN}/run", "args": ["--key=${KEY}"], "env": {"K": "${env:KEY}", "D": "${NO:-default}"}},
            "b": {"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
        },
        BIN="/opt",
        KEY="s3cret",
        HOST="example.org",
    )

    assert [one.reach for one in config.servers] == [
        Command("/opt/run", ("--key=s3cret",), {"K": "s3cret", "D": "default"}),
        Endpoint("https://example.org/mcp", {"Authorization": "Bearer s3cret"}),
    ]


def test_a_missing_variable_is_named_and_costs_only_its_server(tmp_path: Path) -> None:
    config = config_of(tmp_path, {"a": {"command": "x", "env": {"TOKEN": "${GITHUB_TOKEN}"}}, "b": {"command": "y"}})

    assert [server.name for server in config.servers] == ["b"]
    assert config.problems["a"] == 'the environment variable GITHUB_TOKEN, named in "env.TOKEN", is not set'


def test_secrets_do_not_show_where_a_configuration_is_printed(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        {"a": {"command": "x", "env": {"T": "s3cret"}}, "b": {"url": "https://h/s3cret", "headers": {"A": "s3cret"}}},
    )

    assert "s3cret" not in repr(config)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("text", "must be an object"),
        ({}, '"command" must be a text'),
        ({"command": ""}, '"command" must be a text'),
        ({"command": "x", "args": "y"}, '"args" must be a list'),
        ({"command": "x", "env": {"A": 1}}, '"env" must be an object'),
        ({"command": "x", "timeout": True}, '"timeout" must be seconds'),
        ({"command": "x", "timeout": 0}, '"timeout" must be seconds'),
        ({"command": "x", "disabled": "no"}, '"disabled" must be true or false'),
        ({"command": "x", "allow": "get_*"}, '"allow" must be a list'),
        ({"command": "a\0b"}, "zero character"),
        ({"type": "sse", "url": "https://x"}, "streamable HTTP"),
        ({"type": "carrier pigeon"}, "unknown"),
        ({"url": "ftp://x/mcp"}, "http:// or https://"),
        ({"url": "x"}, "http:// or https://"),
    ],
)
def test_a_mistake_is_one_sentence_and_the_other_server_stays(tmp_path: Path, entry: RawJson, words: str) -> None:
    config = config_of(tmp_path, {"wrong": entry, "right": {"command": "x"}})

    assert [server.name for server in config.servers] == ["right"]
    assert words in config.problems["wrong"]
    assert "\n" not in config.problems["wrong"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"mcpServers": []}', "\xff", "[" * 100_000, "{}//", "/*", '{"a": "\n"}', ",", "/"]
)
def test_a_file_that_is_no_configuration_is_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes(text.encode("latin-1"))

    config = read_config(file, {})

    assert not config.servers
    assert "mcp.json" in config.problems["mcp.json"]


WRITTEN_BY_AN_EDITOR = """// My servers
{
    /* Those of the team,
       and mine */
    "mcpServers": {
        "a": {"command": "x", "args": ["https://h/a", "/* no comment */", ",]", "\\\\", "a\\\"//b",],}, // the first
        // "b": {"command": "y"},
    },
}
"""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_comments_and_trailing_commas_are_read_as_editors_write_them(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(WRITTEN_BY_AN_EDITOR, encoding=encoding)

    config = read_config(file, {})

    (server,) = config.servers
    assert server.reach == Command("x", ("https://h/a", "/* no comment */", ",]", "\\", 'a"//b'))
    assert not config.problems


def test_a_mistake_behind_comments_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(WRITTEN_BY_AN_EDITOR.replace('"command": "x",', '"command" "x",'))

    assert "is no JSON in line 6" in read_config(file, {}).problems["mcp.json"]


def test_a_value_for_which_only_an_editor_asks_is_named(tmp_path: Path) -> None:
    config = config_of(tmp_path, {"a": {"command": "x", "env": {"KEY": "${input:key}"}}})

    assert config.problems["a"] == '"env.KEY" holds ${input:…}, for which only an editor asks; write ${NAME} instead'


def test_disabled_servers_are_no_servers_and_no_problem(tmp_path: Path) -> None:
    config = config_of(tmp_path, {"a": {"command": "x", "disabled": True}, "b": {"command": "x", "enabled": False}})

    assert not config.servers
    assert not config.problems


@pytest.mark.parametrize(
    ("lists", "offered"),
    [
        ({}, ["get_one", "get_two", "set_one"]),
        ({"allow": ["get_*"]}, ["get_one", "get_two"]),
        ({"deny": ["*_one"]}, ["get_two"]),
        ({"allow": ["get_*"], "deny": ["get_two"]}, ["get_one"]),
        ({"allow": []}, []),
        ({"includeTools": ["set_one"]}, ["set_one"]),
    ],
)
def test_deny_wins_over_allow(tmp_path: Path, lists: RawJson, offered: list[str]) -> None:
    (server,) = config_of(tmp_path, {"a": {"command": "x", **lists}}).servers

    assert [tool for tool in ("get_one", "get_two", "set_one") if server.offers(tool)] == offered


def test_two_servers_whose_names_look_alike_have_prefixes_of_their_own(tmp_path: Path) -> None:
    config = config_of(
        tmp_path, {"my server": {"command": "x"}, "my_server": {"command": "y"}, "服务": {"command": "z"}}
    )

    prefixes = {server.name: server.prefix for server in config.servers}
    assert prefixes["my_server"] == "my_server"
    assert len(set(prefixes.values())) == 3


def test_without_a_setting_only_a_file_that_is_there_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_source("") is None

    source = open_source("elsewhere/mcp.json")

    assert source is not None
    assert source.unavailable == {"MCP mcp.json": "MCP_CONFIG names 'elsewhere/mcp.json', and there is no such file"}


def test_without_the_package_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config_of(tmp_path, {"a": {"command": "x"}, "b": {"command": "x"}})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    source = open_source(str(tmp_path / "mcp.json"))

    assert source is not None
    (sentence,) = source.unavailable.values()
    assert "pip install mcp" in sentence


def test_what_the_operator_says_of_a_tool_is_read(tmp_path: Path) -> None:
    told = {
        "purpose": "Search our wiki.",
        "category": "knowledge",
        "useWhen": "the person asks about the company",
        "notFor": "news",
        "prefer": {"search_web": "news"},
        "examples": [{"query": "holidays"}],
        "keywords": ["wiki", "\u7ef4\u57fa"],
    }
    config = config_of(tmp_path, {"kb": {"command": "x", "describe": {"search": told}}})

    [server] = config.servers
    assert server.descriptions["search"] == Description(
        purpose="Search our wiki.",
        category="knowledge",
        use_when="the person asks about the company",
        not_for="news",
        examples=({"query": "holidays"},),
        keywords=("wiki", "\u7ef4\u57fa"),
        rather=(("search_web", "news"),),
    )


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ([], None),
        (["search"], '"describe" must be an object'),
        ({"search": "web"}, '"describe.search" must be an object with purpose, category, useWhen'),
        ({"search": {"use_when": "x"}}, "\"describe.search\" has no key 'use_when'; there are purpose, category"),
        ({"search": {"notFor": 5}}, 'what "describe.search" says must be texts'),
        ({"search": {"prefer": ["a"]}}, '"prefer" an object of texts by tool'),
        ({"search": {"examples": [5]}}, '"describe.search.examples" must be a list of objects'),
        ({"search": {"keywords": "a"}}, '"keywords" must be a list'),
    ],
)
def test_a_description_that_is_not_right_costs_its_server_and_is_one_sentence(
    tmp_path: Path, told: RawJson, says: str | None
) -> None:
    config = config_of(tmp_path, {"kb": {"command": "x", "describe": told}})

    if says is None:
        assert len(config.servers) == 1
    else:
        assert says in config.problems["kb"] and not config.servers
