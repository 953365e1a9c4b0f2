# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepares a render job's folder on the shared storage and submits it to a Flamenco Manager.

FOLDER is an ordinary render job (protocol/render_job.py) whose scene is its own copy, so that the artist may go on
working, with one file more:

    FOLDER/farm.json        FarmJob: which job of which Manager renders it; there once it was submitted
"""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from ..environment.blender import Blender, blend_sha256
from ..protocol.errors import BadInputError, ExitStatus, OperationalError
from ..protocol.files import read_json, write_json, write_text
from ..protocol.lock import sole_user
from ..protocol.messages import Reporter
from ..protocol.render_job import PARTS, RenderJob
from ..protocol.version import VERSION
from ..render.child import Batch, Child, forget_parts
from .manager import JOB_TYPE, Manager, platform_name

FARM_FORMAT: Final = "matchcut-farm-job/1"
FARM_FILE: Final = "farm.json"
SCRIPT: Final = "matchcut_render.js"
PACKAGE: Final = "{matchcut}"
"""The variable that names the folder of Matchcut's files on each worker."""
BLENDER: Final = "blender"
BATCH_FRAMES: Final = 12
MOST_BATCH: Final = 1000
PRIORITY: Final = 50
POLL_SECONDS: Final = 0.1
_LEFT_BEHIND: Final = frozenset({"job.json", "scene.blend", "simulated.blend", "render.log", ".lock", PARTS})
"""What an earlier try may have left; anything else in a folder is somebody's."""


@dataclass(frozen=True)
class FarmJob:
    """`farm.json`: the Manager's address, and the id and the name of the job there."""

    manager: str
    job: str
    name: str

    def write(self, folder: Path) -> None:
        """Write it into the job's folder."""
        write_json(folder / FARM_FILE, {"format": FARM_FORMAT, **asdict(self)})

    @classmethod
    def read(cls, folder: Path) -> FarmJob:
        """Read it. Raises BadInputError where the folder was not submitted to a farm."""
        path = folder / FARM_FILE
        if not path.exists():
            raise BadInputError(f"{folder}: was not submitted to a farm; give the folder that farm submit --out made")
        data = read_json(path, FARM_FORMAT)
        values = {field.name: data.get(field.name) for field in fields(cls)}
        if set(data) != {"format", *values} or not all(isinstance(value, str) and value for value in values.values()):
            raise BadInputError(f"{path}: is damaged; find the job in the Manager's own page")
        return cls(**{name: str(value) for name, value in values.items()})


def write_job_type(folder: Path) -> Path:
    """Write Flamenco's job type as `folder / matchcut_render.js`; returns where it lies."""
    path = folder / SCRIPT
    write_text(path, Path(__file__).with_name(SCRIPT).read_text(encoding="utf-8"))
    return path


def submitted_job(
    job: RenderJob, folder: Path, name: str, *, batch: int, priority: int, collect: bool, package: str, tag: str | None,
    etag: str,
) -> dict[str, Any]:  # fmt: skip
    """The SubmittedJob of Flamenco's API for a render job in `folder`, an absolute path."""
    submitted: dict[str, Any] = {
        "name": name,
        "type": JOB_TYPE,
        "type_etag": etag,
        "priority": priority,
        "submitter_platform": platform_name(),
        "settings": {
            "folder": folder.as_posix(), "first": job.first, "last": job.last, "step": job.step, "batch": batch,
            "collect": collect, "package": package,
        },
        "metadata": {"project": "matchcut", "matchcut.version": VERSION, "matchcut.folder": folder.as_posix()},
    }  # fmt: skip
    if tag is not None:
        submitted["worker_tag"] = tag
    return submitted


def submit(
    job: RenderJob,
    folder: Path,
    manager: Manager,
    *,
    blender: Blender,
    reporter: Reporter,
    name: str = "",
    batch: int = BATCH_FRAMES,
    priority: int = PRIORITY,
    collect: bool = False,
    package: str = PACKAGE,
    tag: str | None = None,
) -> FarmJob:
    """Make `job` a prepared job folder and have the farm render it; `job.scene` is the artist's file.

    The Manager is asked first whether it would take the job; then Blender opens the scene here once and saves the copy
    that all workers open, with its simulations played. A try that fails leaves a folder that can be used again. Raises
    BadInputError where the scene, the folder or the Manager's set-up cannot be used, OperationalError where the Manager
    or Blender fails.
    """
    folder = folder.resolve()
    _check_request(folder, batch, priority)
    reporter.status(f"Flamenco Manager {manager.version()} at {manager.url}")
    etag = _check_manager(manager, package, reporter)
    submitted = submitted_job(
        job, folder, name or Path(job.scene).stem, batch=batch, priority=priority, collect=collect, package=package,
        tag=tag, etag=etag,
    )  # fmt: skip
    manager.check(submitted)
    with sole_user(folder):
        _prepare(job, folder, blender, reporter)
        farm = FarmJob(manager.url, manager.submit(submitted), submitted["name"])
        farm.write(folder)
    return farm


