//! The page for reviewers, in a real browser.

use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use crate::browser::Browser;
use crate::recordings::{HOSTILE, cabin, car_bench, replay, trajectories, write_recordings};

/// A page on the small recordings, open in a browser; none where there is no browser.
fn small() -> Option<(Browser, TempDir)> {
    let mut browser = Browser::start()?;
    let folder = tempfile::tempdir().unwrap();
    let policy = cabin(folder.path());
    let page = folder.path().join("page.html");
    replay(&policy, &[write_recordings(folder.path())], "--html", &page);
    browser.open(&page);
    Some((browser, folder))
}

fn go(browser: &mut Browser, address: &str) {
    browser.value(&format!("location.hash = {}", json!(address)));
}

/// Opens a conversation by its identifier, as a reviewer does.
fn choose(browser: &mut Browser, id: &str) {
    browser.click("[data-view=conversations]");
    browser.wait("document.querySelectorAll('.row').length === 4");
    let row = format!("[...document.querySelectorAll('.row')].findIndex((r) => r.innerText.includes({}))", json!(id));
    let at = browser.value(&row).as_u64().unwrap();
    browser.click(&format!(".row[data-number='{at}']"));
    browser.wait(&format!("document.querySelector('#conversation')?.innerText.includes({})", json!(id)));
}

#[test]
fn numbers_and_charts_say_what_was_judged() {
    let Some((mut browser, _folder)) = small() else { return };
    let tiles = browser.text(".tiles");
    assert!(tiles.contains("2 passing or not scored, 2 failing"), "{tiles}");
    // Each cool conversation has four drafts, the hostile one two.
    assert!(tiles.contains("Messages judged\n14\n"), "{tiles}");
    assert!(browser.count("svg.chart rect.fill.failing") > 0);
    assert!(browser.count("svg.chart rect.fill.time") > 0);
    let label = browser.value("document.querySelector('svg.chart').getAttribute('aria-label')");
    assert!(label.as_str().unwrap().contains("refuse: "), "{label}");
    assert!(browser.text(".firings").contains("obligations"));
    assert_eq!(browser.faults(), Vec::<serde_json::Value>::new());
}

#[test]
fn a_draft_stands_beside_its_finding_remedy_and_policy_sentence() {
    let Some((mut browser, _folder)) = small() else { return };
    choose(&mut browser, "cool/failing");
    browser.wait("document.activeElement.id === 'turn-6'");
    let draft = browser.text("#turn-6 .draft");
    assert!(draft.contains("set_air_conditioning(on: true)"), "{draft}");
    assert!(draft.contains("window_driver_position"), "the projection shows what closes: {draft}");
    let judged = browser.text("#turn-6 .judged");
    assert!(judged.contains("amend"), "{judged}");
    assert!(judged.contains("window_driver_position = 60 > 20"), "{judged}");
    assert!(browser.text("#turn-6 .call.added").contains("open_close_window("));
    let sentence = browser.text("#turn-6 blockquote p");
    let source = browser.text("#turn-6 cite");
    browser.click("#turn-6 cite a");
    browser.wait("document.activeElement.classList.contains('line')");
    let line = browser.value("document.activeElement.innerText");
    assert!(line.as_str().unwrap().contains(&sentence), "{source} leads to {line}, not to {sentence}");
    assert_eq!(browser.faults(), Vec::<serde_json::Value>::new());
}

#[test]
fn filters_narrow_the_list_to_conversations_with_a_match() {
    let Some((mut browser, _folder)) = small() else { return };
    go(&mut browser, "#/conversations?gate=obligations");
    browser.wait("document.querySelectorAll('.row').length === 3");
    go(&mut browser, "#/conversations?gate=obligations&outcome=failing");
    browser.wait("document.querySelectorAll('.row').length === 1");
    assert!(browser.text(".row").contains("cool/failing"));
    go(&mut browser, "#/conversations?verdict=amend&outcome=not scored");
    browser.wait("document.querySelector('.row')?.innerText.includes('cool/unscored')");
    go(&mut browser, "#/");
    browser.click(".firings td.number a[href*='obligations'][href*='passing']");
    browser.wait("document.querySelectorAll('.row').length === 2");
    go(&mut browser, "#/conversations?verdict=gather&gate=obligations");
    browser.wait("document.querySelectorAll('.row').length === 0");
    assert!(browser.text(".found").starts_with("0 conversations"));
    browser.click("form.filters a");
    browser.wait("document.querySelectorAll('.row').length === 4");
    browser.click("#search");
    browser.write("It Is Hot");
    browser.wait("document.querySelectorAll('.row').length === 3");
    assert_eq!(browser.value("document.activeElement.id"), "search", "typing keeps the focus");
    assert_eq!(browser.faults(), Vec::<serde_json::Value>::new());
}

