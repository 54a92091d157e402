// Small helpers: elements, questions to the server, numbers as people read them, and the clipboard.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes, listeners (on...), then children; text is never read as HTML. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** Show a drawing that came from the server, with its style kept to itself. */
export function picture(text, label) {
  const host = el("div", { class: "paper", role: "img", "aria-label": label });
  const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const shown = document.importNode(drawing, true);
  shown.style.cssText = "display:block;max-width:100%;height:auto";
  if (innerWidth <= 800) shown.style.maxWidth = "none";  // small text is worse than scrolling
  host.attachShadow({ mode: "open" }).append(shown);
  return host;
}

async function answer(response) {
  let body;
  try {
    body = await response.json();
  } catch {
    throw new Error(`the server answered ${response.status}`);
  }
  if (!response.ok) throw Object.assign(new Error(body.error ?? `the server answered ${response.status}`), { status: response.status });
  return body;
}

export async function post(path, question) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) };
  return answer(await reach(path, options));
}

export async function get(path, question) {
  const query = new URLSearchParams(Object.entries(question).filter(([, value]) => value !== null && value !== undefined));
  return answer(await reach(`${path}?${query}`));
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch {
    throw new Error("the server does not answer; is gramian serve still running?");
  }
}

export function percent(value) {
  const hundred = 100 * value;
  return hundred > 99.5 && hundred < 100 ? ">99\u00a0%" : hundred > 0 && hundred < 0.5 ? "<1\u00a0%" : `${Math.round(hundred)}\u00a0%`;
}

/** From unsure (orange) to sure (blue), as in drawings made in Python; and a colour of text to go on it. */
export function colour(value) {
  const scale = [[213, 94, 0], [240, 180, 100], [238, 238, 238], [120, 180, 220], [0, 114, 178]];
  const place = Math.min(Math.max(value, 0), 1) * (scale.length - 1);
  const lower = Math.min(Math.floor(place), scale.length - 2);
  const mixed = scale[lower].map((one, at) => Math.round(one + (place - lower) * (scale[lower + 1][at] - one)));
  const light = 0.299 * mixed[0] + 0.587 * mixed[1] + 0.114 * mixed[2] > 140;
  return { fill: `rgb(${mixed})`, ink: light ? "#111" : "#fff" };
}

export function say(text, wrong = false) {
  const status = document.getElementById("status");
  status.textContent = text;
  status.classList.toggle("wrong", wrong);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { class: "skip" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`Copied ${what}.`);
}

/** Close a menu, and leave the keys where it was opened. */
export function closeMenu(menu) {
  menu.open = false;
  menu.querySelector("summary").focus();
}

/** A row with a name, a bar and a number; a button where it leads somewhere. */
export function bar(name, share, { onclick, title, pressed, signed, state } = {}) {
  const length = `${Math.min(100, 100 * Math.abs(share)).toFixed(1)}%`;
  const parts = [
    el("span", { class: "name" }, name),
    el("span", { class: "track", "aria-hidden": "true" },
      el("span", { class: share < 0 ? "fill below" : "fill", style: `width:${length}` })),
    el("span", { class: "number" }, signed ? share.toFixed(3) : percent(share)),
  ];
  if (!onclick) return el("div", { class: "bar", title }, parts);
  return el("button", { class: "bar", type: "button", title, onclick, "aria-pressed": pressed, "data-tip": state === undefined ? null : `state ${state}` }, parts);
}

export const clear = (node, ...children) => node.replaceChildren(...children.flat(Infinity).filter(Boolean));
