// What is written in a colour that is too near to its background, for the tests of the page.
() => {
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const parse = text => (text.match(/[\d.]+/g) || []).map(Number);
  const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > .9) return c; } return [255, 255, 255]; };
  const found = [];
  for (const e of document.querySelectorAll("main *, header *")) {
    if (e.closest("svg") || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.offsetParent || getComputedStyle(e).opacity === "0") continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(ground(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found.push(e.className + " " + e.textContent.trim().slice(0, 20) + " " + ratio.toFixed(2));
  }
  return found;
}
