// What stands beside the chats: the wire, with every call of the last answer, and faults to switch on.
import { act } from "./acts.js";
import { $, h, icon } from "./elements.js";
import { gauge, period, timeGraph } from "./charts.js";

const KINDS = { wire: "Wire", turn: "Turn", fault: "Faults" };
const REFRESH = 250; // milliseconds between two looks, however many calls come
const narrow = matchMedia("(max-width: 760px)");

export class Dock {
  constructor({ windows, kinds, faults }) {
    this.windows = windows;
    this.faults = kinds; // what may go wrong
    this.on = faults; // what is switched on
    this.kind = "";
    this.platform = windows[0].name;
    this.waiting = null;
    for (const [kind, name] of Object.entries(KINDS)) {
      const of = { "data-kind": kind, "aria-pressed": "false", "aria-label": name, onclick: () => this.toggle(kind) };
      $("#dockbar").append(h("button", { type: "button", ...of }, icon(kind), h("span", {}, name)));
    }
    narrow.addEventListener("change", () => this.place());
    $("#dock").addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.toggle(this.kind);
    });
  }

  toggle(kind) {
    const closing = this.kind === kind;
    this.kind = closing ? "" : kind;
    this.place();
    if (closing) $(`#dockbar [data-kind=${kind}]`).focus();
    else this.show();
  }

  /** Put the dock beside the panes, or over them on a phone. */
  place() {
    const stage = $("#stage");
    $("#dock").hidden = !this.kind;
    if (this.kind) Object.assign(stage.dataset, { dock: "open", of: this.platform });
    else for (const name of ["dock", "of"]) delete stage.dataset[name];
    $("#panes").inert = Boolean(this.kind) && narrow.matches;
    for (const button of document.querySelectorAll("#dockbar button")) {
      button.setAttribute("aria-pressed", String(button.dataset.kind === this.kind));
    }
  }

  show() {
    const name = KINDS[this.kind];
    const choices = this.windows.map((one) => {
      const of = { "aria-pressed": String(one.name === this.platform), onclick: () => this.choose(one.name) };
      return h("button", { type: "button", ...of }, one.title);
    });
    const seg = h("div.seg", { role: "group", "aria-label": "Platform" }, choices);
    const close = { type: "button", "aria-label": `Close ${name}`, onclick: () => this.toggle(this.kind) };
    this.body = h("div.dockbody", { tabindex: "0", role: "region", "aria-label": name });
    const head = h("header.dockhead", {}, h("h2", {}, name), seg, h("button.icon", close, icon("close")));
    $("#dock").replaceChildren(head, this.body);
    this.look();
  }

  choose(platform) {
    this.platform = platform;
    this.place();
    this.show();
    $("#dock .seg [aria-pressed=true]").focus();
  }

  /** A call was answered: look again, but not for each of many. */
  heard(call) {
    if (!["wire", "turn"].includes(this.kind) || call.platform !== this.platform || this.waiting) return;
    this.waiting = setTimeout(() => {
      this.waiting = null;
      this.look();
    }, REFRESH);
  }

  /** What is switched on has changed. */
  switched({ on }) {
    this.on = on;
    $("#dockbar [data-kind=fault]").toggleAttribute("data-on", on.length > 0);
    if (this.kind === "fault") this.look();
  }

  drawFaults() {
    const focused = document.activeElement?.id;
    const rows = this.faults.map((fault) => faultRow(fault, this.platform, this.on));
    const big = (name, of, title, about) =>
      h(
        "button.big",
        { type: "button", "data-act": of },
        icon(name),
        h("span", {}, h("b", {}, title), h("small", {}, about)),
      );
    this.body.replaceChildren(
      h("section", {}, h("ul.faults", {}, rows)),
      h(
        "section",
        {},
        h("h3", {}, "The bot itself"),
        h(
          "div.two",
          {},
          big("bolt", "kill", "Kill it", "as a power cut would"),
          big("redo", "restart", "Restart", "in order"),
        ),
      ),
    );
    if (focused) document.getElementById(focused)?.focus();
  }

  async look() {
    if (this.kind === "fault") return this.drawFaults();
    const { platform, kind } = this;
    let told;
    try {
      told = await (await fetch(`${kind}/${platform}`)).json();
    } catch {
      return; // the page says by itself that the playground has ended
    }
    if (this.platform !== platform || this.kind !== kind) return;
    const top = this.body.scrollTop;
    const open = Boolean($("details[open]", this.body));
    this.body.replaceChildren(...(kind === "turn" ? turn(told) : wire(told, open)));
    this.body.scrollTop = top;
  }
}

