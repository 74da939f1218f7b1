//! Questions about all states and calls at once, whoever answers them.

use std::collections::BTreeMap;

use super::expr::Expr;
#[cfg(feature = "solver")]
use super::solver::{Fault, Solver};
use super::subject::{Env, Subject};
use super::witness::Witness;

/// What is known of a condition.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// No state and no call makes it true.
    Never,
    /// This one does.
    Possible(Witness),
    /// Nobody can tell; why.
    Undecided(String),
}

/// Asks the solver and remembers.
pub(super) struct Logic {
    #[cfg(feature = "solver")]
    solver: Result<Solver, String>,
    #[cfg(not(feature = "solver"))]
    solver: Result<(), String>,
    /// Questions asked.
    pub(super) queries: usize,
    /// Questions without an answer: how often each reason came.
    pub(super) undecided: BTreeMap<String, usize>,
}

impl Logic {
    /// With the solver, where there is one.
    pub(super) fn start(wanted: bool) -> Self {
        #[cfg(feature = "solver")]
        let solver = if wanted { Solver::start() } else { Err("the solver was left out (`--no-solver`)".to_owned()) };
        #[cfg(not(feature = "solver"))]
        let solver = Err(if wanted {
            "this build has no solver; build with the feature `solver`".to_owned()
        } else {
            "the solver was left out (`--no-solver`)".to_owned()
        });
        Self { solver, queries: 0, undecided: BTreeMap::new() }
    }

    /// Without a solver, and why.
    pub(super) fn without(why: String) -> Self {
        Self { solver: Err(why), queries: 0, undecided: BTreeMap::new() }
    }

    /// Why there is no solver, or none any more.
    pub(super) fn absent(&self) -> Option<&str> {
        self.solver.as_ref().err().map(String::as_str)
    }

    /// Whether any real request makes the condition true.
    pub(super) fn possible(&mut self, subject: &Subject, env: &Env, condition: &Expr) -> Answer {
        self.ask(subject, env, condition, false)
    }

    /// Whether any real request makes the condition true after which the fields that the call sets are as it set
    /// them.
    pub(super) fn possible_as_made(&mut self, subject: &Subject, env: &Env, condition: &Expr) -> Answer {
        let condition = subject.one_name(env, condition);
        let own = subject.parts.as_ref().map(|parts| parts.own_effect(env, &condition.paths()));
        self.ask(subject, env, &Expr::all(own.into_iter().chain([condition])), false)
    }

    /// Whether any real request makes the condition fail to evaluate.
    pub(super) fn fails(&mut self, subject: &Subject, env: &Env, condition: &Expr) -> Answer {
        self.ask(subject, env, condition, true)
    }

    fn ask(&mut self, subject: &Subject, env: &Env, condition: &Expr, error: bool) -> Answer {
        let condition = &subject.one_name(env, condition);
        let paths = condition.paths();
        let assumed = subject.parts.as_ref().map(|parts| parts.assumption(env, &paths));
        let whole = assumed.into_iter().flat_map(|a| a.conjuncts()).chain([condition.clone()]);
        let answer = self.send(subject, env, &Expr::all(whole), &paths, error);
        if let Answer::Undecided(why) = &answer {
            *self.undecided.entry(why.clone()).or_default() += 1;
        }
        answer
    }

    #[cfg(feature = "solver")]
    fn send(&mut self, subject: &Subject, env: &Env, whole: &Expr, paths: &[super::expr::Path], error: bool) -> Answer {
        let solver = match &mut self.solver {
            Ok(solver) => solver,
            Err(why) => return Answer::Undecided(why.clone()),
        };
        self.queries += 1;
        let model = if error { solver.error(subject, env, whole) } else { solver.model(subject, env, whole) };
        match model {
            Ok(None) => Answer::Never,
            Ok(Some(model)) => Answer::Possible(Witness::of(env, &model, paths)),
            Err(Fault::Query(why) | Fault::Broken(why)) => Answer::Undecided(why),
            Err(Fault::Lost(why)) => {
                self.solver = Err(why.clone());
                Answer::Undecided(why)
            }
        }
    }

    #[cfg(not(feature = "solver"))]
    fn send(&mut self, _: &Subject, _: &Env, _: &Expr, _: &[super::expr::Path], _: bool) -> Answer {
        Answer::Undecided(self.absent().unwrap_or_default().to_owned())
    }
}
