// The page: the form, the tabs, the panels of trees, and the link that brings all of it back.

import { clear, copy, el, percent, post, get, say } from "./dom.js";
import { showNode } from "./node.js";
import { automatonView, dependencyView } from "./sequences.js";
import { showStates } from "./states.js";
import { drawTree, fittingLayout, nestedText } from "./trees.js";

const at = (id) => document.getElementById(id);
const TABS = ["trees", "states", "dependencies", "automaton"];

// What the link holds; all the rest follows from it.
const view = { tab: "trees", s: at("sentence").value, in: "auto", m: [0], d: ["max-recall"], k: 1, n: null, label: null, q: null, c: 6, h: null };
let about = null, answer = null, panels = [], asked = 0;

// -- the link ---------------------------------------------------------------------------------------------------------

function writeLink() {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(view))
    if (value !== null) parts.set(key, Array.isArray(value) ? value.join(" ") : value);
  history.replaceState(null, "", `#${parts}`);
}

function readLink() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const whole = (key, least, most) => {
    const value = Number(parts.get(key));
    return parts.has(key) && Number.isInteger(value) && value >= least && value <= most ? value : null;
  };
  view.tab = TABS.includes(parts.get("tab")) ? parts.get("tab") : "trees";
  view.s = parts.get("s") ?? at("sentence").value;
  view.in = about.inputs.includes(parts.get("in")) ? parts.get("in") : "auto";
  const models = (parts.get("m") ?? "0").split(" ").map(Number).filter((one) => about.models[one]);
  view.m = models.length ? models : [0];
  const decoders = (parts.get("d") ?? "").split(" ").filter((one) => about.decoders.includes(one));
  view.d = decoders.length ? decoders : [about.decoders[0]];
  view.k = whole("k", 1, about.most_trees) ?? 1;
  view.c = whole("c", 1, 20) ?? 6;
  view.h = whole("h", 0, about.most_words);
  view.n = /^\d+\.\d+$/.test(parts.get("n") ?? "") ? parts.get("n") : null;
  view.label = parts.get("label");
  view.q = parts.get("q");
}

function writeForm() {
  at("sentence").value = view.s;
  at("input").value = view.in;
  at("k").value = view.k;
  const box = (name, value, text, checked) =>
    el("label", {}, el("input", { type: "checkbox", name, value, checked, onchange: submit }), ` ${text}`);
  clear(at("models"), el("legend", {}, "Models"), about.models.map((one, number) => box("model", number, one.name, view.m.includes(number))));
  clear(at("decoders"), el("legend", {}, "Decoders"), about.decoders.map((one) => box("decoder", one, one, view.d.includes(one))));
  at("models").hidden = about.models.length < 2;
}

function readForm() {
  const checked = (name) => [...document.querySelectorAll(`input[name=${name}]:checked`)].map((one) => one.value);
  view.s = at("sentence").value;
  view.in = at("input").value;
  view.k = Math.min(about.most_trees, Math.max(1, Math.round(Number(at("k").value)) || 1));
  view.m = checked("model").map(Number);
  view.d = checked("decoder");
  if (!view.m.length) view.m = [0];
  if (!view.d.length) view.d = [about.decoders[0]];
}

// -- trees ------------------------------------------------------------------------------------------------------------

function submit(event) {
  event?.preventDefault();
  readForm();
  view.n = view.h = null;
  if (view.tab === "states" || view.tab === "automaton") view.tab = "trees";
  show();
}

async function parse() {
  const turn = ++asked;
  closeNode();
  say("Parsing …");
  const began = performance.now();
  let found;
  try {
    found = await post("/api/parse", { sentence: view.s, input: view.in, models: view.m, decoders: view.d, k: view.k });
  } catch (error) {
    if (turn === asked) {
      say(error.message, true);
      clear(at("results"));
    }
    return;
  }
  if (turn !== asked) return;  // a newer question was asked since
  answer = found;
  const trees = answer.parses.length;
  say(answer.words.length ? `${answer.words.length} words, ${trees} tree${trees > 1 ? "s" : ""}, ${Math.round(performance.now() - began)} ms.` : "Type a sentence.");
  if (!answer.words.length) return clear(at("results"));
  const rows = answer.gold ? [{ ...answer.gold, isGold: true, model: view.m[0] }, ...answer.parses] : answer.parses;
  panels = [];
  const several = rows.length > 1;
  at("results").classList.toggle("several", several);
  const made = rows.map((row, number) => panel(row, number));
  clear(at("results"), legend(several), made);
  panels.forEach((one) => one.draw());
  if (view.n !== null) {
    const [place, number] = view.n.split(".").map(Number);
    if (panels[place]?.row.nodes[number]) choose(place, panels[place].row.nodes[number], number);
  }
}

