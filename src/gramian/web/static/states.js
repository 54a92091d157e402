// What latent states mean: bars of their posterior, a map, cards, and the tensor of a rule as a heat map.

import { bar, clear, el, get, percent } from "./dom.js";
import { labelled, meaning } from "./glossary.js";
import { stateMap } from "./map.js";

const shares = (title, list) => list.length
  ? el("p", {}, el("b", {}, `${title} `), list.map((one, at) =>
      el("span", { class: "share" }, `${at ? ", " : ""}${one.name}`, el("small", {}, ` ${percent(one.share)}`))))
  : null;

function card(state, posterior, choose) {
  const here = posterior ? `, ${percent(posterior[state.state])} here` : "";
  return el("article", { class: "card", "data-state": state.state, tabindex: -1 },
    el("h4", {}, state.name),
    el("p", {}, el("small", {}, `State ${state.state} · ${percent(state.share)} of all${here}`)),
    el("details", { open: Boolean(posterior) }, el("summary", {}, "Rules, words and places"),
      shares("Rules", state.rules), shares("Words", state.words), shares("Places", state.contexts),
      state.examples.length ? el("p", {}, el("b", {}, "As in "), state.examples.map((one, at) =>
        el("span", {}, at ? " · " : "", el("q", {}, one)))) : null),
    state.nearest.length ? el("p", { class: "nearest" }, el("small", {}, "Most alike "), state.nearest.map((one) =>
      el("button", { type: "button", class: "quiet", "aria-label": `State ${one}`, onclick: () => choose(one) }, one))) : null);
}

/** Whether a state has to do with what is searched for. */
const found = (state, words) => [state.name, ...state.examples, ...[...state.rules, ...state.words, ...state.contexts].map((one) => one.name)]
  .some((one) => one.toLowerCase().includes(words));

/** Map and cards of a symbol; those most probable here come first. */
export async function showStates(where, model, symbol, posterior) {
  clear(where, el("p", { class: "hint" }, "Reading the grammar …"));
  let about;
  try {
    about = await get("/api/states", { model, symbol });
  } catch (error) {
    clear(where, el("p", { class: "wrong" }, error.message));
    return null;
  }
  const ordered = posterior
    ? [...about.states].sort((one, two) => posterior[two.state] - posterior[one.state]) : about.states;
  const first = posterior ? 3 : 12;
  const choose = (state) => {
    if (!list.querySelector(`[data-state="${state}"]`)) showAll();
    where.querySelectorAll(".chosen").forEach((one) => one.classList.remove("chosen"));
    where.querySelectorAll(`[data-state="${state}"]`).forEach((one) => one.classList.add("chosen"));
    const chosen = list.querySelector(`[data-state="${state}"]`);
    chosen.hidden = false;
    chosen.querySelector("details").open = true;
    chosen.focus({ preventScroll: true });
    chosen.scrollIntoView({ block: "nearest" });
  };
  const list = el("div", { class: "cards" }, ordered.slice(0, first).map((state) => card(state, posterior, choose)));
  const showAll = () => {
    if (!more.isConnected) return;
    more.remove();
    list.append(...ordered.slice(first).map((state) => card(state, posterior, choose)));
  };
  const more = el("button", { type: "button", class: "quiet more", onclick: showAll },
    `Show all ${ordered.length} states`);
  const map = about.states.length > 1 ? stateMap(about, posterior, choose) : null;
  const told = el("span", { class: "hint", role: "status" });
  const search = el("input", { type: "search", class: "state-search", "aria-label": "Search the states", placeholder: "Search words, rules, places", oninput: () => {
    const words = search.value.trim().toLowerCase();
    const fits = words ? (state) => found(state, words) : null;
    if (words) showAll();
    map.search(fits);
    for (const one of list.children) one.hidden = Boolean(fits) && !fits(about.states.find((state) => state.state === Number(one.dataset.state)));
    told.textContent = fits ? ` ${about.states.filter(fits).length} of ${about.states.length} states` : "";
  } });
  const name = labelled(about.name);
  clear(where, el("h3", {}, `The ${about.states.length === 1 ? "only state" : `${about.states.length} states`} of `, name),
    el("p", { class: "hint" }, `${meaning(about.name) ?? (about.kind === "tag" ? "A tag" : "A phrase")}; ${(100 * about.share).toFixed(1)} % of all nodes.`),
    map ? el("p", {}, search, told) : null,
    el("div", { class: "described" }, map?.figure,
      el("div", {}, list, ordered.length > first ? more : null)));
  choose.names = new Map(about.states.map((state) => [state.state, state.name]));
  return choose;
}

