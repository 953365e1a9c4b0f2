# SPDX-License-Identifier: GPL-3.0-or-later
"""The preferences: judges, keys, consents, caches, render defaults; a command stands in for the evaluator's."""

import json
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import bpy
import matchcut
import pytest
from matchcut.addon import jobs, preferences, registration
from matchcut.addon.preferences import asking, judges
from matchcut.addon.preferences import panel as preferences_panel
from matchcut.addon.preferences.sizes import size_text
from matchcut.addon.sidebar.evaluator import environment
from matchcut.evaluator.cli.judge_key import VARIABLES
from matchcut.evaluator.protocol.errors import BadInputError

COMMAND = """
import json, sys
line = sys.stdin.readline().strip() if "--store" in sys.argv else ""
def say(**fields):
    print(json.dumps(fields), flush=True)
place = "keyring" if line or "--forget" not in sys.argv else "nowhere"
if "key" in sys.argv:
    keys = {name: {"variable": "V", "place": place} for name in ("openai", "anthropic", "gemini", "local")}
    say(type="result", path="", data={"keys": keys, "keyring_problem": "", "arguments": sys.argv[1:], "got": len(line)})
else:
    say(type="error", text="judge: the key was refused; set it anew")
    sys.exit(2)
"""


@pytest.fixture
def registered():
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    matchcut.register()
    yield bpy.context.scene
    matchcut.unregister()


@pytest.fixture
def stored(registered):
    """The preferences as Blender keeps them for an enabled add-on."""
    addon = bpy.context.preferences.addons.new()
    addon.module = "matchcut"
    yield preferences.get()
    bpy.context.preferences.addons.remove(addon)


@pytest.fixture
def command(tmp_path, monkeypatch, registered):
    """A small command in the evaluator's place."""
    script = tmp_path / "command.py"
    script.write_text(COMMAND)
    monkeypatch.setattr(jobs, "find_evaluator", lambda: [sys.executable, str(script)])
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def settle(key):
    """Read quiet commands until that of `key` has ended, as the timer would."""
    end = time.monotonic() + 20
    while asking.answer(key).waits and time.monotonic() < end:
        jobs._tick()
        time.sleep(0.02)
    assert not asking.answer(key).waits
    return asking.answer(key)


def test_who_is_sent_pictures():
    for judge, to in (
        ("openai:gpt", "OpenAI"),
        ("anthropic:claude", "Anthropic"),
        ("gemini:g", "Google"),
        ("local:http://127.0.0.1:8000/v1#m", ""),
        ("local:http://localhost:8000/v1#m", ""),
        ("local:http://[::1]:8000/v1#m", ""),
        ("local:https://judge.example/v1#m", "judge.example"),
        ("local:http://127.0.0.1.example/v1#m", "127.0.0.1.example"),
        ("local:http://[/v1#m", "http://[/v1#m"),
        ("human", ""),
        ("replay:folder", ""),
        ("", ""),
    ):
        assert judges.receiver(judge) == to, judge


def test_the_providers_are_those_of_the_evaluator():
    assert {provider.kind: provider.variable for provider in judges.PROVIDERS} == VARIABLES
    kinds = {item[0] for item in preferences_panel.JUDGE_ITEMS} - {"none"}
    assert kinds == set(VARIABLES)


def test_the_default_judge_is_put_together(stored):
    assert preferences.default_judge() == ""
    stored.judge_kind, stored.anthropic_model = "anthropic", " claude-x "
    assert preferences.default_judge() == "anthropic:claude-x"
    stored.judge_kind = "local"
    assert preferences.default_judge() == "", "without address and model there is none"
    stored.local_url, stored.local_model = "http://127.0.0.1:8000/v1/", "m"
    assert preferences.default_judge() == "local:http://127.0.0.1:8000/v1#m"
    assert stored.judge_of("openai", ask_for_models=True) == "openai"


@pytest.mark.parametrize("with_preferences", [True, False])
def test_a_receiver_is_agreed_to_once_and_may_be_forgotten(request, registered, with_preferences):
    if with_preferences:
        request.getfixturevalue("stored")
    assert preferences.may_send("local:http://127.0.0.1:1/v1#m") and preferences.may_send("human")
    assert not preferences.may_send("openai:a")
    preferences.agree_to_send("openai:a")
    preferences.agree_to_send("openai:b")
    assert preferences.may_send("openai:other") and preferences.consents() == {"OpenAI"}
    assert not preferences.may_send("gemini:a"), "each receiver is asked about"
    preferences.forget_consent("OpenAI")
    assert not preferences.may_send("openai:a")


def test_new_scenes_take_on_the_render_defaults_and_keep_their_own(stored, registered):
    stored.render_engine, stored.render_workers, stored.preview_scale = "WORKBENCH", 3, 25
    stored.use_samples, stored.samples, stored.preview_samples = True, 64, 4
    registered.matchcut.render.workers = 2
    registered.matchcut.reference.path = "/no/such/reference.mp4"  # picking one is when it happens
    render = registered.matchcut.render
    assert (render.engine, render.scale, render.preview_samples) == ("WORKBENCH", 25, 4)
    assert (registered.matchcut.use_samples, registered.matchcut.samples) == (True, 64)
    assert render.workers == 2


