"""The shape of the project: which way imports go, and that what is written twice agrees."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from adapters import PLATFORMS
from bot.cli.env_example import example
from bot.settings import configuration, variables
from tools import TOOLS

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "parley_chat": {"parley_chat", "adapters", "bot", "tools"},
    "adapters": {"adapters", "bot", "tools"},
    "bot": {"bot", "tools"},
    "tools": {"tools"},
    "playground": {"playground"},
}
MODULES = dict.fromkeys(path for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py")))


Statement: TypeAlias = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef
WRITTEN = re.compile(r"^[ \t]*(from bot[\w.]* import (?:\([^)]*\)|[^\n(]+)|import bot[^\n]*)", re.MULTILINE)


@cache
def statements_of(path: Path) -> tuple[Statement, ...]:
    """The imports and functions of a module, late imports and those for types included.

    Of a module of ours what else it is made of is not kept: looking for garbage among that costs more than reading.
    Of tests only the imports of `bot` are read.
    """
    text = path.read_text()
    if path not in MODULES:
        text = "\n".join(WRITTEN.findall(text))
    found: list[ast.AST] = [ast.parse(text)]
    for node in found:
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            found += getattr(node, part, ())
    return tuple(node for node in found if isinstance(node, Statement))


def import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    return [node for node in statements_of(path) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(path: Path) -> set[str]:
    """The top-level packages a module imports, late imports included."""
    found: set[str] = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_go_one_way(package: str) -> None:
    forbidden = set(ALLOWED) - ALLOWED[package]

    wrong = {
        str(path.relative_to(ROOT)): found
        for path in (ROOT / package).rglob("*.py")
        if (found := imported(path) & forbidden) and path != BOT / "__main__.py"  # it is `parley_chat`'s
    }

    assert not wrong


def test_a_module_of_ours_is_imported_in_the_form_that_the_wheel_can_rename() -> None:
    """`import tools.base` binds `tools`, which is no name in the wheel."""
    wrong = {
        f"{path.relative_to(ROOT)}, line {node.lineno}"
        for path in MODULES
        for node in import_statements(path)
        if isinstance(node, ast.Import)
        for one in node.names
        if one.asname is None and one.name.partition(".")[0] in set(ALLOWED) - {"parley_chat"}
    }

    assert not wrong


BOT = ROOT / "bot"
ORDER = (
    *("sentences", "contract", "toolsyntax", "markdown", "network", "store", "safety"),
    *("operations", "model", "settings", "policy", "toolchoice", "context", "agent", "pacing", "reply", "turn"),
    *("commands", "intake", "app", "cli", "__main__"),
)
"""The rooms of `bot/` and the files beside them: each imports only those listed before it."""
FOR_ADAPTERS = {"contract", "markdown", "network", "sentences", "settings"}
"""`sentences`: menus of commands are written in each language when an adapter starts."""
NAMESPACES = {
    "contract": {"answers", "identity", "words"},
    "safety": {"enclosures", "redacted"},
    "toolsyntax": {"repair"},
}
"""Files whose names say little without the file's: they are used as `words.parse`."""


