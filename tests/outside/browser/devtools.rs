//! A headless Chromium, driven by the DevTools protocol over a pair of pipes.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::run::{Dir, guarded};

/// Longest life of a browser in seconds: a test that hangs ends with it.
const LIFE: &str = "240";

/// A browser with one page, ended with the test.
pub struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    next: u64,
    /// Events since the page was opened.
    events: Vec<Value>,
    /// Folder of its profile and pipes.
    _dir: Dir,
}

impl Browser {
    /// Starts Chromium, which is to be installed (`./dev setup`).
    pub fn start(name: &str) -> Self {
        let dir = Dir::new(&format!("chromium-{name}"));
        let pipes = [dir.path("to"), dir.path("from")];
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        // The protocol is spoken on the descriptors 3 and 4. Root has no sandbox.
        let script = "exec timeout -k 1 \"$3\" chromium --headless --no-sandbox --disable-gpu \
                      --remote-debugging-pipe --no-first-run --disable-extensions \
                      --user-data-dir=\"$4\" about:blank 3<\"$1\" 4>\"$2\"";
        let child = guarded("sh")
            .args(["-c", script, "sh"])
            .args(&pipes)
            .arg(LIFE)
            .arg(dir.path("profile"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Each side opens them in this order and waits for the other.
        let to = OpenOptions::new().write(true).open(&pipes[0]).unwrap();
        let from = BufReader::new(File::open(&pipes[1]).unwrap());
        let mut browser =
            Self { child, to, from, session: None, next: 0, events: Vec::new(), _dir: dir };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(Into::into);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut octets = serde_json::to_vec(&message).unwrap();
        octets.push(0);
        self.to.write_all(&octets).expect("chromium runs: ./dev setup installs it");
        loop {
            let answer = self.receive();
            if answer["id"] == self.next {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn receive(&mut self) -> Value {
        let mut octets = Vec::new();
        self.from.read_until(0, &mut octets).unwrap();
        assert_eq!(octets.pop(), Some(0), "chromium ended: ./dev setup installs it");
        serde_json::from_slice(&octets).unwrap()
    }

    /// Opens a file in a window of this size, in the light theme.
    pub fn open(&mut self, page: &Path, (width, height): (u32, u32)) {
        self.events.clear();
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.theme("light");
        self.call("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// Changes the theme of the reader.
    pub fn theme(&mut self, theme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": theme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features, "media": ""}));
    }

    /// Evaluates an expression in the page; a promise is waited for.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let found = self.call("Runtime.evaluate", params);
        assert!(found["exceptionDetails"].is_null(), "{expression}: {found}");
        found["result"]["value"].clone()
    }

    /// Returns what is wrong with the page by its own account: errors of its script, and requests for
    /// anything but the page.
    pub fn complaints(&mut self) -> Vec<String> {
        // Events come before the answer.
        self.evaluate("0");
        let wrong = |event: &Value| match event["method"].as_str()? {
            "Runtime.exceptionThrown" | "Log.entryAdded" => Some(event["params"].to_string()),
            "Network.requestWillBeSent" if event["params"]["type"] != "Document" => {
                Some(format!("a request: {}", event["params"]["request"]["url"]))
            }
            _ => None,
        };
        self.events.iter().filter_map(wrong).collect()
    }

    /// Moves the mouse, with its left button down if `pressed`.
    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64), clicks: u32) {
        let pressed = kind != "mouseMoved" || clicks > 0;
        let button = if pressed { "left" } else { "none" };
        let params = json!({
            "type": kind, "x": x, "y": y, "button": button, "buttons": u32::from(pressed),
            "clickCount": clicks,
        });
        self.call("Input.dispatchMouseEvent", params);
    }

    /// Drags from one point to another.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.mouse("mouseMoved", from, 0);
        self.mouse("mousePressed", from, 1);
        for step in 1..=8 {
            let part = f64::from(step) / 8.0;
            let at = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            self.mouse("mouseMoved", at, 1);
        }
        self.mouse("mouseReleased", to, 1);
    }

    /// Clicks twice.
    pub fn double_click(&mut self, at: (f64, f64)) {
        for clicks in [1, 2] {
            self.mouse("mousePressed", at, clicks);
            self.mouse("mouseReleased", at, clicks);
        }
    }
}

impl Drop for Browser {
    /// A killed browser leaves processes that still write into its profile while that is removed. This one ends by
    /// itself, or by its `timeout`.
    fn drop(&mut self) {
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.child.wait();
    }
}
