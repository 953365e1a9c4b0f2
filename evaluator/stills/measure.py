# SPDX-License-Identifier: GPL-3.0-or-later
"""All that is measured of one frame: framing, silhouette, colour and motion, and the line that says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ..sgc.classical.flow import Workers
from .colour import ColourDifference, measure_colour, unknown_colour
from .framing import Framing, measure_framing
from .grey import grey, is_black, measured_size, small
from .motion import Motion, measure_motion
from .silhouette import Silhouette, measure_silhouette

Picture = NDArray[np.uint8]
Step = tuple[tuple[Picture, Picture], tuple[Picture, Picture]]
"""Two neighbouring frames of the reference, and the same two of ours."""
SHAPE: Final = 0.02
"""Relative difference of the aspects from which on two pictures have another shape."""


@dataclass(frozen=True)
class Measured:
    """The figures of one frame."""

    framing: Framing
    silhouette: Silhouette
    colour: ColourDifference
    motion: Motion


def other_shape(reference: Picture, ours: Picture) -> str:
    """Why two pictures cannot lie on each other, empty where they can."""
    given, made = (one.shape[1] / one.shape[0] for one in (reference, ours))
    if abs(made / given - 1) <= SHAPE:
        return ""
    return f"ours has another shape, {made:.3g}:1 against {given:.3g}:1; give the scene the reference's size"


def measure(reference: Picture, ours: Picture, step: Step | str, threads: Workers, *, no_colour: str = "") -> Measured:
    """Compare two pictures (H, W, 3) uint8 RGB of any sizes.

    `step` is what the motion is measured in, or why there is none; `no_colour` says why colours tell nothing.
    """
    size = measured_size(reference.shape[1], reference.shape[0])
    given, made = small(reference, size), small(ours, size)
    colour = unknown_colour(no_colour) if no_colour else measure_colour(given, made)
    shape = other_shape(reference, ours)
    if shape:
        return Measured(
            Framing(None, None, None, None, shape), Silhouette(None, None, None, shape), colour,
            Motion(None, None, None, shape),
        )  # fmt: skip
    greys = grey(given), grey(made)
    for name, picture in zip(("the reference", "ours"), greys, strict=True):
        if is_black(picture):
            why = f"{name} is black"
            return Measured(
                Framing(None, None, None, None, why), Silhouette(None, None, None, why), colour,
                Motion(None, None, None, why),
            )  # fmt: skip
    framing = measure_framing(*greys)
    if isinstance(step, str):
        motion = Motion(None, None, None, step)
    else:
        pairs = [tuple(grey(small(one, size)).astype(np.uint8) for one in pair) for pair in step]
        motion = measure_motion((pairs[0][0], pairs[0][1]), (pairs[1][0], pairs[1][1]), threads)
    return Measured(framing, measure_silhouette(*greys, framing), colour, motion)


def described(measured: Measured) -> list[str]:
    """The figures as lines."""
    return [
        _framing(measured.framing),
        _silhouette(measured.silhouette),
        _colour(measured.colour),
        _motion(measured.motion),
    ]


def _framing(found: Framing) -> str:
    if found.right is None or found.down is None or found.scale is None:
        return f"framing unknown: {found.reason}"
    across = f"{abs(found.right):.1f} % {'right' if found.right >= 0 else 'left'}"
    along = f"{abs(found.down):.1f} % {'down' if found.down >= 0 else 'up'}"
    return f"framing: ours lies {across}, {along}, scale {found.scale:.3f} (score {found.score:.2f})"


def _silhouette(found: Silhouette) -> str:
    if found.overlap is None:
        return f"silhouette unknown: {found.reason}"
    moved = f", {found.aligned:.2f} with the framing undone" if found.aligned is not None else ""
    return f"silhouette: overlap {found.overlap:.2f}{moved} (by chance {found.chance:.2f})"


def _colour(found: ColourDifference) -> str:
    if found.difference is None:
        return f"colour unknown: {found.reason}"
    exposure = f"exposure x{found.exposure:.2f}" if found.exposure is not None else found.reason
    return (
        f"colour: dE {found.difference:.1f}, mean L {found.lightness:+.1f} a {found.red:+.1f} b {found.yellow:+.1f}, "
        f"histogram {found.histogram:.1f}, {exposure}"
    )


def _motion(found: Motion) -> str:
    if found.error is None:
        return f"flow unknown: {found.reason}"
    if found.direction is None:
        speed = f", speed x{found.speed:.2f}" if found.speed is not None else ""
        return f"flow: error {found.error:.2f} %{speed}; {found.reason}"
    return f"flow: error {found.error:.2f} %, direction {found.direction:+.2f}, speed x{found.speed:.2f}"
