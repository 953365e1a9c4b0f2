# SPDX-License-Identifier: GPL-3.0-or-later
"""From a set of measured videos to the constants of the paper's score: normalisation, weights, and how stable they are.

Source: SGC, section 3.4 and appendices B and D.1, and constants/calculate_pacweight.py of the authors' repository,
which takes data sets' means for its samples (`by` = folder), where the paper speaks of videos (`by` = video).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from ..protocol.errors import BadInputError
from ..protocol.files import read_json
from ..records import Record
from .aggregate import PUBLISHED, Normalisation, mean_components
from .records import COMPONENTS, Component

CALIBRATION_FORMAT: Final = "matchcut-sgc-calibration/1"
FEWEST = 3
"""Samples; with two, every component has the same two normalised values."""

LARGEST: Final = 1e100
"""Component; a greater one has no square."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """The components of one video, or the mean ones of a folder of videos."""

    name: str
    components: Mapping[Component, float | None]


class ComponentScale(Record):
    """One component's statistics over the samples, of log(1 + value) where it is `logarithmic`."""

    mean: float
    deviation: float
    """Population standard deviation."""
    lowest: float
    highest: float
    """The z-scores that map to 0 and 1."""
    weight: float
    logarithmic: bool
    samples: int
    """How many samples have the component; the others count with its mean."""
    fold_weight: float | None
    fold_deviation: float | None
    """Mean and population standard deviation of the weight over the folds."""


class Calibration(Record):
    """Constants that were derived from a set of results of one estimator, and the samples' scores with them."""

    format: Literal["matchcut-sgc-calibration/1"] = "matchcut-sgc-calibration/1"
    by: Literal["video", "folder"]
    samples: int
    components: dict[Component, ComponentScale]
    explained: float
    """Share of the normalised components' variance that their first principal component explains."""
    folds: int
    """0 where there are too few samples."""
    rank_correlation: float | None
    rank_deviation: float | None
    """Of Spearman's ρ between the samples' scores by a fold's weights and by all: mean and deviation over the folds."""
    scores: dict[str, float]
    notes: list[str] = []

    def scale(self) -> dict[Component, Normalisation]:
        """As constants of a score."""
        return {
            name: Normalisation(one.mean, one.deviation, one.lowest, one.highest, one.weight, one.logarithmic)
            for name, one in self.components.items()
        }

    @classmethod
    def load(cls, path: Path) -> Calibration:
        """Read a calibration and see that it has every component. Raises BadInputError, naming the file."""
        found = cls.read(path)
        missing = [name for name in COMPONENTS if name not in found.components]
        if missing:
            raise BadInputError(f"{path}: components: it has no {missing[0]}; make it again by matchcut sgc calibrate")
        return found


