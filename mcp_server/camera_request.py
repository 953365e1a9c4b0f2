# SPDX-License-Identifier: GPL-3.0-or-later
"""What fit_camera is given, as a request of `matchcut camera`: short rows of numbers become its records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from ..evaluator.protocol.errors import BadInputError

FORMAT: Final = "matchcut-camera-request/1"
LARGEST: Final = 1e9
MOST_ROWS: Final = 10_000
PASSED_ON: Final = ("focal_px", "lens_mm", "principal", "sigma_px", "smooth_px", "horizon", "origin", "sensor", "size")
OWN: Final = ("frame", "length", "scale", "cuts", "interpolation")
SHOW: Final = "pixel x, y and place X, Y, Z as [x, y, X, Y, Z], or [frame, x, y, X, Y, Z]"
INTERPOLATIONS: Final = ("linear", "bezier", "constant")


Kind = Literal["points", "lines", "frames", "motion"]


@dataclass(frozen=True)
class Asked:
    """A checked question. `request` lacks the picture's size and the sensor, where those are not given."""

    kind: Kind
    """`motion` is the measured motion with nothing to begin at."""
    request: dict[str, Any]
    frame: int | None
    """Of the picture that is fitted, where it was named."""
    scale: float
    cuts: list[int] | None
    interpolation: str


def asked_for(points: Any, lines: Any, motion: bool, options: Any) -> Asked:
    """Check what an agent has given. Raises BadInputError with the row and what it has to be."""
    given = _options(options)
    frame = _whole("options frame", given["frame"]) if "frame" in given else None
    cuts = (
        None if "cuts" not in given else [_whole("options cuts", cut) for cut in _list("options cuts", given["cuts"])]
    )
    scale = _numbers("options scale", [given.get("scale", 1.0)], 1)[0]
    if scale <= 0:
        raise _bad(f"options scale is {scale:g}; expected a number above 0")
    interpolation = given.get("interpolation", "linear")
    if interpolation not in INTERPOLATIONS:
        raise _bad(f"options interpolation is {interpolation!r}; expected {', '.join(INTERPOLATIONS)}")
    rows, sets = _list("points", points), _sets(lines)
    if rows and (sets or "horizon" in given):
        raise _bad("points and lines are two ways to fit; give one of them")
    if not rows and not sets and "horizon" not in given and not motion:
        raise _bad(f"give points ({SHOW}), lines, or motion=true")
    request: dict[str, Any] = {"format": FORMAT, **{name: given[name] for name in PASSED_ON if name in given}}
    if rows:
        fields, frame = _points(rows, frame)
        kind: Kind = "frames" if "frames" in fields else "points"
    else:
        kind, fields = ("lines" if sets or "horizon" in given else "motion"), {"lines": sets}
    if motion and kind == "frames" and scale != 1:
        raise _bad("the points of several frames tell the scale of a motion; leave out options scale")
    if not motion and (scale != 1 or cuts is not None):
        raise _bad("options scale and cuts go with motion=true")
    request |= fields
    if "length" in given:
        request["length"] = _length(given["length"])
    return Asked(kind, request, frame, scale, cuts, interpolation)


def outside(request: dict[str, Any], size: Sequence[int]) -> str:
    """Why a point cannot have been seen in a picture of `size`: which one lies outside of it; empty where none does."""
    frames = request.get("frames", [{"points": request.get("points", [])}])
    for entry in frames:
        for number, point in enumerate(entry["points"]):
            x, y = point["pixel"]
            if not (-0.5 <= x <= size[0] - 0.5 and -0.5 <= y <= size[1] - 0.5):
                where = f" of frame {entry['frame']}" if "frame" in entry else ""
                return (
                    f"point {number}{where}: pixel ({x:g}, {y:g}) lies outside of the picture, which has "
                    f"{size[0]}x{size[1]} pixels from (0, 0) on; give pixels of the reference as shown"
                )
    return ""


