(() => {
  "use strict";
  const SIZE = 25, PRINTED = 10;
  const { suites, texts, reasons } = JSON.parse(document.getElementById("data").textContent);
  const collator = new Intl.Collator("en", { numeric: true });
  const tables = [];

  const shown = (value) => value === null ? "–" : value === true ? "yes" : value === false ? "no" : String(value);
  const count = (number) => number.toLocaleString("en");

  function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) if (value !== null && value !== "") made.setAttribute(name, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  /** What is blank comes last, whichever way a column is sorted. */
  function compare(one, other, down) {
    if (one === null || other === null) return (one === null) - (other === null);
    const order = typeof one === "string" || typeof other === "string" ? collator.compare(shown(one), shown(other)) : one - other;
    return down ? -order : order;
  }

  // --- texts: matches marked, Markdown tables as tables (the same rules as in the page itself) ---

  const OPEN = "\ue000", CLOSE = "\ue001";
  const RULE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
  const bare = (text) => text.replaceAll(OPEN, "").replaceAll(CLOSE, "");

  function marked(text, inside) {
    const nodes = [];
    for (const token of text.split(/([\ue000\ue001])/)) {
      if (token === OPEN || token === CLOSE) inside = token === OPEN;
      else if (token) nodes.push(inside ? make("mark", null, token) : token);
    }
    return [nodes, inside];
  }

  function split(line) {
    const cells = line.trim().split(/(?<!\\)\|/);
    if (cells.length && !bare(cells[0]).trim()) cells.shift();
    if (cells.length && !bare(cells[cells.length - 1]).trim()) cells.pop();
    return cells;
  }

  function tableEnd(lines, start) {
    if (start + 1 >= lines.length || !lines[start].includes("|")) return 0;
    const rule = bare(lines[start + 1]);
    if (!rule.includes("|") || !RULE.test(rule) || split(lines[start]).length !== split(rule).length) return 0;
    let end = start + 2;
    while (end < lines.length && lines[end].includes("|")) end += 1;
    return end;
  }

  function grid(lines, label) {
    const columns = split(lines[0]).length;
    const row = (line, tag) => {
      const cells = split(line).slice(0, columns);
      let inside = false, nodes;
      return make("tr", null, ...Array.from({ length: columns }, (_, place) => {
        [nodes, inside] = marked((cells[place] || "").trim().replaceAll("\\|", "|"), inside);
        return make(tag, tag === "th" ? { scope: "col" } : null, ...nodes);
      }));
    };
    const body = make("tbody", null, ...lines.slice(2).map((line) => row(line, "td")));
    return make("div", { class: "scroll", role: "group", tabindex: 0, "aria-label": `${label}, a table` },
      make("table", { class: "grid" }, make("thead", null, row(lines[0], "th")), body));
  }

  function quote(text, label) {
    const lines = text.split("\n"), made = [];
    const long = text.length > 500 || lines.length > 9;
    let plain = 0, start = 0;
    const prose = (end) => {
      const part = lines.slice(plain, end).join("\n").replace(/^\n+|\n+$/g, "");
      if (part.trim()) made.push(make("blockquote", long ? { class: "long", role: "group", tabindex: 0, "aria-label": label } : null, ...marked(part, false)[0]));
    };
    while (start < lines.length) {
      const end = tableEnd(lines, start);
      if (!end) { start += 1; continue; }
      prose(start);
      made.push(grid(lines.slice(start, end), label));
      plain = start = end;
    }
    prose(lines.length);
    return made;
  }

  // --- cards ---

  const side = (text) => make("p", { class: "side" }, text);
  const nothing = () => make("p", { class: "dim" }, "nothing");
  const chip = ([text, note, tone]) => make("li", { class: tone }, make("code", null, text), note ? " " : null, note ? make("span", null, note) : null);
  const chips = (list) => make("ul", { class: "chips" }, ...list.map(chip));
  const blocks = (list, name) => list.flatMap(([one, place]) => [chips([one]), ...quote(texts[place], `Evidence of ${name}, ${one[0]}`)]);

  function draw(fields) {
    const [id, name, reason, says, question, claim, cited, expected, wanted, constraints, retrieved, evidence, others, more, , , since, answers] = fields;
    const sides = make("div", { class: "sides" });
    if (claim !== null || (cited && cited.length)) {
      sides.append(make("div", null, side("Answer"), ...(claim ? quote(claim, `Answer to ${name}`) : [nothing()]),
        ...(cited ? [side("Cited"), cited.length ? chips(cited) : nothing()] : [])));
    }
    if (expected.length || wanted.length || constraints.length) {
      sides.append(make("div", null,
        ...(expected.length ? [side("Expected"), chips(expected)] : []),
        ...(wanted.length ? [side("Expected evidence"), chips(wanted)] : []),
        ...(constraints.length ? [side("Constraints"), make("ul", null, ...constraints.map((one) => make("li", null, one)))] : [])));
    }
    if (retrieved.length || evidence.length) {
      sides.append(make("div", null,
        ...(evidence.length ? [side("Evidence"), ...blocks(evidence, name)] : []),
        ...(others.length ? [make("details", null, make("summary", null, `${others.length} more retrieved`), ...blocks(others, name))] : []),
        ...(retrieved.length ? [side("Retrieved, in order"), make("ol", { class: "ranks" }, ...retrieved.map(chip))] : [])));
    }
    const differing = answers.length ? make("div", { class: "sides" },
      ...answers.map(([label, text]) => make("div", null, side(label), ...quote(text, `${label} of ${name}`)))) : null;
    return make("details", { class: "row card", id },
      make("summary", null, make("strong", null, name), " ", make("span", { class: "q" }, question),
        since ? " " : null, since ? make("span", { class: "tag odd" }, since) : null, " ", make("span", { class: "tag bad" }, reasons[reason] || reason)),
      question ? make("p", { class: "question" }, question) : null,
      make("p", { class: "says" }, says), differing, sides,
      more.length ? make("dl", null, ...more.map(([key, text]) => make("div", null, make("dt", null, key), make("dd", null, text)))) : null);
  }

  // --- the items of a suite: filters, cards, table ---

  function Pager(buttons, size, change) {
    let page = 0, total = 0;
    this.size = size;
    this.range = () => [page * this.size, Math.min((page + 1) * this.size, total)];
    this.show = (length, wanted = page) => {
      total = length;
      page = Math.max(0, Math.min(wanted, Math.ceil(total / this.size) - 1));
      const [start, end] = this.range();
      for (const root of buttons) {
        root.querySelector(".where").textContent = total ? `${count(start + 1)} to ${count(end)} of ${count(total)}` : "none";
        root.querySelector(".back").disabled = page === 0;
        root.querySelector(".next").disabled = end >= total;
        const after = root.closest(".after");
        if (after) after.hidden = total <= this.size;
      }
    };
    this.page = () => page;
    for (const root of buttons) {
      root.querySelector(".back").addEventListener("click", () => change(page - 1));
      root.querySelector(".next").addEventListener("click", () => change(page + 1));
    }
  }

  function Items(root) {
    const prefix = root.dataset.items, CARDS = Number(root.dataset.size);
    const { rows, failing, first, reason, also, anchors, slices, cards, against } = suites[prefix];
    const anchor = (row) => anchors ? anchors[row] : `item-${prefix}${rows[row][0]}`;
    const find = (name) => root.querySelector(name);
    const [search, pick, part, wide] = ["[type=search]", ".reason", ".slice", ".wide"].map(find);
    if (!search) return;  // a suite without any item
    const list = find(".cards"), body = find("tbody"), head = [...root.querySelectorAll(".items thead th")];
    let order = rows.map((_, row) => row), kept = order, keptCards = cards, sorted = -1, down = false;
    const rowPager = new Pager([...root.querySelectorAll(".of-rows")], SIZE, (page) => { drawRows(page); save(); });
    const cardPager = new Pager([...root.querySelectorAll(".of-cards")], CARDS, (page) => { drawCards(page); save(); list.scrollIntoView({ block: "start" }); });

    function matches(text, why, parts) {  // why: the reason, and what else is wrong
      if (part.value && !parts.includes(part.value)) return false;
      if (pick.value.startsWith("gate:") && !why.some((one) => (against[pick.value.slice(5)] || []).includes(one))) return false;
      if (pick.value && !pick.value.startsWith("gate:") && !why.includes(pick.value)) return false;
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (!words.length) return true;
      const folded = text().toLowerCase();
      return words.every((word) => folded.includes(word));
    }

    function filter() {
      kept = order.filter((row) => matches(() => rows[row].map(shown).join(" "), [reason, also].map((at) => at < 0 ? "" : shown(rows[row][at])), slices ? slices[row] : []));
      keptCards = cards.filter((card) => matches(() => [card[1], card[2], card[3], card[4], bare(card[5] || ""), card[16]].join(" "), [card[2], card[15]], card[14]));
      drawRows(0);
      drawCards(0);
    }

    function line(row) {
      const name = anchor(row);
      const made = make("tr", { role: "row", id: name, class: row < failing ? "failing" : null });
      const columns = wide?.checked ? rows[row].length : first;
      rows[row].slice(0, columns).forEach((value, column) => {
        const text = shown(value);
        made.append(column ? make("td", { role: "cell", class: text.length > 40 ? "long" : null }, text)
          : make("th", { scope: "row", role: "rowheader" }, make("a", { href: "#" + name }, text)));
      });
      return made;
    }

    function drawRows(page) {
      if (!body) return;
      rowPager.show(kept.length, page);
      body.replaceChildren(...kept.slice(...rowPager.range()).map(line));
      head.forEach((th, column) => { th.hidden = column >= first && !wide?.checked; });
    }

    function drawCards(page) {
      if (!list) return;
      cardPager.show(keptCards.length, page);
      list.replaceChildren(...keptCards.slice(...cardPager.range()).map(draw));
      reachable(list);
    }

    function sort(column, reverse) {
      sorted = column;
      down = reverse;
      order = rows.map((_, row) => row);
      if (column >= 0) order.sort((one, other) => compare(rows[one][column], rows[other][column], down) || one - other);
      head.forEach((th, place) => place === column ? th.setAttribute("aria-sort", down ? "descending" : "ascending") : th.removeAttribute("aria-sort"));
    }

    function options(select, values) {
      if (values.length < 2 || values.length > 200) return;
      select.append(...values.map(([value, text]) => new Option(text, value)));
      select.closest("label").hidden = false;
    }

    // What is chosen is in the address, so that a view can be sent to somebody else.
    function save() {
      const state = new URLSearchParams();
      const put = (name, value) => { if (value) state.set(name, value); };
      put("q", search.value); put("reason", pick.value); put("slice", part.value);
      put("columns", wide?.checked ? "all" : "");
      put("sort", sorted < 0 ? "" : (down ? "-" : "") + sorted);
      put("page", rowPager.page() ? rowPager.page() + 1 : ""); put("cards", cardPager.page() ? cardPager.page() + 1 : "");
      history.replaceState(null, "", `#view-${prefix}${state.size ? "?" + state : ""}`);
    }

    this.restore = (text) => {
      const state = new URLSearchParams(text), get = (name) => state.get(name) || "";
      search.value = get("q"); pick.value = get("reason"); part.value = get("slice");
      if (wide) wide.checked = get("columns") === "all";
      const column = parseInt(get("sort").replace("-", ""), 10);
      sort(column >= 0 && column < head.length ? column : -1, get("sort").startsWith("-"));
      filter();
      drawRows((parseInt(get("page"), 10) || 1) - 1);
      if (body && (get("page") || get("sort") || get("columns"))) open(body);
      drawCards((parseInt(get("cards"), 10) || 1) - 1);
    };

    this.reveal = (id) => {
      const card = cards.findIndex((one) => one[0] === id);
      const row = anchors ? anchors.indexOf(id) : rows.findIndex((_, place) => anchor(place) === id);
      if (card < 0 && row < 0) return false;
      if (card >= 0 ? !keptCards.includes(cards[card]) : !kept.includes(row)) {
        search.value = pick.value = part.value = "";
        filter();
      }
      if (card >= 0) drawCards(Math.floor(keptCards.indexOf(cards[card]) / cardPager.size));
      else drawRows(Math.floor(kept.indexOf(row) / rowPager.size));
      return true;
    };

    // The next or previous card, over the page's end; the next row where the table has the focus.
    this.step = (step) => {
      const row = document.activeElement.closest(".items tbody tr");
      if (row && root.contains(row)) return (step > 0 ? row.nextElementSibling : row.previousElementSibling)?.querySelector("a").focus();
      if (!list || !keptCards.length) return undefined;
      const open = [...list.children].indexOf(document.activeElement.closest(".card"));
      let place = open < 0 ? (step > 0 ? 0 : -1) : open + step;
      if (place < 0 && cardPager.page()) { drawCards(cardPager.page() - 1); place = list.children.length - 1; }
      else if (place >= list.children.length && cardPager.range()[1] < keptCards.length) { drawCards(cardPager.page() + 1); place = 0; }
      const card = list.children[place];
      if (card) { card.firstElementChild.focus({ preventScroll: true }); card.scrollIntoView({ block: "nearest" }); }
      return undefined;
    };
    this.search = () => { open(search); search.focus(); };
    this.root = root;
    this.prefix = prefix;

    head.forEach((th, column) => {
      const button = make("button", { type: "button" });
      button.append(...th.childNodes);
      button.addEventListener("click", () => { sort(column, sorted === column && !down); filter(); save(); });
      th.append(button);
    });
    const tally = new Map();
    for (const card of cards) tally.set(card[2], (tally.get(card[2]) || 0) + 1);
    if (reason >= 0) for (const row of rows.slice(0, failing)) if (!tally.has(shown(row[reason]))) tally.set(shown(row[reason]), 0);
    const chosen = [...tally].sort((one, other) => collator.compare(one[0], other[0])).map(([name, many]) => [name, (reasons[name] || name) + (many ? `: ${many}` : "")]);
    options(pick, [...chosen, ...Object.keys(against).map((name) => ["gate:" + name, `counts against ${name}`])]);
    options(part, [...new Set([...(slices || []), ...cards.map((card) => card[14])].flat())].sort(collator.compare).map((name) => [name, name]));
    let wait = 0;
    const changed = () => { filter(); save(); };
    search.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(changed, 120); });
    for (const control of [pick, part]) control.addEventListener("change", changed);
    wide?.addEventListener("change", () => { drawRows(); save(); });
    addEventListener("beforeprint", () => {
      if (!list) return;
      cardPager.size = PRINTED;
      drawCards(0);
      const first = document.querySelector(".cards") === list;  // ten items in all
      list.hidden = !first;
      for (const card of list.children) card.open = first;
    });
    addEventListener("afterprint", () => { if (list) { cardPager.size = CARDS; list.hidden = false; drawCards(0); } });
    for (const bar of root.querySelectorAll(".controls")) bar.hidden = false;
    for (const note of root.querySelectorAll(".still")) note.remove();
    drawRows(0);
    drawCards(0);
  }

  // --- links and keys ---

  function open(place) {
    for (let box = place.closest("details"); box; box = box.parentElement?.closest("details")) box.open = true;
  }

  function go() {
    const hash = location.hash.slice(1);
    let id = hash;
    try { id = decodeURIComponent(hash); } catch { return; }
    if (hash.startsWith("view-")) {
      const [name, state] = hash.slice(5).split("?");
      const table = tables.find((one) => one.prefix === name);
      if (!table) return;
      table.restore(state || "");
      open(table.root);
      table.root.scrollIntoView({ block: "start" });
      return;
    }
    document.querySelectorAll("tr.here").forEach((row) => row.classList.remove("here"));
    if (id.startsWith("item-") && !document.getElementById(id)) tables.some((table) => table.reveal(id));
    const target = document.getElementById(id);
    if (!target) return;
    open(target);
    if (!id.startsWith("item-")) { target.scrollIntoView({ block: "start" }); return; }
    if (target.tagName === "TR") target.classList.add("here");
    else target.open = true;
    target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
    target.querySelector("a, summary").focus({ preventScroll: true });
  }

  /** The items that a key is about: those with the focus, else the first that are on the screen. */
  function current() {
    const focused = tables.find((table) => table.root.contains(document.activeElement));
    if (focused) return focused;
    const open = tables.filter((table) => table.root.getClientRects().length);
    return open.find((table) => table.root.getBoundingClientRect().bottom > innerHeight / 3) || open[0] || tables[0];
  }

  function key(event) {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && typing) return typing.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !tables.length) return undefined;
    if (event.key === "/") { event.preventDefault(); return current().search(); }
    const step = { j: 1, k: -1 }[event.key];
    return step ? current().step(step) : undefined;
  }

  /** A box that scrolls can be reached by Tab, one that does not is passed over. */
  function reachable(root = document) {
    for (const box of root.querySelectorAll(".scroll, blockquote.long")) {
      const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
      box.tabIndex = scrolls ? 0 : -1;
    }
  }

  for (const root of document.querySelectorAll("[data-items]")) tables.push(new Items(root));
  for (const link of document.querySelectorAll("a.show")) link.hidden = false;
  document.addEventListener("keydown", key);
  document.addEventListener("toggle", (event) => reachable(event.target), true);
  addEventListener("resize", () => reachable());
  reachable();
  addEventListener("hashchange", go);
  addEventListener("load", go);
})();
