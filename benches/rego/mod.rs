//! The same forbids in Rego, generated from Cedar's JSON form, so that nobody's hand favours a side.

use std::fmt::Write;

use cedar_policy::{Policy, PolicySet};
use serde_json::Value;

/// A module whose set `forbid` holds the `@id` of each forbid that holds.
pub fn from_cedar(policies: &PolicySet) -> String {
    let mut out = String::from("package paper\n\n");
    let mut forbids: Vec<&Policy> = policies.policies().collect();
    forbids.sort_by_key(|p| p.annotation("id").unwrap().to_owned());
    for policy in forbids {
        let json = policy.to_json().unwrap();
        if json["effect"] == "permit" {
            continue;
        }
        let mut rego =
            Rego { helpers: String::new(), name: format!("h_{}", policy.annotation("id").unwrap()), count: 0 };
        let mut body = Vec::new();
        for condition in json["conditions"].as_array().unwrap() {
            assert_eq!(condition["kind"], "when", "the paper has no `unless`");
            rego.conjuncts(&condition["body"], &mut body);
        }
        out.push_str(&rego.helpers);
        writeln!(out, "forbid contains {:?} if {{\n\t{}\n}}\n", policy.annotation("id").unwrap(), body.join("\n\t"))
            .unwrap();
    }
    out
}

struct Rego {
    helpers: String,
    name: String,
    count: usize,
}

impl Rego {
    /// The lines that must all hold.
    fn conjuncts(&mut self, expr: &Value, body: &mut Vec<String>) {
        match operator(expr) {
            ("&&", both) => {
                self.conjuncts(&both["left"], body);
                self.conjuncts(&both["right"], body);
            }
            ("||", _) => {
                let mut branches = Vec::new();
                branches_of(expr, &mut branches);
                let name = self.fresh();
                for branch in branches {
                    self.helper(&name, branch);
                }
                body.push(name);
            }
            ("!", not) => {
                let name = self.fresh();
                self.helper(&name, &not["arg"]);
                body.push(format!("not {name}"));
            }
            ("has", has) => body.push(format!("_ = {}.{}", value(&has["left"]), has["attr"].as_str().unwrap())),
            ("like", like) => {
                let pattern = like["pattern"].as_array().unwrap();
                let [first, middle @ .., last] = pattern.as_slice() else { panic!("{pattern:?}") };
                assert!(first == "Wildcard" && last == "Wildcard", "the paper's patterns are all of the form *x*");
                let piece: String = middle.iter().map(|p| p["Literal"].as_str().unwrap()).collect();
                body.push(format!("contains({}, {piece:?})", value(&like["left"])));
            }
            (compare @ ("==" | "!=" | ">" | "<" | ">=" | "<="), both) => {
                body.push(format!("{} {compare} {}", value(&both["left"]), value(&both["right"])));
            }
            (other, _) => panic!("{other} is not in the paper"),
        }
    }

    fn fresh(&mut self) -> String {
        self.count += 1;
        format!("{}_{}", self.name, self.count)
    }

    fn helper(&mut self, name: &str, expr: &Value) {
        let mut body = Vec::new();
        self.conjuncts(expr, &mut body);
        writeln!(self.helpers, "{name} if {{\n\t{}\n}}\n", body.join("\n\t")).unwrap();
    }
}

fn branches_of<'e>(expr: &'e Value, branches: &mut Vec<&'e Value>) {
    match operator(expr) {
        ("||", both) => {
            branches_of(&both["left"], branches);
            branches_of(&both["right"], branches);
        }
        _ => branches.push(expr),
    }
}

fn operator(expr: &Value) -> (&str, &Value) {
    expr.as_object().unwrap().iter().next().map(|(name, of)| (name.as_str(), of)).unwrap()
}

fn value(expr: &Value) -> String {
    match operator(expr) {
        ("Var", name) => format!("input.{}", name.as_str().unwrap()),
        (".", get) => format!("{}.{}", value(&get["left"]), get["attr"].as_str().unwrap()),
        ("Value", literal) => match literal.get("__entity") {
            Some(entity) => entity["id"].to_string(),
            None => literal.to_string(),
        },
        (other, _) => panic!("{other} is not a value of the paper"),
    }
}
