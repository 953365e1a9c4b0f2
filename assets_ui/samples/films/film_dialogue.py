# SPDX-License-Identifier: GPL-3.0-or-later
"""Dialogue: two people in front of a house, a master shot and two close ones; one of them lifts an arm."""

from fractions import Fraction
from typing import Final

from ....evaluator.protocol.timeline import Timeline
from .records import ClipSpan, Film, Shot, Thing, moves, still

ARM = ("raises an arm sideways", "lowers the raised arm", "keeps both arms as they are")

FILM: Final = Film(
    id="dialogue",
    kind="dialogue",
    title="Two people talk in front of a house",
    timeline=Timeline(384, 216, Fraction(24), 84),
    things=(
        Thing(
            "anna",
            "Anna",
            "figure",
            "teal",
            1.72,
            still(-0.75, 0.2, 0),
            turn=still(-50),
            pose=moves((8, (10,)), (20, (130,)), (30, (130,)), (42, (10,))),
            pose_words=ARM,
            detail="orange",
        ),
        Thing(
            "ben",
            "Ben",
            "figure",
            "purple",
            1.85,
            still(0.85, 0.1, 0),
            turn=still(50),
            pose=moves((50, (8,)), (70, (150,))),
            pose_words=ARM,
            detail="yellow",
        ),
        Thing("bench", "Crate", "crate", "brown", 0.6, still(0.1, 1.6, 0), turn=still(20), detail="grey"),
        Thing("lamp", "Lamp Post", "post", "blue", 2.4, still(2.1, 1.5, 0), detail="white"),
        Thing("ball", "Ball", "ball", "red", 0.35, moves((0, (-2.4, 0.9, 0)), (40, (-1.5, 0.9, 0))), detail="white"),
        Thing("house", "House", "house", "yellow", 3.4, still(-0.6, 5.2, 0), detail="brown", is_scenery=True),
        Thing("tree", "Tree", "tree", "green", 3.2, still(3.6, 4.4, 0), detail="brown", is_scenery=True),
    ),
    shots=(
        Shot(0, 35, moves((0, (0.2, -5.4, 1.6)), (35, (0.2, -4.3, 1.6))), still(0.1, 0.8, 1.1)),
        Shot(36, 59, still(1.9, -2.2, 1.7), moves((36, (-0.7, 0.4, 1.3)), (59, (-0.1, 0.4, 1.25))), still(45)),
        Shot(60, 83, still(-2.0, -2.3, 1.65), still(0.75, 0.3, 1.25), moves((62, (38,)), (83, (52,)))),
    ),
    clips=(ClipSpan("master", 0, 35), ClipSpan("answer", 30, 59), ClipSpan("reply", 50, 83)),
    sky=(0.62, 0.66, 0.72),
)
