# SPDX-License-Identifier: GPL-3.0-or-later
"""A finished render job without a Blender: two shots, and a reconstruction that is much like its reference."""

import shutil
from fractions import Fraction

import numpy as np
from matchcut.evaluator.media.encode import encode
from matchcut.evaluator.protocol.files import sha256_of, write_json
from matchcut.evaluator.protocol.messages import SilentReporter
from matchcut.evaluator.protocol.render_job import RenderJob, RenderStatus
from matchcut.evaluator.protocol.timeline import Timeline
from media_samples import pictures

RATE = Fraction(24000, 1001)
FRAMES = 24
BLEND = b"BLENDER17-01v0502" + bytes(range(256)) * 40


def reference_pictures():
    return [*pictures(FRAMES // 2, seed=1), *pictures(FRAMES // 2, seed=9)]


def rebuilt_pictures():
    """As the reference, darker and with a grey block in the corner."""
    made = []
    for picture in reference_pictures():
        changed = (picture * 0.85).astype(np.uint8)
        changed[:16, :24] = 90
        made.append(changed)
    return made


def write(path, images, rate=RATE):
    encode(images, rate, path, reporter=SilentReporter(), total=len(images))
    return path


def make_job(folder, images=None, **changes):
    """(job folder, reference) below `folder`; `changes` are fields of the job."""
    reference, job_folder = folder / "given.mp4", folder / "job"
    write(reference, reference_pictures())
    job_folder.mkdir()
    images = images or rebuilt_pictures()
    write(job_folder / "reconstruction.mp4", images)
    (job_folder / "scene.blend").write_bytes(BLEND)
    timeline = Timeline(96, 64, RATE, FRAMES)
    job = RenderJob(
        "/home/somebody/My Films/shot one.blend", timeline, 0, FRAMES - 1, samples=16, scene_sha256="ab" * 32
    )
    fields = {name: getattr(job, name) for name in RenderJob.__dataclass_fields__} | changes
    write_json(job_folder / "job.json", RenderJob(**fields).to_json())
    status = RenderStatus(
        state="done", done=FRAMES, total=FRAMES, rendered=FRAMES, seconds_per_frame=1.5, blender="5.2.2 LTS",
        engine="CYCLES", device="OPTIX (A | GPU_1)", samples=16, denoiser="OPENIMAGEDENOISE", view_transform="AgX",
        display_device="sRGB", peak_memory_bytes=300 * 2**20,
        notes=[
            "the scene renders 1920x1080; the reference is 96x64",
            "the scene runs at 24/1 fps; the reference at 24000/1001",
            "the image /home/somebody/My Films/wall <b>.png is missing; it renders as magenta",
            f"an add-on's handler failed while Blender rendered on; see {job_folder}/render.log",
        ],
    )  # fmt: skip
    status.write(job_folder)
    return job_folder, reference


def copy_of(package, target):
    shutil.copytree(package, target)
    return target


def hashes(folder):
    return {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
