//! The report as a page.

use crate::chart::text::escaped;
use crate::simulate::page::html;
use commission::{Report, StepReport};

/// The page of `report`.
pub fn page(report: &Report) -> String {
    let title = format!("Commissioning of {}", report.port);
    let mut body = format!(
        "<h1>{}</h1>\n<p class=\"lead\"><strong>{}</strong>: {}. Longspan {}.</p>\n",
        escaped(&title),
        report.verdict.name(),
        escaped(&report.ended),
        env!("CARGO_PKG_VERSION"),
    );
    let faults: Vec<_> = report.steps.iter().flat_map(faults).collect();
    if !faults.is_empty() {
        let head = ["fault", "step", "what was seen, and what to do"].map(String::from);
        body += &html::section("Faults", &html::table(&head, &faults));
    }
    let steps: Vec<_> = report.steps.iter().map(step).collect();
    let head = ["step", "verdict", "measured"].map(String::from);
    body += &html::section("Steps", &html::table(&head, &steps));
    if !report.suggested.is_empty() {
        let lines = format!("<pre>{}</pre>\n", escaped(&report.toml()));
        body += &html::section("Suggested lines", &lines);
    }
    let ignored = report.ignored;
    body += &html::note(&format!(
        "Messages that changed nothing: {} forged, {} replayed, {} of other sessions.",
        ignored.forged, ignored.replayed, ignored.strange
    ));
    html::page(&title, &body)
}

fn faults(step: &StepReport) -> impl Iterator<Item = Vec<String>> + '_ {
    let row = |it: &commission::Finding| {
        vec![it.fault.name().to_owned(), escaped(&step.step).to_string(), escaped(&it.text).to_string()]
    };
    step.faults.iter().map(row)
}

fn step(step: &StepReport) -> Vec<String> {
    let measured: Vec<_> = step.measured.iter().map(|line| escaped(line).to_string()).collect();
    vec![escaped(&step.step).to_string(), step.verdict.name().to_owned(), measured.join("<br>")]
}

#[cfg(test)]
mod tests {
    use super::*;
    use commission::{Fault, Finding, Verdict};

    #[test]
    fn a_page_has_each_step_each_fault_and_the_suggested_lines_and_no_markup_of_names() {
        let faulty = StepReport {
            step: "lengths".into(),
            verdict: Verdict::Fault,
            measured: vec!["a < b".into()],
            faults: vec![Finding { fault: Fault::Length, text: "no frame of 9118 bytes".into() }],
        };
        let report = Report {
            port: "<lh0>".into(),
            complete: true,
            ended: "all steps are done".into(),
            verdict: Verdict::Fault,
            steps: vec![faulty],
            suggested: vec![("mtu = 1500".into(), "why".into())],
            ignored: Default::default(),
        };
        let page = page(&report);
        for part in ["&lt;lh0&gt;", "a &lt; b", "length", "no frame of 9118 bytes", "mtu = 1500"] {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<lh0>"));
    }
}