def name_of(path: Path) -> str:
    """The dotted name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_of(path: Path) -> set[tuple[str, str]]:
    """What a module imports of `bot`, late imports and those for types included: the module named, and the name."""
    found: set[tuple[str, str]] = set()
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found |= {(name.name, "") for name in node.names if name.name.partition(".")[0] == "bot"}
        elif (node.module or "").partition(".")[0] == "bot":
            found |= {(node.module or "", name.name) for name in node.names}
    return found


def room_of(module: str, name: str = "") -> str:
    return [*module.split("."), name][1]


def test_a_room_imports_only_what_stands_before_it() -> None:
    rooms = {name_of(path).split(".")[1] for path in BOT.rglob("*.py") if path != BOT / "__init__.py"}
    wrong = {
        f"{name_of(path)} imports {module}"
        for path in BOT.rglob("*.py")
        if path != BOT / "__init__.py"
        for module, name in imports_of(path)
        if ORDER.index(room_of(module, name)) > ORDER.index(room_of(name_of(path)))
    }

    arrows = {
        (own, room)
        for path in BOT.rglob("*.py")
        if (own := name_of(path).partition(".")[2].partition(".")[0])
        for module, name in imports_of(path)
        if (room := room_of(module, name)) != own
    }

    assert rooms == set(ORDER) and len(rooms) <= 22 + len({"__main__"})
    assert len(arrows) <= 111
    assert not wrong
    assert len(list(BOT.glob("*.py"))) <= 3


TOOL_ORDER = (
    *("contract", "programs", "settings", "databases", "times", "calling", "sandbox", "mcp", "calculation", "fetch"),
    *("documents", "speech", "pictures"),
)
"""The rooms of `tools/` below the tools, which import no other tool; `shell` and `__main__` stand above."""


def test_a_room_of_tools_imports_only_what_stands_before_it_and_no_tool_another() -> None:
    order = (*TOOL_ORDER, "", "shell", "__main__")
    floor = {
        room: order.index("" if room in TOOLS else room) for room in (*TOOLS, *order[: len(TOOL_ORDER)], *order[-2:])
    }
    arrows = {
        (own, room_of(node.module or "", node.names[0].name))
        for path in (ROOT / "tools").rglob("*.py")
        if (own := name_of(path).partition(".")[2].partition(".")[0])
        for node in import_statements(path)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tools"
    }
    arrows = {(own, room) for own, room in arrows if own != room and room != "open_registry"}

    assert {path.stem for path in (ROOT / "tools").iterdir() if path.stem[:2] != "__"} | {"__main__"} == floor.keys()
    assert not {(own, room) for own, room in arrows if floor[room] >= floor[own]}
    assert len(floor.keys() - TOOLS) <= 15 and len([own for own, _ in arrows if own not in TOOLS]) <= 29
    assert all(len([own for own, _ in arrows if own == tool]) <= 5 for tool in TOOLS), arrows


def test_nobody_goes_past_the_door_of_a_room() -> None:
    """A room's `__init__` names what others may use; they import it from there."""
    doors = {path.parent.name for path in BOT.glob("*/__init__.py")} - {"cli"}
    wrong = set()
    for path in [*BOT.rglob("*.py"), *(ROOT / "adapters").rglob("*.py")]:
        own = room_of(name_of(path)) if name_of(path).startswith("bot.") else ""
        for module, name in imports_of(path):
            room = room_of(module, name)
            if room not in doors or room == own:
                continue
            behind = (BOT / room / f"{name}.py").exists() and name not in NAMESPACES.get(room, set())
            if module.count(".") > 1 or behind:
                wrong.add(f"{name_of(path)} imports {module}.{name}")

    assert not wrong


def test_every_name_at_a_door_has_a_user_outside() -> None:
    """A door hands out what it imports, and nothing that nobody asks for."""
    users = [path for package in ("bot", "adapters", "tests", "bench") for path in (ROOT / package).rglob("*.py")]
    doors = list(BOT.glob("*/__init__.py"))
    used: dict[tuple[str, str], set[str]] = {}
    for path in users:
        for found in imports_of(path):
            used.setdefault(found, set()).add(room_of(name_of(path)) if path.is_relative_to(BOT) else path.name)

    idle = {
        f"{room} hands out {name}"
        for room, door in ((door.parent.name, door) for door in doors)
        for module, name in imports_of(door)
        if module.startswith(f"bot.{room}.") and not used.get((f"bot.{room}", name), set()) - {room}
    }

    assert doors and not idle


def test_a_door_loads_late_what_it_imports_for_types() -> None:
    """Both lists of `load_late` agree: the names that a type checker sees, and those that a program finds."""
    late = {}
    for door in BOT.glob("*/__init__.py"):
        for node in ast.parse(door.read_text()).body:
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                seen = {
                    (one.module, name.name)
                    for one in node.body
                    if isinstance(one, ast.ImportFrom)
                    for name in one.names
                }
                [assigned] = [one.value for one in node.orelse if isinstance(one, ast.Assign)]
                assert isinstance(assigned, ast.Call) and ast.unparse(assigned.func) == "load_late"
                files: dict[str, str] = ast.literal_eval(assigned.args[1])
                found = {
                    (f"bot.{door.parent.name}.{file}", name) for file, all in files.items() for name in all.split()
                }
                late[door.parent.name] = (seen, found)

    assert len(late) >= 6
    assert {room: seen for room, (seen, _) in late.items()} == {room: found for room, (_, found) in late.items()}


