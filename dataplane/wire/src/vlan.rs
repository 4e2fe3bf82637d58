//! VLAN tags: IEEE 802.1Q clause 9.6.

use serde::{Deserialize, Serialize};
use units::Priority;

use crate::bytes::{checked_head, head, put, room, u16_at};
use crate::ethernet::{self, EtherType};
use crate::{BufferTooSmall, ParseError, Protocol};

/// Bytes that a tag adds to a frame.
pub const TAG_LEN: usize = 4;

const DROP_ELIGIBLE: u16 = 1 << 12;

/// A VLAN identifier, 0 to 4095. 0 tags only a priority; 4095 is reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VlanId(u16);

impl VlanId {
    /// Identifier `number`; `None` for 4096 and above.
    pub const fn new(number: u16) -> Option<Self> {
        if number < 4096 { Some(Self(number)) } else { None }
    }

    /// Its number, 0 to 4095.
    #[inline]
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// The tag control information as a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Priority code point.
    pub priority: Priority,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// The VLAN.
    pub id: VlanId,
}

impl Tag {
    /// The tag whose control information is `tci`.
    #[inline]
    pub const fn from_tci(tci: u16) -> Self {
        Self {
            priority: Priority::from_low_bits((tci >> 13) as u8),
            drop_eligible: tci & DROP_ELIGIBLE != 0,
            id: VlanId(tci & 0x0fff),
        }
    }

    /// The tag control information: PCP, DEI, VID.
    #[inline]
    pub const fn tci(self) -> u16 {
        (self.priority.number() as u16) << 13 | (self.drop_eligible as u16) << 12 | self.id.0
    }
}

/// A checked view of the bytes after a VLAN EtherType: control information, next EtherType and payload.
#[derive(Clone, Copy, Debug)]
pub struct View<T>(T);

impl<T: AsRef<[u8]>> View<T> {
    /// Views `bytes`, which start right after the VLAN EtherType.
    ///
    /// # Errors
    /// Truncated below [`TAG_LEN`] bytes.
    #[inline]
    pub fn parse(bytes: T) -> Result<Self, ParseError> {
        checked_head::<TAG_LEN>(Protocol::Vlan, bytes.as_ref())?;
        Ok(Self(bytes))
    }

    #[inline(always)]
    fn raw(&self) -> &[u8; TAG_LEN] {
        head(self.0.as_ref())
    }

    /// Priority code point.
    #[inline]
    pub fn priority(&self) -> Priority {
        self.tag().priority
    }

    /// Priority, drop eligibility and VLAN.
    #[inline]
    pub fn tag(&self) -> Tag {
        Tag::from_tci(u16_at(self.raw(), 0))
    }

    /// The EtherType after the tag.
    #[inline]
    pub fn ether_type(&self) -> EtherType {
        EtherType(u16_at(self.raw(), 2))
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> View<T> {
    /// Sets priority, drop eligibility and VLAN.
    #[inline]
    pub fn set_tag(&mut self, tag: Tag) {
        put(self.0.as_mut(), 0, &tag.tci().to_be_bytes());
    }
}

/// A tag and the EtherType after it, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Priority, drop eligibility and VLAN.
    pub tag: Tag,
    /// The EtherType after the tag.
    pub ether_type: EtherType,
}

impl Header {
    /// Writes the bytes after the VLAN EtherType; returns [`TAG_LEN`].
    ///
    /// # Errors
    /// [`BufferTooSmall`] below that.
    #[inline]
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, BufferTooSmall> {
        let out = room::<TAG_LEN>(out)?;
        put(out, 0, &self.tag.tci().to_be_bytes());
        put(out, 2, &self.ether_type.0.to_be_bytes());
        Ok(TAG_LEN)
    }
}

/// The tags and EtherType between a frame's addresses and its network layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// The first tag.
    pub outer: Option<Tag>,
    /// The second tag.
    pub inner: Option<Tag>,
    /// The EtherType after the tags. After two tags it may announce another.
    pub ether_type: EtherType,
    /// The offset of the payload after the tags, in bytes from the start of the frame.
    pub payload_offset: usize,
}

