# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium spoken to over its debugging pipe: no driver, no port, nothing left running."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
    "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
    "--disable-default-apps", "--disable-sync",
    "--disable-extensions", "--disable-domain-reliability", "--metrics-recording-only", "--mute-audio",
    "--autoplay-policy=no-user-gesture-required", "--disable-dev-shm-usage", "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


def find_program():
    """Path of a Chromium, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """One page. `requests` holds every address that it asked for, `errors` what its scripts complained of."""

    def __init__(self, program, profile):
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._numbers, self._buffer, self._session = itertools.count(1), b"", None
        self.requests, self.errors = [], []

        def hand_over():  # Chromium reads commands from descriptor 3 and writes answers to 4
            incoming, outgoing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(incoming, 3), os.dup2(outgoing, 4)

        self._child = subprocess.Popen(
            [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            preexec_fn=hand_over, close_fds=False,
        )  # fmt: skip
        os.close(to_browser), os.close(from_browser)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def close(self):
        """End the browser."""
        self._child.terminate()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        os.close(self._read), os.close(self._write)

    def _receive(self, deadline):
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser ended")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)

    def send(self, method, **parameters):
        """Send one command and wait for its answer; events on the way are kept in `requests` and `errors`."""
        number, deadline = next(self._numbers), time.monotonic() + 60
        message = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self._note(answer.get("method"), answer.get("params", {}))

    def _note(self, method, parameters):
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.errors.append(parameters["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append(f"dialog: {parameters['message']}")

    def open(self, address, width=1280, height=900, dark=False, phone=False):
        """Go to an address and wait until the page is loaded; `requests` begins anew."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", media="", features=scheme)
        self.send("Page.navigate", url="about:blank")  # else another #fragment alone would load nothing
        self.wait("location.href === 'about:blank'")
        self.requests.clear()
        self.send("Page.navigate", url=address)
        self.wait("location.href !== 'about:blank'")
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        """Value of a JavaScript expression; a promise is awaited."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition, seconds=20):
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {condition}")
            time.sleep(0.03)

    def press(self, key):
        """Press and release one key."""
        text = key if len(key) == 1 else ""
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, **extra)

    def picture(self, path, whole=True):
        """A PNG of the page, or of the window alone."""
        clip = {}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **clip)["data"]
        path.write_bytes(base64.b64decode(data))
