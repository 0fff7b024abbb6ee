(() => {
  "use strict";
  const PRINTED = 10;
  const { suites, cards, texts, reasons, against } = JSON.parse(document.getElementById("data").textContent);
  const collator = new Intl.Collator("en", { numeric: true });
  const lists = [];

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
    const [id, name, reason, says, question, claim, cited, expected, wanted, constraints, retrieved, evidence, others, more, , , since, answers, suite] = fields;
    const sides = make("div", { class: "sides" });
    if (claim !== null || (cited && cited.length)) {
      sides.append(make("div", { class: "answer" }, side("Answer"), ...(claim ? quote(claim, `Answer to ${name}`) : [nothing()]),
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
    const differing = answers.length ? make("div", { class: "sides answer" },
      ...answers.map(([label, text]) => make("div", null, side(label), ...quote(text, `${label} of ${name}`)))) : null;
    return make("details", { class: "row card", id },
      make("summary", null, make("strong", null, name), several ? " " : null, several ? make("span", { class: "of" }, suite) : null, " ", make("span", { class: "q" }, question),
        since ? " " : null, since ? make("span", { class: "tag odd" }, since) : null, " ", make("span", { class: "tag bad" }, reasons[reason] || reason)),
      question ? make("p", { class: "question" }, question) : null,
      make("p", { class: "says" }, says), differing, sides,
      more.length ? make("dl", null, ...more.map(([key, text]) => make("div", null, make("dt", null, key), make("dd", null, text)))) : null);
  }

  // --- lists: failing questions as cards, the others as rows; each has filters, pages and an address of its own ---

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

  const several = document.querySelector(".card .of") !== null;  // suites, which rows name

  // An entry of a list has its id, its suite, why it fails (the reason, and what else is wrong), its slices and its text.

  /** A card that stands in the page. */
  function standing(node) {
    const { suite, reason, also, slices } = node.dataset;
    const text = () => [...node.querySelectorAll("summary, .says, .answer")].map((part) => part.textContent).join(" ");
    return { id: node.id, suite, why: [reason, also || ""], slices: slices ? slices.split("\n") : [], text, node: () => node };
  }

  /** A card that is drawn when it is asked for. */
  function drawn(card) {
    const text = () => [card[1], reasons[card[2]] || card[2], card[3], card[4], bare(card[5] || ""), card[16], ...card[17].map((one) => bare(one[1]))].join(" ");
    return { id: card[0], suite: card[18], why: [card[2], card[15]], slices: card[14], text, node: () => draw(card) };
  }

  /** A row of the table of a suite. */
  function tableRow(suite, prefix, place, columns) {
    const { rows, failing, reason, also, anchors, slices } = suite, values = rows[place];
    const id = anchors ? anchors[place] : `item-${prefix}${values[0]}`;
    const node = () => {
      const made = make("tr", { role: "row", id, class: place < failing ? "failing" : null });
      values.slice(0, columns()).forEach((value, column) => {
        const text = shown(value);
        made.append(column ? make("td", { role: "cell", class: text.length > 40 ? "long" : null }, text)
          : make("th", { scope: "row", role: "rowheader" }, make("a", { href: "#" + id }, text)));
      });
      return made;
    };
    const why = [reason, also].map((at) => at < 0 ? "" : shown(values[at]));
    return { id, suite: suite.suite, why, slices: slices ? slices[place] : [], values, text: () => values.map(shown).join(" "), node };
  }

  function List(root) {
    const find = (name) => root.querySelector(name);
    const [search, pick, part, from, wide] = ["[type=search]", ".reason", ".slice", ".of-suite", ".wide"].map(find);
    const isTable = "suite" in root.dataset, prefix = root.dataset.suite, suite = suites[prefix];
    const box = find(isTable ? "tbody" : ".cards"), head = isTable ? [...root.querySelectorAll("thead th")] : [];
    const columns = () => wide?.checked ? head.length : suite.first;
    const entries = isTable ? suite.rows.map((_, place) => tableRow(suite, prefix, place, columns))
      : [...[...box.children].map(standing), ...cards.map(drawn)];
    let order = entries, kept = entries, sorted = -1, down = false;
    const pager = new Pager([...root.querySelectorAll(".pages")], Number(root.dataset.size), (page) => {
      show(page);
      save();
      if (!isTable) box.scrollIntoView({ block: "start" });
    });

    function matches(entry, words) {
      if (part.value && !entry.slices.includes(part.value)) return false;
      if (from.value && entry.suite !== from.value) return false;
      const counted = pick.value.startsWith("gate:") ? (against[entry.suite] || {})[pick.value.slice(5)] || [] : [pick.value];
      if (pick.value && !entry.why.some((one) => one && counted.includes(one))) return false;
      if (!words.length) return true;
      const folded = entry.text().toLowerCase();
      return words.every((word) => folded.includes(word));
    }

    function filter() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      kept = order.filter((entry) => matches(entry, words));
      show(0);
    }

    function show(page) {
      pager.show(kept.length, page);
      box.replaceChildren(...kept.slice(...pager.range()).map((entry) => entry.node()));
      head.forEach((th, column) => { th.hidden = column >= columns(); });
      reachable(box);
    }

    function sort(column, reverse) {
      sorted = column;
      down = reverse;
      order = column < 0 ? entries : entries.map((entry, place) => [entry, place])
        .sort(([one, first], [other, second]) => compare(one.values[column], other.values[column], down) || first - second).map(([entry]) => entry);
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
      put("q", search.value); put("suite", from.value); put("reason", pick.value); put("slice", part.value);
      put("columns", wide?.checked ? "all" : "");
      put("sort", sorted < 0 ? "" : (down ? "-" : "") + sorted);
      put("page", pager.page() ? pager.page() + 1 : "");
      history.replaceState(null, "", `#view-${root.dataset.list}${state.size ? "?" + state : ""}`);
    }

    this.restore = (text) => {
      const state = new URLSearchParams(text), get = (name) => state.get(name) || "";
      search.value = get("q"); from.value = get("suite"); pick.value = get("reason"); part.value = get("slice");
      for (const select of [from, pick, part]) if (select.selectedIndex < 0) select.value = "";
      if (wide) wide.checked = get("columns") === "all";
      const column = parseInt(get("sort").replace("-", ""), 10);
      sort(column >= 0 && column < head.length ? column : -1, get("sort").startsWith("-"));
      filter();
      show((parseInt(get("page"), 10) || 1) - 1);
    };

    this.reveal = (id) => {
      const entry = entries.find((one) => one.id === id);
      if (!entry) return false;
      if (!kept.includes(entry)) {
        search.value = from.value = pick.value = part.value = "";
        filter();
      }
      show(Math.floor(kept.indexOf(entry) / pager.size));
      return true;
    };

    // The next or previous card, over the page's end; of a table the row beside the one that has the focus.
    this.step = (step) => {
      const row = isTable && document.activeElement.closest("tbody tr");
      if (isTable) return (step > 0 ? row?.nextElementSibling : row?.previousElementSibling)?.querySelector("a").focus();
      const open = [...box.children].indexOf(document.activeElement.closest(".card"));
      let place = open < 0 ? (step > 0 ? 0 : -1) : open + step;
      if (place < 0 && pager.page()) { show(pager.page() - 1); place = box.children.length - 1; }
      else if (place >= box.children.length && pager.range()[1] < kept.length) { show(pager.page() + 1); place = 0; }
      const card = box.children[place];
      if (card) { card.firstElementChild.focus({ preventScroll: true }); card.scrollIntoView({ block: "nearest" }); }
      return undefined;
    };
    this.search = () => { open(search); search.focus(); };
    this.root = root;
    this.name = root.dataset.list;

    head.forEach((th, column) => {
      const button = make("button", { type: "button" });
      button.append(...th.childNodes);
      button.addEventListener("click", () => { sort(column, sorted === column && !down); filter(); save(); });
      th.append(button);
    });
    const tally = new Map();
    for (const { why: [why] } of entries) if (why) tally.set(why, (tally.get(why) || 0) + 1);
    const byName = (one, other) => collator.compare(one[0], other[0]);
    const chosen = [...tally].sort(byName).map(([name, many]) => [name, `${reasons[name] || name}: ${many}`]);
    const counted = new Set(tally.size ? Object.values(against).flatMap(Object.keys) : []);
    options(pick, [...chosen, ...[...counted].map((name) => ["gate:" + name, `counts against ${name}`])]);
    options(part, [...new Set(entries.flatMap((entry) => entry.slices))].sort(collator.compare).map((name) => [name, name]));
    options(from, [...new Set(entries.map((entry) => entry.suite))].map((name) => [name, name]));
    let wait = 0;
    const changed = () => { filter(); save(); };
    search.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(changed, 120); });
    for (const control of [pick, part, from]) control.addEventListener("change", changed);
    wide?.addEventListener("change", () => { show(); save(); });
    const print = (size, isOpen) => () => {
      pager.size = size;
      show(0);
      for (const card of box.children) card.open = isOpen;
    };
    if (!isTable) {
      addEventListener("beforeprint", print(PRINTED, true));
      addEventListener("afterprint", print(Number(root.dataset.size), false));
    }
    for (const bar of root.querySelectorAll(".controls")) bar.hidden = false;
    for (const note of root.querySelectorAll(".still")) note.remove();
    show(0);
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
      const list = lists.find((one) => one.name === name);
      if (!list) return;
      list.restore(state || "");
      open(list.root);
      list.root.scrollIntoView({ block: "start" });
      return;
    }
    document.querySelectorAll("tr.here").forEach((row) => row.classList.remove("here"));
    if (id.startsWith("item-") && !document.getElementById(id)) lists.some((list) => list.reveal(id));
    const target = document.getElementById(id);
    if (!target) return;
    open(target);
    if (!id.startsWith("item-")) { target.scrollIntoView({ block: "start" }); return; }
    if (target.tagName === "TR") target.classList.add("here");
    else target.open = true;
    target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
    target.querySelector("a, summary").focus({ preventScroll: true });
  }

  /** The list that a key is about: the one with the focus, else the first that is on the screen. */
  function current() {
    const focused = lists.find((list) => list.root.contains(document.activeElement));
    if (focused) return focused;
    const open = lists.filter((list) => list.root.getClientRects().length);
    return open.find((list) => list.root.getBoundingClientRect().bottom > innerHeight / 3) || open[0] || lists[0];
  }

  function key(event) {
    const typing = event.target.closest?.("input, select, textarea");
    if (event.key === "Escape" && typing) return typing.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || !lists.length) return undefined;
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

  for (const root of document.querySelectorAll("[data-list]")) lists.push(new List(root));
  for (const link of document.querySelectorAll("a.show")) link.hidden = false;
  document.addEventListener("keydown", key);
  document.addEventListener("toggle", (event) => reachable(event.target), true);
  addEventListener("resize", () => reachable());
  reachable();
  addEventListener("hashchange", go);
  addEventListener("load", go);
})();
