// Charts as plain SVG: numbers become attributes, never style. Behind each stands a table for who cannot see it.
import { svg } from "./elements.js";
import { short } from "./numbers.js";

const HIGH = 190;
const WIDE = 560;
const LEFT = 46;
const BOTTOM = 24;
const TOP = 8;
const KINDS = ["b", "a", "d", "c", "e"];

const words = (x, y, text, anchor) => svg("text", { x, y, class: "axis", "text-anchor": anchor }, text);

/** Lines of a grid: the step between them, and where the highest is. */
function grid(most, least) {
  const raw = Math.max(least, most / 4 || 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw * 0.999);
  return { step, top: step * Math.max(1, Math.ceil(most / step - 1e-9)) };
}

/** Stacked bars. `series`: [{name, kind, values}], a value for each label. */
export function bars({ labels, series, unit = "", label, least = 0 }) {
  const sums = labels.map((_, at) => series.reduce((sum, one) => sum + one.values[at], 0));
  const { step, top } = grid(Math.max(0, ...sums), least);
  const y = (value) => HIGH - BOTTOM - (value / top) * (HIGH - TOP - BOTTOM);
  const drawn = svg("svg", { class: "graph", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label });
  for (let value = 0; value <= top * 1.001; value += step) {
    const line = svg("line", { x1: LEFT, x2: WIDE, y1: y(value), y2: y(value), class: "grid" });
    drawn.append(line, words(LEFT - 7, y(value) + 4, unit + short(value), "end"));
  }
  const slot = (WIDE - LEFT) / labels.length;
  const wide = Math.min(26, slot * 0.7);
  labels.forEach((day, at) => {
    const told = series.map((one) => `${one.name} ${unit}${short(one.values[at])}`).join(", ");
    const group = svg("g", { class: "bar" }, svg("title", {}, `${day}: ${told}`));
    let under = 0;
    for (const one of series) {
      const [from, to] = [y(under), y(under + one.values[at])];
      under += one.values[at];
      const box = { x: LEFT + at * slot + (slot - wide) / 2, y: to, width: wide, height: Math.max(0, from - to - 0.6) };
      if (one.values[at]) group.append(svg("rect", { ...box, rx: 1.5, class: one.kind }));
    }
    drawn.append(group);
    const shown = at % Math.ceil(labels.length / 8) === 0;
    if (shown) drawn.append(words(LEFT + (at + 0.5) * slot, HIGH - 6, day, at && at === labels.length - 1 ? "end" : "middle"));
  });
  return drawn;
}

/** Lines over seconds, each a list of [seconds, count]; one of `steps` stands still until its next point. */
export function lines({ series, label }) {
  const points = series.flatMap((one) => one.points);
  const whole = Math.max(0.5, ...points.map(([at]) => at));
  const { step, top } = grid(Math.max(1, ...points.map(([, value]) => value)), 1);
  const x = (at) => LEFT + (at / whole) * (WIDE - LEFT - 16);
  const y = (value) => HIGH - BOTTOM - (value / top) * (HIGH - TOP - BOTTOM);
  const drawn = svg("svg", { class: "graph", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label });
  for (let value = 0; value <= top * 1.001; value += step) {
    const line = svg("line", { x1: LEFT, x2: WIDE, y1: y(value), y2: y(value), class: "grid" });
    drawn.append(line, words(LEFT - 7, y(value) + 4, short(value), "end"));
  }
  const every = grid(whole, 0.1).step;
  for (let at = 0; at <= whole * 1.001; at += every) drawn.append(words(x(at), HIGH - 6, `${+at.toFixed(2)} s`, "middle"));
  for (const { kind, points, steps } of series) {
    const path = points.map(([at, value], number) => {
      const [across, down] = [x(at).toFixed(1), y(value).toFixed(1)];
      return number === 0 ? `M${across} ${down}` : steps ? `H${across}V${down}` : `L${across} ${down}`;
    });
    drawn.append(svg("path", { d: path.join(""), class: `line ${kind}` }));
  }
  return drawn;
}

export function spark(values, label) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const x = (at) => 2 + (at / Math.max(1, values.length - 1)) * 106;
  const points = values.map((value, at) => `${x(at).toFixed(1)},${(26 - ((value - least) / (most - least || 1)) * 22).toFixed(1)}`);
  const box = { class: "spark", viewBox: "0 0 110 30", preserveAspectRatio: "none", role: "img", "aria-label": label };
  return svg("svg", box, svg("polyline", { points: points.join(" ") }));
}

/** A bar from `from` on, `part` long, of a whole of 1. */
export function gauge(part, kind = "", from = 0) {
  const box = { class: `gauge ${kind}`, viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" };
  const start = Math.min(99, Math.max(0, from * 100));
  const over = { x: start, width: Math.min(100 - start, Math.max(0.8, part * 100)), height: 6, rx: 1, class: "over" };
  return svg("svg", box, svg("rect", { class: "under", width: 100, height: 6, rx: 1 }), svg("rect", over));
}

/** Series with the same four names, and so colours, in every chart; the others become one. */
export function named(values, names, length) {
  const sum = (lists) => Array.from({ length }, (_, at) => lists.reduce((all, list) => all + list[at], 0));
  const shown = names.slice(0, 4).filter((name) => values[name]);
  const series = shown.map((name) => ({ name, kind: KINDS[names.indexOf(name)], values: values[name] }));
  const rest = Object.keys(values).filter((name) => !shown.includes(name));
  if (rest.length) series.push({ name: `${rest.length} others`, kind: KINDS[4], values: sum(rest.map((name) => values[name])) });
  return series;
}
