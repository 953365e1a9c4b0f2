# SPDX-License-Identifier: GPL-3.0-or-later
"""The page for raters: no names, aligned pictures, an order of its own, votes that are kept one by one."""

import io
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from bench_samples import TIMELINE, clip, write_benchmark
from matchcut.evaluator.agreement.page import RaterPage, reconstruction
from matchcut.evaluator.agreement.records import Votes
from matchcut.evaluator.agreement.sample import sample_study
from matchcut.evaluator.checklist.benchmark import load_benchmark
from matchcut.evaluator.checklist.records import SETTINGS
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.messages import SilentReporter
from PIL import Image
from report_browser import Browser, find_program
from test_judge_human import call, until

NAMES = ("model-alpha", "model-beta")
SHADES = {"reference": 0, "model-alpha": 60, "model-beta": 120}


def write_video(path, tint):
    """Frame f is grey 2f + 20 with `tint` more red."""
    pictures = []
    for frame in range(TIMELINE.frames):
        picture = np.full((TIMELINE.height, TIMELINE.width, 3), 2 * frame // 2 + 20, np.uint8)
        picture[..., 0] += tint
        pictures.append(picture)
    path.parent.mkdir(parents=True, exist_ok=True)
    encode(pictures, TIMELINE.rate, path, reporter=SilentReporter(), total=TIMELINE.frames)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """(benchmark, folder of submissions, study)"""
    folder = tmp_path_factory.mktemp("study")
    write_video(folder / "reference.mp4", 0)
    clips = [clip(f"c{n}", "v", "rotation", "object_presence", "action_events", offset=20 * n) for n in range(3)]
    bench = write_benchmark(folder / "bench", clips, references={"v": folder / "reference.mp4"})
    for name in NAMES:
        first = reconstruction(folder / "runs", name, "proxy", "v")
        write_video(first, SHADES[name])
        for setting in SETTINGS[1:]:
            other = reconstruction(folder / "runs", name, setting, "v")
            other.parent.mkdir(parents=True)
            other.write_bytes(first.read_bytes())
    loaded = load_benchmark(bench)
    return loaded, folder / "runs", sample_study(loaded, NAMES, lambda *_: True, tasks=4, seed=1)


@pytest.fixture
def rater(place, tmp_path):
    bench, runs, study = place
    page = RaterPage(study, bench, runs, "ann", tmp_path / "votes" / "ann.json")
    yield page
    page.close()


def state(page):
    return call(page.address, "state")[1]


def test_pictures_are_aligned_and_nothing_names_a_configuration(place, rater):
    _, _, study = place
    seen = json.dumps(state(rater))
    assert not any(name in seen for name in NAMES)
    for shown in (state(rater)["task"], state(rater)["next"]):
        task = next(task for task in study.tasks if task.id == shown["key"])
        offset = 20 * int(task.clip[1:])
        for role, name in (("reference", "reference"), ("a", task.a), ("b", task.b)):
            for index, frame in enumerate(shown["frames"]):
                status, data = call(rater.address, f"picture/{task.id}/{role}/{index}")
                red, green, _ = np.array(Image.open(io.BytesIO(data))).mean(axis=(0, 1))
                assert status == 200 and abs(green - (offset + frame + 20)) < 4
                assert abs(red - green - SHADES[name]) < 8
        assert shown["frames"] == ([0] if task.dimension == "static" else list(range(10)))
    for wrong in ("t99999/a/0", f"{task.id}/c/0", f"{task.id}/a/99", f"{task.id}/a/x", f"{task.id}/a"):
        assert call(rater.address, f"picture/{wrong}")[0] == 404


def test_votes_are_kept_one_by_one_and_can_be_taken_back(place, rater, tmp_path):
    bench, runs, study = place
    key = state(rater)["task"]["key"]
    for body in ({"key": key, "choice": "c"}, {"key": "t99999", "choice": "a"}, {"key": key, "choice": "issue"}):
        assert call(rater.address, "vote", body)[0] == 400
    after = call(rater.address, "vote", {"key": key, "choice": "a"})[1]
    assert (after["done"], after["last"]) == (1, key) and after["task"]["key"] != key
    file = tmp_path / "votes" / "ann.json"
    assert [(vote.task, vote.choice) for vote in Votes.read(file).votes] == [(key, "a")]
    assert call(rater.address, "vote", {"key": key, "choice": None})[1]["task"]["key"] == key
    assert Votes.read(file).votes == []
    for _ in range(11):
        call(rater.address, "vote", {"key": state(rater)["task"]["key"], "choice": "tie"})
    assert not rater.finished.is_set()
    rater.close()
    again = RaterPage(study, bench, runs, "ann", file)
    try:
        left = state(again)
        assert (left["done"], left["total"], left["next"]) == (11, 12, None)
        body = {"key": left["task"]["key"], "choice": "issue", "explanation": "does not play"}
        assert "task" not in call(again.address, "vote", body)[1] and again.finished.is_set()
    finally:
        again.close()
    assert Votes.read(file).votes[-1].explanation == "does not play"


def test_every_rater_has_an_order_of_their_own(place, tmp_path):
    bench, runs, study = place
    orders = []
    for name in ("ann", "bob", "ann"):
        page = RaterPage(study, bench, runs, name, tmp_path / f"{len(orders)}.json")
        order = []
        while "task" in (now := state(page)):
            order.append(now["task"]["key"])
            call(page.address, "vote", {"key": order[-1], "choice": "a"})
        orders.append(order)
        page.close()
    assert orders[0] == orders[2] != orders[1] and sorted(orders[0]) == sorted(orders[1])


def test_votes_of_another_study_are_not_taken_over(place, tmp_path):
    bench, runs, study = place
    Votes(rater="ann", study="0", votes=[]).write(tmp_path / "ann.json")
    with pytest.raises(BadInputError, match="is of another study"):
        RaterPage(study, bench, runs, "ann", tmp_path / "ann.json")


def test_video_that_does_not_play_is_told_without_its_name(place, tmp_path):
    bench, _, study = place
    page = RaterPage(study, bench, tmp_path / "nothing", "ann", tmp_path / "ann.json")
    try:
        key = state(page)["task"]["key"]
        assert call(page.address, f"picture/{key}/a/0") == (503, {"error": "this video cannot be played"})
    finally:
        page.close()


def test_keys_rate_in_the_browser(place, rater, tmp_path, artifacts):
    program = find_program()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    browser = Browser(program, tmp_path / "profile")
    try:
        browser.open(rater.address, width=1400)
        chosen = []
        for key, choice in (("1", "a"), ("2", "tie"), ("3", "b")):
            browser.wait("document.body.dataset.ready === 'yes'")
            chosen.append((browser.run("document.body.dataset.key"), choice))
            if choice == "tie":
                browser.press("ArrowRight")
                browser.picture(artifacts / "rate-pair.png")
            browser.press(key)
            browser.wait(f"document.body.dataset.key !== '{chosen[-1][0]}'")
        until(lambda: len(Votes.read(tmp_path / "votes" / "ann.json").votes) == 3)
        assert [(vote.task, vote.choice) for vote in Votes.read(tmp_path / "votes" / "ann.json").votes] == chosen
        browser.wait("document.body.dataset.ready === 'yes'")
        browser.press("Backspace")
        browser.wait(f"document.body.dataset.key === '{chosen[-1][0]}'")
        assert browser.errors == []
        assert all(address.startswith((rater.address, "data:")) for address in browser.requests)
        assert not any(name in address for address in browser.requests for name in NAMES)
    finally:
        browser.close()


def test_command_ends_once_all_is_rated(root, place, tmp_path):
    bench, runs, study = place
    study.write(tmp_path / "study.json")
    command = [
        sys.executable, str(root / "__main__.py"), "agreement", "rate", str(tmp_path), "--benchmark", str(bench.folder),
        "--runs", str(runs), "--rater", "ann", "--no-browser",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, encoding="utf-8"
    ) as run:
        said = ""
        while (found := re.search(r"http://127\.0\.0\.1:\S+/", said)) is None:
            line = run.stderr.readline()
            assert line, said
            said += line
        now = call(found[0], "state")[1]
        while "task" in now:
            now = call(found[0], "vote", {"key": now["task"]["key"], "choice": "tie"})[1]
        assert run.wait(60) == 0, run.stderr.read()
    kept = Votes.read(tmp_path / "votes" / "ann.json")
    assert {vote.task for vote in kept.votes} == {task.id for task in study.tasks}
