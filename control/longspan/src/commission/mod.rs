//! `longspan commission`.

#[cfg(any(feature = "dpdk", test))]
mod page;

use crate::cli::commission::CommissionArgs;
use crate::failure::Failure;

/// Fails, because a gateway needs DPDK.
///
/// # Errors
/// [`Failure::Usage`], always.
#[cfg(not(feature = "dpdk"))]
pub fn run(_args: &CommissionArgs) -> Result<(), Failure> {
    Err(Failure::usage(
        "this longspan was built without DPDK (--no-default-features) and cannot commission a link",
    ))
}

#[cfg(feature = "dpdk")]
pub use with_dpdk::run;

#[cfg(feature = "dpdk")]
mod with_dpdk {
    use super::{CommissionArgs, Failure, page};
    use crate::console;
    use crate::run::start_log;
    use commission::{Report, Terms, Verdict};
    use config::CommissionError;
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use units::Interval;

    /// The times and stops of a course, and of one with `--full`.
    const SHORT: (Interval, u64) = (Interval::from_secs(10), 20);
    const FULL: (Interval, u64) = (Interval::from_secs(60), 1_000);

    /// Commissions a port, and prints the report.
    ///
    /// # Errors
    /// [`Failure::Config`], [`Failure::Usage`] and [`Failure::Gateway`] if it cannot start, [`Failure::Commission`] if
    /// the link is not as promised, or not all was tried.
    pub fn run(args: &CommissionArgs) -> Result<(), Failure> {
        start_log()?;
        let key = config::commission_key(&args.key_file).map_err(refused)?;
        let gateway = config::for_commission(&args.config, &args.port).map_err(refused)?;
        // The account that the gateway changes to may not be allowed to make them.
        let files = args.out.as_deref().map(Files::create).transpose()?;
        let report = gateway::commission(&args.config, key, terms(args), gateway)?;
        match args.json {
            true => console::print(&console::json(&report))?,
            false => console::print(&report.text())?,
        }
        files.map_or(Ok(()), |files| files.write(&report))?;
        match report.verdict {
            Verdict::Pass => Ok(()),
            Verdict::Unknown | Verdict::Fault => Err(Failure::Commission(verdict(&report))),
        }
    }

    fn terms(args: &CommissionArgs) -> Terms {
        let (loss, stops) = if args.full { FULL } else { SHORT };
        Terms { loss: args.duration.unwrap_or(loss), stops, soak: args.soak.unwrap_or(Interval::ZERO) }
    }

    fn refused(error: CommissionError) -> Failure {
        match error {
            CommissionError::Config(error) => Failure::Config(error),
            other => Failure::usage(other.to_string()),
        }
    }

    /// The last line.
    fn verdict(report: &Report) -> String {
        let mut faults: Vec<_> = report.faults().map(|it| it.name()).collect();
        faults.dedup();
        let unknown = report.steps.iter().filter(|it| it.verdict == Verdict::Unknown).map(|it| &*it.step);
        match (faults.is_empty(), report.complete) {
            (false, _) => faults.join(", "),
            (true, false) => format!("not all steps were done, since {}", report.ended),
            (true, true) => format!("not all could be tried: {}", unknown.collect::<Vec<_>>().join(", ")),
        }
    }

    /// The files of a report.
    struct Files([(PathBuf, File); 3]);

    impl Files {
        fn create(directory: &Path) -> Result<Self, Failure> {
            fs::create_dir_all(directory).map_err(Failure::uncreated(directory))?;
            let create = |name: &str| {
                let path = directory.join(name);
                // A report of before stays until there is another one.
                let file = File::options().write(true).create(true).truncate(false).open(&path);
                let file = file.map_err(Failure::uncreated(&path))?;
                Ok::<_, Failure>((path, file))
            };
            Ok(Self([create("report.json")?, create("report.html")?, create("suggest.toml")?]))
        }

        fn write(self, report: &Report) -> Result<(), Failure> {
            let texts = [console::json(report), page::page(report), report.toml()];
            for ((path, mut file), text) in self.0.into_iter().zip(texts) {
                let written = file.set_len(0).and_then(|()| file.write_all(text.as_bytes()));
                written.map_err(Failure::unwritten(path))?;
            }
            Ok(())
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use crate::cli::{Cli, Command};
        use clap::Parser;

        #[test]
        fn a_full_course_has_longer_loss_and_more_stops_and_a_time_that_is_stated_counts() {
            let terms = |options: &str| {
                let line = format!("longspan commission gw.toml --port lh0 --key-file key {options}");
                match Cli::try_parse_from(line.split_whitespace()).unwrap().command {
                    Command::Commission(args) => terms(&args),
                    _ => panic!("not the command"),
                }
            };
            let of = |(loss, soak), stops| {
                let [loss, soak] = [loss, soak].map(Interval::from_secs);
                Terms { loss, stops, soak }
            };
            assert_eq!(terms(""), of((10, 0), 20));
            assert_eq!(terms("--full"), of((60, 0), 1_000));
            assert_eq!(terms("--full --for 2s --soak 3s"), of((2, 3), 1_000));
        }
    }
}
