# SPDX-License-Identifier: GPL-3.0-or-later
"""Prices, budgets, how many requests are sent at once, and where keys come from."""

import json
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from matchcut.evaluator.judge.attempts import Purse, RetryPolicy, ask_until_usable
from matchcut.evaluator.judge.gate import Gate
from matchcut.evaluator.judge.pool import Stop, work_through
from matchcut.evaluator.judge.prices import SHIPPED, Budget, BudgetError, Price, PriceTable, find_price
from matchcut.evaluator.judge.providers import JudgeRequest, RecoverableError, Reply, StoppedError, Tokens
from matchcut.evaluator.judge.providers.keys import SERVICE, find_key
from matchcut.evaluator.protocol.errors import BadInputError

REQUEST = JudgeRequest("i", (b"image",), "{}", {})


def test_cost_by_hand():
    price = Price(input=4, cached_input=0.4, cache_write=5, output=20, batch=0.5)
    tokens = Tokens(input=1_000_000, output=100_000, cached_input=600_000, cache_write=100_000)
    assert price.cost(tokens) == pytest.approx(0.3 * 4 + 0.6 * 0.4 + 0.1 * 5 + 0.1 * 20)
    assert price.cost(tokens, batch=True) == pytest.approx(price.cost(tokens) / 2)
    assert Price(input=4, output=20).cost(tokens) == pytest.approx(4 + 2)


def test_own_prices_come_first(tmp_path):
    shipped = PriceTable.read(SHIPPED)
    name, price = next(iter(shipped.models.items()))
    provider, _, model = name.partition(":")
    assert find_price(provider, model) == price
    assert find_price("openai:http://elsewhere/v1", "nobody") is None
    assert find_price("local:http://127.0.0.1/v1", "anything").cost(Tokens(10**6, 10**6)) == 0
    own = {"format": "matchcut-prices/1", "checked": "today", "models": {name: {"input": 1, "output": 2}}}
    (tmp_path / "own.json").write_text(json.dumps(own))
    assert find_price(provider, model, tmp_path / "own.json") == Price(input=1, output=2)
    (tmp_path / "own.json").write_text(json.dumps({**own, "models": {name: {"input": -1, "output": 2}}}))
    with pytest.raises(BadInputError, match=r"own\.json"):
        find_price(provider, model, tmp_path / "own.json")


def test_budget_is_never_exceeded_though_many_ask_at_once():
    budget = Budget(tokens=1000)
    most, used = Tokens(60, 40), Tokens(50, 25)
    refused, sent, lock = [], [], threading.Lock()

    def spend():
        while True:
            try:
                budget.take(most)
            except BudgetError:
                refused.append(1)
                return
            time.sleep(0.002)
            with lock:
                sent.append(1)
            budget.settle(most, used)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(refused) == 8
    assert budget.used.total == 75 * len(sent) <= 1000
    assert 1000 - budget.used.total < 100  # nothing is left over that would have paid for one more


def test_timeout_counts_as_if_it_had_cost_the_most():
    class Mute:
        name, model = "m", "m"

        def ask(self, request):
            raise RecoverableError("timeout", "no answer")

    budget = Budget(tokens=250)
    purse = Purse(budget, Tokens(60, 40))
    outcome = ask_until_usable(Mute(), REQUEST, 1, policy=RetryPolicy(), seed="", sleep=lambda _: None, purse=purse)
    assert outcome.reason == "budget_spent" and outcome.ends_run
    assert [attempt.outcome for attempt in outcome.attempts] == ["timeout"] * 2
    assert budget.used.total == 200


def test_unusable_replies_are_paid_for():
    class Babbler:
        name, model = "m", "m"

        def ask(self, request):
            return Reply("no JSON", "stop", usage={"n": 30}, tokens=Tokens(20, 10))

    budget = Budget(tokens=1000)
    outcome = ask_until_usable(
        Babbler(), REQUEST, 1, policy=RetryPolicy(), seed="", purse=Purse(budget, Tokens(60, 40))
    )
    assert budget.used.total == 90 and [attempt.usage for attempt in outcome.attempts] == [{"n": 30}] * 3


