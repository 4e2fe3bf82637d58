//! The page of an experiment that is made up, file by file.

use super::{page, write};
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Files of an experiment with two variants, two seeds each, and names that are markup.
fn made_up() -> TempDir {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let mut runs = Vec::new();
    for (variant, slower) in [("bifrost", 1), ("pfc <b>", 3)] {
        for seed in [1, 2] {
            let name = format!("{}/seed-{seed}", variant.replace(" <b>", ""));
            fill(&directory.path().join(&name), slower, seed);
            let mean = (100_000 * slower + 1_000 * seed) as f64;
            runs.push(json!({
                "name": name, "variant": variant, "parameters": {"host.mtu": "4096"}, "seed": seed,
                "ending": "finished", "message": null, "end_ns": 1_000_000, "transmissions": 5_000,
                "flows": {"started": 40, "ended": 40},
                "metrics": {
                    "fct.all.mean_ns": mean, "fct.all.p99_ns": mean * 4.0, "slowdown.all.p99": 7.5,
                    "pfc.total.pauses_sent": 10 * (slower - 1), "goodput.all.bps": 4e10, "never.measured": null,
                },
            }));
        }
    }
    let summary = json!({
        "format": 1, "longspan": "0.1.0", "scenario": "made-up", "title": "Made up & <script>", "quick": true,
        "runs": runs,
        "claims": [
            {"id": "sooner", "text": "Bifrost is sooner", "metric": "fct.all.mean_ns", "of": "bifrost",
             "against": "pfc <b>", "paper": -0.4, "better": "less",
             "ours": {"median": -0.66, "min": -0.67, "max": -0.65}, "verdict": "better"},
            {"id": "queue", "text": "", "metric": "queue.east.lh.max_bytes", "of": "bifrost", "against": null,
             "paper": 9.7e6, "better": null, "ours": null, "verdict": "not measured"},
            {"id": "range", "text": "", "metric": "fct.all.p99_ns", "of": "bifrost", "against": "pfc <b>",
             "paper": [-0.7, -0.5], "better": "less",
             "ours": {"median": -0.66, "min": -0.67, "max": -0.65}, "verdict": "reproduced"},
        ],
    });
    fs::write(directory.path().join("summary.json"), summary.to_string()).expect("a file of the test");
    directory
}

fn fill(run: &Path, slower: u64, seed: u64) {
    fs::create_dir_all(run).expect("a directory of the test");
    let mut flows = String::from(
        "flow,group,source,destination,priority,bytes,start_ns,end_ns,fct_ns,ideal_ns,slowdown,retransmitted\n",
    );
    for flow in 0..40_u64 {
        let bytes = 1_000 << (flow % 8);
        let (ideal, slowdown) = (2_000 + bytes / 12, 1.0 + (flow % 5 * slower) as f64 / 2.0);
        let fct = (ideal as f64 * slowdown) as u64 + seed;
        let group = if flow % 2 == 0 { "inter" } else { "intra" };
        writeln!(flows, "{flow},{group},a,b,3,{bytes},0,{fct},{fct},{ideal},{slowdown:.4},0")
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
fn the_same_files_give_the_same_page() {
    let directory = made_up();
    write(directory.path()).expect("the files hold");
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
    let page = page(made_up().path()).expect("the files hold");
    assert!(page.contains("Made up &amp; &lt;script&gt;") && page.contains("pfc &lt;b&gt;"));
    for markup in ["<script", "<b>", "http", "url(", "@import", "src=", "href="] {
        assert!(!page.contains(markup), "{markup}");
    }
}

#[test]
fn each_plot_that_the_files_allow_is_there() {
    let page = page(made_up().path()).expect("the files hold");
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
fn a_run_that_failed_needs_no_files_and_is_said_in_the_open() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let summary = json!({
        "format": 1, "longspan": "0.1.0", "scenario": "s", "title": null, "quick": false, "claims": [],
        "runs": [{"name": "seed-1", "variant": null, "parameters": {}, "seed": 1, "ending": "deadlock",
                  "message": "east waits for west at 7 us", "end_ns": 7_000, "transmissions": 3,
                  "flows": {"started": 1, "ended": 0}, "metrics": {}}],
    });
    fs::write(directory.path().join("summary.json"), summary.to_string()).expect("a file of the test");
    let page = page(directory.path()).expect("the summary holds");
    assert!(page.contains("seed-1 (seed 1) ended by deadlock: east waits for west at 7 us"));
    assert!(!page.contains("<svg"));
}

#[test]
fn a_file_that_does_not_hold_is_named_with_its_line() {
    let directory = made_up();
    let path = directory.path().join("bifrost/seed-1/fct.csv");
    let text = fs::read_to_string(&path).expect("a file of the test");
    fs::write(&path, text + "torn").expect("a file of the test");
    let error = page(directory.path()).expect_err("the last line is torn");
    assert!(error.to_string().ends_with("fct.csv:42: not a flow record"), "{error}");
    fs::write(directory.path().join("summary.json"), "{}").expect("a file of the test");
    let error = page(directory.path()).expect_err("the summary lacks all");
    assert!(
        error.to_string().contains("summary.json: not a summary of a simulation: missing field"),
        "{error}"
    );
}

#[test]
fn a_sweep_is_drawn_against_its_values() {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let run = |value: &str, seed: u64, mean: f64| {
        json!({"name": format!("T={value}/seed-{seed}"), "variant": null, "parameters": {"slot": value},
               "seed": seed, "ending": "finished", "metrics": {"fct.all.mean_ns": mean}})
    };
    let runs = [run("1us", 1, 10.0), run("1us", 2, 14.0), run("10us", 1, 20.0), run("100us", 1, 30.0)];
    let summary = json!({"format": 1, "longspan": "0.1.0", "scenario": "s", "title": null, "runs": runs});
    fs::write(directory.path().join("summary.json"), summary.to_string()).expect("a file of the test");
    let page = page(directory.path()).expect("the summary holds");
    assert!(page.contains("<h2>Sweep of slot</h2>"));
    for value in ["1us", "10us", "100us"] {
        assert!(page.contains(&format!("text-anchor=\"middle\">{value}</text>")), "{value}");
    }
}
