# SPDX-License-Identifier: GPL-3.0-or-later
"""The reference is moved, replaced by one of another length, deleted while the scene is scored; the disk is full."""

import os
import shutil
from pathlib import Path

import bpy
from drive import module, until
from mishaps import begin, ended, press, started


def steps(window):
    jobs = module("jobs")
    yield from begin(window)
    scene = bpy.context.scene
    reference = scene.matchcut.reference
    video = window.out / "clips" / "reference.mp4"

    moved = video.with_name("moved.mp4")
    video.rename(moved)
    window.facts["moved"] = [press(window, "score"), jobs.running() is None, (window.out / "matchcut").exists()]
    yield 1.5
    yield from window.picture("1-moved")
    moved.rename(video)

    shutil.copy(os.environ["MATCHCUT_TEST_SHORTER"], video)
    said = press(window, "score")
    window.facts["replaced"] = {"said": said, "frames": reference.frames}
    if not said:
        yield from ended(window, "replaced_job")
    yield 1.0
    yield from window.picture("2-replaced")
    press(window, "read_reference")
    yield from until(lambda: reference.known and reference.frames == 12 and jobs.running() is None, 60)
    shutil.copy(os.environ["MATCHCUT_TEST_REFERENCE"], video)
    press(window, "read_reference")
    yield from until(lambda: reference.known and reference.frames == 24 and jobs.running() is None, 60)

    scene.matchcut.samples = 64
    scene.matchcut.output = str(window.out / "deleted")
    window.facts["begun"] = press(window, "score")
    yield from started()
    video.unlink()
    yield from ended(window, "deleted")
    window.facts["deleted_results"] = [str(path) for path in (window.out / "deleted").rglob("results.json")]
    window.facts["deleted_partial"] = [str(path) for path in (window.out / "deleted").rglob(".partial*")]
    yield from window.picture("3-deleted")
    shutil.copy(os.environ["MATCHCUT_TEST_REFERENCE"], video)

    disk = Path(os.environ.get("MATCHCUT_TEST_DISK", ""))
    if disk.name:
        scene.matchcut.samples = 1
        scene.matchcut.output = str(disk / "matchcut")
        (disk / "ballast").write_bytes(bytes(int(os.environ["MATCHCUT_TEST_BALLAST"])))
        window.facts["full_said"] = press(window, "score")
        if not window.facts["full_said"]:
            yield from ended(window, "full")
        window.facts["full_left"] = sorted(path.name for path in disk.rglob("results.json"))
        yield from window.picture("4-full")
        (disk / "ballast").unlink()
        window.facts["room"] = press(window, "score")
        yield from ended(window, "after_full")
