use super::*;
use crate::network::NetworkSpec;
use crate::options::Options;
use crate::simulation::Simulation;
use crate::testing::{P3, line};
use std::sync::Arc;

/// A job of the hosts of [`line`] whose ranks have these lines of GOAL.
fn goal(ranks: &[&str]) -> Result<PlannedJob, GoalError> {
    let mut text = format!("num_ranks {}\n", ranks.len());
    for (rank, lines) in ranks.iter().enumerate() {
        text += &format!("rank {rank} {{\n{lines}\n}}\n");
    }
    read(&text)
}

fn read(text: &str) -> Result<PlannedJob, GoalError> {
    // The first two ranks are at the hosts, the third is at the first host again.
    let hosts = [NodeId(0), NodeId(1), NodeId(0)];
    let job = Job { group: 0, priority: P3, start: Nanos(1_000), iterations: 1, ranks: Vec::new() };
    read_goal(text.as_bytes(), &hosts, job)
}

fn network(jobs: Vec<PlannedJob>) -> NetworkSpec {
    NetworkSpec { jobs: Arc::new(Jobs::new(jobs).unwrap()), ..line() }
}

/// The times at which the first iteration of a job with these ranks begins and ends, and those of the model.
fn times(ranks: &[&str]) -> [[u64; 2]; 2] {
    let network = network(vec![goal(ranks).unwrap()]);
    let model = ideal(&network, 0, 1, Alone::InNetwork).unwrap()[0].map(|at| at.0);
    let outcome = Simulation::new(network, Options::default()).run(core::iter::empty(), &mut ()).unwrap();
    let it = outcome.jobs[0].iterations[0];
    [[it.begin.0, it.end.0], model]
}

/// A packet of a message on a link of 100G, and its acknowledgement.
const PACKET: u64 = 89;
const ACKNOWLEDGEMENT: u64 = 7;

#[test]
fn a_send_ends_with_its_acknowledgement_and_what_requires_it_begins_then() {
    let message = 2 * (PACKET + 1_000);
    let known = message + 2 * (ACKNOWLEDGEMENT + 1_000);
    let [run, model] = times(&["s: send 1024b to 1\nc: calc 5\nc requires s", "recv 1024b from 0"]);
    assert_eq!((run, model), ([1_000, 1_000 + known + 5], [1_000, 1_000 + known + 5]));
    let [run, _] = times(&["s: send 1024b to 1\nc: calc 5000\nc irequires s", "recv 1024b from 0"]);
    assert_eq!(run[1], 1_000 + 5_000, "it begins with the send");
}

#[test]
fn a_receive_ends_when_it_has_begun_and_its_message_is_there() {
    let message = 2 * (PACKET + 1_000);
    let [run, _] = times(&["send 1024b to 1", "r: recv 1024b from 0\nc: calc 70000\nc requires r"]);
    assert_eq!(run[1], 1_000 + message + 70_000);
    let [run, _] = times(&[
        "send 1024b to 1",
        "c: calc 9000\nr: recv 1024b from 0\nr requires c\nd: calc 70000\nd requires r",
    ]);
    assert_eq!(run[1], 1_000 + 9_000 + 70_000, "the message waits");
}

#[test]
fn operations_with_one_cpu_begin_one_after_the_other_and_sends_before_calculations() {
    for (lines, time) in [
        ("calc 3000\ncalc 4000", 7_000),
        ("calc 3000 cpu 1\ncalc 4000 cpu 2", 4_000),
        ("a: calc 100\nb: calc 3000\nc: calc 50 cpu 1\nd: calc 1000\nd requires c", 4_100),
    ] {
        let [run, model] = times(&[lines]);
        assert_eq!((run, model), ([1_000, 1_000 + time], run), "{lines}");
    }
    // The send is in the list behind the calculation, and is on its way before that ends.
    let [run, _] = times(&["calc 90000\nsend 1024b to 1", "r: recv 1024b from 0\nc: calc 5\nc requires r"]);
    assert_eq!(run[1], 1_000 + 90_000);
    let [run, _] = times(&["a: calc 10\nb: send 1024b to 1\nb requires a\ncalc 90000", "recv 1024b from 0"]);
    let sent = 1_000 + 90_010 + 2 * (PACKET + 1_000);
    assert_eq!(run[1], sent + 2 * (ACKNOWLEDGEMENT + 1_000), "a send waits for its CPU");
}

#[test]
fn messages_with_one_tag_belong_together_in_their_order_and_others_by_their_tags() {
    let sends = "send 10b to 1 tag 1\nsend 20b to 1 tag 2\nsend 30b to 1 tag 1";
    goal(&[sends, "recv 20b from 0 tag 2\nrecv 10b from 0 tag 1\nrecv 30b from 0 tag 1"]).unwrap();
    let error =
        goal(&[sends, "recv 20b from 0 tag 1\nrecv 10b from 0 tag 2\nrecv 30b from 0 tag 1"]).unwrap_err();
    assert_eq!(error.to_string(), "line 8: it receives 20 bytes, and rank 0 sends 10");
    let error = goal(&["send 10b to 1\nsend 30b to 1", "recv 30b from 0\nrecv 10b from 0"]).unwrap_err();
    assert_eq!(error.to_string(), "line 7: it receives 30 bytes, and rank 0 sends 10");
}

