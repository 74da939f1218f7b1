//! Registration and calls on the bus.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use obligato::service::{BUS_NAME, Bus, ProvidersProxy, Refusal};
use obligato::state::{Clock, SystemClock};
use obligato::vehicle::{PROVIDER_INTERFACE, PROVIDER_PATH};
use tokio::time::sleep;
use tokio_stream::StreamExt;
use zbus::Connection;
use zbus::fdo::{self, DBusProxy};
use zbus::message::Header;
use zbus::wire::ObjectPath;

use crate::Error;
use crate::store::{Store, StoreError};
use crate::tools::{self, Tool};

/// Pause before a registration that came too early or too often is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// The provider's side of the contract that [`PROVIDER_INTERFACE`] describes.
struct Provider {
    store: Arc<Mutex<Store>>,
    tools: Arc<Vec<Tool>>,
}

/// Carries out calls of obligatod, and of nobody else.
#[zbus::interface(name = "org.obligato.Provider1")]
impl Provider {
    /// Carries out one call, unless it has expired (`CLOCK_BOOTTIME`, microseconds). `status` is `done`,
    /// `failed` or `unknown`.
    #[zbus(out_args("status", "result"))]
    async fn call(
        &self,
        tool: String,
        arguments: String,
        call: String,
        expiry: u64,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> fdo::Result<(String, String)> {
        guarded(connection, &header).await?;
        let (store, tools) = (self.store.clone(), self.tools.clone());
        let work = move || {
            let Some(tool) = tools.iter().find(|t| t.name == tool) else {
                return Err(StoreError::Refused(format!("There is no tool {tool} here.")));
            };
            // Every transaction is whole, so a panic elsewhere leaves nothing half done.
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            let in_time = || SystemClock.since_boot().as_micros() < u128::from(expiry);
            tools::carry_out(&mut store, tool, &arguments, &call, in_time)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(result)) => Ok(("done".to_owned(), result.to_string())),
            Ok(Err(StoreError::Refused(why))) => Ok(("failed".to_owned(), why)),
            Ok(Err(error)) => Ok(("unknown".to_owned(), error.to_string())),
            Err(error) => Ok(("unknown".to_owned(), format!("the provider broke down: {error}"))),
        }
    }
}

/// Only the guard may call: whoever went past it would mail without the driver's yes.
async fn guarded(connection: &Connection, header: &Header<'_>) -> fdo::Result<()> {
    let guard = DBusProxy::new(connection).await?.get_name_owner(BUS_NAME.try_into()?).await;
    match (header.sender(), guard) {
        (Some(sender), Ok(guard)) if *sender == guard => Ok(()),
        _ => Err(fdo::Error::AccessDenied(format!("only `{BUS_NAME}` may call {PROVIDER_INTERFACE}"))),
    }
}

/// Serves until the bus goes or it is told to stop. Registers whenever obligatod comes.
pub(crate) async fn serve(bus: &Bus, name: &str, store: Store) -> Result<(), Error> {
    let tools = Arc::new(tools::all());
    let registration = tools::registration(&tools);
    let provider = Provider { store: Arc::new(Mutex::new(store)), tools };
    let connection = bus.builder().serve_at(PROVIDER_PATH, provider).name(name).build().await?;
    let names = DBusProxy::new(&connection).await?;
    let mut owners = names.receive_name_owner_changed_with_args(&[(0, BUS_NAME)]).await?;
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let mut there = names.name_has_owner(BUS_NAME.try_into()?).await.unwrap_or(false);
    loop {
        if there {
            register(&connection, &registration).await?;
        }
        there = tokio::select! {
            change = owners.next() => match change {
                Some(change) => change.args()?.new_owner.is_some(),
                None => return Ok(()),
            },
            _ = terminate.recv() => return Ok(()),
            _ = tokio::signal::ctrl_c() => return Ok(()),
        };
    }
}

async fn register(connection: &Connection, tools: &[(String, String, String)]) -> Result<(), Error> {
    let harness = ProvidersProxy::new(connection).await?;
    loop {
        let object = ObjectPath::try_from(PROVIDER_PATH)?;
        match harness.register(object, tools.to_vec()).await {
            Ok(()) => {
                eprintln!("obligato-sample-provider: {} tools are registered", tools.len());
                return Ok(());
            }
            Err(Refusal::TooMany(_)) => sleep(AGAIN).await,
            // It left meanwhile; it will be seen when it comes again.
            Err(Refusal::Stopping(_) | Refusal::ZBus(_)) => return Ok(()),
            Err(refusal) => return Err(Error::Refused(refusal)),
        }
    }
}
