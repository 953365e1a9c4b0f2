# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded judgments as a judge: the same evidence, checks and prompt get the labels that were given before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from ...protocol.errors import BadInputError
from ...protocol.files import content_key
from ..records import Judgment
from .base import FatalError, JudgeRequest, Reply


class Replay:
    """A judge called `replay` that answers from `FOLDER/judgments` (or a folder of judgment files) and asks nobody.

    `model` limits it to the answers of one model where the folder holds those of several. Raises BadInputError where
    there is no judgment.
    """

    name = "replay"

    def __init__(self, folder: Path, model: str | None = None) -> None:
        inner = folder / "judgments"
        self._folder = inner if inner.is_dir() else folder
        files = sorted(self._folder.glob("[!.]*.json")) if self._folder.is_dir() else []
        if not files:
            raise BadInputError(f"{folder}: holds no recorded judgments; give the folder that `judge run` wrote")
        self._answers: dict[str, list[tuple[Path, tuple[str, ...]]]] = {}
        models: set[str] = set()
        for file in files:
            judgment = Judgment.read(file)
            if model not in (None, judgment.requested_model, f"{judgment.provider}:{judgment.requested_model}"):
                continue
            models.add(judgment.requested_model)
            labels = tuple(rating.rating for rating in judgment.ratings)
            key = _key(
                judgment.prompt_sha256,
                [frame.sha256 for frame in judgment.evidence],
                [rating.category for rating in judgment.ratings],
            )
            self._answers.setdefault(key, []).append((file, labels))
        if not models:
            raise BadInputError(f"{self._folder}: holds no judgment by the model {model!r}")
        self.model = model or (models.pop() if len(models) == 1 else "several")

    def ask(self, request: JudgeRequest) -> Reply:
        """The recorded labels. Raises FatalError where there are none, or where two records disagree."""
        key = _key(
            content_key({"instruction": request.instruction, "schema": request.schema}),
            [hashlib.sha256(image).hexdigest() for image in request.images],
            [check["category"] for check in json.loads(request.text)["checks"]],
        )
        found = self._answers.get(key, [])
        if not found:
            raise FatalError("not_recorded", f"{self._folder} has no answer to this request", whole_run=False)
        if len({labels for _, labels in found}) > 1:
            names = " and ".join(file.name for file, _ in found[:2])
            raise FatalError("several_answers", f"{names} answer it differently; name a model after #", whole_run=False)
        judgment = Judgment.read(found[0][0])
        return Reply(
            json.dumps({"results": list(found[0][1])}),
            "stop",
            model=judgment.replied_model,
            request_id=judgment.request_id,
            usage={},  # nothing is used up a second time
        )


def _key(prompt: str, images: Iterable[str], categories: Iterable[str]) -> str:
    return content_key({"prompt": prompt, "images": list(images), "categories": list(categories)})
