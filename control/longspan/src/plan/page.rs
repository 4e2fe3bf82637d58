//! All of a plan as a page of 100 columns: a few lines first, then the formulas behind them.

use config::cores::FRAMES_PER_SECOND;
use config::plan::{LinkPlan, Neighbour, Part, Pauses, Quantity, Step, WatchdogVerdict};
use core::fmt::Write;
use telemetry::table::Table;
use units::human::{length, speed};
use units::{Interval, PrioritySet};

use super::summary::{WIDTH, summary};

/// The column at which the name of a result ends.
const NAME: usize = 14;

/// The page. Writing to a string cannot fail, so no result is looked at.
pub fn page(plan: &LinkPlan) -> String {
    let mut out = summary(plan);
    out.push('\n');
    for part in &plan.parts {
        write_part(&mut out, part);
    }
    write_slots(&mut out, plan);
    write_pauses(&mut out, &plan.pauses);
    write_schemes(&mut out, plan);
    write_hosts(&mut out, plan);
    write_cores(&mut out, plan);
    out
}

fn write_part(out: &mut String, part: &Part) {
    let _ = writeln!(out, "{}", part.title);
    for step in &part.steps {
        write_step(out, step);
    }
    out.push('\n');
}

/// `name = formula`, then `= numbers`, then `= result` with the source at the right. In one line where that fits.
fn write_step(out: &mut String, step: &Step) {
    let Step { name, formula, numbers, result, source } = step;
    let parts: Vec<&str> =
        [formula.as_str(), numbers.as_str()].into_iter().filter(|it| !it.is_empty()).collect();
    let whole = format!("{name:>NAME$} = {} = {result}", parts.join(" = "));
    let source = format!("[{source}]");
    if whole.len() + 2 + source.len() <= WIDTH {
        let room = WIDTH - whole.len();
        let _ = writeln!(out, "{whole}{source:>room$}");
        return;
    }
    let mut lines = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let head = if index == 0 { *name } else { "" };
        lines.extend(wrapped(head, part));
    }
    let end = format!("{:>NAME$} = {result}", "");
    let room = WIDTH.saturating_sub(end.len());
    lines.push(format!("{end}{source:>room$}"));
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
}

/// A term behind an equals sign, broken before a plus where it is too long.
fn wrapped(head: &str, text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = format!("{head:>NAME$} = ");
    for (index, word) in text.split(" + ").enumerate() {
        let word = if index == 0 { word.to_owned() } else { format!(" + {word}") };
        if line.len() + word.len() > WIDTH {
            lines.push(core::mem::replace(&mut line, format!("{:>NAME$}  ", "")));
        }
        line += &word;
    }
    lines.push(line);
    lines
}

fn write_pauses(out: &mut String, pauses: &Pauses) {
    write_part(out, &pauses.part);
    out.truncate(out.trim_end().len());
    out.push('\n');
    if !pauses.unlimited.is_empty() {
        let _ = writeln!(out, "{:>NAME$}except {}", "", without_limit(pauses.unlimited));
        let source = "[Bifrost paper, IV-E, algorithm 3: grants go to the highest priority first]";
        let _ = writeln!(out, "{source:>WIDTH$}");
    }
    out.push_str("\nPFC watchdogs of neighbours: a storm is a queue that is paused for the detection time\n");
    let mut table = Table::new(5, [""; 5]);
    for neighbour in &pauses.neighbours {
        let (pause, port) = longest(pauses, neighbour);
        let word = if neighbour.verdict == WatchdogVerdict::Calm { "calm" } else { "CAN TRIP" };
        let (name, detection) = (neighbour.name.clone(), format!("{:#}", neighbour.detection));
        table.row([name, detection, port.into(), format!("{pause:#}"), word.into()]);
    }
    let mut lines = String::new();
    table.write_body_to(&mut lines);
    for (line, neighbour) in lines.lines().zip(&pauses.neighbours) {
        let source = format!("[{}]", neighbour.source);
        let _ = match WIDTH.checked_sub(line.chars().count()).filter(|room| source.len() + 2 <= *room) {
            Some(room) => writeln!(out, "{line}{source:>room$}"),
            None => writeln!(out, "{line}\n{source:>WIDTH$}"),
        };
        match neighbour.verdict {
            WatchdogVerdict::Calm => {}
            WatchdogVerdict::Trips { drain } => {
                let (pause, _) = longest(pauses, neighbour);
                let drain =
                    drain.map(|drain| format!(", or with a drain of {drain} or more")).unwrap_or_default();
                let _ = writeln!(out, "      calm with a detection time above {pause}{drain}");
            }
            WatchdogVerdict::Unlimited => {
                let _ = writeln!(out, "      {}", without_limit(pauses.unlimited));
            }
        }
    }
    out.push('\n');
}