def test_an_adapter_knows_the_ground_floor_and_no_other_adapter() -> None:
    wrong = set()
    for path in (ROOT / "adapters").rglob("*.py"):
        rooms = {room_of(module, name) for module, name in imports_of(path)}
        own = path.relative_to(ROOT / "adapters").parts[0]
        for node in import_statements(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("adapters."):
                room = (node.module or "").split(".")[1]
                table = own == "__init__.py" and (node.module or "").endswith((".ids", ".manifest"))
                if room not in (own, "download", "formatting", "settings") and not table:
                    wrong.add(f"{name_of(path)} imports {node.module}")
        wrong |= {f"{name_of(path)} imports bot.{room}" for room in rooms - FOR_ADAPTERS}

    assert not wrong


def test_an_adapter_takes_time_from_its_clock() -> None:
    """Its library has waits of its own; ours are moved by whoever hands in the clock. `sleep(0)` lets others run."""
    ours = r"\btime\.(time|monotonic|sleep)\(|\bloop(\(\))?\.time\(|\basyncio\.(timeout|wait_for|sleep\((?!0\)))"

    users = {name_of(path) for path in (ROOT / "adapters").rglob("*.py") if re.search(ours, path.read_text())}
    users |= {
        name_of(path)
        for path in (ROOT / "adapters").rglob("*.py")
        if re.search(r"asyncio\.wait\([^)]*timeout=", path.read_text())
    }

    assert not users


def test_a_platform_is_opened_and_checked_in_the_module_of_its_row() -> None:
    for platform in PLATFORMS.values():
        file = ROOT.joinpath(*platform.module.split(".")).with_suffix(".py")
        named = {node.name for node in statements_of(file) if not isinstance(node, ast.Import | ast.ImportFrom)}

        assert {"open_adapter", "check"} <= named, platform


NAMING = {
    "cli/chats.py": "an example of an id",
    "cli/env_example.py": "the setting that comes first",
    "cli/init.py": "an example of an id",
    "cli/main.py": "what the program is for, and an example of an id",
    "settings/environment.py": "what other programs call our settings",
    "policy/access.py": "a sentence: in Slack a command has no slash",
    "settings/channels.py": "an example of an id",
    "sentences/people.py": "a sentence: in Slack a command has no slash",
    "settings/groups.py": "examples of ids, and which platform has workspaces or roles",
    "store/renaming.py": "a step of the schema",
    "toolchoice/glossary.py": "words of people who ask for a tool",
}
"""Files of `bot/` with a platform's name in their code, and why."""


def test_the_core_names_no_platform_but_in_examples() -> None:
    """Code, not comments and docstrings: a platform is added in `adapters/` alone. `console` is any terminal's word,
    and `web` any server's."""
    platform = re.compile("|".join(PLATFORMS.keys() - {"console", "web"}), re.IGNORECASE)
    found = set()
    for path in BOT.rglob("*.py"):
        if platform.search(path.read_text()):
            tree = ast.parse(path.read_text())
            silent = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                named = [getattr(node, field, None) for field in ("id", "attr", "arg", "name", "module")]
                named += [node.value] if isinstance(node, ast.Constant) and node not in silent else []
                if any(isinstance(name, str) and platform.search(name) for name in named):
                    found.add(path.relative_to(BOT).as_posix())

    assert found == set(NAMING)


def test_no_files_import_each_other_in_a_circle() -> None:
    """Late imports and those for types count: they only hide one."""
    packages = ("bot", "adapters", "tools")
    modules = {name_of(path): path for package in packages for path in (ROOT / package).rglob("*.py")}
    arrows: dict[str, set[str]] = {}
    for own, path in modules.items():
        arrows[own] = set()
        for node in import_statements(path):
            if isinstance(node, ast.ImportFrom):
                for name in node.names:
                    whole = f"{node.module}.{name.name}"
                    arrows[own] |= {whole if whole in modules else node.module or ""} & modules.keys()
    while ends := {own for own, to in arrows.items() if not to}:
        arrows = {own: to - ends for own, to in arrows.items() if own not in ends}

    assert not {own: to for own, to in arrows.items() if any(own in arrows[one] for one in to)} and not arrows


def test_only_app_loads_packages_by_name() -> None:
    """`bot/app` looks everywhere, late; the command line and the doctor may name a module to hand over to."""
    allowed = {
        "settings/configuration.py",
        "app/agents.py",
        "app/rules.py",
        "cli/main.py",
        "cli/chat.py",
        "cli/doctor.py",
        "cli/replay.py",
        "model/library.py",
    }

    users = {
        str(path.relative_to(ROOT / "bot"))
        for path in (ROOT / "bot").rglob("*.py")
        if "importlib.import_module" in path.read_text()
    }

    assert users <= allowed


def test_tests_are_typed_as_the_code_is() -> None:
    """`Any` stands where something is truly any; what a service said is `RawJson` of `tests/conftest.py`."""
    lines = [line for path in (ROOT / "tests").rglob("*.py") for line in path.read_text().splitlines()]
    anything = [
        line for line in lines if re.search(r"\bAny\b", line) and not re.match(r"from typing import|    Any,", line)
    ]

    assert 0 < len(anything) <= 130, "give a fixture or a helper its type instead"


CLOCK = re.compile(r"\b(time|monotonic|perf_counter|now|utcnow|today|localtime|gmtime|formatdate|slowed|slowness)\(")


def done_on_import(module: ast.AST) -> list[ast.Call]:
    """The calls of a module outside of its functions: what a table of cases is made of, too."""
    found, inside = list(ast.iter_child_nodes(module)), list[ast.AST]()
    while found:
        node = found.pop()
        inside.append(node)
        late = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        found += [part for name, part in fields_of(node) if not (late and name == "body")]
    return [node for node in inside if isinstance(node, ast.Call)]


def fields_of(node: ast.AST) -> list[tuple[str, ast.AST]]:
    named = [(name, part if isinstance(part, list) else [part]) for name, part in ast.iter_fields(node)]
    return [(name, part) for name, parts in named for part in parts if isinstance(part, ast.AST)]


def test_no_test_looks_at_the_clock_before_it_runs() -> None:
    """A whole run takes half an hour: what was now when a module was loaded is long ago then."""
    looks = {
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        if CLOCK.search(text := path.read_text())
        for call in done_on_import(ast.parse(text))
        if CLOCK.match(f"{ast.unparse(call.func).rpartition('.')[2]}(")
    }

    assert not looks


def test_an_adapter_to_a_framework_takes_at_most_a_hundred_lines() -> None:
    adapters = list((ROOT / "parley_chat/agents").glob("*.py"))

    assert len(adapters) > 4
    assert not [path.name for path in adapters if len(path.read_text().splitlines()) > 100]


def test_a_module_is_read_in_one_sitting() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}

    assert len(lengths) > 200
    assert not {name: lines for name, lines in lengths.items() if lines > 450}
    assert not [name for name in lengths if re.search(r"(utils?|helpers?|managers?)\.py$", name)]


