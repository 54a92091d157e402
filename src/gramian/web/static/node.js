// The panel of a node that was clicked: its states, what else its words could be, and the rules below it.

import { bar, clear, el, percent, post } from "./dom.js";
import { labelled } from "./glossary.js";
import { showStates, showTensor, stateBars } from "./states.js";

/** Fill the panel; `question` names the sentence, the model and the node. */
export async function showNode(panel, question, words, close) {
  const text = words.slice(question.start, question.end).join(" ");
  const title = el("h2", { tabindex: -1 }, labelled(question.name ?? (question.label || "root")), el("small", {}, ` “${text}”`));
  const head = el("header", { style: "padding:0 0 .4rem" }, title,
    el("button", { type: "button", class: "quiet", id: "close-node", onclick: close, style: "margin-left:auto" }, "Close"));
  panel.hidden = false;
  clear(panel, head, el("p", { class: "hint" }, "Looking inside …"));
  let node;
  try {
    node = await post("/api/node", question);
  } catch (error) {
    clear(panel, head, el("p", { class: "wrong" }, error.message));
    title.focus({ preventScroll: true });
    return;
  }
  const labels = node.labels.length ? [
    el("h3", {}, "Labels over these words"),
    el("div", { class: "bars", id: "labels" }, node.labels.map((one) => bar(one.label, one.posterior, { title: one.kind }))),
  ] : [];
  if (node.symbol === null) {
    clear(panel, head, el("p", {}, `The grammar finds no ${question.label} over these words: the phrase comes from elsewhere, or was too improbable to keep.`), labels);
    title.focus({ preventScroll: true });
    return;
  }
  const states = el("section", { id: "states" });
  const tensor = el("section", { id: "tensor", "aria-live": "polite" });
  let choose = () => {};
  const inner = (child) => ({ ...question, label: child.name, name: child.name, symbol: child.symbol, start: child.start, end: child.end });
  const rules = node.rules.map((rule) => el("li", {},
    el("span", {}, `${percent(rule.share)}  ${node.name} →`),
    rule.children.map((child) => el("button", { type: "button", class: "quiet",
      title: words.slice(child.start, child.end).join(" "),
      onclick: () => showNode(panel, inner(child), words, close) }, child.name)),
    el("button", { type: "button", class: "quiet tensor", onclick: () => showTensor(tensor, question.model, node.symbol, rule.children) },
      "heat map")));
  clear(panel, head,
    node.name === question.label ? null : el("p", { class: "hint" }, node.name.startsWith("@")
      ? `${node.name} is a part of a phrase: how the grammar builds long phrases from pairs.`
      : `The grammar has it as ${node.name}: a chain of phrases over the same words is one symbol.`),
    el("h3", {}, "States, given these words"),
    stateBars(node.states, (state) => choose(state)),
    labels,
    rules.length ? [el("h3", {}, "What it is made of"), el("ul", { class: "rules" }, rules), tensor] : [],
    states);
  title.focus({ preventScroll: true });
  choose = (await showStates(states, question.model, node.symbol, node.states)) ?? choose;
  panel.querySelectorAll(".bar[data-tip]").forEach((one) => {
    const name = choose.names?.get(Number(one.dataset.tip.split(" ")[1])) ?? "";
    if (!name) return;
    one.dataset.more = name;
    one.classList.add("named");
    one.querySelector(".name").append(el("small", {}, ` · ${name}`));
  });
}
