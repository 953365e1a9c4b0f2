# SPDX-License-Identifier: GPL-3.0-or-later
"""A call that needs something large made first: that is made turn by turn, so that a window is drawn meanwhile."""

import pytest
from matchcut.addon.bridge.dispatcher import Dispatcher, Request


@pytest.fixture
def answers():
    return []


@pytest.fixture
def request_of(answers):
    return lambda method: Request(method, {}, lambda fields: answers.append(fields["result"]["name"]))


def dispatcher(prepare):
    methods = {name: lambda name=name: {"name": name} for name in ("search", "other")}
    return Dispatcher(methods, {"search": prepare})


def test_a_call_waits_for_its_turns_and_is_run_once(answers, request_of):
    turns = iter([False, False, True])
    queue = dispatcher(lambda: next(turns))
    queue.submit(request_of("search"))
    queue.submit(request_of("other"))
    assert [queue.run_next(), queue.run_next()] == [False, False] and answers == [], "one part in each turn"
    assert [queue.run_next(), queue.run_next()] == [True, True] and answers == ["search", "other"], "in their order"
    assert queue.calls == 2 and not queue.run_next()


def test_nothing_is_prepared_for_other_calls(answers, request_of):
    queue = dispatcher(lambda: pytest.fail("nobody asked for it"))
    queue.submit(request_of("other"))
    assert queue.run_next() and answers == ["other"] and not queue.run_next()


def test_a_call_can_be_taken_back_while_it_is_prepared(answers, request_of):
    queue = dispatcher(lambda: False)
    waiting = request_of("search")
    queue.submit(waiting)
    assert not queue.run_next() and queue.running() == "" and queue.withdraw(waiting)
    assert not queue.run_next() and answers == []


def test_what_cannot_be_prepared_is_called_all_the_same(answers, request_of, capsys):
    queue = dispatcher(lambda: 1 / 0)
    queue.submit(request_of("search"))
    assert queue.run_next() and answers == ["search"] and "ZeroDivisionError" in capsys.readouterr().err
