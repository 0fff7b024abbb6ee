(() => {
  "use strict";
  const SIZE = 25;
  const data = JSON.parse(document.getElementById("data").textContent);
  const collator = new Intl.Collator("en", { numeric: true });
  const tables = [];

  const shown = (value) => value === null ? "–" : value === true ? "yes" : value === false ? "no" : String(value);

  function compare(one, other) {
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "string" || typeof other === "string") return collator.compare(shown(one), shown(other));
    return one - other;
  }

  function Table(root) {
    const prefix = root.dataset.items;
    const found = data[prefix];
    const cards = new Set(found.cards);
    const anchor = (row) => found.anchors ? found.anchors[row] : `item-${prefix}${found.rows[row][0]}`;
    const head = [...root.querySelectorAll("thead th")];
    const body = root.querySelector("tbody");
    const [search, pick, only] = [root.querySelector("[type=search]"), root.querySelector("select"), root.querySelector("[type=checkbox]")];
    const [back, next, where] = [".back", ".next", ".where"].map((name) => root.querySelector(name));
    const reason = found.columns.indexOf("reason");
    let order = found.rows.map((_, row) => row);
    let kept = order, page = 0, size = SIZE, sorted = -1, down = false;

    function filter() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      kept = order.filter((row) => {
        if (only.checked && row >= found.failing) return false;
        if (pick.value && shown(found.rows[row][reason]) !== pick.value) return false;
        if (!words.length) return true;
        const text = found.rows[row].map(shown).join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      });
      page = 0;
      draw();
    }

    function cell(kind, value) {
      const made = document.createElement(kind);
      made.textContent = shown(value);
      if (made.textContent.length > 40) made.className = "long";
      return made;
    }

    function line(row) {
      const made = document.createElement("tr");
      const name = anchor(row);
      if (!cards.has(name)) made.id = name;
      if (row < found.failing) made.className = "failing";
      found.rows[row].forEach((value, column) => {
        if (column) return made.append(cell("td", value));
        const first = document.createElement("th");
        first.scope = "row";
        const link = document.createElement("a");
        link.href = "#" + name;
        link.textContent = shown(value);
        first.append(link);
        made.append(first);
      });
      return made;
    }

    function draw() {
      const start = page * size;
      const part = kept.slice(start, start + size);
      body.replaceChildren(...part.map(line));
      const many = kept.length.toLocaleString("en");
      where.textContent = kept.length ? `${(start + 1).toLocaleString("en")} to ${(start + part.length).toLocaleString("en")} of ${many}` : "none";
      back.disabled = page === 0;
      next.disabled = start + size >= kept.length;
    }

    function sort(column) {
      down = sorted === column && !down;
      sorted = column;
      order = found.rows.map((_, row) => row);
      order.sort((one, other) => (down ? -1 : 1) * compare(found.rows[one][column], found.rows[other][column]) || one - other);
      head.forEach((th, place) => place === column ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
      filter();
    }

    head.forEach((th, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...th.childNodes);
      button.addEventListener("click", () => sort(column));
      th.append(button);
    });
    if (reason >= 0) {
      const reasons = [...new Set(found.rows.slice(0, found.failing).map((row) => shown(row[reason])))].sort();
      if (reasons.length > 1 && reasons.length <= 30) {
        pick.append(...reasons.map((text) => new Option(text, text)));
        pick.closest("label").hidden = false;
      }
    }
    let wait = 0;
    search.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(filter, 120); });
    pick.addEventListener("change", filter);
    only.addEventListener("change", filter);
    back.addEventListener("click", () => { page -= 1; draw(); });
    next.addEventListener("click", () => { page += 1; draw(); });
    addEventListener("beforeprint", () => { size = 500; page = 0; draw(); });
    addEventListener("afterprint", () => { size = SIZE; draw(); });
    root.querySelector(".controls").hidden = false;
    root.querySelector(".still")?.remove();
    draw();

    this.reveal = (id) => {
      let row = found.anchors ? found.anchors.indexOf(id) : found.rows.findIndex((_, place) => anchor(place) === id);
      if (row < 0) return false;
      if (!kept.includes(row)) { search.value = pick.value = ""; only.checked = false; filter(); }
      page = Math.floor(kept.indexOf(row) / size);
      draw();
      return true;
    };
  }

  function go() {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { return; }
    if (!id.startsWith("item-")) return;
    document.querySelectorAll("tr.here").forEach((row) => row.classList.remove("here"));
    if (!document.getElementById(id)) tables.some((table) => table.reveal(id));
    const target = document.getElementById(id);
    if (!target) return;
    if (target.tagName === "TR") target.classList.add("here");
    target.scrollIntoView({ block: "center" });
    (target.querySelector("a") || target).focus({ preventScroll: true });
  }

  for (const root of document.querySelectorAll("[data-items]")) tables.push(new Table(root));
  for (const list of document.querySelectorAll(".cards")) {
    list.addEventListener("keydown", (event) => {
      const step = { j: 1, k: -1 }[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      const all = [...list.children];
      const card = all[all.indexOf(event.target.closest(".card")) + step];
      if (card) { card.focus({ preventScroll: true }); card.scrollIntoView({ block: "start" }); }
    });
  }
  function reachable() {
    for (const box of document.querySelectorAll(".scroll, blockquote.long")) {
      const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
      box.tabIndex = scrolls ? 0 : -1;
    }
  }
  addEventListener("resize", reachable);
  reachable();
  addEventListener("hashchange", go);
  addEventListener("load", go);
})();
