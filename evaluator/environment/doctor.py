# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine has of what the project needs, and the one command that mends each thing that is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..protocol.errors import MatchcutError
from .blender import Blender, find_blender, run_child
from .condition import is_complete, python_of
from .create import BPY, EVALUATOR, PACKAGE_ROOT, default_folder
from .interpreters import find_interpreter

State = Literal["ok", "missing", "optional"]

JUDGE_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MATCHCUT_LOCAL_API_KEY")
NEEDED_BYTES = 3 * 1024**3  # both environments take 1.9 GB, a demo 0.1 GB

# Debian and Ubuntu packages of the libraries that the bpy wheel does not bring along
LIBRARY_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libICE.so.6": "libice6",
    "libSM.so.6": "libsm6",
    "libX11.so.6": "libx11-6",
    "libXext.so.6": "libxext6",
    "libXfixes.so.3": "libxfixes3",
    "libXi.so.6": "libxi6",
    "libXrender.so.1": "libxrender1",
    "libXxf86vm.so.1": "libxxf86vm1",
    "libgomp.so.1": "libgomp1",
    "libxkbcommon.so.0": "libxkbcommon0",
}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for. `optional` is missing, but only some commands need it."""

    name: str
    state: State
    found: str
    mend: str = ""


def examine() -> Iterator[Finding]:
    """Look for everything, the quick things first."""
    yield _interpreter()
    yield _evaluator()
    blender, finding = _blender()
    yield finding
    libraries = missing_libraries()
    if libraries is not None:
        yield libraries
    if blender is not None:
        yield _opengl(blender)
    yield _encoder()
    yield _judge_keys()
    yield _disk()


def _matchcut(command: str) -> str:
    """How this installation spells a command."""
    checkout = (PACKAGE_ROOT / "run").is_file()
    return f"{'py run' if os.name == 'nt' else './run'} {command}" if checkout else f"matchcut {command}"


def _interpreter() -> Finding:
    found = find_interpreter()
    if found is None:
        return Finding(
            "Python", "missing", "none from 3.11 to 3.14 with venv", "pyenv install 3.13, or uv python install 3.13"
        )
    return Finding("Python", "ok", f"{'.'.join(map(str, found.version))} ({found.path})")


def _evaluator_python() -> Path | None:
    named = os.environ.get("MATCHCUT_PYTHON")
    if named:
        return Path(named)
    folder = default_folder(EVALUATOR)
    if is_complete(folder, EVALUATOR.lock):
        return python_of(folder)
    # installed by pip, the interpreter that runs us is the evaluator's own
    probe = "import av, cv2, mcp, numpy, pydantic, scenedetect, scipy"
    return Path(sys.executable) if _answers([sys.executable, "-c", probe]) is not None else None


def _evaluator() -> Finding:
    python = _evaluator_python()
    if python is None:
        return Finding("evaluator", "missing", f"no environment in {default_folder(EVALUATOR)}", _matchcut("setup"))
    return Finding("evaluator", "ok", str(python))


def _blender() -> tuple[Blender | None, Finding]:
    try:
        blender = find_blender()
    except MatchcutError as error:
        found = str(error).split("; set $BLENDER")[0]  # how to mend it stands in the next line
        return None, Finding("Blender", "missing", found, f"{_matchcut('setup --bpy')} (or set $BLENDER)")
    return blender, Finding("Blender", "ok", f"{blender.version}, {blender.kind} ({blender.path})")


def missing_libraries() -> Finding | None:
    """Shared libraries that the bpy wheel needs and the system lacks; None without a wheel or a way to tell."""
    folder = default_folder(BPY)
    ldd = shutil.which("ldd")
    modules = sorted(folder.glob("lib/python*/site-packages/bpy/__init__*.so"))
    if not modules or ldd is None:
        return None
    answer = _answers([ldd, str(modules[0])]) or ""
    missing = sorted(set(re.findall(r"^\s*(\S+) => not found", answer, re.MULTILINE)))
    if not missing:
        return Finding("libraries", "ok", "all that the bpy wheel needs")
    packages = " ".join(LIBRARY_PACKAGES.get(name, name) for name in missing)
    return Finding("libraries", "missing", ", ".join(missing), f"apt-get install {packages}")


def _opengl(blender: Blender) -> Finding:
    ask = "import gpu; gpu.init(); print('OPENGL', gpu.platform.renderer_get())"
    if blender.kind == "wheel":
        command = [blender.path, "-c", f"import bpy; {ask}"]
    else:
        command = [blender.path, "-b", "--factory-startup", "--python-exit-code", "1", "--python-expr", ask]
    found = re.search(r"^OPENGL (.+)$", _answers(command) or "", re.MULTILINE)
    if found is None:
        mend = "apt-get install libegl1 libgl1-mesa-dri" if sys.platform == "linux" else "install a graphics driver"
        return Finding("OpenGL", "optional", "none; Cycles works without it, EEVEE and Workbench do not", mend)
    return Finding("OpenGL", "ok", found.group(1).strip())


def _encoder() -> Finding:
    python = _evaluator_python()
    if python is None:
        return Finding("encoder", "missing", "not known without the evaluator's environment", _matchcut("setup"))
    ask = "import av; av.codec.Codec('libx264', 'w'); print(av.__version__)"
    answer = _answers([str(python), "-c", ask])
    if answer is None:
        return Finding(
            "encoder", "missing", "this PyAV has no libx264", f"{python} -m pip install --force-reinstall av"
        )
    return Finding("encoder", "ok", f"libx264 in PyAV {answer.strip()}")


def _judge_keys() -> Finding:
    present = [name for name in JUDGE_KEYS if os.environ.get(name)]
    if present:
        return Finding("judge keys", "ok", ", ".join(f"{name} is set" for name in present))
    return Finding(
        "judge keys",
        "optional",
        "none is set",
        "name a judge of your own: --judge local:http://127.0.0.1:PORT/v1#MODEL",
    )


def _disk() -> Finding:
    free = shutil.disk_usage(PACKAGE_ROOT).free
    text = f"{free / 1024**3:.1f} GB free in {PACKAGE_ROOT}"
    if free < NEEDED_BYTES:
        return Finding("disk", "missing", text, f"free {(NEEDED_BYTES - free) / 1024**3:.1f} GB there")
    return Finding("disk", "ok", text)


def _answers(command: list[str]) -> str | None:
    """What a command prints; None where it fails."""
    try:
        answer = run_child(command, seconds=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout if answer.returncode == 0 else None


def describe(findings: Iterator[Finding], say: Callable[[str], None]) -> bool:
    """Say each finding in a line of its own, with what mends it below; returns whether nothing needed is missing."""
    fine = True
    for finding in findings:
        say(f"{finding.state:<9} {finding.name:<11} {finding.found}")
        if finding.mend and finding.state != "ok":
            say(f"{'':<9} {'':<11} → {finding.mend}")
        fine = fine and finding.state != "missing"
    return fine
