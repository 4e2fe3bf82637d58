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

    /// The priorities that the frame speaks of. The vector's high byte is reserved and ignored.
    #[inline]
    pub fn enabled(&self) -> PrioritySet {
        PrioritySet::from_bits(self.raw()[CLASS_ENABLE + 1])
    }

    /// For how long to send nothing of `priority`, zero to resume; `None`, where the frame does
    /// not speak of it and its pause goes on as it was.
    #[inline]
    pub fn time(&self, priority: Priority) -> Option<PauseQuanta> {
        self.enabled()
            .contains(priority)
            .then(|| PauseQuanta(u16_at(self.raw(), TIMES + 2 * priority.index())))
    }

    /// The times of all priorities, as a value holds them.
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
    /// For each priority how long to send nothing of it, zero to resume; `None` to leave its
    /// pause as it was.
    pub times: [Option<PauseQuanta>; Priority::COUNT],
}

impl Frame {
    /// A frame that tells each priority in `enabled` the same `time`.
    #[inline]
    pub fn uniform(source: MacAddress, enabled: PrioritySet, time: PauseQuanta) -> Self {
        let times = core::array::from_fn(|number| {
            enabled.contains(Priority::from_low_bits(number as u8)).then_some(time)
        });
        Self { source, times }
    }

    /// The priorities that the frame speaks of.
    #[inline]
    pub fn enabled(&self) -> PrioritySet {
        Priority::all().filter(|priority| self.times[priority.index()].is_some()).collect()
    }

    /// Writes the frame with its Ethernet header, padded with zeroes to the shortest frame;
    /// returns [`MIN_FRAME_LEN`], 60. The time of a priority that is not enabled is zero.
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