/// Why pauses of these priorities have no limit.
fn without_limit(priorities: PrioritySet) -> String {
    let verb = if priorities.is_single() { "waits" } else { "wait" };
    format!("{}, which {verb} while a higher one takes all that drains", named(priorities))
}

fn named(priorities: PrioritySet) -> String {
    let noun = if priorities.is_single() { "priority" } else { "priorities" };
    let numbers: Vec<_> = priorities.iter().map(|it| it.to_string()).collect();
    format!("{noun} {}", numbers.join(", "))
}

/// The longest pause that a neighbour sees, and its name.
fn longest(pauses: &Pauses, neighbour: &Neighbour) -> (Interval, &'static str) {
    match neighbour.port.0 {
        0 => (pauses.local, "pause_local"),
        _ => (pauses.long, "pause_long"),
    }
}

/// What other slots would take.
fn write_slots(out: &mut String, plan: &LinkPlan) {
    if plan.slots.is_empty() {
        return;
    }
    out.push_str("Other slots, and what frames from the long link can hold with them\n");
    let planned = plan.built.long().0.bifrost().map(|slots| slots.slot);
    let mut table = Table::new(1, ["slot", "buffer of lh0", ""]);
    for row in &plan.slots {
        let mark = if Some(row.slot) == planned { "planned" } else { "" };
        table.row([row.slot.to_string(), format!("{:#}", row.buffer), mark.into()]);
    }
    table.write_to(out);
    out.push('\n');
}

fn write_schemes(out: &mut String, plan: &LinkPlan) {
    out.push_str("The schemes on this link, without LSCC\n");
    let headings = ["scheme", "needs of the other end", "buffer of lh0", "control", "reaction"];
    let mut table = Table::new(2, headings);
    for (scheme, row) in &plan.schemes {
        let Ok(row) = row else { continue };
        let (buffer, reaction) = (format!("{:#}", row.buffer), format!("{:#}", row.reaction));
        table.row([scheme.word().into(), row.needs.into(), buffer, speed(row.control), reaction]);
    }
    table.write_to(out);
    for (scheme, row) in &plan.schemes {
        if let Err(error) = row {
            let options = textwrap::Options::new(WIDTH).initial_indent("  ").subsequent_indent("    ");
            let _ =
                writeln!(out, "{}", textwrap::fill(&format!("{scheme} cannot run here: {error}"), options));
        }
    }
    out.push_str(
        "  buffer: XOFF and headroom of all lossless priorities; control: its own frames on the link;\n  \
         reaction: from an empty buffer and a stopped drain until the sender stops\n",
    );
    out.push('\n');
}

fn write_hosts(out: &mut String, plan: &LinkPlan) {
    let hosts = &plan.hosts;
    write_part(out, &hosts.part);
    out.truncate(out.trim_end().len());
    out.push_str("\n\n");
    let headings = ["messages of", "sends or writes to post", "queue pairs to read (16 each)"];
    let mut table = Table::new(1, headings);
    for window in &hosts.windows {
        let count = |number| Quantity::Count(number).to_string();
        table.row([window.message.into(), count(window.depth), count(window.reading_pairs)]);
    }
    table.write_to(out);
    if !hosts.fits_sequence {
        out.push_str("  One queue pair cannot have that many packets in flight: use several.\n");
    }
    if !plan.pauses.unlimited.is_empty() {
        let _ = writeln!(out, "  No ACK timeout is long enough for {}.", named(plan.pauses.unlimited));
    }
    out.push('\n');
}

