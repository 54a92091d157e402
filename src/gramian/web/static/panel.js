// The card of one tree: what to think of it, the tree, large, its dependencies, and what can be done with it.

import { clear, el, post, say } from "./dom.js";
import { drawArcs } from "./arcs.js";
import { saveMenu } from "./save.js";
import { drawTree, fittingLayout, nestedText } from "./trees.js";
import { verdict } from "./verdict.js";

const LARGEST = 1.7;  // times the size of its text that a small tree grows to fill the card

/** What the reader should know about the words of a tree, if anything. */
function notice(row, words, language) {
  const name = (code) => new Intl.DisplayNames("en", { type: "language" }).of(code);
  if (row.language) return el("p", { class: "notice" },
    `This seems to be ${row.language === "und" ? "another language" : name(row.language)}; the model was trained on ${name(language)}.`);
  if (row.restored) return el("p", { class: "hint notice" }, `Parsed in its usual case: ${row.restored.join(" ")}`);
  return null;
}

/** Make a card; `options` are the words, the title's extra, facts, whether it stands alone, and what to do with a chosen node. */
export function makePanel(row, place, { words, extra, facts, alone, name, language, choose, turn, showStates, statesChanged }) {
  const scroll = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Tree ${place + 1}` });
  const own = { row, shown: null, zoom: null, drawing: null, states: null };
  const title = name ?? (row.isGold ? row.title : verdict(row, words));
  own.fitting = () => fittingLayout(row.nodes, Math.max(scroll.clientWidth - 4, 280), own.states);
  own.draw = (layout = own.shown) => {
    own.shown = layout;
    const drawn = drawTree(row.nodes, words, {
      layout: own.shown, states: own.states, choose: (node) => choose(place, node, node.number), label: title,
    });
    [own.drawing, own.size] = [drawn.drawing, drawn.size];
    scale();
    clear(scroll, own.drawing);
  };
  const fitting = () => Math.min(LARGEST, Math.max(own.shown === "row" ? 1 : 0.9, (scroll.clientWidth - 4) / own.size.width),
    Math.max(1, 0.78 * innerHeight / own.size.height));
  const scale = () => {
    const zoom = own.zoom ?? fitting();
    own.drawing.setAttribute("width", zoom * own.size.width);
    own.drawing.setAttribute("height", zoom * own.size.height);
  };
  own.rescale = () => { if (own.drawing) scale(); };
  const zoom = (factor) => { own.zoom = factor ? Math.min(4, Math.max(0.2, (own.zoom ?? fitting()) * factor)) : Math.min(1, scroll.clientWidth / own.size.width); scale(); };
  const tool = (name, label, onclick, more = {}) => el("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick, ...more }, name);
  own.toggleStates = async () => {
    if (own.states) own.states = null;
    else {
      try {
        own.states = (await post("/api/best_states", { model: row.model, tree: row.tree })).states;
      } catch (error) {
        say(error.message, true);
        return;
      }
    }
    stateButton.setAttribute("aria-pressed", own.states !== null);
    statesChanged(own.states !== null);
    own.draw();
  };
  const stateButton = tool("states", "Show states: the most probable one of every node", own.toggleStates, { "aria-pressed": false });
  const arcs = row.dependencies ? el("details", { class: "dependencies", open: alone },
    el("summary", {}, "Dependencies"), el("div", { class: "scroll wide", tabindex: 0, role: "region", "aria-label": `Dependencies of tree ${place + 1}` },
      drawArcs(words, row.nodes.filter((node) => node.word !== null).map((node) => node.label), row.dependencies.heads, row.dependencies.relations))) : null;
  own.figure = el("figure", { class: "parse", "data-place": place },
    el("header", {}, el("h2", {}, title, extra ? el("small", {}, ` ${extra}`) : null), el("span", { class: "facts" }, facts)),
    el("div", { class: "about" }, notice(row, words, language),
      row.missing?.length > (name ? 1 : 0) ? el("p", { class: "hint missing" }, "Missing: ", row.missing.slice(0, 12).map((one) =>
        `${one.label} “${words.slice(one.start, one.end).join(" ")}”`).join(", ")) : null,
      el("p", { class: "explain" }, "\u00a0")),
    scroll,
    el("div", { class: "tools", role: "group", "aria-label": "Tools" },
      tool("−", "Smaller", () => zoom(0.8)), tool("+", "Larger", () => zoom(1.25)), tool("fit", "Fit the width", () => zoom(0)),
      tool("turn", "Turn: words in a row, in a column, or as an outline", () => {
        own.zoom = null;
        turn({ row: "column", column: "outline", outline: "row" }[own.shown]);
      }), stateButton, saveMenu(row)),
    el("div", {}, arcs, el("details", {}, el("summary", {}, "As nested text"), nestedText(row.nodes, words))));
  if (showStates) queueMicrotask(own.toggleStates);  // once the tree is drawn
  return own;
}
