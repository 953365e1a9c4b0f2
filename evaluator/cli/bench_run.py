# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench run`: every task of a benchmark that is not done yet."""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ..checklist.records import SETTINGS
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from .arguments import count, positive

if TYPE_CHECKING:
    from ..benchmark.engine import Summary
    from ..benchmark.ledger import Ledger
    from ..benchmark.machine import Machine
    from ..benchmark.plan import Selection, Task
    from ..benchmark.records import Plan
    from ..checklist.benchmark import LoadedBenchmark

DESCRIPTION = """Let the configurations rebuild the benchmark's videos under its settings, then validate, audit, check,
measure and judge what they hand in.

Each task gets a clean folder with the reference, the prompt and a folder for its output, a Blender of its own behind
the MCP server, and its agent's program, kept apart from the benchmark's data. What is done is never done again: run
the command again, on as many machines as share the folders, until nothing is missing (docs/benchmark.md).

  matchcut bench run BENCH --runs RUNS --out RESULTS --configuration claude-opus-5.5 --limit-minutes 240 --limit-usd 20
  matchcut bench run BENCH --runs RUNS --out RESULTS --configurations mine.toml --judge openai:MODEL --judge-effort high
  matchcut bench run BENCH --runs RUNS --out RESULTS --workers 4 --setting proxy --video v1
  matchcut bench run BENCH --runs RUNS --out RESULTS --engine dask --scheduler tcp://10.0.0.1:8786   docs/cluster.md

Keys of agents and judges come from the environment. Without --configurations those of the paper are meant."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("benchmark", type=Path, metavar="BENCH", help="the folder of the benchmark")
    parser.add_argument("--runs", type=Path, required=True, metavar="RUNS", help="the folder for the submissions")
    parser.add_argument("--out", type=Path, required=True, metavar="RESULTS", help="the folder for all records")
    add_selection(parser)
    add_run_options(parser)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which tasks are meant."""
    which = parser.add_argument_group("which tasks (default: all)")
    which.add_argument("--configuration", action="append", default=[], metavar="NAME", help="only this one; repeatable")
    which.add_argument("--setting", action="append", choices=SETTINGS, default=[], help="only this one; repeatable")
    which.add_argument("--video", action="append", default=[], metavar="ID", help="only this one; repeatable")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """What the plan says besides, and how this machine works on it."""
    plan = parser.add_argument_group("what is asked (kept in the plan)")
    plan.add_argument("--configurations", type=Path, metavar="FILE.toml", help="agents, models and efforts")
    plan.add_argument("--limit-minutes", type=positive, metavar="M", help="of wall time for an agent and task")
    plan.add_argument("--limit-usd", type=positive, metavar="X", help="that an agent may spend on a task")
    plan.add_argument("--limit-turns", type=count, metavar="N", help="responses of an agent's model in a task")
    plan.add_argument(
        "--sgc", choices=("classical", "scene", "off"), default="classical",
        help="from the video's pictures, from the scene rendered again with its passes, or not (default: classical)",
    )  # fmt: skip
    plan.add_argument("--rerender", type=int, default=0, metavar="K", help="frames that the audit renders again")
    plan.add_argument("--judge", metavar="SPEC", help="who rates the checklist; as in matchcut judge run")
    plan.add_argument("--judge-effort", metavar="E", help="none, minimal, low, medium, high, xhigh or max")
    plan.add_argument("--judge-max-output-tokens", type=count, metavar="N", help="of an answer, thoughts included")
    plan.add_argument("--attempts", type=count, default=3, metavar="N", help="tries of what fails (default: 3)")
    add_machine_options(parser)


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    """How this machine works."""
    here = parser.add_argument_group("how this machine works")
    here.add_argument("--workers", type=count, default=1, metavar="N", help="tasks at a time (default: 1)")
    here.add_argument(
        "--engine", choices=("threads", "dask"), default="threads",
        help="threads of this process, or the workers of a dask cluster (default: threads)",
    )  # fmt: skip
    here.add_argument(
        "--scheduler", metavar="ADDRESS", help="the cluster's, such as tcp://10.0.0.1:8786, or its --scheduler-file"
    )
    here.add_argument(
        "--resource", type=resource, action="append", default=[], metavar="NAME=N",
        help="what a task takes of a worker's --resources, such as gpu=1; repeatable",
    )  # fmt: skip
    here.add_argument(
        "--work", type=Path, metavar="DIR", help="where tasks have their folders (default: temporary files)"
    )
    here.add_argument(
        "--hide", type=Path, action="append", default=[], metavar="DIR", help="also hidden from agents; repeatable"
    )
    here.add_argument(
        "--isolation", choices=("needed", "none"), default="needed",
        help="none: run where agents cannot be kept apart from the benchmark's data; it is recorded (default: needed)",
    )  # fmt: skip
    here.add_argument(
        "--keep", choices=("all", "submission"), default="all", help="what is collected of a task (default: all)"
    )
    here.add_argument(
        "--memory-gb", type=positive, metavar="N",
        help="of a task: of all its processes where the system has control groups, else of each (default: nine tenths "
        "of the machine's, for all)",
    )  # fmt: skip
    here.add_argument(
        "--processes", type=count, default=4096, metavar="N", help="of a task, threads included (default: 4096)"
    )
    here.add_argument("--cores", type=positive, metavar="N", help="processors' time of a task (default: all)")
    here.add_argument("--retry", action="store_true", help="also try what has failed too often, or for good")
    here.add_argument("--no-wait", action="store_true", help="leave to others what they work on, and end")
    here.add_argument("--budget-usd", type=positive, metavar="X", help="that the judge may cost in this run")
    here.add_argument("--prices", type=Path, metavar="FILE", help="prices of your own (matchcut-prices/1)")
    here.add_argument("--json", action="store_true", help="print one JSON document instead of the text")


