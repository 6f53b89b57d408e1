// Small helpers that every part of the page shares: requests, what is said, times and sizes.
import { $ } from "./elements.js";

export function problem(text) {
  $("#problem").hidden = !text;
  $("#problem").textContent = text;
}

export const say = (text) => {
  $("#spoken").textContent = text;
};

export const act = (name, body) => post(`do/${name}`, { "Content-Type": "application/json" }, JSON.stringify(body));

/** Ask the playground to do something; whether it did, and if not the page says why. */
export async function post(path, headers, body) {
  let told = "";
  try {
    const answer = await fetch(path, { method: "POST", headers, body });
    told = (await answer.json()).problem ?? "";
  } catch {
    told = "the playground does not answer: was it ended?";
  }
  problem(told);
  return !told;
}

export function size(bytes) {
  const units = ["bytes", "KB", "MB"];
  const power = bytes < 1024 ? 0 : bytes < 2 ** 20 ? 1 : 2;
  return `${(bytes / 1024 ** power).toFixed(power && bytes < 10 * 1024 ** power ? 1 : 0)} ${units[power]}`;
}

/** The words of a piece of HTML; nothing in it is loaded or run. */
export function plain(html) {
  return new DOMParser().parseFromString(html, "text/html").body.textContent;
}

export const minute = (at) => new Date(at * 1000).toLocaleTimeString([], { hour: "numeric", minute: "2-digit" });
