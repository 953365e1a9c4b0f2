# SPDX-License-Identifier: GPL-3.0-or-later
"""From a video's five components to its SGC score, with the published constants (SGC, algorithm 2)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from .records import COMPONENTS, Component


class Normalisation(NamedTuple):
    """How one component is mapped to about [0, 1], and its share of the score.

    `mean` and `deviation` make a z-score of the component (of log(1 + component) where `logarithmic`); `lowest` and
    `highest` z map to 0 and 1.
    """

    mean: float
    deviation: float
    lowest: float
    highest: float
    weight: float
    logarithmic: bool


# from constants/ of the authors' repository: population statistics, bounds and PC1 loadings of 13 data-set means
PUBLISHED: Final[Mapping[Component, Normalisation]] = {
    "average_local_rotation_variance": Normalisation(
        3.2258150339940843, 0.6421173829859212, -1.8811821698945852, 1.5663181331011482, 0.11669070601277023, True
    ),
    "average_local_translation_variance": Normalisation(
        1.2007751766455346, 2.407269199126828, -0.4933616123430922, 2.5095090319214615, 0.2402708242167125, True
    ),
    "average_global_rotation_variance": Normalisation(
        2.4288948936491455, 1.3005146413901363, -1.1393520884301584, 1.9477640491063855, 0.1665006451149703, True
    ),
    "average_global_translation_variance": Normalisation(
        1.259234860929807, 2.489110813263616, -0.49964138243627926, 2.4458262416651646, 0.24587247586980182, True
    ),
    "average_depth_consistency_error": Normalisation(
        0.05456999853529613, 0.03658597208691396, -1.2477844994940592, 1.8195708762062759, 0.2306653487857453, False
    ),
}


def normalised(component: Component, value: float, scale: Mapping[Component, Normalisation] = PUBLISHED) -> float:
    """A component's raw value (in its own unit) on a scale: 0 is best and the least, 1 can be exceeded."""
    constants = scale[component]
    transformed = math.log1p(max(0.0, value)) if constants.logarithmic else value
    z = (transformed - constants.mean) / constants.deviation if constants.deviation else 0.0
    span = constants.highest - constants.lowest
    return max(0.0, (z - constants.lowest) / span) if span else 0.0


def sgc_score(
    components: Mapping[Component, float | None], scale: Mapping[Component, Normalisation] = PUBLISHED
) -> float | None:
    """Weighted mean of the normalised components that have a value and a weight; None where none has both."""
    weighted = [
        (scale[name].weight, normalised(name, value, scale))
        for name in COMPONENTS
        if (value := components[name]) is not None and scale[name].weight > 0
    ]
    if not weighted:
        return None
    return sum(weight * value for weight, value in weighted) / sum(weight for weight, _ in weighted)


def mean_components(pairs: Iterable[Mapping[Component, float | None]]) -> dict[Component, float | None]:
    """Mean of every component over the pairs that have it; None where no pair has."""
    gathered: dict[Component, list[float]] = {name: [] for name in COMPONENTS}
    for pair in pairs:
        for name in COMPONENTS:
            if (value := pair[name]) is not None:
                gathered[name].append(value)
    return {name: math.fsum(values) / len(values) if values else None for name, values in gathered.items()}
