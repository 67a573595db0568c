document.addEventListener("DOMContentLoaded", () => {
  tableOfContents();
  search();
});

// The table of contents at the side of a page.
function tableOfContents() {
  const toc = document.getElementById("toc");
  if (!toc) return;
  const list = toc.appendChild(document.createElement("div"));
  list.className = "nav flex-column";
  for (const heading of document.querySelectorAll("main h2[id], main h3[id]")) {
    const link = list.appendChild(document.createElement("a"));
    link.className = "nav-link py-1" + (heading.tagName === "H3" ? " ms-3" : "");
    link.href = "#" + heading.id;
    link.textContent = heading.textContent;
  }
  toc.hidden = list.childElementCount === 0;
}

// A search in the index that pkgdown writes, without the network: sections that hold all words of
// the query, those with words in their title first, one per page.
function search() {
  const field = document.getElementById("search-input");
  if (!field) return;
  const root = field.dataset.searchIndex.replace("search.json", "");
  const found = document.createElement("div");
  field.after(found);
  found.id = "found";
  found.setAttribute("role", "status");
  field.setAttribute("aria-label", "Search this site");
  field.form.addEventListener("submit", event => {
    event.preventDefault();
    found.querySelector("a")?.click();
  });
  let loading = null;
  const load = () => loading ??= new Promise(done => {
    const script = document.head.appendChild(document.createElement("script"));
    script.onload = done;
    script.src = root + "search.js";
  });
  const place = entry => [entry.title, entry.previous_headings, entry.what]
    .filter((part, i, all) => part && all.indexOf(part) === i).join(" \u203a ");
  const link = ({ entry, words }) => {
    const a = document.createElement("a");
    a.href = root + entry.path.slice(1) + (entry.id ? "#" + entry.id : "");
    a.append(place(entry));
    const text = entry.text || entry.code || "";
    const word = Math.max(0, text.toLowerCase().indexOf(words[0]));
    const at = word < 40 ? 0 : text.indexOf(" ", word - 40) + 1, end = text.lastIndexOf(" ", at + 110);
    const more = a.appendChild(document.createElement("small"));
    more.textContent = text.length <= at + 110 ? text.slice(at) : text.slice(at, end) + " \u2026";
    return a;
  };
  const show = async () => {
    await load();
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const score = entry => {
      const title = `${entry.title} ${entry.what}`.toLowerCase();
      const all = `${title} ${entry.previous_headings} ${entry.text} ${entry.code}`.toLowerCase();
      if (!words.every(word => all.includes(word))) return 0;
      return 1 + words.filter(word => title.includes(word)).length * 4 +
        (entry.dir === "Reference" && entry.what === entry.title ? 2 : 0);
    };
    const hits = siteIndex.filter(entry => entry.path).map(entry => ({ entry, words, score: score(entry) }))
      .filter(hit => hit.score > 0).sort((a, b) => b.score - a.score);
    const first = (hit, i) => i === hits.findIndex(other => other.entry.path === hit.entry.path);
    const best = hits.filter(first).slice(0, 12);
    found.replaceChildren(...(words.join("").length < 2 ? [] : best.length ? best.map(link) : ["Nothing found."]));
  };
  field.addEventListener("focus", load);
  field.addEventListener("input", show);
  field.form.addEventListener("keydown", event => {
    const stops = [field, ...found.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") found.replaceChildren();
    if (!step || at < 0) return;
    event.preventDefault();
    stops[Math.max(0, Math.min(stops.length - 1, at + step))].focus();
  });
  document.addEventListener("click", event => { if (!field.form.contains(event.target)) found.replaceChildren(); });
}