#[test]
fn everything_is_reached_with_the_keyboard() {
    let Some((mut browser, _folder)) = small() else { return };
    browser.press("Tab");
    assert_eq!(browser.value("document.activeElement.id"), "skip");
    for _ in 0..3 {
        browser.press("Tab");
    }
    assert_eq!(browser.value("document.activeElement.dataset.view"), "conversations");
    browser.press("Enter");
    browser.wait("document.querySelectorAll('.row').length === 4");
    // Theme, search, four filters, the link that clears them, the first conversation.
    for _ in 0..8 {
        browser.press("Tab");
    }
    assert_eq!(browser.value("document.activeElement.dataset.number"), "0");
    browser.press("ArrowDown");
    assert_eq!(browser.value("document.activeElement.dataset.number"), "1");
    browser.press("Enter");
    browser.wait("document.querySelector('#conversation')?.innerText === 'cool/failing'");
    assert_eq!(browser.faults(), Vec::<serde_json::Value>::new());
}

#[test]
fn hostile_text_is_shown_as_text_everywhere() {
    let Some((mut browser, _folder)) = small() else { return };
    choose(&mut browser, "hostile");
    for selector in
        ["#conversation", ".row[aria-current] .id", ".title code", ".entry.user .said", ".draft .call", ".draft .said"]
    {
        let shown = browser.text(selector);
        assert!(shown.contains(HOSTILE), "`{selector}` shows {shown}");
    }
    for folded in [".entry.system", ".entry.tool"] {
        browser.click(&format!("{folded} summary"));
        browser.wait(&format!("document.querySelector('{folded} details').open"));
        assert!(browser.text(&format!("{folded} pre")).contains(HOSTILE));
    }
    assert_eq!(browser.count("main script, main img, main iframe"), 0);
    assert_eq!(browser.count("script"), 2);
    assert!(!browser.value("document.title").as_str().unwrap().contains("owned"));
    assert_eq!(browser.faults(), Vec::<serde_json::Value>::new());
}

#[test]
fn markup_that_reached_the_page_would_still_not_run() {
    let Some((mut browser, _folder)) = small() else { return };
    browser.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">'), 0");
    browser.value(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title=1'})), 0",
    );
    browser.wait("document.querySelector('img').complete");
    assert_ne!(browser.value("document.title"), "1");
    assert!(!browser.faults().is_empty(), "the browser reports what the page's security policy stopped");
}

#[test]
fn light_and_dark_follow_the_system_and_the_button() {
    let Some((mut browser, _folder)) = small() else { return };
    let ground = "getComputedStyle(document.body).backgroundColor";
    let light = browser.value(ground);
    let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.ask("Emulation.setEmulatedMedia", dark);
    browser.wait(&format!("{ground} !== {light}"));
    browser.click("#theme");
    browser.wait(&format!("{ground} === {light}"));
    assert_eq!(browser.faults(), Vec::<serde_json::Value>::new());
}

#[test]
fn a_page_of_all_recorded_conversations_stays_small_and_draws_rows_as_needed() {
    let folder = tempfile::tempdir().unwrap();
    let (Some(policy), Some(files)) = (car_bench(folder.path()), trajectories()) else { return };
    let page: PathBuf = folder.path().join("page.html");
    replay(&policy, &files, "--html", &page);
    let bytes = std::fs::metadata(&page).unwrap().len();
    assert!(bytes < 6 << 20, "{bytes} bytes");
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&page);
    browser.click("[data-view=conversations]");
    browser.wait("document.querySelectorAll('.row').length > 0");
    assert!(browser.text(".found").starts_with("544 conversations"));
    let first = browser.count(".row");
    assert!(first < 200, "{first} rows at once");
    browser.value("document.querySelector('.more').scrollIntoView()");
    browser.wait(&format!("document.querySelectorAll('.row').length > {first}"));
    // Every conversation can be drawn.
    let broken =
        "DATA.conversations.map((c, n) => timeline(c, n, {})).filter((t) => !t.querySelector('.timeline')).length";
    assert_eq!(browser.value(broken), 0);
    assert_eq!(browser.value("document.getElementById('broken').hidden"), true);
    assert_eq!(browser.faults(), Vec::<serde_json::Value>::new());
}
