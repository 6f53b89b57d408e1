"""The pictures that a model makes in its answer: https://openrouter.ai/docs/features/multimodal/image-generation"""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
from typing import Final

from tools.contract.base import ProducedFile
from tools.pictures import kind_of

log = logging.getLogger(__name__)

MOST_PICTURES: Final = 8
"""Pictures of one answer; no platform shows more in a message together."""
_MOST_CHARS: Final = 30_000_000
"""For all of them together, as Base64."""


class Pictures:
    """The pictures of one answer, in the order of arrival; a repeated one counts once."""

    def __init__(self) -> None:
        self.files: list[ProducedFile] = []
        self._seen: set[bytes] = set()
        self._chars = 0

    def __bool__(self) -> bool:
        return bool(self._seen)

    def add(self, given: object) -> bool:
        """Add one picture or a list of them: an object with its address, or Base64 itself; return whether any is
        new."""
        if isinstance(given, list):
            return sum(self.add(one) for one in given) > 0
        while isinstance(given, dict):
            given = given.get("image_url") or given.get("url") or given.get("b64_json")
        if not isinstance(given, str) or not given:
            return False
        digest = hashlib.sha256(given.encode("utf-8", "replace")).digest()
        if digest in self._seen:
            return False
        self._chars += len(given)
        if len(self._seen) >= MOST_PICTURES or self._chars > _MOST_CHARS:
            return False
        self._seen.add(digest)
        file = self._read(given)
        if file is None:
            log.warning("a picture in a model's answer cannot be posted: it is not a picture, or only an address")
        else:
            self.files.append(file)
        return True

    def _read(self, given: str) -> ProducedFile | None:
        """Return a picture as a file; nothing is fetched, as an address could lead anywhere."""
        head, _, data = given.partition(",") if given.startswith("data:") else ("", "", given)
        if head and not head.endswith(";base64"):
            return None
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return None
        media_type, ending = kind_of(content[:16])
        # A unique name in the chat, by which a later question finds it.
        name = f"picture-{hashlib.sha256(content).hexdigest()[:8]}.{ending}"
        return ProducedFile(name, media_type, content) if media_type else None
