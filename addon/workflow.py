# SPDX-License-Identifier: GPL-3.0-or-later
"""What the artist's buttons do, as plain functions over a scene: read the reference, render, score, install.

Each starts one evaluator command (jobs.py runs and shows it) and says what of its results goes into the scene.
"""

from __future__ import annotations

import ipaddress
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import bpy
from bpy.app.handlers import persistent

from ..evaluator.protocol.errors import BadInputError, OperationalError
from ..evaluator.protocol.files import numbered_folder
from ..evaluator.protocol.messages import Message
from . import jobs, preferences
from .evaluator_process import PACKAGE_ROOT
from .results import ResultLine, read_result_lines
from .scene_file import save_copy
from .timeline import has_camera

RENDERING = "Rendering"
"""Title of a render's job, whose progress the Render panel shows."""

# Undo restores scenes as they were before a job's results came in. What was learnt is kept here and put back.
_videos: dict[str, dict[str, Any]] = {}
_scores: dict[int, tuple[str, list[ResultLine]]] = {}
_renders: dict[int, tuple[str, str]] = {}
_unfinished: dict[int, tuple[Path, list[str]]] = {}


def absolute(path: str) -> Path:
    """A path of a property as an absolute one; `//` is the .blend file's folder."""
    return Path(bpy.path.abspath(path)).absolute()


def reference_picked(scene: Any) -> None:
    """Read the file just picked, unless that is impossible now: the panel then offers Read Reference."""
    reference = scene.matchcut.reference
    if reference.path and not bpy.app.background and jobs.running() is None and not jobs.evaluator().problem:
        try:
            read_reference(scene)
        except BadInputError:
            pass  # the same error comes with its text when Read Reference is pressed


def read_reference(scene: Any) -> jobs.Job:
    """Start reading the reference's size, rate and frames. Raises BadInputError where no file is picked."""
    path = scene.matchcut.reference.path
    uid = scene.session_uid

    def finish(messages: list[Message]) -> None:
        info = next((message.data for message in messages if message.data), None)
        if info is None:
            raise OperationalError("the evaluator told nothing of the reference; see Copy Details")
        _videos[path] = info
        for found in _scenes(uid):
            _store_video(found.matchcut.reference, path)
        job.warnings.clear()  # they stand beside the reference

    job = jobs.start("Reading the reference", ["probe", str(_reference(scene))], finish)
    return job


def render(scene: Any) -> jobs.Job:
    """Start rendering a saved copy of the scene on the reference's timeline, into a folder that no render had before.

    Raises BadInputError where the reference, a camera or the frames to render are missing.
    """
    jobs.check_ready()
    reference = _reference(scene)
    _need_camera(scene)
    options = _render_options(scene)
    folder = numbered_folder(_output(scene), "render")
    return _render(scene, folder, [*_scene_arguments("render", scene, reference, folder), *options])


def resume_render(scene: Any) -> jobs.Job:
    """Go on with the render that was cancelled or failed: with the copy of the scene that it was started with."""
    folder, arguments = _unfinished[scene.session_uid]
    if not (folder / "scene.blend").is_file():
        del _unfinished[scene.session_uid]
        raise BadInputError(f"{folder}: what was rendered is not there any more; render anew")
    return _render(scene, folder, arguments)


def unfinished_render(scene: Any) -> str:
    """The name of the folder of a render that did not come to its end; empty where there is none."""
    return _unfinished[scene.session_uid][0].name if scene.session_uid in _unfinished else ""


def _render(scene: Any, folder: Path, arguments: list[str]) -> jobs.Job:
    uid = scene.session_uid

    def finish(messages: list[Message]) -> None:
        _unfinished.pop(uid, None)
        made = next((message.data for message in reversed(messages) if message.data), {})
        _renders[uid] = (str(folder), made.get("video") or "")
        for found in _scenes(uid):
            _store_render(found)

    job = jobs.start(RENDERING, arguments, finish)
    _unfinished[uid] = (folder, arguments)
    return job


