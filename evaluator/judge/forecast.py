# SPDX-License-Identifier: GPL-3.0-or-later
"""What judging the clips of one submission will send and cost at most, before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ..checklist.records import Clip, Setting
from ..media.records import VideoInfo
from ..media.selection import clip_frames
from .attempts import RetryPolicy
from .evidence import EvidenceError, EvidenceStore
from .gate import Gate
from .prices import estimate, find_price
from .prompt import instruction, request_text
from .providers.base import Provider, Tokens
from .store import JudgmentStore
from .work import Desk, Task, WarningsKept, configuration


@dataclass(frozen=True)
class Forecast:
    """`requests` with `images` in them are sent, once each if all goes well; `answered` clips have their judgment.

    `usd` is what they cost at most by the list price, None where no price is known.
    """

    requests: int
    images: int
    answered: int
    tokens: Tokens
    usd: float | None


def forecast(
    clips: Sequence[Clip],
    setting: Setting,
    rate: Fraction,
    provider: Provider,
    *,
    store: Path,
    videos: tuple[VideoInfo, VideoInfo] | None = None,
) -> Forecast:
    """What `judge_clips` would send for a reference of this rate.

    With `videos`, the reference and the reconstruction, what `store` holds of them is not sent again; nothing is known
    of a reconstruction that is still to be rendered.
    """
    desk = Desk(provider, JudgmentStore(store), EvidenceStore(store), RetryPolicy(), Gate(1), lambda _: None)
    requests = images = answered = 0
    tokens = Tokens()
    for clip in clips:
        if not clip.applicable(setting):
            continue
        if videos is not None and _is_known(desk, clip, setting, videos):
            answered += 1
            continue
        count = len(clip_frames(clip, setting, rate))
        text = len(request_text(clip, setting)) + len(instruction(setting))
        most = estimate(count, text, configuration(provider).get("max_output_tokens"))
        tokens = Tokens(tokens.input + most.input, tokens.output + most.output)
        requests, images = requests + 1, images + count
    price = find_price(provider.name, provider.model)
    return Forecast(requests, images, answered, tokens, price.cost(tokens) if price is not None else None)


def _is_known(desk: Desk, clip: Clip, setting: Setting, videos: tuple[VideoInfo, VideoInfo]) -> bool:
    try:
        return desk.known(Task(clip, setting, lambda: videos), WarningsKept()) is not None
    except EvidenceError:
        return False
