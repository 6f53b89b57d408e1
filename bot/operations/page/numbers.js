// Numbers and times as people read them.
import { h } from "./elements.js";

export const count = (n) => Math.round(n).toLocaleString("en");
export const short = (n) =>
  n >= 1e6 ? `${+(n / 1e6).toFixed(1)}M` : n >= 1e3 ? `${+(n / 1e3).toFixed(1)}k` : `${+n.toFixed(2)}`;
export const dollars = (n) => `$${n >= 100 ? count(n) : n.toFixed(n >= 1 || !n ? 2 : 4)}`;
export const seconds = (n) => (n === null || n === undefined ? "–" : `${n.toFixed(n < 10 ? 1 : 0)} s`);
export const percent = (part) => `${(part * 100).toFixed(1)} %`;
export const many = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
export const time = (at) => h("time", {}, at ? new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ") : "–");
