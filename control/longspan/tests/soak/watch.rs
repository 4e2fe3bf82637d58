//! Readers that query the gateways all the time: Prometheus, and people.

use crate::disturbances::script;
use crate::gateways::{FAR, NAMES, NEAR, Pair};
use crate::lab::{Gateway, Lab, PYTHON, Process};
use serde::Deserialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interval between two queries of a gateway.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The state that the readers share with the soak.
#[derive(Default)]
struct Shared {
    is_over: AtomicBool,
    /// Whether the far gateway is killed, or was recently: then it need not answer.
    is_far_away: AtomicBool,
    shown: AtomicU64,
}

/// Readers of the metrics and the snapshots of both gateways.
pub struct Watch {
    scrapers: [Process; 2],
    shower: JoinHandle<Result<(), String>>,
    shared: Arc<Shared>,
}

/// The output of a reader of metrics.
#[derive(Deserialize)]
struct Scraped {
    answers: u64,
    refused: u64,
    wrong: Vec<String>,
}

/// How often a gateway answered.
pub struct Answers {
    pub scraped: u64,
    pub shown: u64,
}

impl Watch {
    pub fn start(lab: &Lab, pair: &Pair) -> Self {
        let scrapers = [NEAR, FAR].map(|side| {
            let mut command = pair.namespace(side).command(PYTHON);
            command.arg(script("scrape.py"));
            let mut scraper = Process::start(&format!("scrape-{}", NAMES[side]), command, lab.directory());
            scraper.wait_for_output("scraping");
            scraper
        });
        let shared = Arc::new(Shared::default());
        let sockets = [NEAR, FAR].map(|side| pair.gateway(side).socket().to_owned());
        let theirs = Arc::clone(&shared);
        let shower = std::thread::spawn(move || {
            while !theirs.is_over.load(Ordering::Acquire) {
                for (socket, name) in sockets.iter().zip(NAMES) {
                    let may_fail = || name == NAMES[FAR] && theirs.is_far_away.load(Ordering::Acquire);
                    // Even if it ends or starts meanwhile.
                    let may_fail_before = may_fail();
                    match Gateway::try_show_at(socket) {
                        Ok(_) => _ = theirs.shown.fetch_add(1, Ordering::Relaxed),
                        Err(_) if may_fail_before || may_fail() => {}
                        Err(error) => return Err(format!("{name} shows nothing: {error}")),
                    }
                }
                std::thread::sleep(BETWEEN_LOOKS);
            }
            Ok(())
        });
        Self { scrapers, shower, shared }
    }

    /// Sets whether the far gateway must answer from now on.
    pub fn expect_far(&self, is_there: bool) {
        self.shared.is_far_away.store(!is_there, Ordering::Release);
    }

    /// Asserts that the readers still run.
    pub fn expect_running(&mut self) {
        for scraper in &mut self.scrapers {
            scraper.expect_running();
        }
        assert!(!self.shower.is_finished(), "a gateway did not show itself");
    }

    /// Ends the readers. Asserts that every answer was complete, that no counter fell, and that only a killed gateway
    /// gave no answer.
    pub fn end(self, was_killed: bool) -> Answers {
        self.shared.is_over.store(true, Ordering::Release);
        self.shower.join().unwrap().unwrap_or_else(|error| panic!("{error}"));
        let [near, far] = self.scrapers.map(|scraper| {
            let ended = scraper.end();
            let last = ended.stdout.lines().last().expect("it ends with a line of JSON").to_owned();
            serde_json::from_str::<Scraped>(&last).unwrap()
        });
        assert_eq!((near.refused, &near.wrong, &far.wrong), (0, &Vec::new(), &Vec::new()), "metrics");
        assert!(was_killed || far.refused == 0, "the far gateway refused {} scrapes", far.refused);
        Answers { scraped: near.answers + far.answers, shown: self.shared.shown.load(Ordering::Relaxed) }
    }
}
