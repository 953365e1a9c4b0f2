# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames are rendered again, and when a frame of a video is what was rendered; children without a network."""

import socket
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from deliver_samples import BLEND, copy_of, make_job, write
from matchcut.evaluator.audit.choose import choose_frames
from matchcut.evaluator.audit.records import AuditReport
from matchcut.evaluator.audit.rerender import Submitted, compare_frame, find_submitted, report_lines, rerender
from matchcut.evaluator.audit.rerender_records import RerenderedFrame, RerenderReport
from matchcut.evaluator.deliver.package import package_job
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.environment.sealed import SealedBlender, sealed, without_network
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError, OperationalError
from matchcut.evaluator.protocol.messages import SilentReporter
from media_samples import pictures
from render_stub import stand_in

SIZE = (320, 192)


def test_a_seed_chooses_the_same_frames_and_another_seed_others():
    assert choose_frames(72, [40], 5, 7) == choose_frames(72, [40], 5, 7) == [12, 19, 27, 48, 59]
    assert len({tuple(choose_frames(72, [40], 5, seed)) for seed in range(50)}) > 40


@pytest.mark.parametrize("count", [1, 2, 3, 8, 30, 72, 100])
@pytest.mark.parametrize("cuts", [[], [40], [3, 4, 5, 60], list(range(1, 72))])
def test_frames_are_spread_over_the_shots(count, cuts):
    starts = [0, *cuts]
    for seed in range(20):
        chosen = choose_frames(72, cuts, count, seed)
        assert len(chosen) == len(set(chosen)) == min(count, 72) and chosen == sorted(chosen)
        assert chosen[0] >= 0 and chosen[-1] < 72
        shots = {max(start for start in starts if start <= frame) for frame in chosen}
        assert len(shots) == min(count, len(starts), 72)


