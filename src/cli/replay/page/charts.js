// Pictures, where one says it faster than a table.

const LABEL = 76;
const WIDTH = 560;

/** A bar beside a number in a table row, as long as its share of the largest one. */
function bar(share, which) {
  return s("svg", { class: "bar-cell", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "track", x: 0, y: 0, width: 100, height: 10 }),
    s("rect", { class: "fill " + OUTCOMES[which], x: 0, y: 0, width: Math.max(share * 100, share > 0 ? 1 : 0), height: 10 }));
}

function picture(label, height, ...children) {
  return s("svg", { class: "chart", role: "img", "aria-label": label, viewBox: "0 0 " + WIDTH + " " + height }, ...children);
}

function legend() {
  return h("p", { class: "legend", "aria-hidden": "true" },
    [0, 1].map((which) => h("span", {}, h("i", { class: "swatch " + OUTCOMES[which] }), sideName(which))));
}

/** Verdicts other than clear, as shares of the messages of each side. */
function verdictChart(table) {
  const totals = [0, 1].map((which) => [...table.values()].reduce((sum, pair) => sum + pair[which], 0));
  const shown = VERDICTS.filter((verdict) => verdict !== "clear");
  const share = (verdict, which) => (totals[which] ? table.get(verdict)[which] / totals[which] : 0);
  const most = Math.max(...shown.flatMap((verdict) => [share(verdict, 0), share(verdict, 1)]), 1e-9);
  const row = 42;
  const room = WIDTH - LABEL - 110;
  const bars = shown.flatMap((verdict, at) => [
    s("text", { class: "name", x: LABEL - 10, y: at * row + 21, "text-anchor": "end" }, verdict),
    [0, 1].map((which) => {
      const long = (share(verdict, which) / most) * room;
      const top = at * row + 4 + which * 15;
      const number = count(table.get(verdict)[which]) + " · " + percent(table.get(verdict)[which], totals[which]);
      return [
        s("rect", { class: "fill " + OUTCOMES[which], x: LABEL, y: top, width: Math.max(long, long > 0 ? 1.5 : 0), height: 13, rx: 2 }),
        s("text", { class: "number", x: LABEL + long + 6, y: top + 10.5 }, number),
      ];
    }),
  ]);
  const spoken = shown.map((verdict) =>
    verdict + ": " + [0, 1].map((which) => percent(table.get(verdict)[which], totals[which]) + " " + sideName(which)).join(", "));
  const clear = [0, 1].map((which) => percent(table.get("clear")[which], totals[which]) + " of " + sideName(which));
  return h("figure", {},
    h("figcaption", {}, h("h3", {}, "Verdicts, as shares of the messages"),
      h("p", {}, "Cleared as drafted, and not drawn: " + clear.join(", ") + " messages.")),
    legend(),
    picture("Verdicts other than clear. " + spoken.join("; ") + ".", shown.length * row,
      s("line", { class: "axis", x1: LABEL, x2: LABEL, y1: 0, y2: shown.length * row }), bars));
}

const STEPS = 6;

/** How long checks took, on a logarithmic scale. */
function timeChart() {
  const times = DATA.conversations.flatMap((conversation) => conversation.turns.map((turn) => turn.micros)).filter((t) => t > 0);
  if (!times.length) return null;
  const place = (micros) => Math.log10(micros) * STEPS;
  const low = Math.floor(Math.min(...[times.reduce((a, b) => Math.min(a, b))].map(place)));
  const high = Math.floor(place(times.reduce((a, b) => Math.max(a, b)))) + 1;
  const bins = new Array(high - low).fill(0);
  for (const micros of times) bins[Math.floor(place(micros)) - low] += 1;
  const most = Math.max(...bins);
  const [left, top, tall] = [46, 34, 150];
  const wide = (WIDTH - left - 12) / bins.length;
  const x = (micros) => left + (place(micros) - low) * wide;
  const ticks = [];
  for (let power = Math.ceil(low / STEPS); power * STEPS <= high; power += 1) ticks.push(10 ** power);
  const { micros_p50: median, micros_p99: tail } = DATA.summary;
  const marker = (micros, name, line, anchor) => [
    s("line", { class: "marker", x1: x(micros), x2: x(micros), y1: line + 4, y2: top + tall }),
    s("text", { class: "number strong", x: x(micros) + (anchor === "end" ? 4 : -4), y: line, "text-anchor": anchor }, name + " " + duration(micros)),
  ];
  const label = "Time of a check: half took at most " + duration(median) + ", 99 of 100 at most " + duration(tail) + ".";
  return h("figure", {},
    h("figcaption", {}, h("h3", {}, "Time of a check"),
      h("p", {}, count(times.length) + " checks, as measured on the machine that made this page; logarithmic scale.")),
    picture(label, top + tall + 28,
      bins.map((number, at) => number > 0 && s("rect", { class: "fill time", x: left + at * wide + 0.5, width: Math.max(wide - 1, 1),
        y: top + tall - Math.max((number / most) * tall, 1), height: Math.max((number / most) * tall, 1) },
        s("title", {}, count(number) + " from " + duration(10 ** ((at + low) / STEPS)) + " to " + duration(10 ** ((at + 1 + low) / STEPS))))),
      s("line", { class: "axis", x1: left, x2: WIDTH - 12, y1: top + tall, y2: top + tall }),
      ticks.map((tick) => [
        s("line", { class: "axis", x1: x(tick), x2: x(tick), y1: top + tall, y2: top + tall + 4 }),
        s("text", { class: "number", x: x(tick), y: top + tall + 18, "text-anchor": "middle" }, tick >= 1e3 ? tick / 1e3 + " ms" : tick + " µs"),
      ]),
      s("text", { class: "number", x: left - 6, y: top + 8, "text-anchor": "end" }, count(most)),
      s("text", { class: "number", x: left - 6, y: top + tall, "text-anchor": "end" }, "0"),
      marker(median, "half within", 12, "start"), marker(tail, "99 % within", 26, "end")));
}
