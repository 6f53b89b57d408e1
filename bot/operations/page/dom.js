// Elements, icons, numbers. Text becomes text nodes only, so nothing that people or models wrote is ever markup.
const NAMESPACE = "http://www.w3.org/2000/svg";
const ICONS = {
  parley:
    '<path d="M3 5.5A2.5 2.5 0 0 1 5.5 3h6A2.500 2.500 0 0 1 14 5.500v3A2.500 2.500 0 0 1 11.500 11H8l-3.200 2.600V11' +
    'A2.500 2.500 0 0 1 3 8.500z" fill="currentColor" stroke="none"/><path d="M16.200 7.200A2.500 2.500 0 0 1 17.500 ' +
    '9.400v2.400a2.500 2.500 0 0 1-1.900 2.400v2.300L12.700 14.300H9.800"/>',
  chart: '<path d="M3.500 16.500h13M5.500 13.500v-4M10 13.500v-9M14.500 13.500v-6"/>',
  chats: '<path d="M3 4.500h14v9H9l-3.500 3v-3H3z"/>',
  turns:
    '<circle cx="5" cy="5" r="2"/><circle cx="5" cy="15" r="2"/><circle cx="15" cy="10" r="2"/><path d="M5 7v6M7 ' +
    '5h3.500A2.500 2.500 0 0 1 13 7.500V9M7 15h3.500a2.500 2.500 0 0 0 2.500-2.500V11"/>',
  tools:
    '<path d="M12.800 3.200a4 4 0 0 0-4.700 5.500L3 13.800 6.200 17l5.100-5.100a4 4 0 0 0 5.500-4.700l-2.500 ' +
    '2.400-2.500-.6-.7-2.500z"/>',
  people:
    '<circle cx="7.500" cy="7" r="2.700"/><path d="M2.500 16c.3-3 2.300-4.700 5-4.700s4.700 1.700 5 4.700M13 ' +
    '4.600a2.600 2.600 0 0 1 0 4.900M14.500 11.700c1.700.6 2.800 2.100 3 4.300"/>',
  model:
    '<rect x="4.500" y="4.500" width="11" height="11" rx="2.500"/><path d="M8 2v2.500M12 2v2.500M8 15.500V18M12 ' +
    '15.500V18M2 8h2.500M2 12h2.500M15.500 8H18M15.500 12H18"/>',
  eye: '<path d="M2 10s3-5.500 8-5.500S18 10 18 10s-3 5.500-8 5.500S2 10 2 10z"/><circle cx="10" cy="10" r="2.300"/>',
  fault: '<path d="M10 3 2.500 16.500h15zM10 8v4"/><circle cx="10" cy="14.300" r=".6" fill="currentColor"/>',
  export: '<path d="M10 12.500V3.500M6.500 6.500 10 3l3.500 3.500M4 11.500v5h12v-5"/>',
  leave: '<path d="M12 4.500V3.500H4v13h8v-1M8.500 10h8M13.500 7l3 3-3 3"/>',
};

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

export const icon = (name) => svg("svg", { class: "i", "aria-hidden": "true" }, svg("use", { href: `#i-${name}` }));

export function drawIcons() {
  const sprite = svg("svg", { class: "sprite", "aria-hidden": "true" });
  for (const [name, path] of Object.entries(ICONS)) {
    const symbol = svg("symbol", { id: `i-${name}`, viewBox: "0 0 20 20" });
    symbol.innerHTML = path;
    sprite.append(symbol);
  }
  document.body.prepend(sprite);
  for (const one of document.querySelectorAll("[data-icon]")) one.prepend(icon(one.dataset.icon));
}

export const count = (n) => Math.round(n).toLocaleString("en");
export const short = (n) =>
  n >= 1e6 ? `${+(n / 1e6).toFixed(1)}M` : n >= 1e3 ? `${+(n / 1e3).toFixed(1)}k` : `${+n.toFixed(2)}`;
export const dollars = (n) => `$${n >= 100 ? count(n) : n.toFixed(n >= 1 || !n ? 2 : 4)}`;
export const seconds = (n) => (n === null || n === undefined ? "–" : `${n.toFixed(n < 10 ? 1 : 0)} s`);
export const percent = (part) => `${(part * 100).toFixed(1)} %`;
export const many = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
export const time = (at) => h("time", {}, at ? new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ") : "–");
