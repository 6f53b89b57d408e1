"""What an operator needs: logs, metrics, health checks, and an orderly stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.operations.heap import collect_at_rest, keep_compact, read_in_pieces, resident_bytes, set_loaded_apart
from bot.operations.listener import raise_descriptor_limit
from bot.operations.logs import about, set_up
from bot.operations.machine import find_unresolved, read_memory
from bot.operations.outlet import Outlet
from bot.operations.stopping import TURN_SECONDS, StopRequest, end_in_order
from bot.operations.traces import open_tracing
from bot.operations.watchdog import LoopWatch
from tools.contract.latenames import load_late

if TYPE_CHECKING:
    from bot.operations.admin import AdminPage
    from bot.operations.http import HttpServer
    from bot.operations.web import WebServer
else:
    __getattr__ = load_late(__name__, {"admin": "AdminPage", "http": "HttpServer", "web": "WebServer"})
