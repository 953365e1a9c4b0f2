# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool that fits a camera to the reference and lays it down in the scene."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field, WithJsonSchema

from ..evaluator.protocol.errors import BadInputError, MatchcutError
from ..evaluator.protocol.files import write_json
from ..evaluator.protocol.scratch import scratch_folder
from .calls import Calls, Instance, call
from .camera_answers import CameraAnswer, fit_answer, path_answer
from .camera_paths import cameras_of, held_to
from .camera_request import Asked, asked_for, outside
from .commands import only_result, run_command
from .places import changed_at, find_reference
from .running import RunningCommand, Slot
from .workplace import Workplace

STATE_SECONDS: Final = 60.0
APPLY_SECONDS: Final = 120.0
FIT_SECONDS: Final = 120.0
PROBE_SECONDS: Final = 200.0
MOTION_SECONDS: Final = 200.0
"""That one call waits for a measurement, which goes on after it."""
DEFAULT_SENSOR: Final = {"fit": "AUTO", "width": 36.0, "height": 24.0}

_ROWS: Final = WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "number"}}})


@dataclass(frozen=True)
class Target:
    """The camera that is to take the fit; without a name the fit is only told."""

    name: str
    sensor: dict[str, Any]
    size: tuple[int, int] | None
    """Of the scene's render."""
    note: str = ""


class Measurements:
    """The measured motion of references: one measurement runs at a time, and each is made once."""

    def __init__(self) -> None:
        self._held = ExitStack()
        self._cache: Path | None = None
        self._slot = Slot("another measurement")
        self._sizes: dict[tuple[str, int], tuple[int, int]] = {}

    async def size(self, context: Context, reference: Path) -> tuple[int, int]:
        """(width, height) of a reference as shown."""
        key = (str(reference), changed_at(reference, "reference"))
        if key not in self._sizes:
            data = only_result(await run_command(context, ["probe", str(reference)], seconds=PROBE_SECONDS))
            self._sizes[key] = (data["timeline"]["width"], data["timeline"]["height"])
        return self._sizes[key]

    async def motion(self, context: Context, reference: Path, options: Sequence[str], seconds: float) -> RunningCommand:
        """The command that measures, waited for at most `seconds`. What it has once measured takes it seconds."""
        key = (str(reference), changed_at(reference, "reference"), *options)
        command = self._slot.running(key)
        if command is None:  # where it was measured before, this takes seconds
            command = self._slot.start(key, [self.arguments(reference, options)])
        await command.wait(context, seconds)
        return command

    def arguments(self, reference: Path, options: Sequence[str]) -> list[str]:
        """Of `matchcut camera motion`, with the folder that keeps what was measured."""
        if self._cache is None:
            self._cache = self._held.enter_context(scratch_folder("motion"))
            atexit.register(self._held.close)
        return ["camera", "motion", str(reference), "--cache", str(self._cache), *options]


def add_camera_tools(server: MCPServer, session: Calls, workplace: Workplace) -> None:
    """Give `server` the tool that fits cameras."""
    measurements = Measurements()

    @server.tool(
        title="Fit Camera",
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )
    async def fit_camera(
        context: Context,
        points: Annotated[Any, _ROWS, Field(description="[x, y, X, Y, Z] or [frame, x, y, X, Y, Z]")] = None,
        lines: Annotated[dict[str, Any] | None, Field(description='As {"x": [[x1, y1, x2, y2], …], "-y": […]}')] = None,
        motion: Annotated[bool, Field(description="The reference's measured motion")] = False,
        options: dict[str, Any] | None = None,
        apply: Annotated[str, Field(description="Camera to set or make; default: none")] = "",
        reference: str = "",
        instance: Instance = None,
    ) -> CameraAnswer:
        """Fit the reference's camera: focal length, pose, path. Pixels (x, y) are those of the picture as shown.

        points: where places of the scene are seen; 4, better 6 not in one plane; 3 with a known focal length; in
        several frames of a shot: a path. lines: 2 or more along each of 2 axes; options {"origin": [x, y], "length":
        [x1, y1, x2, y2, "z", 2.2]} place them. motion: minutes, call again while state is running; it begins at points
        or lines given with it, its unit is options scale, or told by points of 2 frames. Other options: frame,
        focal_px, lens_mm, principal ("free"), horizon, sigma_px, smooth_px, cuts, interpolation, size, sensor.
        """
        try:
            asked = asked_for(points, lines, motion, options)
            target = await _target(session, context, apply, asked, instance)
            video = None
            if motion or "size" not in asked.request:
                video = await find_reference(session, context, workplace, reference, instance)
            size = asked.request.get("size") or await measurements.size(context, video or Path())
            why = outside(asked.request, size)
            if why:
                raise BadInputError(f"bad_params: {why}")
            request = asked.request | {"size": list(size), "sensor": target.sensor}
            with scratch_folder("fit") as folder:
                if motion and video is not None:
                    found = await _moving(context, measurements, (asked, target, video), request, folder)
                else:
                    found = await _fitted(context, request, folder)
            if isinstance(found, str):
                return CameraAnswer(state="running", note=f"{found}; call again with the same arguments")
            return await _answered(session, context, found, asked, target, instance)
        except MatchcutError as error:
            raise ToolError(_kinded(str(error))) from error


