"""What a picture is, and a picture as models take it: its size, its form, and the way up that it is looked at."""

from __future__ import annotations

from tools.pictures.kinds import Look, is_picture, kind_of, look_at
from tools.pictures.making import MOST_PIXELS, PictureMaker

__all__ = ["MOST_PIXELS", "Look", "PictureMaker", "is_picture", "kind_of", "look_at"]
