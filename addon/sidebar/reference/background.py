# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference behind or before the scene in the camera view: a movie clip of ours as the cameras' background.

Frame f of the reference is shown at scene frame `frame_start + f`. Blender's player finds frames by their time: it
shows those that the evaluator counts wherever the rate is constant, whatever the file's start, edit list or turn; where
the rate varies or frames are missing it holds frames for as long as the file says, and it does not mirror.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy

from ....evaluator.protocol.errors import BadInputError
from ..paths import absolute, folder_of, relative
from .file import picked_file

OURS = "matchcut_reference"
"""Custom property of the clips that we load: an artist's own clip of the same file is left alone."""
OPACITY = 0.5
"""Of a background that is new."""


def cameras(scene: Any) -> list[Any]:
    """Data of every camera that the scene renders with: its active one, and those that markers bind."""
    found = [scene.camera, *(marker.camera for marker in scene.timeline_markers)]
    return list({item.data: None for item in found if item is not None and item.type == "CAMERA"})


def shown(scene: Any) -> Any | None:
    """The active camera's background with a clip of ours, where it is to be seen; else None."""
    camera = scene.camera
    if camera is None or camera.type != "CAMERA" or not camera.data.show_background_images:
        return None
    found = background_of(camera.data)
    return found if found is not None and found.show_background_image else None


def background_of(data: Any) -> Any | None:
    """The background with a clip of ours among a camera's."""
    return next((one for one in data.background_images if one.source == "MOVIE_CLIP" and _is_ours(one.clip)), None)


def is_current(scene: Any, background: Any) -> bool:
    """Whether it shows the scene's reference, from the scene's first frame on."""
    return _fits(background.clip, absolute(scene.matchcut.reference.path), scene.frame_start)


def show(scene: Any) -> None:
    """Show the reference in the camera view of all the scene's cameras; what shows an older one is set right.

    Raises BadInputError where there is no camera or no file, or where Blender does not play it.
    """
    file = picked_file(scene)
    every = [data for data in cameras(scene) if data.library is None]  # a linked camera is another file's
    if not every:
        raise BadInputError(f"scene {scene.name}: it has no camera of its own to show the reference in; add one")
    clip = _clip(file, scene.frame_start)
    reference = scene.matchcut.reference
    # a clip whose pixels are not square has another shape than the reference: it then fills the frame, as a render does
    fits = not reference.read or tuple(clip.size) == (reference.width, reference.height)
    for data in every:
        background = background_of(data)
        if background is None:
            background = data.background_images.new()
            background.source, background.alpha, background.display_depth = "MOVIE_CLIP", OPACITY, "FRONT"
        background.clip, background.frame_method = clip, "FIT" if fits else "STRETCH"
        background.show_background_image = data.show_background_images = True
    _remove_unused()


def hide(scene: Any) -> None:
    """Hide the reference in all the scene's cameras; how it was shown is kept for the next time."""
    for background in _backgrounds(scene):
        background.show_background_image = False


def opacity(scene: Any) -> float:
    """Of the reference in the active camera."""
    found = _first(scene)
    return float(found.alpha) if found is not None else OPACITY


def set_opacity(scene: Any, value: float) -> None:
    """Set it in all the scene's cameras."""
    for background in _backgrounds(scene):
        background.alpha = value


def in_front(scene: Any) -> bool:
    """Whether the active camera shows the reference in front of the objects."""
    found = _first(scene)
    return found is None or found.display_depth == "FRONT"


def set_in_front(scene: Any, value: bool) -> None:
    """Set it in all the scene's cameras."""
    for background in _backgrounds(scene):
        background.display_depth = "FRONT" if value else "BACK"


def _first(scene: Any) -> Any | None:
    camera = scene.camera
    return background_of(camera.data) if camera is not None and camera.type == "CAMERA" else None


def _backgrounds(scene: Any) -> list[Any]:
    return [found for data in cameras(scene) if (found := background_of(data)) is not None]


def _is_ours(clip: Any) -> bool:
    return clip is not None and OURS in clip


def _fits(clip: Any, file: Path, first: int) -> bool:
    return clip.frame_start == first and absolute(bpy.path.abspath(clip.filepath, library=clip.library)) == file


def _clip(file: Path, first: int) -> Any:
    for clip in bpy.data.movieclips:
        if _is_ours(clip) and clip.library is None and _fits(clip, file, first):
            return clip
    try:
        clip = bpy.data.movieclips.load(str(file))
    except RuntimeError as error:
        raise BadInputError(
            f"{file}: Blender cannot play it; press Conform, which writes a copy that it can"
        ) from error
    if clip.frame_duration < 1:
        bpy.data.movieclips.remove(clip)
        raise BadInputError(f"{file}: Blender cannot play it; press Conform, which writes a copy that it can")
    clip.name, clip.frame_start, clip[OURS] = f"Reference {file.name}", first, True
    clip.filepath = relative(str(file), folder_of(bpy.data.filepath))
    return clip


def _remove_unused() -> None:
    for clip in [clip for clip in bpy.data.movieclips if _is_ours(clip) and clip.users == 0]:
        bpy.data.movieclips.remove(clip)
