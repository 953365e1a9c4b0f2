# SPDX-License-Identifier: GPL-3.0-or-later
"""How each shape is built: what moves as a whole, and the part that its pose turns (Blender only)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..materials import paint, planks
from ..shapes import add_ball, add_box, add_empty, add_round
from .records import COLOURS, Thing

Built = tuple[Any, Any, int]
"""The object that carries the whole, the part that the pose turns (or None), and the axis it turns about."""


def _main(thing: Thing) -> Any:
    return paint(f"{thing.name} Main", COLOURS[thing.colour])


def _accent(thing: Thing) -> Any:
    return paint(f"{thing.name} Detail", COLOURS[thing.detail or thing.colour])


def _top(thing: Thing) -> Any:
    return add_empty(thing.name, (0, 0, 0))


def figure(thing: Thing) -> Built:
    """A standing person; the arm at its own left is raised sideways. The cap is its detail."""
    top, shirt, cap, unit = _top(thing), _main(thing), _accent(thing), thing.size / 1.8
    skin = paint(f"{thing.name} Skin", (0.6, 0.33, 0.2))
    legs = paint(f"{thing.name} Legs", (0.03, 0.035, 0.07))
    name = thing.name
    for side in (-1, 1):
        add_round(
            f"{name} Leg {side}",
            (side * 0.12 * unit, 0, 0),
            (side * 0.1 * unit, 0, 0.88 * unit),
            0.09 * unit,
            0.11 * unit,
            legs,
            top,
        )
    add_round(
        f"{name} Torso", (0, 0, 0.86 * unit), (0, 0, 1.4 * unit), 0.19 * unit, 0.25 * unit, shirt, top, flatten=0.65
    )
    add_ball(f"{name} Head", (0, 0, 1.63 * unit), (0.16 * unit, 0.16 * unit, 0.18 * unit), skin, top)
    if thing.detail:
        add_ball(f"{name} Cap", (0, 0, 1.71 * unit), (0.175 * unit, 0.175 * unit, 0.12 * unit), cap, top)
    pivot = None
    for side in (-1, 1):
        shoulder = add_empty(f"{name} Arm {side}", (side * 0.27 * unit, 0, 1.36 * unit), parent=top)
        add_round(f"{name} Sleeve {side}", (0, 0, 0), (0, 0, -0.32 * unit), 0.085 * unit, 0.07 * unit, shirt, shoulder)
        add_round(
            f"{name} Hand {side}", (0, 0, -0.32 * unit), (0, 0, -0.64 * unit), 0.055 * unit, 0.05 * unit, skin, shoulder
        )
        if side == 1:
            pivot = shoulder
    return top, pivot, 1


def ball(thing: Thing) -> Built:
    """A ball with a belt as its detail."""
    top, radius = _top(thing), thing.size / 2
    add_ball(f"{thing.name} Body", (0, 0, radius), (radius,) * 3, _main(thing), top)
    if thing.detail:
        add_round(
            f"{thing.name} Belt",
            (0, 0, 0.86 * radius),
            (0, 0, 1.14 * radius),
            1.01 * radius,
            1.01 * radius,
            _accent(thing),
            top,
        )
    return top, None, 0


def box(thing: Thing) -> Built:
    """A plain box, half as wide as it is high where it stands for something else."""
    top, size = _top(thing), thing.size
    add_box(
        f"{thing.name} Body",
        (0, 0, size / 2),
        (3 * size if thing.is_scenery else 0.5 * size, 0.5 * size, size),
        _main(thing),
        top,
    )
    return top, None, 0


def crate(thing: Thing) -> Built:
    """A box of boards in a frame; the frame is its detail."""
    top, size, name = _top(thing), thing.size, thing.name
    red, green, blue = COLOURS[thing.colour]
    dark = (0.6 * red, 0.6 * green, 0.6 * blue)
    add_box(
        f"{name} Body", (0, 0, size / 2), (size, size, size), planks(f"{name} Boards", COLOURS[thing.colour], dark), top
    )
    if thing.detail:
        for x in (-1, 1):
            for y in (-1, 1):
                add_box(
                    f"{name} Post {x} {y}",
                    (x * size / 2, y * size / 2, size / 2),
                    (0.14 * size, 0.14 * size, 1.04 * size),
                    _accent(thing),
                    top,
                )
    return top, None, 0


def tree(thing: Thing) -> Built:
    """A trunk with a round crown; the trunk is its detail."""
    top, size = _top(thing), thing.size
    bark = _accent(thing) if thing.detail else paint(f"{thing.name} Bark", (0.14, 0.08, 0.04))
    add_round(f"{thing.name} Trunk", (0, 0, 0), (0, 0, 0.5 * size), 0.06 * size, 0.05 * size, bark, top)
    add_ball(f"{thing.name} Crown", (0, 0, 0.68 * size), (0.34 * size, 0.34 * size, 0.33 * size), _main(thing), top)
    return top, None, 0


def fir(thing: Thing) -> Built:
    """A cone."""
    top, size = _top(thing), thing.size
    add_round(f"{thing.name} Cone", (0, 0, 0), (0, 0, size), 0.34 * size, 0.02 * size, _main(thing), top)
    return top, None, 0


def car(thing: Thing) -> Built:
    """A low body along x on four wheels; the stripe over it is its detail."""
    top, size, name = _top(thing), thing.size, thing.name
    paintwork, rubber = _main(thing), paint(f"{name} Rubber", (0.02, 0.02, 0.022))
    add_box(f"{name} Body", (0, 0, 0.16 * size), (size, 0.42 * size, 0.17 * size), paintwork, top)
    add_box(f"{name} Cabin", (-0.06 * size, 0, 0.29 * size), (0.46 * size, 0.36 * size, 0.12 * size), paintwork, top)
    for x in (-0.32, 0.32):
        for y in (-0.22, 0.22):
            add_round(
                f"{name} Wheel {x} {y}",
                (x * size, (y - 0.03) * size, 0.09 * size),
                (x * size, (y + 0.03) * size, 0.09 * size),
                0.09 * size,
                0.09 * size,
                rubber,
                top,
            )
    if thing.detail:
        add_box(f"{name} Stripe", (0, 0, 0.2 * size), (1.01 * size, 0.44 * size, 0.03 * size), _accent(thing), top)
        add_box(
            f"{name} Roof Stripe",
            (-0.06 * size, 0, 0.352 * size),
            (0.46 * size, 0.12 * size, 0.01 * size),
            _accent(thing),
            top,
        )
    return top, None, 0


def house(thing: Thing) -> Built:
    """Walls under a pointed roof; the door is its detail."""
    top, size, name = _top(thing), thing.size, thing.name
    add_box(f"{name} Walls", (0, 0, 0.3 * size), (1.1 * size, 0.9 * size, 0.6 * size), _main(thing), top)
    roof = add_round(
        f"{name} Roof",
        (0, 0, 0.6 * size),
        (0, 0, size),
        0.86 * size,
        0.02 * size,
        paint(f"{name} Tiles", (0.3, 0.08, 0.05)),
        top,
        flatten=0.8,
    )
    roof.rotation_euler.z = 0.0
    if thing.detail:
        add_box(
            f"{name} Door",
            (0.12 * size, -0.45 * size, 0.2 * size),
            (0.2 * size, 0.03 * size, 0.4 * size),
            _accent(thing),
            top,
        )
    return top, None, 0


def post(thing: Thing) -> Built:
    """A post with a globe; bands are its detail."""
    top, size, name = _top(thing), thing.size, thing.name
    add_round(f"{name} Shaft", (0, 0, 0), (0, 0, 0.92 * size), 0.05 * size, 0.045 * size, _main(thing), top)
    add_ball(f"{name} Globe", (0, 0, 0.94 * size), (0.075 * size,) * 3, _main(thing), top)
    if thing.detail:
        for height in (0.25, 0.5, 0.75):
            add_round(
                f"{name} Band {height}",
                (0, 0, (height - 0.05) * size),
                (0, 0, (height + 0.05) * size),
                0.055 * size,
                0.055 * size,
                _accent(thing),
                top,
            )
    return top, None, 0


def barrier(thing: Thing) -> Built:
    """A post with a boom to its right that is lifted; the boom's tip is its detail."""
    top, size, name = _top(thing), thing.size, thing.name
    add_box(f"{name} Post", (0, 0, 0.5 * size), (0.22 * size, 0.22 * size, size), _main(thing), top)
    pivot = add_empty(f"{name} Boom", (0, -0.16 * size, 0.85 * size), parent=top)
    add_box(f"{name} Bar", (0.8 * size, 0, 0), (1.6 * size, 0.08 * size, 0.12 * size), _main(thing), pivot)
    if thing.detail:
        add_box(f"{name} Tip", (1.5 * size, 0, 0), (0.4 * size, 0.1 * size, 0.14 * size), _accent(thing), pivot)
    return top, pivot, 1


