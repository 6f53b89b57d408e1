// Discord: dark, with servers and channels beside the chat; replies above their answer, embeds, coloured buttons.
import { h, icon } from "./elements.js";

export const discord = {
  attach: "plus",
  sheet: "list",
  tag: "APP",
  edited: "(edited)",
  acts: ["react", "reply", "edit", "delete"],
  threads: true,
  working: "status",
  statusBelow: true,
  marks: (place) => (place.kind === "direct" ? "bot" : ""),

  arrange(parts) {
    parts.head.append(parts.name, parts.tag, parts.time);
    parts.bubble.append(parts.body);
    parts.stack.append(parts.head, parts.only, parts.bubble, parts.embeds, parts.media, parts.keys, parts.reacts);
    parts.stack.append(parts.replies, parts.note);
    return [parts.ref, parts.face, parts.stack];
  },

  finish(parts, view, { edited }) {
    if (edited) parts.body.append(" ", h("span.edited", {}, "(edited)"));
  },

  sides(pane) {
    const [first] = pane.places;
    const direct = pane.places.find((place) => place.kind === "direct");
    const letters = h(
      "span",
      { "aria-hidden": "true" },
      pane.workspace
        .split(" ")
        .map((word) => word[0].toUpperCase())
        .join(""),
    );
    const rail = [
      pane.railButton(direct, icon("dm"), "Direct messages", "Direct messages"),
      h("hr"),
      pane.railButton(first, letters, pane.workspace, `Server ${pane.workspace}`),
    ];
    return { side: pane.sections("Text channels"), rail };
  },
};