function legend(several) {
  return el("p", { class: "legend", style: "grid-column:1/-1" },
    el("span", {}, "unsure ", el("span", { class: "ramp", role: "img", "aria-label": "from orange over grey to blue" }), " sure"),
    several ? el("span", {}, el("span", { class: "mark" }), ` not in ${answer.gold ? "the gold tree" : "the first tree"}`) : null,
    el("span", {}, "Click a node, or walk with arrow keys and press Enter, to see its hidden states."));
}

function caption(row) {
  if (row.isGold) return ["Gold tree", "as typed"];
  const model = about.models.length > 1 ? `${about.models[row.model].name} · ` : "";
  const rank = view.k > 1 ? ` · tree ${row.rank + 1}` : "";
  const facts = [row.log_prob === null ? null : `log-probability ${row.log_prob.toFixed(2)}`, row.status, `${(1000 * row.seconds).toFixed(0)} ms`];
  const differing = row.nodes.filter((node) => node.differs).length;
  if (row !== answer.parses[0] || answer.gold)
    facts.push(differing + row.missing.length ? `${differing} node${differing === 1 ? " differs" : "s differ"}, ${row.missing.length} missing` : "no difference");
  if (row.scores) facts.push(`F1 ${row.scores.f1.toFixed(1)}`);
  return [`${model}${row.decoder}${rank}`, facts.filter(Boolean).join(" · ")];
}

