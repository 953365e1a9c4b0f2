# SPDX-License-Identifier: GPL-3.0-or-later
"""Racing: two cars on a straight, the camera beside them; one overtakes, then the finish."""

from fractions import Fraction
from typing import Final

from ....evaluator.protocol.timeline import Timeline
from .records import ClipSpan, Film, Shot, Thing, moves, still

FRAMES: Final = 108
WAVE = ("raises an arm sideways", "lowers the raised arm", "keeps both arms as they are")

FILM: Final = Film(
    id="racing",
    kind="racing",
    title="One car overtakes another",
    timeline=Timeline(384, 216, Fraction(30), FRAMES),
    things=(
        Thing(
            "red_car",
            "Car One",
            "car",
            "red",
            2.6,
            moves((0, (-9.0, 0.6, 0)), (54, (1.2, 0.6, 0)), (107, (11.5, 0.6, 0))),
            turn=still(0),
            detail="white",
        ),
        Thing(
            "blue_car",
            "Car Two",
            "car",
            "blue",
            2.6,
            moves((0, (-11.5, -1.2, 0)), (54, (2.6, -1.2, 0)), (107, (15.0, -1.2, 0))),
            turn=still(0),
            detail="yellow",
        ),
        Thing(
            "marshal",
            "Marshal",
            "figure",
            "orange",
            1.8,
            still(-4.2, 3.0, 0),
            turn=still(0),
            pose=moves((10, (8,)), (26, (120,)), (38, (8,))),
            pose_words=WAVE,
            detail="white",
        ),
        Thing(
            "second",
            "Second Marshal",
            "figure",
            "yellow",
            1.75,
            still(3.4, 3.1, 0),
            turn=still(0),
            pose=moves((36, (8,)), (52, (130,)), (64, (130,)), (74, (8,))),
            pose_words=WAVE,
            detail="blue",
        ),
        Thing(
            "finisher",
            "Starter",
            "figure",
            "green",
            1.8,
            still(11.2, 2.6, 0),
            turn=still(0),
            pose=moves((80, (8,)), (98, (165,))),
            pose_words=WAVE,
            detail="red",
        ),
        Thing("kerb_1", "First Cone", "fir", "orange", 0.9, still(-6.6, 1.9, 0)),
        Thing("kerb_2", "Second Cone", "fir", "purple", 0.9, still(0.8, 1.9, 0)),
        Thing("kerb_3", "Third Cone", "fir", "red", 0.9, still(8.2, 1.9, 0)),
        Thing("post", "Finish Post", "post", "white", 2.6, still(9.6, 2.9, 0), detail="red"),
        *(
            Thing(f"pit_{n}", f"Pit {n}", "box", "grey", 2.2, still(-12 + 6 * n, 8, 0), is_scenery=True)
            for n in range(6)
        ),
        *(
            Thing(f"tree_{n}", f"Tree {n}", "tree", "green", 3.6, still(-13 + 5 * n, 13, 0), is_scenery=True)
            for n in range(7)
        ),
    ),
    shots=(
        Shot(
            0,
            FRAMES - 1,
            moves((0, (-8.0, -8.4, 1.9)), (54, (1.2, -8.0, 1.7)), (107, (10.5, -8.6, 2.3))),
            moves((0, (-8.6, 0.4, 0.8)), (54, (1.6, 0.4, 0.7)), (107, (11.4, 0.4, 0.8))),
            moves((40, (32,)), (70, (40,))),
        ),
    ),
    clips=(
        ClipSpan("behind", 0, 29),
        ClipSpan("closing", 26, 55),
        ClipSpan("overtaken", 50, 79),
        ClipSpan("finish", 76, 107),
    ),
    ground=(0.13, 0.13, 0.14),
)
