# SPDX-License-Identifier: GPL-3.0-or-later
"""Depth, motion, object ids and cameras of every frame, written in chunks; the layout is in protocol/render_job.py.

Passes are rendered apart from the pictures, by Cycles with one sample through the centre of each pixel, whatever engine
makes the pictures: so they are exact at edges and where pictures are blurred, and the pictures are left alone.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...evaluator.protocol.errors import OperationalError
from ...evaluator.protocol.files import atomic_path
from ...evaluator.protocol.geometry import ARRAYS, chunk_path, is_complete, write_about
from ...evaluator.protocol.render_job import RenderJob
from .camera import camera_at, check_pinhole, intrinsics, world_to_camera
from .clock import Clock
from .exr import read_channels
from .objects import number_objects
from .pictures import go_to, refuse_full_disk, render_current, save_render
from .settings import layers_in_picture, render_geometry_only, use_device, write_passes
from .still import is_animated

PASSES_BYTES = 64
"""The most that a pixel of a view layer's passes takes on disk."""
NO_DEPTH = 1e9  # Blender writes 1e10 where nothing was hit


def render_geometry(folder: Path, job: RenderJob, chunks: Sequence[tuple[int, int]], clock: Clock) -> list[str]:
    """Write about.json and those of the job's `chunks` that are not whole; returns about's notes.

    The clock is told of every frame, also of those of a chunk that was there. The scene in memory is changed: the
    passes of a process are rendered once and last. Raises BadInputError where a camera has no intrinsic matrix.
    """
    scene = bpy.context.scene
    check_cameras(scene, job)
    layers = layers_in_picture(scene)
    notes = _notes(scene, layers, job)
    engine = render_geometry_only(scene, layers, [item for item in bpy.data.objects if item.type == "LIGHT"])
    use_device(scene, bpy.context.preferences, job.device)
    write_passes(scene)
    for camera in bpy.data.cameras:
        camera.dof.use_dof = False
    for item in bpy.data.objects:  # drawn over the picture by an engine of its own
        item.hide_render |= item.type == "GREASEPENCIL"
    go_to(scene, job.first)
    objects: list[dict[str, Any]] = []
    if engine == "CYCLES":
        objects = number_objects(bpy.data.objects, bpy.context.evaluated_depsgraph_get())
        if len(objects) < len(bpy.data.objects):
            notes.append(f"objects beyond the first {len(objects)} have no id")
    else:
        render_current()  # the motion of still objects is wrong in the first picture that EEVEE makes
        notes.append(
            "this Blender has no Cycles: EEVEE's passes have no object ids, and their motion is half precision"
        )
    about = {"view_layers": [layer.name for layer in layers], "engine": engine, "objects": objects, "notes": notes}
    write_about(folder, about)
    for start, end in chunks:
        path = chunk_path(folder, start)
        frames = range(start, end + 1)
        if is_complete(path, start, end, job.size):
            clock.skip(len(frames))
            continue
        parts = []
        for frame in frames:
            clock.begin(frame)
            parts.append(_render_frame(scene, layers, folder, job, frame, engine))
            clock.end()
        with atomic_path(path) as temporary:
            _write_chunk(temporary, frames, parts)
    return notes


