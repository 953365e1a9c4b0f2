# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad videos end every command that takes one in a right result or one line and exit status 2; nothing hangs."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import media_hostile as hostile
import pytest
from media_samples import pictures, write_video

MEGABYTES = 800

# command → its arguments for a bad file, with another good video and a folder to write into
COMMANDS = {
    "probe": lambda bad, good, out: ["probe", bad],
    "check": lambda bad, good, out: ["check", "--reference", bad, "--reconstruction", good],
    "check the other way": lambda bad, good, out: ["check", "--reference", good, "--reconstruction", bad],
    "score": lambda bad, good, out: ["score", "--reference", bad, "--reconstruction", good, "--out", out],
    "score the other way": lambda bad, good, out: ["score", "--reference", good, "--reconstruction", bad, "--out", out],
    "checklist": lambda bad, good, out: ["checklist", "validate", out, "--reference", bad],
    "conform": lambda bad, good, out: ["conform", bad, "--rate", "25", "--out", f"{out}/a.mp4"],
    "compare": lambda bad, good, out: ["compare", "--reference", bad, "--reconstruction", good, "--out", out],
    "render": lambda bad, good, out: ["render", "scene.blend", "--reference", bad, "--out", out],
}


def there(command):
    """Whether this version has the command."""
    return importlib.util.find_spec(f"matchcut.evaluator.cli.{command.split()[0]}") is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture(scope="module")
def refused(folder):
    return hostile.make_refused(folder, pictures(12, width=32, height=32), write_video)


@pytest.fixture(scope="module")
def odd(folder):
    return hostile.make_odd(folder, pictures(12, width=32, height=32), write_video)


def tried(commands, cwd):
    """What a child that runs the commands one after another says of each; named where it crashes or hangs."""
    answer = subprocess.run(
        [sys.executable, "-X", "faulthandler", hostile.__file__], input=json.dumps(commands), cwd=cwd,
        capture_output=True, text=True, errors="replace", timeout=hostile.SECONDS * 10, check=False,
    )  # fmt: skip
    results = [json.loads(line) for line in answer.stdout.splitlines()]
    last = commands[min(len(results), len(commands) - 1)]
    assert answer.returncode == 0, f"{last}: exit status {answer.returncode}\n{answer.stderr[-3000:]}"
    assert len(results) == len(commands)
    return results


@pytest.fixture(scope="module")
def answers(folder, refused):
    """What each command says of each bad file, and the folder it was to write into."""
    good = str(folder / "good.mp4")
    tries = {
        (command, name): folder / f"out {command}" for command in COMMANDS if there(command) for name, _ in refused
    }
    runs = [COMMANDS[command](str(folder / name), good, str(out)) for (command, name), out in tries.items()]
    return dict(zip(tries, tried(runs, folder), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_video_is_one_line_and_status_2(command, folder, refused, answers):
    if not there(command):
        pytest.skip(f"there is no command {command}")
    for name, said in refused:
        status, output, lines, traces, _, memory = answers[command, name]
        assert status == 2 and output == "" and not traces, (name, status, lines)
        assert len(lines) == 1, (name, lines)
        assert str(folder / name) in lines[0] and said in lines[0], (name, lines)
        assert memory < MEGABYTES, name
    out = folder / f"out {command}"
    assert [path.name for path in out.rglob("*") if path.is_file()] == [] if out.exists() else True


def test_what_looks_bad_and_is_not_is_read(folder, odd):
    runs = [["probe", "--json", "--", name] for name, _ in odd]  # relative: a leading dash has to be told apart
    runs += [COMMANDS["check"](str(folder / name), str(folder / "plain.mp4"), "") for name, _ in odd]
    runs += [["probe", "--", name] for name, _ in odd]
    results = tried(runs, folder)
    for (name, frames), (status, output, lines, traces, _, _) in zip(odd, results, strict=False):
        assert status == 0 and not lines and not traces, (name, lines)
        info = json.loads(output)
        assert (info["path"], info["timeline"]["frames"]) == (name, frames)
        assert info["timeline"]["rate"] == "25/1", name
    for (name, _), (status, output, lines, traces, _, _) in zip(odd, results[len(odd) : 2 * len(odd)], strict=True):
        assert status == 0 and "frames" in output and not traces, (name, lines)
    for (name, _), (status, output, _, _, _, _) in zip(odd, results[2 * len(odd) :], strict=True):
        assert status == 0 and all(line[:2] in ("  ", *LABELS) for line in output.splitlines()), (name, output)


LABELS = ("fi", "si", "ra", "fr", "du", "st", "ed", "ho", "co", "al", "sh", "wa")
"""First letters of the table's rows: a name's line feed starts no row."""


def test_real_clips_on_the_command_line(media):
    files = sorted(path for path in media.iterdir() if path.stat().st_size < 200_000 or "truncated" in path.name)
    for path, (status, output, lines, traces, _, memory) in zip(
        files, tried([["probe", str(path)] for path in files], media), strict=True
    ):
        readable = path.suffix != ".md" and path.name != "truncated_bedroom.mp4"
        assert status == (0 if readable else 2) and not traces, (path, lines)
        assert bool(output) is readable and len(lines) == (not readable)
        assert memory < MEGABYTES


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission(folder, refused):
    assert ("locked.mp4", "may not be read") in refused


def test_a_video_that_grows_too_long_is_refused(folder, monkeypatch):
    from matchcut.evaluator.media import scan
    from matchcut.evaluator.protocol.errors import BadInputError

    path = write_video(folder / "long.mp4", pictures(12, width=32, height=32))
    monkeypatch.setattr(scan, "MOST_FRAMES", 5)
    with pytest.raises(BadInputError, match="more than 5 frames"):
        scan.scan(Path(path))
