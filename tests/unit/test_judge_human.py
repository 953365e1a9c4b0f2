# SPDX-License-Identifier: GPL-3.0-or-later
"""A person as judge: what the page sends becomes a reply like any model's; nobody else can read or send."""

import http.client
import json
import socket
import struct
import threading
import time
from pathlib import Path

import judge_videos
import pytest
from matchcut.evaluator.judge.prompt import instruction, reply_schema, request_text
from matchcut.evaluator.judge.providers.base import FatalError, JudgeRequest, StoppedError
from matchcut.evaluator.judge.providers.human import Human
from matchcut.evaluator.judge.reply import read_reply
from matchcut.evaluator.protocol.errors import BadInputError
from matchcut.evaluator.protocol.local_page import MAX_BODY, LocalPage, Request, Response, json_response
from PIL import Image
from report_browser import Browser, find_program

LABELS = ["unsatisfied", "partially_satisfied", "fully_satisfied"]


def picture(shade):
    import io

    out = io.BytesIO()
    Image.new("RGB", (960, 1232), (shade, 90, 140)).save(out, "JPEG")
    return out.getvalue()


def request(name="c1", setting="detailed"):
    clip = judge_videos.clip(name)
    images = tuple(picture(40 * number) for number in range(3))
    return JudgeRequest(instruction(setting), images, request_text(clip, setting), reply_schema(), (0, 4, 7))


class Asked:
    """A request that waits in a thread of its own, and the page's other end."""

    def __init__(self, provider, what):
        self.reply = self.error = None
        self._thread = threading.Thread(target=self._ask, args=(provider, what), daemon=True)
        self._thread.start()

    def _ask(self, provider, what):
        try:
            self.reply = provider.ask(what)
        except (FatalError, StoppedError) as error:
            self.error = error

    def end(self):
        self._thread.join(60)
        assert not self._thread.is_alive()
        return self.reply


@pytest.fixture
def addresses():
    return []


@pytest.fixture
def human(tmp_path, addresses):
    provider = Human("ann", drafts=tmp_path / "drafts", announce=addresses.append)
    yield provider
    provider.close()


def until(condition):
    deadline = time.monotonic() + 60
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return value


def call(address, path, body=None, headers=None, method=None):
    host, _, token = address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    data = None if body is None else json.dumps(body)
    sent = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method or ("GET" if body is None else "POST"), f"/{token}{path}", data, sent | (headers or {}))
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, (json.loads(content) if answer.headers["Content-Type"] == "application/json" else content)


def test_ratings_become_a_reply_that_the_strict_reader_takes(human, addresses):
    asked = Asked(human, request())
    address = until(lambda: addresses)[0]
    state = call(address, "state")[1]
    key = state["task"]["key"]
    assert (state["rater"], state["finished"], state["task"]["setting"]) == ("ann", 0, "detailed")
    assert [check["statement"] for check in state["task"]["checks"]][-1] == "c1 is red"
    assert "check-id" not in json.dumps(state)
    assert call(address, f"image/{key}/2")[1] == request().images[2]
    assert call(address, f"image/{key}/3")[0] == call(address, f"image/{key}/x")[0] == 404
    assert call(address, "submit", {"key": key})[0] == 409  # nothing is filled in for what was not rated
    for index, label in enumerate([*LABELS, LABELS[0]]):
        assert call(address, "rate", {"key": key, "index": index, "label": label})[0] == 200
    assert call(address, "submit", {"key": key})[0] == 200
    reply = asked.end()
    assert (reply.finish, reply.model, human.name) == ("stop", "ann", "human")
    assert read_reply(reply, 4) == [*LABELS, LABELS[0]]


@pytest.mark.parametrize(
    "body",
    [
        {"index": 4, "label": "unsatisfied"},
        {"index": -1, "label": "unsatisfied"},
        {"index": True, "label": "unsatisfied"},
        {"index": 0, "label": "Unsatisfied"},
        {"index": 0, "label": 1},
        {"label": "unsatisfied"},
    ],
)
def test_what_is_no_rating_is_refused(human, addresses, body):
    Asked(human, request())
    address = until(lambda: addresses)[0]
    key = call(address, "state")[1]["task"]["key"]
    assert call(address, "rate", {"key": key, **body})[0] == 400
    assert call(address, "state")[1]["task"]["ratings"] == [None] * 4


def test_half_a_clip_is_still_there_in_the_next_run(tmp_path, addresses):
    for labels in (LABELS[:2], LABELS[2:]):
        provider = Human("ann", drafts=tmp_path, announce=addresses.append)
        count = len(addresses)
        asked = Asked(provider, request(setting="proxy"))
        address = until(lambda count=count: addresses[count:])[0]
        task = call(address, "state")[1]["task"]
        start = task["ratings"].index(None)
        for index, label in enumerate(labels, start):
            call(address, "rate", {"key": task["key"], "index": index, "label": label})
        if start:
            call(address, "submit", {"key": task["key"]})
            assert read_reply(asked.end(), 3) == LABELS
        provider.close()
        if not start:
            asked.end()
            assert isinstance(asked.error, StoppedError)
    assert not list(tmp_path.rglob("*.json"))  # the judgment takes the draft's place


