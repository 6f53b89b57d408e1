// One platform: its places, its chat, a thread beside it, and the fields to write in. What differs is in its skin.
import { say } from "./acts.js";
import { h, icon } from "./elements.js";
import { Composer } from "./composer.js";
import { Log } from "./log.js";
import { face } from "./message.js";

const TYPING_SECONDS = 6;
const ASIDE_SECONDS = 8;

export class Pane {
  constructor(told, skin, { people, signs }) {
    Object.assign(this, told, { skin, people, signs });
    this.messages = new Map(); // "chat id" → the newest view
    this.unread = new Map(); // place → how many
    this.commands = [];
    this.thread = ""; // the one that is open beside the chat
    this.here = this.places[0].id;
    this.faults = "";
    this.build();
    this.go(this.here);
  }

  get place() {
    return this.places.find((place) => place.id === this.here);
  }

  face(of, name) {
    return face(of, name);
  }

  placeholder() {
    if (this.place.kind === "channel") return `Message #${this.place.name}`;
    return this.skin.working === "bar" ? "Message" : `Message ${this.place.name}`;
  }

  build() {
    this.bar = h("header.bar");
    this.log = new Log(this, `${this.title} messages`);
    this.composer = new Composer(this, this.log);
    this.status = h("div.status", { role: "status" });
    this.asideLine = h("p.aside", { role: "status" });
    this.log.element.append(this.asideLine);
    if (this.skin.statusBelow) this.composer.form.append(this.status);
    const status = this.skin.statusBelow ? [] : [this.status];
    this.chat = h("div.chat", {}, this.bar, this.log.element, ...status, this.composer.form);
    this.side = h("nav.side", { "aria-label": `Chats on ${this.title}`, id: `places-${this.name}` });
    this.rail = h("nav.rail", { "aria-label": `${this.title} sections` });
    const skip = h("a.skip", { href: `#field-${this.name}` }, `Write on ${this.title}`);
    this.frame = h("div.frame", {}, skip, this.rail, this.side, this.chat);
    if (this.skin.threads) this.frame.append(this.buildThread());
    this.root = h(
      "section.pane",
      { id: `pane-${this.name}`, "data-skin": this.name, "aria-label": this.title },
      this.frame,
    );
    this.listen();
  }

  buildThread() {
    this.threadLog = new Log(this, `Thread on ${this.title}`, true);
    this.threadComposer = new Composer(this, this.threadLog, true);
    this.threadStatus = h("div.status", { role: "status" });
    const close = {
      type: "button",
      "aria-label": `Close the thread on ${this.title}`,
      onclick: () => this.closeThread(),
    };
    this.threadUnder = h("p.under");
    const head = h(
      "header.bar",
      {},
      h("div.who", {}, h("h2", {}, "Thread"), this.threadUnder),
      h("span.end", {}, h("button.icon", close, icon("close"))),
    );
    return h(
      "aside.thread",
      { "aria-label": `Thread on ${this.title}` },
      head,
      this.threadLog.element,
      this.threadStatus,
      this.threadComposer.form,
    );
  }

