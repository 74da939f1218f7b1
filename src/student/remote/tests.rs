//! Against a server of the test's own, over a real socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::json;

use super::*;
use crate::model::{Finding, Message, Role, ToolCall};
use crate::student::{Objection, Offer};
use crate::tools::{Inventory, Removed, Tool, import};

/// What the server saw of one request.
struct Seen {
    authorization: Option<String>,
    body: Json,
}

/// What a server does with one connection.
type Respond = Box<dyn FnOnce(&mut TcpStream) + Send>;

/// A server that answers the given connections in order; the requests it saw come out of the channel.
fn server(answers: Vec<Respond>) -> (RemoteConfig, Receiver<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1/", listener.local_addr().unwrap());
    let (seen, requests) = channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut length, mut authorization, mut line) = (0, None, String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                let (name, value) = line.split_once(':').unwrap_or_default();
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.trim().parse().unwrap(),
                    "authorization" => authorization = Some(value.trim().to_owned()),
                    _ => {}
                }
                line.clear();
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let _ = seen.send(Seen { authorization, body: serde_json::from_slice(&body).unwrap() });
            answer(&mut stream);
        }
    });
    (RemoteConfig::new(base, "tester"), requests)
}

fn answer(status: &'static str, body: impl Into<Vec<u8>>) -> Box<dyn FnOnce(&mut TcpStream) + Send> {
    let body = body.into();
    Box::new(move |stream| {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        // A client that has read enough hangs up; what the server still writes is lost.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
    })
}

fn says(message: Json) -> Box<dyn FnOnce(&mut TcpStream) + Send> {
    let body = json!({"choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 120, "completion_tokens": 9}});
    answer("200 OK", body.to_string())
}

/// Takes the request and never answers.
fn hangs() -> Box<dyn FnOnce(&mut TcpStream) + Send> {
    Box::new(|stream| {
        let _ = stream.read(&mut [0; 1]);
    })
}

fn inventory() -> Inventory {
    let text = r#"[{"name":"set_light","description":"Cabin light.","inputSchema":{"type":"object","required":["on"],
        "properties":{"on":{"type":"boolean"},"color":{"type":"string"}}}},
        {"name":"set_fan","inputSchema":{"type":"object","properties":{}}}]"#;
    import(text).unwrap().iter().map(|t| Tool::from_import(t).unwrap()).collect::<Vec<_>>().into()
}

fn driver(text: &str) -> Message {
    Message { role: Role::User, content: Some(text.to_owned()), tool_calls: Vec::new(), tool_call_id: None }
}

fn draft_with(config: RemoteConfig, objection: Option<Objection<'_>>, cancel: &Cancel) -> Result<Answer, StudentError> {
    let removed = Removed::from_iter(["set_fan", "set_light.color"]);
    Remote::new(config)?.draft(&Prompt {
        inventory: &inventory(),
        removed: &removed,
        conversation: &[driver("light on")],
        objection,
        offer: Offer::All,
        temperature: 0.5,
        seed: 7,
        max_tokens: 50,
        cancel,
    })
}

fn draft(config: RemoteConfig) -> Result<Answer, StudentError> {
    draft_with(config, None, &Cancel::default())
}

fn light_on() -> Json {
    json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "set_light", "arguments": "{\"on\": true}"}}]})
}

