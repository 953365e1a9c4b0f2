# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample benchmark on disk: six references made by script, their checklists, reconstructions with known answers.

OUT/benchmark/                             a benchmark as every other
OUT/submissions/VARIANT/SETTING/VIDEO/     the package of one reconstruction
OUT/configurations.toml                    the reconstructions as what artists hand in, for `bench run`
OUT/answers/VARIANT.json                   matchcut-ratings/1: its right ratings
OUT/work/                                  scenes, render jobs, packages; what is finished there is used again
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ...assets_ui.samples import FOLDER
from ...assets_ui.samples.films import FILMS, find_film
from ...assets_ui.samples.films.checks import clip_json, ratings_of
from ...assets_ui.samples.films.records import Film
from ...assets_ui.samples.films.scene import REFERENCE
from ...assets_ui.samples.films.variants import CHEATING, RECONSTRUCTIONS
from ..checklist.benchmark import BENCHMARK_FILE, REFERENCE_FILE, VIDEO_FILE, Benchmark, BenchmarkVideo, video_folder
from ..checklist.records import SETTINGS, Clip
from ..deliver.package import package_job
from ..deliver.records import SUBMISSION, Submission
from ..environment.blender import Blender
from ..protocol.errors import BadInputError
from ..protocol.files import atomic_path, sha256_of, write_json, write_text
from ..protocol.lock import sole_user
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline
from ..protocol.version import VERSION
from ..render.job import render_scene
from ..render.sample import build_scene

NAME: Final = "six-films"
EDITION: Final = "1"
LICENCE: Final = "CC0-1.0"
CONFIGURATIONS_FILE: Final = "configurations.toml"
RECONSTRUCTION: Final = "reconstruction.mp4"
VARIANTS: Final = tuple(RECONSTRUCTIONS)
_BUILT_BY: Final = (
    "films/records.py", "films/scene.py", "films/things.py", "films/variants.py", "materials.py", "shapes.py",
)  # fmt: skip
"""Besides a film's own file, what decides how its scene looks."""


def make_sample(
    out: Path, *, blender: Blender, reporter: Reporter,
    films: Sequence[str] = tuple(FILMS), variants: Sequence[str] = VARIANTS, samples: int | None = None,
) -> Path:  # fmt: skip
    """Build, render and write the sample benchmark into `out`; returns the benchmark's folder.

    A second run uses what the first one rendered. Raises BadInputError for a film or a variant that there is not,
    OperationalError where Blender fails.
    """
    chosen = [find_film(name) for name in films]
    unknown = [name for name in variants if name not in RECONSTRUCTIONS]
    if unknown:
        raise BadInputError(f"{unknown[0]!r} is no reconstruction of the sample; there are: {', '.join(VARIANTS)}")
    benchmark = out / "benchmark"
    with sole_user(out / "work"):
        for number, film in enumerate(chosen):
            reporter.progress("films", number, len(chosen), film.title)
            reference = _render(out, film, REFERENCE, blender, reporter, samples) / RECONSTRUCTION
            for variant in variants:
                scenes = out / "work" / "scenes"
                if variant == CHEATING:  # its screen shows the video that lies beside the scene
                    _copy(reference, scenes / REFERENCE_FILE)
                job = _render(out, film, variant, blender, reporter, samples)
                hand_in(out, film, variant, package(out, film, variant, reference, job, blender, reporter))
            write_video(benchmark, film, reference, film.timeline)
        reporter.progress("films", len(chosen), len(chosen))
        write_records(out, chosen, variants)
    return benchmark


def write_records(out: Path, films: Sequence[Film], variants: Sequence[str] = VARIANTS) -> None:
    """Write what names the videos: benchmark.json, the right ratings, and the configurations."""
    for variant in variants:
        write_json(out / "answers" / f"{variant}.json", answers(films, variant))
    lines = ['format = "matchcut-configurations/1"']
    for variant in variants:
        lines += ["", "[[configuration]]", f'name = "{variant}"', f'agent = "artist:submissions/{variant}"']
    write_text(out / CONFIGURATIONS_FILE, "\n".join(lines) + "\n")
    Benchmark(name=NAME, version=EDITION, licence=LICENCE, videos=[film.id for film in films]).write(
        out / "benchmark" / BENCHMARK_FILE
    )


def answers(films: Sequence[Film], variant: str) -> dict[str, Any]:
    """The right ratings of a reconstruction: setting, clip, check."""
    ours = {film.id: RECONSTRUCTIONS[variant](film) for film in films}
    by_setting: dict[str, dict[str, dict[str, str]]] = {}
    for setting in SETTINGS:
        clips = by_setting[setting] = {}
        for film in films:
            for span in film.clips:
                clip = Clip.model_validate(clip_json(film, span))
                right = ratings_of(film, span, ours[film.id])
                clips[span.id] = {check.id: right[check.id] for check in clip.applicable(setting)}
    return {"format": "matchcut-ratings/1", "ratings": by_setting}


def write_video(benchmark: Path, film: Film, reference: Path, timeline: Timeline) -> None:
    """Write one film's folder of the benchmark; `timeline` is that of the file `reference`."""
    folder = video_folder(benchmark, film.id)
    _copy(reference, folder / REFERENCE_FILE)
    for span in film.clips:
        Clip.model_validate(clip_json(film, span)).write(folder / "clips" / f"{span.id}.json")
    BenchmarkVideo(
        id=film.id,
        kind=film.kind,
        timeline=timeline,
        sha256=sha256_of(folder / REFERENCE_FILE),
        source=f"rendered from {NAME}: {film.title}",
        licence=LICENCE,
    ).write(folder / VIDEO_FILE)


def package(
    out: Path, film: Film, variant: str, reference: Path, job: Path, blender: Blender | None, reporter: Reporter
) -> Path:
    """Make what is handed in of a render job, unless it lies there already, and return its folder."""
    folder = out / "work" / "packages" / f"{film.id}-{variant}"
    if not _is_packaged(folder, reference, job / RECONSTRUCTION):
        named = folder.parent / REFERENCE_FILE  # a submission says the file's name
        _copy(reference, named)
        remarks = f"The {variant} reconstruction of {film.title!r}, made by script."
        package_job(job, named, folder, blender=blender, reporter=reporter, replace=True, remarks=remarks)
    return folder


def _is_packaged(folder: Path, reference: Path, video: Path) -> bool:
    try:
        found = Submission.read(folder / SUBMISSION)
    except BadInputError:  # not there, or of another version
        return False
    same = found.reference.sha256 == sha256_of(reference) and found.matchcut == VERSION
    return same and found.file(RECONSTRUCTION).sha256 == sha256_of(video)


def hand_in(out: Path, film: Film, variant: str, made: Path) -> None:
    """Lay the files of one reconstruction down under every setting: it is the same work, judged by other checks."""
    for setting in SETTINGS:
        for file in sorted(made.iterdir()):
            _copy(file, out / "submissions" / variant / setting / film.id / file.name)


def _render(out: Path, film: Film, variant: str, blender: Blender, reporter: Reporter, samples: int | None) -> Path:
    sources = [FOLDER / "films" / f"film_{film.id}.py", *(FOLDER / name for name in _BUILT_BY)]
    scene = build_scene(film.id, variant, sources, out / "work" / "scenes", blender, reporter)
    job = out / "work" / "renders" / f"{film.id}-{variant}"
    render_scene(scene, job, film.timeline, blender=blender, reporter=reporter, samples=samples)
    return job


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)
