// Telegram: bubbles left and right, time and ticks in the corner, work under the name in the bar.
import { h, icon } from "./elements.js";

const RTL = /^\P{L}*[\u0590-\u08ff\ufb1d-\ufefc]/u; // the first letter decides, as dir=auto does

export const telegram = {
  attach: "clip",
  sheet: "back",
  tag: "",
  edited: "edited",
  acts: ["react", "reply", "edit", "delete"],
  threads: false,
  working: "bar",
  marks: (place) => (place.kind === "direct" ? "bot" : "lin"),

  arrange(parts) {
    parts.meta = h("span.meta");
    parts.bubble.append(parts.name, parts.ref, parts.media, parts.body, parts.reacts, parts.meta);
    parts.stack.append(parts.bubble, parts.keys, parts.note);
    return [parts.face, parts.stack];
  },

  /** The corner: "edited", the time and the ticks; an unseen copy at the end of the text keeps its room. */
  finish(parts, view, { time, edited }) {
    const read = view.author === "bot" ? [] : [ticks(view.read)];
    parts.meta.replaceChildren(...(edited ? [h("span.edited", {}, "edited")] : []), time, ...read);
    const body = parts.body;
    const against = RTL.test(body.textContent) !== (document.dir === "rtl");
    const fits = body.hasChildNodes() && !view.reactions.length && !against && !endsInBlock(body);
    if (fits) {
      const room = h(
        "span.room",
        { "aria-hidden": "true" },
        ...[...parts.meta.childNodes].map((one) => one.cloneNode(true)),
      );
      for (const named of room.querySelectorAll("[aria-label]")) named.removeAttribute("aria-label");
      body.append(room);
    }
    parts.bubble.dataset.fit = fits ? "inline" : "row";
  },

  sides(pane) {
    return { side: [h("h2", {}, pane.workspace), ...pane.places.map((place) => pane.placeButton(place))], rail: [] };
  },
};

function ticks(read) {
  const drawn = icon(read ? "ticks" : "tick", read ? "read" : "sent");
  drawn.classList.add("ticks");
  return drawn;
}

/** Whether the last thing of a text is a block, beside which nothing can stand. */
function endsInBlock(body) {
  for (let node = body.lastChild; node; node = node.previousSibling) {
    if (node.nodeType === Node.TEXT_NODE && !node.data.trim()) continue;
    if (node.nodeType === Node.ELEMENT_NODE && node.matches(".caret, .room")) continue;
    return node.nodeType === Node.ELEMENT_NODE && node.matches("pre, blockquote, table, ul, ol");
  }
  return false;
}
