# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of deliverables: what is in it, the same bytes each time, whole or not there."""

import json
import os
import subprocess
import sys
import time

import cv2
import numpy as np
import pytest
from deliver_samples import BLEND, FRAMES, RATE, copy_of, hashes, make_job, rebuilt_pictures, reference_pictures, write
from matchcut.evaluator.deliver import package as module
from matchcut.evaluator.deliver.package import is_package, package_job, without_folders
from matchcut.evaluator.deliver.records import FILES, SUBMISSION, Submission
from matchcut.evaluator.deliver.report import MOST_REMARKS, check_remarks, escaped, figures, report_text
from matchcut.evaluator.media.decode import frames
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter


def package(job, reference, out, **options):
    return package_job(job, reference, out, blender=None, reporter=SilentReporter(), **options)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    job, reference = make_job(folder)
    return job, reference, folder / "out", package(job, reference, folder / "out")


def test_everything_is_in_it(made, artifacts):
    job, _reference, out, submission = made
    assert {path.name for path in out.iterdir()} == {*FILES, SUBMISSION}
    assert (out / "scene.blend").read_bytes() == BLEND
    assert (out / "reconstruction.mp4").read_bytes() == (job / "reconstruction.mp4").read_bytes()
    assert Submission.read(out / SUBMISSION) == submission
    assert {file.name: file.sha256 for file in submission.files} == {
        name: digest for name, digest in hashes(out).items() if name != SUBMISSION
    }
    assert submission.reference.cuts == [FRAMES // 2] and submission.timeline_check.passed and submission.passed
    assert submission.comparison.frames == FRAMES and submission.comparison.rate == RATE
    assert probe(out / "comparison.mp4").timeline == submission.comparison
    assert submission.external_files is None
    # the reference at the left, the reconstruction at the right
    shown = frames(out / "comparison.mp4", [15])[0].image
    half = shown.shape[1] // 2
    for side, picture in ((shown[:, :half], reference_pictures()[15]), (shown[:, half:], rebuilt_pictures()[15])):
        small = cv2.resize(side[60:-20, 20:-20], (32, 20)).mean((0, 1))
        assert np.abs(small - picture.mean((0, 1))).max() < 12
    (artifacts / "deliver_report.md").write_bytes((out / "report.md").read_bytes())


def test_the_page_says_what_a_person_asks(made):
    _, _, out, submission = made
    text = (out / "report.md").read_text(encoding="utf-8")
    for figure in (
        "(contact_sheet.png)", "16 a pixel (chosen for the job)",
        "OPTIX (A \\| GPU\\_1)", "OPENIMAGEDENOISE", "AgX on sRGB",
        "1.500 s a frame, 36.0 s for 24", "300 MiB", "5.2.2 LTS",
        "96x64, 24000/1001 fps", "the scene renders 1920x1080",
        "| cut | frame 12 | frame 12 | agrees |", "wall \\<b\\>.png is missing",
    ):  # fmt: skip
        assert figure in text, figure
    assert all(figure in text for _, figure in figures(submission))


def test_the_page_quotes_what_the_maker_says(made):
    _, _, _, submission = made
    page = report_text(submission, "# Mine\n\nA lamp is missing.\n```\nno end")
    assert "## What its maker says\n\n> # Mine\n>\n> A lamp is missing.\n> ```\n> no end\n" in page
    assert all(figure in page for _, figure in figures(submission))
    assert "maker says" not in report_text(submission) and "maker says" not in report_text(submission, " \n")
    check_remarks("x" * MOST_REMARKS)
    for wrong in ("x" * (MOST_REMARKS + 1), "a\0b", "\ud800"):
        with pytest.raises(BadInputError, match="maker's report"):
            check_remarks(wrong)


def test_no_folder_of_a_machine_is_told(made):
    _, _, out, _ = made
    for name in (SUBMISSION, "report.md"):
        text = (out / name).read_text(encoding="utf-8")
        assert "home" not in text and "somebody" not in text and str(out.parent) not in text, name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("see /tmp/job 1/render.log, and again", "see render.log, and again"),
        (r"the image C:\Users\me\a b.png is missing", "the image a b.png is missing"),
        ("the image //textures/a.png is missing", "the image a.png is missing"),
        ("it is 24000/1001 fps, and/or 25/1", "it is 24000/1001 fps, and/or 25/1"),
    ],
)
def test_of_paths_only_the_last_part_stays(text, told):
    assert without_folders(text) == told


def test_escaped_text_does_nothing():
    assert escaped("a|b\n<script> [x](y) `c` &lt;") == r"a\|b \<script\> \[x\](y) \`c\` \&lt;"


def test_the_same_input_gives_the_same_bytes(made, tmp_path):
    job, reference, out, _ = made
    package(job, reference, tmp_path / "again")
    assert hashes(tmp_path / "again") == hashes(out)
    assert [path.name for path in tmp_path.iterdir()] == ["again"]
    package(job, reference, tmp_path / "again")  # of the same job: made anew
    assert hashes(tmp_path / "again") == hashes(out)


