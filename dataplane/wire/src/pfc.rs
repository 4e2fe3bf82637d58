//! Priority-based flow control: IEEE 802.1Q clause 36, frame format in IEEE 802.3 annex 31D.

use units::{PauseQuanta, Priority, PrioritySet};

use crate::bytes::{checked_head, head, put, room, u16_at};
use crate::error::invalid;
use crate::ethernet::{self, EtherType, MIN_FRAME_LEN, MacAddress};
use crate::mac_control::Opcode;
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes of opcode, class-enable vector and eight times, after the Ethernet header.
pub const MESSAGE_LEN: usize = 20;

const CLASS_ENABLE: usize = 2;
const TIMES: usize = 4;

/// A checked view of opcode and parameters.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, the payload of EtherType 0x8808. Padding may follow.
    ///
    /// # Errors
    /// Truncated below [`MESSAGE_LEN`] bytes: all eight times have to be there, whichever are
    /// enabled. Invalid, where the opcode is another.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        let opcode = u16_at(checked_head::<MESSAGE_LEN>(Protocol::Pfc, bytes.as_ref())?, 0);
        if opcode != Opcode::PFC.0 {
            return Err(invalid(Protocol::Pfc, "opcode", u32::from(opcode)));
        }
        Ok(Self(bytes))
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; MESSAGE_LEN] {
        head(self.0.as_ref())
    }

    /// The enabled priorities. The vector's high byte is reserved and ignored.
    #[inline]
    pub fn enabled(&self) -> PrioritySet {
        PrioritySet::from_bits(self.raw()[CLASS_ENABLE + 1])
    }

    /// The pause time of `priority`, zero to resume; `None` if `priority` is not enabled, which leaves its
    /// pause unchanged.
    #[inline]
    pub fn time(&self, priority: Priority) -> Option<PauseQuanta> {
        self.enabled()
            .contains(priority)
            .then(|| PauseQuanta(u16_at(self.raw(), TIMES + 2 * priority.index())))
    }

    /// The times of all priorities, as in [`Frame::times`].
    #[inline]
    pub fn times(&self) -> [Option<PauseQuanta>; Priority::COUNT] {
        core::array::from_fn(|number| self.time(Priority::from_low_bits(number as u8)))
    }
}

/// A whole frame as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The port that sends it.
    pub source: MacAddress,
    /// The pause time of each priority, zero to resume; `None` leaves its pause unchanged.
    pub times: [Option<PauseQuanta>; Priority::COUNT],
}

impl Frame {
    /// A frame with the same `time` for each priority in `enabled`.
    #[inline]
    pub fn uniform(source: MacAddress, enabled: PrioritySet, time: PauseQuanta) -> Self {
        let times = core::array::from_fn(|number| {
            enabled.contains(Priority::from_low_bits(number as u8)).then_some(time)
        });
        Self { source, times }
    }

    /// The enabled priorities.
    #[inline]
    pub fn enabled(&self) -> PrioritySet {
        Priority::all().filter(|priority| self.times[priority.index()].is_some()).collect()
    }

    /// Writes the frame with its Ethernet header, padded to the minimum length; returns [`MIN_FRAME_LEN`],
    /// 60. The time of a priority that is not enabled is zero.
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<MIN_FRAME_LEN>(out)?;
        *out = [0; MIN_FRAME_LEN];
        let header = ethernet::Header {
            destination: MacAddress::MAC_CONTROL,
            source: self.source,
            ether_type: EtherType::MAC_CONTROL,
        };
        let at = header.emit(out)?;
        put(out, at, &Opcode::PFC.0.to_be_bytes());
        put(out, at + CLASS_ENABLE, &[0, self.enabled().bits()]);
        for (number, time) in self.times.iter().enumerate() {
            let quanta = time.unwrap_or(PauseQuanta::ZERO).0;
            put(out, at + TIMES + 2 * number, &quanta.to_be_bytes());
        }
        Ok(MIN_FRAME_LEN)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    fn frame(enabled: u8, time: u16) -> Frame {
        Frame::uniform(SOURCE, PrioritySet::from_bits(enabled), PauseQuanta(time))
    }

    fn bytes(frame: Frame) -> [u8; MIN_FRAME_LEN] {
        let mut out = [0xa5; MIN_FRAME_LEN];
        assert_eq!(frame.emit(&mut out), Ok(MIN_FRAME_LEN));
        out
    }

    #[test]
    fn xoff_and_xon_of_priority_3_have_the_bytes_of_the_vectors() {
        let xoff = bytes(frame(8, 0xffff));
        assert_eq!(xoff[..26], hex("0180c2000001020000000001880801010008000000000000ffff"));
        assert!(xoff[26..].iter().all(|byte| *byte == 0));
        assert_eq!(xoff[..], vector(VECTOR_XOFF));
        assert_eq!(bytes(frame(8, 0))[..], vector(VECTOR_XON));
    }

    #[test]
    fn two_priorities_carry_times_of_their_own() {
        let vector = vector(VECTOR_TWO_PRIORITIES);
        let view = View::parse(&vector[14..]).unwrap();
        let times: Vec<_> = Priority::all().map(|priority| view.time(priority).map(|time| time.0)).collect();
        let expected = [None, None, None, Some(0x1234), Some(0x5678), None, None, None];
        assert_eq!(times, expected);
        let frame = Frame { source: SOURCE, times: view.times() };
        assert_eq!(bytes(frame)[..], vector);
    }

    #[test]
    fn the_high_byte_of_the_vector_is_ignored() {
        let mut message = bytes(frame(0x81, 7))[14..].to_vec();
        message[CLASS_ENABLE] = 0xff;
        assert_eq!(View::parse(message).unwrap().enabled(), PrioritySet::from_bits(0x81));
    }

    #[test]
    fn a_time_whose_bit_is_clear_is_none() {
        let mut message = bytes(frame(1, 7))[14..].to_vec();
        message[TIMES + 2..TIMES + 16].fill(0xff);
        let view = View::parse(message).unwrap();
        assert_eq!(view.times(), frame(1, 7).times);
    }

    #[test]
    fn all_eight_times_have_to_be_there() {
        assert_truncated_below(MESSAGE_LEN, &bytes(frame(1, 7))[14..], |bytes| {
            View::parse(bytes).map(|_| ())
        });
    }

    #[test]
    fn another_opcode_is_refused() {
        let error = ParseError::Invalid { protocol: Protocol::Pfc, field: "opcode", value: 1 };
        assert_eq!(View::parse(&vector(VECTOR_PAUSE)[14..]).map(|_| ()), Err(error));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(times: [Option<u16>; 8]) {
            let frame = Frame { source: SOURCE, times: times.map(|time| time.map(PauseQuanta)) };
            let out = bytes(frame);
            let view = View::parse(&out[14..]).unwrap();
            prop_assert_eq!(view.times(), frame.times);
            prop_assert_eq!(view.enabled(), frame.enabled());
        }
    }
}
