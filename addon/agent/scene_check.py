# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the open scene would render on a reference's timeline, and whether it cuts where the reference does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from ...evaluator.protocol.bridge import BridgeCallError
from ...evaluator.protocol.timeline import Timeline
from ..render.camera import camera_at
from ..timeline import scene_timeline, timeline_problems
from .camera import curves_of
from .methods import current_scene, plain_text

JUMP: Final = 4.0  # times the steps before and after it, from which on a step of an animated camera is a cut
MOST_CUTS: Final = 100_000


def check_scene(timeline: dict[str, Any], cuts: list[int]) -> dict[str, Any]:
    """What of the scene differs from a reference, a line each: `timeline` as JSON, `cuts` its shots' first frames.

    Nothing is rendered, and no frame is set. A cut is another active camera, or a jump of the camera's animation.
    """
    scene = current_scene()
    if scene is None:
        raise BridgeCallError("failed", "this Blender has no scene; open a file or make a scene")
    wanted = Timeline.from_json(timeline)
    good = isinstance(cuts, list) and all(type(cut) is int and 0 < cut < wanted.frames for cut in cuts)
    if not good or len(cuts) > MOST_CUTS:
        raise BridgeCallError("bad_params", f"cuts is {cuts!r:.80}; expected frames from 1 to {wanted.frames - 1}")
    lines = [*timeline_problems(scene, wanted), *_cut_problems(scene, sorted(set(cuts)), wanted.frames)]
    return {"timeline": str(scene_timeline(scene)), "problems": [plain_text(line) for line in lines]}


def _cut_problems(scene: Any, cuts: list[int], frames: int) -> Iterator[str]:
    for cut in cuts:
        before, after = camera_at(scene, cut - 1), camera_at(scene, cut)
        if before is not None and before == after and not _jumps(scene, after, cut):
            yield (
                f"the reference cuts at frame {cut} (scene frame {scene.frame_start + cut}), and the scene goes on "
                f"with camera {after.name!r}: bind that shot's camera to a marker there"
            )
    bound = sorted({marker.frame - scene.frame_start for marker in scene.timeline_markers if marker.camera})
    for frame in bound:
        if not 0 < frame < frames or frame in cuts:
            continue
        before, after = camera_at(scene, frame - 1), camera_at(scene, frame)
        if before != after:
            nearest = min(cuts, key=lambda cut: abs(cut - frame)) if cuts else None
            where = "it has none" if nearest is None else f"the nearest is at frame {nearest}"
            yield (
                f"the scene cuts to camera {after.name!r} at frame {frame} (scene frame {scene.frame_start + frame}), "
                f"and the reference does not: {where}; move that marker"
            )


def _jumps(scene: Any, camera: Any, cut: int) -> bool:
    """Whether a camera's own animation jumps from the frame before to the cut."""
    at = scene.frame_start + cut
    for owner in (camera, camera.data):
        for curve in curves_of(owner):
            values = [curve.evaluate(at + step) for step in (-2, -1, 0, 1)]
            before, step, after = (abs(b - a) for a, b in pairwise(values))
            if step > JUMP * max(before, after) + 1e-4:
                return True
    return False
