# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs with known faults made by the ffmpeg program: each is named, at its frames, and nothing else is."""

import pytest
from fault_samples import COUNT, HEIGHT, WIDTH, black, ffmpeg, held, pieces, textures, write
from matchcut.evaluator.media.check import check_timeline
from matchcut.evaluator.media.probe import probe
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.shots.compare import compare_shots
from matchcut.evaluator.shots.detect import detect_shots
from media_samples import pictures

BRIEFLY = (
    "badly encoded", "first held", "three dropped", "wholly reversed", "half as fast, doubled",
    "late, frozen and backwards", "dropped, black and twice",
)  # fmt: skip
"""What is tried on further sources, each of another kind."""
N = COUNT
WHOLE = (0, N)

# name: (parts, options, offset, faults as (kind, first, last, first and last of the reference), what else differs)
CASES = {
    "nothing": ([WHOLE], {}, 0, [], []),
    "badly encoded": ([WHOLE], {"crf": 38}, 0, [], []),
    "gamma": ([WHOLE], {"then": "eq=gamma=1.8"}, 0, [], []),
    "darker and paler": ([WHOLE], {"then": "eq=brightness=-0.2:contrast=0.6:saturation=0.2"}, 0, [], []),
    "blurred": ([WHOLE], {"then": "gblur=sigma=6"}, 0, [], []),
    "noisy": ([WHOLE], {"then": "noise=alls=12:allf=t"}, 0, [], []),
    "two pixels narrower": ([WHOLE], {"then": "scale=190:108,setsar=1"}, 0, [], ["resolution"]),
    "24 for 24000/1001": ([WHOLE], {"rates": ("24000/1001", "24")}, 0, [], ["rate", "duration"]),
    "2997/125 for 24000/1001": ([WHOLE], {"rates": ("24000/1001", "2997/125")}, 0, [], []),
    "24 for 25": ([WHOLE], {"rates": ("25", "24")}, 0, [("speed", 0, 95, 0, 95)], ["rate", "duration"]),
    "first missing": ([(1, N)], {}, -1, [], ["frames", "duration"]),
    "last missing": ([(0, N - 1)], {}, 0, [], ["frames", "duration"]),
    "first held": ([held(0, 2), (1, N - 1)], {}, 1, [("repeated", 1, 1, 0, 0)], []),
    "five late": ([held(0, 6), (1, N - 5)], {}, 5, [("repeated", 1, 5, 0, 0)], []),
    "five early": ([(5, N)], {}, -5, [], ["frames", "duration"]),
    "one doubled": ([(0, 41), held(40, 1), (41, N)], {}, 0, [("repeated", 41, 41, 40, 40)], ["frames", "duration"]),
    "one doubled, end lost": ([(0, 61), held(60, 1), (61, N - 1)], {}, 0, [("repeated", 61, 61, 60, 60)], []),
    "frozen": ([(0, 40), held(39, 10), (50, N)], {}, 0, [("frozen", 39, 49, 39, 49)], []),
    "frozen and late": ([(0, 40), held(39, 10), (40, N - 10)], {}, 0, [("repeated", 40, 49, 39, 39)], []),
    "frozen end": ([(0, 80), held(79, 16)], {}, 0, [("frozen", 79, 95, 79, 95)], []),
    "black": ([(0, 50), black(50, 58), (58, N)], {}, 0, [("black", 50, 57, 50, 57)], []),
    "three dropped": ([(0, 45), (48, N)], {}, 0, [("dropped", 44, 45, 45, 47)], ["frames", "duration"]),
    "one dropped": ([(0, 45), (46, N)], {}, 0, [("dropped", 44, 45, 45, 45)], ["frames", "duration"]),
    "played twice": ([(0, 50), (38, N)], {}, 0, [("repeated", 50, 61, 38, 49)], ["frames", "duration"]),
    "reversed stretch": ([(0, 40), (40, 60, "reverse"), (60, N)], {}, 0, [("reversed", 40, 59, 40, 59)], []),
    "wholly reversed": ([(0, N, "reverse")], {}, None, [("reversed", 0, 95, 0, 95)], []),
    "twice as fast": (
        [(0, N, "select='not(mod(n,2))'")], {}, 0, [("speed", 0, 47, 0, 94)], ["frames", "duration"],
    ),
    "half as fast, doubled": (
        [(0, N, "setpts=2*PTS", "fps=25:round=down")], {}, 0, [("speed", 0, 191, 0, 95)], ["frames", "duration"],
    ),
    "half as fast, blended": (
        [(0, N, "setpts=2*PTS", "framerate=fps=25")], {}, 0, [("speed", 0, 190, 0, 95)], ["frames", "duration"],
    ),
    "fast for a while": (
        [(0, 30), (30, 62, "select='not(mod(n,2))'"), (62, N)], {}, 0, [("speed", 30, 46, 30, 62)],
        ["frames", "duration"],
    ),
    "late, frozen and backwards": (
        [held(0, 4), (1, 30), held(29, 8), (38, 60), (60, 76, "reverse"), (76, N - 3)], {}, 3,
        [("repeated", 1, 3, 0, 0), ("frozen", 32, 40, 29, 37), ("reversed", 63, 78, 60, 75)], [],
    ),
    "dropped, black and twice": (
        [(0, 20), (24, 40), black(40, 48), (48, 70), (60, 90)], {}, 0,
        [("dropped", 19, 20, 20, 23), ("black", 36, 43, 40, 47), ("repeated", 66, 75, 60, 69)], [],
    ),
}  # fmt: skip
SLACK = {"speed": 3, "frozen": 1, "dropped": 1, "repeated": 1, "reversed": 1, "black": 1}
"""Frames by which the ends of a stretch may be off: where little moves, they cannot be told closer."""

