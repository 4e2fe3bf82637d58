//! The shim of a frame that two gateways repair: its number on the link, and how far behind the last frame is whose
//! order it must keep. `docs/repair.md` shows its bytes.
//!
//! It stands behind the addresses and VLAN tags of a frame, ahead of the EtherType that they had.

use crate::bytes::{checked_head, put, u16_at, u24_at, u32_at};
use crate::error::{invalid, truncated};
use crate::ethernet::{self, EtherType};
use crate::{ParseError, Protocol, vlan};

/// The EtherType of a frame with a shim.
pub const ETHER_TYPE: EtherType = EtherType::LOCAL_EXPERIMENTAL_2;
/// Bytes of the shim of a frame that is sent for the first time, its EtherType included.
pub const NEW_LEN: usize = 12;
/// Bytes of the shim of a frame that is sent again.
pub const AGAIN_LEN: usize = 16;
/// The number of buckets.
pub const BUCKETS: u16 = 1 << 12;
/// The longest distance of [`Shim::back`], and how far numbers go beyond what has arrived: half of that.
pub const FARTHEST: u32 = (1 << 24) - 1;

/// The tags that are read.
const MOST_TAGS: usize = 2;
const BUCKET_AT: usize = 2;
const NUMBER_AT: usize = 4;
const EPOCH_AT: usize = 8;
const BACK_AT: usize = 9;
const COPY_AT: usize = 12;
/// The flag of a frame that is sent again.
const AGAIN: u16 = 1;
const FLAGS_SHIFT: u32 = 12;

/// A shim as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shim {
    /// The bucket of its flow, below [`BUCKETS`].
    pub bucket: u16,
    /// One more for each new frame of the link.
    pub number: u32,
    /// The lowest byte of the session.
    pub epoch: u8,
    /// The distance to the last frame of the bucket, up to [`FARTHEST`]; 0 if none is within it.
    pub back: u32,
    /// One more for each frame of the link that is sent again; `None` for a new one.
    pub copy: Option<u32>,
}

impl Shim {
    /// Reads the shim of `frame`, if it has one. Returns it with its first byte in the frame and its length.
    ///
    /// # Errors
    /// Truncated if it is not all there; invalid if a flag is set that has no meaning.
    pub fn find(frame: &[u8]) -> Result<Option<(Self, core::ops::Range<usize>)>, ParseError> {
        // A frame that ends within its tags has none.
        let Ok(at) = end_of_tags(frame) else { return Ok(None) };
        match frame.get(at..) {
            Some([high, low, ..]) if u16::from_be_bytes([*high, *low]) == ETHER_TYPE.0 => {
                let shim = Self::parse(&frame[at..])?;
                Ok(Some((shim, at..at + shim.length())))
            }
            _ => Ok(None),
        }
    }

    /// Reads the shim with which `bytes` begin, its EtherType included.
    ///
    /// # Errors
    /// As [`Shim::find`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ParseError> {
        let raw = checked_head::<NEW_LEN>(Protocol::Repair, bytes)?;
        let word = u16_at(raw, BUCKET_AT);
        let flags = word >> FLAGS_SHIFT;
        if flags & !AGAIN != 0 {
            return Err(invalid(Protocol::Repair, "flags", flags.into()));
        }
        let copy = match flags {
            0 => None,
            _ => Some(u32_at(checked_head::<AGAIN_LEN>(Protocol::Repair, bytes)?, COPY_AT)),
        };
        Ok(Self {
            bucket: word & (BUCKETS - 1),
            number: u32_at(raw, NUMBER_AT),
            epoch: raw[EPOCH_AT],
            back: u24_at(raw, BACK_AT),
            copy,
        })
    }

    /// Its length, the EtherType included.
    pub const fn length(&self) -> usize {
        if self.copy.is_some() { AGAIN_LEN } else { NEW_LEN }
    }

    /// Its bytes, the first [`Shim::length`] of the array.
    pub fn bytes(&self) -> [u8; AGAIN_LEN] {
        let mut out = [0; AGAIN_LEN];
        let flags = if self.copy.is_some() { AGAIN } else { 0 };
        put(&mut out, 0, &ETHER_TYPE.0.to_be_bytes());
        put(&mut out, BUCKET_AT, &(flags << FLAGS_SHIFT | self.bucket & (BUCKETS - 1)).to_be_bytes());
        put(&mut out, NUMBER_AT, &self.number.to_be_bytes());
        put(&mut out, EPOCH_AT, &[self.epoch]);
        put(&mut out, BACK_AT, &self.back.min(FARTHEST).to_be_bytes()[1..]);
        put(&mut out, COPY_AT, &self.copy.unwrap_or_default().to_be_bytes());
        out
    }
}

