"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const W = 12.2, H = 24.4, NS = "http://www.w3.org/2000/svg";
const body = document.body, isGallery = body.classList.contains("gallery");

function make(name, attributes, parent) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (parent) parent.append(node);
  return node;
}

function canvas(columns, lines) {
  return make("svg", { viewBox: `0 0 ${(columns * W).toFixed(1)} ${(lines * H).toFixed(1)}` });
}

function draw([columns, height, lines]) {
  const svg = canvas(columns, height);
  lines.forEach((number, row) => {
    for (const [column, width, colour] of data.lines[number][1])
      make("rect", { x: column * W, y: row * H, width: width * W + .3, height: H + .4, fill: data.colours[colour],
        "shape-rendering": "crispEdges" }, svg);
  });
  lines.forEach((number, row) => {
    for (const [column, width, text, ink] of data.lines[number][0]) {
      const [fill, marks] = data.inks[ink];
      const node = make("text", { x: column * W, y: row * H + 18.5, fill, textLength: (width * W).toFixed(1),
        lengthAdjust: "spacingAndGlyphs", "font-size": 20, "font-family": "Fira Code, ui-monospace, monospace",
        "xml:space": "preserve" }, svg);
      if (marks.includes("b")) node.setAttribute("font-weight", "bold");
      if (marks.includes("i")) node.setAttribute("font-style", "italic");
      const lined = [marks.includes("u") && "underline", marks.includes("s") && "line-through"].filter(Boolean);
      if (lined.length) node.setAttribute("text-decoration", lined.join(" "));
      node.textContent = text.replaceAll(" ", "\u00a0");
    }
  });
  return svg;
}

function outlined(picture) {
  const [columns, height] = (picture.after || picture.before);
  const svg = canvas(Math.max(columns, picture.before ? picture.before[0] : 0), height);
  for (const [column, line, width, tall] of picture.outlines)
    make("rect", { x: column * W, y: line * H, width: width * W, height: tall * H }, svg);
  return svg;
}

function layer(kind, svg, stage) {
  const node = document.createElement("div");
  node.className = kind;
  node.append(svg);
  stage.append(node);
}

function show(figure) {
  if (figure.querySelector(".stage")) return;
  const picture = data.pictures[figure.dataset.picture];
  const stage = document.createElement("div");
  stage.className = "stage";
  const columns = (picture.after || picture.before)[0];
  stage.style.setProperty("--wide", `${columns * .62}em`);
  if (picture.before) layer(picture.after ? "before" : "before only", draw(picture.before), stage);
  if (picture.after) layer(picture.before ? "after" : "after only", draw(picture.after), stage);
  if (picture.before && picture.after) {
    layer("cells", outlined(picture), stage);
    const slide = document.createElement("input");
    Object.assign(slide, { type: "range", min: 0, max: 100, value: 50 });
    slide.addEventListener("input", () => stage.style.setProperty("--x", slide.value + "%"));
    stage.append(slide);
  }
  figure.append(stage);
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { show(entry.target); watcher.unobserve(entry.target); }
}, { rootMargin: "600px" });
document.querySelectorAll("figure").forEach((figure) => watcher.observe(figure));
const inSight = (figure) => figure.offsetParent && figure.getBoundingClientRect().top < innerHeight;
[...document.querySelectorAll("figure")].slice(0, 12).filter(inSight).forEach(show);

let zoom = 1;
function zoomTo(value) { zoom = Math.min(4, Math.max(.4, value)); body.style.setProperty("--zoom", zoom); }

const MODES = { 1: "before", 2: "after", 3: "slider", 4: "beside" };
function look(mode) { body.classList.remove(...Object.values(MODES)); body.classList.add(mode); }

function keysTold(rows) {
  const keys = document.getElementById("keys");
  for (const [key, words] of rows) {
    const shown = document.createElement("kbd");
    shown.textContent = key;
    keys.append(shown, ` ${words}  `);
  }
  return keys;
}

const sections = [...document.querySelectorAll("section")];
let at = -1;
function go(step) {
  const open = sections.filter((section) => !section.hidden);
  if (!open.length) return;
  at = Math.min(open.length - 1, Math.max(0, at + step));
  sections.forEach((section) => section.classList.toggle("at", section === open[at]));
  open[at].scrollIntoView({ block: "start" });
  scrollBy(0, -64);
}

