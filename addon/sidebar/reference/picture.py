# SPDX-License-Identifier: GPL-3.0-or-later
"""The small picture of a reference's first frame: the evaluator makes it, the user's cache keeps it.

It is read into memory when it comes, and again after a file was opened; drawing finds it there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import bpy
import bpy.utils.previews

from ....evaluator.protocol.cache import cache_folder, forget_all_but
from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.messages import Message
from ... import jobs

KEPT: Final = 200
"""Pictures in the cache."""

_previews: Any = None
_asked: set[str] = set()
"""Digests of the files whose picture was asked for in this session."""


def place(digest: str) -> Path:
    """Where the picture of a file with this content lies in the cache."""
    return cache_folder("thumbnails") / f"{digest}.png"


def icon(digest: str) -> int:
    """Number of the icon for `template_icon`; 0 where the picture is not in memory."""
    return int(_previews[digest].icon_id) if _previews is not None and digest in _previews else 0


def take(digest: str) -> bool:
    """Read the picture from the cache into memory; whether it is there."""
    global _previews  # noqa: PLW0603
    if _previews is None:
        _previews = bpy.utils.previews.new()
    if digest in _previews:
        return True
    path = place(digest)
    if not path.is_file():
        return False
    preview = _previews.load(digest, str(path), "IMAGE")
    jobs.redraw()
    return bool(preview.image_size[0])  # asking for the size reads the file now, and not while something is drawn


def show(digest: str, file: Path) -> None:
    """Have the picture of `file` in memory: from the cache, else the evaluator is asked for it, once."""
    if take(digest) or digest in _asked or jobs.evaluator().problem:
        return
    _asked.add(digest)
    key = f"picture {digest}"

    def heard(message: Message) -> None:
        if message.type == "result":
            take(digest)
            jobs.stop_quiet(key)  # what else it would tell is known

    try:
        jobs.start_quiet(key, ["probe", str(file), "--picture", str(place(digest))], lambda messages: None, heard)
    except BadInputError:
        pass  # there is no evaluator: the panel goes without the picture


def forget() -> None:
    """Let go of all pictures, and of the oldest ones in the cache."""
    global _previews  # noqa: PLW0603
    if _previews is not None:
        bpy.utils.previews.remove(_previews)
        _previews = None
        forget_all_but(cache_folder("thumbnails"), KEPT)
    _asked.clear()