function turn(told) {
  if (!told.id) return [h("section", {}, h("p", {}, "Play a scene, or write something: its turn is shown here."))];
  const [into, out, cached] = told.tokens;
  const sums = [
    ["Time", told.seconds === null ? "…" : `${told.seconds.toFixed(1)} s`],
    ["Tokens in", into.toLocaleString()],
    ["cached", cached.toLocaleString()],
    ["Tokens out", out.toLocaleString()],
    ["Calls", String(told.calls.length)],
    ["Passes", String(told.passes.length || 1 + Math.max(0, ...told.calls.map((call) => call.pass)))],
    ["Cost", `$${Number(told.dollars).toFixed(4)}`],
    ["State", told.state],
  ];
  const steps = told.calls.map((call) => {
    const side = call.seconds === null ? call.status : `${call.status}, ${call.seconds.toFixed(2)} s`;
    const title = h("p", {}, h("b", {}, call.name), h("span", {}, side));
    const result = h("details", {}, h("summary", {}, "Result"), h("p.words", {}, call.result));
    return h(
      "li",
      {},
      h("span.ic", {}, icon("turn")),
      h("div", {}, title, h("code.args", {}, call.arguments), result),
    );
  });
  const sent = told.sent.map((one) => h("li", {}, h("b", {}, one.role), h("span.words", {}, one.words)));
  return [
    h(
      "section",
      {},
      h("h3", {}, told.model),
      h(
        "dl.sums",
        {},
        sums.map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value))),
      ),
    ),
    told.reasoning ? h("section", {}, h("h3", {}, "Reasoning"), h("p.words", {}, told.reasoning)) : "",
    ...bars(told),
    steps.length ? h("section", {}, h("h3", {}, "Calls of tools"), h("ol.steps", {}, steps)) : "",
    h("section", {}, h("h3", {}, "What the model was sent last"), h("ol.sent", {}, sent)),
  ];
}

/** What took how long, one bar below the other: the passes of the model, and the calls between them. */
function bars(told) {
  const passes = told.passes.map((one, index) => ({ ...one, kind: one.refused ? "bad" : "pass", name: `Pass ${index + 1}` }));
  const calls = told.calls
    .filter((call) => call.at !== null)
    .map(({ name, at, seconds }) => ({ kind: "tool", name, at, end: seconds === null ? null : at + seconds }));
  const rows = [...passes, ...calls].sort((one, other) => one.at - other.at);
  if (!rows.length) return [];
  const whole = Math.max(0.1, told.seconds ?? 0, ...rows.map((one) => one.end ?? one.first ?? one.at));
  const items = rows.map((one) => {
    const until = one.end === null ? "…" : one.end.toFixed(1);
    const first = one.kind === "pass" && one.first !== null ? `, first words at ${one.first.toFixed(1)}` : "";
    const words = `${one.at.toFixed(1)} to ${until} s${first}${one.kind === "bad" ? ", refused" : ""}`;
    return h("li", {}, h("b", {}, one.name), h("span", {}, words), period({ ...one, end: one.end ?? whole }, whole));
  });
  return [h("section", {}, h("h3", {}, "What took how long"), h("ol.budgets.bars", {}, items))];
}

