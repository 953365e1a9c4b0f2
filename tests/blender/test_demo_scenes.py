# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's scenes, built by a child Blender: used again, built again, and refused in one line."""

import os
import stat
import sys

import pytest
from matchcut.assets_ui.samples import SAMPLES
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.render.sample import build_scene

SAMPLE = SAMPLES["two_shots"]


def build(blender, folder, variant="reconstruction"):
    return build_scene(SAMPLE.name, variant, SAMPLE.sources, folder, blender, SilentReporter())


def test_a_scene_is_built_once_and_again_where_it_is_not_the_scripts_own(blender, tmp_path):
    scene = build(blender, tmp_path)
    first = (scene.read_bytes(), scene.stat().st_mtime_ns)
    assert first[0][:4] == b"\x28\xb5\x2f\xfd"  # compressed with Zstandard
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".blend", ".key"]
    assert (build(blender, tmp_path).read_bytes(), scene.stat().st_mtime_ns) == first
    scene.with_suffix(".key").write_text("built from other scripts")
    assert build(blender, tmp_path).stat().st_mtime_ns > first[1]


@pytest.mark.skipif(os.name != "posix", reason="a script as a program needs POSIX")
def test_a_child_that_fails_leaves_no_scene(tmp_path):
    broken = tmp_path / "blender"
    broken.write_text(f"#!{sys.executable}\nimport sys\nsys.exit('no luck today')\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    folder = tmp_path / "scenes"
    with pytest.raises(OperationalError, match=r"ended with status 1 \(no luck today\)") as caught:
        build(Blender(str(broken), "program", "5.2.0"), folder)
    assert "\n" not in str(caught.value)
    assert list(folder.iterdir()) == []


def test_a_blender_that_does_not_start_is_told(tmp_path):
    with pytest.raises(BadInputError, match="does not start"):
        build(Blender(str(tmp_path / "missing"), "program", "5.2.0"), tmp_path / "scenes")
