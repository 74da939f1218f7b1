// The first view: what came out, in numbers and pictures.

function tile(value, name, note) {
  return h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("span", {}, note)));
}

function tiles() {
  const { conversations, turns, outcomes, objected, micros_p50: median, micros_p99: tail } = DATA.summary;
  return h("dl", { class: "tiles" },
    tile(count(conversations), "Conversations", outcomes.map((number, which) => count(number) + " " + sideName(which)).join(", ")),
    tile(count(turns), "Messages judged", "each as a draft, before it was said or done"),
    tile(percent(objected[0], outcomes[0]), "Stopped or changed, " + sideName(0), count(objected[0]) + " of " + several(outcomes[0], "conversation")),
    tile(percent(objected[1], outcomes[1]), "Stopped or changed, " + sideName(1), count(objected[1]) + " of " + several(outcomes[1], "conversation")),
    tile(duration(median), "Time of a check", "half within; 99 % within " + duration(tail)));
}

/** A number of findings with the share of conversations that have any, as cells of a row. */
function firingCells(entry, most, parameters) {
  return [0, 1].flatMap((which) => {
    const share = DATA.summary.outcomes[which] ? entry.conversations[which] / DATA.summary.outcomes[which] : 0;
    const number = entry.findings[which];
    const text = count(number);
    return [
      h("td", { class: "number" }, number
        ? h("a", { href: address("conversations", { ...parameters, outcome: sideName(which) }),
          "aria-label": several(number, "finding") + ", " + sideName(which) }, text)
        : h("span", { class: "none" }, "0")),
      h("td", { class: "share" }, number > 0 && [bar(share / most, which),
        h("span", {}, percent(entry.conversations[which], DATA.summary.outcomes[which]))]),
    ];
  });
}

function firingHead(...first) {
  return h("thead", {}, h("tr", {}, first.map((name) => h("th", { scope: "col" }, name)),
    [0, 1].flatMap((which) => [
      h("th", { scope: "col", class: "number" }, h("i", { class: "swatch " + OUTCOMES[which], "aria-hidden": "true" }), sideName(which)),
      h("th", { scope: "col", class: "share" }, "of conversations"),
    ])));
}

/** The largest share of conversations that any entry reaches. */
function largestShare(table) {
  const shares = [...table.values()].flatMap((entry) =>
    [0, 1].map((which) => (DATA.summary.outcomes[which] ? entry.conversations[which] / DATA.summary.outcomes[which] : 0)));
  return Math.max(0, ...shares);
}

function total(entry) {
  return entry.findings[0] + entry.findings[1];
}

function gateTable() {
  const most = largestShare(BY_GATE);
  const known = new Set([...GATES.keys(), ...BY_GATE.keys()]);
  const entries = [...known].map((name) => [name, BY_GATE.get(name) || NOTHING]);
  const raised = entries.filter(([, entry]) => total(entry) > 0).sort((a, b) => total(b[1]) - total(a[1]));
  const advisory = entries.filter(([, entry]) => total(entry) === 0 && entry.advisory > 0);
  const silent = entries.filter(([, entry]) => total(entry) === 0 && entry.advisory === 0);
  const meaning = (name) => (GATES.has(name) ? GATES.get(name).summary : "");
  return h("section", { "aria-labelledby": "gates" },
    h("h2", { id: "gates" }, "Findings by gate"),
    h("p", { class: "lead" }, "Numbers count findings; bars show how many conversations of a group have any. A number leads to them."),
    raised.length > 0 && h("div", { class: "scroll" }, h("table", { class: "firings" }, firingHead("Gate"),
      h("tbody", {}, raised.map(([name, entry]) => h("tr", {},
        h("th", { scope: "row" }, h("a", { href: address("conversations", { gate: name }) }, name), h("small", {}, meaning(name))),
        firingCells(entry, most, { gate: name })))))),
    raised.length === 0 && h("p", {}, "No gate found anything."),
    advisory.length > 0 && h("p", { class: "aside" }, "Only as advice, which by itself changes no verdict: ",
      advisory.map(([name, entry], at) => [at ? ", " : "", h("a", { href: address("conversations", { gate: name }) }, name), " " + count(entry.advisory)]), "."),
    silent.length > 0 && h("details", {}, h("summary", {}, several(silent.length, "gate") + " found nothing"),
      h("ul", { class: "plain" }, silent.map(([name]) => h("li", {}, h("b", {}, name), " ", meaning(name))))));
}

function overview() {
  const files = DATA.files.join(", ");
  const verdicts = verdictTable();
  return h("div", { class: "page" },
    h("h1", {}, "Policy “", h("bdi", {}, DATA.policy.id), "” on recorded conversations"),
    h("p", { class: "lead" }, "Every message of the assistant in ", h("bdi", {}, files), ", judged as a draft. ",
      DATA.advice === "remedies" ? "Companions that the policy computes were inserted." : "Companions were left to the model.",
      " Policy ", h("code", { title: DATA.policy.hash }, DATA.policy.hash.slice(0, 12)), "."),
    tiles(),
    h("div", { class: "charts" }, verdictChart(verdicts), timeChart()),
    h("p", { class: "meanings" }, VERDICTS.map((verdict) => h("a", { href: address("conversations", { verdict }) },
      badge(verdict), " ", VERDICT_MEANING[verdict], " (" + count(verdicts.get(verdict)[0] + verdicts.get(verdict)[1]) + ")"))),
    gateTable());
}
