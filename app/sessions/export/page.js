"use strict";
// Works on what is in the page already; never makes markup out of text.
(() => {
  const root = document.documentElement;
  const articles = new Map([...document.querySelectorAll("article")].map((one) => [one.dataset.id, one]));
  const links = new Map([...document.querySelectorAll("nav a[data-id]")].map((one) => [one.dataset.id, one]));
  const parents = new Map([...links].map(([id, link]) => [id, link.dataset.parent || null]));
  const lastChild = new Map();
  for (const [id, parent] of parents) if (parent !== null) lastChild.set(parent, id);

  function show(id) {
    let end = id;
    const seen = new Set();
    while (lastChild.has(end) && !seen.has(end)) { seen.add(end); end = lastChild.get(end); }
    const path = new Set();
    for (let at = end; at !== null && at !== undefined && !path.has(at); at = parents.get(at)) path.add(at);
    for (const [key, article] of articles) article.classList.toggle("off", !path.has(key));
    for (const [key, link] of links) link.classList.toggle("on", path.has(key));
  }
  function showIfOff(id) {
    const link = links.get(id);
    if (link && !link.classList.contains("on")) show(id);
  }
  function followHash() {
    const article = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!article || !article.classList.contains("off")) return;
    showIfOff(article.dataset.id);
    article.scrollIntoView();
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[data-id]");
    if (link) showIfOff(link.dataset.id);
  });
  addEventListener("hashchange", followHash);
  if (location.hash) followHash();

  for (const one of document.querySelectorAll("time")) {
    const at = new Date(one.dateTime);
    if (isNaN(at)) continue;
    one.title = one.textContent;
    one.textContent = at.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }

  const search = document.querySelector("#search");
  const count = document.querySelector("#count");
  const mostMarks = 500;
  const openedBySearch = new Set();
  let texts = null;
  let timer = 0;
  function marksOf(article, wanted, ranges) {
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && ranges.length < mostMarks; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      for (let at = text.indexOf(wanted); at >= 0 && ranges.length < mostMarks; at = text.indexOf(wanted, at + wanted.length)) {
        if (at + wanted.length > node.data.length) break;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        ranges.push(range);
        for (let up = node.parentElement; up && up !== article; up = up.parentElement) {
          if (up.tagName === "DETAILS" && !up.open) { up.open = true; openedBySearch.add(up); }
        }
      }
    }
  }
  function find() {
    const wanted = search.value.trim().toLowerCase();
    if (!texts) texts = new Map([...articles].map(([id, one]) => [id, one.textContent.toLowerCase()]));
    for (const one of openedBySearch) one.open = false;
    openedBySearch.clear();
    root.classList.toggle("searching", Boolean(wanted));
    const ranges = [];
    let hits = 0;
    for (const [id, article] of articles) {
      const fits = !wanted || texts.get(id).includes(wanted);
      if (fits && wanted) { hits += 1; if (ranges.length < mostMarks) marksOf(article, wanted, ranges); }
      article.classList.toggle("miss", !fits);
    }
    for (const [id, link] of links) {
      const article = articles.get(id);
      link.parentElement.classList.toggle("miss", Boolean(wanted) && (!article || article.classList.contains("miss")));
    }
    if (globalThis.CSS && CSS.highlights) {
      CSS.highlights.delete("found");
      if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
    }
    count.textContent = wanted ? `${hits} of ${articles.size}` : "";
  }
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(find, 120); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape" && (search.value || document.activeElement === search)) { search.value = ""; find(); search.blur(); }
  });
  document.querySelector("#theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
  document.querySelector("#open").addEventListener("click", () => {
    const all = [...document.querySelectorAll("main details")];
    const isOpen = all.some((one) => one.open);
    for (const one of all) one.open = !isOpen;
  });
})();
