# SPDX-License-Identifier: GPL-3.0-or-later
"""One small picture of one frame, rendered on the main thread; the scene is afterwards as it was before.

It is a look, not the result: few samples, at most 1024 pixels wide, without the compositor where that writes files.
Blender answers nothing else meanwhile. It replaces the last picture in Render Result's last slot.
"""

from __future__ import annotations

import base64
import contextlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import bpy

from ...evaluator.protocol.bridge import BridgeCallError
from ..render.settings import compositor_trees
from ..timeline import has_camera
from .methods import current_scene, plain_text, whole

WIDTH_LIMIT: Final = 1024
PICTURE_LIMIT: Final = 700_000  # bytes
SAMPLES_LIMIT: Final = 256
QUALITIES: Final = (90, 75, 50)
ENGINES: Final = {"cycles": "CYCLES", "workbench": "BLENDER_WORKBENCH", "eevee": "BLENDER_EEVEE"}
_DATA_WITH_ANIMATION: Final = (
    "objects", "cameras", "lights", "materials", "worlds", "meshes", "curves", "armatures", "shape_keys", "node_groups",
    "scenes", "collections", "lattices", "metaballs", "volumes", "speakers", "lightprobes",
)  # fmt: skip


def render_frame(
    frame: int | None = None, width: int = 512, engine: str = "scene", samples: int = 16
) -> dict[str, Any]:
    """Render frame `frame` (0-based; None is the current one) as a JPEG of `width` pixels and the scene's aspect.

    `engine`: scene, cycles, workbench or eevee. In the background `scene` means Cycles, whatever the scene says: it is
    the only engine that needs no OpenGL. `samples` is for Cycles. Returns path, size, bytes (base64) and what rendered.
    Raises BridgeCallError: bad_params for a frame outside the range or another engine, failed where it cannot render.
    """
    scene = current_scene()
    if scene is None or not has_camera(scene):
        raise BridgeCallError("failed", "the scene has no camera; add one and set scene.camera")
    first = scene.frame_start
    last = scene.frame_end - first
    if frame is None:
        frame = whole("frame (the current one)", scene.frame_current - first, 0, last)
    frame = whole("frame", frame, 0, last)
    width = whole("width", width, 16, WIDTH_LIMIT)
    samples = whole("samples", samples, 1, SAMPLES_LIMIT)
    wanted = _engine(scene, engine)
    size = (width, max(1, round(width * _aspect(scene))))
    begun = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="frame-", dir=bpy.app.tempdir or None))
    path = folder / f"frame-{frame:06d}-{width}.jpg"
    with _restored_animation(), _preview_settings(scene, wanted, size, samples), _spare_slot():
        notes = _without_written_files(scene)
        # render's own frame range leaves the scene's current frame alone
        scene.render.filepath = str(folder / "rendered-######")
        _render(scene, first + frame)
        data = _picture(scene, next(folder.glob("rendered-*"), None), path)
    return {
        "path": str(path),
        "width": size[0],
        "height": size[1],
        "frame": frame,
        "engine": wanted,
        "samples": samples if wanted == "CYCLES" else None,
        "seconds": round(time.monotonic() - begun, 3),
        "notes": notes,
        "jpeg": base64.b64encode(data).decode("ascii"),
    }


def _engine(scene: Any, engine: str) -> str:
    if engine == "scene":
        return "CYCLES" if bpy.app.background else str(scene.render.engine)
    if engine not in ENGINES:
        raise BridgeCallError("bad_params", f"engine is {engine!r}; expected scene, {', '.join(ENGINES)}")
    return ENGINES[engine]


def _aspect(scene: Any) -> float:
    render = scene.render
    return float(render.resolution_y * render.pixel_aspect_y / (render.resolution_x * render.pixel_aspect_x))


def _render(scene: Any, scene_frame: int) -> None:
    windows = bpy.context.window_manager.windows
    override = bpy.context.temp_override(window=windows[0]) if windows else contextlib.nullcontext()
    try:
        with override:
            bpy.ops.render.render(animation=True, scene=scene.name, frame_start=scene_frame, frame_end=scene_frame)
    except RuntimeError as error:
        raise BridgeCallError("failed", f"Blender did not render: {plain_text(str(error).strip())}") from error


def _picture(scene: Any, rendered: Path | None, path: Path) -> bytes:
    """The rendered file's bytes, moved to `path`; compressed harder where it is too large to send."""
    if rendered is None:
        raise BridgeCallError("failed", "Blender rendered nothing; is a view layer switched on for rendering?")
    rendered.replace(path)
    for quality in QUALITIES[1:]:
        if path.stat().st_size <= PICTURE_LIMIT:
            break
        scene.render.image_settings.quality = quality
        bpy.data.images["Render Result"].save_render(str(path), scene=scene)
    return path.read_bytes()


