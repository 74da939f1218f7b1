//! The service of Obligato.

fn main() -> std::process::ExitCode {
    obligato::cli::daemon_main()
}
