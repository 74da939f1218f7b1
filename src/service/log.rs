//! Where logs go: to journald with their fields under systemd, else to the terminal.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

/// Sets up logging for this process. `OBLIGATO_LOG` filters (`debug`, `obligato::service=trace`);
/// without it, `info` is written.
pub(super) fn start() {
    let filter = filter(&std::env::var("OBLIGATO_LOG").unwrap_or_default());
    let journal = stderr_is_journal().then(tracing_journald::layer).and_then(Result::ok);
    let terminal = journal.is_none().then(|| fmt::layer().with_writer(std::io::stderr).with_target(false));
    let layers = registry().with(journal.map(Layer::boxed)).with(terminal.map(Layer::boxed)).with(filter);
    // A process that hosts the service in a test may have set up its own.
    let _ = layers.try_init();
}

/// What is written, from a list of levels and of `module=level`. A part that is neither says nothing.
fn filter(list: &str) -> Targets {
    let known = list.split(',').map(str::trim).filter(|part| !part.is_empty() && part.parse::<Targets>().is_ok());
    let all: Vec<&str> = std::iter::once("info").chain(known).collect();
    all.join(",").parse().unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO))
}

/// systemd names the socket that it connected: if that is our standard error, nobody redirected it.
fn stderr_is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(handle) = std::io::stderr().as_fd().try_clone_to_owned() else { return false };
    File::from(handle).metadata().is_ok_and(|m| stream == format!("{}:{}", m.dev(), m.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn a_level_and_a_module_of_its_own_are_taken_and_nonsense_says_nothing() {
        let writes = |list: &str, target: &str, level| filter(list).would_enable(target, &level);
        for list in ["", " , ", "obligato=loud", "[span]=="] {
            assert!(
                writes(list, "obligato::turn", Level::INFO) && !writes(list, "obligato::turn", Level::DEBUG),
                "{list}"
            );
        }
        let list = "warn, obligato::service=trace, obligato=loud";
        assert!(writes(list, "obligato::service::worker", Level::TRACE));
        assert!(writes(list, "obligato::turn", Level::WARN) && !writes(list, "obligato::turn", Level::INFO));
        assert!(!writes("off", "obligato::turn", Level::ERROR));
    }
}
