# SPDX-License-Identifier: GPL-3.0-or-later
"""Renders a saved copy of the scene on the reference's timeline, into numbered folders, and resumes what stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bpy.app.translations import pgettext_n

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.files import numbered_folder
from ....evaluator.protocol.messages import Message
from ... import jobs
from ...scene_file import save_copy
from ...timeline import has_camera
from .. import aside
from ..kept import keep
from ..owner import owner_of
from ..paths import absolute, output_folder, scenes_of, stored
from ..reference.file import reference_file
from ..requests import COPY, RENDER, Request, unfinished
from .listing import Rendered, is_finished, last_video, list_renders

RENDERING = "Rendering"
"""Title of a render's job, whose progress the Render panel shows."""

NOT_SAVED = pgettext_n("Not saved yet: renders and scores are deleted when Blender is closed. Save the file first.")
"""Said where they go into a temporary folder."""

_unfinished: dict[int, Request] = {}
"""By session id of the scene: its last render, where that did not come to its end."""


def render(scene: Any) -> jobs.Job:
    """Start rendering a saved copy of the scene on the reference's timeline, into a folder that no render had before.

    Raises BadInputError where the reference, a camera or the frames to render are missing.
    """
    jobs.check_ready()
    reference = reference_file(scene)
    need_camera(scene)
    options = _options(scene)
    folder = numbered_folder(output_folder(scene), RENDER)
    request = ask_for("render", scene, reference, folder, options)
    return _start(scene, request)


def resume_render(scene: Any) -> jobs.Job:
    """Go on with the render that was cancelled or failed: with the copy of the scene that it was started with."""
    request = _unfinished[scene.session_uid]
    if not (request.folder / COPY).is_file():
        del _unfinished[scene.session_uid]
        raise BadInputError(f"{request.folder}: what was rendered is not there any more; render anew")
    return _start(scene, request)


def unfinished_render(scene: Any) -> str:
    """The name of the folder of a render that did not come to its end; empty where there is none."""
    return _unfinished[scene.session_uid].folder.name if scene.session_uid in _unfinished else ""


def find_renders(scene: Any, ended: Path | None = None) -> None:
    """List the scene's last renders from the disk again, and the one that did not come to its end.

    `ended` is the folder of a render that has just ended: it lies elsewhere where the file was saved as another since.
    """
    base, owner, uid = output_folder(scene), owner_of(scene), scene.session_uid
    kept = scene.matchcut.render.folder  # after Save As the earlier ones lie where they were
    others = [one.parent for one in (ended, absolute(kept) if kept else None) if one is not None]
    bases = list(dict.fromkeys([base, *others]))

    def work() -> tuple[list[Rendered], Path | None, Request | None]:
        found = [one for place in bases for one in list_renders(place, owner)]
        return found, last_video(bases, owner, found), unfinished(base, RENDER, owner, is_finished)

    def take(found: tuple[list[Rendered], Path | None, Request | None]) -> None:
        renders, video, left = found
        if left is not None:
            _unfinished[uid] = left
        else:
            _unfinished.pop(uid, None)
        keep(uid, "renders", lambda kept: _write(kept.matchcut.render, renders, video))
        jobs.redraw()

    aside.look(f"renders {uid}", work, take)


def need_camera(scene: Any) -> None:
    """Raise BadInputError where there is no camera to render with."""
    if not has_camera(scene):
        raise BadInputError(f"scene {scene.name}: there is no camera; add one and make it active (Ctrl Numpad 0)")


def ask_for(command: str, scene: Any, reference: Path, folder: Path, options: list[str | Path]) -> Request:
    """The command line of `render` and `score`, kept in `folder` with a copy of the open file."""
    copy = save_copy(scene, folder / COPY)
    arguments = (command, "--reference", reference, "--scene", copy, "--out", folder, *options)
    request = Request(folder, owner_of(scene), arguments)
    try:
        request.write()
    except OSError as error:
        raise BadInputError(
            f"{folder}: cannot be written ({error.strerror or error}); choose another folder"
        ) from error
    return request


def final_options(scene: Any) -> list[str | Path]:
    """The options by which a scene is rendered as it is scored."""
    state, chosen = scene.matchcut, scene.matchcut.render
    options: list[str | Path] = ["--samples", str(state.samples)] if state.use_samples else []
    if chosen.engine != "SCENE":
        options += ["--engine", chosen.engine.lower()]
    if chosen.device != "AUTO":
        options += ["--device", chosen.device.lower()]
    if chosen.view_transform:
        options += ["--view-transform", chosen.view_transform]
    return [*options, *(["--workers", str(chosen.workers)] if chosen.workers > 1 else [])]


def forget() -> None:
    """Another file was opened, or the add-on ends: there is nothing to resume."""
    _unfinished.clear()


def _start(scene: Any, request: Request) -> jobs.Job:
    uid = scene.session_uid

    def finish(messages: list[Message]) -> None:
        for found in scenes_of(uid):
            find_renders(found, request.folder)

    def heard(message: Message) -> None:
        if message.type == "done" and message.exit_status:  # cancelled or failed: what is there is listed all the same
            for found in scenes_of(uid):
                find_renders(found, request.folder)

    job = jobs.start(RENDERING, request.command_line, finish)
    job.heard = heard
    _unfinished[uid] = request
    return job


def _write(render: Any, found: list[Rendered], last: Path | None) -> None:
    """What the scene keeps of its renders; the list is written anew only where they are others."""
    done = next((one for one in found if one.is_done), None)
    if done is not None:
        render.folder = stored(done.folder)
    if last is not None and render.video != stored(last):
        render.video = stored(last)
    rows = [(one.folder.name, stored(one.folder), stored(one.video) if one.video else "", one) for one in found]
    known = [(row.name, row.folder, row.video, row.frames, row.is_done) for row in render.renders]
    if known == [(name, folder, video, one.frames, one.is_done) for name, folder, video, one in rows]:
        return
    render.renders.clear()
    for name, folder, video, one in rows:
        row = render.renders.add()
        row.name, row.folder, row.video = name, folder, video
        row.frames, row.of, row.is_done = one.frames, one.of, one.is_done
        row.seconds = -1.0 if one.seconds is None else one.seconds
    render.active = 0


def _options(scene: Any) -> list[str | Path]:
    chosen = scene.matchcut.render
    if chosen.mode == "FINAL":
        return [*final_options(scene), "--reusable", *(["--passes"] if chosen.passes else [])]
    options = _frames(scene)
    if chosen.every > 1 and chosen.frames != "CURRENT":
        options += ["--every", str(chosen.every)]
    if chosen.scale != 100:
        options += ["--scale", f"{chosen.scale / 100:g}"]
    return [*options, *_with_samples(final_options(scene), chosen.preview_samples)]


def _with_samples(options: list[str | Path], samples: int) -> list[str | Path]:
    rest = options[2:] if options[:1] == ["--samples"] else options
    return ["--samples", str(samples), *rest]


def _frames(scene: Any) -> list[str | Path]:
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
