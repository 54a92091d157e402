// What a person wants to know of a parse first: how sure the parser is, and what to doubt.

import { percent } from "./dom.js";

const LOW_CONFIDENCE = 0.8;  // phrases below are doubtful
const STATUS = {
  narrow: "parsed in haste, since it is long", wide: "parsed with a wider search", glued: "no full tree: phrases side by side",
  parts: "parsed in parts, since it is long", flat: "no tree was found: the words stand side by side",
  stopped: "given up, since it took too long", empty: "no words",
};

const quoted = (node, words) => {
  const text = words.slice(node.start, node.end);
  return `“${text.length > 7 ? [...text.slice(0, 3), "…", ...text.slice(-2)].join(" ") : text.join(" ")}”`;
};

/** The doubtful phrases of a tree, the most doubtful first; a span that stands twice counts once. */
export function doubts(nodes) {
  const seen = new Set();
  return nodes.filter((node) => node.word === null && node.parent >= 0 && node.confidence !== null && node.confidence < LOW_CONFIDENCE)
    .sort((one, two) => one.confidence - two.confidence)
    .filter((node) => !seen.has(`${node.start}-${node.end}`) && seen.add(`${node.start}-${node.end}`));
}

/** How sure the parser is of the least sure phrase. */
export function sureness(nodes) {
  return Math.min(1, ...nodes.filter((node) => node.word === null && node.confidence !== null).map((node) => node.confidence));
}

/** A title such as: Sure, but for PP “with a telescope” (62 %). */
export function verdict(row, words) {
  if (STATUS[row.status] && !["narrow", "wide", "parts"].includes(row.status)) return sentence(STATUS[row.status]);
  if (row.nodes.every((node) => node.confidence === null)) return "A tree as typed";
  const found = doubts(row.nodes), phrases = row.nodes.filter((node) => node.word === null).length;
  const told = found.slice(0, 2).map((node) => `${node.label} ${quoted(node, words)} (${percent(node.confidence)})`).join(" and ");
  const more = found.length > 2 ? ` and ${found.length - 2} more` : "";
  const how = STATUS[row.status] ? `; ${STATUS[row.status]}` : "";
  if (!found.length) return `Sure of every phrase (least: ${percent(sureness(row.nodes))})${how}`;
  return `${found.length > phrases / 3 ? "Unsure" : "Mostly sure"}; doubt ${told}${more}${how}`;
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1);
