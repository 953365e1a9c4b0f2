# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of a result: every component over the pairs, and for the worst pairs where in the frame it goes wrong.

FOLDER/components.svg                  a curve per component
FOLDER/worst-1-frame-000012.png …      four panels: regions, divergence, depth, error of the depth carried along
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..media.labels import label_bar
from ..protocol.files import atomic_path, write_text
from ..protocol.messages import Reporter
from .records import COMPONENTS, Geometry, PairGeometry, SgcResult
from .robust.pair import Details, measure_pair
from .robust.records import ROBUST_COMPONENTS, ROBUST_LABELS, ROBUST_UNITS, RobustPair, RobustResult
from .robust.score import masks_from_residuals
from .robust.settings import ROBUST

WORST: Final = 4
PANEL: Final = 640
"""Width of a panel in pixels."""
BAR, TYPE, MARGIN = 26, 14, 8
TITLE_LETTERS: Final = 100
"""In one line of 16 px over the curves."""
DIVERGENCE_TOP: Final = 2.0
"""Least of the scale's ends, in px for a diagonal of 1000: noise alone shall not glow."""
DEPTH_TOP: Final = 0.1

Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class _Curve:
    label: str
    unit: str
    values: list[tuple[int, float]]
    """(frame, value) where there is one."""


def draw_pictures(
    result: SgcResult | RobustResult, geometry: Geometry, folder: Path, *, reporter: Reporter
) -> list[Path]:
    """Write the pictures of a result of `geometry` into `folder`, and return their paths, worst pair first.

    The paper's mode has the curves alone. What an earlier run drew there is replaced. Progress: stage `sgc, pictures`.
    """
    for old in [*folder.glob("worst-*-frame-*.png"), folder / "components.svg"]:
        old.unlink(missing_ok=True)
    path = folder / "components.svg"
    write_text(path, curves_svg(result, [first for first, _ in geometry.shots[1:]]))
    written = [path]
    if not isinstance(result, RobustResult):
        return written
    measured = {pair.frame for pair in result.pairs if pair.divergence_px is not None}
    chosen = [frame for frame in result.worst if frame in measured][:WORST]
    backgrounds = _backgrounds(geometry, {frame - 1 for frame in chosen})
    drawn: dict[int, Picture] = {}
    for pair in geometry.pairs():
        if pair.frame in chosen:
            drawn[pair.frame] = _panels(pair, result, geometry, backgrounds.get(pair.frame - 1))
            reporter.progress("sgc, pictures", len(drawn), len(chosen))
        if len(drawn) == len(chosen):
            break
    for rank, frame in enumerate(chosen):
        path = folder / f"worst-{rank + 1}-frame-{frame:06d}.png"
        with atomic_path(path) as temporary:
            Image.fromarray(drawn[frame]).save(temporary, "PNG")
        written.append(path)
    return written


