# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimators: plug-ins that give a video's geometry, each by its name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ...protocol.errors import BadInputError
from ...protocol.messages import Reporter
from ..records import Geometry
from .base import SOUND, Reading

ESTIMATORS: Final[Mapping[str, str]] = {
    "classical": "a video: flow, poses and depth by classical computer vision, without weights",
    "blender": "the folder of a render job with passes: its own depth, cameras, flow and object identities",
    "precomputed": "a folder of what other programs estimated: depths, tracks, masks, cameras",
    "learned": "a video, by learned models; they do not come with this version",
}
"""What each reads and how it gets its geometry."""


def open_geometry(
    name: str,
    source: Path,
    *,
    shots: Sequence[tuple[int, int]] | None = None,
    reporter: Reporter,
    cache: Path | None = None,
    reading: Reading = SOUND,
) -> Geometry:
    """The geometry of `source` by the estimator `name`; see ESTIMATORS for what `source` is.

    `shots` are the first and last frame of every shot, both included, numbered like the source's frames; None makes
    all frames one shot. What is estimated is kept in the folder `cache`; without one, in a temporary folder.
    `reading` is for `precomputed` alone.
    Raises BadInputError where the source is not what the estimator reads, or the name is unknown.
    """
    if name not in ESTIMATORS:
        raise BadInputError(f"{name!r} is no estimator; they are: {', '.join(ESTIMATORS)}")
    if name == "learned":
        from .learned import open_video

        open_video(source)
    if name == "classical":
        classical = importlib.import_module(".classical", __package__)
        found: Geometry = classical.estimate(source, shots, reporter=reporter, cache=cache)
        return found
    if name == "blender":
        from .blender import open_job

        return open_job(source, shots)
    from .precomputed import open_folder

    return open_folder(source, shots, reading)
