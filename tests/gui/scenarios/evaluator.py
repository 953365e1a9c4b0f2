# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluator: none, offline, being installed, ready, outdated, broken, removed; and the preferences."""

import importlib
import os
import tempfile
from pathlib import Path

import bpy
import drive


def steps(window):
    jobs, registration = drive.module("jobs"), drive.module("registration")
    environment, asking = drive.module("sidebar.evaluator.environment"), drive.module("preferences.asking")
    create = importlib.import_module(f"{drive.ADDON.removesuffix('.addon')}.evaluator.environment.create")
    facts = window.facts
    facts["pictures"], facts["conditions"], facts["stages"] = [], [], []
    lock, real_lock = create.EVALUATOR.lock, create.EVALUATOR.lock.read_bytes()
    lock.write_text(os.environ["MATCHCUT_TEST_LOCK"])
    others = [
        cls
        for cls in registration.CLASSES
        if issubclass(cls, bpy.types.Panel) and cls.__name__ != "MATCHCUT_PT_evaluator"
    ]

    def picture(name):
        jobs.redraw()
        yield 0.3
        yield from window.picture(name)
        facts["pictures"].append(name)

    def note():
        jobs.refresh_evaluator()
        facts["conditions"].append(jobs.evaluator().condition)

    def finished():
        return jobs.running() is None

    bpy.context.preferences.system.use_online_access = False
    yield from window.open_sidebar()
    for cls in reversed(others):
        bpy.utils.unregister_class(cls)
    drive.watch_drawing(window)
    note()
    facts["offline"] = [bpy.ops.matchcut.install_evaluator.poll()]
    yield from window.scan_buttons()
    facts["offline_buttons"] = sorted(window.buttons)
    yield from picture("1-offline")
    bpy.context.preferences.system.use_online_access = True
    facts["offline"].append(bpy.ops.matchcut.install_evaluator.poll())
    yield from picture("2-none")

    # an installation that a power cut ended
    folder = environment.own_folder()
    folder.mkdir(parents=True)
    (folder / "pyvenv.cfg").touch()
    note()
    yield from picture("3-cut-off")

    # installed by the button, and cancelled
    downloads = Path(os.environ["MATCHCUT_CACHE_FOLDER"]) / "downloads" / "evaluator"
    yield from window.press("matchcut.install_evaluator")
    yield from drive.until(lambda: jobs.running() is not None and jobs.running().done > 2, 120)
    yield from picture("4-downloading")
    yield from window.press("matchcut.cancel")
    yield from drive.until(finished, 30)
    facts["cancelled"] = [jobs.last().state, [path.name for path in folder.parent.iterdir() if path.is_dir()]]
    facts["kept"] = len(list(downloads.glob("*.whl")))
    note()

    # and gone on with
    yield from window.press("matchcut.install_evaluator")
    seen = set()
    while jobs.running() is not None:
        job = jobs.running()
        facts["stages"].append([job.stage, job.done, job.total])
        if job.stage == "install_packages" and "5-unpacking" not in seen:
            seen.add("5-unpacking")
            yield from picture("5-unpacking")
        yield 0.02
    for message in (("download_packages", 14, 14), ("install_packages", 14, 14)):
        if list(message) not in facts["stages"]:  # went by between two looks
            facts["stages"].append(list(message))
    facts["job"] = [jobs.last().state, jobs.last().error]
    note()
    known = environment.known()
    facts["known"] = {"packages": known.packages, "bytes": known.bytes, "python": known.python, "is_own": known.is_own}
    yield from picture("6-ready")

    # what it has is looked at; these packages are not the real ones
    yield from window.press("matchcut.check_evaluator")
    yield from drive.until(lambda: asking.answer("evaluator").problem, 60)
    facts["check"] = asking.answer("evaluator").problem
    yield from picture("7-checked")
    asking.forget("evaluator")

    # another version of the lock file, as after an update of the extension
    lock.write_bytes(lock.read_bytes() + b"# another\n")
    note()
    yield from picture("8-outdated")
    lock.write_text(os.environ["MATCHCUT_TEST_LOCK"])
    note()

    # the Python that it was made with goes away, as after an update of Blender
    python = create.python_of(folder)
    goal = python.readlink()
    python.unlink()
    python.symlink_to(Path(tempfile.gettempdir()) / "gone" / "python3.14")
    note()
    yield from picture("9-broken")
    python.unlink()
    python.symlink_to(goal)
    note()

    # others
    facts["chosen"] = []
    for chosen in ("/no/such/python", str(python)):
        try:
            bpy.ops.matchcut.choose_evaluator("EXEC_DEFAULT", filepath=chosen)
            yield from drive.until(lambda: asking.answer("chosen evaluator").problem, 60)
            facts["chosen"].append(asking.answer("chosen evaluator").problem)
        except RuntimeError as error:
            facts["chosen"].append(str(error))
    facts["chosen"].append(drive.module("preferences").get().evaluator_python)
    yield from picture("10-chosen")
    asking.forget("chosen evaluator")

    yield from preferences(window)

    bpy.ops.matchcut.remove_evaluator("EXEC_DEFAULT")
    yield from drive.until(finished, 60)
    note()
    lock.write_bytes(real_lock)
    for cls in others:
        bpy.utils.register_class(cls)


