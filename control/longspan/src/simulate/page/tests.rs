//! The page of an experiment that is made up, file by file.

use super::{page, write};
use crate::simulate::figure::{Estimate, Figure};
use crate::simulate::summary::{
    ClaimKind, ClaimSummary, ClaimVerdict, EndingName, FlowCounts, RunSummary, Summary,
};
use config::scenario::{Better, Paper};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A run that finished, with these parameters and metrics.
fn run(name: String, seed: u64, parameter: (&str, &str), metrics: &[(&str, f64)]) -> RunSummary {
    RunSummary {
        name,
        variant: None,
        parameters: [(parameter.0.to_owned(), parameter.1.to_owned())].into(),
        seed,
        ending: EndingName::Finished,
        message: None,
        end_ns: 1_000_000,
        transmissions: 5_000,
        flows: FlowCounts { started: 40, ended: 40 },
        metrics: metrics.iter().map(|(name, value)| ((*name).to_owned(), Figure(*value))).collect(),
        is_known: false,
    }
}

/// A claim about Bifrost, compared with the other variant if it is about a change.
fn claim(
    id: &str,
    text: &str,
    metric: &str,
    paper: Paper,
    ours: Option<f64>,
    verdict: ClaimVerdict,
) -> ClaimSummary {
    let estimate = |mean| Estimate::of(&[mean - 0.01, mean + 0.01]).expect("they are finite");
    let is_undecided = verdict == ClaimVerdict::Undecided;
    ClaimSummary {
        id: id.into(),
        text: text.into(),
        kind: ClaimKind::Paper,
        metric: metric.into(),
        of: "bifrost".into(),
        against: ours.map(|_| "pfc <b>".into()),
        point: None,
        paper,
        better: ours.map(|_| Better::Less),
        flows: metric.starts_with("fct").then_some(40),
        ours: ours.map(estimate),
        verdict,
        near: if verdict == ClaimVerdict::Better { vec![ClaimVerdict::Reproduced] } else { Vec::new() },
        needed: is_undecided.then_some(84),
    }
}

/// The summary of an experiment with these runs and claims.
fn summary(title: Option<&str>, quick: bool, runs: Vec<RunSummary>, claims: Vec<ClaimSummary>) -> Summary {
    let scenario = if quick { "made-up" } else { "s" }.to_owned();
    Summary { longspan: "0.1.0", ..Summary::new(scenario, title.map(str::to_owned), quick, runs, claims) }
}

/// An experiment with two variants, two seeds each, and names that are markup.
fn made_up() -> (TempDir, Summary) {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let mut runs = Vec::new();
    for (variant, slower) in [("bifrost", 1), ("pfc <b>", 3)] {
        for seed in [1, 2] {
            let name = format!("{}/seed-{seed}", variant.replace(" <b>", ""));
            fill(&directory.path().join(&name), slower, seed);
            let mean = (100_000 * slower + 1_000 * seed) as f64;
            let metrics = [
                ("fct.all.mean_ns", mean),
                ("fct.all.p99_ns", mean * 4.0),
                ("slowdown.all.p99", 7.5),
                ("pfc.total.pauses_sent", (10 * (slower - 1)) as f64),
                ("goodput.all.bps", 4e10),
                ("never.measured", f64::NAN),
            ];
            let run = run(name, seed, ("host.mtu", "4096"), &metrics);
            runs.push(RunSummary { variant: Some(variant.into()), ..run });
        }
    }
    let sooner = ("fct.all.mean_ns", Paper::Figure { value: -0.4, tolerance: 0.0 });
    let range = ("fct.all.p99_ns", Paper::Range { low: -0.7, high: -0.5 });
    let queue = ("queue.east.lh.max_bytes", Paper::Figure { value: 9.7e6, tolerance: 0.0 });
    let claims = vec![
        claim("sooner", "Bifrost is sooner", sooner.0, sooner.1, Some(-0.66), ClaimVerdict::Better),
        claim("queue", "", queue.0, queue.1, None, ClaimVerdict::NotMeasured),
        claim("range", "", range.0, range.1, Some(-0.66), ClaimVerdict::Undecided),
    ];
    (directory, summary(Some("Made up & <script>"), true, runs, claims))
}

fn fill(run: &Path, slower: u64, seed: u64) {
    fs::create_dir_all(run).expect("a directory of the test");
    let mut flows = String::from(
        "flow,group,source,destination,priority,bytes,start_ns,end_ns,fct_ns,ideal_ns,slowdown,retransmitted,counted\n",
    );
    for flow in 0..40_u64 {
        let bytes = 1_000 << (flow % 8);
        let (ideal, slowdown) = (2_000 + bytes / 12, 1.0 + (flow % 5 * slower) as f64 / 2.0);
        let fct = (ideal as f64 * slowdown) as u64 + seed;
        let group = if flow % 2 == 0 { "inter" } else { "intra" };
        writeln!(flows, "{flow},{group},a,b,3,{bytes},0,{fct},{fct},{ideal},{slowdown:.4},0,1")
            .expect("a string takes everything");
    }
    fs::write(run.join("fct.csv"), flows).expect("a file of the test");
    let mut series = String::from(
        "time_ns,east.lh.egress_bytes,east.lh.sent_bps,east.lh.pfc_received_paused_priorities,east.buffer_bytes,\
         flow.0.rate_bps\n",
    );
    for row in 0..50_u64 {
        let queue = (row % 10) * 10_000 * slower;
        let rate = if row == 0 { String::new() } else { (100_000_000_000 / (1 + row % 3)).to_string() };
        let paused = u64::from(slower > 1 && row % 10 > 7);
        writeln!(
            series,
            "{},{queue},{},{paused},{},{rate}",
            row * 20_000,
            row % 2 * 90_000_000_000,
            queue * 2
        )
        .expect("a string takes everything");
    }
    fs::write(run.join("series.csv"), series).expect("a file of the test");
}

