// SPDX-License-Identifier: GPL-3.0-or-later
// The reference and every configuration under one clock. Text is only ever set as text.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const rate = data.rate[0] / data.rate[1]; // the clock counts frames of the reference
  const last = data.frames - 1;
  // A frame starts at f / rate only up to the rounding of the file's clock; a tenth of a frame is far more than that.
  const SLACK = 0.1;
  const grid = byId("grid"), scrub = byId("scrub"), counter = byId("counter"), playButton = byId("play");
  const speed = byId("speed"), setting = byId("setting");
  let players = [], frame = 0, playing = false, round = 0;

  function element(name, text, kind) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind !== undefined) made.className = kind;
    return made;
  }

  class Player {
    constructor(info, isReference) {
      this.info = info;
      this.rate = info.rate[0] / info.rate[1];
      this.wanted = null;
      this.figure = element("figure", undefined, isReference ? "given" : undefined);
      const screen = element("div", undefined, "screen"), caption = element("figcaption");
      this.beyond = element("div", undefined, "beyond");
      this.at = element("output");
      const name = element("strong", isReference ? "Reference" : info.configuration);
      if (info.is_disqualified) {
        const mark = element("abbr", " ‡", "barred");
        mark.title = "disqualified by the audit";
        name.append(mark);
      }
      caption.append(name, this.at);
      this.video = element("video");
      this.video.muted = true;
      this.video.playsInline = true;
      this.video.preload = "auto";
      this.video.dataset.configuration = isReference ? "" : info.configuration;
      this.video.addEventListener("seeked", () => this.follow());
      this.video.addEventListener("loadedmetadata", () => this.follow());
      this.video.addEventListener("error", () => this.say("This video cannot be played here."));
      this.video.addEventListener("click", () => (playing ? pause() : play()));
      screen.append(this.video, this.beyond);
      this.figure.append(screen, caption);
      grid.append(this.figure);
      this.say(info.reason);
      if (info.address !== null) this.video.src = info.address.split("/").map(encodeURIComponent).join("/");
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
      if (this.info.address === null) return null;
      const own = this.frameFor(index), outside = own >= this.info.frames;
      this.at.textContent = outside ? `ended at ${this.info.frames - 1}` : `frame ${own}`;
      if (!this.video.error) this.say(outside ? `No frame ${own}: it has ${this.info.frames}.` : "");
      return Math.min(own, this.info.frames - 1);
    }

    // The middle of a frame is the one time that every decoder rounds to that frame.
    seek(index) {
      const own = this.describe(index);
      if (own === null) return;
      this.wanted = (own + 0.5) / this.rate;
      if (!this.video.seeking) this.follow();
    }

    follow() {
      if (this.wanted === null || this.video.readyState === 0) return;
      const time = this.wanted;
      this.wanted = null;
      if (Math.abs(this.video.currentTime - time) > 1e-4) this.video.currentTime = time;
    }

    // A small drift is taken back by speed: a seek would be seen as a jump.
    keepUp(time, base) {
      const length = this.info.frames / this.rate;
      if (this.info.address === null || this.video.error || this.video.ended || time >= length) return;
      if (this.video.paused && !this.video.seeking) this.video.play().catch(() => {});
      const drift = this.video.currentTime - time;
      if (Math.abs(drift) > 0.25) this.video.currentTime = time;
      this.video.playbackRate = Math.abs(drift) > 0.5 / rate ? base * Math.max(0.8, Math.min(1.25, 1 - 2 * drift)) : base;
    }
  }

  function tell(index) {
    frame = Math.max(0, Math.min(last, index));
    const text = `frame ${frame}  ${(frame / rate).toFixed(3)} s`;
    counter.textContent = text;
    scrub.value = String(frame);
    scrub.setAttribute("aria-valuetext", text);
    document.body.dataset.at = String(frame);
  }

  function show(index) {
    tell(index);
    for (const player of players) player.seek(frame);
  }

  function tick(time) {
    if (!playing) return;
    tell(Math.floor(time * rate + SLACK));
    for (const player of players) player.describe(frame);
    for (const player of players.slice(1)) player.keepUp(players[0].video.currentTime, Number(speed.value));
    nextTick();
  }

  function nextTick() {
    const master = players[0].video, now = round;
    const go = (time) => { if (now === round) tick(time); };
    if ("requestVideoFrameCallback" in master) master.requestVideoFrameCallback((_, metadata) => go(metadata.mediaTime));
    else requestAnimationFrame(() => go(master.currentTime));
  }

  function setPlaying(on) {
    playing = on;
    round += 1;
    playButton.textContent = on ? "Pause" : "Play";
    playButton.setAttribute("aria-pressed", String(on));
  }

  function pause() {
    if (!playing) return;
    setPlaying(false);
    for (const player of players) player.video.pause();
    show(frame); // all exactly on the frame that the counter names
  }

  function play() {
    if (playing || players.length === 0) return;
    if (frame >= last) show(0);
    setPlaying(true);
    for (const player of players) {
      player.wanted = null;
      player.video.playbackRate = Number(speed.value);
      if (player.info.address === null || player.frameFor(frame) >= player.info.frames) continue;
      player.video.play().catch(() => { if (player === players[0]) pause(); });
    }
    nextTick();
  }

  function step(count) {
    pause();
    show(frame + count);
  }

  // --- settings: other videos, other checks
  function choose() {
    pause();
    for (const player of players) player.video.removeAttribute("src");
    grid.replaceChildren();
    players = [];
    if (data.reference !== null) {
      players = [new Player(data.reference, true), ...data.settings[setting.value].map((info) => new Player(info, false))];
      players[0].video.addEventListener("ended", () => { if (playing) { tell(last); pause(); } });
    }
    for (const body of document.querySelectorAll("tbody[data-setting]")) body.hidden = body.dataset.setting !== setting.value;
    byId("count").textContent = `${rows().length} under ${setting.value}`;
    show(frame);
  }

  const rows = () => [...document.querySelectorAll("tbody:not([hidden]) > tr.check")];

  function mark(row) {
    for (const other of document.querySelectorAll("tr.check.current")) other.classList.remove("current");
    row.classList.add("current");
    pause();
    show(Number(row.querySelector("[data-frame]").dataset.frame));
  }

  function walk(direction) {
    const visible = rows(), at = visible.findIndex((row) => row.classList.contains("current"));
    if (visible.length === 0) return;
    const next = at < 0 ? (direction > 0 ? 0 : visible.length - 1) : Math.max(0, Math.min(visible.length - 1, at + direction));
    mark(visible[next]);
    visible[next].scrollIntoView({ block: "nearest" });
  }

  function nextSetting() {
    setting.selectedIndex = (setting.selectedIndex + 1) % setting.options.length;
    choose();
  }

  document.addEventListener("click", (event) => {
    const target = event.target.closest("[data-frame]");
    if (target !== null) mark(target.closest("tr"));
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) return;
    const stride = event.shiftKey ? 10 : 1;
    const actions = {
      ArrowLeft: () => step(-stride), ArrowRight: () => step(stride), j: () => step(-stride), k: () => step(stride),
      Home: () => step(-frame), End: () => step(last - frame), n: () => walk(1), p: () => walk(-1), s: nextSetting,
    };
    if (event.key === " " && !event.target.closest("button, a")) actions[" "] = () => (playing ? pause() : play());
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
  speed.addEventListener("change", () => { for (const player of players) player.video.playbackRate = Number(speed.value); });
  playButton.addEventListener("click", () => (playing ? pause() : play()));
  byId("back").addEventListener("click", () => step(-1));
  byId("forward").addEventListener("click", () => step(1));
  scrub.addEventListener("input", () => { pause(); show(Number(scrub.value)); });
  setting.addEventListener("change", choose);
  choose();
})();
