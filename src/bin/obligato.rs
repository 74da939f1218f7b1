//! The command line of Obligato.

fn main() -> std::process::ExitCode {
    obligato::cli::main()
}
