//! A real browser, driven over its DevTools pipe: what a reviewer clicks and types, and what then
//! stands on the page.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

/// How long the browser may take for one answer: it shares the machine with every other test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    process: Child,
    to: ChildStdin,
    from: Receiver<Json>,
    session: Option<String>,
    sent: u64,
    /// What the page did besides what it was asked for: script errors, console messages, requests.
    pub(crate) events: Vec<Json>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the first browser there is; none, with the reason printed, where there is none.
    pub(crate) fn start() -> Option<Self> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let found = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
        let Some(name) = names.iter().find(found) else {
            println!("skipped: there is no {} here; install Debian's package chromium", names.join(", "));
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        // DevTools reads commands from descriptor 3 and answers on 4.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", name])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--remote-debugging-pipe", "--window-size=1400,1000"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (to, out) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (send, from) = channel();
        thread::spawn(move || {
            let mut messages = BufReader::new(out).split(0);
            while let Some(Ok(message)) = messages.next() {
                if send.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self { process, to, from, session: None, sent: 0, events: Vec::new(), _profile: profile };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// One DevTools command and its answer.
    pub(crate) fn ask(&mut self, method: &str, params: Json) -> Json {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.to.flush().unwrap();
        loop {
            let answer =
                self.from.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{method}: the browser is gone: {e}"));
            if answer["id"] == self.sent {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a file and waits until it is drawn.
    pub(crate) fn open(&mut self, file: &Path) {
        self.ask("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        self.wait("document.readyState === 'complete' && document.querySelector('main h1') !== null");
    }

    /// The value of an expression on the page.
    pub(crate) fn value(&mut self, expression: &str) -> Json {
        let answer = self.ask("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// The text that a reader sees in the first element of that kind.
    pub(crate) fn text(&mut self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({})?.innerText", json!(selector)));
        text.as_str().unwrap_or_else(|| panic!("nothing on the page is `{selector}`")).to_owned()
    }

    /// How many elements of that kind there are.
    pub(crate) fn count(&mut self, selector: &str) -> u64 {
        self.value(&format!("document.querySelectorAll({}).length", json!(selector))).as_u64().unwrap()
    }

    /// Waits until something holds.
    pub(crate) fn wait(&mut self, condition: &str) {
        let start = Instant::now();
        while self.value(&format!("Boolean({condition})")) != true {
            assert!(start.elapsed() < PATIENCE, "never: {condition}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses the mouse on the first element of that kind.
    pub(crate) fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const e = document.querySelector({}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getClientRects()[0]; return {{x: r.x + r.width / 2, y: r.y + r.height / 2}}; }})()",
            json!(selector)
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place["x"], "y": place["y"], "button": "left", "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key that types nothing, such as `Tab` or `ArrowDown`.
    pub(crate) fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "ArrowUp" => 38,
            "ArrowDown" => 40,
            other => panic!("which key is {other}?"),
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.ask("Input.dispatchKeyEvent", event);
        }
    }

    /// Types into what has the focus.
    pub(crate) fn write(&mut self, text: &str) {
        self.ask("Input.insertText", json!({"text": text}));
    }

    /// What the page did wrong: script errors, complaints on the console, requests beyond the file.
    pub(crate) fn faults(&mut self) -> Vec<Json> {
        // Events stand before the answer to whatever is asked after them.
        self.value("1");
        let wrong = |event: &&Json| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded" => true,
            "Network.requestWillBeSent" => {
                let url = event["params"]["request"]["url"].as_str().unwrap_or_default();
                event["params"]["type"] != "Document" || !(url.starts_with("file://") || url == "about:blank")
            }
            _ => false,
        };
        self.events.iter().filter(wrong).cloned().collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Best effort: a browser that is already gone needs no end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
