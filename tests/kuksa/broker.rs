//! An in-process server of `kuksa.val.v2` that does what was measured on the real one: OK means queued,
//! a batch is not atomic, identifiers change with every start, only a publish changes a value, types are
//! strict. And it can be killed, restarted, frozen and told to refuse.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{broadcast, mpsc, watch};
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tokio_stream::{Stream, StreamExt};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status, Streaming};

use crate::proto::val_server::{Val, ValServer};
use crate::proto::value::TypedValue;
use crate::proto::*;
use crate::tree;

type Answer<T> = Result<Response<T>, Status>;
type Sender<T> = mpsc::Sender<Result<T, Status>>;

/// Where a server listens.
#[derive(Clone)]
pub enum Place {
    Tcp,
    Tls { certificate: String, key: String },
    Unix(PathBuf),
}

/// A broker that lives in threads of its own, so that killing it kills its connections too.
pub struct Broker {
    runtime: Option<Runtime>,
    place: Place,
    address: Option<SocketAddr>,
    pub state: Arc<State>,
}

#[derive(Default)]
pub struct State {
    tree: Mutex<Tree>,
    boots: AtomicI32,
    /// While true, nothing is answered.
    frozen: watch::Sender<bool>,
    /// The token that is accepted; none: any.
    pub token: Mutex<Option<String>>,
    /// Actuation is not in the token's scope.
    pub denies: AtomicBool,
}

#[derive(Default)]
struct Tree {
    entries: HashMap<String, Entry>,
    paths: HashMap<i32, String>,
    providers: Vec<(u64, HashSet<String>, Sender<OpenProviderStreamResponse>)>,
    subscribers: Vec<(HashSet<String>, broadcast::Sender<SubscribeResponse>)>,
    opened: u64,
}

struct Entry {
    metadata: Metadata,
    point: Datapoint,
}

impl Broker {
    pub fn start() -> Self {
        Self::with(tree::vss(), Place::Tcp)
    }

    pub fn with(metadata: Vec<Metadata>, place: Place) -> Self {
        let state = Arc::new(State::default());
        for metadata in metadata {
            let path = metadata.path.clone();
            state.tree().entries.insert(path, Entry { metadata, point: Datapoint::default() });
        }
        let mut broker = Self { runtime: None, place, address: None, state };
        broker.boot();
        broker
    }

    /// How clients write its address.
    pub fn address(&self) -> String {
        match (&self.place, self.address) {
            (Place::Unix(path), _) => format!("unix:{}", path.display()),
            (Place::Tls { .. }, Some(address)) => format!("https://localhost:{}", address.port()),
            (_, address) => format!("http://{}", address.unwrap()),
        }
    }

