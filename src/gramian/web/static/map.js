// The map of the states of a symbol: near is alike; a typical word stands by each, as many as there is room for.

import { el, percent, svg } from "./dom.js";

const WIDTH = 640, HEIGHT = 440, EDGE = 46;
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#a3609a", "#8a6d00", "#5b6ee1"];
const OTHER = "#7d8590";

/** A colour for each of the labels that states mostly stand below; the rare ones share one. */
function palette(states) {
  const mass = new Map();
  for (const one of states) mass.set(one.parent, (mass.get(one.parent) ?? 0) + one.share);
  const ranked = [...mass].sort((one, two) => two[1] - one[1]).map(([parent]) => parent);
  return new Map(ranked.map((parent, at) => [parent, COLOURS[at] ?? OTHER]));
}

/** Draw the map; returns the figure, and functions to mark a state and to show what a search finds. */
export function stateMap(about, posterior, choose) {
  const states = about.states, colours = palette(states);
  // Half of a place is where the state lies, half its rank among the others, so that a few that lie far off do not crowd the rest.
  const spread = (name, size) => {
    const all = states.map((one) => one[name]), least = Math.min(...all), reach = Math.max(...all) - least;
    const rank = [...all.keys()].sort((one, two) => all[one] - all[two] || one - two).reduce((ranks, state, at) => { ranks[state] = at; return ranks; }, []);
    return all.map((value, at) => EDGE + (reach > 1e-9 ? 0.5 * (value - least) / reach + 0.5 * rank[at] / (all.length - 1) : 0.5) * (size - 2 * EDGE));
  };
  const xs = spread("x", WIDTH), ys = spread("y", HEIGHT);
  const spots = states.map((one, at) => ({ state: one, x: xs[at], y: ys[at], r: 4 + 18 * Math.sqrt(one.share) }));
  let scale = 1, dx = 0, dy = 0, wanted = null;

  const drawing = svg("svg", { class: "map", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", "aria-label": `Map of the ${states.length} states of ${about.name}` });
  for (const spot of spots) {
    const { state } = spot;
    const sure = posterior ? Math.max(0, posterior[state.state]) : 0.6;
    spot.circle = svg("circle", { r: spot.r, style: `fill:${colours.get(state.parent)};stroke:${colours.get(state.parent)};fill-opacity:${(0.1 + 0.75 * sure).toFixed(3)}` });
    spot.text = svg("text", {}, state.typical);
    spot.group = svg("g", {
      role: "button", tabindex: 0, "data-state": state.state, onclick: () => choose(state.state),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(state.state); } },
      "aria-label": `State ${state.state}: ${state.name}, ${percent(state.share)} of all${posterior ? `, ${percent(sure)} here` : ""}`,
      "data-tip": `state ${state.state}`, "data-more": `${state.name} · ${percent(state.share)} of all`,
    }, spot.circle, spot.text);
    drawing.append(spot.group);
  }

  /** Put everything in its place; a word is shown where it covers no other, and no state. */
  const arrange = () => {
    const taken = spots.map((spot) => {
      [spot.sx, spot.sy] = [spot.x * scale + dx, spot.y * scale + dy];
      spot.circle.setAttribute("cx", spot.sx);
      spot.circle.setAttribute("cy", spot.sy);
      const half = 0.8 * spot.r;
      return [spot.sx - half, spot.sy - half, spot.sx + half, spot.sy + half];
    });
    const order = [...spots].sort((one, two) => (wanted ? wanted(two.state) - wanted(one.state) : 0) || two.state.share - one.state.share);
    for (const spot of order) {
      const width = 7.2 * spot.state.typical.length + 4;
      const places = [[0, spot.r + 13], [0, -spot.r - 5], [spot.r + 4 + width / 2, 4], [-spot.r - 4 - width / 2, 4]];
      const box = ([x, y]) => [spot.sx + x - width / 2, spot.sy + y - 11, spot.sx + x + width / 2, spot.sy + y + 3];
      const free = places.find((one) => {
        const [x1, y1, x2, y2] = box(one);
        return x1 > 2 && x2 < WIDTH - 2 && y1 > 2 && y2 < HEIGHT - 2 && taken.every(([a, b, c, d]) => x2 < a || x1 > c || y2 < b || y1 > d);
      });
      spot.text.style.display = free && (!wanted || wanted(spot.state)) ? "" : "none";
      spot.group.style.opacity = !wanted || wanted(spot.state) ? 1 : 0.15;
      if (!free) continue;
      taken.push(box(free));
      spot.text.setAttribute("x", spot.sx + free[0]);
      spot.text.setAttribute("y", spot.sy + free[1]);
    }
  };
  const zoom = (factor, x = WIDTH / 2, y = HEIGHT / 2) => {
    const next = Math.min(12, Math.max(1, scale * factor));
    [dx, dy] = next === 1 ? [0, 0] : [x - (x - dx) * next / scale, y - (y - dy) * next / scale];
    scale = next;
    arrange();
  };
  const inside = (event) => { const box = drawing.getBoundingClientRect(); return [(event.clientX - box.left) * WIDTH / box.width, (event.clientY - box.top) * HEIGHT / box.height]; };
  drawing.addEventListener("wheel", (event) => { if (event.ctrlKey || event.shiftKey) { event.preventDefault(); zoom(event.deltaY < 0 ? 1.25 : 0.8, ...inside(event)); } }, { passive: false });
  let from = null;
  drawing.addEventListener("pointerdown", (event) => { from = scale > 1 ? inside(event) : null; });
  drawing.addEventListener("pointermove", (event) => {
    if (!from) return;
    const [x, y] = inside(event);
    [dx, dy, from] = [dx + x - from[0], dy + y - from[1], [x, y]];
    arrange();
  });
  for (const end of ["pointerup", "pointerleave"]) drawing.addEventListener(end, () => { from = null; });

  const tool = (name, label, onclick) => el("button", { type: "button", class: "quiet", "aria-label": label, title: label, onclick }, name);
  const legend = [...colours].filter(([, colour]) => colour !== OTHER).map(([parent, colour]) =>
    el("span", {}, el("span", { class: "dot", style: `background:${colour}` }), ` ${parent === "root" ? "the whole" : `below ${parent}`}`));
  if (colours.size > COLOURS.length) legend.push(el("span", {}, el("span", { class: "dot", style: `background:${OTHER}` }), " below others"));
  const figure = el("figure", { class: "mapped" },
    el("div", { class: "tools" }, tool("+", "Nearer", () => zoom(1.5)), tool("−", "Further", () => zoom(1 / 1.5)), tool("whole", "The whole map", () => zoom(0))), drawing,
    el("figcaption", { class: "hint" }, el("div", { class: "legend" }, legend),
      `Near is alike in rules, words and places; large is frequent${posterior ? "; strong is probable here" : ""}. The plane keeps ${percent(about.explained)} of the variance. Drag when zoomed in.`));
  arrange();
  return { figure, search: (fits) => { wanted = fits; arrange(); } };
}
