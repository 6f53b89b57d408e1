"""Who may see the operator's page: a token opens a session, and a signed cookie is its proof in every process."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections import deque
from typing import Final

from bot.contract import Clock

COOKIE: Final = "parley_admin"
PATH: Final = "/admin"
SESSION_SECONDS: Final = 12 * 3600
WRONG_TOKENS: Final = 5
"""Wrong tokens of one address in `WINDOW` seconds; after that not even the right one is looked at."""
WRONG_IN_ALL: Final = 60
WINDOW: Final = 60.0
_PROOF: Final = re.compile(r"([0-9]{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})")
_MOST_ADDRESSES: Final = 1_000


class TooManyError(Exception):
    """Too many wrong tokens; `seconds`: when the next one is looked at."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many wrong tokens; try again in {seconds:.0f} s")
        self.seconds = seconds


class Sessions:
    """Opens and recognises sessions.

    A session is its cookie: the time of its end, signed with a key that is derived from the token. So every process
    with this token accepts it, none has to store it, and another token ends them all.
    """

    def __init__(self, token: str, clock: Clock) -> None:
        self._digest = hashlib.sha256(token.encode()).digest()
        self._key = hashlib.sha256(b"session of the operator's page\0" + token.encode()).digest()
        self._clock = clock
        self._wrong: dict[str, deque[float]] = {}
        """Address → when it sent wrong tokens; the address of the latest one is last."""
        self._all: deque[float] = deque(maxlen=WRONG_IN_ALL)

    def open(self, token: str, address: str) -> str | None:
        """Return the cookie of a new session; None: the token is wrong.

        Args:
            address: the address of whoever sends it.

        Raises:
            TooManyError: too many wrong tokens came from there, or in all.
        """
        now = self._clock.monotonic()
        own = self._wrong.get(address, deque())
        for recent, most in ((own, WRONG_TOKENS), (self._all, WRONG_IN_ALL)):
            while recent and recent[0] <= now - WINDOW:
                recent.popleft()
            if len(recent) >= most:
                raise TooManyError(recent[0] + WINDOW - now)
        if hmac.compare_digest(hashlib.sha256(token.encode(errors="replace")).digest(), self._digest):
            self._wrong.pop(address, None)
            return self._sign(f"{int(self._clock.wall()) + SESSION_SECONDS}.{secrets.token_hex(16)}")
        self._wrong.pop(address, None)
        self._wrong[address] = own
        own.append(now)
        self._all.append(now)
        if len(self._wrong) > _MOST_ADDRESSES:
            del self._wrong[next(iter(self._wrong))]
        return None

    def accepts(self, cookie: str) -> bool:
        """Return True if a cookie is one of ours and its session has not ended."""
        found = _PROOF.fullmatch(cookie)
        if found is None or not hmac.compare_digest(self._sign(f"{found[1]}.{found[2]}"), cookie):
            return False
        return self._clock.wall() < int(found[1])

    def _sign(self, session: str) -> str:
        return f"{session}.{hmac.new(self._key, session.encode(), hashlib.sha256).hexdigest()}"
