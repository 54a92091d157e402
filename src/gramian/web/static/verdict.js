// How confident the parser is of a parse: of its least confident phrase, and of those below the threshold.

import { percent } from "./dom.js";

let threshold = 0.5;  // phrases below have a low confidence; the server says which threshold holds
const STATUS = {
  narrow: "parsed with a narrow search, since it is long", wide: "parsed with a wider search", glued: "no full tree: phrases side by side",
  parts: "parsed in parts, since it is long", flat: "no tree was found: the words stand side by side",
  stopped: "stopped, since it took too long", empty: "no words",
};

export function setThreshold(value) { threshold = value ?? threshold; }

const quoted = (node, words) => {
  const text = words.slice(node.start, node.end);
  return `“${text.length > 7 ? [...text.slice(0, 3), "…", ...text.slice(-2)].join(" ") : text.join(" ")}”`;
};
const named = (node, words) => `${node.label} ${quoted(node, words)} (${percent(node.confidence)})`;

/** The phrases of a tree, root included, the least confident first; a span that occurs twice counts once. */
export function ranked(nodes) {
  const seen = new Set();
  return nodes.filter((node) => node.word === null && node.confidence !== null)
    .sort((one, two) => one.confidence - two.confidence)
    .filter((node) => !seen.has(`${node.start}-${node.end}`) && seen.add(`${node.start}-${node.end}`));
}

/** The confidence of the least confident phrase: the confidence of the sentence. */
export const sureness = (nodes) => Math.min(1, ...ranked(nodes).map((node) => node.confidence));

/** A title such as: Low confidence in PP “with a telescope” (42 %). */
export function verdict(row, words) {
  if (STATUS[row.status] && !["narrow", "wide", "parts"].includes(row.status)) return sentence(STATUS[row.status]);
  if (row.nodes.every((node) => node.confidence === null)) return "A tree as typed";
  const phrases = ranked(row.nodes), low = phrases.filter((node) => node.confidence < threshold);
  const how = STATUS[row.status] ? `; ${STATUS[row.status]}` : "";
  if (!phrases.length) return sentence(`no phrases${how}`);
  if (!low.length) return `Least confident phrase: ${named(phrases[0], words)}${how}`;
  const more = low.length > 2 ? ` and ${low.length - 2} more` : "";
  return `Low confidence in ${low.slice(0, 2).map((node) => named(node, words)).join(" and ")}${more}${how}`;
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1);