#[test]
fn a_message_of_zero_bytes_is_a_packet_and_one_within_a_host_takes_no_time() {
    let empty = 2 * (ACKNOWLEDGEMENT + 1_000);
    assert_eq!(times(&["send 0b to 1", "recv 0b from 0"]), [[1_000, 1_000 + 2 * empty]; 2]);
    let here = times(&[
        "send 9b to 2\nsend 8b to 0\nrecv 8b from 0",
        "",
        "r: recv 9b from 0\nc: calc 3\nc requires r",
    ]);
    assert_eq!(here, [[1_000, 1_003]; 2]);
}

#[test]
fn a_job_of_which_no_iteration_has_ended_has_no_ideal_times() {
    let network = network(vec![goal(&["send 1024b to 1", "recv 1024b from 0"]).unwrap()]);
    assert_eq!(ideal(&network, 0, 0, Alone::InNetwork), Some(vec![]));
    assert_eq!(ideal(&network, 0, 1, Alone::InNetwork).map(|spans| spans.len()), Some(1));
}

#[test]
fn a_long_series_of_operations_without_time_is_divided_into_turns() {
    let mut job = goal(&["a: calc 0\nb: calc 0\nb requires a"]).unwrap();
    job.iterations = 10_000;
    let network = network(vec![job]);
    let outcome = Simulation::new(network, Options::default()).run(core::iter::empty(), &mut ()).unwrap();
    assert_eq!(outcome.jobs[0].iterations.len(), 10_000);
    assert_eq!(outcome.end.0, 1_000);
    assert!(outcome.events >= 4, "{} events", outcome.events);
}

#[test]
fn an_iteration_of_a_rank_begins_when_its_last_one_has_ended_there_and_early_messages_wait() {
    let mut job = goal(&["send 1024b to 1", "r: recv 1024b from 0\nc: calc 50000\nc requires r"]).unwrap();
    job.iterations = 40;
    let network = network(vec![job]);
    let model = ideal(&network, 0, 40, Alone::InNetwork).unwrap();
    let outcome = Simulation::new(network, Options::default()).run(core::iter::empty(), &mut ()).unwrap();
    let run: Vec<_> = outcome.jobs[0].iterations.iter().map(|it| [it.begin, it.end]).collect();
    assert_eq!(run, model);
    assert_eq!(run[39][1].0, 1_000 + 2 * (PACKET + 1_000) + 40 * 50_000, "the sender was ahead");
    assert!(run[39][0].0 < 1_000 + 40 * 5_000);
    assert_eq!((outcome.flows_ended, outcome.jobs[0].unfinished), (40, None));
}

#[test]
fn jobs_whose_operations_cannot_all_end_are_refused_where_they_are_at_fault() {
    let refused = |ranks: &[&str]| goal(ranks).unwrap_err().to_string();
    assert_eq!(refused(&["send 5b to 1", ""]), "line 3: rank 1 does not receive this message with tag 0");
    assert_eq!(
        refused(&["send 5b to 1 tag 3", "recv 5b from 0"]),
        "line 6: rank 0 does not send this message with tag 0"
    );
    assert_eq!(refused(&["recv 5b from 1", ""]), "line 3: rank 1 does not send this message with tag 0");
    assert_eq!(refused(&["send 5b to 7"]), "line 3: there is no rank 7, but 0 to 0");
    let cycle = "it waits for itself, perhaps by way of others";
    assert_eq!(refused(&["a: calc 1\na requires a"]), format!("line 3: {cycle}"));
    let two = refused(&["x: calc 1\na: calc 1\nb: calc 1\na requires b\nb irequires a\nx requires b"]);
    assert!(two == format!("line 4: {cycle}") || two == format!("line 5: {cycle}"), "{two}");
    // Each rank sends when it has received.
    let crossed = |other| format!("calc 1\nr: recv 5b from {other}\ns: send 5b to {other}\ns requires r");
    let mutual = refused(&[&crossed(1), &crossed(0)]);
    assert!(mutual.ends_with(cycle) && !mutual.starts_with("line 3"), "{mutual}");
    assert!(goal(&["s: send 5b to 1\nr: recv 5b from 1", "s: send 5b to 0\nr: recv 5b from 0"]).is_ok());
}

