// Trees: drawn as SVG that can be walked with arrow keys, and written as nested lists for who does not see it.

import { colour, el, percent, svg } from "./dom.js";

const SIZE = 14, ROW = 26, LEVEL = 44, GAP = 12, MARGIN = 12, INDENT = 20, NOTE = 22;
const ruler = document.createElement("canvas").getContext("2d");

function width(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}

/** The first part of a state's name, cut to fit beside a node: "subject personal pronouns". */
function shortName(state) {
  if (!state) return "";
  const name = (state.name ?? "").split(": ")[0].replace(/^\S+ phrases (?=\S)/, "") || `state ${state.state}`;
  return name.length > NOTE ? `${name.slice(0, NOTE - 1).trimEnd()}…` : name;
}

/** Add to each node its children, its height above the words, its depth, and the widths of its texts. */
function prepare(nodes, states = null) {
  const made = nodes.map((node, number) => ({ ...node, number, children: [], level: 0, depth: 1 }));
  for (const node of made)
    if (node.parent >= 0) {
      made[node.parent].children.push(node);
      node.depth = made[node.parent].depth + 1;
    }
  for (const node of [...made].reverse()) {
    for (const child of node.children) node.level = Math.max(node.level, child.level + 1);
    const state = states?.[node.number];
    node.note = states ? shortName(state) : node.word === null && node.confidence !== null && node.confidence < 0.95 ? percent(node.confidence) : "";
    node.state = state ? `state ${state.state}${state.name ? `, ${state.name}` : ""}, ${percent(state.share)}` : "";
    node.labelWidth = width(node.label || "·", `${node.word === null ? SIZE : SIZE - 2}px system-ui`) + 10;
    node.noteWidth = node.note ? width(node.note, "10px system-ui") + 4 : 0;
    node.boxWidth = node.labelWidth + node.noteWidth;
    node.wordWidth = node.word === null ? 0 : width(node.word, `600 ${SIZE}px system-ui`);
  }
  return made;
}

/** Room along the words for every node, and its middle there. */
function spread(nodes, room) {
  const need = nodes.map(() => 0);
  for (const node of [...nodes].reverse()) {
    const below = node.children.reduce((sum, child) => sum + need[child.number], 0);
    need[node.number] = Math.max(room(node), below);
    node.spare = node.children.length ? (need[node.number] - below) / node.children.length : 0;
  }
  nodes[0].from = MARGIN;
  for (const node of nodes) {
    let at = node.from;
    for (const child of node.children) {
      child.from = at + node.spare / 2;
      at += need[child.number] + node.spare;
    }
    node.along = node.from + need[node.number] / 2;
  }
  for (const node of [...nodes].reverse())
    if (node.children.length) node.along = (node.children[0].along + node.children.at(-1).along) / 2;
  return need[0];
}

// Each layout gives every node its left edge and its middle height, and every word its place; it returns the size.
const LAYOUTS = {
  /** Words in a row, the root on top. */
  row(nodes) {
    const width = spread(nodes, (node) => Math.max(node.boxWidth, node.wordWidth) + GAP);
    const top = nodes[0].level;
    for (const node of nodes) {
      [node.x, node.y] = [node.along - node.boxWidth / 2, MARGIN + SIZE + LEVEL * (top - node.level)];
      [node.wordX, node.wordY] = [node.along - node.wordWidth / 2, node.y + 1.45 * SIZE];
    }
    return { width: width + 2 * MARGIN, height: LEVEL * top + 3 * SIZE + 2 * MARGIN };
  },
  /** Words in a column, the root at the left. */
  column(nodes) {
    const height = spread(nodes, () => ROW);
    const widest = Array(nodes[0].level + 1).fill(0);
    for (const node of nodes) widest[node.level] = Math.max(widest[node.level], node.boxWidth);
    const left = [];
    let at = MARGIN;
    for (let level = nodes[0].level; level >= 0; level--) {
      left[level] = at;
      at += widest[level] + 16;
    }
    for (const node of nodes) {
      [node.x, node.y] = [left[node.level] + (widest[node.level] - node.boxWidth) / 2, node.along];
      [node.wordX, node.wordY] = [at, node.y];
    }
    return { width: at + Math.max(...nodes.map((node) => node.wordWidth)) + MARGIN, height: height + 2 * MARGIN };
  },
  /** A row for every node, further right the deeper it lies: the narrowest. */
  outline(nodes) {
    let width = 0;
    nodes.forEach((node, row) => {
      [node.x, node.y] = [MARGIN + INDENT * (node.depth - 1), MARGIN + ROW * (row + 0.5)];
      [node.wordX, node.wordY] = [node.x + node.boxWidth + 6, node.y];
      width = Math.max(width, node.wordX + node.wordWidth);
    });
    return { width: width + MARGIN, height: ROW * nodes.length + 2 * MARGIN };
  },
};

function edge(parent, child, layout) {
  const middle = (node) => node.x + node.boxWidth / 2;
  if (layout === "row") {
    const start = parent.y + 12;
    return `M${middle(parent)} ${start}V${start + (LEVEL - 24) / 2}H${middle(child)}V${child.y - 12}`;
  }
  if (layout === "column") {
    const start = parent.x + parent.boxWidth + 1;
    return `M${start} ${parent.y}H${start + 6}V${child.y}H${child.x - 1}`;
  }
  return `M${parent.x + 8} ${parent.y + 12}V${child.y}H${child.x - 1}`;
}

