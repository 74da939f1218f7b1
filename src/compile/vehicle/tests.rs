//! What is refused in an effect model, with which words.

use crate::compile::testing::{VEHICLE, compiled, exchange, set, vehicle_errors};
use crate::compile::{SourceFile, compile};
use crate::state::{ItemRef, SetFrom};

#[test]
fn items_are_matched_with_the_words_of_the_tool_in_any_case() {
    let model = compiled("").parts.model;
    let item = model.tools[3].item.as_ref().unwrap();
    let words: Vec<(&str, ItemRef)> = item.words.iter().map(|(w, r)| (w.as_str(), *r)).collect();
    assert_eq!(words, [("NORTH", ItemRef::One(0)), ("SOUTH", ItemRef::One(1)), ("ALL", ItemRef::All)]);
    assert!(matches!(&model.tools[3].sets[0].from, SetFrom::Argument { name, .. } if name == "opening"));
}

#[test]
fn arguments_count_in_the_steps_of_the_attribute_they_set() {
    let parts = compiled("").parts;
    assert_eq!(parts.inventory[5].params[0].resolution.steps(), 10);
}

#[test]
fn the_car_is_always_there_and_comes_first() {
    let model = compiled("").parts.model;
    assert_eq!(model.entities[0].name, "Car");
    assert!(model.entities[0].is_singleton());
    assert_eq!((model.entities[1].name.as_str(), model.cells), ("Vent", 6));
}

