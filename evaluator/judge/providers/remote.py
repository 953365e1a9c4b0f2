# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judges behind an address have in common: a look at key, model and limits before anything is sent."""

from __future__ import annotations

from .base import FatalError, JudgeRequest, Limits, RecoverableError, Settings
from .wire import Wire

_PART_BYTES = 120
"""JSON around each image."""


class Remote:
    """The common part of a RemoteProvider (base.py)."""

    _wire: Wire

    def __init__(self, name: str, model: str, settings: Settings, limits: Limits, *, missing: str) -> None:
        self.name = name
        self.model = model
        self.limits = Limits(
            settings.max_images if settings.max_images is not None else limits.images,
            settings.max_request_bytes if settings.max_request_bytes is not None else limits.request_bytes,
        )
        self._settings, self.missing = settings, missing

    @property
    def configuration(self) -> dict[str, str | int]:
        """Settings that change answers."""
        found: dict[str, str | int] = {}
        if self._settings.effort is not None:
            found["effort"] = self._settings.effort
        if self._settings.max_output_tokens is not None:
            found["max_output_tokens"] = self._settings.max_output_tokens
        return found

    def request_bytes(self, request: JudgeRequest) -> int:
        """Size of the request as JSON with the images in base64."""
        images = sum((len(image) + 2) // 3 * 4 + _PART_BYTES for image in request.images)
        return images + len(request.text.encode()) + len(request.instruction.encode()) + 2000

    def check(self) -> str:
        """See RemoteProvider."""
        if self.missing:
            raise FatalError("unauthorized", self.missing, whole_run=True)
        try:
            models = self._models()
        except FatalError as error:
            if error.reason in ("unauthorized", "forbidden", "quota_spent"):
                raise
            return ""  # a server without such a list; the first request will tell
        except RecoverableError as error:
            if error.reason == "connection":
                raise
            return ""
        if models is None or not models or self.model in models or f"models/{self.model}" in models:
            return ""
        shown = ", ".join(sorted(models)[:8])
        return f"the service does not list the model {self.model!r}; it lists {shown}"

    def models(self) -> list[str]:
        """The models that the service lists, by name; none where it keeps no list. Raises as `check` does."""
        if self.missing:
            raise FatalError("unauthorized", self.missing, whole_run=True)
        return sorted(self._models() or [])

    def close(self) -> None:
        """See RemoteProvider."""
        self._wire.close()

    def _models(self) -> list[str] | None:
        """The models that the service lists; None where it has no list."""
        raise NotImplementedError
