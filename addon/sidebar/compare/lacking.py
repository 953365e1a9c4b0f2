# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drawing lacked of the graphics card: a timer makes one thing at a time, and the drawing comes again.

Drivers compile a shader when it is first drawn with, and allocate a picture when it is first asked for. Neither is done
while Blender draws.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

_wanted: dict[Hashable, tuple[set[str], Callable[[], None]]] = {}


def ask(key: Hashable, area: str, make: Callable[[], None]) -> None:
    """Have `make()` called by the timer, once for every `key`, and areas of this type drawn again after it."""
    areas, _ = _wanted.get(key, (set[str](), make))
    _wanted[key] = (areas | {area}, make)


def make_one() -> set[str]:
    """Make the thing that was asked for first; the types of the areas to draw again, none where nothing was wanted."""
    key = next(iter(_wanted), None)
    if key is None:
        return set()
    areas, make = _wanted.pop(key)
    make()
    return areas


def waits() -> bool:
    """Whether there is more to make."""
    return bool(_wanted)


def forget() -> None:
    """Nothing is wanted any more."""
    _wanted.clear()
