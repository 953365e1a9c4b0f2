# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample benchmark on disk: six references made by script, their checklists, reconstructions with known answers.

OUT/benchmark/                             a benchmark as every other
OUT/submissions/VARIANT/SETTING/VIDEO/     scene.blend and reconstruction.mp4 of one reconstruction
OUT/configurations.toml                    the reconstructions as what artists hand in, for `bench run`
OUT/answers/VARIANT.json                   matchcut-ratings/1: its right ratings
OUT/work/                                  scenes and render jobs; what is finished there is used again
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
from ..environment.blender import Blender
from ..protocol.errors import BadInputError
from ..protocol.files import atomic_path, sha256_of, write_json, write_text
from ..protocol.lock import sole_user
from ..protocol.messages import Reporter
from ..protocol.timeline import Timeline
from ..render.job import RenderOutcome, render_scene
from ..render.sample import build_scene

NAME: Final = "six-films"
VERSION: Final = "1"
LICENCE: Final = "CC0-1.0"
CONFIGURATIONS_FILE: Final = "configurations.toml"
VARIANTS: Final = tuple(RECONSTRUCTIONS)


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
            reference = _render(out, film, REFERENCE, blender, reporter, samples)
            for variant in variants:
                scenes = out / "work" / "scenes"
                if variant == CHEATING:  # its screen shows the video that lies beside the scene
                    _copy(reference, scenes / REFERENCE_FILE)
                video = _render(out, film, variant, blender, reporter, samples)
                hand_in(out, film, variant, scenes / f"{film.id}_{variant}.blend", video)
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
    Benchmark(name=NAME, version=VERSION, licence=LICENCE, videos=[film.id for film in films]).write(
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


def hand_in(out: Path, film: Film, variant: str, scene: Path, video: Path) -> None:
    """Lay one reconstruction down under every setting: it is the same work, judged by other checks."""
    for setting in SETTINGS:
        folder = out / "submissions" / variant / setting / film.id
        _copy(scene, folder / "scene.blend")
        _copy(video, folder / "reconstruction.mp4")


def _render(out: Path, film: Film, variant: str, blender: Blender, reporter: Reporter, samples: int | None) -> Path:
    sources = [*sorted((FOLDER / "films").glob("*.py")), FOLDER / "shapes.py", FOLDER / "materials.py"]
    scene = build_scene(film.id, variant, sources, out / "work" / "scenes", blender, reporter)
    made: RenderOutcome = render_scene(
        scene, out / "work" / "renders" / f"{film.id}-{variant}", film.timeline,
        blender=blender, reporter=reporter, samples=samples,
    )  # fmt: skip
    assert made.video is not None
    return made.video


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)
