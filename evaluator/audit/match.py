# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a picture is one of the reference's frames: all of it, or a part of one.

*Whole*: the picture is stretched to the frame, in all eight orientations, as luma and as each of its colour channels,
and correlated with every frame at 32x18 (zero-mean normalised cross-correlation: brightness, contrast and inversion do
not matter). The best frames are then compared at 64x36 with the coarse shading taken out, since a bright sky over dark
ground alone correlates with every landscape. *Part*: SIFT features (Lowe 2004) that agree on one homography find
crops, turned and warped pieces, and frames within a larger picture. The thresholds lie between what unrelated footage
and what changed frames reach; docs/audit.md has the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..media.decode import stream
from ..media.records import VideoInfo
from ..protocol.messages import Reporter
from .records import FrameMatch

COARSE: Final = (32, 18)
FINE: Final = (64, 36)
"""(width, height) of the two grids of the whole comparison."""
COARSE_SCORE: Final = 0.75
FINE_SCORE: Final = 0.55
"""Both correlations have to reach these."""
FLAT: Final = 3.0
"""Standard deviation of the luma, in levels of 255, below which a picture shows nothing to compare."""
BEST_FRAMES: Final = 12
SURE: Final = 1.2
"""Times both thresholds at which no other orientation is tried."""

LONGEST_SIDE: Final = 384
"""Of a frame or picture whose features are found."""
FEATURE_FRAMES: Final = 80
"""Frames, evenly spread, whose features are kept."""
FEATURES: Final = 300
RATIO: Final = 0.75
FEWEST_INLIERS: Final = 16
INLIER_SHARE: Final = 0.4
REPROJECTION_PX: Final = 4.0

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Features:
    """SIFT features of one picture: positions (n, 2) in pixels, and root-SIFT descriptors (n, 128) of unit length."""

    points: Floats
    descriptors: Floats


