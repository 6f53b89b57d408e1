// One message: an element whose parts are filled again only where something changed.
import { act, minute, plain, size } from "./acts.js";
import { h, icon, svg } from "./elements.js";

const ACTS = { react: "Add a reaction", thread: "Reply in thread", reply: "Reply", edit: "Edit", delete: "Delete" };
const ACT_ICONS = { react: "smile", thread: "thread", reply: "reply", edit: "edit", delete: "bin" };
const STATES = { complete: "done", in_progress: "running", error: "failed", pending: "waits" };
const PLAIN_PARTS = [
  "ref",
  "only",
  "cards",
  "body",
  "embeds",
  "media",
  "keys",
  "reacts",
  "replies",
  "note",
  "head",
  "stack",
  "bubble",
];
const SIGNS = {
  ...{ "⏹": "stop", "🔄": "redo", "▶️": "play", "⏸": "pause", "🗑": "bin" },
  ...{ "👍": "thumbup", "👎": "thumbdown" },
};
const GROUPED_SECONDS = 300;
const SHOWN = /^image\/(png|jpeg|gif|webp)$/;

export function face(of, name) {
  return h("span.face", { "aria-hidden": "true", "data-of": of }, of === "bot" ? icon("parley") : (name ?? "?")[0]);
}

/** Whether a message belongs to the group of the one before it. */
function joins(view, before) {
  if (!before || before.author !== view.author || view.replyTo || view.via) return false;
  return !view.ephemeral && !before.note && view.at - before.at < GROUPED_SECONDS;
}

export class Message {
  constructor(view, log) {
    this.log = log;
    this.pane = log.pane;
    this.skin = log.pane.skin;
    this.filled = {}; // part → what it was filled with
    this.media = [];
    const parts = Object.fromEntries(PLAIN_PARTS.map((name) => [name, h(`div.${name}`)]));
    parts.face = face(view.author, view.name);
    parts.name = h("b.name", {}, view.name);
    parts.tag = view.author === "bot" && this.skin.tag ? h("span.tag", {}, this.skin.tag) : "";
    parts.time = h("time", { datetime: new Date(view.at * 1000).toISOString() }, minute(view.at));
    parts.body.dir = "auto";
    parts.cards.setAttribute("role", "list");
    parts.cards.setAttribute("aria-label", "What tools do");
    this.parts = parts;
    this.acts = h("div.acts", { role: "group", "aria-label": "With this message" });
    this.element = h(
      "article.msg",
      { "data-who": view.author, tabindex: "-1" },
      ...this.skin.arrange(parts),
      this.acts,
    );
    this.draw(view);
  }

  /** Whether anything has to be drawn again; remembers what it is drawn from. */
  changed(part, from) {
    const now = JSON.stringify(from);
    if (this.filled[part] === now) return false;
    this.filled[part] = now;
    return true;
  }

  /** Take the place behind another message, with which it may make a group. */
  follow(before) {
    this.element.dataset.run = joins(this.view, before?.view) ? "next" : "first";
    this.element.toggleAttribute("data-tail", true);
    if (before) before.element.toggleAttribute("data-tail", this.element.dataset.run === "first");
  }

  draw(view) {
    this.view = view;
    const { element } = this;
    element.toggleAttribute("data-live", writing(view));
    element.toggleAttribute("data-ephemeral", view.ephemeral);
    element.toggleAttribute("data-gone", Boolean(view.gone));
    this.drawReference(view);
    this.drawBody(view);
    this.drawCards(view);
    this.drawEmbeds(view);
    this.drawMedia(view);
    this.drawKeys(view);
    this.drawReactions(view);
    this.drawReplies();
    this.drawActs(view);
    if (this.changed("only", view.ephemeral)) {
      this.parts.only.replaceChildren(...(view.ephemeral ? [icon("eye"), "Only visible to you"] : []));
    }
    if (this.changed("note", view.note)) this.parts.note.textContent = view.note;
  }