function panel(row, place) {
  const [title, facts] = caption(row);
  const scroll = el("div", { class: "scroll" });
  const own = { row, layout: null, zoom: 1, drawing: null };
  own.draw = () => {
    own.shown = own.layout ?? fittingLayout(row.nodes, Math.max(scroll.clientWidth, 300));
    const drawn = drawTree(row.nodes, answer.words, {
      layout: own.shown, choose: (node) => choose(place, node, node.number), label: `Tree by ${title}`,
    });
    [own.drawing, own.size] = [drawn.drawing, drawn.size];
    scale();
    clear(scroll, drawn.drawing);
  };
  const scale = () => {
    own.drawing.setAttribute("width", own.zoom * own.size.width);
    own.drawing.setAttribute("height", own.zoom * own.size.height);
  };
  const zoom = (factor) => { own.zoom = factor ? Math.min(4, Math.max(0.2, own.zoom * factor)) : Math.min(1, scroll.clientWidth / own.size.width); scale(); };
  const tool = (name, label, onclick) => el("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick }, name);
  const exported = async (format) => {
    const confidences = row.nodes.map((node) => node.confidence);
    const question = { tree: row.tree, format, confidences: confidences.includes(null) ? null : confidences };
    try {
      await copy((await post("/api/export", question)).text, `as ${format === "svg" ? "SVG" : "LaTeX"}`);
    } catch (error) {
      say(error.message, true);
    }
  };
  panels.push(own);
  return el("figure", { class: "parse", "data-place": place },
    el("header", {}, el("h2", {}, title), el("span", { class: "facts" }, facts)),
    row.missing?.length ? el("p", { class: "hint missing" }, "Missing: ", row.missing.slice(0, 12).map((one) =>
      `${one.label} “${answer.words.slice(one.start, one.end).join(" ")}”`).join(", ")) : null,
    el("div", { class: "tools", role: "group", "aria-label": "Tools" },
      tool("−", "Smaller", () => zoom(0.8)), tool("+", "Larger", () => zoom(1.25)), tool("fit", "Fit the width", () => zoom(0)),
      tool("turn", "Words in a row, in a column, or as an outline", () => {
        own.layout = { row: "column", column: "outline", outline: "row" }[own.shown];
        own.draw();
      }),
      tool("brackets", "Copy as brackets", () => copy(row.tree, "as brackets")),
      tool("JSON", "Copy as JSON", () => copy(JSON.stringify(row), "as JSON")),
      tool("SVG", "Copy as SVG", () => exported("svg")),
      tool("LaTeX", "Copy as LaTeX, for the forest package", () => exported("latex"))),
    scroll,
    el("details", {}, el("summary", {}, "As nested text"), nestedText(row.nodes, answer.words)));
}

function choose(place, node, number) {
  panels.forEach((one, other) => one.drawing.mark(other === place ? number : null));
  view.n = `${place}.${number}`;
  writeLink();
  document.querySelector(".columns").classList.add("open");
  const row = panels[place].row;
  showNode(at("node"), {
    sentence: view.s, input: view.in, model: row.model, label: node.label, start: node.start, end: node.end, tag: node.word !== null,
  }, answer.words, () => { closeNode(); panels[place].drawing.focusNode(number); });
  if (matchMedia("(max-width: 800px)").matches) at("node").scrollIntoView({ block: "start" });
}

function closeNode() {
  at("node").hidden = true;
  document.querySelector(".columns").classList.remove("open");
  panels.forEach((one) => one.drawing?.mark(null));
  if (answer) view.n = null;
  writeLink();
}

// -- the other views --------------------------------------------------------------------------------------------------

function statesView() {
  const where = at("view-states"), shown = el("div");
  const model = view.m[0];
  const symbols = about.models[model].symbols.filter((one) => one.states > 1 || one.share > 0.01);
  if (!symbols.some((one) => one.symbol === view.label)) view.label = symbols[0]?.symbol ?? null;
  const run = () => { writeLink(); return showStates(shown, model, view.label, null); };
  clear(where, el("div", { class: "options" }, el("label", {}, "Label ", el("select", { id: "label", onchange: (event) => { view.label = event.target.value; run(); } },
    symbols.map((one) => el("option", { value: one.symbol, selected: one.symbol === view.label },
      `${one.label} (${one.kind}, ${one.states} state${one.states > 1 ? "s" : ""}, ${percent(one.share)})`)))),
    el("span", { class: "hint" }, `of ${about.models[model].name}`)), shown);
  return run();
}

async function automaton() {
  const known = new Set(about.automaton.alphabet);
  if (view.q === null) {
    // The tags of the sentence, where the automaton is one of tags; else its words; else its own symbols.
    const parsed = about.models.length ? await post("/api/parse", { sentence: view.s, input: view.in, models: [view.m[0]] }).catch(() => null) : null;
    const tags = parsed?.parses[0].nodes.filter((node) => node.word !== null) ?? [];
    const choices = [tags.map((node) => node.label), view.s.split(/\s+/).filter(Boolean), about.automaton.alphabet.slice(0, 4)];
    view.q = (choices.find((one) => one.length && one.filter((symbol) => known.has(symbol)).length > one.length / 2) ?? choices[2]).join(" ");
  }
  await automatonView(at("view-automaton"), about.automaton, view.q.split(/\s+/).filter(Boolean), view.c, (symbols, clusters) => {
    [view.q, view.c] = [symbols.join(" "), clusters];
    writeLink();
  });
}

async function show() {
  for (const tab of TABS) {
    at(`view-${tab}`).hidden = tab !== view.tab;
    at(`tab-${tab}`).setAttribute("aria-selected", tab === view.tab);
    at(`tab-${tab}`).tabIndex = tab === view.tab ? 0 : -1;
  }
  at("ask").hidden = view.tab === "states" || view.tab === "automaton";
  writeLink();
  if (view.tab !== "trees") say("");
  if (view.tab === "trees") await parse();
  else if (view.tab === "states") await statesView();
  else if (view.tab === "dependencies")
    await dependencyView(at("view-dependencies"), { sentence: view.s, input: view.in, model: view.m[0] }, view.h,
      (word) => { view.h = word; writeLink(); });
  else await automaton();
  document.body.dataset.ready = view.tab;
}

// -- start ------------------------------------------------------------------------------------------------------------

async function start() {
  try {
    about = await get("/api/about", {});
  } catch (error) {
    say(error.message, true);
    return;
  }
  at("tab-trees").hidden = at("tab-states").hidden = !about.models.length;
  at("tab-dependencies").hidden = !about.dependency;
  at("tab-automaton").hidden = !about.automaton;
  at("options").open = innerWidth > 800;
  readLink();
  if (at(`tab-${view.tab}`).hidden) view.tab = TABS.find((tab) => !at(`tab-${tab}`).hidden);
  writeForm();
  at("ask").addEventListener("submit", submit);
  for (const id of ["input", "k"]) at(id).addEventListener("change", submit);
  at("sentence").addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) submit(event); });
  at("link").addEventListener("click", () => { writeLink(); copy(location.href, "the link to this view"); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") at("close-node")?.click(); });
  at("tabs").addEventListener("click", (event) => { if (event.target.dataset.tab) { view.tab = event.target.dataset.tab; show(); } });
  at("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const open = TABS.filter((tab) => !at(`tab-${tab}`).hidden);
    view.tab = open[(open.indexOf(view.tab) + step + open.length) % open.length];
    at(`tab-${view.tab}`).focus();
    show();
  });
  addEventListener("hashchange", () => { readLink(); writeForm(); show(); });
  addEventListener("resize", () => { if (view.tab === "trees") panels.forEach((one) => one.drawing && one.layout === null && one.draw()); });
  await show();
}

start();