def curves_svg(result: SgcResult | RobustResult, cuts: Sequence[int]) -> str:
    """The components over the frames of the pairs as one SVG document, each from 0 to its largest value."""
    curves = _curves(result)
    frames = [pair.frame for pair in result.pairs] or [1]
    first, last = min(frames), max(*frames, min(frames) + 1)
    score = "unscored: " + result.reason if result.score is None else f"{result.score:.4g}"
    title = textwrap.wrap(f"SGC, {result.mode} mode: {score}", TITLE_LETTERS) or [""]
    made = f"{result.estimator}; pairs of frames {first} to {last}"
    width, height, left = 900, 92, 14
    top = 32 + 20 * len(title)
    total = top + len(curves) * (height + 34) + 10

    def x(frame: float) -> float:
        return left + (width - 2 * left) * (frame - first) / (last - first)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}">',
        "<style>text { font: 13px sans-serif } .title { font-size: 16px }</style>",
        f'<rect width="{width}" height="{total}" fill="#fff"/>',
        *(
            f'<text x="{left}" y="{24 + 20 * row}" class="title">{escape(line)}</text>'
            for row, line in enumerate(title)
        ),
        f'<text x="{left}" y="{top - 10}" fill="#666">{escape(made)}</text>',
    ]
    for place, curve in enumerate(curves):
        above = top + place * (height + 34) + 22
        highest = max((value for _, value in curve.values), default=0.0)
        known = f"to {highest:.3g} {curve.unit}" if curve.values else "no pair has a value"
        lines.append(
            f'<text x="{left}" y="{above - 6}">{escape(curve.label)} <tspan fill="#666">{known}</tspan></text>'
        )
        lines.append(f'<rect x="{left}" y="{above}" width="{width - 2 * left}" height="{height}" fill="#f4f5f7"/>')
        lines += [
            f'<line x1="{x(cut):.1f}" x2="{x(cut):.1f}" y1="{above}" y2="{above + height}" stroke="#bbb" '
            'stroke-dasharray="4 3"/>'
            for cut in cuts
        ]
        scale = (height - 6) / highest if highest > 0 else 0.0
        for run in _runs(curve.values, set(cuts)):
            points = " ".join(f"{x(frame):.1f},{above + height - 1 - value * scale:.1f}" for frame, value in run)
            lines.append(f'<polyline points="{points}" fill="none" stroke="#1763b8" stroke-width="1.6"/>')
            if len(run) == 1:
                centre = points.split(",")
                lines.append(f'<circle cx="{centre[0]}" cy="{centre[1]}" r="2" fill="#1763b8"/>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _curves(result: SgcResult | RobustResult) -> list[_Curve]:
    if isinstance(result, SgcResult):
        return [
            _Curve(name.replace("_", " "), "", _known({pair.frame: pair.components.get(name) for pair in result.pairs}))
            for name in COMPONENTS
        ]
    return [
        _Curve(
            ROBUST_LABELS[name], ROBUST_UNITS[name],
            _known({pair.frame: getattr(pair, name) for pair in result.pairs}),
        )
        for name in ROBUST_COMPONENTS
    ]  # fmt: skip


def _known(values: Mapping[int, float | None]) -> list[tuple[int, float]]:
    return [(frame, value) for frame, value in sorted(values.items()) if value is not None]


def _runs(values: Iterable[tuple[int, float]], cuts: set[int]) -> list[list[tuple[int, float]]]:
    """Stretches of consecutive frames; a cut ends one."""
    runs: list[list[tuple[int, float]]] = []
    for frame, value in values:
        if runs and frame == runs[-1][-1][0] + 1 and frame not in cuts:
            runs[-1].append((frame, value))
        else:
            runs.append([(frame, value)])
    return runs


def _backgrounds(geometry: Geometry, wanted: set[int]) -> dict[int, Picture]:
    """The pictures of the frames that are wanted, where the geometry has any."""
    if geometry.images is None or not wanted:
        return {}
    found = {}
    numbers = (number for first, last in geometry.shots for number in range(first, last + 1))
    for number, image in zip(numbers, geometry.images(), strict=False):
        if number in wanted:
            found[number] = np.asarray(image, dtype=np.uint8)
            if len(found) == len(wanted):
                break
    return found


def _panels(pair: PairGeometry, result: RobustResult, geometry: Geometry, background: Picture | None) -> Picture:
    """Four panels of one pair under a bar with its numbers."""
    gauge = next(one for one in result.gauges if one.first <= pair.frame <= one.last)
    measured = measure_pair(pair, gauge, masks_from_residuals(geometry), ROBUST)
    details, found = measured.details, measured.result
    assert details is not None
    height, width = details.depth.shape
    size = (PANEL, max(2, round(PANEL * height / width)))
    plain = background if background is not None else _shaded(details.depth)
    base = cv2.resize(plain, size, interpolation=cv2.INTER_AREA)
    grey = np.repeat(cv2.cvtColor(base, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2)
    scale = size[0] / width
    diagonal = math.hypot(width, height) / 1000
    quarters = [
        (
            f"regions: {found.regions_valid} of {found.regions} valid",
            _regions(details, base, pair),
            _share("invalid", found.invalid_share),
        ),
        (
            "divergence and the tracks' misses, 10 times as long",
            _divergence(details, grey, scale, diagonal),
            _text(found.divergence_px, "px"),
        ),
        ("depth (logarithm), grey: none", _resized(_shaded(details.depth), size), f"median {gauge.unit:.3g}"),
        (
            "depth carried along against the depth there",
            _depth_error(details, grey, scale),
            _text(found.depth_log_error, "|log|"),
        ),
    ]
    boxes = [
        np.vstack([label_bar(size[0], BAR, left, right, size=TYPE, margin=MARGIN), picture])
        for left, picture, right in quarters
    ]
    grid = np.vstack([np.hstack(boxes[:2]), np.hstack(boxes[2:])])
    title = label_bar(
        grid.shape[1],
        BAR + 6,
        f"frames {pair.frame - 1} to {pair.frame}",
        _numbers(found),
        size=TYPE + 2,
        margin=MARGIN,
    )
    return np.vstack([title, grid]).astype(np.uint8)


def _numbers(found: RobustPair) -> str:
    focal = "focal error " + _text(found.focal_error, "")
    return f"unexplained {_text(found.unexplained_share, '')}  masked {found.masked_share:.3f}  {focal}"


def _text(value: float | None, unit: str) -> str:
    return "unobservable" if value is None else f"{value:.3g} {unit}".strip()


def _share(name: str, value: float) -> str:
    return f"{name} {100 * value:.1f} %"


def _resized(picture: Picture, size: tuple[int, int]) -> Picture:
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_NEAREST), dtype=np.uint8)


