//! `[control.otlp]`: the OpenTelemetry collector that a running gateway pushes its metrics to.

use units::Interval;

use crate::endpoint::Endpoint;
use crate::keys::running::OtlpDecl;
use crate::notes::Problems;
use crate::place::Place;
use crate::problem::ProblemKind;
use crate::table::at;

/// `[control.otlp]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Otlp {
    /// `endpoint`: the URL of the collector.
    pub endpoint: Endpoint,
    /// `interval`: the time from push to push; default 10 s.
    pub interval: Interval,
    /// `timeout`: the longest time that a push may take; default 5 s.
    pub timeout: Interval,
}

/// Builds the settings of `[control.otlp]`. Returns `None` and notes an error if this build cannot push.
pub(crate) fn build(decl: &OtlpDecl, problems: &Problems<'_>) -> Option<Otlp> {
    if !cfg!(feature = "otlp") {
        problems.error(&decl.place, ProblemKind::WithoutOtlp);
        return None;
    }
    let stated = decl.endpoint.as_ref()?;
    if !stated.value.is_local() {
        let host = stated.value.host();
        problems.warning(&stated.place, ProblemKind::RemoteCollector { host });
    }
    Some(Otlp { endpoint: stated.value.clone(), interval: decl.interval(), timeout: decl.timeout() })
}

/// The keys from which [`build`] builds the same settings.
pub(crate) fn in_force(otlp: &Otlp) -> OtlpDecl {
    OtlpDecl {
        endpoint: at(otlp.endpoint.clone()),
        interval: at(otlp.interval),
        timeout: at(otlp.timeout),
        place: Place::default(),
    }
}