export function describe(node, words) {
  const sure = node.confidence === null ? "" : `, ${percent(node.confidence)} sure`;
  const differs = node.differs ? ", differs" : node.moved ? ", attached elsewhere" : "";
  const held = node.held ? ", kept" : "";
  return `${node.label || "root"}: ${words.slice(node.start, node.end).join(" ")}${sure}${differs}${held}`;
}

function drawNode(node, words, choose) {
  const paint = node.word === null && node.confidence !== null ? colour(node.confidence) : null;
  const parts = [svg("rect", {
    class: "box", x: node.x, y: node.y - 11, width: node.labelWidth, height: 22, rx: 5, fill: paint?.fill ?? "transparent",
  })];
  parts.push(svg("text", {
    x: node.x + node.labelWidth / 2, y: node.y + 5, style: paint && `fill:${paint.ink}`, class: node.word === null ? "" : "tag",
  }, node.label || "·"));
  if (node.word !== null) parts.push(" ", svg("text", { class: "word", x: node.wordX, y: node.wordY + 5 }, node.word));
  return svg("g", {
    class: `node${node.differs ? " differs" : ""}${node.held ? " held" : ""}`, role: "treeitem", tabindex: node.number ? -1 : 0,
    "aria-level": node.depth, "aria-label": describe(node, words), "data-number": node.number,
    "data-tip": node.label, "data-more": [words.slice(node.start, node.end).join(" "), node.confidence === null ? "" : `${percent(node.confidence)} sure`, node.state]
      .filter(Boolean).join(" · "), onclick: () => choose(node),
  }, parts);
}

/** Draw a tree; `choose(node)` is called for a node that is clicked, or on which Enter is pressed. */
export function drawTree(nodes, words, { layout, choose, label, states = null }) {
  const made = prepare(nodes, states);
  const size = LAYOUTS[layout](made);
  const drawing = svg("svg", {
    class: "tree", role: "tree", "data-layout": layout, "aria-label": label, viewBox: `0 0 ${Math.ceil(size.width)} ${Math.ceil(size.height)}`,
  });
  for (const node of made)
    if (node.children.length)
      for (const moved of [false, true])
        drawing.append(svg("path", { class: moved ? "moved" : null, d: node.children.filter((child) => Boolean(child.moved) === moved).map((child) => edge(node, child, layout)).join("") }));
  const groups = made.map((node) => drawNode(node, words, choose));
  drawing.append(...groups);
  for (const node of made)
    if (node.note) drawing.append(svg("text", { class: "note", "aria-hidden": "true", x: node.x + node.labelWidth + 2, y: node.y + 4 }, node.note));

  let current = 0;
  const focus = (number) => {
    groups[current].setAttribute("tabindex", -1);
    current = number;
    groups[current].setAttribute("tabindex", 0);
    groups[current].focus();
  };
  drawing.addEventListener("focusin", (event) => {
    const group = event.target.closest(".node");
    if (group) current = Number(group.dataset.number);
  });
  drawing.addEventListener("keydown", (event) => {
    const node = made[current];
    const siblings = node.parent < 0 ? [node] : made[node.parent].children;
    const at = siblings.indexOf(node);
    const moves = layout === "row"
      ? { up: "ArrowUp", down: "ArrowDown", back: "ArrowLeft", on: "ArrowRight" }
      : { up: "ArrowLeft", down: "ArrowRight", back: "ArrowUp", on: "ArrowDown" };
    const to = {
      [moves.up]: node.parent, [moves.down]: node.children[0]?.number, [moves.back]: siblings[at - 1]?.number,
      [moves.on]: siblings[at + 1]?.number, Home: 0,
    }[event.key];
    if (event.key === "Enter" || event.key === " ") choose(node);
    else if (to !== undefined && to >= 0) focus(to);
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  });
  drawing.mark = (number) => {
    drawing.querySelector(".chosen")?.classList.remove("chosen");
    if (number !== null) groups[number].classList.add("chosen");
  };
  drawing.focusNode = focus;
  return { drawing, size };
}

/** The first layout that fits into a width, or the narrowest. */
export function fittingLayout(nodes, width, states = null) {
  return ["row", "column"].find((layout) => LAYOUTS[layout](prepare(nodes, states)).width <= width) ?? "outline";
}

/** Of several layouts the one that all trees fit in. */
export const narrowest = (layouts) => ["outline", "column"].find((one) => layouts.includes(one)) ?? "row";

/** The tree as nested lists. */
export function nestedText(nodes, words) {
  const items = nodes.map((node) => {
    const text = node.word === null ? describe(node, words) : `${node.label}: ${node.word}${node.differs ? ", differs" : ""}`;
    return el("li", {}, el("span", {}, text));
  });
  const lists = new Map();
  nodes.forEach((node, number) => {
    if (node.parent < 0) return;
    if (!lists.has(node.parent)) {
      lists.set(node.parent, el("ul"));
      items[node.parent].append(lists.get(node.parent));
    }
    lists.get(node.parent).append(items[number]);
  });
  return el("ul", { class: "nested" }, items[0]);
}
