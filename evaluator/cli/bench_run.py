# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench run`: every task of a benchmark that is not done yet."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ..checklist.records import SETTINGS
from ..protocol.errors import BadInputError, ExitStatus
from ..protocol.messages import Reporter
from .arguments import count, positive

if TYPE_CHECKING:
    from ..benchmark.ledger import Ledger
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
        "--memory-gb", type=positive, metavar="N", help="that each process of a task may use (RLIMIT_DATA)"
    )
    here.add_argument("--retry", action="store_true", help="also try what has failed too often, or for good")
    here.add_argument("--no-wait", action="store_true", help="leave to others what they work on, and end")
    here.add_argument("--budget-usd", type=positive, metavar="X", help="that the judge may cost in this run")
    here.add_argument("--prices", type=Path, metavar="FILE", help="prices of your own (matchcut-prices/1)")
    here.add_argument("--json", action="store_true", help="print one JSON document instead of the text")


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

    keys, looked = Keys(plan), set[str]()
    for task in tasks:
        configuration = task.configuration
        if configuration.name in looked or configuration.agent.startswith(ARTIST) or ledger.has_run(keys.run(task)):
            continue
        looked.add(configuration.name)
        try:
            check_ready(load_definition(configuration.agent))
        except BadInputError as error:
            raise BadInputError(
                f"configuration {configuration.name}: {error}; or leave it out, naming the others by --configuration"
            ) from error


def work(
    plan: Plan, benchmark: LoadedBenchmark, selection: Selection, args: argparse.Namespace, reporter: Reporter
) -> int:
    """Do what is missing of a plan, and tell how it ended."""
    from ..benchmark.agent import Settings
    from ..benchmark.engine import run_tasks
    from ..benchmark.isolation import NO_SANDBOX, check_places, choose_sandbox
    from ..benchmark.judging import Judging
    from ..benchmark.leases import LeaseFolder
    from ..benchmark.ledger import Ledger
    from ..benchmark.plan import tasks_of
    from ..benchmark.run import Runner
    from ..benchmark.status import read_status, status_data, status_lines
    from ..environment.blender import find_blender
    from ..environment.create import PACKAGE_ROOT

    ledger = Ledger(args.out)
    tasks = list(tasks_of(plan, benchmark, selection))
    check_agents(plan, tasks, ledger)
    runs = Path(plan.runs)
    none = args.isolation == "none"
    for folder in args.hide:
        if not folder.is_dir():
            raise BadInputError(f"--hide {folder}: there is no such folder")
    settings = Settings(
        blender=find_blender(reporter.status),
        sandbox=NO_SANDBOX if none else choose_sandbox(allow_none=False),
        hide=tuple(path.resolve() for path in (benchmark.folder, args.out, runs, *args.hide)),
        work=args.work.resolve() if args.work is not None else None,
        prices=args.prices,
        keep_everything=args.keep == "all",
        memory=int(args.memory_gb * 2**30) if args.memory_gb else None,
    )
    if settings.sandbox.works:
        work_folder = settings.work or Path(tempfile.gettempdir())
        check_places(work_folder, settings.hide, [PACKAGE_ROOT, Path(sys.prefix)])
    stop = threading.Event()
    leases = LeaseFolder(ledger.leases)
    judging = None
    if plan.judge is not None:
        judging = Judging(plan.judge, args.out, stop, reporter=reporter, budget_usd=args.budget_usd, prices=args.prices)
    runner = Runner(
        plan, benchmark, runs, ledger, leases, settings, judging=judging, retry=args.retry, stop=stop,
        tell=lambda task, stage, text: reporter.status(f"{task.name} {stage}: {text}"),
    )  # fmt: skip
    try:
        summary = run_tasks(runner, tasks, workers=args.workers, wait=not args.no_wait, reporter=reporter)
        for problem in summary.problems:
            reporter.warning(problem)
        if judging is not None and judging.ended:
            reporter.warning(f"judge: nothing more was sent: {judging.ended}")
        status = read_status(plan, benchmark, ledger, leases, selection)
    finally:
        if judging is not None:
            judging.close()
        leases.close()
    data = {**status_data(status), "tasks": dict(summary.states)}
    if args.messages:
        reporter.result(str(args.out), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(status_lines(status)) + "\n")
    return ExitStatus.DONE if set(summary.states) <= {"done"} else ExitStatus.OPERATIONAL_FAILURE
