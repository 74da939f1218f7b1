// The policy: its rules with their firings, and its sentences with their rules beside them.

function ruleTable() {
  const most = largestShare(BY_RULE);
  const rules = DATA.policy.rules.map((rule) => [rule, BY_RULE.get(rule.id) || NOTHING]);
  const fired = rules.filter(([, entry]) => total(entry) > 0).length;
  return h("section", { "aria-labelledby": "rules" },
    h("h2", { id: "rules" }, "Firings by rule"),
    h("p", { class: "lead" }, fired + " of " + several(rules.length, "rule") + " fired. A rule that never fires on real conversations is either well kept or never reached."),
    h("div", { class: "scroll" }, h("table", { class: "firings rules" }, firingHead("Rule", "What the policy says"),
      h("tbody", {}, rules.map(([rule, entry]) => h("tr", { class: total(entry) ? "" : "silent" },
        h("th", { scope: "row" }, h("a", { href: address("conversations", { rule: rule.id }) }, rule.id), h("small", {}, rule.kind)),
        h("td", { class: "sentence" }, h("q", {}, h("bdi", {}, rule.sentence)), " ",
          h("a", { class: "source", href: address("policy", { line: lineOf(rule.source) }) }, rule.source),
          rule.advise && h("small", {}, "advice to the critic: " + rule.advise),
          rule.shadow && h("small", {}, "in shadow: recorded, never acted on")),
        firingCells(entry, most, { rule: rule.id })))))));
}

function proseLine(text, line, rules) {
  const heading = /^#+\s/.exec(text);
  const kind = heading ? "heading" : /^\s*[-*]\s/.test(text) ? "item" : "plain";
  const fired = rules.map((rule) => [rule, BY_RULE.get(rule.id) || NOTHING]);
  return h("div", { class: "line" + (rules.length ? " ruled" : ""), id: "line-" + line, tabindex: "-1" },
    h("span", { class: "at", "aria-hidden": "true" }, line),
    h("p", { class: kind, dir: "auto" }, heading ? text.replace(/^#+\s+/, "") : text),
    h("ul", { class: "beside" }, fired.map(([rule, entry]) => h("li", {},
      h("a", { href: address("conversations", { rule: rule.id }) }, h("b", {}, rule.id), " " + rule.kind),
      h("span", { class: "pair" }, [0, 1].map((which) => h("span", { class: OUTCOMES[which], title: sideName(which) },
        count(entry.findings[which]))))))));
}

function prose() {
  const byLine = new Map();
  for (const rule of DATA.policy.rules) {
    const line = lineOf(rule.source);
    if (line) byLine.set(line, [...(byLine.get(line) || []), rule]);
  }
  return h("section", { "aria-labelledby": "prose" },
    h("h2", { id: "prose" }, "The policy, sentence by sentence"),
    h("p", { class: "lead" }, "Beside a sentence stand the rules made from it, with their findings in conversations that are ",
      h("span", { class: "pair" }, h("span", { class: "passing" }, sideName(0))), " and ",
      h("span", { class: "pair" }, h("span", { class: "failing" }, sideName(1))), "."),
    DATA.policy.prose.map((text, at) => (text.trim() ? proseLine(text, at + 1, byLine.get(at + 1) || []) : null)));
}

function policyView() {
  return h("div", { class: "page" }, h("h1", {}, "Policy “", h("bdi", {}, DATA.policy.id), "”"), ruleTable(), prose());
}

/** Brings a line of the prose into view. */
function showLine(line) {
  const target = document.getElementById("line-" + line);
  if (!target) return;
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}
