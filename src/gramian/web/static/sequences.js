// Dependency trees with the automata of their heads, and an automaton that can be stepped through.

import { bar, clear, copy, el, percent, picture, post } from "./dom.js";

// -- an automaton, step by step ---------------------------------------------------------------------------------------

/** Picture, buttons for the steps, states and predictions after the chosen step. */
function stepper(answer, label) {
  const where = el("div", { class: "split" });
  const drawing = picture(answer.picture.svg, `${label}: ${answer.picture.stops.length} states`);
  const circles = [...drawing.shadowRoot.querySelectorAll("circle")];
  const states = el("div", { class: "bars", "aria-live": "polite" }), next = el("div", { class: "bars" }), note = el("p", { class: "hint" });
  const buttons = answer.steps.map((step, number) => el("button", {
    type: "button", class: step.known ? "quiet" : "quiet unknown", title: step.known ? "" : "not in the alphabet",
    onclick: () => go(number) }, number ? step.symbol : "start"));
  let current = 0;
  const go = (number) => {
    current = number;
    const step = answer.steps[number];
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", at === number));
    circles.forEach((circle, at) => { circle.style.fill = at === step.place ? "#ffd28a" : ""; });
    const order = step.states.map((value, state) => [value, state]).sort((one, two) => Math.abs(two[0]) - Math.abs(one[0])).slice(0, 10);
    clear(states, order.map(([value, state]) => bar(`state ${state}`, value, { signed: !answer.distribution })));
    clear(next, step.next.map(([name, value]) => bar(name, value, { signed: !answer.distribution })));
    note.textContent = step.place === null || !answer.picture.deterministic ? "" : `In the picture: state ${step.place}.`;
  };
  const row = el("div", { class: "steps", role: "group", "aria-label": "Steps", onkeydown: (event) => {
    const to = { ArrowRight: current + 1, ArrowLeft: current - 1 }[event.key];
    if (to === undefined || !buttons[to]) return;
    event.preventDefault();
    go(to);
    buttons[to].focus();
  } }, buttons);
  where.append(
    el("div", {}, drawing, el("details", {}, el("summary", {}, "Arrows as text"), el("ul", {}, answer.picture.arrows.map((arrow) =>
      el("li", {}, `${arrow.source} → ${arrow.target}: ${arrow.symbols.slice(0, 12).map(([name, weight]) => `${name} ${weight.toFixed(3)}`).join(", ")}`))),
      el("p", { class: "hint" }, `Stops: ${answer.picture.stops.map((value, state) => `${state} ${value.toFixed(2)}`).join(", ")}`))),
    el("div", {}, row, note,
      el("h3", {}, answer.distribution ? "Distribution over states" : "State vector (weights, no probabilities)"), states,
      el("h3", {}, "What comes next"), next,
      answer.log_prob === null ? null : el("p", { class: "hint" }, `Log-probability of the whole: ${answer.log_prob.toFixed(2)}`)));
  go(answer.steps.length - 1);
  return where;
}

/** The automaton's own view; `symbols` and `clusters` can be changed in it. */
export function automatonView(where, about, symbols, clusters, changed) {
  const field = el("input", { id: "symbols", value: symbols.join(" "), style: "width:100%" });
  const count = el("input", { id: "clusters", type: "number", min: 1, max: 20, value: clusters });
  const shown = el("div", { id: "automaton" });
  const run = async () => {
    const typed = field.value.split(/\s+/).filter(Boolean);
    changed(typed, Number(count.value));
    try {
      const answer = await post("/api/automaton", { symbols: typed, clusters: Number(count.value) });
      clear(shown, stepper(answer, about.name));
    } catch (error) {
      clear(shown, el("p", { class: "wrong" }, error.message));
    }
  };
  clear(where, el("h2", {}, "Automaton", el("small", {}, ` ${about.name}`)), el("form", { class: "options", onsubmit: (event) => { event.preventDefault(); run(); } },
    el("label", { style: "flex:1 1 20rem" }, "Symbols ", field), el("label", {}, "States in the picture ", count),
    el("button", { class: "main" }, "Step")),
    el("p", { class: "hint" }, `${about.name}: ${about.states} states, ${about.alphabet.length} symbols, such as ${about.alphabet.slice(0, 12).join(" ")}. ` +
      "The picture is a small deterministic automaton that behaves much as this one does; red is the probability to stop."),
    shown);
  return run();
}

