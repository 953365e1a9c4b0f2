# SPDX-License-Identifier: GPL-3.0-or-later
"""Depth, motion, object ids and cameras of every frame, written in chunks; the layout is in protocol/render_job.py.

Passes are rendered apart from the pictures, by Cycles with one sample through the centre of each pixel, whatever engine
makes the pictures: so they are exact at edges and where pictures are blurred, and the pictures are left alone.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...evaluator.protocol.files import atomic_path, write_json
from ...evaluator.protocol.render_job import GEOMETRY_FORMAT, RenderJob
from .camera import check_pinhole, intrinsics, world_to_camera
from .exr import read_channels
from .objects import number_objects
from .pictures import go_to, render_current, save_render
from .settings import render_geometry_only, use_device, write_passes

CHUNK = 12
NO_DEPTH = 1e9  # Blender writes 1e10 where nothing was hit
NAMES = ("depth", "flow_next", "flow_previous", "object_ids", "intrinsics", "world_to_camera")


def chunks_of(job: RenderJob) -> list[list[int]]:
    """The reference frames of each chunk, in order."""
    frames = range(job.first, job.last + 1)
    return [list(frames[start : start + CHUNK]) for start in range(0, len(frames), CHUNK)]


def chunk_path(folder: Path, frames: list[int]) -> Path:
    """Where a chunk lies: named by its first frame."""
    return folder / "geometry" / f"{frames[0]:06d}.npz"


def is_complete(path: Path, frames: list[int], size: tuple[int, int]) -> bool:
    """Whether a chunk is there, can be read to its end, and holds these frames at this size (width, height)."""
    try:
        with np.load(path) as chunk:
            shapes = {name: chunk[name].shape for name in NAMES}
            return bool(chunk["frames"].tolist() == frames and shapes["depth"] == (len(frames), size[1], size[0]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return False


def render_geometry(folder: Path, job: RenderJob, on_frame: Callable[[int], None]) -> list[str]:
    """Render the chunks that are missing and write geometry.json. Returns notes on what the passes are not.

    `on_frame` is called after every frame, also for those of a chunk that was there. The scene in memory is changed.
    Raises BadInputError where a camera has no intrinsic matrix.
    """
    scene = bpy.context.scene
    layer = next((layer for layer in scene.view_layers if layer.use), scene.view_layers[0])
    notes = _notes(scene, layer, job)
    render_geometry_only(scene, layer)
    use_device(scene, bpy.context.preferences, job.device)
    write_passes(scene)
    for camera in bpy.data.cameras:
        camera.dof.use_dof = False
    go_to(scene, job.first)
    objects = number_objects(bpy.data.objects, bpy.context.evaluated_depsgraph_get())
    if len(objects) < len(bpy.data.objects):
        notes.append(f"objects beyond the first {len(objects)} have no id")
    (folder / "geometry" / "geometry.json").unlink(missing_ok=True)
    for frames in chunks_of(job):
        path = chunk_path(folder, frames)
        if is_complete(path, frames, job.size):
            for frame in frames:
                on_frame(frame)
            continue
        parts = []
        for frame in frames:
            parts.append(_render_frame(scene, layer, folder, job, frame))
            on_frame(frame)
        arrays: dict[str, Any] = {name: np.stack([part[name] for part in parts]) for name in NAMES}
        with atomic_path(path) as temporary:
            np.savez_compressed(temporary, frames=np.array(frames, np.int32), **arrays)
    index = {
        "format": GEOMETRY_FORMAT,
        "width": job.size[0],
        "height": job.size[1],
        "first": job.first,
        "last": job.last,
        "view_layer": layer.name,
        "objects": objects,
        "chunks": [
            {"file": chunk_path(folder, frames).name, "first": frames[0], "last": frames[-1]}
            for frames in chunks_of(job)
        ],
        "notes": notes,
    }
    write_json(folder / "geometry" / "geometry.json", index)
    return notes


def _notes(scene: Any, layer: Any, job: RenderJob) -> list[str]:
    notes: list[str] = []
    if not job.pictures:
        return notes
    if scene.render.engine != "CYCLES":
        notes.append(f"the passes come from Cycles, the pictures from {scene.render.engine}")
    if sum(other.use for other in scene.view_layers) > 1:
        notes.append(f"the passes are those of view layer {layer.name!r} alone")
    if scene.render.use_motion_blur:
        notes.append("the pictures have motion blur; the passes are of the middle of each frame, without it")
    if any(camera.dof.use_dof for camera in bpy.data.cameras):
        notes.append("the pictures have depth of field; the passes are sharp")
    return notes


def _render_frame(scene: Any, layer: Any, folder: Path, job: RenderJob, frame: int) -> dict[str, NDArray[Any]]:
    camera = go_to(scene, frame)
    check_pinhole(camera)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    evaluated = camera.evaluated_get(depsgraph)
    part: dict[str, NDArray[Any]] = {
        "intrinsics": intrinsics(evaluated, depsgraph, job.size),
        "world_to_camera": world_to_camera(evaluated),
    }
    render_current()
    exr = folder / "geometry" / ".partial-passes.exr"
    exr.parent.mkdir(parents=True, exist_ok=True)
    try:
        save_render(scene, exr)
        channels = read_channels(exr)
    finally:
        exr.unlink(missing_ok=True)
    depth = channels[f"{layer.name}.Depth.Z"]
    hit = depth < NO_DEPTH
    vector = {axis: channels[f"{layer.name}.Vector.{axis}"] for axis in "XYZW"}
    following = frame + 1 < job.timeline.frames and camera_at(scene, frame + 1) == camera
    preceding = frame > 0 and camera_at(scene, frame - 1) == camera
    # Blender gives motion since the previous frame in X, Y and to the next one, negated, in Z, W; y points up in both
    return part | {
        "depth": np.where(hit, depth, 0).astype(np.float32),
        "flow_next": _flow(-vector["Z"], vector["W"], hit & following),
        "flow_previous": _flow(vector["X"], -vector["Y"], hit & preceding),
        "object_ids": np.where(hit, channels[f"{layer.name}.Object Index.X"], 0).astype(np.uint16),
    }


def _flow(x: NDArray[np.float32], y: NDArray[np.float32], valid: NDArray[np.bool_]) -> NDArray[np.float32]:
    return np.where(valid[..., None], np.stack([x, y], axis=-1), np.nan).astype(np.float32)


def camera_at(scene: Any, frame: int) -> Any:
    """The camera object that is active at reference frame `frame`: that of the markers, else the scene's own."""
    bound = [marker for marker in scene.timeline_markers if marker.camera]
    if not bound:
        return scene.camera
    number = scene.frame_start + frame
    past = [marker for marker in bound if marker.frame <= number]
    # before the first marker Blender shows the earliest one's camera
    return (max(past, key=lambda marker: marker.frame) if past else min(bound, key=lambda marker: marker.frame)).camera
