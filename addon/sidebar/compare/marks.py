# SPDX-License-Identifier: GPL-3.0-or-later
"""The small things that are drawn beside pictures: labels, a thin frame, the wipe's line with its handle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import blf
import gpu
from gpu_extras.batch import batch_for_shader

from .placement import Rect

Color = tuple[float, float, float, float]

PLATE: Final = (0.02, 0.02, 0.02, 0.94)
TEXT: Final = (1.0, 1.0, 1.0, 0.95)
EDGE: Final = (1.0, 1.0, 1.0, 0.28)
LINE: Final = (1.0, 1.0, 1.0, 0.95)
LIT: Final = (1.0, 0.72, 0.2, 1.0)
SHADOW: Final = (0.0, 0.0, 0.0, 0.45)
TEXT_SIZE: Final = 11
"""Points at resolution scale 1."""
HANDLE: Final = 11
"""Radius in pixels at resolution scale 1."""


def draw_shape(points: Sequence[tuple[float, float]], color: Color, kind: str = "TRI_FAN") -> None:
    """Fill a shape in one color."""
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    batch = batch_for_shader(shader, kind, {"pos": points})
    gpu.state.blend_set("ALPHA")
    shader.bind()
    shader.uniform_float("color", color)
    batch.draw(shader)
    gpu.state.blend_set("NONE")


def draw_box(rect: Rect, color: Color) -> None:
    """Fill a rectangle."""
    draw_shape([(rect.x, rect.y), (rect.right, rect.y), (rect.right, rect.top), (rect.x, rect.top)], color)


def draw_border(rect: Rect, scale: float) -> None:
    """A thin frame just outside of a picture."""
    by = max(1.0, round(scale))
    outer = rect.inset(-by)
    for box in (
        Rect(outer.x, rect.top, outer.width, by), Rect(outer.x, outer.y, outer.width, by),
        Rect(outer.x, rect.y, by, rect.height), Rect(rect.right, rect.y, by, rect.height),
    ):  # fmt: skip
        draw_box(box, EDGE)


def draw_line(x: float, span: Rect, scale: float, *, lit: bool = False) -> None:
    """The wipe's line across what is seen of the picture, with a handle in its middle."""
    if not span.x - 1 <= x <= span.right + 1:
        return
    color, half = LIT if lit else LINE, scale * (1.0 if lit else 0.75)
    draw_box(Rect(x - half - scale, span.y, 2 * (half + scale), span.height), SHADOW)
    draw_box(Rect(x - half, span.y, 2 * half, span.height), color)
    middle, radius = handle_of(x, span), HANDLE * scale
    draw_shape(_circle(middle, radius + 1.5 * scale), SHADOW)
    draw_shape(_circle(middle, radius), color)
    for side in (-1, 1):
        tip, base = middle[0] + side * radius * 0.68, middle[0] + side * radius * 0.22
        arrow = [(tip, middle[1]), (base, middle[1] + radius * 0.42), (base, middle[1] - radius * 0.42)]
        draw_shape(arrow, (0.1, 0.1, 0.1, 1.0), "TRIS")


def handle_of(x: float, span: Rect) -> tuple[float, float]:
    """The middle of the handle."""
    return x, span.y + span.height / 2


def _circle(middle: tuple[float, float], radius: float) -> list[tuple[float, float]]:
    return [
        (middle[0] + radius * math.cos(turn * math.tau / 32), middle[1] + radius * math.sin(turn * math.tau / 32))
        for turn in range(32)
    ]


def draw_label(text: str, box: Rect, corner: str, scale: float) -> None:
    """A text on a dark plate in the lower LEFT or RIGHT corner of a box; nothing where it does not fit."""
    blf.size(0, TEXT_SIZE * scale)
    width, _ = blf.dimensions(0, text)
    pad, gap, height = 6 * scale, 8 * scale, (TEXT_SIZE + 9) * scale
    if width + 2 * (pad + gap) > box.width or height + 2 * gap > box.height:
        return
    x = box.x + gap if corner == "LEFT" else box.right - gap - width - 2 * pad
    plate = Rect(round(x), round(box.y + gap), width + 2 * pad, height)
    draw_shape(_rounded(plate, 4 * scale), PLATE)
    blf.color(0, *TEXT)
    blf.position(0, round(plate.x + pad), round(plate.y + (height - TEXT_SIZE * scale * 0.72) / 2), 0)
    blf.draw(0, text)


def _rounded(rect: Rect, radius: float) -> list[tuple[float, float]]:
    points = []
    corners = ((rect.right, rect.top, 0), (rect.x, rect.top, 1), (rect.x, rect.y, 2), (rect.right, rect.y, 3))
    for x, y, quarter in corners:
        inner_x = x - radius if quarter in (0, 3) else x + radius
        inner_y = y - radius if quarter in (0, 1) else y + radius
        for step in range(6):
            turn = (quarter + step / 5) * math.pi / 2
            points.append((inner_x + radius * math.cos(turn), inner_y + radius * math.sin(turn)))
    return points