#[test]
fn a_draft_carries_calls_and_cost_and_the_request_what_this_car_has() {
    let (config, requests) = server(vec![says(light_on())]);
    let got = draft(config).unwrap();
    assert_eq!(got.draft.calls[0].to_string(), "set_light(on: true)");
    assert_eq!((got.usage.prompt_tokens, got.usage.generated_tokens), (120, 9));
    let Seen { authorization, body } = requests.recv().unwrap();
    assert_eq!(authorization, None);
    assert_eq!(body["model"], "tester");
    assert_eq!(body["messages"], json!([{"role": "user", "content": "light on"}]));
    assert_eq!((&body["seed"], &body["max_tokens"], &body["temperature"]), (&json!(7), &json!(50), &json!(0.5)));
    let tools = body["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "the removed tool is not offered");
    assert_eq!(tools[0]["function"]["parameters"]["properties"], json!({"on": {"type": "boolean"}}));
}

#[test]
fn a_revision_tells_what_was_wrong_and_what_would_be_right() {
    let (config, requests) = server(vec![says(light_on())]);
    let rejected = Draft::calls(vec![ToolCall::new("set_fan", Default::default())]);
    let remedy = vec![ToolCall::new("set_light", json!({"on": true}).as_object().unwrap().clone())];
    let finding = Finding::new("capability", crate::model::Tier::Hard, "this car has no fan").with_remedy(remedy);
    let objection = Objection { draft: &rejected, findings: &[finding] };
    draft_with(config, Some(objection), &Cancel::default()).unwrap();
    let body = requests.recv().unwrap().body;
    let told = body["messages"][1]["content"].as_str().unwrap();
    for part in ["set_fan()", "this car has no fan", "set_light(on: true)"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn the_key_is_read_from_its_variable_and_sent_as_bearer() {
    // PATH is set wherever tests run; a test must not set variables of its process.
    let (config, requests) = server(vec![says(light_on())]);
    draft(RemoteConfig { key_variable: Some("PATH".to_owned()), ..config }).unwrap();
    let expected = format!("Bearer {}", std::env::var("PATH").unwrap());
    assert_eq!(requests.recv().unwrap().authorization, Some(expected));
    let missing =
        RemoteConfig { key_variable: Some("OBLIGATO_NO_SUCH_KEY".to_owned()), ..RemoteConfig::new("http://x", "m") };
    let error = Remote::new(missing).unwrap_err().to_string();
    assert!(error.contains("`OBLIGATO_NO_SUCH_KEY`") && error.contains("not set"), "{error}");
}

#[test]
fn an_answer_that_is_no_completion_is_unreadable_and_says_why() {
    for body in ["{oops", "[]", r#"{"choices":[]}"#, r#"{"choices":[{"message":{"role":"robot"}}]}"#] {
        let (config, _requests) = server(vec![answer("200 OK", body)]);
        let error = draft(config).unwrap_err();
        assert!(matches!(error, StudentError::Unreadable(_)), "{body}: {error}");
    }
}

#[test]
fn arguments_that_are_no_json_stay_in_the_draft_as_malformed() {
    let call = json!({"id": "c", "function": {"name": "set_light", "arguments": "{on:"}});
    let (config, _requests) = server(vec![says(json!({"role": "assistant", "tool_calls": [call]}))]);
    assert_eq!(draft(config).unwrap().draft.malformed[0].tool, "set_light");
}

#[test]
fn an_error_status_is_named_with_what_the_server_says() {
    let (config, _requests) = server(vec![answer("500 Internal Server Error", "model\nnot loaded")]);
    let error = draft(config).unwrap_err().to_string();
    assert!(error.contains("HTTP 500: modelnot loaded"), "{error}");
}

#[test]
fn a_redirect_is_not_followed_because_it_would_carry_the_key_along() {
    let redirect = |stream: &mut TcpStream| {
        let head =
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
    };
    let (config, _requests) = server(vec![Box::new(redirect)]);
    let error = draft(config).unwrap_err().to_string();
    assert!(error.contains("HTTP 302"), "{error}");
}

#[test]
fn a_server_that_hangs_costs_the_timeout_and_no_more() {
    let (config, _requests) = server(vec![hangs()]);
    let start = Instant::now();
    let error = draft(RemoteConfig { timeout: Duration::from_millis(300), ..config }).unwrap_err().to_string();
    assert!(error.contains("took longer than 0.3 s"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn cancelling_does_not_wait_for_the_server() {
    let (config, requests) = server(vec![hangs()]);
    let cancel = Cancel::default();
    let stop = cancel.clone();
    let stopper = thread::spawn(move || {
        requests.recv().unwrap();
        stop.cancel();
    });
    let start = Instant::now();
    assert!(matches!(draft_with(config, None, &cancel), Err(StudentError::Cancelled)));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    stopper.join().unwrap();
}

#[test]
fn a_giant_answer_is_cut_off_at_its_cap() {
    let (config, _requests) = server(vec![answer("200 OK", vec![b' '; 300_000])]);
    let error = draft(RemoteConfig { answer_bytes: 100_000, ..config }).unwrap_err().to_string();
    assert!(error.contains("more than 100000 bytes"), "{error}");
}

#[test]
fn a_server_that_is_not_there_cannot_be_reached() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = draft(RemoteConfig::new(format!("http://{free}"), "m")).unwrap_err().to_string();
    assert!(error.contains("cannot be reached"), "{error}");
}

#[test]
fn a_draft_that_was_cut_off_at_the_token_limit_is_not_used() {
    let body = json!({"choices": [{"message": {"role": "assistant", "content": "The"}, "finish_reason": "length"}]});
    let (config, _requests) = server(vec![answer("200 OK", body.to_string())]);
    assert!(matches!(draft(config), Err(StudentError::Endless(50))));
}

fn judged(answers: &[&str]) -> Result<Vec<Ruling>, JudgeError> {
    let answers = answers.iter().map(|text| says(json!({"role": "assistant", "content": text}))).collect();
    let (config, _requests) = server(answers);
    let draft = Draft::reply("Done.");
    let candidates = ["one", "two", "three"].map(|because| Finding::new("x", crate::model::Tier::Advisory, because));
    let case = Case { conversation: &[driver("hi")], draft: &draft, candidates: &candidates };
    Remote::new(config).unwrap().judge(&case)
}

#[test]
fn the_critic_confirms_by_number() {
    let expected = vec![Ruling::Confirm, Ruling::Discard, Ruling::Confirm];
    assert_eq!(judged(&[r#"{"confirm": [1, 3]}"#]).unwrap(), expected);
    assert_eq!(judged(&["Sure:\n```json\n{\"confirm\": [3, 1]}\n```"]).unwrap(), expected);
}

#[test]
fn an_unreadable_ruling_is_asked_for_once_more_and_then_given_up() {
    assert_eq!(judged(&["Well…", r#"{"confirm": []}"#]).unwrap(), vec![Ruling::Discard; 3]);
    let error = judged(&[r#"{"confirm": [4]}"#, r#"{"confirm": [0]}"#]).unwrap_err();
    assert!(matches!(&error, JudgeError::Unreadable(why) if why.contains("objection 0 of 3")), "{error}");
}

#[test]
fn a_critic_that_cannot_be_reached_is_unavailable() {
    let (config, _requests) = server(vec![answer("503 Service Unavailable", "")]);
    let draft = Draft::reply("Done.");
    let candidates = [Finding::new("x", crate::model::Tier::Advisory, "one")];
    let case = Case { conversation: &[], draft: &draft, candidates: &candidates };
    assert!(matches!(Remote::new(config).unwrap().judge(&case), Err(JudgeError::Unavailable(_))));
}

#[test]
fn a_text_is_asked_for_without_tools_and_one_that_is_cut_off_has_no_end() {
    let (config, requests) = server(vec![says(json!({"role": "assistant", "content": "{\"outcome\": \"advisory\"}"}))]);
    let text = Remote::new(config).unwrap().text("Translate.", "{\"sentence\": \"…\"}", 0.0, 77);
    assert_eq!(text.unwrap(), "{\"outcome\": \"advisory\"}");
    let body = requests.recv().unwrap().body;
    assert_eq!((&body["max_tokens"], &body["messages"][0]["role"]), (&json!(77), &json!("system")));
    assert_eq!(body["messages"][1]["content"], "{\"sentence\": \"…\"}");
    assert!(body.get("tools").is_none());
    let cut = json!({"choices": [{"message": {"role": "assistant", "content": "very "}, "finish_reason": "length"}]});
    let (config, _requests) = server(vec![answer("200 OK", cut.to_string())]);
    let endless = Remote::new(config).unwrap().text("Translate.", "x", 0.0, 77);
    assert!(matches!(endless, Err(StudentError::Endless(77))), "{endless:?}");
}