/** One fault: how it goes wrong, and its switch; what happens once by a click has a button. */
function faultRow(fault, platform, on) {
  const mine = on.find((one) => one.kind === fault.id && (!one.platform || one.platform === platform));
  const how = h(
    "select",
    { "aria-label": `How: ${fault.name}`, disabled: fault.how.length < 2 },
    fault.how.map(([key, words]) => h("option", { value: key, selected: mine?.how === key }, words)),
  );
  const set = () => act("fault", { platform, kind: fault.id, how: mine ? "" : how.value });
  how.addEventListener("change", () => mine && act("fault", { platform, kind: fault.id, how: how.value }));
  const of = { type: "button", id: `fault-${fault.id}-switch`, "aria-labelledby": `fault-${fault.id}`, onclick: set };
  const button =
    fault.id === "again"
      ? h("button.icon", of, icon("redo"))
      : h("button.switch", { ...of, role: "switch", "aria-checked": String(Boolean(mine)) }, h("i"));
  const name = h("b", { id: `fault-${fault.id}` }, fault.name);
  return h("li", {}, h("div", {}, name, h("small", {}, fault.about)), how, button);
}

function wire(told, open) {
  if (!told.question) {
    return [h("section", {}, h("p", {}, "Play a scene, or write something: its calls are listed here."))];
  }
  return [
    h("section", {}, h("h3", {}, `“${told.question}”`), ...graph(told, open)),
    h("section", {}, h("h3", {}, "Left of each rate"), h("ul.budgets", {}, told.left.map(budget))),
    h("section", {}, h("h3", {}, "Calls"), calls(told.calls)),
  ];
}

function graph(told, open) {
  const last = (points) => points.at(-1)?.[1] ?? 0;
  const end = told.screen.at(-1)?.[0] ?? 0;
  const stand = `After ${end.toFixed(1)} seconds ${last(told.screen)} characters stand on the screen`;
  const label = `${stand}, of ${last(told.written)} that the model wrote; a reader has read ${last(told.read)}.`;
  const of = (refused) => told.calls.filter((call) => call.refused === refused).map((call) => call.at);
  const lines = [
    { kind: "written", points: told.written },
    { kind: "screen", points: [[0, 0], ...told.screen], step: true },
    { kind: "read", points: told.read },
  ].filter((line) => line.points.length);
  const legend = [
    ["written", "written by the model"],
    ["screen", "on the screen"],
    ["read", "read (240 words a minute)"],
    ["refused", "refused"],
  ];
  return [
    timeGraph({ lines, calls: of(false), refusals: of(true), label }),
    h(
      "p.legend",
      {},
      legend.map(([kind, text]) => h(`span.k.${kind}`, {}, text)),
    ),
    verdict(told, end),
    h("details.behind", { open }, h("summary", {}, "As a table"), table(told.screen)),
  ];
}

function verdict(told, end) {
  if (told.first === null) return h("p.verdict", {}, "Nothing stands on the screen yet.");
  const waited = h("b", {}, `${told.waited.toFixed(1)} s`);
  const first = h("b", {}, `${told.first.toFixed(1)} s`);
  return h(
    "p.verdict",
    {},
    "A reader waited ",
    waited,
    ` of ${end.toFixed(1)} s. The first words stood after `,
    first,
    ".",
  );
}

const head = (names) =>
  h(
    "thead",
    {},
    h(
      "tr",
      {},
      names.map((name) => h("th", { scope: "col" }, name)),
    ),
  );

function table(points) {
  const rows = points.map(([at, count]) => h("tr", {}, h("td", {}, at.toFixed(2)), h("td", {}, String(count))));
  return h("table.calls", {}, head(["Seconds", "Characters on the screen"]), h("tbody", {}, rows));
}

function budget([name, left, most]) {
  return h("li", {}, h("b", {}, name), h("span", {}, `${left} of ${most}`), gauge(left / most));
}

function calls(made) {
  const rows = made.map((call) =>
    h(
      "tr",
      { class: call.refused ? "refused" : null },
      h("td", {}, call.at.toFixed(2)),
      h("td", {}, h("code", {}, call.method), call.about ? h("small", {}, call.about) : null),
      h("td", {}, h("span.code", {}, call.status ? String(call.status) : "lost")),
      h("td", {}, call.took < 0.001 ? "< 1 ms" : `${Math.round(call.took * 1000)} ms`),
    ),
  );
  return h("table.calls", {}, head(["At", "Call", "Answer", "Took"]), h("tbody", {}, rows));
}
