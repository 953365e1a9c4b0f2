# SPDX-License-Identifier: GPL-3.0-or-later
"""What SGC's metric costs beside the authors' formulas written plainly, and how right the classical estimator is.

`./run perf sgc` runs it; the estimator's part is in geometry.py.

Both score the same pairs of frames with exact geometry, 1280x720 with k = 10 and about 9,000 tracks, in turn. The plain
version is numpy, OpenCV's PnP and scikit-learn's KMeans with ten starts, as in the authors' code but for their GPU. It
needs scikit-learn, which nothing else of the project does.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import geometry
from media import ROOT, Row, table  # loads the package under its name

import cv2  # isort: skip
import numpy as np  # isort: skip
from scipy.spatial.transform import Rotation  # isort: skip
from matchcut.evaluator.sgc.clustering import depth_regions  # isort: skip
from matchcut.evaluator.sgc.estimators.blender import flow_tracks  # isort: skip
from matchcut.evaluator.sgc.paper import score_pair  # isort: skip
from matchcut.evaluator.sgc.records import PairGeometry  # isort: skip

sys.path.insert(0, str(ROOT / "tests" / "unit"))
import sgc_scenes as scenes  # isort: skip

METRIC, CLUSTERS, SMALLEST = 30.0, 10, 200
REAL, TINY = (1280, 720), (160, 120)


def pairs(count: int, size: tuple[int, int]) -> list[PairGeometry]:
    """Pairs of frames of the unit tests' rigid scene at `size`, with depth and tracks that are a little off."""
    scenes.W, scenes.H = size
    focal = 0.94 * size[0]
    scenes.K = np.array([[focal, 0, size[0] / 2 - 0.5], [0, focal, size[1] / 2 - 0.5], [0, 0, 1]])
    made, random = [], np.random.default_rng(0)
    for step in range(1, count + 1):
        exact = scenes.pair(step)
        flow = scenes.exact_flow(scenes.view(step - 1), scenes.view(step)).astype(np.float32)
        tracks = flow_tracks(exact.previous, exact.current, flow)
        tracks = replace(tracks, current=tracks.current + random.normal(0, 0.3, tracks.current.shape))
        before, after = (
            (frame.depth * random.normal(1, 0.01, frame.depth.shape)).astype(np.float32)
            for frame in (exact.previous, exact.current)
        )
        made.append(scenes.changed(exact, tracks=tracks, depth=after, previous_depth=before))
    return made


# ---- the authors' formulas, written plainly --------------------------------------------------------------------------


def plain_regions(depth: np.ndarray, static: np.ndarray) -> np.ndarray:
    """Depth regions by scikit-learn's KMeans."""
    from sklearn.cluster import KMeans

    values = depth[static].reshape(-1, 1).astype(np.float32)
    labels = KMeans(n_clusters=CLUSTERS, random_state=0, n_init=10).fit_predict(values)
    clusters = np.zeros(depth.shape, np.int32)
    clusters[static] = labels + 1
    regions, number = np.zeros(depth.shape, np.int32), 0
    for label in np.unique(clusters)[np.unique(clusters) > 0]:
        if (clusters == label).sum() >= SMALLEST:
            number += 1
            regions[clusters == label] = number
    return regions