/// To write the golden page anew after a deliberate change, run with `BLESS=1`, look at it in a browser and
/// read the diff.
#[test]
fn the_same_results_give_the_same_page() {
    let (directory, summary) = made_up();
    write(directory.path(), &summary).expect("the files hold");
    let page = fs::read_to_string(directory.path().join("report.html")).expect("the page is written");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/simulate-report.html");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &page).expect("the golden file can be written");
    }
    let known = fs::read_to_string(&golden).expect("there is a golden page");
    assert!(page == known, "{} differs: BLESS=1 writes it anew", golden.display());
}

#[test]
fn what_a_scenario_says_is_text_and_nothing_comes_from_elsewhere() {
    let (directory, summary) = made_up();
    let page = page(directory.path(), &summary).expect("the files hold");
    assert!(page.contains("Made up &amp; &lt;script&gt;") && page.contains("pfc &lt;b&gt;"));
    for markup in ["<script", "<b>", "http", "url(", "@import", "src=", "href="] {
        assert!(!page.contains(markup), "{markup}");
    }
}

#[test]
fn each_plot_that_the_files_allow_is_there() {
    let (directory, summary) = made_up();
    let page = page(directory.path(), &summary).expect("the files hold");
    for title in [
        "Slowdown by flow size, all flows",
        "Distribution of completion times, group inter",
        "Mean completion time, all flows",
        "Egress queue, east.lh",
        "Rate, east.lh",
        "Buffer, east",
        "PFC over time",
        "Permitted rate of flows, bifrost",
    ] {
        assert!(page.contains(&format!("<figcaption>{title}")), "{title}");
    }
    assert!(page.contains("-40.0 %") && page.contains("-66.0 %") && page.contains("not measured"));
    assert!(!page.contains("Sweep of"), "nothing is swept");
}

#[test]
fn a_setting_whose_curves_another_covers_is_named() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let mut runs = Vec::new();
    for (place, (name, slower)) in [("a", 1), ("b", 2), ("c", 1), ("d", 1)].into_iter().enumerate() {
        fill(&directory.path().join(name), slower, 1);
        let run = run(name.into(), place as u64, ("host.mtu", "4096"), &[]);
        runs.push(RunSummary { variant: Some(name.into()), ..run });
    }
    let page = page(directory.path(), &summary(None, false, runs, vec![])).expect("the files hold");
    for (below, covered) in [("a", true), ("b", false), ("c", true), ("d", false)] {
        let said = format!("All flows of {below} took the same time with d");
        assert_eq!(page.contains(&said), covered, "{below}");
    }
}

#[test]
fn a_run_that_failed_needs_no_files_and_is_said_in_the_open() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let message = Some("east waits for west at 7 us".to_owned());
    let run = run("seed-1".into(), 1, ("a", "b"), &[]);
    let runs = vec![RunSummary { ending: EndingName::Deadlock, message, ..run }];
    let page = page(directory.path(), &summary(None, false, runs, vec![])).expect("no file is needed");
    assert!(page.contains("seed-1 (seed 1) ended by deadlock: east waits for west at 7 us"));
    assert!(!page.contains("<svg"));
}

#[test]
fn a_file_that_does_not_hold_is_named_with_its_line() {
    let (directory, summary) = made_up();
    let torn = |name: &str, tear: &dyn Fn(&str) -> String, what: &str| {
        let path = directory.path().join("bifrost/seed-1").join(name);
        let whole = fs::read_to_string(&path).expect("a file of the test");
        fs::write(&path, tear(&whole)).expect("a file of the test");
        let error = page(directory.path(), &summary).expect_err("the file is torn").to_string();
        assert!(error.contains(&format!("{name}: ")) && error.contains(what), "{error}");
        fs::write(&path, whole).expect("a file of the test");
    };
    torn("fct.csv", &|whole| format!("{whole}torn"), "line: 42");
    torn("fct.csv", &|_| "flow".into(), "line 1: there is no column group");
    for number in ["inf", "NaN"] {
        let flow = format!("9,inter,a,b,3,1000,0,7,7,7,{number},0,1\n");
        torn("fct.csv", &|whole| format!("{whole}{flow}"), "line 42: the slowdown is not finite");
    }
    let rows = |times: [&'static str; 2]| {
        move |whole: &str| {
            let head = whole.lines().next().unwrap_or_default();
            let cells = ",1".repeat(head.matches(',').count());
            format!("{head}\n{}{cells}\n{}{cells}\n", times[0], times[1])
        }
    };
    torn("series.csv", &rows(["5", "4"]), "line 3: its time is before that of the line above");
    torn("series.csv", &rows(["5", ""]), "line 3: it has no time");
}

#[test]
fn a_sweep_is_drawn_against_its_values() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let of = |value: &str, seed: u64, mean: f64| {
        run(format!("T={value}/seed-{seed}"), seed, ("slot", value), &[("fct.all.mean_ns", mean)])
    };
    let runs = vec![of("1us", 1, 10.0), of("1us", 2, 14.0), of("10us", 1, 20.0), of("100us", 1, 30.0)];
    let page = page(directory.path(), &summary(None, false, runs, vec![])).expect("no file is needed");
    assert!(page.contains("<h2>Sweep of slot</h2>"));
    for value in ["1us", "10us", "100us"] {
        assert!(page.contains(&format!("text-anchor=\"middle\">{value}</text>")), "{value}");
    }
}
