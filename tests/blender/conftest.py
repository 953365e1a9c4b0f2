"""The Blenders that this machine has, and small scenes made by them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from matchcut.evaluator.environment.blender import Blender, identify
from matchcut.evaluator.environment.create import bpy_python
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.errors import BadInputError

SCENES = Path(__file__).resolve().parents[1] / "bpy" / "render_scenes.py"
MAKE = """
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("render_scenes", {scenes!r})
scenes = importlib.util.module_from_spec(spec); spec.loader.exec_module(scenes)
scene = scenes.build({frames}, two_shots={two_shots})
{change}
scenes.save(pathlib.Path({out!r}))
"""


def _program() -> str | None:
    named = os.environ.get("BLENDER", "")
    if named and not re.match(r"(python|pypy)", Path(named).name.lower()):
        return named
    return shutil.which("blender")


@pytest.fixture(scope="session", params=["program", "wheel"])
def blender(request) -> Blender:
    """Each Blender of this machine: the program, and the bpy wheel."""
    path = _program() if request.param == "program" else bpy_python()
    if path is None:
        hint = "set $BLENDER to one" if request.param == "program" else "run: matchcut setup --bpy"
        pytest.skip(f"no Blender of this kind ({request.param}): {hint}")
    try:
        return identify(str(path), request.param)
    except BadInputError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def make_scene(blender, tmp_path_factory):
    """A function that saves a small scene; `change` is a line of Python that changes `scene` before."""
    folder = tmp_path_factory.mktemp("scenes")

    def make(name="scene", *, frames=4, two_shots=False, change="") -> Path:
        out = folder / f"{name}.blend"
        if not out.exists():
            script = folder / f"{name}.py"
            script.write_text(
                MAKE.format(scenes=str(SCENES), frames=frames, two_shots=two_shots, change=change, out=str(out))
            )
            start = [blender.path] if blender.kind == "wheel" else [
                blender.path, "-b", "--factory-startup", "--python-exit-code", "1", "--python",
            ]  # fmt: skip
            subprocess.run([*start, str(script)], check=True, capture_output=True, env=child_environment())
        return out

    return make
