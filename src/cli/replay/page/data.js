// What the page knows, read once from the JSON that stands in it, and what is counted from it.

const DATA = JSON.parse(document.getElementById("data").textContent);

const VERDICTS = ["refuse", "revise", "ask", "gather", "amend", "clear"];
const VERDICT_MEANING = {
  refuse: "cannot be done; the driver is told why",
  revise: "the model must write it anew",
  ask: "the driver must agree first",
  gather: "something must be read first",
  amend: "calls were added or changed, then cleared",
  clear: "cleared as drafted",
};
const OUTCOMES = ["passing", "failing"];
const TIER_MEANING = {
  hard: "certain: the draft must change",
  owed: "certain, and settled by the guard itself",
  advisory: "uncertain: listed, and never a reason by itself",
};

const RULES = new Map(DATA.policy.rules.map((rule) => [rule.id, rule]));
const GATES = new Map(DATA.gates.map((gate) => [gate.name, gate]));
const UNSCORED = DATA.conversations.filter((conversation) => conversation.passed === null).length;

/** 0: passing or not scored, 1: failing. */
function side(conversation) {
  return conversation.passed === false ? 1 : 0;
}

function outcomeName(conversation) {
  return conversation.passed === null ? "not scored" : OUTCOMES[side(conversation)];
}

/** What the group of a side is called, with what is in it. */
function sideName(which) {
  return which === 0 && UNSCORED > 0 ? "passing or not scored" : OUTCOMES[which];
}

function counts(findings) {
  return findings.filter((finding) => finding.tier !== "advisory");
}

/** Findings by some name: how many, in how many conversations, for both sides; advisory ones apart. */
function tally(nameOf) {
  const table = new Map();
  for (const conversation of DATA.conversations) {
    const seen = new Set();
    for (const finding of conversation.turns.flatMap((turn) => turn.findings)) {
      const name = nameOf(finding);
      if (name === null || name === undefined) continue;
      if (!table.has(name)) table.set(name, { findings: [0, 0], conversations: [0, 0], advisory: 0 });
      const entry = table.get(name);
      if (finding.tier === "advisory") {
        entry.advisory += 1;
        continue;
      }
      entry.findings[side(conversation)] += 1;
      if (!seen.has(name)) entry.conversations[side(conversation)] += 1;
      seen.add(name);
    }
  }
  return table;
}

const NOTHING = { findings: [0, 0], conversations: [0, 0], advisory: 0 };
const BY_GATE = tally((finding) => finding.gate);
const BY_RULE = tally((finding) => finding.rule);

/** Messages by verdict, for both sides. */
function verdictTable() {
  const table = new Map(VERDICTS.map((verdict) => [verdict, [0, 0]]));
  for (const conversation of DATA.conversations) {
    for (const turn of conversation.turns) table.get(turn.verdict)[side(conversation)] += 1;
  }
  return table;
}

/** The line of the prose that a source names: `policy.md:101` is line 101. */
function lineOf(source) {
  const line = Number(String(source || "").split(":").pop());
  return Number.isInteger(line) && line > 0 ? line : null;
}

/** The sentence behind a finding, if a rule is. */
function sentenceOf(finding) {
  const rule = finding.rule && RULES.get(finding.rule);
  if (rule) return rule.sentence;
  const line = lineOf(finding.source);
  return (line && DATA.policy.prose[line - 1]) || null;
}

/** Everything of a conversation that can be searched, in lower case; made when first needed. */
const haystacks = new Map();
function haystack(conversation) {
  if (!haystacks.has(conversation)) {
    const said = conversation.messages.map((message) => [message.text || "", (message.calls || []).flat()]);
    const found = conversation.turns.flatMap((turn) => [
      turn.question || "",
      turn.speak || "",
      ...turn.findings.map((finding) => finding.because),
    ]);
    haystacks.set(conversation, [conversation.id, said, found].flat(Infinity).join("\n").toLowerCase());
  }
  return haystacks.get(conversation);
}

/** Whether a judged message has what is looked for; gate and rule must meet in one finding. */
function turnMatches(turn, wanted) {
  if (wanted.verdict && wanted.verdict !== turn.verdict) return false;
  if (!wanted.gate && !wanted.rule) return true;
  return turn.findings.some(
    (finding) => (!wanted.gate || finding.gate === wanted.gate) && (!wanted.rule || finding.rule === wanted.rule));
}

function conversationMatches(conversation, wanted) {
  if (wanted.outcome && ![outcomeName(conversation), sideName(side(conversation))].includes(wanted.outcome)) return false;
  if (wanted.q && !haystack(conversation).includes(wanted.q.toLowerCase())) return false;
  if (!wanted.verdict && !wanted.gate && !wanted.rule) return true;
  return conversation.turns.some((turn) => turnMatches(turn, wanted));
}
