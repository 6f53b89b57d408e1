// Slack: rows with square faces, an aubergine rail, threads at the side, task cards above the text.
import { h, icon } from "./elements.js";

export const slack = {
  attach: "plus",
  sheet: "list",
  tall: true,
  tag: "APP",
  edited: "(edited)",
  acts: ["react", "thread", "edit", "delete"],
  threads: true,
  working: "status",
  marks: (place) => (place.kind === "direct" ? "bot" : ""),

  arrange(parts) {
    parts.head.append(parts.name, parts.tag, parts.time);
    parts.bubble.append(parts.body);
    parts.stack.append(parts.head, parts.only, parts.cards, parts.bubble, parts.media, parts.keys, parts.reacts);
    parts.stack.append(parts.replies, parts.note);
    return [parts.face, parts.stack];
  },

  finish(parts, view, { edited }) {
    if (edited) parts.body.append(" ", h("span.edited", {}, "(edited)"));
  },

  sides(pane) {
    const [first] = pane.places;
    const direct = pane.places.find((place) => place.kind === "direct");
    const rail = [
      h("div.ws", { "aria-hidden": "true" }, pane.workspace[0]),
      pane.railButton(first, icon("home"), "Home", `Home, #${first.name}`),
      pane.railButton(direct, icon("dm"), "Direct messages", "Direct messages"),
    ];
    return { side: pane.sections("Channels"), rail };
  },
};
