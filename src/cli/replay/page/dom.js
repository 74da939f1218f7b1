// Making elements. Whatever comes from a recording becomes text, never markup: nothing here parses any.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** An HTML element. A function among the attributes listens to the event of that name. */
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The address of a view inside this page; empty parameters are left out. */
function address(view, parameters) {
  const used = Object.entries(parameters || {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(used).toString();
  return "#/" + view + (query ? "?" + query : "");
}

const WHOLE = new Intl.NumberFormat("en");

function count(number) {
  return WHOLE.format(number);
}

/** "1 conversation", "2 conversations" */
function several(number, one, many) {
  return count(number) + " " + (number === 1 ? one : many || one + "s");
}

/** A share in percent; one decimal where it would otherwise read as nothing or all. */
function percent(part, whole) {
  if (!whole) return "–";
  const share = (100 * part) / whole;
  const digits = share > 0 && share < 10 ? 1 : 0;
  return share.toFixed(digits) + " %";
}

/** Microseconds as a person reads them. */
function duration(micros) {
  if (micros >= 1e6) return (micros / 1e6).toFixed(1) + " s";
  if (micros >= 1e3) return (micros / 1e3).toFixed(micros >= 1e4 ? 0 : 1) + " ms";
  return micros.toFixed(micros >= 10 ? 0 : 1) + " µs";
}

/** A value of an argument or a result, keys in order so that equal values read alike. */
function canonical(value) {
  if (Array.isArray(value)) return "[" + value.map(canonical).join(", ") + "]";
  if (value && typeof value === "object") {
    return "{" + Object.keys(value).sort().map((key) => key + ": " + canonical(value[key])).join(", ") + "}";
  }
  return JSON.stringify(value);
}

/** A call as text: `tool(argument: value)`. */
function spell(tool, values) {
  if (!values || typeof values !== "object" || Array.isArray(values)) return tool + "(" + canonical(values) + ")";
  return tool + "(" + Object.keys(values).sort().map((key) => key + ": " + canonical(values[key])).join(", ") + ")";
}

/** JSON text as its value; nothing when it is no JSON. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A call, one argument a line where they are long. */
function callBlock(tool, values, mark) {
  const keys = values && typeof values === "object" && !Array.isArray(values) ? Object.keys(values).sort() : null;
  const inner = keys
    ? keys.map((key, at) => [at ? ", " : "", h("span", { class: "key" }, key), ": ", h("span", { class: "value" }, canonical(values[key]))])
    : h("span", { class: "value" }, String(values));
  return h("li", { class: "call" + (mark ? " " + mark : "") },
    mark && h("span", { class: "mark" }, mark),
    h("code", {}, h("b", {}, tool), "(", inner, ")"));
}
