//! Where logs go: to journald with their fields under systemd, else to the terminal.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt, registry};

/// Sets up logging for this process. `OBLIGATO_LOG` filters (`debug`, `obligato::service=trace`);
/// without it, `info` is written.
pub(super) fn start() {
    let filter = EnvFilter::builder()
        .with_default_directive(tracing::Level::INFO.into())
        .with_env_var("OBLIGATO_LOG")
        .from_env_lossy();
    let journal = stderr_is_journal().then(tracing_journald::layer).and_then(Result::ok);
    let terminal = journal.is_none().then(|| fmt::layer().with_writer(std::io::stderr).with_target(false));
    let layers = registry().with(journal.map(Layer::boxed)).with(terminal.map(Layer::boxed)).with(filter);
    // A process that hosts the service in a test may have set up its own.
    let _ = layers.try_init();
}

/// systemd names the socket that it connected: if that is our standard error, nobody redirected it.
fn stderr_is_journal() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    let Ok(handle) = std::io::stderr().as_fd().try_clone_to_owned() else { return false };
    File::from(handle).metadata().is_ok_and(|m| stream == format!("{}:{}", m.dev(), m.ino()))
}
