# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference's shots in the scene: which one is shown, and a camera with a bound marker for each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import bpy
from mathutils import Matrix

from ....evaluator.protocol.errors import BadInputError
from ..base import check_own

FIRST = "matchcut_first_frame"
"""Custom property of our cameras: the frame of the reference, from 0, that their shot begins with."""
COLLECTION = "matchcut_shot_cameras"
"""Custom property of the collection that they lie in."""
EYE = 1.6
"""Metres above the ground of a camera that has no other to go by."""

_NAME = re.compile(r"Shot \d+(\.\d{3})?")


def current_shot(scene: Any) -> int:
    """Index of the shot that holds the current frame; -1 before the first one and after the last."""
    frame = scene.frame_current - scene.frame_start
    found = scene.matchcut.reference.shots
    return next((index for index, shot in enumerate(found) if shot.first <= frame <= shot.last), -1)


def go_to_shot(scene: Any, index: int) -> None:
    """Show the first frame of a shot."""
    found = scene.matchcut.reference.shots
    if 0 <= index < len(found):
        scene.frame_set(scene.frame_start + found[index].first)


def shot_marker(scene: Any, first: int) -> Any | None:
    """The marker that binds a camera at the shot with this first frame."""
    at = scene.frame_start + first
    return next((marker for marker in scene.timeline_markers if marker.frame == at and marker.camera), None)


def make_cameras(scene: Any) -> list[str]:
    """See that each shot has a camera, bound by a marker at its first frame; returns one line for each change.

    A camera that an artist bound there stays the shot's. Ours keep to their shots: where those changed, their markers
    move, and those of shots that are gone are taken away; the cameras stay. New ones stand where the active one stands,
    with its lens. Raises BadInputError where the shots are not known, or the scene is another file's.
    """
    check_own(scene)
    wanted = [shot.first for shot in scene.matchcut.reference.shots]
    if not wanted:
        raise BadInputError("the shots of the reference are not known; press Read Again in the Reference panel")
    bound = {first: marker.camera for first in wanted if (marker := shot_marker(scene, first)) is not None}
    theirs = {first for first, camera in bound.items() if FIRST not in camera}
    ours = sorted(  # of two with the same shot, as after a duplication, the bound one comes first
        (item for item in scene.objects if FIRST in item), key=lambda item: (item[FIRST], item not in bound.values())
    )
    kept, left = assign(wanted, [first for first in wanted if first not in theirs], [item[FIRST] for item in ours])
    changes = _unbind(scene, [ours[index] for index in left])
    source = scene.camera
    for number, first in enumerate(wanted, 1):
        if first in theirs:
            continue
        name = f"Shot {number:02d}"
        if first in kept:
            camera = ours[kept[first]]
        else:
            camera = _new_camera(scene, name, source, first)
            changes.append(f"{name}: new camera")
        if camera[FIRST] != first:
            start = scene.frame_start
            changes.append(f"{camera.name}: from frame {start + camera[FIRST]} to {start + first}")
            camera[FIRST] = first
        _bind(scene, camera, scene.frame_start + first)
    _rename(scene, wanted)
    at = max(0, current_shot(scene))
    marker = shot_marker(scene, wanted[at])
    if marker is not None:
        scene.camera = marker.camera
    return changes


def assign(wanted: Sequence[int], free: Sequence[int], ours: Sequence[int]) -> tuple[dict[int, int], list[int]]:
    """Which of our cameras goes to which shot: {first frame of the shot: index in `ours`}, and the indices left over.

    `free` are the shots without a camera of the artist's; `ours` the first frames that our cameras had, increasing.
    One whose shot is still there keeps it; the others go to the remaining shots in order.
    """
    kept: dict[int, int] = {}
    rest = []
    for index, first in enumerate(ours):
        if first in free and first not in kept:
            kept[first] = index
        else:
            rest.append(index)
    open_shots = [first for first in wanted if first in free and first not in kept]
    kept.update(zip(open_shots, rest, strict=False))
    return kept, rest[len(open_shots) :]


def _new_camera(scene: Any, name: str, source: Any, first: int) -> Any:
    if source is not None and source.type == "CAMERA":
        data, pose = source.data.copy(), source.matrix_world.copy()
        data.animation_data_clear()  # the lens as it is now, not as it moves in another shot
    else:
        data = bpy.data.cameras.new(name)
        pose = Matrix.LocRotScale((0.0, -10.0, EYE), Matrix.Rotation(math.pi / 2, 3, "X"), None)
    data.name = name
    camera = bpy.data.objects.new(name, data)
    camera.matrix_world = pose
    camera[FIRST] = first
    _collection(scene).objects.link(camera)
    return camera


def _collection(scene: Any) -> Any:
    found = next((one for one in scene.collection.children_recursive if COLLECTION in one), None)
    if found is None:
        found = bpy.data.collections.new("Shot Cameras")
        found[COLLECTION] = True
        scene.collection.children.link(found)
    return found


def _bind(scene: Any, camera: Any, frame: int) -> None:
    """Bind the camera by one marker, at `frame`."""
    markers = [marker for marker in scene.timeline_markers if marker.camera == camera]
    for marker in markers[1:]:
        scene.timeline_markers.remove(marker)
    marker = markers[0] if markers else scene.timeline_markers.new(camera.name, frame=frame)
    marker.frame, marker.camera = frame, camera


def _unbind(scene: Any, cameras: list[Any]) -> list[str]:
    changes = []
    for marker in [marker for marker in scene.timeline_markers if marker.camera in cameras]:
        changes.append(f"{marker.camera.name}: its shot is gone; the camera stays")
        scene.timeline_markers.remove(marker)
    return changes


def _rename(scene: Any, wanted: Sequence[int]) -> None:
    """Number our cameras by their shots, but for those that the artist gave a name; their markers take their names."""
    ours = [item for item in scene.objects if FIRST in item and item[FIRST] in wanted]
    names = {camera: f"Shot {wanted.index(camera[FIRST]) + 1:02d}" for camera in ours}
    stale = [camera for camera in ours if camera.name != names[camera] and _NAME.fullmatch(camera.name)]
    for camera in stale:
        camera.name = "Shot"  # so that the name that another one takes on is free
    for camera in stale:
        camera.name = camera.data.name = names[camera]
    for marker in scene.timeline_markers:
        if marker.camera in ours:
            marker.name = marker.camera.name
