# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark's run writes down: the plan, each agent's run, each later stage, every failure with its cause."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from ..checklist.records import Identifier, Setting
from ..records import Record
from .agents.records import Configuration

Stage = Literal["agent", "validate", "audit", "check", "sgc", "judge"]
STAGES: Final[tuple[Stage, ...]] = ("agent", "validate", "audit", "check", "sgc", "judge")
"""In the order in which a task goes through them."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
SgcSource = Literal["classical", "scene"]
Ended = Literal["finished", "limit_time", "limit_money", "limit_turns"]


class Limits(Record):
    """What an agent may use up on one task; None for no limit."""

    seconds: Annotated[float, Field(gt=0)] | None = None
    """Of wall time."""
    usd: Annotated[float, Field(gt=0)] | None = None
    turns: Annotated[int, Field(ge=1)] | None = None
    """Responses of its model."""


class Usage(Record):
    """What an agent used up, as far as it told; None where it did not."""

    turns: int | None = None
    input_tokens: int | None = None
    """With those that were cached."""
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    usd_source: Literal["agent", "prices"] | None = None
    """Whether the agent told its cost, or it was reckoned from its tokens."""
    note: str = ""
    """Why something is not known."""


class JudgeChoice(Record):
    """Who judges and how, as `matchcut judge run` is asked."""

    spec: str
    effort: str | None = None
    max_output_tokens: int | None = None


class Plan(Record):
    """`plan.json`: everything that is to be done. What is done of it is told by the other records, by content key."""

    format: Literal["matchcut-bench-plan/1"] = "matchcut-bench-plan/1"
    benchmark: str
    """Its folder, as it was given; another machine may have it elsewhere."""
    benchmark_name: str
    runs: str
    configurations: Annotated[list[Configuration], Field(min_length=1)]
    settings: Annotated[list[Setting], Field(min_length=1)]
    videos: Annotated[list[Identifier], Field(min_length=1)]
    limits: Limits = Limits()
    sgc: SgcSource | None = "classical"
    """Whence SGC's geometry comes; None to leave it out."""
    rerender: Annotated[int, Field(ge=0)] = 0
    """Frames that the audit renders again."""
    judge: JudgeChoice | None = None
    attempts: Annotated[int, Field(ge=1)] = 3
    """How often a unit is tried that fails for an operational reason."""


class SubmittedFile(Record):
    """One file that was handed in."""

    name: str
    bytes: Annotated[int, Field(ge=0)]
    sha256: Sha256


class RenderTold(Record):
    """One render job of an agent, as the server's transcript tells its end."""

    job: str
    state: str
    seconds: float
    done: int
    total: int
    settings: str


class Isolation(Record):
    """How far the agent was kept apart from the evaluator's data."""

    kind: Literal["namespaces", "none"]
    hidden: int = 0
    """Folders that were replaced by empty ones."""
    processes: bool = False
    """Whether it saw no processes but its own."""
    agent_network: Literal["open", "none"] = "open"
    blender_network: Literal["open", "none"] = "open"
    note: str = ""
    """Why it was not kept apart, where somebody decided so."""


class Resources(Record):
    """What all processes of a task could take of the machine at most, and how far they went."""

    kind: Literal["cgroup", "rlimit", "none"]
    """Together; each by itself; or not at all."""
    memory_bytes: int | None = None
    processes: int | None = None
    """With their threads."""
    cores: float | None = None
    note: str = ""
    """Why it was no control group, or what could not be limited."""
    memory_peak_bytes: int | None = None
    killed_for_memory: int | None = None
    """Processes that the system killed since the memory was used up."""
    refused_processes: int | None = None
    """How often it started none since there were enough."""


class AgentRun(Record):
    """`run.json`: one task as an agent did it. Its folder also holds the transcript, what it said, and what it made."""

    format: Literal["matchcut-agent-run/1"] = "matchcut-agent-run/1"
    key: Sha256
    """Content key of the task: reference, setting, prompt, configuration and limits."""
    configuration: Identifier
    setting: Setting
    video: Identifier
    reference_sha256: Sha256
    agent: str
    agent_version: str | None
    """As its program says; None where it says nothing."""
    model: str
    effort: str
    no_refine: bool
    limits: Limits
    unenforced: list[str] = []
    """Limits that could not be kept, since this agent does not tell what they need."""
    ended: Ended
    exit_status: int | None
    """None where a limit ended it."""
    submission: list[SubmittedFile]
    """Empty where nothing was handed in."""
    usage: Usage
    started_at: str
    """ISO 8601, UTC."""
    wall_seconds: float
    calls: dict[str, int]
    """Tools of the MCP server and how often each was called."""
    renders: list[RenderTold]
    isolation: Isolation
    resources: Resources = Resources(kind="none", note="not written down")
    blender: str
    window: bool = False
    """Whether its Blender had a window, on a virtual screen."""
    matchcut: str
    attempt: int = 0
    """How many tries had failed before."""

    @property
    def submitted(self) -> bool:
        """Whether a video was handed in."""
        return any(file.name == "reconstruction.mp4" for file in self.submission)


class StageRecord(Record):
    """`stages/KEY.json`: what a later stage found about a submission."""

    format: Literal["matchcut-bench-stage/1"] = "matchcut-bench-stage/1"
    key: Sha256
    stage: Stage
    configuration: Identifier
    setting: Setting
    video: Identifier
    run: Sha256
    """Key of the agent's run whose submission it is about."""
    seconds: float
    finished_at: str
    matchcut: str
    result: dict[str, Any]
    """As the stage's own command answers: `validate`, `audit`, `check`, `sgc`; for judge the counts of clips."""


class Failure(Record):
    """`failures/KEY.N.json`: a unit that came to no result, and why. It is no rating and is tried again."""

    format: Literal["matchcut-bench-failure/1"] = "matchcut-bench-failure/1"
    key: Sha256
    stage: Stage
    configuration: Identifier
    setting: Setting
    video: Identifier
    attempt: Annotated[int, Field(ge=0)]
    reason: str
    """One word, such as `agent_failed`."""
    detail: str
    failed_at: str
    seconds: float
    usage: Usage | None = None
    """What it cost all the same."""
    lasting: bool = False
    """Whether another try is of no use before something is changed."""
    matchcut: str


class Export(Record):
    """One file with all raw records, from which anybody can make the tables again."""

    format: Literal["matchcut-bench-export/1"] = "matchcut-bench-export/1"
    plan: Plan
    benchmark: dict[str, Any]
    """`benchmark.json`, and for each video its `video.json` and the checks' ids and categories; no statements."""
    runs: list[AgentRun]
    stages: list[StageRecord]
    failures: list[Failure]
    units: list[dict[str, Any]]
    """Judged units (`matchcut-judged-unit/1`)."""
    judgments: list[dict[str, Any]]
    """Of those units, without the evidence's images."""
