// SPDX-License-Identifier: GPL-3.0-or-later
// Both videos under one clock, jumps to frames, and the filters of the checks. Text is only ever set as text.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const rateOf = (info) => info.rate[0] / info.rate[1];
  const rate = rateOf(data.reference); // the page's clock counts frames of the reference
  const last = data.frames - 1;
  // A frame starts at f / rate only up to the rounding of the file's clock; a tenth of a frame is far more than that.
  const SLACK = 0.1;

  class Player {
    constructor(name) {
      this.video = byId(name);
      this.info = data[name];
      this.rate = rateOf(this.info);
      this.label = byId(`${name}-at`);
      this.beyond = this.video.parentElement.querySelector(".beyond");
      this.wanted = null;
      this.video.addEventListener("seeked", () => this.follow());
      this.video.addEventListener("loadedmetadata", () => this.follow());
      this.video.addEventListener("error", () => this.say("This video cannot be played here."));
    }

    // Own frame nearest in time to frame `index` of the reference; the earlier one where two are equally near.
    frameFor(index) {
      return this.rate === rate ? index : Math.ceil((index / rate) * this.rate - 0.5 - 1e-6);
    }

    say(text) {
      this.beyond.textContent = text;
      this.beyond.hidden = text === "";
    }

    describe(index) {
      const own = this.frameFor(index);
      const outside = own >= this.info.frames;
      this.label.textContent = outside ? `ended at ${this.info.frames - 1}` : `frame ${own}`;
      if (!this.video.error) this.say(outside ? `No frame ${own}: the video has ${this.info.frames} frames.` : "");
      return Math.min(own, this.info.frames - 1);
    }

    // The middle of a frame is the one time that every decoder rounds to that frame.
    seek(index) {
      this.wanted = (this.describe(index) + 0.5) / this.rate;
      if (!this.video.seeking) this.follow();
    }

    follow() {
      if (this.wanted === null || this.video.readyState === 0) return;
      const time = this.wanted;
      this.wanted = null;
      if (Math.abs(this.video.currentTime - time) > 1e-4) this.video.currentTime = time;
    }
  }

  const players = [new Player("reference"), new Player("reconstruction")];
  const lengthOf = (player) => player.info.frames / player.rate;
  const master = lengthOf(players[1]) > lengthOf(players[0]) + 1e-6 ? players[1] : players[0];
  const slave = players.find((player) => player !== master);
  const scrub = byId("scrub"), counter = byId("counter"), playButton = byId("play"), speed = byId("speed");
  const digits = String(last).length;
  let frame = 0;
  let playing = false;

  function tell(index) {
    frame = Math.max(0, Math.min(last, index));
    const text = `frame ${String(frame).padStart(digits, "\u2007")}  ${(frame / rate).toFixed(3)} s`;
    counter.textContent = text;
    scrub.value = String(frame);
    scrub.setAttribute("aria-valuetext", text);
    document.documentElement.style.setProperty("--at", `${((frame + 0.5) / data.frames) * 100}%`);
    document.body.dataset.at = String(frame);
  }

  function show(index) {
    tell(index);
    for (const player of players) player.seek(frame);
  }

  function keepInStep() {
    const drift = slave.video.currentTime - master.video.currentTime;
    const base = Number(speed.value);
    if (slave.video.ended || master.video.currentTime >= lengthOf(slave)) return;
    if (slave.video.paused && !slave.video.seeking) slave.video.play().catch(() => {});
    if (Math.abs(drift) > 0.25) slave.video.currentTime = master.video.currentTime;
    // a small drift is taken back by speed: a seek would be seen as a jump
    slave.video.playbackRate = Math.abs(drift) > 0.5 / rate ? base * Math.max(0.8, Math.min(1.25, 1 - 2 * drift)) : base;
  }

  function tick(time) {
    if (!playing) return;
    tell(Math.floor(time * rate + SLACK));
    for (const player of players) player.describe(frame);
    keepInStep();
    nextTick();
  }

  function nextTick() {
    if ("requestVideoFrameCallback" in master.video) {
      master.video.requestVideoFrameCallback((now, metadata) => tick(metadata.mediaTime));
    } else {
      requestAnimationFrame(() => tick(master.video.currentTime));
    }
  }

  function setPlaying(on) {
    playing = on;
    playButton.textContent = on ? "Pause" : "Play";
    playButton.setAttribute("aria-pressed", String(on));
  }

  function pause() {
    if (!playing) return;
    setPlaying(false);
    for (const player of players) player.video.pause();
    show(frame); // both exactly on the frame that the counter names
  }

  function play() {
    if (playing) return;
    if (frame >= last) show(0);
    setPlaying(true);
    for (const player of players) {
      player.wanted = null;
      player.video.playbackRate = Number(speed.value);
      if (player.frameFor(frame) >= player.info.frames) continue;
      player.video.play().catch(() => { if (player === master) pause(); });
    }
    nextTick();
  }

  function step(count) {
    pause();
    show(frame + count);
  }

  master.video.addEventListener("ended", () => {
    if (!playing) return;
    tell(last);
    pause();
  });
  speed.addEventListener("change", () => { for (const player of players) player.video.playbackRate = Number(speed.value); });
  playButton.addEventListener("click", () => (playing ? pause() : play()));
  byId("back").addEventListener("click", () => step(-1));
  byId("forward").addEventListener("click", () => step(1));
  scrub.addEventListener("input", () => { pause(); show(Number(scrub.value)); });
  for (const player of players) player.video.addEventListener("click", () => (playing ? pause() : play()));

  // --- jumps: anything with data-frame, and any place on a track of the time axis
  const checkRows = [...document.querySelectorAll("tr.check")];
  const marked = [...document.querySelectorAll("[data-check]")];
  const selected = byId("selected");

  function select(key) {
    for (const element of marked) element.classList.toggle("current", element.dataset.check === key);
    const row = checkRows.find((element) => element.dataset.check === key);
    selected.hidden = row === undefined;
    if (row === undefined) return undefined;
    const text = row.querySelector(".statement").firstChild.textContent;
    selected.textContent = `${row.querySelector(".rating").textContent.trim()}: ${text}`;
    return row;
  }

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-frame]");
    if (target !== null) {
      pause();
      show(Number(target.dataset.frame));
      const owner = target.closest("[data-check]");
      select(owner === null ? undefined : owner.dataset.check);
      return;
    }
    const track = event.target.closest("[data-track]");
    if (track === null) return;
    const box = track.getBoundingClientRect();
    pause();
    show(Math.floor(((event.clientX - box.left) / box.width) * data.frames));
  });

  function walkChecks(direction) {
    const visible = checkRows.filter((row) => !row.hidden);
    if (visible.length === 0) return;
    const at = visible.findIndex((row) => row.classList.contains("current"));
    const next = at < 0 ? (direction > 0 ? 0 : visible.length - 1) : Math.max(0, Math.min(visible.length - 1, at + direction));
    const row = select(visible[next].dataset.check);
    pause();
    show(Number(row.querySelector("[data-frame]").dataset.frame));
    row.scrollIntoView({ block: "nearest" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    const stride = event.shiftKey ? 10 : 1;
    const actions = {
      ArrowLeft: () => step(-stride), ArrowRight: () => step(stride), j: () => step(-stride), k: () => step(stride),
      Home: () => step(-frame), End: () => step(last - frame), n: () => walkChecks(1), p: () => walkChecks(-1),
    };
    if (event.key === " " && !event.target.closest("button, summary, a")) actions[" "] = () => (playing ? pause() : play());
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });

  // --- filters
  const filters = byId("filters");
  if (filters !== null) {
    const apply = () => {
      let count = 0;
      for (const row of checkRows) {
        const fits = [...filters.elements].every((field) => !field.name || !field.value || row.dataset[field.name] === field.value);
        row.hidden = !fits;
        count += fits ? 1 : 0;
      }
      byId("shown").textContent = `${count} of ${checkRows.length} shown`;
    };
    filters.addEventListener("change", apply);
    filters.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  const asked = /^#frame=(\d+)$/.exec(location.hash);
  show(asked === null ? 0 : Number(asked[1]));
})();