def door(thing: Thing) -> Built:
    """Two posts, and a leaf that is hung at the left one; the bar across the leaf is its detail."""
    top, size, name = _top(thing), thing.size, thing.name
    wall = paint(f"{name} Posts", (0.3, 0.28, 0.25))
    for x in (-0.05, 1.15):
        add_box(f"{name} Post {x}", (x, 0, 0.5 * size), (0.16, 0.16, size), wall, top)
    pivot = add_empty(f"{name} Leaf", (0.05, 0, 0), parent=top)
    add_box(f"{name} Panel", (0.5, 0, 0.42 * size), (0.98, 0.06, 0.72 * size), _main(thing), pivot)
    if thing.detail:
        add_box(f"{name} Bar", (0.5, 0, 0.42 * size), (0.99, 0.09, 0.08 * size), _accent(thing), pivot)
    return top, pivot, 2


def tower(thing: Thing) -> Built:
    """A square tower; the pointed roof is its detail."""
    top, size, name = _top(thing), thing.size, thing.name
    add_box(f"{name} Shaft", (0, 0, 0.35 * size), (0.26 * size, 0.26 * size, 0.7 * size), _main(thing), top)
    add_box(f"{name} Nave", (0.32 * size, 0, 0.15 * size), (0.5 * size, 0.26 * size, 0.3 * size), _main(thing), top)
    add_round(f"{name} Roof", (0, 0, 0.7 * size), (0, 0, size), 0.2 * size, 0.01 * size, _accent(thing), top)
    return top, None, 0


BUILDERS: Final[dict[str, Callable[[Thing], Built]]] = {
    "figure": figure, "ball": ball, "box": box, "crate": crate, "tree": tree, "fir": fir, "car": car, "house": house,
    "post": post, "barrier": barrier, "door": door, "tower": tower,
}  # fmt: skip
