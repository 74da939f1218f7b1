//! How much of a tool a rule takes away.

use super::check;
use crate::compile::critic::Case;
use crate::compile::critic::domain::Domain;
use crate::compile::critic::samples;
use crate::compile::critic::subject::Consequence;

check! {
    /// Tells the share of a tool's legal calls that a rule stops, over samples of arguments and states,
    /// and finds a prohibition that stops half of them or more whatever the state is.
    ///
    /// # Why
    /// A rule that blocks every write has a perfect block rate and is useless. Calls that no state admits
    /// are mostly a conjunct that was lost.
    ///
    /// # Example
    /// The child lock must stay on in motion; without `context.before.speed > 0` it can never be
    /// released.
    ///
    /// # Mend
    /// Add what the sentence says about the state. Where the calls are really never wanted, take the
    /// value out of the tool's schema.
    "over-blocking"
}

fn run(case: &mut Case<'_>) {
    let subject = case.subject;
    let Some(parts) = &subject.parts else { return };
    for stated in subject.rules.iter().filter(|r| r.conditional) {
        let Some(rule) = &stated.rule else { continue };
        let (mut worst, mut cases, mut fires) = (0.0_f64, 0_usize, 0_usize);
        for env in &stated.envs {
            let Some(counts) = samples::walk(parts, rule, env, &stated.condition, true) else { continue };
            cases += counts.cases;
            fires += counts.fires;
            // Shares of free texts mean nothing: there are more texts than samples.
            let texts = stated.condition.paths().iter().any(|p| {
                parts.param_of(env, p).is_some() && matches!(parts.domain(env, p), Domain::Text | Domain::Open)
            });
            if !texts && counts.calls > 1 {
                worst = worst.max(share(counts.dead, counts.calls));
            }
        }
        if stated.consequence == Consequence::Deny && (0.5..1.0).contains(&worst) {
            let percent = (worst * 100.0).round();
            let what = format!(
                "`{}` forbids {percent} % of its tool's calls in every state: a conjunct about the state seems to be lost",
                stated.id
            );
            case.error(&[stated], what, None);
        }
        if cases > 0 {
            let percent = (share(fires, cases) * 1000.0).round() / 10.0;
            case.note(Some(stated), format!("`{}` fires in {percent} % of {cases} sampled cases", stated.id));
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "counts of samples are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
