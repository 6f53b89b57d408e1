"""The suites, and what a scene is made of: `from parley_chat.contract.suites import Scene, SurfaceContract`."""

from __future__ import annotations

from parley_chat.contract.clock import FakeClock
from parley_chat.contract.ears import listening
from parley_chat.contract.events import EventContract
from parley_chat.contract.failures import FailureContract
from parley_chat.contract.quotes import QuoteContract
from parley_chat.contract.scene import Call, Scene, Shown, Version, until
from parley_chat.contract.surfaces import SurfaceContract
from parley_chat.contract.threads import ThreadContract

__all__ = [
    "Call",
    "EventContract",
    "FailureContract",
    "FakeClock",
    "QuoteContract",
    "Scene",
    "Shown",
    "SurfaceContract",
    "ThreadContract",
    "Version",
    "listening",
    "until",
]
