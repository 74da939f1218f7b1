// One conversation, message by message: the draft on the left, what the policy says of it on the right.

const SPEAKERS = { system: "System", user: "Driver", assistant: "Draft", tool: "Result" };
const CALLS_MEAN = {
  amend: "Calls as cleared",
  gather: "Read first",
  ask: "A yes would run exactly",
  revise: "Calls",
  refuse: "Calls",
  clear: "Calls",
};

function finding(found, wanted) {
  const sentence = sentenceOf(found);
  const gate = GATES.get(found.gate);
  const sought = (!wanted.gate || wanted.gate === found.gate) && (!wanted.rule || wanted.rule === found.rule) && (wanted.gate || wanted.rule);
  return h("li", { class: "finding " + found.tier + (sought ? " sought" : "") },
    h("p", { class: "what" },
      h("span", { class: "tier", title: TIER_MEANING[found.tier] }, found.tier), " ",
      h("a", { href: address("conversations", { gate: found.gate }) }, found.gate),
      found.rule && [" · rule ", h("a", { href: address("conversations", { rule: found.rule }) }, found.rule)]),
    h("p", { class: "because", dir: "auto" }, found.because),
    sentence
      ? h("blockquote", {}, h("p", { dir: "auto" }, sentence), found.source && h("cite", {}, h("a", { href: address("policy", { line: lineOf(found.source) }) }, found.source)))
      : gate && h("p", { class: "gate-says" }, gate.summary),
    found.remedy && found.remedy.length > 0 && [
      h("h5", {}, "Remedy"),
      h("ul", { class: "calls" }, found.remedy.map((call) => callBlock(call.tool, call.arguments))),
    ]);
}

/** Calls that are in the one list and, the same ones counted once each, not in the other. */
function without(calls, others) {
  const left = others.map(([tool, values]) => spell(tool, values));
  return new Set(calls.filter(([tool, values]) => {
    const at = left.indexOf(spell(tool, values));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  }));
}

function drafted(message) {
  return (message.calls || []).map(([tool, text]) => [tool, text.trim() === "" ? {} : parsed(text) ?? text]);
}

function draftSide(message, turn) {
  const calls = drafted(message);
  const amended = (turn.amended || []).map((call) => [call.tool, call.arguments]);
  const replaced = turn.verdict === "amend" ? without(calls, amended) : new Set();
  return h("div", { class: "draft" },
    message.text && h("p", { class: "said", dir: "auto" }, message.text),
    calls.length > 0 && h("ul", { class: "calls" }, calls.map((call) => callBlock(call[0], call[1], replaced.has(call) && "replaced"))),
    !message.text && calls.length === 0 && h("p", { class: "none" }, "nothing"),
    turn.projected && turn.projected.length > 0 && h("table", { class: "projection" },
      h("caption", {}, turn.verdict === "amend" ? "Projected, as amended" : "Projected"),
      h("thead", { class: "hidden" }, h("tr", {}, ["Field", "Before", "After"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, turn.projected.map((change) => h("tr", {},
        h("th", { scope: "row" }, change.field), h("td", {}, change.before), h("td", {}, change.after))))));
}

function verdictSide(message, turn, wanted) {
  const calls = drafted(message);
  const amended = (turn.amended || []).map((call) => [call.tool, call.arguments]);
  const added = turn.verdict === "amend" ? without(amended, calls) : new Set();
  const speaks = turn.speak && turn.speak !== turn.question && turn.speak !== message.text;
  return h("div", { class: "judged" },
    h("p", { class: "verdict" }, badge(turn.verdict), " ", VERDICT_MEANING[turn.verdict], h("span", { class: "took" }, duration(turn.micros))),
    turn.findings.length > 0 && h("ul", { class: "findings" }, turn.findings.map((found) => finding(found, wanted))),
    amended.length > 0 && [h("h5", {}, CALLS_MEAN[turn.verdict]),
      h("ul", { class: "calls" }, amended.map((call) => callBlock(call[0], call[1], added.has(call) && "added")))],
    turn.question && [h("h5", {}, "Question to the driver"), h("p", { class: "said", dir: "auto" }, turn.question)],
    speaks && [h("h5", {}, turn.verdict === "revise" ? "The new reply must say" : "The driver hears"), h("p", { class: "said", dir: "auto" }, turn.speak)]);
}

/** A long text behind its first line. */
function folded(name, text, of) {
  const value = parsed(text);
  const whole = value !== undefined && value !== null && typeof value === "object" ? JSON.stringify(value, null, 2) : text;
  return h("details", {},
    h("summary", {}, h("b", {}, name), of && [" of ", h("code", {}, of)], h("span", { class: "peek", dir: "auto" }, text.slice(0, 160))),
    h("pre", { dir: "auto", tabindex: "0" }, whole));
}

function entry(message, index, turn, wanted) {
  const text = message.lines ? message.lines.map((line) => DATA.lines[line]).join("\n") : message.text || "";
  const head = h("h4", { class: "who" }, SPEAKERS[message.role], h("span", { class: "at" }, " message " + index));
  if (turn) {
    const quiet = turn.verdict === "clear" && turn.findings.length === 0;
    const sought = (wanted.verdict || wanted.gate || wanted.rule) && turnMatches(turn, wanted);
    return h("li", { class: "entry assistant " + turn.verdict + (quiet ? " quiet" : "") + (sought ? " sought" : ""), id: "turn-" + index, tabindex: "-1" },
      head, draftSide(message, turn), verdictSide(message, turn, wanted));
  }
  if (message.role === "user") return h("li", { class: "entry user" }, head, h("p", { class: "said", dir: "auto" }, text));
  return h("li", { class: "entry " + message.role }, folded(SPEAKERS[message.role], text, message.of));
}

function timeline(conversation, number, wanted) {
  const turns = new Map(conversation.turns.map((turn) => [turn.index, turn]));
  const to = (turn) => address("conversations", { ...wanted, open: number, turn: turn.index });
  return h("article", { "aria-labelledby": "conversation" },
    h("header", { class: "title" },
      h("h2", { id: "conversation", dir: "auto" }, conversation.id),
      h("p", {}, h("span", { class: "outcome " + outcomeName(conversation).replace(" ", "-") }, outcomeName(conversation)), " ",
        several(conversation.turns.length, "message") + " judged",
        conversation.removed && [" · this car lacks ", conversation.removed.map((part, at) => [at ? ", " : "", h("code", {}, part)])]),
      h("nav", { class: "turns", "aria-label": "Judged messages" }, conversation.turns.map((turn) => h("a", {
        class: "jump " + turn.verdict, href: to(turn), "data-turn": turn.index,
        "aria-label": "message " + turn.index + ": " + turn.verdict + (turn.findings.length ? ", " + several(turn.findings.length, "finding") : ""),
      }, turn.index)))),
    h("ol", { class: "timeline" }, conversation.messages.map((message, index) => entry(message, index, turns.get(index), wanted))));
}

/** Brings a judged message into view. */
function focusTurn(index) {
  for (const jump of document.querySelectorAll(".jump")) {
    if (Number(jump.dataset.turn) === index) jump.setAttribute("aria-current", "true");
    else jump.removeAttribute("aria-current");
  }
  const target = index === null ? document.getElementById("conversation") : document.getElementById("turn-" + index);
  if (!target) return;
  target.scrollIntoView({ block: "start" });
  if (index !== null) target.focus({ preventScroll: true });
}
