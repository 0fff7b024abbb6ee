// Filters of the page of questions by reason, slice and text. Without it the page shows everything.
"use strict";
(() => {
  const form = document.querySelector(".filters");
  if (!form) return;
  const pick = (id) => document.getElementById(id);
  const [reason, slice, text, found] = ["reason", "slice", "text", "found"].map(pick);
  const rows = [...document.querySelectorAll(".grid tbody tr:not(.total)")];
  const apply = () => {
    const wanted = text.value.trim().toLowerCase();
    let count = 0;
    for (const row of rows) {
      const fits =
        (!reason.value || row.dataset.r === reason.value) &&
        (!slice || !slice.value || row.dataset.s.split("|").includes(slice.value)) &&
        (!wanted || row.textContent.toLowerCase().includes(wanted));
      row.hidden = !fits;
      count += fits;
    }
    found.textContent = count === rows.length ? "" : `${count} of ${rows.length} on this page`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.querySelector(".more").hidden = false;
  apply();
})();
