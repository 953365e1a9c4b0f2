# SPDX-License-Identifier: GPL-3.0-or-later
"""The folders of one task: a clean one for the agent, and what is collected from it afterwards.

WORK/task/      reference.mp4, prompt.md, task.json, out/: all that the agent gets of the benchmark; it starts here
WORK/home/      its home, with its program's files
WORK/record/    what the server and we write down, and Blender without a network
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..deliver.records import FILES
from ..deliver.records import SUBMISSION as SUBMISSION_FILE
from ..protocol.errors import BadInputError, OperationalError
from ..protocol.files import sha256_of, write_text
from ..protocol.scratch import scratch_folder
from .ledger import SUBMISSION
from .records import AgentRun, SubmittedFile

HANDED_IN: Final = (*FILES, SUBMISSION_FILE)
"""The files of a submission; nothing else of its folder is taken for one."""
REFERENCE: Final = "reference.mp4"
DEEPEST: Final = 64
"""Folders within folders that are collected; a tree may be made to be deeper than any program can follow."""


@dataclass(frozen=True)
class Workspace:
    """The folders of one task."""

    root: Path

    @property
    def task(self) -> Path:
        """Where the agent starts."""
        return self.root / "task"

    @property
    def home(self) -> Path:
        """The agent's home."""
        return self.root / "home"

    @property
    def record(self) -> Path:
        """Ours."""
        return self.root / "record"

    @property
    def reference(self) -> Path:
        """The copy of the reference."""
        return self.task / REFERENCE

    @property
    def output(self) -> Path:
        """Where the agent's renders and its submission go."""
        return self.task / "out"

    @property
    def transcript(self) -> Path:
        """What the MCP server writes down."""
        return self.record / "mcp.jsonl"


@contextmanager
def workspace(parent: Path | None) -> Iterator[Workspace]:
    """New folders below `parent` (default: among the system's temporary files), removed at the end.

    Their names say nothing about the benchmark. What killed runs have left is removed too. Raises BadInputError where
    they cannot be made.
    """
    if parent is not None:
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInputError(
                f"{parent}: cannot be written ({error.strerror or error}); choose another --work"
            ) from error
    with scratch_folder("task", parent) as folder:
        space = Workspace(folder.resolve())
        for made in (space.task, space.home, space.record, space.output):
            made.mkdir()
        try:
            yield space
        finally:
            if os.name == "posix":  # it takes trees of any depth
                subprocess.run(["rm", "-rf", "--", space.task, space.home], capture_output=True, check=False)


def fill(space: Workspace, reference: Path, sha256: str, prompt: str) -> None:
    """Lay down the reference and the prompt. Raises BadInputError where the reference is not the benchmark's."""
    shutil.copyfile(reference, space.reference)
    if sha256_of(space.reference) != sha256:
        raise BadInputError(f"{reference}: is not the video that video.json names; run matchcut checklist validate")
    write_text(space.task / "prompt.md", prompt)


def submitted(folder: Path) -> list[SubmittedFile]:
    """The files that were handed in, with what they hold; none where the folder is missing or a link."""
    if not folder.is_dir() or folder.is_symlink():
        return []
    found = []
    for name in HANDED_IN:
        path = folder / name
        if _is_plain(path):
            found.append(SubmittedFile(name=name, bytes=path.stat().st_size, sha256=sha256_of(path)))
    return found


def collect(space: Workspace, goal: Path, *, everything: bool) -> list[SubmittedFile]:
    """Copy what the task has left into `goal`: the submission, what was said, and with `everything` the whole task.

    Links are passed over and nothing outside the task is touched. Returns the submission's files.
    """
    for source, name in (
        (space.transcript, "mcp.jsonl"),
        (space.record / "agent.out", "agent.out"),
        (space.record / "agent.err", "agent.err"),
        (space.task / "prompt.md", "prompt.md"),
    ):
        if _is_plain(source):
            shutil.copyfile(source, goal / name)
    handed_in = take_submission(space.output / SUBMISSION, goal)
    if everything:
        _copy_tree(space.task, goal / "task", without={space.reference, space.output / SUBMISSION})
    return handed_in


def take_submission(source: Path, goal: Path) -> list[SubmittedFile]:
    """Copy the files of a submission into GOAL/submission, which is there only where there are some."""
    files = submitted(source)
    if files:
        (goal / SUBMISSION).mkdir()
    for file in files:
        shutil.copyfile(source / file.name, goal / SUBMISSION / file.name)
    return submitted(goal / SUBMISSION)  # of what was copied, should somebody still write to the source


def _copy_tree(source: Path, goal: Path, without: set[Path]) -> None:
    left = [(source, goal, 0)]
    while left:
        folder, place, depth = left.pop()
        place.mkdir()
        with os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                if path in without or entry.is_symlink():
                    continue
                if entry.is_dir(follow_symlinks=False) and depth < DEEPEST:
                    left.append((path, place / entry.name, depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    shutil.copyfile(path, place / entry.name)


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def lay_out(run: AgentRun, run_folder: Path, place: Path) -> None:
    """Put a published submission at RUNS/CONFIG/SETTING/VIDEO, where every other command finds it; again, nothing.

    The files are the same ones where the file system allows it. Raises OperationalError where another submission is
    there: it may be somebody's, and is never replaced.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    if not run.submission:
        if place.exists():
            raise OperationalError(_other(place))
        return
    if not place.exists():
        staged = Path(tempfile.mkdtemp(prefix=".staging-", dir=place.parent))
        try:
            for file in run.submission:
                _link(run_folder / SUBMISSION / file.name, staged / file.name)
            staged.chmod(0o755)
            staged.rename(place)
        except OSError:
            if not place.is_dir():
                raise
        finally:
            shutil.rmtree(staged, ignore_errors=True)
    if not all(_same(run_folder / SUBMISSION / file.name, place / file.name, file) for file in run.submission):
        raise OperationalError(_other(place))


def _other(place: Path) -> str:
    return f"{place}: holds another submission; move it away, or choose another --runs"


def _link(source: Path, goal: Path) -> None:
    try:
        os.link(source, goal)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, goal)


def _same(source: Path, goal: Path, file: SubmittedFile) -> bool:
    if not _is_plain(goal):
        return False
    if os.path.samestat(source.stat(), goal.stat()):
        return True
    return goal.stat().st_size == file.bytes and sha256_of(goal) == file.sha256


def task_file(space: Workspace, fields: dict[str, object]) -> Path:
    """Write what an agent of one's own gets: the task as JSON."""
    path = space.task / "task.json"
    write_text(path, json.dumps(fields, indent=2, ensure_ascii=False) + "\n")
    return path
