# SPDX-License-Identifier: GPL-3.0-or-later
"""How often and how patiently a judge is asked; the provider is scripted, the waiting is recorded."""

import pytest
from matchcut.evaluator.judge.attempts import RetryPolicy, ask_until_usable
from matchcut.evaluator.judge.providers import FatalError, JudgeRequest, RecoverableError, Reply

REQUEST = JudgeRequest("i", (b"image",), "{}", {})
GOOD = Reply('{"results": ["unsatisfied"]}', "stop", request_id="good")
WRONG = Reply('{"results": []}', "stop", request_id="wrong")


class Scripted:
    name, model = "scripted", "m"

    def __init__(self, *steps):
        self.steps, self.requests = list(steps), []

    def ask(self, request):
        self.requests.append(request)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


def busy(retry_after=None, reason="http_503"):
    return RecoverableError(reason, "busy", request_id="r", retry_after=retry_after)


def ask(*steps, seed="seed", **policy):
    provider, waits = Scripted(*steps), []
    outcome = ask_until_usable(provider, REQUEST, 1, policy=RetryPolicy(**policy), seed=seed, sleep=waits.append)
    assert all(request is REQUEST for request in provider.requests)  # identical evidence on every attempt
    assert len(outcome.attempts) == len(provider.requests)
    return outcome, waits


def outcomes(outcome):
    return [attempt.outcome for attempt in outcome.attempts]


def test_accepted_at_once():
    outcome, waits = ask(GOOD)
    assert (outcome.ratings, waits, outcomes(outcome)) == (["unsatisfied"], [], ["accepted"])
    assert outcome.attempts[0].request_id == "good"


def test_recoverable_failures_are_waited_out_with_growing_jittered_waits():
    outcome, waits = ask(busy(), busy(), busy(), busy(), GOOD, first_wait=1.0)
    assert outcome.ratings == ["unsatisfied"]
    assert outcomes(outcome) == ["http_503"] * 4 + ["accepted"]
    for number, wait in enumerate(waits):
        assert 0.5 * 2**number <= wait <= 2**number
    assert len({wait / 2**number for number, wait in enumerate(waits)}) == 4  # jitter, not a fixed factor


def test_jitter_is_repeatable_and_differs_between_clips():
    assert ask(busy(), busy(), GOOD, seed="a")[1] == ask(busy(), busy(), GOOD, seed="a")[1]
    assert ask(busy(), busy(), GOOD, seed="a")[1] != ask(busy(), busy(), GOOD, seed="b")[1]


def test_waits_are_bounded():
    _, waits = ask(*[busy()] * 9, GOOD, tries=10, longest_wait=4.0)
    assert max(waits) <= 4.0


def test_gives_up_after_the_last_try():
    outcome, waits = ask(*[busy()] * 5)
    assert (outcome.ratings, outcome.reason, outcome.ends_run) == (None, "http_503", False)
    assert (len(outcome.attempts), len(waits)) == (5, 4)


@pytest.mark.parametrize("reason", ["connection", "rate_limited"])
def test_what_every_clip_would_meet_ends_the_run(reason):
    assert ask(*[busy(reason=reason)] * 5)[0].ends_run


def test_retry_after_is_honoured():
    outcome, waits = ask(busy(17), GOOD)
    assert outcome.ratings and waits == [17]


def test_retry_after_shorter_than_the_back_off_does_not_hasten_it():
    _, waits = ask(busy(0), GOOD)
    assert waits[0] >= 0.5


def test_too_long_a_retry_after_is_not_waited_for():
    outcome, waits = ask(busy(3600, "rate_limited"), longest_retry_after=120)
    assert (outcome.reason, outcome.ends_run, waits) == ("rate_limited", True, [])
    assert "3600 s" in outcome.detail


@pytest.mark.parametrize("whole_run", [True, False])
def test_fatal_is_never_repeated(whole_run):
    outcome, waits = ask(FatalError("unauthorized", "no", whole_run=whole_run))
    assert (outcomes(outcome), waits, outcome.ends_run) == (["unauthorized"], [], whole_run)


def test_unusable_replies_are_asked_again_twice_at_most():
    outcome, waits = ask(WRONG, WRONG, GOOD)
    assert (outcomes(outcome), waits) == (["missing_ratings", "missing_ratings", "accepted"], [])
    outcome, _ = ask(WRONG, WRONG, WRONG)
    assert (outcome.ratings, outcome.reason, outcome.ends_run) == (None, "missing_ratings", False)
    assert outcome.detail == "0 ratings for 1 checks"


def test_both_kinds_of_failure_have_their_own_bound():
    outcome, _ = ask(busy(), WRONG, busy(), WRONG, busy(), busy(), GOOD)
    assert outcome.ratings == ["unsatisfied"]
