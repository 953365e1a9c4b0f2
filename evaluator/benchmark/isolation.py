# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps an agent apart from the evaluator's data: on Linux in namespaces of its own, elsewhere not at all.

In a mount namespace empty folders are laid over the benchmark, its results and whatever else is named. A second user
namespace inside the first keeps the agent from taking them away again, since mounts of a more privileged namespace are
locked; see mount_namespaces(7). A process namespace lets it see no processes but its own, and leaves none running.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..environment.blender import run_child
from ..environment.create import PACKAGE_ROOT
from ..environment.sealed import without_network
from ..protocol.errors import BadInputError
from ..protocol.files import write_json, write_text
from .records import Isolation

INSIDE: Final = Path(__file__).with_name("inside.py")
ANSWERS: Final = PACKAGE_ROOT / "assets_ui" / "samples"
"""The samples' checklists and right ratings lie beside our own code."""
_TRIAL_SECONDS: Final = 30
_BLENDERS: Final = (
    "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    "XDG_RUNTIME_DIR",
)  # fmt: skip
_BLENDERS_BEGINNINGS: Final = ("CUDA_", "NVIDIA_", "HIP_", "ROCR_", "OMP_", "CYCLES_", "LIBGL_", "MESA_", "BLENDER_")
_OUTER: Final = (
    ("--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
    ("--user", "--map-root-user", "--mount", "--fork", "--kill-child"),
)
"""What is tried, the best first: a container may forbid a process list of one's own."""


@dataclass(frozen=True)
class Sandbox:
    """What this system lets us do. `outer` is empty where it is nothing."""

    outer: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    note: str = ""

    @property
    def works(self) -> bool:
        """Whether folders can be hidden."""
        return bool(self.outer)

    def command(
        self, spec: Path, command: Sequence[str], *, hide: Sequence[Path], limits: Mapping[str, int], network: bool
    ) -> list[str]:
        """The command line that runs `command` inside; `spec` is where its description goes."""
        if os.name != "posix":
            return list(command)
        net = ("--net",) if self.works and not network else ()
        write_json(
            spec,
            {
                "hide": [str(folder) for folder in hide] if self.works else [],
                "limits": dict(limits),
                "enter": list(self.inner),
                "command": list(command),
            },
        )
        outer = [*self.outer, *net, "--"] if self.works else []
        return [*outer, sys.executable, "-I", "-S", str(INSIDE), str(spec)]

    def record(self, hide: Sequence[Path], *, network: bool) -> Isolation:
        """What is written down of a run."""
        return Isolation(
            kind="namespaces" if self.works else "none",
            hidden=len(hide) if self.works else 0,
            processes="--pid" in self.outer,
            agent_network="open" if network or not self.works else "none",
            blender_network="none" if blender_without_network() else "open",
            note=self.note,
        )


def choose_sandbox(*, allow_none: bool) -> Sandbox:
    """The best that this system lets us do. Raises BadInputError where that is nothing and it is not allowed."""
    found = find_sandbox()
    faults = [found.note] if not found.works else []
    if not blender_without_network():
        faults.append("Blender's children cannot be kept from the network (unshare --net is not allowed)")
    if faults and not allow_none:
        raise BadInputError(
            f"the agent cannot be kept apart from the benchmark's data: {'; '.join(faults)}; run on a Linux that "
            "allows user namespaces, or say --isolation none, which is recorded with every run"
        )
    return Sandbox(found.outer, found.inner, "; ".join(faults))


NO_SANDBOX: Final = Sandbox(note="--isolation none")


@functools.cache
def find_sandbox() -> Sandbox:
    """Try what this system allows: a hidden file has to be unreadable inside, also after an attempt to undo it."""
    unshare = shutil.which("unshare") if sys.platform == "linux" else None
    if unshare is None:
        return Sandbox(note="this system has no namespaces (unshare)")
    if shutil.which("mount") is None:
        return Sandbox(note="there is no program mount")
    own = ("--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}", "--mount", "--")
    reason = ""
    for options in _OUTER:
        tried = Sandbox((unshare, *options), (unshare, *own))
        reason = _trial(tried)
        if not reason:
            return tried
    return Sandbox(note=f"namespaces do not work here: {reason}")


def _trial(sandbox: Sandbox) -> str:
    """Why a sandbox does not hide a file; empty where it does."""
    with tempfile.TemporaryDirectory(prefix="matchcut-trial-") as folder:
        secret, spec = Path(folder) / "secret", Path(folder) / "spec.json"
        secret.mkdir()
        (secret / "canary").write_text("seen")
        place = shlex.quote(str(secret))
        attempt = f"cat {place}/canary; umount {place}; umount -l {place}; cat {place}/canary; echo ended"
        command = sandbox.command(spec, ["/bin/sh", "-c", attempt], hide=[secret], limits={}, network=True)
        held, other = os.pipe()
        try:
            done = run_child(command, seconds=_TRIAL_SECONDS, stdin=held)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        finally:
            os.close(held)
            os.close(other)
        if "seen" in done.stdout:
            return "what was hidden could be read"
        said = (done.stderr.strip().splitlines() or ["it said nothing"])[0]
        return "" if "ended" in done.stdout else said


@functools.cache
def blender_without_network() -> tuple[str, ...]:
    """What Blender's command begins with so that it has no network; empty where the system does not let us."""
    return without_network()


def blender_script(place: Path, name: str, command: Sequence[str]) -> str:
    """Write PLACE/NAME, a program that starts `command`, a Blender, without a network; its path.

    It gives Blender what it needs of our own environment, which the agent does not get: where its files and devices
    are. Its name tells a Python apart from a Blender, as everywhere.
    """
    script = place / name
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _BLENDERS or name.upper().startswith(_BLENDERS_BEGINNINGS)
    }
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(kept.items()))
    start = shlex.join([*blender_without_network(), *command])
    write_text(script, f'#!/bin/sh\n{exports}exec {start} "$@"\n')
    script.chmod(0o755)
    return str(script)


def outermost(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Each folder once, and none that lies in another: what hides the outer one hides it too."""
    resolved = sorted({folder.resolve() for folder in folders if folder.is_dir()})
    return tuple(one for one in resolved if not any(other != one and one.is_relative_to(other) for other in resolved))


def check_places(work: Path, hide: Sequence[Path], needed: Sequence[Path]) -> None:
    """Raise BadInputError where what is hidden holds what the agent needs."""
    for folder in hide:
        for path in (work, *needed):
            if path.resolve().is_relative_to(folder.resolve()):
                raise BadInputError(
                    f"{path}: lies in {folder}, which is hidden from agents; keep the benchmark, its runs and its "
                    "results in folders of their own, and the work in another one (--work)"
                )
