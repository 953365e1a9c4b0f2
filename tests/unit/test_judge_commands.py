# SPDX-License-Identifier: GPL-3.0-or-later
"""`judge test` and `judge key`: whether a judge answers, where its key is, and that no key is ever shown."""

import io
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
from judge_stub import Answer, JudgeStub, completion, json_answer, labels
from matchcut.evaluator.cli import main as front
from matchcut.evaluator.environment.create import PACKAGE_ROOT
from matchcut.evaluator.judge.providers import keys

CANARY = "sk-canary-0123456789"
VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MATCHCUT_LOCAL_API_KEY")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """A keyring in memory, in the place of the package."""
    held: dict[tuple[str, str], str] = {}

    class KeyringError(Exception):
        pass

    class PasswordDeleteError(KeyringError):
        pass

    def delete(service: str, name: str) -> None:
        if held.pop((service, name), None) is None:
            raise PasswordDeleteError

    class Backend:
        pass

    module, backends = types.ModuleType("keyring"), types.ModuleType("keyring.backends")
    errors, fail = types.ModuleType("keyring.errors"), types.ModuleType("keyring.backends.fail")
    vars(errors).update(KeyringError=KeyringError, PasswordDeleteError=PasswordDeleteError)
    vars(fail)["Keyring"] = type("Keyring", (), {})
    vars(backends)["fail"] = fail
    vars(module).update(
        get_keyring=Backend,
        get_password=lambda service, name: held.get((service, name)),
        set_password=lambda service, name, key: held.__setitem__((service, name), key),
        delete_password=delete,
    )
    for name, one in (("", module), (".backends", backends), (".backends.fail", fail), (".errors", errors)):
        monkeypatch.setitem(sys.modules, f"keyring{name}", one)
    return held


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = front.main(["judge", *arguments])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_judge_that_answers_is_told_with_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    with JudgeStub([labels("fully_satisfied")]) as stub:
        status, out, _ = run(capsys, "test", f"local:{stub.url}#stub", "--json")
        asked = [one for one in stub.requests if one.body]
    data = json.loads(out)
    assert status == 0 and data["model"] == "stub-model-2026-11" and data["problem"] == "" and data["seconds"] >= 0
    assert len(asked) == 1 and len(json.dumps(asked[0].body)) < 4000, "the smallest request that shows it"


def test_without_a_model_the_models_are_listed_and_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with JudgeStub([labels("fully_satisfied")]) as stub:
        status, out, _ = run(capsys, "test", f"local:{stub.url}", "--json")
        assert not [one for one in stub.requests if one.body]
    assert status == 0 and json.loads(out)["models"] == ["stub"] and "model" not in json.loads(out)


def test_an_answer_in_another_form_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    with JudgeStub([completion("Sure! fully_satisfied")]) as stub:
        status, out, _ = run(capsys, "test", f"local:{stub.url}#stub")
    assert status == 0 and "answered, but not in the form asked for" in out


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (json_answer({"error": {"message": f"bad key {CANARY}"}}, 401), 2, "the key was refused"),
        (json_answer({"error": {"message": "no such model"}}, 404), 2, "no such model or address"),
        (json_answer({"error": {"code": "insufficient_quota", "message": "pay"}}, 429), 2, "no credit left"),
        (json_answer({"error": {"message": "later"}}, 429), 3, "busy with others' requests"),
    ],
)
def test_a_refusal_is_one_line_without_the_key(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, answer: Answer, status: int, said: str
) -> None:
    monkeypatch.setenv("MATCHCUT_LOCAL_API_KEY", CANARY)
    with JudgeStub([answer]) as stub:
        found, out, err = run(capsys, "test", f"local:{stub.url}#stub")
    last = err.splitlines()[-1]
    assert found == status and said in last and CANARY not in out + err


def test_nobody_there_and_no_key_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "test", "local:http://127.0.0.1:9/v1#m")
    assert status == 3 and "the service does not answer" in err and err.count("\n") <= 2
    status, _, err = run(capsys, "test", "openai")
    assert status == 2 and "no key: set the environment variable OPENAI_API_KEY" in err
    status, _, err = run(capsys, "test", "human")
    assert status == 2 and err.count("\n") == 1


def test_a_key_is_stored_from_standard_input_and_never_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, keyring: dict[tuple[str, str], str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"  {CANARY}\n"))
    status, out, err = run(capsys, "key", "openai", "--store", "--json")
    assert status == 0 and CANARY not in out + err
    assert keyring == {("matchcut", "OPENAI_API_KEY"): CANARY}
    assert json.loads(out)["keys"] == {"openai": {"variable": "OPENAI_API_KEY", "place": "keyring"}}
    assert keys.find_key("OPENAI_API_KEY") == CANARY, "the judge finds it there"

    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    status, out, _ = run(capsys, "key")
    assert "openai     environment" in out and "gemini     nowhere" in out and CANARY not in out
    monkeypatch.delenv("OPENAI_API_KEY")

    for _ in range(2):  # also where there is none
        assert run(capsys, "key", "openai", "--forget")[0] == 0
    assert keyring == {}


@pytest.mark.parametrize("typed", ["", "   ", "two words", "käy"])
def test_what_is_no_key_is_refused(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    keyring: dict[tuple[str, str], str],
    typed: str,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{typed}\n"))
    status, _, err = run(capsys, "key", "openai", "--store")
    assert status == 2 and err.count("\n") == 1 and keyring == {}


def test_a_system_without_a_keyring_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, keyring: dict[tuple[str, str], str]
) -> None:
    fail = sys.modules["keyring.backends.fail"]
    monkeypatch.setattr(sys.modules["keyring"], "get_keyring", fail.Keyring)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{CANARY}\n"))
    status, _, err = run(capsys, "key", "openai", "--store")
    assert status == 2 and "no keyring; set the environment variable" in err and CANARY not in err


def test_a_parent_hands_the_key_over_and_stays(tmp_path: Path) -> None:
    """As the preferences do: the first line is the key, and the end of the input ends the command."""
    command = [sys.executable, str(PACKAGE_ROOT / "__main__.py"), "judge", "key", "openai", "--store"]
    with subprocess.Popen(
        [*command, "--messages", "--follow-parent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{CANARY} not a key\n")
        process.stdin.flush()
        lines = process.stdout.read()
    assert "holds characters that cannot stand in a request" in lines and "canary" not in lines


def test_the_page_of_help_and_the_document_have_the_same_parts(root: Path) -> None:
    import re

    page = (root / "assets_ui" / "help" / "evaluator.html").read_text(encoding="utf-8")
    document = (root / "docs" / "install.md").read_text(encoding="utf-8")
    parts = re.findall(r"<h2>(.*?)</h2>", page)
    assert parts == re.findall(r"^### (.*)$", document, re.MULTILINE) and len(parts) > 6
    assert "http" not in page.replace("http://HOST:PORT", ""), "nothing is loaded from elsewhere"
