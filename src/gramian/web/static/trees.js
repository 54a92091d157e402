// Trees: drawn as SVG that can be walked with arrow keys, and written as nested lists for who does not see it.

import { colour, el, percent, svg } from "./dom.js";

const SIZE = 14, ROW = 26, LEVEL = 44, GAP = 12, MARGIN = 12;
const ruler = document.createElement("canvas").getContext("2d");

function width(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}

/** Add to each node its children, its height above the words, and the widths of its texts. */
function prepare(nodes) {
  const made = nodes.map((node, number) => ({ ...node, number, children: [], level: 0 }));
  for (const node of made) if (node.parent >= 0) made[node.parent].children.push(node);
  for (const node of [...made].reverse()) {
    for (const child of node.children) node.level = Math.max(node.level, child.level + 1);
    node.note = node.word === null && node.confidence !== null && node.confidence < 0.95 ? percent(node.confidence) : "";
    node.labelWidth = width(node.label || "·", `${node.word === null ? SIZE : SIZE - 2}px system-ui`) + 10;
    node.noteWidth = node.note ? width(node.note, "10px system-ui") + 4 : 0;
    node.wordWidth = node.word === null ? 0 : width(node.word, `600 ${SIZE}px system-ui`);
  }
  return made;
}

/** Give every node its middle (x, y); return the size of the drawing. */
function place(nodes, down) {
  const need = nodes.map(() => 0);
  for (const node of [...nodes].reverse()) {
    const own = down ? Math.max(node.labelWidth + node.noteWidth, node.wordWidth) + GAP : ROW;
    const below = node.children.reduce((sum, child) => sum + need[child.number], 0);
    need[node.number] = Math.max(own, below);
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
  const top = nodes[0].level;
  if (down) {
    for (const node of nodes) [node.x, node.y] = [node.along, MARGIN + SIZE + LEVEL * (top - node.level)];
    return { width: need[0] + 2 * MARGIN, height: LEVEL * top + 3 * SIZE + 2 * MARGIN };
  }
  const widest = Array(top + 1).fill(0);
  for (const node of nodes) widest[node.level] = Math.max(widest[node.level], node.labelWidth + node.noteWidth);
  const middle = Array(top + 1).fill(0);
  let at = MARGIN;
  for (let level = top; level >= 0; level--) {
    middle[level] = at + widest[level] / 2;
    at += widest[level] + 16;
  }
  for (const node of nodes) [node.x, node.y] = [middle[node.level], node.along];
  const words = Math.max(...nodes.map((node) => node.wordWidth));
  for (const node of nodes) node.wordAt = at;
  return { width: at + words + MARGIN, height: need[0] + 2 * MARGIN };
}

function edge(parent, child, down) {
  if (down) {
    const start = parent.y + 12, end = child.y - 12;
    return `M${parent.x} ${start}V${start + (LEVEL - 24) / 2}H${child.x}V${end}`;
  }
  const start = parent.x + parent.labelWidth / 2 + parent.noteWidth / 2 + 1;
  const end = child.x - child.labelWidth / 2 - child.noteWidth / 2 - 1;
  return `M${start} ${parent.y}H${start + 6}V${child.y}H${end}`;
}

export function describe(node, words) {
  const sure = node.confidence === null ? "" : `, ${percent(node.confidence)} sure`;
  const differs = node.differs ? ", differs" : "";
  return `${node.label || "root"}: ${words.slice(node.start, node.end).join(" ")}${sure}${differs}`;
}

function drawNode(node, words, down, choose) {
  const paint = node.word === null && node.confidence !== null ? colour(node.confidence) : null;
  const left = node.x - (node.labelWidth + node.noteWidth) / 2;
  const parts = [svg("title", {}, describe(node, words))];
  parts.push(svg("rect", {
    class: "box", x: left, y: node.y - 11, width: node.labelWidth, height: 22, rx: 5, fill: paint?.fill ?? "transparent",
  }));
  parts.push(svg("text", {
    x: left + node.labelWidth / 2, y: node.y + 5, style: paint && `fill:${paint.ink}`, class: node.word === null ? "" : "tag",
  }, node.label || "·"));
  if (node.note) parts.push(svg("text", { class: "note", x: left + node.labelWidth + 2, y: node.y + 4 }, node.note));
  if (node.word !== null)
    parts.push(down
      ? svg("text", { class: "word", x: node.x, y: node.y + 5 + 1.45 * SIZE }, node.word)
      : svg("text", { class: "word start", x: node.wordAt, y: node.y + 5 }, node.word));
  return svg("g", {
    class: `node${node.differs ? " differs" : ""}`, role: "treeitem", tabindex: node.number ? -1 : 0,
    "aria-level": node.depth, "aria-label": describe(node, words), "data-number": node.number,
    onclick: () => choose(node),
  }, parts);
}


/** Draw a tree; `choose(node)` is called for a node that is clicked, or on which Enter is pressed. */
export function drawTree(nodes, words, { down, choose, label }) {
  const made = prepare(nodes);
  for (const node of made) node.depth = node.parent < 0 ? 1 : made[node.parent].depth + 1;
  const size = place(made, down);
  const drawing = svg("svg", {
    class: "tree", role: "tree", "aria-label": label, viewBox: `0 0 ${Math.ceil(size.width)} ${Math.ceil(size.height)}`,
  });
  for (const node of made)
    if (node.children.length)
      drawing.append(svg("path", { d: node.children.map((child) => edge(node, child, down)).join("") }));
  const groups = made.map((node) => drawNode(node, words, down, choose));
  drawing.append(...groups);

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
    const moves = down
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
