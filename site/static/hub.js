// The site's one script: colours, copying, ticks, search, and the page that reads a log. Reading works without it.
"use strict";
(() => {
  const ROOT = document.currentScript.dataset.root;
  const store = {
    get: (key) => { try { return localStorage.getItem(key); } catch { return null; } },
    set: (key, value) => { try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); } catch { /* private mode */ } },
  };
  const html = document.documentElement;
  html.classList.add("js");
  const theme = store.get("denpex-theme");
  if (theme) html.dataset.theme = theme; // before the first paint: no flash

  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (selector, from = document) => from.querySelector(selector);
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null));
    return element;
  };

  document.addEventListener("DOMContentLoaded", () => {
    colours();
    copying();
    keys();
    here();
    if (one(".boxes")) ticks();
    if (one(".variant")) variants();
    if (one(".facets")) search();
    if (one(".drop")) paste();
  });

  function colours() {
    const button = one(".theme");
    if (!button) return;
    const names = { "": "as the system", light: "light", dark: "dark" };
    const tell = () => button.setAttribute("aria-label", `Colours: ${names[html.dataset.theme ?? ""]}`);
    button.hidden = false;
    tell();
    button.addEventListener("click", () => {
      const dark = matchMedia("(prefers-color-scheme: dark)").matches;
      const order = dark ? ["", "light", "dark"] : ["", "dark", "light"];
      const next = order[(order.indexOf(html.dataset.theme ?? "") + 1) % 3];
      if (next) html.dataset.theme = next;
      else delete html.dataset.theme;
      store.set("denpex-theme", next || null);
      tell();
    });
  }

  function copying() {
    for (const button of all(".copy")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        const text = one("code", button.closest("figure")).textContent;
        try {
          await navigator.clipboard.writeText(text);
        } catch { // file:// and old browsers
          const area = make("textarea");
          area.value = text;
          document.body.append(area);
          area.select();
          document.execCommand("copy");
          area.remove();
        }
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
    }
  }

  function keys() {
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      (one("#q") ?? one("#big") ?? one("#find")).focus();
    });
  }

  function here() {
    for (const link of all(".top nav a")) if (location.href.startsWith(link.href.replace(/index\.html$/, ""))) link.setAttribute("aria-current", "true");
  }

  // Tabs show some variants of the fix; the browser's own search, an address and paper reach all of them.
  function variants() {
    const tabs = all(".choice [role=tab]"), items = all(".variant"), panel = one("#variants");
    if (tabs.length < 2) return;
    const shows = (tab) => tab.dataset.shows.split(" ");
    const set = (tab) => tab.dataset.for.split(" ").filter(Boolean);
    const of = (item) => tabs.find((tab) => item && shows(tab).includes(item.id.slice(4)));

    function select(tab) {
      for (const other of tabs) {
        other.setAttribute("aria-selected", String(other === tab));
        other.tabIndex = other === tab ? 0 : -1;
      }
      for (const item of items) {
        if (shows(tab).includes(item.id.slice(4))) item.removeAttribute("hidden");
        else item.setAttribute("hidden", "until-found");
      }
      panel.setAttribute("aria-labelledby", tab.id);
    }
    function choose(tab) {
      select(tab);
      if (set(tab).length) store.set("denpex-setup", set(tab)[0]);
      try { history.replaceState(null, "", `#fix-${shows(tab)[0]}`); } catch { /* file:// */ }
    }
    const named = () => items.find((item) => `#${item.id}` === location.hash);

    panel.setAttribute("role", "tabpanel");
    tabs.forEach((tab, index) => {
      tab.addEventListener("click", () => choose(tab));
      tab.addEventListener("keydown", (event) => {
        const last = tabs.length - 1;
        const to = { ArrowRight: index === last ? 0 : index + 1, ArrowLeft: index === 0 ? last : index - 1, Home: 0, End: last }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        choose(tabs[to]);
        tabs[to].focus();
      });
    });
    items.forEach((item) => item.addEventListener("beforematch", () => select(of(item))));
    addEventListener("hashchange", () => { if (named()) select(of(named())); });
    const kept = store.get("denpex-setup");
    select(of(named()) ?? tabs.find((tab) => kept && set(tab).includes(kept)) ?? tabs[0]);
    panel.classList.add("ready");
    named()?.scrollIntoView();
  }

  function ticks() {
    const key = `denpex-ticks-${one("[data-entry]").dataset.entry}`;
    const boxes = all(".boxes input");
    const held = new Set((store.get(key) ?? "").split(","));
    boxes.forEach((box) => {
      box.checked = held.has(box.id);
      box.addEventListener("change", () => store.set(key, boxes.filter((item) => item.checked).map((item) => item.id).join(",") || null));
    });
    one(".script-only").hidden = false;
    one(".reset").addEventListener("click", () => {
      boxes.forEach((box) => { box.checked = false; });
      store.set(key, null);
    });
    one(".print").addEventListener("click", () => print());
  }

  const FEW = 5;

  // Search: Pagefind over all text where it was indexed and may be loaded, else titles, summaries and tags.
  function search() {
    const form = one(".facets"), count = one(".count"), found = one(".found"), rows = one(".rows.all"), nothing = one(".nothing");
    const names = ["q", "hub", "phase", "kind", "framework"];
    const items = all(".row", rows).map((row) => ({ row, text: `${row.textContent} ${row.dataset.words}`.toLowerCase() }));
    const byId = new Map(items.map(({ row }) => [row.dataset.words.split(" ")[0], row]));
    let pagefind = null, turn = 0;

    const state = () => Object.fromEntries(names.map((name) => [name, form.elements[name].value.trim()]));
    const fromAddress = () => {
      const held = new URLSearchParams(location.search);
      for (const name of names) form.elements[name].value = held.get(name) ?? "";
    };
    const toAddress = (wanted) => {
      const held = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
      try { history.replaceState(null, "", held.size ? `?${held}` : location.pathname); } catch { /* file:// */ }
    };
    const fits = (row, wanted) => names.slice(1).every((name) => !wanted[name] || row.dataset[name].split(" ").includes(wanted[name]));

    function locally(wanted, words) {
      const scored = items.filter(({ row }) => fits(row, wanted)).map((item) => ({ ...item, score: words.filter((word) => item.text.includes(word)).length }));
      const exact = scored.filter((item) => item.score === words.length);
      const least = Math.max(1, Math.ceil(words.length / 2));
      return exact.length || !words.length ? exact.map((item) => item.row) : scored.filter((item) => item.score >= least).sort((left, right) => right.score - left.score).map((item) => item.row);
    }

    // All words; where that finds little, without those that vary in a message (numbers, paths), then its beginning.
    async function indexed(text, filters) {
      const steady = text.split(/\s+/).filter((word) => !/\d|\/.*\//.test(word)).join(" ");
      const found = new Map();
      for (const words of new Set([text, steady, steady.split(" ").slice(0, 6).join(" ")])) {
        if (!words || found.size >= FEW) continue;
        for (const result of (await pagefind.search(words, { filters })).results) if (!found.has(result.id)) found.set(result.id, result);
      }
      return [...found.values()];
    }

    // What was typed is marked in titles and summaries; excerpts come with their own marks.
    function marked(element, words) {
      if (!words.length) return;
      const shape = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "gi");
      element.replaceChildren(...element.textContent.split(shape).map((piece, index) => (index % 2 ? make("mark", {}, piece) : piece)));
    }

    function show(list, words, from = "titles", excerpts = new Map()) {
      const telling = words.filter((word) => word.length > 1);
      found.replaceChildren(...list.map((row) => {
        const copy = row.cloneNode(true);
        if (excerpts.has(row)) one("p", copy).replaceChildren(...excerpts.get(row));
        else marked(one("p", copy), telling);
        marked(one("a", copy), telling);
        return copy;
      }));
      found.hidden = false;
      rows.hidden = true;
      count.textContent = list.length === 1 ? "1 entry" : `${list.length} entries`;
      count.dataset.searched = from;
      nothing.hidden = list.length > 0;
    }

    // An excerpt is text with marks; nothing else of it is taken over.
    const excerpt = (text) => {
      const parsed = new DOMParser().parseFromString(text, "text/html").body;
      return [...parsed.childNodes].map((node) => (node.nodeName === "MARK" ? make("mark", {}, node.textContent) : node.textContent));
    };

    async function update() {
      const wanted = state(), mine = ++turn, words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
      toAddress(wanted);
      if (!names.some((name) => wanted[name])) {
        found.hidden = nothing.hidden = true;
        rows.hidden = false;
        count.textContent = `${items.length} entries`;
        return;
      }
      const local = locally(wanted, words);
      if (!wanted.q || pagefind === null) {
        show(local, words);
        return;
      }
      const filters = Object.fromEntries(names.slice(1).filter((name) => wanted[name]).map((name) => [name, wanted[name]]));
      const results = await indexed(wanted.q, filters);
      const data = await Promise.all(results.slice(0, 60).map((result) => result.data()));
      if (mine !== turn) return; // something else was typed meanwhile
      const excerpts = new Map();
      const list = data.map((item) => {
        const row = byId.get(/\/e\/([^/]+)\//.exec(item.url)?.[1]);
        if (row) excerpts.set(row, excerpt(item.excerpt));
        return row;
      }).filter(Boolean);
      const whole = local.filter((row) => one("a", row).textContent.toLowerCase().includes(wanted.q.toLowerCase()));
      const every = local.filter((row) => words.every((word) => `${row.textContent} ${row.dataset.words}`.toLowerCase().includes(word)));
      const rest = list.length + every.length < FEW ? local.slice(0, FEW) : []; // half of the words, where all of them find little
      show([...new Set([...whole, ...list, ...every, ...rest])], words, "text", excerpts);
    }

    fromAddress();
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", update);
    form.addEventListener("reset", () => setTimeout(update));
    addEventListener("popstate", () => { fromAddress(); update(); });
    update();
    if (form.dataset.indexed && location.protocol !== "file:") {
      import(new URL(`${ROOT}pagefind/pagefind.js`, location.href)).then(async (module) => {
        await module.init();
        pagefind = module;
        if (form.elements.q.value) update();
      }).catch(() => {});
    }
    form.elements.q.focus();
  }

  // Reading a log: the matcher's source becomes a worker inside this page's policy, which forbids every request.
  function paste() {
    const form = one(".drop"), area = one("#log"), file = one("#file"), status = one(".status"), bar = one("progress"), result = one(".result");
    let worker = null, number = 0, chosen = null;

    function start() {
      const source = `${denpexMatcher}\n`.replace(/return \{ prepare, diagnose \};\n\}\n$/, "}\ndenpexMatcher(self);\n");
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
      worker.postMessage({ rules: DENPEX_RULES });
      worker.onmessage = ({ data }) => {
        if (data.id !== number) return;
        if (data.progress !== undefined) {
          bar.value = data.progress;
          return;
        }
        bar.hidden = true;
        if (data.error) status.textContent = `That could not be read: ${data.error}`;
        else report(data.answer, data.milliseconds);
      };
    }

    function run(source, name) {
      if (!source.size) {
        status.textContent = "There is nothing to read yet.";
        return;
      }
      if (worker === null) start();
      number++;
      bar.value = 0;
      bar.hidden = false;
      result.hidden = true;
      status.textContent = `Reading ${name} …`;
      worker.postMessage({ id: number, source, name, hung: one("#hung").checked });
    }

    const entryLink = (item) => make("a", { href: `${form.dataset.entries}${item.id}/index.html` }, item.title);
    const part = (item, anchor, text) => make("a", { href: `${form.dataset.entries}${item.id}/index.html#${anchor}` }, text);
    const proof = (lines) => make("ul", { class: "proof" }, ...lines.map((item) => make("li", {}, make("b", {}, item.line ? `line ${item.line}${item.rank === null || item.rank === undefined ? "" : `, rank ${item.rank}`}` : item.what ?? "fact"), item.text)));

    function report(answer, milliseconds) {
      const speed = milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
      status.textContent = `${answer.lines.toLocaleString("en")} lines read in ${speed}${answer.ranks > 1 ? `, ${answer.ranks} ranks seen` : ""}.`;
      result.replaceChildren();
      const [best, ...others] = answer.hypotheses;
      if (best) {
        const share = Math.round(best.confidence * 100);
        result.append(make("div", { class: `verdict k-${best.kind}` },
          make("h2", {}, entryLink(best)),
          make("p", { class: "quiet" }, `confidence ${share} %`), meter(share),
          make("p", {}, best.action),
          make("p", { class: "acts" }, part(best, "fix", "Fix"), part(best, "verify", "Verify"), part(best, "checklist", "Checklist"), part(best, "lookalikes", "If this is not it")),
          make("h3", {}, "Because"), proof(best.evidence)));
        if (answer.began && !best.evidence.some((item) => item.line === answer.began.line)) result.append(make("div", { class: "verdict" }, make("h2", {}, "Where it began"), proof([answer.began])));
      } else {
        const words = answer.verdict === "healthy" ? "Nothing failed in this log: it ends as a run that completed." : "No entry fits this log well enough, and a guess would not help.";
        result.append(make("div", { class: "verdict" }, make("h2", {}, answer.verdict === "healthy" ? "Healthy" : "Unknown"), make("p", {}, words), answer.began ? proof([answer.began]) : null));
      }
      const rivals = others.filter((item) => item.role !== "collateral" && item.standing === "specific").slice(0, 3);
      const after = others.filter((item) => item.role === "collateral" || item.standing === "summary").slice(0, 3);
      if (rivals.length) result.append(list("Also possible", rivals.map((item) => [entryLink(item)])));
      if (after.length) result.append(list("Seen as well, but a consequence or a summary", after.map((item) => [entryLink(item)])));
      if (!best && answer.near.length) result.append(list("Nearest, on weak signs only", answer.near.map((item) => [entryLink(item)])));
      if (answer.ruledOut.length) result.append(list("Ruled out", answer.ruledOut.map((item) => [entryLink(item), `: ${item.because}${item.line ? ` (line ${item.line})` : ""}`])));
      if (answer.facts.length) result.append(list("Read from the log", answer.facts.map((fact) => [`${fact.name} = ${fact.values.join(", ")}`]), "facts"));
      result.hidden = false;
    }

    function meter(share) {
      const fill = make("i");
      fill.style.width = `${share}%`;
      return make("div", { class: "meter", "aria-hidden": "true" }, fill);
    }
    const list = (title, rows, kind = "") => make("div", {}, make("h3", {}, title), make("ul", { class: kind }, ...rows.map((row) => make("li", {}, ...row))));

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (chosen && !area.value) run(chosen, chosen.name);
      else run(new Blob([area.value]), "the pasted text");
    });
    const take = (given) => {
      chosen = given;
      area.value = "";
      run(given, given.name);
    };
    file.addEventListener("change", () => file.files[0] && take(file.files[0]));
    form.addEventListener("dragover", (event) => { event.preventDefault(); form.classList.add("over"); });
    form.addEventListener("dragleave", () => form.classList.remove("over"));
    form.addEventListener("drop", (event) => {
      event.preventDefault();
      form.classList.remove("over");
      if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    });
    one(".example").addEventListener("click", () => {
      area.value = one("#example").content.textContent.trim();
      form.requestSubmit();
    });
  }
})();
