"""A stand-in for Flamenco: a Manager over real HTTP that compiles jobs with node, and a worker that runs their tasks.

What it takes and answers is checked as Flamenco's OpenAPI document says; variables are replaced as the Manager does.
"""

import functools
import hashlib
import json
import re
import shutil
import subprocess
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NODE = shutil.which("node")

# the names that a job compiler finds in Flamenco's own JavaScript runtime; nothing of node's is there
COMPILE = r"""
const vm = require("node:vm"), fs = require("node:fs");
const [script, job] = JSON.parse(fs.readFileSync(0, "utf8"));
const tasks = [];
class Task {
    constructor(name, type) {
        if (!name || !name.trim()) throw "author.Task(name, type): name is required";
        if (!type || !type.trim()) throw "author.Task(name, type): type is required";
        Object.assign(this, { name: name.trim(), type: type.trim(), commands: [], dependencies: [] });
    }
    addCommand(command) { this.commands.push(command); }
    addDependency(task) { if (!(task instanceof Task)) throw "no task"; this.dependencies.push(task.name); }
}
const author = {
    Task: (name, type) => new Task(name, type),
    Command: (name, parameters) => ({ name, parameters }),
};
const printed = [];
const context = vm.createContext({ author, print: (...words) => printed.push(words.join(" ")) });
vm.runInContext(script, context);
const type = vm.runInContext("JOB_TYPE", context);
if (job) {
    context.job = { ...job, addTask: (task) => tasks.push(task) };
    try {
        vm.runInContext("compileJob(job)", context);
    } catch (error) {
        process.stdout.write(JSON.stringify({ error: String(error) }));
        process.exit(0);
    }
}
process.stdout.write(JSON.stringify({ type, tasks, printed }));
"""

REQUIRED = {"name": str, "type": str, "priority": int, "submitter_platform": str}
OPTIONAL = {"type_etag": str, "settings": dict, "metadata": dict, "storage": dict, "worker_tag": str}
KINDS = {"string": str, "int32": int, "float": (int, float), "bool": bool}