def test_what_must_not_be_replaced_is_not(made, tmp_path):
    job, reference, out, _ = made
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "diary.txt").write_text("mine")
    with pytest.raises(BadInputError, match="no package"):
        package(job, reference, strange, replace=True)
    theirs = copy_of(out, tmp_path / "theirs")
    (theirs / "diary.txt").write_text("mine")
    with pytest.raises(BadInputError, match=r"diary\.txt: is no part"):
        package(job, reference, theirs, replace=True)
    (theirs / "diary.txt").unlink()
    other_job = tmp_path / "other"
    other_job.mkdir()
    other, other_reference = make_job(other_job, samples=8)
    with pytest.raises(BadInputError, match="--replace"):
        package(other, other_reference, theirs)
    assert hashes(theirs) == hashes(out)
    package(other, other_reference, theirs, replace=True)
    assert Submission.read(theirs / SUBMISSION).asked.samples == 8
    with pytest.raises(BadInputError, match="lies in"):
        package(job, reference, job.parent)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".partial")]


@pytest.mark.parametrize("name", ["job.json", "status.json", "scene.blend", "reconstruction.mp4"])
def test_an_unfinished_job_is_refused(tmp_path, name):
    job, reference = make_job(tmp_path)
    (job / name).unlink()
    with pytest.raises(BadInputError, match=r"no render job|is missing") as error:
        package(job, reference, tmp_path / "out")
    assert "\n" not in str(error.value) and not (tmp_path / "out").exists()


def test_another_reference_is_refused(tmp_path):
    job, _ = make_job(tmp_path)
    other = write(tmp_path / "other.mp4", reference_pictures()[:20])
    with pytest.raises(BadInputError, match=r"other\.mp4: is 96x64, .* 20 frames.* give the job's reference"):
        package(job, other, tmp_path / "out")
    write(job / "reconstruction.mp4", rebuilt_pictures()[:20])
    with pytest.raises(BadInputError, match="render again"):
        package(job, tmp_path / "given.mp4", tmp_path / "out")


def test_a_video_with_a_fault_is_packaged_and_told(tmp_path):
    images = rebuilt_pictures()
    job, reference = make_job(tmp_path, images=[*images[1:], images[-1]])
    submission = package(job, reference, tmp_path / "out")
    text = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert not submission.passed and "NOT AS IT SHOULD BE" in text and "EARLY -1" in text


def test_an_interrupted_run_leaves_no_package_and_goes_on(made, tmp_path, monkeypatch):
    job, reference, out, _ = made
    target = tmp_path / "out"

    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "side_by_side", interrupted)
        with pytest.raises(KeyboardInterrupt):
            package(job, reference, target)
    assert list(tmp_path.iterdir()) == []
    with monkeypatch.context() as patch:
        patch.setattr(module, "report_text", interrupted)  # the comparison is finished by then
        with pytest.raises(KeyboardInterrupt):
            package(job, reference, target)
    assert [path.name for path in tmp_path.iterdir()] == [".partial-out"] and not is_package(target)
    (tmp_path / ".partial-out" / "left over").mkdir()
    monkeypatch.setattr(module, "side_by_side", interrupted)  # it is not made twice
    package(job, reference, target)
    assert hashes(target) == hashes(out) and [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_killed_run_leaves_no_half_package(made, root, tmp_path):
    """It is killed when all but the last file is there; then it goes on to the end."""
    job, reference, out, _ = made
    target, partial = tmp_path / "out", tmp_path / ".partial-out"
    command = [sys.executable, str(root / "__main__.py"), "package", str(job), "--reference", str(reference), "--out"]
    quiet = {
        "env": {**os.environ, "BLENDER": str(tmp_path / "no blender")}, "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }  # fmt: skip
    with subprocess.Popen([*command, str(target)], **quiet) as process:
        end = time.monotonic() + 60
        while not (partial / "comparison.mp4").exists():
            assert process.poll() is None and time.monotonic() < end
        process.kill()
    assert process.returncode == -9 and [path.name for path in tmp_path.iterdir()] == [".partial-out"]
    subprocess.run([*command, str(target)], check=True, **quiet)
    assert hashes(target) == hashes(out) and [path.name for path in tmp_path.iterdir()] == ["out"]


def test_command_line(made, root, tmp_path):
    job, reference, out, _ = made
    command = [sys.executable, str(root / "__main__.py")]
    environment = {"PATH": "", "HOME": str(tmp_path), "BLENDER": str(tmp_path / "no blender")}
    arguments = ["package", str(job), "--reference", str(reference), "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, *arguments, "--json"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "stays unknown" in done.stderr and json.loads(done.stdout) == json.loads((out / SUBMISSION).read_text())
    checked = subprocess.run(
        [*command, "validate", str(tmp_path / "out"), "--reference", str(reference)],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert checked.returncode == 0 and checked.stdout.splitlines()[-1] == "the package is what it says", checked.stdout
    none = subprocess.run([*command, "validate", str(tmp_path / "none")], capture_output=True, text=True)
    assert none.returncode == 2 and none.stderr.count("\n") == 1 and "no folder" in none.stderr
