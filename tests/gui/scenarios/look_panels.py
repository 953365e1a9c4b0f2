# SPDX-License-Identifier: GPL-3.0-or-later
"""Every panel in several states, both themes and two resolution scales: texts are measured, pictures kept."""

import os
import sys

import bpy
from drive import module, our_panels, until, watch_drawing
from labels import Recorder, faults

CHILD = """
import json, sys, time
say = lambda **fields: print(json.dumps(fields), flush=True)
if sys.argv[1] == "fail":
    say(type="error", text="/a/long/folder/name/that/wraps/no-frames.mp4: it has no frames; pick another file")
    sys.exit(2)
say(type="progress", stage="render", done=117, total=240, text="frame 117 of 240, 1.25 s/frame, 2:34 left")
time.sleep(60)
"""
PROBES = [f"Label that grows {'and grows ' * number}{'i' * step}" for number in (1, 2) for step in range(0, 12, 2)]
"""From texts that fit to texts that do not."""


def with_reference(window):
    reference = bpy.context.scene.matchcut.reference
    path = "/a/long/folder/name/reference-of-the-shot.mp4"
    reference.width, reference.height, reference.rate, reference.frames = 1920, 1080, "30000/1001", 2998
    data = module("state").raw(bpy.context.scene)
    data["reference"]["path"] = data["reference"]["read_path"] = path
    reference.warnings.clear()
    reference.warnings.add().text = "The frame rate is not constant; frames are matched by their own times"
    yield 0.0


def with_render(window):
    render = bpy.context.scene.matchcut.render
    render.folder = "/a/long/folder/matchcut/render-117"
    render.video = f"{render.folder}/reconstruction.mp4"
    yield 0.0


def with_scores(window):
    """Two scores, of which the later fails some checks; the overlay on, lines drawn over the picture."""
    scene = bpy.context.scene
    store = module("sidebar.results.store")
    scene.matchcut.output = os.environ["MATCHCUT_TEST_SCORES"]
    scene.matchcut.results.folder = f"{scene.matchcut.output}/score-002"
    bpy.ops.matchcut.find_scores()
    yield from until(lambda: store.known(scene).score and not store.known(scene).reading, 60)
    bpy.ops.matchcut.next_check()
    scene.matchcut.compare.show = True
    yield 0.5


def running(window):
    jobs = module("jobs")
    child = window.out / "child.py"
    child.write_text(CHILD)
    jobs.start("Scoring", [], lambda messages: None, prefix=[sys.executable, str(child)])
    yield from until(lambda: jobs.last().done > 0, 20)


def failed(window):
    jobs = module("jobs")
    jobs.cancel()
    yield from until(lambda: jobs.running() is None, 20)
    jobs.start("Scoring", ["fail"], lambda messages: None, prefix=[sys.executable, str(window.out / "child.py")])
    yield from until(lambda: jobs.running() is None, 20)


def agent(window):
    bpy.ops.matchcut.bridge_start()
    yield 0.5
    bpy.ops.matchcut.bridge_allow_python(period="HOUR")


def agent_off(window):
    bpy.ops.matchcut.bridge_stop()
    yield 0.2


STATES = (with_reference, with_render, with_scores, running, failed, agent)


def shown(window, recorder, name):
    """Steps: draw everything anew, keep pictures of it from the top to the bottom, and measure."""
    recorder.trees.clear()
    yield from window.picture(name)
    for fault in faults(recorder, window.sidebar):
        window.facts["faults"].append([name, *fault])


def whole(window, name, pages=3):
    """Steps: pictures of the sidebar from its top to its bottom."""
    x, y = window.sidebar.x + window.sidebar.width // 3, window.sidebar.y + window.sidebar.height // 2
    for page in range(pages):
        yield from window.picture(f"{name}-{page}")
        yield from window.scroll(22)
    window.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
    for _ in range(23 * pages):
        window.window.event_simulate(type="WHEELUPMOUSE", value="PRESS", x=x, y=y)
        yield 0.02
    yield 0.3


