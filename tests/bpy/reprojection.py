"""Renders the passes of the scene in memory and carries pixels from frame to frame by depth and cameras."""

import json
from fractions import Fraction

import bpy
import numpy as np
from matchcut.addon.render.geometry import render_geometry
from matchcut.addon.timeline import match_timeline
from matchcut.evaluator.protocol.geometry import chunks_of, write_index
from matchcut.evaluator.protocol.render_job import RenderJob
from matchcut.evaluator.protocol.timeline import Timeline


class Counter:
    """In the place of a child's Clock."""

    def __init__(self):
        self.rendered, self.skipped = [], 0

    def begin(self, frame):
        self.rendered.append(frame)

    def end(self):
        pass

    def skip(self, frames):
        self.skipped += frames


STEPS = (("flow_next", 1), ("flow_previous", -1))


def job_of(frames, size=(96, 54), **options):
    timeline = Timeline(*size, Fraction(24000, 1001), frames)
    return RenderJob("s.blend", timeline, 0, frames - 1, **{"pictures": False, "passes": True, **options})


def render_passes(folder, job):
    """Render the job's passes of the scene in memory into `folder` and return them as `read_passes` does."""
    match_timeline(bpy.context.scene, job.timeline)
    bpy.context.scene.render.resolution_x, bpy.context.scene.render.resolution_y = job.size
    render_geometry(folder, job, chunks_of(job), Counter())
    write_index(folder, job)
    return read_passes(folder)


def read_passes(folder):
    """The index, and the arrays of all frames by name."""
    index = json.loads((folder / "geometry" / "geometry.json").read_text())
    chunks = [dict(np.load(folder / "geometry" / chunk["file"])) for chunk in index["chunks"]]
    return index, {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}


def ids_of(index, *names):
    return [entry["id"] for entry in index["objects"] if entry["name"] in names]


def is_static(index, name):
    return next(entry["static"] for entry in index["objects"] if entry["name"] == name)


def shows(index, data, frame, name):
    """The pixels (H, W) in which an object is seen."""
    return np.isin(data["object_ids"][frame], ids_of(index, name)) & (data["depth"][frame] > 0)


def carried(data, frame, other, motion=None):
    """Pixels of `frame`, unprojected by its depth and projected into `other`: (H, W, 2), minus the pixel itself.

    `motion` (4, 4) moves the points in the world meanwhile.
    """
    height, width = data["depth"][frame].shape
    grid = np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1).astype(float)
    rays = np.concatenate([grid, np.ones((height, width, 1))], -1) @ np.linalg.inv(data["intrinsics"][frame]).T
    points = rays * data["depth"][frame][..., None]
    move = np.eye(4) if motion is None else motion
    change = data["world_to_camera"][other] @ move @ np.linalg.inv(data["world_to_camera"][frame])
    seen = (points @ change[:3, :3].T + change[:3, 3]) @ data["intrinsics"][other].T
    with np.errstate(divide="ignore", invalid="ignore"):
        return seen[..., :2] / seen[..., 2:] - grid


def errors(data, flow, frame, step, where, motion=None):
    """Distances in pixels between the flow and what depth and cameras predict, at the pixels `where`."""
    difference = data[flow][frame] - carried(data, frame, frame + step, motion)
    return np.linalg.norm(difference, axis=-1)[where]


def check_static(index, data, median=0.01):
    """Assert that at static pixels depth and cameras predict the motion in both directions, at every frame."""
    moving = [entry["id"] for entry in index["objects"] if not entry["static"]]
    frames = len(data["depth"])
    for flow, step in STEPS:
        for frame in range(frames):
            if not 0 <= frame + step < frames:
                assert np.isnan(data[flow][frame]).all()
                continue
            static = (data["depth"][frame] > 0) & ~np.isin(data["object_ids"][frame], moving)
            found = errors(data, flow, frame, step, static)
            assert static.sum() > 100
            assert np.median(found) < median, (flow, frame)
            # the passes are of the centre of a pixel: not even a silhouette mixes two motions
            assert np.mean(found < 0.05) > 0.99, (flow, frame)


def check_rigid(index, data, name, *, at_least=10):
    """Assert that a moving object's own matrices predict its motion; chunk-free scenes in memory only."""
    scene, seen = bpy.context.scene, 0
    for frame in range(len(data["depth"]) - 1):
        before, after = (_matrix(scene, name, number) for number in (frame, frame + 1))
        for flow, at, step, motion in (
            ("flow_next", frame, 1, after @ np.linalg.inv(before)),
            ("flow_previous", frame + 1, -1, before @ np.linalg.inv(after)),
        ):
            where = shows(index, data, at, name)
            if where.sum() >= at_least:
                seen += 1
                assert np.median(errors(data, flow, at, step, where, motion)) < 0.01, (name, flow, at)
                assert np.median(errors(data, flow, at, step, where)) > 0.1, "it moves on its own"
    assert seen > 1


def _matrix(scene, name, frame):
    scene.frame_set(scene.frame_start + frame)
    item = bpy.data.objects[name].evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array(item.matrix_world, dtype=float)


def chunk_names(job):
    return [f"{first:06d}.npz" for first, _ in chunks_of(job)]
