# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the running job is, as a panel shows it."""

from __future__ import annotations

from typing import Any

from .. import jobs
from .layout import paragraph, sentence


def running_job(layout: Any, context: Any, job: jobs.Job) -> None:
    """How far a job is, what it does, and Cancel."""
    count = f" {job.done} / {job.total}" if job.total else ""
    stage = f"{job.stage.replace('_', ' ').capitalize()}{count}" if job.stage else "Working"
    column = layout.column()
    column.label(text=job.title)
    column.progress(factor=job.fraction, text=stage)
    if job.text:
        paragraph(column, context, sentence(job.text))
    column.operator("matchcut.cancel", icon="CANCEL")
