document.addEventListener("DOMContentLoaded", () => {
  // The search of pkgdown needs the network.
  document.querySelector("form[role=search]")?.remove();
  // The table of contents at the side of a page.
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
});
