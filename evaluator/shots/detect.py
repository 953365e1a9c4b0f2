# SPDX-License-Identifier: GPL-3.0-or-later
"""Where one shot of a video ends and the next begins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scenedetect
from scenedetect import FrameTimecode
from scenedetect.detectors import AdaptiveDetector

from ..media.decode import stream
from ..media.scan import scan
from ..protocol.messages import Reporter

_SIZE = (320, 180)
_PARAMETERS = {"adaptive_threshold": 3.0, "min_content_val": 15.0, "window_width": 2, "min_scene_len": 1}

DETECTOR = (
    f"scenedetect {scenedetect.__version__} AdaptiveDetector("
    + ", ".join(f"{name}={value}" for name, value in _PARAMETERS.items())
    + f") on {_SIZE[0]}x{_SIZE[1]} pictures"
)


def detect_cuts(path: Path, *, reporter: Reporter, stage: str = "cuts") -> list[int]:
    """The first frame of every new shot but the first, in increasing order; frames are counted as everywhere.

    A frame begins a shot where its content differs from the one before far more than the two frames on either side
    differ from theirs, which camera motion does not; a cut within two frames of either end is not seen, and a fade is
    no cut. Raises BadInputError where the video cannot be read.
    """
    total = len(scan(path).timestamps)
    detector = AdaptiveDetector(**_PARAMETERS)
    found: list[int] = []
    for frame in stream(path, size=_SIZE):
        # the detector measures in frames; the rate only completes its type
        position = FrameTimecode(frame.index, fps=25.0)
        found += [
            cut.frame_num for cut in detector.process_frame(position, np.ascontiguousarray(frame.image[..., ::-1]))
        ]
        reporter.progress(stage, frame.index + 1, total)
    return found
