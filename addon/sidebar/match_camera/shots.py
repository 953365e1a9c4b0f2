# SPDX-License-Identifier: GPL-3.0-or-later
"""Which shot is shown, which camera it has, and what was drawn for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...render.camera import camera_at
from .view import CameraView, camera_of_view, camera_view, shown_size


@dataclass(frozen=True)
class Shot:
    """A shot's number, from 1, and its frames of the reference, from 0, both included."""

    number: int
    first: int
    last: int


def frame_of(scene: Any) -> int:
    """The frame of the reference that the scene shows."""
    return int(scene.frame_current - scene.frame_start)


def shots_of(scene: Any) -> list[Shot]:
    """The scene's shots: each begins at a marker that binds a camera; without any at those of the reference."""
    start, end = scene.frame_start, max(scene.frame_end, scene.frame_start)
    bound = sorted({marker.frame for marker in scene.timeline_markers if marker.camera is not None})
    cuts = bound[1:] if bound else [start + shot.first for shot in scene.matchcut.reference.shots]
    firsts = [0, *(frame - start for frame in cuts if start < frame <= end)]
    lasts = [*(first - 1 for first in firsts[1:]), end - start]
    return [Shot(number, *ends) for number, ends in enumerate(zip(firsts, lasts, strict=True), 1)]


def shot_at(scene: Any, frame: int) -> Shot:
    """The shot that has a frame; the first or the last one for frames before and after."""
    shots = shots_of(scene)
    return next((shot for shot in reversed(shots) if shot.first <= frame), shots[0])


def camera_of(scene: Any, frame: int | None = None) -> Any:
    """The camera object of the shot that has a frame (the present one); None where there is none."""
    camera = camera_at(scene, frame_of(scene) if frame is None else frame)
    return camera if camera is not None and camera.type == "CAMERA" else None


def shown_view(scene: Any, space: Any, region: Any) -> CameraView | None:
    """The view of a 3D view's region that looks through the present shot's camera; None where it does not."""
    camera = camera_of(scene)
    if camera is None or camera_of_view(scene, space) != camera:
        return None
    return camera_view(scene, space, region, region.data)


def match_of(scene: Any) -> Any:
    """What was drawn for the shot that is shown, at the frame nearest to the present one; None where nothing was."""
    frame = frame_of(scene)
    shot = shot_at(scene, frame)
    drawn = [match for match in scene.matchcut.match_camera.matches if shot.first <= match.frame <= shot.last]
    return min(drawn, key=lambda match: abs(match.frame - frame), default=None)


def new_match(scene: Any) -> Any:
    """A match that begins at the present frame."""
    match = scene.matchcut.match_camera.matches.add()
    match.frame = frame_of(scene)
    camera = camera_of(scene)
    if camera is not None:
        match.lens = camera.data.lens
    return match


def picture_size(scene: Any) -> tuple[int, int]:
    """(width, height) in square pixels of the picture that is matched: the reference's, where the scene has its shape.

    See `differs` for where it has not.
    """
    reference = scene.matchcut.reference
    if reference.known and not differs(scene):
        return reference.width, reference.height
    width, height = shown_size(scene)
    return max(1, round(width)), max(1, round(height))


def differs(scene: Any) -> bool:
    """Whether the scene's picture has another shape than the reference's, so that they do not cover each other."""
    reference = scene.matchcut.reference
    if not reference.known:
        return False
    width, height = shown_size(scene)
    return bool(abs(reference.width * height - reference.height * width) > max(width, height))
