//! Obligations: what the policy still owes for a draft (design §4; paper 1, §2.3).
//!
//! [`owed`] projects the draft, evaluates every active rule to a fixpoint and answers with an
//! [`Owed`]: the amended draft and, one by one, everything it found. Gates turn that into findings;
//! `verify` turns findings into a verdict.

mod answer;
mod choose;
mod consent;
mod debts;
mod demand;
mod disclose;
mod engine;
mod evidence;
mod excess;
mod failure;
mod frame;
mod fresh;
mod judge;
mod missing;
mod naming;
mod narrow;
mod numbers;
mod plan;
mod preferences;
mod proposal;
mod render;
mod reply;
mod requested;
#[cfg(test)]
mod said_tests;
mod settle;

pub use answer::{Proposal, is_plain_yes};
#[cfg(test)]
pub(crate) use consent::consent_after;
pub use consent::{Consent, consent, declined, granted};
pub use debts::{Breach, Conflict, ConsentDebt, Debt, Disclosure, Excess, Hint, Owed, ReadDebt, Settled, Unread};
pub use engine::{owed, visit};
pub use failure::on_failure;
pub use fresh::{Outdated, outdated};
pub use naming::Said;
pub use narrow::narrowed;
pub use numbers::phones;
pub use preferences::stored_preferences;
