//! Traces for a collector beside the service (OpenTelemetry, OTLP over gRPC): turns, judgements and calls as spans.
//!
//! The scribe, who sees every note after it has gone its way, makes the spans; a thread of the exporter sends them in
//! batches. A collector that is slow or away costs spans and nothing else. What a span says is a choice of names (rules,
//! gates, tools, outcomes) and times: nothing that anybody said, no argument and no result.

#[cfg(feature = "otel")]
mod export;
#[cfg(feature = "otel")]
mod spans;

use serde::Deserialize;
use tokio::runtime::Handle;

use super::ServiceError;

#[cfg(feature = "otel")]
pub(super) use spans::Traces;

/// Where traces go.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetryConfig {
    /// The collector that takes OTLP over gRPC, `http://host:port`; none: no traces are made.
    pub endpoint: Option<String>,
    /// The name under which this service is found there.
    pub service: String,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self { endpoint: None, service: "obligatod".to_owned() }
    }
}

impl TelemetryConfig {
    /// Starts exporting, where it is configured.
    ///
    /// # Errors
    /// [`ServiceError::Setting`] when the endpoint cannot be used, or not by this build.
    pub(super) fn start(&self, runtime: &Handle) -> Result<Option<Traces>, ServiceError> {
        let Some(endpoint) = &self.endpoint else { return Ok(None) };
        if !endpoint.starts_with("http://") {
            return Err(ServiceError::Setting(format!(
                "telemetry.endpoint is `{endpoint}`; write `http://host:port` of a collector on this machine or in the \
                 car's own network, which sends it on with TLS"
            )));
        }
        self.export(endpoint, runtime).map(Some)
    }

    #[cfg(feature = "otel")]
    fn export(&self, endpoint: &str, runtime: &Handle) -> Result<Traces, ServiceError> {
        let processor = export::processor(endpoint, &self.service, runtime)
            .map_err(|why| ServiceError::Setting(format!("telemetry.endpoint `{endpoint}` cannot be used: {why}")))?;
        Ok(Traces::new(processor))
    }

    #[cfg(not(feature = "otel"))]
    fn export(&self, endpoint: &str, _: &Handle) -> Result<Traces, ServiceError> {
        Err(ServiceError::Setting(format!(
            "telemetry.endpoint is `{endpoint}`, and this build makes no traces; build it with the feature `otel`, or \
             remove the setting"
        )))
    }
}

/// This build makes no traces, so there is nothing of it.
#[cfg(not(feature = "otel"))]
pub(super) enum Traces {}

#[cfg(not(feature = "otel"))]
impl Traces {
    pub(super) fn note(&mut self, _: &crate::journal::Note, _: std::time::SystemTime) {
        match *self {}
    }

    pub(super) fn stop(&mut self) {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(endpoint: &str) -> String {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let config = TelemetryConfig { endpoint: Some(endpoint.to_owned()), ..TelemetryConfig::default() };
        config.start(runtime.handle()).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn without_an_endpoint_no_traces_are_made() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        assert!(matches!(TelemetryConfig::default().start(runtime.handle()), Ok(None)));
    }

    #[test]
    fn an_endpoint_that_cannot_be_used_is_named() {
        assert!(refused("collector:4317").contains("write `http://host:port`"));
        #[cfg(feature = "otel")]
        assert!(refused("http://").contains("`http://` cannot be used"));
        #[cfg(not(feature = "otel"))]
        assert!(refused("http://127.0.0.1:4317").contains("the feature `otel`"));
    }
}
