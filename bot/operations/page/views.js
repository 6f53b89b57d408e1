// The views that list and sum. Each returns the elements of the page for what the server told.
import { spark } from "./charts.js";
import { h, icon } from "./elements.js";
import { count, dollars, many, percent, seconds, short, time } from "./numbers.js";
import { card, chart, chatLink, daysOf, link, peopleTable, personLink, pill, rating, stack, table, toolTable } from "./parts.js";
import { turnLink, turnTable } from "./parts.js";
import { turn } from "./turn.js";

const period = (told) => (told.days === 1 ? "Today" : `Last ${told.days} days`);
const heading = (words, told) => h("h2", {}, words, told?.since ? h("small", {}, `${told.since} to ${told.today}, UTC`) : null);
const share = (part, whole) => (whole ? part / whole : 0);
const tokens = (row) => row.prompt + row.completion;

function alerts({ totals, days }) {
  const found = [];
  const say = (title, words, kind, link_) => found.push(h("li", {}, icon("fault"), h("span", {}, h("b", {}, title), words), link_));
  const late = share(totals.late, totals.timed);
  if (late > 0.05) say("Readers wait", `: in ${percent(late)} of the answers for more than 2 s.`, "", link("turns", { kind: "slow", days }, many(totals.late, "turn")));
  const failed = share(totals.failed, totals.turns);
  if (failed > 0.02) say("Turns fail", `: ${percent(failed)} of them.`, "", link("turns", { kind: "failed", days }, many(totals.failed, "turn")));
  return found.length ? h("ul.alerts", {}, found) : null;
}

function tiles(told, days) {
  const { totals, before } = told;
  const byDay = (value) => {
    const sums = days.labels.map(() => 0);
    for (const row of told.by_day) sums[days.at(row.day)] += value(row);
    return sums;
  };
  const turns = byDay((row) => row.turns);
  const timed = byDay((row) => row.timed);
  const mean = (values) => values.map((value, at) => (timed[at] ? value / timed[at] : 0));
  const waited = share(totals.waited, totals.timed);
  const waitedBefore = share(before.waited, before.timed);
  const worse = before.timed && waited > waitedBefore * 1.2 && waited - waitedBefore > 0.1;
  const rows = [
    ["Turns", count(totals.turns), { words: `in ${many(totals.chats, "chat")}; ${count(before.turns)} in the period before` }, turns],
    ["Dollars", dollars(totals.dollars), { words: `${dollars(share(totals.dollars, totals.turns))} a turn` }, byDay((row) => row.dollars)],
    ["Tokens", short(tokens(totals)), { words: `${short(share(tokens(totals), totals.turns))} a turn` }, byDay(tokens)],
    ["First words", totals.timed ? seconds(share(totals.first_words, totals.timed)) : "–", { words: "after the question, on average" }, mean(byDay((row) => row.first_words))],
    ["Readers waited", totals.timed ? seconds(waited) : "–", { words: worse ? `a turn; it was ${seconds(waitedBefore)}` : `a turn; ${percent(share(totals.late, totals.timed))} over 2 s`, kind: worse ? "worse" : "" }, mean(byDay((row) => row.waited))],
    ["Failed", count(totals.failed), { words: `${count(totals.refusals)} calls refused, ${count(totals.bad)} rated bad` }, byDay((row) => row.failed)],
  ];
  return h("dl.tiles", {}, rows.map(([name, value, aside, values]) =>
    h("div.tile", {}, h("dt", {}, name), h("dd", {}, value), h(`dd.aside${aside.kind ? `.${aside.kind}` : ""}`, {}, aside.words), h("dd", {}, spark(values, `${name} over the period`)))));
}

function sums(rows, title, name, cell) {
  const found = new Map();
  for (const row of rows) {
    const sum = found.get(name(row)) ?? { turns: 0, tokens: 0, dollars: 0, waited: 0, timed: 0 };
    sum.turns += row.turns;
    sum.tokens += tokens(row);
    sum.dollars += row.dollars;
    sum.waited += row.waited;
    sum.timed += row.timed;
    found.set(name(row), sum);
  }
  const sorted = [...found].sort(([, one], [, other]) => other.dollars - one.dollars || other.turns - one.turns);
  const cells = sorted.map(([key, one]) => [cell(key), count(one.turns), count(one.tokens), dollars(one.dollars), one.timed ? seconds(one.waited / one.timed) : "–"]);
  return card(title, "in all", table(title, [title.replace("By ", "").replace(/^./, (one) => one.toUpperCase()), "#Turns", "#Tokens", "#Dollars", "#Waited"], cells));
}

