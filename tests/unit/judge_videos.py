# SPDX-License-Identifier: GPL-3.0-or-later
"""Small videos whose every picture tells its own frame index, and clips over them, for the judge's tests."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
from matchcut.evaluator.checklist.records import Clip
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.media.records import VideoInfo
from matchcut.evaluator.protocol.messages import SilentReporter

STEP = 5
"""Grey levels between one frame and the next: more than encoding changes."""


def video(out: Path, frames: int = 40, rate: Fraction = Fraction(24), tint: int = 0) -> VideoInfo:
    """Frame f is grey STEP·f + 20, 96×54, with `tint` added to red."""
    pictures = []
    for frame in range(frames):
        picture = np.full((54, 96, 3), STEP * frame + 20, np.uint8)
        picture[..., 0] += tint
        pictures.append(picture)
    return encode(pictures, rate, out, reporter=SilentReporter(), total=frames)


def clip(name: str = "c1", offset: int = 10, frames: int = 20, checks: int = 3, statement: str = "says") -> Clip:
    """A clip with `checks` checks under every setting and one more under detailed alone."""
    common = {"subjects": ["a"], "evidence_frames": [4], "settings": ["proxy", "simplified", "detailed"]}
    items = [
        {
            "id": f"check-id-{name}-{n}", "category": ("subject_motion", "rotation", "action_events")[n % 3],
            "start": n, "end": 4 + n, "statement": f"{name} {statement} {n}", **common, "evidence_frames": [4],
        }
        for n in range(checks)
    ]  # fmt: skip
    look = {
        "id": f"check-id-{name}-look", "category": "object_appearance", "settings": ["detailed"], "subjects": ["a"],
        "start": 7, "end": 7, "evidence_frames": [7], "statement": f"{name} is red",
    }  # fmt: skip
    return Clip.model_validate(
        {
            "id": name, "video": "v", "frame_offset": offset, "frame_count": frames, "shot_transitions": [],
            "entities": [
                {"id": "a", "name": "Ball", "description": "the red one", "first_frame": 0},
                {"id": "g", "name": "All", "description": "everything", "first_frame": 0, "members": ["a"]},
            ],
            "checks": [*items, look],
        }
    )  # fmt: skip
