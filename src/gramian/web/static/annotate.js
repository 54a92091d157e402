// The tab in which people annotate: a list of sentences, one tree to correct, and keys for all of it.

import { clear, el, post, say } from "./dom.js";
import { labelled } from "./glossary.js";
import { drawTree, fittingLayout } from "./trees.js";

const POLL = 700;  // milliseconds between questions while the parser is trained
let where = null, changed = () => {};
let bank = null, current = null, focused = null, reach = null, attaching = null;
let who = "me", only = "open";

const ask = (request, fields = {}) => post(`/api/${request}`, { annotator: who, ...fields });
const at = (id) => document.getElementById(id);
const node = () => current?.nodes[focused] ?? null;
const isTag = (one) => one.word !== null;
const spanOf = (one) => ({ label: one.label, start: one.start, end: one.end });

/** Fill the view; `state` has the annotator and the sentence of the link, `keep(state)` writes them there. */
export async function annotateView(host, state, keep) {
  [where, changed] = [host, keep];
  who = state.who ?? who;
  clear(where, layout());
  await reload();
  await open(state.name && bank.sentences.some((one) => one.name === state.name) ? state.name : (await ask("annotate_next")).name);
}

function layout() {
  return [
    el("div", { class: "annotate" },
      el("aside", { class: "view", "aria-label": "Sentences" },
        el("div", { class: "row" },
          el("label", {}, "Annotator ", el("input", { id: "anno-who", value: who, size: 10, maxlength: 32, onchange: (event) => guarded(async () => {
            who = event.target.value.trim();
            await reload();
            await open(current?.name ?? null);
          }) })),
          el("label", {}, "Show ", el("select", { id: "anno-filter", onchange: (event) => { only = event.target.value; list(); } },
            [["open", "unfinished"], ["done", "finished"], ["all", "all"]].map(([value, name]) => el("option", { value, selected: value === only }, name))))),
        el("p", { class: "hint", id: "anno-progress", role: "status" }),
        el("ol", { id: "anno-list" }),
        el("details", { id: "anno-add" }, el("summary", {}, "Add sentences"),
          el("label", { class: "hint", for: "anno-text" }, "A text of any length; its sentences join the bank."),
          el("textarea", { id: "anno-text", rows: 4 }),
          el("button", { type: "button", onclick: () => guarded(add) }, "Add")),
        el("div", { class: "tools" },
          el("button", { type: "button", id: "anno-train", onclick: () => guarded(train) }, "Train again"),
          el("button", { type: "button", class: "quiet", onclick: () => guarded(save) }, "Save finished trees"),
          el("select", { id: "anno-other", "aria-label": "Compare with another annotator", onchange: (event) => guarded(() => compare(event.target.value)) })),
        el("p", { class: "hint", id: "anno-message", role: "status" })),
      el("section", { class: "view", id: "anno-editor", "aria-label": "The tree" })),
  ];
}

/** Do something, and say what went wrong; after a conflict the newest state is shown. */
async function guarded(action) {
  try {
    say("");
    await action();
  } catch (error) {
    say(error.message, true);
    if (error.status === 409) await show(await ask("annotated", { name: current.name }));
  }
}

async function reload() {
  bank = await ask("annotations");
  at("anno-message").textContent = bank.message;
  const others = bank.annotators.filter((one) => one !== who);
  at("anno-other").hidden = !others.length;
  clear(at("anno-other"), el("option", { value: "" }, "Agreement with …"), others.map((one) => el("option", { value: one }, one)));
  list();
}

function list() {
  const done = bank.sentences.filter((one) => one.state === "done").length;
  at("anno-progress").textContent = `${bank.bank}: ${done} of ${bank.sentences.length} sentences finished`;
  const shown = bank.sentences.filter((one) => only === "all" || (only === "done") === (one.state === "done") || one.name === current?.name).slice(0, 300);
  clear(at("anno-list"), shown.map((one) => el("li", {}, el("button", { type: "button", class: "sentence", "data-name": one.name,
    "aria-current": one.name === current?.name ? "true" : null, onclick: () => guarded(() => open(one.name)) },
    el("small", {}, { done: "✓", begun: "…", new: "" }[one.state]), el("span", { class: "said" }, one.text), one.commented ? el("small", {}, "comment") : null))));
}

