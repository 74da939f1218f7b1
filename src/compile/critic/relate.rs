//! How two rules stand to each other, for all calls and states at once.

use super::logic::{Answer, Logic};
use super::subject::{Env, Stated, Subject, statements};
use crate::compile::CompileErrors;
use crate::compile::ground::Ground;
use crate::compile::rules::Rules;
use crate::compile::source::SourceFile;
use cedar_policy::Schema;

/// Asks the solver about pairs of rules of one vocabulary.
pub(in crate::compile) struct Prover {
    subject: Subject,
    logic: Logic,
}

impl Prover {
    /// Starts the solver; none where there is none.
    pub(in crate::compile) fn start(ground: &Ground, schema: &Schema) -> Option<Self> {
        let logic = Logic::start(true);
        let subject = Subject::over(ground, schema.clone(), Vec::new(), &Rules::default());
        logic.absent().is_none().then_some(Self { subject, logic })
    }

    /// The rules of a text as statements.
    ///
    /// # Errors
    /// [`CompileErrors`] where Cedar refuses one.
    pub(in crate::compile) fn stated(&self, file: &SourceFile) -> Result<Vec<Stated>, CompileErrors> {
        statements(file, &self.subject.schema)
    }

    /// A call and a state that only the first rule denies, and one that only the second does. `None` where the
    /// solver cannot tell, and where a comparison request by request means nothing: rules about different kinds
    /// of things, and conditions that can fail to evaluate, which denies.
    pub(in crate::compile) fn relate(&mut self, first: &Stated, second: &Stated) -> Option<[Option<String>; 2]> {
        let kinds = |rule: &Stated| rule.envs.iter().map(|env| env.resource.clone()).collect::<Vec<_>>();
        let (mine, theirs) = (kinds(first), kinds(second));
        if mine.iter().any(|kind| !theirs.contains(kind)) || theirs.iter().any(|kind| !mine.contains(kind)) {
            return None;
        }
        for rule in [first, second] {
            for env in &rule.envs {
                if !matches!(self.logic.fails(&self.subject, env, &rule.condition), Answer::Never) {
                    return None;
                }
            }
        }
        Some([self.beyond(first, second)?, self.beyond(second, first)?])
    }

    /// A request that a rule denies and another does not; `None` where the solver cannot tell.
    fn beyond(&mut self, rule: &Stated, other: &Stated) -> Option<Option<String>> {
        for env in &rule.envs {
            let same = |theirs: &&Env| theirs.action == env.action && theirs.resource == env.resource;
            let condition = match other.envs.iter().find(same) {
                Some(_) => rule.condition.clone().and(other.condition.clone().not()),
                None => rule.condition.clone(),
            };
            match self.logic.possible(&self.subject, env, &condition) {
                Answer::Never => {}
                Answer::Possible(witness) => return Some(Some(witness.describe(&self.subject))),
                Answer::Undecided(_) => return None,
            }
        }
        Some(None)
    }
}
