//! A snapshot as an OpenTelemetry collector takes it: a request of the OpenTelemetry Protocol (OTLP 1.x), in protobuf.
//!
//! The metrics are those that Prometheus scrapes, under the same names and with the same labels, mapped as the OpenTelemetry
//! specification says ("Prometheus and OpenMetrics Compatibility", "Prometheus Metric points to OTLP").

use super::all;
use super::kind::Kind;
use super::metric::Metric;
use super::samples::{Distribution, Exported, Label};
use crate::snapshot::Snapshot;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    self as messages, AggregationTemporality, Gauge, Histogram, HistogramDataPoint, NumberDataPoint,
    ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1;
use prost::Message;
use switch::figure::Unit;

/// The content type of [`encode`], and of the answer to it (OTLP/HTTP, "Binary Protobuf Encoding").
pub const CONTENT_TYPE: &str = "application/x-protobuf";

/// The name of the service, and of the scope of its metrics.
const SERVICE: &str = "longspan";

/// The origin of all metrics of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The name of the machine: `host.name`.
    pub host: String,
    /// The name of the gateway. With that of its machine it makes `service.instance.id`.
    pub gateway: String,
}

/// Why an answer of a collector cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the answer is not that of an OTLP collector: {0}")]
pub struct AnswerError(#[from] prost::DecodeError);

/// The request with all metrics of `snapshot`. A metric without a value is left out.
pub fn encode(snapshot: &Snapshot, resource: &Resource) -> Vec<u8> {
    let span = Span::of(snapshot);
    let metrics = all().filter_map(|metric| span.metric(&metric, snapshot));
    let scope = InstrumentationScope {
        name: SERVICE.into(),
        version: snapshot.version.clone(),
        ..InstrumentationScope::default()
    };
    let scope = ScopeMetrics { scope: Some(scope), metrics: metrics.collect(), ..ScopeMetrics::default() };
    let all = ResourceMetrics {
        resource: Some(resource.message(&snapshot.version)),
        scope_metrics: vec![scope],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![all] }.encode_to_vec()
}

/// The points that a collector rejected, by its answer to a request that succeeded.
///
/// # Errors
/// [`AnswerError`] if the answer is not one of OTLP.
pub fn rejected(answer: &[u8]) -> Result<u64, AnswerError> {
    let partial = ExportMetricsServiceResponse::decode(answer)?.partial_success;
    Ok(partial.map_or(0, |partial| u64::try_from(partial.rejected_data_points).unwrap_or(0)))
}

impl Resource {
    /// The attributes of the semantic conventions for services and hosts.
    fn message(&self, version: &str) -> v1::Resource {
        let Self { host, gateway } = self;
        let attributes = [
            ("service.name", SERVICE),
            ("service.version", version),
            // Only one gateway of a name runs on a machine.
            ("service.instance.id", &format!("{host}:{gateway}")),
            ("host.name", host),
        ];
        let attributes = attributes.map(|(name, value)| attribute(name, value));
        v1::Resource { attributes: attributes.into(), ..v1::Resource::default() }
    }
}

/// The time that a snapshot covers, in Unix time.
#[derive(Clone, Copy)]
struct Span {
    /// When the gateway started, and all totals with it.
    start: u64,
    at: u64,
}

impl Span {
    fn of(snapshot: &Snapshot) -> Self {
        Self { start: snapshot.at_ns.saturating_sub(snapshot.uptime_ns), at: snapshot.at_ns }
    }

    /// The metric, if it has a value.
    fn metric(self, metric: &Metric, snapshot: &Snapshot) -> Option<messages::Metric> {
        let samples = (metric.read)(snapshot);
        let samples = samples.iter().map(|(labels, value)| (labels, value.exported(metric.unit)));
        let data = match metric.kind {
            Kind::Counter => self.sum(samples, true),
            // An Info counts one, which adds up over those that share labels.
            Kind::Info => self.sum(samples, false),
            Kind::Gauge => {
                // A level has no time before.
                let now = Self { start: 0, ..self };
                let data_points: Vec<_> =
                    samples.filter_map(|(labels, value)| now.number(labels, &value)).collect();
                (!data_points.is_empty()).then_some(Data::Gauge(Gauge { data_points }))
            }
            Kind::Histogram => self.histogram(samples),
        };
        Some(messages::Metric {
            name: metric.full_name(),
            description: metric.help.into(),
            unit: ucum(metric.unit).into(),
            metadata: Vec::new(),
            data: Some(data?),
        })
    }

    fn sum<'a>(
        self,
        samples: impl Iterator<Item = (&'a Vec<Label<'a>>, Exported)>,
        is_monotonic: bool,
    ) -> Option<Data> {
        let data_points: Vec<_> = samples.filter_map(|(labels, value)| self.number(labels, &value)).collect();
        let aggregation_temporality = AggregationTemporality::Cumulative.into();
        (!data_points.is_empty()).then_some(Data::Sum(Sum {
            data_points,
            aggregation_temporality,
            is_monotonic,
        }))
    }

    fn histogram<'a>(self, samples: impl Iterator<Item = (&'a Vec<Label<'a>>, Exported)>) -> Option<Data> {
        let point = |(labels, value): (&Vec<Label<'_>>, _)| match value {
            Exported::Distribution(it) => Some(self.distribution(labels, &it)),
            Exported::Whole(_) | Exported::Fraction(_) | Exported::Info => None,
        };
        let data_points: Vec<_> = samples.filter_map(point).collect();
        let aggregation_temporality = AggregationTemporality::Cumulative.into();
        (!data_points.is_empty())
            .then_some(Data::Histogram(Histogram { data_points, aggregation_temporality }))
    }

    /// A point with one number; `None` for a distribution.
    fn number(self, labels: &[Label<'_>], value: &Exported) -> Option<NumberDataPoint> {
        let value = match value {
            // A total beyond 63 bits loses its lowest digits.
            Exported::Whole(number) => {
                i64::try_from(*number).map_or(Number::AsDouble(*number as f64), Number::AsInt)
            }
            Exported::Fraction(number) => Number::AsDouble(*number),
            Exported::Info => Number::AsInt(1),
            Exported::Distribution(_) => return None,
        };
        Some(NumberDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: self.start,
            time_unix_nano: self.at,
            value: Some(value),
            ..NumberDataPoint::default()
        })
    }

    fn distribution(self, labels: &[Label<'_>], it: &Distribution) -> HistogramDataPoint {
        HistogramDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: self.start,
            time_unix_nano: self.at,
            count: it.count,
            sum: Some(it.sum),
            bucket_counts: it.counts.into(),
            explicit_bounds: it.bounds.into(),
            ..HistogramDataPoint::default()
        }
    }
}