def score(scene: Any) -> jobs.Job:
    """Start rendering a saved copy of the scene and scoring it against the reference into a new folder."""
    jobs.check_ready()
    state = scene.matchcut
    reference = _reference(scene)
    _need_camera(scene)
    options = ["--setting", state.setting, *_samples(scene)]
    if state.checklist:
        options += ["--checklist", str(_existing(state.checklist, "checklist"))]
    judge = judge_of(scene) if state.checklist else ""
    if judge:
        if not bpy.app.online_access and not is_loopback(judge):
            raise BadInputError(
                "the judge is on another machine and online access is off; allow it in Preferences > System > Network"
            )
        options += ["--judge", judge]
    folder = _score_folder(scene)
    uid = scene.session_uid
    arguments = _scene_arguments("score", scene, reference, folder)

    def finish(messages: list[Message]) -> None:
        _scores[uid] = (str(folder), read_result_lines(folder / "results.json"))
        for found in _scenes(uid):
            _store_score(found)

    return jobs.start("Scoring", [*arguments, *options], finish)


def install_evaluator() -> jobs.Job:
    """Start making the evaluator's environment with Blender's own Python, below the extension's user folder."""
    if not bpy.app.online_access:
        raise BadInputError("online access is off; allow it in Preferences > System > Network, then install again")
    folder = preferences.evaluator_folder(create=True)
    if folder is None:
        raise BadInputError("Matchcut is not installed as an extension here; run ./run setup in the checkout")
    prefix = [sys.executable, str(PACKAGE_ROOT / "__main__.py")]
    arguments = ["setup", "--evaluator", "--into", str(folder), "--python", sys.executable]
    return jobs.start("Installing the evaluator", arguments, lambda messages: None, prefix=prefix)


def judge_of(scene: Any) -> str:
    """The judge of the scene, else the one of the preferences; empty for none."""
    stored = preferences.get()
    return str(scene.matchcut.judge or (stored.judge if stored is not None else ""))


def is_loopback(judge: str) -> bool:
    """Whether a judge such as `local:http://127.0.0.1:8000/v1#MODEL` is on this machine."""
    try:
        host = urlsplit(judge.partition(":")[2]).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def report_path(scene: Any) -> Path | None:
    """Where the last score's report lies; None where there is no score."""
    folder = scene.matchcut.results.folder
    return absolute(folder) / "report.html" if folder else None


def _reference(scene: Any) -> Path:
    if not scene.matchcut.reference.path:
        raise BadInputError("no reference is picked; choose the video to rebuild in the Reference panel")
    return _existing(scene.matchcut.reference.path, "reference")


def _existing(stored: str, what: str) -> Path:
    path = absolute(stored)
    if not path.exists():
        raise BadInputError(f"{path}: the {what} is not there; pick it again")
    return path


def _need_camera(scene: Any) -> None:
    if not has_camera(scene):
        raise BadInputError(f"scene {scene.name}: there is no camera; add one and make it active (Ctrl Numpad 0)")


def _samples(scene: Any) -> list[str]:
    state = scene.matchcut
    return ["--samples", str(state.samples)] if state.use_samples else []


def _render_options(scene: Any) -> list[str]:
    chosen = scene.matchcut.render
    options = [*_samples(scene), *_frames(scene)]
    if chosen.scale != 100:
        options += ["--scale", f"{chosen.scale / 100:g}"]
    if chosen.engine != "SCENE":
        options += ["--engine", chosen.engine.lower()]
    if chosen.device != "AUTO":
        options += ["--device", chosen.device.lower()]
    if chosen.view_transform:
        options += ["--view-transform", chosen.view_transform]
    if chosen.workers > 1:
        options += ["--workers", str(chosen.workers)]
    return [*options, *(["--passes"] if chosen.passes else [])]


