// One turn from question to answer: what was asked, each pass and call, what was shown, and how long it took.
import { gauge, lines } from "./charts.js";
import { h, icon } from "./elements.js";
import { count, dollars, many, percent, seconds, time } from "./numbers.js";
import { card, chatLink, link, personLink, pill, rating, table } from "./parts.js";

const held = (words, label) => h("pre.held", { tabindex: "0", role: "region", "aria-label": label }, words);
const fold = (name, ...inside) => h("details", {}, h("summary", {}, name), inside);
const LETTERS = 27;
const BAD = ["failed", "timeout", "cancelled"];

/** Only addresses of the web become links. */
function source({ title, url }) {
  const words = title || url;
  return /^https?:\/\//.test(url) ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, words) : words;
}

function step(mark, title, aside, bar, ...inside) {
  return h("li", {}, h("span.ic", {}, icon(mark)), h("div", {}, h("p", {}, h("b", {}, title), h("span", {}, aside)), bar, inside));
}

function callStep(call, told, whole) {
  const from = (call.started_at - told.started_at) / whole;
  const kind = BAD.includes(call.status) ? "bad" : "tool";
  const marks = [call.status, call.effects ? "changes something" : "", call.dollars ? dollars(call.dollars) : ""];
  return step(
    "tools",
    call.tool,
    `${seconds(call.seconds)}, ${marks.filter(Boolean).join(", ")}`,
    gauge(call.seconds / whole, kind, from),
    call.problem ? h("p", {}, call.problem) : null,
    fold("Arguments", held(JSON.stringify(call.arguments, null, 1), `Arguments of ${call.tool}`)),
    call.result === null ? null : fold(`Result, ${count(call.result.length)} characters`, held(call.result, `Result of ${call.tool}`)),
    call.sources.length ? fold(many(call.sources.length, "source"), h("ul.facts", {}, call.sources.map((one) => h("li", {}, source(one))))) : null,
  );
}

function steps(told) {
  const end = told.ended_at ?? Math.max(told.started_at, ...told.calls.map((call) => call.started_at + call.seconds));
  const whole = Math.max(0.1, end - told.started_at);
  const waits = told.received_at ? told.started_at - told.received_at : 0;
  const list = [step("chats", "Question", time(told.received_at || told.started_at), null, h("small", {}, `${count(told.question.length)} characters${told.attempts > 1 ? `, ${told.attempts} attempts` : ""}${waits > 0.05 ? `, begun after ${seconds(waits)}` : ""}`))];
  told.passes.forEach((pass, at) => {
    const calls = told.calls.filter((call) => call.pass === at + 1);
    const asks = pass.calls.length ? `asks for ${pass.calls.join(", ")}` : `${count(pass.text.length)} characters`;
    list.push(step("model", `Pass ${at + 1}`, asks, null, pass.text && pass.calls.length ? h("small", {}, pass.text) : null));
    list.push(...calls.map((call) => callStep(call, told, whole)));
  });
  list.push(...told.calls.filter((call) => call.pass > told.passes.length).map((call) => callStep(call, told, whole)));
  const first = told.first_words ?? 0;
  const shown = `${many(told.pages.length, "message")}, ${many(told.edits, "edit")}, ${count(told.refusals)} refused`;
  const bar = told.first_words === null ? null : gauge(Math.max(0, whole - first) / whole, told.waited > 2 ? "low" : "", first / whole);
  const wait = told.waited === null ? "nobody measured how long its reader waited" : `a reader waited ${seconds(told.waited)} of ${seconds(whole)}`;
  list.push(step("eye", told.ended_at ? "Answer" : "Answer, still written", shown, bar, h("small", {}, wait)));
  return { whole, list: h("ol.steps", {}, list) };
}

/** How far somebody has read who reads 27 letters a second: a point wherever they catch up with the screen, or may go on. */
function readAlong(points) {
  let [at, read] = [points[0][0] / 1000, 0];
  const reads = [[at, 0]];
  points.forEach(([, , shown], number) => {
    const until = number + 1 < points.length ? points[number + 1][0] / 1000 : Infinity;
    const done = at + Math.max(0, shown - read) / LETTERS;
    if (done < until) reads.push([done, (read = Math.max(read, shown))]);
    if (until === Infinity) return;
    if (done >= until) read += (until - at) * LETTERS;
    reads.push([(at = until), read]);
  });
  return reads;
}