def _check_request(folder: Path, batch: int, priority: int) -> None:
    if not 1 <= batch <= MOST_BATCH:
        raise BadInputError(f"--batch {batch}: a task takes 1 to {MOST_BATCH} frames")
    if not 0 <= priority <= 100:
        raise BadInputError(f"--priority {priority}: has to lie between 0 and 100")
    if (folder / FARM_FILE).exists():
        raise BadInputError(
            f"{folder}: was submitted already; look at it with matchcut farm status {folder}, or choose another folder"
        )
    if folder.exists() and not folder.is_dir():
        raise BadInputError(f"{folder}: is no folder; choose another one")
    others = sorted(path.name for path in folder.iterdir() if path.name not in _LEFT_BEHIND) if folder.exists() else []
    if others:
        raise BadInputError(f"{folder}: is not empty (it holds {others[0]}); choose a new folder on the shared storage")


def _check_manager(manager: Manager, package: str, reporter: Reporter) -> str:
    """The job type's etag. Raises BadInputError where its script or a variable is missing there."""
    etag, keys = manager.job_type()
    wanted = {"folder", "first", "last", "step", "batch", "collect", "package"}
    if not wanted <= keys:
        raise BadInputError(
            f"{manager.url}: its job type {JOB_TYPE} is of another version (it has no {min(wanted - keys)}); "
            "replace it with matchcut farm job-type"
        )
    known = manager.variables(platform_name())
    for variable in (BLENDER, package.strip("{}")):
        if package.startswith("{") and variable not in known:
            # workers of other systems may know it, so this is no reason to stop
            reporter.warning(
                f"{manager.url}: has no variable {variable} for workers on {platform_name()}; "
                "add it to flamenco-manager.yaml (docs/farm.md)"
            )
    return etag


def _prepare(job: RenderJob, folder: Path, blender: Blender, reporter: Reporter) -> None:
    """Have Blender save the copy that the workers open, and leave a job that renders this copy."""
    for left in _LEFT_BEHIND - {".lock"}:
        path = folder / left
        if path.is_dir():
            shutil.rmtree(path)
        elif path != Path(job.scene):
            path.unlink(missing_ok=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # whether there is the device that is asked for is a question for the workers
        write_json(folder / "job.json", replace(job, device="auto").to_json())
    except OSError as error:
        raise BadInputError(
            f"{folder}: cannot be written ({error.strerror or error}); choose another folder"
        ) from error
    try:
        _open_scene(job, folder, blender, reporter)
    finally:
        forget_parts(folder)
    copy = folder / "scene.blend"
    own = replace(job, scene=str(copy), scene_sha256=blend_sha256(copy))
    write_json(folder / "job.json", own.to_json())
    (folder / PARTS).mkdir(exist_ok=True)


def _open_scene(job: RenderJob, folder: Path, blender: Blender, reporter: Reporter) -> None:
    """Run a render child that skips its only frame: it opens, copies and plays the scene, and renders nothing."""
    reporter.status("opening the scene")
    child = Child(folder, Batch(job.first, job.first), [job.first], blender)
    told, state = set[str](), ""
    try:
        while (ended := child.look()) is None:
            if child.status.state == "simulating" != state:
                reporter.status("playing simulations")
            state = child.status.state
            time.sleep(POLL_SECONDS)
        child.look()
        for note in child.status.notes:
            if note not in told:
                told.add(note)
                reporter.warning(note)
        if child.status.state == "done" and (folder / "scene.blend").is_file():
            return
        reason = child.status.error or child.how_it_ended(ended)
    finally:
        child.end()
    if ended == ExitStatus.BAD_INPUT:
        raise BadInputError(reason)
    raise OperationalError(f"{job.scene}: Blender could not prepare it ({reason}); see {folder / 'render.log'}")