#[test]
fn what_is_no_job_is_refused_by_its_line() {
    let cases = [
        ("", "line 1: expected num_ranks, not the end of the file"),
        ("rank 0 {\n}\n", "line 1: expected num_ranks, not rank"),
        ("\nnum_ranks 0", "line 2: expected one rank at least, not 0"),
        ("num_ranks 4", "line 1: the number of ranks is 4, but at most 3"),
        (
            "num_ranks 99999999999999999999999",
            "line 1: the number of ranks is 99999999999999999999999, but at most 3",
        ),
        ("num_ranks 1\nrank 1 {", "line 2: the rank is 1, but at most 0"),
        (
            "num_ranks 1\nrank 0 {\ncalc 5",
            "line 4: expected a closing brace or the end of a comment, not the end of the file",
        ),
        (
            "num_ranks 1\nrank 0 {\ncalc 5 /*\n}",
            "line 5: expected a closing brace or the end of a comment, not the end of the file",
        ),
        ("num_ranks 1\nrank 0 {\ncalc 5\n}\nrank 0 {\n}", "line 5: rank 0 is there twice"),
        ("num_ranks 1\nrank 0 {\n}\nrank 0 {\ncalc 5\n}", "line 4: rank 0 is there twice"),
        ("num_ranks 1", "line 2: expected an operation of some rank, not the end of the file"),
        ("num_ranks 1\nrank 0 {\nsend 5b to 0 tag 1 tag 2\n}", "line 3: tag is there twice"),
        ("num_ranks 1\nrank 0 {\ncalc\n}", "line 3: expected a number, not the end of the line"),
        (
            "num_ranks 1\nrank 0 {\ncalc 3600000000001\n}",
            "line 3: the time is 3600000000001, but at most 3600000000000",
        ),
        (
            "num_ranks 1\nrank 0 {\ncalc 5 calc 6\n}",
            "line 3: expected tag, cpu, nic or the end of the line, not calc",
        ),
        (
            "num_ranks 1\nrank 0 {\ncalc 5 tag 3\n}",
            "line 3: expected tag, cpu, nic or the end of the line, not tag",
        ),
        ("num_ranks 1\nrank 0 {\nl1: fly 5\n}", "line 3: expected send, recv or calc, not fly"),
        ("num_ranks 1\nrank 0 {\nsend 5 to 0\n}", "line 3: expected b, for bytes, not to"),
        ("num_ranks 1\nrank 0 {\nsend 5b from 0\n}", "line 3: expected to, not from"),
        (
            "num_ranks 1\nrank 0 {\nrecv 5b from -1\n}",
            "line 3: a number below zero stands for any source or tag, which a simulation cannot choose: give a number",
        ),
        (
            "num_ranks 1\nrank 0 {\nrecv 5b from 0 nic 1\n}",
            "line 3: the number of the network card is 1, but at most 0",
        ),
        ("num_ranks 1\nrank 0 {\ncalc 5 cpu 256\n}", "line 3: the number of the CPU is 256, but at most 255"),
        ("num_ranks 1\nrank 0 {\na: calc 5\na: calc 5\n}", "line 4: a is there twice"),
        (
            "num_ranks 1\nrank 0 {\na: calc 5\na requires b\n}",
            "line 4: no line before has label b in this rank",
        ),
        (
            "num_ranks 1\nrank 0 {\na: calc 5\na needs a\n}",
            "line 4: expected a colon, requires or irequires, not needs",
        ),
        (
            "num_ranks 1\nrank 0 {\n; calc 5\n}",
            "line 3: expected send, recv, calc, a label or a closing brace, not ;",
        ),
        ("num_ranks 1\nrank 0 {\n}\n}", "line 4: expected rank, not }"),
        ("num_ranks 1\nnum_ranks 1", "line 2: expected rank, not num_ranks"),
    ];
    for (text, message) in cases {
        assert_eq!(read(text).unwrap_err().to_string(), message, "{text:?}");
    }
    let long = format!("num_ranks 1\n//{}\n", "x".repeat(70_000));
    assert_eq!(read(&long).unwrap_err().to_string(), "line 2: the line has more than 65536 bytes");
}

#[test]
fn comments_blanks_and_labels_are_read_as_the_tools_of_goal_do() {
    let text = "// two\nnum_ranks 2 /* a\nb */\nrank 0 { // first\n\n  l1:send 10 b to 1 tag 3 cpu 2 nic 0\n} rank 1 {\nrecv 10b from 0 tag 3\n}\n";
    let job = read(text).unwrap();
    assert_eq!((job.messages.len(), job.messages[0].bytes, job.ranks[0].steps[0].cpu), (1, 10, 2));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(num_ranks [0-3]\n)?((rank [0-3] \\{|\\}|[ab]: |send 3b to [01]|recv 3b from [01]|calc 4|[ab] i?requires [ab])[\n ]{1,2}){0,12}") {
        if let Err(error) = read(&text) {
            proptest::prop_assert!(error.line as usize <= text.lines().count() + 1);
        }
    }
}
