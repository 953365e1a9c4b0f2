# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut camera motion`: a measured camera path as keyframes of a Blender camera."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from .camera import add_output_arguments, give, path_text
from .sgc import cuts_of

if TYPE_CHECKING:
    from ..camera.motion import Measured
    from ..camera.records import CameraPath
    from ..sgc.records import Geometry

DESCRIPTION = """Measure how the camera of a video moves, and give its path as keyframes of a Blender camera: location,
rotation, lens and shift of every frame, in Blender's axes. Every shot is a path of its own.

SOURCE is a video, the folder of a render job with passes, a folder with estimates of other programs, or a cameras.json
of such a folder alone.

The first camera of a shot is put at the world's origin, level, looking along +y; or where --start has it. With --at
it is the camera of that frame, and only the shot that has it is measured. What is measured from pictures has no unit:
--scale says how many units a measured one is. --world keep leaves the cameras where the source has them.

examples:
  matchcut camera motion shot.mp4 --out path.json
  matchcut camera motion shot.mp4 --start fit.json --scale 2.5 --json
  matchcut camera motion shot.mp4 --start fit.json --at 52
  matchcut camera motion jobs/lamp --world keep --sensor-fit VERTICAL --sensor-height 24"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    from ..camera.core.blender import FITS
    from ..sgc.estimators import ESTIMATORS

    parser.add_argument("source", type=Path, metavar="SOURCE", help="a video, a render job, or estimates")
    parser.add_argument("--estimator", choices=tuple(ESTIMATORS), help="what measures (default: by what SOURCE is)")
    parser.add_argument(
        "--cuts", metavar="FRAME,…", help="first frames of new shots, such as 36,80; none: '' (default: detected)"
    )
    parser.add_argument("--size", metavar="WxH", help="size of the picture (default: the video's, or the source's)")
    parser.add_argument("--start", type=Path, metavar="FIT.json", help="put each shot's first camera where this fit is")
    parser.add_argument(
        "--at", type=int, metavar="FRAME", help="only the shot with this frame, which is put there instead of its first"
    )
    parser.add_argument("--scale", type=float, default=1.0, metavar="X", help="units a measured one is (default: 1)")
    parser.add_argument("--world", choices=("first", "keep"), default="first", help="default: first")
    parser.add_argument("--sensor-fit", choices=FITS, default="AUTO", help="default: AUTO")
    parser.add_argument("--sensor-width", type=float, default=36.0, metavar="MM", help="default: 36")
    parser.add_argument("--sensor-height", type=float, default=24.0, metavar="MM", help="default: 24")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep what is estimated here, for the next time")
    add_output_arguments(parser)


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Measure, write and print."""
    found = path_of(args, reporter)
    return give(found, args, reporter, path_text(found))


def path_of(args: argparse.Namespace, reporter: Reporter) -> CameraPath:
    """The path that the arguments ask for. Raises BadInputError."""
    from ..camera.core.blender import Sensor
    from ..camera.motion import cameras_of, keyframes, moved
    from ..camera.records import CameraFit, CameraPath, SensorRecord, ShotRecord
    from ..camera.request import keyframe_record, pinhole_of

    sensor = Sensor(args.sensor_fit, args.sensor_width, args.sensor_height)
    if args.start is not None and args.world == "keep":
        raise BadInputError("--start moves the path, and --world keep leaves it; leave out one")
    start = None if args.start is None else pinhole_of(CameraFit.read(args.start))
    paths, size, source, unit, notes = measured(args, reporter)
    if args.at is not None:
        paths = _shot_with(paths, args.at)
    shots, worst = [], 0.0
    for path in paths:
        cameras, miss = cameras_of(path, size)
        worst = max(worst, miss)
        at = 0 if args.at is None else path.frames.index(args.at)
        if args.world == "first":
            cameras = moved(cameras, start, args.scale, at=at)
        if start is not None and abs(cameras[at].focal / start.focal - 1) > 0.05:
            notes.append(
                f"Frame {path.frames[at]}: a focal length of {cameras[at].focal:.0f} px was measured, "
                f"and {start.focal:.0f} px fitted"
            )
        keys = [keyframe_record(key) for key in keyframes(path.frames, cameras, sensor)]
        shots.append(
            ShotRecord(
                first=path.frames[0], last=path.frames[-1], focal_px=cameras[0].focal, focal_sigma_px=None,
                keyframes=keys,
            )
        )  # fmt: skip
    if worst > 0.5:
        notes.append(f"Square pixels without skew move the picture's corners by up to {worst:.1f} px")
    return CameraPath(
        source=source,
        size=size,
        sensor=SensorRecord(fit=sensor.fit, width=sensor.width, height=sensor.height),
        unit=unit if args.scale == 1 else f"{args.scale:g} times: {unit}",
        shots=shots,
        notes=notes,
    )


