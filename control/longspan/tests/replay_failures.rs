//! Each failure prints one line, and leaves complete output up to that point.

#![allow(clippy::unwrap_used, reason = "only tests are in here")]

mod common;

use common::*;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// A gateway and one capture of four frames.
struct Setting {
    scratch: Scratch,
    config: String,
    capture: String,
}

impl Setting {
    fn new() -> Self {
        let scratch = Scratch::new();
        let config = scratch.write("gateway.toml", SLOW_HAUL);
        let capture = scratch.write("in.pcap", pcap(&stream(4, 976, 1_000)));
        Self { scratch, config, capture }
    }

    /// Asserts that it fails with `status` and a line that ends like this.
    fn refuses(&self, status: i32, arguments: &[&str], told: &str) {
        let line = refused(status, &[&["--config", &self.config], arguments].concat());
        assert!(line.contains(told), "{line}\nlacks: {told}");
    }

    fn input(&self) -> String {
        format!("dc0={}", self.capture)
    }
}

#[test]
fn a_port_that_is_not_in_the_configuration_is_refused_with_those_that_are() {
    let setting = Setting::new();
    let told = "gateway \"gateway\" has no port \"dc7\"; its ports are dc0, lh0";
    setting.refuses(2, &["--in", "dc7=x.pcap"], told);
    setting.refuses(2, &["--in", &setting.input(), "--out", "dc7=x.pcap"], told);
    setting.refuses(2, &["--split", &setting.capture, "--from", "dc7=::/0"], told);
}

#[test]
fn a_wrong_command_line_is_refused_before_anything_is_touched() {
    let setting = Setting::new();
    let input = setting.input();
    let out = format!("lh0={}", setting.scratch.path("out.pcap"));
    setting.refuses(2, &[], "required arguments were not provided");
    setting.refuses(2, &["--in", "dc0"], "expected PORT=FILE");
    setting.refuses(2, &["--in", &input, "--speed", "fast"], "such as 1000x");
    setting.refuses(2, &["--in", &input, "--loop", "0"], "'0' for '--loop <N>'");
    setting.refuses(2, &["--in", &input, "--in", &input], "names port dc0 twice");
    setting.refuses(2, &["--in", &input, "--out", &out, "--out", &out], "--out names port lh0 twice");
    setting.refuses(2, &["--in", "dc0=-", "--in", "lh0=-"], "only one port can read standard input (-)");
    setting.refuses(2, &["--in", "dc0=-", "--loop", "2"], "it can be read only once");
    setting.refuses(2, &["--in", &input, "--out", "lh0=-"], "cannot be written to standard output");
    setting.refuses(2, &["--split", &setting.capture], "--from");
    setting.refuses(
        2,
        &["--in", &input, "--split", &setting.capture, "--from", "dc0=::/0"],
        "cannot be used",
    );
    assert!(!Path::new(&setting.scratch.path("out.pcap")).exists());
}

#[test]
fn a_configuration_that_is_not_there_or_does_not_hold_is_refused() {
    let setting = Setting::new();
    let input = setting.input();
    let line = refused(2, &["--config", "nowhere.toml", "--in", &input]);
    assert!(line.starts_with("nowhere.toml: "), "{line}");
    let wrong = setting.scratch.write("wrong.toml", SLOW_HAUL.replace("\"100M\"", "\"fast\""));
    let line = refused(2, &["--config", &wrong, "--in", &input]);
    assert!(line.contains("wrong.toml:1") && line.contains("port.rate"), "{line}");
}

#[test]
fn an_input_that_cannot_be_played_is_refused_and_no_output_is_touched() {
    let setting = Setting::new();
    let scratch = &setting.scratch;
    let precious = scratch.write("out.pcap", "precious");
    let out = format!("lh0={precious}");
    let garbage = [pcap_header(1), vec![0xff; 16]].concat();
    for (file, told) in [
        ("nowhere.pcap".to_owned(), "nowhere.pcap: cannot be opened: No such file"),
        (scratch.path(""), "Is a directory"),
        (scratch.write("empty.pcap", ""), "empty.pcap: empty file"),
        (scratch.write("text.pcap", "hello, world"), "text.pcap: neither pcap nor pcapng"),
        (scratch.write("wifi.pcap", pcap_header(105)), "wifi.pcap: byte 0: link type is IEEE802_11"),
        (scratch.write("short.pcap", &pcap_header(1)[..20]), "short.pcap: truncated"),
        (scratch.write("corrupt.pcap", garbage), "corrupt.pcap: byte 24: the frame claims 4294967295"),
    ] {
        setting.refuses(2, &["--in", &format!("dc0={file}"), "--out", &out], told);
    }
    assert_eq!(fs::read(precious).unwrap(), b"precious");
}

