# SPDX-License-Identifier: GPL-3.0-or-later
"""Sport: a ball is kicked past a defender; the camera pans after it, with a hand's unrest."""

from fractions import Fraction
from math import sin
from typing import Final

from ....evaluator.protocol.timeline import Timeline
from .records import ClipSpan, Film, Shot, Thing, Track, moves, still

ARM = ("raises an arm sideways", "lowers the raised arm", "keeps both arms as they are")
FRAMES: Final = 96


def _hand_held() -> Track:
    """The aim of a camera in the hand: after the ball, never quite steady."""
    keys = []
    for frame in range(0, FRAMES, 3):
        along = max(0.0, min(1.0, (frame - 14) / 56))
        x = -3.2 + 6.4 * along * along * (3 - 2 * along)
        keys.append((frame, (x, 0.0, 0.9 + 0.05 * sin(frame * 0.9))))
    return Track(tuple(keys))


FILM: Final = Film(
    id="sport",
    kind="sport",
    title="A ball is played past a defender",
    timeline=Timeline(384, 216, Fraction(30000, 1001), FRAMES),
    things=(
        Thing(
            "ball",
            "Ball",
            "ball",
            "white",
            0.42,
            moves((12, (-3.4, -0.3, 0)), (34, (-0.4, -0.5, 0)), (58, (2.6, -0.1, 0)), (80, (4.4, 0.4, 0))),
            detail="red",
        ),
        Thing(
            "striker",
            "Striker",
            "figure",
            "red",
            1.8,
            moves((0, (-4.6, 0, 0)), (16, (-3.8, -0.1, 0)), (70, (0.8, -0.2, 0))),
            turn=still(60),
            pose=moves((66, (10,)), (84, (160,))),
            pose_words=ARM,
            detail="white",
        ),
        Thing(
            "defender",
            "Defender",
            "figure",
            "blue",
            1.78,
            moves((20, (0.2, 0.7, 0)), (44, (-0.3, 0.3, 0))),
            turn=still(-40),
            pose=moves((18, (8,)), (32, (80,)), (44, (80,)), (54, (8,))),
            pose_words=ARM,
            detail="yellow",
        ),
        Thing(
            "keeper",
            "Keeper",
            "figure",
            "green",
            1.86,
            moves((50, (4.8, 0.9, 0)), (72, (4.8, 0.2, 0))),
            turn=still(-70),
            pose=moves((54, (20,)), (70, (140,))),
            pose_words=ARM,
            detail="orange",
        ),
        Thing("flag", "Corner Flag", "post", "yellow", 1.6, still(-2.1, 2.6, 0), detail="red"),
        Thing("near_flag", "Second Flag", "post", "orange", 1.6, still(1.5, 2.4, 0), detail="white"),
        Thing("box", "Kit Box", "crate", "purple", 0.7, still(3.1, 2.2, 0), turn=still(30), detail="grey"),
        Thing("stand", "Stand", "box", "grey", 1.2, still(0, 7, 0), is_scenery=True),
        Thing("fir_1", "Fir 1", "fir", "green", 3.0, still(-5.5, 8.5, 0), is_scenery=True),
        Thing("fir_2", "Fir 2", "fir", "green", 3.6, still(5.0, 9.0, 0), is_scenery=True),
    ),
    shots=(
        Shot(
            0,
            FRAMES - 1,
            moves((0, (-0.8, -7.4, 1.7)), (FRAMES - 1, (0.9, -7.0, 1.7))),
            _hand_held(),
            moves((30, (34,)), (60, (34,)), (80, (44,))),
        ),
    ),
    clips=(
        ClipSpan("run_up", 0, 29),
        ClipSpan("duel", 24, 53),
        ClipSpan("breakaway", 46, 75),
        ClipSpan("save", 64, 95),
    ),
    ground=(0.09, 0.2, 0.06),
)