// -- dependency trees -------------------------------------------------------------------------------------------------

export async function dependencyView(where, question, chosen, choose) {
  clear(where, el("p", { class: "hint" }, "Parsing …"));
  let parse;
  try {
    parse = await post("/api/dependency", question);
  } catch (error) {
    clear(where, el("p", { class: "wrong" }, error.message));
    return;
  }
  const panel = el("section", { id: "head", "aria-live": "polite" });
  const drawing = picture(parse.svg, `Dependency tree of: ${parse.words.join(" ")}`);
  drawing.setAttribute("role", "group");  // its words can be clicked
  const words = [...drawing.shadowRoot.querySelectorAll("text.word")];
  const show = (number) => {
    words.forEach((one, at) => { one.style.fontWeight = at === number ? "bold" : ""; one.style.fill = at === number ? "#9a3b00" : ""; });
    choose(number);
    showHead(panel, parse, number);
  };
  words.forEach((word, number) => {
    word.setAttribute("tabindex", 0);
    word.setAttribute("role", "button");
    word.style.cursor = "pointer";
    word.addEventListener("click", () => show(number));
    word.addEventListener("keydown", (event) => { if (event.key === "Enter") show(number); });
  });
  const rows = parse.words.map((word, number) => el("tr", {},
    el("td", { class: "number" }, number + 1), el("td", {}, el("button", { type: "button", class: "quiet", onclick: () => show(number) }, word)),
    el("td", {}, parse.tags[number]), el("td", {}, parse.heads[number] ? parse.words[parse.heads[number] - 1] : "root"),
    el("td", {}, parse.relations[number]), el("td", { class: "number" }, percent(parse.confidences[number]))));
  clear(where,
    el("h2", {}, "Dependencies", el("small", {}, ` by ${question.name ?? "the dependency parser"}`)),
    el("div", { class: "steps" }, el("span", { class: "hint" }, `Status: ${parse.status}. Click a word for the automata of its modifiers.`),
      ...[["CoNLL-U", () => parse.conllu], ["JSON", () => JSON.stringify(parse)], ["SVG", () => parse.svg]].map(([name, text]) =>
        el("button", { type: "button", class: "quiet", onclick: () => copy(text(), `as ${name}`) }, `Copy ${name}`))),
    drawing,
    el("details", {}, el("summary", {}, "As a table"), el("table", {}, el("thead", {}, el("tr", {},
      ["", "word", "tag", "head", "relation", "sure"].map((name) => el("th", {}, name)))), el("tbody", {}, rows))),
    panel);
  if (chosen !== null && chosen < words.length) show(chosen);
}

/** Left and right automata of a word, along the modifiers it has. */
async function showHead(panel, parse, number) {
  const side = (direction) => parse.symbols.filter((_, at) => parse.heads[at] === number + 1 && (direction === "left" ? at < number : at > number));
  const sections = await Promise.all(["left", "right"].map(async (direction) => {
    const symbols = direction === "left" ? side("left").reverse() : side("right");
    const title = el("h3", {}, `${parse.words[number]} (${parse.symbols[number]}): modifiers on the ${direction}, from the head outwards`);
    try {
      const answer = await post("/api/head", { head: parse.symbols[number], direction, symbols, clusters: 6 });
      return [title, stepper(answer, `Automaton of ${parse.symbols[number]}, ${direction}`)];
    } catch (error) {
      return [title, el("p", { class: "wrong" }, error.message)];
    }
  }));
  clear(panel, sections);
}
