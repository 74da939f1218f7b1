//! The side that moves things: takes orders from a broker, ours or the real one, and publishes, or not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use crate::proto::val_client::ValClient;
use crate::proto::*;

/// What a provider does with an order.
#[derive(Debug, Clone)]
pub enum Act {
    /// Publishes what was ordered.
    Obey,
    /// Rejects it, which the broker tells nobody.
    Reject,
    /// Publishes something else.
    Other(Value),
    /// Publishes it so much later.
    Late(Duration),
}

/// One provider with its connection.
pub struct Provider {
    acts: Arc<Mutex<HashMap<String, Act>>>,
    orders: Arc<Mutex<Vec<(String, Value)>>>,
    task: AbortHandle,
}

pub async fn client(address: &str) -> ValClient<Channel> {
    let endpoint = Endpoint::from_shared(address.to_owned()).unwrap();
    for _ in 0..50 {
        if let Ok(channel) = endpoint.connect().await {
            return ValClient::new(channel).max_decoding_message_size(8 * 1024 * 1024);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("no broker at {address}");
}

pub fn by_path(path: &str) -> SignalId {
    SignalId { signal: Some(signal_id::Signal::Path(path.to_owned())) }
}

/// Publishes a value. Only tests do that: it is the car that speaks.
pub async fn publish(client: &mut ValClient<Channel>, path: &str, value: Value) {
    let data_point = Some(Datapoint { timestamp: Some(std::time::SystemTime::now().into()), value: Some(value) });
    let request = PublishValueRequest { signal_id: Some(by_path(path)), data_point };
    client.publish_value(request).await.unwrap_or_else(|error| panic!("{path}: {error}"));
}

impl Provider {
    /// Claims the actuators among some paths; waits for whoever had them before to be gone.
    pub async fn start(address: &str, paths: &[&str]) -> Self {
        for _ in 0..100 {
            match Self::claim(address, paths).await {
                Ok(provider) => return provider,
                Err(status) if status.code() == tonic::Code::AlreadyExists => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(status) => panic!("{status}"),
            }
        }
        panic!("somebody else keeps the actuators");
    }

    pub async fn claim(address: &str, paths: &[&str]) -> Result<Self, Status> {
        let mut client = client(address).await;
        let listed =
            client.list_metadata(ListMetadataRequest { root: "Vehicle".into(), filter: String::new() }).await?;
        let names: HashMap<i32, String> = listed.into_inner().metadata.into_iter().map(|m| (m.id, m.path)).collect();
        let (to, from) = mpsc::channel(100);
        let identifiers = paths.iter().map(|p| by_path(p)).collect();
        let claim = ProvideActuationRequest { actuator_identifiers: identifiers };
        let ask = |action| OpenProviderStreamRequest { action: Some(action) };
        use open_provider_stream_request::Action as Ask;
        use open_provider_stream_response::Action as Told;
        to.send(ask(Ask::ProvideActuationRequest(claim))).await.unwrap();
        let mut told = client.open_provider_stream(ReceiverStream::new(from)).await?.into_inner();
        let first = told.next().await.ok_or_else(|| Status::unknown("the stream ended"))??;
        assert!(matches!(first.action, Some(Told::ProvideActuationResponse(_))), "{first:?}");
        let acts: Arc<Mutex<HashMap<String, Act>>> = Arc::default();
        let orders: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
        let (doing, heard) = (acts.clone(), orders.clone());
        let task = tokio::spawn(async move {
            while let Some(Ok(message)) = told.next().await {
                let Some(Told::BatchActuateStreamRequest(batch)) = message.action else { continue };
                for order in batch.actuate_requests {
                    let id = order.signal_id.clone();
                    let path = match id.clone().and_then(|s| s.signal) {
                        Some(signal_id::Signal::Id(id)) => names[&id].clone(),
                        Some(signal_id::Signal::Path(path)) => path,
                        None => continue,
                    };
                    let value = order.value.unwrap();
                    heard.lock().unwrap().push((path.clone(), value.clone()));
                    let act = doing.lock().unwrap().get(&path).cloned().unwrap_or(Act::Obey);
                    let (code, published) = match act {
                        Act::Obey => (ErrorCode::Ok, Some((value, Duration::ZERO))),
                        Act::Other(other) => (ErrorCode::Ok, Some((other, Duration::ZERO))),
                        Act::Late(after) => (ErrorCode::Ok, Some((value, after))),
                        Act::Reject => (ErrorCode::InvalidArgument, None),
                    };
                    if let Some((value, after)) = published {
                        let mut client = client.clone();
                        let publishing = async move {
                            tokio::time::sleep(after).await;
                            publish(&mut client, &path, value).await;
                        };
                        if after.is_zero() {
                            publishing.await;
                        } else {
                            tokio::spawn(publishing);
                        }
                    }
                    let error = Some(Error { code: code.into(), message: String::new() });
                    let done = BatchActuateStreamResponse { signal_id: id, error };
                    if to.send(ask(Ask::BatchActuateStreamResponse(done))).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Self { acts, orders, task: task.abort_handle() })
    }

    /// What it does with orders for a signal from here on.
    pub fn act(&self, path: &str, act: Act) {
        self.acts.lock().unwrap().insert(path.to_owned(), act);
    }

    /// Every order that reached it.
    pub fn orders(&self) -> Vec<(String, Value)> {
        self.orders.lock().unwrap().clone()
    }

    /// How many orders for a signal reached it.
    pub fn count(&self, path: &str) -> usize {
        self.orders.lock().unwrap().iter().filter(|(p, _)| p == path).count()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}
