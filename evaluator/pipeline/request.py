# SPDX-License-Identifier: GPL-3.0-or-later
"""What a score is asked for, checked before any long work."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..checklist.load import load_clips
from ..checklist.records import SETTINGS, Clip, Setting
from ..environment.blender import Blender
from ..judge.prices import find_price
from ..judge.providers import Provider, open_provider, require_ready
from ..judge.providers.human import announcer
from ..protocol.errors import BadInputError
from ..protocol.messages import Reporter
from ..protocol.render_job import RenderJob, RenderStatus
from ..protocol.timeline import Timeline
from ..sgc.measure import MODES
from ..shots.detect import check_detector
from ..shots.records import DETECTORS

OUTPUTS = ("results.json", "report.html")

SGC_MODES: Final = (*MODES, "off")
"""How SGC is measured: the sound way, the published one, or not at all."""
SGC_ESTIMATORS: Final = ("blender", "classical")
"""Where its geometry comes from: the scene's own passes, or the reconstruction's pictures."""


@dataclass(frozen=True)
class ScoreRequest:
    """One reconstruction of one reference. `scene` is a .blend, or the folder of a finished render job with passes.

    Without `reconstruction` the scene is rendered, or the job's video taken. `samples`, `engine` and `device` are for
    that rendering; None leaves what the scene says. `judge` is as `open_provider` reads it; `detector` finds the cuts.
    `sgc_mode` is one of SGC_MODES, `estimator` one of SGC_ESTIMATORS, None for the passes of a scene where one is
    given, and the pictures of the reconstruction where none is. `renders` is a folder below which a finished render of
    the same scene is looked for, to be taken instead of rendering again. What is judged is kept in `judged`, None for
    `out`; `budget_usd` limits what it costs.
    """

    reference: Path
    out: Path
    reconstruction: Path | None = None
    scene: Path | None = None
    checklist: Path | None = None
    setting: Setting = "proxy"
    judge: str | None = None
    samples: int | None = None
    engine: str | None = None
    device: str = "auto"
    view_transform: str | None = None
    workers: int = 1
    renders: Path | None = None
    judged: Path | None = None
    budget_usd: float | None = None
    detector: str = DETECTORS[0]
    sgc_mode: str = "robust"
    estimator: str | None = None

    @property
    def needs_passes(self) -> bool:
        """Whether a scene's depth and motion are of use."""
        return self.sgc_mode != "off" and self.estimator != "classical"

    @property
    def judged_folder(self) -> Path:
        """Where judgments, and the images that belong to them, are kept."""
        return self.judged or self.out

    def job(self, blend: Path, timeline: Timeline, content: str) -> RenderJob:
        """The job by which a scene is rendered for this, as far as its pictures are concerned."""
        return RenderJob(
            str(blend), timeline, 0, timeline.frames - 1, samples=self.samples, engine=self.engine, device=self.device,
            view_transform=self.view_transform, content=content,
        )  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """A request that can be carried out: what it names exists and is of the right form.

    At most one of `blend` and `job` is there; `blender` is there where `blend` is; `reconstruction` is missing where
    `blend` has to be rendered for it.
    """

    request: ScoreRequest
    reconstruction: Path | None
    blend: Path | None
    job: Path | None
    blender: Blender | None
    clips: list[Clip] | None
    provider: Provider | None


