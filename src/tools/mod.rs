//! The tool inventory: what the student may call, and what of it is missing today.
//!
//! Imported from MCP `tools/list` or OpenAI function JSON. A tool, parameter or result field that
//! the inventory once had and a session does not is *removed*; a name that never existed is
//! *unknown*. The two need different sentences, so they are different facts.

mod check;
mod cover;
mod import;
mod inventory;
mod lacking;
mod removed;
mod schema;
mod topic;

pub use check::{ArgumentFault, FaultKind};
pub use cover::{Uncovered, covers};
pub use import::{ImportError, ImportedTool, import};
pub use inventory::{Inventory, Kind, Param, ParamType, Tool, ToolIx};
pub use lacking::lacking;
pub use removed::Removed;
pub use schema::{Members, Schema, SchemaError, Violation, Why};
pub use topic::Topic;