/// The code of the base unit of `unit` in the Unified Code for Units of Measure.
fn ucum(unit: Unit) -> &'static str {
    match unit {
        Unit::Number => "",
        Unit::Nanos => "s",
        Unit::Bytes => "By",
        Unit::BitsPerSecond => "By/s",
    }
}

fn attributes(labels: &[Label<'_>]) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(any_value::Value::StringValue(value.into())) };
    KeyValue { key: name.into(), value: Some(value), ..KeyValue::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsPartialSuccess;

    #[test]
    fn an_answer_says_how_many_points_were_rejected() {
        let answer = |rejected_data_points| {
            let error_message = String::new();
            let partial = ExportMetricsPartialSuccess { rejected_data_points, error_message };
            ExportMetricsServiceResponse { partial_success: Some(partial) }.encode_to_vec()
        };
        assert_eq!(rejected(b"").unwrap(), 0);
        assert_eq!(rejected(&answer(7)).unwrap(), 7);
        assert_eq!(rejected(&answer(-7)).unwrap(), 0);
        assert!(rejected(b"{}").is_err());
    }

    #[test]
    fn a_total_of_64_bits_does_not_turn_negative() {
        let span = Span { start: 1, at: 2 };
        let value = |number| span.number(&[], &Exported::Whole(number)).unwrap().value.unwrap();
        assert_eq!(value(i64::MAX as u64), Number::AsInt(i64::MAX));
        assert_eq!(value(u64::MAX), Number::AsDouble(u64::MAX as f64));
    }
}
