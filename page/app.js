/* A run in the chat: shows what the host hands over, and asks for more only through the host.
   Messages are those of MCP Apps 2026-01-26: JSON-RPC over postMessage with the window around this one. */
"use strict";
(() => {
  const { html, nothing } = lit;
  const POLL = 1000, REST = 5000, SILENCE = 10000, FRESH = 30000;
  const root = document.getElementById("app"), host = window.parent;
  const ui = { now: 0, filter: "", look: "", attempts: false, selected: "", open: new Set(), more: new Map(), values: {}, unfolded: new Map(), shownItem: "", failed: {}, busy: "", said: "", scroll: 0, height: 232, cursor: 0, graphOpen: true, file: "chat" };
  let data = null, failure = "", svg = null, run = "", caps = {}, silent = false, heard = false, number = 0, timer = 0, drawing = 0, asking = false, sought = "";
  const open = new Map();

  // ---- the host

  const post = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const notify = (method, params) => post({ method, params });
  const request = (method, params) => new Promise((resolve, reject) => { const id = ++number; open.set(id, { resolve, reject }); post({ id, method, params }); });

  addEventListener("message", (event) => {
    const message = event.data;
    if (event.source !== host || host === window || !message || typeof message !== "object" || message.jsonrpc !== "2.0") return;
    if (typeof message.method === "string") {
      const known = hears[message.method];
      const answer = known ? known(message.params || {}) : undefined;
      if (message.id !== undefined) post(known ? { id: message.id, result: answer || {} } : { id: message.id, error: { code: -32601, message: `this view has no ${message.method}` } });
      return;
    }
    const waits = open.get(message.id);
    if (!waits) return;
    open.delete(message.id);
    if (message.error) waits.reject(message.error); else waits.resolve(message.result || {});
  });

  const hears = {
    ping: () => ({}),
    "ui/notifications/tool-input": ({ arguments: given = {} }) => { arrive(); if (typeof given.resume === "string" && !data) { run = given.resume; poll(0); } else seek(given.workflow); draw(); },
    "ui/notifications/tool-input-partial": () => arrive(),
    "ui/notifications/tool-result": (result) => { arrive(); sought = ""; take(result); },
    "ui/notifications/tool-cancelled": ({ reason }) => { arrive(); say(reason ? `The call was cancelled: ${reason}` : "The call was cancelled."); },
    "ui/notifications/host-context-changed": (context) => dress(context),
    "ui/resource-teardown": () => { clearTimeout(timer); run = ""; return {}; },
  };
  const arrive = () => { heard = true; silent = false; };

  function dress(context) {
    const { theme, styles } = context;
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
    const given = (styles && styles.variables) || {}, style = document.documentElement.style;
    const paper = given["--color-background-primary"], ink = given["--color-text-primary"];
    if (paper && ink) { style.setProperty("--paper", paper); style.setProperty("--ink", ink); } // one without the other may not be readable
    if (given["--font-sans"]) style.setProperty("--font-sans", given["--font-sans"]);
  }

  // ---- data

  const said = (result) => (result.content || []).filter((c) => c.type === "text").map((c) => c.text).join("\n");
  const goesOn = () => data && (data.status === "running" || data.status === "waiting");

  function take(result) {
    const view = result._meta && result._meta["pflow/view"];
    if (view && view.run_id) merge(view);
    else if (result.isError) { failure = said(result) || "that did not work"; clearTimeout(timer); }
    else if (!data) failure = ""; // an answer about something else than a run
    if (!view && !result.isError && !data) ui.note = said(result);
    if (goesOn()) poll(data.status === "running" ? POLL : REST);
    draw();
  }

  function merge(view) {
    const { steps, svg: picture, ...head } = view;
    if (!data || data.run_id !== view.run_id || !view.since) data = { ...head, steps };
    else {
      const index = new Map(data.steps.map((row, i) => [row.step, i]));
      for (const row of steps) if (index.has(row.step)) data.steps[index.get(row.step)] = row; else data.steps.push(row);
      for (const name of ["error", "ended_at", "reason"]) if (!(name in head)) delete data[name];
      const more = data.more_steps;
      Object.assign(data, head);
      if (more && !head.more_steps) data.more_steps = more;
    }
    run = data.run_id; failure = ""; ui.note = "";
    if (picture) parse(picture);
  }

  function parse(text) {
    const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
    svg = document.importNode(parsed, true);
  }

  function poll(delay) {
    clearTimeout(timer);
    if (!caps.serverTools || !run) return;
    timer = setTimeout(async () => {
      if (document.hidden) { poll(POLL); return; }
      if (asking) return;
      asking = true;
      const args = { trace_file: run, format: "view" };
      if (data && data.run_id === run) args.since = data.seq;
      try {
        const result = await request("tools/call", { name: "trace_read", arguments: args });
        asking = false;
        if (run) take(result);
      } catch { asking = false; caps.serverTools = undefined; draw(); } // it declared more than it allows
    }, delay);
  }

  /** A call that has not answered yet names no run: look for the one that goes on under its name, if it is the only one. */
  function seek(workflow) {
    sought = (typeof workflow === "string" ? workflow : workflow && workflow.name) || "";
    if (!/^[\w.-]+$/.test(sought)) { sought = ""; return; }
    const name = sought, look = async () => {
      if (sought !== name || data || !caps.serverTools) return;
      try {
        const found = (await request("tools/call", { name: "trace_read", arguments: { trace_file: "runs", filter: `running ${name}` } })).structuredContent;
        const fresh = found.data.runs.filter((r) => r.workflow === name && Date.now() - Date.parse(r.started_at) < FRESH);
        if (sought === name && !data && fresh.length === 1) { run = fresh[0].run_id; poll(0); return; }
      } catch { return; } // the answer will tell
      setTimeout(look, POLL);
    };
    setTimeout(look, POLL);
  }

  // ---- answers

  function typed(value, schema) {
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    if (type === "string" || (!type && typeof value === "string" && !/^[[{]/.test(value))) return value;
    if (type === "boolean") return value === "true";
    try { return JSON.parse(value); } catch { return value; } // the server says what is wrong with it
  }

  async function answer({ id, step, form, choice, declined }) {
    const asked = data.questions.find((q) => q.step === step);
    if (!asked || ui.busy) return;
    const fields = {};
    if (!declined) for (const [name, value] of new FormData(form)) if (value !== "") fields[name] = typed(value, asked.fields[name] || {});
    const given = declined ? { decline: true } : { ...(choice === undefined ? {} : { choice }), ...(Object.keys(fields).length ? { answer: fields } : {}) };
    const words = declined ? "declined" : [choice, Object.keys(fields).length ? JSON.stringify(fields) : ""].filter(Boolean).join(" ");
    ui.busy = id; delete ui.failed[id]; draw();
    try {
      if (!caps.serverTools) await tell(asked, words);
      else {
        let result = null;
        try { result = await request("tools/call", { name: "workflow_execute", arguments: { resume: asked.run_id, answers: { [step]: { ...given, key: asked.key } }, detach: true } }); } catch { await tell(asked, words); }
        if (result && result.isError) ui.failed[id] = { message: said(result) };
        else if (result) {
          data.questions = data.questions.filter((q) => q !== asked);
          say(`answered: ${words}`);
          if (caps.updateModelContext) await request("ui/update-model-context", { content: [{ type: "text", text: `A person answered \`${step}\` of run ${asked.run_id} in the view: ${words}` }] }).catch(() => {});
          poll(0);
        }
      }
    } catch (error) { ui.failed[id] = { message: `The host passed it on to nobody (${error.message || error}). In a terminal: ${command(asked, choice, declined)}` }; }
    ui.busy = ""; draw();
  }

  const quoted = (text) => (/^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const command = (q, choice, declined) => `pflow answer ${q.run_id} ${quoted(q.step)}${declined ? " --decline" : choice === undefined ? "" : ` ${quoted(choice)}`}`;

  async function tell(q, words) {
    const done = await request("ui/message", { role: "user", content: [{ type: "text", text: `My answer to \`${q.step}\` of run ${q.run_id}: ${words}` }] });
    if (done.isError) throw { message: "it declined the message" };
    say(q.who === "person" ? `Said in the chat. If it is not taken there: ${command(q)}, or pflow ui` : "Said in the chat.");
  }

  // ---- drawing

  const say = (text) => { ui.said = text; draw(); };
  const draw = () => { if (!drawing) drawing = setTimeout(paint, 0); }; // a frame that is not seen gets no animation frames

  const acts = {
    answer, open: ({ id }) => { ui.open.has(id) ? ui.open.delete(id) : ui.open.add(id); }, more: ({ id, most }) => ui.more.set(id, most),
    look: ({ look }) => { ui.look = ui.look === look ? "" : look; }, attempts: () => { ui.attempts = !ui.attempts; },
    scroll: ({ top }) => { ui.scroll = top; }, graph: ({ open: is }) => { ui.graphOpen = is; },
    select: ({ step }) => { ui.selected = ui.selected === step ? "" : step; },
    key: ({ event }) => {
      const moves = { ArrowDown: 1, ArrowUp: -1 }, rows = pflow.visible(data, ui);
      if (!(event.key in moves) || !rows.length) return;
      ui.cursor = Math.min(rows.length - 1, Math.max(0, ui.cursor + moves[event.key])); ui.selected = rows[ui.cursor].step; event.preventDefault();
    },
  };
  const act = (name, args = {}) => { if (acts[name]) acts[name](args); draw(); };

  const elsewhere = (q) => html`<div class="question"><p class="prompt" dir="auto">${q.prompt}</p><p class="soft">This is answered outside of the chat: <code>${command(q)}</code>, or <code>pflow ui</code></p></div>`;

  function page() {
    if (failure) return html`<div class="problem" role="alert"><p class="message" dir="auto">${failure}</p></div>`;
    if (!data) return html`<p class="soft" role="status" dir="auto">${silent ? html`The host sends nothing. Open <code>pflow ui</code> to see runs.` : ui.note || (run ? `run ${run} …` : heard ? `running ${sought} …` : "waiting for the host …")}</p>`;
    const picked = data.steps.find((row) => row.step === ui.selected);
    return html`<div class="head">${pflow.pill(data.status)}<b dir="auto">${data.workflow}</b><code class="id">${data.run_id}</code><span class="soft">${pflow.duration(data.status === "running" && data.alive ? (ui.now - data.started_at) * 1000 : data.duration_ms)}</span></div>
      ${data.error && data.status === "failed" ? pflow.problem(data.error, act, ui) : nothing}
      ${pflow.questions((data.questions || []).filter((q) => !q.elsewhere), ui, act, false)}${(data.questions || []).filter((q) => q.elsewhere).map(elsewhere)}
      ${svg ? pflow.graph(data, ui, act) : nothing}${pflow.timeline(data, ui, act)}
      ${picked && picked.message ? html`<p class="bad" dir="auto">${picked.message}</p>` : nothing}
      ${data.more_steps ? html`<p class="soft">${pflow.num(data.more_steps)} earlier steps are in <code>pflow ui</code>.</p>` : nothing}
      ${goesOn() && !caps.serverTools ? html`<p class="soft">This host does not refresh the view. <code>pflow ui</code> shows the run live.</p>` : nothing}
      <div class="said" role="status" aria-live="polite">${ui.said}</div>`;
  }

  function paint() {
    drawing = 0;
    ui.now = data && !goesOn() ? data.ended_at || data.last_at : Date.now() / 1000;
    lit.render(page(), root);
    const canvas = document.getElementById("graph");
    if (!canvas || !svg || !data) return;
    if (canvas.firstChild !== svg) {
      canvas.replaceChildren(svg);
      const box = svg.getBBox();
      if (box.width) { const all = [box.x - 8, box.y - 8, box.width + 16, box.height + 16]; svg.setAttribute("viewBox", all.join(" ")); svg.setAttribute("width", all[2]); svg.setAttribute("height", all[3]); }
    }
    pflow.paint(svg, data.steps, ui.selected, (node) => { const rows = data.steps.filter((r) => r.node === node && !r.step.includes("/")); if (rows.length) act("select", { step: rows[rows.length - 1].step }); }, data.graph);
  }

  // ---- beginning

  async function begin() {
    draw();
    setTimeout(() => { if (!heard) { silent = true; draw(); } }, SILENCE);
    const met = await request("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "pflow", version: "1" }, appCapabilities: {} });
    caps = met.hostCapabilities || {};
    dress(met.hostContext || {});
    notify("ui/notifications/initialized", {});
    let told = "";
    new ResizeObserver(() => {
      const width = Math.ceil(document.body.scrollWidth), height = Math.ceil(document.body.getBoundingClientRect().height);
      if (told !== `${width} ${height}`) { told = `${width} ${height}`; notify("ui/notifications/size-changed", { width, height }); }
    }).observe(document.body);
    if (run && !data) poll(0); else if (goesOn()) poll(POLL);
    setInterval(() => { if (data && data.status === "running" && !document.hidden) draw(); }, 1000);
  }
  begin().catch((error) => { failure = `The host refused the view (${error.message || error}); pflow ui shows runs.`; draw(); });
})();
