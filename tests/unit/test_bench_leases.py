# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases: one holder at a time whatever clocks say, and who slept past its term finds that out."""

import os
import random
import subprocess
import sys
import threading
import time

import pytest
from matchcut.evaluator.benchmark import leases as leases_module
from matchcut.evaluator.benchmark.leases import LeaseFolder, LeaseLostError
from matchcut.evaluator.protocol.errors import BadInputError

KEY = "ab" * 32
OTHER = "cd" * 32
TERM = 60.0


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "leases"


def pass_time(folder, held, seconds):
    """As if so many seconds had passed for the file system: every file is that much older."""
    for path in folder.iterdir():
        found = path.stat()
        os.utime(path, (found.st_atime, found.st_mtime - seconds))
    for lease in held:
        lease._renewed -= seconds


def test_one_holder_at_a_time_and_what_is_given_back_is_free_at_once(folder):
    one, two = LeaseFolder(folder, term=TERM), LeaseFolder(folder, term=TERM)
    lease = one.take(KEY)
    assert lease is not None and not lease.abandoned
    assert two.take(KEY) is None and one.take(KEY) is None and two.take(OTHER) is not None
    held = two.held()
    assert set(held) == {KEY, OTHER} and held[KEY].holder == one.holder and not held[KEY].expired
    lease.check()
    lease.give_back()
    with pytest.raises(LeaseLostError):
        lease.check()
    again = two.take(KEY)
    assert again is not None and again.number == 1 and not again.abandoned


def test_a_term_that_has_passed_frees_the_unit_and_its_holder_finds_that_out(folder):
    one, two = LeaseFolder(folder, term=TERM), LeaseFolder(folder, term=TERM)
    lease = one.take(KEY)
    pass_time(folder, [lease], TERM * 0.9)
    lease.check()
    pass_time(folder, [lease], TERM * 1.1)
    assert two.take(KEY) is None, "others wait a little longer than its holder"
    pass_time(folder, [lease], TERM * 0.3)
    taken = two.take(KEY)
    assert taken is not None and taken.abandoned and taken.number == 1
    with pytest.raises(LeaseLostError, match="term has passed"):
        lease.check()
    lease.give_back()
    taken.check()
    assert one.take(KEY) is None


def test_a_holder_that_slept_has_lost_it_though_nobody_took_it(folder):
    lease = LeaseFolder(folder, term=TERM).take(KEY)
    pass_time(folder, [lease], TERM * 1.05)
    with pytest.raises(LeaseLostError):
        lease.check()
    with pytest.raises(LeaseLostError):  # and it stays lost
        lease.check()


def test_a_holder_that_sleeps_between_looking_and_renewing_finds_that_out(folder, monkeypatch):
    lease = LeaseFolder(folder, term=TERM).take(KEY)
    real = leases_module._touch

    def slow(path):
        if path == lease._path:
            lease._renewed -= 2 * TERM
        real(path)

    monkeypatch.setattr(leases_module, "_touch", slow)
    with pytest.raises(LeaseLostError, match="term has passed"):
        lease.check()


@pytest.mark.parametrize("ahead", [600.0, -600.0])
def test_clocks_ten_minutes_apart_decide_nothing(folder, monkeypatch, ahead):
    lease = LeaseFolder(folder, term=TERM).take(KEY)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + ahead)
    monkeypatch.setattr(time, "monotonic", lambda: real() + ahead)
    other = LeaseFolder(folder, term=TERM)
    assert other.take(KEY) is None and not other.held()[KEY].expired
    lease.check()
    pass_time(folder, [lease], TERM * 2)
    assert other.take(KEY) is not None
    with pytest.raises(LeaseLostError):
        lease.check()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"holder": 1}'])
def test_a_lease_whose_holder_died_before_a_word_counts_by_its_time(folder, content):
    leases = LeaseFolder(folder, term=TERM)
    (folder / f"{KEY}.0").write_bytes(content)
    assert leases.take(KEY) is None
    pass_time(folder, [], TERM * 2)
    assert leases.take(KEY).number == 1


def test_nothing_is_left_of_a_unit_that_is_finished_and_it_can_be_taken_anew(folder):
    leases = LeaseFolder(folder, term=TERM)
    leases.take(KEY).give_back()
    leases.take(KEY).give_back()
    with leases.take(KEY).kept() as lease:
        lease.finish()
        assert leases.held() == {}
    assert leases.held() == {} and leases.take(KEY).number == 0
    with pytest.raises(LeaseLostError, match="finished"):
        lease.check()


def test_who_finishes_too_late_leaves_the_lease_of_whoever_took_the_unit_over(folder):
    leases = LeaseFolder(folder, term=TERM)
    late = leases.take(KEY)
    pass_time(folder, [late], TERM * 2)
    taken = LeaseFolder(folder, term=TERM).take(KEY)
    late.finish()
    assert leases._read(KEY, 1) is not None
    taken.check()


def test_a_kept_lease_is_renewed_and_given_back_and_a_loss_is_told(folder):
    leases = LeaseFolder(folder, term=0.4)
    with leases.take(KEY).kept() as lease:
        time.sleep(1.2)
        lease.check()
        assert leases.take(KEY) is None
    lost = threading.Event()
    with leases.take(KEY).kept(on_loss=lost.set) as lease:
        (folder / f"{KEY}.{lease.number + 1}").write_text("somebody")
        assert lost.wait(2) and lease.lost


def test_many_processes_want_one_expired_unit_and_one_gets_it(folder, root):
    leases = LeaseFolder(folder, term=TERM)
    lease = leases.take(KEY)
    pass_time(folder, [lease], TERM * 2)
    code = f"""
import sys, time
sys.path.insert(0, {str(root / "tests")!r})
import conftest
from pathlib import Path
from matchcut.evaluator.benchmark.leases import LeaseFolder
leases = LeaseFolder(Path({str(folder)!r}), term={TERM})
while not Path({str(folder / "go")!r}).exists():
    time.sleep(0.001)
print(leases.take({KEY!r}) is not None)
"""
    several = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    time.sleep(1.5)
    (folder / "go").touch()
    answers = [process.communicate(timeout=60) for process in several]
    assert sorted(out.strip() for out, _ in answers) == ["False"] * 5 + ["True"], answers


def test_whatever_happens_two_never_hold_one_unit(folder):
    """Random takes, renewals, sleeps, deaths and returns of four workers: at most one lease passes its check."""
    chance = random.Random(7)
    workers = [LeaseFolder(folder, term=TERM) for _ in range(4)]
    held = []
    taken = 0
    for _ in range(600):
        what = chance.random()
        if what < 0.4:
            lease = chance.choice(workers).take(KEY)
            if lease is not None:
                held.append(lease)
                taken += 1
        elif what < 0.6 and held:
            chance.choice(held).give_back()
        elif what < 0.9:
            pass_time(folder, held, chance.uniform(0, TERM * 1.6))
        elif held:
            held.remove(chance.choice(held))  # it dies
        good = 0
        for lease in chance.sample(held, len(held)):
            try:
                lease.check()
                good += 1
            except LeaseLostError:
                held.remove(lease)
        assert good <= 1
    assert taken > 50


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadInputError, match="cannot be written"):
        LeaseFolder(tmp_path / "file" / "leases")


def test_clocks_of_the_dead_are_removed_and_ones_own_at_the_end(folder):
    old = LeaseFolder(folder)
    pass_time(folder, [], 2 * leases_module.OLD_SECONDS)
    new = LeaseFolder(folder)
    assert not old._clock.exists()
    new.close()
    assert list(folder.iterdir()) == []
