// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
const find = id => document.getElementById(id);
const ROLES = ["a", "reference", "b"];
const loaded = new Map(); // key → promise of {role: [images]}
let task = null, last = null, pictures = null, at = 0, started = null, busy = false;

async function send(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error || `the program answers ${answer.status}`);
  return data;
}

function load(of) {
  if (!loaded.has(of.key)) {
    const one = (role, index) => fetch(`picture/${of.key}/${role}/${index}`)
      .then(answer => answer.ok ? answer.blob() : Promise.reject(new Error("a video does not play")))
      .then(createImageBitmap);
    const all = ROLES.map(role => Promise.all(of.frames.map((_, index) => one(role, index))));
    const whole = Promise.all(all).then(found => Object.fromEntries(ROLES.map((role, index) => [role, found[index]])));
    whole.catch(() => {});
    loaded.set(of.key, whole);
  }
  return loaded.get(of.key);
}

async function show(state) {
  last = state.last || null;
  find("about").textContent = `${state.rater} · ${state.done} of ${state.total} done`;
  task = state.task || null;
  pictures = null;
  started = null;
  document.body.dataset.key = task ? task.key : "";
  document.body.dataset.ready = "";
  find("error").textContent = find("explanation").value = "";
  find("work").hidden = !task;
  find("message").hidden = Boolean(task);
  if (!task) {
    find("message").textContent = "All comparisons are done. Thank you; this page can be closed.";
    return;
  }
  find("dimension").textContent = task.dimension[0].toUpperCase() + task.dimension.slice(1) + ".";
  find("question").textContent = task.question;
  find("requirement").textContent = task.requirement;
  find("scrub").max = task.frames.length - 1;
  const wanted = task.key;
  for (const key of loaded.keys()) {
    if (key !== wanted && !(state.next && state.next.key === key)) loaded.delete(key);
  }
  try {
    const found = await load(task);
    if (!task || task.key !== wanted) return;
    pictures = found;
    for (const role of ROLES) {
      const {width, height} = pictures[role][0];
      Object.assign(find(role), {width, height});
    }
    goTo(0);
    if (task.moving) play();
    else pause();
    document.body.dataset.ready = "yes";
    if (state.next) load(state.next);
  } catch (error) {
    if (task && task.key === wanted) find("error").textContent = `${error.message}; please report it as an issue.`;
  }
}

function goTo(index) {
  at = Math.max(0, Math.min(task.frames.length - 1, index));
  find("scrub").value = at;
  const frame = task.frames[at];
  find("counter").textContent = `frame ${frame}, ${(frame / task.rate).toFixed(2)} s`;
  for (const role of ROLES) find(role).getContext("2d").drawImage(pictures[role][at], 0, 0);
}

function play() {
  started = performance.now() - at * 1000 / speed();
  find("play").textContent = "Pause";
  requestAnimationFrame(tick);
}

const speed = () => task.moving ? task.rate : 1; // stills change once a second

function tick(now) {
  if (started === null || !pictures) return;
  const index = Math.floor(Math.max(0, now - started) * speed() / 1000) % task.frames.length;
  if (index !== at) goTo(index);
  requestAnimationFrame(tick);
}

function pause() {
  started = null;
  find("play").textContent = "Play";
}

async function vote(body) {
  if (busy) return;
  busy = true;
  try {
    await show(await send("vote", body));
  } catch (error) {
    find("error").textContent = error.message;
  } finally {
    busy = false;
  }
}

const choose = choice => { if (task && pictures) vote({key: task.key, choice}); };
for (const button of document.querySelectorAll("[data-choice]")) {
  button.addEventListener("click", () => choose(button.dataset.choice));
}
find("issue").addEventListener("click", () =>
  task && vote({key: task.key, choice: "issue", explanation: find("explanation").value}));
find("play").addEventListener("click", () => { if (pictures) started === null ? play() : pause(); });
find("scrub").addEventListener("input", event => { pause(); if (pictures) goTo(Number(event.target.value)); });
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target === find("explanation")) return;
  const number = ["1", "2", "3"].indexOf(event.key);
  if (number >= 0) choose(["a", "tie", "b"][number]);
  else if (event.key === "Backspace" && last) vote({key: last, choice: null});
  else if (!pictures) return;
  else if (event.key === "ArrowRight") { pause(); goTo(at + 1); }
  else if (event.key === "ArrowLeft") { pause(); goTo(at - 1); }
  else if (event.key === " " && !(event.target instanceof HTMLButtonElement)) started === null ? play() : pause();
  else return;
  event.preventDefault();
});
send("state").then(show).catch(() => { find("message").textContent = "The program has ended. Your votes are kept."; });
