# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut judge run | reliability | controls | sample`: a judge over a benchmark, and how far to trust it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..checklist.records import SETTINGS
from ..protocol.errors import ExitStatus
from ..protocol.messages import Reporter
from . import judge_reliability, judge_sample
from .arguments import count, positive

if TYPE_CHECKING:
    from ..judge.benchmark import RunSummary
    from ..judge.prices import Budget
    from ..judge.providers import Provider

SUBCOMMANDS: Final = {"key": "judge_key", "test": "judge_test"}
DESCRIPTION = """Have a judge rate the submissions of a benchmark, and see how far its ratings can be trusted.

  matchcut judge run BENCH --runs RUNS --out RESULTS --judge openai:MODEL --effort high
  matchcut judge reliability RESULTS --benchmark BENCH
  matchcut judge controls BENCH --out RUNS
  matchcut judge sample --demo demo --out trial
  matchcut judge test openai:MODEL
  matchcut judge key

matchcut judge COMMAND --help tells more; matchcut table prints the scores."""

RUN_DESCRIPTION = """Have a judge rate RUNS/CONFIG/SETTING/VIDEO/reconstruction.mp4 by the checklists of BENCH.

Each clip of a submission is one request. What was answered is kept in RESULTS at once and is never asked for again, so
a run may be interrupted at any moment, and started again to go on. Keys come from the environment or from the system's
keyring only: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, MATCHCUT_LOCAL_API_KEY (docs/judge.md).

  matchcut judge run BENCH --runs RUNS --out RESULTS --judge openai:MODEL --effort high --budget-usd 50
  matchcut judge run BENCH --runs RUNS --out RESULTS --judge anthropic:MODEL --batch
  matchcut judge run BENCH --runs RUNS --out RESULTS --judge local:http://127.0.0.1:8000/v1#MODEL --repeats 3
  matchcut judge run BENCH --runs RUNS --out RESULTS --judge human:ann --configuration opus --setting proxy

Exit status 3: some clips have no judgment; the same command asks for them again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The sub-commands' arguments."""
    commands = parser.add_subparsers(dest="action", required=True, metavar="COMMAND")
    for name, words, description, add in (
        ("run", "rate the submissions of a benchmark", RUN_DESCRIPTION, _add_run_arguments),
        (
            "reliability",
            "how far a judge's ratings can be trusted",
            judge_reliability.RELIABILITY_DESCRIPTION,
            judge_reliability.add_reliability_arguments,
        ),
        (
            "controls",
            "make the reconstructions whose right scores are known",
            judge_reliability.CONTROLS_DESCRIPTION,
            judge_reliability.add_controls_arguments,
        ),
        (
            "sample",
            "make a benchmark whose right ratings are known",
            judge_sample.DESCRIPTION,
            judge_sample.add_sample_arguments,
        ),
    ):
        command = commands.add_parser(
            name, help=words, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        add(command)
        for option in ("--messages", "--follow-parent"):  # every command takes them, also behind its own arguments
            command.add_argument(option, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def run(args: argparse.Namespace, reporter: Reporter) -> int:
    """Run one of the sub-commands."""
    actions = {
        "run": _run,
        "reliability": judge_reliability.run_reliability,
        "controls": judge_reliability.run_controls,
        "sample": judge_sample.run_sample,
    }
    return int(actions[args.action](args, reporter))


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", type=Path, metavar="BENCH", help="the folder of the benchmark")
    parser.add_argument("--runs", type=Path, required=True, metavar="RUNS", help="the folder of the submissions")
    parser.add_argument("--out", type=Path, required=True, metavar="RESULTS", help="the folder for what is judged")
    parser.add_argument(
        "--judge", required=True, metavar="SPEC",
        help="openai:MODEL, anthropic:MODEL, gemini:MODEL, local:URL#MODEL, human[:NAME] or replay:DIR",
    )  # fmt: skip
    which = parser.add_argument_group("what is judged (default: everything)")
    which.add_argument("--configuration", action="append", default=[], metavar="NAME", help="only this one; repeatable")
    which.add_argument("--setting", action="append", choices=SETTINGS, default=[], help="only this one; repeatable")
    which.add_argument("--video", action="append", default=[], metavar="ID", help="only this one; repeatable")
    which.add_argument("--repeats", type=count, default=1, metavar="K", help="ask K times for each (default: 1)")
    how = parser.add_argument_group("how it is asked")
    how.add_argument("--effort", metavar="E", help="none, minimal, low, medium, high, xhigh or max")
    how.add_argument("--max-output-tokens", type=count, metavar="N", help="of an answer, thoughts included")
    how.add_argument("--timeout", type=positive, metavar="S", help="seconds for a whole request (default: 1800)")
    how.add_argument("--concurrency", type=count, metavar="N", help="requests at once (default: 8; own servers: 1)")
    how.add_argument("--base-url", metavar="URL", help="another address of the same service")
    how.add_argument("--max-images", type=count, metavar="N", help="that the service takes in one request")
    how.add_argument("--max-request-mb", type=positive, metavar="MB", help="that the service takes in one request")
    how.add_argument("--batch", action="store_true", help="openai and anthropic: cheaper, within a day")
    how.add_argument("--poll", type=positive, default=60.0, metavar="S", help="batch: seconds between looks")
    how.add_argument("--no-png", action="store_true", help="keep the images only as they are sent, not without loss")
    money = parser.add_argument_group("what it may cost in this run")
    money.add_argument("--budget-usd", type=positive, metavar="X", help="dollars")
    money.add_argument("--budget-tokens", type=count, metavar="N", help="tokens, read and written")
    money.add_argument("--prices", type=Path, metavar="FILE", help="prices of your own (matchcut-prices/1)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the text")


def _run(args: argparse.Namespace, reporter: Reporter) -> int:
    from ..checklist.benchmark import load_benchmark
    from ..judge.attempts import RetryPolicy
    from ..judge.batch.run import judge_in_batches
    from ..judge.benchmark import Selection, judge_benchmark
    from ..judge.evidence import EvidenceStore
    from ..judge.gate import Gate
    from ..judge.pool import Stop
    from ..judge.providers import Settings, open_provider, require_ready
    from ..judge.providers.human import announcer
    from ..judge.run import default_concurrency
    from ..judge.store import JudgmentStore
    from ..judge.work import Desk, close
    from ..protocol.lock import sole_user

    benchmark = load_benchmark(args.benchmark, videos=args.video or None)
    defaults = Settings()
    settings = Settings(
        effort=args.effort,
        max_output_tokens=args.max_output_tokens,
        timeout=args.timeout or defaults.timeout,
        base_url=args.base_url,
        max_images=args.max_images,
        max_request_bytes=int(args.max_request_mb * 1e6) if args.max_request_mb else None,
    )
    provider = open_provider(args.judge, settings, drafts=args.out / "drafts", announce=announcer(reporter))
    require_ready(provider, args.judge)
    budget = _budget(args, provider)
    concurrency = args.concurrency or default_concurrency(provider)
    stop = Stop()
    desk = Desk(
        provider=provider,
        store=JudgmentStore(args.out),
        evidence=EvidenceStore(args.out, lossless=not args.no_png),
        policy=RetryPolicy(),
        gate=Gate(concurrency),
        sleep=stop.sleep,
        budget=budget,
    )
    selection = Selection(args.configuration, args.setting, args.repeats)
    with sole_user(args.out):
        try:
            if args.batch:
                summary = judge_in_batches(
                    benchmark, args.runs, selection, desk,
                    results=args.out, reporter=reporter, concurrency=concurrency, stop=stop, poll=args.poll,
                )  # fmt: skip
            else:
                summary = judge_benchmark(
                    benchmark, args.runs, selection, desk,
                    results=args.out, reporter=reporter, concurrency=concurrency, stop=stop,
                )  # fmt: skip
        finally:
            close(provider)
    _answer(args, reporter, summary, budget)
    if summary.judged == summary.expected:
        return ExitStatus.DONE
    refused = summary.ended.split(":")[0] in ("unauthorized", "forbidden", "not_found")
    return ExitStatus.BAD_INPUT if refused else ExitStatus.OPERATIONAL_FAILURE


def _budget(args: argparse.Namespace, provider: Provider) -> Budget:
    from ..judge.prices import Budget, find_price

    price = find_price(provider.name, provider.model, args.prices)
    model = f"{provider.name}:{provider.model}"
    return Budget(args.budget_usd, args.budget_tokens, price=price, model=model, batch=args.batch)


def _answer(args: argparse.Namespace, reporter: Reporter, summary: RunSummary, budget: Budget) -> None:
    data = {
        "clips": summary.expected,
        "judged": summary.judged,
        "asked_now": summary.asked,
        "failed": dict(sorted(summary.failed.items())),
        "units": summary.units,
        "ended": summary.ended,
        "tokens": budget.used.total,
        "usd": budget.usd,
    }
    if args.messages:
        reporter.result(str(args.out), data)
    elif args.json:
        sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    else:
        cost = "price not known" if budget.usd is None else f"${budget.usd:.2f}"
        lines = [
            f"clips     {summary.judged} of {summary.expected} judged, {summary.asked} of them asked for now",
            f"tokens    {budget.used.total} ({cost})",
            *(f"failed    {count} {reason}" for reason, count in sorted(summary.failed.items())),
            *([f"ended     {summary.ended}"] if summary.ended else []),
            f"results   {args.out}",
        ]
        sys.stdout.write("\n".join(lines) + "\n")