def read_samples(folder: Path, by: Literal["video", "folder"]) -> list[Sample]:
    """The samples in a folder and the folders in it: of every JSON file that has components of SGC.

    Read are results of `matchcut sgc` (also inside other documents, under `result` or `sgc`) and the authors' files.
    By folder, the videos of each folder that holds files make one sample of their means. Raises BadInputError for a
    folder without any, and for components that are no numbers.
    """
    if not folder.is_dir():
        raise BadInputError(f"{folder}: there is no such folder; give one with results of matchcut sgc")
    found: dict[Path, list[Sample]] = {}
    for path in sorted(folder.rglob("*.json")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        components = _components(read_json(path), path)
        if components is not None:
            found.setdefault(path.parent, []).append(Sample(str(path.relative_to(folder)), components))
    if not found:
        raise BadInputError(f"{folder}: no JSON file in it holds components of SGC; run matchcut sgc --out there first")
    if by == "video":
        return [sample for samples in found.values() for sample in samples]
    return [
        Sample(parent.name, mean_components(sample.components for sample in samples))
        for parent, samples in found.items()
    ]


def _components(data: Any, path: Path) -> dict[Component, float | None] | None:
    """The components of a document, or None where it has none."""
    while isinstance(data, dict):
        named = data.get("components")
        inner: dict[str, Any] = named if isinstance(named, dict) else data
        if all(name in inner for name in COMPONENTS):
            values: dict[Component, Any] = {name: inner[name] for name in COMPONENTS}
            for name, value in values.items():
                plain = isinstance(value, int | float) and not isinstance(value, bool)
                if value is not None and not (plain and abs(value) <= LARGEST):
                    raise BadInputError(f"{path}: {name} is {json.dumps(value)[:40]}; a number or null is expected")
            return values
        data = data.get("result") or data.get("sgc")
    return None


def calibrate(samples: Sequence[Sample], *, by: Literal["video", "folder"] = "video", folds: int = 10) -> Calibration:
    """Normalisation and weights from samples, their stability over folds, and the samples' scores.

    Each component is made a z-score with its population mean and deviation and scaled to [0, 1] by its least and
    greatest z; its weight is the share of its |loading| on the first principal component of the normalised matrix, in
    which the component's mean stands for a missing value. Raises BadInputError for fewer than three samples.
    """
    if len(samples) < FEWEST:
        raise BadInputError(f"{len(samples)} samples are too few to calibrate on; give at least {FEWEST} results")
    values = _transformed(samples)
    known = np.isfinite(values)
    means, deviations, lowest, highest, scaled = _normalised(values)
    weights, explained = _weights(scaled)
    scores = _scores(scaled, known, weights)
    of_folds, correlations = _over_folds(values, scaled, scores, folds)
    notes = [
        f"{name} is the same in all samples that have it: it has no weight"
        for name, deviation in zip(COMPONENTS, deviations, strict=True)
        if not deviation > 0
    ]
    return Calibration(
        by=by,
        samples=len(samples),
        components={
            name: ComponentScale(
                mean=float(means[column]),
                deviation=float(deviations[column]),
                lowest=float(lowest[column]),
                highest=float(highest[column]),
                weight=float(weights[column]),
                logarithmic=PUBLISHED[name].logarithmic,
                samples=int(known[:, column].sum()),
                fold_weight=float(of_folds[:, column].mean()) if len(of_folds) else None,
                fold_deviation=float(of_folds[:, column].std()) if len(of_folds) else None,
            )
            for column, name in enumerate(COMPONENTS)
        },
        explained=explained,
        folds=len(of_folds),
        rank_correlation=float(np.mean(correlations)) if correlations else None,
        rank_deviation=float(np.std(correlations)) if correlations else None,
        scores={sample.name: float(score) for sample, score in zip(samples, scores, strict=True) if np.isfinite(score)},
        notes=notes,
    )


def _transformed(samples: Sequence[Sample]) -> Matrix:
    """(samples, components), NaN where there is none."""
    rows = [[sample.components[name] for name in COMPONENTS] for sample in samples]
    values = np.array([[math.nan if value is None else value for value in row] for row in rows], dtype=np.float64)
    for column, name in enumerate(COMPONENTS):
        if PUBLISHED[name].logarithmic:
            values[:, column] = np.log1p(np.maximum(values[:, column], 0))
    return values


def _normalised(values: Matrix) -> tuple[Matrix, Matrix, Matrix, Matrix, Matrix]:
    """Mean, deviation, least and greatest z of each component, and the values scaled to [0, 1], their mean for NaN."""
    known = np.isfinite(values)
    counts = known.sum(axis=0)
    means = np.where(known, values, 0).sum(axis=0) / np.maximum(counts, 1)
    offsets = np.where(known, values - means, 0)
    deviations = np.sqrt((offsets**2).sum(axis=0) / np.maximum(counts, 1))
    # a spread of rounding errors is none
    deviations = np.where(deviations > 1e-12 * np.maximum(1, np.abs(means)), deviations, 0)
    z = np.divide(offsets, deviations, out=np.zeros_like(offsets), where=deviations > 0)
    lowest = np.where(known, z, np.inf).min(axis=0, initial=np.inf)
    highest = np.where(known, z, -np.inf).max(axis=0, initial=-np.inf)
    lowest, highest = np.where(counts > 0, lowest, 0), np.where(counts > 0, highest, 0)
    span = highest - lowest
    scaled = np.divide(z - lowest, span, out=np.zeros_like(z), where=span > 0)
    fill = np.where(known, scaled, 0).sum(axis=0) / np.maximum(counts, 1)
    return means, deviations, lowest, highest, np.where(known, scaled, fill)


def _weights(scaled: Matrix) -> tuple[Matrix, float]:
    """Shares of |loading| on the first principal component, and the share of variance that it explains."""
    _, singular, components = np.linalg.svd(scaled - scaled.mean(axis=0), full_matrices=False)
    loadings, total = np.abs(components[0]), float((singular**2).sum())
    if total < 1e-18:
        return np.full(scaled.shape[1], 1 / scaled.shape[1]), 0.0
    # the loadings of a component that does not vary are rounding errors
    loadings = np.where(np.ptp(scaled, axis=0) > 0, loadings, 0)
    return loadings / loadings.sum(), float(singular[0] ** 2) / total


def _scores(scaled: Matrix, known: NDArray[np.bool_], weights: Matrix) -> Matrix:
    """(samples,) weighted means of the components that each has; NaN for none."""
    total = known @ weights
    found: Matrix = np.divide((scaled * known) @ weights, total, out=np.full(len(scaled), math.nan), where=total > 0)
    return found


def _over_folds(values: Matrix, scaled: Matrix, scores: Matrix, folds: int) -> tuple[Matrix, list[float]]:
    """Weights (folds, components) without each fold, and the rank correlation of the scores by them with `scores`."""
    count = min(folds, len(values))
    if count < 2 or len(values) - math.ceil(len(values) / count) < FEWEST:
        return np.zeros((0, values.shape[1])), []
    place = np.random.default_rng(0).permutation(len(values)) % count
    known = np.isfinite(values)
    found, correlations = [], []
    for fold in range(count):
        *_, kept = _normalised(values[place != fold])
        weights, _ = _weights(kept)
        found.append(weights)
        by_fold = _scores(scaled, known, weights)
        both = np.isfinite(scores) & np.isfinite(by_fold)
        correlation = spearman(scores[both], by_fold[both])
        if correlation is not None:
            correlations.append(correlation)
    return np.array(found), correlations


def spearman(first: Matrix, second: Matrix) -> float | None:
    """Spearman's rank correlation of two (n,) arrays, ties at their mean rank; None where one does not vary."""
    return pearson(rankdata(first), rankdata(second))


def pearson(first: Matrix, second: Matrix) -> float | None:
    """Pearson's correlation of two (n,) arrays; None where one does not vary."""
    if len(first) < 2:
        return None
    x, y = first - first.mean(), second - second.mean()
    norm = math.sqrt(float((x**2).sum())) * math.sqrt(float((y**2).sum()))
    if not norm > 0:
        return None
    return min(1.0, max(-1.0, float((x * y).sum()) / norm))
