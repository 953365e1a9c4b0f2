# SPDX-License-Identifier: GPL-3.0-or-later
"""What a score is going to do, stage by stage, before it does it: what is there already, what is sent to whom.

OUT/plan.json               the plan of the run that OUT is of
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ..checklist.records import Clip
from ..judge.forecast import forecast
from ..judge.providers import RemoteProvider
from ..media.probe import probe
from ..media.records import VideoInfo
from ..protocol.files import write_json
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline
from ..render.content import FoundRender, find_render, scene_content
from .request import Plan

PLAN_FORMAT: Final = "matchcut-score-plan/1"
PLAN_FILE: Final = "plan.json"
State = Literal["todo", "reused", "skipped"]
Name = Literal["render", "check", "sgc", "judge", "report"]


@dataclass(frozen=True)
class Stage:
    """One stage: `text` says what is done in it, or why not; under the names of `progress` it tells how far it is."""

    name: Name
    state: State
    text: str
    progress: tuple[str, ...]


@dataclass(frozen=True)
class Asking:
    """What is sent to a judge at what cost at most, in dollars where a price is known.

    `remote` says that the judge is behind an address; `answered` clips have their judgment already.
    """

    provider: str
    model: str
    remote: bool
    requests: int
    images: int
    answered: int
    tokens: int
    usd: float | None
    budget_usd: float | None


@dataclass(frozen=True)
class ScorePlan:
    """The stages in their order; `judge` is None where nobody is asked."""

    frames: int
    stages: tuple[Stage, ...]
    judge: Asking | None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values with the format's name first."""
        return {"format": PLAN_FORMAT, **asdict(self)}

    def write(self, out: Path) -> Path:
        """Write OUT/plan.json."""
        write_json(out / PLAN_FILE, self.to_json())
        return out / PLAN_FILE


def find_reused(plan: Plan, timeline: Timeline, reporter: Reporter) -> tuple[str, FoundRender | None]:
    """(what the scene holds, the finished render of the same that is taken instead of rendering).

    Empty and None where nobody asked to look for one, or where the scene is rendered for its passes alone.
    """
    request = plan.request
    if request.renders is None or plan.blend is None or plan.blender is None or plan.reconstruction is not None:
        return "", None
    content = scene_content(plan.blend, blender=plan.blender, reporter=reporter)
    found = find_render(request.job(plan.blend, timeline, content), request.renders)
    return content, found


def make_plan(plan: Plan, reference: VideoInfo, clips: list[Clip] | None, reused: FoundRender | None) -> ScorePlan:
    """Say what `score` does with a request that was checked."""
    asking = _asking(plan, reference, clips, reused)
    stages = (
        _render(plan, reference.timeline, reused),
        Stage("check", "todo", "timeline and cuts", ("cuts, reconstruction",)),
        _sgc(plan),
        _judge(plan, clips, asking),
        Stage("report", "todo", "page, and audit of the scene" if plan.blend else "page", ("encode", "reference")),
    )
    return ScorePlan(reference.timeline.frames, stages, asking)


def _render(plan: Plan, timeline: Timeline, reused: FoundRender | None) -> Stage:
    names, frames = ("render", "encode"), f"{timeline.frames} frames"
    if reused is not None:
        if plan.request.needs_passes and not reused.has_passes:
            return Stage("render", "todo", f"pictures of {reused.name}; depth and motion of {frames}", names)
        return Stage("render", "reused", f"{reused.name}, of the same scene", names)
    if plan.blend is None:
        return Stage("render", "reused", "the video that is there", names)
    if plan.reconstruction is not None:
        return Stage("render", "todo", f"depth and motion of {frames}", names)
    return Stage("render", "todo", frames, names)


def _sgc(plan: Plan) -> Stage:
    base = ("geometry", "sgc", "sgc, gauge", "sgc, pictures")
    names = (*base, *(f"{name}, reference" for name in base))
    if plan.request.sgc_mode == "off":
        return Stage("sgc", "skipped", "turned off", names)
    how = "from the scene's passes" if plan.request.needs_passes and plan.request.scene else "from the pictures"
    return Stage("sgc", "todo", how, names)


def _judge(plan: Plan, clips: list[Clip] | None, asking: Asking | None) -> Stage:
    if clips is None:
        return Stage("judge", "skipped", "no checklist", ("judge",))
    if asking is None:
        return Stage("judge", "skipped", "no judge", ("judge",))
    if not asking.requests:
        return Stage("judge", "reused", f"{asking.answered} clips, judged before", ("judge",))
    before = f", {asking.answered} judged before" if asking.answered else ""
    return Stage("judge", "todo", f"{asking.requests} requests with {asking.images} images{before}", ("judge",))


def _asking(plan: Plan, reference: VideoInfo, clips: list[Clip] | None, reused: FoundRender | None) -> Asking | None:
    provider = plan.provider
    if clips is None or provider is None:
        return None
    # of a video that is still to be rendered nothing can have been judged
    made = reused.video if reused is not None else plan.reconstruction
    videos = (reference, probe(made)) if made is not None else None
    told = forecast(
        clips, plan.request.setting, reference.timeline.rate, provider, store=plan.request.judged_folder, videos=videos
    )
    return Asking(
        provider=provider.name,
        model=provider.model,
        remote=isinstance(provider, RemoteProvider),
        requests=told.requests,
        images=told.images,
        answered=told.answered,
        tokens=told.tokens.total,
        usd=told.usd,
        budget_usd=plan.request.budget_usd,
    )
