// Which view an address shows, the theme, and what happens when something breaks.

const VIEWS = { overview: "Overview", policy: "Policy", conversations: "Conversations" };
const main = document.getElementById("main");
const drawn = new Map();

/** A page that fails must say so instead of showing half of its findings. */
function broken(why) {
  const banner = document.getElementById("broken");
  banner.textContent = "This page could not draw everything: " + why;
  banner.hidden = false;
}
addEventListener("error", (event) => broken(event.message));
addEventListener("unhandledrejection", (event) => broken(String(event.reason)));

function view(name) {
  if (!drawn.has(name)) {
    drawn.set(name, name === "overview" ? overview() : name === "policy" ? policyView() : new Conversations());
  }
  return drawn.get(name);
}

function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const name = Object.hasOwn(VIEWS, path) ? path : "overview";
  const parameters = new URLSearchParams(query || "");
  const shown = view(name);
  const element = shown instanceof Conversations ? shown.element : shown;
  if (main.firstElementChild !== element) {
    main.replaceChildren(element);
    scrollTo(0, 0);
  }
  document.title = VIEWS[name] + " · " + DATA.policy.id + " · Obligato replay";
  for (const link of document.querySelectorAll("#views a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shown instanceof Conversations) shown.show(parameters);
  if (name === "policy" && parameters.has("line")) showLine(parameters.get("line"));
}

/** A browser may keep nothing for a file; then the choice lasts as long as the page. */
function remembered(value) {
  try {
    if (value === undefined) return localStorage.getItem("obligato-theme");
    localStorage.setItem("obligato-theme", value);
  } catch {
    // The system's preference holds.
  }
  return null;
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const apply = (name) => {
    document.documentElement.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", name === "dark" ? "Switch to the light theme" : "Switch to the dark theme");
  };
  apply(remembered() || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => remembered() || apply(dark.matches ? "dark" : "light"));
  button.addEventListener("click", () => {
    const name = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    remembered(name);
    apply(name);
  });
}

document.getElementById("views").append(...Object.entries(VIEWS).map(([name, title]) =>
  h("a", { href: address(name), "data-view": name }, title)));
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
theme();
addEventListener("hashchange", route);
route();
