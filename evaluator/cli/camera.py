# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut camera`: the camera of a picture from what is seen in it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter

if TYPE_CHECKING:
    from ..camera.records import CameraFit, CameraPath, CameraRequest

DESCRIPTION = """Fit a camera to a picture: focal length, orientation and position, what is left over, and one standard
deviation of each. REQUEST.json holds one of

  lines    drawn along the axes of the world (x, y, z is up), two or three axes; one with a known focal length
  points   whose places in the world and in the picture are known: 4 or more; 3 with a known focal length
  frames   such points in several frames of one shot: one focal length and a pose a frame

and the answer gives the camera in Blender's words too. docs/camera.md shows requests.

examples:
  matchcut camera request.json                   what was found, for a person
  matchcut camera request.json --json            all of it, as one JSON document
  matchcut camera request.json --out fit.json    the same into a file
  matchcut camera - --json < request.json        a request from standard input

a further command, with its own --help:
  matchcut camera motion    a measured camera path as keyframes of a Blender camera"""

SUBCOMMANDS: Final = {"motion": "camera_motion"}
LARGEST_REQUEST: Final = 64 * 2**20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("request", type=Path, metavar="REQUEST.json", help="what is known; - reads standard input")
    add_output_arguments(parser)


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what says where the answer goes."""
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the answer here")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Fit, write and print."""
    from ..camera.request import answer

    found = answer(read_request(args.request))
    return give(found, args, reporter, text_of(found))


def read_request(path: Path) -> CameraRequest:
    """The request in a file, or on standard input for `-`. Raises BadInputError."""
    from ..camera.records import CameraRequest

    if str(path) != "-":
        return CameraRequest.read(path)
    text = sys.stdin.buffer.read(LARGEST_REQUEST + 1)
    if len(text) > LARGEST_REQUEST:
        raise BadInputError("standard input: larger than a request can be; give a file of at most 64 MiB")
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInputError(f"standard input: not JSON ({error}); give a request as in docs/camera.md") from error
    return CameraRequest.from_data(data, "standard input")


def give(found: CameraFit | CameraPath, args: argparse.Namespace, reporter: Reporter, text: str) -> int:
    """Write and print an answer."""
    if args.out is not None:
        found.write(args.out)
    data = found.model_dump(mode="json")
    if args.messages:
        reporter.result("" if args.out is None else str(args.out), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, ensure_ascii=False, allow_nan=False) + "\n")
    else:
        sys.stdout.write(text + "\n")
    return ExitStatus.DONE


def text_of(found: CameraFit | CameraPath) -> str:
    """What was found, for a person."""
    from ..camera.records import CameraPath

    return path_text(found) if isinstance(found, CameraPath) else _fit_text(found)


def _fit_text(found: CameraFit) -> str:
    camera, blender = found.camera, found.camera.blender
    across, down = camera.field_of_view_deg
    rows = [
        (
            "lens",
            f"{blender.lens:.3f} mm on {_sensor(blender.sensor_fit, blender.sensor_width, blender.sensor_height)}",
        ),
        ("focal length", f"{camera.focal_px:.2f} px{_sigma(camera.focal_sigma_px)}"),
        ("field of view", f"{across:.2f}° across, {down:.2f}° down"),
        (
            "principal point",
            f"({camera.principal[0]:.2f}, {camera.principal[1]:.2f}) px{_sigmas(camera.principal_sigma_px)}",
        ),
        ("shift", f"x {blender.shift_x:.5f}, y {blender.shift_y:.5f}"),
        ("position", "unknown" if camera.centre is None else _vector(camera.centre) + _sigmas(camera.centre_sigma)),
        ("turn", "1 σ " + _vector(camera.rotation_sigma_deg) + "°" if camera.rotation_sigma_deg else "not determined"),
        ("left over", f"{camera.rms_px:.3f} px root mean square, over {len(found.residuals)}"),
    ]
    worst = sorted(found.residuals, key=lambda entry: -(entry.x**2 + entry.y**2))[:3]
    rows += [
        ("" if index else "largest at", f"{entry.name}: ({entry.x:.2f}, {entry.y:.2f}) px")
        for index, entry in enumerate(worst)
    ]
    rows += [
        ("another camera", f"{other.blender.lens:.3f} mm at {_vector(other.centre)}, {other.rms_px:.3f} px left over")
        for other in found.others
        if other.centre is not None
    ]
    rows += [("assumed", text) for text in found.assumed] + [("note", text) for text in found.notes]
    return "\n".join(f"{label:<16} {value}" for label, value in rows)


def path_text(found: CameraPath) -> str:
    """A path, for a person."""
    sensor = found.sensor
    rows = [("from", found.source), ("sensor", _sensor(sensor.fit, sensor.width, sensor.height)), ("unit", found.unit)]
    for shot in found.shots:
        lenses = [key.lens for key in shot.keyframes]
        lens = (
            f"{lenses[0]:.3f} mm" if max(lenses) - min(lenses) < 5e-4 else f"{min(lenses):.3f} to {max(lenses):.3f} mm"
        )
        way = f"from {_vector(shot.keyframes[0].location)} to {_vector(shot.keyframes[-1].location)}"
        focal = f"focal length {shot.focal_px:.2f} px{_sigma(shot.focal_sigma_px)}"
        rows.append(
            (f"frames {shot.first}-{shot.last}", f"{len(shot.keyframes)} keyframes, lens {lens}, {focal}, {way}")
        )
    if found.rms_px is not None:
        rows.append(("left over", f"{found.rms_px:.3f} px root mean square"))
    rows += [(f"frame {entry.frame}", f"no camera: {entry.reason}") for entry in found.skipped[:10]]
    if len(found.skipped) > 10:
        rows.append(("", f"and {len(found.skipped) - 10} more frames without one"))
    rows += [("note", text) for text in found.notes]
    return "\n".join(f"{label:<16} {value}" for label, value in rows)


def _sensor(fit: str, width: float, height: float) -> str:
    return f"a sensor of {width:g} x {height:g} mm, fit {fit}"


def _vector(values: tuple[float, ...]) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"


def _sigma(value: float | None) -> str:
    return "" if value is None else f" ± {value:.3g}"


def _sigmas(values: tuple[float, ...] | None) -> str:
    return "" if values is None else f" ± {_vector(values)}"
