# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench leaderboard`: pages of tables and of videos in step, read as text and in a real Chromium."""

import functools
import http.server
import json
import os
import re
import stat
import threading
from pathlib import Path

import pytest
import report_samples as samples
from bench_samples import clip, write_benchmark
from judge_stub import JudgeStub, asked, labels
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.media.probe import probe
from report_browser import Browser, find_program
from test_report_browser import READ, QuietHandler

FRAMES = 24
HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>"
READY = "[...document.querySelectorAll('video')].every(v => !v.src || v.readyState >= 2 && !v.seeking)"
VALUES = ("fully_satisfied", "partially_satisfied", "unsatisfied")


def rate(body):
    """Labels in turn."""
    checks = asked(body)["checks"]
    return labels(*[VALUES[number % 3] for number in range(len(checks))])


def stage_result(stage, plan, task, run, folder, **options):
    return {"passed": stage != "audit" or task.configuration.name != "two", "findings": [], "rerender": None}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A judged benchmark whose words are hostile; the configuration `two` is disqualified, `three` has no video."""
    folder = tmp_path_factory.mktemp("board")
    samples.write_video(folder / "v.mp4", frames=FRAMES, cuts=(8,))
    clips = [
        clip("c1", video, "rotation", "object_presence", "action_events", "zoom", offset=4, frames=16)
        for video in ("v", "w")
    ]
    clips = [
        one.model_copy(update={"checks": [c.model_copy(update={"statement": f"{HOSTILE} {c.id}"}) for c in one.checks]})
        for one in clips
    ]
    bench = write_benchmark(
        folder / "bench", clips, timeline=probe(folder / "v.mp4").timeline,
        references={"v": folder / "v.mp4", "w": folder / "v.mp4"}, name=HOSTILE,
    )  # fmt: skip
    for name in "vw":
        path = bench / "videos" / name / "video.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"kind": f"kind {name} <b>", "source": HOSTILE}))
    lines = ['format = "matchcut-configurations/1"']
    for number, name in enumerate(("one", "two", "three")):
        lines.append(f'[[configuration]]\nname = "{name}"\nagent = "artist:hands/{name}"')
        for video in "vw":
            place = folder / "hands" / name / "proxy" / video
            place.mkdir(parents=True)
            (place / "scene.blend").write_bytes(b"BLENDER17-01v0502")
            if name != "three":
                samples.write_video(place / "reconstruction.mp4", frames=FRAMES, cuts=(8 + number,))
    (folder / "mine.toml").write_text("\n".join(lines))
    blender = folder / "blender"
    blender.write_text("#!/bin/sh\necho Blender 5.2.0\n")
    blender.chmod(blender.stat().st_mode | stat.S_IXUSR)
    with pytest.MonkeyPatch.context() as patch, JudgeStub(rate) as stub:
        patch.setenv("BLENDER", str(blender))
        patch.setattr(run_module, "run_stage", stage_result)
        arguments = ["bench", "run", bench, "--runs", folder / "runs", "--out", folder / "results",
                     "--judge", stub.spec, "--configurations", folder / "mine.toml",
                     "--setting", "proxy", "--isolation", "none"]  # fmt: skip
        assert main([str(one) for one in arguments]) == 0
    assert main(["bench", "leaderboard", str(folder / "results"), "--out", str(folder / "board"),
                 "--base", "one", "--variant", "two"]) == 0  # fmt: skip
    return folder


def test_the_pages_hold_scores_marks_and_every_video(made):
    index = (made / "board" / "index.html").read_text()
    assert (
        "two − one" in index
        and "+0.0" in index
        and "50.0" in index
        and "disqualified" in index
        and "kind v &lt;b&gt;" in index
    )
    for name in "vw":
        place = made / "board" / "videos" / name
        assert (place / "reference.mp4").read_bytes() == (made / "v.mp4").read_bytes()
        source = made / "hands" / "one" / "proxy" / name / "reconstruction.mp4"
        assert (place / "proxy" / "one.mp4").read_bytes() == source.read_bytes()
        assert not (place / "proxy" / "three.mp4").exists()
        data = json.loads(re.search(r'id="data">(.*?)</script>', (place / "index.html").read_text(), re.S)[1])
        assert [one["address"] for one in data["settings"]["proxy"]] == ["proxy/one.mp4", None, "proxy/two.mp4"]


def test_hostile_words_are_text(made):
    for page in (made / "board").rglob("*.html"):
        text = page.read_text()
        assert "<script>document.title" not in text and "<img" not in text and "onerror=alert(1)>" not in text
        assert "&lt;/script&gt;&lt;script&gt;" in text


def test_of_an_exported_file_there_are_ratings_and_no_words_and_no_videos(made, tmp_path):
    assert main(["bench", "export", str(made / "results"), "--file", str(tmp_path / "run.json")]) == 0
    assert main(["bench", "leaderboard", str(tmp_path / "run.json"), "--out", str(tmp_path / "board")]) == 0
    assert main(["bench", "leaderboard", str(tmp_path / "run.json"), "--out", str(tmp_path), "--base", "one"]) == 2
    assert not list((tmp_path / "board").rglob("*.mp4"))
    page = (tmp_path / "board" / "videos" / "v" / "index.html").read_text()
    assert "withheld" not in page and "no videos and no words" in page and 'class="rated full"' in page
    first, second = ((place / "board" / "index.html").read_text() for place in (made, tmp_path))
    table = re.compile(r"<table class=\"board\".*?</table>", re.S)
    assert table.search(first)[0] == table.search(second)[0]


@pytest.fixture(scope="module")
def opened(made, tmp_path_factory):
    """(browser, address), the pages on the loopback so that pixels may be read."""
    program = find_program()
    if program is None:
        pytest.skip("no Chromium on this machine: the leaderboard is not tried in a browser")
    if os.name != "posix":
        pytest.skip("Chromium's debugging pipe is only spoken to on POSIX systems")
    handler = functools.partial(QuietHandler, directory=str(made / "board"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser(program, tmp_path_factory.mktemp("profile"))
    try:
        yield browser, f"http://127.0.0.1:{server.server_port}"
    finally:
        browser.close()
        server.shutdown()
        server.server_close()


def shown(browser):
    """The frame that each player shows, as its own picture tells."""
    browser.wait(READY)
    browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    browser.run("document.querySelectorAll('video').forEach((v, n) => { v.id = `video${n}`; })")
    names = browser.run("[...document.querySelectorAll('video')].filter(v => v.src).map(v => v.id)")
    return [browser.run(READ.replace("NAME", name)) for name in names]


def test_all_videos_show_the_same_frame_by_keys_jumps_and_play(opened):
    browser, address = opened
    browser.open(f"{address}/videos/v/index.html")
    assert browser.run("document.title") == "v – all configurations in step"
    assert shown(browser) == [0, 0, 0]
    for key, frame in (("ArrowRight", 1), ("k", 2), ("K", 3), ("End", 23), ("j", 22), ("Home", 0)):
        browser.press(key)
        assert shown(browser) == [frame] * 3, key
    browser.press("n")
    browser.press("n")
    assert browser.run("document.querySelectorAll('tr.current').length") == 1
    assert shown(browser) == [4, 4, 4]
    browser.press(" ")
    browser.wait("Number(document.body.dataset.at) > 7")
    browser.press(" ")
    at = int(browser.run("document.body.dataset.at"))
    assert shown(browser) == [at] * 3
    assert browser.run("document.querySelectorAll('.beyond:not([hidden])').length") == 1, "no video of one of them"
    browser.press("s")
    assert shown(browser) == [at] * 3
    assert browser.errors == []


def test_columns_sort_and_what_is_not_known_stays_last(opened):
    browser, address = opened
    browser.open(f"{address}/index.html")
    names = "[...document.querySelectorAll('#board tbody:not([hidden]) th')].map(h => h.firstChild.data.trim())"
    assert browser.run(names) == ["one", "three", "two"]
    heads = "document.querySelectorAll('#board thead button')"
    browser.run(f"{heads}[1].click()")
    browser.run(f"{heads}[1].click()")
    assert browser.run(names) == ["two", "three", "one"]
    assert browser.run("document.querySelectorAll('[aria-sort=descending]').length") == 1
    browser.run(f"{heads}[2].click()")
    assert browser.run(names)[-1] == "three"
    assert browser.errors == [] and all(url.startswith((address, "data:")) for url in browser.requests)


@pytest.mark.parametrize(("width", "dark", "phone"), [(1280, False, False), (1280, True, False), (390, False, True)])
def test_nothing_is_wider_than_the_window(opened, width, dark, phone, tmp_path):
    browser, address = opened
    for page in ("index.html", "videos/v/index.html"):
        browser.open(f"{address}/{page}", width=width, dark=dark, phone=phone)
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), page
        browser.picture(tmp_path / f"{Path(page).parent.name or 'index'}.png")
        ink, paper = browser.run(
            "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
        )
        assert (ink > paper) is dark or ink != paper