def _without_written_files(scene: Any) -> list[str]:
    """Leave the compositor out where its nodes would write files of the user's."""
    if any(_writes_files(tree, set()) for tree in compositor_trees(scene)):
        scene.render.use_compositing = False
        return ["without the compositor: it has a File Output node"]
    return []


def _writes_files(group: Any, seen: set[str]) -> bool:
    if group.name_full in seen:
        return False
    seen.add(group.name_full)
    inner = (node.node_tree for node in group.nodes if getattr(node, "node_tree", None) is not None)
    return any(node.bl_idname == "CompositorNodeOutputFile" for node in group.nodes) or any(
        _writes_files(one, seen) for one in inner
    )


@contextlib.contextmanager
def _preview_settings(scene: Any, engine: str, size: tuple[int, int], samples: int) -> Iterator[None]:
    """Set what a preview needs and put every value back, in the reverse order."""
    render, image = scene.render, scene.render.image_settings
    wanted: list[tuple[Any, str, Any]] = [
        (scene, "camera", scene.camera),  # a marker bound to another camera switches it
        (render, "filepath", render.filepath),
        (render, "use_compositing", render.use_compositing),
        (render, "engine", engine),
        (render, "resolution_x", size[0]),
        (render, "resolution_y", size[1]),
        (render, "resolution_percentage", 100),
        (render, "pixel_aspect_x", 1.0),
        (render, "pixel_aspect_y", 1.0),
        (render, "use_border", False),
        (render, "use_multiview", False),
        (render, "use_overwrite", True),
        (render, "use_placeholder", False),
        (render, "use_file_extension", True),
        (image, "media_type", "IMAGE"),
        (image, "file_format", "JPEG"),
        (image, "color_mode", "RGB"),
        (image, "quality", QUALITIES[0]),
    ]
    if engine == "CYCLES" and hasattr(scene, "cycles"):
        wanted += [(scene.cycles, "samples", samples), (scene.cycles, "use_denoising", False)]
    before: list[tuple[Any, str, Any]] = []
    # the file format's own settings come and go with the format: note them before anything changes
    before += [(image, name, getattr(image, name)) for name in ("quality", "color_mode", "color_depth", "file_format")]
    before += [(image, "media_type", image.media_type)]
    try:
        for owner, name, value in wanted:
            if owner is not image:
                before.append((owner, name, getattr(owner, name)))
            try:
                setattr(owner, name, value)
            except TypeError as error:
                reason = plain_text(str(error).strip())
                raise BridgeCallError("failed", f"this Blender cannot set {name} to {value}: {reason}") from error
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


@contextlib.contextmanager
def _spare_slot() -> Iterator[None]:
    """Render into the last slot of Render Result, and remove the images that only this render made."""
    before = {one.name for one in bpy.data.images}
    result = bpy.data.images.get("Render Result")
    slot = result.render_slots.active_index if result is not None else 0
    if result is not None:
        result.render_slots.active_index = len(result.render_slots) - 1
    try:
        yield
    finally:
        if result is not None:
            result.render_slots.active_index = slot
        for one in list(bpy.data.images):
            if one.name not in before and one.type in ("RENDER_RESULT", "COMPOSITING"):
                bpy.data.images.remove(one)


@contextlib.contextmanager
def _restored_animation() -> Iterator[None]:
    """Keep values set on animated properties without a key: after a render Blender evaluates the frame anew."""
    before = [(owner, path, index, _value(owner, path, index)) for owner, path, index in _animated_properties()]
    try:
        yield
    finally:
        for owner, path, index, value in before:
            if value is not None and _value(owner, path, index) != value:
                _set_value(owner, path, index, value)


def _animated_properties() -> Iterator[tuple[Any, str, int]]:
    for kind in _DATA_WITH_ANIMATION:
        for owner in getattr(bpy.data, kind):
            animation = getattr(owner, "animation_data", None)
            if animation is None or animation.action is None or animation.action_slot is None or owner.library:
                continue
            for layer in animation.action.layers:
                for strip in layer.strips:
                    bag = strip.channelbag(animation.action_slot)
                    for curve in bag.fcurves if bag is not None else ():
                        yield owner, curve.data_path, curve.array_index


def _value(owner: Any, path: str, index: int) -> Any:
    """The property's value, or None where the curve leads nowhere."""
    try:
        value = owner.path_resolve(path)
        return value[index] if hasattr(value, "__getitem__") and not isinstance(value, str) else value
    except (ValueError, IndexError, KeyError):
        return None


def _set_value(owner: Any, path: str, index: int, value: Any) -> None:
    holder_path, _, name = path.rpartition(".")
    holder = owner.path_resolve(holder_path) if holder_path else owner
    if name.endswith("]"):  # a custom property: owner["name"]
        return
    current = getattr(holder, name)
    if hasattr(current, "__getitem__") and not isinstance(current, str):
        current[index] = value
    else:
        setattr(holder, name, value)