def test_a_function_fits_on_one_screen() -> None:
    functions = {
        f"{name_of(path)}.{node.name}": node.end_lineno - node.lineno + 1
        for path in MODULES
        for node in statements_of(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    }

    assert len(functions) > 2_000
    assert len({name: lines for name, lines in functions.items() if lines > 60}) <= 3


def test_a_rule_that_is_not_kept_says_which_and_why() -> None:
    """Each `type: ignore` has its code and a reason, and there are few; an exception from C901 has its reason."""
    ignores = [line for path in MODULES for line in path.read_text().splitlines() if "# type: ignore" in line]
    branching = [line for path in MODULES for line in path.read_text().splitlines() if "# noqa: C901" in line]

    assert len(ignores) <= 10
    assert not [line for line in ignores if not re.search(r"# type: ignore\[[a-z-]+(?:, [a-z-]+)*\]  # \w", line)]
    assert len(branching) <= 15
    assert not [line for line in branching if not re.search(r"# noqa: C901  # \w", line)]


def test_env_example_lists_every_setting_with_its_default_and_its_sentence() -> None:
    """Written by `python -m bot.cli.env_example > .env.example`."""
    assert (ROOT / ".env.example").read_text() == example()


def test_every_setting_has_a_sentence() -> None:
    settings = variables(configuration.settings_classes())

    assert settings
    assert not [name for name, about in settings.items() if not about[1].endswith((".", "…"))]


def test_every_dependency_is_pinned_without_an_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }

    for dependency in [*project["dependencies"], *extras]:
        name = re.split(r"[\[>=<;\s]", dependency)[0].lower().replace("_", "-")
        assert name in pinned or name == "parley-chat", f"{name} is not in constraints.txt"
    assert "://" not in (ROOT / "constraints.txt").read_text()


def test_the_build_back_end_is_pinned_where_the_tests_install_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())

    (back_end,) = project["build-system"]["requires"]
    assert back_end in project["project"]["optional-dependencies"]["dev"]
    assert back_end in (ROOT / "constraints.txt").read_text().split()
    assert f"{back_end} " in (ROOT / "requirements-dev.lock").read_text()