def preferences(window):
    """Steps: pictures of the preferences, with their sections open."""
    facts, asking = window.facts, drive.module("preferences.asking")
    judges, own = drive.module("preferences.judges"), drive.module("preferences").get()
    area = window.area
    area.ui_type = "PREFERENCES"
    bpy.context.preferences.active_section = "ADDONS"
    bpy.context.window_manager.addon_search = "Matchcut"
    yield 0.5
    bpy.ops.preferences.addon_expand(module=drive.ADDON.removesuffix(".addon"))
    own.judge_kind, own.openai_model, own.local_url = "openai", "a-model", "http://127.0.0.1:8000/v1"
    facts["key"] = judges.key_of(judges.PROVIDERS[0]).place
    yield 1.5
    yield from whole(window, "11-preferences")
    drawn = drive.module("preferences.sections")
    real = drawn.panel
    drawn.panel = lambda layout, name, closed: real(layout, f"{name}_open", closed=False)
    drive.module("preferences").agree_to_send("openai:a-model")
    asking._answers["test openai"] = asking.Answer(data={"seconds": 2.34, "model": "a-model", "models": ["a-model"]})
    asking._answers["test gemini"] = asking.Answer(problem="judge gemini: the key was refused; set it anew (HTTP 401)")
    yield 2.0
    yield from whole(window, "12-preferences-open")
    for number in range(2):
        x, y = window.window.width // 2, window.window.height // 2
        window.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
        for _ in range(14):
            yield 0.03
            window.window.event_simulate(type="WHEELDOWNMOUSE", value="PRESS", x=x, y=y)
        yield 0.5
        yield from whole(window, f"{13 + number}-preferences-lower")
    for operator, name in (("store_judge_key", "15-store-key"), ("remove_evaluator", "16-remove")):
        options = {"kind": "openai"} if operator == "store_judge_key" else {}
        with bpy.context.temp_override(window=window.window, area=area, region=area.regions[-1]):
            getattr(bpy.ops.matchcut, operator)("INVOKE_DEFAULT", **options)
        yield 0.5
        yield from whole(window, name)
        window.window.event_simulate(type="ESC", value="PRESS")
        window.window.event_simulate(type="ESC", value="RELEASE")
        yield 0.5
    drawn.panel = real
    area.ui_type = "VIEW_3D"
    yield 0.5


def whole(window, name):
    """Steps: a picture of the whole window."""
    for area in window.window.screen.areas:
        area.tag_redraw()
    yield 0.5
    yield from window.whole_picture(name)
    window.facts["pictures"].append(name)
