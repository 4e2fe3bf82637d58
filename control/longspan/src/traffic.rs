//! `longspan traffic`.

use crate::cli::traffic::TrafficArgs;
use crate::failure::Failure;

/// Fails, because ports need DPDK.
///
/// # Errors
/// [`Failure::Usage`], always.
#[cfg(not(feature = "dpdk"))]
pub fn run(_args: &TrafficArgs) -> Result<(), Failure> {
    Err(Failure::usage("this longspan was built without DPDK (--no-default-features) and has no ports"))
}

#[cfg(feature = "dpdk")]
pub use with_dpdk::run;

#[cfg(feature = "dpdk")]
mod with_dpdk {
    use super::{Failure, TrafficArgs};
    use crate::cli::traffic::{CaptureArgs, PlayArgs, StormArgs, TrafficCommand};
    use crate::console;
    use crate::interrupt::Interrupt;
    use config::scenario::{Scenario, ScenarioFile};
    use replay::capture::Splitter;
    use telemetry::table::{Table, section};
    use traffic::ports::{self, DeviceName, Pace};
    use traffic::{
        CountersReport, FlowsReport, HostPlan, PlayReport, PlayerSettings, ReplayReport, StormReport,
        TimesReport,
    };
    use units::human::{bytes, count_of, nanos, thousands};
    use units::{Interval, PauseQuanta, PortId, Priority, PrioritySet};

    /// Plays hosts or a capture, or sends a storm.
    ///
    /// # Errors
    /// [`Failure::Config`], [`Failure::Usage`] and [`Failure::Ports`] if it cannot start, [`Failure::Traffic`] if
    /// flows have not ended, or data came that the plan does not have, [`Failure::Run`] if a capture breaks, and
    /// [`Failure::NotPlayed`] if it was not sent to its end.
    pub fn run(args: &TrafficArgs) -> Result<(), Failure> {
        // Before all else: a signal during the start of DPDK must not leave its files behind.
        let interrupt = Interrupt::or_termination_heard()?;
        match &args.command {
            TrafficCommand::Play(args) => play(args, &interrupt),
            TrafficCommand::Replay(args) => replay(args, &interrupt),
            TrafficCommand::Storm(args) => storm(args, &interrupt),
        }
    }

    fn play(args: &PlayArgs, interrupt: &Interrupt) -> Result<(), Failure> {
        let scenario = scenario(args)?;
        let names: Vec<String> = args.hosts.iter().map(|it| it.host.clone()).collect();
        let plan = HostPlan::new(&scenario, &names).map_err(|error| Failure::usage(error.to_string()))?;
        let settings = PlayerSettings {
            stations: plan.stations.clone(),
            router: args.router,
            pfc_delay: args.pfc_delay.unwrap_or(Interval::ZERO),
        };
        let devices: Vec<_> = args.hosts.iter().map(|it| device(&it.device)).collect();
        let pace = Pace { duration: args.duration, poll: args.poll };
        let report = ports::play(&plan, &devices, &settings, pace, || interrupt.flow().is_continue())?;
        console::print(&if args.json { console::json(&report) } else { page(&report) })?;
        report.doubts().iter().for_each(console::complain);
        report.outcome().map_err(Failure::from)
    }

    /// The scenario of the command line.
    fn scenario(args: &PlayArgs) -> Result<Scenario, Failure> {
        let file = ScenarioFile::load(&args.scenario)?;
        let mut overrides = match &args.variant {
            Some(name) => {
                let found = file.variants.iter().find(|it| it.name == *name);
                let found =
                    found.ok_or_else(|| Failure::usage(format!("the scenario has no variant \"{name}\"")));
                found?.overrides.clone()
            }
            None => Vec::new(),
        };
        if args.quick {
            overrides.extend_from_slice(&file.quick);
        }
        overrides.extend_from_slice(&args.set);
        let scenario = file.build(&overrides)?;
        scenario.warnings.iter().for_each(console::complain);
        Ok(scenario)
    }

    fn replay(args: &CaptureArgs, interrupt: &Interrupt) -> Result<(), Failure> {
        let sources = args.from.iter().map(|source| (source.clone(), PortId(0)));
        let sources = (!args.from.is_empty()).then(|| Splitter::new(sources));
        let pace = Pace { duration: args.duration, poll: args.poll };
        let (device, go_on) = (device(&args.port), || interrupt.flow().is_continue());
        let (report, error) = ports::replay(&args.capture, &device, sources, args.rate, pace, go_on)?;
        console::print(&if args.json { console::json(&report) } else { lines(&report) })?;
        match error {
            Some(error) => Err(Failure::Run(error)),
            None if report.complete && report.unsent == 0 => Ok(()),
            None => Err(Failure::NotPlayed { unsent: report.unsent }),
        }
    }

    /// The figures of a played capture.
    fn lines(report: &ReplayReport) -> String {
        let ReplayReport { frames, bytes: volume, duration_ns, pauses_received, paused, .. } = *report;
        let (sent, volume, duration) = (count_of(frames, "frame"), bytes(volume), nanos(duration_ns));
        let (pauses, latest) = (count_of(pauses_received, "pause"), nanos(report.latest_ns));
        let mut lines = format!(
            "{sent} sent, {volume}, in {duration}; {pauses} received, for which {} waited; the latest was {latest} late\n",
            count_of(paused, "frame")
        );
        for (count, what) in
            [(report.left_out, "left out"), (report.filled, "truncated and filled with zeros")]
        {
            if count > 0 {
                lines += &format!("{} {what}\n", count_of(count, "frame"));
            }
        }
        lines
    }

