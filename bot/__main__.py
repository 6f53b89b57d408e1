"""`python -m bot`, the same as `parley`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its code."""
    from bot.cli.main import main as command_line

    sys.exit(command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
