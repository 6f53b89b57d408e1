// Puts the page together: the bar on top, the three panes, and the events that fill them.
import { act, problem } from "./acts.js";
import { $, drawSprite, h, icon } from "./elements.js";
import { Dock } from "./dock.js";
import { Pane } from "./pane.js";
import { discord } from "./discord.js";
import { slack } from "./slack.js";
import { telegram } from "./telegram.js";

const SKINS = { telegram, slack, discord };
const PHASES = {
  starting: "starting…",
  ready: "running",
  pausing: "starts again…",
  failed: "cannot start",
  ended: "has ended",
};
const NOTE_SECONDS = 8;
const NARROW = matchMedia("(max-width: 760px)");
const THEMES = { "": "as the system has them", light: "light", dark: "dark" };
const panes = new Map(); // platform → Pane
let dock;
let run = "";
let shown = "";

drawSprite();

/** Show all platforms, or one of them. */
function view(name) {
  shown = name;
  $("#panes").dataset.view = name;
  for (const tab of document.querySelectorAll("#view button")) {
    const chosen = tab.dataset.view === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
}

function drawTabs(told) {
  const all = [{ name: "all", title: "All" }, ...told];
  $("#view").replaceChildren(
    ...all.map(({ name, title }) => {
      const dot = name === "all" ? null : h("span.dot", { "aria-hidden": "true", "data-of": name });
      const of = { role: "tab", "data-view": name, "aria-controls": name === "all" ? "panes" : `pane-${name}` };
      return h("button", { type: "button", ...of, onclick: () => view(name) }, dot, title);
    }),
  );
}

$("#view").addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const tabs = [...document.querySelectorAll("#view button")].filter((tab) => tab.offsetParent);
  const next = tabs[(tabs.findIndex((tab) => tab.dataset.view === shown) + step + tabs.length) % tabs.length];
  view(next.dataset.view);
  next.focus();
});

/** On a phone one platform at a time is shown. */
function fit() {
  if (NARROW.matches && (shown === "all" || !shown)) view("telegram");
  else view(NARROW.matches ? shown : "all");
}

function showState(told) {
  const chosen = told.choices.find((choice) => choice.id === told.chosen);
  $("#model").dataset.scripted = told.scripted;
  $("#model-name").textContent = told.scripted ? "Scripted model, no AI" : told.chosen;
  $("#model summary").setAttribute("aria-label", `${$("#model-name").textContent}: choose another`);
  $("#model-note").textContent = told.scripted
    ? "Every answer on this page comes from a script. Nothing leaves this machine."
    : chosen.label;
  const phase = $("#phase");
  const detail = told.phase === "ready" ? "" : told.message;
  phase.dataset.phase = told.phase;
  phase.title = detail ? `${PHASES[told.phase]}: ${detail}` : PHASES[told.phase];
  $("span", phase).textContent = phase.title;
  $("#kill").disabled = !["starting", "ready"].includes(told.phase);
  $("#log").textContent = told.log.join("\n") || "nothing yet";
  drawChoices(told);
  for (const pane of panes.values()) pane.state(told);
}

function drawChoices(told) {
  const local = (id) => id === "scripted" || id.startsWith("ollama:");
  const choices = told.choices.map((choice) => {
    const use = () => {
      $("#model").open = false;
      act("use", { id: choice.id });
    };
    const cost = local(choice.id) ? null : h("small", {}, "leaves this machine or costs money");
    return h(
      "button",
      { type: "button", "aria-pressed": String(choice.id === told.chosen), onclick: use },
      choice.label,
      cost,
    );
  });
  const more =
    "More models: set a provider's key (OPENAI_API_KEY, …) in the environment, or start Ollama, and start this anew.";
  if (choices.length === 1) choices.push(h("p", {}, more));
  $("#choices").replaceChildren(...choices);
}

function start(told) {
  // Another playground took the place of the one this page was made for.
  if (run && run !== told.run) return location.reload();
  run = told.run;
  if (!panes.size) {
    drawTabs(told.windows);
    drawScenes(told.scenes);
    dock = new Dock(told);
    for (const one of told.windows) {
      const pane = new Pane(one, SKINS[one.name], told);
      panes.set(one.name, pane);
      $("#panes").append(pane.root);
    }
    fit();
    if (!NARROW.matches) panes.values().next().value?.composer.field.focus();
  }
  for (const pane of panes.values()) pane.begin(told.messages.filter((one) => one.platform === pane.name));
  showState(told.state);
}

/** One button a scene; it plays on what is shown. */
function drawScenes(scenes) {
  const chinese = navigator.language.toLowerCase().startsWith("zh");
  const buttons = scenes.map((scene) => {
    const play = () => {
      const platforms = shown === "all" ? [...panes.keys()] : [shown];
      for (const name of platforms) panes.get(name).go(panes.get(name).places[0].id);
      act("scene", { id: scene.id, platforms, language: chinese ? "zh" : "en" });
    };
    const of = { "data-scene": scene.id, "aria-pressed": "false", title: scene.about, onclick: play };
    return h("button", { type: "button", ...of }, icon("play"), chinese ? scene.chinese : scene.name);
  });
  const hint = h("span.quiet", {}, "or write in any chat, ", h("code", {}, "@Parley"), " in groups");
  $("#strip").replaceChildren(h("b", {}, "Play a scene"), ...buttons, hint);
}

function showScene({ id, running }) {
  const button = $(`[data-scene=${id}]`);
  button.setAttribute("aria-pressed", String(running));
  button.disabled = running;
}

let fading;
/** Say what happened to the bot itself, once and for a while. */
function note({ text }) {
  clearTimeout(fading);
  $("#note").textContent = text;
  fading = setTimeout(() => ($("#note").textContent = ""), NOTE_SECONDS * 1000);
}

const events = new EventSource("events");
const on = (kind, take) => events.addEventListener(kind, (event) => take(JSON.parse(event.data)));
on("start", start);
on("state", showState);
on("message", (view) => panes.get(view.platform)?.show(view));
on("sign", (sign) => panes.get(sign.platform)?.sign(sign));
on("note", note);
on("scene", showScene);
on("call", (call) => dock?.heard(call));
on("faults", (told) => dock?.switched(told));
events.addEventListener("error", () => {
  $("#phase").dataset.phase = "gone";
  $("#phase span").textContent = "ended";
  problem("The playground has ended; start it again in the terminal.");
});
events.addEventListener("open", () => problem(""));

function theme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  for (const button of document.querySelectorAll("[data-act=theme]")) {
    button.setAttribute("aria-label", `Colours: ${THEMES[name]}`);
  }
}

const ACTS = {
  kill: () => act("kill", {}),
  restart: () => act("restart", {}),
  log: () => $("#logbox").showModal(),
  theme: () => {
    const names = Object.keys(THEMES);
    theme(names[(names.indexOf(document.documentElement.dataset.theme ?? "") + 1) % names.length]);
  },
  close: () => $("#logbox").close(),
};

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  const button = event.target.closest("[data-act]");
  if (!button || !(button.dataset.act in ACTS) || button.closest(".msg")) return;
  const menu = button.closest(".menu");
  if (menu) menu.open = false;
  ACTS[button.dataset.act]();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll(".menu[open]")) {
    menu.open = false;
    $("summary", menu).focus();
  }
});
for (const place of document.querySelectorAll("[data-icon]")) place.prepend(icon(place.dataset.icon));
NARROW.addEventListener("change", fit);
theme("");