def _frames(scene: Any) -> list[str]:
    """The option for the frames that are chosen, counted from 0 at the scene's first frame."""
    chosen, reference = scene.matchcut.render.frames, scene.matchcut.reference
    if chosen == "ALL":
        return []
    if chosen == "PREVIEW" and not scene.use_preview_range:
        raise BadInputError("there is no preview range; set one in the timeline (P), or render all frames")
    first, last = scene.frame_current, scene.frame_current
    if chosen == "PREVIEW":
        first, last = scene.frame_preview_start, scene.frame_preview_end
    start = scene.frame_start
    end = start + reference.frames - 1 if reference.known else scene.frame_end
    if last < start or first > end:
        what = f"frame {first}" if first == last else f"frames {first} to {last}"
        raise BadInputError(f"{what}: the reference covers the scene's frames {start} to {end}")
    return ["--frames", f"{max(first, start) - start}-{min(last, end) - start}"]


def _output(scene: Any) -> Path:
    """Where the scene's numbered folders lie."""
    if scene.matchcut.output:
        return absolute(scene.matchcut.output)
    if bpy.data.filepath:
        return Path(bpy.data.filepath).parent / "matchcut"
    return Path(bpy.app.tempdir or tempfile.gettempdir()) / "matchcut"


def _score_folder(scene: Any) -> Path:
    """The first of `score-001`, `score-002` … without a result: what failed is gone on with."""
    base, number = _output(scene), 1
    while (base / f"score-{number:03d}" / "results.json").exists():
        number += 1
    return base / f"score-{number:03d}"


def _scene_arguments(command: str, scene: Any, reference: Path, folder: Path) -> list[str]:
    """The command line of `render` and `score`, with a copy of the open file made for it in `folder`."""
    copy = save_copy(scene, folder / "scene.blend")
    return [command, "--reference", str(reference), "--scene", str(copy), "--out", str(folder)]


def _scenes(uid: int) -> Iterable[Any]:
    """The scene with this session id, whatever it is called now; nothing where it was deleted."""
    return [scene for scene in bpy.data.scenes if scene.session_uid == uid]


def _store_video(reference: Any, path: str) -> None:
    info = _videos[path]
    timeline = info["timeline"]
    reference.read_path = path
    reference.width, reference.height = timeline["width"], timeline["height"]
    reference.rate, reference.frames = timeline["rate"], timeline["frames"]
    reference.warnings.clear()
    for text in info.get("warnings", []):
        reference.warnings.add().text = text


def _store_score(scene: Any) -> None:
    results = scene.matchcut.results
    results.folder, lines = _scores[scene.session_uid]
    results.lines.clear()
    for line in lines:
        item = results.lines.add()
        item.section, item.label, item.text, item.verdict = line.section, line.label, line.text, line.verdict


def _store_render(scene: Any) -> None:
    scene.matchcut.render.folder, scene.matchcut.render.video = _renders[scene.session_uid]


@persistent  # type: ignore[untyped-decorator]
def _undone(*_: Any) -> None:
    for scene in bpy.data.scenes:
        reference = scene.matchcut.reference
        if not reference.known and reference.path in _videos:
            _store_video(reference, reference.path)
        if scene.session_uid in _scores and scene.matchcut.results.folder != _scores[scene.session_uid][0]:
            _store_score(scene)
        if scene.session_uid in _renders and scene.matchcut.render.folder != _renders[scene.session_uid][0]:
            _store_render(scene)


@persistent  # type: ignore[untyped-decorator]
def _loaded(*_: Any) -> None:
    for kept in (_videos, _scores, _renders, _unfinished):
        kept.clear()


HANDLERS = (("undo_post", _undone), ("redo_post", _undone), ("load_post", _loaded))


def register() -> None:
    """Keep results through undo."""
    for name, handler in HANDLERS:
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    """Take the handlers off again."""
    for name, handler in reversed(HANDLERS):
        if handler in getattr(bpy.app.handlers, name):  # other code may have emptied the list
            getattr(bpy.app.handlers, name).remove(handler)
    _loaded()
