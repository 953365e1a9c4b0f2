# SPDX-License-Identifier: GPL-3.0-or-later
"""`matchcut bench run | resume | status | table | export`, from agents to the table, with a judge on this machine."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest
from bench_agents import __file__ as AGENT_FILE
from bench_runs import make_benchmark, make_package
from judge_stub import JudgeStub, error, satisfied
from matchcut.evaluator.benchmark import run as run_module
from matchcut.evaluator.benchmark.export import unpack
from matchcut.evaluator.benchmark.isolation import find_sandbox
from matchcut.evaluator.benchmark.records import AgentRun, Export, StageRecord
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.judge.units import read_units
from matchcut.evaluator.protocol.errors import BadInputError

SECRET = "a-checklist-word-4711"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    make_package(folder / "package")
    make_package(folder / "other", tint=60)
    bench = make_benchmark(folder)
    for path in bench.glob("videos/*/clips/*.json"):
        path.write_text(path.read_text().replace("the red one", SECRET))
    return folder


@pytest.fixture(autouse=True)
def quick(made, tmp_path, monkeypatch):
    """A Blender that tells its version alone, and later stages that answer at once."""
    fake = tmp_path / "blender"
    fake.write_text("#!/bin/sh\necho Blender 5.2.0\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BLENDER", str(fake))
    monkeypatch.setattr(run_module, "run_stage", lambda stage, *rest, **options: {"stage": stage})
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def configurations(made, tmp_path):
    text = 'format = "matchcut-configurations/1"\n'
    for name, package, act in (("good", "package", "usage=2:0.5,submit"), ("poor", "other", "usage=1:0.1,submit")):
        text += (
            f'[[configuration]]\nname = "{name}"\nagent = "python:{AGENT_FILE}"\n'
            f'environment = {{ PACKAGE = "{made / package}", ACT = "{act}", MARKS = "{tmp_path / "marks"}" }}\n'
        )
    (tmp_path / "marks").mkdir()
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


@pytest.fixture
def bench(made, tmp_path, configurations, capsys):
    def call(command, *options, json_too=True):
        arguments = {
            "run": [made / "bench", "--runs", tmp_path / "runs", "--out", tmp_path / "results", "--configurations",
                    configurations, "--isolation", "none"],
            "resume": [tmp_path / "results", "--isolation", "none"],
        }.get(command, [tmp_path / "results"])  # fmt: skip
        extra = ["--json"] if json_too and command in ("run", "resume", "status") else []
        status = main(["bench", command, *map(str, arguments), *map(str, options), *extra])
        out, err = capsys.readouterr()
        return status, json.loads(out) if extra and status != 2 else out, err

    return call


def marks(tmp_path):
    return len(list((tmp_path / "marks").iterdir()))


def test_from_agents_to_the_table_and_a_second_run_does_nothing(bench, made, tmp_path):
    with JudgeStub(satisfied) as stub:
        options = ("--judge", stub.spec, "--setting", "proxy", "--setting", "detailed", "--workers", "2")
        status, data, err = bench("run", *options)
        assert status == 0, err
        assert data["complete"] and data["failures"] == [] and data["tasks"] == {"done": 8}
        by_name = {row["configuration"]: row for row in data["rows"]}
        assert by_name["good"]["submitted"] == 4 and by_name["good"]["usd"] == 2.0 and by_name["poor"]["usd"] == 0.4
        assert by_name["good"]["stages"]["judge"] == {"done": 4}
        asked = len(stub.requests)
        assert marks(tmp_path) == 8 and asked == 2 * 2 * 2 * 2
        status, data, _ = bench("run", *options)
        assert status == 0 and marks(tmp_path) == 8 and len(stub.requests) == asked
        status, data, _ = bench("resume")
        assert status == 0 and data["tasks"] == {"done": 8} and len(stub.requests) == asked
    status, text, _ = bench("status", json_too=False)
    assert status == 0 and "4/4" in text and text.splitlines()[0].startswith("configuration") and "$2.00" in text
    status, text, _ = bench("table", "--format", "csv")
    assert status == 0
    assert [line for line in text.splitlines() if line.startswith("scores") or "good" in line]
    assert "100" in text and len(list(read_units(tmp_path / "results"))) == 8


def test_the_export_alone_gives_the_same_tables(bench, made, tmp_path, capsys):
    def rate(body):
        return satisfied(body)

    with JudgeStub(rate) as stub:
        assert bench("run", "--judge", stub.spec, "--setting", "proxy")[0] == 0
    assert bench("export", "--file", tmp_path / "run.json")[0] == 0
    text = (tmp_path / "run.json").read_text()
    assert SECRET not in text and str(made) not in text and str(tmp_path) not in text
    export = Export.read(tmp_path / "run.json")
    assert (len(export.runs), len(export.stages), len(export.units), len(export.judgments)) == (4, 20, 4, 8)
    shutil.rmtree(tmp_path / "results" / "judgments")
    for kind in ("scores", "categories"):
        assert main(["bench", "table", str(tmp_path / "run.json"), "--kind", kind, "--format", "csv"]) == 0
        again = capsys.readouterr().out
        assert "good" in again and "100" in again
    for kind in ("scores",):
        from_export = main(["bench", "table", str(tmp_path / "run.json"), "--kind", kind, "--format", "json"])
        assert from_export == 0 and json.loads(capsys.readouterr().out)["format"] == "matchcut-table/1"


def test_tables_of_the_folder_and_of_the_export_are_the_same_bytes(bench, tmp_path):
    with JudgeStub(models=["stub", "second"]) as stub:
        judges = [stub.spec, stub.spec.replace("#stub", "#second")]
        for judge in judges:
            assert bench("run", "--judge", judge, "--setting", "proxy", "--setting", "detailed", "--video", "v")[0] == 0
    bench("export", "--file", tmp_path / "run.json")
    first = ("--judge", f"local:{stub.url}:stub")
    bench("table", "--format", "json", "--out", tmp_path / "a.json", *first)
    command = ["bench", "table", str(tmp_path / "run.json"), "--format", "json", "--out", str(tmp_path / "b.json")]
    assert main([*command, *first]) == 0
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.json").read_text().count('"detailed"') == 1


def test_what_was_not_handed_in_lowers_the_coverage_and_is_no_zero(bench, tmp_path, configurations, monkeypatch):
    from matchcut.evaluator.benchmark import agent as agent_module

    monkeypatch.setattr(agent_module, "_told", lambda transcript: ({"look": 1}, []))
    configurations.write_text(configurations.read_text().replace("usage=1:0.1,submit", "say=I give up"))
    with JudgeStub() as stub:
        status, data, _ = bench("run", "--judge", stub.spec, "--setting", "proxy")
        assert status == 0 and data["complete"] and len(stub.requests) == 4
    _, text, _ = bench("table", "--format", "json")
    rows = {row["name"]: row["cells"][1] for block in json.loads(text)["blocks"] for row in block["rows"]}
    assert rows["poor"]["value"] is None and "missing_video" in rows["poor"]["reason"]
    assert rows["good"]["value"] == 100


def test_a_judge_that_does_not_answer_is_an_operational_failure_and_is_asked_again(bench, tmp_path, monkeypatch):
    monkeypatch.setattr("matchcut.evaluator.judge.attempts.RetryPolicy.base", 0.01, raising=False)
    with JudgeStub(lambda body: error(401, "no such key")) as stub:
        status, data, err = bench("run", "--judge", stub.spec, "--setting", "proxy")
        assert status == 3 and "nothing more was sent: unauthorized" in err
        assert {one["reason"] for one in data["failures"]} == {"unauthorized"} and marks(tmp_path) == 4
        assert len(stub.requests) <= 2
        port = stub.url
    with JudgeStub(port=int(port.rsplit(":", 1)[1].split("/")[0])) as stub:
        status, data, err = bench("resume")
        assert status == 0, err
        assert data["complete"] and marks(tmp_path) == 4 and len(stub.requests) == 8


def test_one_task_by_itself(made, tmp_path, configurations, capsys):
    arguments = [
        "bench", "--benchmark", str(made / "bench"), "--config", "good", "--setting", "proxy", "--video", "v",
        "--configurations", str(configurations), "--isolation", "none", "--json",
    ]  # fmt: skip
    assert main(arguments) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["tasks"] == {"done": 1} and marks(tmp_path) == 1
    assert (tmp_path / "bench-runs" / "good" / "proxy" / "v" / "reconstruction.mp4").is_file()
    (run,) = (tmp_path / "bench-results" / "bench" / "runs").glob("*/run.json")
    assert AgentRun.read(run).submitted
    stages = [StageRecord.read(path).stage for path in (tmp_path / "bench-results" / "bench" / "stages").iterdir()]
    assert sorted(stages) == ["audit", "check", "sgc", "validate"]
    (tmp_path / "failing.toml").write_text(configurations.read_text().replace("usage=2:0.5,submit", "fail=5"))
    arguments[arguments.index(str(configurations))] = str(tmp_path / "failing.toml")
    assert main([*arguments, "--out", str(tmp_path / "again"), "--runs", str(tmp_path / "again-runs")]) == 3
    assert "agent_failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--config", "nobody", "--setting", "proxy", "--video", "v"], "has no configuration 'nobody'"),
        (["--config", "good", "--setting", "proxy", "--video", "x"], "has no video 'x'"),
        (["--config", "good", "--setting", "proxy", "--video", "v", "--hide", "gone"], "--hide gone"),
        (["--config", "good", "--setting", "proxy", "--video", "v", "--judge", "nobody:x"], "no such kind of judge"),
        (["--config", "good", "--setting", "proxy", "--video", "v", "--configurations", "gone.toml"], "no such file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(made, configurations, capsys, options, said):
    arguments = ["bench", "--benchmark", str(made / "bench"), "--configurations", str(configurations), *options]
    assert main([*arguments, "--isolation", "none"]) == 2
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1


def test_an_agent_that_cannot_start_here_is_said_before_anything_is_tried(made, tmp_path, capsys, monkeypatch):
    for name in ("OPENAI_API_KEY", "CODEX_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    arguments = [
        "bench",
        "--benchmark",
        str(made / "bench"),
        "--setting",
        "proxy",
        "--video",
        "v",
        "--isolation",
        "none",
    ]
    assert main([*arguments, "--config", "gpt-6-astra"]) == 2
    err = capsys.readouterr().err
    assert (
        err.startswith("matchcut: configuration gpt-6-astra: codex: there is no such program") or "needs a key" in err
    )
    assert len(err.splitlines()) == 1 and not list((tmp_path / "bench-results" / "bench" / "failures").iterdir())


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_agents_and_says_so(made, tmp_path, configurations, root):
    configurations.write_text(configurations.read_text().replace("usage=2:0.5,submit", "sleep=73.25"))
    command = [
        sys.executable, str(root / "__main__.py"), "bench", "run", str(made / "bench"), "--runs", "runs", "--out",
        "results", "--configurations", str(configurations), "--configuration", "good", "--setting", "proxy", "--video",
        "v",
    ]  # fmt: skip
    isolation = [] if find_sandbox().works else ["--isolation", "none"]
    process = subprocess.Popen([*command, *isolation], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not marks(tmp_path):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "cancelled" in err
    (failure,) = (tmp_path / "results" / "bench" / "failures").glob("*.json")
    assert json.loads(failure.read_text())["reason"] == "stopped"
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert not [line for line in running.splitlines() if AGENT_FILE in line and "task.json" in line]


def test_where_agents_cannot_be_kept_apart_it_is_refused(made, configurations, tmp_path, capsys, monkeypatch):
    from matchcut.evaluator.benchmark import isolation

    monkeypatch.setattr(isolation, "find_sandbox", lambda: isolation.Sandbox(note="no namespaces here"))
    arguments = ["--config", "good", "--setting", "proxy", "--video", "v", "--configurations", str(configurations)]
    assert main(["bench", "--benchmark", str(made / "bench"), *arguments]) == 2
    assert "no namespaces here" in capsys.readouterr().err and marks(tmp_path) == 0


def test_status_of_nothing_and_of_a_plan(bench, tmp_path):
    status, _, err = bench("status")
    assert status == 2 and "holds no plan" in err
    with JudgeStub() as stub:
        bench("run", "--judge", stub.spec, "--setting", "proxy", "--video", "v", "--configuration", "good")
        plan = json.loads((tmp_path / "results" / "bench" / "plan.json").read_text())
        plan["settings"].append("detailed")
        (tmp_path / "results" / "bench" / "plan.json").write_text(json.dumps(plan))
        status, data, _ = bench("status")
        assert status == 0 and data["rows"][0]["tasks"] == 2 and not data["complete"]
        assert data["rows"][0]["stages"]["judge"] == {"done": 1, "missing": 1}
        # a later command without a judge leaves the plan's in its place
        assert bench("run", "--setting", "detailed", "--video", "v", "--configuration", "good")[0] == 0
        assert bench("status")[1]["rows"][0]["stages"]["judge"] == {"done": 2}


@pytest.mark.parametrize("name", ["../x", ".hidden", "a/b", ""])
def test_an_export_of_a_stranger_writes_nowhere_else(tmp_path, bench, name):
    with JudgeStub() as stub:
        bench("run", "--judge", stub.spec, "--setting", "proxy", "--video", "v", "--configuration", "good")
    bench("export", "--file", tmp_path / "run.json")
    data = json.loads((tmp_path / "run.json").read_text())
    data["judgments"][0]["key"] = name
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with pytest.raises(BadInputError, match="names no such file"):
        unpack(tmp_path / "bad.json", tmp_path / "out" / "deep")
    data["judgments"], data["units"][0]["configuration"] = [], name
    (tmp_path / "bad.json").write_text(json.dumps(data))
    with pytest.raises(BadInputError):
        unpack(tmp_path / "bad.json", tmp_path / "out" / "deep")
