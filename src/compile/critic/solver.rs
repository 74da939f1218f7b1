//! Cedar's symbolic compiler and the solver cvc5: what no state and no call can make true.

use std::future::Future;
use std::time::Duration;

use cedar_policy::RequestEnv;
use cedar_policy_symcc::solver::{Decision, LocalSolver, Solver as _, SolverError};
use cedar_policy_symcc::{CedarSymCompiler, CompiledPolicy, Env as Model, SmtLibScript};
use tokio::process::Command;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::expr::Expr;
use super::subject::{Env, Subject};

/// Steps that one query may take: the same query gives the same answer on a slow machine.
const RESOURCES: &str = "--rlimit-per=2000000";
/// How long a program may take for one query. `RESOURCES` ends a query of a solver in seconds; this ends a program
/// that hangs.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a program may take for the two queries that show that it is a solver at all.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);

/// How often a program may break off before it counts as no solver.
const BREAKS: u32 = 3;

/// Why a query has no answer.
#[derive(Debug)]
pub(super) enum Fault {
    /// This query has none; the next may.
    Query(String),
    /// The program broke off, or said what no solver says.
    Broken(String),
    /// The solver is lost: no query will have one.
    Lost(String),
}

/// A running solver.
pub(super) struct Solver {
    runtime: Runtime,
    compiler: CedarSymCompiler<LocalSolver>,
    /// How often the program broke off.
    breaks: u32,
}

impl Solver {
    /// Starts the solver that `CVC5` names, else `cvc5` on the path, and asks it two queries whose answers are known.
    pub(super) fn start() -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let compiler = runtime.block_on(tried())?;
        Ok(Self { runtime, compiler, breaks: 0 })
    }

    /// A request under which the condition holds; none when there is none.
    pub(super) fn model(&mut self, subject: &Subject, env: &Env, condition: &Expr) -> Result<Option<Model>, Fault> {
        let policy = compiled(subject, env, condition).map_err(Fault::Query)?;
        let Self { runtime, compiler, .. } = self;
        let asked = patiently(compiler.check_never_matches_with_counterexample_opt(&policy));
        let answer = runtime.block_on(asked);
        answer.or_else(|why| self.recover(why))
    }

    /// A request under which the condition cannot be evaluated.
    pub(super) fn error(&mut self, subject: &Subject, env: &Env, condition: &Expr) -> Result<Option<Model>, Fault> {
        let policy = compiled(subject, env, condition).map_err(Fault::Query)?;
        let Self { runtime, compiler, .. } = self;
        let asked = patiently(compiler.check_never_errors_with_counterexample_opt(&policy));
        let answer = runtime.block_on(asked);
        answer.or_else(|why| self.recover(why))
    }

    /// After a fault the process may be gone or out of step: the next query gets a new one. A program that kept
    /// silent, or broke off time and again, would do so again.
    fn recover(&mut self, why: Fault) -> Result<Option<Model>, Fault> {
        let told = match why {
            Fault::Lost(why) => return Err(Fault::Lost(why)),
            Fault::Broken(why) if self.breaks + 1 >= BREAKS => {
                return Err(Fault::Lost(format!("`{}` broke off {BREAKS} times, last with: {why}", program())));
            }
            Fault::Broken(why) => {
                self.breaks += 1;
                why
            }
            Fault::Query(why) => why,
        };
        self.compiler = self.runtime.block_on(tried()).map_err(|gone| Fault::Lost(format!("{told}; {gone}")))?;
        Err(Fault::Query(told))
    }
}

/// Waits for an answer as long as a solver may take.
async fn patiently(
    asked: impl Future<Output = cedar_policy_symcc::err::Result<Option<Model>>>,
) -> Result<Option<Model>, Fault> {
    match timeout(PATIENCE, asked).await {
        Ok(answer) => answer.map_err(|error| match error {
            cedar_policy_symcc::err::Error::SolverError(_) => Fault::Broken(error.to_string()),
            _ => Fault::Query(error.to_string()),
        }),
        Err(_) => {
            Err(Fault::Lost(format!("`{}` gave no answer in {} s and was stopped", program(), PATIENCE.as_secs())))
        }
    }
}

/// The program that is asked.
fn program() -> String {
    std::env::var("CVC5").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "cvc5".to_owned())
}

/// A program that has shown that it is a solver: nothing can be met, a contradiction cannot.
async fn tried() -> Result<CedarSymCompiler<LocalSolver>, String> {
    let known = async {
        let mut solver = spawn()?;
        let open = solver.check_sat().await?;
        solver.smtlib_input().reset().await?;
        solver.smtlib_input().assert("false").await?;
        Ok::<_, SolverError>((open, solver.check_sat().await?))
    };
    let mend = "install cvc5 (`apt-get install cvc5`) or name it in `CVC5`";
    let program = program();
    match timeout(FIRST_PATIENCE, known).await {
        Ok(Ok((Decision::Sat, Decision::Unsat))) => {}
        Ok(Ok(_)) => return Err(format!("`{program}` answers simple queries wrongly, so it is no solver; {mend}")),
        Ok(Err(SolverError::Io(e))) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(format!("the solver {program} cannot be started: {e}; {mend}"));
        }
        Ok(Err(e)) => {
            let why = std::error::Error::source(&e).map(|s| format!(": {s}")).unwrap_or_default();
            return Err(format!("`{program}` does not answer as a solver does ({e}{why}); {mend}"));
        }
        Err(_) => {
            return Err(format!(
                "`{program}` gave no answer in {} s and was stopped; {mend}",
                FIRST_PATIENCE.as_secs()
            ));
        }
    }
    let solver = spawn().map_err(|e| e.to_string())?;
    CedarSymCompiler::new(solver).map_err(|e| e.to_string())
}

/// A process that ends with its owner, whatever it is doing.
fn spawn() -> Result<LocalSolver, SolverError> {
    let mut command = Command::new(program());
    LocalSolver::from_command(command.args(["--lang", "smt", "--strings-exp", RESOURCES]).kill_on_drop(true))
}

fn compiled(subject: &Subject, env: &Env, condition: &Expr) -> Result<CompiledPolicy, String> {
    let policy = condition.policy(&env.action_json(), &env.resource).ok_or("the condition is no Cedar policy")?;
    let kind = |name: &str| name.parse().map_err(|_| format!("`{name}` is no entity type"));
    let request = RequestEnv::new(kind(&env.principal)?, env.action.clone(), kind(&env.resource)?);
    CompiledPolicy::compile(&policy, &request, &subject.schema).map_err(|e| told(&e))
}

/// What the symbolic compiler says, with what it was told.
fn told(error: &cedar_policy_symcc::err::Error) -> String {
    match error {
        cedar_policy_symcc::err::Error::PolicyNotWellTyped { errs } => {
            errs.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
        other => other.to_string(),
    }
}