def _shot_with(paths: list[Measured], frame: int) -> list[Measured]:
    """The shot that has a camera at a frame. Raises BadInputError where none has."""
    found = [path for path in paths if frame in path.frames]
    if not found:
        shots = ", ".join(f"{path.frames[0]}-{path.frames[-1]}" for path in paths)
        raise BadInputError(f"--at {frame}: no camera was measured at this frame; there are some in frames {shots}")
    return found


def measured(
    args: argparse.Namespace, reporter: Reporter
) -> tuple[list[Measured], tuple[int, int], str, str, list[str]]:
    """Every shot's path, the picture's size, who measured, what its unit is, and what has to be said."""
    from ..media.probe import probe
    from ..sgc.estimators import open_geometry
    from ..sgc.measure import Request, find_shots, find_source

    wanted = _size(args.size)
    if args.source.is_file() and args.source.suffix.lower() == ".json":
        return _from_file(args.source, wanted)
    request = Request(estimator=args.estimator, cuts=cuts_of(args.cuts))
    source = find_source(args.source, request)
    shots = find_shots(source, request, reporter)
    if args.at is not None and shots is not None:
        shots = tuple((first, last) for first, last in shots if first <= args.at <= last)
        if not shots:
            raise BadInputError(f"--at {args.at}: {args.source} has no such frame")
    geometry = open_geometry(source.estimator, source.files, shots=shots, reporter=reporter, cache=args.cache)
    size = geometry.size
    if source.video is not None:
        timeline = probe(source.video).timeline
        size = (timeline.width, timeline.height)
    paths = _paths(geometry)
    if not paths:
        raise BadInputError(f"{args.source}: no shot has two frames, so there is no motion to measure")
    return paths, wanted or size, geometry.estimator, geometry.depth_unit, list(geometry.notes)


def _from_file(
    path: Path, wanted: tuple[int, int] | None
) -> tuple[list[Measured], tuple[int, int], str, str, list[str]]:
    """The cameras of a cameras.json, whose depths need not be there; it names no cuts, so it is one shot."""
    import numpy as np

    from ..camera.motion import Measured
    from ..sgc.estimators.precomputed import CamerasFile

    cameras = CamerasFile.read(path)
    count, size = len(cameras.frames), cameras.intrinsics_size or wanted
    if size is None:
        raise BadInputError(f"{path}: it does not say which size its intrinsics are for; give --size 1920x1080")
    if len(cameras.world_to_camera) != count or len(cameras.intrinsics) not in (1, count):
        raise BadInputError(f"{path}: {count} frames need as many world_to_camera, and as many intrinsics or one")
    poses = np.tile(np.eye(4), (count, 1, 1))
    for index, pose in enumerate(cameras.world_to_camera):
        poses[index, :3] = np.array(pose)[:3]
    intrinsics = np.broadcast_to(np.array(cameras.intrinsics), (count, 3, 3))
    unit = "metre" if cameras.depth == "metric" else "unit of the cameras"
    return [Measured(tuple(range(count)), intrinsics, poses, size)], wanted or size, cameras.estimator, unit, []


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})", text)
    if match is None:
        raise BadInputError(f"--size {text!r}: has to be written as 1920x1080")
    return int(match[1]), int(match[2])


def _paths(geometry: Geometry) -> list[Measured]:
    """The cameras of all pairs, shot by shot; a shot of one frame has no pair, and no path."""
    found: dict[int, tuple[Any, Any]] = {}
    for pair in geometry.pairs():
        for frame in (pair.previous, pair.current):
            found[frame.number] = (frame.intrinsics, frame.world_to_camera)
    return [
        path
        for first, last in geometry.shots
        if (
            path := _measured(
                ((number, *found[number]) for number in range(first, last + 1) if number in found), geometry.size
            )
        )
    ]


def _measured(cameras: Iterable[tuple[int, Any, Any]], size: tuple[int, int]) -> Measured | None:
    import numpy as np

    from ..camera.motion import Measured

    rows = list(cameras)
    if not rows:
        return None
    numbers, intrinsics, poses = zip(*rows, strict=True)
    return Measured(tuple(numbers), np.array(intrinsics), np.array(poses), size)