def test_a_key_goes_to_the_command_and_nowhere_else(command, stored):
    asking.store_key("openai", "sk-canary-1234")
    answer = settle("keys")
    assert answer.data["got"] == len("sk-canary-1234")
    assert "canary" not in json.dumps(answer.data["arguments"]), "no argument of a process holds it"
    assert judges.key_of(judges.PROVIDERS[0]).place == "keyring"
    assert not any("canary" in str(getattr(stored, name)) for name in dir(stored))
    operator = registration.preferences.operators.MATCHCUT_OT_store_judge_key
    assert "REGISTER" not in operator.bl_options, "it would be shown in the Info editor"
    field = bpy.ops.matchcut.store_judge_key.get_rna_type().properties["key"]
    assert field.subtype == "PASSWORD" and field.is_skip_save


def test_a_key_of_the_environment_goes_first_and_is_never_read_out(command, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    asking.look_for_keys()
    settle("keys")
    place = judges.key_of(judges.PROVIDERS[0])
    assert place.place == "environment" and "canary" not in repr(place) + repr(judges._keyring)
    assert judges.key_of(judges.PROVIDERS[1]).place == "keyring"


def test_a_refused_test_is_one_line(command, stored):
    stored.local_url, stored.local_model = "http://127.0.0.1:9/v1", "m"
    asking.test_judge("local", stored.judge_of("local"))
    assert settle("test local").problem == "judge: the key was refused; set it anew"


def test_a_judge_elsewhere_is_not_tested_offline(stored, monkeypatch):
    monkeypatch.setattr(jobs, "_evaluator", jobs.EvaluatorState(python=sys.executable))
    operators = registration.preferences.operators
    stored.openai_model = "m"
    assert not bpy.app.online_access, "so it is in the bpy wheel"
    act = operators.MATCHCUT_OT_test_judge._act
    with pytest.raises(BadInputError, match="online access is off"):
        act(SimpleNamespace(kind="openai"), bpy.context)
    with pytest.raises(BadInputError, match="no address"):
        act(SimpleNamespace(kind="local"), bpy.context)


def test_caches_are_counted_and_cleared_by_a_command(registered, tmp_path, monkeypatch):
    monkeypatch.setenv("MATCHCUT_CACHE_FOLDER", str(tmp_path))
    (tmp_path / "frames").mkdir()
    (tmp_path / "frames" / "0.f32").write_bytes(b"x" * 2000)
    asking.count_caches()
    found = {one["name"]: one["bytes"] for one in settle("caches").data["caches"]}
    assert found["frames"] == 2000
    asking.clear_cache("frames")
    answer = settle("caches").data
    assert answer["freed"] == {"frames": 2000} and not (tmp_path / "frames").exists()


def test_another_python_is_tried_before_it_is_taken(stored, tmp_path):
    with pytest.raises(BadInputError, match="no such program"):
        environment.choose(tmp_path / "python")
    bare = tmp_path / "not-python"
    bare.write_text("text")
    with pytest.raises(BadInputError, match="does not start"):
        environment.choose(bare)
    environment.choose(Path(sys.executable))
    answer = settle(environment.CHOICE)
    if answer.problem:  # the bpy wheel's own Python may have the packages or not
        assert "lacks" in answer.problem and stored.evaluator_python == ""
    else:
        assert stored.evaluator_python == sys.executable


def test_the_log_is_copied_without_the_home_folders_name(registered, tmp_path, monkeypatch):
    monkeypatch.setattr(environment, "own_folder", lambda: tmp_path / "evaluator")
    with pytest.raises(BadInputError, match="there is no log"):
        environment.log()
    (tmp_path / "evaluator.log").write_text(f"Collecting numpy\nSaved {Path.home()}/numpy.whl\n")
    assert environment.log_text() == "Collecting numpy\nSaved ~/numpy.whl"


def test_a_command_that_says_why_on_its_log_alone_is_understood(registered, tmp_path, monkeypatch):
    script = tmp_path / "command.py"
    script.write_text("import sys; sys.exit('matchcut: a Python without the package')")
    asking.ask("log", [], prefix=[sys.executable, str(script)])
    assert settle("log").problem == "a Python without the package"


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0"), (1, "1 KB"), (999, "1 KB"), (12_345, "12 KB"), (999_499, "999 KB"), (999_500, "1.0 MB"),
     (3_440_000, "3.4 MB"), (626_892_894, "627 MB"), (999_600_000, "1.0 GB"), (12_340_000_000, "12 GB")],
)  # fmt: skip
def test_sizes_are_read_by_people(size, text):
    assert size_text(size) == text


def test_preferences_know_nothing_of_the_panel_that_shows_the_evaluator(registered):
    from matchcut.addon.preferences import sections

    folder = Path(sections.__file__).parent
    named = [path.name for path in folder.glob("*.py") if "sidebar.evaluator" in path.read_text(encoding="utf-8")]
    assert named == [], "dependencies point from the panel to the preferences"
    assert sections.draw_evaluator is not None, "and they show it nevertheless"
    matchcut.unregister()
    assert sections.draw_evaluator is None
    matchcut.register()
