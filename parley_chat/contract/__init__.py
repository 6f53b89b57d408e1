"""A plug-in of pytest: what every platform promises, as suites that an adapter passes when it is finished.

`parley_chat.contract.suites` has the suites and the protocol `Scene`, by which they act on a platform and look at it;
docs/extending.md shows how. Loaded as a plug-in (`parley.contract`), it has pytest explain the suites' assertions.
"""

from __future__ import annotations

import pytest

from parley_chat.contract import waiting


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever runs the suites say how patient they are."""
    help = "seconds that the suites of parley.contract wait for what must happen (default: %(default)s)"
    parser.getgroup("parley").addoption("--contract-seconds", type=float, default=waiting.seconds, help=help)


def pytest_configure(config: pytest.Config) -> None:
    """Take what was said."""
    waiting.seconds = config.getoption("--contract-seconds")
