# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task may take of its machine: all its processes together by a control group, else each by limits of its own.

A control group counts the memory, the processes and the processor time of everything that an agent starts, in whatever
way; see the kernel's cgroup-v2 and cgroup-v1. It is made beside our own one where we may write there (as root, or in a
part that was delegated to us), or by systemd. Elsewhere each process has limits of its own, setrlimit(2), which say
nothing about all of them together.
"""

from __future__ import annotations

import functools
import itertools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from ..environment.blender import run_child
from ..protocol.errors import OperationalError
from .harness import START_FAILED
from .records import Resources

CGROUPS: Final = Path("/sys/fs/cgroup")
FILE_LIMIT: Final = 64 * 2**30
"""Bytes that no file of a task may exceed."""
PERIOD: Final = 100_000
"""Microseconds in which the processor time is counted."""
_END_SECONDS: Final = 10.0
_TRIAL_SECONDS: Final = 30
_NEEDED: Final = ("memory", "pids")
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Allowance:
    """What is asked; None for no limit."""

    memory: int | None = None
    """Bytes."""
    processes: int | None = None
    """Processes and threads."""
    cores: float | None = None
    """Processors' time in each moment."""

    def __bool__(self) -> bool:
        """Whether anything is limited."""
        return (self.memory, self.processes, self.cores) != (None, None, None)


NO_LIMITS: Final = Allowance()


@dataclass(frozen=True)
class Groups:
    """How control groups are made here: below the folders of their controllers, or by `systemd`, or not at all."""

    version: Literal[1, 2] = 2
    folders: Mapping[str, Path] = field(default_factory=dict)
    """By controller; the same one for all in version 2."""
    systemd: tuple[str, ...] = ()
    note: str = ""
    """Why there are none."""

    @property
    def works(self) -> bool:
        """Whether a group can be made."""
        return bool(self.folders or self.systemd)


@dataclass(frozen=True)
class Cage:
    """The limits of one task while it runs."""

    allowance: Allowance
    kind: Literal["cgroup", "rlimit", "none"]
    prefix: tuple[str, ...] = ()
    """What its command begins with."""
    rlimits: Mapping[str, int] = field(default_factory=dict)
    """For inside.py."""
    hide: tuple[Path, ...] = ()
    """Folders in which it could change them."""
    parts: Mapping[str, Path] = field(default_factory=dict)
    note: str = ""

    def record(self) -> Resources:
        """What is written down: what held, and how far it was used."""
        held = self.allowance
        if self.kind != "cgroup":
            held = Allowance(self.rlimits.get("data"), self.rlimits.get("nproc"))
        elif self.parts and "cpu" not in self.parts:
            held = Allowance(held.memory, held.processes)
        memory, pids = self.parts.get("memory"), self.parts.get("pids")
        return Resources(
            kind=self.kind,
            memory_bytes=held.memory,
            processes=held.processes,
            cores=held.cores,
            note=self.note,
            memory_peak_bytes=_figure(memory, "memory.peak", "memory.max_usage_in_bytes"),
            killed_for_memory=_event(memory, "oom_kill", "memory.events", "memory.oom_control"),
            refused_processes=_event(pids, "max", "pids.events"),
        )


@contextmanager
def limited(allowance: Allowance, groups: Groups, *, own_processes: bool) -> Iterator[Cage]:
    """The limits for one task; at the end of it nothing of its group is left.

    `own_processes`: whether it runs in a user namespace of its own, so that its processes can be counted by themselves.
    """
    if os.name != "posix":
        note = "this system has neither control groups nor rlimits" if allowance else ""
        yield Cage(allowance, "none", note=note)
        return
    rlimits = {"core": 0, "fsize": FILE_LIMIT}
    if not allowance:
        yield Cage(allowance, "none", rlimits=rlimits, note="nothing was asked")
    elif groups.systemd:
        yield Cage(allowance, "cgroup", _scope(groups.systemd, allowance), rlimits, (CGROUPS,), note="systemd-run")
    elif groups.works:
        parts = _make(groups, allowance)
        try:
            leaves = {str(folder / "task") for folder in parts.values()}
            enter = "".join(f"echo 0 > {shlex.quote(leaf)}/cgroup.procs || exit {START_FAILED}; " for leaf in leaves)
            note = "" if allowance.cores is None or "cpu" in parts else "no controller of processor time here"
            prefix = ("/bin/sh", "-c", f'{enter}exec "$@"', "sh")
            yield Cage(allowance, "cgroup", prefix, rlimits, (CGROUPS,), parts, note)
        finally:
            for folder in set(parts.values()):
                _remove(folder)
    else:
        yield _by_rlimits(allowance, rlimits, groups.note, own_processes=own_processes)


