//! What can be wrong with a template.

use super::syntax::SyntaxError;
use crate::compile::names::Near;

/// One reason why a template cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    /// Not the syntax of a call.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// A name that does not exist.
    #[error("there is no {what} `{name}`; {near}")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
        /// What was probably meant.
        near: Near,
    },
    /// An argument that is given twice.
    #[error("`{0}` is given twice")]
    Twice(String),
    /// A required argument that is left out.
    #[error("`{tool}` needs `{argument}`")]
    Required {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
    },
    /// A constant that the tool's schema does not admit.
    #[error("`{argument}` of `{tool}` cannot be `{value}`: {why}")]
    Constant {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
        /// The constant.
        value: String,
        /// What the schema says.
        why: String,
    },
    /// A list or an object in a rule.
    #[error("`{0}` is a list or an object, which a rule cannot compute; give a single value")]
    Compound(String),
    /// A hole whose value is of another type.
    #[error("`{hole}` is {found}, but `{argument}` of `{tool}` takes {wanted}")]
    Type {
        /// The hole.
        hole: String,
        /// What it yields.
        found: &'static str,
        /// The argument.
        argument: String,
        /// The tool.
        tool: String,
        /// What the argument takes.
        wanted: &'static str,
    },
    /// A hole that calls cannot have.
    #[error(
        "`<{0}>` cannot stand in a call; there are `<resource>`, `<input.x>`, `<now.x>` and `merge(<resource.x>, PART)`"
    )]
    Hole(String),
    /// An argument that the triggering call may not have.
    #[error("`{0}` may be left out of the call; ask `context.input has {0}` in the condition first")]
    Optional(String),
    /// `<resource>` where the argument names no item.
    #[error(
        "`<resource>` cannot fill `{argument}` of `{tool}`, which names no item of `{entity}`; declare `[tool.{tool}] item`"
    )]
    NotTheItem {
        /// The tool.
        tool: String,
        /// The argument.
        argument: String,
        /// The rule's entity.
        entity: String,
    },
    /// An item that the tool has no word for.
    #[error("`{tool}` has no word for `{item}` of `{entity}`, so the rule could not be satisfied there")]
    NoWord {
        /// The tool.
        tool: String,
        /// The item.
        item: String,
        /// The rule's entity.
        entity: String,
    },
    /// A merge of something that has no parts.
    #[error("`merge` adds a part to an attribute of type `parts`, and `{0}` is none")]
    NotParts(String),
    /// A merge whose result the tool does not take.
    #[error("merging `{part}` can give `{joined}`, which `{argument}` of `{tool}` does not take")]
    Merge {
        /// The part.
        part: String,
        /// The joined word.
        joined: String,
        /// The argument.
        argument: String,
        /// The tool.
        tool: String,
    },
    /// A read that changes something.
    #[error("`{0}` is no read; `@read` only observes")]
    NotARead(String),
    /// Several reads.
    #[error("`@read` is one call; write one rule for each read")]
    OneRead,
    /// A brace without its partner.
    #[error("`{{` and `}}` do not pair in `{0}`")]
    Brace(String),
    /// A hole in a sentence that has no value.
    #[error("`{{{hole}}}`: {why}")]
    Path {
        /// The hole.
        hole: String,
        /// What is wrong with it.
        why: String,
    },
    /// `{resource}` for something without items.
    #[error("`{{resource}}` names the item, and `{0}` has none; write the word itself")]
    NoItem(String),
    /// `{call}` in a rule about replies.
    #[error("`{{call}}` names the call that triggers the rule, and a reply is none; write the words themselves")]
    NoCall,
}
