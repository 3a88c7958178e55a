//! Metrics as `OpenMetrics` text, which Prometheus reads.
//!
//! Label values come from closed sets: no client can make a series of its own.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use gongfu_core::audit::{AuditEntry, Phase};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

/// Bounds of durations, in seconds: from a cached answer to a long run.
const SECONDS: [f64; 12] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0,
];
/// The number of pairs of tool and outcome with a series; more share one.
const MAX_CALLS: usize = 2_000;
/// The tool in the series of those.
const OTHERS: &str = "other";

/// A request over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    pub(crate) method: &'static str,
    pub(crate) route: &'static str,
    pub(crate) status: u16,
}

/// The route of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RouteLabels {
    pub(crate) route: &'static str,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    tool: String,
    outcome: &'static str,
}

/// Reads a number when the metrics are asked for.
pub type Reading = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// All metrics.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    pub(crate) requests: Family<RequestLabels, Counter>,
    pub(crate) durations: Family<RouteLabels, Histogram>,
    pub(crate) connections: Gauge,
    calls: Family<CallLabels, Counter>,
    call_milliseconds: Counter<f64, AtomicU64>,
    /// The number of pairs of tool and outcome with a series.
    pairs: AtomicUsize,
}

impl Metrics {
    /// Metrics at zero. `readings` are gauges: name, help and number; one without a number is left
    /// out.
    pub fn new(version: &str, readings: Vec<(&'static str, &'static str, Reading)>) -> Self {
        let mut registry = Registry::with_prefix("gongfu");
        let requests = Family::default();
        let durations =
            Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        let connections = Gauge::default();
        let calls = Family::default();
        let call_milliseconds = Counter::default();
        registry.register("http_requests", "Requests over HTTP", requests.clone());
        registry.register_with_unit(
            "http_request_duration",
            "Time to the response headers",
            Unit::Seconds,
            durations.clone(),
        );
        registry.register("http_connections", "Open connections", connections.clone());
        registry.register("tool_calls", "Tool calls", calls.clone());
        registry.register(
            "tool_call_milliseconds",
            "Duration of tool calls, in milliseconds",
            call_milliseconds.clone(),
        );
        let labels = vec![("version", version.to_owned())];
        registry.register("build", "What runs", Info::new(labels));
        registry.register_collector(Box::new(Readings(readings)));
        Self {
            registry,
            requests,
            durations,
            connections,
            calls,
            call_milliseconds,
            pairs: AtomicUsize::new(0),
        }
    }

    /// Counts a call by its audit entry.
    pub fn count(&self, entry: &AuditEntry) {
        if entry.phase == Phase::End {
            self.count_call(entry);
        }
    }

    /// The metrics as `OpenMetrics` text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        if prometheus_client::encoding::text::encode(&mut text, &self.registry).is_err() {
            text.clear();
        }
        text
    }

    fn count_call(&self, entry: &AuditEntry) {
        let labels = CallLabels {
            tool: entry.tool.clone(),
            outcome: entry.outcome,
        };
        let known = self.calls.get(&labels).map(|counter| counter.inc());
        if known.is_none() {
            self.add_pair(labels).inc();
        }
        let milliseconds = entry.milliseconds.unwrap_or_default();
        self.call_milliseconds
            .inc_by(f64::from(u32::try_from(milliseconds).unwrap_or(u32::MAX)));
    }

    /// The counter of a new pair, or the shared one when there are too many.
    fn add_pair(&self, labels: CallLabels) -> Counter {
        let labels = if self.pairs.fetch_add(1, Ordering::Relaxed) >= MAX_CALLS {
            CallLabels {
                tool: OTHERS.to_owned(),
                ..labels
            }
        } else {
            labels
        };
        self.calls.get_or_create(&labels).clone()
    }
}

/// Gauges that are read when the metrics are asked for.
struct Readings(Vec<(&'static str, &'static str, Reading)>);

impl std::fmt::Debug for Readings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.0.iter().map(|(name, ..)| name);
        formatter.debug_list().entries(names).finish()
    }
}

impl Collector for Readings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, reading) in &self.0 {
            if let Some(value) = reading() {
                let gauge = ConstGauge::new(value);
                let described = encoder.encode_descriptor(name, help, None, gauge.metric_type())?;
                gauge.encode(described)?;
            }
        }
        Ok(())
    }
}
