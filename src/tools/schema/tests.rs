use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;

use super::*;

/// What is wrong, sorted: the members of a JSON object have no order.
fn says(schema: Json, value: Json) -> Vec<String> {
    let schema = Schema::read(&schema).unwrap();
    let violations = schema.violations(&value);
    let mut found: Vec<String> = violations.iter().map(|v| format!("{}: {}", v.path, v.sentence())).collect();
    assert_eq!(schema.accepts(&value), found.is_empty());
    found.sort();
    found
}

fn refused(schema: Json) -> String {
    Schema::read(&schema).unwrap_err().to_string()
}

#[test]
fn a_violation_names_its_place_what_stands_there_and_what_is_wrong() {
    let window = json!({"type": "object", "required": ["window", "percentage"], "additionalProperties": false, "properties": {
        "window": {"enum": ["ALL", "DRIVER", "PASSENGER", "REAR"]},
        "percentage": {"type": "number", "minimum": 0, "maximum": 100, "multipleOf": 0.5},
        "list": {"type": ["array", "null"], "maxItems": 1, "items": {"minLength": 2}}}});
    assert_eq!(says(window.clone(), json!({"window": "ALL", "percentage": 12.5, "list": null})), [""; 0]);
    assert_eq!(
        says(window.clone(), json!({"window": "FRONT", "percentage": 100.25, "list": ["a", "bc"], "more/so": 1})),
        [
            ": Additional properties are not allowed ('more/so' was unexpected)",
            "list.0: \"a\" is shorter than 2 characters",
            "list: [\"a\",\"bc\"] has more than 1 item",
            "percentage: 100.25 is greater than the maximum of 100",
            "percentage: 100.25 is not a multiple of 0.5",
            "window: \"FRONT\" is not one of \"ALL\", \"DRIVER\" or 2 other candidates",
        ]
    );
    assert_eq!(
        says(window, json!({"window": "ALL", "list": 1})),
        [": \"percentage\" is a required property", "list: 1 is not of types \"array\", \"null\""]
    );
    let schema = Schema::read(&json!({"properties": {"secret": {"const": 1, "type": "string"}}})).unwrap();
    let value = json!({"secret": 2});
    assert!(schema.violations(&value).iter().all(|v| !v.about(&"the value").contains('2')));
}

#[test]
fn what_is_not_understood_is_refused_with_its_place_and_never_passed_over() {
    assert_eq!(
        refused(json!({"properties": {"a": {"unevaluatedProperties": false}}})),
        "/properties/a: `unevaluatedProperties` is not understood; say `additionalProperties` where the properties are named"
    );
    for schema in [
        json!({"$dynamicRef": "#x"}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#"}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "date"}),
        json!({"items": [{"type": "null"}]}),
        json!({"$ref": "https://example.com/other.json"}),
        json!({"$ref": "#/nowhere"}),
        json!({"minimum": "0"}),
        json!({"multipleOf": 0}),
        json!({"maxLength": -1}),
        json!({"type": "text"}),
        json!({"required": "a"}),
        json!({"anyOf": []}),
        json!({"properties": {"a": 1}}),
        json!({"$defs": {"never used": {"pattern": "("}}}),
        json!({"pattern": "(?=a)b"}),
        json!({"pattern": r"\p{L}"}),
        json!({"pattern": r"(a)\1"}),
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
    ] {
        let said = refused(schema.clone());
        assert!(said.starts_with('/') || said.starts_with("a schema refers"), "{schema}: {said}");
    }
}

#[test]
fn a_reference_into_the_schema_may_come_back_to_itself_through_a_member() {
    let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "more": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}});
    assert_eq!(says(tree.clone(), json!({"name": "a", "more": [{"name": "b", "more": []}]})), [""; 0]);
    assert_eq!(says(tree, json!({"name": "a", "more": [{"name": 1}]})), ["more.0.name: 1 is not of type \"string\""]);
}

#[test]
fn numbers_are_what_they_are_worth_and_not_how_they_are_written() {
    let holds = |schema: Json, value: Json| says(schema, value).is_empty();
    for (step, value) in [(0.1, 0.3), (0.01, 1.13), (0.5, 1e10), (1e-7, 0.000_000_3), (2.5, 1e22)] {
        assert!(holds(json!({"multipleOf": step}), json!(value)), "{step} {value}");
    }
    for (step, value) in [(0.1, 0.35), (0.5, 0.25), (1.0, 1e-300), (3.0, 1e22), (0.3, 1e10)] {
        assert!(!holds(json!({"multipleOf": step}), json!(value)), "{step} {value}");
    }
    assert!(holds(json!({"type": "integer", "const": 3}), json!(3.0)));
    assert!(!holds(json!({"maximum": 9_007_199_254_740_992_u64}), json!(9_007_199_254_740_993_u64)));
    assert!(holds(json!({"maximum": 1e300}), json!(u64::MAX)) && !holds(json!({"minimum": -1e300}), json!(-2e300)));
}

#[test]
fn patterns_are_those_of_ecma_262() {
    let matches = |pattern: &str, text: &str| says(json!({"pattern": pattern}), json!(text)).is_empty();
    assert!(matches(r"^\d{2}:\d{2}$", "08:30") && !matches(r"^\d{2}:\d{2}$", "8:30"));
    // Digits and word characters are those of ASCII, white space is not.
    assert!(!matches(r"\d", "٣") && !matches(r"^\w$", "é") && matches(r"^\s[\s]$", "\u{a0}\u{3000}"));
    assert!(!matches("^.$", "\r") && !matches("^.$", "\u{2028}") && matches("^.$", "é"));
    assert!(matches(r"^[[&~\]]+$", "[&~]") && matches(r"^a\/b\-c$", "a/b-c") && matches(r"^(?:a|(?<n>b))+$", "ab"));
}

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-3_i64..6).prop_map(Json::from),
        select(vec![0.5, 1.0, 1.5, -2.5, 0.3, 1e17, 1e-5]).prop_map(Json::from),
        select(vec!["", "a", "ab", "äbc", "7\n", "\u{2028}"]).prop_map(Json::from),
    ]
}