def _write_chunk(path: Path, frames: range, parts: list[dict[str, NDArray[Any]]]) -> None:
    """Write what `np.load` reads as an .npz, array by array without a second copy of them in memory.

    Deflate at its fastest: it takes a third of the default's time here and makes no larger files. There is no date in
    it: equal passes are equal files.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name in ARRAYS:
            pieces = [np.int32(frame) for frame in frames] if name == "frames" else [part[name] for part in parts]
            header = {
                "descr": np.lib.format.dtype_to_descr(pieces[0].dtype),
                "fortran_order": False,
                "shape": (len(pieces), *pieces[0].shape),
            }
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, header)
                for piece in pieces:
                    member.write(np.ascontiguousarray(piece).tobytes())


def check_cameras(scene: Any, job: RenderJob) -> None:
    """Raise BadInputError where a camera of the job has no intrinsic matrix: to be asked before hours of rendering."""
    for camera in {camera_at(scene, frame) for frame in range(job.first, job.last + 1)}:
        if camera is not None and camera.type == "CAMERA":
            check_pinhole(camera)


def _notes(scene: Any, layers: list[Any], job: RenderJob) -> list[str]:
    notes: list[str] = []
    if any(item.type == "GREASEPENCIL" and not item.hide_render for item in bpy.data.objects):
        notes.append("the passes do not hold the grease pencil objects")
    if len(layers) > 1:
        names = ", ".join(repr(layer.name) for layer in layers)
        notes.append(f"the passes tell the nearest surface of the view layers {names}, however they are composited")
    elif sum(layer.use for layer in scene.view_layers) > 1:
        notes.append(f"the passes are those of view layer {layers[0].name!r} alone, as the picture is")
    if not job.pictures:
        return notes
    if scene.render.engine != "CYCLES":
        notes.append(f"the pictures come from {scene.render.engine}, the passes from Cycles where Blender has it")
    if scene.render.use_motion_blur:
        notes.append("the pictures have motion blur; the passes are of the middle of each frame, without it")
    if any(camera.dof.use_dof for camera in bpy.data.cameras):
        notes.append("the pictures have depth of field; the passes are sharp")
    return notes


def _render_frame(
    scene: Any, layers: list[Any], folder: Path, job: RenderJob, frame: int, engine: str
) -> dict[str, NDArray[Any]]:
    lens = _lens(scene, job, frame, engine)
    render_current()
    exr = folder / "geometry" / f".partial-passes-{os.getpid()}.exr"
    exr.parent.mkdir(parents=True, exist_ok=True)
    try:
        save_render(scene, exr)
        channels = read_channels(exr)
    except OperationalError:
        refuse_full_disk(exr.parent, PASSES_BYTES * len(layers) * job.size[0] * job.size[1])
        raise
    finally:
        exr.unlink(missing_ok=True)
    nearest = _nearest(channels, [layer.name for layer in layers])
    hit = nearest["Depth.Z"] < NO_DEPTH
    # Blender gives motion since the previous frame in X, Y and to the next one, negated, in Z, W; y points up in both
    to_next = np.stack([-nearest["Vector.Z"], nearest["Vector.W"]], axis=-1)
    to_previous = np.stack([nearest["Vector.X"], -nearest["Vector.Y"]], axis=-1)
    return {
        "intrinsics": lens.intrinsics,
        "world_to_camera": lens.world_to_camera,
        "depth": np.where(hit, nearest["Depth.Z"], 0).astype(np.float32),
        "flow_next": _flow(to_next, lens.shift_to[1], hit),
        "flow_previous": _flow(to_previous, lens.shift_to[-1], hit),
        "object_ids": np.where(hit, nearest["Object Index.X"], 0).astype(np.uint16),
    }


@dataclass(frozen=True)
class _Lens:
    """The camera of a frame, and by step (1, -1) what its principal point moves until then; NaN across a cut."""

    intrinsics: NDArray[np.float64]
    world_to_camera: NDArray[np.float64]
    shift_to: dict[int, NDArray[np.float64]]


def _lens(scene: Any, job: RenderJob, frame: int, engine: str) -> _Lens:
    """Move the scene to `frame` and read its camera. Raises BadInputError where it has no pinhole's matrices."""
    camera = go_to(scene, frame)
    shift_to = {}
    for step in (1, -1):
        same = 0 <= frame + step < job.timeline.frames and camera_at(scene, frame + step) == camera
        shift_to[step] = np.full(2, 0.0 if same else np.nan)
    matrix, pose = _camera_now(camera, job.size)
    # Cycles takes the focal length of both frames into account, but the shift of this one alone
    if engine == "CYCLES" and is_animated(camera.data):
        for step, shift in shift_to.items():
            if not np.isnan(shift).any():
                go_to(scene, frame + step)
                shift += _camera_now(camera, job.size)[0][:2, 2] - matrix[:2, 2]
        go_to(scene, frame)
    return _Lens(matrix, pose, shift_to)


def _camera_now(camera: Any, size: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    depsgraph = bpy.context.evaluated_depsgraph_get()
    evaluated = camera.evaluated_get(depsgraph)
    return intrinsics(evaluated, depsgraph, size), world_to_camera(evaluated)


def _nearest(channels: dict[str, NDArray[np.float32]], layers: list[str]) -> dict[str, NDArray[np.float32]]:
    """The passes of a view layer, or at each pixel of the one whose surface is nearest; ids are 0 without that pass."""
    found: dict[str, NDArray[np.float32]] = {}
    for layer in layers:
        depth = channels[f"{layer}.Depth.Z"]
        passes = {"Depth.Z": depth, "Object Index.X": channels.get(f"{layer}.Object Index.X", np.zeros_like(depth))}
        passes |= {name: channels[f"{layer}.{name}"] for name in ("Vector.X", "Vector.Y", "Vector.Z", "Vector.W")}
        if found:
            nearer = depth < found["Depth.Z"]
            passes = {name: np.where(nearer, values, found[name]) for name, values in passes.items()}
        found = passes
    return found


def _flow(motion: NDArray[np.float32], shift: NDArray[np.float64], hit: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Motion (H, W, 2) with the shift added and NaN where nothing was hit.

    Rounded to 1/4096 px, well below the error of the pass: what is left compresses to two thirds.
    """
    rounded = np.round((motion + shift) * 4096) / 4096
    return np.where(hit[..., None], rounded, np.nan).astype(np.float32)
