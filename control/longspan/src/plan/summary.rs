//! A plan in a few lines: whether it holds, what to buy and what to set.

use config::BundleSum;
use config::cores::FRAMES_PER_SECOND;
use config::plan::{LinkPlan, Quantity, WatchdogVerdict};
use switch::program::{GroupSettings, PortSettings, Threshold};
use units::human::{bytes, length, nanos, thousands};
use units::{Bytes, Interval};

/// The columns of a page.
pub(super) const WIDTH: usize = 100;
/// The column at which the text of a line begins.
const TEXT: usize = 14;

/// The lines.
pub fn summary(plan: &LinkPlan) -> String {
    let request = &plan.built.request;
    let config::plan::Request { distance, rate, mtu, scheme, links, .. } = request;
    let each = if *links > 1 { format!("{links} links of ") } else { String::new() };
    let mut out =
        format!("Plan: {each}{distance:#} at {rate:#}, MTU {}, {scheme}{}\n\n", mtu.0, request.above());
    holds(&mut out, plan);
    line(&mut out, "buy", &to_buy(plan));
    if let Some(sum) = plan.built.repair() {
        line(&mut out, "repair", &sum.to_string());
    }
    let sums = plan.built.bundle();
    sums.iter().flat_map(BundleSum::statements).for_each(|(head, said)| line(&mut out, &head, &said));
    line(&mut out, if sums.is_some() { "set each lh" } else { "set lh0" }, &settings(plan.built.long().0));
    line(&mut out, "set dc0", &settings(plan.built.local().0));
    line(&mut out, "pauses", &pauses(plan));
    line(&mut out, "hosts", &hosts(plan));
    let prove = if sums.is_some() || request.repair { "" } else { "--prove: in simulation; " };
    line(&mut out, "more", &format!("--explain: each formula; {prove}--out DIR: both configurations"));
    if let Some(note) = note(plan) {
        out += &format!("  {note}\n");
    }
    out
}

/// What an option has an effect on, where that is not the plan itself.
pub fn note(plan: &LinkPlan) -> Option<String> {
    let config::plan::Request { slot, scheme, .. } = &plan.built.request;
    let slot = slot.filter(|_| !scheme.has_slots())?;
    Some(format!("--slot {slot} has an effect on the comparison of schemes only: {scheme} has no slots"))
}

/// A line with its name, wrapped.
fn line(out: &mut String, name: &str, text: &str) {
    let (first, next) = (format!("  {name:<width$}", width = TEXT - 2), " ".repeat(TEXT));
    let options = textwrap::Options::new(WIDTH).initial_indent(&first).subsequent_indent(&next);
    for line in textwrap::wrap(text, options) {
        out.push_str(&line);
        out.push('\n');
    }
}

/// Whether the plan holds, and why it does or does not.
fn holds(out: &mut String, plan: &LinkPlan) {
    if !plan.lacks.is_empty() {
        line(out, "holds", "NO");
        plan.lacks.iter().for_each(|lack| line(out, &format!("- {}", lack.of), &lack.why));
        return;
    }
    let with_devices = &plan.built.with_devices;
    let shortest = with_devices.cores().iter().map(|load| load.least_mean()).max().unwrap_or_default();
    let late = with_devices.lateness().map(|(_, _, most)| most).min().unwrap_or(Interval::ZERO);
    let text = format!(
        "yes, if frames have {} and more on the wire in the mean, and workers are late by up to {late:#}",
        length(shortest.0)
    );
    line(out, "holds", &text);
}

fn to_buy(plan: &LinkPlan) -> String {
    let gateway = &plan.built.with_devices;
    let (cores, sum) = (gateway.cores().len(), gateway.memory());
    let (memory, buffer) = sum.map_or((Bytes::ZERO, Bytes::ZERO), |sum| (sum.frames(), sum.buffer));
    let of_ports = match plan.built.request.links {
        1 => String::new(),
        links => format!(" for a buffer of {buffer:#} of {} ports", links + 1),
    };
    format!(
        "for each gateway {cores} {} for {} frames a second each, and {memory:#} of memory ({} hugepages of 2 MiB){of_ports}",
        if cores == 1 { "core" } else { "cores" },
        thousands(FRAMES_PER_SECOND),
        thousands(memory.0.div_ceil(2 << 20)),
    )
}

