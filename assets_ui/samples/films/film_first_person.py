# SPDX-License-Identifier: GPL-3.0-or-later
"""First person: a walk through a garden gate, upright picture, with the bob of the steps."""

from fractions import Fraction
from math import sin
from typing import Final

from ....evaluator.protocol.timeline import Timeline
from .records import ClipSpan, Film, Shot, Thing, Track, moves, still

FRAMES: Final = 75


def _steps() -> Track:
    """The eye of somebody who walks: forward, up and down with each step."""
    keys = [(f, (0.25 * sin(f * 0.06), -6.0 + 0.075 * f, 1.62 + 0.035 * sin(f * 0.55))) for f in range(0, FRAMES, 2)]
    return Track(tuple(keys))


def _aim() -> Track:
    keys = [(0, (0.2, 6.0, 1.4)), (28, (0.2, 6.0, 1.4)), (46, (2.6, 5.0, 1.3)), (74, (-0.4, 6.0, 1.5))]
    return Track(tuple(keys))


FILM: Final = Film(
    id="first_person",
    kind="first person",
    title="A walk through a gate",
    timeline=Timeline(216, 384, Fraction(25), FRAMES),
    things=(
        Thing(
            "gate",
            "Gate",
            "door",
            "green",
            2.1,
            still(-0.55, -0.2, 0),
            turn=still(0),
            pose=moves((14, (0,)), (34, (85,)), (58, (85,))),
            pose_words=("swings open", "swings shut", "stays as it is"),
            detail="white",
        ),
        Thing(
            "barrier",
            "Barrier",
            "barrier",
            "red",
            1.1,
            still(1.35, 3.4, 0),
            turn=still(0),
            pose=moves((30, (0,)), (48, (70,)), (56, (70,)), (72, (10,))),
            pose_words=("lifts its boom", "lowers its boom", "does not move its boom"),
            detail="white",
        ),
        Thing(
            "guard",
            "Guard",
            "figure",
            "blue",
            1.8,
            moves((40, (-0.9, 4.2, 0)), (74, (-1.5, 4.2, 0))),
            turn=still(10),
            pose=moves((44, (10,)), (60, (150,))),
            pose_words=("raises an arm sideways", "lowers the raised arm", "keeps both arms as they are"),
            detail="orange",
        ),
        Thing("barrel", "Barrel", "crate", "orange", 0.9, still(0.85, 1.2, 0), turn=still(15), detail="brown"),
        Thing("ball", "Ball", "ball", "yellow", 0.5, moves((20, (0.0, 2.6, 0)), (60, (-0.8, 2.2, 0))), detail="blue"),
        Thing("post", "Post", "post", "purple", 1.9, still(0.55, 5.4, 0), detail="white"),
        Thing("hut", "Hut", "house", "white", 3.2, still(0.4, 10.5, 0), detail="red", is_scenery=True),
        Thing("tree_1", "Tree 1", "tree", "green", 3.4, still(-3.0, 6.5, 0), is_scenery=True),
        Thing("tree_2", "Tree 2", "tree", "green", 3.0, still(3.6, 7.5, 0), is_scenery=True),
    ),
    shots=(Shot(0, FRAMES - 1, _steps(), _aim(), still(26)),),
    clips=(ClipSpan("gate", 0, 29), ClipSpan("look", 22, 51), ClipSpan("guard", 44, 74)),
    ground=(0.27, 0.22, 0.15),
    sky=(0.55, 0.68, 0.82),
)
