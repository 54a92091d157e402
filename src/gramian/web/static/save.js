// A tree to take along: copied, or saved as a file.

import { closeMenu, copy, el, post, say } from "./dom.js";

function download(name, content) {
  const url = URL.createObjectURL(content);
  const link = el("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
  say(`Saved ${name}.`);
}

/** Paint a drawing at twice its size, on white. */
async function picture(text) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = el("canvas", { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
  const paint = canvas.getContext("2d");
  paint.fillStyle = "#ffffff";
  paint.fillRect(0, 0, canvas.width, canvas.height);
  paint.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("the picture is too large"))), "image/png"));
}

/** The menu of a tree: `row` has its brackets, its nodes, and all that JSON shows. */
export function saveMenu(row) {
  const drawn = async (format) => {
    const confidences = row.nodes.map((node) => node.confidence);
    return (await post("/api/export", { tree: row.tree, format, confidences: confidences.includes(null) ? null : confidences })).text;
  };
  const plain = (text) => new Blob([text], { type: "text/plain;charset=utf-8" });
  const ways = [
    ["Copy brackets", () => copy(row.tree, "as brackets")],
    ["Copy LaTeX", async () => copy(await drawn("latex"), "as LaTeX, for the forest package")],
    ["Copy SVG", async () => copy(await drawn("svg"), "as SVG")],
    ["Copy JSON", () => copy(JSON.stringify(row), "as JSON")],
    ["Save SVG", async () => download("tree.svg", new Blob([await drawn("svg")], { type: "image/svg+xml" }))],
    ["Save PNG", async () => download("tree.png", await picture(await drawn("svg")))],
    ["Save LaTeX", async () => download("tree.tex", plain((await drawn("latex-document"))))],
  ];
  const menu = el("details", { class: "menu" }, el("summary", { class: "button" }, "Copy or save"),
    el("div", { class: "choices" }, ways.map(([name, act]) => el("button", { type: "button", class: "quiet", onclick: async () => {
      closeMenu(menu);
      try { await act(); } catch (error) { say(error.message, true); }
    } }, name))));
  return menu;
}
