# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts: a montage of four shots around a market stall, each of another size."""

from fractions import Fraction
from typing import Final

from ....evaluator.protocol.timeline import Timeline
from .records import ClipSpan, Film, Shot, Thing, moves, still

ARM = ("raises an arm sideways", "lowers the raised arm", "keeps both arms as they are")

FILM: Final = Film(
    id="cuts",
    kind="cuts",
    title="A montage at a market stall",
    timeline=Timeline(384, 216, Fraction(24), 90),
    things=(
        Thing(
            "seller",
            "Seller",
            "figure",
            "green",
            1.75,
            still(0.3, 0.9, 0),
            turn=still(0),
            pose=moves((0, (10,)), (16, (110,)), (20, (110,)), (34, (10,)), (66, (10,)), (84, (140,))),
            pose_words=ARM,
            detail="white",
        ),
        Thing(
            "buyer",
            "Buyer",
            "figure",
            "red",
            1.68,
            moves((0, (-2.2, -0.2, 0)), (40, (-0.9, -0.1, 0))),
            turn=still(30),
            pose=moves((30, (8,)), (44, (90,)), (56, (20,))),
            pose_words=ARM,
            detail="yellow",
        ),
        Thing("stall", "Stall", "crate", "brown", 0.9, still(0.2, 0.1, 0), detail="orange"),
        Thing(
            "melon", "Melon", "ball", "yellow", 0.5, moves((24, (1.4, -0.6, 0)), (60, (2.2, -0.7, 0))), detail="green"
        ),
        Thing("lamp", "Lamp", "post", "purple", 2.2, still(1.7, 1.1, 0), detail="white"),
        Thing("chest", "Chest", "crate", "blue", 0.6, still(-1.7, 1.2, 0), turn=still(25), detail="grey"),
        Thing("row", "Row", "house", "white", 3.2, still(-2.0, 5.0, 0), detail="red", is_scenery=True),
        Thing("row_2", "Second Row", "house", "orange", 3.0, still(2.6, 5.4, 0), detail="brown", is_scenery=True),
        Thing("tree", "Tree", "tree", "green", 3.0, still(5.4, 4.0, 0), is_scenery=True),
    ),
    shots=(
        Shot(0, 23, moves((0, (0.6, -6.2, 1.7)), (23, (-0.2, -6.0, 1.7))), still(0.1, 0.6, 0.9)),
        Shot(24, 47, still(-2.6, -2.6, 1.5), moves((24, (0.0, 0.6, 1.1)), (47, (0.6, 0.6, 0.95))), still(32)),
        Shot(48, 65, still(2.6, -3.0, 1.9), still(0.3, 0.3, 0.9), moves((50, (30,)), (65, (42,)))),
        Shot(66, 89, moves((66, (0.0, -4.4, 2.6)), (89, (0.2, -5.6, 3.2))), still(0.2, 0.5, 0.9), still(30)),
    ),
    clips=(ClipSpan("wide_and_close", 0, 35), ClipSpan("three_shots", 36, 71), ClipSpan("last_two", 56, 89)),
)