def resource(text: str) -> tuple[str, float]:
    """NAME=N."""
    name, _, amount = text.partition("=")
    try:
        return name, positive(amount)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r}: write it as gpu=1") from None


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Run what is missing."""
    return run_benchmark(args, reporter)


def run_benchmark(args: argparse.Namespace, reporter: Reporter) -> int:
    """Plan what the arguments ask for, and do what is missing of it."""
    from ..benchmark.agents.load import PAPER, load_configurations
    from ..benchmark.ledger import Ledger
    from ..benchmark.plan import Selection, save_plan
    from ..benchmark.records import JudgeChoice, Limits, Plan
    from ..checklist.benchmark import load_benchmark

    benchmark = load_benchmark(args.benchmark)
    selection = Selection(args.configuration, args.setting, args.video)
    file = args.configurations or PAPER
    if args.rerender < 0:
        raise BadInputError(f"--rerender {args.rerender}: a number of frames is 0 or more")
    judge = None
    if args.judge is not None:
        judge = JudgeChoice(spec=args.judge, effort=args.judge_effort, max_output_tokens=args.judge_max_output_tokens)
    plan = Plan(
        benchmark=str(args.benchmark.absolute()),
        benchmark_name=f"{benchmark.record.name} {benchmark.record.version}",
        runs=str(args.runs.absolute()),
        configurations=load_configurations(file, args.configuration),
        settings=list(args.setting or SETTINGS),
        videos=list(args.video or benchmark.record.videos),
        limits=Limits(
            seconds=args.limit_minutes * 60 if args.limit_minutes else None, usd=args.limit_usd, turns=args.limit_turns
        ),
        sgc=None if args.sgc == "off" else args.sgc,
        rerender=args.rerender,
        judge=judge,
        attempts=args.attempts,
    )
    for name in plan.videos:
        benchmark.video(name)
    ledger = Ledger(args.out)
    return work(save_plan(ledger, plan), benchmark, selection, args, reporter)


def check_agents(plan: Plan, tasks: list[Task], ledger: Ledger) -> None:
    """Raise BadInputError where an agent that has something to do cannot be started here: all its tasks would fail."""
    from ..benchmark.agents.launch import check_ready
    from ..benchmark.agents.load import ARTIST, load_definition
    from ..benchmark.plan import Keys
    from ..environment.blender import find_blender
    from ..environment.screen import window_prefix

    keys, looked = Keys(plan), set[str]()
    for task in tasks:
        configuration = task.configuration
        if configuration.name in looked or configuration.agent.startswith(ARTIST) or ledger.has_run(keys.run(task)):
            continue
        looked.add(configuration.name)
        try:
            check_ready(load_definition(configuration.agent))
            if configuration.blender == "window":
                window_prefix(find_blender())
        except BadInputError as error:
            raise BadInputError(
                f"configuration {configuration.name}: {error}; or leave it out, naming the others by --configuration"
            ) from error


def check_engine(args: argparse.Namespace) -> None:
    """Raise BadInputError where the options for machines do not go together, or dask is missing."""
    if args.engine != "dask":
        if args.scheduler or args.resource:
            raise BadInputError("--scheduler and --resource belong to --engine dask; give that too")
        return
    if not args.scheduler:
        raise BadInputError("--engine dask: --scheduler is missing; give its address or its file (docs/cluster.md)")
    if args.budget_usd is not None:
        raise BadInputError("--budget-usd holds in one process, and a cluster has many: leave it out, or use --workers")
    if importlib.util.find_spec("distributed") is None:
        raise BadInputError("--engine dask: dask is not installed here; run pip install 'distributed>=2026.3'")


def in_threads(
    plan: Plan, benchmark: LoadedBenchmark, tasks: list[Task], machine: Machine, args: argparse.Namespace,
    reporter: Reporter,
) -> Summary:  # fmt: skip
    """Do what is missing here."""
    from ..benchmark.engine import run_tasks
    from ..benchmark.ledger import Ledger
    from ..benchmark.machine import open_runner

    check_agents(plan, tasks, Ledger(args.out))

    def tell(task: Task, stage: str, text: str) -> None:
        reporter.status(f"{task.name} {stage}: {text}")

    with open_runner(machine, plan, benchmark, threading.Event(), reporter=reporter, tell=tell) as runner:
        summary = run_tasks(runner, tasks, workers=args.workers, wait=not args.no_wait, reporter=reporter)
        if runner.judging is not None and runner.judging.ended:
            summary.problems.append(f"judge: nothing more was sent: {runner.judging.ended}")
    return summary


def on_cluster(
    plan: Plan, benchmark: LoadedBenchmark, tasks: list[Task], machine: Machine, args: argparse.Namespace,
    reporter: Reporter,
) -> Summary:  # fmt: skip
    """Do what is missing on the workers of a cluster."""
    from ..benchmark.engine_dask import Job, run_on_cluster

    return run_on_cluster(
        Job(plan, benchmark.folder.absolute(), machine), tasks, scheduler=args.scheduler,
        resources=dict(args.resource), wait=not args.no_wait, reporter=reporter,
    )  # fmt: skip


def work(
    plan: Plan, benchmark: LoadedBenchmark, selection: Selection, args: argparse.Namespace, reporter: Reporter
) -> int:
    """Do what is missing of a plan, and tell how it ended."""
    from ..benchmark.leases import LeaseFolder
    from ..benchmark.ledger import Ledger
    from ..benchmark.machine import Machine
    from ..benchmark.plan import tasks_of
    from ..benchmark.resources import Allowance
    from ..benchmark.status import read_status, status_data, status_lines

    check_engine(args)
    ledger = Ledger(args.out)
    tasks = list(tasks_of(plan, benchmark, selection))
    for folder in args.hide:
        if not folder.is_dir():
            raise BadInputError(f"--hide {folder}: there is no such folder")
    machine = Machine(
        results=args.out.absolute(),
        runs=Path(plan.runs),
        hide=tuple(folder.absolute() for folder in args.hide),
        isolated=args.isolation != "none",
        work=args.work.absolute() if args.work is not None else None,
        keep_everything=args.keep == "all",
        allowance=Allowance(int(args.memory_gb * 2**30) if args.memory_gb else None, args.processes, args.cores),
        retry=args.retry,
        budget_usd=args.budget_usd,
        prices=args.prices.absolute() if args.prices is not None else None,
    )
    run_them = on_cluster if args.engine == "dask" else in_threads
    summary = run_them(plan, benchmark, tasks, machine, args, reporter)
    for problem in summary.problems:
        reporter.warning(problem)
    leases = LeaseFolder(ledger.leases)
    try:
        status = read_status(plan, benchmark, ledger, leases, selection)
    finally:
        leases.close()
    data = {**status_data(status), "tasks": dict(summary.states)}
    if args.messages:
        reporter.result(str(args.out), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(status_lines(status)) + "\n")
    return ExitStatus.DONE if set(summary.states) <= {"done"} else ExitStatus.OPERATIONAL_FAILURE