async function open(name) {
  if (name === null) {
    current = null;
    clear(at("anno-editor"), el("p", {}, bank.sentences.length ? "All sentences are finished." : "The bank has no sentences yet. Add some at the left."));
    if (!bank.sentences.length) at("anno-add").open = true;
    return list();
  }
  focused = reach = attaching = null;
  await show(await ask("annotated", { name }), 0);
}

/** Show a state of a sentence; the keys stay at the node over the same words, where there is one. */
async function show(state, focus = null) {
  const old = node();
  const inEditor = at("anno-editor").contains(document.activeElement) && document.activeElement.closest("svg");
  current = state;
  const same = (one, exact) => old && one.start === old.start && one.end === old.end && (!exact || one.label === old.label);
  const place = [true, false].map((exact) => current.nodes.findIndex((one) => same(one, exact))).find((one) => one >= 0);
  focused = focus ?? place ?? 0;
  reach = attaching = null;
  draw();
  if (inEditor || focus !== null) drawing?.focusNode(focused);
  const row = bank.sentences.find((one) => one.name === current.name);
  if (row) [row.state, row.commented] = [current.done ? "done" : current.revision ? "begun" : "new", Boolean(current.comment)];
  list();
  changed({ who, name: current.name });
}

let drawing = null;

function draw() {
  const words = current.words;
  const scroll = el("div", { class: "scroll", tabindex: -1, role: "region", "aria-label": "Tree to correct" });
  const explain = el("p", { class: "explain" }, " ");
  const key = (name, label, act) => el("button", { type: "button", class: "quiet", title: label, onclick: () => guarded(act) }, el("kbd", {}, name), ` ${label}`);
  clear(at("anno-editor"),
    el("header", {}, el("h2", {}, `Sentence ${current.name}`, el("small", {}, current.done ? " finished" : current.revision ? " begun" : " proposed by the parser"))),
    el("figure", { class: "parse plain" }, explain, scroll),
    el("div", { class: "tools", role: "group", "aria-label": "Actions on the node", id: "anno-actions" },
      key("Enter", "keep", toggle), key("x", "remove", remove), key("r", "relabel", () => prompt("relabel")), key("n", "new phrase", () => prompt("add")),
      key("a", "attach to …", startAttach), key("u", "raise", raise), key("s", "split before", split)),
    el("form", { id: "anno-prompt", hidden: true, class: "row", onsubmit: (event) => { event.preventDefault(); guarded(answer); } },
      el("label", {}, el("span", { id: "anno-question" }), " ", el("input", { id: "anno-label", list: "anno-labels", autocomplete: "off", size: 12 })),
      el("datalist", { id: "anno-labels" })),
    current.forbidden.length ? el("p", { class: "hint", id: "anno-forbidden" }, "Removed: ", current.forbidden.map((one) =>
      el("button", { type: "button", class: "quiet", "aria-label": `Allow ${one.label} over ${words.slice(one.start, one.end).join(" ")} again`,
        onclick: () => guarded(() => edit("release", one)) }, labelled(one.label), ` “${words.slice(one.start, one.end).join(" ")}” ×`))) : null,
    suggested(words),
    el("div", { class: "tools", role: "group", "aria-label": "Sentence" },
      el("button", { type: "button", class: "main", id: "anno-done", onclick: () => guarded(finish) }, current.done ? "Finished: next" : "Finish and next", el("kbd", {}, " d")),
      el("button", { type: "button", class: "quiet", id: "anno-undo", disabled: !current.undoable, onclick: () => guarded(undo) }, "Undo", el("kbd", {}, " z")),
      current.done ? el("button", { type: "button", class: "quiet", onclick: () => guarded(async () => show(await change("annotate_finish", { done: false }))) }, "Not finished yet") : null),
    el("label", { class: "hint", for: "anno-comment" }, "Comment (c)"),
    el("textarea", { id: "anno-comment", rows: 2, onchange: () => guarded(comment) }),
    el("p", { class: "hint" }, "Arrow keys walk. Enter keeps a phrase (thick frame) or lets it go; x or Shift-click removes it. Shift+→ takes in the next sibling for n. Drag a node onto the phrase that it belongs to."));
  at("anno-comment").value = current.comment;
  const room = Math.max(scroll.clientWidth - 4, 280);
  const drawn = drawTree(current.nodes, words, { layout: fittingLayout(current.nodes, room), label: `Sentence ${current.name}`, choose: chosen });
  drawing = drawn.drawing;
  const zoom = Math.min(1.4, Math.max(0.9, room / drawn.size.width));
  drawing.setAttribute("width", zoom * drawn.size.width);
  drawing.setAttribute("height", zoom * drawn.size.height);
  clear(scroll, drawing);
  drawing.mark(focused);
  drawing.addEventListener("focusin", (event) => {
    const group = event.target.closest(".node");
    if (!group) return;
    focused = Number(group.dataset.number);
    drawing.mark(focused);
  });
  scroll.addEventListener("keydown", keys, true);
  drawing.addEventListener("pointerdown", startDrag);
}

