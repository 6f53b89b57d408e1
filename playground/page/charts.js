// Charts as plain SVG: numbers become attributes, never style. The table behind each is for who cannot see it.
import { svg } from "./elements.js";

const WIDE = 376;
const HIGH = 168;
const LEFT = 34;
const RIGHT = 8;
const TOP = 10;
const BOTTOM = 34;

const words = (x, y, text, anchor) => svg("text", { x, y, class: "axis", "text-anchor": anchor }, text);
const short = (n) => (n >= 1000 ? `${+(n / 1000).toFixed(1)}k` : `${+n.toFixed(2)}`);

/** A step between the lines of a grid that has about so many of them. */
function nice(most, steps) {
  const raw = most / steps || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw);
}

/** What was written, what stood on the screen, what was read; calls and refusals below. Times are seconds. */
export function timeGraph({ lines, calls, refusals, label }) {
  const points = lines.flatMap((line) => line.points);
  const seconds = Math.max(1, ...points.map(([at]) => at));
  const most = Math.max(1, ...points.map(([, count]) => count));
  const x = (at) => LEFT + (Math.min(at, seconds) / seconds) * (WIDE - LEFT - RIGHT);
  const y = (count) => HIGH - BOTTOM - (count / most) * (HIGH - TOP - BOTTOM);
  const drawn = svg("svg", { class: "graph", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label });
  const step = nice(most, 3);
  for (let count = 0; count <= most; count += step) {
    const line = svg("line", { x1: LEFT, x2: WIDE - RIGHT, y1: y(count), y2: y(count), class: "grid" });
    drawn.append(line, words(LEFT - 5, y(count) + 3.5, short(count), "end"));
  }
  const every = nice(seconds, 4);
  for (let at = 0; at <= seconds; at += every) drawn.append(words(x(at), HIGH - 5, `${short(at)} s`, "middle"));
  for (const line of lines) drawn.append(svg("path", { d: path(line, x, y, seconds), class: `line ${line.kind}` }));
  const below = HIGH - BOTTOM + 5;
  for (const at of calls)
    drawn.append(svg("line", { x1: x(at), x2: x(at), y1: below, y2: below + 7, class: "call" }));
  for (const at of refusals)
    drawn.append(svg("path", { d: `M${x(at) - 4} ${below}l8 8m0-8l-8 8`, class: "refusal" }));
  return drawn;
}

function path({ points, step }, x, y, seconds) {
  let drawn = "";
  for (const [at, count] of points) {
    const across = x(at).toFixed(1);
    const down = y(count).toFixed(1);
    if (!drawn) drawn = `M${across} ${down}`;
    else drawn += step ? `H${across}V${down}` : `L${across} ${down}`;
  }
  return drawn && `${drawn}H${x(seconds).toFixed(1)}`;
}

/** A bar that fills from its start: what is left of a rate. */
export function gauge(part) {
  const low = part < 0.35 ? " low" : "";
  const bar = { class: `gauge${low}`, viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" };
  const over = svg("rect", { class: "over", width: Math.max(0.8, part * 100), height: 6, rx: 1 });
  return svg("svg", bar, svg("rect", { class: "under", width: 100, height: 6, rx: 1 }), over);
}

/** A bar from one moment to another of a whole, its beginning faint up to `first`: there nothing had come yet. */
export function period({ kind, at, first, end }, whole) {
  const part = (seconds) => Math.min(100, Math.max(0, (seconds / whole) * 100));
  const bar = { class: `gauge ${kind}`, viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" };
  const over = (name, from, to) =>
    svg("rect", { class: name, x: part(from), width: Math.max(0.8, part(to) - part(from)), height: 6 });
  const begun = first ?? (kind === "pass" ? end : at);
  const rects = [svg("rect", { class: "under", width: 100, height: 6 })];
  if (begun > at) rects.push(over("over waits", at, begun));
  if (end > begun) rects.push(over("over", begun, end));
  return svg("svg", bar, ...rects);
}
