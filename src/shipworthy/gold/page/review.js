"use strict";
// Everything from documents and drafts is put into the page as text, never as markup.
const $ = (id) => document.getElementById(id);
let item = null, texts = [], chosen = null, busy = false, typing = 0; // chosen: {text: number, start, end} in UTF-16 units

const points = (text, units) => [...text.slice(0, units)].length; // Python counts code points
function units(text, count) {
  let at = 0;
  for (const char of text) { if (count-- <= 0) break; at += char.length; }
  return at;
}
async function ask(path, body) {
  const given = body === undefined ? {} :
    { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(path, given);
  const reply = await response.json();
  if (reply.refused !== undefined) throw new Error(reply.refused);
  return reply;
}
function say(text, bad = false) { $("message").textContent = text; $("message").classList.toggle("bad", bad); }

function show(reply) {
  const now = reply.progress;
  $("bar").firstElementChild.style.width = `${100 * now.done / Math.max(1, now.total)}%`;
  $("bar").setAttribute("aria-valuenow", now.done);
  $("bar").setAttribute("aria-valuemax", now.total);
  const pace = now.seconds ? ` · ${now.seconds} s an item` : "";
  $("progress").textContent = now.headline || `${now.done} of ${now.total} reviewed · ${now.answerable} answerable, `
    + `${now.unanswerable} unanswerable, ${now.drop} dropped${pace} · ${now.reviewer}`;
  const enough = now.enough.map((one) => `${one.have} of ${one.need} ${one.kind}`);
  $("enough").textContent = enough.length ? `Enough to prove the gates: ${enough.join(", ")}` : "";
  $("enough").title = now.enough.map((one) => `${one.kind}: ${one.gates.join(", ")}`).join("\n");
  $("main").hidden = !reply.item;
  $("done").hidden = Boolean(reply.item);
  if (reply.message) say(reply.message, true);
  item = reply.item;
  if (now.title) $("done").querySelector("h2").textContent = now.title;
  if (!item) { $("done-text").textContent = $("progress").textContent; return; }
  const kinds = { cell: "a cell of a table", value: "a value", answer: "a question that the documents ask",
    lacking: "something that the documents seem to lack", question: "a real question" };
  const asked = item.stratum ? ` (${item.stratum}${item.count > 1 ? `, asked ${item.count} times` : ""})` : "";
  $("kind").textContent = `${item.proposal === "unanswerable" ? "Perhaps unanswerable: " : ""}`
    + `${kinds[item.kind] || item.kind || "a candidate"}${asked}${item.hint ? ` · ${item.hint}` : ""}`;
  $("question").value = item.question;
  $("words").value = "";
  $("answer").hidden = true;
  $("show").disabled = !reply.has_answer;
  item.saw = reply.saw_answer;
  lay(reply.texts);
  $("texts").focus({ preventScroll: true });
  lint();
}

function lay(found) {
  texts = found;
  chosen = null;
  texts.forEach((one, number) => {
    if (one.mark && !chosen) {
      chosen = { text: number, start: units(one.text, one.mark[0]), end: units(one.text, one.mark[1]), given: true };
    }
  });
  draw(true);
}

function draw(scroll = false) {
  const box = $("texts");
  box.replaceChildren();
  if (!texts.length) {
    const none = document.createElement("p");
    none.textContent = "There is no text to show. Look in the documents with /, or decide from what you know.";
    box.append(none);
  }
  texts.forEach((one, number) => {
    const title = document.createElement("h2"), body = document.createElement("pre");
    title.textContent = one.title;
    body.dataset.text = number;
    const focus = one.focus ? [units(one.text, one.focus[0]), units(one.text, one.focus[1])] : [0, 0];
    const mark = chosen && chosen.text === number ? [chosen.start, chosen.end] : [0, 0];
    const edges = [...new Set([0, ...focus, ...mark, one.text.length])].sort((a, b) => a - b);
    for (let at = 0; at + 1 < edges.length; at++) {
      const [from, to] = [edges[at], edges[at + 1]];
      const marked = from >= mark[0] && to <= mark[1], inside = from >= focus[0] && to <= focus[1];
      const part = document.createElement(marked ? "mark" : "span");
      if (inside) part.className = "passage";
      part.textContent = one.text.slice(from, to);
      body.append(part);
    }
    box.append(title, body);
  });
  const expected = chosen ? texts[chosen.text].text.slice(chosen.start, chosen.end).replace(/\s+/g, " ").trim()
    : (item && !item.stale && item.expected[0]) || "";
  $("expected").textContent = expected || "Select the text that answers the question";
  $("expected").classList.toggle("none", !expected);
  const target = box.querySelector("mark, .passage");
  if (target && scroll) target.scrollIntoView({ block: "center" });
  else if (target) target.scrollIntoView({ block: "nearest" });
}

function fromMouse() {
  const picked = getSelection();
  if (picked.isCollapsed || !picked.rangeCount) return;
  const range = picked.getRangeAt(0);
  const of = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("pre[data-text]");
  const first = of(range.startContainer);
  let last = of(range.endContainer);
  if (!first && !last) return;
  if (first && !last && range.endOffset === 0) last = first; // a triple click ends at the next block
  if (!first || first !== last) { say("Select within one text: an answer has one place.", true); return; }
  const before = document.createRange();
  before.selectNodeContents(first);
  before.setEnd(range.startContainer, range.startOffset);
  let start = before.toString().length, end = start + range.toString().length;
  const text = texts[first.dataset.text].text;
  end = Math.min(end, text.length);
  while (start < end && /\s/.test(text[start])) start++;
  while (end > start && /\s/.test(text[end - 1])) end--;
  picked.removeAllRanges();
  if (start === end) return;
  chosen = { text: Number(first.dataset.text), start, end };
  say("");
  draw();
  lint();
}

const wordsOf = (text) => [...text.matchAll(/[^\s|]+/g)].map((found) => [found.index, found.index + found[0].length]);
function move(step, extend, sentence) {
  if (!texts.length) return;
  const number = chosen ? chosen.text : 0, text = texts[number].text, all = wordsOf(text);
  if (!all.length) return;
  const focus = texts[number].focus ? units(text, texts[number].focus[0]) : 0;
  let first = chosen ? all.findIndex((word) => word[1] > chosen.start) : all.findIndex((word) => word[0] >= focus) - step;
  let last = chosen ? all.findLastIndex((word) => word[0] < chosen.end) : first;
  if (extend) last = Math.max(first, Math.min(all.length - 1, last + step));
  else {
    first = (step > 0 ? last : first) + step;
    if (sentence) {
      const starts = (at) => at <= 0 || /[.!?|\n]\s*$/.test(text.slice(0, all[at][0]));
      while (first > 0 && first < all.length && !starts(first)) first += step;
    }
    if ((first < 0 || first >= all.length) && texts[number + step]) {
      const other = wordsOf(texts[number + step].text);
      if (other.length) {
        const [start, end] = step > 0 ? other[0] : other[other.length - 1];
        chosen = { text: number + step, start, end };
        draw(); lint(); return;
      }
    }
    first = last = Math.max(0, Math.min(all.length - 1, first));
  }
  const trimmed = text.slice(all[first][0], all[last][1]).replace(/[.,;:!?)\]]+$/, "");
  chosen = { text: number, start: all[first][0], end: all[first][0] + Math.max(1, trimmed.length) };
  draw();
  lint();
}

