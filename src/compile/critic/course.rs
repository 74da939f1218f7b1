//! What the engine makes of one call, remedy by remedy: conditions of companions in terms of the call that brought
//! them in.
//!
//! The engine inserts what is demanded, projects the plan and looks again (design §4). A course is one such plan,
//! grown a remedy at a time. Everything in it reads like a condition about its first call, so that one question covers
//! all of it: the fields that a remedy set are constants, the arguments of companions are those of their templates.
//! Items are one item: where rules about windows call for each other, they do so about the same window.

use std::borrow::Cow;

use super::effects::{Change, Remedied};
use super::expr::Expr;
use super::subject::{Env, Stated, Subject, of_the_car};
use crate::policy::{ArgumentTemplate, CallTemplate, PolicyParts, RuleKind, Trigger};
use crate::state::{AttrIx, EntityIx};
use crate::tools::ToolIx;

/// One call of a plan that may make a rule look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// The one that everything began with.
    First,
    /// A companion, by its position.
    Companion(usize),
}

/// A call and the companions that it has got so far.
#[derive(Clone)]
pub(super) struct Course<'a> {
    parts: &'a PolicyParts,
    /// The request of the first call.
    pub(super) env: Env,
    first: ToolIx,
    /// Whose items are spoken of beside the car.
    entity: EntityIx,
    companions: Vec<Remedied<'a>>,
    /// The call that each companion comes before, where it does not come after the one that needs it.
    before: Vec<Option<Call>>,
    /// Calls that later ones have replaced.
    replaced: Vec<Call>,
}

impl<'a> Course<'a> {
    /// A plan of one call. `about` is the entity whose items the course is about, where it is about more than the car.
    pub(super) fn new(subject: &'a Subject, env: &Env, about: EntityIx) -> Option<Self> {
        let parts = subject.parts.as_ref()?;
        let (first, _) = parts.tool_named(env.action_name())?;
        let env = Env { resource: parts.model.entity(about)?.name.clone(), ..env.clone() };
        Some(Self {
            parts,
            env,
            first,
            entity: about,
            companions: Vec::new(),
            before: Vec::new(),
            replaced: Vec::new(),
        })
    }

    /// The calls that make a rule look, first things first.
    pub(super) fn triggers(&self, stated: &Stated) -> Vec<Call> {
        let Some(Trigger::Calls(tools)) = stated.rule.as_ref().map(|rule| &rule.trigger) else { return Vec::new() };
        let companions = self.companions.iter().enumerate().map(|(at, made)| (Call::Companion(at), made.call.tool));
        let all = std::iter::once((Call::First, self.first)).chain(companions);
        let found = all.filter(|(call, tool)| tools.contains(tool) && !self.replaced.contains(call));
        found.map(|(call, _)| call).collect()
    }

    /// What a companion is called with; none for the first call.
    pub(super) fn template(&self, call: Call) -> Option<&CallTemplate> {
        match call {
            Call::First => None,
            Call::Companion(at) => self.companions.get(at).map(|made| made.call.as_ref()),
        }
    }

    /// When a rule on one of the calls is broken as the plan stands; `None` where that cannot be said about the first
    /// call: it asks for what only a result tells, or is about another kind of item.
    pub(super) fn broken(&self, stated: &Stated, call: Call) -> Option<Expr> {
        let rule = stated.rule.as_ref()?;
        let mut condition = stated.condition.clone();
        if let Call::Companion(at) = call {
            let made = self.companions.get(at)?;
            condition = self.addressed(&made.as_trigger(&condition)?, made, rule.entity)?;
        }
        condition = match rule.entity {
            EntityIx::CAR if self.entity != EntityIx::CAR => {
                Some(of_the_car(&condition)).filter(|c| !c.reads(&["resource"]))?
            }
            EntityIx::CAR => of_the_car(&condition),
            other => Some(condition).filter(|_| other == self.entity)?,
        };
        for (at, made) in self.companions.iter().enumerate().rev() {
            let before = self.before.get(at).copied().flatten();
            let earlier = matches!(call, Call::Companion(own) if at < own) || before == Some(call);
            condition = made.applied_for(&condition, self.entity, earlier)?;
        }
        match call {
            Call::First => Some(condition),
            Call::Companion(_) => Some(self.after_the_first(&condition)),
        }
    }

    /// Whether a companion writes the item of a rule.
    fn addressed(&self, condition: &Expr, made: &Remedied<'_>, entity: EntityIx) -> Option<Expr> {
        if !condition.reads(&["resource", "addressed"]) {
            return Some(condition.clone());
        }
        let of = |change: &Change| self.parts.model.attribute(change.attribute).is_some_and(|a| a.entity == entity);
        let writes = made.changes.iter().any(of);
        let effect = self.parts.model.tool(made.call.tool)?;
        // A call that names one item by its word may mean this one or another.
        let open = !writes && effect.item.as_ref().is_some_and(|item| item.entity == entity);
        let member = ["resource", "addressed"].map(str::to_owned);
        let put_in = |expr: &Expr| (expr.as_path()? == member).then(|| Expr::truth(writes));
        (!open).then(|| condition.rewrite(&put_in))
    }

