# SPDX-License-Identifier: GPL-3.0-or-later
"""The Agent panel's buttons, without a window: what they start, allow, withdraw and stop, also with the add-on."""

import math
import time

import bpy
import matchcut
import pytest
from matchcut.addon.bridge import window
from matchcut.addon.bridge.operators import PERIODS
from matchcut.evaluator.protocol.bridge import BridgeCallError, encode_frame, read_descriptors
from matchcut.evaluator.protocol.bridge_client import BridgeClient


@pytest.fixture(autouse=True)
def registered(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    matchcut.register()
    yield
    window.stop()
    matchcut.unregister()


def test_python_is_off_until_it_is_allowed_for_a_while_and_again_after_a_stop():
    assert not bpy.ops.matchcut.bridge_allow_python.poll() and not bpy.ops.matchcut.bridge_stop.poll()
    bpy.ops.matchcut.bridge_start()
    trust = window.running_bridge().trust
    assert trust.seconds_left == 0 and not bpy.ops.matchcut.bridge_forbid_python.poll()
    for period, (_, words, seconds) in PERIODS.items():
        bpy.ops.matchcut.bridge_allow_python(period=period)
        assert (math.isinf(seconds) and math.isinf(trust.seconds_left)) or 0 < seconds - trust.seconds_left < 5
        assert words.startswith(("for", "until"))
    bpy.ops.matchcut.bridge_forbid_python()
    assert trust.seconds_left == 0
    bpy.ops.matchcut.bridge_allow_python(period="STOP")
    bpy.ops.matchcut.bridge_stop()
    bpy.ops.matchcut.bridge_start()
    assert window.running_bridge().trust.seconds_left == 0


def test_a_tick_keeps_to_its_budget_and_ticks_are_frequent_while_clients_are_at_work(monkeypatch):
    bridge = window.start()
    bridge.dispatcher._methods["hello"] = lambda: time.sleep(0.015) or {}
    clients = [BridgeClient.connect(bridge.descriptor, name=f"client {number}") for number in range(6)]
    for client in clients:
        client._socket.sendall(encode_frame({"id": 1, "method": "hello", "params": {}}))
    end = time.monotonic() + 10
    while len(bridge.dispatcher._queue) < 6:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert window._tick() == 0.0 and 1 <= bridge.dispatcher.calls <= 2, "the window is drawn in between"
    while bridge.dispatcher.calls < 6:
        assert window._tick() == 0.0 and time.monotonic() < end
    assert sorted(one.client for one in bridge.dispatcher.log) == sorted(bridge.clients)
    monkeypatch.setattr(window, "_last_request", -1e9)
    assert window._tick() == window.TICK_IDLE


def test_the_bridge_ends_with_the_add_on():
    bridge = window.start()
    client = BridgeClient.connect(bridge.descriptor)
    matchcut.unregister()
    try:
        assert not window.is_running() and read_descriptors() == [] and not client.is_open()
        assert not bpy.app.timers.is_registered(window._tick)
    finally:
        matchcut.register()
    assert BridgeClient.connect(window.start().descriptor).is_open()


def test_a_render_in_the_window_holds_requests_back(monkeypatch):
    bridge = window.start()
    client = BridgeClient.connect(bridge.descriptor)
    monkeypatch.setattr(type(bridge), "run_pending", lambda *_: False)
    bridge.dispatcher.hold = "a render in the window"
    with pytest.raises(BridgeCallError, match="a render in the window") as caught:
        client.call("hello", start_timeout=0.2)
    assert caught.value.code == "busy"
