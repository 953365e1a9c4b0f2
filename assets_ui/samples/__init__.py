# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample scenes: reference and reconstruction made by script, with checklists whose right ratings are known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Final

from ...evaluator.protocol.errors import BadInputError
from ...evaluator.protocol.files import atomic_path
from ...evaluator.protocol.timeline import Timeline
from . import clean_scenes, films, two_shots
from .films import scene as film_scene

FOLDER: Final = Path(__file__).resolve().parent
VARIANTS: Final = ("reference", "reconstruction")
CLEAN: Final = "clean"


@dataclass(frozen=True)
class Sample:
    """One sample: the module that builds it, its timeline, and its checklist beside the module."""

    name: str
    module: ModuleType
    timeline: Timeline

    @property
    def clips(self) -> Path:
        """Folder of the checklist's clip files."""
        return FOLDER / self.name / "clips"

    @property
    def ratings(self) -> Path:
        """The right ratings of the reconstruction."""
        return FOLDER / self.name / "ratings.json"

    @property
    def known_errors(self) -> tuple[str, ...]:
        """What the reconstruction gets wrong, in words."""
        errors: tuple[str, ...] = self.module.KNOWN_ERRORS
        return errors

    @property
    def sources(self) -> list[Path]:
        """The scripts that decide what the scene looks like."""
        return [FOLDER / f"{name}.py" for name in (self.name, "shapes", "materials")]


SAMPLES: Final = {"two_shots": Sample("two_shots", two_shots, two_shots.TIMELINE)}
TIMELINES: Final = {name: sample.timeline for name, sample in SAMPLES.items()}


def find_sample(name: str) -> Sample:
    """The sample called `name`. Raises BadInputError where there is none."""
    if name not in SAMPLES:
        raise BadInputError(f"{name!r} is no sample; there are: {', '.join(SAMPLES)}")
    return SAMPLES[name]


def build_sample(name: str, variant: str, out: Path) -> None:
    """Build a variant of a sample in an empty session and save it, compressed, as `out`. Needs Blender.

    What is open in the session is lost. The scenes of clean_scenes.py have one variant, `clean`; the
    films of the sample benchmark have those of films/scene.py. Raises BadInputError
    where there is no such sample or variant.
    """
    if name in clean_scenes.SCENES and variant == CLEAN:
        build = partial(clean_scenes.build, name)
    elif name in films.FILMS:
        build = partial(film_scene.build, name, variant)
        if variant not in film_scene.VARIANTS:
            raise BadInputError(f"{variant!r} is no variant of {name}; there are: {', '.join(film_scene.VARIANTS)}")
    else:
        build = partial(find_sample(name).module.build, variant)
        if variant not in VARIANTS:
            raise BadInputError(f"{variant!r} is no variant of {name}; there are: {', '.join(VARIANTS)}")
    import bpy

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True, load_ui=False)
    build()
    with atomic_path(out) as temporary:
        temporary.unlink()  # of a file that is there Blender would keep a backup beside it
        bpy.ops.wm.save_as_mainfile(filepath=str(temporary), compress=True, copy=True)
