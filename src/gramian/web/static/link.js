// What the link to the page holds; all the rest follows from it.

export const TABS = ["trees", "bank", "annotate", "states", "dependencies", "automaton"];

// s: what was typed, in: how it is read, m: models, d: decoders, k: best trees, i: sentence of a text, n: tree and node, st: states in
// the tree, label: of the states, q and c: symbols and size of the automaton, h: word of the dependency tree,
// who and name: annotator and sentence.
export const view = { tab: "trees", s: "", in: "auto", m: [0], d: ["max-recall"], k: 1, i: null, n: null, st: null, label: null, q: null, c: 6, h: null, who: null, name: null };

export function writeLink() {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(view))
    if (value !== null) parts.set(key, Array.isArray(value) ? value.join(" ") : value);
  history.replaceState(null, "", `#${parts}`);
}

/** Read the link; what it does not say, or says wrongly, is as at first. */
export function readLink(about) {
  const parts = new URLSearchParams(location.hash.slice(1));
  const whole = (key, least, most) => {
    const value = Number(parts.get(key));
    return parts.has(key) && Number.isInteger(value) && value >= least && value <= most ? value : null;
  };
  view.tab = TABS.includes(parts.get("tab")) ? parts.get("tab") : "trees";
  view.s = parts.get("s") ?? about.models[0]?.examples[0]?.[1] ?? "";
  view.in = about.inputs.includes(parts.get("in")) ? parts.get("in") : "auto";
  const models = (parts.get("m") ?? "0").split(" ").map(Number).filter((one) => about.models[one]);
  view.m = models.length ? models : [0];
  const decoders = (parts.get("d") ?? "").split(" ").filter((one) => about.decoders.includes(one));
  view.d = decoders.length ? decoders : [about.decoders[0]];
  view.k = whole("k", 1, about.most_trees) ?? 1;
  view.c = whole("c", 1, 20) ?? 6;
  view.h = whole("h", 0, about.most_words);
  view.i = whole("i", 0, 10_000);
  view.st = whole("st", 1, 1);
  view.n = /^\d+\.\d+$/.test(parts.get("n") ?? "") ? parts.get("n") : null;
  view.who = parts.get("who");
  view.name = parts.get("name");
  view.label = parts.get("label");
  view.q = parts.get("q");
}
