// A text: its sentences in a list, the doubtful ones first.

import { clear, colour, el, percent, post, say } from "./dom.js";
import { sureness } from "./verdict.js";

const MOST = 400;  // sentences

/** Whether a text may have more than one sentence; the server's own rules decide. */
export const maybeSeveral = (text) => /[.!?…。！？][")'”’»\]]*\s+\S/.test(text.trim()) || /\S\s*\n\s*\S/.test(text) || /[。！？]\S/.test(text);

/** Parse a text piece by piece; `stopped()` says whether somebody asked for something else meanwhile. */
export async function parseText(text, model, stopped) {
  const sentences = [];
  let rest = text;
  while (rest.trim() && sentences.length < MOST) {
    const found = await post("/api/text", { text: rest, model });
    if (stopped()) return null;
    sentences.push(...found.sentences);
    if (found.end === null) break;
    rest = [...rest].slice(found.end).join("");  // places count characters, not halves of them
    say(`${sentences.length} sentences so far …`);
  }
  return sentences;
}

/** Show the list; `choose(number)` is called for a sentence that is clicked. */
export function sentenceList(where, sentences, chosen, choose) {
  const sure = sentences.map((one) => (one.status === "parsed" ? sureness(one.nodes) : 0));
  let byDoubt = true, current = chosen;
  const list = el("ol", {});
  const draw = () => {
    const order = sentences.map((_, at) => at);
    if (byDoubt) order.sort((one, two) => sure[one] - sure[two] || one - two);
    clear(list, order.map((at) => el("li", { value: at + 1 }, el("button", { type: "button", class: "sentence", "aria-current": at === current ? "true" : null,
      onclick: () => { current = at; draw(); choose(at); } },
      el("span", { class: "dot", style: `background:${colour(sure[at]).fill}`, "aria-hidden": "true" }),
      el("span", { class: "said" }, sentences[at].words.join(" ")),
      el("small", {}, `least confident phrase: ${percent(sure[at])}`)))));
  };
  const order = el("button", { type: "button", class: "quiet", onclick: () => {
    byDoubt = !byDoubt;
    order.textContent = byDoubt ? "In the order of the text" : "Least confident first";
    draw();
  } }, "In the order of the text");
  clear(where, el("header", {}, el("h2", {}, `${sentences.length} sentences`, el("small", {}, " the least confident first")), order), list);
  where.hidden = false;
  draw();
  return sentences.map((_, at) => at).sort((one, two) => sure[one] - sure[two])[0];
}

