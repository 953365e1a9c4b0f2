# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames of one shot in, their geometry out, a window at a time.

A window is adjusted as a whole; its last frames are adjusted again with the next window, whose first frames, already
given out, hold the gauge. What is in memory does not depend on how long the shot is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from . import focal as focal_search
from .adjust import Observations, Plan, Solution, adjust, inverse
from .chain import Seen, chain, key_gap, turn
from .depth import InverseDepth, View, inverse_depth
from .flow import Flow, Workers, flows, texture
from .motion import even, moving, sky
from .samples import Samples, choose, follow, matched, observations
from .settings import Settings
from .two_view import parallax

FOCAL_FROM = 8
STILL, TURNING = "the camera stands still", "the camera only turns: no parallax"
BARELY = "there is hardly any parallax"
DOUBT = 0.0075
"""Of the focal length: known no better than this, it is looked for from elsewhere too."""
OTHER_STARTS = (0.5, 2.0)
FIRST_SCALES = (1.0, 0.5, 0.25, 0.12, 0.06)
LATER_SCALES = (0.25, 0.12, 0.06)


@dataclass(frozen=True)
class FrameEstimate:
    """One frame on the flow's grid (h, w).

    Inverse depth, 0 where there is none, and its standard deviation as a share of it, inf there; masks; the pose and
    the focal length in pixels; flow to the next frame of the shot, None at its end.
    """

    number: int
    inverse_depth: NDArray[np.float32]
    sigma: NDArray[np.float32]
    sky: NDArray[np.bool_]
    moving: NDArray[np.bool_]
    world_to_camera: NDArray[np.float64]
    focal: float
    texture: NDArray[np.float32]
    following: Flow | None


@dataclass
class Outcome:
    """What became of a shot: frames that are without depth by reason, and the focal lengths that were measured."""

    unobservable: list[tuple[int, int, str]] = field(default_factory=list)
    focals: list[tuple[float, float]] = field(default_factory=list)
    """(pixels, standard deviation of its logarithm) of each window that measured one."""
    residuals: list[float] = field(default_factory=list)
    loose: list[tuple[int, int, float]] = field(default_factory=list)
    """First and last frame of windows whose best rigid motion explains this small share of the picture."""

    def none(self, first: int, last: int, reason: str) -> None:
        """Say why the frames `first` … `last` have no depth."""
        before = self.unobservable[-1] if self.unobservable else None
        if before and before[1] + 1 == first and before[2] == reason:
            self.unobservable[-1] = before[0], last, reason
        else:
            self.unobservable.append((first, last, reason))


def estimate_shot(
    frames: Iterable[tuple[int, NDArray[np.uint8]]],
    settings: Settings,
    threads: Workers,
    outcome: Outcome,
    focal: float | None,
    dense: bool = True,
) -> Iterator[FrameEstimate]:
    """The geometry of consecutive frames (number, grey picture), in order.

    With a `focal` length in pixels it is used; without one, the first window measures it. Where the picture does not
    connect two frames (black, no texture, another scene) a new gauge starts. Without `dense` nothing is given out,
    and `outcome` alone tells what was found.
    """
    window = _Window(settings, threads, outcome, focal, dense)
    for number, picture in frames:
        if window.is_full:
            yield from window.advance(ends=False)
        window.add(number, picture)
    yield from window.advance(ends=True)


