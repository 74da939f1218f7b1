//! What is sent has a bounded size: a bus with limits throws out whoever sends more, and that would be the guard.

use serde::Serialize;
use serde_json::{Value as Json, json};

/// Bytes of one text that is sent. Two of them, with what goes along, stay below [`MESSAGE`].
pub(super) const TEXT: usize = 192 << 10;

/// Bytes of one message; `systemd/obligato-bus-limits.conf` lets half a megabyte through.
pub(super) const MESSAGE: usize = 480 << 10;

/// Bytes of one sentence of an error.
const SENTENCE: usize = 2_048;

/// The member that says that something was cut.
const CUT: &str = "shortened";

/// JSON of at most [`TEXT`] bytes. What takes more has its texts cut, and then its lists, and says so in the member
/// `shortened`.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn json<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let whole = serde_json::to_string(value)?;
    if whole.len() <= TEXT {
        return Ok(whole);
    }
    let bytes = whole.len();
    let mut json: Json = serde_json::from_str(&whole)?;
    for (letters, items) in [(4_096, usize::MAX), (512, usize::MAX), (128, 64), (64, 16), (32, 4)] {
        cut(&mut json, letters, items);
        if let Json::Object(map) = &mut json {
            map.insert(CUT.to_owned(), true.into());
        }
        let text = json.to_string();
        if text.len() <= TEXT {
            return Ok(text);
        }
    }
    Ok(json!({ CUT: true, "bytes": bytes }).to_string())
}

/// A text of at most [`TEXT`] bytes.
pub(super) fn text(text: &str) -> String {
    clipped(text, TEXT)
}

/// A sentence of an error, which may quote what was sent.
pub(super) fn sentence(text: &str) -> String {
    clipped(text, SENTENCE)
}

fn cut(json: &mut Json, letters: usize, items: usize) {
    match json {
        Json::String(text) if text.len() > letters => *text = clipped(text, letters),
        Json::Array(list) => {
            list.truncate(items);
            list.iter_mut().for_each(|item| cut(item, letters, items));
        }
        Json::Object(map) => {
            // What has as many members has names that somebody chose.
            if map.len() > items.max(64) {
                let names: Vec<String> = map.keys().skip(items.max(64)).cloned().collect();
                names.iter().for_each(|name| drop(map.remove(name)));
            }
            map.iter_mut().for_each(|(_, value)| cut(value, letters, items));
        }
        _ => {}
    }
}

/// The beginning of a text, with the bytes that it had.
fn clipped(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let note = format!("… ({} bytes)", text.len());
    let room = most.saturating_sub(note.len());
    let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}{note}", text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_sent_as_it_is_and_what_does_not_is_cut_until_it_does() {
        let small = json!({"verdict": "clear", "findings": []});
        assert_eq!(json(&small).unwrap(), small.to_string());
        let finding = json!({"because": "\"\\\u{1}ä".repeat(20_000), "remedy": []});
        let many = json!({"verdict": "revise", "findings": vec![finding; 64], "amended": vec![json!({"a": "x"}); 40]});
        let told: Json = serde_json::from_str(&json(&many).unwrap()).unwrap();
        assert!(told.to_string().len() <= TEXT);
        assert_eq!((&told["verdict"], &told["shortened"]), (&json!("revise"), &json!(true)));
        assert_eq!(told["findings"].as_array().unwrap().len(), 64);
    }

    #[test]
    fn whatever_is_sent_is_bounded() {
        let deep = (0..100).fold(json!("x".repeat(TEXT)), |inner, _| json!([inner.clone(), "y"]));
        let wide = Json::Object((0..50_000).map(|n| (format!("name {n}"), n.into())).collect());
        let names = json!({ "n".repeat(2 * TEXT): 1 });
        for json in [deep, wide, names, json!(vec!["z".repeat(100); 10_000]), json!(["é".repeat(TEXT)])] {
            assert!(super::json(&json).unwrap().len() <= TEXT);
        }
        assert!(text(&"é".repeat(TEXT)).len() <= TEXT && sentence(&"é".repeat(TEXT)).len() <= SENTENCE);
    }
}