    fn storm(args: &StormArgs, interrupt: &Interrupt) -> Result<(), Failure> {
        let priorities =
            args.priority.iter().fold(PrioritySet::EMPTY, |all, it| all.with(Priority::from_low_bits(*it)));
        let pace = Pace { duration: args.duration, poll: args.poll };
        let (quanta, go_on) = (PauseQuanta(args.quanta), || interrupt.flow().is_continue());
        let report = ports::storm(&device(&args.device), priorities, quanta, args.every, pace, go_on)?;
        if args.json {
            return console::print(&console::json(&report));
        }
        console::print(&line(&report))
    }

    /// The figures of a storm in a line.
    fn line(report: &StormReport) -> String {
        let (sent, missed) = (count_of(report.sent, "pause"), thousands(report.missed));
        let unsent = match report.unsent {
            0 => String::new(),
            unsent => format!(", {} refused by the device", thousands(unsent)),
        };
        let latest = nanos(report.latest_ns);
        format!("{sent} sent, {missed} missed{unsent}; the latest was {latest} late\n")
    }

    fn device(text: &str) -> DeviceName {
        match text.parse() {
            Ok(device) => device,
        }
    }

    /// A host with one of its groups of flows.
    type Row = (String, String, FlowsReport);

    /// The heading of a column, and its cell.
    type Column<R, C> = (&'static str, fn(&R) -> C);

    const FLOWS: [Column<Row, String>; 12] = [
        ("host", |(host, ..)| host.clone()),
        ("group", |(_, group, _)| group.clone()),
        ("to send", |(.., it)| thousands(it.to_send)),
        ("completed", |(.., it)| thousands(it.completed)),
        ("bytes", |(.., it)| bytes(it.acknowledged_bytes)),
        ("mean", |(.., it)| time(it.completion.as_ref(), mean)),
        ("p50", |(.., it)| time(it.completion.as_ref(), |it| it.p50_ns)),
        ("p99", |(.., it)| time(it.completion.as_ref(), |it| it.p99_ns)),
        ("p99.9", |(.., it)| time(it.completion.as_ref(), |it| it.p99_9_ns)),
        ("max", |(.., it)| time(it.completion.as_ref(), |it| it.max_ns)),
        ("to receive", |(.., it)| thousands(it.to_receive)),
        ("received", |(.., it)| thousands(it.received)),
    ];

    const ROUND_TRIPS: [Column<Row, String>; 8] = [
        ("host", |(host, ..)| host.clone()),
        ("group", |(_, group, _)| group.clone()),
        ("count", |(.., it)| it.round_trip.as_ref().map_or_else(|| "-".to_owned(), |it| thousands(it.count))),
        ("mean", |(.., it)| time(it.round_trip.as_ref(), mean)),
        ("p50", |(.., it)| time(it.round_trip.as_ref(), |it| it.p50_ns)),
        ("p99", |(.., it)| time(it.round_trip.as_ref(), |it| it.p99_ns)),
        ("p99.9", |(.., it)| time(it.round_trip.as_ref(), |it| it.p99_9_ns)),
        ("max", |(.., it)| time(it.round_trip.as_ref(), |it| it.max_ns)),
    ];

    fn mean(times: &TimesReport) -> u64 {
        times.mean_ns.round() as u64
    }

    fn time(times: Option<&TimesReport>, figure: fn(&TimesReport) -> u64) -> String {
        times.map_or_else(|| "-".to_owned(), |it| nanos(figure(it)))
    }

    const PACKETS: [Column<CountersReport, u64>; 12] = [
        ("data sent", |it| it.data_sent),
        ("again", |it| it.retransmitted),
        ("data received", |it| it.data_received),
        ("marked", |it| it.marked),
        ("CNPs sent", |it| it.cnps_sent),
        ("received", |it| it.cnps_received),
        ("NAKs", |it| it.naks_sent),
        ("timeouts", |it| it.timeouts),
        ("PFC", |it| it.pauses_received),
        ("wrong ICRC", |it| it.wrong_icrc),
        ("misfits", |it| it.misfits),
        ("strays", |it| it.strays),
    ];

    /// The figures as tables.
    fn page(report: &PlayReport) -> String {
        let ending = if report.complete { "all flows have ended" } else { "flows are left" };
        let mut page = format!("Played for {}; {ending}\n", nanos(report.duration_ns));
        let rows = report.hosts.iter().flat_map(|host| {
            host.groups.iter().map(|(group, flows)| (host.name.clone(), group.clone(), flows.clone()))
        });
        let rows: Vec<Row> = rows.collect();
        let measured: Vec<Row> = rows.iter().filter(|(.., it)| it.round_trip.is_some()).cloned().collect();
        let flows = Table::of(2, &FLOWS, rows);
        section(&mut page, "FLOWS: completion times from start to last acknowledgement", &flows);
        if !measured.is_empty() {
            let round_trips = Table::of(2, &ROUND_TRIPS, measured);
            section(&mut page, "ROUND TRIPS: from data to its acknowledgement", &round_trips);
        }
        let mut packets =
            Table::new(1, core::iter::once("host").chain(PACKETS.iter().map(|(heading, _)| *heading)));
        for host in &report.hosts {
            let cells = PACKETS.iter().map(|(_, read)| thousands(read(&host.counters)));
            packets.row(core::iter::once(host.name.clone()).chain(cells));
        }
        section(&mut page, "PACKETS", &packets);
        page
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn one_pause_is_told_as_one_and_refused_ones_only_where_there_are_some() {
            let report = StormReport { sent: 1, missed: 2, unsent: 0, latest_ns: 300 };
            assert_eq!(line(&report), "1 pause sent, 2 missed; the latest was 300 ns late\n");
            let refused = line(&StormReport { sent: 0, unsent: 3, ..report });
            assert!(refused.starts_with("0 pauses sent, 2 missed, 3 refused by the device;"), "{refused}");
        }
    }
}
