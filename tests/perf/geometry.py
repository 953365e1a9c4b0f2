# SPDX-License-Identifier: GPL-3.0-or-later
"""How right the classical estimator is on scenes whose geometry is known, how fast, and in how much memory.

The scenes of geometry_scenes.py are rendered once, by a render job with passes, which are the truth; the estimator sees
the job's video alone. Rendering takes minutes a scene, so keep the folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from media import ROOT, Row  # loads the package under its name

import cv2  # isort: skip
import numpy as np  # isort: skip
from matchcut.evaluator.environment.blender import find_blender  # isort: skip
from matchcut.evaluator.media.decode import stream  # isort: skip
from matchcut.evaluator.media.encode import encode  # isort: skip
from matchcut.evaluator.protocol.children import child_environment  # isort: skip
from matchcut.evaluator.protocol.memory import peak_memory_bytes  # isort: skip
from matchcut.evaluator.protocol.messages import SilentReporter  # isort: skip
from matchcut.evaluator.sgc.estimators.blender import open_job  # isort: skip
from matchcut.evaluator.sgc.estimators.classical import estimate  # isort: skip
from matchcut.evaluator.sgc.records import FrameGeometry, Geometry  # isort: skip

SCENES = ("town", "interior", "aerial")
JUDGED = "town"
"""The scene that the bounds are for; the others are reported."""
FRAMES, SIZE, RATE = 24, (960, 540), Fraction(24)
ROTATION, DIRECTION, TRAJECTORY, FOCAL, DEPTH, COVERAGE = 15.0, 0.5, 0.05, 1.0, 1.0, 0.98
SECONDS = 0.6
GROWTH = 1.1


@dataclass(frozen=True)
class Accuracy:
    """How far estimated geometry is from the exact one."""

    rotation: float
    """Median error of the rotation between consecutive frames, in degrees."""
    direction: float
    """Median angle between the directions of translation, in degrees."""
    trajectory: float
    """Root mean square distance of the camera's places after a similarity, in percent of the path."""
    focal: float
    """Percent."""
    depth: float
    """Median over static pixels that have one, in percent, in the scale of the trajectory."""
    coverage: float
    """Share of the static pixels with an exact depth that have an estimated one."""
    sky: float
    """Share of the pixels that nothing is hit by that are found to be sky; nan where there are none."""
    moving: float
    """Share of the pixels of moving objects that are found to be moving; nan where there are none."""
    wrongly_moving: float
    """Share of the static pixels that are taken for moving."""


def compare(found: Geometry, exact: Geometry) -> Accuracy:
    """Both geometries of the same frames at the same size."""
    ours, true = frames(found), frames(exact)
    turns, ways = [], []
    for (a, b), (c, d) in zip(pairwise(ours), pairwise(true), strict=True):
        motion, wanted = (
            after.world_to_camera @ np.linalg.inv(before.world_to_camera) for before, after in ((a, b), (c, d))
        )
        turns.append(np.linalg.norm(cv2.Rodrigues(motion[:3, :3] @ wanted[:3, :3].T)[0]))
        lengths = np.linalg.norm(motion[:3, 3]) * np.linalg.norm(wanted[:3, 3])
        ways.append(np.arccos(np.clip(motion[:3, 3] @ wanted[:3, 3] / max(lengths, 1e-12), -1, 1)))
    scale, distance, path = similarity(ours, true)
    errors, shares, skies, moved, wrong = [], [], [], [], []
    for frame, truth in zip(ours, true, strict=True):
        static = (truth.depth > 0) & ~truth.moving
        both = static & (frame.depth > 0)
        errors.append(np.abs(scale * frame.depth[both] / truth.depth[both] - 1))
        shares.append(both.sum() / static.sum())
        skies += [frame.sky[truth.depth == 0].mean()] if (truth.depth == 0).any() else []
        moved += [frame.moving[truth.moving].mean()] if truth.moving.any() else []
        wrong.append(frame.moving[static].mean())
    return Accuracy(
        rotation=float(np.degrees(np.median(turns))),
        direction=float(np.degrees(np.median(ways))),
        trajectory=100 * distance / path,
        focal=100 * abs(ours[0].intrinsics[0, 0] / true[0].intrinsics[0, 0] - 1),
        depth=100 * float(np.median(np.concatenate(errors))),
        coverage=float(np.mean(shares)),
        sky=float(np.mean(skies)) if skies else float("nan"),
        moving=float(np.mean(moved)) if moved else float("nan"),
        wrongly_moving=float(np.mean(wrong)),
    )


def frames(geometry: Geometry) -> list[FrameGeometry]:
    """All frames of a geometry of one shot."""
    pairs = list(geometry.pairs())
    return [pairs[0].previous, *(pair.current for pair in pairs)]


