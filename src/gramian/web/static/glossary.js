// What labels mean, in words, shown where the pointer or the focus is.

import { clear, el } from "./dom.js";

let words = {}, separators = "-=;";

export function setGlossary(glossary, given) { words = glossary; separators = given ?? separators; }

/** What a label means; of a label with parts (NP-SBJ) or of a chain (S|VP), what its first part means. */
export function meaning(label) {
  if (Object.hasOwn(words, label)) return words[label];
  const end = label ? [...label].findIndex((c, i) => i > 0 && (c === "|" || separators.includes(c))) : -1;
  const bare = end < 0 ? label ?? "" : label.slice(0, end);
  const sub = label?.split(":")[0] ?? "";
  return Object.hasOwn(words, bare) ? words[bare] : Object.hasOwn(words, sub) ? words[sub] : null;
}

/** A label in text that explains itself. */
export function labelled(label) {
  return meaning(label) === null ? el("span", {}, label) : el("span", { class: "explained", "data-tip": label, tabindex: 0 }, label);
}

/** Show tips: elements with data-tip name a label; data-more is what else there is to say. */
export function startTips() {
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  /** The line of a card that explains its tree, so that nothing covers the tree. */
  const lineOf = (over) => over.closest("svg")?.closest(".parse")?.querySelector(".explain");
  const show = (event) => {
    const over = event.target.closest?.("[data-tip]");
    if (!over) return hide();
    const told = meaning(over.dataset.tip), more = over.dataset.more;
    if (!told && !more) return hide();
    const line = lineOf(over);
    clear(line ?? tip, el("b", {}, over.dataset.tip), told ? ` ${told}` : null, more ? el("small", {}, line ? ` ${more}` : more) : null);
    if (line) return hide();
    tip.hidden = false;
    const box = over.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - own.width / 2), innerWidth - own.width - 8);
    const above = box.top - own.height - 6;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : box.bottom + 6}px`;
  };
  for (const kind of ["pointerover", "focusin"]) document.addEventListener(kind, show);
  for (const kind of ["pointerdown", "scroll", "keydown"]) addEventListener(kind, hide, true);
}
