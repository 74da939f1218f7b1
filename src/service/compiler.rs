//! The policy compiler on board of a host: an author behind the formalisation pipeline.

use super::ServiceError;
use super::config::OfferConfig;
use super::offers::Compiler;

/// The compiler that the configuration names; none where it names no author.
#[cfg(not(feature = "compile"))]
pub(super) fn compiler(config: &OfferConfig) -> Result<Option<Box<dyn Compiler>>, ServiceError> {
    match config.answers.is_some() || config.server.is_some() {
        true => Err(ServiceError::Setting("`offer.answers` and `offer.server` need the feature `compile`".to_owned())),
        false => Ok(None),
    }
}

#[cfg(feature = "compile")]
pub(super) use host::compiler;

#[cfg(feature = "compile")]
mod host {
    use super::{Compiler, OfferConfig, ServiceError};
    use crate::compile::formalize::{Author, Recorded};
    use crate::compile::{SourceFile, offer};
    use crate::policy::Policy;
    use crate::service::offers::Compiled;

    struct Pipeline(Box<dyn Author + Send>);

    impl Compiler for Pipeline {
        fn compile(&mut self, policy: &Policy, text: &str) -> Result<(Compiled, bool), String> {
            let made = offer(policy, text, self.0.as_mut()).map_err(|e| e.to_string())?;
            Ok((Compiled { offer: made.offer, unkept: made.unkept }, made.whole))
        }
    }

    /// The compiler that the configuration names; none where it names no author.
    pub(in crate::service) fn compiler(config: &OfferConfig) -> Result<Option<Box<dyn Compiler>>, ServiceError> {
        let setting = |why: String| ServiceError::Setting(why);
        let author: Box<dyn Author + Send> = match (&config.answers, &config.server) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err(setting(
                    "`offer.answers` and `offer.server` exclude each other; name one author".to_owned(),
                ));
            }
            (Some(path), None) => {
                let file = SourceFile::read(path).map_err(|e| setting(e.to_string()))?;
                Box::new(Recorded::read(&file).map_err(|e| setting(e.to_string()))?)
            }
            (None, Some(server)) => remote(server, config)?,
        };
        Ok(Some(Box::new(Pipeline(author))))
    }

    #[cfg(feature = "remote")]
    fn remote(server: &str, config: &OfferConfig) -> Result<Box<dyn Author + Send>, ServiceError> {
        use crate::student::{Remote, RemoteConfig};
        let name = config.name.clone().ok_or_else(|| {
            ServiceError::Setting("`offer.server` needs `offer.name`, the model on that server".to_owned())
        })?;
        let mut remote = RemoteConfig::new(server, name);
        remote.key_variable.clone_from(&config.key_variable);
        Ok(Box::new(Remote::new(remote).map_err(|e| ServiceError::Setting(e.to_string()))?))
    }

    #[cfg(not(feature = "remote"))]
    fn remote(_: &str, _: &OfferConfig) -> Result<Box<dyn Author + Send>, ServiceError> {
        Err(ServiceError::Setting("`offer.server` needs the feature `remote`".to_owned()))
    }
}
