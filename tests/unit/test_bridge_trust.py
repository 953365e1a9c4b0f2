# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel shows of who did what, and for how long agents may run Python."""

import time

import pytest
from bridge_stub import BridgeStub
from matchcut.addon.bridge import trust as trust_module
from matchcut.addon.bridge.dispatcher import LOG_LIMIT
from matchcut.addon.bridge.trust import Trust, left_text
from matchcut.evaluator.protocol import bridge_client
from matchcut.evaluator.protocol.bridge import BridgeCallError
from matchcut.evaluator.protocol.bridge_client import BridgeClient


@pytest.fixture
def stub(tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_BRIDGE_FOLDER", str(tmp_path / "bridge"))
    stub = BridgeStub({"sleep": lambda seconds: time.sleep(seconds) or {}})
    yield stub
    stub.stop()


def test_the_log_names_clients_and_outcomes_and_keeps_no_more_than_that(stub):
    client = BridgeClient.connect(stub.descriptor, name="Grüner\nAgent" + "x" * 500)
    BridgeClient.connect(stub.descriptor).call("scene_summary")
    client.call("run_python", {"code": "secret"})
    client.call("run_python", {"code": "fail"})
    with pytest.raises(BridgeCallError):
        client.call("sleep", {"seconds": "secret"})
    name = ("GrünerAgent" + "x" * 500)[:64]
    assert [(one.method, one.client, one.outcome) for one in stub.dispatcher.log] == [
        ("scene_summary", "unnamed", "done"), ("run_python", name, "done"), ("run_python", name, "raised"),
        ("sleep", name, "failed"),
    ]  # fmt: skip
    assert "secret" not in repr(stub.dispatcher.log)
    assert all(0 <= one.seconds < 5 and abs(one.at - time.time()) < 60 for one in stub.dispatcher.log)
    assert name in stub.listener.clients
    client.close()
    wait_until(lambda: name not in stub.listener.clients)
    other = BridgeClient.connect(stub.descriptor)
    for _ in range(LOG_LIMIT + 5):
        other.call("scene_summary")
    assert len(stub.dispatcher.log) == LOG_LIMIT and stub.dispatcher.calls == LOG_LIMIT + 9


def wait_until(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("name", [None, 5, ["x"], {}, "", "\ud800", "\n"])
def test_a_client_s_name_that_is_none_is_not_shown(stub, name, monkeypatch):
    monkeypatch.setattr(bridge_client, "client_name", lambda value: name)
    assert BridgeClient.connect(stub.descriptor).call("scene_summary")
    assert stub.dispatcher.log[-1].client == "unnamed"


def test_trust_is_off_at_first_and_ends_by_itself(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(trust_module.time, "monotonic", lambda: now[0])
    trust = Trust()
    run = trust.guard(lambda code: {"ran": code})

    def is_refused():
        try:
            return run(code="1") != {"ran": "1"}
        except BridgeCallError as error:
            return error.code == "not_allowed" and "Allow Python" in str(error)

    assert trust.seconds_left == 0 and is_refused()
    trust.allow(900)
    assert not is_refused() and left_text(trust.seconds_left) == "15 min left"
    now[0] += 845
    assert not is_refused() and left_text(trust.seconds_left) == "60 s left"
    now[0] += 54
    assert left_text(trust.seconds_left) == "10 s left"
    now[0] += 1
    assert trust.seconds_left == 0 and is_refused()
    trust.allow()
    now[0] += 1e9
    assert left_text(trust.seconds_left) == "until the bridge stops" and not is_refused()
    trust.withdraw()
    assert is_refused()
