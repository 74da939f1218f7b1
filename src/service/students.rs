//! Which student a configuration names, and how it is loaded.

use std::sync::Arc;

use super::ServiceError;
use super::config::{StudentConfig, StudentKind};
use super::in_force::InForce;
use super::worker::Load;
use crate::student::{Scripted, Student, StudentError};
use crate::turn::Models;

/// How to load the models; none where no student is configured. A setting that is missing or that
/// this build does not have is an error at the start; a file that is missing or broken is not: the
/// service then runs without a model and says why.
pub(super) fn loader(config: &StudentConfig) -> Result<Option<Load>, ServiceError> {
    match config.kind {
        StudentKind::None => Ok(None),
        StudentKind::Scripted => {
            let script = needed(config.script.as_ref(), "a scripted student needs --script or `script = …`")?.clone();
            Ok(Some(alone(move || Scripted::load(&script))))
        }
        StudentKind::Llama => llama(config).map(Some),
        StudentKind::Remote => remote(config).map(Some),
    }
}

/// Loads the models and makes ready what every draft begins with, before anybody waits for one: the service is
/// ready when both are done. A model that cannot do that yet does it with the first draft.
pub(super) fn prepared(load: Load, in_force: Arc<InForce>) -> Load {
    Arc::new(move |stop| {
        let mut models = load(stop)?;
        let ready = models.student.prepare(&in_force.get().inventory, stop);
        if stop.is_cancelled() {
            return Err(StudentError::Cancelled);
        }
        if let Err(error) = ready {
            tracing::warn!(%error, "the beginning of every draft is not ready; the first one takes longer");
        }
        Ok(models)
    })
}

#[cfg(feature = "llama")]
fn llama(config: &StudentConfig) -> Result<Load, ServiceError> {
    use crate::student::{Llama, LlamaConfig, Settings, examples};
    let path = needed(config.model.as_ref(), "a local student needs --model or `model = …`")?.clone();
    let config = config.clone();
    Ok(alone(move || {
        let examples = config.examples.as_deref().map(examples).transpose()?.unwrap_or_default();
        let settings = config.settings.as_deref().map(Settings::load).transpose()?.unwrap_or_default();
        let mut llama = LlamaConfig::new(path.clone(), examples).with(settings);
        llama.cache.clone_from(&config.cache);
        llama.sha256.clone_from(&config.sha256);
        llama.context = config.context.unwrap_or(llama.context);
        llama.threads = config.threads.unwrap_or(llama.threads);
        Llama::load(llama)
    }))
}

#[cfg(not(feature = "llama"))]
fn llama(_: &StudentConfig) -> Result<Load, ServiceError> {
    Err(ServiceError::Setting("this build has no local model; build it with the feature `llama`".to_owned()))
}

#[cfg(feature = "remote")]
fn remote(config: &StudentConfig) -> Result<Load, ServiceError> {
    use crate::student::{Remote, RemoteConfig};
    let base = needed(config.server.as_ref(), "a remote student needs `server = \"http://…/v1\"`")?.clone();
    let model = needed(config.name.as_ref(), "a remote student needs `name = …`, the model on that server")?.clone();
    let key_variable = config.key_variable.clone();
    Ok(alone(move || {
        let remote = RemoteConfig { key_variable: key_variable.clone(), ..RemoteConfig::new(&base, &model) };
        Remote::new(remote)
    }))
}

#[cfg(not(feature = "remote"))]
fn remote(_: &StudentConfig) -> Result<Load, ServiceError> {
    Err(ServiceError::Setting("this build has no remote student; build it with the feature `remote`".to_owned()))
}

fn needed<'a, T>(setting: Option<&'a T>, what: &str) -> Result<&'a T, ServiceError> {
    setting.ok_or_else(|| ServiceError::Setting(what.to_owned()))
}

/// One student and nobody behind it.
fn alone<S: Student + 'static>(load: impl Fn() -> Result<S, StudentError> + Send + Sync + 'static) -> Load {
    Arc::new(move |_| Ok(Models { student: Box::new(load()?), escalation: None }))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::policy::testing::kitchen;
    use crate::student::{Answer, Cancel, Prompt};
    use crate::tools::Inventory;

    /// Counts the tools it is made ready for, and breaks down over it where it is told to.
    struct Counting(Arc<AtomicUsize>, bool);

    impl Student for Counting {
        fn draft(&mut self, _: &Prompt<'_>) -> Result<Answer, StudentError> {
            Err(StudentError::ScriptEnd(0))
        }

        fn prepare(&mut self, inventory: &Inventory, _: &Cancel) -> Result<(), StudentError> {
            self.0.store(inventory.len(), Ordering::Relaxed);
            if self.1 { Err(StudentError::Cancelled) } else { Ok(()) }
        }

        fn name(&self) -> &'static str {
            "counting"
        }
    }

    #[test]
    fn a_model_is_made_ready_for_the_policy_in_force_before_it_is_handed_over() {
        for breaks in [false, true] {
            let policy = Arc::new(kitchen());
            let seen = Arc::new(AtomicUsize::new(0));
            let counted = seen.clone();
            let load = alone(move || Ok(Counting(counted.clone(), breaks)));
            let models = prepared(load, Arc::new(InForce::new(policy.clone())))(&Cancel::default());
            assert!(models.is_ok(), "a beginning that is not ready comes with the first draft");
            assert_eq!(seen.load(Ordering::Relaxed), policy.inventory.len());
        }
    }
}