/// What to set on a port, as a file takes it.
fn settings(port: &PortSettings) -> String {
    let mut text = String::new();
    if let Some(slots) = port.bifrost() {
        text += &format!("slot {}, ", slots.slot);
    }
    if let Some(group) = port.groups.iter().find_map(GroupSettings::lossless) {
        if let Threshold::Static(xoff) = group.xoff {
            text += &format!("XOFF {xoff}, ");
        }
        text += &format!("XON {}, headroom {}", group.xon, group.headroom);
    }
    if let Some(red) = port.queues.iter().find_map(|queue| queue.red) {
        let pmax = Quantity::Millionths((red.pmax * 1e6).round() as u64);
        text += &format!(", marks from {} to {pmax} at {}", red.kmin, red.kmax);
    }
    text
}

/// The longest pauses, and the watchdogs that could take them for a storm.
fn pauses(plan: &LinkPlan) -> String {
    let pauses = &plan.pauses;
    let drain = plan.built.request.slowest_drain();
    let mut text =
        format!("up to {:#} on lh0 and {:#} on dc0 behind a drain of {drain:#}", pauses.long, pauses.local);
    for neighbour in pauses.neighbours.iter().filter(|it| it.verdict != WatchdogVerdict::Calm) {
        text += &format!("; the watchdog of {} ({:#}) CAN TRIP", neighbour.name, neighbour.detection);
    }
    text
}

fn hosts(plan: &LinkPlan) -> String {
    let steps = &plan.hosts.part.steps;
    let step = |name: &str| steps.iter().find(|step| step.name == name).map(|step| step.result.number());
    let [window, timeout] = ["window", "ack_timeout"].map(|name| step(name).unwrap_or_default());
    let (window, timeout) = (bytes(window), nanos(timeout));
    format!("an RNIC of {:#} needs {window} in flight and an ACK timeout of {timeout}", plan.hosts.rate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::plan::Request;
    use units::{BitRate, Distance};

    fn of(gigabits: u64, kilometres: u64) -> String {
        let request =
            Request { lanes: 1, ..Request::new(Distance(kilometres * 1_000), BitRate::gigabits(gigabits)) };
        summary(&LinkPlan::new(&request).unwrap())
    }

    #[test]
    fn a_plan_is_about_ten_lines_and_says_first_whether_it_holds() {
        for text in [of(50, 80), of(400, 1_000)] {
            assert!(text.lines().count() <= 16, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert!(text.lines().nth(2).is_some_and(|line| line.starts_with("  holds")), "{text}");
        }
        assert!(of(50, 80).contains("  holds       yes, if frames have 2,500 B and more"), "{}", of(50, 80));
    }

    #[test]
    fn a_plan_of_links_says_what_holds_with_all_and_with_one_less_and_what_a_cut_destroys() {
        let distance = Distance(80_000);
        let request = Request { links: 2, ..Request::new(distance, BitRate::gigabits(100)) };
        let plan = LinkPlan::new(&request).unwrap();
        let text = summary(&plan);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (head, statement) in plan.built.bundle().unwrap().statements() {
            assert!(words.contains(&format!("{head} {statement}")), "{text}");
        }
        for said in [
            "Plan: 2 links of 80 km at 100 Gb/s",
            "2 links 200 Gb/s;",
            "1 link 100 Gb/s without lh0,",
            "a cut destroys up to 72.6 MB in each direction",
            "(carrier, noticed within 5.00 ms)",
            "of 3 ports",
        ] {
            assert!(words.contains(said), "{said}: {text}");
        }
        assert!(!text.contains("--prove"), "a proof is for one link");
    }

    #[test]
    fn a_plan_with_repair_says_what_it_takes_in_a_line() {
        let request = Request { repair: true, ..Request::new(Distance(3_000_000), BitRate::gigabits(50)) };
        let text = summary(&LinkPlan::new(&request).unwrap());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "repair keeps up to 191 MB in 373,656 frames";
        assert!(words.contains(said) && words.contains("shims take 0.2872 %"), "{text}");
        assert!(text.contains("bifrost and repair\n") && !text.contains("--prove"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(!of(50, 3_000).contains("repair"));
    }

    #[test]
    fn a_link_that_no_core_can_carry_does_not_hold_and_the_line_says_by_how_much() {
        let text = of(200, 1_000);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "holds NO - cores 400 Gb/s bring 11,967,450 frames a second to the core of dc0 and lh0";
        assert!(words.contains(said) && words.contains("links of up to 83.5 Gb/s hold"), "{text}");
    }
}
