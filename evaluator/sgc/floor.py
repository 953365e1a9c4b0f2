# SPDX-License-Identifier: GPL-3.0-or-later
"""The noise floor of an estimator: what it measures on renders of rigid scenes, clean and with injected corruptions.

OUT/scenes/NAME.blend          the clean scenes (assets_ui/samples/clean_scenes.py)
OUT/renders/NAME/              their render jobs, with pictures and exact passes
OUT/corrupted/NAME-KIND.mp4    their pictures with a corruption of severity 1
OUT/estimates/                 what the estimator keeps
OUT/floor.json                 the NoiseFloor
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Final

from ...assets_ui.samples.clean_scenes import SCENES, TIMELINE
from ..environment.blender import Blender, run_headless
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.messages import Reporter
from ..render.job import render_scene
from .estimators import open_geometry
from .perturb import CORRUPTIONS, Corruption, perturb_video, perturbed
from .records import Geometry
from .robust.records import ROBUST_COMPONENTS, FloorScene, NoiseFloor, RobustComponent
from .robust.score import levels_by_name, score_robust
from .robust.settings import ROBUST
from .robust.summary import DEFAULT_SCALE, table_of

STACKS: Final = ("classical", "blender")
"""Estimators whose floor can be measured: of the pictures, and of the passes themselves."""
BUILD_SECONDS = 300
INJECTED: Final[dict[str, tuple[Corruption, ...]]] = {
    # pictures have no depth and no tracks of their own: what is done to them has to be seen in them
    "classical": ("warp", "squeeze", "drift"),
    "blender": CORRUPTIONS,
}


def measure_floor(stack: str, out: Path, *, blender: Blender, reporter: Reporter) -> NoiseFloor:
    """Render the clean scenes into `out`, run an estimator on them, and write and return its floor.

    What is rendered and estimated already is used again. Raises BadInputError for another stack, OperationalError where
    Blender fails or the estimator does not give a score for any scene.
    """
    if stack not in STACKS:
        raise BadInputError(f"{stack!r}: no floor can be measured for it; there are: {', '.join(STACKS)}")
    scenes, name = [], ""
    for scene in SCENES:
        job = _render(scene, out, blender, reporter)
        geometry = _open(stack, job, out, reporter)
        name = geometry.estimator
        clean = _levels(geometry, reporter)
        corrupted = {}
        for kind in INJECTED[stack]:
            reporter.status(f"{scene}: {kind}")
            corrupted[kind] = _levels(_corrupted(stack, geometry, job, kind, scene, out, reporter), reporter)
        scenes.append(FloorScene(scene=scene, pairs=geometry.pairs_expected, clean=clean, corrupted=corrupted))
    floor = NoiseFloor(
        estimator=name,
        size=geometry.size,
        zero=zero_of(scenes),
        scale=scale_of(scenes),
        scenes=scenes,
        parameters=asdict(ROBUST),
    )
    floor.write(out / "floor.json")
    return floor


def zero_of(scenes: Sequence[FloorScene]) -> dict[RobustComponent, float]:
    """Median over the clean scenes of every component's level; OperationalError where no scene has one."""
    zero: dict[RobustComponent, float] = {}
    for name in ROBUST_COMPONENTS:
        known = [value for scene in scenes if (value := scene.clean[name]) is not None]
        if not known:
            raise OperationalError(f"no clean scene has a {name}: the estimator failed on all of them")
        zero[name] = median(known)
    return zero


def scale_of(scenes: Sequence[FloorScene]) -> dict[RobustComponent, float]:
    """By how much the injected corruptions raise every component's level, on the mean over scenes and kinds.

    At least the general scale: what an estimator takes up itself raises little, and would else weigh the more.
    """
    scale: dict[RobustComponent, float] = {}
    for name in ROBUST_COMPONENTS:
        rises = [
            max(0.0, value - clean)
            for scene in scenes
            for levels in scene.corrupted.values()
            if (value := levels[name]) is not None and (clean := scene.clean[name]) is not None
        ]
        rise = sum(rises) / len(rises) if rises else 0.0
        scale[name] = max(rise, DEFAULT_SCALE[name])
    return scale


def _render(scene: str, out: Path, blender: Blender, reporter: Reporter) -> Path:
    """The finished job of a scene, with pictures and passes."""
    blend = out / "scenes" / f"{scene}.blend"
    if not blend.is_file():
        reporter.status(f"building {scene} with Blender {blender.version}")
        blend.parent.mkdir(parents=True, exist_ok=True)
        where = f"building {blend}"
        child = run_headless(
            blender, "sample", scene, "clean", str(blend.resolve()), seconds=BUILD_SECONDS, where=where
        )
        if child.returncode != 0 or not blend.is_file():
            said = [line.strip() for line in (child.stdout + child.stderr).splitlines() if line.strip()]
            reason = said[-1].removeprefix("matchcut: ") if said else "it said nothing"
            raise OperationalError(f"{where}: Blender ended with status {child.returncode} ({reason})")
    outcome = render_scene(
        blend, out / "renders" / scene, TIMELINE, blender=blender, reporter=reporter, device="cpu", passes=True
    )
    return outcome.folder


def _open(stack: str, job: Path, out: Path, reporter: Reporter) -> Geometry:
    source = job if stack == "blender" else job / "reconstruction.mp4"
    return open_geometry(stack, source, reporter=reporter, cache=out / "estimates" / job.name)


def _corrupted(
    stack: str, clean: Geometry, job: Path, kind: Corruption, scene: str, out: Path, reporter: Reporter
) -> Geometry:
    if stack == "blender":
        return perturbed(clean, kind, 1.0)
    video = out / "corrupted" / f"{scene}-{kind}.mp4"
    video.parent.mkdir(parents=True, exist_ok=True)
    perturb_video(job / "reconstruction.mp4", kind, 1.0, video, reporter=reporter)
    return open_geometry(stack, video, reporter=reporter, cache=out / "estimates" / video.stem)


def _levels(geometry: Geometry, reporter: Reporter) -> dict[RobustComponent, float | None]:
    return levels_by_name(table_of(score_robust(geometry, reporter=reporter).pairs))
