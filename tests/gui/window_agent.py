# SPDX-License-Identifier: GPL-3.0-or-later
"""An agent outside a window, and how it has the artist inside do something: a file that the scenario waits for."""

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from matchcut.evaluator.protocol.bridge import BridgeCallError
from matchcut.evaluator.protocol.bridge_client import BridgeClient, live_descriptors

LOCATION = "tuple(round(x, 3) for x in bpy.data.objects['Cube'].location)"


class Agent:
    """A client of the window's bridge, and its line to the artist in there."""

    def __init__(self, signals, finished):
        self._signals, self._finished, self._numbers = signals, finished, itertools.count()
        self.connect()

    def connect(self):
        self._until(live_descriptors, "the window's bridge never came", 200)
        self.client = BridgeClient.connect(live_descriptors()[0])

    def __call__(self, method, **params):
        return self.client.call(method, params, timeout=120)

    def run(self, code, label=""):
        return self("run_python", code=code, label=label)

    def location(self):
        return eval(self.run(LOCATION)["result"])

    def refused(self, method, **params):
        with pytest.raises(BridgeCallError) as caught:
            self(method, **params)
        return str(caught.value)

    def artist(self, action):
        """Have the artist do it, and wait until it is done."""
        path = self.artist_begins(action)
        self._until(lambda: not path.exists(), f"the artist never did {action}")

    def artist_begins(self, action):
        path = self._signals / f"{next(self._numbers):03d}-{action}.ask"
        path.touch()
        self._until(path.with_suffix(".begun").exists, f"the artist never began {action}")
        return path

    def until_gone(self):
        """Wait until the window's bridge has stopped."""
        self._until(lambda: not live_descriptors(), "the window's bridge never stopped")

    def _until(self, is_so, otherwise, seconds=90):
        end = time.monotonic() + seconds
        while not is_so():
            assert not self._finished() and time.monotonic() < end, otherwise
            time.sleep(0.05)

    def timed(self, method, **params):
        begun = time.perf_counter()
        self(method, **params)
        return time.perf_counter() - begun


def in_window(run_scenario, tmp_path, monkeypatch, agent_side):
    """Run `agent_side(agent)` beside the scenario "scene"; what it returned, and the scenario's facts."""
    folder, signals = tmp_path / "bridge", tmp_path / "signals"
    signals.mkdir()
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(folder))
    variables = {"MATCHCUT_BRIDGE_FOLDER": str(folder), "MATCHCUT_TEST_SIGNALS": str(signals)}
    with ThreadPoolExecutor(1) as pool:
        window = pool.submit(run_scenario, "scene", 400, **variables)
        try:
            seen = agent_side(Agent(signals, window.done))
        except BaseException:
            (signals / "end").touch()
            if window.done():
                window.result()  # what went wrong in the window says more
            raise
        (signals / "end").touch()
        facts, _ = window.result()
    return seen, facts
