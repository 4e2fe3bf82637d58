//! The flows of a long link: their number changes nothing for any of them.

use conformance::long_haul::{feedback, gateway, introduce, lscc_of};
use conformance::{A, B, Connection, Flow, P3, TestFrame, Testbench};
use switch::{FlowCounters, LimiterCounters};
use units::{BitRate, Interval, Nanos};
use wire::ip::Ecn;

const SLOW: BitRate = BitRate::gigabits(1);
/// With so many, the flows of a burst are looked up ahead.
const MANY: u32 = 10_000;

/// Bursts both ways where so many other connections are known: the frames that leave, and what the rate limiting module
/// and the flow table did.
fn bursts_beside(others: u32) -> (Vec<Vec<u8>>, LimiterCounters, FlowCounters) {
    let flow = Flow::new(A, B).at(P3).ecn(Ecn::Ect0);
    let mut settings = gateway();
    lscc_of(&mut settings).limiting.flows = 1 << 16;
    let mut bench = Testbench::new(settings);
    introduce(&mut bench, 1, SLOW);
    let connections: Vec<_> = (0..40).map(|number| Connection::new(flow, number)).collect();
    let known = (1_000..1_000 + others).map(|number| Connection::new(flow, number));
    for connection in known.chain(connections.iter().copied()) {
        bench.inject_singly(A, [connection.request()]);
        bench.inject_singly(B, [connection.reply()]);
        bench.run_for(Interval::from_micros(1));
    }
    bench.run_until(Nanos(100_000_000));
    [A, B].into_iter().for_each(|port| drop(bench.newly_sent(port)));
    for psn in 0..20 {
        bench.inject_singly(B, [feedback(2 + bench.now().0, SLOW)]);
        let mut burst: Vec<_> = connections.iter().map(|it| it.data(psn, 1_000)).collect();
        // Neither of these is a packet of a flow.
        burst.insert(7, TestFrame::new(vec![0; 9]));
        burst.insert(20, flow.udp(500));
        bench.inject(A, burst);
        bench.inject(B, connections.iter().flat_map(|it| [it.acknowledge(psn), it.cnp()]));
        bench.run_for(Interval::from_micros(60));
    }
    let (near, mut far) = (bench.newly_sent(A), bench.newly_sent(B));
    // The gateway's own messages are numbered by what came before.
    far.retain(|sent| !sent.control);
    let (report, flows) =
        (bench.shard.notifiers(B).lscc.expect("it runs"), bench.shard.flows(B).expect("it runs"));
    (near.into_iter().chain(far).map(|sent| sent.frame.bytes).collect(), report.limiter, flows.table)
}

#[test]
fn a_burst_that_is_looked_up_ahead_comes_to_the_same_as_one_that_is_not() {
    let (few, many) = (bursts_beside(0), bursts_beside(MANY));
    // Of each of 40 flows 20 packets, further from each other than the interval of CNPs, and 20 CNPs.
    assert_eq!((few.1.direct_cnps, few.1.far_cnps), (800, 800));
    assert_eq!((few.0, few.1), (many.0, many.1));
    assert_eq!(many.2.entered - few.2.entered, 2 * u64::from(MANY), "and none of these was forgotten");
}
