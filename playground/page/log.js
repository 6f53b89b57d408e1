// A scrolling list of messages: the chat itself, or a thread beside it. It follows its end unless one has scrolled up.
import { h, icon } from "./elements.js";
import { Message } from "./message.js";

const NEAR = 90; // so many pixels over its end a list still follows

export class Log {
  constructor(pane, label, isThread = false) {
    this.pane = pane;
    this.isThread = isThread;
    this.composer = null;
    this.shown = new Map(); // "chat id" → its message
    this.pinned = true;
    this.top = 0;
    this.list = h("div.list");
    this.scroller = h("div.log", { role: "log", "aria-live": "off", tabindex: "0", "aria-label": label }, this.list);
    const down = () => {
      this.pinned = true;
      this.keep();
    };
    this.newest = h(
      "button.newest",
      { type: "button", hidden: true, "aria-label": "To the newest message", onclick: down },
      icon("down"),
    );
    this.element = h("div.logbox", {}, this.scroller, this.newest);
    this.listen();
  }

  listen() {
    this.scroller.addEventListener("scroll", () => {
      // Text that grew moves nothing: only who scrolls up is left alone.
      if (this.below() < NEAR) this.pinned = true;
      else if (this.scroller.scrollTop < this.top) this.pinned = false;
      this.top = this.scroller.scrollTop;
      this.newest.hidden = this.pinned;
    });
    const grown = new ResizeObserver(() => this.keep());
    grown.observe(this.list);
    grown.observe(this.scroller);
    this.scroller.addEventListener("keydown", (event) => this.step(event));
    this.scroller.addEventListener("focusin", (event) => {
      const focused = event.target.closest(".msg");
      for (const { element, acts } of this.shown.values()) {
        for (const button of acts.querySelectorAll("button")) button.tabIndex = element === focused ? 0 : -1;
      }
    });
    const uncover = (event) => {
      const spoiler = event.target.closest(".spoiler");
      if (!spoiler || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
      if (event.type === "keydown") event.preventDefault();
      spoiler.setAttribute("aria-pressed", String(spoiler.getAttribute("aria-pressed") !== "true"));
    };
    for (const kind of ["click", "keydown"]) this.scroller.addEventListener(kind, uncover);
  }

  /** Arrow keys go from message to message. */
  step(event) {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const all = [...this.list.querySelectorAll(".msg")];
    if (!step || !all.length || event.target.closest("button, a, pre, table")) return;
    event.preventDefault();
    const at = all.indexOf(event.target.closest(".msg"));
    all[at < 0 ? all.length - 1 : Math.min(all.length - 1, Math.max(0, at + step))].focus();
  }

  below() {
    return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
  }

  /** Go on showing the end, if that is what was shown. */
  keep() {
    if (this.pinned && this.below() > 0) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.top = this.scroller.scrollTop;
    this.newest.hidden = this.pinned || this.below() < NEAR;
  }

  redraw(views) {
    this.shown.clear();
    this.list.replaceChildren();
    for (const view of views) this.add(view);
    this.pinned = true;
    this.keep();
  }

  show(view) {
    const known = this.shown.get(`${view.chat} ${view.id}`);
    if (known) known.draw(view);
    else this.add(view);
    this.keep();
  }

  add(view) {
    const before = [...this.shown.values()].at(-1);
    const day = new Date(view.at * 1000).toDateString();
    if (!this.isThread && (!before || new Date(before.view.at * 1000).toDateString() !== day))
      this.list.append(dayLine(view.at));
    const message = new Message(view, this);
    this.shown.set(`${view.chat} ${view.id}`, message);
    message.follow(before);
    this.list.append(message.element);
  }

  erase(view) {
    const key = `${view.chat} ${view.id}`;
    this.shown.get(key)?.element.remove();
    this.shown.delete(key);
    let before;
    for (const message of this.shown.values()) {
      message.follow(before);
      before = message;
    }
    if (!this.shown.size) this.list.replaceChildren();
  }
}

function dayLine(at) {
  const day = new Date(at * 1000);
  const today = day.toDateString() === new Date().toDateString();
  const words = today ? "Today" : day.toLocaleDateString([], { weekday: "long", day: "numeric", month: "long" });
  return h("p.day", {}, h("span", {}, words));
}
