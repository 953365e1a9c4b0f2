# SPDX-License-Identifier: GPL-3.0-or-later
"""The zip in the real program: built, validated, installed into a clean profile, switched on and off."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from matchcut.evaluator.cli.extension import build
from matchcut.evaluator.environment.blender import find_blender
from matchcut.evaluator.protocol.children import child_environment
from matchcut.evaluator.protocol.errors import OperationalError

MODULE = "bl_ext.user_default.matchcut"

SWITCH = f"""
import json, sys, warnings
import bpy, addon_utils

def footprint():
    classes = [c for c in dir(bpy.types) if c.startswith("MATCHCUT_")]
    values = [getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers)]
    lists = [value for value in values if type(value) is list]
    handlers = [h.__module__ for functions in lists for h in functions if h.__module__.startswith("{MODULE}")]
    return classes, handlers, hasattr(bpy.types.Scene, "matchcut"), [o for o in dir(bpy.ops.matchcut) if o[0] != "_"]

facts = {{"enabled": "{MODULE}" in bpy.context.preferences.addons, "on": footprint()}}
addon = sys.modules["{MODULE}"]
heavy = {{"pydantic", "cv2", "av", "openai", "mcp", "rich"}}
facts["packages"] = sorted({{name.partition(".")[0] for name in sys.modules}} & heavy)
facts["evaluator"] = str(sys.modules["{MODULE}.addon.preferences"].evaluator_folder())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for step in range(2):
        addon_utils.disable("{MODULE}")
        facts[f"off{{step}}"] = footprint()
        addon_utils.enable("{MODULE}")
        facts[f"on{{step}}"] = footprint()
facts["warnings"] = [str(w.message) for w in caught]
print("FACTS", json.dumps(facts))
"""


@pytest.fixture(scope="module")
def program():
    """The Blender program; the bpy wheel cannot install extensions."""
    blender = find_blender()
    if blender.kind != "program":
        pytest.skip("needs the Blender program; set $BLENDER to one")
    return blender.path


@pytest.fixture(scope="module")
def package(root, program, tmp_path_factory):
    """The zip, built and validated by the program."""
    return build(root, tmp_path_factory.mktemp("dist"), blender=program)


@pytest.fixture(scope="module")
def profile(program, package, tmp_path_factory):
    """A clean profile with the zip installed and enabled, as an environment for further calls."""
    home = tmp_path_factory.mktemp("profile")
    # a folder for data of its own, so that no evaluator that is installed on this machine is found
    environment = {**child_environment(), "BLENDER_USER_RESOURCES": str(home), "XDG_DATA_HOME": str(home / "data")}
    environment.pop("MATCHCUT_PYTHON", None)
    install = ["--command", "extension", "install-file", "-r", "user_default", "--enable", str(package)]
    answer = blender(program, environment, *install)
    assert "FATAL_ERROR" not in answer.stdout + answer.stderr
    return environment


def blender(program, environment, *arguments, status=0):
    answer = subprocess.run(
        [program, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert answer.returncode == status, answer.stdout + answer.stderr
    return answer


def test_the_zip_is_small_and_holds_only_the_package(package, root, tmp_path):
    assert package.stat().st_size < 2_000_000
    with zipfile.ZipFile(package) as built, zipfile.ZipFile(build(root, tmp_path, blender=None)) as packed:
        assert sorted(built.namelist()) == sorted(packed.namelist()), "Blender reads the manifest's patterns otherwise"


def test_blender_refuses_a_broken_manifest(root, program, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    manifest = (
        (root / "blender_manifest.toml")
        .read_text()
        .replace('blender_version_min = "5.2.0"', 'blender_version_min = "5"')
    )
    (source / "blender_manifest.toml").write_text(manifest)
    (source / "__init__.py").touch()
    with pytest.raises(OperationalError, match="blender_version_min"):
        build(source, tmp_path / "dist", blender=program)
    assert list((tmp_path / "dist").iterdir()) == []


def test_enabled_and_disabled_twice_leaves_nothing(program, profile, tmp_path):
    script = tmp_path / "switch.py"
    script.write_text(SWITCH)
    answer = blender(program, profile, "-b", "--python-exit-code", "1", "--python", str(script))
    line = next(line for line in answer.stdout.splitlines() if line.startswith("FACTS "))
    facts = json.loads(line.removeprefix("FACTS "))
    assert facts["enabled"]
    classes, handlers, on_scene, operators = facts["on"]
    assert {"MATCHCUT_PT_reference", "MATCHCUT_PT_results", "MATCHCUT_PT_score"} <= set(classes)
    assert on_scene
    assert "score" in operators
    assert len(handlers) == 22
    for step in ("0", "1"):
        assert facts[f"off{step}"] == [[], [], False, []]
        assert facts[f"on{step}"] == facts["on"]
    assert facts["warnings"] == []
    assert facts["packages"] == [], "the evaluator's packages were imported into Blender"
    installed = Path(profile["BLENDER_USER_RESOURCES"])
    folder = Path(facts["evaluator"])
    assert folder.is_relative_to(installed)
    assert not folder.is_relative_to(installed / "extensions" / "user_default"), "an upgrade would wipe the environment"


def test_any_preference_lets_the_next_start_be(program, profile):
    """Blender gives no file to ask about while it switches add-ons on."""
    for path, problem in (("//venv/bin/python", "there is no such Python"), ("", "not installed")):
        setting = f"bpy.context.preferences.addons['{MODULE}'].preferences.evaluator_python = {path!r}"
        blender(program, profile, "-b", "--python-expr", f"import bpy; {setting}; bpy.ops.wm.save_userpref()")
        ask = f"import sys; print('STATE', sys.modules['{MODULE}.addon.jobs'].evaluator().problem)"
        answer = blender(program, profile, "-b", "--python-expr", ask)
        assert "Traceback" not in answer.stdout + answer.stderr
        assert problem in answer.stdout.partition("STATE")[2]


def test_no_deprecation_is_printed(program, profile):
    answer = blender(program, profile, "-b", "--python-expr", "import bpy; print('STARTED')")
    said = answer.stdout + answer.stderr
    assert "STARTED" in said
    assert [line for line in said.splitlines() if "deprecat" in line.lower() or "Traceback" in line] == []


def test_the_command(program, profile):
    answer = blender(program, profile, "--command", "matchcut", "--help")
    assert "score" in answer.stdout
    answer = blender(program, profile, "--command", "matchcut", "probe", "a.mp4", status=2)
    assert "the evaluator is not installed" in answer.stdout + answer.stderr


def test_the_installed_evaluator_answers(program, profile, need_evaluator_inside):
    need_evaluator_inside(program)
    pytest.importorskip("pydantic", reason="these tests run in an environment without the evaluator's packages")
    environment = {**profile, "MATCHCUT_PYTHON": sys.executable}
    answer = blender(program, environment, "--command", "matchcut", "probe", "/no/such/video.mp4", status=2)
    assert "/no/such/video.mp4" in answer.stdout + answer.stderr
