"""A server of an older protocol, by hand and badly behaved: `plain.py MODE`. It needs no library and starts at once.

silent: never answers a list. malformed: some tools of its list are none. enormous: a result of 14 MB in one line.
stubborn: ends neither when its input ends nor when it is asked to. babble: writes what is no message.
legacy: tells that its tools changed. pages: its list has no end. shout: writes a lot to standard error.
environment: its tool tells what it was given. dies: ends at once, with a reason. tasks: some of its tools run as tasks.
dense: a small result of very many values. wordy: as many, but written out in one text.
confess: tells what it was given at its start and when it is called. brood FILE: as stubborn, with a child in its group,
and one that left it; their numbers go to the file. listed FILE: its tools
are those in the file. Anything else: a tool that tells its process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
ODD = [
    {"name": "fine", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}}},
    {"name": "no schema"},
    {"name": "a list", "inputSchema": {"type": "array"}},
    {"name": 7, "inputSchema": {"type": "object"}},
    {"name": "circle", "inputSchema": {"type": "object", "properties": {"me": {"$ref": "#"}}}},
    {"name": "outside", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "http://127.0.0.1/x"}}}},
    {"name": "wrong number", "inputSchema": {"type": "object", "properties": {"x": {"minLength": "three"}}}},
    {"name": "天气.查询", "description": "Wetter\u202e\u0007", "inputSchema": {"type": "object"}},
]
GIVEN = "\n".join([*sys.argv[2:], *os.environ.values()])
tools: list[dict[str, Any]] = [{"name": "echo", "inputSchema": {"type": "object"}}]


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request: dict[str, Any]) -> dict[str, Any] | None:
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
            return {"tools": ODD}
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
        case "tools/call":
            if MODE == "enormous":
                return {"content": [{"type": "text", "text": "x" * 14_000_000}]}
            if MODE == "dense":
                return {"content": [], "structuredContent": {"rows": [[]] * 100_000}}
            if MODE == "wordy":
                return {"content": [{"type": "text", "text": json.dumps([["a"]] * 200_000)}]}
            if MODE == "legacy":
                tools.append({"name": "later", "inputSchema": {"type": "object"}})
                send({"method": "notifications/tools/list_changed"})
            if MODE == "shout":
                sys.stderr.write(("error " * 40 + "\n") * 20_000)
                sys.stderr.flush()
            told = json.dumps(dict(os.environ)) if MODE == "environment" else str(os.getpid())
            if MODE == "confess":
                told = GIVEN
            return {"content": [{"type": "text", "text": told}]}
    return {}


if MODE == "dies":
    sys.stderr.write(f"Traceback\n\n  no database at /srv/forge for {os.environ.get('FORGE_TOKEN')}")
    sys.exit(2)
if MODE == "confess":
    sys.stderr.write(GIVEN + "\n")
    sys.stderr.flush()
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