def similarity(ours: list[FrameGeometry], true: list[FrameGeometry]) -> tuple[float, float, float]:
    """Scale to the exact trajectory, root mean square distance after it, and the path's length (Umeyama 1991)."""
    places, wanted = (np.stack([np.linalg.inv(frame.world_to_camera)[:3, 3] for frame in of]) for of in (ours, true))
    path = float(np.linalg.norm(np.diff(wanted, axis=0), axis=1).sum())
    places, wanted = places - places.mean(axis=0), wanted - wanted.mean(axis=0)
    left, values, right = np.linalg.svd(wanted.T @ places)
    flip = np.diag([1, 1, np.sign(np.linalg.det(left @ right))])
    scale = float((values * np.diag(flip)).sum() / (places**2).sum())
    apart = scale * places @ (left @ flip @ right).T - wanted
    return scale, float(np.sqrt((apart**2).sum(axis=1).mean())), path


def job(folder: Path, name: str) -> Path:
    """The render job of a scene, made where it is not there yet."""
    done = folder / f"job-{name}"
    if (done / "geometry" / "geometry.json").is_file() and (done / "reconstruction.mp4").is_file():
        return done
    sys.stderr.write(f"rendering {name}\n")
    blender = find_blender(lambda text: sys.stderr.write(f"{text}\n") and None)
    scene, reference = folder / f"{name}.blend", folder / "reference.mp4"
    script = Path(__file__).with_name("geometry_scenes.py")
    start = [] if blender.kind == "wheel" else ["-b", "--factory-startup", "--python-exit-code", "1", "--python"]
    _run([blender.path, *start, str(script), "--", name, str(scene)], blender.path)
    if not reference.exists():
        grey = np.full((SIZE[1], SIZE[0], 3), 90, np.uint8)
        encode([grey] * FRAMES, RATE, reference, reporter=SilentReporter(), total=FRAMES)
    command = [sys.executable, str(ROOT / "__main__.py"), "render", str(scene), "--reference", str(reference)]
    _run([*command, "--out", str(done), "--passes", "--device", "cpu", "--json"], None)
    return done


def _run(command: list[str], program: str | None) -> None:
    environment = child_environment(program) if program else None
    ended = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{ended.stderr.decode('utf-8', 'replace')}")


def measure_accuracy(folder: Path) -> Iterator[Row]:
    """Rows of every scene."""
    for name in SCENES:
        done = job(folder, name)
        right = compare(estimate(done / "reconstruction.mp4", None, reporter=SilentReporter()), open_job(done))
        for label, value, bound, least in (
            ("rotation, median, thousandths of a degree", 1000 * right.rotation, ROTATION, False),
            ("direction of translation, median, degrees", right.direction, DIRECTION, False),
            ("trajectory, % of the path", right.trajectory, TRAJECTORY, False),
            ("focal length, %", right.focal, FOCAL, False),
            ("depth, median, %", right.depth, DEPTH, False),
            ("share of static pixels with a depth", right.coverage, COVERAGE, True),
            ("share of the sky that is found", right.sky, None, True),
            ("share of what moves that is found", right.moving, None, True),
            ("share of static pixels taken for moving", right.wrongly_moving, None, False),
        ):
            if np.isfinite(value):
                yield Row(f"{name}: {label}", value, "", bound if name == JUDGED else None, least, value, value)


def measure_speed(folder: Path, rounds: int) -> Iterator[Row]:
    """Seconds a frame of the judged scene, the best of the rounds, and processor seconds."""
    video = job(folder, JUDGED) / "reconstruction.mp4"
    taken, busy = [], []
    for _ in range(rounds):
        wall, cpu = time.perf_counter(), time.process_time()
        estimate(video, None, reporter=SilentReporter())
        taken.append((time.perf_counter() - wall) / FRAMES)
        busy.append((time.process_time() - cpu) / FRAMES)
    name = f"{JUDGED}: seconds a frame, best of {rounds}, {os.cpu_count()} cores"
    yield Row(name, min(taken), "", SECONDS, False, min(taken), max(taken), min(busy))


def measure_memory(folder: Path, lengths: tuple[int, int]) -> Iterator[Row]:
    """Peak memory of a process that estimates a video of each length, and the ratio of the two."""
    source = job(folder, JUDGED) / "reconstruction.mp4"
    pictures = [frame.image.copy() for frame in stream(source)]
    there_and_back = [*pictures, *pictures[-2:0:-1]]
    peaks = []
    for length in lengths:
        video = folder / f"{length}.mp4"
        if not video.exists():
            shown = (there_and_back[index % len(there_and_back)] for index in range(length))
            encode(shown, RATE, video, reporter=SilentReporter(), total=length)
        command = [sys.executable, str(Path(__file__)), str(video)]
        output = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=True).stdout
        peaks.append(float(json.loads(output)["peak_mb"]))
        yield Row(
            f"memory of {length} frames at {SIZE[0]}x{SIZE[1]}", peaks[-1], "MB", None, False, peaks[-1], peaks[-1]
        )
    ratio = peaks[1] / peaks[0]
    yield Row(f"memory of {lengths[1]} frames over {lengths[0]}", ratio, "", GROWTH, False, ratio, ratio)


if __name__ == "__main__":  # the child of measure_memory
    estimate(Path(sys.argv[1]), None, reporter=SilentReporter())
    sys.stdout.write(json.dumps({"peak_mb": peak_memory_bytes() / 2**20}) + "\n")
