# SPDX-License-Identifier: GPL-3.0-or-later
"""What fit_camera answers: of the fit's record what an agent acts on, in few digits."""

from __future__ import annotations

import math
from typing import Any, Final, Literal

from pydantic import ConfigDict

from .records import Answer, shown

MOST_KEYS: Final = 12
"""Of a path, that are told."""
MOST_RESIDUALS: Final = 5


class CameraAnswer(Answer):
    """A camera in Blender's words, or the path of one; angles in degrees, `sigma` is one standard deviation."""

    model_config = ConfigDict(
        json_schema_extra=shown("state", "lens_mm", "location", "rotation_deg", "rms_px", "notes", "applied")
    )

    state: Literal["done", "running"] = "done"
    lens_mm: float | None = None
    location: list[float] | None = None
    rotation_deg: list[float] | None = None
    rms_px: float | None = None
    sigma: dict[str, Any] = {}
    worst_px: list[str] = []
    others: list[str] = []
    path: list[dict[str, Any]] = []
    notes: list[str] = []
    applied: list[str] = []
    undo_step: str = ""
    note: str = ""


def fit_answer(found: dict[str, Any]) -> CameraAnswer:
    """Of a `matchcut-camera-fit/1`."""
    camera = found["camera"]
    blender = camera["blender"]
    placed = camera["centre"] is not None
    lens_sigma = camera["focal_sigma_px"]
    sigma = {
        "lens_mm": None if lens_sigma is None else _short(lens_sigma * blender["lens"] / camera["focal_px"]),
        "location": _all(camera["centre_sigma"]),
        "rotation_deg": _all(camera["rotation_sigma_deg"]),
    }
    worst = sorted(found["residuals"], key=lambda one: -math.hypot(one["x"], one["y"]))[:MOST_RESIDUALS]
    shift = [blender["shift_x"], blender["shift_y"]]
    notes = [f"assumed: {text}" for text in found["assumed"]] + list(found["notes"])
    if max(map(abs, shift)) > 1e-6:
        notes.append(f"the lens is shifted: shift_x {shift[0]:.5f}, shift_y {shift[1]:.5f}")
    return CameraAnswer(
        lens_mm=_short(blender["lens"]),
        location=_all(camera["centre"]) if placed else None,
        rotation_deg=_euler(blender["matrix_world"]),
        rms_px=_short(camera["rms_px"]),
        sigma=sigma,
        worst_px=[f"{one['name']}: ({one['x']:.2f}, {one['y']:.2f})" for one in worst],
        others=[_other(one) for one in found["others"]],
        notes=notes,
    )


def path_answer(found: dict[str, Any]) -> CameraAnswer:
    """Of a `matchcut-camera-path/1`."""
    keys = [key for shot in found["shots"] for key in shot["keyframes"]]
    skipped = [f"frame {one['frame']}: no camera: {one['reason']}" for one in found["skipped"][:MOST_RESIDUALS]]
    shots = [f"frames {shot['first']} to {shot['last']}: {len(shot['keyframes'])} cameras" for shot in found["shots"]]
    unit = f"one unit is {found['unit']}"
    sigmas = [shot["focal_sigma_px"] for shot in found["shots"]]
    first = found["shots"][0]
    lens = None if sigmas[0] is None else _short(sigmas[0] * first["keyframes"][0]["lens"] / first["focal_px"])
    return CameraAnswer(
        lens_mm=_short(keys[0]["lens"]),
        location=_all(keys[0]["location"]),
        rotation_deg=_euler(_matrix(keys[0]["rotation_quaternion"])),
        rms_px=None if found["rms_px"] is None else _short(found["rms_px"]),
        sigma={"lens_mm": lens},
        path=[_key(key) for key in _spread(keys)],
        notes=[*shots, unit, *found["notes"], *skipped],
    )


def _other(camera: dict[str, Any]) -> str:
    place = "nowhere in particular" if camera["centre"] is None else str(_all(camera["centre"]))
    return f"{camera['blender']['lens']:.2f} mm at {place}, {camera['rms_px']:.3f} px left over"


def _key(key: dict[str, Any]) -> dict[str, Any]:
    told = {
        "frame": key["frame"], "lens_mm": _short(key["lens"]), "location": _all(key["location"]),
        "rotation_deg": _euler(_matrix(key["rotation_quaternion"])),
    }  # fmt: skip
    if key["rms_px"] is not None:
        told |= {"rms_px": _short(key["rms_px"]), "location_sigma": _all(key["location_sigma"])}
    return told


def _spread(keys: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Evenly some of them, the first and the last among them."""
    if len(keys) <= MOST_KEYS:
        return keys
    return [keys[round(step * (len(keys) - 1) / (MOST_KEYS - 1))] for step in range(MOST_KEYS)]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _all(values: list[float] | None) -> list[float] | None:
    return None if values is None else [_short(value) for value in values]


def _matrix(q: list[float]) -> list[list[float]]:
    w, x, y, z = q
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def _euler(matrix: list[list[float]]) -> list[float]:
    """Degrees about x, y, z, as Blender's XYZ: R = Rz Ry Rx."""
    across = math.hypot(matrix[0][0], matrix[1][0])
    y = math.atan2(-matrix[2][0], across)
    if across > 1e-9:
        x, z = math.atan2(matrix[2][1], matrix[2][2]), math.atan2(matrix[1][0], matrix[0][0])
    else:
        x, z = math.atan2(-matrix[1][2], matrix[1][1]), 0.0
    return [_short(math.degrees(angle)) for angle in (x, y, z)]
