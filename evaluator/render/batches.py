# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders what is missing of a job in batches, each in a fresh process, several at a time, and outlives their crashes.

A frame at which Blender crashes or stands still is tried once more in a fresh process; then it is named, and the rest
goes on.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..environment.blender import Blender
from ..protocol.errors import BadInputError, ExitStatus, OperationalError
from ..protocol.geometry import chunk_path, chunks_of, is_complete
from ..protocol.messages import Reporter
from ..protocol.png import is_finished
from ..protocol.render_job import DISK_FULL, RenderJob, RenderStatus, frame_path
from .child import Batch, Child, is_full

STAGE: Final = "render"
BATCH_FRAMES: Final = 120
"""So many frames at most share a process: what Blender does not give back stays bounded."""
POLL_SECONDS: Final = 0.05
TRIES: Final = 2
EXIT_SECONDS: Final = 10.0
"""A child that has told its end has so long to be gone: some drivers stand still as Blender quits."""
HOPELESS: Final = 5
"""After so many failed frames and not one good one nothing more is tried."""
_SETTINGS: Final = (
    "blender", "engine", "device", "samples", "denoiser", "view_transform", "display_device",
)  # fmt: skip


def missing_batches(job: RenderJob, folder: Path, workers: int) -> list[Batch]:
    """What is missing or damaged, in batches of whole chunks that `workers` processes can share."""
    chunks = [Batch(first, last) for first, last in chunks_of(job) if not _is_there(job, folder, first, last)]
    limit = min(BATCH_FRAMES, -(-sum(_count(job, chunk) for chunk in chunks) // workers))
    batches: list[Batch] = []
    for chunk in chunks:
        if batches and batches[-1].last + 1 == chunk.first and _count(job, batches[-1]) < limit:
            batches[-1] = Batch(batches[-1].first, chunk.last)
        else:
            batches.append(chunk)
    return batches


def _count(job: RenderJob, batch: Batch) -> int:
    return len(job.wanted(batch.first, batch.last))


def _is_there(job: RenderJob, folder: Path, first: int, last: int) -> bool:
    pictures = not job.pictures or all(
        is_finished(frame_path(folder, frame), job.size) for frame in job.wanted(first, last)
    )
    return pictures and (not job.passes or is_complete(chunk_path(folder, first), first, last, job.size))


@dataclass
class Run:
    """One run of a job: what waits, what runs, what failed, and the status that is told of all of it."""

    job: RenderJob
    folder: Path
    blender: Blender
    reporter: Reporter
    workers: int
    frame_limit: float | None
    status: RenderStatus = field(default_factory=RenderStatus)
    waiting: deque[Batch] = field(default_factory=deque)
    running: list[Child] = field(default_factory=list)
    ended: list[RenderStatus] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    crashes: Counter[int | None] = field(default_factory=Counter)
    opened: bool = False
    written: bool = False
    there: int = 0
    told: set[str] = field(default_factory=set)

    def render(self, batches: list[Batch]) -> RenderStatus:
        """Render the batches. Nothing is left running however this ends.

        Raises BadInputError where a child refuses the job, OperationalError where no frame can be rendered.
        """
        kinds = self.job.pictures + self.job.passes
        self.status.total = len(self.job.wanted()) * kinds
        self.status.workers = self.workers
        self.there = self.status.total - sum(_count(self.job, batch) for batch in batches) * kinds
        self.waiting.extend(batches)
        try:
            while self.waiting or self.running:
                # the first child makes the job's copy of the scene, which the others open
                while self.waiting and len(self.running) < (self.workers if self.opened else 1):
                    batch = self.waiting.popleft()
                    self.running.append(Child(self.folder, batch, self.failed, self.blender))
                for child in list(self.running):
                    self._look_after(child)
                self._tell()
                time.sleep(POLL_SECONDS)
        finally:
            for child in self.running:
                child.end()
        self._tell()
        return self.status

    def _look_after(self, child: Child) -> None:
        returncode = child.look()
        self.opened = self.opened or child.status.state in ("rendering", "done")
        # told before the first frame is there: the child writes its notes before it renders
        for note in child.status.notes:
            self._warn(note)
        ending = child.status.state in ("done", "failed")
        limit = EXIT_SECONDS if ending else self.frame_limit
        overdue = limit is not None and child.seconds_still > limit
        if returncode is None and not overdue:
            return
        self.running.remove(child)
        try:
            self._warn_of_handlers(child)
            if child.status.state == "done":
                self.ended.append(child.status)
                return
            reason = child.status.error if child.status.state == "failed" else ""
            if returncode is None and not ending:
                reason = f"it took more than {self.frame_limit:g} s; --frame-limit allows more"
            self._failed(child, reason or child.how_it_ended(returncode or 0), returncode)
        finally:
            child.end()

    def _failed(self, child: Child, reason: str, returncode: int | None) -> None:
        """Try the child's batch again, without the frame that ended it twice; raise where that is of no use."""
        said, frame = child.status.state == "failed", child.status.frame
        if said and returncode == ExitStatus.BAD_INPUT:
            raise BadInputError(reason)
        if is_full(self.folder):
            raise OperationalError(f"{self.folder}: {DISK_FULL}")
        if said and frame is None:
            raise OperationalError(reason)
        if child.status.state == "graphics":
            raise BadInputError(
                f"Blender cannot start OpenGL, Vulkan or Metal here, which {child.status.engine} needs ({reason}); "
                "choose --engine cycles, or give this machine a graphics driver, as Mesa's"
            )
        if child.status.state in ("starting", "simulating"):
            frame = None
        self.ended.append(child.status)
        self.crashes[frame] += 1
        if self.crashes[frame] == TRIES:
            log = self.folder / "render.log"
            if frame is None:
                raise OperationalError(f"{self.job.scene}: Blender ended before its first frame ({reason}); see {log}")
            self.failed[frame] = reason
            self._warn(f"frame {frame} could not be rendered ({reason}); see {log}")
            if len(self.failed) >= HOPELESS and not any(status.rendered for status in self.ended):
                raise OperationalError(f"{self.job.scene}: Blender renders no frame ({reason}); see {log}")
        self.waiting.appendleft(child.batch)

    def _warn(self, text: str) -> None:
        if text not in self.told:
            self.told.add(text)
            self.status.notes.append(text)
            self.reporter.warning(text)

    def _warn_of_handlers(self, child: Child) -> None:
        if any("Error in bpy.app.handlers" in line for line in child.printed()):
            self._warn(f"an add-on's handler failed while Blender rendered on; see {self.folder / 'render.log'}")

    def _tell(self) -> None:
        """Bring the job's status up to date, and tell the progress where it moved."""
        status, parts = self.status, [*self.ended, *(child.status for child in self.running)]
        before = (status.done, status.frame, status.state, len(status.failed))
        # a batch that is tried again counts from its start: the progress waits meanwhile
        counted = [part.done for part in self.ended if part.state == "done"] + [c.status.done for c in self.running]
        status.done = max(status.done, min(self.there + sum(counted), status.total))
        for part in parts:
            for name in _SETTINGS:
                if getattr(part, name) not in ("", None):
                    setattr(status, name, getattr(part, name))
        rendered = [(part.rendered, part.seconds_per_frame) for part in parts if part.seconds_per_frame is not None]
        status.rendered = sum(part.rendered for part in parts)
        if status.rendered:
            status.seconds_per_frame = round(sum(n * mean for n, mean in rendered) / status.rendered, 4)
            active = max(1, min(self.workers, len(self.running) + len(self.waiting)))
            left = (status.total - status.done - len(self.failed)) * status.seconds_per_frame / active
            status.seconds_left = round(left, 1)
        memory = [part.peak_memory_bytes for part in parts if part.peak_memory_bytes is not None]
        status.peak_memory_bytes = max(memory) if memory else None
        status.failed = [{"frame": frame, "reason": reason} for frame, reason in sorted(self.failed.items())]
        if self.running:
            status.state = "rendering" if self.opened else self.running[0].status.state
            status.frame = self.running[0].status.frame
        if (status.done, status.frame, status.state, len(status.failed)) != before or not self.written:
            self.reporter.progress(STAGE, status.done, status.total, self._text())
            self.status.write(self.folder)
            self.written = True

    def _text(self) -> str:
        """How far it is, as a line for people: frame n of N, the time for one, and the time that is left."""
        status = self.status
        if status.state == "simulating":
            return "playing simulations" if status.frame is None else f"playing simulations, frame {status.frame}"
        if status.state in ("starting", "graphics"):
            return "opening the scene"
        what = "pictures and passes" if self.job.pictures and self.job.passes else "frame"
        text = f"{what} {status.done} of {status.total}"
        if status.seconds_per_frame is not None:
            text += f", {status.seconds_per_frame:.2f} s/frame"
        if status.seconds_left is not None:
            minutes, seconds = divmod(round(status.seconds_left), 60)
            text += f", {minutes}:{seconds:02d} left"
        return f"{text}, {len(status.failed)} failed" if status.failed else text