class _Window:
    def __init__(
        self, settings: Settings, threads: Workers, outcome: Outcome, focal: float | None, dense: bool
    ) -> None:
        self.settings, self.threads, self.outcome, self.focal, self.dense = settings, threads, outcome, focal, dense
        self.pictures: dict[int, NDArray[np.uint8]] = {}
        self.textures: dict[int, NDArray[np.float32]] = {}
        self.samples: dict[int, Samples] = {}
        self.flows: dict[tuple[int, int], Flow] = {}
        self.seen: dict[tuple[int, int], tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self.fixed: list[int] = []
        self.active: list[int] = []
        self.poses: dict[int, NDArray[np.float64]] = {}
        self.depths: dict[int, NDArray[np.float64]] = {}
        self.last_pose = np.eye(4)
        self.shown_focal = focal

    @property
    def is_full(self) -> bool:
        return len(self.active) >= self.settings.window

    def add(self, number: int, picture: NDArray[np.uint8]) -> None:
        self.active.append(number)
        self.pictures[number] = picture

    def advance(self, ends: bool) -> Iterator[FrameEstimate]:
        """Solve for the active frames and give out those that are done, or all at the end of the shot."""
        self._connect()
        numbers = [*self.fixed, *self.active]
        breaks = [b for a, b in pairwise(numbers) if not self._connected(a, b)]
        for start in breaks:
            yield from self._solve([number for number in self.active if number < start], ends=True)
        yield from self._solve(self.active, ends=ends)

    def _connect(self) -> None:
        """Samples, flow and matches of the frames that came in."""
        new = [number for number in self.active if number not in self.samples]
        for number, found in zip(new, self.threads.map(lambda n: texture(self.pictures[n]), new), strict=True):
            self.textures[number] = found
            self.samples[number] = choose(found, self.settings)
        numbers = {*self.fixed, *self.active}
        wanted = [
            (second - offset, second)
            for second in new
            for offset in self.settings.offsets
            if second - offset in numbers
            and min(len(self.samples[n].points) for n in (second - offset, second)) >= self.settings.least_samples
        ]
        found_flows = flows(self.pictures, wanted, self.threads)
        self.flows.update(found_flows)
        for pair, flow in found_flows.items():
            self.seen[pair] = follow(self.samples[pair[0]], flow, self.settings.consistency)

    def _connected(self, first: int, second: int) -> bool:
        pair = self.seen.get((first, second))
        return pair is not None and int((pair[1] > 0).sum()) >= self.settings.least_samples

    def _solve(self, active: list[int], ends: bool) -> Iterator[FrameEstimate]:
        if not active:
            return
        numbers = [*self.fixed, *active]
        reason = self._poses(numbers, active)
        done = active if ends else active[: -self.settings.overlap]
        if reason:
            self.outcome.none(done[0], done[-1], reason)
        if self.dense:
            yield from self.threads.map(lambda number: self._dense(number, numbers, reason), done)
        self.last_pose = self.poses[numbers[-1]] if ends else self.poses[done[-1]]
        self.active = [number for number in self.active if number not in done]
        # a gauge goes on through the frames that were just given out; after an end, or without depth, a new one starts
        goes_on = not ends and not reason
        self.fixed = [*self.fixed, *done][-self.settings.overlap :] if goes_on else []
        self._forget()

    def _forget(self) -> None:
        kept = {*self.fixed, *self.active}
        for table in (self.pictures, self.textures, self.samples):
            for number in [number for number in table if number not in kept]:
                del table[number]
        for pairs in (self.flows, self.seen):
            for pair in [pair for pair in pairs if not kept.issuperset(pair)]:
                del pairs[pair]
        self.poses = {number: pose for number, pose in self.poses.items() if number in self.fixed}
        self.depths = {number: values for number, values in self.depths.items() if number in self.fixed}

    def _poses(self, numbers: list[int], active: list[int]) -> str:
        """Find the poses of the active frames; the reason why there is no depth, or ''."""
        settings = self.settings
        side = max(self.pictures[active[0]].shape)
        seen = {pair: value for pair, value in self.seen.items() if {*pair} <= {*numbers}}
        if not self.fixed:
            self.poses = {active[0]: self.last_pose}
            if len(active) == 1:
                return (
                    "no frame beside it shows the same thing" if len(self.samples[active[0]].points) else "no texture"
                )
            gap = max(offset for offset in settings.offsets if offset < len(active))
            pairs = [
                matched(self.samples[a], self.flows[a, b], settings.consistency)
                for a, b in zip(active, active[gap:], strict=False)
                if self._connected(a, b)
            ]
            pairs = pairs or [
                matched(self.samples[a], self.flows[a, b], settings.consistency) for a, b in pairwise(active)
            ]
            motion = max(float(np.median(np.linalg.norm(after - before, axis=1))) for before, after in pairs)
            if motion < settings.least_motion:
                self.poses.update(dict.fromkeys(active, self.last_pose))
                return STILL
            chosen = pairs[:: max(1, len(pairs) // 4)]
            first = focal_search.search(chosen, side, self.threads)
            length = self.focal or first.length
            apart = first.parallax
            if self.focal:
                apart = float(np.median([parallax(*pair, length) for pair in chosen]))
            if apart < settings.least_parallax:
                self.shown_focal = self.focal or focal_search.by_rotation(chosen, side, self.threads)
                self.poses = turn(seen, self.samples, active, self.poses, self.shown_focal)
                return TURNING
        else:
            assert self.focal is not None
            length = self.focal
        groups = observations(self.samples, seen, numbers)
        solution, share = self._from(numbers, groups, seen, length, side)
        if self.focal is None and not solution.focal_sigma <= DOUBT:
            # what is nearly flat says little of the focal length, and an adjustment stays where it started
            length = solution.focal
            for factor in OTHER_STARTS:
                other, other_share = self._from(numbers, groups, seen, factor * length, side)
                if other.residual < solution.residual:
                    solution, share = other, other_share
        rigid = bool(self.fixed) or share >= settings.rigid_share
        if not rigid and not settings.keeps_loose:
            self.poses.update(dict.fromkeys(active, self.last_pose))
            return "no rigid motion explains enough of the picture"
        if not rigid:
            self.outcome.loose.append((active[0], active[-1], share))
        if not self.fixed and rigid and _determined(groups, solution) < settings.determined_share:
            self.poses = turn(seen, self.samples, active, dict(list(self.poses.items())[:1]), length)
            self.shown_focal = length
            return BARELY
        self.outcome.residuals.append(solution.residual)
        if self.focal is None:
            self.focal = self.shown_focal = solution.focal
            self.outcome.focals.append((solution.focal, solution.focal_sigma))
        scale = 1.0
        if not self.fixed:
            middle = np.concatenate(solution.inverse_depths)
            scale = 1 / float(np.median(middle)) if len(middle) else 1.0
        for number, pose, values in zip(numbers, solution.poses, solution.inverse_depths, strict=True):
            motion = pose @ inverse(solution.poses[0])
            motion[:3, 3] /= scale
            self.poses[number] = motion @ self.poses[numbers[0]]
            self.depths[number] = values * scale
        return ""

    def _from(
        self, numbers: list[int], groups: list[Observations], seen: Seen, length: float, side: int
    ) -> tuple[Solution, float]:
        """The adjustment that starts from a focal length, and the share of the picture that is rigid there."""
        gap = key_gap(seen, self.samples, numbers, self.settings, length, side)
        poses, share = chain(seen, self.samples, numbers, self.poses, self.depths, length, gap, self.threads)
        stack = np.stack([poses[number] for number in numbers])
        start = []
        for number, group in zip(numbers, groups, strict=True):
            found = _of_samples(group, stack, length).values
            usual = float(np.median(found[found > 0])) if (found > 0).any() else 1.0
            values = np.where(np.isfinite(found), found, usual).astype(np.float64)
            start.append(self.depths.get(number, np.clip(values, 0.01 * usual, 20 * usual)))
        plan = Plan(
            fixed=max(1, len(self.fixed)),
            scales=LATER_SCALES if self.fixed else FIRST_SCALES,
            poses_from=1,
            focal_from=FOCAL_FROM if self.focal is None else None,
            usual=focal_search.USUAL * side,
        )
        height, width = self.pictures[numbers[0]].shape
        return adjust(groups, stack, start, length, plan, (width, height)), share

    def _dense(self, number: int, numbers: list[int], reason: str) -> FrameEstimate:
        settings, picture = self.settings, self.pictures[number]
        height, width = picture.shape
        focal = self.focal or self.shown_focal or focal_search.USUAL * max(height, width)
        following = self.flows.get((number, number + 1)) if number + 1 in numbers else None
        nothing = np.zeros((height, width), np.bool_)
        if reason not in ("", STILL, TURNING, BARELY):
            return FrameEstimate(
                number, np.zeros((height, width), np.float32), np.full((height, width), np.inf, np.float32), nothing,
                nothing, self.poses[number], focal, self.textures[number], following,
            )  # fmt: skip
        found = self._depth_of(number, numbers, focal)
        shape = (height, width)
        values = found.values.reshape(shape)
        residual = np.fmin(found.earlier, found.later).reshape(shape) * np.float32(focal)
        typical = float(np.nanmedian(residual)) if np.isfinite(residual).any() else 1.0
        noise = max(0.1, 1.5 * typical) * np.sqrt(1 + settings.texture / np.maximum(self.textures[number], 1e-9))
        with np.errstate(divide="ignore"):
            sigma = (noise / focal / np.sqrt(found.information.reshape(shape))).astype(np.float32)
        guessed = even(self.textures[number])
        apart = moving(residual, guessed, max(settings.moving_residual, 4 * typical), settings.moving_area)
        outside = nothing if reason else sky(values, sigma, apart, guessed, settings.moving_area)
        # a camera that only turns tells what moves, and no depth
        valid = (not reason) & (values > 2 * sigma) & ~outside & (found.information.reshape(shape) > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(valid, sigma / values, np.float32(np.inf))
        return FrameEstimate(
            number, np.where(valid, values, np.float32(0)), relative, outside, apart, self.poses[number], focal,
            self.textures[number], following,
        )  # fmt: skip

    def _depth_of(self, number: int, numbers: list[int], focal: float) -> InverseDepth:
        height, width = self.pictures[number].shape
        x = np.broadcast_to(np.arange(width, dtype=np.float32) - (width - 1) / 2, (height, width))
        y = np.broadcast_to((np.arange(height, dtype=np.float32) - (height - 1) / 2)[:, None], (height, width))
        rays = (np.stack([x, y], axis=-1) / focal).reshape(-1, 2).astype(np.float32)
        views = []
        for other in numbers:
            flow = self.flows.get((number, other))
            if flow is not None:
                motion = self.poses[other] @ inverse(self.poses[number])
                seen = rays + flow.field.reshape(-1, 2).astype(np.float32) / np.float32(focal)
                weights = (flow.error.ravel() < 1.5 * self.settings.consistency).astype(np.float32)
                views.append(View(motion, seen, weights, later=other > number))
        return inverse_depth(rays, views, 0.25 / focal)


def _of_samples(group: Observations, poses: NDArray[np.float64], focal: float) -> InverseDepth:
    """The inverse depths of the samples of one frame for the poses (n, 4, 4) of all."""
    motions = poses[list(group.targets)] @ inverse(poses[group.source])
    views = [
        View(motion, (places / focal).astype(np.float32), weights.astype(np.float32))
        for motion, places, weights in zip(motions, group.seen, group.weights, strict=True)
    ]
    return inverse_depth((group.points / focal).astype(np.float32), views, 1 / focal)


def _determined(groups: list[Observations], solution: Solution) -> float:
    """The share of the samples whose inverse depth is beyond three standard deviations."""
    beyond = []
    for group in groups:
        found = _of_samples(group, solution.poses, solution.focal)
        sigma = (0.1 + solution.residual) / solution.focal / np.sqrt(np.maximum(found.information, 1e-12))
        beyond.append(found.values > 3 * sigma)
    together = np.concatenate(beyond)
    return float(together.mean()) if len(together) else 0.0
