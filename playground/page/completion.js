// What can be typed behind a slash, as a list box over the field.
import { h } from "./elements.js";

export class Completion {
  constructor(composer) {
    this.composer = composer;
    this.chosen = 0;
    const name = `complete-${composer.pane.name}${composer.isThread ? "-thread" : ""}`;
    this.list = h("div.complete", {
      hidden: true,
      role: "listbox",
      id: name,
      "aria-label": `Commands on ${composer.pane.title}`,
    });
    composer.form.append(this.list);
    composer.field.setAttribute("aria-autocomplete", "list");
    composer.field.addEventListener("blur", () => this.close());
  }

  get options() {
    return [...this.list.querySelectorAll("[role=option]")];
  }

  offer() {
    const typed = this.composer.field.value;
    if (/^\/\S+ \S*$/.test(typed)) return this.ask(typed);
    const named = (one) => ({ ...one, parts: one.options.map((part) => (part.required ? part.name : `[${part.name}]`)) });
    this.show(/^\/\S*$/.test(typed) ? this.commands(typed).map(named) : []);
  }

  commands(typed) {
    return this.composer.pane.commands.filter((one) => one.name.startsWith(typed));
  }

  /** Ask the bot what may stand behind a command, where it offers anything. */
  async ask(typed) {
    const { pane, place, field } = this.composer;
    const [command] = this.commands(typed.split(" ")[0]);
    if (command?.name !== typed.split(" ")[0] || !command.options[0]?.completes) return this.close();
    const query = new URLSearchParams({ typed });
    const answer = await fetch(`complete/${pane.name}/${encodeURIComponent(place.id)}?${query}`).catch(() => null);
    const { offers } = answer?.ok ? await answer.json() : { offers: [] };
    // What was typed meanwhile is asked about by itself.
    if (field.value === typed) this.show(offers.map((name) => ({ name, parts: [], about: "" })));
  }

  show(found) {
    if (!found.length) return this.close();
    this.list.replaceChildren(
      ...found.map(({ name, parts, about }, index) => {
        const take = (event) => {
          event.preventDefault(); // the field keeps the focus
          this.take(name);
        };
        return h(
          "div",
          { role: "option", id: `${this.list.id}-${index}`, "data-name": name, onmousedown: take },
          h("b", {}, name),
          parts.map((part) => h("i", {}, part)),
          h("small", {}, about),
        );
      }),
    );
    this.list.hidden = false;
    this.composer.field.setAttribute("aria-controls", this.list.id);
    this.choose(0);
  }

  choose(index) {
    const { options } = this;
    this.chosen = (index + options.length) % options.length;
    options.forEach((one, at) => one.setAttribute("aria-selected", String(at === this.chosen)));
    options[this.chosen].scrollIntoView({ block: "nearest" });
    this.composer.field.setAttribute("aria-activedescendant", options[this.chosen].id);
  }

  close() {
    this.list.hidden = true;
    this.composer.field.removeAttribute("aria-controls");
    this.composer.field.removeAttribute("aria-activedescendant");
  }

  take(name) {
    this.composer.field.value = `${name} `;
    this.close();
    this.composer.field.focus();
  }

  /** Whether a key was meant for the list. */
  takes(event) {
    if (this.list.hidden) return false;
    const name = this.options[this.chosen].dataset.name;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.choose(this.chosen + step);
    else if (event.key === "Escape") this.close();
    else if (event.key === "Tab" || (event.key === "Enter" && this.composer.field.value !== name)) this.take(name);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}
