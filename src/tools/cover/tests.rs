use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;

use super::*;

fn arguments(properties: Json) -> Json {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn takes(wide: Json, narrow: Json) -> bool {
    covers(&arguments(json!({"x": wide})), &arguments(json!({"x": narrow}))).is_ok()
}

#[test]
fn a_wider_range_or_list_of_words_covers_a_narrower_one_and_not_the_other_way_round() {
    let pairs = [
        (json!({"type": "number"}), json!({"type": "integer"})),
        (
            json!({"type": "integer", "minimum": 0, "maximum": 100}),
            json!({"type": "integer", "minimum": 0, "maximum": 50}),
        ),
        (json!({"type": "string", "enum": ["A", "B", "C"]}), json!({"type": "string", "enum": ["A", "C"]})),
        (json!({"type": "integer"}), json!({"type": "integer", "multipleOf": 5})),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        ),
        (json!({"type": ["string", "null"]}), json!({"type": "string"})),
        (json!({"type": "string"}), json!({"type": "string", "maxLength": 8})),
        (json!(true), json!({"type": "string", "pattern": "^a"})),
        (json!({}), json!(false)),
    ];
    for (wide, narrow) in pairs {
        assert!(takes(wide.clone(), narrow.clone()), "{wide} {narrow}");
        assert!(takes(wide.clone(), wide.clone()) && takes(narrow.clone(), narrow.clone()));
        assert!(!takes(narrow.clone(), wide.clone()), "{narrow} {wide}");
    }
}

#[test]
fn parameters_are_compared_by_name() {
    let policy =
        json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    let provider = |required: Json, properties: Json| {
        let schema =
            json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false});
        covers(&schema, &policy)
    };
    let (a, b) = (json!({"type": "string"}), json!({"type": "number"}));
    assert_eq!(provider(json!(["a"]), json!({"a": a, "b": b, "more": {"type": "null"}})), Ok(()));
    assert_eq!(provider(json!([]), json!({"a": a})).unwrap_err().why, "does not take `b`");
    assert!(provider(json!(["a", "b"]), json!({"a": a, "b": b})).unwrap_err().why.contains("needs `b`"));
    assert_eq!(provider(json!([]), json!({"a": b, "b": b})).unwrap_err().path, "a");
}

#[test]
fn a_clause_that_nobody_understands_is_a_no_unless_the_policy_has_the_same() {
    let odd = json!({"type": "string", "contentEncoding": "base64"});
    assert!(!takes(odd.clone(), json!({"type": "string"})));
    assert!(!takes(json!({"type": "string", "pattern": "^a"}), json!({"type": "string", "pattern": "^ab"})));
    assert!(takes(
        json!({"type": "string", "pattern": "^a"}),
        json!({"type": "string", "pattern": "^a", "maxLength": 3})
    ));
    // The same reference leads elsewhere in another document.
    let refers = |leads: &str| json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": leads}}});
    assert!(covers(&refers("string"), &refers("string")).is_ok());
    assert!(covers(&refers("string"), &refers("integer")).is_err());
}

fn scalar() -> impl Strategy<Value = Json> {
    prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-3_i64..6).prop_map(Json::from),
        select(vec![0.5, 1.5, -2.5]).prop_map(Json::from),
        select(vec!["", "a", "ab", "abc"]).prop_map(Json::from),
    ]
}

fn value() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
            prop::collection::btree_map(select(vec!["p", "q", "r"]), inner, 0..3)
                .prop_map(|map| Json::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())),
        ]
    })
}

fn clause(inner: BoxedStrategy<Json>) -> impl Strategy<Value = (&'static str, Json)> {
    let kinds = vec!["null", "boolean", "object", "array", "number", "integer", "string"];
    let numbers = || select(vec![-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]).prop_map(Json::from);
    let counts = || (0_u8..3).prop_map(Json::from);
    let named = |inner: BoxedStrategy<Json>| {
        prop::collection::btree_map(select(vec!["p", "q", "r"]), inner, 0..3)
            .prop_map(|map| Json::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()))
    };
    prop_oneof![
        4 => subsequence(kinds, 1..3).prop_map(|k| ("type", Json::from(k))),
        2 => prop::collection::vec(scalar(), 1..4).prop_map(|v| ("enum", Json::from(v))),
        1 => scalar().prop_map(|v| ("const", v)),
        1 => numbers().prop_map(|n| ("minimum", n)),
        1 => numbers().prop_map(|n| ("maximum", n)),
        1 => numbers().prop_map(|n| ("exclusiveMinimum", n)),
        1 => numbers().prop_map(|n| ("exclusiveMaximum", n)),
        1 => select(vec![0.5, 1.0, 2.0]).prop_map(|n| ("multipleOf", Json::from(n))),
        1 => counts().prop_map(|n| ("minLength", n)),
        1 => counts().prop_map(|n| ("maxLength", n)),
        1 => counts().prop_map(|n| ("minItems", n)),
        1 => counts().prop_map(|n| ("maxItems", n)),
        1 => any::<bool>().prop_map(|b| ("uniqueItems", b.into())),
        1 => counts().prop_map(|n| ("minProperties", n)),
        1 => counts().prop_map(|n| ("maxProperties", n)),
        2 => subsequence(vec!["p", "q", "r"], 0..3).prop_map(|names| ("required", Json::from(names))),
        3 => named(inner.clone()).prop_map(|map| ("properties", map)),
        2 => prop_oneof![any::<bool>().prop_map(Json::from).boxed(), inner.clone()].prop_map(|s| ("additionalProperties", s)),
        2 => inner.clone().prop_map(|s| ("items", s)),
        1 => inner.clone().prop_map(|s| ("not", s)),
        1 => prop::collection::vec(inner, 1..3).prop_map(|all| ("anyOf", Json::from(all))),
    ]
}

fn schema() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![any::<bool>().prop_map(Json::from), Just(json!({}))].boxed();
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop::collection::vec(clause(inner.boxed()), 0..4)
            .prop_map(|clauses| Json::Object(clauses.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()))
    })
}

/// A schema, and one that differs from it in a clause or two: pairs of strangers hardly ever cover each other.
fn related() -> impl Strategy<Value = (Json, Json)> {
    let leaf = schema().boxed();
    let more = || prop::collection::vec(clause(leaf.clone()), 0..3);
    (schema(), more(), more()).prop_map(|(base, left, right)| {
        let with = |extra: Vec<(&str, Json)>| {
            let mut map = base.as_object().cloned().unwrap_or_default();
            map.extend(extra.into_iter().map(|(k, v)| (k.to_owned(), v)));
            Json::Object(map)
        };
        (with(left), with(right))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]
    #[test]
    fn a_yes_is_certain((wide, narrow) in related(), values in prop::collection::vec(value(), 1..12)) {
        let wide = arguments(json!({"x": wide}));
        let narrow = arguments(json!({"x": narrow}));
        if covers(&wide, &narrow).is_ok() {
            let (wide_check, narrow_check) =
                (jsonschema::validator_for(&wide).unwrap(), jsonschema::validator_for(&narrow).unwrap());
            for value in values {
                let arguments = json!({"x": value});
                prop_assert!(!narrow_check.is_valid(&arguments) || wide_check.is_valid(&arguments), "{wide} {narrow} {arguments}");
            }
        }
    }
}
