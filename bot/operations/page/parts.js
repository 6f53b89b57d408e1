// What several views are made of: cards, tables, links, charts with the table behind them.
import { bars, gauge, named } from "./charts.js";
import { h } from "./elements.js";
import { count, dollars, percent, seconds, short, time } from "./numbers.js";

/** The address of a view within the page. */
export function to(view, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const asked = new URLSearchParams(given).toString();
  return `#/${view}${asked ? `?${asked}` : ""}`;
}

export const link = (view, parameters, ...words) => h("a", { href: to(view, parameters) }, words);
export const pill = (words, kind = "") => h(kind ? `span.pill.${kind}` : "span.pill", {}, words);
export const platformOf = (id) => id.split(":")[0];
export const plat = (id, ...inside) => h("span.plat", { "data-of": platformOf(id) }, inside);
export const chatLink = (chat, name) => plat(chat, link("chat", { chat }, name ? `${name} · ${chat}` : chat));
export const personLink = (person, name) => plat(person, link("person", { person }, name || person));
export const turnLink = (turn) => link("turn", { turn: turn.id }, turn.reference);

export function card(title, aside, ...inside) {
  const head = h("header", {}, h("h3", {}, title), aside ? h("small", {}, aside) : null);
  return h("section.card", {}, head, inside);
}

/** A table. A column's name that begins with "#" holds numbers; `rows` are lists of cells. */
export function table(label, columns, rows, low = false) {
  if (!rows.length) return h("p.none", {}, "Nothing here.");
  const kind = (at, tag) => (columns[at].startsWith("#") ? `${tag}.n` : columns[at].startsWith("~") ? `${tag}.words` : tag);
  const head = columns.map((name, at) => h(kind(at, "th"), { scope: "col" }, name.replace(/^[#~]/, "")));
  const body = rows.map((row) => h("tr", {}, row.map((cell, at) => h(kind(at, "td"), {}, cell))));
  const made = h("table.rows", {}, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body));
  return h(low ? "div.scrollx.low" : "div.scrollx", { tabindex: "0", role: "region", "aria-label": label }, made);
}

/** A chart in a card, with its legend and its table. */
export function chart({ title, aside, labels, series, unit = "", least = 0, say }) {
  const peak = Math.max(0, ...labels.map((_, at) => series.reduce((sum, one) => sum + one.values[at], 0)));
  const label = `${title}, ${aside}; the highest is ${unit}${short(peak)}`;
  const rows = labels.map((day, at) => [day, ...series.map((one) => say(one.values[at]))]);
  const behind = table(`${title} as a table`, ["Day", ...series.map((one) => `#${one.name}`)], rows, true);
  return card(
    title,
    aside,
    bars({ labels, series, unit, label, least }),
    h("p.legend", {}, series.map((one) => h(`span.${one.kind}`, {}, one.name))),
    h("details", {}, h("summary", {}, "As a table"), behind),
  );
}

/** Days of a period, in weeks where it is long; `at` finds the place of a day. */
export function daysOf(told) {
  const last = Date.parse(told.today);
  const first = Date.parse(told.since);
  const step = told.days > 92 ? 7 : 1;
  const places = Math.ceil((Math.round((last - first) / 864e5) + 1) / step);
  const labels = Array.from({ length: places }, (_, at) => new Date(first + at * step * 864e5).toISOString().slice(5, 10));
  return { labels, step, at: (day) => Math.floor(Math.round((Date.parse(day) - first) / 864e5) / step) };
}

/** Names of rows, those with most turns first. */
export function namesOf(rows, name) {
  const turns = {};
  for (const row of rows) turns[name(row)] = (turns[name(row)] ?? 0) + row.turns;
  return Object.keys(turns).sort((one, other) => turns[other] - turns[one]);
}

/** Sums of rows by name for each place of a chart. */
export function stack(rows, days, name, value) {
  const found = {};
  for (const row of rows) {
    found[name(row)] ??= days.labels.map(() => 0);
    found[name(row)][days.at(row.day)] += value(row);
  }
  return named(found, namesOf(rows, name), days.labels.length);
}

const STATES = { failed: "bad", stopped: "", running: "good", done: "" };

/** Turns, a row each. */
export function turnTable(turns, { withChat = true, label = "Turns" } = {}) {
  const columns = ["Turn", "Time (UTC)", ...(withChat ? ["Chat"] : []), "Person", "~Question", "State", "#First words"];
  const rows = turns.map((turn) => [
    turnLink(turn),
    time(turn.started_at),
    ...(withChat ? [chatLink(turn.chat)] : []),
    personLink(turn.person, turn.name),
    turn.question || "–",
    [turn.state === "done" ? turn.state : pill(turn.state, STATES[turn.state]), rating(turn.rating)],
    seconds(turn.first_words),
    turn.waited > 2 ? pill(seconds(turn.waited), "bad") : seconds(turn.waited),
    turn.refusals ? pill(count(turn.refusals), "bad") : "0",
    count(turn.prompt + turn.completion),
    dollars(turn.dollars),
  ]);
  return table(label, [...columns, "#Waited", "#Refusals", "#Tokens", "#Dollars"], rows);
}

export function rating(value) {
  return value === "bad" ? pill("rated bad", "bad") : value === "good" ? pill("rated good", "good") : null;
}

export function toolTable(tools) {
  const rows = tools.map((one) => {
    const good = one.calls ? 1 - one.failed / one.calls : 1;
    const mean = one.calls ? one.seconds / one.calls : 0;
    const success = h("span.ratio", {}, gauge(good, good < 0.95 ? "low" : ""), percent(good));
    return [link("tools", { tool: one.tool }, one.tool), count(one.calls), success, seconds(mean), seconds(one.longest)];
  });
  return table("Tools", ["Tool", "#Calls", "Success", "#On average", "#Longest"], rows);
}

export function peopleTable(people) {
  const most = Math.max(1e-9, ...people.map((one) => one.dollars));
  const rows = people.map((one) => [
    personLink(one.person, one.name),
    one.person,
    count(one.turns),
    count(one.prompt + one.completion),
    h("span.ratio", {}, gauge(one.dollars / most), dollars(one.dollars)),
  ]);
  return table("People", ["Person", "Id", "#Turns", "#Tokens", "Dollars"], rows);
}
