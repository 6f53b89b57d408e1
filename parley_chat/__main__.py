"""`python -m parley_chat`, the same as `parley`: in a clone and from the wheel."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

_PACKAGES = ("bot", "adapters", "tools", "playground")


def main() -> None:
    """Run the command line and exit with its code."""
    if sentence := find_foreign(Path(__file__).resolve().parent):
        sys.stderr.write(f"parley: {sentence}\n")
        sys.exit(2)
    from bot.cli.main import main as command_line

    sys.exit(command_line(sys.argv[1:]))


def find_foreign(folder: Path) -> str:
    """Return a sentence if, in a clone, Python finds another module under the name of one of ours; else nothing.

    Nothing is imported: a `bot.py` that somebody keeps in their folder would begin to run. The wheel has no such names.

    Args:
        folder: where this package lies.
    """
    if (folder / "bot").is_dir():
        return ""
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        found = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if found != folder.parent / name / "__init__.py":
            return (
                f"Python finds another module {name!r} ({found or 'without a file'}) before this clone's own: start "
                "it from another folder, or without that one in PYTHONPATH; a wheel of it has no such names"
            )
    return ""


if __name__ == "__main__":
    main()
