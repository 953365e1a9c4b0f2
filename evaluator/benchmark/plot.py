# SPDX-License-Identifier: GPL-3.0-or-later
"""Scores against a cost as a drawing: places of points and ticks, which a page turns into SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from ..tables.records import Cell

WIDTH, HEIGHT = 640.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 130.0, 12.0, 40.0
LOG_FROM = 20.0
"""Ratio of the largest cost to the least from which the axis is logarithmic."""


@dataclass(frozen=True)
class Dot:
    """One configuration; `low_y` and `high_y` are the ends of its interval."""

    name: str
    x: float
    y: float
    low_y: float | None
    high_y: float | None
    on_front: bool
    title: str


@dataclass(frozen=True)
class Plot:
    """Places are in the units of WIDTH × HEIGHT, from the upper left."""

    label: str
    dots: list[Dot]
    front: str
    """The path through the dots on the front, as SVG has it."""
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    is_log: bool
    unknown: list[str]
    """Configurations without a score or whose cost nobody told."""
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM


def scatter(label: str, found: Sequence[tuple[str, float | None, Cell, bool]]) -> Plot:
    """Cost to the right, score (0 to 100) upwards. `found`: name, cost, score, whether it is on the front."""
    known = [
        (name, cost, cell, front) for name, cost, cell, front in found if cost is not None and cell.value is not None
    ]
    unknown = [name for name, cost, cell, _ in found if cost is None or cell.value is None]
    costs = [cost for _, cost, _, _ in known]
    is_log = bool(costs) and min(costs) > 0 and max(costs) / min(costs) >= LOG_FROM
    ticks = _log_ticks(min(costs), max(costs)) if is_log else _ticks(max(costs, default=1.0))
    least, most = (ticks[0], ticks[-1]) if is_log else (0.0, ticks[-1])

    def x(cost: float) -> float:
        share = log10(cost / least) / log10(most / least) if is_log else cost / most
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(score: float) -> float:
        return round(HEIGHT - BOTTOM - score / 100 * (HEIGHT - TOP - BOTTOM), 1)

    dots = [
        Dot(
            name, x(cost), y(cell.value), None if cell.low is None else y(cell.low),
            None if cell.high is None else y(cell.high), front, f"{name}: {cell.value:.1f} at {cost:.4g}",
        )
        for name, cost, cell, front in known
        if cell.value is not None
    ]  # fmt: skip
    line = sorted((dot.x, dot.y) for dot in dots if dot.on_front)
    return Plot(
        label, dots, " ".join(f"{'L' if n else 'M'}{px} {py}" for n, (px, py) in enumerate(line)),
        [(x(tick), f"{tick:g}") for tick in ticks], [(y(tick), str(tick)) for tick in range(0, 101, 20)],
        is_log, unknown,
    )  # fmt: skip


def _ticks(most: float) -> list[float]:
    """Four to eight round numbers from 0 to at least `most`."""
    most = most or 1.0
    unit = 10.0 ** floor(log10(most / 4))
    step = next(unit * factor for factor in (1, 2, 5, 10) if most / (unit * factor) <= 6)
    return [round(step * number, 12) for number in range(ceil(most / step) + 1)]


def _log_ticks(least: float, most: float) -> list[float]:
    return [10.0**power for power in range(floor(log10(least)), ceil(log10(most)) + 1)]
