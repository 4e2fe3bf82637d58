use super::*;

fn names() -> Vec<String> {
    vec!["dc0".into(), "lh0".into()]
}

fn journal(kept: usize) -> Journal {
    Journal::new(names(), Vec::new(), kept)
}

fn request(last: usize, follow: bool) -> EventsRequest {
    EventsRequest { last, follow, ..EventsRequest::default() }
}

/// Notes that the link of a port goes up or down.
fn link(journal: &mut Journal, port: u16, up: bool) {
    journal.note(Nanos(1), Some(PortId(port)), None, What::Link { up });
}

fn pause(journal: &mut Journal, priority: u8) {
    let what = What::Pause { direction: "sent", cause: None, until_ns: 2 };
    journal.note(Nanos(1), Some(PortId(1)), Some(Priority::from_low_bits(priority)), what);
}

/// The numbers of the events that wait. Batches may be empty.
fn numbers(subscription: &Subscription) -> Vec<u64> {
    subscription.batches.try_iter().flatten().map(|event| event.number).collect()
}

#[test]
fn each_kind_has_a_history_of_its_own_which_a_flood_of_another_leaves_alone() {
    let mut journal = journal(3);
    link(&mut journal, 0, false);
    (0..100).for_each(|_| pause(&mut journal, 3));
    let all = journal.subscribe(&request(usize::MAX, false)).unwrap();
    assert_eq!(numbers(&all), [0, 98, 99, 100]);
    let last = journal.subscribe(&request(2, false)).unwrap();
    assert_eq!(numbers(&last), [99, 100]);
    assert!(last.batches.recv().is_err(), "nothing follows");
}

#[test]
fn a_follower_gets_what_it_asked_for_and_a_name_that_is_not_known_is_refused() {
    let mut journal = journal(10);
    let priorities = vec![3];
    let wanted = EventsRequest { ports: vec!["lh0".into()], priorities, ..request(0, true) };
    let follower = journal.subscribe(&wanted).unwrap();
    let links = EventsRequest { kinds: vec!["link".into()], ..request(0, true) };
    let other = journal.subscribe(&links).unwrap();
    assert_eq!((numbers(&follower), numbers(&other)), (vec![], vec![]), "no past events");
    pause(&mut journal, 3);
    pause(&mut journal, 4);
    link(&mut journal, 0, true);
    journal.collect();
    assert_eq!((numbers(&follower), numbers(&other)), (vec![0], vec![2]));
    for wrong in [
        EventsRequest { ports: vec!["lh7".into()], ..request(0, true) },
        EventsRequest { priorities: vec![8], ..request(0, true) },
        EventsRequest { kinds: vec!["weather".into()], ..request(0, true) },
    ] {
        assert!(matches!(journal.subscribe(&wrong), Err(Response::InvalidRequest(_))), "{wrong:?}");
    }
}

#[test]
fn a_follower_that_reads_nothing_blocks_nobody_and_learns_how_much_it_missed() {
    let mut journal = journal(10);
    let follower = journal.subscribe(&request(0, true)).unwrap();
    for _ in 0..100 {
        link(&mut journal, 0, true);
        journal.collect();
    }
    // The first batch was that of the past, which is empty.
    let mut read = 0;
    while let Ok(batch) = follower.batches.try_recv() {
        read += batch.len() as u64;
    }
    assert_eq!(read, BATCHES as u64 - 1);
    link(&mut journal, 1, false);
    journal.collect();
    let batch = follower.batches.try_recv().unwrap();
    let whats: Vec<_> = batch.iter().map(|event| event.what.clone()).collect();
    assert_eq!(whats, [What::Lost { events: 100 - read }, What::Link { up: false }]);
    assert_eq!((batch[0].number, batch[0].at_ns), (99, 1), "those of the last one that is missing");
}

#[test]
fn a_loss_that_finds_no_room_counts_by_its_number_in_the_next_and_has_a_time() {
    let mut journal = journal(10);
    let follower = journal.subscribe(&request(0, true)).unwrap();
    for _ in 0..BATCHES {
        link(&mut journal, 0, true);
        journal.collect();
    }
    journal.note(Nanos(7), None, None, What::Lost { events: 500 });
    journal.collect();
    follower.batches.try_iter().count();
    journal.collect();
    let batch = follower.batches.try_recv().unwrap();
    assert_eq!((batch.len(), batch[0].at_ns), (1, 7));
    // The batch of past events, which is empty, took the place of a link.
    assert_eq!(batch[0].what, What::Lost { events: 501 });
}

#[test]
fn a_flood_between_two_looks_fills_a_batch_and_no_more_memory() {
    let mut journal = journal(10);
    let follower = journal.subscribe(&request(0, true)).unwrap();
    (0..5_000).for_each(|_| pause(&mut journal, 3));
    journal.collect();
    let read: Vec<_> = follower.batches.try_iter().flatten().collect();
    assert_eq!(read.len(), BATCH_EVENTS + 1);
    assert_eq!(read[BATCH_EVENTS].what, What::Lost { events: 5_000 - BATCH_EVENTS as u64 });
    assert_eq!(read[BATCH_EVENTS].number, 4_999);
}

#[test]
fn followers_are_few_and_one_that_has_left_makes_room() {
    let mut journal = journal(10);
    let mut followers: Vec<_> =
        (0..FOLLOWERS).map(|_| journal.subscribe(&request(0, true)).unwrap()).collect();
    assert!(matches!(journal.subscribe(&request(0, true)), Err(Response::Busy(_))));
    assert!(journal.subscribe(&request(5, false)).is_ok(), "a look at the past needs no place");
    followers.pop();
    assert!(journal.subscribe(&request(0, true)).is_ok());
}

#[test]
fn a_gateway_that_records_no_events_says_so() {
    let mut journal = journal(0);
    link(&mut journal, 0, true);
    assert!(matches!(journal.subscribe(&request(1, false)), Err(Response::InvalidRequest(_))));
}