/// The load of each core: what the link asks of the machine.
fn write_cores(out: &mut String, plan: &LinkPlan) {
    let _ =
        writeln!(out, "Cores, each for {} frames a second, keep up with", Quantity::Count(FRAMES_PER_SECOND));
    let lanes = plan.built.request.lanes;
    // All lanes are alike.
    let (each, told) =
        if lanes > 1 { (format!("each of {lanes} lanes: "), 1) } else { (String::new(), usize::MAX) };
    for load in plan.built.with_devices.cores().into_iter().take(told) {
        let verdict = if load.keeps_up() { "" } else { "; RDMA sends SHORTER ones" };
        let ports = load.ports.join(", ");
        let _ = writeln!(
            out,
            "  {each}{ports} at {:#}: frames of {} and more on the wire{verdict}",
            load.rate,
            length(load.least_mean().0)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::summary::note;
    use super::*;
    use config::plan::{Request, Scheme};
    use core::fmt::Display;
    use units::{BitRate, Distance, Priority};

    /// The page of `docs/plan.md`, between its markers. To write it anew after a deliberate change, run with `BLESS=1`.
    const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plan.md");

    fn pages() -> impl Iterator<Item = (Scheme, String)> {
        let counts = [1..=1, 1..=5];
        let wanted = Scheme::all().flat_map(move |scheme| counts.clone().map(|it| (scheme, it)));
        wanted.map(|(scheme, priorities)| {
            let mut request = Request::new(Distance(20_000_000), BitRate::gigabits(400));
            (request.scheme, request.priorities) =
                (scheme, priorities.map(Priority::from_low_bits).collect());
            request.watchdogs.push(("a neighbour in the hall".into(), Interval(400_000_001)));
            (scheme, page(&LinkPlan::new(&request).unwrap()))
        })
    }

    #[test]
    fn no_line_of_a_page_is_longer_than_a_hundred_columns() {
        let long = |shown: &dyn Display, text: &str| {
            let line = text.lines().find(|line| line.chars().count() > WIDTH);
            assert_eq!(line, None, "{shown}");
        };
        pages().for_each(|(scheme, text)| long(&scheme, &text));
        let mut request = Request::new(Distance(80_000), BitRate::gigabits(100));
        request.links = 2;
        let text = page(&LinkPlan::new(&request).unwrap());
        assert!(text.contains("The bundle of 2 links") && text.contains("= 72.6 MB"), "{text}");
        long(&"links", &text);
        (request.links, request.lscc) = (1, true);
        long(&"lscc", &page(&LinkPlan::new(&request).unwrap()));
    }

    #[test]
    fn a_page_names_the_priorities_whose_pauses_have_no_limit_and_every_watchdog_that_they_can_trip() {
        let mut request = Request::new(Distance(80_000), BitRate::gigabits(100));
        request.priorities = [1, 3, 4].into_iter().map(Priority::from_low_bits).collect();
        request.scheme = "bifrostx".parse().unwrap();
        let text = page(&LinkPlan::new(&request).unwrap());
        let said = "priorities 1, 3, which wait while a higher one takes all that drains";
        assert_eq!((text.matches(said).count(), text.matches("CAN TRIP").count()), (3, 4), "{text}");
        assert!(text.contains("No ACK timeout is long enough for priorities 1, 3."), "{text}");
        request.scheme = "port-grants".parse().unwrap();
        assert!(!page(&LinkPlan::new(&request).unwrap()).contains("which wait"));
    }

    #[test]
    fn columns_stay_columns_whatever_the_length_of_what_is_in_them() {
        let mut request = Request::new(Distance(20_000_000), BitRate::gigabits(100));
        request.scheme = Scheme::PFC;
        request.watchdogs = ["leaf", "averyveryverylongneighbournamehere"]
            .map(|name| (name.into(), Interval::from_millis(3)))
            .into();
        let plan = LinkPlan::new(&request).unwrap();
        let text = page(&plan);
        let places = |word: &str| {
            let lines = text.lines().filter(|line| line.contains("  pause_lo") && !line.contains('='));
            lines.map(|line| line.find(word)).collect::<Vec<_>>()
        };
        let (pauses, words) = (places("pause_lo"), places("CAN TRIP"));
        assert_eq!(pauses.len(), plan.pauses.neighbours.len());
        assert!(pauses.iter().all(|place| *place == pauses[0]), "{text}");
        // The other gateway has a longer detection time.
        let trips: Vec<_> = words.into_iter().flatten().collect();
        assert!(trips.len() >= 4 && trips.iter().all(|place| *place == trips[0]), "{text}");
        let (_, schemes) = text.split_once("The schemes on this link, without LSCC\n").unwrap();
        let widths: Vec<_> = schemes.lines().take(1 + Scheme::all().count()).map(str::len).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{text}");
    }

    #[test]
    fn a_slot_with_a_scheme_that_has_none_is_said_to_be_for_the_comparison_only() {
        let mut request = Request::new(Distance(80_000), BitRate::gigabits(100));
        request.slot = Some(Interval::from_micros(20));
        assert_eq!(note(&LinkPlan::new(&request).unwrap()), None);
        request.scheme = Scheme::PFC;
        let plan = LinkPlan::new(&request).unwrap();
        let said = "--slot 20us has an effect on the comparison of schemes only: pfc has no slots";
        assert_eq!(note(&plan).as_deref(), Some(said));
        assert!(page(&plan).contains(&format!("  {said}\n")));
    }

    #[test]
    fn the_example_in_the_docs_is_what_the_command_prints() {
        const BEGIN: &str = "<!-- example -->\n```text\n";
        const END: &str = "```\n<!-- end of example -->";
        let docs = std::fs::read_to_string(DOCS).unwrap();
        let (before, rest) = docs.split_once(BEGIN).unwrap();
        let (_, after) = rest.split_once(END).unwrap();
        let request = Request::new(Distance(80_000), BitRate::gigabits(100));
        let anew = format!("{before}{BEGIN}{}{END}{after}", page(&LinkPlan::new(&request).unwrap()));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(DOCS, &anew).unwrap();
        }
        assert!(std::fs::read_to_string(DOCS).unwrap() == anew, "docs/plan.md is old: run with BLESS=1");
    }
}
