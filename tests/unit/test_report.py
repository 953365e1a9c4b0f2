# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as text: what stands in it, in which order, in every state, and whatever a name or a statement holds."""

import json
import re
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise

import pytest
import report_samples as samples
from matchcut.evaluator.media.records import TimelineCheck
from matchcut.evaluator.report.axis import Axis, _paths, _runs
from matchcut.evaluator.report.checks import check_rows
from matchcut.evaluator.report.html import write_report
from matchcut.evaluator.report.text import cuts_text, offset_text, significant
from matchcut.evaluator.results import Unscored
from matchcut.evaluator.scoring.aggregate import score_checklist
from matchcut.evaluator.sgc.records import COMPONENTS
from matchcut.evaluator.shots.records import ShotCheck

VOID = {"meta", "link", "input", "br", "img"}


class Page(HTMLParser):
    """The page's elements as (tag, attributes), its visible text, and its balance of tags."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.words, self.data = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.data = self.data or data
        elif not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))

    def having(self, **wanted):
        return [a for _, a in self.elements if all(a.get(k.replace("_", "-")) == v for k, v in wanted.items())]


def page_of(tmp_path, results, **options):
    return Page(write_report(results, tmp_path, **options).read_text(encoding="utf-8"))


def test_the_page_is_well_formed_and_asks_nobody_for_anything(tmp_path):
    text = write_report(samples.results(), tmp_path).read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert not re.search(r"https?://|@import|url\(", text)
    sources = [a[name] for _, a in page.elements for name in ("src", "href") if name in a]
    assert sorted(set(sources)) == ["#scores", "data:,", "reconstruction.mp4", "reference.mp4", "results.json"]


def test_the_same_results_give_the_same_bytes(tmp_path):
    first = write_report(samples.results(), tmp_path / "a").read_bytes()
    assert write_report(samples.results(), tmp_path / "b").read_bytes() == first


def test_every_number_is_on_the_page(tmp_path):
    text = page_of(tmp_path, samples.results()).text
    for part in (
        "50.0 of 100", "10 of 20 checks, 1 of 2 clips", "24000/1001 (23.976)", "24/1 (24.000)", "2 frames late",
        "1 of 2 found, 1 late, 1 extra", "0.412", "43 of 47 pairs", "HTTP 503 three times", "a-model-0801",
        "blender 5.2.2", "unscored: no check applies under proxy", "Partly judged.", "ab" * 32, "CYCLES",
        "Pairs with something missing: 4", "fewer than 4 static tracks",
    ):  # fmt: skip
        assert part in text, part


def test_checks_stand_failing_first_and_jump_to_their_frames(tmp_path):
    results = samples.results()
    rows = check_rows(results)
    ranks = ["unsatisfied", "partially_satisfied", None, "fully_satisfied"]
    order = [ranks.index(row.rating) for row in rows]
    assert order == sorted(order)
    assert set(order) == {0, 1, 2, 3}
    assert all("proxy" in row.settings for row in rows)
    second = next(row for row in rows if row.key == "clip-2/c01")
    assert (second.first, second.last, second.rating) == (20, 29, None)
    assert second.local == "0–9"
    assert second.seconds == "0.83–1.25 s"  # [20, 30) / (24000/1001)
    page = page_of(tmp_path, results)
    assert [a["data-check"] for tag, a in page.elements if tag == "tr" and "data-check" in a] == [r.key for r in rows]
    assert page.having(**{"class": "jump", "data_frame": "20", "data_last": "29"})


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'` {{ 7*7 }} &lt; \u2028"


def test_hostile_names_and_statements_stay_text(tmp_path):
    made = samples.clips(HOSTILE)
    entity = made[0].entities[0].model_copy(update={"name": HOSTILE[:200]})
    made[0] = made[0].model_copy(update={"entities": [entity]})
    results = samples.results(
        clips=made,
        reference=samples.video_info(HOSTILE, warnings=[HOSTILE]),
        reconstruction=samples.video_info("--><!-- ]]>" + HOSTILE),
        judgments=[samples.judgment(made[0]).model_copy(update={"replied_model": HOSTILE})],
        operational_failures=[samples.failure(made[1], HOSTILE)],
        sgc=Unscored(reason=HOSTILE),
    )
    page = page_of(tmp_path, results, reference_video='x" onerror="alert(3).mp4')
    assert page.open == []
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert not [a for _, a in page.elements if any(name.startswith("on") for name in a)]
    assert "img" not in {tag for tag, _ in page.elements}
    assert page.text.count("<script>alert(1)</script>") > len(made[0].applicable("proxy"))
    assert "{{ 7*7 }}" in page.text
    assert json.loads(page.data)["frames"] == 48


def test_only_the_pages_own_script_may_run(tmp_path):
    page = page_of(tmp_path, samples.results())
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])


@pytest.mark.parametrize("state", ["no checklist", "not judged", "no scene", "unscored sgc", "all agrees"])
def test_each_state_says_what_it_is(tmp_path, state):
    made = samples.clips()
    nothing = samples.sgc_result().model_copy(
        update={
            "score": None, "pairs_scored": 0, "pairs": [], "reason": "no pair has 4 static tracks",
            "components": dict.fromkeys(COMPONENTS),
        }
    )  # fmt: skip
    agreeing = [c.model_copy(update={"agrees": True}) for c in samples.results().timeline.comparisons]
    changes, expected = {
        "no checklist": (
            {"checklist": Unscored(reason="no checklist given"), "clips": [], "judgments": []},
            ["Unscored. no checklist given"],
        ),
        "not judged": (
            {
                "checklist": score_checklist(made, [], [], "proxy", not_judged_reason="no judge, set --judge"),
                "judgments": [], "operational_failures": [],
            },
            ["Not judged. no judge, set --judge", "Not judged The ball rolls"],
        ),
        "no scene": ({"sgc": Unscored(reason="give --scene")}, ["Unscored. give --scene", "SGC Unscored"]),
        "unscored sgc": ({"sgc": nothing}, ["Unscored. no pair has 4 static tracks", "0 of 47 pairs"]),
        "all agrees": (
            {
                "timeline": TimelineCheck(comparisons=agreeing, offset_frames=0),
                "shots": ShotCheck(reference_cuts=[], reconstruction_cuts=[], matches=[], detector="d"),
            },
            ["Timeline Agrees size, rate, frames, duration", "Neither video has a cut."],
        ),
    }[state]  # fmt: skip
    page = page_of(tmp_path, samples.results(**changes))
    assert page.open == []
    for part in expected:
        assert part in page.text, page.text


def test_frames_of_another_rate_are_placed_by_time():
    results = samples.results(reconstruction=samples.video_info("slow.mp4", frames=30, rate=Fraction(12000, 1001)))
    axis = Axis(results)
    assert axis.frames == 60  # 30 frames at half the rate last longer than the reference's 48
    assert axis.to_reference(10) == 20
    assert [cut.frame for cut in axis.cut_rows()[1].cuts] == [16, 35, 44]  # the record has them on the reference's


def test_faults_are_listed_and_drawn_by_time(tmp_path):
    kinds = ["frozen", "black", "dropped", "repeated", "reversed", "speed", "inserted"]
    faults = [samples.fault(kind, 3 + 6 * i, 6 + 6 * i) for i, kind in enumerate(kinds[:-1])]
    faults.append(samples.fault("inserted", 44, 46, reference_first=None, reference_last=None))
    check = samples.results().timeline.model_copy(update={"faults": faults})
    results = samples.results(timeline=check)
    page = page_of(tmp_path, results)
    for fault in faults:
        assert fault.detail in page.text
    drawn = [a for a in page.having(type="button") if a.get("class", "").startswith("stretch ")]
    drawn = [a for a in drawn if "fade" not in a["class"]]
    assert [a["class"].split()[1] for a in drawn] == kinds
    assert [(a["data-frame"], a["data-last"]) for a in drawn] == [(str(f.first), str(f.last)) for f in faults]
    row = Axis(results).cut_rows()[-1]
    assert (row.stretches[0].left, row.stretches[0].width) == (6.25, 8.333)
    none = samples.results(timeline=TimelineCheck(comparisons=[], offset_frames=0))
    assert [row.label for row in Axis(none).cut_rows()] == ["Cuts, reference", "Cuts, reconstruction"]


def test_checks_that_overlap_lie_in_lanes_of_their_own():
    axis, rows = Axis(samples.results()), check_rows(samples.results())
    for group in axis.check_groups(rows + rows):
        taken = sorted((mark.lane, mark.left, mark.left + mark.width) for mark in group.marks)
        for (lane, _, end), (next_lane, start, _) in pairwise(taken):
            assert lane != next_lane or start >= end - 0.01
        assert group.lanes == 1 + max(mark.lane for mark in group.marks) >= 2


def test_curves_have_gaps_where_pairs_have_no_value():
    panel = Axis(samples.results()).panels(samples.sgc_result())[0]
    assert panel.path.count("M") == 2  # 1…19 and 25…47
    assert panel.dots.count("M") == 1  # 23 stands alone
    assert [(gap.x, gap.width) for gap in panel.gaps] == [(416.67, 62.5), (500.0, 20.83)]
    assert panel.cuts == [333.33, 729.17, 916.67]
    assert panel.top == "241"
    heights = [float(point.split()[1]) for point in re.findall(r"[\d.]+ [\d.]+", panel.path)]
    assert min(heights) == 6  # the spike at pair 30 touches the top
    assert max(heights) <= 100


def test_runs_and_paths():
    assert _runs([]) == []
    assert _runs([3, 4, 5, 8, 10, 11]) == [(3, 5), (8, 8), (10, 11)]
    assert _paths({}) == ("", "")
    assert _paths({1: (1, 2), 2: (3, 4), 9: (5, 6)}) == ("M1.00 2.00L3.00 4.00", "M5.00 6.00h0")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.00123456, "0.00123"), (0.41234, "0.412"), (7.0, "7.00"), (241.2, "241"), (99999.0, "99999"),
     (1e-7, "1.00e-07"), (123456.0, "1.23e+05"), (-2.5, "-2.50")],
)  # fmt: skip
def test_significant(value, text):
    assert significant(value) == text


def test_words_for_offsets_and_cuts():
    checks = [TimelineCheck(comparisons=[], offset_frames=value, offset_reason="") for value in (None, 0, 1, -3)]
    checks.append(TimelineCheck(comparisons=[], offset_frames=None, offset_reason="the reference hardly moves"))
    assert [offset_text(check) for check in checks] == [
        "not decided by the content", "none: frames look alike at the same time",
        "1 frame late (not corrected)", "3 frames early (not corrected)",
        "not decided by the content: the reference hardly moves",
    ]  # fmt: skip
    assert cuts_text(samples.results().shots) == "1 of 2 found, 1 late, 1 extra"


def test_a_pair_across_a_cut_is_no_gap():
    pairs = [pair for pair in samples.sgc_result().pairs if pair.frame != 35]  # a cut of the reconstruction
    panel = Axis(samples.results()).panels(samples.sgc_result().model_copy(update={"pairs": pairs}))[0]
    assert panel.path.count("M") == 3  # the curve is broken there
    assert len(panel.gaps) == 2  # without being marked as missing