impl Stack {
    /// Skips up to two tags of `frame`, which starts with the destination address.
    ///
    /// # Errors
    /// Truncated, where the frame ends within the Ethernet header or a tag.
    #[inline]
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        let ethernet = ethernet::View::parse(frame)?;
        let mut stack = Self {
            outer: None,
            inner: None,
            ether_type: ethernet.ether_type(),
            payload_offset: ethernet::HEADER_LEN,
        };
        if stack.ether_type.is_vlan() {
            stack.outer = Some(stack.step(frame)?);
            if stack.ether_type.is_vlan() {
                stack.inner = Some(stack.step(frame)?);
            }
        }
        Ok(stack)
    }

    #[inline]
    fn step(&mut self, frame: &[u8]) -> Result<Tag, ParseError> {
        let view = View::parse(frame.get(self.payload_offset..).unwrap_or_default())?;
        self.ether_type = view.ether_type();
        self.payload_offset += TAG_LEN;
        Ok(view.tag())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::*;

    #[test]
    fn the_tagged_vector_has_priority_3_and_vlan_100() {
        let stack = Stack::parse(&vector(VECTOR_TAGGED_WRITE)).unwrap();
        assert_eq!(stack.outer, Some(Tag::from_tci(0x6064)));
        assert_eq!(stack.outer.unwrap().priority.number(), 3);
        assert_eq!(stack.outer.unwrap().id, VlanId::new(100).unwrap());
        assert_eq!((stack.inner, stack.ether_type, stack.payload_offset), (None, EtherType::IPV4, 18));
    }

    #[test]
    fn two_tags_are_walked_and_a_third_is_left() {
        let mut frame = [0; 30];
        frame[12..28].copy_from_slice(&hex("88a8e064810010c8810000010800ffff"));
        let stack = Stack::parse(&frame).unwrap();
        assert_eq!(stack.outer, Some(Tag::from_tci(0xe064)));
        assert_eq!(stack.inner, Some(Tag::from_tci(0x10c8)));
        assert!(stack.inner.unwrap().drop_eligible);
        assert_eq!((stack.ether_type, stack.payload_offset), (EtherType::VLAN, 22));
    }

    #[test]
    fn a_tag_cut_off_at_the_end_of_the_frame_is_refused() {
        let mut frame = [0; 22];
        frame[12..22].copy_from_slice(&hex("88a80001810000020800"));
        assert_truncated_below(22, &frame, Stack::parse);
    }

    #[test]
    fn an_untagged_frame_has_an_empty_stack() {
        let stack = Stack::parse(&vector(VECTOR_CNP)).unwrap();
        assert_eq!((stack.outer, stack.inner, stack.payload_offset), (None, None, 14));
    }

    #[test]
    fn a_vlan_identifier_has_twelve_bits() {
        assert_eq!(VlanId::new(4096), None);
        assert_eq!(VlanId::new(4095).map(VlanId::number), Some(4095));
    }

    proptest! {
        #[test]
        fn the_tag_is_that_of_etherparse(tci: u16, ether_type: u16) {
            let header = Header { tag: Tag::from_tci(tci), ether_type: EtherType(ether_type) };
            prop_assert_eq!(header.tag.tci(), tci);
            let mut bytes = [0; TAG_LEN];
            prop_assert_eq!(header.emit(&mut bytes), Ok(TAG_LEN));
            let (theirs, _) = etherparse::SingleVlanHeader::from_slice(&bytes).unwrap();
            prop_assert_eq!(theirs.pcp.value(), header.tag.priority.number());
            prop_assert_eq!(theirs.drop_eligible_indicator, header.tag.drop_eligible);
            prop_assert_eq!(theirs.vlan_id.value(), header.tag.id.number());
            bytes[..2].fill(0);
            let mut view = View::parse(bytes).unwrap();
            view.set_tag(header.tag);
            prop_assert_eq!(Header { tag: view.tag(), ether_type: view.ether_type() }, header);
            prop_assert_eq!(view.priority(), header.tag.priority);
        }

        #[test]
        fn a_walk_ends_within_any_frame(frame in any_bytes(40)) {
            if let Ok(stack) = Stack::parse(&frame) {
                prop_assert!(stack.payload_offset <= frame.len());
            }
        }
    }
}
