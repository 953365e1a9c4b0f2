# SPDX-License-Identifier: GPL-3.0-or-later
"""One frame after the other as a PNG, skipping those that are finished already."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import bpy

from ...evaluator.protocol.errors import BadInputError, OperationalError
from ...evaluator.protocol.files import atomic_path
from ...evaluator.protocol.png import is_finished, without_text
from ...evaluator.protocol.render_job import RenderJob, frame_path
from .camera import camera_at
from .clock import Clock
from .settings import write_png

LAST_FRAME = 1048574  # of every Blender scene
PICTURE_BYTES = 4
"""The most that a pixel of a PNG takes, with what the file has besides."""


def check_frames(scene: Any, first: int, last: int) -> None:
    """Raise BadInputError where Blender has not all of the reference frames `first … last`, or one has no camera."""
    if scene.frame_start + last > LAST_FRAME:
        raise BadInputError(
            f"scene {scene.name!r} starts at frame {scene.frame_start}, so that the reference's frame {last} lies "
            f"beyond Blender's last one, {LAST_FRAME}; let the scene start earlier"
        )
    for frame in range(first, last + 1):
        camera = camera_at(scene, frame)
        if camera is None or camera.type != "CAMERA":
            number = scene.frame_start + frame
            raise BadInputError(f"scene {scene.name!r} has no camera at frame {number}; make one active")


def go_to(scene: Any, frame: int) -> Any:
    """Move the scene to reference frame `frame` and return the camera that shows it."""
    scene.frame_set(scene.frame_start + frame)  # also makes the camera of the last bound marker the scene's
    return scene.camera


def render_current() -> None:
    """Render the scene's current frame into Blender's render result. Raises OperationalError with Blender's reason."""
    try:
        bpy.ops.render.render()
    except RuntimeError as error:
        raise OperationalError(f"Blender cannot render: {' '.join(str(error).split())}") from error


def save_render(scene: Any, path: Path) -> None:
    """Save the render result as the scene's image settings say: composited, view transform applied, or all passes."""
    result = next(image for image in bpy.data.images if image.type == "RENDER_RESULT")
    try:
        result.save_render(str(path), scene=scene)
    except RuntimeError as error:
        raise OperationalError(f"{path}: Blender cannot write it ({' '.join(str(error).split())})") from error


def refuse_full_disk(folder: Path, needed: int) -> None:
    """Raise OSError where the disk has not room for `needed` bytes: Blender says nothing when a disk fills up."""
    if shutil.disk_usage(folder).free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def render_pictures(folder: Path, job: RenderJob, frames: Iterable[int], clock: Clock) -> None:
    """Render those of `frames` whose picture is not there or not whole."""
    scene = bpy.context.scene
    write_png(scene)
    for frame in frames:
        path = frame_path(folder, frame)
        if is_finished(path, job.size):
            clock.skip()
            continue
        clock.begin(frame)
        with atomic_path(path) as temporary:
            try:
                _render_file(scene, scene.frame_start + frame, temporary)
                if not is_finished(temporary, job.size):
                    raise OperationalError(f"{path}: Blender wrote no picture of {job.size[0]}x{job.size[1]} pixels")
            except OperationalError:
                refuse_full_disk(path.parent, PICTURE_BYTES * job.size[0] * job.size[1])
                raise
            temporary.write_bytes(without_text(temporary.read_bytes()))
        clock.end()


def _render_file(scene: Any, number: int, path: Path) -> None:
    """Render scene frame `number` into `path` as `blender -a` would.

    An animation of one frame evaluates the scene once; moving the scene there first would evaluate it twice.
    """
    stem = path.with_suffix("")
    # braces are templates of Blender's, and it puts the frame's number in the place of the last #
    scene.render.filepath = f"{str(stem).replace('{', '{{').replace('}', '}}')}-#######"
    written = stem.with_name(f"{stem.name}-{number:07d}{path.suffix}")
    try:
        bpy.ops.render.render(animation=True, frame_start=number, frame_end=number)
        if written.exists():  # else the caller finds an empty file
            written.replace(path)
    except RuntimeError as error:
        raise OperationalError(f"Blender cannot render frame {number}: {' '.join(str(error).split())}") from error
    finally:
        written.unlink(missing_ok=True)
