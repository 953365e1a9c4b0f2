# SPDX-License-Identifier: GPL-3.0-or-later
"""From a request to its answer: the one function behind the command and everything that calls it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..protocol.errors import BadInputError
from .core.blender import Sensor, focal_of, to_blender
from .core.fit import Fit
from .core.lines import fit_lines
from .core.pinhole import Array, Pinhole
from .core.place import Length, place
from .core.points import fit_points
from .core.shapes import outline
from .core.vanishing import Lines
from .motion import Keyframe, keyframes
from .records import (
    BlenderRecord,
    CameraFit,
    CameraPath,
    CameraRecord,
    CameraRequest,
    KeyframeRecord,
    PointRecord,
    ResidualRecord,
    SensorRecord,
    ShotRecord,
    SkippedFrame,
)


def answer(request: CameraRequest) -> CameraFit | CameraPath:
    """The camera of a picture, or the path of a shot. Raises BadInputError in one line with the reason."""
    drawn = bool(request.lines) or request.horizon is not None
    kinds = [
        name for name, given in (("lines", drawn), ("points", request.points), ("frames", request.frames)) if given
    ]
    if len(kinds) != 1:
        had = " and ".join(kinds) or "nothing"
        raise BadInputError(f"the request has {had}; give one of lines (or a horizon), points, and frames")
    if not drawn and (request.origin is not None or request.length is not None):
        raise BadInputError("origin and length go with lines; points tell the position themselves")
    if request.frames and request.shapes:
        raise BadInputError("shapes go with one picture; ask for them with lines or points")
    if request.smooth_px is not None and not request.frames:
        raise BadInputError("smooth_px goes with frames")
    sensor = sensor_of(request.sensor)
    focal = request.focal_px
    if request.lens_mm is not None:
        if focal is not None:
            raise BadInputError("focal_px and lens_mm are both given; leave out one")
        focal = focal_of(request.lens_mm, request.size, sensor)
    if request.frames:
        return _path(request, focal, sensor)
    return _lines(request, focal, sensor) if drawn else _points(request, focal, sensor)


def sensor_of(record: SensorRecord) -> Sensor:
    """A sensor out of its record."""
    return Sensor(record.fit, record.width, record.height)


def pinhole_of(fit: CameraFit) -> Pinhole:
    """The camera of a fit that was written to a file. Raises BadInputError where it was not placed."""
    camera = fit.camera
    if camera.centre is None:
        raise BadInputError("the fit has no position; give its request an origin")
    return Pinhole(fit.size, camera.focal_px, camera.principal, np.array(camera.rotation), np.array(camera.centre))


def _lines(request: CameraRequest, focal: float | None, sensor: Sensor) -> CameraFit:
    fit = fit_lines(
        request.size,
        [Lines(entry.axis, np.array(entry.segments)) for entry in request.lines],
        horizon=request.horizon,
        focal=focal,
        principal=request.principal,
        sigma_px=request.sigma_px,
    )
    if request.origin is not None:
        known = request.length
        length = None if known is None else Length(known.start, known.end, known.along, known.length)
        fit = place(fit, request.origin, length)
    elif request.length is not None:
        raise BadInputError("length: it tells the scale from the world's origin; give the origin too")
    labels = [f"{entry.axis} {number}" for entry in request.lines for number in range(len(entry.segments))]
    if request.horizon is not None:
        labels.append("horizon")
    return _fit(request, fit, labels, sensor)


def _points(request: CameraRequest, focal: float | None, sensor: Sensor) -> CameraFit:
    world, pixels = arrays_of(request.points)
    found = fit_points(request.size, world, pixels, focal=focal, principal=request.principal, sigma_px=request.sigma_px)
    labels = [point.name or str(index) for index, point in enumerate(request.points)]
    return _fit(request, found.best, labels, sensor, found.others)


def arrays_of(points: list[PointRecord]) -> tuple[Array, Array]:
    """World (n, 3) and pixels (n, 2) of points."""
    world = np.array([point.world for point in points], dtype=np.float64).reshape(-1, 3)
    return world, np.array([point.pixel for point in points], dtype=np.float64).reshape(-1, 2)


def _path(request: CameraRequest, focal: float | None, sensor: Sensor) -> CameraPath:
    from .path import Seen, fit_path

    if request.principal == "free":
        raise BadInputError("frames take a known principal point; fit one picture with a free one first")
    found = fit_path(
        request.size,
        [Seen(entry.frame, *arrays_of(entry.points)) for entry in request.frames],
        focal=focal,
        principal=request.principal,
        smooth_px=request.smooth_px,
        sigma_px=request.sigma_px,
    )
    frames = [
        keyframe_record(key).model_copy(
            update={
                "rms_px": float(np.sqrt((residuals**2).sum(axis=1).mean())),
                "location_sigma": tuple(centre.tolist()),
                "rotation_sigma_deg": tuple(np.degrees(rotation).tolist()),
            }
        )
        for key, residuals, centre, rotation in zip(
            keyframes(found.frames, list(found.cameras), sensor),
            found.residuals,
            found.centre_sigmas,
            found.rotation_sigmas,
            strict=True,
        )
    ]
    shot = ShotRecord(
        first=found.frames[0],
        last=found.frames[-1],
        focal_px=found.cameras[0].focal,
        focal_sigma_px=found.focal_sigma,
        keyframes=frames,
    )
    return CameraPath(
        source="points",
        size=request.size,
        sensor=request.sensor,
        unit="that of the points",
        shots=[shot],
        skipped=[SkippedFrame(frame=frame, reason=reason) for frame, reason in found.skipped],
        rms_px=found.rms_px,
    )


def keyframe_record(key: Keyframe) -> KeyframeRecord:
    """A keyframe as a record."""
    pose = key.camera.matrix_world
    return KeyframeRecord.model_validate(
        {
            "frame": key.frame,
            "location": pose[:3, 3].tolist(),
            "rotation_quaternion": key.quaternion.tolist(),
            "lens": key.camera.lens,
            "shift_x": key.camera.shift_x,
            "shift_y": key.camera.shift_y,
        }
    )


def _fit(
    request: CameraRequest, fit: Fit, labels: list[str], sensor: Sensor, others: tuple[Fit, ...] = ()
) -> CameraFit:
    if request.shapes and not fit.placed:
        raise BadInputError("shapes need a placed camera; give an origin, and a length for its scale")
    shapes = [
        outline(fit.camera, shape.pixel, shape.kind, shape.size, float(np.radians(shape.heading_deg)))
        for shape in request.shapes
    ]
    return CameraFit.model_validate(
        {
            "size": request.size,
            "camera": _camera(fit, sensor),
            "others": [_camera(other, sensor) for other in others],
            "residuals": [
                ResidualRecord(name=label, x=float(x), y=float(y))
                for label, (x, y) in zip(labels, fit.residuals, strict=True)
            ],
            "parameters": list(fit.parameters),
            "covariance": fit.covariance.tolist(),
            "sigma_px": fit.sigma_px,
            "assumed": list(fit.assumed),
            "shapes": [[line.tolist() for line in lines] for lines in shapes],
            "notes": list(fit.notes),
        }
    )


def _camera(fit: Fit, sensor: Sensor) -> CameraRecord:
    camera, sigmas = fit.camera, fit.sigmas
    written = to_blender(camera, sensor)

    def known(*names: str) -> list[float] | None:
        found = [sigmas.get(name, np.inf) for name in names]
        return found if np.isfinite(found).all() else None

    focal = known("focal")
    rotation = known("rotation_x", "rotation_y", "rotation_z")
    data: dict[str, Any] = {
        "focal_px": camera.focal,
        "focal_sigma_px": None if focal is None else focal[0],
        "field_of_view_deg": [2 * float(np.degrees(np.arctan(side / 2 / camera.focal))) for side in camera.size],
        "principal": camera.principal,
        "principal_sigma_px": known("principal_x", "principal_y"),
        "rotation": camera.rotation.tolist(),
        "rotation_sigma_deg": None if rotation is None else [float(np.degrees(value)) for value in rotation],
        "centre": camera.centre.tolist() if fit.placed else None,
        "centre_sigma": known("centre_x", "centre_y", "centre_z"),
        "world_to_camera": camera.world_to_camera.tolist() if fit.placed else None,
        "rms_px": fit.rms_px,
        "blender": BlenderRecord.model_validate(
            {
                "lens": written.lens,
                "shift_x": written.shift_x,
                "shift_y": written.shift_y,
                "sensor_fit": sensor.fit,
                "sensor_width": sensor.width,
                "sensor_height": sensor.height,
                "matrix_world": written.matrix_world.tolist(),
            }
        ),
    }
    return CameraRecord.model_validate(data)
