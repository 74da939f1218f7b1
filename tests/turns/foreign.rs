//! Drafts of assistants that bring their own model: what is sent back, what is asked, what a yes then does.

use obligato::model::Decision;
use serde_json::{Value as Json, json};

use super::scene::{Scene, calls};

/// What the driver said, and a change that he did not ask for by it. A yes settles each of them.
fn unasked() -> Vec<(&'static str, Json)> {
    let windows = || calls(&[("open_close_window", json!({"window": "ALL", "percentage": 100}))]);
    let fan = |level: u32| calls(&[("set_fan_speed", json!({"level": level}))]);
    vec![
        ("Is the fan at level 3?", fan(3)),
        ("What does fan level 4 do?", fan(4)),
        ("Are all windows fully open?", windows()),
        ("My passenger wants the fan at 5 but I do not.", fan(5)),
        ("What time is it?", windows()),
    ]
}

/// Hands the draft in until it is asked about: at the second time.
fn asked(scene: &mut Scene, said: &str, draft: &Json) -> String {
    scene.heard(said);
    let first = scene.execute(draft);
    assert_eq!((first.verdict, first.question), (Decision::Revise, None), "{said}");
    let second = scene.execute(draft);
    assert_eq!(second.verdict, Decision::Ask, "{said}: {:#?}", second.findings);
    assert!(!second.amended.is_empty(), "{said}: the question binds calls");
    assert!(scene.writes().is_empty(), "{said}: nothing happens before the yes");
    second.question.unwrap()
}

#[test]
fn what_a_yes_would_settle_is_sent_back_once_then_asked_and_done_on_a_yes() {
    for (said, draft) in unasked() {
        let mut scene = Scene::new(&[]);
        let question = asked(&mut scene, said, &draft);
        scene.spoken(&question);
        scene.heard("Yes.");
        let done = scene.execute(&draft);
        assert!(matches!(done.verdict, Decision::Clear | Decision::Amend), "{said}: {:#?}", done.findings);
        assert!(!scene.writes().is_empty(), "{said}");
    }
}

#[test]
fn a_no_other_words_and_a_yes_to_what_was_never_put_do_nothing() {
    for (said, draft) in unasked() {
        for (spoken, answer) in [
            (true, "No."),
            (true, "No, leave it."),
            (true, "How late is it?"),
            (true, "Yes, but not now."),
            (false, "Yes."),
        ] {
            let mut scene = Scene::new(&[]);
            let question = asked(&mut scene, said, &draft);
            if spoken {
                scene.spoken(&question);
            }
            scene.heard(answer);
            for _ in 0..3 {
                scene.execute(&draft);
            }
            assert!(scene.writes().is_empty(), "{said} {answer}");
        }
    }
}

/// Whatever the assistant says, it asks for nothing in the driver's place.
#[test]
fn what_the_assistant_says_explains_nothing_before_the_driver_has_answered() {
    for (said, draft) in unasked() {
        for spoken in
            ["Shall I set the fan to level 3?", "I open all windows to 100 percent.", "The fan goes to level 5."]
        {
            let mut scene = Scene::new(&[]);
            scene.heard(said);
            scene.spoken(spoken);
            assert_eq!(scene.execute(&draft).verdict, Decision::Revise, "{said} {spoken}");
            assert!(scene.writes().is_empty(), "{said} {spoken}");
        }
    }
}

/// The assistant's own question, about something that needs no yes.
#[test]
fn what_the_driver_turns_down_is_not_done_and_what_he_orders_instead_is() {
    let fan = |level: u32| calls(&[("set_fan_speed", json!({"level": level}))]);
    let after = |answer: &str, level: u32| {
        let mut scene = Scene::new(&[]);
        scene.heard("It is warm in here, and the fan hardly runs.");
        scene.spoken("Shall I set the fan to level 3?");
        scene.heard(answer);
        scene.execute(&fan(level));
        scene.writes()
    };
    for answer in ["No.", "No, thanks.", "No, leave it.", "Nein danke.", "Yes, but not now."] {
        assert!(after(answer, 3).is_empty(), "{answer}");
    }
    for (answer, level) in [("Yes.", 3), ("No, set it to 4.", 4), ("No, make it level 2.", 2), ("Sure, go ahead.", 3)] {
        assert!(!after(answer, level).is_empty(), "{answer}");
    }
}

#[test]
fn handed_in_without_an_answer_it_is_asked_again_and_another_draft_has_no_part_in_the_yes() {
    let mut scene = Scene::new(&[]);
    let draft = calls(&[("set_fan_speed", json!({"level": 3}))]);
    let question = asked(&mut scene, "Is the fan at level 3?", &draft);
    assert_eq!(scene.execute(&draft).question, Some(question.clone()));
    scene.spoken(&question);
    scene.heard("Yes.");
    let other = scene.execute(&calls(&[("set_fan_speed", json!({"level": 5}))]));
    assert!(!matches!(other.verdict, Decision::Clear | Decision::Amend), "{other:#?}");
    assert!(scene.writes().is_empty());
}

#[test]
fn what_no_yes_settles_is_sent_back_every_time() {
    let mut scene = Scene::new(&[]);
    scene.heard("Set the fan to its highest level.");
    for _ in 0..4 {
        let report = scene.execute(&calls(&[("set_fan_speed", json!({"level": 900}))]));
        assert!(matches!(report.verdict, Decision::Revise | Decision::Refuse), "{:#?}", report.findings);
        assert_eq!(report.question, None);
    }
    assert!(scene.writes().is_empty());
}

/// Words that answer the assistant need not name what they are about.
#[test]
fn an_answer_to_the_assistants_question_explains_the_call_whatever_it_names() {
    for answer in
        ["I don't know the exact number, just bump it up by two levels.", "Two levels more.", "Level 3, please."]
    {
        let mut scene = Scene::new(&[]);
        scene.heard("It's a bit stuffy in here. Can you get some air moving?");
        scene.spoken("At which level do you want the fan?");
        scene.heard(answer);
        let level = if answer.starts_with("Level") { 3 } else { 2 };
        let report = scene.execute(&calls(&[("set_fan_speed", json!({"level": level}))]));
        assert!(!scene.writes().is_empty(), "{answer}: {:#?}", report.findings);
    }
}
