# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at the scene: one frame from a camera, the 3D view or a named side, as a JPEG; the scene stays as it is.

What the 3D view can draw is drawn off screen (offscreen.py), which takes milliseconds on a graphics card. The rest is
rendered small (preview.py). Several looks make one labelled sheet.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal, get_args

import bpy
import numpy as np
from numpy.typing import NDArray

from ...evaluator.protocol.bridge import BridgeCallError
from ..agent.methods import current_scene, plain_text, whole
from ..timeline import scene_rate
from . import offscreen
from .bounds import boxes_of, has_light, nothing_in_view, object_around
from .offscreen import Space
from .pictures import SIZE_LIMIT, cell_size, picture_folder, read_picture, write_jpeg, write_sheet
from .preview import Light, render_view
from .sight import KINDS, Sight, camera_at, camera_sight, named_sight, viewport_sight
from .unchanged import at_frame

Shading = Literal["auto", "solid", "material", "rendered"]
SAMPLES_LIMIT: Final = 256
SHEET_LIMIT: Final = 16
"""Pictures on one sheet."""
FLAT: Final = 1.5
"""Standard deviation in grey levels below which a picture shows hardly anything."""
ENGINES: Final = {"CYCLES": "Cycles", "BLENDER_EEVEE": "EEVEE", "BLENDER_WORKBENCH": "Workbench"}

Made = tuple[NDArray[np.uint8], str, int | None, list[str]]
"""Picture, what made it in words, samples, notes."""


def look(
    view: str = "camera",
    frame: int | None = None,
    size: int = 512,
    shading: str = "auto",
    samples: int = 16,
    target: str = "",
    overlays: bool = False,
    cells: int = 1,
    data: bool = True,
) -> dict[str, Any]:
    """Look at frame `frame` (0-based; None is the current one); `size` is the longer side of the picture in pixels.

    `view`: camera, viewport, a side, or `orbit:AZIMUTH,ELEVATION`; sides and orbits are around the object `target`,
    empty for the whole scene. `shading`: solid, material, rendered (few samples), or auto: what the 3D view is set to
    for the viewport, else solid. With `cells` the picture is made so small that so many fit a sheet of `size`; without
    `data` the answer names the file alone. Returns path, size, what is seen, what made it, seconds and notes.

    Raises BridgeCallError: bad_params for what does not exist, failed where there is no camera or no picture comes.
    """
    begun = time.monotonic()
    scene, layer = _scene_and_layer()
    first = scene.frame_start
    last = scene.frame_end - first
    if frame is None:
        frame = whole("frame (the current one)", scene.frame_current - first, 0, last)
    frame = whole("frame", frame, 0, last)
    size = whole("size", size, 16, SIZE_LIMIT)
    samples = whole("samples", samples, 1, SAMPLES_LIMIT)
    cells = whole("cells", cells, 1, SHEET_LIMIT)
    if shading not in get_args(Shading):
        raise BridgeCallError("bad_params", f"shading is {shading!r}; expected {', '.join(get_args(Shading))}")
    with at_frame(scene, first + frame):
        layer.update()
        depsgraph = layer.depsgraph
        seen = _sight(scene, view, target, first + frame, depsgraph)
        pixels = cell_size(cells, seen.aspect, size)
        picture, engine, used, notes = _maker(scene, layer, view, seen, shading, overlays)(
            first + frame, pixels, samples
        )
        notes = [*seen.notes, *notes, *_warnings(scene, depsgraph, seen, picture, engine)]
    path = write_jpeg(picture, f"frame-{frame:06d}")
    return {
        "path": str(path),
        "width": pixels[0],
        "height": pixels[1],
        "frame": frame,
        "rate": str(scene_rate(scene)),
        "frames": last + 1,
        "view": plain_text(seen.words),
        "lens": seen.lens,
        "engine": engine,
        "samples": used,
        "seconds": round(time.monotonic() - begun, 3),
        "notes": notes,
        "jpeg": base64.b64encode(path.read_bytes()).decode("ascii") if data else "",
    }


def look_sheet(paths: list[str], labels: list[str]) -> dict[str, Any]:
    """One picture of several looks of one size, each under its label. Raises BridgeCallError for other files."""
    if not isinstance(paths, list) or not isinstance(labels, list) or not 1 <= len(paths) == len(labels) <= SHEET_LIMIT:
        raise BridgeCallError("bad_params", f"paths and labels have to be equally many, at most {SHEET_LIMIT}")
    files = [Path(str(path)) for path in paths]
    wrong = next((file for file in files if file.parent != picture_folder() or not file.is_file()), None)
    if wrong is not None:
        raise BridgeCallError("bad_params", f"{plain_text(str(wrong))}: expected a picture that a look has just made")
    pictures = [read_picture(file) for file in files]
    if len({picture.shape for picture in pictures}) != 1:
        raise BridgeCallError("failed", "the scene changed its shape between two looks; look again")
    path, width, height = write_sheet(pictures, [plain_text(str(label)) for label in labels], "sheet")
    jpeg = base64.b64encode(path.read_bytes()).decode("ascii")
    return {"path": str(path), "width": width, "height": height, "jpeg": jpeg}


