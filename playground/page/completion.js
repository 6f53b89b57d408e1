// What can be typed behind a slash, as a list box over the field.
import { h } from "./dom.js";

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
    const found = /^\/\S*$/.test(typed)
      ? this.composer.pane.commands.filter((one) => one.name.startsWith(typed))
      : [];
    if (!found.length) return this.close();
    this.list.replaceChildren(
      ...found.map((one, index) => {
        const options = one.options.map((option) => h("i", {}, option.required ? option.name : `[${option.name}]`));
        const take = (event) => {
          event.preventDefault(); // the field keeps the focus
          this.take(one.name);
        };
        return h(
          "div",
          { role: "option", id: `${this.list.id}-${index}`, "data-name": one.name, onmousedown: take },
          h("b", {}, one.name),
          options,
          h("small", {}, one.about),
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
