// Small helpers that every part of the page shares: elements, icons, requests, times and sizes.
import { ICONS } from "./icons.js";

export const $ = (selector, root = document) => root.querySelector(selector);
const NAMESPACE = "http://www.w3.org/2000/svg";

/** An element: `h("button.key", { onclick }, "text", child)`. No style attribute: the policy forbids it. */
export function h(what, properties = {}, ...children) {
  const [tag, ...classes] = what.split(".");
  const made = document.createElement(tag);
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

/** An SVG element; numbers go into attributes. */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.flat());
  return made;
}

export function icon(name, label = "") {
  const drawn = svg(
    "svg",
    label ? { class: "i", role: "img", "aria-label": label } : { class: "i", "aria-hidden": "true" },
  );
  drawn.append(svg("use", { href: `#i-${name}` }));
  return drawn;
}

export function drawSprite() {
  const symbols = Object.entries(ICONS).map(
    ([name, path]) => `<symbol id="i-${name}" viewBox="0 0 20 20">${path}</symbol>`,
  );
  const sprite = svg("svg", { class: "sprite", "aria-hidden": "true" });
  sprite.innerHTML = symbols.join("");
  document.body.prepend(sprite);
}

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