async def _target(session: Calls, context: Context, name: str, asked: Asked, instance: int | None) -> Target:
    """What is known of the camera before the work begins: a name that cannot take a fit is said at once."""
    sensor = asked.request.get("sensor")
    if not name:
        return Target("", sensor or DEFAULT_SENSOR, None)
    state, note = await call(session, context, "camera_state", {"name": name}, STATE_SECONDS, instance)
    return Target(name, sensor or state["sensor"] or DEFAULT_SENSOR, tuple(state["size"]), note)


async def _fitted(context: Context, request: dict[str, Any], folder: Path) -> dict[str, Any]:
    path = folder / "request.json"
    write_json(path, request)
    try:
        messages = await run_command(
            context, ["camera", str(path), "--out", str(folder / "fit.json")], seconds=FIT_SECONDS
        )
    except ToolError as error:  # the file is ours
        raise ToolError(str(error).replace(f"{path}: ", "")) from error
    return only_result(messages)


async def _start(
    context: Context, asked: Asked, request: dict[str, Any], folder: Path
) -> tuple[dict[str, Any], int, dict[int, list[float]]]:
    """The fit that a motion begins at, its frame, and where the points of several frames have the camera."""
    fit = await _fitted(context, request, folder)
    if "shots" not in fit:
        return fit, asked.frame or 0, {}
    (shot,) = fit["shots"]
    places = {key["frame"]: key["location"] for key in shot["keyframes"]}
    first = min(places)
    points = next(entry["points"] for entry in request["frames"] if entry["frame"] == first)
    single = {name: value for name, value in request.items() if name not in ("frames", "smooth_px", "lens_mm")}
    alone = await _fitted(context, {**single, "points": points, "focal_px": shot["focal_px"]}, folder)
    return alone, first, places


async def _moving(
    context: Context,
    measurements: Measurements,
    what: tuple[Asked, Target, Path],
    request: dict[str, Any],
    folder: Path,
) -> dict[str, Any] | str:
    """The measured path, begun at the fit where there is one; while it is measured, how far that is."""
    asked, target, video = what
    fit, at, places = None, asked.frame, dict[int, list[float]]()
    if asked.kind != "motion":
        fit, at, places = await _start(context, asked, request, folder)
    shot = [] if asked.cuts is None else ["--cuts", ",".join(map(str, asked.cuts))]
    shot += [] if at is None else [f"--at={at}"]
    measured = await measurements.motion(context, video, shot, MOTION_SECONDS)
    if measured.state == "running":
        return measured.progress()
    if measured.state != "done":
        raise ToolError(measured.error or "failed: the measurement was cancelled; call again")
    # what was measured lies in the cache now: this takes seconds
    sensor = target.sensor
    options = [*shot, f"--scale={asked.scale!r}", f"--sensor-fit={sensor['fit']}"]
    options += [f"--sensor-width={sensor['width']!r}", f"--sensor-height={sensor['height']!r}"]
    options += [] if fit is None else ["--start", str(folder / "fit.json")]
    path = only_result(await run_command(context, measurements.arguments(video, options), seconds=FIT_SECONDS))
    return path if fit is None or at is None else held_to(path, fit, at, places)


async def _answered(
    session: Calls, context: Context, found: dict[str, Any], asked: Asked, target: Target, instance: int | None
) -> CameraAnswer:
    """The answer, after the fit was laid down where a camera was named."""
    is_path = "shots" in found
    answer = path_answer(found) if is_path else fit_answer(found)
    answer.note = target.note
    if not target.name:
        return answer
    if not is_path and found["camera"]["centre"] is None:
        raise BadInputError("bad_params: the fit has no position to set; give options origin, and length for its scale")
    params = {
        "cameras": cameras_of(found, target.name, asked.frame),
        "sensor": target.sensor,
        "interpolation": asked.interpolation.upper(),
        "label": f"fit {target.name}",
    }
    result, note = await call(session, context, "set_camera", params, APPLY_SECONDS, instance)
    answer.note = " ".join(part for part in (answer.note, note) if part)
    answer.applied = [_applied(one) for one in result["cameras"]]
    answer.notes += [*result["notes"], *_shape_note(found["size"], target.size)]
    answer.undo_step = result["undo_step"]
    return answer


def _applied(one: dict[str, Any]) -> str:
    made = "made" if one["created"] else "set"
    if not one["keyframes"]:
        return f"camera {one['camera']!r} was {made}"
    if one["keyframes"] == 1:
        return f"camera {one['camera']!r} was {made}: one keyframe, at frame {one['first']}"
    return f"camera {one['camera']!r} was {made}: {one['keyframes']} keyframes, frames {one['first']} to {one['last']}"


def _shape_note(size: Sequence[int], scene: tuple[int, int] | None) -> list[str]:
    if scene is None or abs(size[0] * scene[1] - size[1] * scene[0]) <= max(scene):
        return []
    sizes = f"the scene renders {scene[0]}x{scene[1]}, and the reference is {size[0]}x{size[1]}"
    return [f"{sizes}: give the scene the reference's size, or it shows another part"]


def _kinded(text: str) -> str:
    """The text with a kind in front of it, where it has none."""
    return text if text.partition(":")[0].isidentifier() else f"bad_params: {text}"