    /// Ends it with all of its connections, as a crash does.
    pub fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // In a thread of its own: the caller may be a worker of another runtime, which may not wait.
            let down = std::thread::spawn(move || runtime.shutdown_timeout(std::time::Duration::from_secs(1)));
            down.join().unwrap();
        }
    }

    /// Starts it anew at the same address: values are gone, identifiers are others.
    pub fn boot(&mut self) {
        self.kill();
        let boot = self.state.boots.fetch_add(1, Ordering::SeqCst);
        {
            let mut tree = self.state.tree();
            let tree = &mut *tree;
            tree.paths.clear();
            tree.providers.clear();
            tree.subscribers.clear();
            for (at, (path, entry)) in tree.entries.iter_mut().enumerate() {
                let id = boot * 1_000 + i32::try_from(at).unwrap();
                entry.metadata.id = id;
                entry.point = Datapoint::default();
                tree.paths.insert(id, path.clone());
            }
        }
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let service = ValServer::new(Service { state: self.state.clone() });
        let mut server = Server::builder();
        match &self.place {
            Place::Unix(path) => {
                let _ = std::fs::remove_file(path);
                let _runtime = runtime.enter();
                let incoming = UnixListenerStream::new(UnixListener::bind(path).unwrap());
                runtime.spawn(server.add_service(service).serve_with_incoming(incoming));
            }
            tcp => {
                if let Place::Tls { certificate, key } = tcp {
                    let identity = Identity::from_pem(certificate, key);
                    server = server.tls_config(ServerTlsConfig::new().identity(identity)).unwrap();
                }
                let at = self.address.map_or_else(|| "127.0.0.1:0".to_owned(), |a| a.to_string());
                // In a thread of its own: the caller may be a worker of another runtime.
                let listener = std::net::TcpListener::bind(at).unwrap();
                listener.set_nonblocking(true).unwrap();
                self.address = Some(listener.local_addr().unwrap());
                let _runtime = runtime.enter();
                let listener = TcpListener::from_std(listener).unwrap();
                // As the real one: without it an answer may wait for an acknowledgement.
                let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
                runtime.spawn(server.add_service(service).serve_with_incoming(incoming));
            }
        }
        self.runtime = Some(runtime);
    }

    /// As when a provider stops reading: nothing is answered until it thaws.
    pub fn freeze(&self, frozen: bool) {
        self.state.frozen.send_replace(frozen);
    }

    /// Sets a value as a provider would, without a connection.
    pub fn set(&self, path: &str, value: Value) {
        self.state.publish(path, Some(value)).unwrap();
    }

    /// A value with a stamp of its own.
    pub fn set_stamped(&self, path: &str, value: Option<Value>, stamp: Option<SystemTime>) {
        let point = Datapoint { timestamp: stamp.map(Into::into), value };
        self.state.tell(path, point, |_| true).unwrap();
    }

    /// A value whose news is dropped, as that of a subscriber that was too slow: it is told nothing of it.
    pub fn set_unheard(&self, path: &str, value: Value) {
        let point = Datapoint { timestamp: Some(SystemTime::now().into()), value: Some(value) };
        self.state.tell(path, point, |_| false).unwrap();
    }

    /// News that it kept while it froze, and that arrives now; what it has is another value by now.
    pub fn tell_late(&self, path: &str, value: Value, stamp: SystemTime) {
        let has = self.state.tree().entries[path].point.clone();
        self.set_stamped(path, Some(value), Some(stamp));
        self.state.tree().entries.get_mut(path).unwrap().point = has;
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}

impl State {
    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap()
    }

    /// Whether somebody moves a signal.
    pub fn provides(&self, path: &str) -> bool {
        self.tree().providers.iter().any(|(_, paths, to)| paths.contains(path) && !to.is_closed())
    }

    async fn thawed(&self) {
        let _ = self.frozen.subscribe().wait_for(|frozen| !frozen).await;
    }

    fn check<T>(&self, request: &Request<T>) -> Result<(), Status> {
        let wanted = self.token.lock().unwrap().clone();
        let given = request.metadata().get("authorization").and_then(|v| v.to_str().ok());
        match wanted {
            Some(token) if given != Some(format!("Bearer {token}").as_str()) => {
                Err(Status::unauthenticated("Unauthenticated"))
            }
            _ => Ok(()),
        }
    }

    fn path(&self, signal: Option<&SignalId>) -> Result<String, Status> {
        let tree = self.tree();
        match signal.and_then(|s| s.signal.as_ref()) {
            Some(signal_id::Signal::Path(path)) if tree.entries.contains_key(path) => Ok(path.clone()),
            Some(signal_id::Signal::Id(id)) if tree.paths.contains_key(id) => Ok(tree.paths[id].clone()),
            Some(_) => Err(Status::not_found("Path not found")),
            None => Err(Status::invalid_argument("No SignalId provided")),
        }
    }

    /// Changes a value and tells whoever subscribed. A switched one is told on change only, a measured
    /// one every time.
    fn publish(&self, path: &str, value: Option<Value>) -> Result<(), Status> {
        {
            let tree = self.tree();
            let entry = tree.entries.get(path).ok_or_else(|| Status::not_found("Path not found"))?;
            if entry.metadata.entry_type() != EntryType::Sensor && entry.point.value == value {
                return Ok(());
            }
        }
        self.tell(path, Datapoint { timestamp: Some(SystemTime::now().into()), value }, |_| true)
    }

    fn tell(&self, path: &str, point: Datapoint, hears: impl Fn(usize) -> bool) -> Result<(), Status> {
        let mut tree = self.tree();
        let entry = tree.entries.get_mut(path).ok_or_else(|| Status::not_found("Path not found"))?;
        if let Some(value) = &point.value {
            fits(&entry.metadata, value)?;
        }
        entry.point = point.clone();
        tree.subscribers.retain(|(_, to)| to.receiver_count() > 0);
        for (at, (_, to)) in tree.subscribers.iter().enumerate().filter(|(_, (paths, _))| paths.contains(path)) {
            if hears(at) {
                let _ = to.send(SubscribeResponse { entries: [(path.to_owned(), point.clone())].into() });
            }
        }
        Ok(())
    }

    fn actuate(&self, request: &ActuateRequest) -> Result<(), Status> {
        let path = self.path(request.signal_id.as_ref())?;
        let value = request.value.clone().ok_or_else(|| Status::invalid_argument("No value provided"))?;
        let tree = self.tree();
        let metadata = &tree.entries[&path].metadata;
        if metadata.entry_type() != EntryType::Actuator {
            return Err(Status::invalid_argument("Tried to set a value for a non-actuator"));
        }
        fits(metadata, &value)?;
        let provider = tree.providers.iter().find(|(_, paths, to)| paths.contains(&path) && !to.is_closed());
        let (_, _, to) = provider.ok_or_else(|| Status::unavailable("Provider not available"))?;
        // Only the identifier is passed on.
        let signal_id = Some(SignalId { signal: Some(signal_id::Signal::Id(metadata.id)) });
        let requests = vec![ActuateRequest { signal_id, value: Some(value) }];
        let action = BatchActuateStreamRequest { actuate_requests: requests };
        let action = open_provider_stream_response::Action::BatchActuateStreamRequest(action);
        let _ = to.try_send(Ok(OpenProviderStreamResponse { action: Some(action) }));
        Ok(())
    }
}

