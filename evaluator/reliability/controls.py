# SPDX-License-Identifier: GPL-3.0-or-later
"""Reconstructions whose right scores are known, laid out as any configuration's, so that any judge can be given them.

RUNS/control-ceiling/SETTING/VIDEO/reconstruction.mp4   the reference itself: everything is there
RUNS/control-floor/SETTING/VIDEO/reconstruction.mp4     another video of the same length: hardly anything is there
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..checklist.benchmark import LoadedBenchmark, LoadedVideo
from ..checklist.controls import CEILING, FLOOR
from ..checklist.records import SETTINGS, Setting
from ..media.decode import stream
from ..media.encode import encode
from ..protocol.errors import BadInputError
from ..protocol.files import atomic_path
from ..protocol.messages import Reporter


def make_controls(
    benchmark: LoadedBenchmark,
    runs: Path,
    *,
    foreign: Path | None = None,
    settings: Sequence[Setting] = SETTINGS,
    reporter: Reporter,
) -> list[Path]:
    """Write both controls for every video; what is there already is kept. Returns the files.

    The foreign video is the benchmark's next one, or `foreign`, played again from its start where it is shorter, at the
    reference's rate and size. Raises BadInputError where there is no other video.
    """
    if foreign is None and len(benchmark.videos) < 2:
        raise BadInputError(f"{benchmark.folder}: has one video; name another one for the floor by --foreign VIDEO")
    written = []
    for number, video in enumerate(benchmark.videos):
        other = foreign or benchmark.videos[(number + 1) % len(benchmark.videos)].reference
        first = runs / FLOOR / settings[0] / video.id / "reconstruction.mp4"
        if not first.exists():
            reporter.status(f"{video.id}: the floor shows {other}")
            timeline = video.record.timeline
            encode(_foreign(video, other), timeline.rate, first, reporter=reporter, total=timeline.frames)
        for setting in settings:
            for name, source in ((CEILING, video.reference), (FLOOR, first)):
                target = runs / name / setting / video.id / "reconstruction.mp4"
                if not target.exists():
                    _place(source, target)
                written.append(target)
    return written


def _foreign(video: LoadedVideo, other: Path) -> Iterator[NDArray[np.uint8]]:
    timeline = video.record.timeline
    size = timeline.width + timeline.width % 2, timeline.height + timeline.height % 2  # H.264 halves the colours

    def again() -> Iterator[NDArray[np.uint8]]:
        while True:
            for frame in stream(other, size=size):
                yield frame.image

    return islice(again(), timeline.frames)


def _place(source: Path, target: Path) -> None:
    """One file in two places where the disk can do that, else a copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        with atomic_path(target) as temporary:
            shutil.copyfile(source, temporary)
