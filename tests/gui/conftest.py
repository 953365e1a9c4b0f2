# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender with a window: how it is opened, a clean profile with the zip installed, and a run of one scenario.

`$BLENDER_WINDOW` is a command line that opens a window, for example `env BLENDER_GUI=1 path/to/blender`. Without it
`xvfb-run` on PATH puts `$BLENDER` on a virtual screen.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from matchcut.evaluator.environment.blender import find_blender
from matchcut.evaluator.protocol.children import child_environment, kill_group, own_group
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter

GUI = Path(__file__).resolve().parent
SCREEN = "-screen 0 1600x900x24 +extension GLX"
GEOMETRY = ["--window-geometry", "0", "0", "1600", "900"]


@pytest.fixture(scope="session")
def program():
    """The Blender program that the profile is made with."""
    try:
        blender = find_blender()
    except BadInputError as error:
        pytest.skip(str(error))
    if blender.kind != "program":
        pytest.skip("a window needs the Blender program; set $BLENDER to one")
    return blender.path


@pytest.fixture(scope="session")
def window_command(program):
    """Command line that opens a window on a screen of its own."""
    if os.environ.get("BLENDER_WINDOW"):
        return shlex.split(os.environ["BLENDER_WINDOW"])
    if shutil.which("xvfb-run") is None or shutil.which("import") is None:
        pytest.skip("no virtual screen: set $BLENDER_WINDOW, or install xvfb and imagemagick")
    return ["xvfb-run", "-a", "-s", SCREEN, program, "--gpu-backend", "opengl", *GEOMETRY]


@pytest.fixture(scope="session")
def profile(root, program, need_evaluator_inside, tmp_path_factory, artifacts):
    """Environment of a clean profile in which the built zip is installed and enabled."""
    from matchcut.evaluator.cli.extension import build

    shaders = artifacts / "shaders"
    shaders.mkdir(exist_ok=True)
    need_evaluator_inside(program)
    package = build(root, tmp_path_factory.mktemp("dist"), blender=program)
    environment = {
        **child_environment(),
        "BLENDER_USER_RESOURCES": str(tmp_path_factory.mktemp("profile")),
        "MATCHCUT_PYTHON": sys.executable,
        # Mesa keeps compiled shaders in a file that it maps, whose size differs between its versions: another one at
        # work on this machine would cut it short, and what reads beyond its new end dies of a bus error
        "MESA_SHADER_CACHE_DIR": str(shaders),
    }
    install = ["--command", "extension", "install-file", "-r", "user_default", "--enable", str(package)]
    # without the last one a window in which the add-on was switched off would leave it so for the next
    settings = (
        "import bpy; preferences = bpy.context.preferences; preferences.view.show_splash = False; "
        "preferences.use_preferences_save = False; bpy.ops.wm.save_userpref()"
    )
    for arguments in (install, ["-b", "--python-exit-code", "1", "--python-expr", settings]):
        subprocess.run([program, *arguments], env=environment, capture_output=True, timeout=300, check=True)
    return environment


@pytest.fixture(scope="session")
def reference(tmp_path_factory):
    """A tiny reference: 24 frames of 96×54 at 24000/1001, a bright square that moves."""
    np = pytest.importorskip("numpy")
    pytest.importorskip("av")
    from matchcut.evaluator.media.encode import encode

    frames = np.zeros((24, 54, 96, 3), np.uint8)
    frames[:] = np.linspace(30, 120, 96, dtype=np.uint8)[:, None]
    for index, frame in enumerate(frames):
        frame[15:35, 5 + 2 * index : 25 + 2 * index] = (250, 200, 40)
    path = tmp_path_factory.mktemp("reference") / "reference.mp4"
    encode(frames, Fraction(24000, 1001), path, reporter=SilentReporter(), total=len(frames))
    return path


@pytest.fixture
def run_scenario(window_command, profile, reference, artifacts):
    """Run `scenarios/NAME.py` in a window; returns its facts, with its pictures in tests/artifacts/gui-NAME."""

    def run(name, seconds=600, **variables):
        out = artifacts / f"gui-{name}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        environment = {**profile, "MATCHCUT_TEST_REFERENCE": str(reference), **variables}
        command = [*window_command, "--enable-event-simulate", "--python", str(GUI / "drive.py"), "--"]
        with (out / "blender.log").open("w") as log:
            process = subprocess.Popen(
                [*command, str(GUI / "scenarios" / f"{name}.py"), str(out)],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **own_group(),
            )  # fmt: skip
            try:
                process.wait(seconds)
            except BaseException:  # with its screen, which would be left behind
                kill_group(process)
                raise
        log = (out / "blender.log").read_text()
        assert (out / "facts.json").is_file(), f"the window ended early:\n{log[-2000:]}"
        facts = json.loads((out / "facts.json").read_text())
        assert "error" not in facts, facts["error"]
        assert "Traceback" not in log, log[-4000:]
        return facts, out

    return run