/** The posterior of the states of a node as bars. */
export function stateBars(posterior, choose) {
  const order = posterior.map((value, state) => [value, state]).sort((one, two) => two[0] - one[0]);
  const shown = order.filter(([value], at) => at < 8 && (at < 3 || value >= 0.005));
  const rest = order.length - shown.length;
  return el("div", { class: "bars" },
    shown.map(([value, state]) => bar(`state ${state}`, value, {
      signed: value < 0, onclick: () => choose(state), state })),
    rest > 0 ? el("p", { class: "hint" }, `and ${rest} more, ${percent(order.slice(shown.length).reduce((sum, [value]) => sum + value, 0))} together`) : null);
}

/** The tensor of a rule: states of the children against each other, in one state of the parent or on average. */
export async function showTensor(where, model, parent, children, state = null) {
  let rule;
  try {
    rule = await get("/api/rule", { model, parent, left: children[0].symbol, right: children[1]?.symbol, state });
  } catch (error) {
    clear(where, el("p", { class: "wrong" }, error.message));
    return;
  }
  const binary = rule.children.length === 2;
  const [rows, columns] = [rule.matrix.length, rule.matrix[0].length];
  const names = binary ? rule.children : [rule.parent, rule.children[0]];
  const cell = Math.max(4, Math.min(24, Math.floor(300 / Math.max(rows, columns))));
  const canvas = el("canvas", { width: columns * cell, height: rows * cell, role: "img",
    "aria-label": `Heat map of ${rule.parent} → ${rule.children.join(" ")}: ${rows} states of ${names[0]} by ${columns} of ${names[1]}` });
  const paint = canvas.getContext("2d");
  const most = Math.max(...rule.matrix.flat().map(Math.abs), 1e-300);
  rule.matrix.forEach((row, y) => row.forEach((value, x) => {
    const strength = Math.sqrt(Math.abs(value) / most);
    paint.fillStyle = value < 0 ? `rgba(213,94,0,${strength})` : `rgba(0,114,178,${strength})`;
    paint.fillRect(x * cell, y * cell, cell, cell);
  }));
  const hover = el("output", { class: "hint" }, " ");
  canvas.addEventListener("pointermove", (event) => {
    const x = Math.floor(event.offsetX / canvas.clientWidth * columns), y = Math.floor(event.offsetY / canvas.clientHeight * rows);
    if (rule.matrix[y]?.[x] !== undefined)
      hover.textContent = `${names[0]} state ${y}, ${names[1]} state ${x}: ${rule.matrix[y][x]}`;
  });
  const choice = binary && el("label", {}, `State of ${rule.parent} `, el("select", {
    onchange: (event) => showTensor(where, model, parent, children, event.target.value === "" ? null : event.target.value) },
    el("option", { value: "" }, "average of all"),
    Array.from({ length: rule.shape[0] }, (_, one) => el("option", { value: one, selected: String(one) === String(state) }, one))));
  clear(where, el("h4", {}, `${rule.parent} → ${rule.children.join(" ")}`, el("small", {}, ` ${percent(rule.probability)} of ${rule.parent}`)),
    choice, el("div", { class: "heat" }, el("span", { class: "side" }, `states of ${names[0]} ↓`), canvas,
      el("span", { class: "below-side" }, `states of ${names[1]} →`)), hover,
    el("details", {}, el("summary", {}, "Largest cells as text"), el("ul", {}, rule.largest.map((one) =>
      el("li", {}, `${[rule.parent, ...rule.children].map((name, at) => `${name} ${one.states[at]}`).join(", ")}: ${one.value.toPrecision(3)}`)))));
}
