# SPDX-License-Identifier: GPL-3.0-or-later
"""The report in a real Chromium: the right frames, keys, jumps, filters, no request to elsewhere."""

import functools
import http.server
import os
import threading
from pathlib import Path

import pytest
import report_samples as samples
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.report.html import write_report
from matchcut.evaluator.report.pictures import read_pictures
from report_browser import Browser, find_program

READY = "[...document.querySelectorAll('video')].every(v => v.readyState >= 2 && !v.seeking)"
# The pictures say their own number in eight bars, so the browser itself tells which frame it shows.
READ = """(() => { const video = document.getElementById('NAME'), canvas = document.createElement('canvas');
  canvas.width = 160; canvas.height = 96; const pen = canvas.getContext('2d'); pen.drawImage(video, 0, 0, 160, 96);
  let number = 0;
  for (let bit = 0; bit < 8; bit++) if (pen.getImageData(10 + 20 * bit, 24, 1, 1).data[1] > 128) number |= 1 << bit;
  for (let rest = number >> 1; rest; rest >>= 1) number ^= rest;
  return number; })()"""
FRAMES = 48


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """(browser, address, folder) of a report with two videos, served on the loopback so that pixels may be read."""
    program = find_program()
    if program is None:
        pytest.skip("no Chromium on this machine: the report is not tried in a browser")
    if os.name != "posix":
        pytest.skip("Chromium's debugging pipe is only spoken to on POSIX systems")
    folder = tmp_path_factory.mktemp("report")
    samples.write_video(folder / "reference.mp4", frames=FRAMES, cuts=(16, 32))
    samples.write_video(folder / "reconstruction.mp4", frames=FRAMES, cuts=(16, 35, 44))
    results = samples.results()
    videos = folder / "reference.mp4", folder / "reconstruction.mp4"
    write_report(results, folder, pictures=read_pictures(results, *videos, reporter=SilentReporter()))
    handler = functools.partial(QuietHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Browser(program, tmp_path_factory.mktemp("profile"))
    try:
        yield browser, f"http://127.0.0.1:{server.server_port}/report.html", folder
    finally:
        browser.close()
        server.shutdown()
        server.server_close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Answers one range a request, as browsers need for seeking."""

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        wanted = self.headers.get("Range", "")
        if not wanted.startswith("bytes="):
            super().do_GET()
            return
        data = Path(self.translate_path(self.path)).read_bytes()
        first, _, end = wanted.removeprefix("bytes=").partition("-")
        first, end = int(first), min(int(end or len(data) - 1), len(data) - 1)
        self.send_response(206)
        self.send_header("Content-Type", "video/mp4")
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Range", f"bytes {first}-{end}/{len(data)}")
        self.send_header("Content-Length", str(end + 1 - first))
        self.end_headers()
        self.wfile.write(data[first : end + 1])


@pytest.fixture
def opened(page):
    browser, address, _ = page
    browser.open(address)
    browser.wait(READY)
    return browser


def at(browser):
    return int(browser.run("document.body.dataset.at"))


def shown(browser):
    browser.wait(READY)
    browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return [browser.run(READ.replace("NAME", name)) for name in ("reference", "reconstruction")]


def test_every_frame_is_shown_exactly_in_both_videos(opened):
    wrong = []
    for frame in [*range(FRAMES), *range(FRAMES - 1, -1, -7)]:
        opened.run(
            f"{{ const s = document.getElementById('scrub'); s.value = {frame}; s.dispatchEvent(new Event('input')); }}"
        )
        if (found := shown(opened)) != [frame, frame]:
            wrong.append((frame, found))
    assert wrong == []


def test_keys_step_jump_and_play(opened):
    for key, frame in (("ArrowRight", 1), ("k", 2), ("K", 3), ("ArrowLeft", 2), ("j", 1), ("End", 47), ("Home", 0)):
        opened.press(key)
        assert at(opened) == frame, key
    assert shown(opened) == [0, 0]
    opened.press(" ")
    opened.wait("Number(document.body.dataset.at) > 4")
    assert opened.run("document.getElementById('play').textContent") == "Pause"
    opened.press(" ")
    frame = at(opened)
    assert shown(opened) == [frame, frame]
    assert opened.run("document.getElementById('counter').textContent").startswith(
        f"frame {frame:>2}".replace("  ", " \u2007")
    )


def test_playing_ends_on_the_last_frame(opened):
    opened.press("End")
    opened.press("ArrowLeft")
    opened.press(" ")
    opened.wait("document.getElementById('play').textContent === 'Play'")
    assert at(opened) == FRAMES - 1
    assert shown(opened) == [FRAMES - 1, FRAMES - 1]


def test_a_click_on_a_check_a_cut_or_a_curve_goes_to_its_frame(opened):
    opened.run("document.querySelector('tr[data-check=\"clip-2/c01\"] .jump').click()")
    assert at(opened) == 20
    assert shown(opened) == [20, 20]
    assert opened.run("document.querySelectorAll('.current').length") == 2  # the row and its mark
    assert "The ball rolls" in opened.run("document.getElementById('selected').textContent")
    opened.run("document.querySelectorAll('.cuts .cut')[3].click()")
    assert at(opened) == 35
    opened.run(
        "(() => { const t = document.querySelector('.plot .track'), b = t.getBoundingClientRect();"
        "const where = {bubbles: true, clientX: b.left + b.width * 30.5 / 48, clientY: b.top + 5};"
        "t.dispatchEvent(new MouseEvent('click', where)); })()"
    )
    assert at(opened) == 30


def test_filters_hide_what_does_not_fit(opened):
    def choose(name, value):
        opened.run(
            f"{{ const f = document.querySelector('select[name={name}]'); f.value = '{value}';"
            " f.dispatchEvent(new Event('change', {bubbles: true})); }"
        )
        return opened.run("document.getElementById('shown').textContent")

    assert choose("rating", "unsatisfied") == "4 of 20 shown"
    assert choose("dimension", "camera") == "2 of 20 shown"
    assert opened.run("[...document.querySelectorAll('tr.check')].filter(r => r.offsetHeight > 0).length") == 2
    assert choose("category", "action_events") == "0 of 20 shown"
    choose("dimension", "")
    assert choose("category", "") == "4 of 20 shown"
    opened.press("n")
    assert at(opened) == 0


def test_a_shorter_slower_video_follows_by_time_and_says_where_it_ends(page):
    browser, _, folder = page
    samples.write_video(folder / "half.mp4", frames=20, rate=samples.RATE / 2)
    results = samples.results(reconstruction=samples.video_info("half.mp4", frames=20, rate=samples.RATE / 2))
    path = write_report(
        results, folder / "other", reference_video="../reference.mp4", reconstruction_video="../half.mp4"
    )
    browser.open(page[1].replace("report.html", f"other/{path.name}#frame=30"))
    assert shown(browser) == [30, 15]
    browser.press("End")
    assert shown(browser) == [47, 19]
    assert browser.run("document.querySelectorAll('.beyond')[1].textContent") == "No frame 23: the video has 20 frames."


def test_hostile_text_runs_nothing(page):
    browser, address, folder = page
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'"
    made = samples.clips(evil)
    results = samples.results(clips=made, judgments=[samples.judgment(made[0])], reference=samples.video_info(evil))
    write_report(
        results, folder / "evil", reference_video="../reference.mp4", reconstruction_video="../reconstruction.mp4"
    )
    before = len(browser.errors)
    browser.open(address.replace("report.html", "evil/report.html"))
    browser.wait(READY)
    assert browser.errors[before:] == []
    assert browser.run("document.querySelectorAll('img').length") == 0
    browser.press("ArrowRight")
    assert at(browser) == 1


@pytest.mark.parametrize(("look", "width"), [("light", 1400), ("dark", 1400), ("phone", 390)])
def test_it_works_from_the_disk_and_fits_its_window(page, artifacts, look, width):
    browser, _, folder = page
    browser.errors.clear()
    browser.open(
        (folder / "report.html").as_uri() + "#frame=30", width=width, dark=look == "dark", phone=look == "phone"
    )
    browser.wait(READY)
    browser.picture(artifacts / f"report-{look}.png")
    assert at(browser) == 30
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.errors == []
    asked = [address for address in browser.requests if not address.startswith("data:")]
    names = {address.rpartition("/")[2].partition("#")[0] for address in asked}
    assert names == {"report.html", "reference.mp4", "reconstruction.mp4"}
    assert all(address.startswith("file:") for address in asked)


def test_a_picture_of_a_check_goes_to_its_frame(opened):
    frame = int(opened.run("document.querySelector('.pair').dataset.frame"))
    opened.press("Home")
    opened.run("document.querySelector('.pair').click()")
    assert at(opened) == frame
    assert shown(opened) == [frame, frame]
    assert opened.run("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
