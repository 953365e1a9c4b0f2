// SPDX-License-Identifier: GPL-3.0-or-later
//
// A job type of Flamenco 3: the frames of a Matchcut render job, a batch of them in each task.
//
// Put this file into the folder `scripts` beside flamenco-manager. `matchcut farm submit` prepares the job's folder on
// the shared storage and submits it. Workers need Blender alone: {blender} is its program, and {matchcut} the folder of
// Matchcut's files as they see it, whose addon/headless.py runs inside Blender (docs/farm.md).

const JOB_TYPE = {
    label: "Matchcut Render",
    description: "Render a job folder that `matchcut farm submit` has prepared, a batch of frames in each task",
    settings: [
        { key: "folder", type: "string", subtype: "dir_path", required: true,
          description: "The prepared job folder on the shared storage" },
        { key: "first", type: "int32", required: true, default: 0, propargs: { min: 0 },
          description: "First frame of the reference, counted from 0" },
        { key: "last", type: "int32", required: true, default: 0, propargs: { min: 0 },
          description: "Last frame of the reference, which is rendered too" },
        { key: "step", type: "int32", default: 1, propargs: { min: 1 },
          description: "Render every Nth of these frames" },
        { key: "batch", type: "int32", default: 12, propargs: { min: 1, max: 1000 }, visible: "submission",
          description: "Frames in one task; a task opens the scene once" },
        { key: "collect", type: "bool", default: false,
          description: "Make the video on a worker at the end, which needs Matchcut's evaluator there" },
        { key: "package", type: "string", default: "{matchcut}", visible: "hidden",
          description: "The folder of Matchcut's files as the workers see it" },
    ],
};

const MOST_TASKS = 20000;

// What the scene or this machine's settings bring along must not decide a picture: Blender starts as it does locally,
// so {blenderArgs} is left out.
const START = ["-b", "--factory-startup", "--disable-autoexec", "--python-exit-code", "1", "--python"];

function compileJob(job) {
    const settings = job.settings;
    const folder = text(settings, "folder");
    const first = whole(settings, "first", 0);
    const last = whole(settings, "last", first);
    const step = whole(settings, "step", 1, 1);
    const batch = whole(settings, "batch", 1, 12);
    const span = batch * step;
    if ((last - first + 1) / span > MOST_TASKS) {
        throw `batch ${batch}: makes more than ${MOST_TASKS} tasks; put more frames into one`;
    }

    const rendering = [];
    for (let start = first; start <= last; start += span) {
        const frames = `${start}-${Math.min(start + span - 1, last)}`;
        const task = author.Task(`frames ${frames}`, "blender");
        task.addCommand(inBlender(settings, ["render-job", folder, "--frames", frames]));
        rendering.push(task);
        job.addTask(task);
    }
    if (settings.collect) {
        const task = author.Task("video", "blender");
        task.addCommand(inBlender(settings, ["farm", "collect", folder]));
        for (const before of rendering) {
            task.addDependency(before);
        }
        job.addTask(task);
    }
    print(`Matchcut: ${rendering.length} tasks for ${folder}`);
}

// One of the commands of addon/headless.py, in a Blender without a window.
function inBlender(settings, command) {
    const folder = settings.package || "{matchcut}";
    return author.Command("exec", {
        exe: "{blender}",
        args: [...START, `${folder}/addon/headless.py`, "--", ...command],
    });
}

function text(settings, key) {
    const value = settings[key];
    if (typeof value !== "string" || value.trim() === "") {
        throw `setting ${key} is missing`;
    }
    return value;
}

function whole(settings, key, least, otherwise) {
    const value = settings[key] === undefined || settings[key] === null ? otherwise : settings[key];
    if (!Number.isInteger(value) || value < least) {
        throw `setting ${key} has to be a whole number of at least ${least}, not ${value}`;
    }
    return value;
}
