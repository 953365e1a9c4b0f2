# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded judgments answer the same requests again, and no others."""

import hashlib

import judge_videos
import pytest
from matchcut.evaluator.judge.prompt import instruction, prompt_sha256, reply_schema, request_text
from matchcut.evaluator.judge.providers import open_provider
from matchcut.evaluator.judge.providers.base import FatalError, JudgeRequest
from matchcut.evaluator.judge.providers.replay import Replay
from matchcut.evaluator.judge.records import RATING_VALUES, Judgment
from matchcut.evaluator.judge.reply import read_reply
from matchcut.evaluator.protocol.errors import BadInputError

LABELS = ["unsatisfied", "fully_satisfied", "partially_satisfied", "fully_satisfied"]
IMAGES = (b"one", b"two")


def request(setting="detailed", images=IMAGES, **clip):
    made = judge_videos.clip(**clip)
    return JudgeRequest(instruction(setting), images, request_text(made, setting), reply_schema())


def record(folder, labels=LABELS, model="m", setting="detailed", images=IMAGES, key="k"):
    clip = judge_videos.clip()
    Judgment.model_validate(
        {
            "key": key, "clip": clip.id, "video": clip.video, "setting": setting,
            "ratings": [
                {"check": check.id, "category": check.category, "rating": label, "value": RATING_VALUES[label]}
                for check, label in zip(clip.applicable(setting), labels, strict=True)
            ],
            "evidence": [
                {"local_frame": n, "reference_frame": n, "reconstruction_frame": n,
                 "sha256": hashlib.sha256(image).hexdigest()} for n, image in enumerate(images)
            ],
            "provider": "local", "requested_model": model, "replied_model": f"{model}-2026", "request_id": "r1",
            "prompt_sha256": prompt_sha256(setting), "usage": {"input_tokens": 9}, "attempts": [],
        }
    ).write(folder / "judgments" / f"{key}.json")  # fmt: skip
    return folder


@pytest.mark.parametrize("inner", ["", "judgments"])
def test_same_request_gets_the_recorded_labels(tmp_path, inner):
    record(tmp_path)
    provider = open_provider(f"replay:{tmp_path / inner}")
    reply = provider.ask(request())
    assert read_reply(reply, 4) == LABELS
    assert (provider.name, provider.model, reply.model, reply.request_id, reply.usage) == (
        "replay", "m", "m-2026", "r1", {},
    )  # fmt: skip


@pytest.mark.parametrize(
    "other", [{"images": IMAGES[::-1]}, {"images": (b"one",)}, {"setting": "simplified"}, {"checks": 2}]
)
def test_another_request_has_no_answer(tmp_path, other):
    with pytest.raises(FatalError) as caught:
        Replay(record(tmp_path)).ask(request(**other))
    assert (caught.value.reason, caught.value.whole_run) == ("not_recorded", False)


def test_two_models_in_one_folder(tmp_path):
    record(tmp_path)
    record(tmp_path, LABELS[::-1], "n", key="l")
    both = Replay(tmp_path)
    assert both.model == "several"
    with pytest.raises(FatalError) as caught:
        both.ask(request())
    assert caught.value.reason == "several_answers"
    assert read_reply(open_provider(f"replay:{tmp_path}#n").ask(request()), 4) == LABELS[::-1]
    assert read_reply(Replay(tmp_path, "local:m").ask(request()), 4) == LABELS


@pytest.mark.parametrize("model", [None, "x"])
def test_folder_without_what_is_asked_for(tmp_path, model):
    if model:
        record(tmp_path)
    with pytest.raises(BadInputError, match=r"no recorded judgments|no judgment by the model 'x'"):
        Replay(tmp_path, model)


def test_what_a_killed_run_was_about_to_write_is_passed_over(tmp_path):
    record(tmp_path)
    (tmp_path / ".partial-abcdefgh.json").write_text("{")
    assert read_reply(Replay(tmp_path).ask(request()), 4) == LABELS
