//! Traces for a collector, by OpenTelemetry: spans go out over OTLP when a collector is configured.
//!
//! The only module that names OpenTelemetry; the servers know `tracing` alone, and call
//! [`adopt`] for a request that belongs to somebody's trace (W3C Trace Context; for MCP, SEP-414).

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use gongfu_core::trace::TraceContext;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// The time for the last spans at the end.
const FAREWELL: Duration = Duration::from_secs(2);
/// The time that a collector may take for one request.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Spans on their way to a collector.
#[derive(Debug)]
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Sends to this endpoint, such as `http://localhost:4318/v1/traces`, in the name of a service.
    ///
    /// # Errors
    /// It is no such endpoint.
    pub(crate) fn to(endpoint: &str, service: &str) -> Result<Self, String> {
        if !endpoint.starts_with("http://") {
            return Err(format!(
                "can't send traces to `{endpoint}`; use a local collector over http, such as http://localhost:4318"
            ));
        }
        let exporter = exporter(endpoint)
            .map_err(|error| format!("can't send traces to `{endpoint}`: {error}"))?;
        let resource = Resource::builder()
            .with_service_name(service.to_owned())
            .with_attribute(opentelemetry::KeyValue::new(
                "service.version",
                env!("CARGO_PKG_VERSION"),
            ))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(exporter)
            .build();
        Ok(Self { provider })
    }

    /// Returns the maker of spans.
    pub(crate) fn tracer(&self) -> Tracer {
        self.provider.tracer("gongfu")
    }

    /// Sends what is left.
    pub(crate) fn end(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(FAREWELL) {
            tracing::debug!(%error, "the last traces were not sent");
        }
    }
}

fn exporter(endpoint: &str) -> Result<SpanExporter, ExporterBuildError> {
    SpanExporter::builder()
        .with_http()
        .with_http_client(Client::default())
        .with_endpoint(endpoint)
        .build()
}

/// Makes a span part of the trace that a request brings, in what `carrier` finds by name.
pub(crate) fn adopt(span: &tracing::Span, carrier: &dyn Fn(&str) -> Option<String>) {
    if span.is_disabled() {
        return;
    }
    let names = ["traceparent", "tracestate"];
    let found = names.map(|name| (name, carrier(name)));
    let context = TraceContextPropagator::new().extract(&TraceHeaders(found));
    // It fails for a span that isn't sent anywhere.
    let _ = span.set_parent(context);
}

/// The place of the current span in its trace; `None` where no traces are sent.
pub(crate) fn current() -> Option<TraceContext> {
    let mut headers = HashMap::new();
    TraceContextPropagator::new().inject_context(&tracing::Span::current().context(), &mut headers);
    let set = |name: &str| headers.get(name).filter(|value| !value.is_empty());
    TraceContext::read(|name| set(name).cloned())
}

/// The headers of a request.
struct TraceHeaders([(&'static str, Option<String>); 2]);

impl Extractor for TraceHeaders {
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| *known == name)?;
        found.1.as_deref()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }
}

/// Sends on the thread that the SDK keeps for it.
#[derive(Debug)]
struct Client(ureq::Agent);

impl Default for Client {
    fn default() -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(EXPORT_TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .build();
        Self(config.into())
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = request.map(Vec::from);
        let (parts, mut body) = self.0.run(request)?.into_parts();
        let body = Bytes::from(body.read_to_vec()?);
        Ok(Response::from_parts(parts, body))
    }
}
