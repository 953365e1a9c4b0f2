# SPDX-License-Identifier: GPL-3.0-or-later
"""Where one shot of a video ends and the next begins: cuts by one of three detectors, and fades, in one pass."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..media.scan import Watcher, identity, scan
from ..media.source import Source
from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from .content import ContentScores, adaptive_cuts, adaptive_name, content_cuts, content_name
from .fades import fades_name, find_fades
from .records import DETECTORS, Shots
from .transnet import TransNetCuts, transnet_cuts, transnet_name

_KEPT = 16
_known: OrderedDict[tuple[tuple[str, int, int], str], tuple[Shots, int]] = OrderedDict()


def detect_shots(path: Path, *, detector: str = "adaptive", reporter: Reporter, stage: str = "cuts") -> Shots:
    """The cuts and fades of a video; frames are counted as everywhere. The file is decoded once, by `scan`.

    `adaptive` finds a cut where a frame differs from the one before far more than the frames around differ from
    theirs, which camera motion does not; `content` where it differs by more than a fixed amount; `transnetv2` asks a
    network. A fade holds no cut. What interrupts a shot for one or two frames, such as a flash, is no cut for the
    first two. The answer is kept while the file stays the same. Raises BadInputError where the video cannot be read,
    the detector is unknown or its package is not installed.
    """
    check_detector(detector)
    key = identity(path), detector
    known = _known.get(key)
    if known is None:
        known = _detect(path, detector, reporter, stage)
        _known[key] = known
        while len(_known) > _KEPT:
            _known.popitem(last=False)
    _known.move_to_end(key)
    found, frames = known
    reporter.progress(stage, frames, frames)
    return found


def check_detector(detector: str) -> None:
    """Raise BadInputError where the detector is unknown or its package is not installed."""
    if detector not in DETECTORS:
        raise BadInputError(f"--detector {detector}: there is no such detector; take one of {', '.join(DETECTORS)}")
    if detector == "transnetv2":
        transnet_name()


def _detect(path: Path, detector: str, reporter: Reporter, stage: str) -> tuple[Shots, int]:
    """The shots, and the number of frames."""
    watcher = TransNetCuts() if detector == "transnetv2" else ContentScores()
    seen = scan(path, watch=_with_progress(watcher, _expected_frames(path), reporter, stage))
    frames = len(seen.timestamps)
    if isinstance(watcher, TransNetCuts):
        cuts, name = transnet_cuts(watcher.probabilities(frames)), transnet_name()
    elif detector == "adaptive":
        cuts, name = adaptive_cuts(watcher.distances), adaptive_name()
    else:
        cuts, name = content_cuts(watcher.distances), content_name()
    fades = find_fades(seen.signatures)
    cuts = [cut for cut in cuts if not any(fade.first < cut <= fade.last for fade in fades)]
    return Shots(cuts=cuts, fades=fades, detector=f"{name}; {fades_name()}"), frames


def _with_progress(watcher: Watcher, expected: int, reporter: Reporter, stage: str) -> Watcher:
    def watch(index: int, picture: NDArray[np.uint8]) -> None:
        watcher(index, picture)
        # a header's claim may be too small, and what comes after the last frame is not known before
        reporter.progress(stage, index + 1, max(expected, index + 2))

    return watch


def _expected_frames(path: Path) -> int:
    with Source(path) as source:
        return source.stream.frames