def _options(options: Any) -> dict[str, Any]:
    given = {} if options is None else options
    if not isinstance(given, dict):
        raise _bad("options has to be an object")
    unknown = sorted(set(given) - {*PASSED_ON, *OWN})
    if unknown:
        raise _bad(f"options {unknown[0]!r} is unknown; there are {', '.join((*OWN, *PASSED_ON))}")
    for name in ("focal_px", "lens_mm", "sigma_px", "smooth_px"):
        if name in given:
            _numbers(f"options {name}", [given[name]], 1)
    for name, count in (("origin", 2), ("horizon", 4), ("size", 2), ("principal", 2)):
        if name in given and (name, given[name]) != ("principal", "free"):
            _numbers(f"options {name}", given[name], count)
    return given


def _points(rows: list[Any], frame: int | None) -> tuple[dict[str, Any], int | None]:
    """The request's fields, and the frame of one picture."""
    width = len(rows[0]) if isinstance(rows[0], list | tuple) else 0
    if width not in (5, 6):
        raise _bad(f"point 0 is {rows[0]!r:.80}; expected {SHOW}")
    frames: dict[int, list[dict[str, Any]]] = {}
    for number, row in enumerate(rows):
        values = _numbers(f"point {number}", row, width, SHOW)
        at = -1 if width == 5 else _whole(f"point {number}: frame", row[0])
        x, y, *place = values[width - 5 :]
        frames.setdefault(at, []).append({"pixel": [x, y], "world": place, "name": str(number)})
    if len(frames) > 1:
        if frame is not None:
            raise _bad("options frame is for one picture, and the points name several frames; leave it out")
        return {"frames": [{"frame": at, "points": frames[at]} for at in sorted(frames)]}, None
    (at, found), *_ = frames.items()
    if at >= 0 and frame not in (None, at):
        raise _bad(f"options frame is {frame}, and the points are of frame {at}; leave one out")
    return {"points": found}, at if at >= 0 else frame


def _sets(lines: Any) -> list[dict[str, Any]]:
    given = {} if lines is None else lines
    if not isinstance(given, dict):
        raise _bad('lines has to be an object such as {"x": [[x1, y1, x2, y2], …], "y": […]}')
    return [
        {
            "axis": axis,
            "segments": [
                _numbers(f"line {number} along {axis}", row, 4, "both ends as [x1, y1, x2, y2]")
                for number, row in enumerate(_list(f"lines along {axis}", rows))
            ],
        }
        for axis, rows in given.items()
    ]


def _length(value: Any) -> dict[str, Any]:
    """[x1, y1, x2, y2, along, length] or the record itself."""
    if isinstance(value, dict):
        return value
    row = _list("options length", value)
    if len(row) != 6 or row[4] not in ("x", "y", "z", "ground"):
        raise _bad(f'options length is {value!r:.80}; expected [x1, y1, x2, y2, "x"|"y"|"z"|"ground", length]')
    x1, y1, x2, y2, length = _numbers("options length", [*row[:4], row[5]], 5)
    return {"start": [x1, y1], "end": [x2, y2], "along": row[4], "length": length}


def _list(name: str, value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise _bad(f"{name} is {value!r:.80}; expected a list")
    if len(value) > MOST_ROWS:
        raise _bad(f"{name} has {len(value)} rows; at most {MOST_ROWS} are taken")
    return list(value)


def _numbers(name: str, row: Any, count: int, expected: str = "") -> list[float]:
    good = isinstance(row, list | tuple) and len(row) == count
    if not good or not all(type(one) in (int, float) and abs(one) <= LARGEST for one in row):
        raise _bad(f"{name} is {row!r:.80}; expected {expected or f'{count} finite numbers'}")
    return [float(one) for one in row]


def _whole(name: str, value: Any) -> int:
    whole = type(value) in (int, float) and math.isfinite(value) and value == int(value)
    if not whole or not 0 <= value < 10**6:
        raise _bad(f"{name} is {value!r:.80}; expected a whole number from 0")
    return int(value)


def _bad(text: str) -> BadInputError:
    return BadInputError(f"bad_params: {text}")