def steps(window):
    window.open_panels()
    watch_drawing(window)
    recorder = Recorder(our_panels())
    window.facts["faults"], window.facts["drawn_panels"] = [], {}
    yield from window.open_sidebar()
    window.facts["width"] = window.sidebar.width
    yield from whole(window, "0-empty")
    yield from shown(window, recorder, "0-empty")
    for number, change in enumerate(STATES, start=1):
        yield from change(window)
        yield from shown(window, recorder, f"{number}-{change.__name__}")
        window.facts["drawn_panels"][change.__name__] = sorted(recorder.trees)
    yield from whole(window, "7-dark", 5)
    window.theme("Blender_Light")
    yield from whole(window, "8-light", 3)
    width = window.sidebar.width
    yield from window.scale(2.0)
    window.facts["width_at_2"] = [width, window.sidebar.width]
    yield from shown(window, recorder, "9-light-2x")
    yield from whole(window, "9-light-2x", 2)
    window.theme("Blender_Dark")
    yield from shown(window, recorder, "9-dark-2x")
    yield from window.scale(1.0)
    if "de_DE" in bpy.app.translations.locales:
        view = bpy.context.preferences.view
        view.language, view.use_translate_interface, view.use_translate_tooltips = "de_DE", True, True
        yield 1.0
        window.facts["language"] = bpy.app.translations.locale
        window.facts["german"] = bpy.app.translations.pgettext_iface("Score Against Reference")
        yield from shown(window, recorder, "10-german")
        yield from whole(window, "10-german", 3)
        view.language = "en_US"
        yield 0.5
    yield from by_keyboard(window)

    # what the measure says of texts that are too long, beside the picture of what Blender makes of them
    panel = next(cls for cls in our_panels() if cls.__name__ == "MATCHCUT_PT_setting")

    def probe(self, context):
        for text in PROBES:
            self.layout.label(text=text, icon="INFO")
        for text in PROBES:
            self.layout.row(align=True).operator("matchcut.cancel", text=text)

    panel.draw = probe
    proof = Recorder([panel])
    yield from window.picture("11-too-long")
    yield 1.0
    yield from window.picture("11-too-long")
    window.facts["proof"] = [[PROBES.index(fault[1]), *fault[2:]] for fault in faults(proof, window.sidebar)]
    window.facts["operators"] = sorted(recorder.operators)
    window.facts["properties"] = sorted(recorder.properties)
    window.facts["tooltips"] = missing_tooltips(recorder)
    yield from agent_off(window)


def by_keyboard(window):
    """Steps: a shortcut over the 3D view, and a command found by the menu search."""
    compare = bpy.context.scene.matchcut.compare
    view = next(region for region in window.area.regions if region.type == "WINDOW")
    x, y = view.x + 300, view.y + view.height // 2

    def key(kind, unicode="", **held):
        window.window.event_simulate(type=kind, value="PRESS", x=x, y=y, unicode=unicode, **held)
        yield 0.05
        window.window.event_simulate(type=kind, value="RELEASE", x=x, y=y, **held)
        yield 0.1

    window.window.event_simulate(type="MOUSEMOVE", value="NOTHING", x=x, y=y)
    yield 0.3
    before = compare.show
    yield from key("C", shift=True, alt=True)
    yield 0.5
    window.facts["shortcut"] = compare.show != before
    yield from key("F3")
    yield 0.5
    for letter in "next compare mode":
        yield from key("SPACE" if letter == " " else letter.upper(), unicode=letter)
    yield 1.0
    yield from window.whole_picture("12-search")
    mode = compare.mode, compare.show
    yield from key("RET")
    yield 0.5
    window.facts["searched"] = (compare.mode, compare.show) != mode


def missing_tooltips(recorder):
    """Buttons and fields of the panels that tell nothing when the mouse is over them."""
    missing = []
    for idname in sorted(recorder.operators):
        group, _, name = idname.partition(".")
        rna = getattr(getattr(bpy.ops, group), name).get_rna_type()
        cls = getattr(bpy.types, rna.identifier, None)
        if not rna.description and not hasattr(cls, "description"):
            missing.append(idname)
    for (owner, name), description in sorted(recorder.properties.items()):
        if not description:
            missing.append(f"{owner}.{name}")
    return missing
