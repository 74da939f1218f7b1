//! What can be wrong with a rule that is valid Cedar.

use crate::compile::names::Near;
use crate::compile::templates::TemplateFault;
use crate::policy::ProgramError;

/// One reason why a Cedar policy is not a rule of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleFault {
    /// An age that is none.
    #[error("`{0}` is no age; write a whole number of seconds or milliseconds, such as `2s` or `500ms`")]
    Fresh(String),
    /// A `permit`.
    #[error("only `forbid` is a rule: whatever no rule forbids is permitted; turn the condition round")]
    Permit,
    /// A constrained principal.
    #[error("the principal is always the assistant; write `principal` without a condition")]
    Principal,
    /// No action.
    #[error("it applies to every action; name the tools, a group such as `Action::\"write\"`, or `Action::\"reply\"`")]
    AnyAction,
    /// Tools and replies at once.
    #[error("it applies to calls and to replies at once, which have different contexts; write two rules")]
    CallsAndReply,
    /// No resource type.
    #[error(
        "its resource must be `resource is …`, the part of the car that it is about; `resource is Car` evaluates it once"
    )]
    Resource,
    /// An unknown annotation.
    #[error("there is no annotation `@{name}`; {near}")]
    Annotation {
        /// The annotation.
        name: String,
        /// What was probably meant.
        near: Near,
    },
    /// A missing annotation.
    #[error("it needs `@{0}`")]
    Missing(&'static str),
    /// An annotation without text.
    #[error("`@{0}` is empty; say something or leave it out")]
    Empty(&'static str),
    /// Two rules with one name.
    #[error("line {0} has a rule of the same `@id`; an id is unique")]
    Duplicate(usize),
    /// An unknown kind.
    #[error("there is no kind `{name}`; {near}")]
    Kind {
        /// The kind.
        name: String,
        /// What was probably meant.
        near: Near,
    },
    /// A kind without what resolves it.
    #[error(
        "a rule of kind {kind} needs `@{needs}`, which says how it is satisfied, or `@advise` where it is not executable"
    )]
    KindNeeds {
        /// The kind.
        kind: &'static str,
        /// The annotation.
        needs: &'static str,
    },
    /// A kind that something else would resolve.
    #[error("a rule of kind {kind} cannot have `@{has}`; correct the kind or remove the annotation")]
    KindExcludes {
        /// The kind.
        kind: &'static str,
        /// The annotation.
        has: &'static str,
    },
    /// An annotation that depends on another.
    #[error("`@{has}` says nothing without `@{needs}`")]
    Without {
        /// The annotation that is there.
        has: &'static str,
        /// The annotation that is not.
        needs: &'static str,
    },
    /// A source that is no `file:line`.
    #[error("`@source(\"{0}\")` does not name a line; write `file:line`, such as `policy.md:12`")]
    Source(String),
    /// A source in another file.
    #[error("`@source` names `{found}`, but the prose of this set is `{expected}`")]
    SourceFile {
        /// The file it names.
        found: String,
        /// The prose file.
        expected: String,
    },
    /// A source line that is not there or says nothing.
    #[error("`@source` names line {line} of the prose, {what}; name the line with the sentence")]
    SourceLine {
        /// The line.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A template that does not fit.
    #[error("`@{annotation}`: {fault}")]
    Template {
        /// The annotation.
        annotation: &'static str,
        /// What is wrong.
        fault: TemplateFault,
    },
    /// An observation that nothing can read by itself.
    #[error("it reads `{what}`, and `{tool}` needs arguments ({arguments}); give `@read(\"{tool}(…)\")`")]
    ReadNeeded {
        /// What it reads.
        what: String,
        /// Its tool.
        tool: String,
        /// What the tool needs.
        arguments: String,
    },
    /// A read that answers nothing.
    #[error("`@read` calls `{0}`, which answers nothing that the condition reads; correct it or leave it out")]
    ReadUnused(String),
    /// An operator that the engine does not have.
    #[error("{operator} is not supported: {instead}")]
    Operator {
        /// The operator.
        operator: String,
        /// What to write instead.
        instead: &'static str,
    },
    /// A value that is no value.
    #[error("`{0}` is not a value that a rule can read; name one of its members")]
    NotAValue(String),
    /// A path that leads nowhere.
    #[error("there is no `{path}`; {near}")]
    NoPath {
        /// The path.
        path: String,
        /// What was probably meant.
        near: Near,
    },
    /// `context.session.reads` without a literal.
    #[error("`context.session.{0}` is asked for one tool by name: `context.session.{0}.contains(\"tool\")`")]
    SessionSet(&'static str),
    /// A tool that does not exist.
    #[error("there is no tool `{name}`; {near}")]
    NoTool {
        /// The tool.
        name: String,
        /// What was probably meant.
        near: Near,
    },
    /// A read that is none.
    #[error("`{0}` is no read, so it is never in `context.session.reads`; ask `context.session.called`")]
    NotARead(String),
    /// Two numbers in different units.
    #[error(
        "`{left}` counts {left_steps} steps per unit and `{right}` {right_steps}, so their numbers do not compare; give the attributes the same `resolution`"
    )]
    Steps {
        /// The left operand.
        left: String,
        /// Its steps.
        left_steps: u32,
        /// The right operand.
        right: String,
        /// Its steps.
        right_steps: u32,
    },
    /// An argument that counts differently in two tools of the rule.
    #[error("`{0}` has different steps in the tools of this rule; write one rule for each")]
    MixedSteps(String),
    /// A number in fractions where a set holds whole ones.
    #[error("`{0}` holds fractions, which `contains` cannot find; compare with `==` and `||`")]
    FractionSet(String),
    /// A permit of a foreign set that allows only something.
    #[error(
        "of permits only `permit (principal, action, resource);` is taken: what it leaves out would be denied by its absence, which no forbid says; turn it round into a forbid"
    )]
    Permits,
    /// An entity by name where only its type is known.
    #[error(
        "its {0} is one entity or a group of them, but a request names only the type; write `{0}` or `{0} is Type`, and ask the context for the rest"
    )]
    OneEntity(&'static str),
    /// An attribute of an entity in a foreign set.
    #[error("`{0}` is an attribute of an entity, and a request brings only its context; pass the value in the context")]
    EntityAttribute(String),
    /// A member whose name has a dot.
    #[error("the member `{0}` has a dot in its name, so no path names it; rename it")]
    Dotted(String),
    /// A condition that the evaluator cannot hold.
    #[error("its condition is too large: {0}; split the rule")]
    Program(#[from] ProgramError),
    /// A condition with more parts than a program can number.
    #[error("its condition has more parts than a program can hold; split the rule")]
    TooLarge,
    /// More rules than a blob can hold.
    #[error("a set holds at most {} rules", u16::MAX)]
    TooMany,
}

/// A fault with the word of the policy where it shows, if one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) fault: RuleFault,
    pub(crate) near: Option<String>,
    /// Whether the word is one of the condition, not of the scope or of an annotation.
    pub(crate) in_condition: bool,
}

impl Refusal {
    pub(super) fn at(fault: RuleFault, near: impl Into<String>) -> Self {
        Self { fault, near: Some(near.into()), in_condition: false }
    }

    pub(super) fn in_condition(mut self) -> Self {
        self.in_condition = true;
        self
    }
}

impl From<RuleFault> for Refusal {
    fn from(fault: RuleFault) -> Self {
        Self { fault, near: None, in_condition: false }
    }
}
