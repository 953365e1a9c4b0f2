# SPDX-License-Identifier: GPL-3.0-or-later
"""Scores a saved copy of the scene against its reference."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import bpy

from ....evaluator.protocol.errors import BadInputError
from ....evaluator.protocol.messages import Message
from ... import jobs, preferences
from ..paths import existing, output_folder, reference_file
from ..render.run import need_camera, samples_option, scene_arguments
from ..results.store import take_results


def score(scene: Any) -> jobs.Job:
    """Start rendering a saved copy of the scene and scoring it against the reference into a new folder."""
    jobs.check_ready()
    state = scene.matchcut
    reference = reference_file(scene)
    need_camera(scene)
    options = ["--setting", state.setting, *samples_option(scene)]
    if state.checklist:
        options += ["--checklist", str(existing(state.checklist, "checklist"))]
    judge = judge_of(scene) if state.checklist else ""
    if judge:
        if not bpy.app.online_access and not is_loopback(judge):
            raise BadInputError(
                "the judge is on another machine and online access is off; allow it in Preferences > System > Network"
            )
        options += ["--judge", judge]
    folder = _folder(scene)
    uid = scene.session_uid
    arguments = scene_arguments("score", scene, reference, folder)

    def finish(messages: list[Message]) -> None:
        take_results(uid, folder)

    return jobs.start("Scoring", [*arguments, *options], finish)


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


def _folder(scene: Any) -> Path:
    """The first of `score-001`, `score-002` … without a result: what failed is gone on with."""
    base, number = output_folder(scene), 1
    while (base / f"score-{number:03d}" / "results.json").exists():
        number += 1
    return base / f"score-{number:03d}"
