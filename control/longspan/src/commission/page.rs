//! The report as a page.

use crate::chart::text::escaped;
use crate::simulate::page::html;
use commission::Report;

/// The page of `report`.
pub fn page(report: &Report) -> String {
    let title = format!("Commissioning of {}", report.port);
    let text = report.text();
    html::page(&title, &format!("<h1>{}</h1>\n<pre>{}</pre>\n", escaped(&title), escaped(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use commission::{Fault, Finding, StepReport, Verdict};

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