function selection() {
  if (!chosen || chosen.given) return null; // what the draft expects, unless somebody marked something
  const one = texts[chosen.text];
  return { id: one.id, doc: one.doc, offset: one.offset, text: one.text,
    start: points(one.text, chosen.start), end: points(one.text, chosen.end) };
}

async function act(work) {
  if (busy) return;
  busy = true;
  document.body.setAttribute("aria-busy", "true");
  try { await work(); } catch (error) {
    const gone = error instanceof TypeError;
    say(gone ? "The server is gone, so this was not saved. Start it again; all earlier decisions are on disk."
      : error.message, true);
    if (error.message.includes("shown anew")) { const wording = $("question").value; show(await ask("next"));
      $("question").value = wording; say(error.message, true); }
  } finally { busy = false; document.body.removeAttribute("aria-busy"); }
}
const decide = (decision) => item && act(async () => {
  const reply = await ask("decide", { qid: item.qid, decision, question: $("question").value, selection: selection() });
  show(reply);
  if (!reply.message) say(`Saved: ${reply.decision}. z takes it back.`);
});
const undo = () => act(async () => {
  const reply = await ask("undo", {});
  show(reply);
  say(reply.undone ? "Taken back." : "There is nothing to take back.");
});
const reveal = () => item && !$("show").disabled && act(async () => {
  const reply = await ask("answer", { qid: item.qid });
  $("answer").textContent = `The system said: ${reply.answer}${reply.cited.length ? `\nIt cited: ${reply.cited.join(", ")}` : ""}`;
  $("answer").hidden = false;
});
function lint() {
  clearTimeout(typing);
  typing = setTimeout(async () => {
    if (!item) return;
    const about = item.qid, expected = $("expected").classList.contains("none") ? "" : $("expected").textContent;
    const answerable = item.proposal !== "unanswerable" || Boolean(expected);
    try {
      const reply = await ask("lint", { qid: about, question: $("question").value, expected, answerable });
      if (!item || item.qid !== about) return;
      $("remarks").replaceChildren(...reply.remarks.map((text) => {
        const one = document.createElement("li");
        one.textContent = text;
        return one;
      }));
    } catch { /* the next decision says that the server is gone */ }
  }, 150);
}

const keys = { a: () => decide("accept"), u: () => decide("unanswerable"), x: () => decide("drop"),
  s: () => decide("later"), z: undo, h: reveal, "?": () => $("keys").showModal(),
  e: () => { $("question").focus(); $("question").select(); }, "/": () => $("words").focus() };
document.addEventListener("keydown", (event) => {
  if ($("keys").open) return;
  const field = event.target.closest("textarea, input");
  if (field) {
    if (field === $("question") && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      field.blur();
      decide("accept");
    } else if (event.key === "Escape" || (field === $("question") && event.key === "Enter" && !event.shiftKey)) {
      event.preventDefault();
      $("texts").focus({ preventScroll: true });
    }
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const arrows = { ArrowRight: [1, false], ArrowLeft: [-1, false], ArrowDown: [1, true], ArrowUp: [-1, true] };
  if (arrows[event.key]) {
    event.preventDefault();
    move(arrows[event.key][0], event.shiftKey && !arrows[event.key][1], arrows[event.key][1]);
  } else if (keys[event.key] && !(event.repeat && "auxsz".includes(event.key))) {
    event.preventDefault();
    keys[event.key]();
  }
});
document.addEventListener("mouseup", () => setTimeout(fromMouse, 0));
document.addEventListener("touchend", () => setTimeout(fromMouse, 300));
$("question").addEventListener("input", lint);
$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  act(async () => {
    const reply = await ask("search", { words: $("words").value });
    if (reply.texts.length) { lay(reply.texts); $("texts").focus(); } else say("Nothing in the documents has these words.", true);
  });
});
for (const [id, key] of [["accept", "a"], ["unanswerable", "u"], ["drop", "x"], ["later", "s"], ["undo", "z"],
  ["show", "h"], ["help", "?"]]) $(id).addEventListener("click", () => keys[key]());
act(async () => show(await ask("next")));
