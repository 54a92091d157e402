// The page: the form, the tabs, and the trees that are asked for.

import { annotateView } from "./annotate.js";
import { bankView, topTrees } from "./bank.js";
import { clear, closeMenu, copy, el, percent, post, get, say } from "./dom.js";
import { setGlossary, startTips } from "./glossary.js";
import { narrowest } from "./trees.js";
import { TABS, readLink, view, writeLink } from "./link.js";
import { showNode } from "./node.js";
import { makePanel } from "./panel.js";
import { automatonView, dependencyView } from "./sequences.js";
import { showStates } from "./states.js";
import { setThreshold } from "./verdict.js";
import { maybeSeveral, parseText, sentenceList } from "./text.js";

const MENUS = "details.menu[open], #examples[open], #options[open]";
const at = (id) => document.getElementById(id);
let layout = null;  // of all trees on the page
let about = null, answer = null, panels = [], asked = 0, sentence = "", kind = "auto", pasted = null;

// -- the form ---------------------------------------------------------------------------------------------------------

function writeForm() {
  at("sentence").value = view.s;
  grow();
  at("input").value = view.in;
  at("k").value = view.k;
  const box = (name, value, text, checked) =>
    el("label", {}, el("input", { type: "checkbox", name, value, checked, onchange: submit }), ` ${text}`);
  clear(at("models"), el("legend", {}, "Compare models"), about.models.map((one, number) => box("model", number, one.name, view.m.includes(number))));
  clear(at("decoders"), el("legend", {}, "What makes a tree the best"), about.decoders.map((one) => box("decoder", one, one, view.d.includes(one))));
  at("models").hidden = about.models.length < 2;
  const examples = about.models[view.m[0]]?.examples ?? [];
  at("examples").hidden = !examples.length;
  clear(at("example-list"), examples.map(([name, text]) => el("button", { type: "button", class: "quiet example", onclick: () => {
    at("sentence").value = text;
    at("input").value = "auto";
    closeMenu(at("examples"));
    submit();
  } }, el("b", {}, name), ` ${text.length > 70 ? `${text.slice(0, 68)}…` : text}`)));
}

