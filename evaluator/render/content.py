# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene holds, whatever the bytes of its .blend are, and the finished render of the same that lies elsewhere."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..environment.blender import Blender, run_headless
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.files import read_json
from ..protocol.messages import Reporter
from ..protocol.render_job import RenderJob, RenderStatus
from .job import VIDEO

CONTENT_FORMAT: Final = "matchcut-scene-content/1"
SECONDS: Final = 900.0
MOST_RENDERS: Final = 200
"""Of a folder so many of the newest are looked at."""


def scene_content(scene: Path, *, blender: Blender, reporter: Reporter) -> str:
    """The hash of what a .blend and the files that it names hold, by a child Blender (addon/content.py).

    Empty where that cannot be told: a scene that reads files which no datablock names, or one that does not open.
    """
    reporter.status("looking at what the scene holds")
    with tempfile.TemporaryDirectory(prefix="matchcut-content-") as folder:
        out = Path(folder) / "content.json"
        try:
            run_headless(blender, "scene-content", str(scene.resolve()), str(out), seconds=SECONDS, where=scene.name)
            return str(read_json(out, CONTENT_FORMAT)["content"])
        except (BadInputError, OperationalError, KeyError):  # then it is rendered, and that says what is wrong
            return ""


@dataclass(frozen=True)
class FoundRender:
    """A finished render of the very pictures that are wanted; `has_passes` says that its geometry is there as well."""

    folder: Path
    has_passes: bool

    @property
    def video(self) -> Path:
        """Every frame of the reference's timeline."""
        return self.folder / VIDEO

    @property
    def name(self) -> str:
        """As a person finds it: render-003, or score-002."""
        return self.folder.parent.name if self.folder.name == "render" else self.folder.name


def find_render(job: RenderJob, renders: Path) -> FoundRender | None:
    """The newest finished render below `renders` with the pictures of `job`; one with passes goes before the others.

    Folders are looked at one and two levels down. None for a job whose content is not known.
    """
    if not (job.content and job.whole and job.pictures):
        return None
    found = list(_finished(job, renders))
    return next((one for one in found if one.has_passes), found[0] if found else None)


def _finished(job: RenderJob, renders: Path) -> Iterator[FoundRender]:
    jobs = [*renders.glob("*/job.json"), *renders.glob("*/render/job.json")]
    for path in sorted(jobs, key=lambda one: one.stat().st_mtime_ns, reverse=True)[:MOST_RENDERS]:
        folder = path.parent
        try:
            known, state = RenderJob.read(folder), RenderStatus.read(folder).state
        except BadInputError:
            continue
        if state == "done" and job.content == known.content and job.same_pixels(known) and (folder / VIDEO).is_file():
            geometry = known.passes and (folder / "geometry" / "geometry.json").is_file()
            yield FoundRender(folder, geometry)
