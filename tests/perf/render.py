# SPDX-License-Identifier: GPL-3.0-or-later
"""What a render job costs beside Blender alone on the same file in the same run; `./run perf render` runs it.

A bare `blender -b -a` to PNG, the job, and the job with passes take turns on the sample scene at its own samples; then
one worker and two on a scene of many objects and one sample a pixel, where Blender mostly prepares. The job's time is
that of the command: it finds Blender, reads the reference, renders, encodes and decodes the video.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None

from media import ROOT, Row, table  # loads the package under its name

import numpy as np  # isort: skip
from matchcut.assets_ui.samples import SAMPLES  # isort: skip
from matchcut.evaluator.environment.blender import Blender, find_blender  # isort: skip
from matchcut.evaluator.media.encode import encode  # isort: skip
from matchcut.evaluator.protocol.children import child_environment  # isort: skip
from matchcut.evaluator.protocol.messages import SilentReporter  # isort: skip

JOB, START, PASSES, WORKERS = 1.05, 3.0, 1.25, 1.0
MANY = """
import bpy
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.engine, scene.cycles.device, scene.cycles.samples = "CYCLES", "CPU", 1
scene.cycles.use_denoising = False
bpy.ops.mesh.primitive_monkey_add()
mesh = bpy.context.object.data
for number in range({objects}):
    item = bpy.data.objects.new(str(number), mesh.copy())
    scene.collection.objects.link(item)
    item.location, item.scale = (number % 20 - 10, number // 20, 0), (0.4, 0.4, 0.4)
    item.keyframe_insert("location", frame=1)
    item.location.z += 1
    item.keyframe_insert("location", frame={frames})
scene.camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
scene.collection.objects.link(scene.camera)
scene.camera.location, scene.camera.rotation_euler = (0, -16, 6), (1.25, 0, 0)
scene.world = bpy.data.worlds.new("world")
bpy.ops.wm.save_as_mainfile(filepath={path!r}, copy=True)
"""
BARE = """
import bpy
bpy.ops.wm.open_mainfile(filepath={scene!r}, load_ui=False, use_scripts=False)
scene = bpy.context.scene
scene.render.filepath, scene.frame_end = {out!r}, scene.frame_start + {frames} - 1
scene.render.image_settings.media_type = "IMAGE"
scene.render.image_settings.file_format = "PNG"
bpy.ops.render.render(animation=True)
"""


class Bench:
    """The scenes, the references, and the ways to render them."""

    def __init__(self, folder: Path, blender: Blender, frames: int, size: tuple[int, int]) -> None:
        self.folder, self.blender, self.frames, self.size = folder, blender, frames, size

    def script(self, text: str, name: str) -> None:
        """Run Python in Blender."""
        path = self.folder / f"{name}.py"
        path.write_text(text)
        start = [] if self.blender.kind == "wheel" else [
            "-b", "--factory-startup", "--disable-autoexec", "--python-exit-code", "1", "--python",
        ]  # fmt: skip
        self.run([self.blender.path, *start, str(path)])

    def run(self, command: list[str]) -> str:
        """Run a command to its end and return what it wrote; an error ends the measuring."""
        environment = child_environment(self.blender.path)
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, env=environment, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)}\n{done.stderr.decode('utf-8', 'replace')}")
        return done.stdout.decode("utf-8", "replace")

    def reference(self, rate: Fraction) -> Path:
        """A video that prescribes the timeline."""
        path = self.folder / f"reference-{rate.numerator}-{rate.denominator}.mp4"
        if not path.exists():
            grey = np.full((self.size[1], self.size[0], 3), 90, np.uint8)
            encode([grey] * self.frames, rate, path, reporter=SilentReporter(), total=self.frames)
        return path

    def bare(self, scene: Path, frames: int) -> None:
        """Blender alone: `blender -b SCENE -a`, to PNG."""
        out = str(self.folder / "bare" / "######")
        if self.blender.kind == "wheel":
            self.script(BARE.format(scene=str(scene), out=out, frames=frames), "bare")
        else:
            end = ["-o", out, "-F", "PNG", "-s", "1", "-e", str(frames), "-a"]
            self.run([self.blender.path, "-b", "--factory-startup", "--disable-autoexec", str(scene), *end])

    def job(self, scene: Path, rate: Fraction, *options: str) -> None:
        """The same by a new job."""
        out = self.folder / "job"
        shutil.rmtree(out, ignore_errors=True)
        command = [sys.executable, str(ROOT / "__main__.py"), "render", str(scene), "--device", "cpu", "--json"]
        self.run([*command, "--reference", str(self.reference(rate)), "--out", str(out), *options])


class Taken:
    """Wall and processor seconds of some ways to do the same, round by round."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    @contextlib.contextmanager
    def round(self) -> Iterator[None]:
        """Measure what is done meanwhile, child processes included."""
        wall, before = time.perf_counter(), _children_cpu()
        yield
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(_children_cpu() - before)


def _children_cpu() -> float:
    """Processor seconds of the child processes that have ended; nan where the system does not tell."""
    if resource is None:
        return float("nan")
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _row(name: str, above: list[float], below: Taken, cpu: list[float], bound: float) -> Row:
    ratios = [first / second for first, second in zip(above, below.wall, strict=True)]
    cpus = [first / second for first, second in zip(cpu, below.cpu, strict=True)]
    return Row(name, statistics.median(ratios), "", bound, False, min(ratios), max(ratios), statistics.median(cpus))


def measure_job(bench: Bench, scene: Path, rate: Fraction, rounds: int) -> Iterator[Row]:
    """The job over Blender alone, the passes over the job, and the start-up."""
    bare, job, passes, alone, one = (Taken() for _ in range(5))
    for _ in range(rounds):
        with bare.round():
            bench.bare(scene, bench.frames)
        with job.round():
            bench.job(scene, rate)
        with passes.round():
            bench.job(scene, rate, "--passes")
        with alone.round():
            bench.bare(scene, 1)
        with one.round():
            bench.job(scene, rate, "--frames", "0-0")
    beyond = [wall - START for wall in job.wall]
    yield _row(f"job of {bench.frames} frames less {START:g} s, time over blender -b -a", beyond, bare, job.cpu, JOB)
    yield _row("job with passes, time over the job without", passes.wall, job, passes.cpu, PASSES)
    start = [first - second for first, second in zip(one.wall, alone.wall, strict=True)]
    busy = [first - second for first, second in zip(one.cpu, alone.cpu, strict=True)]
    name = "seconds that a job of one frame takes beyond blender -b -a"
    yield Row(name, min(start), "", START, False, min(start), max(start), min(busy))


def measure_workers(bench: Bench, scene: Path, rounds: int) -> Iterator[Row]:
    """Two workers over one."""
    one, two = Taken(), Taken()
    for _ in range(rounds):
        with one.round():
            bench.job(scene, Fraction(24))
        with two.round():
            bench.job(scene, Fraction(24), "--workers", "2")
    yield _row("two workers, time over one, many objects", two.wall, one, two.cpu, WORKERS)


def measure(folder: Path, rounds: int, only: list[str], tiny: bool) -> Iterator[Row]:
    """Every row, in turn."""
    blender = find_blender(lambda text: sys.stderr.write(f"{text}\n") and None)
    if "job" in only:
        sample = next(iter(SAMPLES.values()))
        timeline = sample.timeline
        bench = Bench(folder, blender, 4 if tiny else 48, (timeline.width, timeline.height))
        scene = folder / "sample.blend"
        bench.run(blender.command("sample", sample.name, "reconstruction", str(scene)))
        yield from measure_job(bench, scene, timeline.rate, rounds)
    if "workers" in only:
        bench = Bench(folder, blender, 26 if tiny else 48, (320, 180))
        scene = folder / "many.blend"
        text = MANY.format(objects=20 if tiny else 400, frames=bench.frames, path=str(scene))
        bench.script(text, "many")
        yield from measure_workers(bench, scene, rounds)


def main(arguments: list[str]) -> int:
    """Measure and print; the exit status is 1 where a bound is missed."""
    parser = argparse.ArgumentParser(prog="matchcut perf render", description=__doc__.splitlines()[0])
    parts = ["job", "workers"]
    parser.add_argument("--only", action="append", choices=parts, help="measure this part alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of every ratio (default: 3)")
    parser.add_argument("--folder", type=Path, help="keep scenes and frames here (default: a temporary one)")
    parser.add_argument("--tiny", action="store_true", help="few frames, to see that all of it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    parsed = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends this ends what it runs
    with contextlib.ExitStack() as stack:
        folder = parsed.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        for row in measure(folder.resolve(), parsed.rounds, parsed.only or parts, parsed.tiny):
            rows.append(row)
            sys.stderr.write(f"{row.name}: {row.value:.2f}\n")
    if parsed.json:
        machine = {"system": platform.system(), "cores": os.cpu_count(), "python": platform.python_version()}
        data = {"machine": machine, "rows": [{**asdict(row), "passed": row.passed} for row in rows]}
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write(table(rows))
    return int(not all(row.passed for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