function overview(told) {
  const days = daysOf(told);
  const every = days.step === 7 ? "week" : "day";
  const model = (row) => row.model || "(no model)";
  const platform = (row) => row.platform;
  const drawn = (title, aside, name, value, say, unit = "") =>
    chart({ title: `${title} by ${every}`, aside, labels: days.labels, series: stack(told.by_day, days, name, value), unit, say, least: unit ? 0 : 1 });
  const timed = days.labels.map(() => 0);
  for (const row of told.by_day) timed[days.at(row.day)] += row.timed;
  const waits = stack(told.by_day, days, () => "seconds a turn", (row) => row.waited);
  for (const one of waits) one.values = one.values.map((value, at) => (timed[at] ? value / timed[at] : 0));
  const people = told.days > 90 ? null : card("People", "who used most", peopleTable(told.people), link("people", { days: told.days }, "Everybody"));
  return [
    heading(period(told), told),
    alerts(told),
    tiles(told, days),
    told.by_day.length ? null : h("p.none", {}, "Nobody was answered in this period."),
    h("div.cards", {},
      drawn("Dollars", "by model", model, (row) => row.dollars, dollars, "$"),
      drawn("Turns", "by platform", platform, (row) => row.turns, count),
      drawn("Tokens", "by model", model, tokens, count),
      chart({ title: `Readers waited by ${every}`, aside: "seconds a turn", labels: days.labels, series: waits, say: seconds })),
    h("div.cards", {}, sums(told.by_day, "By model", model, (key) => key), sums(told.by_day, "By platform", platform, (key) => key)),
    h("div.cards", {},
      card("Tools", "calls, success and time", toolTable(told.tools)),
      card("Slow turns", "longest waits of readers", table("Slow turns", ["Turn", "Chat", "#Waited", "#Dollars"], told.slow.map((one) => [turnLink(one), chatLink(one.chat), seconds(one.waited), dollars(one.dollars)])))),
    people,
  ];
}

const KINDS = [["all", "All"], ["slow", "Slow"], ["refused", "Refused calls"], ["failed", "Failed"], ["bad", "Rated bad"]];

function turns(told, asked, more) {
  const chosen = KINDS.map(([kind, name]) => h("a", { href: `#/turns?kind=${kind}&days=${told.days}`, "aria-current": kind === told.kind ? "page" : null }, name));
  const last = told.turns.at(-1);
  return [
    heading(`Turns, ${period(told).toLowerCase()}`, told),
    h("nav.seg", { "aria-label": "Which turns" }, chosen),
    card(KINDS.find(([kind]) => kind === told.kind)[1], told.kind === "slow" ? "longest waits first" : "newest first", turnTable(told.turns)),
    told.kind !== "slow" && told.turns.length >= 50 ? more({ before: last.id }) : null,
  ];
}

function chats(told, asked, more) {
  const rows = told.chats.map((one) => [chatLink(one.chat, one.name), time(one.last_at), count(one.turns), `${count(one.good)} / ${count(one.bad)}`, `${short(one.bytes / 1024)} KB`]);
  return [
    heading(`Chats, ${period(told).toLowerCase()}`, told),
    card("Chats", "the latest first", table("Chats", ["Chat", "Last turn (UTC)", "#Turns", "#Good / bad", "#Size"], rows)),
    told.chats.length >= 50 ? more({ before: told.chats.at(-1).last_at }) : null,
  ];
}

function chat(told, asked, more) {
  return [
    h("div.turnhead", {}, h("h2", {}, told.name || told.chat), told.name ? h("span.plat", { "data-of": told.chat.split(":")[0] }, told.chat) : null,
      h("span", {}, `${many(told.turns_stored, "turn")}, ${count(told.good)} rated good, ${count(told.bad)} bad`)),
    card("Turns", "newest first", turnTable(told.turns, { withChat: false })),
    told.turns.length >= 50 ? more({ before: told.turns.at(-1).id }) : null,
  ];
}

function person(told, asked, more) {
  return [
    h("div.turnhead", {}, h("h2", {}, told.name || told.person), told.name ? h("span.plat", { "data-of": told.person.split(":")[0] }, told.person) : null),
    card("Turns", "newest first", turnTable(told.turns)),
    told.turns.length >= 50 ? more({ before: told.turns.at(-1).id }) : null,
  ];
}

function people(told) {
  return [heading(`People, ${period(told).toLowerCase()}`, told), card("People", "who used most; 90 days at most", peopleTable(told.people))];
}

function tools(told) {
  const days = daysOf(told);
  const well = { name: "completed", kind: "b", values: days.labels.map(() => 0) };
  const bad = { name: "failed", kind: "x", values: days.labels.map(() => 0) };
  for (const row of told.by_day) {
    well.values[days.at(row.day)] += row.calls - row.failed;
    bad.values[days.at(row.day)] += row.failed;
  }
  const rows = (told.failed ?? []).map((one) => [turnLink(one), time(one.at), pill(one.status, "bad"), seconds(one.seconds), one.problem || "–", personLink(one.person, one.name), one.question || "–"]);
  return [
    heading(`Tools, ${period(told).toLowerCase()}`, told),
    told.tool ? card(`Failed calls of ${told.tool}`, "the newest, of any time", table("Failed calls", ["Turn", "Time (UTC)", "State", "#Took", "Problem", "Person", "~Question"], rows)) : null,
    h("div.cards", {}, chart({ title: `Calls by ${days.step === 7 ? "week" : "day"}`, aside: "all tools", labels: days.labels, series: [well, bad], say: count, least: 1 }),
      card("Tools", "a name leads to its failed calls", toolTable(told.tools))),
  ];
}

/** Words: what was found so far, and how far back was looked. */
export function found(query, turns, rest) {
  return [heading(`“${query}”`), card(`${count(turns.length)}${rest ? " so far" : ""}`, "newest first", turnTable(turns, { label: "Found" }))];
}

export const VIEWS = { overview, turns, chats, chat, person, people, tools, turn };