def _shaded(depth: NDArray[np.float32]) -> Picture:
    """Near is bright; grey where there is no depth."""
    known = depth > 0
    if not known.any():
        return np.full((*depth.shape, 3), 90, np.uint8)
    logs = np.log(np.where(known, depth, 1.0))
    low, high = np.percentile(logs[known], [2, 98])
    share = np.clip((high - logs) / max(high - low, 1e-6), 0, 1)
    colours = _colours(share)
    colours[~known] = 90
    return colours


def _colours(share: NDArray[Any]) -> Picture:
    """0 … 1 as colours from dark blue to red, (…, 3)."""
    flat = (np.clip(share, 0, 1) * 255).astype(np.uint8).reshape(-1, 1)
    colours = cv2.cvtColor(cv2.applyColorMap(flat, cv2.COLORMAP_TURBO), cv2.COLOR_BGR2RGB)
    return np.asarray(colours, dtype=np.uint8).reshape(*share.shape, 3)


def _regions(details: Details, base: Picture, pair: PairGeometry) -> Picture:
    """Every region in a colour of its own over the picture; what moves is hatched white, sky stays as it is."""
    size = (base.shape[1], base.shape[0])
    labels = details.regions.map_of(details.depth)
    count = max(1, details.regions.count)
    colours = _colours((labels * 0.618034 % 1).astype(np.float64)) if count else base
    masked = pair.previous.moving
    colours = np.where((labels >= 0)[..., None], colours, 0).astype(np.uint8)
    shown = _resized(colours, size)
    inside = _resized((labels >= 0).astype(np.uint8), size)[..., None] > 0
    mixed = np.where(inside, 0.5 * base + 0.5 * shown, base)
    rows, columns = np.mgrid[0 : size[1], 0 : size[0]]
    stripes = (_resized(masked.astype(np.uint8), size) > 0) & ((rows + columns) % 8 < 3)
    mixed[stripes] = 255
    return np.asarray(mixed, dtype=np.uint8)


def _divergence(details: Details, grey: Picture, scale: float, diagonal: float) -> Picture:
    """A disc per track coloured by its divergence, with a line ten times as long as its miss."""
    top = max(DIVERGENCE_TOP * diagonal, float(np.percentile(details.divergence, 95)))
    canvas = (grey * 0.55).astype(np.uint8)
    colours = _colours(details.divergence / top)
    misses = np.nan_to_num(np.clip(details.misses, -20, 20))
    step = max(1, len(details.places) // 2500)
    for place, miss, colour in zip(details.places[::step], misses[::step], colours[::step], strict=True):
        start = tuple(round(float(value)) for value in place * scale)
        end = tuple(round(float(value)) for value in (place + 10 * miss) * scale)
        shade = tuple(int(value) for value in colour)
        cv2.line(canvas, start, end, shade, 1, cv2.LINE_AA)
        cv2.circle(canvas, start, 2, shade, -1, cv2.LINE_AA)
    return canvas


def _depth_error(details: Details, grey: Picture, scale: float) -> Picture:
    """The error of every compared point in colour, from 0 to at least DEPTH_TOP; grey where none is compared."""
    canvas = (grey * 0.55).astype(np.uint8)
    errors = details.depth_errors
    if errors is None or not len(errors.errors):
        return canvas
    top = max(DEPTH_TOP, float(np.percentile(errors.errors, 95)))
    step = max(1, round(math.sqrt(details.depth.size / max(1, len(errors.errors)))))
    height, width = details.depth.shape
    plane = np.full((-(-height // step), -(-width // step)), -1.0)
    plane[errors.places[:, 1] // step, errors.places[:, 0] // step] = errors.errors / top
    size = (grey.shape[1], grey.shape[0])
    known = _resized((plane >= 0).astype(np.uint8), size) > 0
    colours = _resized(_colours(np.maximum(plane, 0)), size)
    return np.where(known[..., None], (0.3 * grey + 0.7 * colours).astype(np.uint8), canvas)