/// Types are strict, and limits hold where there are some; what is no number passes.
fn fits(metadata: &Metadata, value: &Value) -> Result<(), Status> {
    let wrong = || Err(Status::invalid_argument("Wrong Type"));
    let number = |value: &Value| match value.typed_value {
        Some(TypedValue::Uint32(n)) => Some(f64::from(n)),
        Some(TypedValue::Int32(n)) => Some(f64::from(n)),
        Some(TypedValue::Float(n)) => Some(f64::from(n)),
        Some(TypedValue::Double(n)) => Some(n),
        _ => None,
    };
    match (metadata.data_type(), value.typed_value.as_ref()) {
        (DataType::Boolean, Some(TypedValue::Bool(_)))
        | (DataType::Float, Some(TypedValue::Float(_)))
        | (DataType::Double, Some(TypedValue::Double(_)))
        | (DataType::Int8, Some(TypedValue::Int32(_)))
        | (DataType::Uint8 | DataType::Uint32, Some(TypedValue::Uint32(_)))
        | (DataType::String, Some(TypedValue::String(_))) => {}
        _ => return wrong(),
    }
    let limit = |bound: &Option<Value>| bound.as_ref().and_then(number);
    if let Some(n) = number(value) {
        let low = limit(&metadata.min).is_some_and(|least| n < least);
        if low || limit(&metadata.max).is_some_and(|most| n > most) {
            return Err(Status::invalid_argument("Value out of bounds"));
        }
    }
    match (metadata.allowed_values.as_ref().and_then(|v| v.typed_value.as_ref()), &value.typed_value) {
        (Some(TypedValue::StringArray(words)), Some(TypedValue::String(word))) if !words.values.contains(word) => {
            Err(Status::invalid_argument("Value not allowed"))
        }
        _ => Ok(()),
    }
}

struct Service {
    state: Arc<State>,
}

#[tonic::async_trait]
impl Val for Service {
    type SubscribeStream = ReceiverStream<Result<SubscribeResponse, Status>>;
    type OpenProviderStreamStream = Pin<Box<dyn Stream<Item = Result<OpenProviderStreamResponse, Status>> + Send>>;

