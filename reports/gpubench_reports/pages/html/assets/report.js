"use strict";
// Sorting, filtering, the dialog of raw values and the theme. The page reads without this script.
(() => {
  const byId = (id) => document.getElementById(id);

  const themes = ["auto", "light", "dark"];
  const theme = byId("theme");
  const setTheme = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.textContent = `Theme: ${name}`;
    theme.dataset.name = name;
  };
  theme.hidden = false;
  setTheme("auto");
  theme.addEventListener("click", () => {
    setTheme(themes[(themes.indexOf(theme.dataset.name) + 1) % themes.length]);
  });

  // The menu of concepts closes once a link is taken, on Escape, and when something else is used.
  const menu = byId("concepts");
  const close = () => (menu.open = false);
  menu.addEventListener("click", (event) => event.target.closest("a") && close());
  document.addEventListener("click", (event) => menu.contains(event.target) || close());
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    close();
    menu.querySelector("summary").focus();
  });

  // Concepts of a chart are switched on and off: what draws them, and their points.
  document.querySelectorAll(".concepts").forEach((box) => {
    const chart = box.closest("figure").querySelector("svg");
    const marks = Array.from(chart.querySelectorAll("[data-of]"));
    const buttons = Array.from(box.querySelectorAll("button[data-of]"));
    const set = (button, on) => {
      button.setAttribute("aria-pressed", on);
      marks.filter((m) => m.dataset.of === button.dataset.of).forEach((m) => m.classList.toggle("off", !on));
    };
    buttons.forEach((button) => {
      button.addEventListener("click", () => set(button, button.getAttribute("aria-pressed") !== "true"));
    });
    box.querySelector(".every").addEventListener("click", () => {
      const on = buttons.some((b) => b.getAttribute("aria-pressed") !== "true");
      buttons.forEach((button) => set(button, on));
    });
    box.hidden = false;
  });

  const table = byId("rows-table")?.querySelector("table");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const packed = JSON.parse(byId("raw").textContent);
  const unpack = (part) => {
    if (!Array.isArray(part)) return part;
    const [number, ...values] = part;
    if (number < 0) return values.map(unpack);
    return Object.fromEntries(packed.keys[number].map((key, at) => [key, unpack(values[at])]));
  };
  const raw = unpack(packed.value);

  // --- filters: every control whose name is a column's key, and words that the row must contain
  const controls = Array.from(document.querySelectorAll(".filters [data-filter]"));
  const words = byId("words");
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const apply = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, index) => {
      const fits =
        controls.every((c) => !c.value || row.dataset[c.dataset.filter] === c.value) &&
        wanted.every((word) => texts[index].includes(word));
      row.hidden = !fits;
      if (fits) shown += 1;
    });
    const all = rows.length === 1 ? "1 row" : `${rows.length} rows`;
    byId("count").textContent = shown === rows.length ? all : `${shown} of ${all}`;
  };
  controls.forEach((control) => control.addEventListener("change", apply));
  words.addEventListener("input", apply);
  byId("clear").addEventListener("click", () => {
    controls.forEach((control) => (control.value = ""));
    words.value = "";
    apply();
  });
  // A count in the summary shows its rows.
  document.querySelectorAll("[data-show]").forEach((button) => {
    button.addEventListener("click", () => {
      const { show: key, value } = button.dataset;
      controls.forEach((c) => (c.value = c.dataset.filter === key ? value : ""));
      words.value = "";
      apply();
      byId("rows").scrollIntoView();
      byId("rows").focus({ preventScroll: true });
    });
  });

  // --- sorting: numbers by value with what is absent last, words by the alphabet
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v !== undefined ? Number(cell.dataset.v) : cell.textContent.trim();
  };
  const sort = (header, column) => {
    const falling = header.getAttribute("aria-sort") === "ascending";
    table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const keyed = rows.map((row, index) => [value(row, column), index, row]);
    keyed.sort(([a, i], [b, j]) => {
      if (a === "" || b === "") return (a === "") - (b === "") || i - j;
      const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
      return (falling ? -order : order) || i - j;
    });
    keyed.forEach(([, , row]) => body.append(row));
  };
  table.querySelectorAll("thead th").forEach((header, column) => {
    header.querySelector("button")?.addEventListener("click", () => sort(header, column));
  });

  // --- points of charts: what their row says, beside them; arrows go from one to the next
  const tip = byId("tip");
  const numberOf = (point) => Number(point.getAttribute("href").slice(5));
  const tell = (point) => {
    const entry = raw[numberOf(point)];
    const line = ([title, words]) => {
      const term = document.createElement("dt");
      const said = document.createElement("dd");
      [term.textContent, said.textContent] = [title, words];
      return [term, said];
    };
    byId("tip-name").textContent = entry.raw.name;
    byId("tip-figures").replaceChildren(...entry.tip.flatMap(line));
    tip.hidden = false;
    const place = point.getBoundingClientRect();
    const left = Math.min(place.right + 8, innerWidth - tip.offsetWidth - 8);
    const below = place.bottom + 8 + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(8, left) + scrollX}px`;
    tip.style.top = `${(below ? place.bottom + 8 : place.top - tip.offsetHeight - 8) + scrollY}px`;
  };
  const hush = () => (tip.hidden = true);
  const seen = (point) => !point.classList.contains("off");
  document.querySelectorAll("a.point title").forEach((title) => {
    title.closest("a").setAttribute("aria-label", title.textContent);
    title.remove(); // the browser would show it over ours
  });
  for (const kind of ["pointerover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const point = event.target.closest?.("a.point");
      if (point) tell(point);
      else if (!tip.contains(event.target)) hush();
    });
  }
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hush();
    const point = event.target.closest?.("a.point");
    if (!point || !(event.key in steps)) return;
    event.preventDefault();
    const all = Array.from(point.closest("svg").querySelectorAll("a.point")).filter(seen);
    all.at((all.indexOf(point) + steps[event.key]) % all.length).focus();
  });
  const goTo = (index) => {
    byId("clear").click();
    const row = byId(`row-${index}`);
    row.scrollIntoView({ block: "center" });
    row.querySelector("button").focus({ preventScroll: true });
  };
  document.addEventListener("click", (event) => {
    const point = event.target.closest("a.point");
    if (!point) return;
    event.preventDefault();
    hush();
    goTo(numberOf(point));
  });

  // --- raw values
  const dialog = byId("details");
  const show = (index) => {
    const entry = raw[index];
    byId("details-name").textContent = entry.raw.name;
    byId("details-verdict").textContent = entry.words;
    byId("details-raw").textContent = JSON.stringify(entry.raw, null, 2);
    dialog.showModal();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-row]");
    if (button) show(Number(button.dataset.row));
  });
  byId("details-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  apply();
})();