/** Edits that the parser suggests, as buttons: phrases, then for each word other tags. */
function suggested(words) {
  if (!current.suggestions.length) return null;
  const button = (one, text, what) => el("button", { type: "button", class: "quiet", "aria-label": what, onclick: () => guarded(() =>
    edit(one.action, one.node, { new_label: one.label, ...(one.target ? target(one.target) : {}) })) }, text);
  const said = (one) => `“${words.slice(one.node.start, one.node.end).join(" ")}”`;
  const [tags, phrases] = [true, false].map((tag) => current.suggestions.filter((one) => (one.action === "retag") === tag));
  const row = (one) => button(one, [one.action === "relabel" ? `${one.node.label} → ` : "", labelled(one.label), ` ${said(one)}`], `${one.label} over ${said(one)}`);
  return el("details", { id: "anno-suggestions", open: true }, el("summary", {}, "Suggestions"),
    el("div", { class: "tools" }, phrases.map(row)),
    el("div", { class: "tools" }, words.map((word, index) => {
      const other = tags.filter((one) => one.node.start === index);
      return other.length ? el("span", { class: "hint" }, `${word} `, other.map((one) => button(one, one.label, `${one.label} for ${word}`))) : null;
    })));
}

// -- actions ----------------------------------------------------------------------------------------------------------

const change = (request, fields = {}) => ask(request, { name: current.name, revision: current.revision, generation: current.generation, ...fields });

async function edit(action, one, more = {}) {
  await show(await change("annotate", { action, ...spanOf(one), ...more }));
}

const target = (one) => ({ target_label: one.label, target_start: one.start, target_end: one.end });

/** A click or Enter: attach to this node, remove it, or keep it. */
function chosen(one) {
  focused = one.number;
  drawing.mark(focused);
  guarded(() => {
    if (attaching !== null) return attach(attaching, one);
    return pressed ? remove() : toggle();
  });
}

let pressed = false;  // whether Shift was held at the last click
addEventListener("click", (event) => { pressed = event.shiftKey; }, true);
addEventListener("keydown", () => { pressed = false; }, true);

async function toggle() {
  const one = node();
  if (isTag(one)) return prompt("relabel");
  return edit(one.held ? "release" : "require", one);
}

async function remove() {
  const one = node();
  if (isTag(one)) throw new Error("a word's tag cannot be removed; press r to change it");
  return edit("remove", one);
}

function startAttach() {
  attaching = focused;
  say("Walk to the phrase that it belongs to and press Enter, or click it; Escape cancels.");
}

async function attach(number, one) {
  attaching = null;
  const moved = current.nodes[number];
  const phrase = isTag(one) ? current.nodes[one.parent] : one;
  return edit("attach", moved, target(phrase));
}

async function raise() {
  const parent = current.nodes[node().parent], above = parent && current.nodes[parent.parent];
  if (!above) throw new Error("there is no phrase to raise it to");
  return edit("attach", node(), target(above));
}

async function split() {
  const parent = current.nodes[node().parent];
  if (!parent) throw new Error("choose the first node of the second half");
  return edit("split", parent, { at: node().start });
}

function prompt(kind) {
  const one = node(), tag = isTag(one) && kind === "relabel";
  const form = at("anno-prompt"), field = at("anno-label"), last = current.nodes[reach ?? focused];
  form.dataset.kind = tag ? "retag" : kind;
  form.hidden = false;
  at("anno-question").textContent = kind === "add" ? `New phrase over “${current.words.slice(one.start, last.end).join(" ")}”` : `New label instead of ${one.label}`;
  clear(at("anno-labels"), bank.labels[tag ? "tags" : "phrases"].map((label) => el("option", { value: label })));
  field.value = "";
  field.focus();
}

