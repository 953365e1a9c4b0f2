# SPDX-License-Identifier: GPL-3.0-or-later
"""One frame after the other as a PNG, skipping those that are finished already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

from ...evaluator.protocol.errors import BadInputError, OperationalError
from ...evaluator.protocol.files import atomic_path
from ...evaluator.protocol.render_job import RenderJob, frame_path
from .png import is_finished, without_text
from .settings import write_png


def go_to(scene: Any, frame: int) -> Any:
    """Move the scene to reference frame `frame` and return the camera that shows it.

    Raises BadInputError where there is none, or where Blender has no such frame.
    """
    wanted = scene.frame_start + frame
    scene.frame_set(wanted)  # also makes the camera of the last bound marker the scene's
    if scene.frame_current != wanted:
        raise BadInputError(
            f"scene {scene.name!r} starts at frame {scene.frame_start}, so that the reference's frame {frame} lies "
            f"beyond Blender's last one, {scene.frame_current}; let the scene start earlier"
        )
    if scene.camera is None or scene.camera.type != "CAMERA":
        raise BadInputError(f"scene {scene.name!r} has no camera at frame {scene.frame_current}; make one active")
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


def render_pictures(folder: Path, job: RenderJob, on_frame: Callable[[int], None]) -> None:
    """Render every frame of the job whose picture is not there or not whole; `on_frame` is called for each frame."""
    scene = bpy.context.scene
    write_png(scene)
    for frame in range(job.first, job.last + 1):
        path = frame_path(folder, frame)
        if not is_finished(path, job.size):
            go_to(scene, frame)
            render_current()
            with atomic_path(path) as temporary:
                save_render(scene, temporary)
                if not is_finished(temporary, job.size):
                    raise OperationalError(f"{path}: Blender wrote no picture of {job.size[0]}x{job.size[1]} pixels")
                temporary.write_bytes(without_text(temporary.read_bytes()))
        on_frame(frame)
