# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the running job is, as a panel shows it: what it does, how much of it is done, and how long it will take."""

from __future__ import annotations

from typing import Any

from bpy.app.translations import pgettext_iface as translated

from .. import jobs
from .layout import paragraph
from .words import sentence


def running_job(layout: Any, context: Any, job: jobs.Job, *, title: bool = True) -> None:
    """How far a job is, what it does, and Cancel."""
    column = layout.column()
    if title:
        column.label(text=job.title)
    column.progress(factor=job.fraction, text=bar_text(job), translate=False)
    if job.text and not job.text.startswith((f"frame {job.done} of", f"pictures and passes {job.done} of")):
        paragraph(column, context, sentence(job.text))
    column.operator("matchcut.cancel", icon="CANCEL")


def bar_text(job: jobs.Job) -> str:
    """What stands on a job's bar, as `Render 12 / 48 · 0:31 left`."""
    if not job.stage:
        return str(translated("Working"))
    name = job.stage.partition(",")[0].replace("_", " ")  # `sgc, gauge`: the rest is the evaluator's own business
    stage = translated("SGC" if name == "sgc" else name.capitalize())
    text = f"{stage} {job.done} / {job.total}" if job.total else stage
    left = job.seconds_left
    return text if left is None else f"{text} · " + translated("{time} left").format(time=clock(left))


def clock(seconds: float) -> str:
    """A length of time as `0:07`, `12:30` or `1:02:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