async function answer() {
  const kind = at("anno-prompt").dataset.kind, label = at("anno-label").value.trim(), one = node(), last = current.nodes[reach ?? focused];
  if (!label) throw new Error("type a label");
  at("anno-prompt").hidden = true;
  drawing.focusNode(focused);
  if (kind === "add") return edit("add", { label: one.label, start: one.start, end: last.end }, { new_label: label });
  return edit(kind, one, { new_label: label });
}

async function finish() {
  if (!current.done) await show(await change("annotate_finish", { done: true }));
  const { name } = await ask("annotate_next");
  await open(name);
}

const undo = async () => show(await change("annotate_undo"));
const comment = async () => {
  const typed = at("anno-comment").value;
  try {
    await show(await change("annotate_comment", { comment: typed }));
  } catch (error) {
    if (error.status !== 409) throw error;
    await show(await ask("annotated", { name: current.name }));
    at("anno-comment").value = [current.comment, typed].filter(Boolean).join("\n");  // neither comment is lost
    throw new Error(`${error.message}; both comments stand in the field`);
  }
};

function keys(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const group = event.target.closest?.(".node");
  if (group) focused = Number(group.dataset.number);
  if (event.shiftKey && event.key === "ArrowRight") {
    const last = current.nodes[reach ?? focused];
    const next = current.nodes.findIndex((one) => one.parent === last.parent && one.start === last.end);
    if (next >= 0) {
      reach = next;
      say(`“${current.words.slice(node().start, current.nodes[next].end).join(" ")}”: press n for a new phrase.`);
    }
    event.stopPropagation();
    return event.preventDefault();
  }
  if (event.key.startsWith("Arrow")) reach = null;
  const act = { x: remove, Delete: remove, r: () => prompt("relabel"), n: () => prompt("add"), a: startAttach, u: raise, s: split, z: undo, d: finish,
    c: () => at("anno-comment").focus(), Escape: () => { attaching = reach = null; say(""); } }[event.key];
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  guarded(async () => act());
}

/** Drag a node onto a phrase; a click that does not move is a click. */
function startDrag(event) {
  const group = event.target.closest(".node");
  if (!group || event.button) return;
  const number = Number(group.dataset.number), [x, y] = [event.clientX, event.clientY];
  const end = (up) => {
    removeEventListener("pointerup", end);
    const over = document.elementFromPoint(up.clientX, up.clientY)?.closest?.("svg.tree .node");
    if (!over || Math.hypot(up.clientX - x, up.clientY - y) < 8 || Number(over.dataset.number) === number) return;
    guarded(() => attach(number, current.nodes[Number(over.dataset.number)]));
  };
  addEventListener("pointerup", end);
}

// -- the bank ---------------------------------------------------------------------------------------------------------

async function add() {
  const { names } = await ask("annotate_add", { text: at("anno-text").value });
  at("anno-text").value = "";
  await reload();
  say(names.length ? `${names.length} sentence${names.length === 1 ? "" : "s"} added.` : "The bank has these sentences already.");
  if (!current) await open((await ask("annotate_next")).name);
}

async function train() {
  await ask("annotate_train");
  at("anno-train").disabled = true;
  at("anno-message").textContent = "Training …";
  for (;;) {
    await new Promise((done) => setTimeout(done, POLL));
    await reload();
    if (!bank.training) break;
  }
  at("anno-train").disabled = false;
  if (current && !current.revision) await show(await ask("annotated", { name: current.name }));
}

async function save() {
  const { text } = await ask("annotated_trees");
  if (!text) throw new Error("no tree is finished yet");
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
  el("a", { href: url, download: `${bank.bank}-${who}.mrg` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

async function compare(other) {
  if (!other) return;
  const found = await ask("agreement", { other });
  say(`${who} and ${other}: ${found.trees} trees, ${found.exact} equal, F1 ${found.f1.toFixed(1)}, kappa of phrases ${found.phrase_kappa.toFixed(2)}, of tags ${found.tag_kappa.toFixed(2)}.`);
}
