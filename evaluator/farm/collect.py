# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a farm's job, and the verified video of the frames that its workers made."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ..environment.blender import Blender, blend_sha256
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.files import write_json
from ..protocol.messages import Reporter
from ..protocol.png import is_finished
from ..protocol.render_job import PARTS, RenderJob, RenderStatus, frame_path
from ..render.batches import missing_batches
from ..render.job import RenderOutcome, render_scene
from .manager import ENDED, Manager
from .submit import FarmJob

STAGE: Final = "farm"
WAIT_SECONDS: Final = 5.0
PATIENCE: Final = 60.0
"""Seconds for which a Manager that does not answer is asked again."""


@dataclass(frozen=True)
class FarmStatus:
    """How far a job is: the Manager's word on it and on its tasks, and the pictures that lie in the folder."""

    farm: FarmJob
    status: str
    activity: str
    tasks: dict[str, int]
    """How many tasks there are of each status."""
    failed: list[str]
    """Names of the tasks that failed."""
    frames: int
    total: int

    @property
    def ended(self) -> bool:
        """Whether no task will be started any more."""
        return self.status in ENDED

    def lines(self) -> list[str]:
        """The same for people."""
        tasks = ", ".join(f"{count} {status}" for status, count in sorted(self.tasks.items())) or "none"
        lines = [
            f"{self.farm.name}: {self.status}" + (f" ({self.activity})" if self.activity else ""),
            f"tasks: {tasks}",
            f"frames: {self.frames} of {self.total} are there",
        ]
        if self.failed:
            lines.append(f"failed: {', '.join(self.failed[:8])}" + (" …" if len(self.failed) > 8 else ""))
        return lines

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {
            "manager": self.farm.manager, "job": self.farm.job, "name": self.farm.name, "status": self.status,
            "activity": self.activity, "tasks": self.tasks, "failed": self.failed, "frames": self.frames,
            "total": self.total,
        }  # fmt: skip


def farm_status(folder: Path, manager: Manager | None = None) -> FarmStatus:
    """Ask the Manager about the job of a folder. Raises BadInputError or OperationalError as Manager does."""
    farm, job = FarmJob.read(folder), RenderJob.read(folder)
    manager = manager or Manager(farm.manager)
    told, tasks = manager.job(farm.job), manager.tasks(farm.job)
    wanted = job.wanted()
    return FarmStatus(
        farm,
        told["status"],
        " ".join(str(told.get("activity") or "").split()),
        dict(Counter(task["status"] for task in tasks)),
        [task["name"] for task in tasks if task["status"] == "failed"],
        sum(frame_path(folder, frame).is_file() for frame in wanted) if job.pictures else 0,
        len(wanted),
    )


def wait_for_farm(folder: Path, reporter: Reporter, *, seconds: float = WAIT_SECONDS) -> FarmStatus:
    """Wait until the job has ended, telling its progress; a Manager that is away for a while is waited for.

    Raises OperationalError where the job failed or was cancelled; what was rendered is kept.
    """
    answered = time.monotonic()
    while True:
        try:
            found = farm_status(folder)
        except OperationalError:
            if time.monotonic() - answered > PATIENCE:
                raise
            time.sleep(seconds)
            continue
        answered = time.monotonic()
        reporter.progress(STAGE, found.frames, found.total, f"frame {found.frames} of {found.total}, {found.status}")
        if found.status == "completed":
            return found
        if found.ended:
            tasks = f" (failed: {', '.join(found.failed[:3])})" if found.failed else ""
            raise OperationalError(
                f"{found.farm.name}: the farm's job is {found.status}{tasks}, with {found.frames} of {found.total} "
                f"frames; see the tasks' logs at {found.farm.manager}, then: matchcut farm requeue {folder}"
            )
        time.sleep(seconds)


def collect(folder: Path, *, reporter: Reporter, blender: Blender | None = None) -> RenderOutcome:
    """Verify the workers' frames, and encode and verify the video, as `matchcut render` does once all are there.

    With `blender` what is missing is rendered here; without one it is refused. Raises BadInputError where the folder is
    no job's or its scene was changed, OperationalError where frames are missing.
    """
    folder = folder.resolve()
    job, copy = RenderJob.read(folder), folder / "scene.blend"
    if blend_sha256(copy) != job.scene_sha256:
        raise BadInputError(f"{copy}: is not what was submitted; nothing was changed, submit the scene again")
    missing = missing_batches(job, folder, 1)
    if missing and blender is None:
        raise OperationalError(
            f"{folder}: {_what_is_missing(job, folder, missing[0].first)}; wait for the farm, or render what is "
            "missing here with --render-missing"
        )
    if not missing:
        _tell_status(folder, job, reporter)
    if job.scene != str(copy):  # the storage lies elsewhere here
        job = replace(job, scene=str(copy))
        write_json(folder / "job.json", job.to_json())
    return render_scene(
        copy, folder, job.timeline, blender=blender or Blender("blender", "program", ""), reporter=reporter,
        first=job.first, last=job.last, step=job.step, scale=job.scale, samples=job.samples, engine=job.engine,
        device=job.device, view_transform=job.view_transform, addons=job.addons, pictures=job.pictures,
        passes=job.passes, content=job.content,
    )  # fmt: skip


def _what_is_missing(job: RenderJob, folder: Path, first: int) -> str:
    frames = [frame for frame in job.wanted() if not is_finished(frame_path(folder, frame), job.size)]
    if not (job.pictures and frames):
        return f"passes are missing or damaged from frame {first} on"
    return f"{len(frames)} of {len(job.wanted())} frames are missing or damaged, frame {frames[0]} the first"


def _tell_status(folder: Path, job: RenderJob, reporter: Reporter) -> None:
    """Write the job's status as the workers told it, so that no Blender has to be started to say it again."""
    status = merge_parts(folder, job)
    if status is None:
        try:
            if RenderStatus.read(folder).state == "done":  # it was collected before
                return
        except BadInputError:
            pass
        status = RenderStatus("done", engine="unknown", notes=["what the workers told of their settings is gone"])
    for note in status.notes:
        reporter.warning(note)
    status.write(folder)


def merge_parts(folder: Path, job: RenderJob) -> RenderStatus | None:
    """One status of what all workers' statuses say, with a note where they did not render alike; None without any."""
    parts = []
    for path in sorted((folder / PARTS).glob("*.json")):
        try:
            parts.append(RenderStatus.read(folder, f"{PARTS}/{path.name}"))
        except BadInputError:  # a worker was killed while it wrote
            continue
    parts = [part for part in parts if part.engine]
    if not parts:
        return None
    notes = {note: None for part in parts for note in part.notes}
    for name in ("blender", "engine", "device", "samples", "denoiser", "view_transform", "display_device"):
        values = sorted({str(getattr(part, name)) for part in parts})
        if len(values) > 1:
            notes[f"the workers rendered with different settings: {name} was {' and '.join(values)}"] = None
    rendered = sum(part.rendered for part in parts)
    seconds = sum(part.rendered * (part.seconds_per_frame or 0.0) for part in parts)
    memory = [part.peak_memory_bytes for part in parts if part.peak_memory_bytes is not None]
    total = len(job.wanted()) * (job.pictures + job.passes)
    return replace(
        parts[0], state="done", done=total, total=total, rendered=rendered, frame=job.last, seconds_left=0.0, failed=[],
        seconds_per_frame=round(seconds / rendered, 4) if rendered else None, error="",
        peak_memory_bytes=max(memory) if memory else None, notes=list(notes),
    )  # fmt: skip