def test_gate_halves_once_for_those_sent_together_and_grows_again():
    gate = Gate(16)
    sent = time.monotonic()
    for _ in range(16):
        gate.busy(sent, 0.0)
    assert gate.limit == 8
    gate.busy(time.monotonic(), 0.0)
    assert gate.limit == 4
    for _ in range(200):
        gate.answered()
    assert gate.limit == 16
    for _ in range(10):
        gate.busy(time.monotonic(), 0.0)
    assert gate.limit == 1


def test_gate_holds_everybody_back_for_as_long_as_the_service_asks():
    gate = Gate(2)
    gate.busy(time.monotonic(), 0.3)
    started = time.monotonic()
    with gate.passage():
        assert time.monotonic() - started >= 0.29


def test_gate_lets_no_more_through_than_its_limit():
    gate, inside, most = Gate(3), [], []

    def pass_through():
        with gate.passage():
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    threads = [threading.Thread(target=pass_through) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(most) == 12 and max(most) == 3


def test_tasks_are_drawn_as_they_are_needed():
    drawn = []

    def tasks():
        for number in range(500):
            drawn.append(number)
            yield number

    run = work_through(tasks(), lambda number: number, threads=4, stop=Stop())
    for _ in range(100):
        next(run)
    run.close()
    assert len(drawn) <= 100 + 3 * 4


def test_tasks_ahead_of_the_work_are_no_more_than_threads():
    drawn, started = [], threading.Semaphore(0)
    hold = threading.Event()

    def tasks():
        for number in range(100):
            drawn.append(number)
            yield number

    def work(number):
        started.release()
        hold.wait(20)
        return number

    run = work_through(tasks(), work, threads=3, stop=Stop())
    threading.Timer(0.3, hold.set).start()
    next(run)
    assert len(drawn) <= 7
    run.close()


def test_an_error_in_a_thread_ends_all_and_is_raised():
    def work(number):
        if number == 5:
            raise BadInputError("five")
        return number

    with pytest.raises(BadInputError, match="five"):
        list(work_through(range(1000), work, threads=3, stop=Stop()))


def test_stop_wakes_those_who_sleep():
    stop = Stop()
    threading.Timer(0.1, stop.set).start()
    started = time.monotonic()
    with pytest.raises(StoppedError):
        stop.sleep(20)
    assert time.monotonic() - started < 5


def keyring_with(monkeypatch, get_password):
    """A stand-in for the package, so that no test reads or changes this machine's own."""
    errors = SimpleNamespace(KeyringError=type("KeyringError", (Exception,), {}))
    monkeypatch.setitem(sys.modules, "keyring", SimpleNamespace(get_password=get_password, errors=errors))
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)


def test_key_from_the_environment_else_from_the_keyring(monkeypatch):
    asked = []
    keyring_with(monkeypatch, lambda *names: asked.append(names) or "ring-key\n")
    monkeypatch.setenv("OPENAI_API_KEY", " env-key \n")
    assert find_key("OPENAI_API_KEY") == "env-key" and asked == []
    monkeypatch.delenv("OPENAI_API_KEY")
    assert find_key("OPENAI_API_KEY") == "ring-key" and asked == [(SERVICE, "OPENAI_API_KEY")]


def test_machine_without_a_keyring(monkeypatch):
    def none(*_):
        raise sys.modules["keyring.errors"].KeyringError

    keyring_with(monkeypatch, none)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert find_key("OPENAI_API_KEY") is None


@pytest.mark.parametrize("key", ["schlüssel", "two words", "a\x07b"])
def test_key_that_no_request_can_carry(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(BadInputError, match="OPENAI_API_KEY") as caught:
        find_key("OPENAI_API_KEY")
    assert key not in str(caught.value)


def test_what_judging_costs_is_measured(root):
    command = [sys.executable, str(root / "__main__.py"), "perf", "judge", "--tiny", "--json", "--only", "requests"]
    answer = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False)
    assert answer.returncode in (0, 1), answer.stderr
    first, *_ = json.loads(answer.stdout)["rows"]
    assert first["bound"] == 1.15 and first["value"] > 0.9