def plain_poses(pair: PairGeometry, regions: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """A camera pose for every region."""
    height, width = regions.shape
    tracks, before, after = pair.tracks, pair.previous, pair.current
    seen = (tracks.visibility > 0) & (tracks.confidence >= 0.5)
    start, end = tracks.previous[seen].astype(np.float32), tracks.current[seen].astype(np.float32)
    column = np.clip(start[:, 0].astype(int), 0, width - 1)
    row = np.clip(start[:, 1].astype(int), 0, height - 1)
    z = before.depth[row, column]
    x = (start[:, 0] - before.intrinsics[0, 2]) * z / before.intrinsics[0, 0]
    y = (start[:, 1] - before.intrinsics[1, 2]) * z / before.intrinsics[1, 1]
    points = np.vstack((x, y, z)).T[z > 1e-5]
    end = end[z > 1e-5]
    column = np.clip(end[:, 0].astype(int), 0, width - 1)
    row = np.clip(end[:, 1].astype(int), 0, height - 1)
    of = regions[row, column]
    poses = []
    for number in range(1, int(regions.max()) + 1):
        chosen = of == number
        if chosen.sum() < 4:
            continue
        success, vector, translation, inliers = cv2.solvePnPRansac(
            points[chosen].astype(np.float32).reshape(-1, 1, 3), end[chosen].reshape(-1, 1, 2), after.intrinsics, None,
            iterationsCount=100, reprojectionError=8.0, confidence=0.99, flags=cv2.SOLVEPNP_ITERATIVE,
        )  # fmt: skip
        if success and inliers is not None and len(inliers) >= max(4, int(0.3 * chosen.sum())):
            poses.append((cv2.Rodrigues(vector)[0], translation.ravel()))
    return poses


def plain_warp(pair: PairGeometry, rotation: np.ndarray, translation: np.ndarray) -> np.ndarray:
    """The previous depth seen from the current camera."""
    depth, height, width = pair.previous.depth, *pair.previous.depth.shape
    before, after = pair.previous.intrinsics, pair.current.intrinsics
    rows, columns = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    z = depth.flatten()
    valid = z > 1e-5
    u, v, z = columns.flatten()[valid], rows.flatten()[valid], z[valid]
    points = np.stack(((u - before[0, 2]) * z / before[0, 0], (v - before[1, 2]) * z / before[1, 1], z), axis=-1)
    moved = (rotation @ points.T + translation.reshape(3, 1)).T
    moved = moved[moved[:, 2] > 1e-5]
    u = np.round(moved[:, 0] * after[0, 0] / moved[:, 2] + after[0, 2]).astype(int)
    v = np.round(moved[:, 1] * after[1, 1] / moved[:, 2] + after[1, 2]).astype(int)
    inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
    order = np.argsort(moved[inside, 2])
    warped = np.zeros(depth.shape, np.float32)
    warped[v[inside][order], u[inside][order]] = moved[inside, 2][order]
    return warped


def plain_angle(first: np.ndarray, second: np.ndarray) -> float:
    """Angle between two rotations in degrees."""
    return float(np.degrees(np.arccos(np.clip((np.trace(first.T @ second) - 1) / 2, -1, 1))))


def plain_components(pair: PairGeometry, regions: np.ndarray) -> list[float]:
    """The five components of a pair from its regions."""
    poses = plain_poses(pair, regions)
    before, after = pair.previous.world_to_camera, pair.current.world_to_camera
    rotation = after[:3, :3] @ before[:3, :3].T
    translation = after[:3, 3] - rotation @ before[:3, 3]
    vectors = np.mean([Rotation.from_matrix(turn).as_rotvec() for turn, _ in poses], axis=0)
    mean, centre = Rotation.from_rotvec(vectors).as_matrix(), np.mean([shift for _, shift in poses], axis=0)
    squares = np.array([plain_angle(turn, rotation) ** 2 for turn, _ in poses])
    low, high, top = np.percentile(squares, [25, 75, 98])
    kept = squares[(squares >= low - (top - high)) & (squares <= top)]
    warped = plain_warp(pair, rotation, translation)
    valid = (warped > 1e-5) & (pair.current.depth > 1e-5) & ~pair.current.moving
    return [
        float(np.mean([plain_angle(turn, mean) ** 2 for turn, _ in poses])),
        float(np.mean([np.linalg.norm(shift - centre) ** 2 for _, shift in poses])),
        float(kept.mean()),
        float(np.mean([np.linalg.norm(shift - translation) ** 2 for _, shift in poses])),
        float(np.abs(warped[valid] - pair.current.depth[valid]).mean()),
    ]


# ---- the comparison --------------------------------------------------------------------------------------------------


def measure_metric(rounds: int, size: tuple[int, int]) -> Iterator[Row]:
    """The plain version over ours, of pairs in turn, and what each takes."""
    whole: list[tuple[float, float]] = []
    cpus: list[float] = []
    parts: list[tuple[float, float]] = []
    made = pairs(max(1, rounds), size)
    score_pair(made[0])
    for pair in made:
        plain, plain_cpu, clustering = _plain(pair)
        ours, ours_cpu = _best(lambda pair=pair: score_pair(pair))
        own, _ = _best(
            lambda pair=pair: depth_regions(
                pair.current.depth, ~pair.current.moving, clusters=CLUSTERS, minimum_size=SMALLEST
            )
        )
        whole.append((plain, ours))
        cpus.append(plain_cpu / max(ours_cpu, 1e-9))
        parts.append((clustering, own))
    speedups = [plain / ours for plain, ours in whole]
    bound = METRIC if size == REAL else None
    tracks = int((made[0].tracks.visibility >= 0).sum())
    name = f"metric of a pair, {size[0]}x{size[1]}, {tracks} tracks: time of the plain version over ours"
    yield Row(name, statistics.median(speedups), "", bound, True, min(speedups), max(speedups), statistics.median(cpus))
    for label, seconds in (
        ("plain version of a pair", [plain for plain, _ in whole]),
        ("of which scikit-learn's KMeans", [part for part, _ in parts]),
        ("ours", [ours for _, ours in whole]),
        ("of which clustering", [own for _, own in parts]),
    ):
        values = [1000 * value for value in seconds]
        yield Row(label, statistics.median(values), "ms", None, False, min(values), max(values))


def _plain(pair: PairGeometry) -> tuple[float, float, float]:
    """Seconds, seconds of processor time, and seconds of the clustering alone, of the plain version."""
    start, cpu = time.perf_counter(), time.process_time()
    regions = plain_regions(pair.current.depth, ~pair.current.moving)
    clustered = time.perf_counter()
    plain_components(pair, regions)
    end = time.perf_counter()
    return end - start, time.process_time() - cpu, clustered - start


def _best(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and processor seconds: the median of three runs."""
    taken = []
    for _ in range(3):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        taken.append((time.perf_counter() - wall, time.process_time() - cpu))
    return statistics.median(wall for wall, _ in taken), statistics.median(cpu for _, cpu in taken)


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 where a bound is missed, 2 without scikit-learn."""
    parser = argparse.ArgumentParser(prog="matchcut perf sgc", description=__doc__.splitlines()[0])
    parts = ["metric", "accuracy", "speed", "memory"]
    parser.add_argument("--only", action="append", choices=parts, help="measure this part alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of frames, and runs of the estimator (default: 5)")
    parser.add_argument("--folder", type=Path, help="keep the rendered scenes here (default: a temporary one)")
    parser.add_argument("--tiny", action="store_true", help="the metric alone on a small picture, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    parsed = parser.parse_args(arguments)
    wanted = parsed.only or (parts[:1] if parsed.tiny else parts)
    if "metric" in wanted and importlib.util.find_spec("sklearn") is None:
        text = "it compares with scikit-learn, which is missing; run pip install scikit-learn, and this again"
        sys.stderr.write(f"matchcut perf sgc: {text}\n")
        return 2
    with contextlib.ExitStack() as stack:
        folder = parsed.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        if "metric" in wanted:
            rows += measure_metric(parsed.rounds, TINY if parsed.tiny else REAL)
        if "speed" in wanted:
            rows += geometry.measure_speed(folder.resolve(), parsed.rounds)
        if "accuracy" in wanted:
            rows += geometry.measure_accuracy(folder.resolve())
        if "memory" in wanted:
            rows += geometry.measure_memory(folder.resolve(), (60, 240))
    if parsed.json:
        machine = {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()}
        data = {"machine": machine, "rows": [{**asdict(row), "passed": row.passed} for row in rows]}
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table(rows))
    return int(not all(row.passed for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
