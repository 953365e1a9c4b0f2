# SPDX-License-Identifier: GPL-3.0-or-later
"""A dask cluster of processes on this machine: dask's own scheduler, and workers whose later stages answer at once.

As a program it is one worker: `python bench_cluster.py SCHEDULER_FILE THREADS TERM [NAME=N]`, with leases of TERM
seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from pathlib import Path

UNIT = Path(__file__).resolve().parent
WAIT_SECONDS = 150


class Cluster:
    """`workers` are processes; those that have died are replaced by `ensure`."""

    def __init__(
        self, folder: Path, environment: dict[str, str], *, threads: int = 2, term: float = 1.0,
        program: Path | None = None,
    ) -> None:  # fmt: skip
        """`program` is another one than this, started with the scheduler's file and the folder."""
        self.folder, self.environment, self.threads, self.term = folder, environment, threads, term
        self.program = program
        self.file = folder / "scheduler.json"
        self.scheduler: subprocess.Popen | None = None
        self.workers: list[subprocess.Popen] = []
        self.special: list[subprocess.Popen] = []
        self.machines: list[Path] = []
        """Where each worker has its tasks' folders: nothing of another's."""

    def ensure(self, workers: int) -> None:
        """A scheduler and so many plain workers that it knows."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.end()
            self.file.unlink(missing_ok=True)
            command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
            self.scheduler = self._start([*command, "--no-dashboard", "--scheduler-file", str(self.file)])
        for special in self.special:
            special.kill()
            special.wait()
        self.special, self.workers = [], [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < workers:
            self.workers.append(self.start_worker())
        self.wait_for(workers)

    def start_worker(self, *resources: str, **environment: str) -> subprocess.Popen:
        command = [sys.executable, __file__, str(self.file), str(self.threads), str(self.term), *resources]
        if self.program is not None:
            command = [sys.executable, str(self.program), str(self.file), str(self.folder)]
        self.machines.append(self.folder / f"m{len(self.machines)}")
        self.machines[-1].mkdir()
        return self._start(command, **{"TMPDIR": str(self.machines[-1]), **environment})

    def add(self, *resources: str, **environment: str) -> subprocess.Popen:
        """One more, of another kind, which is gone with the next `ensure`."""
        self.special.append(self.start_worker(*resources, **environment))
        self.wait_for(len(self.workers) + len(self.special))
        return self.special[-1]

    def wait_for(self, workers: int) -> None:
        from distributed import Client

        end = time.monotonic() + WAIT_SECONDS
        while not self.file.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        with Client(scheduler_file=str(self.file), set_as_default=False) as client:
            while len(client.nthreads()) != workers:
                assert time.monotonic() < end
                time.sleep(0.05)

    def end(self) -> None:
        for process in (*self.workers, *self.special, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()
        self.workers, self.special, self.scheduler = [], [], None

    def _start(self, command: list[str], **environment: str) -> subprocess.Popen:
        with (self.folder / "cluster.log").open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**self.environment, **environment}
            )  # fmt: skip


async def serve(file: str, threads: int, resources: dict[str, float], folder: Path) -> None:
    """A worker, until its scheduler or somebody ends it."""
    from distributed import Worker

    async with Worker(
        scheduler_file=file, nthreads=threads, resources=resources, local_directory=str(folder), dashboard=False
    ) as worker:
        await worker.finished()


def main(arguments: list[str]) -> None:
    file, threads, term, *resources = arguments
    sys.path[:0] = [str(UNIT.parent), str(UNIT)]
    import conftest  # noqa: F401 - loads the package
    from matchcut.evaluator.benchmark import run as run_module
    from matchcut.evaluator.benchmark.leases import LeaseFolder

    run_module.run_stage = lambda stage, *rest, **options: {"stage": stage}
    LeaseFolder.__init__.__kwdefaults__["term"] = float(term)
    amounts = {name: float(amount) for name, _, amount in (one.partition("=") for one in resources)}
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(file, int(threads), amounts, Path(file).parent))


if __name__ == "__main__":
    main(sys.argv[1:])