/** Make the field as high as its text, up to two fifths of the window. */
function grow() {
  const field = at("sentence");
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight + 2, 0.4 * innerHeight)}px`;
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

function submit(event) {
  event?.preventDefault();
  readForm();
  view.n = view.h = view.i = null;
  if (view.tab !== "dependencies") view.tab = "trees";
  show();
}

// -- trees ------------------------------------------------------------------------------------------------------------

/** Find out what was typed: trees to compare, a treebank, a text, or a sentence; then show it. */
async function parse() {
  const turn = ++asked;
  closeNode();
  say("Parsing …");
  [sentence, kind] = [view.s, view.in];
  try {
    const trees = view.in === "auto" && view.s.trimStart().startsWith("(") ? topTrees(view.s) : [];
    const typed = trees.length > 1 && trees.every((one) => /^\(\s*(\(|\S+\s*\()/.test(one));
    if (typed && trees.length === 2) return await compareTrees(trees, turn);
    if (typed) {
      [pasted, view.tab] = [view.s, "bank"];
      return await show();
    }
    if (!trees.length && ["auto"].includes(view.in) && maybeSeveral(view.s)) {
      const sentences = await parseText(view.s, view.m[0], () => turn !== asked);
      if (sentences === null) return;
      if (sentences.length > 1) return await showText(sentences, turn);
    }
    at("sentences").hidden = true;
    await parseSentence(turn);
  } catch (error) {
    if (turn !== asked) return;
    say(error.message, true);
    at("sentences").hidden = true;
    clear(at("results"));
    clear(at("legend"));
  }
}

async function showText(sentences, turn) {
  const choose = async (number) => {
    view.i = number;
    view.n = null;
    [sentence, kind] = [sentences[number].text, "text"];
    await parseSentence(++asked, heading(number)).catch((error) => say(error.message, true));
  };
  const total = sentences.reduce((sum, one) => sum + one.words.length, 0);
  const heading = (number) => `${counted(sentences.length, "sentence")}, ${counted(total, "word")}. Sentence ${number + 1}: `;
  const doubtful = sentenceList(at("sentences"), sentences, view.i !== null && sentences[view.i] ? view.i : null, choose);
  const first = view.i !== null && sentences[view.i] ? view.i : doubtful;
  at("sentences").querySelector(`li[value="${first + 1}"] button`)?.setAttribute("aria-current", "true");
  [sentence, kind, view.i] = [sentences[first].text, "text", first];
  await parseSentence(turn, heading(first));
}

const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

/** Parse the sentence; `heading` says which of a text it is. */
async function parseSentence(turn, heading = "") {
  const began = performance.now();
  const found = await post("/api/parse", { sentence, input: kind, models: view.m, decoders: view.d, k: view.k, readings: true });
  if (turn !== asked) return;  // a newer question was asked since
  const about = [counted(found.words.length, "word"), found.readings ? "two readings" : counted(found.parses.length, "tree"), `${Math.round(performance.now() - began)} ms`];
  say(found.words.length ? `${heading}${about.join(", ")}.` : "Type a sentence.");
  showTrees(found);
}

async function compareTrees([one, two], turn) {
  const found = await post("/api/compare", { one, two, model: view.m[0] });
  if (turn !== asked) return;
  at("sentences").hidden = true;
  found.parses.forEach((row) => Object.assign(row, { isGold: true, title: "Second tree" }));
  found.gold.title = "First tree";
  say(`Two trees over ${found.words.length} words.`);
  showTrees(found);
}

function showTrees(found) {
  answer = found;
  panels = [];
  if (!answer.words.length) return clear(at("results")), clear(at("legend"));
  const gold = answer.gold && { title: "Gold tree, as typed", ...answer.gold, isGold: true, model: view.m[0] };
  const rows = gold ? [gold, ...answer.parses] : answer.parses;
  const several = rows.length > 1;
  at("results").classList.toggle("several", several);
  layout = null;
  const changed = (shown) => { view.st = shown ? 1 : null; writeLink(); };
  panels = rows.map((row, place) => makePanel(row, place, {
    words: answer.words, alone: !several, choose, turn: turnAll, statesChanged: changed, showStates: view.st === 1, ...caption(row, several) }));
  clear(at("results"), panels.map((one) => one.figure));
  clear(at("legend"), legend(rows.length));
  turnAll();
  if (view.n !== null) {
    const [place, number] = view.n.split(".").map(Number);
    if (panels[place]?.row.nodes[number]) choose(place, panels[place].row.nodes[number], number);
  }
  writeLink();
}

/** Draw all trees in the same orientation: the given one, or the first in which all of them fit. */
function turnAll(wanted = null) {
  layout = wanted ?? layout ?? narrowest(panels.map((one) => one.fitting()));
  panels.forEach((one) => one.draw(layout));
}

function legend(count) {
  const other = count > 2 ? "the first tree" : answer.gold && !answer.gold.title ? "the gold tree or the parse" : "the other tree";
  return [
    el("span", {}, "low confidence ", el("span", { class: "ramp", role: "img", "aria-label": "from orange over grey to blue" }), " high"),
    count > 1 ? el("span", {}, el("span", { class: "mark" }), ` not in ${other}`) : null,
    count > 1 ? el("span", {}, el("span", { class: "line" }), " attached elsewhere") : null,
    el("span", { class: "how" }, "Click a node, or walk with arrow keys and press Enter, for its latent states."),
  ];
}

/** What distinguishes a tree from others on the page, and facts about it. */
function caption(row, several) {
  const facts = [];
  if (answer.readings && row.rank) {
    const ratio = Math.exp(row.log_prob_tree - answer.parses[0].log_prob_tree);
    facts.push(ratio < 1 ? `the grammar finds it ${percent(ratio)} as probable as the first` : "the grammar alone prefers it to the first");
  } else if (several && !(row === answer.parses[0] && !answer.gold) && row.missing) {
    const differing = row.nodes.filter((node) => node.differs).length;
    facts.push(differing + row.missing.length ? `${differing} node${differing === 1 ? " differs" : "s differ"}, ${row.missing.length} missing` : "no difference");
  }
  if (row.scores?.f1 !== null && row.scores?.f1 !== undefined) facts.push(`F1 ${row.scores.f1.toFixed(1)}`);
  if (row.log_prob_tree !== null && row.log_prob_tree !== undefined && several && !answer.readings) facts.push(`log-probability ${row.log_prob_tree.toFixed(2)}`);
  if (row.isGold) return { extra: "", facts: facts.join(" · ") };
  const extra = [view.m.length > 1 ? about.models[row.model].name : "", view.d.length > 1 ? row.decoder : "", answer.readings ? `reading ${row.rank + 1}` : view.k > 1 ? `tree ${row.rank + 1}` : ""];
  const name = answer.readings && row.rank ? secondReading(row) : undefined;
  return { extra: extra.filter(Boolean).join(" · "), facts: facts.join(" · "), name, language: about.models[row.model].language };
}

/** The title of a second reading: the phrase in which it differs most. */
function secondReading(row) {
  const phrase = (node) => `${node.label} “${answer.words.slice(node.start, node.end).join(" ")}”`;
  const added = row.nodes.find((node) => node.differs && node.word === null);
  return added ? `With ${phrase(added)} (${percent(added.confidence)})` : row.missing.length ? `Without ${phrase(row.missing[0])}` : "Second reading";
}

function choose(place, node, number) {
  panels.forEach((one, other) => one.drawing?.mark(other === place ? number : null));
  view.n = `${place}.${number}`;
  writeLink();
  document.querySelector(".columns").classList.add("open");
  panels.forEach((one) => one.rescale());
  panels[place].drawing?.mark(number);
  const row = panels[place].row;
  showNode(at("node"), {
    sentence: row.isGold ? row.tree : sentence, input: row.isGold ? "brackets" : kind, model: row.model,
    label: node.label, start: node.start, end: node.end, tag: node.word !== null,
  }, answer.words, () => { closeNode(); panels[place].drawing.focusNode(number); });
  if (matchMedia("(max-width: 800px)").matches) at("node").scrollIntoView({ block: "start" });
}

function closeNode() {
  const wasOpen = !at("node").hidden;
  at("node").hidden = true;
  document.querySelector(".columns").classList.remove("open");
  if (wasOpen) panels.forEach((one) => one.rescale());
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
  const words = (one) => about.models[model].glossary[one.label]?.split(/[:;]/)[0] ?? one.kind;
  clear(where, el("h2", {}, "Latent states", el("small", {}, ` of ${about.models[model].name}: kinds of a label that the grammar has found by itself`)),
    el("div", { class: "options" }, el("label", {}, "Label ", el("select", { id: "label", onchange: (event) => { view.label = event.target.value; run(); } },
      symbols.map((one) => el("option", { value: one.symbol, selected: one.symbol === view.label },
        `${one.label}: ${words(one)} (${one.states} state${one.states > 1 ? "s" : ""}, ${percent(one.share)})`))))), shown);
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

async function bank() {
  const given = pasted;
  pasted = null;
  await bankView(at("view-bank"), view.m[0], (tree) => {
    [view.s, view.in, view.tab, view.n, view.i] = [tree, "brackets", "trees", null, null];
    writeForm();
    show();
  }, given);
}

async function show() {
  for (const tab of TABS) {
    at(`view-${tab}`).hidden = tab !== view.tab;
    at(`tab-${tab}`).setAttribute("aria-selected", tab === view.tab);
    at(`tab-${tab}`).tabIndex = tab === view.tab ? 0 : -1;
  }
  at("ask").hidden = !["trees", "dependencies"].includes(view.tab);
  setGlossary(about.models[view.m[0]]?.glossary ?? {}, about.models[view.m[0]]?.separators);
  writeLink();
  if (view.tab !== "trees") say("");
  if (view.tab === "trees") await parse();
  else if (view.tab === "bank") await bank();
  else if (view.tab === "annotate") await annotateView(at("view-annotate"), view, (state) => { Object.assign(view, state); writeLink(); }).catch((error) => say(error.message, true));
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
  at("tab-trees").hidden = at("tab-states").hidden = at("tab-bank").hidden = !about.models.length;
  at("tab-annotate").hidden = !about.annotation;
  at("tab-dependencies").hidden = !about.dependency;
  at("tab-automaton").hidden = !about.automaton;
  setThreshold(about.low_confidence);
  readLink(about);
  if (at(`tab-${view.tab}`).hidden) view.tab = TABS.find((tab) => !at(`tab-${tab}`).hidden);
  writeForm();
  startTips();
  at("ask").addEventListener("submit", submit);
  for (const id of ["input", "k"]) at(id).addEventListener("change", submit);
  at("sentence").addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey) submit(event); });
  at("sentence").addEventListener("input", grow);
  at("link").addEventListener("click", () => { writeLink(); copy(location.href, "the link to this view"); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector(MENUS);
    if (menu) closeMenu(menu);
    else at("close-node")?.click();
  });
  document.addEventListener("click", (event) => document.querySelectorAll(MENUS).forEach((menu) => {
    if (!menu.contains(event.target) && menu.id !== "options") menu.open = false;  // options stay, to try them on other sentences
  }));
  at("tabs").addEventListener("click", (event) => { if (event.target.dataset.tab) { view.tab = event.target.dataset.tab; show(); } });
  at("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const open = TABS.filter((tab) => !at(`tab-${tab}`).hidden);
    view.tab = open[(open.indexOf(view.tab) + step + open.length) % open.length];
    at(`tab-${view.tab}`).focus();
    show();
  });
  addEventListener("hashchange", () => { readLink(about); writeForm(); show(); });
  addEventListener("resize", () => { grow(); if (view.tab === "trees") panels.forEach((one) => one.rescale()); });
  await show();
}

start();
