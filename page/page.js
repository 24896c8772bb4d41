/* The page's own life: its address, what it fetched, what is selected, and the news it gets. It renders with view.js. */
"use strict";
(() => {
  const enc = encodeURIComponent, find = (id) => document.getElementById(id);
  const root = find("page"), place = location.pathname.split("/").filter(Boolean).map(decodeURIComponent), query = new URLSearchParams(location.search);
  const file = find("data");
  const ui = { now: Date.now() / 1000, filter: query.get("text") || "", status: query.get("status") || "", workflow: query.get("workflow") || "", picked: query.get("with") ? [query.get("with")] : [], look: "", attempts: false, selected: "", detail: null, open: new Set(), more: new Map(), values: {}, unfolded: new Map(), shownItem: "", failed: {}, busy: "", sure: "", said: "", banner: "", live: "", theme: "", scroll: 0, height: 600, cursor: 0, graphOpen: true, pair: {}, workflows: [] };
  let data = null, failure = null, svg = null, drawn = false, source = null, waiting = 0, rowsOf = null, index = new Map();
  const kind = file ? "run" : place[0] === "runs" && place[1] ? (query.get("with") ? "compare" : "run") : place[0] === "workflows" ? "workflow" : "runs";
  const run = kind === "run" && !file ? place[1] : "", api = (path) => `/api/runs/${enc(run)}${path}`;

  // ---- asking the server

  async function ask(path, body) {
    const options = body === undefined ? {} : { method: "POST", headers: { "X-Pflow": "1", "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let answer;
    try { answer = await fetch(path, options); } catch { throw { message: "pflow ui does not answer any more; start it again", type: "gone" }; }
    if (answer.status === 204) return null;
    const text = await answer.text();
    if ((answer.headers.get("content-type") || "").startsWith("image/svg")) return text;
    let found;
    try { found = JSON.parse(text); } catch { throw { message: text.slice(0, 300) || `the server said ${answer.status}`, type: String(answer.status) }; }
    if (!found.success) throw found.error;
    return found.data;
  }

  async function doing(name, work) {
    ui.busy = name; delete ui.failed[name]; draw();
    try { return await work(); } catch (error) { ui.failed[name] = error; } finally { ui.busy = ""; draw(); }
  }

  // ---- drawing

  function draw() {
    if (waiting) return;
    waiting = requestAnimationFrame(paintPage);
  }

  function paintPage() {
    waiting = 0;
    if (!file) ui.now = Date.now() / 1000;
    const view = failure ? pflow.errorPage(failure, ui, act) : !data ? pflow.loadingPage(ui, act) : pages[kind](data, ui, act);
    lit.render(view, root);
    keepFocus();
    if (kind === "run" || kind === "workflow") hang();
    const rows = find("rows");
    if (rows && rows.scrollTop !== ui.scroll) { ui.scroll = rows.scrollTop; draw(); } // fewer rows than before
  }

  /** What had the focus may be off for a moment, or gone: the keyboard goes on there, or nearby, where nothing is lost by a key too many. */
  let held = null;
  document.addEventListener("focusin", ({ target }) => { held = { target, near: target.closest(".actions,.inspector"), off: false }; });
  function keepFocus() {
    if (!held || (document.activeElement !== document.body && document.activeElement !== held.target)) return;
    const { target, near, off } = held;
    if (target.isConnected) { held.off = target.disabled; if (off && !target.disabled) target.focus(); return; }
    const next = near && near.isConnected && near.querySelector("button:not(.danger,:disabled)");
    (next || root.querySelector("main")).focus();
  }

  const pages = {
    run: () => { ui.rows = rowsOf = pflow.visible(data, ui); ui.scale = pflow.scaled(data.steps, ui.now); return pflow.runPage(data, ui, act); },
    runs: () => pflow.runsPage(data, ui, act), workflow: () => pflow.workflowPage(data, ui, act), compare: () => pflow.comparePage(data, ui, act),
  };

  function hang() {
    const canvas = find("graph");
    if (!canvas || !svg) return;
    if (canvas.firstChild !== svg) {
      canvas.replaceChildren(svg);
      const box = svg.getBBox(); // the page says the heading itself, so the picture is cut to its graph
      if (box.width) { const all = [box.x - 12, box.y - 12, box.width + 24, box.height + 24]; svg.setAttribute("viewBox", all.join(" ")); svg.setAttribute("width", all[2]); svg.setAttribute("height", all[3]); }
    }
    if (data && (!drawn || data.steps)) pflow.paint(svg, data.steps, ui.selected, kind === "run" ? pickNode : null, data.graph);
    drawn = true;
  }

  const pickNode = (node) => { const rows = data.steps.filter((r) => r.node === node && !r.step.includes("/")); if (rows.length) act("select", { step: rows[rows.length - 1].step, show: true }); };

  function take(text) {
    if (text === null) { ui.graphLarge = true; ui.graphOpen = false; return; }
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    svg = document.importNode(parsed, true); ui.graphTall = parsed.viewBox.baseVal.height > parsed.viewBox.baseVal.width; drawn = false; ui.graphLarge = false;
  }

  async function loadGraph(path, all) {
    try { take(await ask(path + (all ? "?all" : ""))); } catch (error) { ui.graphError = error.message; }
    draw();
  }

  // ---- what people do

  const texts = (form) => { const out = {}; for (const [k, v] of new FormData(form)) if (v !== "") out[k] = v; return out; };
  const go = (id) => { location.href = `/runs/${id}`; };
  let said = 0, searching = 0;
  const say = (text) => { ui.said = text; clearTimeout(said); said = setTimeout(() => { ui.said = ""; draw(); }, 2500); draw(); };

  const acts = {
    copy: ({ text }) => { const done = () => say(`copied ${text}`); navigator.clipboard ? navigator.clipboard.writeText(text).then(done, () => say(text)) : say(text); },
    open: ({ id }) => { ui.open.has(id) ? ui.open.delete(id) : ui.open.add(id); },
    more: ({ id, most }) => ui.more.set(id, most),
    most: () => { ui.most = (ui.most || 500) + 2000; },
    value: async ({ digest }) => {
      const got = ui.values[digest] || { text: "", next: 0, size: 0 };
      if (got.busy || got.next == null) return;
      ui.values[digest] = { ...got, busy: true };
      try { const page = await ask(api(`/values/${digest}?offset=${got.next}&limit=20000`)); ui.values[digest] = { text: got.text + page.text, next: page.next, size: page.size }; } catch (error) { ui.values[digest] = { text: error.message, next: null, size: 0 }; }
    },
    filter: ({ text }) => { ui.filter = text; const rows = find("rows"); if (rows) rows.scrollTop = 0; ui.scroll = 0; if (kind === "runs") { clearTimeout(searching); searching = setTimeout(loadRuns, 150); } },
    status: ({ status }) => { ui.status = status; return loadRuns(); },
    workflow: ({ name }) => { ui.workflow = name; return loadRuns(); },
    look: ({ look }) => { ui.look = ui.look === look ? "" : look; }, attempts: () => { ui.attempts = !ui.attempts; },
    pick: ({ run: id }) => { ui.picked = ui.picked.includes(id) ? ui.picked.filter((p) => p !== id) : [...ui.picked, id].slice(-2); },
    older: async () => { const more = await ask(`/api/runs?${runQuery()}&before=${data.next}`); data = { ...data, runs: [...data.runs, ...more.runs], next: more.next }; },
    scroll: ({ top }) => { ui.scroll = top; }, graph: ({ open }) => { ui.graphOpen = open; }, sure: ({ what }) => { ui.sure = what; },
    drawAll: () => loadGraph(graphPath(), true),
    theme: () => { ui.theme = { "": "light", light: "dark", dark: "" }[ui.theme]; setTheme(); },
    select: async ({ step, show }) => {
      ui.selected = step; ui.detail = null; ui.detailError = null; delete ui.failed.fork; ui.shownItem = /\]$/.test(step) ? step : ui.shownItem;
      const at = rowsOf.findIndex((r) => r.step === step);
      if (at >= 0) ui.cursor = at;
      if (show) bring(at);
      history.replaceState(null, "", step ? `#${enc(step)}` : location.pathname + location.search);
      if (step) await loadStep();
    },
    unfold: async ({ step }) => { if (ui.unfolded.delete(step)) return; ui.unfolded.set(step, { list: [], next: 0, count: 0 }); await acts.items({ step }); },
    items: async ({ step }) => {
      const known = ui.unfolded.get(step), row = index.get(step), all = row ? row.items.count : 0;
      const list = file ? embedded.items[step] || [] : await ask(api(`/items?step=${enc(step)}&offset=${known.next}&limit=200`));
      const next = known.next + list.length;
      ui.unfolded.set(step, { list: [...known.list, ...list], next: !file && list.length && next < all ? next : null, count: all });
    },
    key: ({ event }) => key(event),
    answer: ({ id, run: of, step, form, choice, declined, message }) => doing(id, async () => {
      await ask(`/api/runs/${enc(of)}/answer`, { step, choice, declined, message, fields: declined ? {} : texts(form) });
      say("answered"); await reload();
    }),
    resume: ({ rerun } = {}) => doing("resume", async () => { await ask(api("/resume"), { rerun_in_doubt: !!rerun }); await reload(); }),
    cancel: () => { ui.sure = ""; return doing("cancel", async () => { await ask(api("/cancel"), {}); await reload(); }); },
    test: () => doing("test", async () => { ui.made = await ask(api("/test"), {}); }),
    fork: ({ step, rerun }) => doing("fork", async () => go((await ask(api("/fork"), { step, rerun_in_doubt: !!rerun })).run_id)),
    run: ({ form }) => doing("run", async () => go((await ask(`/api/workflows/${enc(data.name)}/run`, { inputs: texts(form) })).run_id)),
  };
  async function act(name, args = {}) {
    const done = acts[name](args);
    draw();
    if (done && done.then) { try { await done; } catch (error) { say(error.message || String(error)); } draw(); }
  }

  function bring(at) {
    const rows = find("rows");
    if (!rows || at < 0) return;
    const top = at * pflow.ROW;
    if (top < rows.scrollTop) rows.scrollTop = top; else if (top + pflow.ROW > rows.scrollTop + rows.clientHeight) rows.scrollTop = top + pflow.ROW - rows.clientHeight;
  }

  function key(event) {
    const page = Math.max(1, Math.floor(ui.height / pflow.ROW) - 1), moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 }, row = rowsOf[ui.cursor];
    if (event.target.id !== "rows") return;
    if (event.key in moves) { ui.cursor = Math.min(rowsOf.length - 1, Math.max(0, ui.cursor + moves[event.key])); bring(ui.cursor); const next = rowsOf[ui.cursor]; if (next && next.step) act("select", { step: next.step }); }
    else if (row && row.items && (event.key === "ArrowRight") !== ui.unfolded.has(row.step) && /Arrow(Right|Left)/.test(event.key)) act("unfold", { step: row.step });
    else if (event.key === "Enter" && row) act("select", { step: row.step }).then(() => { const title = find("step-title"); if (title) title.focus(); });
    else return;
    event.preventDefault();
  }

  document.addEventListener("keydown", (event) => {
    if (/INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) return;
    if (event.key === "/") { const box = find("filter"); if (box) { box.focus(); event.preventDefault(); } }
    if (event.key === "Escape" && ui.selected) act("select", { step: "" });
  });

  function setTheme() {
    if (ui.theme) document.documentElement.dataset.theme = ui.theme; else delete document.documentElement.dataset.theme;
    try { localStorage.setItem("pflow-theme", ui.theme); } catch { /* it is remembered where that is allowed */ }
  }

  // ---- data and news

  const runQuery = () => new URLSearchParams(Object.entries({ text: ui.filter, status: ui.status, workflow: ui.workflow }).filter(([, v]) => v)).toString();
  const graphPath = () => (kind === "run" ? api("/graph.svg") : `/api/workflows/${enc(data.name)}/graph.svg`);
  const embedded = file ? JSON.parse(file.textContent) : null;

  async function loadRuns() { data = await ask(`/api/runs?${runQuery()}`); draw(); }
  async function loadStep() {
    const step = ui.selected;
    try {
      const item = file && Object.values(embedded.items).flat().find((i) => i.step === step);
      const found = file ? embedded.details[step] || item || { step, status: "" } : await ask(api(`/step?step=${enc(step)}`));
      if (ui.selected !== step) return;
      const known = ui.detail && ui.detail.step === step ? ui.detail.params : null;
      ui.detail = { params: known, ...found, step };
      if (!file && !found.params && !step.includes("/")) ask(api(`/params?step=${enc(step)}`)).then((params) => { if (ui.detail && ui.detail.step === step) { ui.detail.params = params; draw(); } }, () => {});
    } catch (error) { if (ui.selected === step) ui.detailError = error; }
    draw();
  }
  async function loadQuestions() { try { data.questions = await ask(api("/questions")); } catch { data.questions = []; } draw(); }
  async function reload() { if (kind === "runs") await loadRuns(); else if (kind === "run") await loadQuestions(); }

  function merge(news) {
    const before = data.status, asked = (rows) => rows.some((r) => r.look === "asked" || r.waits);
    const { steps, ...head } = news;
    for (const row of steps) { const known = index.get(row.step); if (known) Object.assign(clear(known), row); else { index.set(row.step, row); data.steps.push(row); } }
    for (const name of ["error", "outputs", "ended_at", "reason"]) if (!(name in head)) delete data[name];
    Object.assign(data, head);
    if (before !== data.status || asked(steps)) loadQuestions();
    if (ui.selected && steps.some((r) => r.step === ui.selected)) loadStep();
    draw();
  }
  const clear = (row) => { for (const name of Object.keys(row)) delete row[name]; return row; };

  function listen(path, handlers) {
    source = new EventSource(path);
    source.onopen = () => { ui.live = "on"; draw(); };
    source.onerror = () => { ui.live = source.readyState === 2 ? "not live: too many pages are open, or pflow ui has ended" : "off"; draw(); };
    for (const [name, handler] of Object.entries(handlers)) source.addEventListener(name, (event) => handler(JSON.parse(event.data)));
  }

  async function begin() {
    try {
      if (file) { data = embedded.run; ui.now = data.ended_at || data.last_at; ui.file = embedded.at; ui.values = embedded.values; if (embedded.svg) take(embedded.svg); else ui.graphError = "it is not in this file"; }
      else if (kind === "runs") {
        await loadRuns();
        let soon = 0;
        listen("/api/events", { runs: () => { clearTimeout(soon); soon = setTimeout(() => loadRuns().catch(() => {}), 150); } });
        ask("/api/workflows").then((found) => { ui.workflows = found.workflows; draw(); }, () => {});
      } else if (kind === "workflow") { data = await ask(`/api/workflows/${enc(place.slice(1).join("/"))}`); loadGraph(graphPath()); }
      else if (kind === "compare") { ui.pair = { a: place[1], b: query.get("with") }; data = await ask(`/api/compare?a=${enc(ui.pair.a)}&b=${enc(ui.pair.b)}`); }
      else {
        data = await ask(api(""));
        loadGraph(graphPath());
        listen(api(`/events?after=${data.seq}`), {
          run: merge, problem: (news) => { ui.banner = news.message; source.close(); draw(); },
          gone: () => { ui.banner = "This run was deleted meanwhile; what you see is what was known."; ui.live = ""; source.close(); draw(); },
        });
      }
      if (kind === "run") {
        document.title = `${data.workflow || "run"} · pflow`;
        index = new Map(data.steps.map((row) => [row.step, row]));
        rowsOf = pflow.visible(data, ui);
        const wanted = () => { const step = decodeURIComponent(location.hash.slice(1)); if (step !== ui.selected) open(step).then(() => act("select", { step, show: true })); };
        const open = async (step) => { const batch = index.get(step.replace(/\[\d+\]$/, "")); if (batch && batch.items && batch.step !== step && !ui.unfolded.has(batch.step)) await acts.unfold({ step: batch.step }).catch(() => {}); };
        wanted();
        addEventListener("hashchange", wanted);
      } else if (data && data.name) document.title = `${data.name} · pflow`;
    } catch (error) { failure = error; document.title = "pflow"; }
    draw();
  }

  try { ui.theme = localStorage.getItem("pflow-theme") || ""; } catch { /* as the system has it */ }
  setTheme();
  new ResizeObserver(() => { const rows = find("rows"); if (rows && Math.abs(rows.clientHeight - ui.height) > 20) { ui.height = rows.clientHeight; draw(); } }).observe(document.body);
  setInterval(() => { if (!file && data && !document.hidden && (data.status === "running" || data.status === "waiting" || (data.runs && data.runs.some((r) => r.status === "running")))) draw(); }, 1000);
  window.pflowPage = { ui, act, merge, paint: paintPage, get data() { return data; } }; // for those who look at it from outside
  begin();
})();
