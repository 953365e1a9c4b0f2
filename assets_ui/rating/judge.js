// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
const find = id => document.getElementById(id);
const POLL = 1000, STEP = 250;
let task = null, current = 0, picture = 0, player = null, preloaded = [];

async function send(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body),
  };
  const answer = await fetch(path, options);
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error || `the program answers ${answer.status}`);
  return data;
}

async function refresh() {
  try {
    show(await send("state"));
  } catch {
    find("message").textContent = "The program has ended. What was rated is kept; start it again to go on.";
    find("message").hidden = false;
    find("work").hidden = true;
    task = null;
  }
}

function show(state) {
  find("about").textContent = `${state.rater} · ${state.finished} handed in` +
    (state.task ? ` · setting ${state.task.setting}` : "");
  find("message").hidden = Boolean(state.task);
  find("work").hidden = !state.task;
  if (!state.task) {
    task = null;
    stop();
    return;
  }
  if (task && task.key === state.task.key) return;
  task = state.task;
  preloaded = Array.from({length: task.images}, (_, index) => {
    const image = new Image();
    image.src = `image/${task.key}/${index}`;
    return image;
  });
  find("scrub").max = task.images - 1;
  find("instruction").textContent = task.instruction;
  find("error").textContent = find("reason").value = "";
  find("subjects").hidden = !task.entities.length;
  find("entities").replaceChildren(...task.entities.map(entity => {
    const item = document.createElement("li");
    const name = document.createElement("strong");
    name.textContent = entity.name;
    item.append(name, ` – ${entity.description}, from frame ${entity.first_frame} on`);
    if (entity.members && entity.members.length) item.append(`; a group of ${entity.members.map(nameOf).join(", ")}`);
    return item;
  }));
  find("checks").replaceChildren(...task.checks.map(makeCheck));
  stop();
  goTo(0);
  const open = task.ratings.indexOf(null);
  choose(open < 0 ? 0 : open, false);
  mark();
}

const nameOf = id => (task.entities.find(entity => entity.id === id) || {name: id}).name;
const words = text => text.replaceAll("_", " ");

function makeCheck(check, index) {
  const item = document.createElement("li");
  const statement = document.createElement("p");
  statement.textContent = check.statement;
  const about = document.createElement("p");
  about.className = "about";
  const [first, last] = check.frames;
  about.textContent = [words(check.category), first === last ? `frame ${first}` : `frames ${first}–${last}`,
    check.subjects.map(nameOf).join(", ")].filter(Boolean).join(" · ");
  const choices = document.createElement("div");
  choices.className = "choices";
  task.labels.forEach((label, number) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = label;
    button.textContent = `${number + 1} ${words(label)}`;
    button.addEventListener("click", event => { event.stopPropagation(); rate(index, label); });
    choices.append(button);
  });
  item.append(statement, about, choices);
  item.addEventListener("click", () => { stop(); choose(index); });
  return item;
}

function mark() {
  [...find("checks").children].forEach((item, index) => {
    item.className = ["check", index === current ? "current" : "", task.ratings[index] || ""].join(" ");
    for (const button of item.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(button.classList.contains(task.ratings[index])));
    }
  });
  const rated = task.ratings.filter(Boolean).length;
  find("progress").textContent = `${rated} of ${task.ratings.length} checks rated`;
  find("submit").disabled = rated < task.ratings.length;
}

function choose(index, scroll = true) {
  current = Math.max(0, Math.min(task.checks.length - 1, index));
  mark();
  if (scroll) find("checks").children[current].scrollIntoView({block: "nearest"});
  const check = task.checks[current];
  const shown = task.frames.indexOf(check.evidence_frames.length ? check.evidence_frames[0] : check.frames[0]);
  if (shown >= 0 && !player) goTo(shown);
}

async function rate(index, label) {
  const key = task.key;
  try {
    await send("rate", {key, index, label});
    find("error").textContent = "";
    if (!task || task.key !== key) return;
    task.ratings[index] = label;
    choose(index + 1);
  } catch (error) {
    find("error").textContent = error.message;
  }
}

async function finish(word, extra) {
  try {
    const state = await send(word, {key: task.key, ...extra});
    task = null;
    show(state);
  } catch (error) {
    find("error").textContent = error.message;
  }
}

function goTo(index) {
  picture = Math.max(0, Math.min(task.images - 1, index));
  find("scrub").value = picture;
  const frame = task.frames.length ? `, frame ${task.frames[picture]}` : "";
  find("counter").textContent = `${picture + 1} of ${task.images}${frame}`;
  find("picture").src = preloaded[picture].src;
}

function stop() {
  clearInterval(player);
  player = null;
  find("play").textContent = "Play";
}

function toggle() {
  if (player) {
    stop();
    return;
  }
  find("play").textContent = "Pause";
  player = setInterval(() => goTo((picture + 1) % task.images), STEP);
}

find("play").addEventListener("click", toggle);
find("scrub").addEventListener("input", event => { stop(); goTo(Number(event.target.value)); });
find("submit").addEventListener("click", () => finish("submit", {}));
find("decline").addEventListener("click", () => finish("decline", {reason: find("reason").value}));
document.addEventListener("keydown", event => {
  if (!task || event.ctrlKey || event.metaKey || event.altKey || event.target === find("reason")) return;
  const onControl = event.target instanceof HTMLButtonElement || event.target.tagName === "SUMMARY";
  const number = ["1", "2", "3"].indexOf(event.key);
  if (number >= 0) rate(current, task.labels[number]);
  else if (event.key === "ArrowDown") choose(current + 1);
  else if (event.key === "ArrowUp") choose(current - 1);
  else if (event.key === "ArrowRight") { stop(); goTo(picture + 1); }
  else if (event.key === "ArrowLeft") { stop(); goTo(picture - 1); }
  else if (event.key === " " && !onControl) toggle();
  else if (event.key === "Enter" && !onControl && !find("submit").disabled) finish("submit", {});
  else return;
  event.preventDefault();
});
refresh();
setInterval(refresh, POLL);