    /// What a companion finds before it of a field that the first call sets is what that call left there.
    fn after_the_first(&self, condition: &Expr) -> Expr {
        let Some(effect) = self.parts.model.tool(self.first) else { return condition.clone() };
        let written = |ix: AttrIx| effect.attributes().any(|a| a == ix);
        let attribute = |entity: EntityIx, name: &str| {
            self.parts.model.attributes().any(|(ix, a)| a.entity == entity && a.name == name && written(ix))
        };
        let derived = |name: &str| self.parts.derived.iter().any(|d| d.name == name && written(d.attribute));
        condition.rewrite(&|expr| {
            let path = expr.as_path()?;
            let after: Vec<&str> = match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                ["context", "before", name] if attribute(EntityIx::CAR, name) => vec!["context", "car", name],
                ["resource", name] => {
                    let name = name.strip_prefix("before_").filter(|name| attribute(self.entity, name))?;
                    vec!["resource", name]
                }
                ["context", name] => vec!["context", name.strip_prefix("before_").filter(|name| derived(name))?],
                _ => return None,
            };
            Some(Expr::path(&after.into_iter().map(str::to_owned).collect::<Vec<_>>()))
        })
    }

    /// The plan with the remedy of a rule; `None` where the engine could not fill it in.
    pub(super) fn remedied(&self, stated: &'a Stated, call: Call) -> Option<Self> {
        let rule = stated.rule.as_ref()?;
        let trigger = self.template(call);
        let before = Some(call).filter(|_| rule.kind == RuleKind::Precondition);
        let made = rule.remedy.iter().map(|template| {
            let filled = filled(template, trigger)?;
            Some(Remedied::call(self.parts, Cow::Owned(filled), self.entity, before == Some(Call::First)))
        });
        let made: Vec<Remedied<'a>> = made.collect::<Option<_>>()?;
        let mut next = self.clone();
        let gone: Vec<Call> = std::iter::once(Call::First)
            .chain((0..self.companions.len()).map(Call::Companion))
            .filter(|call| !self.replaced.contains(call) && self.is_replaced(*call, &made))
            .collect();
        next.replaced.extend(gone);
        next.before.extend(made.iter().map(|_| before));
        next.companions.extend(made);
        Some(next)
    }

    /// How many companions there are.
    pub(super) fn len(&self) -> usize {
        self.companions.len()
    }

    /// Whether any of the companions from a position on shows in what a rule reads.
    pub(super) fn touched_since(&self, stated: &Stated, from: usize) -> bool {
        let Some(rule) = &stated.rule else { return false };
        let condition =
            if rule.entity == EntityIx::CAR { of_the_car(&stated.condition) } else { stated.condition.clone() };
        let made = self.companions.get(from..).unwrap_or_default();
        made.iter().any(|made| made.applied_for(&condition, self.entity, true).is_none_or(|after| after != condition))
    }

    /// Whether calls write everything that an earlier one writes: the engine takes that one out.
    fn is_replaced(&self, call: Call, by: &[Remedied<'_>]) -> bool {
        let covers = |ix: AttrIx, everywhere: bool| {
            let mut new = by.iter().flat_map(|made| &made.changes);
            new.any(|new| new.attribute == ix && (new.everywhere || !everywhere))
        };
        match call {
            Call::Companion(at) => self.companions.get(at).is_some_and(|made| {
                !made.changes.is_empty() && made.changes.iter().all(|old| covers(old.attribute, old.everywhere))
            }),
            // Which of several items the first call means is not known.
            Call::First => self.parts.model.tool(self.first).is_some_and(|effect| {
                effect.item.is_none()
                    && effect.attributes().next().is_some()
                    && effect.attributes().all(|a| covers(a, false))
            }),
        }
    }
}

/// A template with the arguments of a companion put in where it repeats its trigger's.
fn filled(template: &CallTemplate, trigger: Option<&CallTemplate>) -> Option<CallTemplate> {
    let argument = |(name, value): &(String, ArgumentTemplate)| {
        let value = match (value, trigger) {
            (ArgumentTemplate::Input(of), Some(trigger)) => {
                trigger.arguments.iter().find(|(name, _)| name == of).map(|(_, value)| value.clone())?
            }
            (value, _) => value.clone(),
        };
        Some((name.clone(), value))
    };
    let arguments = template.arguments.iter().map(argument).collect::<Option<_>>()?;
    Some(CallTemplate { tool: template.tool, arguments })
}
