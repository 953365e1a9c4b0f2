// SPDX-License-Identifier: GPL-3.0-or-later
// The setting that is shown, and sorting by any column. Text is only ever set as text.
"use strict";
(() => {
  const select = document.getElementById("setting"), board = document.getElementById("board");
  const heads = [...board.tHead.rows[0].cells];

  function choose() {
    for (const part of document.querySelectorAll("[data-setting]")) part.hidden = part.dataset.setting !== select.value;
  }

  // What is not known comes last, whichever way it goes.
  function compare(one, other, column, way) {
    const [a, b] = [one, other].map((row) => row.cells[column].dataset.value);
    if (a === "" || b === "") return (a === "") - (b === "");
    const numbers = Number(a) - Number(b);
    return way * (Number.isNaN(numbers) ? a.localeCompare(b) : numbers);
  }

  function sort(column) {
    const head = heads[column], before = head.getAttribute("aria-sort");
    const upFirst = column < 2 || column > 5; // names, ranks and costs begin with the least, scores with the most
    const up = before === null ? upFirst : before !== "ascending";
    for (const one of heads) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    for (const body of board.tBodies) {
      body.append(...[...body.rows].sort((one, other) => compare(one, other, column, up ? 1 : -1)));
    }
  }

  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => sort(column)));
  select.addEventListener("change", () => { choose(); location.replace(`#${encodeURIComponent(select.value)}`); });
  const asked = decodeURIComponent(location.hash.slice(1));
  if ([...select.options].some((option) => option.value === asked)) select.value = asked;
  choose();
})();
