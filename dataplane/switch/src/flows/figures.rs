//! The figures of the flows that a port keeps, once for all of its schemes.

use crate::figure::{Figure, FigureList, Metric, Samples, Section, Seen, Table};
use crate::program::FlowSettings;
use crate::shard::FlowsReport;

pub(crate) static FIGURES: FigureList = FigureList {
    name: "flows",
    view: "flows",
    runs_on: |settings| settings.flows().is_some(),
    report: &[Section {
        name: "",
        figures: &[
            Figure::gauge("capacity", |it| Some(settings(it)?.capacity.into())),
            Figure::gauge("known", |it| Some(flows(it)?.known.into())),
            Figure::gauge("resolved", |it| Some(flows(it)?.data.resolved.into())),
            Figure::gauge("unresolved", |it| Some(flows(it)?.data.unresolved.into())),
            Figure::counter("entered", |it| Some(flows(it)?.table.entered.into())),
            Figure::counter("aged", |it| Some(flows(it)?.table.aged.into())),
            Figure::counter("evicted", |it| Some(flows(it)?.table.evicted.into())),
            Figure::counter("resolved_by_cm", |it| Some(flows(it)?.resolver.resolved_by_cm.into())),
            Figure::counter("resolved_by_psn", |it| Some(flows(it)?.resolver.resolved_by_psn.into())),
            Figure::counter("suspended", |it| Some(flows(it)?.resolver.suspended.into())),
            Figure::counter("contradicted", |it| Some(flows(it)?.resolver.contradicted.into())),
            Figure::counter("ambiguous", |it| Some(flows(it)?.resolver.ambiguous.into())),
            Figure::counter("ended", |it| Some(flows(it)?.resolver.ended.into())),
        ],
    }],
    now: &[],
    metrics: &[
        Metric {
            name: "flows",
            help: "Known flows, by whether they carry data and their sender is known.",
            samples: Samples::By(
                "state",
                &[
                    ("resolved", "resolved", &[]),
                    ("unresolved", "unresolved", &[]),
                    ("other", "known", &["resolved", "unresolved"]),
                ],
            ),
        },
        Metric {
            name: "flow_capacity",
            help: "Capacity of the flow table.",
            samples: Samples::One("capacity"),
        },
        Metric {
            name: "flows_removed",
            help: "Flows removed from the table, by reason.",
            samples: Samples::By("reason", &[("aged", "aged", &[]), ("evicted", "evicted", &[])]),
        },
    ],
    tables: &[Table {
        title: "FLOWS in the table of queue pairs, and how these were resolved",
        in_summary: true,
        columns: &[
            ("known", &["known"]),
            ("capacity", &["capacity"]),
            ("resolved", &["resolved"]),
            ("unresolved", &["unresolved"]),
            ("by CM", &["resolved_by_cm"]),
            ("by PSN", &["resolved_by_psn"]),
            ("aged", &["aged"]),
            ("evicted", &["evicted"]),
            ("suspended", &["suspended"]),
            ("ended", &["ended"]),
        ],
    }],
};

fn settings(seen: Seen<'_>) -> Option<FlowSettings> {
    seen.settings.flows().filter(|_| seen.look.flows.is_some())
}

fn flows(seen: Seen<'_>) -> Option<&FlowsReport> {
    seen.look.flows.as_ref().filter(|_| seen.settings.flows().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Reading;
    use crate::program::{FastCnp, Lscc, PortSettings, Supplement, Themis};
    use crate::shard::PortInspection;
    use units::BitRate;
    use wire::ethernet::MacAddress;

    #[test]
    fn a_port_has_figures_of_its_flows_whichever_scheme_keeps_them() {
        let plain = PortSettings::lossy("a", MacAddress::default(), BitRate::gigabits(10));
        let report = FlowsReport {
            known: 7,
            table: Default::default(),
            data: Default::default(),
            resolver: Default::default(),
        };
        let running = PortInspection { flows: Some(report), ..Default::default() };
        let silent = PortInspection::default();
        let number = |path, settings, look| match FIGURES.figure(path).unwrap().read(Seen { settings, look })
        {
            Some(Reading::Number(number)) => Some(number),
            _ => None,
        };
        let of_schemes = [
            PortSettings { lscc: Some(Lscc::PLAIN), ..plain.clone() },
            PortSettings { themis: Some(Themis::PLAIN), ..plain.clone() },
            PortSettings { supplement: Some(Supplement::PLAIN), ..plain.clone() },
            PortSettings { fast_cnp: Some(FastCnp::PLAIN), ..plain.clone() },
        ];
        for settings in &of_schemes {
            let capacity = settings.flows().unwrap().capacity;
            assert!((FIGURES.runs_on)(settings));
            assert_eq!(number("capacity", settings, &running), Some(capacity.into()));
            assert_eq!(number("known", settings, &running), Some(7));
            assert_eq!(number("capacity", settings, &silent), None);
        }
        assert!(!(FIGURES.runs_on)(&plain));
        assert_eq!((number("capacity", &plain, &running), number("known", &plain, &running)), (None, None));
    }
}