fn value() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(3, 20, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(select(vec!["p", "q", "r"]), inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

fn named(inner: BoxedStrategy<Json>, names: Vec<&'static str>) -> impl Strategy<Value = Json> {
    prop::collection::btree_map(select(names), inner, 0..3)
        .prop_map(|map| Json::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()))
}

fn of_values() -> impl Strategy<Value = (&'static str, Json)> {
    let kinds = vec!["null", "boolean", "object", "array", "number", "integer", "string"];
    let numbers = || select(vec![-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 1e17]).prop_map(Json::from);
    let counts = || (0_u8..4).prop_map(Json::from);
    prop_oneof![
        4 => subsequence(kinds, 1..4).prop_map(|k| ("type", Json::from(k))),
        2 => prop::collection::vec(value(), 1..5).prop_map(|v| ("enum", Json::from(v))),
        1 => value().prop_map(|v| ("const", v)),
        1 => numbers().prop_map(|n| ("minimum", n)),
        1 => numbers().prop_map(|n| ("maximum", n)),
        1 => numbers().prop_map(|n| ("exclusiveMinimum", n)),
        1 => numbers().prop_map(|n| ("exclusiveMaximum", n)),
        1 => select(vec![0.1, 0.5, 1.0, 2.0, 3.0]).prop_map(|n| ("multipleOf", Json::from(n))),
        1 => counts().prop_map(|n| ("minLength", n)),
        1 => counts().prop_map(|n| ("maxLength", n)),
        1 => select(vec!["^a", "b$", ".", r"^\w+$", r"\d", "[^a]", r"\S", "^(a|7)"]).prop_map(|p| ("pattern", p.into())),
        1 => counts().prop_map(|n| ("minItems", n)),
        1 => counts().prop_map(|n| ("maxItems", n)),
        1 => any::<bool>().prop_map(|b| ("uniqueItems", b.into())),
        1 => counts().prop_map(|n| ("minProperties", n)),
        1 => counts().prop_map(|n| ("maxProperties", n)),
        1 => counts().prop_map(|n| ("minContains", n)),
        1 => counts().prop_map(|n| ("maxContains", n)),
        2 => subsequence(vec!["p", "q", "r"], 0..3).prop_map(|names| ("required", Json::from(names))),
        1 => subsequence(vec!["q", "r"], 0..2).prop_map(|names| ("dependentRequired", json!({"p": names}))),
        1 => Just(("$ref", json!("#/$defs/x"))),
    ]
}

fn of_schemas(inner: BoxedStrategy<Json>) -> impl Strategy<Value = (&'static str, Json)> {
    let some = |inner: &BoxedStrategy<Json>| prop::collection::vec(inner.clone(), 1..3).prop_map(Json::from);
    prop_oneof![
        3 => named(inner.clone(), vec!["p", "q", "r"]).prop_map(|map| ("properties", map)),
        1 => named(inner.clone(), vec!["^p", "q|r", "."]).prop_map(|map| ("patternProperties", map)),
        1 => named(inner.clone(), vec!["p", "q"]).prop_map(|map| ("dependentSchemas", map)),
        2 => inner.clone().prop_map(|s| ("additionalProperties", s)),
        1 => inner.clone().prop_map(|s| ("propertyNames", s)),
        2 => inner.clone().prop_map(|s| ("items", s)),
        1 => some(&inner).prop_map(|all| ("prefixItems", all)),
        1 => inner.clone().prop_map(|s| ("contains", s)),
        1 => inner.clone().prop_map(|s| ("not", s)),
        1 => inner.clone().prop_map(|s| ("if", s)),
        1 => inner.clone().prop_map(|s| ("then", s)),
        1 => inner.clone().prop_map(|s| ("else", s)),
        1 => some(&inner).prop_map(|all| ("allOf", all)),
        1 => some(&inner).prop_map(|all| ("anyOf", all)),
        1 => some(&inner).prop_map(|all| ("oneOf", all)),
    ]
}

fn schema() -> impl Strategy<Value = Json> {
    let map = |clauses: Vec<(&str, Json)>| Json::Object(clauses.into_iter().map(|(k, v)| (k.to_owned(), v)).collect());
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Json::from),
        4 => prop::collection::vec(of_values(), 0..3).prop_map(map),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let inner = inner.boxed();
        (prop::collection::vec(of_values(), 0..2), prop::collection::vec(of_schemas(inner), 0..3))
            .prop_map(move |(left, right)| map(left.into_iter().chain(right).collect()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, ..ProptestConfig::default() })]
    /// The other one is a published implementation of the whole of JSON Schema.
    #[test]
    fn the_judgement_is_that_of_another_implementation(part in schema(), shared in schema(), values in prop::collection::vec(value(), 1..12)) {
        let whole = json!({"properties": {"x": part}, "$defs": {"x": shared}});
        // A shared part that asks for itself is refused here; the other one finds out when it judges.
        let Ok(ours) = Schema::read(&whole) else { return Ok(()) };
        let theirs = jsonschema::validator_for(&whole).unwrap();
        for value in values {
            let value = json!({"x": value});
            prop_assert_eq!(ours.accepts(&value), theirs.is_valid(&value), "{} {}", &whole, &value);
            let (ours, theirs) = (ours.violations(&value), theirs.iter_errors(&value).count());
            prop_assert_eq!(ours.is_empty(), theirs == 0, "{} {}", &whole, &value);
        }
    }
}
