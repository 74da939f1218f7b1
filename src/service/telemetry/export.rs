//! The way to the collector.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanExporter as Exports, SpanProcessor,
};
use tokio::runtime::Handle;

/// Spans that may wait: some minutes of talk while the collector is away. What does not fit is lost.
const WAITING: usize = 2_048;
/// Spans of one batch.
const BATCH: usize = 512;
/// How long a span waits for others.
const DELAY: Duration = Duration::from_secs(2);
/// Time for one batch.
const EXPORT: Duration = Duration::from_secs(3);

/// Takes finished spans and never waits for the collector.
///
/// # Errors
/// What is wrong with the endpoint.
pub(super) fn processor(endpoint: &str, service: &str, runtime: &Handle) -> Result<BatchSpanProcessor, String> {
    // The connection is made on the runtime, when there is something to send.
    let _on = runtime.enter();
    let exporter = SpanExporter::builder().with_tonic().with_endpoint(endpoint).with_timeout(EXPORT);
    let exporter = Watched { exporter: exporter.build().map_err(|e| e.to_string())?, failing: AtomicBool::new(false) };
    let settings = BatchConfigBuilder::default()
        .with_max_queue_size(WAITING)
        .with_max_export_batch_size(BATCH)
        .with_scheduled_delay(DELAY)
        .build();
    let mut processor = BatchSpanProcessor::builder(exporter).with_batch_config(settings).build();
    let resource = Resource::builder_empty().with_service_name(service.to_owned());
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    processor.set_resource(&resource.with_attribute(version).build());
    Ok(processor)
}

/// An exporter that says once that the collector is away, and once that it is back.
#[derive(Debug)]
struct Watched {
    exporter: SpanExporter,
    failing: AtomicBool,
}

impl Exports for Watched {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let sent = self.exporter.export(batch).await;
        let was = self.failing.swap(sent.is_err(), Ordering::AcqRel);
        match &sent {
            Err(error) if !was => tracing::warn!(%error, spans, "the collector does not take traces; they are lost"),
            Ok(()) if was => tracing::info!(spans, "the collector takes traces again"),
            _ => {}
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
