// The conversations: filters, the list, and beside it the one that is open.

const PAGE_OF_ROWS = 60;

function badge(verdict) {
  return h("span", { class: "badge " + verdict }, verdict);
}

function options(names, all, spell) {
  return [h("option", { value: "" }, all), names.map((name) => h("option", { value: name }, spell ? spell(name) : name))];
}

/** One line of the list: outcome, verdicts in order, identifier. */
function row(conversation, number, wanted, open) {
  const turns = conversation.turns;
  const raised = turns.filter((turn) => turn.verdict !== "clear").length;
  const first = turns.find((turn) => turnMatches(turn, wanted) && (wanted.verdict || turn.verdict !== "clear" || wanted.gate || wanted.rule));
  return h("li", {}, h("a", {
    class: "row", href: address("conversations", { ...wanted, open: number, turn: first && first.index }),
    "aria-current": open === number ? "true" : undefined, "data-number": number,
  },
  h("span", { class: "id", dir: "auto" }, conversation.id),
  h("span", { class: "about" },
    h("span", { class: "outcome " + outcomeName(conversation).replace(" ", "-") }, outcomeName(conversation)),
    h("span", { class: "strip", role: "img", "aria-label": raised + " of " + several(turns.length, "message") + " not cleared as drafted" },
      turns.map((turn) => h("i", { class: turn.verdict + (turnMatches(turn, wanted) ? "" : " dim") }))))));
}

class Conversations {
  constructor() {
    this.wanted = {};
    this.open = null;
    this.search = h("input", { type: "search", id: "search", placeholder: "words, a tool, an identifier", autocomplete: "off", spellcheck: "false",
      input: () => this.later() });
    const change = () => this.filter();
    const outcomes = UNSCORED ? [...OUTCOMES, "not scored", sideName(0)] : OUTCOMES;
    const rules = [...new Set([...RULES.keys(), ...BY_RULE.keys()])];
    const gates = [...new Set([...GATES.keys(), ...BY_GATE.keys()])].sort();
    const firings = (table) => (name) => name + " (" + count(total(table.get(name) || NOTHING) + (table.get(name) || NOTHING).advisory) + ")";
    this.selects = {
      outcome: h("select", { id: "outcome", change }, options(outcomes, "all")),
      verdict: h("select", { id: "verdict", change }, options(VERDICTS, "any")),
      gate: h("select", { id: "gate", change }, options(gates, "any", firings(BY_GATE))),
      rule: h("select", { id: "rule", change }, options(rules, "any", firings(BY_RULE))),
    };
    this.found = h("p", { class: "found", role: "status", "aria-live": "polite" });
    this.list = h("ol", { class: "rows", "aria-label": "Conversations", keydown: (event) => this.move(event) });
    this.more = h("button", { type: "button", class: "quiet more", click: () => this.grow(true) }, "Show more");
    this.detail = h("div", { class: "detail" });
    const field = (name, control) => h("label", { for: control.id }, h("span", {}, name), control);
    this.element = h("div", { class: "split" },
      h("h1", { class: "hidden" }, "Conversations"),
      h("form", { class: "filters", role: "search", submit: (event) => { event.preventDefault(); this.filter(); } },
        field("Search", this.search), field("Outcome", this.selects.outcome), field("Verdict", this.selects.verdict),
        field("Gate", this.selects.gate), field("Rule", this.selects.rule),
        h("a", { class: "button quiet", href: address("conversations") }, "Clear filters")),
      h("div", { class: "side" }, this.found, this.list, this.more),
      this.detail);
    new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.grow(false)).observe(this.more);
  }

  /** Shows what an address asks for. */
  show(parameters) {
    const wanted = { q: parameters.get("q") || "" };
    for (const name of Object.keys(this.selects)) wanted[name] = parameters.get(name) || "";
    const open = parameters.has("open") ? Number(parameters.get("open")) : null;
    const changed = JSON.stringify(wanted) !== JSON.stringify(this.wanted);
    this.wanted = wanted;
    if (this.search.value !== wanted.q && document.activeElement !== this.search) this.search.value = wanted.q;
    for (const [name, select] of Object.entries(this.selects)) select.value = wanted[name];
    if (changed || !this.matching) this.fillList(open);
    this.choose(open, parameters.has("turn") ? Number(parameters.get("turn")) : null);
  }

  fillList(open) {
    this.matching = DATA.conversations.map((conversation, number) => [conversation, number])
      .filter(([conversation]) => conversationMatches(conversation, this.wanted));
    const messages = this.matching.reduce((sum, [conversation]) => sum + conversation.turns.filter((turn) => turnMatches(turn, this.wanted)).length, 0);
    const narrowed = this.wanted.verdict || this.wanted.gate || this.wanted.rule;
    this.found.textContent = several(this.matching.length, "conversation") + (narrowed ? ", " + several(messages, "message") + " that match" : "");
    this.list.replaceChildren();
    this.shown = 0;
    this.open = open;
    this.grow(false);
  }

  /** Draws more rows; asked for by hand, the first new one takes the focus. */
  grow(byHand) {
    if (!this.matching) return;
    const next = this.matching.slice(this.shown, this.shown + PAGE_OF_ROWS);
    const rows = next.map(([conversation, number]) => row(conversation, number, this.wanted, this.open));
    this.list.append(...rows);
    this.shown += next.length;
    this.more.hidden = this.shown >= this.matching.length;
    if (byHand && rows.length) rows[0].firstChild.focus();
  }

  choose(open, turn) {
    for (const link of this.list.querySelectorAll(".row")) {
      if (Number(link.dataset.number) === open) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    this.open = open;
    const conversation = open === null ? undefined : DATA.conversations[open];
    if (!conversation) {
      this.detail.replaceChildren(h("p", { class: "empty" }, "Choose a conversation to read it message by message, with the policy beside it."));
      this.drawn = null;
      return;
    }
    const key = open + JSON.stringify(this.wanted);
    if (this.drawn !== key) this.detail.replaceChildren(timeline(conversation, open, this.wanted));
    this.drawn = key;
    focusTurn(turn);
  }

  filter() {
    const wanted = { q: this.search.value.trim() };
    for (const [name, select] of Object.entries(this.selects)) wanted[name] = select.value;
    location.replace(address("conversations", wanted));
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.filter(), 150);
  }

  /** Up and down walk the list. */
  move(event) {
    const item = document.activeElement.closest("li");
    const to = item && { ArrowDown: item.nextElementSibling, ArrowUp: item.previousElementSibling }[event.key];
    if (!to) return;
    event.preventDefault();
    to.firstChild.focus();
  }
}