function reviewing() {
  look("after");
  const keys = keysTold([["j", "next"], ["k", "previous"], ["s", "seen"], ["1", "before"], ["2", "after"],
    ["3", "slider"], ["4", "side by side"], ["space", "flip while held"], ["c", "outlines"], ["+ − 0", "zoom"]]);
  const left = document.createElement("b");
  keys.append(left);
  const remembered = (id) => { try { return localStorage.getItem("seen " + id); } catch { return null; } };
  const remember = (id, isSeen) => { try { isSeen ? localStorage.setItem("seen " + id, 1)
    : localStorage.removeItem("seen " + id); } catch { /* a page from a file may not remember */ } };
  const count = () => { left.textContent = ` ${sections.filter((one) => !one.classList.contains("seen")).length} left`; };
  for (const section of sections) {
    section.classList.toggle("seen", Boolean(remembered(section.id)));
    const heading = section.querySelector("h2");
    if (section.dataset.run) heading.append(" ", copying("run", section.dataset.run));
    if ("accept" in section.dataset)
      heading.append(" ", copying("accept", `python -m tests.review accept change:${section.id}`));
  }
  count();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.type === "search") return;
    if (MODES[event.key]) look(MODES[event.key]);
    else if (event.key === "c") body.classList.toggle("bare");
    else if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "s" && at >= 0) {
      const section = sections[at];
      remember(section.id, section.classList.toggle("seen"));
      count();
      go(1);
    } else if (event.key === " ") { event.preventDefault(); body.classList.add("flip"); }
  });
  document.addEventListener("keyup", (event) => { if (event.key === " ") body.classList.remove("flip"); });
}

function copying(what, text) {
  const button = document.createElement("button");
  button.textContent = `copy: ${what}`;
  button.title = text;
  button.addEventListener("click", () => navigator.clipboard.writeText(text).then(() => { button.textContent = "copied"; }));
  return button;
}

function choice(values, named, parent) {
  const select = document.createElement("select");
  for (const value of ["", ...values]) select.append(new Option(value || named, value));
  select.addEventListener("change", sieve);
  parent.append(select);
  return select;
}

let themes, sizes, wanted;
function sieve() {
  const text = wanted.value.toLowerCase();
  for (const section of sections) {
    let any = false;
    for (const figure of section.querySelectorAll("figure")) {
      const words = figure.querySelector("i").textContent.split(" ");
      const isShown = (!themes.value || words.includes(themes.value)) && (!sizes.value || words.includes(sizes.value))
        && (section.textContent + figure.textContent).toLowerCase().includes(text);
      figure.hidden = !isShown;
      any ||= isShown;
    }
    for (const state of section.querySelectorAll(".state")) state.hidden = !state.querySelector("figure:not([hidden])");
    section.hidden = !any;
  }
}

function browsing() {
  const keys = keysTold([["j", "next"], ["k", "previous"], ["/", "find"], ["+ − 0", "zoom"]]);
  const notes = [...document.querySelectorAll("figure i")].flatMap((note) => note.textContent.split(" ")).filter(Boolean);
  const kinds = [...new Set(notes)].sort();
  themes = choice(kinds.filter((kind) => !/\d/.test(kind)), "all themes", keys);
  sizes = choice(kinds.filter((kind) => /\d/.test(kind)), "all sizes", keys);
  wanted = document.createElement("input");
  wanted.type = "search";
  wanted.placeholder = "screen or state";
  wanted.addEventListener("input", sieve);
  keys.append(" ", wanted);
  document.addEventListener("keydown", (event) => {
    if (event.target.type === "search") { if (event.key === "Escape") wanted.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "j") go(1);
    else if (event.key === "k") go(-1);
    else if (event.key === "/") { event.preventDefault(); wanted.focus(); }
  });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.type === "search") return;
  if (event.key === "+" || event.key === "=") zoomTo(zoom * 1.2);
  else if (event.key === "-") zoomTo(zoom / 1.2);
  else if (event.key === "0") zoomTo(1);
});
if (isGallery) browsing(); else reviewing();
