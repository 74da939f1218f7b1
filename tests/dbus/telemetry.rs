//! Traces, as a collector receives them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{TraceService, TraceServiceServer};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::{Duration, sleep};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use super::rig::{PATIENCE, Rig, Setup, calls, says};

/// Keeps what it is sent.
#[derive(Debug, Clone, Default)]
struct Collector(Arc<Mutex<Vec<ExportTraceServiceRequest>>>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.lock().unwrap().push(request.into_inner());
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Takes traces from now on.
    fn serve(&self, listener: TcpListener) {
        let server = Server::builder().add_service(TraceServiceServer::new(self.clone()));
        tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    }

    fn spans(&self) -> Vec<Span> {
        let requests = self.0.lock().unwrap();
        let resources = requests.iter().flat_map(|r| &r.resource_spans);
        resources.flat_map(|r| &r.scope_spans).flat_map(|s| s.spans.clone()).collect()
    }

    /// Waits for spans of these names; by name, the latest of each.
    async fn wait_for(&self, names: &[&str]) -> BTreeMap<String, Span> {
        let until = Instant::now() + PATIENCE;
        loop {
            let spans: BTreeMap<String, Span> = self.spans().into_iter().map(|s| (s.name.clone(), s)).collect();
            if names.iter().all(|name| spans.contains_key(*name)) {
                return spans;
            }
            assert!(Instant::now() < until, "{:?}", self.spans());
            sleep(Duration::from_millis(20)).await;
        }
    }
}

fn attributes(all: &[KeyValue]) -> BTreeMap<String, String> {
    all.iter().map(|a| (a.key.clone(), format!("{:?}", a.value.as_ref().and_then(|v| v.value.as_ref())))).collect()
}

async fn free() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn setup(address: SocketAddr) -> Setup {
    let fan = calls(&[("set_fan_speed", json!({"level": 2}))]);
    Setup::drafts(&[fan, says("The fan of Annegret is at level 2.")])
        .config(&format!("[telemetry]\nendpoint = \"http://{address}\"\nservice = \"guard of the tests\"\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_a_trace_of_its_judgements_and_calls_and_tells_nothing_that_was_said() {
    let collector = Collector::default();
    let (listener, address) = free().await;
    collector.serve(listener);
    let rig = Rig::start(setup(address)).await;
    let session = rig.client().await.open().await;
    assert_eq!(session.say("Set the fan for Annegret to 2.").await.unwrap().0, "replied");

    let spans = collector.wait_for(&["turn", "verify", "execute"]).await;
    let (turn, execute) = (&spans["turn"], &spans["execute"]);
    for span in [&spans["verify"], execute] {
        assert_eq!(span.trace_id, turn.trace_id);
        assert_eq!(span.parent_span_id, turn.span_id);
        assert!(
            turn.start_time_unix_nano <= span.start_time_unix_nano
                && span.end_time_unix_nano <= turn.end_time_unix_nano,
            "{span:?} in {turn:?}"
        );
    }
    let told = attributes(&execute.attributes);
    assert!(told["obligato.tool"].contains("set_fan_speed") && told["obligato.outcome"].contains("done"), "{told:?}");
    assert!(attributes(&spans["verify"].attributes).contains_key("obligato.verdict"));
    let everything = format!("{:?}", collector.0.lock().unwrap());
    assert!(everything.contains("guard of the tests"));
    assert!(!everything.contains("Annegret") && !everything.contains("level"), "{everything}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_assistant_heard_is_a_trace_up_to_what_it_said_and_a_draft_without_it_is_one_of_its_own() {
    let collector = Collector::default();
    let (listener, address) = free().await;
    collector.serve(listener);
    let rig = Rig::start(setup(address)).await;
    let session = rig.client().await.open().await;
    let draft = calls(&[("set_fan_speed", json!({"level": 3}))]).to_string();
    session.verify(&draft).await.unwrap();
    let alone = collector.wait_for(&["verify"]).await.remove("verify").unwrap();
    assert_eq!(alone.parent_span_id, Vec::<u8>::new());

    session.heard("Set the fan to 3.", Default::default()).await.unwrap();
    session.execute(&draft).await.unwrap();
    session.spoken("Done.").await.unwrap();
    let spans = collector.wait_for(&["turn", "execute"]).await;
    assert_eq!(spans["execute"].parent_span_id, spans["turn"].span_id);
    assert_ne!(spans["turn"].trace_id, alone.trace_id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_holds_up_nothing_and_is_told_of_once_it_is_back() {
    let (listener, address) = free().await;
    drop(listener);
    let mut rig = Rig::start(setup(address)).await;
    let client = rig.client().await;
    let session = client.open().await;
    assert_eq!(session.say("Set the fan to 2.").await.unwrap().0, "replied");
    while !rig.log().contains("does not take traces") {
        sleep(Duration::from_millis(50)).await;
    }
    let collector = Collector::default();
    collector.serve(TcpListener::bind(address).await.unwrap());
    let draft = calls(&[("set_fan_speed", json!({"level": 3}))]).to_string();
    session.verify(&draft).await.unwrap();
    collector.wait_for(&["verify"]).await;
    rig.signal("TERM");
    assert!(rig.ended().await.success());
    assert_eq!(rig.log().matches("does not take traces").count(), 1, "{}", rig.log());
}
