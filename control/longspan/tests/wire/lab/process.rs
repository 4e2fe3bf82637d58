//! Processes that end with the test.

use super::wait::{BETWEEN_LOOKS, PATIENCE, wait_for, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

/// The maximum number of lines of a process's output in a failure.
const SHOWN_LINES: usize = 40;

/// A running process. Its output goes to files, which are printed if the test fails.
pub struct Process {
    name: String,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
    has_ended: bool,
}

/// The outcome of a process.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    /// Starts `command`, with its output in `directory`.
    pub fn start(name: &str, mut command: Command, directory: &Path) -> Self {
        let stdout = directory.join(format!("{name}.out"));
        let stderr = directory.join(format!("{name}.err"));
        let child = command
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {command:?}: {error}"));
        Self { name: name.to_owned(), child, stdout, stderr, has_ended: false }
    }

    pub fn stdout(&self) -> String {
        printed(&self.stdout)
    }

    pub fn stderr(&self) -> String {
        printed(&self.stderr)
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Panics if the process has ended.
    pub fn expect_running(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            self.has_ended = true;
            panic!("{} has ended by itself ({status}): {}{}", self.name, self.stdout(), self.stderr());
        }
    }

    /// Waits until the process has printed `text`.
    pub fn wait_for_output(&mut self, text: &str) {
        wait_until(&format!("{} to print {text:?}", self.name.clone()), || {
            let is_there = self.stdout().contains(text) || self.stderr().contains(text);
            if !is_there {
                self.expect_running();
            }
            is_there
        });
    }

    /// Requests the process to end, and waits for it.
    pub fn end(self) -> Ended {
        self.signal(Signal::TERM);
        self.ended()
    }

    /// Waits until the process ends by itself.
    pub fn ended(mut self) -> Ended {
        let what = format!("{} to end", self.name);
        let status = wait_for(&what, || self.child.try_wait().unwrap());
        self.has_ended = true;
        Ended { status, stdout: self.stdout(), stderr: self.stderr() }
    }

    /// Requests it to end, even if it is stopped, and kills it if it does not.
    fn make_end(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = kill_process(Pid::from_child(&self.child), Signal::CONT);
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_ended {
            self.make_end();
        }
        if std::thread::panicking() {
            for (stream, text) in [("out", self.stdout()), ("err", self.stderr())] {
                let lines: Vec<&str> = text.lines().collect();
                for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                    eprintln!("    {} {stream}: {line}", self.name);
                }
            }
        }
    }
}

fn printed(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
