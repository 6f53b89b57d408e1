// The operator's page: a session, an address for each view after "#/", and what the server tells of it.
import { $, drawSprite, h, icon } from "./elements.js";
import { count } from "./numbers.js";
import { to } from "./parts.js";
import { found, VIEWS } from "./views.js";

const SECTIONS = [
  ["overview", "chart", "Overview"],
  ["turns", "turns", "Turns"],
  ["chats", "chats", "Chats"],
  ["people", "people", "People"],
  ["tools", "tools", "Tools"],
];
const INSIDE = { turn: "turns", chat: "chats", person: "people", find: "turns" };
const DAYS = [1, 7, 30, 90, 365];
const main = $("#main");
let shown = 0;
let days = "30";

class Refused extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

async function ask(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused(0, "The bot does not answer.");
  }
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, told.problem ?? `The bot answered ${answer.status}.`);
  return told;
}

const post = (path, body) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

function problem(words) {
  $("#problem").hidden = !words;
  $("#problem").textContent = words;
}

/** Where we are: a view and its parameters. */
function here() {
  const [view, asked] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: view || "overview", asked: Object.fromEntries(new URLSearchParams(asked ?? "")) };
}

const open = (is) => {
  for (const id of ["finder", "tools", "sections"]) $(`#${id}`).hidden = !is;
};

function frame(view, asked) {
  const links = SECTIONS.map(([name, mark, words]) => {
    const current = (INSIDE[view] ?? view) === name ? "page" : null;
    return h("a", { href: to(name, { days }), "aria-current": current }, icon(mark), words);
  });
  $("#sections").replaceChildren(...links);
  const periods = SECTIONS.some(([name]) => name === view) ? DAYS : [];
  $("#days").replaceChildren(
    ...periods.map((one) => {
      const name = one === 1 ? "1 day" : one === 365 ? "Year" : `${one} days`;
      const current = String(one) === days ? "true" : null;
      return h("a", { href: to(view, { ...asked, before: "", days: one }), "aria-current": current }, name);
    }),
  );
  for (const form of ["csv", "json"]) {
    $(`#as-${form}`).href = `export/${view}.${form}?${new URLSearchParams({ days, ...asked })}`;
  }
  $("#export").open = false;
}

function show(elements, title, keep = false) {
  const focused = keep && main.contains(document.activeElement);
  main.replaceChildren(...elements.flat().filter(Boolean));
  document.title = `${title}, Parley operator`;
  $("#spoken").textContent = title;
  if (!keep || focused) {
    main.scrollTop = 0;
    main.focus();
  }
}

async function load() {
  const { view, asked } = here();
  const mine = (shown += 1);
  days = DAYS.includes(Number(asked.days)) ? asked.days : days;
  problem("");
  try {
    if (view === "find") return await look(asked.q ?? "", mine);
    $("#find").value = "";
    if (!VIEWS[view]) throw new Refused(404, "There is no such view.");
    const told = await ask(`data/${view}?${new URLSearchParams({ days, ...asked })}`);
    if (mine !== shown) return;
    open(true);
    frame(view, asked);
    const more = (parameters) => h("a.btn.more", { href: to(view, { ...asked, ...parameters }) }, "Older");
    const drawn = VIEWS[view](told, asked, more);
    show(drawn, told.reference ?? SECTIONS.find(([name]) => name === view)?.[2] ?? told.chat ?? told.person);
  } catch (error) {
    if (mine === shown) refuse(error, view, asked);
  }
}

function refuse(error, view, asked) {
  if (!(error instanceof Refused)) throw error;
  if (error.status === 401) return login();
  open(true);
  frame(view, asked);
  problem(error.message);
  show([h("h2", {}, error.status === 404 ? "Nothing like this is stored" : "This cannot be shown")], "Problem");
}

/** What was pasted leads straight to its turn, chat or person; words are looked for, a stretch of turns at a time. */
async function look(query, mine) {
  const turns = [];
  let before = 0;
  $("#find").value = query;
  do {
    const told = await ask(`data/find?${new URLSearchParams({ q: query, ...(before ? { before } : {}) })}`);
    if (mine !== shown) return;
    if (told.turn) return location.replace(to("turn", { turn: told.turn }));
    if (told.chat) return location.replace(to("chat", { chat: told.chat }));
    if (told.person) return location.replace(to("person", { person: told.person }));
    turns.push(...told.turns);
    const first = before === 0;
    before = told.before;
    open(true);
    if (first) frame("find", { q: query });
    show(found(query, turns, before), "Search", !first);
    if (before) $("#spoken").textContent = `${count(turns.length)} found, looking further back`;
    if (turns.length >= 100) return;
  } while (before);
  $("#spoken").textContent = `${count(turns.length)} turns found`;
}

function login() {
  open(false);
  const token = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  const form = h(
    "form.card.login",
    {
      onsubmit: async (event) => {
        event.preventDefault();
        try {
          await post("session", { token: token.value });
          await load();
        } catch (error) {
          problem(error.message);
          token.select();
        }
      },
    },
    h("h2", {}, "Operator's page"),
    h("input", { type: "text", autocomplete: "username", value: "operator", hidden: true }),
    h("label", { for: "token" }, "Token"),
    token,
    h("p", {}, "The value of ADMIN_TOKEN in the bot's settings. A session lasts twelve hours."),
    h("button.btn.main", { type: "submit" }, "Open"),
  );
  show([form], "Log in");
  token.focus();
}

drawSprite();
for (const one of document.querySelectorAll("[data-icon]")) one.prepend(icon(one.dataset.icon));
$("#finder").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = $("#find").value.trim();
  if (!query) return;
  const address = to("find", { q: query });
  if (location.hash === address) load();
  else location.hash = address;
});
$("#leave").addEventListener("click", async () => {
  await post("session/end", {}).catch(() => null);
  login();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && $("#export").open) {
    $("#export").open = false;
    $("#export summary").focus();
  }
});
$(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", load);
ask("session").then((told) => (told.open ? load() : login()), (error) => problem(error.message));
