/* What is seen: pure functions from the data that the server folded, and what is selected, to the page.
   Nothing here asks the server or keeps anything, so that any host with the data can show the same. */
"use strict";
const pflow = (() => {
  const enc = encodeURIComponent;
  const { html, nothing, repeat } = lit;
  const ROW = 28, AHEAD = 12, MOST_CHILDREN = 100;
  const GLYPHS = { done: "✓", failed: "✕", running: "●", asked: "?", skipped: "–", reused: "↺", cached: "≡", "in-doubt": "!", pending: "○" };
  const LOOKS = { completed: "done", failed: "failed", running: "running", waiting: "asked", stopped: "in-doubt", interrupted: "in-doubt", cancelled: "skipped", damaged: "failed", requested: "running" };

  // ---- words

  const duration = (ms) => {
    if (ms == null || !isFinite(ms)) return "";
    if (ms < 1) return "<1 ms";
    if (ms < 1000) return `${Math.round(ms)} ms`;
    if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
    const s = Math.round(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
    if (d) return `${d} d ${h % 24} h`;
    return h ? `${h} h ${m % 60} min` : `${m} min ${s % 60} s`;
  };
  const size = (n) => (n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`);
  const num = (n) => n.toLocaleString("en");
  const count = (n, word) => `${num(n)} ${word}${n === 1 ? "" : "s"}`;
  const moment = (at) => (at ? new Date(at * 1000).toLocaleString("sv") : "");
  const when = (text) => moment(Date.parse(text) / 1000) || text;
  const ago = (at, now) => {
    const s = Math.max(0, now - at);
    return s < 60 ? "just now" : s < 3600 ? `${Math.floor(s / 60)} min ago` : s < 86400 ? `${Math.floor(s / 3600)} h ago` : `${Math.floor(s / 86400)} d ago`;
  };
  const money = (usd) => `$${usd < 0.01 ? usd.toPrecision(2) : usd.toFixed(2)}`;
  const worded = (status) => String(status).replace(/[_-]/, " ");

  const glyph = (look) => html`<span class="glyph" aria-hidden="true">${GLYPHS[look]}</span>`;
  const pill = (status, look = LOOKS[status] || "pending") =>
    html`<span class="pill ${look}">${glyph(look)}${worded(status)}</span>`;
  const button = (label, click, more = {}) =>
    html`<button type="button" class=${more.kind || ""} ?disabled=${more.disabled} title=${more.title || nothing} @click=${click}>${label}</button>`;

  // ---- values

  const isRef = (v) => v && typeof v === "object" && typeof v.$value === "string";
  const step = (path, key) => (typeof key === "number" ? `${path}[${key}]` : /^[A-Za-z_][\w-]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`);
  const copier = (path, act) =>
    html`<button type="button" class="copy" title="Copy $\{${path}}" aria-label="Copy $\{${path}}" @click=${(e) => act("copy", { text: "${" + path + "}", from: e.currentTarget })}>$\{}</button>`;

  function large(v, ui, act) {
    const got = ui.values[v.$value];
    if (got && got.busy && !got.size) return html`<span class="soft">loading …</span>`;
    if (!got) return html`<span class="large">${size(v.size || 0)} ${ui.file ? html`<em>not in this file</em>` : button("show", () => act("value", { digest: v.$value }), { kind: "link" })}</span>`;
    return html`<pre class="text" tabindex="0">${pieces(got.text).map((piece) => html`<span class="piece">${piece}</span>`)}</pre><div class="paging">${num(got.text.length)} of ${num(got.size)} characters
      ${got.next == null ? nothing : button("more", () => act("value", { digest: v.$value }), { kind: "link", disabled: got.busy })}</div>`;
  }

  /** A long text in parts that are laid out only when they are seen; where one ends there is the end of a line anyway, if there is any. */
  function pieces(text) {
    const out = [];
    for (let from = 0; from < text.length;) {
      const least = from + 8000, line = text.indexOf("\n", least), end = line < 0 || line > least + 4000 ? least : line + 1;
      out.push(text.slice(from, end));
      from = end;
    }
    return out;
  }

  function leaf(v) {
    if (typeof v === "string") return v.length > 80 || v.includes("\n") ? html`<pre class="text" tabindex="0">${v.length > 20000 ? v.slice(0, 20000) + " …" : v}</pre>` : html`<span class="string" dir="auto">${JSON.stringify(v)}</span>`;
    return html`<span class=${v === null ? "null" : typeof v}>${JSON.stringify(v)}</span>`;
  }

  function tree(name, v, path, ui, act, depth = 0) {
    const label = html`<span class="key" dir="auto">${name}</span>${path ? copier(path, act) : nothing}`;
    if (isRef(v)) return html`<div class="leaf">${label} ${large(v, ui, act)}</div>`;
    if (v && typeof v.$preview === "string") return html`<div class="leaf">${label} <pre class="text" tabindex="0">${v.$preview} …</pre><div class="paging">the beginning of ${size(v.size || 0)}</div></div>`;
    if (v && v.$items) return html`<div class="leaf">${label} <span class="shape">one for each item: unfold the step</span></div>`;
    if (v === null || typeof v !== "object") return html`<div class="leaf">${label} ${leaf(v)}</div>`;
    const list = Array.isArray(v), keys = list ? v.map((_, i) => i) : Object.keys(v);
    if (!keys.length) return html`<div class="leaf">${label} <span class="null">${list ? "[]" : "{}"}</span></div>`;
    const id = `${path}|${name}|${depth}`, open = ui.open.has(id) !== depth < 1, most = ui.more.get(id) || MOST_CHILDREN;
    return html`<details ?open=${open} @toggle=${(e) => e.target === e.currentTarget && e.target.open !== open && act("open", { id })}>
      <summary>${label} <span class="shape">${list ? count(keys.length, "item") : count(keys.length, "key")}</span></summary>
      ${open ? html`<div class="inside">${keys.slice(0, most).map((k) => tree(k, v[k], path && step(path, k), ui, act, depth + 1))}
        ${keys.length > most ? button(`${count(keys.length - most, "more")}`, () => act("more", { id, most: most + 1000 }), { kind: "link" }) : nothing}</div>` : nothing}</details>`;
  }
  const values = (title, all, path, ui, act) =>
    all && typeof all === "object" && Object.keys(all).length
      ? html`<section><h3>${title}</h3><div class="tree">${isRef(all) ? large(all, ui, act) : Object.entries(all).map(([k, v]) => tree(k, v, path === null ? "" : path ? step(path, k) : k, ui, act))}</div></section>`
      : nothing;

  function problem(error, act, ui) {
    if (!error) return nothing;
    const hints = error.suggestions || [], details = Object.entries(error.details || {}).filter(([, v]) => v != null && v !== "");
    return html`<div class="problem" role="group" aria-label="Error"><p class="message" dir="auto">${error.message || worded(error.type || "error")}</p>
      ${hints.map((h) => html`<p class="hint" dir="auto">${h}</p>`)}
      ${details.length ? html`<details><summary>details</summary><div class="tree">${details.map(([k, v]) => tree(k, v, "", ui, act))}</div></details>` : nothing}</div>`;
  }

  // ---- questions

  function field(name, schema, id) {
    const about = schema.description ? html`<small dir="auto">${schema.description}</small>` : nothing;
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    const first = schema.default == null ? "" : typeof schema.default === "string" ? schema.default : JSON.stringify(schema.default);
    const must = schema.required !== false && schema.default == null;
    let control;
    if (schema.enum) control = html`<select id=${id} name=${name}>${must ? nothing : html`<option value=""></option>`}${schema.enum.map((o) => html`<option ?selected=${o === schema.default}>${o}</option>`)}</select>`;
    else if (type === "boolean") control = html`<select id=${id} name=${name}><option value="">${must ? "choose" : "default"}</option><option ?selected=${schema.default === true}>true</option><option ?selected=${schema.default === false}>false</option></select>`;
    else if (type === "integer" || type === "number") control = html`<input id=${id} name=${name} type="number" step=${type === "integer" ? 1 : "any"} value=${first} ?required=${must}>`;
    else if (type === "object" || type === "array") control = html`<textarea id=${id} name=${name} rows="3" placeholder=${type === "array" ? "[…]" : "{…}"} .defaultValue=${first} ?required=${must}></textarea>`;
    else control = html`<input id=${id} name=${name} type=${schema.secret ? "password" : "text"} autocomplete="off" dir="auto" value=${first} ?required=${must && !schema.secret}>`;
    return html`<div class="field"><label for=${id}>${name}${must ? nothing : html` <span class="soft">optional</span>`}</label>${control}${about}</div>`;
  }

  function question(q, ui, act, at) {
    const id = `q-${q.run_id}-${q.step}`, failed = ui.failed[id], busy = ui.busy === id;
    const send = (more) => (e) => { e.preventDefault(); const form = e.target.closest("form"); act("answer", { id, run: q.run_id, step: q.step, form, ...more }); };
    const fields = Object.entries(q.fields || {}), choices = q.choices || [];
    return html`<form class="question" aria-label=${`Question of ${q.step}`} @submit=${send(q.kind === "message" ? { message: q.message } : {})}>
      <header>${pill(q.kind === "message" ? "waits for a message" : q.approves ? "asks for approval" : "asks", "asked")}
        <b dir="auto">${q.step}</b>${at ? html` in <a href=${`/runs/${q.run_id}`} dir="auto">${q.workflow || q.run_id}</a>` : nothing} <span class="soft">since ${when(q.since)}${q.deadline ? html`, until ${when(q.deadline)}` : nothing}</span></header>
      ${q.prompt ? html`<p class="prompt" dir="auto">${q.prompt}</p>` : nothing}
      ${q.kind === "message" ? html`<p class="prompt">the message <code>${q.message}</code></p>` : nothing}
      ${Object.entries(q.show || {}).map(([k, v]) => html`<div class="shown"><span class="key">${k}</span>${typeof v === "string" ? html`<pre class="text" tabindex="0">${v}</pre>` : v && v.$preview ? html`<pre class="text" tabindex="0">${v.$preview} …</pre>` : html`<div class="tree">${tree("", v, "", ui, act)}</div>`}</div>`)}
      <div class="fields">${fields.map(([k, s]) => field(k, s, `${id}-${k}`))}</div>
      ${failed ? html`<div role="alert">${problem(failed, act, ui)}</div>` : nothing}
      <footer>${choices.length ? choices.map((c, i) => html`<button type="button" class=${i ? "" : "main"} ?disabled=${busy} @click=${send({ choice: c })} dir="auto">${c}</button>`) : html`<button class="main" ?disabled=${busy} @click=${(e) => { e.preventDefault(); if (e.target.form.reportValidity()) send(q.kind === "message" ? { message: q.message } : {})(e); }}>${q.kind === "message" ? "Send" : "Answer"}</button>`}
        ${q.kind === "message" ? nothing : html`<button type="button" class="quiet" ?disabled=${busy} @click=${send({ declined: true })}>Decline</button>`}</footer></form>`;
  }
  const questions = (all, ui, act, at) =>
    all && all.length ? html`<section class="questions" aria-label="Waiting for you">${repeat(all, (q) => q.run_id + q.step, (q) => question(q, ui, act, at))}</section>` : nothing;

  // ---- the time axis

  function scaled(rows, now) {
    const busy = [], lengths = [];
    for (const row of rows) for (const [at, end, look] of row.bars) {
      const stop = end == null ? (look === "running" ? now : at) : end;
      let from = at;
      for (const [a, b] of row.waits || []) if (a >= from && a <= stop) { busy.push([from, a]); from = b == null ? stop : Math.min(b, stop); }
      busy.push([from, stop]);
      if (lengths.length < 999 || busy.length % 16 === 0) lengths.push(stop - at); // a sample of many is enough
    }
    if (!busy.length) return { at: () => 0, ticks: [], breaks: [] };
    busy.sort((a, b) => a[0] - b[0]);
    lengths.sort((a, b) => a - b);
    const merged = [];
    for (const [a, b] of busy) { const last = merged[merged.length - 1]; if (last && a <= last[1]) last[1] = Math.max(last[1], b); else merged.push([a, b]); }
    let open = merged[merged.length - 1][1];
    for (const r of rows) for (const [, b] of r.waits || []) open = Math.max(open, b == null ? now : b);
    const work = merged.reduce((sum, [a, b]) => sum + b - a, 0);
    if (open > merged[merged.length - 1][1]) merged.push([open, open]);
    const least = Math.max(10 * lengths[lengths.length >> 1], 0.15 * work, 0.05);
    const pieces = [];
    let cuts = 0;
    for (let i = 0; i < merged.length; i++) {
      const [a, b] = merged[i], gap = i ? a - merged[i - 1][1] : 0;
      if (gap > least) { pieces.push([merged[i - 1][1], a, null]); cuts++; pieces.push([a, b, b - a]); }
      else if (pieces.length) { const last = pieces[pieces.length - 1]; last[1] = b; last[2] = b - last[0]; }
      else pieces.push([a, b, b - a]);
    }
    const total = pieces.reduce((sum, p) => sum + (p[2] || 0), 0) || 1e-6, cut = cuts ? Math.min(0.06, 0.4 / cuts) : 0;
    let x = 0;
    for (const p of pieces) { p[3] = x; p[4] = p[2] == null ? cut : (p[2] / total) * (1 - cuts * cut); x += p[4]; }
    const at = (t) => {
      let low = 0, high = pieces.length - 1;
      while (low < high) { const mid = (low + high) >> 1; if (pieces[mid][1] < t) low = mid + 1; else high = mid; }
      const p = pieces[low], share = p[1] > p[0] ? (t - p[0]) / (p[1] - p[0]) : 0;
      return Math.min(1, Math.max(0, p[3] + p[4] * Math.min(1, Math.max(0, share))));
    };
    const zero = pieces[0][0], ticks = [], marks = [], near = (x) => marks.some((m) => Math.abs(m[0] - x) < 0.08);
    const unit = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].find((u) => total / u <= 6) || 86400 * Math.ceil(total / 86400 / 6);
    for (const p of pieces) if (p[2] == null) marks.push([p[3] + p[4] / 2, p[1] - p[0]]);
    for (const p of pieces) if (p[2] != null) for (let t = Math.ceil((p[0] - zero) / unit) * unit; zero + t <= p[1] + 1e-9 && ticks.length < 24; t += unit) if (!near(at(zero + t))) ticks.push([at(zero + t), t]);
    return { at, ticks, breaks: marks };
  }

  const lasted = (at, end, look, now) => (end == null && look !== "running" ? "" : duration(((end == null ? now : end) - at) * 1000));
  const percent = (x) => `${(100 * x).toFixed(3)}%`;
  const span = (scale, a, b) => { const x = scale.at(a), w = scale.at(b) - x; return `left:min(${percent(x)},100% - 3px);width:${percent(w)}`; };

  function track(row, scale, now) {
    const strip = row.items && row.items.strip;
    return html`${row.bars.map(([at, end, look, n]) => html`<i class="bar ${look}" data-attempt=${n} title=${`attempt ${n}: ${worded(look)} ${lasted(at, end, look, now)}`} .style=${span(scale, at, end == null ? (look === "running" || look === "asked" ? now : at) : end)}></i>`)}
      ${(row.waits || []).map(([a, b]) => html`<i class="wait" title=${`waited ${duration(((b == null ? now : b) - a) * 1000)}`} .style=${span(scale, a, b == null ? now : b)}></i>`)}
      ${strip && row.bars.length ? html`<i class="strip" .style=${span(scale, row.bars[0][0], ((e) => (e == null ? now : e))(row.bars[row.bars.length - 1][1]))} aria-hidden="true">${[...strip].map((c) => html`<b class="s${c === "." ? "n" : c}"></b>`)}</i>` : nothing}`;
  }

  const worked = (row, now) => {
    if (!row.bars.length || ["skipped", "reused", "cached", "in-doubt"].includes(row.look)) return null;
    if (row.ms != null || row.isItem) return row.ms;
    let sum = 0;
    for (const [at, end, look] of row.bars) sum += (end == null ? (look === "running" ? now : at) : end) - at;
    for (const [a, b] of row.waits || []) sum -= Math.max(0, (b == null ? 0 : b - a));
    return Math.max(0, sum) * 1000;
  };

  function visible(data, ui) {
    const text = ui.filter.trim().toLowerCase(), out = [];
    for (const row of data.steps) {
      const inItem = row.step.includes("]/") && row.step.match(/^(.*)\[(\d+)\]\//);
      if (inItem && !(ui.unfolded.has(inItem[1]) && ui.shownItem === `${inItem[1]}[${inItem[2]}]`) && !text) continue;
      if (text && !row.step.toLowerCase().includes(text) && !(row.message || "").toLowerCase().includes(text)) continue;
      if (ui.look && row.look !== ui.look) continue;
      if (ui.attempts && row.bars.length < 2) continue;
      out.push(row);
      const items = ui.unfolded.get(row.step);
      if (items) for (const item of items.list) out.push({ ...item, isItem: true });
      if (items && items.next != null) out.push({ more: row.step, bars: [], count: items.count - items.next });
    }
    return out;
  }

  /** What an item gave, where its bar leaves room for it. */
  const beside = (row, scale) => {
    const last = row.bars[row.bars.length - 1], end = last ? scale.at(last[1] == null ? last[0] : last[1]) : 0, start = last ? scale.at(row.bars[0][0]) : 0;
    return html`<bdi class="soft beside" .style=${start > 1 - end ? `right:${percent(1 - start)}` : `left:${percent(end)}`}>${row.error ? row.error.message : brief(row.outputs)}</bdi>`;
  };
  const brief = (v) => (v == null ? "" : JSON.stringify(v, (_, one) => (isRef(one) ? size(one.size || 0) : one)).slice(0, 160));

  function line(row, i, ui, scale, act) {
    if (row.more) return html`<div class="row more" role="row" aria-rowindex=${i + 1}><div role="gridcell">${button(`${count(row.count, "more item")}`, () => act("items", { step: row.more }), { kind: "link" })}</div></div>`;
    const depth = row.step.split("/").length - 1 + (row.isItem ? 1 : 0), ms = worked(row, ui.now), name = row.isItem ? `[${row.item}]` : row.step.slice(row.step.lastIndexOf("/") + 1);
    const fold = row.items && !row.isItem;
    return html`<div class="row ${row.look} ${ui.selected === row.step ? "selected" : ""}" role="row" id=${`row-${i}`} aria-rowindex=${i + 1} aria-selected=${ui.selected === row.step} @click=${() => act("select", { step: row.step })}>
      <div class="name" role="gridcell" title=${row.step} .style=${`padding-left:${8 + 14 * Math.min(depth, 6)}px`}>${fold ? html`<button class="fold" tabindex="-1" aria-label=${`${ui.unfolded.has(row.step) ? "Hide" : "Show"} the items of ${row.step}`} aria-expanded=${ui.unfolded.has(row.step)} @click=${(e) => { e.stopPropagation(); act("unfold", { step: row.step }); }}>${ui.unfolded.has(row.step) ? "▾" : "▸"}</button>` : nothing}${glyph(row.look)}<span class="hidden">${worded(row.status)}</span><bdi>${name}</bdi>${row.section ? html`<span class="tag">${row.section}</span>` : nothing}${row.items && !row.isItem ? html`<span class="tag">${num(row.items.completed || 0)}/${num(row.items.count)}${row.items.failed ? html` <b class="bad" title="failed">✕${row.items.failed}</b>` : nothing}</span>` : nothing}</div>
      <div class="took" role="gridcell">${ms == null ? (row.isItem || row.look === "done" ? "" : worded(row.look)) : duration(ms)}${row.attempt > 1 ? html`<span class="tries" title=${count(row.attempt, "attempt")}>×${row.attempt}</span>` : nothing}${row.bars.length > 1 ? html`<span class="tries" title=${count(row.bars.length, "attempt")}>×${row.bars.length}</span>` : nothing}</div>
      <div class="track" role="gridcell">${track(row, scale, ui.now)}${row.isItem ? beside(row, scale) : nothing}</div></div>`;
  }

  function timeline(data, ui, act) {
    const rows = ui.rows || visible(data, ui), scale = ui.scale || scaled(data.steps, ui.now), total = rows.length;
    const first = Math.max(0, Math.floor(ui.scroll / ROW) - AHEAD), last = Math.min(total, Math.ceil((ui.scroll + ui.height) / ROW) + AHEAD);
    const looks = {};
    let several = false;
    for (const r of data.steps) { looks[r.look] = (looks[r.look] || 0) + 1; several ||= r.bars.length > 1; }
    return html`<section class="timeline" aria-label="Steps">
      <div class="tools"><h2>Steps</h2><input type="search" id="filter" placeholder="Filter steps  /" aria-label="Filter steps" .value=${ui.filter} @input=${(e) => act("filter", { text: e.target.value })}>
        <span class="looks" role="group" aria-label="Status">${Object.entries(looks).map(([l, n]) => html`<button class="chip ${l}" aria-pressed=${ui.look === l} @click=${() => act("look", { look: l })}>${glyph(l)}${worded(l)} <b>${num(n)}</b></button>`)}
        ${several ? html`<button class="chip" aria-pressed=${ui.attempts} @click=${() => act("attempts")}>several attempts</button>` : nothing}</span></div>
      <div class="axis" aria-hidden="true"><div class="name"></div><div class="took"></div><div class="track">${scale.ticks.map(([x, t]) => html`<span class="tick" .style=${`left:${percent(x)}`}>${duration(t * 1000) === "<1 ms" ? "0" : duration(t * 1000)}</span>`)}${scale.breaks.map(([x, gap]) => html`<span class="break" title=${`nothing ran for ${duration(gap * 1000)}`} .style=${`left:${percent(x)}`}>//</span>`)}</div></div>
      <div class="rows" id="rows" role="grid" tabindex="0" aria-label="Steps in the order in which they began" aria-rowcount=${total} aria-activedescendant=${ui.cursor >= first && ui.cursor < last ? `row-${ui.cursor}` : nothing} @scroll=${(e) => act("scroll", { top: e.target.scrollTop })} @keydown=${(e) => act("key", { event: e })} .style=${`height:min(64vh,${Math.max(total, 2) * ROW + 2}px)`}>
        <div .style=${`height:${first * ROW}px`}></div>${repeat(rows.slice(first, last), (r) => r.more ? `more ${r.more}` : r.step, (r, i) => line(r, first + i, ui, scale, act))}<div .style=${`height:${(total - last) * ROW}px`}></div>
        ${total ? nothing : html`<p class="empty">${data.steps.length ? "No step matches." : "No step has begun yet."}</p>`}</div></section>`;
  }

  // ---- one step

  function inspector(data, ui, act) {
    const row = data.steps.find((r) => r.step === ui.selected) || (ui.rows || []).find((r) => r.step === ui.selected);
    if (!ui.selected) return html`<aside class="inspector" aria-label="Run">${runValues(data, ui, act)}</aside>`;
    const full = ui.detail && ui.detail.step === ui.selected ? ui.detail : null, node = row && !row.isItem ? row.node : ui.selected.slice(ui.selected.lastIndexOf("/") + 1).replace(/(#\d+)?\[(\d+)\]$/, ".results[$2]");
    const outputs = full && full.outputs, params = full && full.params;
    const plain = outputs && !isRef(outputs) ? Object.fromEntries(Object.entries(outputs).filter(([k, v]) => !(["stdout", "stderr"].includes(k) && typeof v === "string" && v))) : outputs;
    const streams = outputs && !isRef(outputs) ? ["stdout", "stderr"].filter((k) => typeof outputs[k] === "string" && outputs[k]) : [];
    const canFork = row && !ui.file && !row.isItem && !row.step.includes("/") && !row.step.includes("#");
    return html`<aside class="inspector" aria-label="Step"><header><h2 tabindex="-1" id="step-title"><bdi>${ui.selected}</bdi></h2>${button("×", () => act("select", { step: "" }), { kind: "close", title: "Close (Esc)" })}</header>
      <p class="facts">${row ? pill(row.status, row.look) : full ? pill(full.status) : nothing} ${row && worked(row, ui.now) != null ? html`<span>${duration(worked(row, ui.now))}</span>` : nothing}${row && row.tokens ? html`<span>${count(row.tokens, "token")}${row.cost ? `, ${money(row.cost)}` : ""}</span>` : nothing}${row && row.source ? html`<span>${{ cache: "from the cache", reuse: "kept from before", settled: "settled by a person", skipped: "its condition was false" }[row.source] || row.source}</span>` : nothing}${row && row.action && row.action !== "default" ? html`<span>→ ${row.action}</span>` : nothing}</p>
      ${canFork ? html`<p>${button("Rerun from here", () => act("fork", { step: row.step }), { disabled: ui.busy === "fork", title: "A new run keeps what came before this step; this run is untouched" })}
        ${ui.failed.fork ? html`<span role="alert">${problem(ui.failed.fork, act, ui)}${ui.failed.fork.type === "in_doubt" ? button("Rerun also what is in doubt", () => act("fork", { step: row.step, rerun: true }), { kind: "danger" }) : nothing}</span>` : nothing}</p>` : nothing}
      ${ui.detailError ? problem(ui.detailError, act, ui) : !full ? html`<p class="soft">loading …</p>` : html`
        ${full.error ? html`<section><h3>Error</h3>${problem(full.error, act, ui)}</section>` : nothing}
        ${full.reason ? html`<section><h3>Not yet</h3><p>${full.reason}</p></section>` : nothing}
        ${values("Parameters", params, null, ui, act)}
        ${streams.map((k) => html`<section><h3>${k} ${copier(`${node}.${k}`, act)}</h3><pre class="text ${k}" tabindex="0">${outputs[k]}</pre></section>`)}
        ${values("Outputs", plain, node, ui, act)}
        ${full.waits ? html`<section><h3>Waits</h3><ul class="plain">${full.waits.map((w) => html`<li>${w.item != null ? `[${w.item}] ` : ""}${w.prompt ? html`<q dir="auto">${w.prompt}</q>` : w.kind} ${w.outcome ? html`<b>${w.choice || w.outcome}</b> <span class="soft">${w.by ? `by ${w.by}` : ""} ${w.via ? `via ${w.via}` : ""} after ${duration((w.waited || 0) * 1000)}</span>` : html`<b>waiting</b>`}</li>`)}</ul></section>` : nothing}
        ${full.item_errors ? html`<section><h3>Failed items</h3>${full.item_errors.slice(0, 50).map((e) => html`<div class="itemerror"><code>[${e.index}]</code>${problem(e.error, act, ui)}</div>`)}</section>` : nothing}
        ${values("Sets", full.state, null, ui, act)}`}
      ${row && row.bars.length ? html`<section><h3>Attempts</h3><table class="attempts"><thead><tr><th>#</th><th>began</th><th>took</th><th></th></tr></thead><tbody>${row.bars.map(([at, end, look, n]) => html`<tr><td>${n}</td><td>${moment(at)}</td><td>${lasted(at, end, look, ui.now)}</td><td>${pill(look, look)}</td></tr>`)}</tbody></table></section>` : nothing}</aside>`;
  }

  const runValues = (data, ui, act) => html`<header><h2>Run</h2></header><p class="soft">Select a step to see what it got and gave.</p>
    ${values("Inputs", data.inputs, "", ui, act)}${values("Outputs", data.outputs, null, ui, act)}`;

  // ---- pages

  const theme = (ui, act) => button({ light: "☀", dark: "☾", "": "◐" }[ui.theme], () => act("theme"), { kind: "quiet", title: `Colours: ${ui.theme || "as the system has them"}` });
  const frame = (ui, act, crumbs, body) => html`<header class="top"><a class="logo" href=${ui.file ? "#" : "/"}>pflow</a><nav aria-label="Where you are">${crumbs}</nav><span class="live" role="status">${ui.file ? html`recorded ${ui.file}` : ui.live === "on" ? html`<i class="dot" aria-hidden="true"></i>live` : ui.live === "off" ? "reconnecting …" : ui.live}</span>${theme(ui, act)}</header>
    ${ui.banner ? html`<div class="banner" role="alert">${ui.banner}</div>` : nothing}<main tabindex="-1">${body}</main><div id="said" class="said" role="status" aria-live="polite">${ui.said}</div>`;

  function graph(data, ui, act) {
    if (ui.graphError) return html`<p class="graph soft">There is no graph: ${ui.graphError}</p>`;
    const open = ui.graphOpen;
    return html`<details class="graph" ?open=${open} @toggle=${(e) => e.target.open !== open && act("graph", { open: e.target.open })}><summary><h2>Graph</h2></summary>
      ${ui.graphLarge ? html`<p>The graph is too large to take in at a glance${data.steps ? "; search the steps instead" : ""}. ${button("Draw it all the same", () => act("drawAll"))}</p>` : nothing}<div class="canvas" id="graph" tabindex="0"></div></details>`;
  }

  function runPage(data, ui, act) {
    const over = ["completed", "cancelled", "failed", "stopped", "interrupted", "damaged"].includes(data.status), n = data.steps.length;
    const facts = [["started", moment(data.started_at)], ["worked", duration(data.status === "running" && data.alive ? (ui.now - data.started_at) * 1000 : data.duration_ms)], ["steps", num(n)], data.tokens ? ["tokens", num(data.tokens)] : null, data.cost ? ["cost", money(data.cost)] : null, data.kept_bytes ? ["kept here", size(data.kept_bytes)] : null];
    return frame(ui, act, html`${ui.file ? html`<span dir="auto">${data.workflow}</span>` : html`<a href=${`/workflows/${enc(data.workflow)}`} dir="auto">${data.workflow || "workflow"}</a>`}<code class="id">${data.run_id}</code>`,
      html`<h1 class="hidden">Run ${data.run_id} of ${data.workflow}</h1>
      <div class="head">${pill(data.status)}<dl>${facts.filter(Boolean).map(([k, v]) => html`<div title=${k === "kept here" ? "Bytes that steps gave and that stayed here, out of any model's context" : nothing}><dt>${k}</dt><dd>${v}</dd></div>`)}${data.forked_from ? html`<div><dt>forked from</dt><dd>${ui.file ? data.forked_from : html`<a href=${`/runs/${data.forked_from}`}>${data.forked_from}</a>`}${data.forked_at ? html` at ${data.forked_at}` : nothing}</dd></div>` : nothing}</dl>
        ${ui.file ? nothing : html`<span class="actions">${["failed", "stopped", "interrupted"].includes(data.status) ? button("Resume", () => act("resume"), { kind: "main", disabled: ui.busy === "resume" }) : nothing}
          ${["running", "waiting", "interrupted", "stopped"].includes(data.status) ? (ui.sure === "cancel" ? html`${button("Cancel for good", () => act("cancel"), { kind: "danger" })}${button("Keep", () => act("sure", { what: "" }))}` : button("Cancel …", () => act("sure", { what: "cancel" }))) : nothing}
          ${["completed", "failed"].includes(data.status) && !ui.made ? button("Use as test", () => act("test"), { disabled: ui.busy === "test", title: "Keep what its steps were asked and gave: `pflow test` plays it" }) : nothing}
          ${over ? html`<a class="button" href=${`/?with=${data.run_id}&workflow=${enc(data.workflow)}`}>Compare …</a>` : nothing}</span>`}</div>
      ${ui.made ? html`<div class="banner" role="status">Test “${ui.made.name}” is in <code>${ui.made.file}</code></div>` : nothing}
      ${["resume", "cancel", "test"].map((w) => (ui.failed[w] ? html`<div role="alert">${problem(ui.failed[w], act, ui)}${ui.failed[w].type === "in_doubt" ? button("Resume and rerun what is in doubt", () => act("resume", { rerun: true }), { kind: "danger" }) : nothing}</div>` : nothing))}
      ${data.damaged ? html`<div class="banner">${data.damaged}; this is what can be read.</div>` : nothing}
      ${questions(ui.file ? [] : data.questions, ui, act, false)}
      ${data.error && data.status === "failed" ? problem(data.error, act, ui) : nothing}
      <div class=${ui.graphTall ? "columns tall" : "columns"}>${graph(data, ui, act)}${timeline(data, ui, act)}${inspector(data, ui, act)}</div>`);
  }

  function runsTable(runs, ui, act, pick) {
    return html`<table class="runs"><thead><tr>${pick ? html`<th><span class="hidden">Compare</span></th>` : nothing}<th>status</th><th>workflow</th><th>run</th><th>started</th><th class="num">took</th></tr></thead><tbody>${repeat(runs, (r) => r.run_id, (r) => html`<tr class=${LOOKS[r.status] || ""}>${pick ? html`<td><input type="checkbox" aria-label=${`Compare ${r.run_id}`} .checked=${ui.picked.includes(r.run_id)} @change=${() => act("pick", { run: r.run_id })}></td>` : nothing}
      <td>${pill(r.status)}</td><td><a href=${`/runs/${r.run_id}`} dir="auto">${r.workflow || "(no name)"}</a>${r.schedule ? html`<span class="tag">by ${r.schedule}</span>` : nothing}</td><td><code>${r.run_id}</code></td><td title=${moment(r.started_at)}>${ago(r.started_at, ui.now)}</td><td class="num">${duration(r.status === "running" ? (ui.now - r.started_at) * 1000 : r.duration_ms)}</td></tr>`)}</tbody></table>`;
  }

  function runsPage(data, ui, act) {
    return frame(ui, act, "Runs", html`<h1 class="hidden">Runs</h1>${questions(data.questions, ui, act, true)}
      <div class="tools"><h2>Runs</h2><input type="search" id="filter" placeholder="Name, id or error  /" aria-label="Filter runs" .value=${ui.filter} @input=${(e) => act("filter", { text: e.target.value })}>
        <select aria-label="Status" @change=${(e) => act("status", { status: e.target.value })}><option value="">any status</option>${["running", "waiting", "completed", "failed", "stopped", "interrupted", "cancelled"].map((s) => html`<option ?selected=${ui.status === s}>${s}</option>`)}</select>
        <select aria-label="Workflow" @change=${(e) => act("workflow", { name: e.target.value })}><option value="">any workflow</option>${[...new Set([...(ui.workflows || []), ...(ui.workflow ? [ui.workflow] : [])])].map((w) => html`<option ?selected=${ui.workflow === w}>${w}</option>`)}</select>
        ${ui.workflow && (ui.workflows || []).includes(ui.workflow) ? html`<a class="button" href=${`/workflows/${enc(ui.workflow)}`}>Open workflow</a>` : nothing}
        ${ui.picked.length === 2 ? html`<a class="button main" href=${`/runs/${ui.picked[0]}?with=${ui.picked[1]}`}>Compare the two</a>` : ui.picked.length ? html`<span class="soft">tick another run to compare</span>` : nothing}</div>
      ${data.runs.length ? runsTable(data.runs, ui, act, true) : html`<p class="empty">${ui.filter || ui.status || ui.workflow ? "No run matches." : html`No run yet. <code>pflow run WORKFLOW</code> starts one.`}</p>`}
      ${data.next ? button("Older runs", () => act("older"), { kind: "link" }) : nothing}
      ${(ui.workflows || []).length ? html`<h2>Workflows</h2><ul class="names">${ui.workflows.map((w) => html`<li><a href=${`/workflows/${enc(w)}`} dir="auto">${w}</a></li>`)}</ul>` : nothing}`);
  }

  function workflowPage(data, ui, act) {
    const inputs = Object.entries(data.inputs || {});
    return frame(ui, act, html`<span dir="auto">${data.name}</span>`, html`<h1 dir="auto">${data.title || data.name}</h1><p dir="auto">${data.description}</p>
      ${[...data.issues, ...data.missing].map((m) => html`<div class="problem"><p class="message" dir="auto">${m}</p></div>`)}
      <form class="question start" aria-label="Run it" @submit=${(e) => { e.preventDefault(); act("run", { form: e.target }); }}><h2>Run it</h2><div class="fields">${inputs.map(([k, s]) => field(k, s, `in-${k}`))}</div>${inputs.length ? nothing : html`<p class="soft">It takes no inputs.</p>`}
        ${ui.failed.run ? html`<div role="alert">${problem(ui.failed.run, act, ui)}</div>` : nothing}<footer><button class="main" ?disabled=${ui.busy === "run" || data.issues.length > 0}>Run</button></footer></form>
      ${graph(data, ui, act)}${data.runs.length ? html`<h2>Runs</h2>${runsTable(data.runs, ui, act, false)}` : nothing}`);
  }

  const changes = (all, more) => (all || []).length ? html`<ul class="plain">${all.map((d) => html`<li><code dir="auto">${d.path}</code> ${"before" in d ? html`<del dir="auto">${plainly(d.before)}</del>` : nothing} ${"after" in d ? html`<ins dir="auto">${plainly(d.after)}</ins>` : nothing}</li>`)}${more ? html`<li class="soft">and ${count(more, "more")}</li>` : nothing}</ul>` : nothing;
  const plainly = (v) => (typeof v === "string" ? v : v && v.$preview ? `${v.$preview} …` : JSON.stringify(v));
  const delta = (ms) => (ms == null ? "" : Math.abs(ms) < 1 ? "0 ms" : `${ms < 0 ? "−" : "+"}${duration(Math.abs(ms))}`);

  function comparePage(data, ui, act) {
    const kinds = {}, most = ui.most || 500;
    for (const s of data.steps) kinds[s.class] = (kinds[s.class] || 0) + 1;
    const steps = data.steps.filter((s) => !ui.look || s.class === ui.look);
    const side = (name, r) => html`<tr><td><b>${name}</b></td><td>${pill(r.status)}</td><td><a href=${`/runs/${r.run_id}`}><code>${r.run_id}</code></a></td><td dir="auto">${r.workflow}</td><td>${moment(r.started_at)}</td><td class="num">${duration(r.duration_ms)}</td></tr>`;
    return frame(ui, act, "Compare", html`<h1>${data.equal ? "Both runs went the same way" : "Two runs"}</h1><table class="runs"><tbody>${side("A", data.a)}${side("B", data.b)}</tbody></table>
      ${["inputs", "document", "outputs", "error"].map((part) => (data[part].length ? html`<section><h3>${part}</h3>${changes(data[part], data.more_changes[part])}</section>` : nothing))}
      <div class="tools"><h2>Steps</h2><span class="looks" role="group" aria-label="Kind">${Object.entries(kinds).map(([k, n]) => html`<button class="chip" aria-pressed=${ui.look === k} @click=${() => act("look", { look: k })}>${k} <b>${num(n)}</b></button>`)}</span><span class="soft">${delta(data.delta_ms)}</span></div>
      <table class="runs"><thead><tr><th>step</th><th></th><th class="num">A</th><th class="num">B</th><th class="num">B took</th></tr></thead><tbody>${steps.slice(0, most).map((s) => html`<tr><td><bdi>${s.step}</bdi></td><td><span class="tag ${{ "output differs": "asked", "only in A": "failed", "only in B": "running" }[s.class] || ""}">${s.class}</span></td><td class="num">${s.a ? duration(s.a.ms) : ""}</td><td class="num">${s.b ? duration(s.b.ms) : ""}</td><td class="num">${delta(s.delta_ms)}</td></tr>${s.changes ? html`<tr class="diffs"><td colspan="5">${changes(s.changes, s.more_changes)}</td></tr>` : nothing}`)}</tbody></table>
      ${steps.length > most ? button("More steps", () => act("most")) : nothing}`);
  }

  const errorPage = (error, ui, act) => frame(ui, act, "", html`<h1>${error.type === "not_found" ? "Not found" : "That did not work"}</h1>${problem({ ...error, details: {} }, act, ui)}
    ${(error.details && error.details.near && error.details.near.length) ? html`<p>Did you mean</p><ul class="names">${error.details.near.map((id) => html`<li><a href=${`/runs/${id}`}><code>${id}</code></a></li>`)}</ul>` : nothing}<p><a href="/">All runs</a></p>`);
  const loadingPage = (ui, act) => frame(ui, act, "", html`<p class="soft">loading …</p>`);

  const put = (element, name, value) => { if (element.getAttribute(name) !== value) element.setAttribute(name, value); };
  /** Colour a graph that was drawn by the server: boxes by how their steps stand, lines by whether they were taken. */
  function paint(root, rows, selected, pick, news) {
    if (!rows) { for (const g of root.querySelectorAll("[data-node]")) g.setAttribute("class", "node plain"); return; }
    const by = new Map(), taken = news && new Set(news.taken);
    for (const row of rows) if (!row.step.includes("/")) by.set(row.node, row);
    for (const g of root.querySelectorAll("[data-node]")) {
      const id = g.dataset.node, row = by.get(id), look = (g.dataset.look = (news && news.looks[id]) || g.dataset.look || g.getAttribute("class") || "pending"), label = `${id}: ${worded(look)}`, title = g.querySelector("title");
      put(g, "class", `node ${look}${row && row.step === selected ? " selected" : ""}`);
      put(g, "aria-label", label);
      if (title && title.textContent !== label) title.textContent = label;
      if (pick && !g.onclick) { g.setAttribute("role", "button"); g.setAttribute("tabindex", "0"); g.onclick = () => pick(id); g.onkeydown = (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); pick(id); } }; }
    }
    for (const g of root.querySelectorAll("[data-edge]")) {
      const name = g.dataset.edge, pair = name.slice(0, name.indexOf(":", name.indexOf(">")));
      put(g, "class", (taken ? taken.has(pair) : g.classList.contains("taken")) ? "edge taken" : "edge");
    }
  }

  return { ROW, duration, num, pill, problem, questions, graph, timeline, runPage, runsPage, workflowPage, comparePage, errorPage, loadingPage, visible, scaled, paint, LOOKS };
})();
