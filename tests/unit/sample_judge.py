# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in judge for the sample benchmark that sees, as a judge does, only pictures and checks.

It knows the pictures that belong to each reconstruction, since it made the same ones before, and answers with the
ratings that are right for that reconstruction. As a program:

    python tests/unit/sample_judge.py --sample DIR
    matchcut bench run DIR/benchmark --configurations DIR/configurations.toml --judge local:URL#stub …
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
import threading
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from judge_stub import Answer, JudgeStub, _as_asked, asked, error, labels


class SampleJudge:
    """Answers a request's JSON; `seen` counts requests by reconstruction."""

    def __init__(self, sample: Path, store: Path) -> None:
        """Make the pictures of every clip, setting and reconstruction in `sample`, in `store`."""
        from matchcut.evaluator.checklist.benchmark import load_benchmark
        from matchcut.evaluator.checklist.records import SETTINGS
        from matchcut.evaluator.judge.evidence import EvidenceStore
        from matchcut.evaluator.media.probe import probe

        self.seen: dict[str, int] = {}
        self._lock = threading.Lock()
        self._known: dict[tuple[str, tuple[str, ...]], str] = {}
        self._clips = [clip for video in load_benchmark(sample / "benchmark").videos for clip in video.clips]
        answers = sorted((sample / "answers").glob("*.json"))
        self._right = {path.stem: json.loads(path.read_text(encoding="utf-8"))["ratings"] for path in answers}
        evidence = EvidenceStore(store)
        for video in load_benchmark(sample / "benchmark").videos:
            reference = probe(video.reference)
            for name in self._right:
                ours = probe(sample / "submissions" / name / "proxy" / video.id / "reconstruction.mp4")
                for clip in video.clips:
                    for setting in SETTINGS:
                        shown = evidence.get(clip, setting, reference, ours)
                        key = (setting, tuple(frame.sha256 for frame in shown.frames))
                        assert self._known.setdefault(key, name) == name, f"{name} looks as {self._known[key]}"

    def __call__(self, body: Any) -> Answer:
        """Right labels, or status 400 where pictures or checks are not the sample's."""
        data = asked(body)
        shown = tuple(
            hashlib.sha256(base64.b64decode(part["image_url"]["url"].partition(",")[2])).hexdigest()
            for part in body["messages"][1]["content"]
            if part["type"] == "image_url"
        )
        name = self._known.get((data["setting"], shown))
        if name is None:
            return error(400, "these pictures are not the sample's")
        with self._lock:
            self.seen[name] = self.seen.get(name, 0) + 1
        for clip in self._clips:
            checks = [check.model_dump(mode="json") for check in clip.applicable(data["setting"])]
            if [_as_asked(check) for check in checks] == data["checks"]:
                right = self._right[name][data["setting"]][clip.id]
                return labels(*[right[check["id"]] for check in checks])
        return error(400, "these checks are not the sample's")


def _load_package() -> None:
    """Import the checkout as `matchcut`, as its command line does; in tests that was done before."""
    import runpy

    runpy.run_path(str(Path(__file__).resolve().parents[2] / "__main__.py"))["load_package"]()


def main() -> None:
    parser = argparse.ArgumentParser(description="A stand-in judge that answers the sample benchmark rightly.")
    parser.add_argument("--sample", type=Path, required=True, help="the folder of matchcut bench sample")
    args = parser.parse_args()
    _load_package()
    with JudgeStub(SampleJudge(args.sample, Path(mkdtemp(prefix="sample-judge-")))) as stub:
        sys.stdout.write(f"{stub.spec}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
