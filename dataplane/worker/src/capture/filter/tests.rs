use super::*;
use units::Priority;

/// The frames of a capture of nine: five RoCEv2 packets of two hosts, the fourth with a VLAN tag, and PFC and PAUSE frames
/// at 5 to 8.
fn frames() -> Vec<&'static [u8]> {
    let mut rest: &[u8] = &include_bytes!("../../../../../tests/data/captures/wire-vectors.pcap")[24..];
    let mut frames = Vec::new();
    while let Some((head, data)) = rest.split_first_chunk::<16>() {
        let (frame, next) =
            data.split_at(u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize);
        frames.push(frame);
        rest = next;
    }
    frames
}

/// The numbers, from 1 on, of the frames that match.
fn matching(filter: &CaptureFilter) -> Vec<usize> {
    let matches = |(_, frame): &(usize, &[u8])| {
        let matches = filter.matches(frame, Bytes(frame.len() as u64));
        assert!(
            !matches || filter.class != FrameClass::Control || !is_ip(frame),
            "a frame that is wanted is not passed over"
        );
        matches
    };
    (1..).zip(frames()).filter(matches).map(|(number, _)| number).collect()
}

fn all() -> CaptureFilter {
    CaptureFilter { class: FrameClass::All, ..CaptureFilter::default() }
}

#[test]
fn a_filter_finds_frames_by_class_priority_address_and_queue_pair() {
    assert_eq!(matching(&all()), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(matching(&CaptureFilter::default()), [5, 6, 7, 8], "control frames");
    let three = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
    assert_eq!(matching(&CaptureFilter { priorities: three, ..all() }), [2, 3, 4], "by DSCP 26");
    let queue_pair = Some(QueuePair::from_low_bits(0x118));
    assert_eq!(matching(&CaptureFilter { queue_pair, ..all() }), [1, 3, 9]);
    let addresses = [Some([10, 0, 17, 1].into()), Some([10, 0, 18, 1].into())];
    assert_eq!(matching(&CaptureFilter { addresses, ..all() }), [1, 2, 3, 4, 9], "in both directions");
    let addresses = [Some([10, 0, 17, 2].into()), None];
    assert_eq!(matching(&CaptureFilter { addresses, ..all() }), []);
}

#[test]
fn untagged_ip_packets_are_known_at_one_look() {
    assert_eq!(frames().into_iter().filter(|frame| is_ip(frame)).count(), 4, "the fifth has a VLAN tag");
}

#[test]
fn marked_packets_are_those_that_carry_congestion_experienced() {
    let marked = CaptureFilter { class: FrameClass::Marked, ..CaptureFilter::default() };
    assert_eq!(matching(&marked), []);
    let mut frame = frames()[1].to_vec();
    frame[15] |= 3;
    assert!(marked.matches(&frame, Bytes(frame.len() as u64)));
}

#[test]
fn a_frame_whose_tags_break_off_is_no_control_frame() {
    let mut frame = frames()[3].to_vec();
    assert_eq!(frame[12..14], [0x81, 0], "a VLAN tag");
    frame.truncate(15);
    assert!(!CaptureFilter::default().matches(&frame, Bytes(15)));
    assert!(all().matches(&frame, Bytes(15)));
}

#[test]
fn no_frame_is_too_short_or_too_broken_for_a_filter() {
    let three = PrioritySet::EMPTY.with(Priority::from_low_bits(3));
    let queue_pair = Some(QueuePair::from_low_bits(0x118));
    let picky = CaptureFilter { priorities: three, queue_pair, ..all() };
    for frame in frames() {
        for end in 0..frame.len() {
            for length in [0, end, frame.len()] {
                assert!(all().matches(&frame[..end], Bytes(length as u64)));
                picky.matches(&frame[..end], Bytes(length as u64));
            }
        }
    }
}
