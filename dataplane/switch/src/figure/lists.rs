//! All lists of figures.

use super::FigureList;
use crate::bundle;
use crate::congestion::{adaptive_ecn, lscc, supplement, themis};
use crate::flow_control::{bifrost, bifrostx, capfc, cbfc, p_pfc, port_grants, relay};
use crate::flows;
use crate::forwarding;
use crate::ingress;
use crate::link_agent;
use crate::link_delay;
use crate::liveness;
use crate::repair;

/// All lists, in the order in which reports have them.
pub static LISTS: [&FigureList; 20] = [
    &forwarding::figures::FIGURES,
    &forwarding::figures::BOUNCES,
    &ingress::figures::FIGURES,
    &bundle::figures::FIGURES,
    &liveness::figures::FIGURES,
    &repair::figures::FIGURES,
    &bifrost::figures::FIGURES,
    &bifrostx::figures::FIGURES,
    &port_grants::figures::FIGURES,
    &cbfc::figures::FIGURES,
    &p_pfc::figures::FIGURES,
    &capfc::figures::FIGURES,
    &relay::figures::FIGURES,
    &lscc::figures::FIGURES,
    &adaptive_ecn::figures::FIGURES,
    &themis::figures::FIGURES,
    &link_delay::figures::FIGURES,
    &link_agent::figures::FIGURES,
    &supplement::figures::FIGURES,
    &flows::figures::FIGURES,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Notifiers;
    use crate::congestion::supplement::Settings as Supplement;
    use crate::congestion::themis::Settings as Themis;
    use crate::figure::{Kind, Reading, Samples, Seen, Unit};
    use crate::flows::FlowsReport;
    use crate::program::{Lscc, PortSettings};
    use crate::shard::PortInspection;
    use std::collections::BTreeSet;
    use units::BitRate;
    use wire::ethernet::MacAddress;

    /// Every path that `list` names, except for parts of delays.
    fn named(list: &FigureList) -> Vec<&'static str> {
        let samples = list.metrics.iter().flat_map(|metric| match metric.samples {
            Samples::One(path) => vec![path],
            Samples::By { samples, .. } => {
                samples.iter().flat_map(|(_, of, less)| less.iter().copied().chain([*of])).collect()
            }
        });
        let cells = list.tables.iter().flat_map(|table| table.columns).flat_map(|(_, paths)| *paths);
        let whole = |path: &&'static str| match path.rsplit_once('.') {
            Some((delay, part)) if list.figure(delay).is_some_and(|it| it.kind == Kind::Delay) => {
                assert!(["p50_ns", "p99_ns", "p999_ns", "max_ns"].contains(&part), "{path}");
                delay
            }
            _ => path,
        };
        samples.chain(cells.map(whole)).collect()
    }

    #[test]
    fn every_path_that_a_list_names_is_that_of_one_of_its_figures() {
        for list in LISTS {
            for path in named(list) {
                assert!(list.figure(path).is_some(), "{} has no {path}", list.name);
            }
        }
    }

    #[test]
    fn no_two_figures_of_a_list_share_a_path() {
        for list in LISTS {
            let mut paths = BTreeSet::new();
            for (path, _) in list.figures() {
                assert!(paths.insert(path.clone()), "{} {path}", list.name);
            }
        }
    }

    #[test]
    fn figures_that_are_shown_have_a_table_to_stand_in() {
        for list in LISTS {
            let shown = list.figures().any(|(_, figure)| figure.shown.is_some());
            assert!(!shown || !list.tables.is_empty(), "{}", list.name);
        }
    }

    #[test]
    fn a_distribution_has_no_column_and_no_sample_of_its_own() {
        for (path, figure) in LISTS.iter().flat_map(|list| list.figures()) {
            let is_one_number = figure.shown.is_some() || figure.of_run.is_some() || figure.sampled.is_some();
            assert!(figure.kind != Kind::Delay || !is_one_number, "{path}");
        }
    }

    #[test]
    fn what_a_metric_or_a_column_adds_up_has_one_unit() {
        let one_unit = |paths: &[&str]| {
            let units: Vec<_> = paths.iter().map(|path| Unit::of(path)).collect();
            assert!(!units.is_empty() && units.iter().all(|unit| *unit == units[0]), "{paths:?}");
        };
        for list in LISTS {
            for metric in list.metrics {
                if let Samples::By { samples, .. } = metric.samples {
                    let paths = samples.iter().flat_map(|(_, of, less)| less.iter().copied().chain([*of]));
                    one_unit(&paths.collect::<Vec<_>>());
                }
            }
            list.tables.iter().flat_map(|table| table.columns).for_each(|(_, paths)| one_unit(paths));
        }
    }

    #[test]
    fn no_two_lists_share_a_key_of_an_object() {
        let now = LISTS.iter().flat_map(|list| list.now).flat_map(|section| match section.name {
            "" => section.figures.iter().map(|figure| figure.key).collect(),
            name => vec![name],
        });
        let (mut keys, mut names) = (BTreeSet::new(), BTreeSet::new());
        assert!(now.into_iter().all(|key| keys.insert(key)), "{keys:?}");
        assert!(LISTS.iter().all(|list| names.insert(list.name)), "{names:?}");
    }

    #[test]
    fn a_port_has_figures_of_its_flows_whichever_scheme_keeps_them() {
        let list = &flows::figures::FIGURES;
        let plain = PortSettings::lossy("a", MacAddress::default(), BitRate::gigabits(10));
        let report = FlowsReport {
            known: 7,
            table: Default::default(),
            data: Default::default(),
            resolver: Default::default(),
        };
        let running = PortInspection { flows: Some(report), ..Default::default() };
        let silent = PortInspection::default();
        let read = |settings, look| {
            ["capacity", "known"].map(|path| match list.figure(path).unwrap().read(Seen { settings, look }) {
                Some(Reading::Number(number)) => Some(number),
                _ => None,
            })
        };
        let of_schemes = [
            Notifiers { lscc: Some(Lscc::PLAIN), ..Default::default() },
            Notifiers { themis: Some(Themis::PLAIN), ..Default::default() },
            Notifiers { supplement: Some(Supplement::PLAIN), ..Default::default() },
        ];
        let configured = of_schemes.map(|notifiers| PortSettings { notifiers, ..plain.clone() });
        for settings in &configured {
            let capacity = settings.flows().unwrap().capacity;
            assert!((list.runs_on)(settings));
            assert_eq!(read(settings, &running), [Some(capacity.into()), Some(7)]);
            assert_eq!(read(settings, &silent), [None; 2]);
        }
        assert!(!(list.runs_on)(&plain));
        assert_eq!(read(&plain, &running), [None; 2]);
    }
}
