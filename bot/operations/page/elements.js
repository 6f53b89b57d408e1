// What the operator's page and the playground share: elements and icons. Text becomes text nodes only, so nothing that
// people or models wrote is ever markup.
import { ICONS } from "./icons.js";

const NAMESPACE = "http://www.w3.org/2000/svg";

export const $ = (selector, root = document) => root.querySelector(selector);

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
  const given = children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);
  made.append(...given);
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
