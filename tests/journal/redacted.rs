//! What is configured as personal stands in no file of the journal, however it is written and wherever it is quoted.

use std::path::Path;
use std::sync::Arc;

use obligato::journal::{Entry, Journal, Kind, Place, Settings, verify};
use obligato::model::{Arguments, ToolCall};
use obligato::state::ManualClock;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::rig::{calls, root};
use super::tools::*;

/// Letters in a row that must not stand there.
const WINDOW: usize = 16;

/// The list that an image ships with.
pub(crate) fn shipped() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("systemd/obligato.toml")).unwrap();
    let config: toml::Table = text.parse().unwrap();
    let list = config["journal"]["redact"].as_array().unwrap();
    list.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Letters and digits alone, without case.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn written(folder: &Path) -> String {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let journal = files.filter(|file| file.extension().is_some_and(|e| e == "jsonl"));
    journal.map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// What stands in the files as a reader would read it: records, and JSON that stands in their texts.
fn readable(folder: &Path) -> String {
    fn texts(json: &Json, out: &mut String) {
        match json {
            Json::String(text) => {
                out.push_str(&letters(text));
                out.push('\n');
            }
            Json::Array(items) => items.iter().for_each(|item| texts(item, out)),
            Json::Object(map) => map.iter().for_each(|(_, item)| texts(item, out)),
            other => out.push_str(&format!("{other}\n")),
        }
    }
    let mut out = letters(&written(folder));
    for line in written(folder).lines() {
        out.push('\n');
        texts(&serde_json::from_str(line).unwrap(), &mut out);
    }
    out
}

/// A part of a text that stands in another one.
fn leaked(secret: &str, text: &str) -> Option<String> {
    let secret: Vec<char> = letters(secret).chars().collect();
    let windows = secret.windows(WINDOW.min(secret.len()).max(1));
    windows.map(|w| w.iter().collect::<String>()).find(|window| text.contains(window.as_str()))
}

fn body(json: Json) -> Map<String, Json> {
    json.as_object().unwrap().clone()
}

/// Everything that may be said of a mail: the call, the question, the yes, the reply, what a check found, a fault.
fn entries(mail: &str) -> Vec<Entry> {
    let place = || Place::new("1", 1);
    let arguments = json!({"content_message": mail, "email_addresses": ["a@example.org"]});
    let call = ToolCall::new("send_email", Arguments::from_iter(body(arguments.clone())));
    let shown = call.to_string();
    let question = format!("I will send email to a@example.org, content message {}. Shall I?", mail.to_lowercase());
    let verdict = json!({
        "draft": {"calls": [{"tool": "send_email", "arguments": arguments}]},
        "report": {"question": question, "speak": format!("I did not send \u{201c}{mail}\u{201d}."),
            "findings": [{"gate": "x", "because": format!("{mail:?} was not said")}]},
    });
    vec![
        Entry::new(Kind::Verdict, Some(place()), body(verdict)),
        Entry::question(place(), &question, std::slice::from_ref(&call)),
        Entry::reply(place(), &question),
        Entry::grant(place(), true, std::slice::from_ref(&call)),
        Entry::fault(Some(place()), "vehicle", &format!("{shown} was refused; {}", json!({"a": shown}))),
        Entry::fault(Some(place()), "vehicle", &format!("{} ...", mail.to_uppercase())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_of_a_mail_reaches_the_medium(mail in "[a-zA-Z0-9äÖß \"\\\\\n\t\r{}:,💘'./-]{1,300}") {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { redact: shipped(), ..Settings::new(folder.path()) };
        let mut journal = Journal::open(settings, Arc::new(ManualClock::default())).unwrap();
        for entry in entries(&mail) {
            journal.append(entry).unwrap();
        }
        verify(folder.path()).unwrap();
        if letters(&mail).chars().count() >= WINDOW {
            let leak = leaked(&mail, &readable(folder.path()));
            prop_assert!(leak.is_none(), "{:?} of {:?} in {}", leak, mail, written(folder.path()));
        }
    }
}

#[test]
fn a_mail_of_a_word_reaches_the_medium_in_no_sentence_that_asks_for_it() {
    for mail in ["Zq7x", "ZQ7X Qj", "7zq", "Zq", "Ж"] {
        let folder = tempfile::tempdir().unwrap();
        let settings = Settings { redact: shipped(), ..Settings::new(folder.path()) };
        let mut journal = Journal::open(settings, Arc::new(ManualClock::default())).unwrap();
        let enough = letters(mail).chars().count() >= 4;
        let all = entries(mail);
        // Less than four letters are not looked for in what a fault or a finding says.
        let said = if enough { all.len() } else { 4 };
        for mut entry in all.into_iter().take(said) {
            if let Some(report) = entry.body.get_mut("report").filter(|_| !enough) {
                report.as_object_mut().unwrap().remove("findings");
            }
            journal.append(entry).unwrap();
        }
        let text = written(folder.path()).to_lowercase();
        assert!(!text.contains(&mail.to_lowercase()), "{mail}: {text}");
    }
}

#[test]
fn a_mail_that_a_thousand_others_followed_is_still_not_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { redact: shipped(), ..Settings::new(folder.path()) };
    let mut journal = Journal::open(settings, Arc::new(ManualClock::default())).unwrap();
    let first = "The spare key lies under the third flower pot.";
    for entry in entries(first) {
        journal.append(entry).unwrap();
    }
    for number in 0..1_000 {
        let place = Place::new("1", number);
        journal.append(Entry::turn(place, &format!("Tell them that I am {number} minutes late."))).unwrap();
    }
    journal.append(Entry::fault(None, "vehicle", &format!("it had sent {first:?} already"))).unwrap();
    assert_eq!(leaked(first, &readable(folder.path())), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_list_of_an_image_nothing_of_a_mail_or_of_its_reader_is_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let redact = format!("redact = {:?}\n", shipped());
    let rig = super::rig::Rig::start(keeping(folder.path()).config(&redact)).await;
    let client = client(&rig).await;
    let session = client.open().await;
    let secret = "PIN 4711\nof the \"Zaphod\" Ünïcode safe";
    heard(&session, &format!("Send a mail to anna.berger@example.org with the text: {secret}.")).await;
    let mail =
        calls(&[("send_email", json!({"content_message": secret, "email_addresses": ["anna.berger@example.org"]}))]);
    let report = execute(&session, &mail).await;
    assert_eq!(report["verdict"], "ask", "{report:#}");
    session.spoken(report["question"].as_str().unwrap()).await.unwrap();
    heard(&session, "Yes.").await;
    execute(&session, &mail).await;
    heard(&session, "What is Jonas Keller's phone number?").await;
    execute(&session, &calls(&[("get_contact_id_by_contact_name", json!({"first_name": "Jonas"}))])).await;
    execute(&session, &calls(&[("get_contact_information", json!({"contact_id": "con_4002"}))])).await;
    heard(&session, "What is in my calendar today?").await;
    execute(&session, &calls(&[("get_entries_from_calendar", json!({"month": 6, "day": 15}))])).await;
    let _rig = ended(rig).await;
    let started = &of(folder.path(), Kind::Started)[0].body;
    assert!(!started.to_string().contains("redacted"), "what judged stands as it is: {started}");
    let text = written(folder.path());
    for recorded in ["send_email", "\"grants\":[{", "con_4002", "cal_5001"] {
        assert!(text.contains(recorded), "{recorded} was not recorded: {text}");
    }
    assert_eq!(leaked(secret, &readable(folder.path())), None, "{text}");
    for personal in ["4711", "zaphod", "anna.berger", "keller", "+493023125027", "handover of the flat"] {
        assert!(!text.to_lowercase().contains(personal), "{personal} stands in the journal: {text}");
    }
}
