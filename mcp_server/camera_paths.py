# SPDX-License-Identifier: GPL-3.0-or-later
"""Fits and paths as what set_camera lays down, and a measured path held to what points tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..evaluator.protocol.errors import BadInputError

FIELDS: Final = ("frame", "location", "rotation_quaternion", "lens", "shift_x", "shift_y")
MEASURED_LENS: Final = "a focal length of"
"""How the note begins, after its frame, that says that another focal length was measured."""


def cameras_of(found: dict[str, Any], name: str, frame: int | None) -> list[dict[str, Any]]:
    """What set_camera takes: one camera a shot, named NAME, NAME 2 and so on; a single picture's at `frame`."""
    if "shots" not in found:
        blender = found["camera"]["blender"]
        pose = blender["matrix_world"]
        key = {
            "frame": frame, "location": [row[3] for row in pose[:3]], "rotation_quaternion": quaternion(pose),
            "lens": blender["lens"], "shift_x": blender["shift_x"], "shift_y": blender["shift_y"],
        }  # fmt: skip
        return [{"name": name, "keyframes": [key]}]
    return [
        {
            "name": name if number == 1 else f"{name} {number}",
            "keyframes": [{field: key[field] for field in FIELDS} for key in shot["keyframes"]],
        }
        for number, shot in enumerate(found["shots"], 1)
    ]


def quaternion(pose: Sequence[Sequence[float]]) -> list[float]:
    """w, x, y, z of the rotation in a matrix."""
    import numpy as np  # takes its time, and only a fit needs it

    from ..evaluator.camera.core.pinhole import quaternion_of

    return [float(value) for value in quaternion_of(np.array([row[:3] for row in pose[:3]]))]


def held_to(
    path: dict[str, Any], fit: dict[str, Any], at: int, places: Mapping[int, Sequence[float]]
) -> dict[str, Any]:
    """A measured path of one shot that begins at `fit` in frame `at`, with the fit's lens, and its scale from `places`.

    What zooms goes on zooming: lenses keep their ratios. `places` are where points of other frames have the camera: the
    path goes through them, what it misses them by spread over the frames between. Without any the scale stays.
    Raises BadInputError where they contradict the way that was measured.
    """
    (shot,) = path["shots"]
    anchor = next(key for key in shot["keyframes"] if key["frame"] == at)
    blender = fit["camera"]["blender"]
    ratio = blender["lens"] / anchor["lens"]
    scale, notes = _scale(shot["keyframes"], anchor, places)
    if abs(ratio - 1) > 0.01:
        notes.append(f"the lens is the fit's, {blender['lens']:.2f} mm; {anchor['lens']:.2f} mm was measured")
    keys = [
        {
            **key,
            "lens": key["lens"] * ratio,
            "shift_x": key["shift_x"] - anchor["shift_x"] + blender["shift_x"],
            "shift_y": key["shift_y"] - anchor["shift_y"] + blender["shift_y"],
            "location": place,
        }
        for key, place in zip(shot["keyframes"], _through(shot["keyframes"], anchor, scale, places), strict=True)
    ]
    held = {**shot, "keyframes": keys, "focal_px": shot["focal_px"] * ratio}
    kept = [note for note in path["notes"] if MEASURED_LENS not in note]
    unit = path["unit"] if scale == 1 else "that of the points"
    return {**path, "shots": [held], "notes": [*notes, *kept], "unit": unit}


def _through(
    keys: Sequence[dict[str, Any]], anchor: dict[str, Any], scale: float, places: Mapping[int, Sequence[float]]
) -> list[list[float]]:
    """The locations of the keys, scaled about the anchor, and moved so that they go through the places."""
    import numpy as np

    frames = np.array([key["frame"] for key in keys])
    start = np.array(anchor["location"], float)
    found = start + scale * (np.array([key["location"] for key in keys], float) - start)
    goals = {frame: place for frame, place in places.items() if frame in frames} | {anchor["frame"]: start}
    known = sorted(goals)
    misses = np.array([np.subtract(goals[frame], found[frames == frame][0]) for frame in known])
    for axis in range(3):
        found[:, axis] += np.interp(frames, known, misses[:, axis])
    result: list[list[float]] = found.tolist()
    return result


def _scale(
    keys: Sequence[dict[str, Any]], anchor: dict[str, Any], places: Mapping[int, Sequence[float]]
) -> tuple[float, list[str]]:
    start = anchor["location"]
    measured, known, frames = [], [], []
    for key in keys:
        if key["frame"] in places and key is not anchor:
            frames.append(str(key["frame"]))
            measured += [here - there for here, there in zip(key["location"], start, strict=True)]
            known += [here - there for here, there in zip(places[key["frame"]], start, strict=True)]
    if not frames:
        return 1.0, []
    square = sum(way * way for way in measured)
    if square < 1e-18:
        return 1.0, ["the camera was not seen to move, so the points of other frames tell no scale"]
    scale = sum(way * other for way, other in zip(measured, known, strict=True)) / square
    if scale <= 0:
        raise BadInputError(
            f"bad_params: the points of frames {', '.join(frames)} have the camera move against the measured way; "
            "check them, or leave them out and give options scale"
        )
    misses = [scale * way - other for way, other in zip(measured, known, strict=True)]
    off = (sum(miss * miss for miss in misses) / len(frames)) ** 0.5
    told = f"scale {scale:.5g} is from the points of frames {', '.join(frames)}"
    return scale, [f"{told}, {off:.3g} units off there, which is spread over the frames between"]
