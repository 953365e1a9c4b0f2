# SPDX-License-Identifier: GPL-3.0-or-later
"""A small benchmark, packages to hand in, and runners over them."""

from __future__ import annotations

from pathlib import Path

import bench_agents
from bench_samples import write_benchmark
from judge_videos import clip, video
from matchcut.evaluator.benchmark.agent import Settings
from matchcut.evaluator.benchmark.agents.records import Configuration
from matchcut.evaluator.benchmark.isolation import NO_SANDBOX
from matchcut.evaluator.benchmark.leases import LeaseFolder
from matchcut.evaluator.benchmark.ledger import Ledger
from matchcut.evaluator.benchmark.plan import save_plan, tasks_of
from matchcut.evaluator.benchmark.records import Plan
from matchcut.evaluator.benchmark.run import Runner
from matchcut.evaluator.checklist.benchmark import load_benchmark
from matchcut.evaluator.environment.blender import Blender
from matchcut.evaluator.protocol.files import sha256_of

FRAMES = 24
AGENT = f"python:{Path(bench_agents.__file__).resolve()}"
BLENDER = Blender("/none/blender", "program", "5.2.0")


def make_benchmark(folder: Path, videos=("v", "w")) -> Path:
    """Two videos of a second, two clips each."""
    reference = video(folder / "reference.mp4", FRAMES)
    clips = [one.model_copy(update={"video": name}) for name in videos for one in (clip("c1", 0, 8), clip("c2", 10, 8))]
    references = {name: Path(reference.path) for name in videos}
    return write_benchmark(folder / "bench", clips, timeline=reference.timeline, references=references)


def make_package(folder: Path, tint: int = 30) -> Path:
    """What an agent hands in by hand: a video and something that is called a scene."""
    folder.mkdir(parents=True)
    video(folder / "reconstruction.mp4", FRAMES, tint=tint)
    (folder / "scene.blend").write_bytes(b"BLENDER17-01v0502" + bytes(100))
    return folder


def configuration(name="one", **environment) -> Configuration:
    return Configuration(name=name, agent=AGENT, environment={key: str(value) for key, value in environment.items()})


class Bench:
    """A plan over a benchmark, and what is needed to work on it."""

    def __init__(self, folder: Path, bench: Path, configurations, *, settings=("proxy",), videos=("v",), **fields):
        self.folder, self.runs = folder, folder / "runs"
        self.benchmark = load_benchmark(bench)
        plan = Plan(
            benchmark=str(bench), benchmark_name="small 1", runs=str(self.runs), configurations=list(configurations),
            settings=list(settings), videos=list(videos), **fields,
        )  # fmt: skip
        self.ledger = Ledger(folder / "results")
        self.plan = save_plan(self.ledger, plan)
        self.told: list[str] = []
        self.leases: list[LeaseFolder] = []

    def runner(self, *, settings=None, term=30.0, **options) -> Runner:
        leases = LeaseFolder(self.ledger.leases, term=term)
        self.leases.append(leases)
        return Runner(
            self.plan, self.benchmark, self.runs, self.ledger, leases, settings or Settings(BLENDER, NO_SANDBOX),
            tell=lambda task, stage, text: self.told.append(f"{task.name} {stage}: {text}"), **options,
        )  # fmt: skip

    def tasks(self):
        return list(tasks_of(self.plan, self.benchmark))

    def run_of(self, task=None):
        runner = self.runner()
        return self.ledger.find_run(runner.keys.run(task or self.tasks()[0]))

    def failures(self):
        return [(one.stage, one.reason) for one in self.ledger.all_failures()]


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
