//! Changes to the corpora by chance: needs no fuzzer, so it runs wherever the tests do. It sees no coverage;
//! `make fuzz` does.

use std::time::{Duration, Instant};

use super::targets::TARGETS;
use super::{corpus_of, guarded};

/// Words that parsers branch on.
const WORDS: [&str; 24] = [
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "1e999",
    "0.1",
    "18446744073709551616",
    "\\u0000",
    "\u{0}",
    "ß",
    "🚗",
    "::",
    "when",
    "unless",
    "forbid",
    "[[",
    "]]",
    "\n",
    "properties",
    "$ref",
    "tool_calls",
    "DRIVER",
];

/// Numbers by chance (xorshift), the same for the same seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize
    }

    fn below(&mut self, most: usize) -> usize {
        self.next() % most.max(1)
    }

    /// A piece of a text of so many bytes.
    fn piece(&mut self, length: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        (from, (from + 1 + self.below(24)).min(length))
    }
}

fn mutated(chance: &mut Chance, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut input = corpus[chance.below(corpus.len())].clone();
    for _ in 0..=chance.below(6) {
        let at = chance.below(input.len() + 1);
        match chance.below(7) {
            0 if at < input.len() => input[at] ^= 1 << chance.below(8),
            1 if at < input.len() => input[at] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'{', b']'][chance.below(8)],
            2 => {
                let (from, to) = chance.piece(input.len());
                input.drain(from..to.max(from));
            }
            3 => {
                let (from, to) = chance.piece(input.len());
                let copy = input[from..to.max(from)].to_vec();
                input.splice(at..at, copy);
            }
            4 => drop(input.splice(at..at, WORDS[chance.below(WORDS.len())].bytes())),
            5 => {
                let other = &corpus[chance.below(corpus.len())];
                let from = chance.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            _ => {
                let digit = input.iter().enumerate().filter(|(_, b)| b.is_ascii_digit()).map(|(at, _)| at);
                let digits: Vec<usize> = digit.collect();
                if let Some(at) = digits.get(chance.below(digits.len())) {
                    input[*at] = b'0' + chance.below(10) as u8;
                }
            }
        }
    }
    input.truncate(super::BYTES);
    input
}

/// Runs a target on changes of its corpus; how many were run.
fn search(name: &str, seed: u64, more: &dyn Fn(u64) -> bool) -> u64 {
    let (_, run) = TARGETS.iter().find(|(target, _)| *target == name).unwrap();
    let corpus: Vec<Vec<u8>> = corpus_of(name).into_iter().map(|file| std::fs::read(file).unwrap()).collect();
    let (mut chance, mut executions) = (Chance(seed | 1), 0);
    while more(executions) {
        let input = mutated(&mut chance, &corpus);
        guarded(&format!("{name}, execution {executions} of seed {seed}"), run, &input);
        executions += 1;
    }
    executions
}

#[test]
fn changes_of_every_corpus_are_refused_or_judged() {
    for (name, _) in TARGETS {
        // A compiler takes its time.
        let most = if *name == "cedar" { 8 } else { 200 };
        search(name, 7, &|executions| executions < most);
    }
}

/// `FUZZ_TARGET=draft FUZZ_SECONDS=600 cargo test --test fuzz -- --ignored --nocapture for_as_long`
#[test]
#[ignore = "takes as long as it is told"]
fn for_as_long_as_it_is_told() {
    let told = |name: &str| std::env::var(name).ok();
    let limit = Duration::from_secs(told("FUZZ_SECONDS").and_then(|s| s.parse().ok()).unwrap_or(60));
    let seed = told("FUZZ_SEED").and_then(|s| s.parse().ok()).unwrap_or(1);
    for (name, _) in TARGETS.iter().filter(|(name, _)| told("FUZZ_TARGET").is_none_or(|wanted| wanted == *name)) {
        let begun = Instant::now();
        let executions = search(name, seed, &|_| begun.elapsed() < limit);
        println!("{name}: {executions} executions in {} s", begun.elapsed().as_secs());
    }
}