def test_a_clip_that_cannot_be_judged_says_why_and_is_not_asked_again(human, addresses):
    asked = Asked(human, request())
    address = until(lambda: addresses)[0]
    key = call(address, "state")[1]["task"]["key"]
    assert call(address, "decline", {"key": key, "reason": " "})[0] == 400
    assert call(address, "decline", {"key": key, "reason": "all black"})[0] == 200
    asked.end()
    assert (asked.error.reason, asked.error.whole_run) == ("declined", False)
    assert "all black" in str(asked.error)


def test_requests_that_wait_together_come_one_after_the_other(human, addresses):
    both = [Asked(human, request(name)) for name in ("c1", "c2")]
    address = until(lambda: addresses)[0]
    until(lambda: call(address, "state")[1]["waiting"] == 2)
    for _ in both:
        task = call(address, "state")[1]["task"]
        for index in range(4):
            call(address, "rate", {"key": task["key"], "index": index, "label": LABELS[0]})
        call(address, "submit", {"key": task["key"]})
    assert all(read_reply(one.end(), 4) == [LABELS[0]] * 4 for one in both)
    assert len(addresses) == 1 and call(address, "state")[1]["finished"] == 2


@pytest.mark.parametrize("name", ["", "../x", "a b", "-x", "x" * 41])
def test_name_that_cannot_be_a_folder(name):
    with pytest.raises(BadInputError, match="rater's name"):
        Human(name)


# the page's server


@pytest.fixture
def page():
    def handle(request: Request):
        return None if request.path == "nothing" else json_response([request.path, request.body])

    with LocalPage(handle) as page:
        yield page


def test_page_is_on_the_loopback_and_behind_its_token(page):
    host, _, token = page.address.removeprefix("http://").partition("/")
    assert host == f"127.0.0.1:{page.port}" and len(token) > 30
    assert call(page.address, "x/y?z=1") == (200, ["x/y", None])
    assert call(page.address, "nothing")[0] == 404
    for path in ("", "wrong/", token[:-2] + "/"):
        assert call(f"http://{host}/", path)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 404),
        ({"Host": "localhost"}, 404),
        ({"Origin": "http://evil.example"}, 404),
        ({"Origin": "null"}, 404),
        ({"Content-Type": "text/plain"}, 400),
        ({"Content-Length": "x"}, 400),
        ({"Content-Length": str(MAX_BODY + 1)}, 400),
    ],
)
def test_requests_of_other_pages_are_refused(page, headers, status):
    assert call(page.address, "rate", {"a": 1})[0] == 200
    assert call(page.address, "rate", {"a": 1}, headers)[0] == status


def test_no_answer_may_be_kept_or_framed(page):
    host, _, token = page.address.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host)
    connection.request("GET", f"/{token}x")
    headers = connection.getresponse().headers
    connection.close()
    assert headers["Cache-Control"] == "no-store" and "frame-ancestors 'none'" in headers["Content-Security-Policy"]


# the page itself


@pytest.fixture
def browser(tmp_path):
    program = find_program()
    if program is None:
        pytest.skip("there is no Chromium on this machine")
    browser = Browser(program, tmp_path / "profile")
    yield browser
    browser.close()


def test_keys_rate_a_clip_in_the_browser(human, addresses, browser, artifacts: Path):
    asked = Asked(human, request())
    browser.open(until(lambda: addresses)[0], width=1400)
    browser.wait("document.querySelectorAll('.check').length === 4")
    assert browser.run("document.getElementById('submit').disabled")
    for key in "132":
        rated = browser.run("document.querySelectorAll('[aria-pressed=true]').length")
        browser.press(key)
        browser.wait(f"document.querySelectorAll('[aria-pressed=true]').length === {rated + 1}")
    # the check that is next shows its own frame
    assert browser.run("document.getElementById('counter').textContent") == "3 of 3, frame 7"
    browser.press("ArrowLeft")
    assert browser.run("document.getElementById('counter').textContent") == "2 of 3, frame 4"
    browser.wait("document.getElementById('picture').complete")
    browser.picture(artifacts / "rate-clip.png")
    browser.press("3")
    browser.wait("!document.getElementById('submit').disabled")
    browser.press("Enter")
    browser.wait("!document.getElementById('message').hidden")
    assert read_reply(asked.end(), 4) == [LABELS[0], LABELS[2], LABELS[1], LABELS[2]]
    assert browser.errors == []
    assert all(address.startswith(addresses[0]) or "favicon" in address for address in browser.requests)


def test_the_same_asked_twice_at_once_is_rated_twice(human, addresses):
    """As `--repeats 2 --concurrency 2` does."""
    asked = [Asked(human, request()), Asked(human, request())]
    address = until(lambda: addresses)[0]
    until(lambda: call(address, "state")[1]["waiting"] == 2)
    for label in LABELS[:2]:
        key = call(address, "state")[1]["task"]["key"]
        for index in range(4):
            call(address, "rate", {"key": key, "index": index, "label": label})
        assert call(address, "submit", {"key": key})[0] == 200
    assert sorted(read_reply(one.end(), 4)[0] for one in asked) == sorted(LABELS[:2])


def test_page_that_is_closed_in_the_middle_of_an_answer_says_nothing(capfd):
    with LocalPage(lambda _: Response(bytes(20_000_000))) as page:
        host, _, token = page.address.removeprefix("http://").partition("/")
        with socket.create_connection(("127.0.0.1", page.port)) as browser:
            browser.sendall(f"GET /{token}image HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            browser.recv(10)
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        until(lambda: not [one for one in threading.enumerate() if "process_request" in one.name])
    assert capfd.readouterr().err == ""
