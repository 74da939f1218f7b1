//! What a call itself leaves behind: the fields that it sets read as its arguments say.
//!
//! `resource` is the car at the end of the draft (design §3), so that a later call of the same draft could have
//! written the field again. Two calls that set one field differently are never cleared (gate `batch-conflict`), and a
//! companion that overwrites its own trigger takes the trigger away; so for what a remedy leads to and for the share
//! of calls that a rule stops the relation is assumed. It is not assumed where a rule is asked for at all, shadowed,
//! or always on: a companion can be due through an earlier call of ours (design §4), whose field this draft may
//! change, and `context.input.on && !resource.air_conditioning` is then a condition with a meaning. What the
//! assumption hides: a remedy that satisfies its rule after its own call, but not after another tool that the same
//! draft calls on the same field with the same value, or for a standing call that the draft overrides. The engine
//! refuses there.

use super::effects::{constant_of, expression};
use super::expr::{Expr, Path};
use super::subject::Env;
use crate::policy::PolicyParts;
use crate::state::{AttrIx, AttrType, Attribute, Condition, Set, SetFrom, ToolEffect};
use crate::tools::{Param, ParamType, Tool};

/// What a call does to one attribute.
pub(super) struct Own<'a> {
    /// In the order of the effect: the last one that applies has the last word.
    pub(super) sets: Vec<&'a Set>,
    pub(super) attribute: &'a Attribute,
    /// It sets the one item that the call names.
    pub(super) by_item: bool,
}

impl PolicyParts {
    /// What the call of a request does to an attribute; none where it does nothing, or what only a result tells.
    pub(super) fn own(&self, env: &Env, ix: AttrIx) -> Option<Own<'_>> {
        let effect = self.effect_of(env)?;
        let attribute = self.model.attribute(ix).filter(|_| !effect.touches.contains(&ix))?;
        let sets: Vec<&Set> = effect.sets.iter().filter(|s| s.attribute == ix).collect();
        let by_item = effect.item.as_ref().is_some_and(|item| item.entity == attribute.entity);
        (!sets.is_empty()).then_some(Own { sets, attribute, by_item })
    }

    fn effect_of(&self, env: &Env) -> Option<&ToolEffect> {
        self.model.tool(self.tool_named(env.action_name())?.0)
    }

    /// How members that are read at the end of the draft follow from the call's arguments.
    pub(super) fn own_effect(&self, env: &Env, paths: &[Path]) -> Expr {
        Expr::all(paths.iter().filter_map(|path| self.follows(env, path)))
    }

    fn follows(&self, env: &Env, path: &Path) -> Option<Expr> {
        let is_before = path.get(1).is_some_and(|p| p == "before") || path.last()?.starts_with("before_");
        let declared = self.attribute_of(env, path).filter(|_| !is_before)?;
        let (ix, _) = self.model.attributes().find(|(_, a)| *a == declared)?;
        let own = self.own(env, ix)?;
        let (_, tool) = self.tool_named(env.action_name())?;
        let (mut relation, mut later) = (Vec::new(), Expr::truth(false));
        for set in own.sets.iter().rev() {
            let applies = applies(tool, &set.when)?;
            let equation = equation(tool, set, own.attribute, path)?;
            relation.push(applies.clone().not().or(later.clone()).or(equation));
            later = later.or(applies);
        }
        let relation = Expr::all(relation);
        if !own.by_item {
            return Some(relation);
        }
        let addressed = Expr::path(&["resource", "addressed"].map(str::to_owned));
        Some(addressed.clone().not().or(relation).and(self.everything(env, addressed)?))
    }

    /// The collective word addresses every item.
    fn everything(&self, env: &Env, addressed: Expr) -> Option<Expr> {
        let item = self.effect_of(env)?.item.as_ref()?;
        let required = self.tool_named(env.action_name())?.1.param(&item.argument)?.required;
        let all = item.all().filter(|_| required);
        Some(all.map_or(Expr::truth(true), |all| {
            input(&item.argument).equals(Expr::constant(&all.into())).not().or(addressed)
        }))
    }
}

fn input(name: &str) -> Expr {
    Expr::path(&["context", "input", name].map(str::to_owned))
}

/// A statement about an argument that is made only where the argument is given; otherwise this.
fn given(param: &Param, statement: Expr, otherwise: bool) -> Expr {
    if param.required {
        return statement;
    }
    let has = Expr::has(&["context", "input"].map(str::to_owned), &param.name);
    let there = has.clone().and(statement);
    if otherwise { there.or(has.not()) } else { there }
}

/// When a set takes place; none where that cannot be said in Cedar.
fn applies(tool: &Tool, when: &[Condition]) -> Option<Expr> {
    let each = when.iter().map(|condition| {
        let param = tool.param(&condition.argument)?;
        let members = condition.any_of.iter().map(|literal| {
            let json = super::effects::scaled(literal, param.resolution)?;
            let fits = match &param.kind {
                ParamType::Bool => json.is_boolean(),
                ParamType::Number => json.is_i64(),
                ParamType::Text | ParamType::Enum(_) => json.is_string(),
                _ => false,
            };
            fits.then(|| input(&param.name).equals(Expr::constant(&json)))
        });
        let any = members.collect::<Option<Vec<_>>>()?.into_iter().reduce(Expr::or)?;
        Some(given(param, any, false))
    });
    Some(Expr::all(each.collect::<Option<Vec<_>>>()?))
}

/// That a member has the value that a set gives it; none where that cannot be said in Cedar.
fn equation(tool: &Tool, set: &Set, attribute: &Attribute, path: &Path) -> Option<Expr> {
    let member = Expr::path(path);
    let (name, map) = match &set.from {
        SetFrom::Constant(literal) => return Some(member.equals(expression(&constant_of(literal, attribute)?))),
        SetFrom::Argument { name, map } => (name, map),
    };
    let param = tool.param(name)?;
    let same = || member.clone().equals(input(name));
    let statement = match (&param.kind, &attribute.kind) {
        (ParamType::Bool, AttrType::Bool) | (ParamType::Number, AttrType::Int) => same(),
        (ParamType::Text, AttrType::Word) if map.is_empty() => same(),
        (ParamType::Enum(words), AttrType::Word) if !words.iter().any(|w| map.iter().any(|(from, _)| from == w)) => {
            same()
        }
        (ParamType::Enum(words), AttrType::Word | AttrType::Parts(_)) => {
            let each = words.iter().map(|word| {
                let mapped = map.iter().find(|(from, _)| from == word).map_or(word, |(_, to)| to);
                let value = constant_of(&crate::state::Literal::Text(mapped.clone()), attribute)?;
                let is = input(name).equals(Expr::constant(&word.as_str().into()));
                Some(is.and(member.clone().equals(expression(&value))))
            });
            each.collect::<Option<Vec<_>>>()?.into_iter().reduce(Expr::or)?
        }
        _ => return None,
    };
    Some(given(param, statement, true))
}
