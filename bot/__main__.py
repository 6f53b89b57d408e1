"""`python -m bot`: `parley`, by the short name that a clone has."""

from __future__ import annotations

from parley_chat.__main__ import main

if __name__ == "__main__":
    main()
