# SPDX-License-Identifier: GPL-3.0-or-later
"""What a user or a machine can do to a command: closed streams, full disks, odd paths, broken files, two runs."""

import argparse
import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import report_samples as samples
from matchcut.addon.sidebar.results.record import read_score
from matchcut.evaluator.checklist.validate import validate
from matchcut.evaluator.cli import main as front
from matchcut.evaluator.environment import blender as finding
from matchcut.evaluator.environment.create import EVALUATOR, install
from matchcut.evaluator.pipeline import score as pipeline
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.files import atomic_path, read_json, write_json
from matchcut.evaluator.protocol.lock import NAME, sole_user
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from matchcut.evaluator.sgc.estimators import blender as passes

posix = pytest.mark.skipif(os.name != "posix", reason="descriptors, pipes and signals of POSIX")


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return samples.write_video(tmp_path_factory.mktemp("video") / "given.mp4", frames=12, cuts=(6,))


def shell(root, line, **environment):
    """Run `line`, in which $MATCHCUT is the command line; returns what came back."""
    program = f"'{sys.executable}' '{root / '__main__.py'}'"
    return subprocess.run(
        ["/bin/bash", "-c", line.replace("$MATCHCUT", program)],
        capture_output=True, text=True, errors="replace", timeout=60, env={**os.environ, **environment}, check=False,
    )  # fmt: skip


@posix
@pytest.mark.parametrize(
    ("line", "statuses", "said"),
    [
        ("$MATCHCUT probe VIDEO >/dev/full", {3}, "the disk is full"),
        ("$MATCHCUT probe VIDEO >&-", {0}, ""),
        ("$MATCHCUT probe VIDEO <&- >&- 2>&-", {0}, ""),
        ("$MATCHCUT probe VIDEO.no 2>&-", {2}, ""),
        ("$MATCHCUT probe VIDEO --messages | true; exit ${PIPESTATUS[0]}", {0, 3}, ""),
        ("$MATCHCUT --help | true; exit ${PIPESTATUS[0]}", {0, 3}, ""),
    ],
)
def test_streams_that_are_closed_or_full(root, video, line, statuses, said):
    if "/dev/full" in line and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    answer = shell(root, line.replace("VIDEO", f"'{video}'"))
    assert answer.returncode in statuses and said in answer.stderr
    assert "Traceback" not in answer.stderr and "Exception ignored" not in answer.stderr


@posix
def test_a_terminal_that_knows_few_characters(root, tmp_path):
    answer = shell(root, f"$MATCHCUT probe '{tmp_path}/nö →.mp4'", PYTHONIOENCODING="ascii")
    assert answer.returncode == 2 and answer.stderr.endswith(
        "n\\xf6 \\u2192.mp4: there is no such file; give a video file\n"
    )


@posix
def test_a_folder_that_is_gone_and_names_that_no_file_has(root, tmp_path):
    gone = shell(root, f"mkdir '{tmp_path}/gone'; cd '{tmp_path}/gone'; rmdir '{tmp_path}/gone'; $MATCHCUT probe a.mp4")
    assert gone.returncode == 2 and len(gone.stderr.splitlines()) == 1
    for name in ("a" * 5000 + ".mp4", "two\nlines.mp4"):
        answer = shell(root, f"$MATCHCUT probe '{name}'")
        assert answer.returncode == 2 and len(answer.stderr.splitlines()) == 1, answer.stderr


class Failing:
    """A command that meets an error of the system."""

    DESCRIPTION = "a test"

    def __init__(self, error):
        self.error = error

    def add_arguments(self, parser):
        """None."""

    def run(self, arguments, reporter):
        """Fail."""
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 3, "the disk is full; free some space"),
        (OSError(errno.EIO, "Input/output error", "a/b"), 3, "a/b: Input/output error"),
        (PermissionError(errno.EACCES, "Permission denied", "a/b"), 2, "a/b: Permission denied"),
        (MemoryError(), 3, "not enough memory"),
    ],
)
def test_an_error_of_the_system_is_one_line(error, status, text, capsys):
    assert front.run_command(Failing(error), argparse.Namespace(messages=False)) == status
    line = capsys.readouterr().err
    assert line.startswith("matchcut: ") and text in line and line.count("\n") == 1


def test_a_write_that_fails_names_the_file_and_not_the_temporary_one(tmp_path):
    with pytest.raises(OSError) as full, atomic_path(tmp_path / "a.json"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert full.value.filename == str(tmp_path / "a.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError) as below:
        write_json(tmp_path / "file" / "a.json", {})
    assert below.value.filename == str(tmp_path / "file" / "a.json")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"format": "x/1", "a": {"b": 1, "b": 2}}', "'b' is given twice"),
        ('{"format": "x/1", "a": NaN}', "NaN is no number"),
        ('{"format": "x/1", "a": -Infinity}', "-Infinity is no number"),
    ],
)
def test_what_python_takes_for_json_and_json_does_not_allow(tmp_path, text, reason):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(BadInputError, match=reason):
        read_json(path, "x/1")
    path.write_bytes(b'\xef\xbb\xbf{"format": "x/1"}')
    assert read_json(path, "x/1") == {"format": "x/1"}


@posix
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(BadInputError, match="not a regular file"):
        read_json(tmp_path / "a.json")


