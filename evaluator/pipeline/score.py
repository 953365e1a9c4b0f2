# SPDX-License-Identifier: GPL-3.0-or-later
"""One reference and one reconstruction through every stage, into one results.json and one report.

OUT/results.json                            the Results; the same input gives the same bytes
OUT/report.html                             the page, which shows the two videos beside it
OUT/reference.mp4 OUT/reconstruction.mp4    copies, or previews where a browser would not play the file itself
OUT/judgments/ OUT/operational/             what the judge answered, and what it could not be asked
OUT/render/                                 the render job, where a scene was given and no earlier render is taken
OUT/plan.json                               what this run is to do
OUT/sgc/                                    SGC's curves, and pictures of its worst pairs
OUT/estimates/                              geometry estimated from the pictures, where no scene was given
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from ..audit.audit import audit
from ..audit.records import AuditReport
from ..checklist.load import load_clips
from ..checklist.records import Clip
from ..environment.blender import Blender
from ..environment.sealed import sealed
from ..judge.prices import Budget, find_price
from ..judge.records import Judgment, OperationalFailure
from ..judge.run import judge_clips
from ..media.check import check_timeline
from ..media.probe import probe
from ..media.records import VideoInfo
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.lock import sole_user
from ..protocol.messages import Reporter
from ..protocol.render_job import RenderStatus
from ..protocol.timeline import Timeline
from ..render.content import FoundRender
from ..render.job import render_scene
from ..report.html import write_report
from ..report.pictures import read_pictures
from ..results import Results, Unscored
from ..scoring.aggregate import score_checklist
from ..scoring.records import ChecklistScore
from ..sgc.robust.records import RobustResult
from ..shots.compare import compare_shots, on_reference
from ..shots.detect import detect_shots
from ..shots.records import Shots
from .consistency import SGC_FOLDER, SGC_OFF, heat_maps, measure_reference, measure_sgc
from .plan import PLAN_FILE, ScorePlan, find_reused, make_plan
from .playback import place_video
from .provenance import provenance
from .request import OUTPUTS, Plan, ScoreRequest, check_job_timeline, check_request

__all__ = ["NO_CHECKLIST", "NO_JUDGE", "SGC_OFF", "ScoreRequest", "plan_score", "score"]

NO_CHECKLIST: Final = "no checklist given"
NO_JUDGE: Final = "not judged: no judge given"


def plan_score(request: ScoreRequest, *, reporter: Reporter, blender: Callable[[], Blender]) -> ScorePlan:
    """What `score` would do with the request, without doing it: no picture is rendered, nothing is sent.

    Raises BadInputError as `score` does.
    """
    plan = check_request(request, reporter=reporter, blender=blender)
    reporter.status(f"reading {request.reference.name}")
    reference = probe(request.reference)
    if plan.job is not None:
        check_job_timeline(plan.job, reference.timeline)
    clips = load_clips(request.checklist, reference.timeline) if request.checklist is not None else None
    _, reused = find_reused(plan, reference.timeline, reporter)
    return make_plan(plan, reference, clips, reused)


def score(request: ScoreRequest, *, reporter: Reporter, blender: Callable[[], Blender]) -> Results:
    """Check the request, run every stage, and write results.json and report.html into `request.out` last of all.

    `blender` finds the Blender and is called only where a scene has to be rendered. The two files of an earlier run
    are removed before the work begins, so that a run that ends early leaves nothing that looks finished. Raises
    BadInputError or OperationalError.
    """
    plan = check_request(request, reporter=reporter, blender=blender)
    with sole_user(request.out):
        _remove_outputs(request.out)
        try:
            return _score(plan, reporter)
        except BadInputError:  # there is nothing to go on with
            (request.out / PLAN_FILE).unlink(missing_ok=True)
            raise


def _score(plan: Plan, reporter: Reporter) -> Results:
    request, out = plan.request, plan.request.out
    reporter.status(f"reading {request.reference.name}")
    # in this order, so that one pass over each video serves both
    reference_shots = _shots(plan, request.reference, "reference", reporter)
    reference = probe(request.reference)
    if plan.job is not None:
        check_job_timeline(plan.job, reference.timeline)
    clips = load_clips(request.checklist, reference.timeline) if request.checklist is not None else None
    content, reused = find_reused(plan, reference.timeline, reporter)
    todo = make_plan(plan, reference, clips, reused)
    reporter.result(str(todo.write(out)), todo.to_json())
    reconstruction_path, job, status = _render(plan, reference.timeline, content, reused, reporter)
    reporter.status(f"reading {reconstruction_path.name}")
    reconstruction_shots = _shots(plan, reconstruction_path, "reconstruction", reporter)
    reconstruction = probe(reconstruction_path)

    timeline = check_timeline(reference, reconstruction, reporter=reporter)
    # on the reference's timeline, as a job's frames are; a video given beside it need not lie on it
    rebuilt_shots = on_reference(reconstruction_shots, reconstruction.timeline, reference.timeline)
    sgc, sgc_frames = measure_sgc(
        request, job, reconstruction, reconstruction_shots, rebuilt_shots, reference.timeline, reporter
    )
    reference_sgc = measure_reference(request, sgc, reference, reference_shots, reporter)
    checklist, judgments, failures = _judge(plan, clips, reference, reconstruction, reporter)

    inputs = [request.reference, reconstruction_path]
    shown = place_video(reference, "reference", out, inputs=inputs, reporter=reporter)
    rebuilt = place_video(reconstruction, "reconstruction", out, inputs=inputs, reporter=reporter)
    results = Results(
        reference=_named(reference),
        reconstruction=_named(reconstruction),
        setting=request.setting,
        timeline=timeline,
        shots=compare_shots(reference_shots, rebuilt_shots),
        sgc=sgc,
        sgc_frames=sgc_frames,
        reference_sgc=reference_sgc,
        audit=_audit(plan, reporter),
        checklist=checklist,
        clips=clips or [],
        judgments=[_masked(judgment, request) for judgment in judgments],
        operational_failures=[_masked(failure, request) for failure in failures],
        provenance=provenance(status),
    )
    drawn = heat_maps(out / SGC_FOLDER) if isinstance(sgc, RobustResult) else []
    pictures = read_pictures(results, request.reference, reconstruction_path, heat_maps=drawn, reporter=reporter)
    try:
        results.write(out / "results.json")
        write_report(
            results,
            out,
            reference_video=shown.name,
            reconstruction_video=rebuilt.name,
            previews=[
                info.path
                for info, placed in ((results.reference, shown), (results.reconstruction, rebuilt))
                if placed.preview
            ],
            pictures=pictures,
        )
    except BaseException:  # one of the two without the other would look finished
        _remove_outputs(out)
        raise
    return results


def _shots(plan: Plan, path: Path, role: str, reporter: Reporter) -> Shots:
    return detect_shots(path, detector=plan.request.detector, reporter=reporter, stage=f"cuts, {role}")


def _remove_outputs(out: Path) -> None:
    for name in OUTPUTS:
        (out / name).unlink(missing_ok=True)


def _render(
    plan: Plan, timeline: Timeline, content: str, reused: FoundRender | None, reporter: Reporter
) -> tuple[Path, Path | None, RenderStatus | None]:
    """(reconstruction, folder of the job with passes, its status); renders what a .blend is given for.

    `content` is what the scene holds, where that is known, and `reused` the finished render of the same.
    """
    request = plan.request
    if reused is not None:
        reporter.status(f"taking {reused.name}, a render of the same scene")
        status = RenderStatus.read(reused.folder)
        if reused.has_passes or not request.needs_passes:
            return reused.video, reused.folder if request.needs_passes else None, status
        plan = replace(plan, reconstruction=reused.video)
        _, job, _ = _render(plan, timeline, content, None, reporter)
        return reused.video, job, status
    if plan.blend is None or plan.blender is None:
        assert plan.reconstruction is not None
        return plan.reconstruction, plan.job, RenderStatus.read(plan.job) if plan.job is not None else None
    pictures = plan.reconstruction is None
    what = "the scene" if pictures else "the scene's depth and motion for SGC"
    reporter.status(f"rendering {what} with Blender {plan.blender.version}")
    outcome = render_scene(
        plan.blend,
        request.out / "render",
        timeline,
        blender=plan.blender,
        reporter=reporter,
        samples=request.samples,
        engine=request.engine,
        device=request.device,
        view_transform=request.view_transform,
        workers=request.workers,
        content=content,
        pictures=pictures,
        passes=request.needs_passes,
    )
    reconstruction = plan.reconstruction or outcome.video
    assert reconstruction is not None
    return reconstruction, outcome.folder if request.needs_passes else None, outcome.status


def _audit(plan: Plan, reporter: Reporter) -> AuditReport | Unscored | None:
    """What the scene holds that it may not; None where a video alone is scored."""
    if plan.blend is None or plan.blender is None:
        return None
    try:
        return audit(plan.blend, plan.request.reference, blender=sealed(plan.blender), reporter=reporter)
    except (BadInputError, OperationalError) as error:  # the scene was rendered: its scores stand without
        return Unscored(reason=str(error).replace(str(plan.blend), plan.blend.name))


def _judge(
    plan: Plan, clips: list[Clip] | None, reference: VideoInfo, reconstruction: VideoInfo, reporter: Reporter
) -> tuple[ChecklistScore | Unscored, list[Judgment], list[OperationalFailure]]:
    setting = plan.request.setting
    if clips is None:
        return Unscored(reason=NO_CHECKLIST), [], []
    if plan.provider is None:
        return score_checklist(clips, [], [], setting, not_judged_reason=NO_JUDGE), [], []
    judgments, failures = judge_clips(
        clips, setting, reference, reconstruction, plan.provider,
        store=plan.request.judged_folder, reporter=reporter, budget=_budget(plan),
    )  # fmt: skip
    return score_checklist(clips, judgments, failures, setting), judgments, failures


def _budget(plan: Plan) -> Budget | None:
    usd, provider = plan.request.budget_usd, plan.provider
    if usd is None or provider is None:
        return None
    model = f"{provider.name}:{provider.model}"
    return Budget(usd, price=find_price(provider.name, provider.model), model=model)


def _named(info: VideoInfo) -> VideoInfo:
    """The record with the file's name alone: its content is told by its hash, and where it lay is nobody's business."""
    return info.model_copy(update={"path": Path(info.path).name})


Told = TypeVar("Told", Judgment, OperationalFailure)


def _masked(record: Told, request: ScoreRequest) -> Told:
    """The record with the files of the request named without their folders in what its texts tell."""

    def hide(text: str) -> str:
        for path in (request.reference, request.reconstruction, request.out):
            if path is not None and path.name:
                text = text.replace(str(path.absolute()), path.name).replace(str(path), path.name)
        return text

    attempts = [attempt.model_copy(update={"detail": hide(attempt.detail)}) for attempt in record.attempts]
    if isinstance(record, OperationalFailure):
        return record.model_copy(update={"detail": hide(record.detail), "attempts": attempts})
    return record.model_copy(update={"attempts": attempts})
