"""What the code uses of libraries beyond what they promise: each place, and the test that a new version would fail."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parent.parent
OURS = ("bot", "adapters", "tools", "parley_chat", "playground")
DISCORD = "tests/adapters/discord/test_adapter.py"
STORE = "tests/bot/store/test_database.py"
UNPROMISED = {
    "adapters/discord/compat.py": {
        "_state": "tests/adapters/discord/test_about.py::test_what_is_written_in_the_form_is_asked_about_the_message",
        "_connection": f"{DISCORD}::test_an_event_that_cannot_be_read_is_left_out_alone",
        "_from_data": "tests/adapters/discord/test_intake.py::"
        "test_a_poll_without_an_end_and_a_voice_message_are_told_as_what_they_are",
        "Route.BASE": f"{DISCORD}::test_discord_itself_is_reached_by_the_library_s_own_addresses",
        "DiscordWebSocket.DEFAULT_GATEWAY": f"{DISCORD}::test_discord_itself_is_reached_by_the_library_s_own_addresses",
        "client.http.ws_connect": f"{DISCORD}::test_a_gateway_that_greets_in_an_odd_way_is_tried_again_by_the_caller",
        "discord.VoiceClient.warn_nacl": f"{DISCORD}::test_nothing_is_said_of_voice",
        "discord.VoiceClient.warn_dave": f"{DISCORD}::test_nothing_is_said_of_voice",
    },
    "adapters/telegram/compat.py": {
        "_post": "tests/adapters/telegram/test_adapter.py::test_an_update_that_cannot_be_read_is_left_out_alone",
    },
    "bot/agent/driving.py": {
        "_unregister_task": "tests/journeys/test_own_agent.py::"
        "test_one_that_does_not_end_is_left_behind_and_the_chat_goes_on",
    },
    "bot/intake/engine.py": {
        "self._started.background_thread_stop_events": "tests/bot/intake/test_fleet.py::"
        "test_a_process_that_ends_in_order_hands_over_within_a_second",
        "dbos._queue": "tests/bot/intake/test_fleet.py::"
        "test_what_comes_to_three_processes_at_once_is_answered_once_in_order",
    },
    "bot/model/transport.py": {
        "content.set_exception": "tests/bot/model/test_transport.py::"
        "test_what_arrived_before_the_connection_broke_is_read_also_by_who_gathers",
    },
    "bot/store/database.py": {
        "_execute": f"{STORE}::test_a_connection_is_closed_behind_the_work_under_way_and_its_thread_ends",
        "_conn": f"{STORE}::test_a_connection_is_closed_behind_the_work_under_way_and_its_thread_ends",
    },
    "bot/operations/heap.py": {
        "_SelectorTransport": "tests/bot/operations/test_heap.py::"
        "test_what_arrives_is_read_in_pieces_that_come_from_the_heap",
    },
    "tools/documents/sheets.py": dict.fromkeys(
        (
            *("_cell_styles", "_get_source", "_number_formats", "_shared_strings", "_worksheet_path"),
            "openpyxl.worksheet._reader",
        ),
        "tests/tools/documents/test_seen.py::test_all_that_is_seen_of_a_workbook_is_told_or_counted",
    ),
    "tools/programs/subprocesses.py": {
        "_transport": "tests/tools/mcp/test_programs.py::test_output_that_nobody_read_is_let_go_with_its_program",
    },
    "tools/sandbox/kernel.py": {
        "_bind_socket": "tests/tools/sandbox/test_rich.py::test_variables_and_the_last_value_are_kept",
        "_showtraceback": "tests/tools/sandbox/test_rich.py::test_an_error_is_a_plain_traceback_of_the_codes_own_lines",
    },
    "tools/sandbox/layout.py": {
        "_base_executable": "tests/tools/sandbox/test_sessions.py::"
        "test_variables_imports_and_files_are_kept_between_cells",
    },
    "parley_chat/contract/clock.py": {
        "_ready": "tests/test_clock.py::test_a_long_way_from_task_to_task_takes_no_time",
    },
}
"""By file, what is used, and the test that fails where a new version of the library does it otherwise."""
DOCUMENTED = {"_replace", "_getframe", "_current_frames", "_exit", "_Decompress"}
"""Names with an underscore that Python's own documentation describes, or mypy's description of its types."""
NAMED = {
    "background_thread_stop_events": "self._started",
    "set_exception": "content",
    "ws_connect": "client.http",
}
"""Names without an underscore that are used in a way that nobody promises, and of what."""


Nodes: TypeAlias = list[ast.AST]
KINDS = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Name,
    ast.Attribute,
    ast.Call,
    ast.Import,
    ast.ImportFrom,
)


def read(path: Path) -> Nodes:
    """Return the nodes of a module that matter here. To keep whole trees, or to walk them twice, takes far longer."""
    left: Nodes = [ast.parse(path.read_text())]
    found: Nodes = []
    while left:
        node = left.pop()
        if isinstance(node, KINDS):
            found.append(node)
        for field in node._fields:
            value = getattr(node, field)
            if isinstance(value, list):
                left += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                left.append(value)
    return found


@cache
def modules() -> dict[str, Nodes]:
    paths = [path for package in OURS for path in (ROOT / package).rglob("*.py")]
    return {str(path.relative_to(ROOT)): read(path) for path in paths}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name.isidentifier() and len(name) > 1


def names_made(nodes: Nodes) -> Iterator[str]:
    """The names that a module gives: to functions, classes, variables, attributes, fields of `__slots__`."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def used(nodes: Nodes, own: set[str]) -> Iterator[str]:
    """The names that are not ours: private ones, attributes set on what was imported, known ones by another way."""
    imported = {
        name.asname or name.name.partition(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        and (node.names[0].name if isinstance(node, ast.Import) else node.module or "").partition(".")[0]
        not in {*OURS, *sys.stdlib_module_names}
        for name in node.names
    }
    for node in nodes:
        match node:
            case ast.Attribute(attr=name) if is_private(name) and name not in own | DOCUMENTED:
                yield name
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                if is_private(name) and not name.startswith("_repr_"):  # IPython documents those
                    yield name
            case ast.ImportFrom(module=str(name)) if name.partition(".")[0] not in {*OURS, *sys.stdlib_module_names}:
                if any(is_private(part) for part in name.split(".")):
                    yield name
            case ast.Attribute(ctx=ast.Store()) if root_of(node) in imported:
                yield ast.unparse(node)
            case ast.Attribute(attr=name) if name in NAMED and ast.unparse(node.value) == NAMED[name]:
                yield ast.unparse(node)


def root_of(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def test_what_no_library_promises_is_used_in_few_places_and_each_is_shown_by_a_test() -> None:
    own: dict[Path, set[str]] = {}
    for path, nodes in modules().items():
        own.setdefault(Path(path).parent, set()).update(names_made(nodes))

    found = {path: names for path, nodes in modules().items() if (names := set(used(nodes, own[Path(path).parent])))}

    assert found == {path: set(names) for path, names in UNPROMISED.items()}


def test_the_tests_that_show_it_exist() -> None:
    for names in UNPROMISED.values():
        for shown in names.values():
            path, _, test = shown.partition("::")
            assert test in set(names_made(read(ROOT / path))), shown
