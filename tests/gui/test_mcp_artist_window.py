# SPDX-License-Identifier: GPL-3.0-or-later
"""What an artist does to the window while an agent is connected: forbids, takes back, opens and closes, quits."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from matchcut.evaluator.protocol.bridge import BridgeCallError
from matchcut.evaluator.protocol.bridge_client import BridgeConnectError
from window_agent import in_window

SENSOR = {"fit": "HORIZONTAL", "width": 36.0, "height": 24.0}
PLACE = "tuple(round(x, 3) for x in bpy.data.objects['Camera'].location)"


def keys(*xs):
    """A camera at (x, 0, 2), at frames 0, 10, 20 …; one that stands still where there is a single x."""
    return [
        {
            "frame": 10 * number if len(xs) > 1 else None, "location": [x, 0, 2], "rotation_quaternion": [1, 0, 0, 0],
            "lens": 35.0, "shift_x": 0.0, "shift_y": 0.0,
        }
        for number, x in enumerate(xs)
    ]  # fmt: skip


def set_camera(agent, name, *xs):
    return agent("set_camera", cameras=[{"name": name, "keyframes": keys(*xs)}], sensor=SENSOR, label="fit")


def names(agent):
    return [one["name"] for one in agent("scene_summary")["objects"]["items"]]


def cameras_side(agent):
    """A camera is set as one step, which is the artist's to take back as well as the agent's."""
    agent.artist("forbid")
    cameras = [{"name": "Fit", "keyframes": keys(1, 2)}]
    assert "Allow Python" in agent.refused("set_camera", cameras=cameras, sensor=SENSOR)
    assert "Allow Python" in agent.refused("undo") and "Fit" not in names(agent)
    assert agent("camera_state", name="Fit")["exists"] is False, "looking needs no allowance"
    agent.artist("allow")

    assert set_camera(agent, "Fit", 1, 2)["undo_step"] == "Agent: fit" and "Fit" in names(agent)
    agent.artist("take_back")
    assert "Fit" not in names(agent), "one Ctrl-Z takes the whole camera back"
    assert "0 are known" in agent.refused("undo"), "the step is gone, and nobody else's is taken for it"

    before = agent.run(PLACE)["result"]
    told = set_camera(agent, "Camera", 7)
    assert told["cameras"][0]["created"] is False and agent.run(PLACE)["result"] == "(7.0, 0.0, 2.0)"
    assert agent("undo")["moved"] == ["Agent: fit"] and agent.run(PLACE)["result"] == before
    assert agent("undo", steps=-1)["moved"] == ["Agent: fit"] and agent.run(PLACE)["result"] == "(7.0, 0.0, 2.0)"


def sees(agent):
    """Both ways to look, and code that changes the scene."""
    for view in ("camera", "viewport"):
        picture = agent("look", view=view, size=128, shading="solid", data=False)
        assert (picture["width"], picture["height"]) == (128, 72) if view == "camera" else picture["width"] == 128
    assert agent.run("bpy.data.objects['Cube'].location.x += 1", "step")["undo_step"] == "Agent: step"
    assert agent("undo")["moved"] == ["Agent: step"]


def windows_side(agent):
    """The bridge does not hang on one window, or on one that is on the screen."""
    agent.artist("hide")
    sees(agent)
    agent.artist("unhide")
    sees(agent)
    agent.artist("second_window")
    sees(agent)
    agent.artist("close_first_window")
    sees(agent)


def left_behind(tmp_path):
    return [path.name for path in (tmp_path / "bridge").iterdir() if not path.is_dir()]


def calls_on(agent):
    while True:  # Blender serves one or another call more while it quits
        agent("scene_summary")


def ends_side(agent):
    with ThreadPoolExecutor(1) as pool:
        agent.artist_begins("slow_new_file")
        assert pool.submit(agent, "scene_summary").result(90)["counts"]["objects"] == 3
        assert agent.run("len(bpy.data.objects)")["result"] == "3"
        agent.artist_begins("slow_quit")
        error = pool.submit(calls_on, agent).exception(90)
    assert isinstance(error, BridgeCallError | BridgeConnectError), error
    return error


@pytest.mark.skipif(os.name != "posix", reason="the virtual screen")
def test_the_bridge_stays_with_whatever_the_artist_does_and_ends_with_the_window(run_scenario, tmp_path, monkeypatch):
    def agent_side(agent):
        cameras_side(agent)
        windows_side(agent)
        return ends_side(agent)

    error, facts = in_window(run_scenario, tmp_path, monkeypatch, agent_side)
    assert (facts["windows"], facts["windows_left"]) == (2, 1) and facts["running"]
    assert "connection" in str(error), "a call that waits when Blender quits is told so"
    assert not left_behind(tmp_path), "no descriptor and no socket"


ENDS = {
    "disable": "bpy.ops.preferences.addon_disable(module='bl_ext.user_default.matchcut')",
    "reload": "bpy.ops.script.reload()",
    "stop": "bpy.ops.matchcut.bridge_stop()",
    "factory": "bpy.ops.wm.read_factory_settings()",
}


@pytest.mark.skipif(os.name != "posix", reason="the virtual screen")
def test_an_agent_whose_code_ends_the_bridge_is_told_so_and_it_can_be_started_again(
    run_scenario, tmp_path, monkeypatch
):
    def agent_side(agent):
        seen = {}
        for name, code in ENDS.items():
            try:
                seen[name] = agent.run(code)["error"]  # scripts are reloaded after the call
            except BridgeCallError as error:
                seen[name] = error.code
            agent.until_gone()
            agent.artist("start_again")
            agent.connect()
            assert agent.run("6 * 7")["result"] == "42" and agent("scene_summary")["counts"]["objects"] == 3, name
        return seen

    seen, facts = in_window(run_scenario, tmp_path, monkeypatch, agent_side)
    assert seen == {"disable": "lost", "reload": None, "stop": "lost", "factory": "lost"}
    assert facts["was_running"] == [False] * len(ENDS) and facts["running"] and facts["handlers"] == []
    assert not left_behind(tmp_path)
