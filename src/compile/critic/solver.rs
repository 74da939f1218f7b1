//! Cedar's symbolic compiler and the solver cvc5: what no state and no call can make true.

use cedar_policy::RequestEnv;
use cedar_policy_symcc::solver::LocalSolver;
use cedar_policy_symcc::{CedarSymCompiler, CompiledPolicy, Env as Model};
use tokio::runtime::Runtime;

use super::expr::Expr;
use super::subject::{Env, Subject};

/// Steps that one query may take: the same query gives the same answer on a slow machine.
const RESOURCES: &str = "--rlimit-per=2000000";

/// A running solver.
pub(super) struct Solver {
    runtime: Runtime,
    compiler: CedarSymCompiler<LocalSolver>,
}

impl Solver {
    /// Starts the solver that `CVC5` names, else `cvc5` on the path.
    pub(super) fn start() -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
        let compiler = runtime.block_on(async { spawn() })?;
        Ok(Self { runtime, compiler })
    }

    /// A request under which the condition holds; none when there is none.
    pub(super) fn model(&mut self, subject: &Subject, env: &Env, condition: &Expr) -> Result<Option<Model>, String> {
        let policy = compiled(subject, env, condition)?;
        let answer = self.runtime.block_on(self.compiler.check_never_matches_with_counterexample_opt(&policy));
        answer.map_err(|error| self.recover(&error.to_string()))
    }

    /// A request under which the condition cannot be evaluated.
    pub(super) fn error(&mut self, subject: &Subject, env: &Env, condition: &Expr) -> Result<Option<Model>, String> {
        let policy = compiled(subject, env, condition)?;
        let answer = self.runtime.block_on(self.compiler.check_never_errors_with_counterexample_opt(&policy));
        answer.map_err(|error| self.recover(&error.to_string()))
    }

    /// After a fault the process may be gone or out of step: the next query gets a new one.
    fn recover(&mut self, why: &str) -> String {
        match self.runtime.block_on(async { spawn() }) {
            Ok(fresh) => self.compiler = fresh,
            Err(gone) => return format!("{why}; {gone}"),
        }
        why.to_owned()
    }
}

fn spawn() -> Result<CedarSymCompiler<LocalSolver>, String> {
    let arguments = ["--strings-exp", RESOURCES];
    let solver = LocalSolver::cvc5_with_args(arguments).map_err(|e| {
        let why = std::error::Error::source(&e).map(|s| format!(": {s}")).unwrap_or_default();
        format!("the solver cvc5 cannot be started{why}; install it (`apt-get install cvc5`) or name it in `CVC5`")
    })?;
    CedarSymCompiler::new(solver).map_err(|e| e.to_string())
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