    async fn get_values(&self, request: Request<GetValuesRequest>) -> Answer<GetValuesResponse> {
        self.state.check(&request)?;
        self.state.thawed().await;
        let mut data_points = Vec::new();
        for id in &request.get_ref().signal_ids {
            let path = self.state.path(Some(id))?;
            data_points.push(self.state.tree().entries[&path].point.clone());
        }
        Ok(Response::new(GetValuesResponse { data_points }))
    }

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Answer<Self::SubscribeStream> {
        self.state.check(&request)?;
        self.state.thawed().await;
        let paths: HashSet<String> = request.into_inner().signal_paths.into_iter().collect();
        let mut tree = self.state.tree();
        let mut entries = HashMap::new();
        for path in &paths {
            let entry = tree.entries.get(path).ok_or_else(|| Status::not_found("Path not found"))?;
            entries.insert(path.clone(), entry.point.clone());
        }
        // As the real one: whoever reads too slowly loses the oldest news, and is told nothing of it.
        let (to, mut kept) = broadcast::channel(1_000);
        let _ = to.send(SubscribeResponse { entries });
        tree.subscribers.push((paths, to));
        drop(tree);
        let (told, from) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                let news = tokio::select! {
                    news = kept.recv() => news,
                    () = told.closed() => return,
                };
                match news {
                    Ok(news) => match told.send(Ok(news)).await {
                        Ok(()) => {}
                        Err(_) => return,
                    },
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(from)))
    }

    async fn actuate(&self, request: Request<ActuateRequest>) -> Answer<ActuateResponse> {
        self.state.check(&request)?;
        self.state.thawed().await;
        if self.state.denies.load(Ordering::SeqCst) {
            return Err(Status::permission_denied("Permission denied"));
        }
        self.state.actuate(request.get_ref())?;
        Ok(Response::new(ActuateResponse {}))
    }

    async fn batch_actuate(&self, request: Request<BatchActuateRequest>) -> Answer<BatchActuateResponse> {
        self.state.check(&request)?;
        self.state.thawed().await;
        // What comes before the signal that cannot be moved moves all the same.
        request.get_ref().actuate_requests.iter().try_for_each(|one| self.state.actuate(one))?;
        Ok(Response::new(BatchActuateResponse {}))
    }

    async fn list_metadata(&self, request: Request<ListMetadataRequest>) -> Answer<ListMetadataResponse> {
        self.state.check(&request)?;
        let metadata = self.state.tree().entries.values().map(|e| e.metadata.clone()).collect();
        Ok(Response::new(ListMetadataResponse { metadata }))
    }

    async fn publish_value(&self, request: Request<PublishValueRequest>) -> Answer<PublishValueResponse> {
        self.state.check(&request)?;
        self.state.thawed().await;
        let request = request.into_inner();
        let path = self.state.path(request.signal_id.as_ref())?;
        self.state.publish(&path, request.data_point.and_then(|p| p.value))?;
        Ok(Response::new(PublishValueResponse {}))
    }

    async fn open_provider_stream(
        &self,
        request: Request<Streaming<OpenProviderStreamRequest>>,
    ) -> Answer<Self::OpenProviderStreamStream> {
        self.state.check(&request)?;
        let (to, from) = mpsc::channel(1_000);
        let (state, mut incoming) = (self.state.clone(), request.into_inner());
        tokio::spawn(async move {
            let me = {
                let mut tree = state.tree();
                tree.opened += 1;
                tree.opened
            };
            while let Some(Ok(message)) = incoming.next().await {
                use open_provider_stream_request::Action as Ask;
                if let Some(Ask::ProvideActuationRequest(claim)) = message.action {
                    let answer = claimed(&state, me, &claim, &to);
                    let failed = answer.is_err();
                    let action = open_provider_stream_response::Action::ProvideActuationResponse;
                    let answer = answer
                        .map(|()| OpenProviderStreamResponse { action: Some(action(ProvideActuationResponse {})) });
                    if to.send(answer).await.is_err() || failed {
                        break;
                    }
                }
            }
            state.tree().providers.retain(|(id, ..)| *id != me);
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(from))))
    }

    async fn get_server_info(&self, _: Request<GetServerInfoRequest>) -> Answer<GetServerInfoResponse> {
        let info = GetServerInfoResponse { name: "mimic".into(), version: "1".into(), commit_hash: String::new() };
        Ok(Response::new(info))
    }
}

fn claimed(
    state: &State,
    me: u64,
    claim: &ProvideActuationRequest,
    to: &Sender<OpenProviderStreamResponse>,
) -> Result<(), Status> {
    let paths: Result<HashSet<String>, Status> =
        claim.actuator_identifiers.iter().map(|id| state.path(Some(id))).collect();
    let paths = paths?;
    let mut tree = state.tree();
    tree.providers.retain(|(_, _, to)| !to.is_closed());
    if tree.providers.iter().any(|(_, taken, _)| !taken.is_disjoint(&paths)) {
        return Err(Status::already_exists("Provider already exists"));
    }
    tree.providers.push((me, paths, to.clone()));
    Ok(())
}
