// Dependencies as arcs above the words; each word has as much room as it needs.

import { svg } from "./dom.js";

const RISE = 26, GAP = 18, MARGIN = 14;
const STEP = 7;  // between the ends of arcs at a word
const WORD = "600 16px system-ui", TAG = "12px system-ui", RELATION = "12px system-ui";
const LEAST = 0.75;  // of its size, to which a wide drawing shrinks before it is scrolled
const ruler = document.createElement("canvas").getContext("2d");

const measure = (text, font) => { ruler.font = font; return ruler.measureText(text).width; };

/** How high each arc rises to pass over those below it. */
function levels(heads) {
  const arcs = heads.map((head, at) => ({ at, from: Math.min(at, head - 1), to: Math.max(at, head - 1), root: !head }));
  const high = heads.map(() => 0);
  for (const arc of arcs.filter((one) => !one.root).sort((one, two) => one.to - one.from - (two.to - two.from))) {
    const below = arcs.filter((one) => !one.root && one !== arc && one.from >= arc.from && one.to <= arc.to).map((one) => high[one.at]);
    high[arc.at] = 1 + Math.max(0, ...below);
  }
  return high;
}

/** Where the two ends of each arc stand beside the middles of their words: long arcs further inside, so that none share a line. */
function ends(heads, widths) {
  const places = heads.map(() => ({}));
  heads.forEach((_, word) => {
    for (const side of [-1, 1]) {
      const arcs = heads.map((head, at) => ({ at, there: at === word ? head - 1 : at, end: at === word ? "to" : "from", head }))
        .filter((arc) => arc.head && (arc.at === word || arc.head - 1 === word) && Math.sign(arc.there - word) === side)
        .sort((one, two) => Math.abs(two.there - word) - Math.abs(one.there - word));
      const step = Math.min(STEP, widths[word] / 2 / (arcs.length + 1));
      arcs.forEach((arc, number) => { places[arc.at][arc.end] = side * step * (number + 0.5); });
    }
  });
  return places;
}

/** Draw the dependencies of words: `heads` from 1, 0 for the root, `relations` by name. */
export function drawArcs(words, tags, heads, relations) {
  const high = levels(heads), top = Math.max(1, ...high);
  // A word is as wide as its own text, its tag, and the name of an arc to its neighbour.
  const names = words.map((_, at) => Math.abs(heads[at] - 1 - at) === 1 && heads[at] ? measure(relations[at], RELATION) + 8 + 2 * STEP : 0);
  const widths = words.map((word, at) => Math.max(measure(word, WORD), measure(tags[at], TAG), names[at]) + GAP);
  const middle = [];
  let right = MARGIN;
  for (const width of widths) { middle.push(right + width / 2); right += width; }
  const places = ends(heads, widths);
  const base = MARGIN + 22 + RISE * top, width = right + MARGIN, height = base + 52;
  const drawing = svg("svg", { class: "arcs", role: "img", width, style: `min-width:${LEAST * width}px`, viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
    "aria-label": `Dependencies: ${words.map((word, at) => `${word} ${heads[at] ? `← ${words[heads[at] - 1]} (${relations[at]})` : "is the root"}`).join(", ")}` });
  heads.forEach((head, at) => {
    const x = middle[at];
    if (!head) {
      drawing.append(svg("path", { d: `M${x} ${MARGIN + 12}V${base - 3}`, class: "root" }),
        svg("text", { x, y: MARGIN + 6, class: "relation" }, "root"));
      return;
    }
    const from = middle[head - 1] + places[at].from, to = x + places[at].to, y = base - RISE * high[at];
    const bend = Math.min(14, Math.abs(to - from) / 2) * Math.sign(to - from);
    const kind = relations[at] === "punct" ? "mark" : null;  // fainter than arcs between words
    drawing.append(
      svg("path", { class: kind, d: `M${from} ${base}V${y + 10}Q${from} ${y} ${from + bend} ${y}H${to - bend}Q${to} ${y} ${to} ${y + 10}V${base - 3}` }),
      svg("path", { d: `M${to - 3.5} ${base - 7}L${to} ${base - 1}L${to + 3.5} ${base - 7}Z`, class: "tip" }),
      svg("text", { x: (from + to) / 2, y: y - 4, class: "relation", "data-tip": relations[at] }, relations[at]));
  });
  words.forEach((word, at) => drawing.append(
    svg("text", { x: middle[at], y: base + 18, class: "word" }, word),
    svg("text", { x: middle[at], y: base + 36, class: "tag", "data-tip": tags[at] }, tags[at])));
  return drawing;
}
