# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON Schemas (draft 2020-12) of every file that the evaluator writes or reads, generated from its records.

They lie beside this module as they are shipped: `matchcut schemas --out evaluator/schemas` writes them anew. A schema
says what a file looks like; rules between its fields, such as evidence inside an interval, are the validators'.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from ..protocol.errors import BadInputError
from ..protocol.files import write_text

FOLDER: Final = Path(__file__).resolve().parent
SUFFIX: Final = ".schema.json"

# format → where its record is
RECORDS: Final[dict[str, str]] = {
    "matchcut-agent/1": "benchmark.agents.records:AgentDefinition",
    "matchcut-agent-run/1": "benchmark.records:AgentRun",
    "matchcut-agreement/1": "agreement.records:Agreement",
    "matchcut-agreement-study/1": "agreement.records:Study",
    "matchcut-agreement-votes/1": "agreement.records:Votes",
    "matchcut-audit/1": "audit.records:AuditReport",
    "matchcut-batch/1": "judge.batch.records:BatchRecord",
    "matchcut-batch-waiting/1": "judge.batch.records:Waiting",
    "matchcut-bench-export/1": "benchmark.records:Export",
    "matchcut-bench-failure/1": "benchmark.records:Failure",
    "matchcut-bench-plan/1": "benchmark.records:Plan",
    "matchcut-bench-sheet/1": "benchmark.sheet:Sheet",
    "matchcut-bench-stage/1": "benchmark.records:StageRecord",
    "matchcut-benchmark/1": "checklist.benchmark:Benchmark",
    "matchcut-benchmark-video/1": "checklist.benchmark:BenchmarkVideo",
    "matchcut-camera-fit/1": "camera.records:CameraFit",
    "matchcut-camera-path/1": "camera.records:CameraPath",
    "matchcut-camera-request/1": "camera.records:CameraRequest",
    "matchcut-cameras/1": "sgc.estimators.precomputed:CamerasFile",
    "matchcut-clip/1": "checklist.records:Clip",
    "matchcut-configurations/1": "benchmark.agents.records:Configurations",
    "matchcut-conform/1": "media.conform:Conformed",
    "matchcut-evidence/1": "judge.records:EvidenceManifest",
    "matchcut-judged-unit/1": "judge.units:JudgedUnit",
    "matchcut-judgment/1": "judge.records:Judgment",
    "matchcut-motion/1": "motion.records:Motion",
    "matchcut-operational-failure/1": "judge.records:OperationalFailure",
    "matchcut-preview/1": "pipeline.playback:Preview",
    "matchcut-prices/1": "judge.prices:PriceTable",
    "matchcut-ratings/1": "reliability.report:KnownRatings",
    "matchcut-reliability/1": "reliability.records:Reliability",
    "matchcut-rerender/1": "audit.rerender_records:RerenderReport",
    "matchcut-results/1": "results:Results",
    "matchcut-scene/1": "deliver.scene:DescribedScene",
    "matchcut-sgc/1": "sgc.measure:Measured",
    "matchcut-sgc-calibration/1": "sgc.calibrate:Calibration",
    "matchcut-sgc-floor/1": "sgc.robust.records:NoiseFloor",
    "matchcut-sgc-validation/1": "sgc.validate:Validation",
    "matchcut-submission/1": "deliver.records:Submission",
    "matchcut-table/1": "tables.records:Table",
    "matchcut-upload/1": "judge.batch.records:Upload",
    "matchcut-validation/1": "deliver.validate:Validation",
}


def file_name(form: str) -> str:
    """The schema's file of a format: `matchcut-clip-1.schema.json`."""
    return form.replace("/", "-") + SUFFIX


def find_format(name: str) -> str:
    """The format called `name`: whole, or as `clip`. Raises BadInputError where there is none."""
    for form in RECORDS:
        if name in (form, form.removeprefix("matchcut-"), form.removeprefix("matchcut-").partition("/")[0]):
            return form
    raise BadInputError(f"{name!r} is no format; matchcut schemas lists them")


def schema(form: str) -> dict[str, Any]:
    """The JSON Schema of one format."""
    module, _, record = RECORDS[form].partition(":")
    model: type[BaseModel] = getattr(import_module(f"..{module}", __package__), record)
    made = model.model_json_schema()
    return {"$schema": GenerateJsonSchema.schema_dialect, **made, "title": form}


def schema_text(form: str) -> str:
    """The same as it stands in a file."""
    return json.dumps(schema(form), indent=1, ensure_ascii=False) + "\n"


def write_schemas(folder: Path) -> list[Path]:
    """Write all of them and remove those of formats that are no more; returns the files."""
    files = {folder / file_name(form): form for form in RECORDS}
    for path, form in files.items():
        write_text(path, schema_text(form))
    for path in folder.glob(f"matchcut-*{SUFFIX}"):
        if path not in files:
            path.unlink()
    return list(files)