  drawReference(view) {
    const quoted = this.pane.messages.get(`${view.chat} ${view.replyTo}`);
    const about = view.via ?? (quoted && { name: quoted.name, words: told(quoted), of: quoted.author });
    if (!this.changed("ref", about ?? null)) return;
    if (!about) return this.parts.ref.replaceChildren();
    const words = view.via ? ["used ", h("b", {}, `/${about.command}`)] : [about.words];
    this.parts.ref.replaceChildren(
      face(about.of ?? "you", about.name),
      h("b", {}, about.name),
      h("span", { dir: "auto" }, ...words),
    );
  }

  drawBody(view) {
    const live = writing(view);
    const edited = view.edits > 0 && !live && !view.gone;
    const from = [view.html, live, edited, view.read, view.reactions.length];
    if (!this.changed("body", from)) return;
    const { body } = this.parts;
    for (const own of body.querySelectorAll(".caret, .room, .edited")) own.remove();
    // The emulator made this HTML from the markup it was sent, with every text escaped; the policy allows no script.
    const fresh = document.createElement("template");
    // Where line breaks are kept as they are, the one behind a block belongs to the block.
    fresh.innerHTML = this.skin.working === "bar" ? view.html.replace(/<\/(pre|blockquote)>\n/g, "</$1>") : view.html;
    replaceChanged(body, fresh.content);
    for (const link of body.querySelectorAll("a"))
      Object.assign(link, { target: "_blank", rel: "noreferrer noopener" });
    for (const hidden of body.querySelectorAll(".spoiler:not([role])")) {
      for (const [name, value] of Object.entries({ role: "button", tabindex: "0", "aria-pressed": "false" })) {
        hidden.setAttribute(name, value);
      }
    }
    if (live && body.hasChildNodes()) placeCaret(body);
    this.skin.finish(this.parts, view, { time: this.parts.time, edited });
    reachWide(body);
  }

  drawCards(view) {
    if (!this.changed("cards", [view.plan, view.cards])) return;
    const cards = (view.cards ?? []).map((card) =>
      h(
        "div.card",
        { role: "listitem", "data-state": card.state },
        h(
          "span.mark",
          { role: "img", "aria-label": STATES[card.state] ?? card.state },
          card.state === "complete" ? icon("tick") : null,
        ),
        h("b", {}, card.title),
        typeof card.seconds === "number" ? h("time", {}, `${card.seconds.toFixed(1)} s`) : null,
        card.detail ? h("small", {}, card.detail) : null,
        card.output ? h("small", {}, card.output) : null,
      ),
    );
    if (view.plan) cards.unshift(h("p.plan", { role: "listitem" }, view.plan));
    this.parts.cards.replaceChildren(...cards);
  }

  drawEmbeds(view) {
    if (!this.changed("embeds", view.embeds ?? [])) return;
    const made = (view.embeds ?? []).map((one) =>
      h(
        "div.embed",
        {},
        one.title ? h("h3", {}, one.title) : null,
        one.description ? h("p", {}, one.description) : null,
        one.fields?.length
          ? h(
              "dl",
              {},
              one.fields.map((field) => h("div", {}, h("dt", {}, field.name), h("dd", {}, field.value))),
            )
          : null,
        one.footer?.text ? h("footer", {}, one.footer.text) : null,
      ),
    );
    this.parts.embeds.replaceChildren(...made);
  }

  drawMedia(view) {
    if (!this.changed("media", view.files)) return;
    const path = [this.pane.name, view.chat, view.id].map(encodeURIComponent).join("/");
    this.parts.media.replaceChildren(...view.files.map((file, index) => this.file(file, `files/${path}/${index}`)));
  }