class ReferenceFrames:
    """The frames of a reference, ready to be compared with."""

    def __init__(self, info: VideoInfo, reporter: Reporter) -> None:
        timeline = info.timeline
        scale = min(1.0, LONGEST_SIDE / max(timeline.width, timeline.height))
        size = max(8, round(timeline.width * scale)), max(8, round(timeline.height * scale))
        step = max(1, -(-timeline.frames // FEATURE_FRAMES))
        coarse, fine = [], []
        self._features: dict[int, Features] = {}
        for frame in stream(Path(info.path), size=size):
            luma = cv2.cvtColor(frame.image, cv2.COLOR_RGB2GRAY)
            coarse.append(_shrunk(luma, COARSE))
            fine.append(_shrunk(luma, FINE))
            if frame.index % step == 0:
                self._features[frame.index] = _features(_for_features(luma))
                reporter.progress("reference", frame.index, timeline.frames)
        reporter.progress("reference", timeline.frames, timeline.frames)
        small = np.stack(coarse)
        self._shows = small.reshape(len(small), -1).std(1) >= FLAT
        self._coarse = np.stack([_normalised(picture) for picture in small])
        self._fine = np.stack(fine)
        self._bands: dict[int, Floats] = {}

    def match(self, picture: Image, name: str = "") -> FrameMatch | None:
        """The frame that the picture (H, W, 3) RGB shows, or None. `name` is handed on to the match."""
        return self._whole(picture, name) or self._part(picture, name)

    def whole_scores(self, picture: Image) -> tuple[float, float, int]:
        """(coarse, fine, frame) of the frame that the picture as a whole is most like."""
        variants = [turned for plane in _planes(picture) if plane.std() >= FLAT for turned in _orientations(plane)]
        if not variants:
            return 0.0, 0.0, -1
        small = np.stack([_normalised(_shrunk(turned, COARSE)) for turned in variants], 1)
        scores = np.abs(self._coarse @ small) * self._shows[:, None]
        best = (0.0, 0.0, -1)
        for turned, likeness in zip(variants, scores.T, strict=True):
            detail = _band(_shrunk(turned, FINE))
            for index in np.argsort(-likeness, kind="stable")[:BEST_FRAMES]:
                found = float(likeness[index]), abs(float(self._detail(int(index)) @ detail)), int(index)
                best = max(best, found, key=_margin)
            if _margin(best) >= SURE:
                break
        return best

    def _detail(self, index: int) -> Floats:
        if index not in self._bands:
            self._bands[index] = _band(self._fine[index])
        return self._bands[index]

    def _whole(self, picture: Image, name: str) -> FrameMatch | None:
        coarse, fine, index = found = self.whole_scores(picture)
        if _margin(found) < 1:
            return None
        return FrameMatch(picture=name, frame=index, how="whole", score=round(min(coarse, fine), 3))

    def part_scores(self, picture: Image) -> tuple[int, float, int]:
        """(inliers, share of inliers, frame) of the frame with which the picture shares most features."""
        luma = _for_features(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY))
        best = (0, 0.0, -1)
        for turned in (luma, np.ascontiguousarray(luma[:, ::-1])):
            own = _features(turned)
            for inliers, share, index in self._agreeing(own):
                if inliers > best[0] and share >= INLIER_SHARE:
                    best = inliers, share, index
        return best

    def _part(self, picture: Image, name: str) -> FrameMatch | None:
        inliers, share, index = self.part_scores(picture)
        if inliers < FEWEST_INLIERS or share < INLIER_SHARE:
            return None
        return FrameMatch(picture=name, frame=index, how="part", score=round(share, 3))

    def _agreeing(self, own: Features) -> Iterator[tuple[int, float, int]]:
        """(inliers, their share, frame) for the frames that share most features with `own`."""
        if len(own.points) < FEWEST_INLIERS:
            return
        found: list[tuple[int, int, NDArray[np.intp], NDArray[np.intp]]] = []
        for index, other in self._features.items():
            mine, theirs = _pairs(own, other)
            if len(mine) >= FEWEST_INLIERS:
                found.append((len(mine), index, mine, theirs))
        found.sort(key=lambda item: (-item[0], item[1]))
        for count, index, mine, theirs in found[:BEST_FRAMES]:
            source, target = own.points[mine], self._features[index].points[theirs]
            inliers = _homography_inliers(source, target)
            yield inliers, inliers / count, index


def _margin(found: tuple[float, float, int]) -> float:
    """The lower of both correlations as a multiple of its threshold."""
    return min(found[0] / COARSE_SCORE, found[1] / FINE_SCORE)


def _planes(picture: Image) -> Iterator[Image]:
    """Luma, and each channel: colours that were swapped or changed leave one of them as it was."""
    yield cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    for channel in range(3):
        yield np.ascontiguousarray(picture[..., channel])


def _orientations(luma: Image) -> Iterator[Image]:
    for mirrored in (luma, luma[:, ::-1]):
        for turns in range(4):
            yield np.ascontiguousarray(np.rot90(mirrored, turns))


def _shrunk(luma: Image, size: tuple[int, int]) -> Image:
    """Luma at `size` = (width, height), averaged where that is smaller."""
    grows = luma.shape[1] < size[0] or luma.shape[0] < size[1]
    shrunk: Image = cv2.resize(luma, size, interpolation=cv2.INTER_LINEAR if grows else cv2.INTER_AREA)
    return shrunk


def _normalised(picture: NDArray[np.generic]) -> Floats:
    """As a vector of zero mean and unit length; zeros where it is flat."""
    values = picture.astype(np.float32).ravel()
    values -= values.mean()
    length = float(np.linalg.norm(values))
    return values / length if length > 1e-6 else values * 0


def _band(picture: Image) -> Floats:
    """What a picture shows between the finest grain and the coarse shading, normalised."""
    values = picture.astype(np.float32)
    fine = cv2.GaussianBlur(values, (0, 0), 0.7)
    return _normalised(fine - cv2.GaussianBlur(values, (0, 0), 4.0))


def _for_features(luma: Image) -> Image:
    """Scaled so that its longer side is LONGEST_SIDE, but enlarged at most twice."""
    height, width = luma.shape
    scale = min(2.0, LONGEST_SIDE / max(height, width))
    return _shrunk(luma, (max(8, round(width * scale)), max(8, round(height * scale))))


def _features(luma: Image) -> Features:
    points, descriptors = cv2.SIFT_create(nfeatures=FEATURES).detectAndCompute(luma, None)  # type: ignore[attr-defined]
    if descriptors is None:
        return Features(np.zeros((0, 2), np.float32), np.zeros((0, 128), np.float32))
    # root-SIFT: the Hellinger distance separates better (Arandjelovic and Zisserman 2012)
    rooted = np.sqrt(descriptors / np.maximum(descriptors.sum(1, keepdims=True), 1e-9))
    return Features(np.array([point.pt for point in points], np.float32), rooted.astype(np.float32))


def _pairs(own: Features, other: Features) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Indices of features that are each other's nearest, and clearly nearer than the second (ratio test)."""
    if min(len(own.points), len(other.points)) < 2:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    alike = own.descriptors @ other.descriptors.T
    rows = np.arange(len(alike))
    first = alike.argmax(1)
    best = alike[rows, first]
    mutual = alike.argmax(0)[first] == rows
    alike[rows, first] = -1
    distance, second = np.sqrt(np.maximum(2 - 2 * best, 0)), np.sqrt(np.maximum(2 - 2 * alike.max(1), 0))
    kept = np.flatnonzero(mutual & (distance < RATIO * second))
    return kept, first[kept]


def _homography_inliers(source: Floats, target: Floats) -> int:
    """How many pairs one sane homography explains; pairs in the same place count once."""
    cv2.setRNGSeed(0)
    matrix, mask = cv2.findHomography(source, target, cv2.RANSAC, REPROJECTION_PX, maxIters=2000, confidence=0.995)
    if matrix is None or mask is None:
        return 0
    inside = mask.ravel().astype(bool)
    if inside.sum() < FEWEST_INLIERS:
        return 0
    scale = float(np.abs(np.linalg.det(matrix[:2, :2]))) ** 0.5
    if not 0.05 < scale < 20:
        return 0
    # a logo or a grid of windows gives many pairs in a small spot: they have to spread over both pictures
    cells = [len(np.unique((points[inside] // 12).astype(int), axis=0)) for points in (source, target)]
    return min(int(inside.sum()), *cells)