def test_every_frame_can_be_chosen_and_the_ends_are_not_always():
    seen = [choose_frames(24, [10], 3, seed) for seed in range(400)]
    assert {frame for chosen in seen for frame in chosen} == set(range(24))
    assert sum(0 in chosen for chosen in seen) < 120 and sum(23 in chosen for chosen in seen) < 120


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A rendered sequence, a reference that is another one, and videos of the rendered one with each change."""
    folder = tmp_path_factory.mktemp("shown")
    rendered = pictures(16, seed=2, width=SIZE[0], height=SIZE[1])
    given = pictures(16, seed=5, width=SIZE[0], height=SIZE[1])
    random = np.random.default_rng(3)

    def video(name, images):
        return probe(write(folder / f"{name}.mp4", [image.clip(0, 255).astype(np.uint8) for image in images]))

    patched = [image.copy() for image in rendered]
    for image, other in zip(patched, given, strict=True):
        image[40:90, 100:180] = other[40:90, 100:180]
    noisy = [image + random.normal(0, 20, image.shape) for image in rendered]
    return rendered, given, {
        "honest": video("honest", rendered),
        "noisy": video("noisy", noisy),
        "half": video("half", [cv2.resize(image, (160, 96), interpolation=cv2.INTER_AREA) for image in rendered]),
        "reference": video("reference", given),
        "mixed": video("mixed", [0.35 * a + 0.65 * b for a, b in zip(rendered, given, strict=True)]),
        "patched": video("patched", patched),
        "brighter": video("brighter", [image * 1.06 for image in rendered]),
        "late": video("late", [rendered[0], *rendered[:-1]]),
        "other": video("other", pictures(16, seed=11, width=SIZE[0], height=SIZE[1])),
    }  # fmt: skip


def compared(shown, name, frame=8):
    rendered, given, videos = shown
    return compare_frame(frame, frame, rendered[frame], given[frame], videos[name])


@pytest.mark.parametrize("name", ["honest", "noisy", "half"])
def test_honest_frames_agree(shown, name):
    for frame in (0, 5, 8, 15):
        found = compared(shown, name, frame)
        assert found.verdict == "agree" and not found.nearer_to_reference and found.reference_share is None, found


@pytest.mark.parametrize(
    ("name", "nearer"),
    [("reference", True), ("mixed", True), ("patched", True), ("brighter", False), ("other", None), ("late", False)],
)
def test_other_frames_differ(shown, name, nearer):
    for frame in (5, 8, 12):
        found = compared(shown, name, frame)
        assert found.verdict == "differ" and nearer in (None, found.nearer_to_reference), (name, found)
        assert found.nearest == (frame + 1 if name == "late" else None)
        if name == "patched":
            left, top, right, bottom = found.cell
            assert left < 180 and right > 100 and top < 90 and bottom > 40 and found.differing < 0.3


def test_a_record_contradicts_itself_no_more_than_its_frames():
    frame = RerenderedFrame(frame=3, shown=3, verdict="failed", detail="frame 3 was not rendered: it crashed")
    fields = {
        "scene": "a.blend", "scene_sha256": "0" * 64, "reference": "r.mp4", "reference_sha256": "0" * 64,
        "reconstruction": "v.mp4", "reconstruction_sha256": "0" * 64, "seed": 1, "settings": "scene",
        "width": 64, "height": 36, "samples": 4, "engine": "CYCLES", "device": "CPU", "blender": "5.2.2",
        "isolation": "none", "threshold_levels": 6.0, "nearer_to_reference": False,
    }  # fmt: skip
    report = RerenderReport(**fields, frames=[frame], verdict="undecided")
    lines = list(report_lines(report))
    assert "FAILED: frame 3" in lines[1] and lines[-1].startswith("not decided") and "1 failed" in lines[-1]
    with pytest.raises(ValueError, match="contradicts"):
        RerenderReport(**fields, frames=[frame], verdict="agree")
    differs = frame.model_copy(update={"verdict": "differ"})
    other = RerenderReport(**fields, frames=[frame, differs], verdict="differ")
    audit = {
        "scene": "a.blend", "scene_sha256": "0" * 64, "rendered_scene": "Scene", "reference": "r.mp4",
        "reference_sha256": "0" * 64, "reference_frames": 4, "blender": "5.2.2", "findings": [], "pictures_compared": 0,
    }  # fmt: skip
    assert AuditReport(**audit, passed=True, rerender=report).passed
    with pytest.raises(ValueError, match="contradicts"):
        AuditReport(**audit, passed=True, rerender=other)


def test_settings_come_from_the_folder(tmp_path):
    job, reference = make_job(tmp_path, scale=0.5, samples=7, images=[p[::2, ::2] for p in pictures(24)])
    found = find_submitted(job)
    assert found.settings == "job" and found.asked.samples == 7 and found.scene == job / "scene.blend"
    package_job(job, reference, tmp_path / "out", blender=None, reporter=SilentReporter())
    package = find_submitted(copy_of(tmp_path / "out", tmp_path / "sent"))
    assert package.settings == "submission" and package.asked.scale == 0.5
    bare = find_submitted(job / "scene.blend")
    assert bare.settings == "scene" and bare.reconstruction is None
    with pytest.raises(BadInputError, match="neither a package nor a job"):
        find_submitted(tmp_path)
    nowhere = Blender("/nowhere/blender", "program", "5.2.0")
    for asked, count, told in ((bare, 3, "--reconstruction"), (found, 0, "from 1"), (found, 10**9, "from 1")):
        with pytest.raises(BadInputError, match=told):
            rerender(asked, reference, count=count, seed=1, blender=nowhere, reporter=SilentReporter())


def test_children_start_offline_and_without_network():
    blender = sealed(Blender("/opt/blender", "program", "5.2.2"))
    command = blender.command("audit-scene", "a.blend", "out")
    place = command.index("/opt/blender")
    assert command[place + 1] == "--offline-mode" and "--disable-autoexec" in command
    assert command[:place] == list(blender.prefix) and "no scripts" in blender.isolation
    wheel = SealedBlender("/opt/python", "wheel", "5.2.3").command("x")
    assert "--offline-mode" not in wheel and wheel[0] == "/opt/python"


@pytest.mark.skipif(not without_network(), reason="this system lets nobody take the network away")
def test_the_network_is_away():
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)"
        here = subprocess.run([sys.executable, "-c", code], capture_output=True)
        apart = subprocess.run([*without_network(), sys.executable, "-c", code], capture_output=True, text=True)
    assert here.returncode == 0 and apart.returncode != 0 and "unreachable" in apart.stderr.lower()


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script with a first line")
def test_a_frame_that_is_not_rendered_is_no_difference(tmp_path):
    greys = [np.full((36, 64, 3), 60 * frame % 256, np.uint8) for frame in range(6)]
    video, scene = write(tmp_path / "v.mp4", greys), tmp_path / "scene.blend"
    scene.write_bytes(BLEND)
    submitted = Submitted(scene, video, "scene", None)

    def again(do, count=6):
        return rerender(
            submitted, video, count=count, seed=1, blender=stand_in(tmp_path, do), reporter=SilentReporter()
        )

    report = again("render()")
    assert report.verdict == "agree" and [frame.frame for frame in report.frames] == list(range(6))
    report = again("render(lambda frame: frame == 4 and die())")
    assert report.verdict == "undecided" and [frame.verdict == "failed" for frame in report.frames] == [
        0,
        0,
        0,
        0,
        1,
        0,
    ]
    assert "crashed" in report.frames[4].detail and str(tmp_path) not in report.model_dump_json()
    with pytest.raises(OperationalError, match=r"crashed|no frame"):
        again("render(lambda frame: die())", count=2)


def test_a_missing_scene_is_one_line(tmp_path):
    job, reference = make_job(tmp_path)
    Path(job / "scene.blend").unlink()
    with pytest.raises(BadInputError, match=r"scene\.blend: cannot be read"):
        rerender(
            find_submitted(job), reference, count=1, seed=1, reporter=SilentReporter(),
            blender=Blender("/nowhere/blender", "program", "5.2.0"),
        )  # fmt: skip
