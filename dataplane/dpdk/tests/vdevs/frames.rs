//! Mbufs as frames.

use dpdk::Opened;
use switch::Frame;
use units::Bytes;

use crate::support::{content, open, pattern, pool, receive_all};

#[test]
fn a_frame_shows_its_first_mbuf_and_its_whole_length() {
    let pool = pool("frames_first", 63, 256);
    let mut frame = pool.frame(&pattern(600)).unwrap();
    assert_eq!(frame.headers(), &pattern(600)[..256]);
    assert_eq!((frame.length(), frame.segment_count()), (Bytes(600), 3));
    frame.headers_mut()[..2].copy_from_slice(&[0xee, 0xff]);
    assert_eq!(content(&frame)[..3], [0xee, 0xff, 2]);
}

#[test]
fn a_frame_that_just_fits_takes_one_mbuf() {
    let pool = pool("frames_fits", 63, 256);
    for (length, segments) in [(0, 1), (1, 1), (256, 1), (257, 2), (512, 2), (513, 3)] {
        let frame = pool.frame(&pattern(length)).unwrap();
        assert_eq!((frame.length().0, frame.segment_count()), (length as u64, segments));
        assert_eq!(content(&frame), pattern(length));
        assert_eq!(pool.in_use(), u32::from(segments));
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_duplicate_is_a_frame_of_its_own_in_the_same_pool() {
    let pool = pool("frames_duplicate", 63, 256);
    for length in [60, 256, 1_000] {
        let mut original = pool.frame(&pattern(length)).unwrap();
        let copy = original.duplicate().unwrap();
        assert_eq!(pool.in_use(), 2 * u32::from(original.segment_count()));
        original.headers_mut().fill(0xff);
        drop(original);
        assert_eq!((content(&copy), copy.length()), (pattern(length), Bytes(length as u64)));
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_shared_frame_takes_no_second_mbuf_and_is_changed_by_nobody() {
    let pool = pool("frames_share", 63, 256);
    for length in [60, 256, 1_000] {
        let mut sent = pool.frame(&pattern(length)).unwrap();
        let segments = u32::from(sent.segment_count());
        let mut kept = sent.share().unwrap();
        assert_eq!(pool.in_use(), segments);
        assert!(sent.headers_mut().is_empty() && kept.headers_mut().is_empty());
        assert!(sent.memory_mut().is_none() && kept.memory_mut().is_none());
        let third = kept.share().unwrap();
        drop(sent);
        assert!(kept.headers_mut().is_empty(), "there is a third");
        drop(third);
        assert_eq!((kept.headers_mut().len(), pool.in_use()), (length.min(256), segments));
        assert_eq!(content(&kept), pattern(length));
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn room_in_a_shared_frame_is_room_in_a_copy_of_it() {
    let pool = pool("frames_share_room", 3, 256);
    let mut sent = pool.frame(&pattern(100)).unwrap();
    let mut kept = sent.share().unwrap();
    let other = kept.share().unwrap();
    assert!(kept.make_room(12, 0) && pool.in_use() == 2, "a copy even for no bytes");
    kept.headers_mut().fill(0xff);
    assert_eq!((content(&sent), content(&other)), (pattern(100), pattern(100)));
    assert!(sent.take_out(12, 16) && pool.in_use() == 3, "and for fewer of them");
    assert_eq!((content(&sent).len(), content(&other)), (84, pattern(100)));
    let mut shared = sent.share().unwrap();
    assert!(!shared.make_room(12, 0) && !sent.take_out(12, 16), "no memory is left for a copy");
    assert_eq!((content(&shared), pool.in_use()), (content(&sent), 3));
    drop(sent);
    assert!(shared.make_room(12, 4) && pool.in_use() == 3, "none is needed for the last one");
}

#[test]
fn what_a_ring_hands_on_is_the_receivers_alone() {
    let pool = pool("frames_ring_share", 7, 256);
    let Opened { mut rx, mut tx, .. } = open("net_ring_share", &pool);
    let mut frames = vec![pool.frame(&pattern(60)).unwrap(), pool.frame(&pattern(100)).unwrap()];
    let kept = frames[1].share().unwrap();
    assert_eq!(tx.send(&mut frames), 2);
    let mut received = receive_all(&mut rx);
    received.iter_mut().for_each(|frame| frame.headers_mut().fill(0xff));
    assert_eq!(content(&received[1]), [0xff; 100]);
    assert_eq!((content(&kept), pool.in_use()), (pattern(100), 3));
    // No mbuf is left for a copy: the frame waits in its place.
    let mut frames = vec![pool.frame(&pattern(60)).unwrap(), pool.frame(&pattern(100)).unwrap()];
    let waiting = frames[1].share().unwrap();
    let others: Vec<_> = core::iter::from_fn(|| pool.frame(&pattern(60))).collect();
    assert_eq!((tx.send(&mut frames), frames.len()), (1, 1));
    drop(others);
    assert_eq!((tx.send(&mut frames), frames.len()), (1, 0));
    drop((kept, waiting, received, receive_all(&mut rx)));
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn the_memory_of_a_frame_is_all_of_its_mbuf_and_of_several_mbufs_none() {
    let pool = pool("frames_memory", 63, 256);
    let mut frame = pool.frame(&pattern(60)).unwrap();
    let memory = frame.memory().unwrap();
    assert_eq!((memory.len(), &memory[..60]), (256, &pattern(60)[..]));
    frame.memory_mut().unwrap().copy_from_slice(&pattern(256));
    assert_eq!(frame.memory().unwrap(), pattern(256));
    assert_eq!((frame.length(), content(&frame)), (Bytes(60), pattern(60)), "the frame is as long as it was");
    let mut long = pool.frame(&pattern(257)).unwrap();
    assert!(long.memory().is_none() && long.memory_mut().is_none());
}

#[test]
fn room_in_the_headers_is_taken_from_the_front_of_the_mbuf_and_given_back() {
    let pool = pool("frames_room", 63, 2_048);
    for length in [60, 2_048, 5_000] {
        let mut frame = pool.frame(&pattern(length)).unwrap();
        assert!(frame.make_room(12, 16) && !frame.make_room(3_000, 16));
        let wider = content(&frame);
        assert_eq!((frame.length(), wider.len()), (Bytes(length as u64 + 16), length + 16));
        assert_eq!((&wider[..12], &wider[28..]), (&pattern(length)[..12], &pattern(length)[12..]));
        assert!(frame.take_out(12, 16) && !frame.take_out(5_000, 16));
        assert_eq!(content(&frame), pattern(length));
        assert!(!frame.make_room(12, 200), "no more than what is left free in front of a frame");
    }
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn a_frame_is_gathered_from_two_parts_in_an_mbuf_of_its_own() {
    let pool = pool("frames_gather", 63, 256);
    let chunk = pool.frame(&pattern(256)).unwrap();
    for (first, second) in [(256, 0), (0, 256), (1, 255), (60, 60), (100, 9), (0, 0)] {
        let whole = pattern(first + second);
        let (one, other) = whole.split_at(first);
        let mut frame = chunk.gather([one, other]).unwrap();
        assert_eq!((frame.length().0, frame.segment_count()), ((first + second) as u64, 1));
        assert_eq!(content(&frame), whole);
        assert_eq!(frame.headers(), whole, "all of it lies in one piece");
        frame.memory_mut().unwrap().fill(0xff);
        assert_eq!(content(&chunk), pattern(256), "the memory is its own");
    }
    assert_eq!(pool.in_use(), 1);
    assert!(chunk.gather([&pattern(256), &[0]]).is_none(), "no mbuf holds it");
    assert_eq!(pool.in_use(), 1, "and none is kept");
}

#[test]
fn a_frame_can_be_dropped_by_another_thread() {
    let pool = pool("frames_thread", 63, 256);
    let frame = pool.frame(&pattern(600)).unwrap();
    std::thread::spawn(move || drop(frame)).join().unwrap();
    assert_eq!(pool.in_use(), 0);
}

#[test]
fn an_mbuf_is_a_pointer_also_where_there_may_be_none() {
    assert_eq!(size_of::<Option<dpdk::Mbuf>>(), size_of::<*const u8>());
}