def _by_rlimits(allowance: Allowance, rlimits: dict[str, int], note: str, *, own_processes: bool) -> Cage:
    notes = [note, "all processes together are not limited"]
    if allowance.memory is not None:
        # not RLIMIT_AS: programs reserve addresses that they never use, OpenCode 70 GiB of them
        rlimits["data"] = allowance.memory
    if allowance.processes is not None:
        # elsewhere the system would count all that the person runs, and for root it counts none
        if own_processes and os.getuid() != 0:
            rlimits["nproc"] = allowance.processes
        else:
            notes.append("their number is not limited for root or without a user namespace")
    return Cage(allowance, "rlimit", rlimits=rlimits, note="; ".join(filter(None, notes)))


@functools.cache
def find_groups() -> Groups:
    """Try what this system allows: a program has to run in a group that is made and taken away again."""
    if not sys.platform.startswith("linux"):
        return Groups(note="this system has no control groups")
    reasons = []
    for groups in (_groups(2), _groups(1), Groups(systemd=_systemd())):
        if groups.works:
            reason = _trial(groups)
            if not reason:
                return groups
            reasons.append(reason)
    return Groups(note=f"control groups cannot be made here: {'; '.join(reasons) or 'there are none that we may use'}")


def _trial(groups: Groups) -> str:
    """Why no program runs in such a group; empty where one does."""
    try:
        with limited(Allowance(2**30, 64), groups, own_processes=False) as cage:
            done = run_child([*cage.prefix, "/bin/sh", "-c", "echo ran"], seconds=_TRIAL_SECONDS)
    except (OSError, OperationalError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if "ran" in done.stdout else (done.stderr.strip().splitlines() or ["it said nothing"])[-1]


def _systemd() -> tuple[str, ...]:
    program = shutil.which("systemd-run")
    if program is None:
        return ()
    if os.getuid() == 0:
        return (program, "--scope")
    place = os.environ.get("XDG_RUNTIME_DIR")
    return ("/usr/bin/env", f"XDG_RUNTIME_DIR={place}", program, "--user", "--scope") if place else ()


def _scope(systemd: tuple[str, ...], allowance: Allowance) -> tuple[str, ...]:
    """See systemd.resource-control(5); the agent does not learn where the person's systemd listens."""
    found = []
    if allowance.memory is not None:
        found += [f"MemoryMax={allowance.memory}", "MemorySwapMax=0"]
    if allowance.processes is not None:
        found.append(f"TasksMax={allowance.processes}")
    if allowance.cores is not None:
        found.append(f"CPUQuota={allowance.cores * 100:g}%")
    options = [part for one in found for part in ("--property", one)]
    return (*systemd, "--quiet", "--collect", *options, "--", "/usr/bin/env", "-u", "XDG_RUNTIME_DIR")


def _groups(version: Literal[1, 2]) -> Groups:
    """Where groups of this version can be made, as far as files tell."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8").splitlines()
        ours = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text("utf-8").splitlines()]
    except OSError:
        return Groups()
    folders: dict[str, Path] = {}
    for line in mounts:
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        root, place = before.split(" ")[3:5]
        if kind == "cgroup2" and version == 2:
            path = next((path for number, _, path in ours if number == "0"), None)
            own = _below(Path(place), root, path)
            for folder in (own, own.parent) if own != Path(place) else (own,):
                offered = _enabled(folder)
                if all(name in offered for name in _NEEDED):
                    folders = {name: folder for name in (*_NEEDED, "cpu") if name in offered}
                    break
        elif kind == "cgroup" and version == 1:
            for name in {*_NEEDED, "cpu"} & set(options.split(",")):
                path = next((path for _, names, path in ours if name in names.split(",")), None)
                folders[name] = _below(Path(place), root, path)
    whole = all(name in folders and os.access(folders[name], os.W_OK) for name in _NEEDED)
    return Groups(version, folders) if whole else Groups()


def _below(place: Path, root: str, path: str | None) -> Path:
    """The folder of a group in a hierarchy whose part `root` lies at `place`."""
    if path is None or not Path(path).is_relative_to(root):
        return place
    return place / Path(path).relative_to(root)


def _enabled(folder: Path) -> list[str]:
    """The controllers of a group's children; they are switched on where that is allowed."""
    control = folder / "cgroup.subtree_control"
    try:
        offered = (folder / "cgroup.controllers").read_text("utf-8").split()
        for name in (*_NEEDED, "cpu"):
            if name in offered and name not in control.read_text("utf-8").split():
                control.write_text(f"+{name}", "utf-8")
    except OSError:
        pass  # what is on tells the reading below
    try:
        return control.read_text("utf-8").split()
    except OSError:
        return []


def _make(groups: Groups, allowance: Allowance) -> dict[str, Path]:
    """Make a group with the limits, and in it one for the processes: from within they see nothing of the outer one.

    Returns its folder by controller. Raises OperationalError.
    """
    name = f"matchcut-{os.getpid()}-{next(_numbers)}"
    parts = {controller: folder / name for controller, folder in groups.folders.items()}
    try:
        for folder in set(groups.folders.values()):
            _forget_dead(folder)
        for folder in set(parts.values()):
            folder.mkdir()
        for file, value in _values(groups.version, allowance):
            place = parts.get(file.partition(".")[0], Path()) / file
            if place.exists():
                place.write_text(value, "utf-8")
        for folder in set(parts.values()):
            (folder / "task").mkdir()
    except OSError as error:
        for folder in set(parts.values()):
            _remove(folder)
        raise OperationalError(f"{error.filename}: the limits cannot be set ({error.strerror or error})") from error
    return parts


def _values(version: int, allowance: Allowance) -> list[tuple[str, str]]:
    found = []
    if allowance.memory is not None:
        names = ("memory.max", "memory.swap.max") if version == 2 else ("memory.limit_in_bytes",
            "memory.memsw.limit_in_bytes")  # fmt: skip
        found += [(names[0], str(allowance.memory)), (names[1], "0" if version == 2 else str(allowance.memory))]
    if allowance.processes is not None:
        found.append(("pids.max", str(allowance.processes)))
    if allowance.cores is not None:
        quota = int(allowance.cores * PERIOD)
        found.append(("cpu.max", f"{quota} {PERIOD}") if version == 2 else ("cpu.cfs_quota_us", str(quota)))
    return found


def _forget_dead(folder: Path) -> None:
    """Take away the groups of runs that were killed."""
    for old in folder.glob("matchcut-*-*"):
        owner = old.name.split("-")[1]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            _remove(old, seconds=0)


def _remove(folder: Path, seconds: float = _END_SECONDS) -> None:
    """End what is left in a group, and take it away; one that cannot be emptied stays."""
    end = time.monotonic() + seconds
    while folder.exists():
        inner = sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True)
        kill = folder / "cgroup.kill"  # of version 2
        with suppress(OSError):
            if kill.exists():
                kill.write_text("1", "utf-8")
        for group in (*inner, folder):
            with suppress(OSError):
                for pid in (group / "cgroup.procs").read_text("utf-8").split():
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):
                group.rmdir()
        if time.monotonic() >= end:
            return
        if folder.exists():
            time.sleep(0.02)


def _figure(folder: Path | None, *names: str) -> int | None:
    for name in names if folder is not None else ():
        with suppress(OSError, ValueError):
            return int((folder / name).read_text("utf-8"))  # type: ignore[operator]
    return None


def _event(folder: Path | None, event: str, *names: str) -> int | None:
    """How often something happened, as the group or the one in it counts it."""
    found = []
    for place in (folder, folder / "task") if folder is not None else ():
        for name in names:
            with suppress(OSError, ValueError):
                lines = [line.split() for line in (place / name).read_text("utf-8").splitlines()]
                found += [int(words[1]) for words in lines if words[:1] == [event]]
    return max(found, default=None)
