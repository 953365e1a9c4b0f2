# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders a saved copy of the scene on the reference's timeline, into numbered folders, and resumes what stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.files import numbered_folder
from ....evaluator.protocol.messages import Message
from ... import jobs
from ...scene_file import save_copy
from ...timeline import has_camera
from ..kept import keep
from ..paths import output_folder, reference_file

RENDERING = "Rendering"
"""Title of a render's job, whose progress the Render panel shows."""

_unfinished: dict[int, tuple[Path, list[str]]] = {}


def render(scene: Any) -> jobs.Job:
    """Start rendering a saved copy of the scene on the reference's timeline, into a folder that no render had before.

    Raises BadInputError where the reference, a camera or the frames to render are missing.
    """
    jobs.check_ready()
    reference = reference_file(scene)
    need_camera(scene)
    options = _options(scene)
    folder = numbered_folder(output_folder(scene), "render")
    return _start(scene, folder, [*scene_arguments("render", scene, reference, folder), *options])


def resume_render(scene: Any) -> jobs.Job:
    """Go on with the render that was cancelled or failed: with the copy of the scene that it was started with."""
    folder, arguments = _unfinished[scene.session_uid]
    if not (folder / "scene.blend").is_file():
        del _unfinished[scene.session_uid]
        raise BadInputError(f"{folder}: what was rendered is not there any more; render anew")
    return _start(scene, folder, arguments)


def unfinished_render(scene: Any) -> str:
    """The name of the folder of a render that did not come to its end; empty where there is none."""
    return _unfinished[scene.session_uid][0].name if scene.session_uid in _unfinished else ""


def need_camera(scene: Any) -> None:
    """Raise BadInputError where there is no camera to render with."""
    if not has_camera(scene):
        raise BadInputError(f"scene {scene.name}: there is no camera; add one and make it active (Ctrl Numpad 0)")


def scene_arguments(command: str, scene: Any, reference: Path, folder: Path) -> list[str]:
    """The command line of `render` and `score`, with a copy of the open file made for it in `folder`."""
    copy = save_copy(scene, folder / "scene.blend")
    return [command, "--reference", str(reference), "--scene", str(copy), "--out", str(folder)]


def samples_option(scene: Any) -> list[str]:
    """The option for the number of samples, where it is limited."""
    state = scene.matchcut
    return ["--samples", str(state.samples)] if state.use_samples else []


def forget() -> None:
    """Another file was opened, or the add-on ends: there is nothing to resume."""
    _unfinished.clear()


def _start(scene: Any, folder: Path, arguments: list[str]) -> jobs.Job:
    uid = scene.session_uid

    def finish(messages: list[Message]) -> None:
        _unfinished.pop(uid, None)
        made = next((message.data for message in reversed(messages) if message.data), {})
        keep(uid, "render", lambda found: _store(found.matchcut.render, str(folder), made.get("video") or ""))

    job = jobs.start(RENDERING, arguments, finish)
    _unfinished[uid] = (folder, arguments)
    return job


def _store(render: Any, folder: str, video: str) -> None:
    render.folder, render.video = folder, video


def _options(scene: Any) -> list[str]:
    chosen = scene.matchcut.render
    options = [*samples_option(scene), *_frames(scene)]
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