  listen() {
    this.frame.addEventListener("click", (event) => {
      if (event.target === this.frame) this.sheet(false);
    });
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      if (this.frame.dataset.nav) this.sheet(false);
      else if (this.thread) this.closeThread();
    });
    const over = (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      this.root.toggleAttribute("data-over", event.type === "dragover");
      if (event.type === "drop") this.composer.attach([...event.dataTransfer.files]);
    };
    for (const kind of ["dragover", "dragleave", "drop"]) this.root.addEventListener(kind, over);
  }

  /** Show or hide the list of places where it lies over the chat. */
  sheet(open) {
    if (open) this.frame.dataset.nav = "open";
    else delete this.frame.dataset.nav;
    this.bar.querySelector(".menuopen")?.setAttribute("aria-expanded", String(open));
  }

  /** Show another place of this platform. */
  go(place) {
    this.composer.leave();
    this.closeThread();
    this.tellAside("");
    this.here = place;
    this.unread.delete(place);
    this.chat.dataset.kind = this.place.kind;
    this.sheet(false);
    this.drawBar();
    this.drawSides();
    this.work("");
    this.composer.refresh();
    this.redraw();
  }

  drawBar() {
    const open = () => this.sheet(!this.frame.dataset.nav);
    const menu = { type: "button", "aria-label": `Chats on ${this.title}`, "aria-expanded": "false", onclick: open };
    const sheet = h("button.icon.menuopen", { ...menu, "aria-controls": this.side.id }, icon(this.skin.sheet));
    const name = h("h2", {}, this.place.kind === "channel" ? icon("hash") : null, this.place.name);
    this.under = h("p.under", {}, this.underName());
    const mark = this.skin.marks(this.place);
    const link =
      this.root?.dataset.link && this.root.dataset.link !== "connected"
        ? h("span.broken", {}, this.root.dataset.link)
        : null;
    const end = h("span.end", {}, link, h("span.platform", {}, this.title));
    this.bar.replaceChildren(
      sheet,
      ...(mark ? [face(mark, this.place.name)] : []),
      h("div.who", {}, name, this.under),
      end,
    );
  }

  underName() {
    if (this.place.kind !== "direct") return `${Object.keys(this.people).length + 1} members`;
    return this.skin.working === "bar" ? "bot" : "app";
  }

  drawSides() {
    const { side, rail } = this.skin.sides(this);
    this.side.replaceChildren(...side);
    this.rail.replaceChildren(...rail);
  }

  badge(place) {
    const count = this.unread.get(place.id);
    return count ? h("span.count", {}, String(count), h("span.sr", {}, " unread")) : null;
  }

  placeButton(place) {
    const last = [...this.messages.values()].filter((view) => view.place === place.id && !view.ephemeral).at(-1);
    const said = last ? new DOMParser().parseFromString(last.html, "text/html").body.textContent.slice(0, 60) : "";
    const mark = this.skin.marks(place) || "lin";
    const sign = this.skin.working === "bar" ? face(mark, place.name) : icon(place.kind === "direct" ? "dm" : "hash");
    const current = { "aria-current": place.id === this.here ? "page" : null };
    return h(
      "button.place",
      { type: "button", ...current, onclick: () => this.go(place.id) },
      sign,
      h("b", {}, place.name),
      this.skin.working === "bar" ? h("small", {}, said) : null,
      this.badge(place),
    );
  }

  /** A list of places under two headings: channels and direct messages. */
  sections(heading) {
    const of = (direct) =>
      this.places.filter((place) => (place.kind === "direct") === direct).map((place) => this.placeButton(place));
    return [
      h("h2", {}, this.workspace),
      h("h3", {}, heading),
      ...of(false),
      h("h3", {}, "Direct messages"),
      ...of(true),
    ];
  }

  railButton(place, sign, title, words) {
    const current = { "aria-current": place.id === this.here ? "page" : null };
    return h(
      "button",
      { type: "button", title, ...current, onclick: () => this.go(place.id) },
      sign,
      h("span.sr", {}, words),
      place.kind === "direct" ? this.badge(place) : null,
    );
  }

  /** What one may do with a message, as its platform lets one. */
  mayDo(view) {
    if (view.ephemeral || view.live || view.gone) return [];
    const mine = view.author !== "bot";
    const may = {
      react: true,
      thread: this.skin.threads && this.offersThreads && !view.thread,
      reply: this.offers.includes("reply"),
      edit: mine && Boolean(view.written) && this.offers.includes("edit"),
      delete: mine && this.offers.includes("delete"),
    };
    return this.skin.acts.filter((kind) => may[kind]);
  }

  /** Whether a person can begin a thread here by answering in one. */
  get offersThreads() {
    return !this.offers.includes("reply");
  }

  /** The name of the thread under a message. */
  threadOf(view) {
    return view.id;
  }

  repliesOf(root) {
    if (root.thread) return [];
    return [...this.messages.values()].filter((view) => view.place === root.place && view.thread === root.id);
  }

  /** The message that a thread hangs under. */
  rootOf(view) {
    return this.messages.get(`${view.place} ${view.thread}`);
  }

  inMain(view) {
    return view.place === this.here && !(this.skin.threads && view.thread);
  }

  inThread(view) {
    if (!this.thread || view.place !== this.here) return false;
    return view.thread === this.thread || (view.id === this.thread && !view.thread);
  }

  openThread(id, focus = false) {
    this.thread = id;
    this.frame.dataset.thread = "open";
    this.threadUnder.textContent = this.place.kind === "channel" ? `#${this.place.name}` : this.place.name;
    this.threadComposer.refresh();
    const views = [...this.messages.values()].filter((view) => this.inThread(view));
    this.threadLog.redraw(views.sort((one, other) => Boolean(one.thread) - Boolean(other.thread)));
    if (focus) this.threadComposer.field.focus();
  }

  closeThread() {
    if (!this.thread) return;
    const within = this.frame.querySelector(".thread").contains(document.activeElement);
    this.thread = "";
    delete this.frame.dataset.thread;
    this.threadComposer.leave();
    if (within) this.composer.field.focus();
  }

  redraw() {
    this.log.redraw([...this.messages.values()].filter((view) => this.inMain(view)));
    if (this.thread) this.openThread(this.thread);
  }

  /** Take everything that stands, where the page opens or opens again. */
  begin(views) {
    this.messages.clear();
    for (const view of views) {
      if (view.thread && !this.rootOf(view)) this.keepRoot(view);
      this.messages.set(`${view.chat} ${view.id}`, view);
    }
    this.drawSides();
    this.redraw();
  }

  /** What stays in the place of a message that is gone while its thread goes on. */
  keepRoot(reply) {
    const html = "<em>This message was deleted.</em>";
    const gone = {
      ...reply,
      id: reply.thread,
      chat: reply.place,
      thread: "",
      html,
      gone: true,
      live: false,
      written: "",
    };
    this.messages.set(`${reply.place} ${reply.thread}`, {
      ...gone,
      buttons: [],
      files: [],
      reactions: [],
      cards: [],
      edits: 0,
    });
  }

  /** Take a message in its newest form. */
  show(view) {
    const key = `${view.chat} ${view.id}`;
    const known = this.messages.has(key);
    if (view.deleted) this.erase(view, key);
    else this.messages.set(key, view);
    if (view.author === "bot" && !view.deleted) this.answered(view, known);
    if (view.place !== this.here) return this.elsewhere(view, known);
    if (!view.deleted) {
      if (this.inMain(view)) this.log.show(view);
      if (this.skin.threads && view.thread && !this.rootOf(view)) this.keepRoot(view);
      if (this.inThread(view)) this.threadLog.show(view);
    }
    const root = view.thread && this.log.shown.get(`${view.place} ${view.thread}`);
    if (root) root.drawReplies();
  }

  elsewhere(view, known) {
    if (known || view.deleted || view.author !== "bot") return;
    this.unread.set(view.place, (this.unread.get(view.place) ?? 0) + 1);
    this.drawSides();
  }

  answered(view, known) {
    if (view.html && !view.live) this.work("", view.place);
    if (known || view.ephemeral) return;
    say(`Parley answers on ${this.title}`);
    if (this.skin.threads && view.place === this.here) this.followThread(view);
  }

  /** Where the bot opens a thread under what was just written, show it: it goes on there, and remembers by thread. */
  followThread(view) {
    if (!view.thread || view.thread === this.thread) return;
    const main = [...this.messages.values()].filter(
      (one) => one.place === view.place && !one.thread && one.author !== "bot",
    );
    const busy = this.thread && this.threadComposer.field.value;
    if (main.at(-1)?.id === view.thread && !busy) this.openThread(view.thread);
  }

  /** Take a message off the page. What stands in its thread stays. */
  erase(view, key) {
    this.messages.delete(key);
    for (const composer of [this.composer, this.threadComposer]) {
      if (composer?.aim && composer.aim.view.id === view.id && composer.aim.view.chat === view.chat) composer.leave();
    }
    const replies = this.skin.threads ? this.repliesOf(view) : [];
    if (replies.length) {
      this.keepRoot(replies[0]);
      const gone = this.messages.get(`${view.place} ${view.id}`);
      if (view.place === this.here) this.log.show({ ...gone, chat: view.chat, author: view.author, name: view.name });
      if (this.inThread(gone)) this.threadLog.show({ ...gone, chat: view.chat });
      return;
    }
    this.log.erase(view);
    this.threadLog?.erase(view);
  }

  /** Say what the bot is doing, where the platform says it; empty: nothing. */
  work(words, place = this.here) {
    if (place !== this.here) return;
    clearTimeout(this.fading);
    const dots = () => h("span.dots", { "aria-hidden": "true" }, h("i"), h("i"), h("i"));
    if (this.skin.working === "bar") {
      this.under.toggleAttribute("data-busy", Boolean(words));
      this.under.replaceChildren(...(words ? [dots(), ` ${words}`] : [this.underName()]));
      return;
    }
    for (const line of [this.status, this.threadStatus])
      line?.replaceChildren(...(words ? [dots(), h("span", {}, words)] : []));
  }

  /** A sign of work: typing fades, a status stays until the next message. */
  sign({ kind, text = "", place = this.here }) {
    if (place !== this.here) return;
    if (kind === "aside") return this.tellAside(text);
    const typing = this.skin.working === "bar" ? "typing" : "Parley is typing…";
    this.work(kind === "typing" ? typing : kind === "clear" ? "" : text);
    if (kind !== "status") this.fading = setTimeout(() => this.work(""), TYPING_SECONDS * 1000);
  }

  /** Show what was told to who pressed a button, and to nobody else. */
  tellAside(text) {
    clearTimeout(this.asideFading);
    this.asideLine.textContent = text;
    if (text) this.asideFading = setTimeout(() => this.tellAside(""), ASIDE_SECONDS * 1000);
  }

  state(told) {
    const link = told.platforms[this.name] ?? (told.phase === "ready" ? "" : "not connected");
    const words = link === "listening" ? "connected" : link;
    this.commands = told.commands[this.name] ?? [];
    if (this.root.dataset.link === words) return;
    this.root.dataset.link = words;
    this.drawBar();
  }
}
