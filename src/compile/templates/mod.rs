//! Templates of calls and sentences, checked against the tools that they call.

mod calls;
mod constants;
mod fault;
mod syntax;
#[cfg(test)]
mod tests;
mod text;

pub use fault::TemplateFault;
pub use syntax::SyntaxError;

pub(super) use calls::Templates;
pub(super) use constants::json;
pub(super) use syntax::call;