def _scene_and_layer() -> tuple[Any, Any]:
    scene = current_scene()
    if scene is None:
        raise BridgeCallError("failed", "this Blender has no scene; open a file or make a scene")
    windows = bpy.context.window_manager.windows
    return scene, (windows[0].view_layer if windows and windows[0].scene == scene else scene.view_layers[0])


def _sight(scene: Any, view: str, target: str, scene_frame: int, depsgraph: Any) -> Sight:
    if target and view in ("camera", "viewport"):
        raise BridgeCallError("bad_params", f"target goes with front … orbit, and view is {view!r}; leave one out")
    if view == "camera":
        return camera_sight(scene, camera_at(scene, scene_frame), depsgraph)
    if view == "viewport":
        shown = offscreen.shown_space()
        if shown is None:
            raise BridgeCallError(
                "failed", "no 3D view is open in this Blender; look through the camera, or from the front"
            )
        return viewport_sight(shown)
    if not isinstance(view, str):
        raise BridgeCallError("bad_params", f"view is {view!r}; expected {KINDS}")
    around = None
    if target:
        around = scene.objects.get(target) if isinstance(target, str) else None
        if around is None:
            raise BridgeCallError("bad_params", f"target is {target!r}; expected the name of an object in the scene")
    return named_sight(view, around, scene, depsgraph)


def _maker(
    scene: Any, layer: Any, view: str, seen: Sight, shading: str, overlays: bool
) -> Callable[[int, tuple[int, int], int], Made]:
    """What makes the picture: the 3D view's drawing wherever it can, else an engine."""
    space = (
        (offscreen.shown_space() if view == "viewport" else offscreen.hidden_space()) if shading != "rendered" else None
    )
    own = space.space.shading.type if space is not None and view == "viewport" and shading == "auto" else ""
    if own == "RENDERED":
        shading = "rendered"
    drawable = shading != "rendered" and space is not None and offscreen.available()
    if drawable and (shading != "material" or not offscreen.is_software()):
        how: offscreen.DrawnShading = "own" if own else "material" if shading == "material" else "solid"
        name = own.lower() if own else how
        return lambda _, size, __: _drawn(space, scene, layer, seen, size, how, name, overlays)
    if shading == "rendered":
        return lambda frame, size, samples: _rendered(scene, seen, frame, size, samples)
    light: Light = "even" if shading == "material" else "flat"
    why = "there is no graphics card" if drawable else "there is no graphics driver" if space else "there is no 3D view"
    return lambda frame, size, samples: _stand_in(scene, seen, frame, size, samples, light, why)


def _drawn(
    space: Space | None, scene: Any, layer: Any, seen: Sight, size: tuple[int, int], how: offscreen.DrawnShading,
    name: str, overlays: bool,
) -> Made:  # fmt: skip
    assert space is not None
    picture = offscreen.draw_view(space, scene, layer, seen.matrices, size, how, overlays=overlays)
    return picture, f"3D view, {name}", None, []


def _rendered(scene: Any, seen: Sight, frame: int, size: tuple[int, int], samples: int) -> Made:
    engine, notes = str(scene.render.engine), []
    if engine != "CYCLES" and (not offscreen.available() or (engine == "BLENDER_EEVEE" and offscreen.is_software())):
        notes = [f"by Cycles: {ENGINES.get(engine, engine)} needs a graphics card"]
        engine = "CYCLES"
    picture, more = render_view(scene, seen, frame, size, engine, samples, "scene")
    used = samples if engine == "CYCLES" else None
    return picture, ENGINES.get(engine, engine), used, [*notes, *more]


def _stand_in(scene: Any, seen: Sight, frame: int, size: tuple[int, int], samples: int, light: Light, why: str) -> Made:
    picture, notes = render_view(scene, seen, frame, size, "CYCLES", samples, light)
    words = "shapes in grey" if light == "flat" else "materials in an even light"
    return picture, "Cycles", samples if light == "even" else None, [f"{words}, by Cycles: {why}", *notes]


def _warnings(scene: Any, depsgraph: Any, seen: Sight, picture: NDArray[np.uint8], engine: str) -> list[str]:
    """What is wrong where a picture shows little, in words that say what to do."""
    found = []
    inside = object_around(scene, depsgraph, seen.matrix.translation) if seen.camera is not None else ""
    if inside:
        found.append(f"the camera is inside {inside!r}")
    if engine in ("Cycles", "EEVEE") and not has_light(scene, depsgraph):
        found.append("there is no light in the scene, and the world is black")
    if float(picture[::4, ::4, :3].std(axis=(0, 1)).max()) < FLAT:
        boxes = boxes_of(depsgraph)
        away = nothing_in_view(boxes, seen.matrices)
        found.append("nothing is in view: no object lies before it" if away else "the picture is of one colour")
    return found