/// Each mistake, by the line it stands on and the words that say what to do.
#[test]
fn every_mistake_is_named_with_its_line() {
    for (line, with, says) in [
        ("read = \"get_vents\"", "read = \"get_vent\"", ":7: there is no tool `get_vent`; did you mean `get_vents`?"),
        ("read = \"get_vents\"", "read = \"set_vent\"", ":7: `set_vent` changes things"),
        ("items = [\"north\", \"south\"]", "items = []", ":5: `Vent` has an empty list of items"),
        ("vent_*", "vent_x_*", "has no field `vent_x_north`; did you mean `vent_north`?"),
        ("vent_*", "vent", ":9: the field `vent` has no `*`"),
        ("\"warmth\", read", "\"*\", read", ":11: the field `*` has a `*`, but `Car` has no items"),
        ("type = \"bool\"", "type = \"int\"", "returns `fan` as boolean, but it is declared as `int`"),
        ("parts = [\"ROOF\", \"FLOOR\"] }", "resolution = 2 }", ":13: only a number"),
        (", parts = [\"ROOF\", \"FLOOR\"]", "", ":13: `parts` belongs to type `parts`"),
        ("sky = {", "before_sky = {", "cannot be called `before_sky`"),
        ("[observation.forecast]", "[observation.session]", "cannot be called `session`"),
        ("read = \"get_forecast\"", "", ":15: the observation `forecast` needs `read"),
        ("read = \"get_forecast\"", "read = \"get_forecast\"\nreads = \"x\"", "`reads` is no field of an observation"),
        ("count = \"Car.log\"", "count = \"Car.fan\"", ":19: `count` is a function of a list, and `Car.fan` is none"),
        ("count = \"Car.log\"", "sum = \"Car.log\"", "there is no function `sum`"),
        ("count = \"Car.log\"", "count = \"log\"", "`log` names no attribute; write `Entity.attribute`"),
        ("{ count = \"Car.log\" }", "{}", "`entries` needs exactly one function"),
        ("nobody = []", "write = []", ":4: a group cannot be called `write`"),
        ("nobody = []", "no-body = []", "`no-body` cannot name a group"),
        ("nobody = []", "nobody = [\"x\"]", "there is no tool `x`"),
        ("argument = \"vent\"", "argument = \"opening\"", "`opening` of `set_vent` is no word"),
        ("argument = \"vent\"", "argument = \"window\"", "there is no argument `window`"),
        ("entity = \"Vent\", all", "entity = \"Car\", all", "`Car` has no items, so no argument can name one"),
        ("all = \"ALL\"", "all = \"EVERY\"", "there is no enumeration member `EVERY`"),
        ("all = \"ALL\"", "all = \"ALL\", aliases = { NORTH = \"west\" }", "there is no item `west`"),
        ("\"Vent.opening\" = \"opening\"", "\"Vent.width\" = \"opening\"", "there is no attribute `Vent.width`"),
        ("\"Vent.opening\" = \"opening\"", "\"Vent.opening\" = \"vent\"", "`Vent.opening` is a `int`"),
        ("argument = \"on\"", "value = \"x\"", "`Car.fan` is a `bool`, but the value `\"x\"` is a word"),
        ("argument = \"on\"", "value = true, when = { on = [\"x\"] }", "can never be `\"x\"`"),
        (
            "argument = \"on\"",
            "value = true, argument = \"on\"",
            "`Car.fan` needs `argument` or `value`, one of the two",
        ),
        (
            "argument = \"flow\"",
            "argument = \"flow\", map = { ROOF = \"TOP\" }",
            "`flow` can be `TOP`, but `get_air` reports",
        ),
        ("resolution = 10", "resolution = 4", "`degrees` of `set_warmth` has 10 steps per unit"),
        ("[tool.set_vent]", "[tool.get_vents]\ntouches = [\"Car.fan\"]\n[tool.set_vent]", "`get_vents` is no write"),
        ("[tool.set_vent]", "[tool.get_vents]\nkind = \"write\"\n[tool.set_vent]", "is declared as a write, but its"),
        ("[tool.set_vent]", "[tool.set_vnt]\n[tool.set_vent]", "there is no tool `set_vnt`; did you mean `set_vent`?"),
        ("[group]", "[now]\nhour = \"CLOCK\"\n[group]", "`CLOCK` does not say where it stands"),
        ("[group]", "[now]\nera = \"CLOCK.era\"\n[group]", "there is no field of `now` `era`"),
        ("[group]", "[role]\nplanner = \"plan\"\n[group]", "there is no tool `plan`"),
        ("[group]", "wings = 2\n[group]", ":2: unknown field `wings`"),
        ("id = \"greenhouse\"", "id = \"\"", ":1: `` cannot name a policy set"),
    ] {
        let errors = vehicle_errors(&exchange(line, with));
        assert!(errors.contains(says), "`{with}` in place of `{line}`: {errors}");
        assert!(errors.starts_with("greenhouse/vehicle.toml:"), "{errors}");
    }
}

#[test]
fn a_tool_of_which_nobody_says_whether_it_writes_is_refused() {
    let mut silent = set(VEHICLE, "");
    let text = silent.tools.text().replace(r#"{"readOnlyHint": false, "openWorldHint": true}"#, "{}");
    silent.tools = SourceFile::new("greenhouse/tools.json", text);
    let errors = compile(&silent).unwrap_err().to_string();
    assert!(errors.contains("`[tool.send_note]` says whether `send_note` reads or writes"), "{errors}");
    silent.vehicle = SourceFile::new("v.toml", format!("{VEHICLE}[tool.send_note]\nkind = \"write\"\n"));
    assert!(compile(&silent).is_ok());
}

#[test]
fn a_marker_or_a_word_that_means_nothing_is_a_warning() {
    let marked = exchange("[group]", "[markers]\nneeds_consent = [\"ASK\"]\n[group]");
    let warnings = compile(&set(&marked, "")).unwrap().warnings;
    assert!(warnings[0].what.contains("no tool description begins with `ASK`"));
    let silent = exchange(", all = \"ALL\"", "");
    let warnings = compile(&set(&silent, "")).unwrap().warnings;
    assert!(warnings[0].what.contains("`ALL` of `vent` stands for no item of `Vent`"), "{warnings:?}");
}