  file(file, href) {
    if (SHOWN.test(file.media)) {
      const sizes = file.width ? { width: file.width, height: file.height } : {};
      const picture = h("img.shot", { src: href, alt: file.name, ...sizes });
      picture.addEventListener("load", () => this.log.keep());
      return h("a.picture", { href, target: "_blank", rel: "noopener", "aria-label": `Open ${file.name}` }, picture);
    }
    if (/^audio\//.test(file.media)) return voice(file, href);
    const words = h("span", {}, h("b", {}, file.name), h("small", {}, size(file.size)));
    return h("a.filecard", { href, download: file.name }, h("span.ic", {}, icon("file")), words);
  }

  drawKeys(view) {
    const buttons = view.buttons ?? [];
    if (!this.changed("keys", buttons)) return;
    const rows = Map.groupBy?.(buttons, (one) => one.row) ?? new Map([[0, buttons]]);
    const press = (one) => act("press", { platform: this.pane.name, chat: view.chat, id: view.id, button: one.id });
    const key = (one) =>
      h("button.key", { type: "button", "data-style": one.style, onclick: () => press(one) }, ...keyWords(one.label));
    const link = (one) =>
      h("a.key", { href: one.address, target: "_blank", rel: "noreferrer noopener" }, ...keyWords(one.label));
    this.parts.keys.replaceChildren(
      ...[...rows.values()].map((row) =>
        h(
          "div.row",
          {},
          row.map((one) => (one.address ? link(one) : key(one))),
        ),
      ),
    );
  }

  drawReactions(view) {
    if (!this.changed("reacts", view.reactions)) return;
    const names = this.pane.people;
    this.parts.reacts.replaceChildren(
      ...view.reactions.map(({ sign, people }) => {
        const who = people.map((one) => names[one] ?? (one === "bot" ? "Parley" : "somebody")).join(", ");
        const props = {
          type: "button",
          "aria-pressed": String(people.includes("you")),
          "aria-label": `${sign} ${people.length}: ${who}`,
        };
        return h(
          "button.react",
          { ...props, title: who, onclick: () => this.react(sign) },
          sign,
          h("span", {}, String(people.length)),
        );
      }),
    );
  }

  drawReplies() {
    const { view } = this;
    const replies = this.log.isThread ? [] : this.pane.repliesOf(view);
    if (
      !this.changed(
        "replies",
        replies.map((one) => one.id),
      )
    )
      return;
    if (!replies.length) return this.parts.replies.replaceChildren();
    const last = replies.at(-1);
    const words = replies.length === 1 ? "1 reply" : `${replies.length} replies`;
    this.parts.replies.replaceChildren(
      h(
        "button.more",
        { type: "button", onclick: () => this.pane.openThread(this.pane.threadOf(view), true) },
        face(last.author, last.name),
        words,
        h("small", {}, `Last at ${minute(last.at)}`),
      ),
    );
  }

  drawActs(view) {
    const kinds = this.pane.mayDo(view).filter((kind) => kind !== "thread" || !this.log.isThread);
    const text = plain(view.html).slice(0, 60);
    if (!this.changed("acts", [kinds, text])) return;
    this.acts.replaceChildren(
      ...kinds.map((kind) => {
        const props = {
          type: "button",
          tabindex: "-1",
          "aria-label": `${ACTS[kind]}: ${text}`,
          title: ACTS[kind],
          "data-act": kind,
        };
        return h("button", { ...props, onclick: () => this.does(kind) }, icon(ACT_ICONS[kind]));
      }),
    );
  }

  does(kind) {
    if (kind === "react") return this.offerSigns();
    if (kind === "thread") return this.pane.openThread(this.view.id, true);
    if (kind === "delete") {
      act("delete", { platform: this.pane.name, chat: this.view.chat, id: this.view.id });
      return this.log.composer.field.focus();
    }
    this.log.composer.take(kind, this.view);
  }

  /** The signs one can put on a message, in the place of the hover bar until one is chosen. */
  offerSigns() {
    const close = () => {
      delete this.filled.acts;
      this.drawActs(this.view);
      this.element.focus();
    };
    const signs = this.pane.signs.map((sign) =>
      h(
        "button.sign",
        {
          type: "button",
          "aria-label": `React with ${sign}`,
          onclick: () => {
            this.react(sign);
            close();
          },
        },
        sign,
      ),
    );
    this.acts.replaceChildren(...signs);
    this.acts.onkeydown = (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      close();
    };
    signs[0]?.focus();
  }

  react(sign) {
    act("react", { platform: this.pane.name, chat: this.view.chat, id: this.view.id, sign });
  }
}

/** Whether an answer is being written: a draft, a stream, or a message with a button that stops it. */
function writing(view) {
  return view.live || (view.author === "bot" && (view.buttons ?? []).some((one) => one.label.startsWith("⏹")));
}

/** What stands on a button: its sign as one of our icons, which need no font, and its words. */
function keyWords(label) {
  const sign = Object.keys(SIGNS).find((one) => label.startsWith(one));
  if (!sign) return [label];
  const words = label.slice(sign.length).trim();
  return [icon(SIGNS[sign], words ? "" : label), words, words ? null : h("span.sr", {}, label)].filter(Boolean);
}

export function told(view) {
  return plain(view.html).slice(0, 120) || (view.files[0]?.name ?? "");
}

/** Replace only what differs, from the first child that does: what stands before keeps its selection and its scroll. */
function replaceChanged(old, fresh) {
  old.normalize();
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  let same = 0;
  while (same < before.length && same < after.length && before[same].isEqualNode(after[same])) same += 1;
  for (const node of before.slice(same)) node.remove();
  old.append(...after.slice(same));
}

/** Put the caret behind the last word; a break that ends the text comes after it. */
function placeCaret(body) {
  const end = endOf(body);
  const caret = ["\u2060", h("span.caret", { "aria-hidden": "true" })];
  if (end.lastChild?.nodeName === "BR") end.lastChild.before(...caret);
  else end.append(...caret);
}

/** The innermost last block of a text: there the caret stands. */
function endOf(body) {
  const last = body.lastElementChild;
  const behind =
    last &&
    [...body.childNodes].slice([...body.childNodes].indexOf(last) + 1).some((node) => node.textContent.trim());
  if (!last || behind) return body;
  if (last.matches("pre")) return last.querySelector("code") ?? last;
  if (last.matches("ul, ol, blockquote")) return last.lastElementChild ? endOf(last) : last;
  return last.matches("p, li, div, h1, h2, h3") ? last : body;
}

/** What scrolls sideways can be reached with the keyboard; what does not is no stop on the way. */
function reachWide(root) {
  requestAnimationFrame(() => {
    for (const wide of root.querySelectorAll("pre, table")) {
      if (wide.scrollWidth > wide.clientWidth + 1) wide.tabIndex = 0;
      else wide.removeAttribute("tabindex");
    }
  });
}

/** A recording: a play button, a wave and its length. */
function voice(file, href) {
  const sound = h("audio", { src: href, preload: "metadata", "aria-label": file.name });
  const length = h("small", {}, "0:00");
  const button = h("button", { type: "button", "aria-label": `Play ${file.name}` }, icon("play"));
  const clock = () => {
    const seconds = sound.currentTime || (Number.isFinite(sound.duration) ? sound.duration : 0);
    length.textContent = `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  };
  const show = () => {
    button.replaceChildren(icon(sound.paused ? "play" : "pause"));
    button.setAttribute("aria-label", `${sound.paused ? "Play" : "Pause"} ${file.name}`);
  };
  button.addEventListener("click", () => (sound.paused ? sound.play().catch(() => {}) : sound.pause()));
  for (const kind of ["play", "pause", "ended"]) sound.addEventListener(kind, show);
  for (const kind of ["timeupdate", "loadedmetadata"]) sound.addEventListener(kind, clock);
  return h("div.voice", {}, button, wave(file.size), length, sound);
}

/** A wave drawn from a recording's size: always the same for the same one. */
function wave(seed) {
  const bars = Array.from({ length: 40 }, (_, index) => {
    const tall = 3 + Math.abs(Math.sin(index * 1.7 + seed) * Math.cos(index / 5 + seed)) * 21;
    return svg("rect", { x: index * 4, y: (13 - tall / 2).toFixed(1), width: 2.4, height: tall.toFixed(1), rx: 1.2 });
  });
  const drawn = { class: "wave", viewBox: "0 0 160 26", preserveAspectRatio: "none", "aria-hidden": "true" };
  return svg("svg", { ...drawn, fill: "currentColor" }, bars);
}
