//! The permanent load: lossless flows in both directions, and a flood of short best-effort frames.

use crate::configuration::LOSSLESS;
use crate::gateways::{Hosts, Pair};
use crate::lab::{Flow, Lab, Receiver, Sender, wait_until};

const HOST_LINK_BPS: u64 = 1_000_000_000;
/// From the shortest numbered frame to the longest of the MTU. The mean is 583 bytes.
const LENGTHS: [usize; 6] = [62, 1_514, 128, 512, 1_024, 256];
const FLOOD_LENGTH: usize = 64;

/// The DSCP of the flood, and the priority that the gateways map it to.
pub const FLOOD: (u8, u8) = (8, 1);

/// The lossless flows to the receiver. Together they offer more than the rate of its link.
const FORTH: [u16; 2] = [2, 3];
/// The lossless flow in the other direction.
const BACK: u16 = 4;
const FLOODING: u16 = 5;

const FORTH_BPS: u64 = 8_000_000;
/// No more than the link of its host carries, which has the rate of a flooded one.
const BACK_BPS: u64 = 800_000;
/// 4,000 frames per second, if the host keeps up. About 1,400 of them leave.
const FLOOD_BPS: u64 = 2_048_000;

fn lossless(port: u16, bps: u64) -> Flow {
    let (dscp, priority) = LOSSLESS;
    Flow { port, dscp, priority, bps, count: None }
}

/// The frames sent, and the outcome of the flood.
pub struct Carried {
    pub lossless: u64,
    pub flood_sent: u64,
    pub flood_received: u64,
}

/// The load of a round, until it is ended.
pub struct Load {
    senders: [Sender; 3],
    /// The interfaces of the sender, the receiver and the flooded host.
    receivers: [Receiver; 3],
}

impl Load {
    pub fn put_on(lab: &Lab, hosts: &Hosts) -> Self {
        let Hosts { sender, flooder, receiver, flooded, .. } = hosts;
        let receivers = [sender, receiver, flooded].map(|host| Receiver::start(lab, host));
        let (dscp, priority) = FLOOD;
        let flood = Flow { port: FLOODING, dscp, priority, bps: FLOOD_BPS, count: None };
        let start = |from, to, lengths: &[usize], flows: &[Flow]| {
            Sender::start_mixed(lab, from, to, lengths, HOST_LINK_BPS, flows)
        };
        let senders = [
            start(sender, receiver, &LENGTHS, &FORTH.map(|port| lossless(port, FORTH_BPS))),
            start(flooded, sender, &LENGTHS, &[lossless(BACK, BACK_BPS)]),
            start(flooder, flooded, &[FLOOD_LENGTH], &[flood]),
        ];
        let mut load = Self { senders, receivers };
        load.wait_for_more(1);
        load
    }

    /// Waits until this many more frames of each lossless flow have arrived.
    pub fn wait_for_more(&mut self, frames: u64) {
        for sender in &mut self.senders {
            sender.expect_running();
        }
        let [of_sender, of_receiver, _] = &mut self.receivers;
        let seen = [of_receiver.so_far(), of_sender.so_far()];
        for port in FORTH {
            of_receiver.wait_for_flow(port, seen[0].flow(port).next + frames);
        }
        of_sender.wait_for_flow(BACK, seen[1].flow(BACK).next + frames);
    }

    /// Stops the senders. Every lossless frame must have arrived in order once nothing is inside. `settle` waits for
    /// that, and checks the gateways first.
    pub fn take_off(self, settle: impl FnOnce()) -> Carried {
        let [forth, back, flood] = self.senders.map(Sender::end);
        let [mut of_sender, mut of_receiver, of_flooded] = self.receivers;
        settle();
        for port in FORTH {
            of_receiver.wait_for_flow(port, forth.sent[&port]);
        }
        of_sender.wait_for_flow(BACK, back.sent[&BACK]);
        let [to_sender, to_receiver, to_flooded] = [of_sender, of_receiver, of_flooded].map(Receiver::end);
        for port in FORTH {
            to_receiver.expect_complete(port, &forth);
        }
        to_sender.expect_complete(BACK, &back);
        assert_eq!(to_flooded.overflow, 0, "the receiver kept up");
        let flooded = to_flooded.flow(FLOODING);
        assert_eq!(flooded.late, 0, "the flood keeps its order: {flooded:?}");
        Carried {
            lossless: forth.sent.values().sum::<u64>() + back.sent[&BACK],
            flood_sent: flood.sent[&FLOODING],
            flood_received: flooded.received,
        }
    }
}

/// Lossless frames, sent while the far gateway is killed and started again.
pub struct Sacrifice {
    sender: Sender,
    receiver: Receiver,
}

impl Sacrifice {
    const PORT: u16 = 6;
    const BPS: u64 = 4_000_000;

    pub fn start(lab: &Lab, hosts: &Hosts) -> Self {
        let mut receiver = Receiver::start(lab, &hosts.receiver);
        let flow = [lossless(Self::PORT, Self::BPS)];
        let sender = Sender::start_mixed(lab, &hosts.sender, &hosts.receiver, &LENGTHS, HOST_LINK_BPS, &flow);
        receiver.wait_for_flow(Self::PORT, 200);
        Self { sender, receiver }
    }

    /// Stops the sender. Returns the number of frames sent, and of those lost with the killed gateway. The others must
    /// have arrived in order.
    pub fn end(mut self, pair: &Pair, settle: impl FnOnce(&Pair)) -> (u64, u64) {
        let sent = self.sender.end().sent[&Self::PORT];
        // The last frame was sent after the gateway returned, so it arrives.
        self.receiver.wait_for_flow(Self::PORT, sent);
        settle(pair);
        let received = self.receiver.end();
        assert_eq!(received.overflow, 0, "the receiver kept up");
        let seen = received.flow(Self::PORT);
        assert_eq!(
            (seen.next, seen.late, seen.received + seen.missing),
            (sent, 0, sent),
            "around a gateway that was killed: {seen:?}"
        );
        (sent, seen.missing)
    }

    /// Waits until frames that were sent after this call arrive.
    pub fn wait_for_more(&mut self) {
        let before = self.receiver.so_far().flow(Self::PORT).next;
        wait_until("frames to arrive again", || self.receiver.so_far().flow(Self::PORT).next > before + 200);
    }
}