/** What was written, what stood on the screen and what was read, over time; nothing for turns of earlier versions. */
function course(told) {
  const points = told.course;
  if (!points.length) return null;
  const reads = readAlong(points);
  const readAt = (at) => {
    const after = reads.findIndex(([moment]) => moment >= at);
    if (after < 1) return after ? reads[reads.length - 1][1] : 0;
    const [[from, low], [to, high]] = [reads[after - 1], reads[after]];
    return low + ((high - low) * (at - from)) / (to - from || 1);
  };
  const series = [
    { name: "written", kind: "written", points: points.map(([ms, written]) => [ms / 1000, written]) },
    { name: "on the screen", kind: "screen", points: points.map(([ms, , shown]) => [ms / 1000, shown]), steps: true },
    { name: "read", kind: "read", points: reads },
  ];
  const [last, written, shown] = points[points.length - 1];
  const label = `${count(written)} characters written and ${count(shown)} on the screen after ${seconds(last / 1000)}; read after ${seconds(reads[reads.length - 1][0])}`;
  const rows = points.map(([ms, ...both]) => [(ms / 1000).toFixed(2), ...both.map(count), count(readAt(ms / 1000))]);
  return card(
    "How it came onto the screen",
    "characters, at each call",
    lines({ series, label }),
    h("p.legend", {}, series.map((one) => h(`span.${one.kind}`, {}, one.name))),
    h("details", {}, h("summary", {}, "As a table"), table("How it came onto the screen, as a table", ["#Second", "#Written", "#On the screen", "#Read"], rows, true)),
  );
}

export function turn(told) {
  const { whole, list } = steps(told);
  const failed = told.calls.filter((call) => BAD.includes(call.status)).length;
  const { prompt, cached, completion, reasoning } = told.usage;
  const facts = [
    ["Time", seconds(whole)],
    ["First words", seconds(told.first_words)],
    ["Waited", seconds(told.waited)],
    ["Passes", count(told.passes.length)],
    ["Calls", `${count(told.calls.length)}${failed ? `, ${failed} failed` : ""}`],
    ["Tokens in", `${count(prompt)}${cached ? ` (${percent(cached / Math.max(1, prompt))} cached)` : ""}`],
    ["Tokens out", `${count(completion)}${reasoning ? ` (${count(reasoning)} reasoning)` : ""}`],
    ["Dollars", dollars(told.dollars)],
  ];
  const messages = told.pages.map((page) => [String(page.number + 1), page.message ?? "–", page.form ?? "–", page.state]);
  const related = [
    ...told.replaces.map((one) => h("li", {}, "It took the place of ", link("turn", { turn: one.id }, one.reference), ".")),
    told.replaced_by ? h("li", {}, "It was ", link("turn", { turn: told.replaced_by }, "replaced by a later turn"), ".") : null,
    told.question_of !== told.id ? h("li", {}, "It answers again ", link("turn", { turn: told.question_of }, "an earlier turn's question"), ".") : null,
    told.goes_on ? h("li", {}, "It was cut off, and can be continued.") : null,
    told.approval ? h("li", {}, `${told.approval.call} was put to a person: ${told.approval.state}.`) : null,
  ].filter(Boolean);
  const enclosed = told.enclosed.length ? h("p.facts", {}, `With ${told.enclosed.join(", ")}`) : null;
  return [
    h("div.turnhead", {}, h("h2", {}, told.reference), pill(told.state, told.state === "failed" ? "bad" : ""), rating(told.rating),
      chatLink(told.chat), personLink(told.person, told.name), told.model ? pill(told.model) : null),
    h("dl.sums", {}, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    told.error ? h("ul.alerts", {}, h("li", {}, icon("fault"), h("span", {}, h("b", {}, "It failed"), `: ${told.error}`))) : null,
    h("div.story", {},
      h("div", {}, card("Step by step", seconds(whole), list), course(told)),
      h("div", {},
        card("What was said", "as it is stored",
          told.quoted ? h("blockquote.quote", {}, h("b", {}, `In reply to ${told.quoted.author || "somebody"}`), told.quoted.text) : null,
          h("blockquote.quote", {}, h("b", {}, told.name || told.person), told.question || "–"), enclosed,
          h("blockquote.quote", {}, h("b", {}, `Parley, ${many(told.pages.length, "message")}`), told.answer || "–")),
        card("Messages", "of the answer", table("Messages", ["#Page", "Message", "Form", "State"], messages),
          told.files.length ? h("ul.facts", {}, told.files.map((one) => h("li", {}, `${one.name} (${one.kind}): ${one.state}`))) : null),
        told.reasoning ? card("Reasoning", `${count(told.reasoning.length)} characters`, fold("Show", held(told.reasoning, "Reasoning"))) : null,
        related.length ? card("Beside it", "", h("ul.facts", {}, related)) : null,
        card("In a terminal", "", held(`parley chats trace ${told.reference}`, "Command")))),
  ];
}
