//! Caps on what is read from outside, so that no input can exhaust the head unit.

/// Input caps. Reaching one is an error that names the cap; nothing is cut silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Calls in one draft.
    pub calls: usize,
    /// Bytes of one call's arguments as JSON text.
    pub argument_bytes: usize,
    /// Bytes of a spoken reply.
    pub reply_bytes: usize,
    /// Depth of nested JSON in arguments and results.
    pub depth: usize,
}

impl Default for Limits {
    /// 32 calls, 64 KiB of arguments a call, 16 KiB of reply, depth 16: ten times what the largest
    /// recorded conversation needs.
    fn default() -> Self {
        Self { calls: 32, argument_bytes: 64 * 1024, reply_bytes: 16 * 1024, depth: 16 }
    }
}
