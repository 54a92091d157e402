// A treebank that was pasted or opened: search, filter, and see where the parser disagrees with it.

import { clear, el, post, say } from "./dom.js";
import { labelled } from "./glossary.js";

const PIECE = 100_000, BATCH = 20, SHOWN = 60;  // characters sent at once, trees judged at once, rows shown at first
let text = "", trees = [], filters = { words: "", label: "", least: "", most: "", order: "file" };

/** The trees of a text in brackets, each with its own brackets; text between trees is left out. */
export function topTrees(source) {
  const found = [];
  let depth = 0, start = 0;
  for (let at = 0; at < source.length; at++) {
    if (source[at] === "(") { if (depth++ === 0) start = at; }
    else if (source[at] === ")" && depth > 0 && --depth === 0) found.push(source.slice(start, at + 1));
  }
  return depth === 0 ? found : [...found, source.slice(start)];
}

async function read(source, model) {
  const pieces = [];
  let piece = [], size = 0;
  for (const tree of topTrees(source)) {
    if (size + tree.length > PIECE && piece.length) { pieces.push(piece); [piece, size] = [[], 0]; }
    piece.push(tree);
    size += tree.length;
  }
  if (piece.length) pieces.push(piece);
  const found = [];
  for (const part of pieces) {
    found.push(...(await post("/api/bank", { trees: part.join("\n"), model })).trees);
    say(`${found.length} trees …`);
  }
  return found;
}

async function judge(model, stopped, changed) {
  for (let at = 0; at < trees.length && !stopped(); at += BATCH) {
    const batch = trees.slice(at, at + BATCH);
    const found = await post("/api/bank", { trees: batch.map((one) => one.tree).join("\n"), model, judge: true });
    found.trees.forEach((one, number) => Object.assign(batch[number], one));
    say(`${Math.min(at + BATCH, trees.length)} of ${trees.length} trees compared.`);
    changed();
  }
}

function wanted() {
  const words = filters.words.toLowerCase();
  const rows = trees.map((tree, number) => ({ ...tree, number })).filter((one) =>
    (!words || one.text.toLowerCase().includes(words)) && (!filters.label || one.labels.includes(filters.label)) &&
    (!filters.least || one.words >= Number(filters.least)) && (!filters.most || one.words <= Number(filters.most)));
  if (filters.order === "long") rows.sort((one, two) => two.words - one.words);
  if (filters.order === "differences") rows.sort((one, two) => (two.differences ?? -1) - (one.differences ?? -1));
  return rows;
}

/** Fill the view; `open(tree)` shows one tree with its parse. `given` is a treebank from elsewhere on the page. */
export async function bankView(where, model, open, given = null) {
  const area = el("textarea", { id: "bank-text", rows: 4, spellcheck: "false", placeholder: "( (S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .)) ) …" });
  area.value = given ?? text;
  const file = el("input", { type: "file", id: "bank-file", accept: ".mrg,.txt,.brackets,.psd", onchange: async () => {
    if (file.files[0]) { area.value = await file.files[0].text(); load(); }
  } });
  const list = el("div", { id: "bank-list" });
  let running = false;
  const load = async () => {
    text = area.value;
    try {
      trees = await read(text, model);
      say(`${trees.length} tree${trees.length === 1 ? "" : "s"}, ${trees.reduce((sum, one) => sum + one.words, 0).toLocaleString("en")} words.`);
    } catch (error) {
      trees = [];
      say(error.message, true);
    }
    show();
  };
  const show = () => {
    if (!trees.length) return clear(list);
    const counts = new Map();
    for (const one of trees) for (const label of one.labels) counts.set(label, (counts.get(label) ?? 0) + 1);
    const labels = [...counts].sort((one, two) => two[1] - one[1]);
    const field = (name, type, attributes = {}) => el("input", { type, value: filters[name], id: `bank-${name}`, ...attributes,
      oninput: (event) => { filters[name] = event.target.value; rows(); } });
    const choice = (name, options) => el("select", { id: `bank-${name}`, onchange: (event) => { filters[name] = event.target.value; rows(); } },
      options.map(([value, shown]) => el("option", { value, selected: filters[name] === value }, shown)));
    const judged = el("button", { type: "button", id: "judge", onclick: async () => {
      if (running) { running = false; return; }
      running = true;
      judged.textContent = "Stop";
      try {
        await judge(model, () => !running, rows);
      } catch (error) { say(error.message, true); }
      running = false;
      judged.textContent = "Compare with the parser";
      filters.order = "differences";
      show();
    } }, "Compare with the parser");
    const table = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Trees" });
    const told = el("p", { class: "hint", role: "status" });
    const rows = () => {
      const found = wanted(), scored = found.filter((one) => one.f1 !== undefined && one.f1 !== null);
      const mean = scored.length ? `; mean F1 of a tree ${(scored.reduce((sum, one) => sum + one.f1, 0) / scored.length).toFixed(1)}` : "";
      told.textContent = `${found.length} of ${trees.length} trees${mean}`;
      const row = (one) => el("tr", {}, el("td", { class: "number" }, one.number + 1),
        el("td", {}, el("button", { type: "button", class: "sentence", onclick: () => open(one.tree) }, el("span", { class: "said" }, one.text))),
        el("td", { class: "number" }, one.words),
        el("td", { class: "number" }, one.differences === undefined ? "" : `${one.differences}${one.f1 === null ? "" : ` (F1 ${one.f1.toFixed(0)})`}`));
      const body = el("tbody", {}, found.slice(0, SHOWN).map(row));
      const more = found.length > SHOWN ? el("button", { type: "button", class: "quiet more", onclick: () => { more.remove(); body.append(...found.slice(SHOWN, 5000).map(row)); } }, `Show all ${found.length}`) : null;
      clear(table, el("table", { class: "bank" }, el("thead", {}, el("tr", {}, ["", "sentence", "words", "differences"].map((name, at) => el(at ? "th" : "td", {}, name)))), body), more);
    };
    clear(list, el("div", { class: "filters" },
      el("label", {}, "Words ", field("words", "search")),
      el("label", {}, "Label ", choice("label", [["", "any"], ...labels.map(([label, count]) => [label, `${label} (${count})`])])),
      el("label", {}, "From ", field("least", "number", { min: 1 })), el("label", {}, "to ", field("most", "number", { min: 1 })), el("span", {}, "words"),
      el("label", {}, "Order ", choice("order", [["file", "as in the file"], ["long", "longest first"], ["differences", "most differences first"]])),
      judged),
    told, filters.label ? el("p", { class: "hint" }, labelled(filters.label)) : null, table);
    rows();
  };
  clear(where, el("form", { class: "view", onsubmit: (event) => { event.preventDefault(); load(); } },
    el("h2", {}, "Browse a treebank"),
    el("label", { for: "bank-text", class: "hint" }, "Trees in brackets; they stay between this page and its own server."), area,
    el("div", { class: "row" }, el("button", { type: "submit", class: "main" }, "Read"), el("label", {}, "or open a file ", file))),
    list);
  if (given !== null && given !== text) await load();
  else show();
}

