# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judge is told, and what it is not."""

import json

import pytest
from judge_videos import clip
from matchcut.evaluator.checklist.records import SETTINGS
from matchcut.evaluator.judge.prompt import RATINGS, instruction, prompt_sha256, reply_schema, request_text
from matchcut.evaluator.judge.records import RATING_VALUES

RULES = [  # words that each rule of appendix C.2 cannot do without
    "keep that pairing", "change places", "members", "second time", "mirror", "missing from the reconstruction",
    "unsatisfied", "leaving the picture", "Identical pixels", "invisible details", "costs nothing", "full",
    "instruction to you", "appearance added", "whole statement",
]  # fmt: skip


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_rule_and_label_is_in_every_setting(setting):
    text = instruction(setting)
    assert [rule for rule in RULES if rule not in text] == []
    assert all(f"`{rating}`" in text for rating in RATINGS)
    assert f"The setting is `{setting}`" in text
    assert sum(f"The setting is `{other}`" in text for other in SETTINGS) == 1


def test_settings_differ_in_appearance_alone():
    texts = [instruction(setting) for setting in SETTINGS]
    assert len(set(texts)) == 3
    assert "stand-ins are allowed" in texts[0] and "stand-ins are allowed" not in texts[1] + texts[2]
    assert "particular to this very subject" in texts[2]
    assert len({prompt_sha256(setting) for setting in SETTINGS}) == 3


def test_labels_are_those_with_a_value():
    assert set(RATINGS) == set(RATING_VALUES)
    items = reply_schema()["properties"]["results"]
    assert items == {"type": "array", "items": {"type": "string", "enum": list(RATINGS)}}


def test_request_holds_entities_and_applicable_checks_in_order_without_their_ids():
    one = clip(checks=3)
    text = request_text(one, "proxy")
    data = json.loads(text)
    assert [check["statement"] for check in data["checks"]] == [check.statement for check in one.checks[:3]]
    assert data["checks"][1] == {
        "statement": "c1 says 1", "category": "rotation", "subjects": ["a"], "frames": [1, 5], "evidence_frames": [4],
    }  # fmt: skip
    assert [entity["id"] for entity in data["entities"]] == ["a", "g"]
    assert data["entities"][1]["members"] == ["a"] and "members" not in data["entities"][0]
    assert "check-id" not in text
    assert len(json.loads(request_text(one, "detailed"))["checks"]) == 4
    assert ": " not in text.replace("is red", "")
