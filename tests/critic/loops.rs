//! Remedies that call for each other: round a circle of any length, or only for a while.

use crate::mutator::{Parts, SWITCHES, fault, remedying, with};
use crate::{Faulty, all_found, critique, solver};

/// A rule on a call of this tool.
fn rule(id: &str, tool: &str, when: impl Into<String>, remedy: &str) -> Parts {
    remedying(id, tool, "Car", when).with("remedy", remedy)
}

fn on(tool: &str) -> String {
    format!("{tool}(on: true)")
}

fn off(tool: &str) -> String {
    format!("{tool}(on: false)")
}

/// Every three of the switches, in every order.
fn threes() -> impl Iterator<Item = [(&'static str, &'static str); 3]> {
    let pick = |a: usize, b: usize, c: usize| [SWITCHES[a], SWITCHES[b], SWITCHES[c]];
    (0..125)
        .map(|n| (n / 25, n / 5 % 5, n % 5))
        .filter(|(a, b, c)| a != b && b != c && a != c)
        .map(move |(a, b, c)| pick(a, b, c))
}

/// Three rules over three tools: each but the last is a companion's companion, and the last takes back what the first
/// two asked for.
fn circle([a, b, c]: [(&str, &str); 3], last: &str) -> [Parts; 3] {
    let needs = |id: &str, tool: &str, (needed, attribute): (&str, &str)| {
        rule(id, tool, format!("context.input.on && !resource.{attribute}"), &on(needed))
    };
    let undoes = rule("third", c.0, format!("context.input.on && resource.{}", b.1), last);
    [needs("first", a.0, b), needs("second", b.0, c), undoes]
}

fn faulty([first, second, third]: &[Parts; 3]) -> Faulty {
    fault(format!("{}, {} and {} go round", first.scope, second.scope, third.scope), third, &[first, second])
}

#[test]
fn a_circle_of_three_rules_over_three_tools_is_found() {
    if !solver("loops of three remedies") {
        return;
    }
    let turned_back = threes().map(|t| circle(t, &format!("{}; {}", off(t[1].0), off(t[2].0))));
    let begun_again = threes().map(|t| circle(t, &format!("{}; {}", off(t[1].0), on(t[0].0))));
    let taken_back = threes().map(|t| circle(t, &off(t[1].0)));
    for kind in [turned_back.collect::<Vec<_>>(), begun_again.collect(), taken_back.collect()] {
        all_found("remedy-chain", kind.iter().map(faulty));
    }
}

/// What the check says of these rules, and which rules each loop has.
fn loops(rules: &[Parts]) -> Vec<Vec<String>> {
    let critique = critique(&with(&rules.iter().collect::<Vec<_>>()), "remedy-chain");
    critique.errors("remedy-chain").map(|f| f.rules.clone()).collect()
}

#[test]
fn a_circle_names_every_rule_of_it_and_a_call_that_begins_it() {
    if !solver("loops of three remedies") {
        return;
    }
    let three = threes().next().unwrap();
    let rules = circle(three, &format!("{}; {}", off(three[1].0), off(three[2].0)));
    let critique = critique(&with(&rules.iter().collect::<Vec<_>>()), "remedy-chain");
    let found: Vec<_> = critique.errors("remedy-chain").collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].rules, ["first", "second", "third"]);
    let example = found[0].example.as_ref().unwrap();
    assert!(example.starts_with("set_air_conditioning(on: true)"), "{example}");
}

/// Rules on one call that hand a number round: as many as the engine has rounds, and every number below.
#[test]
fn circles_of_every_length_up_to_the_engines_rounds_are_found() {
    if !solver("long loops of remedies") {
        return;
    }
    for length in 2..=16_usize {
        let hands_on = |n: usize| {
            let when = format!("context.input.on && resource.sunshade_position == {n}");
            rule(
                &format!("from-{n}"),
                "set_dome_light",
                when,
                &format!("open_close_sunshade(percentage: {})", (n + 1) % length),
            )
        };
        let rules: Vec<Parts> = (0..length).map(hands_on).collect();
        let found = loops(&rules);
        assert_eq!(found.len(), 1, "{length}: {found:?}");
        assert_eq!(found[0].len(), length);
    }
}

/// Over items: the same window is opened and closed.
#[test]
fn a_circle_about_one_window_is_found() {
    if !solver("loops about items") {
        return;
    }
    let about = |mut rule: Parts| {
        rule.scope = rule.scope.replace("resource is Car", "resource is Window");
        rule
    };
    let to = |percentage: u8| format!("open_close_window(window: <resource>, percentage: {percentage})");
    let opens = about(rule("opens", "set_dome_light", "context.input.on && resource.position < 10", &to(50)));
    let closes = about(rule("closes", "open_close_window", "resource.addressed && resource.position > 40", &to(0)));
    assert_eq!(loops(&[opens.clone(), closes]), [["opens", "closes"]]);
    let narrows = about(rule("narrows", "open_close_window", "resource.addressed && resource.position > 60", &to(50)));
    assert_eq!(loops(&[opens, narrows]), Vec::<Vec<String>>::new());
}

#[test]
fn remedies_that_come_to_rest_are_no_circle() {
    if !solver("chains that end") {
        return;
    }
    let mut tried = 0;
    for three in threes() {
        let [a, b, c] = three;
        let other = SWITCHES.into_iter().find(|s| !three.contains(s)).unwrap();
        let [first, second, third] = circle(three, &off(b.0));
        // Each of these takes the last rule out of the circle in another way.
        let excepted = third.when(format!("{} && !resource.{}", third.when, c.1));
        let by_day = third.when(format!("{} && context.now.hour >= 12", third.when));
        let by_night = first.when(format!("{} && context.now.hour < 12", first.when));
        let on_another_call = third.when(third.when.replace("context.input.on", "!context.input.on"));
        let once = third.when(format!("{} && !resource.{}", third.when, other.1));
        let once = once.with("remedy", &format!("{}; {}", off(b.0), on(other.0)));
        let forward = third.with("remedy", &on(a.0)).when(format!("context.input.on && !resource.{}", a.1));
        for rules in [
            [first.clone(), second.clone(), excepted],
            [by_night, second.clone(), by_day],
            [first.clone(), second.clone(), on_another_call],
            [first.clone(), second.clone(), once],
            [first, second, forward],
        ] {
            let found = loops(&rules);
            assert!(found.is_empty(), "{three:?}: {found:?}\n{}", rules.iter().map(Parts::text).collect::<String>());
            tried += 1;
        }
        if tried >= crate::FAULTS * 5 {
            break;
        }
    }
}