def test_one_run_at_a_time_in_a_folder(tmp_path, root):
    folder = tmp_path / "out"
    with sole_user(folder), pytest.raises(BadInputError, match="another run works"), sole_user(folder):
        pass
    with sole_user(folder):
        pass
    assert list(folder.iterdir()) == []
    # a process that is killed holds nothing
    code = (
        f"import runpy, time; runpy.run_path({str(root / '__main__.py')!r}, run_name='x')['load_package']()\n"
        "from pathlib import Path\nfrom matchcut.evaluator.protocol.lock import sole_user\n"
        f"with sole_user(Path({str(folder)!r})): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        assert other.stdout.readline().strip() == b"held"
        with pytest.raises(BadInputError), sole_user(folder):
            pass
        other.kill()
    assert (folder / NAME).exists()
    with sole_user(folder):
        pass


def test_a_score_whose_report_cannot_be_written_leaves_no_results(video, tmp_path, monkeypatch):
    def full(*arguments, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pipeline, "write_report", full)
    request = pipeline.ScoreRequest(reference=video, reconstruction=video, out=tmp_path / "out")
    with pytest.raises(OSError):
        pipeline.score(request, reporter=SilentReporter(), blender=lambda: pytest.fail("nothing to render"))
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"reference.mp4", "reconstruction.mp4", "plan.json", "estimates", "sgc"}


def fake(folder, *lines):
    """A program that stands in for Blender."""
    path = folder / "blender"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


@posix
def test_a_blender_that_prints_garbage_or_hangs(tmp_path, monkeypatch):
    with pytest.raises(BadInputError, match="printed no version"):
        finding.identify(fake(tmp_path, r"printf '\377\376'"), "$BLENDER")
    with pytest.raises(BadInputError, match=r"is Blender 4\.2\.0"):
        finding.identify(fake(tmp_path, "echo Blender 4.2.0"), "$BLENDER")
    monkeypatch.setattr(finding, "START_SECONDS", 0.5)
    note = tmp_path / "pid"
    started = time.monotonic()
    with pytest.raises(BadInputError, match="told no version within"):
        finding.identify(fake(tmp_path, "sleep 60 &", f"echo $! > '{note}'", "wait"), "$BLENDER")
    assert time.monotonic() - started < 10
    child = Path(f"/proc/{note.read_text().strip()}/stat")
    if Path("/proc/self").exists():
        deadline = time.monotonic() + 5
        while child.exists() and ") Z " not in child.read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not child.exists() or ") Z " in child.read_text(), "what the hanging Blender started still runs"


def test_a_job_whose_fields_are_of_another_type(tmp_path):
    timeline = Timeline(160, 96, samples.RATE, 12)
    job = RenderJob("a.blend", timeline, 0, 11)
    for name, value in (("first", "0"), ("passes", 1), ("samples", 1.5), ("scene", None), ("scale", "1")):
        write_json(tmp_path / "job.json", {**job.to_json(), name: value})
        with pytest.raises(BadInputError, match=f"job.json: render job: {name} is"):
            RenderJob.read(tmp_path)
    write_json(tmp_path / "job.json", {**job.to_json(), "scale": 1})
    assert RenderJob.read(tmp_path) == job
    RenderStatus().write(tmp_path)
    assert RenderStatus.read(tmp_path) == RenderStatus()
    for name, value in (("blender", 5), ("samples", {}), ("notes", "x"), ("done", True)):
        write_json(tmp_path / "status.json", {"format": "matchcut-render-status/1", name: value})
        with pytest.raises(BadInputError, match=f"status.json: {name} is"):
            RenderStatus.read(tmp_path)
    text = (tmp_path / "job.json").read_text().replace('"frames": 12', '"frames": 1e400')
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(BadInputError, match=r"job\.json"):
        RenderJob.read(tmp_path)


def test_an_object_id_that_no_pass_can_hold(tmp_path):
    index = {"format": "matchcut-geometry/1", "first": 0, "last": 0, "chunks": []}
    write_json(tmp_path / "geometry.json", {**index, "objects": [{"id": 10**30, "static": False}]})
    with pytest.raises(BadInputError, match="no 16-bit number"):
        passes.read_index(tmp_path)


def test_a_frame_number_of_four_thousand_digits(tmp_path):
    clip = samples_clip()
    clip["frame_offset"] = 10**4000
    write_json(tmp_path / "a.json", clip)
    faults = validate(tmp_path / "a.json").faults
    assert [fault.path for fault in faults] == ["frame_offset"] and len(str(faults[0])) < 300


def samples_clip():
    """A clip without faults."""
    return {
        "format": "matchcut-clip/1", "id": "a", "video": "v", "frame_offset": 0, "frame_count": 12,
        "shot_transitions": [], "entities": [], "checks": [],
    }  # fmt: skip


def test_setup_never_removes_a_folder_that_is_no_environment(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(BadInputError, match="is no environment"):
        install(EVALUATOR, tmp_path, say=lambda text: None, python=sys.executable)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("value", [10**400, "x", [1], {}])
def test_a_panel_reads_a_score_that_is_no_number(tmp_path, value):
    sgc = {"score": value, "pairs_scored": 1, "pairs_expected": 1}
    checks = {"timeline": {"comparisons": []}, "shots": {"matches": []}, "checklist": {"unscored": True, "reason": "-"}}
    write_json(tmp_path / "results.json", {"format": "matchcut-results/1", **checks, "sgc": sgc})
    with pytest.raises(BadInputError, match=r"results\.json: not what this version"):
        read_score(tmp_path)
