# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample benchmark: six short films, their checklists, and reconstructions whose right ratings are computed.

A film is a description (records.py): things and cameras with their tracks. From it come the scene (scene.py), the
checks (checks.py), and the reconstructions, which are the same description with known errors (variants.py). What a
check states is measured on the description of the reference and of a reconstruction; the right rating follows from
the two measurements, so nobody has to look.
"""

from __future__ import annotations

from typing import Final

from ....evaluator.protocol.errors import BadInputError
from .film_aerial import FILM as AERIAL
from .film_cuts import FILM as CUTS
from .film_dialogue import FILM as DIALOGUE
from .film_first_person import FILM as FIRST_PERSON
from .film_racing import FILM as RACING
from .film_sport import FILM as SPORT
from .records import Film

FILMS: Final[dict[str, Film]] = {film.id: film for film in (DIALOGUE, SPORT, FIRST_PERSON, AERIAL, RACING, CUTS)}


def find_film(name: str) -> Film:
    """The film called `name`. Raises BadInputError where there is none."""
    if name not in FILMS:
        raise BadInputError(f"{name!r} is no film of the sample benchmark; there are: {', '.join(FILMS)}")
    return FILMS[name]
