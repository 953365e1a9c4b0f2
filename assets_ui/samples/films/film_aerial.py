# SPDX-License-Identifier: GPL-3.0-or-later
"""Aerial: an arc around a small town, then a descent; cars drive below."""

from fractions import Fraction
from math import cos, radians, sin
from typing import Final

from ....evaluator.protocol.timeline import Timeline
from .records import ClipSpan, Film, Shot, Thing, Track, moves, still

FRAMES: Final = 84


def _arc() -> Track:
    keys = []
    for frame in range(0, FRAMES, 3):
        angle = radians(-118 + 52 * min(1.0, frame / 54))
        height = 13.0 - 5.0 * max(0.0, (frame - 54) / 29)
        keys.append((frame, (21 * cos(angle), 21 * sin(angle), height)))
    return Track(tuple(keys))


BOOM = ("lifts its boom", "lowers its boom", "does not move its boom")

FILM: Final = Film(
    id="aerial",
    kind="aerial",
    title="Around a small town",
    timeline=Timeline(384, 216, Fraction(24000, 1001), FRAMES),
    things=(
        Thing("church", "Church Tower", "tower", "white", 7.0, still(0.5, 1.5, 0), detail="red"),
        Thing("town_hall", "Town Hall", "house", "yellow", 3.6, still(-4.2, 1.0, 0), turn=still(20), detail="brown"),
        Thing("mill", "Mill", "house", "orange", 3.0, still(4.6, 3.0, 0), turn=still(-15), detail="white"),
        Thing(
            "bus",
            "Bus",
            "car",
            "blue",
            3.4,
            moves((0, (-7.5, -2.4, 0)), (83, (6.0, -2.4, 0))),
            turn=still(0),
            detail="white",
        ),
        Thing(
            "taxi",
            "Taxi",
            "car",
            "red",
            2.4,
            moves((20, (5.8, -3.6, 0)), (70, (-4.4, -3.6, 0))),
            turn=still(180),
            detail="yellow",
        ),
        Thing(
            "toll",
            "Barrier",
            "barrier",
            "purple",
            2.2,
            still(1.2, -4.8, 0),
            turn=still(0),
            pose=moves((6, (0,)), (24, (75,)), (34, (75,)), (50, (0,)), (62, (0,)), (78, (70,))),
            pose_words=BOOM,
            detail="white",
        ),
        Thing("big_tree", "Big Tree", "tree", "green", 3.2, still(-1.8, -0.2, 0), detail="brown"),
        *(
            Thing(f"fir_{n}", f"Fir {n}", "fir", "green", 2.6, still(x, y, 0), is_scenery=True)
            for n, (x, y) in enumerate(((-8.0, 4.0), (-6.2, 6.5), (7.5, 6.8), (9.0, 2.5), (-9.0, -1.0), (2.5, 8.0)), 1)
        ),
        *(
            Thing(f"home_{n}", f"Home {n}", "house", "grey", 2.2, still(x, y, 0), turn=still(turn), is_scenery=True)
            for n, (x, y, turn) in enumerate(((-2.4, 5.6, 10), (2.4, 5.2, -20), (-6.8, 2.4, 35), (7.2, 0.2, 60)), 1)
        ),
    ),
    shots=(Shot(0, FRAMES - 1, _arc(), still(0, 0, 1.2), still(38)),),
    clips=(ClipSpan("arc_begins", 0, 29), ClipSpan("arc_goes_on", 26, 55), ClipSpan("descent", 48, 83)),
    ground=(0.16, 0.24, 0.1),
)