/// The place of the EtherType behind the VLAN tags of `frame`, of which two are read, as in [`vlan::Stack`].
///
/// # Errors
/// Truncated, where a tag is not all there.
pub fn end_of_tags(frame: &[u8]) -> Result<usize, ParseError> {
    let mut at = ethernet::HEADER_LEN - 2;
    for _ in 0..=MOST_TAGS {
        let type_of = frame.get(at..).and_then(<[u8]>::first_chunk::<2>);
        let Some(ether_type) = type_of else {
            return Err(truncated(Protocol::Ethernet, at + 2, frame.len()));
        };
        if !EtherType(u16::from_be_bytes(*ether_type)).is_vlan() {
            return Ok(at);
        }
        at += vlan::TAG_LEN;
    }
    Ok(at - vlan::TAG_LEN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    const SHIM: Shim = Shim { bucket: 0xabc, number: 0x0102_0304, epoch: 0x5a, back: 0x11_2233, copy: None };
    const AGAIN_SHIM: Shim = Shim { copy: Some(0x4455_6677), ..SHIM };
    const ADDRESSES: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

    #[test]
    fn a_shim_has_these_bytes_and_the_one_of_a_frame_that_is_sent_again_four_more() {
        assert_eq!(SHIM.bytes()[..SHIM.length()], hex("88b60abc010203045a112233"));
        assert_eq!(AGAIN_SHIM.bytes()[..AGAIN_SHIM.length()], hex("88b61abc010203045a11223344556677"));
    }

    #[test]
    fn a_shim_stands_behind_all_tags_and_a_frame_may_have_none() {
        for tags in [vec![], hex("81000003"), hex("88a8000a81000003")] {
            let at = 12 + tags.len();
            let frame = [&ADDRESSES[..], &tags, &SHIM.bytes()[..NEW_LEN], &[8, 0]].concat();
            assert_eq!(Shim::find(&frame), Ok(Some((SHIM, at..at + NEW_LEN))));
            let plain = [&ADDRESSES[..], &tags, &[8, 0, 0x45]].concat();
            assert_eq!(Shim::find(&plain), Ok(None));
        }
    }

    #[test]
    fn a_part_of_a_shim_and_unknown_flags_are_refused() {
        for (shim, length) in [(SHIM, NEW_LEN), (AGAIN_SHIM, AGAIN_LEN)] {
            assert_truncated_below(length, &shim.bytes()[..length], |bytes| Shim::parse(bytes).map(|_| ()));
        }
        for flags in [2, 3, 4, 8] {
            let mut raw = AGAIN_SHIM.bytes();
            raw[2] = flags << 4 | raw[2] & 0xf;
            let refused =
                ParseError::Invalid { protocol: Protocol::Repair, field: "flags", value: flags.into() };
            assert_eq!(Shim::parse(&raw), Err(refused));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            (number, epoch, copy) in any::<(u32, u8, Option<u32>)>(),
            (bucket, back) in (0..BUCKETS, 0..=FARTHEST),
        ) {
            let shim = Shim { bucket, number, epoch, back, copy };
            prop_assert_eq!(Shim::parse(&shim.bytes()), Ok(shim));
        }

        #[test]
        fn any_bytes_are_read_or_refused(raw in any_bytes(40)) {
            if let Ok(Some((shim, place))) = Shim::find(&raw) {
                prop_assert_eq!(&shim.bytes()[..shim.length()], &raw[place]);
            }
        }
    }
}