table = {}


@pytest.fixture(scope="module")
def source(tmp_path_factory, request):
    """A function from a name to the video that everything else is made of."""
    folder, known = tmp_path_factory.mktemp("sources"), {}

    def give(name):
        if name not in known:
            out = folder / f"{name}.mp4"
            if name == "textures":
                write(textures(), out)
            elif name == "discs":
                write(pictures(COUNT, seed=5, width=WIDTH, height=HEIGHT), out)
            else:
                clip = request.getfixturevalue("media") / f"{name}.mp4"
                shown = f"trim=end_frame={COUNT},scale={WIDTH}:{HEIGHT},setsar=1,settb=1/25,setpts=N"
                ffmpeg(
                    "-i", clip, "-vf", shown, "-r", 25, "-frames:v", COUNT, "-an", "-c:v", "libx264", "-crf", 12, out
                )
            known[name] = out
        return known[name]

    return give


@pytest.fixture(scope="module", autouse=True)
def confusion(artifacts):
    """Keeps a table of what was made and what was named, for a person."""
    yield
    lines = [f"{name:28} {source:16} {named}" for (name, source), named in sorted(table.items())]
    (artifacts / "timeline_faults.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def compare(reference, reconstruction):
    return check_timeline(probe(reference), probe(reconstruction), reporter=SilentReporter())


def told(found):
    return [(f.kind, f.first, f.last, f.reference_first, f.reference_last) for f in found.faults]


def same(expected, found):
    if [fault[0] for fault in expected] != [fault[0] for fault in found]:
        return False
    return all(
        abs(a - b) <= SLACK[wanted[0]]
        for wanted, given in zip(expected, found, strict=True)
        for a, b in zip(wanted[1:], given[1:], strict=True)
    )


def judge(name, kind, source, folder):
    parts, options, offset, faults, differing = CASES[name]
    options = dict(options)
    first, second = options.pop("rates", ("25", "25"))
    reference = source(kind)
    if first != "25":
        reference = pieces(reference, folder / "reference.mp4", WHOLE, rate=first, crf=12)
    found = compare(reference, pieces(source(kind), folder / "made.mp4", *parts, rate=second, **options))
    table[name, kind] = f"offset {found.offset_frames} {found.offset_reason} {told(found)}"
    assert [item.name for item in found.comparisons if not item.agrees] == differing
    assert found.offset_frames == offset, table[name, kind]
    assert same(faults, told(found)), table[name, kind]
    assert found.passed == (not differing and not faults and offset == 0)
    assert all(fault.detail for fault in found.faults)
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_known_fault_is_named_and_nothing_else(source, tmp_path, name):
    judge(name, "textures", source, tmp_path)


@pytest.mark.parametrize("name", BRIEFLY)
@pytest.mark.parametrize("kind", ["discs", "bigbuckbunny", "bedroom", "Tokyo-Walk_rgb"])
def test_faults_are_named_whatever_the_pictures_are(source, tmp_path, name, kind):
    judge(name, kind, source, tmp_path)


@pytest.mark.parametrize(("name", "at"), [("early", 47), ("late", 49)])
def test_a_cut_that_is_one_off_is_a_cut_and_no_fault(source, tmp_path, name, at):
    """Both shots go on in step with the reference; only the moment of the cut differs."""
    first, second = source("textures"), source("discs")
    both = tmp_path / "both.mp4"
    joined = "[0:v]settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];[a][b]concat,settb=1/25,setpts=N[out]"
    ffmpeg("-i", first, "-i", second, "-filter_complex", joined, "-map", "[out]", "-r", 25, "-crf", 12, both)
    reference = pieces(both, tmp_path / "reference.mp4", (0, 48), (N + 48, 2 * N), crf=12)
    made = pieces(both, tmp_path / "made.mp4", (0, at), (N + at, 2 * N))
    shots = [detect_shots(path, reporter=SilentReporter()) for path in (reference, made)]
    found = compare(reference, made)
    assert (found.offset_frames, told(found)) == (0, []) and found.passed
    (match,) = compare_shots(*shots).matches
    assert (match.verdict, match.reference, match.reconstruction) == (name, 48, at)
