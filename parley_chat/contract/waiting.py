"""How long the suites wait for what must happen: only what never does takes that long."""

from __future__ import annotations

seconds = 10.0
"""Set by `--contract-seconds`."""
