# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a score before it starts: what it does, what is sent to whom, and what that costs at most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bpy.app.translations import pgettext_iface as translated

from .stages import Plan, Stage

ICONS: Final = {"todo": "CHECKBOX_HLT", "reused": "CHECKMARK", "skipped": "CHECKBOX_DEHLT"}


def to_tell(plan: Plan, receiver: str) -> Iterator[tuple[str, str]]:
    """Icon and text of each line; `receiver` is who is sent pictures, empty where they stay on this machine."""
    for stage in plan.stages:
        yield ICONS.get(stage.state, "DOT"), f"{translated(stage.label)}: {stage_text(stage)}"
    if plan.judge is None:
        yield "INFO", translated("Only what can be measured is scored: there is no checklist with a judge.")
        return
    if not plan.judge.requests:
        yield "INFO", translated("Nothing is sent: every clip has been judged before.")
        return
    if not receiver:
        yield "HOME", translated("Nothing leaves this machine.")
        return
    text = translated("{images} pictures of the reference and your render go to {receiver}, to be rated by {model}.")
    yield (
        "EXPORT",
        text.format(images=plan.judge.images, receiver=receiver, model=plan.judge.model),
    )
    yield "FUND", cost(plan)


def stage_text(stage: Stage) -> str:
    """What is done in a stage, or why it is not."""
    texts = {"reused": translated("{what} (nothing to do)"), "skipped": translated("left out, {what}")}
    return str(texts.get(stage.state, "{what}")).format(what=stage.text)


def cost(plan: Plan) -> str:
    """What the judge costs at most, in one line."""
    judge = plan.judge
    if judge is None or judge.usd is None:
        return str(translated("What it costs is not known: there is no price of this model."))
    text = str(translated("It costs at most about ${usd}.")).format(usd=f"{judge.usd:.2f}")
    if judge.budget_usd is not None:
        text += " " + translated("No more than your budget of ${usd} is spent.").format(usd=f"{judge.budget_usd:.2f}")
    return text
