# SPDX-License-Identifier: GPL-3.0-or-later
"""What killed runs leave among files and temporary folders goes at the next run, and what others write stays."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from matchcut.evaluator.protocol import files
from matchcut.evaluator.protocol.files import atomic_path, write_text
from matchcut.evaluator.protocol.scratch import scratch_folder

LOAD = (
    "import runpy, sys, time, pathlib\n"
    "runpy.run_path(sys.argv[1] + '/__main__.py', run_name='main')['load_package']()\n"
)
WRITES = LOAD + (
    "from matchcut.evaluator.protocol.files import atomic_path\n"
    "with atomic_path(pathlib.Path(sys.argv[2]) / 'video.mp4') as path:\n"
    "    path.write_bytes(b'half'); print(path, flush=True); time.sleep(60)\n"
)
WORKS = LOAD + (
    "from matchcut.evaluator.protocol.scratch import scratch_folder\n"
    "with scratch_folder('test') as folder:\n"
    "    (folder / 'pictures').mkdir(); print(folder, flush=True); time.sleep(60)\n"
)
needs_kill = pytest.mark.skipif(os.name != "posix", reason="SIGKILL, and locks that allow writing")


@pytest.fixture
def run(root, tmp_path):
    """Start a process of one of the scripts above; gives it and the path that it says."""
    started = []

    def start(script):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(root), str(tmp_path)], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )  # fmt: skip
        started.append(process)
        return process, Path(process.stdout.readline().strip())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def made_old(path):
    before = time.time() - 120
    os.utime(path, (before, before))


@needs_kill
def test_a_killed_run_s_partial_file_goes_and_a_running_one_s_stays(run, tmp_path, monkeypatch):
    killed, left = run(WRITES)
    _, held = run(WRITES)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    fresh = tmp_path / ".partial-abcdefgh.mp4"
    fresh.touch()
    others = [tmp_path / ".partial-scene.blend", tmp_path / ".partial-mine", tmp_path / "partial-abcdefgh"]
    link = tmp_path / ".partial-linked__"
    link.symlink_to(others[0])
    for path in (left, held, *others):
        path.touch()
        made_old(path)
    monkeypatch.setattr(files, "_tidied", set())
    write_text(tmp_path / "note.txt", "x")
    assert not left.exists(), "nobody writes it any more"
    assert held.exists() and fresh.exists() and link.is_symlink() and all(path.exists() for path in others)
    write_text(tmp_path / "note.txt", "y")
    assert (tmp_path / "note.txt").read_text() == "y"


def test_a_folder_is_looked_through_once(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr(files, "_tidied", set())
    monkeypatch.setattr(files.os, "scandir", lambda path: looked.append(path) or (_ for _ in ()).throw(OSError))
    for number in range(3):
        write_text(tmp_path / f"{number}.txt", "x")
    assert len(looked) == 1


def test_no_handle_stays_open(tmp_path):
    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc")
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir()))
    for number in range(20):
        write_text(tmp_path / f"{number}.txt", "x")
        with pytest.raises(ZeroDivisionError), atomic_path(tmp_path / "bad"):
            raise ZeroDivisionError
    assert len(list(opened.iterdir())) == before
    assert not list(tmp_path.glob(".partial*"))


@needs_kill
def test_a_killed_run_s_temporary_folder_goes_and_a_running_one_s_stays(run, tmp_path, monkeypatch):
    killed, left = run(WORKS)
    _, held = run(WORKS)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    link, file = tmp_path / "matchcut-test-link", tmp_path / "matchcut-test-file"
    link.symlink_to(tmp_path)
    file.touch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder("test") as folder:
        assert left.exists(), "it may belong to a run that has just begun"
        assert folder.parent == tmp_path
    assert not folder.exists()
    for path in (left, held, file):
        made_old(path)
    with scratch_folder("other"):
        assert left.exists()
    with scratch_folder("test"):
        assert not left.exists() and (held / "pictures").exists() and link.is_symlink() and file.exists()
