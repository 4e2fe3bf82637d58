//! The schemes that see the frames which follow in a run: those of a port where they come in, of one where they go out,
//! or none.

use crate::congestion::senders::{Refusal, Senders};
use crate::descriptor::Descriptor;
use crate::flows::{Crossing, Sample};
use crate::frame::Frame;
use crate::queue::{Added, Store};
use units::{Bytes, Nanos, PortId, WireBytes};
use wire::ip::Ecn;

/// The schemes of a port, or none.
pub(super) trait Viewer<F> {
    /// Whether any scheme of the switch keeps flows.
    const KEEPS_FLOWS: bool;

    /// Takes a frame, which may end here.
    #[inline(always)]
    fn receive(&mut self, _: &Descriptor, _headers: &[u8], _: Bytes) -> Result<(), Refusal> {
        Ok(())
    }

    /// Takes a frame that is queued next.
    #[inline(always)]
    fn queue(&mut self, _: &Descriptor, _headers: &[u8], _: Bytes) {}

    /// Takes the frames that were queued.
    #[inline(always)]
    fn sent(self, _: &mut Store<F>, _: Added)
    where
        Self: Sized,
    {
    }
}

/// No scheme.
pub(super) struct Nobody;

impl<F> Viewer<F> for Nobody {
    const KEEPS_FLOWS: bool = false;
}

/// The schemes of the port at which the frames come in.
pub(super) struct Inward<'a> {
    pub now: Nanos,
    pub port: PortId,
    pub senders: &'a mut Senders,
}

impl<F> Viewer<F> for Inward<'_> {
    const KEEPS_FLOWS: bool = true;

    #[inline(always)]
    fn receive(&mut self, descriptor: &Descriptor, headers: &[u8], length: Bytes) -> Result<(), Refusal> {
        let crossing = Crossing::new(self.now, self.port, length, false, descriptor);
        self.senders.receive(crossing, headers).map(|_| ())
    }
}

/// As [`Inward`], of a quiet port, which looks at few of them.
pub(super) struct QuietInward<'a> {
    pub inward: Inward<'a>,
    pub sample: Sample,
}

impl<F> Viewer<F> for QuietInward<'_> {
    const KEEPS_FLOWS: bool = true;

    #[inline(always)]
    fn receive(&mut self, descriptor: &Descriptor, headers: &[u8], length: Bytes) -> Result<(), Refusal> {
        match self.sample.leaves_out(descriptor, headers) {
            true => Ok(()),
            false => self.inward.look_at(descriptor, headers, length),
        }
    }
}

impl Inward<'_> {
    /// Apart from the loop over the frames, so that it keeps its registers.
    #[inline(never)]
    fn look_at(&mut self, descriptor: &Descriptor, headers: &[u8], length: Bytes) -> Result<(), Refusal> {
        let crossing = Crossing::new(self.now, self.port, length, false, descriptor);
        self.senders.receive(crossing, headers).map(|_| ())
    }
}

/// The schemes of the port from which the frames leave. They look at them in a loop of its own, which keeps in
/// registers what they need.
pub(super) struct Outward<'a> {
    pub now: Nanos,
    /// The port at which the frames came in, and whether a rate may apply to them.
    pub from: (PortId, bool),
    pub senders: &'a mut Senders,
}

impl Outward<'_> {
    /// Shows the schemes those of the frames for which `looks` holds, by their numbers.
    #[inline(always)]
    fn show<F: Frame>(self, store: &mut Store<F>, added: Added, looks: impl Fn(usize) -> bool) {
        let Self { now, from, senders } = self;
        let mut number = 0;
        store.for_each_added(added, |queued| {
            if looks(number) {
                let length = queued.length();
                senders.send_unparsed(now, from, queued.frame.headers_mut(), length);
            }
            number += 1;
        });
    }
}

impl<F: Frame> Viewer<F> for Outward<'_> {
    const KEEPS_FLOWS: bool = true;

    #[inline(never)]
    fn sent(self, store: &mut Store<F>, added: Added) {
        self.show(store, added, |_| true);
    }
}

/// As [`Outward`], of a quiet port, which looks only at those that are noted as they are queued.
pub(super) struct QuietOutward<'a> {
    outward: Outward<'a>,
    sample: Sample,
    /// A bit for each of the last [`QuietOutward::MOST`] frames, the last one lowest: whether it is looked at.
    noted: u64,
    /// The bytes of the others.
    passed: WireBytes,
}

impl<'a> QuietOutward<'a> {
    const MOST: usize = u64::BITS as usize;

    pub fn new(outward: Outward<'a>, sample: Sample) -> Self {
        Self { outward, sample, noted: 0, passed: WireBytes(0) }
    }

    #[inline(never)]
    fn show_noted<F: Frame>(self, store: &mut Store<F>, added: Added) {
        let (noted, last) = (self.noted, added.items() - 1);
        self.outward.show(store, added, |number| noted >> (last - number) & 1 == 1);
    }
}

impl<F: Frame> Viewer<F> for QuietOutward<'_> {
    const KEEPS_FLOWS: bool = true;

    #[inline(always)]
    fn queue(&mut self, descriptor: &Descriptor, headers: &[u8], length: Bytes) {
        let passes = descriptor.ecn() != Ecn::Ce && self.sample.leaves_out(descriptor, headers);
        self.noted = self.noted << 1 | u64::from(!passes);
        self.passed += if passes { WireBytes::of_frame(length) } else { WireBytes(0) };
    }

    #[inline(always)]
    fn sent(self, store: &mut Store<F>, added: Added) {
        // Longer bursts are rare.
        if added.items() > Self::MOST {
            return self.outward.sent(store, added);
        }
        if self.outward.from.1 {
            self.outward.senders.pass(self.passed);
        }
        if self.noted != 0 {
            self.show_noted(store, added);
        }
    }
}
