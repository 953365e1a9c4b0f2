# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines, dots and words in a region's pixels, drawn by the gpu module."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import cos, sin, tau
from typing import Any, Final

import blf
import gpu
from gpu_extras.batch import batch_for_shader

from .view import Pair

Colour = tuple[float, float, float, float]
DARK: Final = (0.0, 0.0, 0.0, 0.55)
SIDES: Final = 24


def strips(lines: Sequence[Sequence[Pair]], colour: Colour, width: float) -> None:
    """Polylines, each of two points or more."""
    points = [(*point, 0.0) for line in lines for pair in pairwise(line) for point in pair]
    if not points:
        return
    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    batch = batch_for_shader(shader, "LINES", {"pos": points})
    gpu.state.blend_set("ALPHA")
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    shader.uniform_float("lineWidth", width)
    shader.uniform_float("color", colour)
    batch.draw(shader)
    gpu.state.blend_set("NONE")


def outlined(lines: Sequence[Sequence[Pair]], colour: Colour, width: float) -> None:
    """Polylines with a dark edge, which show on every picture."""
    strips(lines, DARK, width * 2.2)
    strips(lines, colour, width)


def dashed(start: Pair, end: Pair, colour: Colour, width: float, dash: float) -> None:
    """A dashed line."""
    across, up = end[0] - start[0], end[1] - start[1]
    count = min(2000, max(1, int((across * across + up * up) ** 0.5 / (2 * dash))))
    step = across / count, up / count
    strips(
        [
            [
                (start[0] + n * step[0], start[1] + n * step[1]),
                (start[0] + (n + 0.55) * step[0], start[1] + (n + 0.55) * step[1]),
            ]
            for n in range(count)
        ],
        colour,
        width,
    )


def circle(middle: Pair, radius: float) -> list[Pair]:
    """A circle as a polyline."""
    return [
        (middle[0] + radius * cos(tau * n / SIDES), middle[1] + radius * sin(tau * n / SIDES)) for n in range(SIDES + 1)
    ]


def disc(middle: Pair, radius: float, colour: Colour) -> None:
    """A filled circle."""
    edge = circle(middle, radius)
    corners = [corner for pair in pairwise(edge) for corner in (middle, *pair)]
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    batch = batch_for_shader(shader, "TRIS", {"pos": [(*corner, 0.0) for corner in corners]})
    gpu.state.blend_set("ALPHA")
    shader.uniform_float("color", colour)
    batch.draw(shader)
    gpu.state.blend_set("NONE")


def ring(middle: Pair, radius: float, colour: Colour, width: float) -> None:
    """A circle that lets one see what is in it."""
    outlined([circle(middle, radius)], colour, width)


def cross(middle: Pair, reach: float, colour: Colour, width: float, gap: float = 0.0) -> None:
    """A cross whose middle is left free by `gap`."""
    x, y = middle
    outlined(
        [
            [(x + sign * gap, y), (x + sign * reach, y)] for sign in (-1, 1)
        ] + [
            [(x, y + sign * gap), (x, y + sign * reach)] for sign in (-1, 1)
        ],
        colour,
        width,
    )  # fmt: skip


def words(text: str, at: Pair, colour: Colour, size: float) -> None:
    """A line of text with a shadow."""
    blf.size(0, size)
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 5, 0.0, 0.0, 0.0, 0.9)
    blf.color(0, *colour)
    blf.position(0, *at, 0)
    blf.draw(0, text)
    blf.disable(0, blf.SHADOW)


def loupe(at: Pair, where: Pair, region: tuple[int, int], radius: float, zoom: int) -> None:
    """What is drawn around `at` so far, enlarged in a square whose middle is `where`."""
    half = max(2, int(radius / zoom))
    left = min(max(0, int(at[0]) - half), max(0, region[0] - 2 * half - 1))
    bottom = min(max(0, int(at[1]) - half), max(0, region[1] - 2 * half - 1))
    side = 2 * half + 1
    buffer = gpu.state.active_framebuffer_get().read_color(left, bottom, side, side, 4, 0, "FLOAT")
    buffer.dimensions = side * side * 4
    texture = gpu.types.GPUTexture((side, side), format="RGBA16F", data=buffer)
    edge = side * zoom / 2
    corners = [(where[0] + x * edge, where[1] + y * edge) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    shader = gpu.shader.from_builtin("IMAGE")
    batch = batch_for_shader(
        shader,
        "TRIS",
        {
            "pos": [corners[n] for n in (0, 1, 2, 0, 2, 3)],
            "texCoord": [((0, 0), (1, 0), (1, 1), (0, 1))[n] for n in (0, 1, 2, 0, 2, 3)],
        },
    )
    texture_filter: Any = getattr(texture, "filter_mode", None)
    if texture_filter is not None:
        texture.filter_mode(False)
    shader.uniform_sampler("image", texture)
    batch.draw(shader)
    outlined([[*corners, corners[0]]], (1.0, 1.0, 1.0, 0.9), 1.5)
    target = (where[0] - edge + (at[0] - left) * zoom, where[1] - edge + (at[1] - bottom) * zoom)
    cross(target, edge * 0.35, (1.0, 1.0, 1.0, 0.9), 1.0, gap=zoom)
