# SPDX-License-Identifier: GPL-3.0-or-later
"""The shipped schemas are those of the records, and every record that a file holds has one."""

import json
import re

import pytest
from matchcut.evaluator.cli.main import main
from matchcut.evaluator.schemas.make import FOLDER, RECORDS, SUFFIX, file_name, schema, schema_text, write_schemas


@pytest.mark.parametrize("form", RECORDS)
def test_shipped_schema_is_current(form):
    shipped = (FOLDER / file_name(form)).read_text(encoding="utf-8")
    assert json.loads(shipped) == schema(form), "run ./run schemas --out evaluator/schemas"
    assert schema(form)["properties"]["format"]["const"] == form


def test_no_schema_is_left_over_or_missing(root):
    assert sorted(path.name for path in FOLDER.glob(f"*{SUFFIX}")) == sorted(map(file_name, RECORDS))
    found = set()
    for path in (root / "evaluator").rglob("*.py"):
        found |= set(re.findall(r'format: Literal\["(matchcut-[^"]+)"\]', path.read_text(encoding="utf-8")))
    assert found == set(RECORDS)


def test_command_lists_prints_and_writes(tmp_path, capsys):
    assert main(["schemas"]) == 0
    assert capsys.readouterr().out.count("\n") == len(RECORDS)
    assert main(["schemas", "clip"]) == 0
    text = capsys.readouterr().out
    assert text == schema_text("matchcut-clip/1") and json.loads(text)["title"] == "matchcut-clip/1"
    (tmp_path / f"matchcut-old-1{SUFFIX}").write_text("{}")
    assert main(["schemas", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(map(file_name, RECORDS))
    assert main(["schemas", "nothing"]) == 2


def test_writing_twice_changes_nothing(tmp_path):
    before = [path.read_bytes() for path in write_schemas(tmp_path)]
    assert [path.read_bytes() for path in write_schemas(tmp_path)] == before