def check_request(request: ScoreRequest, *, reporter: Reporter, blender: Callable[[], Blender]) -> Plan:
    """Check everything that can be wrong in a request without decoding a video; makes the folder `out`.

    `blender` is called only where a scene has to be rendered. Raises BadInputError.
    """
    if request.setting not in SETTINGS:
        raise BadInputError(f"--setting {request.setting}: there is no such setting; take one of {', '.join(SETTINGS)}")
    if request.samples is not None and request.samples < 1:
        raise BadInputError(f"--samples {request.samples}: at least 1 is needed")
    check_detector(request.detector)
    _check_sgc(request)
    _existing_file(request.reference, "--reference")
    if request.reconstruction is not None:
        _existing_file(request.reconstruction, "--reconstruction")
    elif request.scene is None:
        raise BadInputError("nothing to score: give --reconstruction VIDEO, --scene FILE.blend, or both")
    blend, job = _scene(request.scene, request.needs_passes)
    reconstruction = request.reconstruction
    if reconstruction is None and job is not None:
        reconstruction = job / "reconstruction.mp4"
        if not reconstruction.is_file():
            raise BadInputError(f"{job}: this render has no reconstruction.mp4; give the video as --reconstruction")
    if request.reconstruction is not None and not request.needs_passes:
        blend = None  # there is nothing to render it for
    clips = load_clips(request.checklist, None) if request.checklist is not None else None
    provider = None
    if request.judge is not None:
        drafts = request.judged_folder / "drafts"
        provider = open_provider(request.judge, drafts=drafts, announce=announcer(reporter))
        require_ready(provider, request.judge)
        if request.budget_usd is not None and find_price(provider.name, provider.model) is None:
            model = f"{provider.name}:{provider.model}"
            raise BadInputError(f"budget: no price of {model} is known, so it cannot be kept to; give none (0)")
    if provider is not None and clips is None:
        reporter.warning("a judge is given but no checklist: nothing is judged; give its clips as the checklist")
    _writable(request.out)
    return Plan(
        request=request,
        reconstruction=reconstruction,
        blend=blend,
        job=job,
        blender=blender() if blend is not None else None,
        clips=clips,
        provider=provider,
    )


def _check_sgc(request: ScoreRequest) -> None:
    if request.sgc_mode not in SGC_MODES:
        raise BadInputError(f"--sgc-mode {request.sgc_mode}: there is no such mode; take one of {', '.join(SGC_MODES)}")
    if request.estimator not in (None, *SGC_ESTIMATORS):
        raise BadInputError(
            f"--estimator {request.estimator}: there is no such estimator here; take one of {', '.join(SGC_ESTIMATORS)}"
        )
    if request.estimator == "blender" and request.scene is None:
        raise BadInputError("--estimator blender takes the geometry from a scene; add --scene FILE.blend")


def check_job_timeline(job: Path, reference: Timeline) -> None:
    """Raise BadInputError where a render job was not made on the reference's timeline; its size may be scaled."""
    timeline = RenderJob.read(job).timeline
    if (timeline.rate, timeline.frames) != (reference.rate, reference.frames):
        raise BadInputError(
            f"{job}: rendered on another timeline ({timeline}) than the reference's ({reference});"
            " give the render that was made for this reference"
        )


def _existing_file(path: Path, option: str) -> None:
    if not path.exists():
        raise BadInputError(f"{option} {path}: there is no such file")
    if not path.is_file():
        raise BadInputError(f"{option} {path}: not a file; give a video file")


def _scene(scene: Path | None, needs_passes: bool) -> tuple[Path | None, Path | None]:
    """(the .blend, the finished job's folder), at most one of them."""
    if scene is None:
        return None, None
    if not scene.exists():
        raise BadInputError(f"--scene {scene}: there is no such file or folder")
    if scene.is_file():
        if scene.suffix.lower() != ".blend":
            raise BadInputError(f"--scene {scene}: not a .blend file; give a .blend or the folder of a finished render")
        return scene, None
    if not (scene / "status.json").is_file():
        raise BadInputError(
            f"--scene {scene}: no render job lies here; give a .blend or the folder of a finished render"
        )
    state = RenderStatus.read(scene).state
    if state != "done":
        raise BadInputError(
            f"--scene {scene}: this render is not finished (its state is {state}); render it to its end"
        )
    if needs_passes and not (scene / "geometry" / "geometry.json").is_file():
        raise BadInputError(f"--scene {scene}: this render has no passes; render it again with --passes")
    return None, scene


def _writable(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out, prefix=".partial-"):
            pass
    except OSError as error:
        raise BadInputError(f"--out {out}: cannot be written to ({error.strerror or error})") from error