def compile_job(script, job=None):
    """What the script makes: its `type`, and the `tasks` of `job`, or an `error`."""
    answer = subprocess.run(
        [NODE, "-e", COMPILE], input=json.dumps([script, job]), capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(answer.stdout)


def fault_of(job):
    """Why this is no SubmittedJob, or None."""
    for name, kind in REQUIRED.items():
        if not isinstance(job.get(name), kind) or isinstance(job[name], bool):
            return f"{name} is required and has to be a {kind.__name__}"
    for name in set(job) - set(REQUIRED):
        if name not in OPTIONAL or not isinstance(job[name], OPTIONAL[name]):
            return f"{name} is not understood"
    if not all(isinstance(value, str) for value in job.get("metadata", {}).values()):
        return "metadata holds text alone"
    if "worker_tag" in job and re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", job["worker_tag"]) is None:
        return "worker_tag is no UUID"
    return None


class Manager:
    """Serves until it is closed. `replies` (path → (status, bytes)) answers otherwise than a Manager would."""

    def __init__(self, script, variables, two_way=None, platform="linux"):
        self.script, self.variables, self.two_way, self.platform = script, variables, two_way or {}, platform
        self.jobs, self.asked, self.replies = {}, [], {}
        handler = type("Handler", (_Handler,), {"manager": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @functools.cached_property
    def type(self):
        """The AvailableJobType, as the script says it."""
        said = compile_job(self.script)["type"]
        etag = hashlib.sha1(json.dumps(said).encode()).hexdigest()
        return {"name": "matchcut-render", **said, "etag": etag}

    def take(self, submitted):
        """(status, answer, tasks) for a SubmittedJob."""
        fault = fault_of(submitted)
        if fault:
            return 400, fault, None
        if submitted["type"] != "matchcut-render":
            return 400, "job type unknown", None
        if submitted.get("type_etag", "") not in ("", self.type["etag"]):
            return 412, "rejecting job because its settings are outdated, refresh the job type", None
        known = {setting["key"]: setting for setting in self.type["settings"]}
        for name, value in submitted["settings"].items():
            kind = KINDS[known[name]["type"]] if name in known else ()
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                return 400, f"setting {name}", None
        settings = {key: self._to_variables(value) for key, value in submitted["settings"].items()}
        made = compile_job(self.script, {**submitted, "settings": settings})
        return (400, made["error"], None) if "error" in made else (200, "", made["tasks"])

    def _to_variables(self, value):
        for name, path in self.two_way.items():
            if isinstance(value, str) and value.lower().startswith(path.lower()):
                value = f"{{{name}}}{value[len(path) :]}"
        return value

    def expanded(self, task, two_way=None):
        """The command lines of a task as a worker gets them; `two_way` are the paths on its system."""
        lines = []
        for command in task["commands"]:
            assert command["name"] == "exec" and set(command["parameters"]) == {"exe", "args"}
            line = [command["parameters"]["exe"], *command["parameters"]["args"]]
            assert all(isinstance(word, str) for word in line)
            for name, value in {**self.variables, **self.two_way, **(two_way or {})}.items():
                line = [word.replace(f"{{{name}}}", value) for word in line]
            lines.append(line)
        return lines

    def work(self, job, run=None, two_way=None):
        """Do the queued tasks of a job, those first that wait for nothing; `run` runs a command line."""
        job = self.jobs[job]
        run = run or (lambda line: subprocess.run(line, stdin=subprocess.DEVNULL, timeout=600, check=False).returncode)
        done = {task["name"] for task in job["tasks"] if task["status"] == "completed"}
        waiting = [task for task in job["tasks"] if task["status"] == "queued"]
        while ready := [task for task in waiting if set(task["dependencies"]) <= done]:
            for task in ready:
                waiting.remove(task)
                good = all(run(line) == 0 for line in self.expanded(task, two_way))
                task["status"] = "completed" if good else "failed"
                done |= {task["name"]} if good else set()
        states = {task["status"] for task in job["tasks"]}
        job["status"] = "completed" if states == {"completed"} else "failed" if "failed" in states else "active"


class _Handler(BaseHTTPRequestHandler):
    manager = None

    def log_message(self, *words):
        pass

    def _answer(self, status, data=None):
        if status >= 400:
            data = {"code": status, "message": data}
        text = b"" if data is None else json.dumps(data).encode()
        self._send(status, text)

    def _send(self, status, text):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        manager = self.manager
        manager.asked.append(("GET", self.path))
        if self.path in manager.replies:
            return self._send(*manager.replies[self.path])
        if self.path == "/api/v3/version":
            return self._answer(200, {"version": "3.8", "shortversion": "3.8", "name": "stub", "git": "v3.8"})
        if self.path == "/api/v3/jobs/type/matchcut-render":
            return self._answer(200, manager.type) if manager.script else self._answer(404, "no such job type known")
        if self.path == f"/api/v3/configuration/variables/workers/{manager.platform}":
            known = {**dict.fromkeys(manager.variables, False), **dict.fromkeys(manager.two_way, True)}
            return self._answer(200, {name: {"value": "x", "is_twoway": two} for name, two in known.items()})
        found = re.fullmatch(r"/api/v3/jobs/([^/]+)(/tasks)?", self.path)
        if found and found[1] in manager.jobs:
            job = manager.jobs[found[1]]
            if not found[2]:
                return self._answer(200, {key: value for key, value in job.items() if key != "tasks"})
            tasks = [
                {"id": str(uuid.uuid4()), "name": task["name"], "status": task["status"], "priority": 50,
                 "task_type": task["type"], "updated": "2026-01-01T00:00:00Z"} for task in job["tasks"]
            ]  # fmt: skip
            return self._answer(200, {"tasks": tasks})
        return self._answer(404, "no such job")

    def do_POST(self):
        manager, body = self.manager, self._body()
        manager.asked.append(("POST", self.path))
        if self.path in manager.replies:
            return self._send(*manager.replies[self.path])
        if self.headers.get("Content-Type") != "application/json":
            return self._answer(400, "invalid format")
        data = json.loads(body)
        if self.path in ("/api/v3/jobs/check", "/api/v3/jobs"):
            status, said, tasks = manager.take(data)
            if status != 200:
                return self._answer(status, said)
            if self.path.endswith("check"):
                return self._answer(204)
            name = str(uuid.uuid4())
            manager.jobs[name] = {
                **data, "id": name, "created": "2026-01-01T00:00:00Z", "updated": "2026-01-01T00:00:00Z",
                "status": "queued", "activity": "", "tasks": [{**task, "status": "queued"} for task in tasks],
            }  # fmt: skip
            return self._answer(200, {key: value for key, value in manager.jobs[name].items() if key != "tasks"})
        found = re.fullmatch(r"/api/v3/jobs/([^/]+)/setstatus", self.path)
        if found and found[1] in manager.jobs:
            job = manager.jobs[found[1]]
            if set(data) != {"status", "reason"}:
                return self._answer(400, "invalid format")
            if data["status"] not in ("requeueing", "cancel-requested"):
                return self._answer(422, "not valid for the current status")
            for task in job["tasks"]:
                if data["status"] == "requeueing" and task["status"] == "failed":
                    task["status"] = "queued"
            job["status"] = {"requeueing": "queued", "cancel-requested": "canceled"}[data["status"]]
            return self._answer(204)
        return self._answer(404, "no such job")
