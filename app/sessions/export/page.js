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

  for (const [id, link] of links) {
    link.addEventListener("click", () => { if (!link.classList.contains("on")) show(id); });
  }

  const search = document.querySelector("#search");
  const count = document.querySelector("#count");
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    let hits = 0;
    for (const [id, article] of articles) {
      const fits = !wanted || article.textContent.toLowerCase().includes(wanted);
      if (fits && wanted) hits += 1;
      article.classList.toggle("miss", !fits);
      const row = links.get(id);
      if (row) row.parentElement.classList.toggle("miss", !fits);
    }
    count.textContent = wanted ? `${hits} of ${articles.size}` : "";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape") { search.value = ""; search.dispatchEvent(new Event("input")); search.blur(); }
  });
  document.querySelector("#theme").addEventListener("click", () => {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
  });
  document.querySelector("#open").addEventListener("click", () => {
    const all = [...document.querySelectorAll("details")];
    const isOpen = all.some((one) => one.open);
    for (const one of all) one.open = !isOpen;
  });
})();
