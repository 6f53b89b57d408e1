"""A server of an older protocol, by hand and badly behaved: `plain.py MODE`. It needs no library and starts at once.

silent: never answers a list. malformed: its tools have odd parts. enormous: a result of 14 MB in one line.
stubborn: ends neither when its input ends nor when it is asked to. babble: writes what is no message.
legacy: tells that its tools changed. pages: its list has no end. shout: writes a lot to standard error.
environment: its tool tells what it was given. dies: ends at once, with a reason. tasks: some of its tools run as tasks.
dense: a small result of very many values. wordy: as many, but written out in one text.
confess: tells what it was given at its start and when it is called. brood FILE: as stubborn, with a child in its group,
and one that left it; their numbers go to the file. listed FILE: its tools are those in the file, and a
call is answered with what the tool's entry `answers`, else with what it was given.
flood WHAT: a call is answered after 2,000 lines of that.
held FIFO: as any other, once something was written to that named pipe.
handy FILE: well behaved, with the tools of `everything.py` that have to do with its process; what happens in it goes to
the file, a line each. Anything else: a tool that tells its process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, TypeAlias

Fields: TypeAlias = dict[str, Any]
MODE = sys.argv[1]
ODD = [
    {"name": "fine", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}}},
    {"name": "no schema"},
    {"name": "a list", "inputSchema": {"type": "array"}},
    {"name": 7, "inputSchema": {"type": "object"}},
    {"name": "circle", "inputSchema": {"type": "object", "properties": {"me": {"$ref": "#"}}}},
    {"name": "outside", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1/x"}}}},
    {"name": "wrong number", "inputSchema": {"type": "object", "properties": {"x": {"minLength": "three"}}}},
    {"name": "either", "inputSchema": {"anyOf": [{"properties": {"x": {}}}, {"properties": {"y": {}}}]}},
    {"name": "odd title", "title": 7, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": "maybe"}},
    {"name": "天气.查询", "description": "Wetter\u202e\u0007", "inputSchema": {"type": "object"}},
]
GIVEN = "\n".join([*sys.argv[2:], *os.environ.values()])
HANDY = [{"name": name, "inputSchema": {"type": "object"}} for name in ("wait", "crash", "child")]
ADD = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
tools: list[Fields] = [{"name": "echo", "inputSchema": {"type": "object"}}]
if MODE == "handy":
    tools = [*HANDY, {"name": "add", "inputSchema": ADD, "annotations": {"readOnlyHint": True}}]
if MODE == "legacy":
    tools.append({"name": "odd", "inputSchema": {"type": "object", "properties": {"x": {"minimum": "1"}}}})
waiting: set[object] = set()
"""The calls of `wait`, which are not answered until they are cancelled."""


def send(message: Fields) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def journal(line: str) -> None:
    with Path(sys.argv[2]).open("a") as file:
        file.write(line + "\n")


def start_child() -> int:
    """A process that would outlive this one, once it does not end when it is asked to."""
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    )
    started = subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE)
    assert started.stdout is not None
    started.stdout.readline()
    return started.pid


def use(number: object, name: str, arguments: Fields) -> Fields | None:
    """What a tool of `handy` says."""
    said = ""
    match name:
        case "add":
            said = str(arguments["a"] + arguments["b"])
        case "child":
            said = f"{os.getpid()} {start_child()}"
        case "crash":
            journal("crashed")
            os._exit(3)
        case "wait":
            waiting.add(number)
            journal("started")
            return None
    return {"content": [{"type": "text", "text": said}]}


def misbehave() -> Fields:
    """What a call is answered where nobody is well behaved."""
    if MODE == "enormous":
        return {"content": [{"type": "text", "text": "x" * 14_000_000}]}
    if MODE == "dense":
        return {"content": [], "structuredContent": {"rows": [[]] * 100_000}}
    if MODE == "wordy":
        return {"content": [{"type": "text", "text": json.dumps([["a"]] * 200_000)}]}
    if MODE == "legacy":
        tools.append({"name": "later", "inputSchema": {"type": "object"}})
        send({"method": "notifications/tools/list_changed"})
    if MODE == "flood":
        sys.stdout.write((sys.argv[2] + "\n") * 2_000)
    if MODE == "shout":
        sys.stderr.write(("error " * 40 + "\n") * 20_000)
        sys.stderr.flush()
    told = json.dumps(dict(os.environ)) if MODE == "environment" else str(os.getpid())
    if MODE == "confess":
        told = GIVEN
    return {"content": [{"type": "text", "text": told}]}


def answer(request: Fields) -> Fields | None:
    match request["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25" if MODE == "tasks" else "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "plain", "version": "1"},
            }
        case "tools/list" if MODE == "silent":
            return None
        case "tools/list" if MODE == "listed":
            return {"tools": json.loads(Path(sys.argv[2]).read_text())}
        case "tools/list" if MODE == "malformed":
            return {"tools": ODD, "nextCursor": 7}
        case "tools/list" if MODE == "tasks":
            some = {"research": "required", "either": "optional"}
            return {
                "tools": tools
                + [{**tools[0], "name": name, "execution": {"taskSupport": support}} for name, support in some.items()]
            }
        case "tools/list" if MODE == "pages":
            number = int(request.get("params", {}).get("cursor", 0))
            return {"tools": [{**tools[0], "name": f"echo{number}"}], "nextCursor": str(number + 1)}
        case "tools/list":
            return {"tools": tools}
        case "tools/call" if MODE == "handy":
            return use(request["id"], request["params"]["name"], request["params"].get("arguments", {}))
        case "tools/call" if MODE == "listed":
            params = request["params"]
            by_name: dict[str, dict[str, Fields]] = {
                one["name"]: one for one in json.loads(Path(sys.argv[2]).read_text())
            }
            given: Fields = {"content": [{"type": "text", "text": json.dumps(params.get("arguments", {}))}]}
            return by_name[params["name"]].get("answers", given)
        case "tools/call":
            return misbehave()
    return {}


if MODE == "held":
    with Path(sys.argv[2]).open("rb") as held:
        held.read(1)
if MODE == "dies":
    sys.stderr.write(f"Traceback\n\n  no database at /srv/forge for {os.environ.get('FORGE_TOKEN')}")
    sys.exit(2)
if MODE == "confess":
    sys.stderr.write(GIVEN + "\n")
    sys.stderr.flush()
if MODE == "handy":
    journal(f"pid {os.getpid()}")
if MODE in ("stubborn", "brood"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if MODE == "brood":
    children = [
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], start_new_session=leaves)
        for leaves in (False, True)
    ]
    Path(sys.argv[2]).write_text(" ".join(str(pid) for pid in (os.getpid(), *(child.pid for child in children))))
for line in sys.stdin:
    request = json.loads(line)
    if MODE == "babble":
        sys.stdout.write("Listening on port 3000 …\n{}\n[1]\n\n" + "{" * 3000 + "\n")
    if request.get("method") == "notifications/cancelled" and request["params"]["requestId"] in waiting:
        waiting.remove(request["params"]["requestId"])
        journal("cancelled")
    if "id" not in request:
        continue
    if request["method"] == "server/discover":
        send({"id": request["id"], "error": {"code": -32601, "message": "unknown method"}})
        continue
    result = answer(request)
    if result is not None:
        send({"id": request["id"], "result": result})
while MODE in ("stubborn", "brood"):
    time.sleep(600)