#[test]
fn an_unreadable_file_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let setting = Setting::new();
    fs::set_permissions(&setting.capture, fs::Permissions::from_mode(0o000)).unwrap();
    let arguments = ["replay", "--config", &setting.config, "--in", &setting.input()];
    let line = complaint(2, &ended(unprivileged().args(arguments)));
    assert!(line.contains("cannot be opened: Permission denied"), "{line}");
}

/// The binary without root's capabilities. Root owns the files of these tests, but needs a capability to read files
/// that no one may read.
fn unprivileged() -> Command {
    if !rustix::process::geteuid().is_root() {
        return longspan();
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", "--", env!("CARGO_BIN_EXE_longspan")]);
    command
}

#[test]
fn a_capture_that_breaks_later_is_played_and_written_up_to_there() {
    let setting = Setting::new();
    let whole = fs::read(&setting.capture).unwrap();
    let corrupt = [&whole[..], &[0xff; 16]].concat();
    let cut = whole[..whole.len() - 1].to_vec();
    for (name, bytes, frames, told) in
        [("cut.pcap", cut, 3, "truncated in the record"), ("bad.pcap", corrupt, 4, "are allowed")]
    {
        let input = format!("dc0={}", setting.scratch.write(name, bytes));
        let directory = setting.scratch.path("out");
        setting.refuses(1, &["--in", &input, "--out-dir", &directory], told);
        assert_eq!(frames_of(format!("{directory}/lh0.pcap")).len(), frames);
        let report = json(&fs::read_to_string(format!("{directory}/report.json")).unwrap());
        assert_eq!(report["input"]["complete"], false);
        assert_eq!(report["conservation"]["holds"], true);
    }
}

#[test]
fn nothing_is_written_over_what_is_read_or_twice() {
    let setting = Setting::new();
    let input = setting.input();
    let before = fs::read(&setting.capture).unwrap();
    let over_input = format!("lh0={}", setting.capture);
    setting.refuses(2, &["--in", &input, "--out", &over_input], "overwrite the input of port dc0");
    setting.refuses(2, &["--in", &input, "--report", &setting.capture], "overwrite the input of port dc0");
    setting.refuses(2, &["--in", &input, "--report", &setting.config], "overwrite the configuration");

    let link = setting.scratch.path("link.pcap");
    std::os::unix::fs::symlink(&setting.capture, &link).unwrap();
    setting.refuses(2, &["--in", &input, "--out", &format!("lh0={link}")], "overwrite the input");

    let new = setting.scratch.path("new.pcap");
    let same = setting.scratch.path("./new.pcap");
    let outs = [format!("lh0={new}"), format!("dc0={same}")];
    let told = "is named for both the output of port dc0 and the output of port lh0";
    setting.refuses(2, &["--in", &input, "--out", &outs[0], "--out", &outs[1]], told);
    setting.refuses(2, &["--in", &input, "--out", &outs[0], "--report", &new], "and the report");
    assert_eq!(fs::read(&setting.capture).unwrap(), before);
    assert!(!Path::new(&new).exists());
}

#[test]
fn two_outputs_that_become_one_file_only_when_it_exists_are_refused() {
    let setting = Setting::new();
    let input = setting.input();
    let (missing, link) = (setting.scratch.path("missing.pcap"), setting.scratch.path("dangling"));
    std::os::unix::fs::symlink("missing.pcap", &link).unwrap();
    let outs = [format!("dc0={missing}"), format!("lh0={link}")];
    let told = "is named for both the output of port dc0 and the output of port lh0";
    setting.refuses(2, &["--in", &input, "--out", &outs[0], "--out", &outs[1]], told);
    fs::remove_file(&missing).unwrap();
    let told = "is named for both the report and the events";
    setting.refuses(2, &["--in", &input, "--report", &missing, "--events", &link], told);
    // Neither does the directory exist yet.
    let directory = setting.scratch.path("out");
    let again = setting.scratch.path("out/../out/dc0.pcap");
    let told = "is named for both the output of port dc0 and the report";
    setting.refuses(2, &["--in", &input, "--out-dir", &directory, "--report", &again], told);
}

#[test]
fn an_output_that_cannot_be_created_is_refused() {
    let setting = Setting::new();
    let input = setting.input();
    setting.refuses(
        2,
        &["--in", &input, "--out", "lh0=/nowhere/a.pcap"],
        "/nowhere/a.pcap: cannot be created",
    );
    setting.refuses(
        2,
        &["--in", &input, "--report", "/nowhere/r.json"],
        "/nowhere/r.json: cannot be written",
    );
    let below_a_file = format!("{}/out", setting.capture);
    setting.refuses(2, &["--in", &input, "--out-dir", &below_a_file], "cannot be written");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs Linux's /dev/full")]
fn a_full_disk_is_told_and_the_other_output_is_whole() {
    let setting = Setting::new();
    let capture = setting.scratch.write("long.pcap", pcap(&stream(20_000, 976, 10_000)));
    let input = format!("dc0={capture}");
    let pauses = setting.scratch.path("dc0.pcap");
    let out = format!("dc0={pauses}");
    let arguments = ["--in", &input, "--out", "lh0=/dev/full", "--out", &out];
    setting.refuses(1, &arguments, "/dev/full: cannot be written after 0 frames: No space left");
    // The part that was written equals that of a replay with room for both.
    let whole = setting.scratch.path("whole.pcap");
    let (lh0, dc0) = (format!("lh0={}", setting.scratch.path("lh0.pcap")), format!("dc0={whole}"));
    let config = ["replay", "--config", &setting.config];
    let run = run([&config[..], &["--in", &input, "--out", &lh0, "--out", &dc0]].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let (pauses, whole) = (frames_of(&pauses), frames_of(&whole));
    assert!(!pauses.is_empty() && whole.starts_with(&pauses), "{} of {}", pauses.len(), whole.len());
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs Linux's /dev/full")]
fn a_report_on_a_full_disk_is_told() {
    let setting = Setting::new();
    setting.refuses(1, &["--in", &setting.input(), "--report", "/dev/full"], "/dev/full: cannot be written");
}

/// A limit on file sizes fails a write halfway, like a full disk, and needs no privileges.
#[test]
fn a_file_that_can_grow_no_further_keeps_whole_frames() {
    const RECORD: usize = 16 + 976;
    // `ulimit` counts blocks of 512 bytes.
    const BLOCKS: usize = 6_000;
    let setting = Setting::new();
    let capture = setting.scratch.write("long.pcap", pcap(&stream(20_000, 976, 100_000)));
    let written = setting.scratch.path("lh0.pcap");
    let limited = format!("trap '' XFSZ; ulimit -f {BLOCKS}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_longspan"), "replay"]);
    let (input, out) = (format!("dc0={capture}"), format!("lh0={written}"));
    command.args(["--config", &setting.config, "--in", &input, "--out", &out]);
    let line = complaint(1, &ended(&mut command));
    let frames = frames_of(&written).len();
    assert!(line.contains(&format!("after {frames} frames: File too large")), "{frames}: {line}");
    assert_eq!(frames, (BLOCKS * 512 - 24) / RECORD);
}

#[test]
fn a_pipe_that_is_closed_early_is_no_failure() {
    let setting = Setting::new();
    let mut child = longspan()
        .args(["replay", "--config", &setting.config, "--in", &setting.input(), "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(output.stderr.is_empty());
}

#[test]
fn sources_without_a_capture_to_split_are_refused() {
    let capture = soft_roce();
    let input = format!("dc0={}", capture.display());
    let config = repository("config/gateways/replay.toml");
    let run = run(["replay", "--config", config.to_str().unwrap(), "--in", &input, "--from", "dc0=10.0.0.1"]);
    assert_eq!(run.status, 2, "{}", run.stderr);
}

#[test]
fn an_interrupt_is_the_end_of_the_captures_and_what_was_played_is_written() {
    use std::io::Write;

    let scratch = Scratch::new();
    let config = scratch.write("gateway.toml", SLOW_HAUL);
    let output = scratch.path("out.pcap");
    let mut child = longspan()
        .args(["replay", "--config", &config, "--in", "dc0=-", "--out", &format!("lh0={output}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let frames = pcap_record(&(1_000_000_000, udp_frame(60, 0), 60)).repeat(10_000);
    input.write_all(&pcap_header(1)).unwrap();
    // This exceeds a pipe and a buffer, so the replay is running once it is written.
    input.write_all(&frames).unwrap();
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    // It continues reading until it notices the interrupt, and then closes its end.
    while input.write_all(&frames).is_ok() {}
    let ended = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("longspan: interrupted after "), "{stderr}");
    assert!(String::from_utf8(ended.stdout).unwrap().contains("Every frame is accounted for"));
    // Every frame is the same, and none of them is dropped.
    let played = stderr.split(' ').find_map(|word| word.parse::<usize>().ok()).unwrap();
    assert_eq!(frames_of(&output).len(), played);
}
