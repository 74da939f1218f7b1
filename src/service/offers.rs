//! Offered policy text: from the cache, from a compiler on board, or kept as a hint (design §8).
//!
//! ```text
//! text + tools + compiler version ─▶ cache ─▶ offer
//!                                      │ not there
//!                                      ▼
//!                                  compiler (host builds) ─▶ cache ─▶ offer
//!                                      │ none on board
//!                                      ▼
//!                                  refused, or hints for the critic, as configured
//! ```
//!
//! Whatever comes of it is an [`Offer`], which can only add forbids: a cache that somebody tampered with
//! can make the assistant do less, never more.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::Refusal;
use super::config::{OfferConfig, WithoutCompiler};
use super::fit;
use crate::policy::{OFFER_COMPILER, Offer, Policy};

/// Longest text that is taken, in bytes: some pages.
pub(super) const TEXT_BYTES: usize = 16 * 1024;
/// Largest cache entry that is read, in bytes: many times what a text of that length comes to.
const ENTRY_BYTES: u64 = 1 << 20;
const MAGIC: &[u8; 8] = b"OBLOFFER";

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Compiled {
    /// What a session may add.
    pub(super) offer: Offer,
    /// Sentences that nothing keeps, each with the reason.
    pub(super) unkept: Vec<String>,
}

/// Makes offers out of texts; given by host builds.
pub(super) trait Compiler: Send {
    /// The offer, and whether it may be kept for the next time.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    fn compile(&mut self, policy: &Policy, text: &str) -> Result<(Compiled, bool), String>;
}

/// Where an offer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Compiled,
    Cached,
    Advisory,
}

impl Origin {
    /// The name on D-Bus.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Cached => "cached",
            Self::Advisory => "advisory",
        }
    }
}

/// Makes or finds offers.
pub(super) struct Offers {
    cache: Option<PathBuf>,
    without: WithoutCompiler,
    compiler: Option<Mutex<Box<dyn Compiler>>>,
}

impl Offers {
    pub(super) fn new(config: &OfferConfig, compiler: Option<Box<dyn Compiler>>) -> Self {
        let cache = config.cache.clone();
        Self { cache, without: config.without_compiler, compiler: compiler.map(Mutex::new) }
    }

    /// The offer of a text. May take as long as a model takes: not for a thread of the bus.
    pub(super) fn take(&self, policy: &Policy, text: &str) -> Result<(Origin, Compiled), Refusal> {
        if text.trim().is_empty() {
            return Err(Refusal::BadArgument("the offered text is empty".to_owned()));
        }
        let key = key(policy, text);
        if let Some(found) = self.find(&key) {
            return Ok((Origin::Cached, found));
        }
        if let Some(compiler) = &self.compiler {
            // A compiler whose author broke down is asked anew, like any other.
            let mut compiler = compiler.lock().unwrap_or_else(PoisonError::into_inner);
            let (made, keep) = compiler.compile(policy, text).map_err(Refusal::NotCompiled)?;
            if keep {
                self.keep(&key, &made);
            }
            return Ok((Origin::Compiled, made));
        }
        match self.without {
            WithoutCompiler::Refuse => Err(Refusal::NoCompiler(
                "this build has no policy compiler and the text is not in the cache of prepared offers; prepare it on a host, or set `offer.without_compiler = \"advise\"`".to_owned(),
            )),
            WithoutCompiler::Advise => {
                let lines = text.lines().map(|line| line.trim().trim_start_matches(['-', '*', '#']).trim().to_owned());
                let offer = Offer::advice(lines.filter(|line| !line.is_empty()));
                Ok((Origin::Advisory, Compiled { offer, unkept: Vec::new() }))
            }
        }
    }

    fn path(&self, key: &[u8; 32]) -> Option<PathBuf> {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.cache.as_ref()?.join(format!("{name}.offer")))
    }

    /// An entry that is whole and made for this key. Anything else is as if it were not there.
    fn find(&self, key: &[u8; 32]) -> Option<Compiled> {
        let path = self.path(key)?;
        if fs::metadata(&path).ok()?.len() > ENTRY_BYTES {
            tracing::warn!(path = %path.display(), "an entry of the offer cache is too large and is not used");
            return None;
        }
        let found = read(&fs::read(&path).ok()?, key);
        if found.is_none() {
            tracing::warn!(path = %path.display(), "an entry of the offer cache is damaged and is not used");
        }
        found
    }

    /// Keeps an entry. A cache that cannot be written costs the next compile, nothing else.
    fn keep(&self, key: &[u8; 32], made: &Compiled) {
        let Some(path) = self.path(key) else { return };
        if let Err(error) = write(&path, key, made) {
            tracing::warn!(path = %path.display(), %error, "an offer was not kept");
        }
    }
}

/// What an answer of `Session.Offer` holds besides the origin.
pub(super) fn told(made: &Compiled) -> String {
    let ids: Vec<&str> = made.offer.forbids.iter().map(|forbid| forbid.id.as_str()).collect();
    let told = json!({"rules": ids, "advice": made.offer.advice, "unkept": made.unkept});
    fit::json(&told).unwrap_or_default()
}

/// The text, the tools and the model they act on, and what compiles.
fn key(policy: &Policy, text: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [text.as_bytes(), &policy.ground_digest(), OFFER_COMPILER.as_bytes()] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// `magic | key | SHA-256 of what follows | offer`
fn read(bytes: &[u8], key: &[u8; 32]) -> Option<Compiled> {
    let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(key)?;
    let (digest, content) = rest.split_first_chunk::<32>()?;
    if Sha256::digest(content).as_slice() != digest {
        return None;
    }
    postcard::from_bytes(content).ok()
}

fn write(path: &std::path::Path, key: &[u8; 32], made: &Compiled) -> io::Result<()> {
    let content = postcard::to_allocvec(made).map_err(io::Error::other)?;
    let folder = path.parent().ok_or_else(|| io::Error::other("the cache has no folder"))?;
    fs::create_dir_all(folder)?;
    let beside = path.with_extension(format!("{}", std::process::id()));
    let written = fs::File::create(&beside).and_then(|mut file| {
        file.write_all(MAGIC)?;
        file.write_all(key)?;
        file.write_all(&Sha256::digest(&content))?;
        file.write_all(&content)?;
        file.sync_all()
    });
    let written = written.and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_with_one_changed_byte_is_as_if_it_were_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.offer");
        let made = Compiled { offer: Offer::advice(["Be quick.".to_owned()]), unkept: vec!["why".to_owned()] };
        write(&path, &[7; 32], &made).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert_eq!(read(&bytes, &[7; 32]), Some(made));
        assert_eq!(read(&bytes, &[8; 32]), None);
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(read(&changed, &[7; 32]), None, "byte {at}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
