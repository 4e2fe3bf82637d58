//! The destinations that the other end of a long link has announced behind its ports: a table of fixed size, and the
//! change from one edition to the next.
//!
//! A frame must not overtake another one of its flow, which waits in the queue of the old edition.
//!
//! - A destination that had no far port leaves the first queue of its priority at once. The queues of far ports are held
//!   until that queue has sent what waited in it then.
//! - A destination that had a far port changes its queue only after that was empty, and never goes back: while an edition
//!   is replaced, `Directory` has both, and notes for each queue whether it has been empty since. A queue that is never
//!   empty keeps its destinations, and the next edition waits. Holding others for it would let a far port that has stopped
//!   stop them, too.

use super::settings::Layout;
use crate::hash::{HashKey, KeyedHash};
use core::hash::Hasher;
use core::net::IpAddr;
use serde::{Deserialize, Serialize};
use units::{Priority, QueueId, QueueSet};
use wire::grants::behind::{Destination, Message, PAGES, PER_PAGE};

/// Places of an edition: twice as many as destinations, so that few are crowded.
const PLACES: usize = (PAGES as usize * PER_PAGE * 2).next_power_of_two();
/// The most places that a look-up visits.
const PROBES: usize = 16;
/// The most lengths of prefixes, of IPv4 and IPv6 alike, since each costs a look-up.
const LENGTHS: usize = 8;

/// Counters of the pages taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectoryCounters {
    /// Pages that came in.
    pub pages: u64,
    /// Editions that were taken.
    pub editions: u64,
    /// Destinations of these editions for which there was no place.
    pub refused: u64,
    /// Destinations in the edition in force.
    pub destinations: u64,
}

/// One destination in its place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    bits: u128,
    family: u8,
    length: u8,
    port: u8,
    /// The filling of the edition to which it belongs.
    filling: u32,
}

/// The destinations of one edition.
#[derive(Debug, Serialize, Deserialize)]
struct Edition {
    number: u32,
    /// The pages as they were told, where `seen` has them.
    told: Box<[Message]>,
    /// Fillings of this table so far: places of earlier ones are free.
    filling: u32,
    /// The pages that are there.
    seen: u128,
    entries: u64,
    refused: u64,
    /// The lengths of prefixes, longest first, of IPv4 and of IPv6.
    lengths: [([u8; LENGTHS], usize); 2],
    places: Box<[Entry]>,
}

impl Edition {
    fn new() -> Self {
        let none = Entry { bits: 0, family: 0, length: 0, port: 0, filling: 0 };
        Self {
            number: 0,
            told: vec![Message::new(0, 0, 1, &[]); PAGES.into()].into(),
            filling: 1,
            seen: 0,
            entries: 0,
            refused: 0,
            lengths: [([0; LENGTHS], 0); 2],
            places: vec![none; PLACES].into(),
        }
    }

    /// Empties it for edition `number`.
    fn restart(&mut self, number: u32) {
        (self.number, self.seen, self.entries, self.refused) = (number, 0, 0, 0);
        self.lengths = [([0; LENGTHS], 0); 2];
        self.filling = self.filling.wrapping_add(1);
        if self.filling == 0 {
            self.filling = 1;
            self.places.iter_mut().for_each(|it| it.filling = 0);
        }
    }

    /// What it was told in the place of `page`, if anything.
    fn told(&self, page: &Message) -> Option<&Message> {
        let bit = 1_u128.checked_shl(page.page.into()).unwrap_or(0);
        self.told.get(usize::from(page.page)).filter(|_| self.seen & bit != 0)
    }

    /// Adds a page. Returns whether it was the last one that was missing. One that contradicts what is there begins anew.
    fn add(&mut self, hash: &KeyedHash, page: &Message) -> bool {
        let told = self.told(page);
        if self.number != page.edition || self.seen == 0 || told.is_some_and(|told| told != page) {
            self.restart(page.edition);
        }
        let all = u128::MAX >> (128 - u32::from(page.pages).clamp(1, 128));
        if self.told(page).is_none()
            && let Some(place) = self.told.get_mut(usize::from(page.page))
        {
            *place = *page;
            self.seen |= 1 << page.page;
            page.destinations().iter().for_each(|it| self.insert(hash, it));
        }
        self.seen & all == all
    }

    fn insert(&mut self, hash: &KeyedHash, destination: &Destination) {
        let (bits, family) = Destination::key(destination.address);
        let (port, length, filling) = (destination.port, destination.length, self.filling);
        let known = self.knows_length(family, length);
        let place = self.probe(hash, bits, family, length).find(|place| {
            let it = &self.places[*place];
            it.filling != filling || (it.bits, it.family, it.length) == (bits, family, length)
        });
        match place {
            Some(place) if known => {
                self.entries += u64::from(self.places[place].filling != filling);
                self.places[place] = Entry { bits, family, length, port, filling };
            }
            _ => self.refused += 1,
        }
    }

    /// Notes a length, if there is room for one more.
    fn knows_length(&mut self, family: u8, length: u8) -> bool {
        let (lengths, count) = &mut self.lengths[usize::from(family == 6)];
        if lengths[..*count].contains(&length) {
            return true;
        }
        if *count == LENGTHS {
            return false;
        }
        lengths[*count] = length;
        *count += 1;
        lengths[..*count].sort_unstable_by(|one, other| other.cmp(one));
        true
    }

    fn probe(
        &self,
        hash: &KeyedHash,
        bits: u128,
        family: u8,
        length: u8,
    ) -> impl Iterator<Item = usize> + use<> {
        let mut hasher = hash.hasher();
        hasher.write_u128(bits);
        hasher.write_u16(u16::from_be_bytes([family, length]));
        let first = hasher.finish() as usize;
        (0..PROBES).map(move |step| first.wrapping_add(step) % PLACES)
    }

    /// The far port of `address`, by the longest prefix that has it; zero if none has.
    #[inline]
    fn port(&self, hash: &KeyedHash, address: IpAddr) -> u8 {
        let (bits, family) = Destination::key(address);
        let (lengths, count) = &self.lengths[usize::from(family == 6)];
        for &length in &lengths[..*count] {
            let prefix = bits & !u128::MAX.checked_shr(length.into()).unwrap_or(0);
            for place in self.probe(hash, prefix, family, length) {
                let it = &self.places[place];
                if it.filling != self.filling {
                    break;
                }
                if (it.bits, it.family, it.length) == (prefix, family, length) {
                    return it.port;
                }
            }
        }
        0
    }
}

/// The far port of each destination.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Directory {
    hash: KeyedHash,
    layout: Layout,
    current: Edition,
    /// The next edition: it fills up, or replaces the current one.
    next: Edition,
    /// While the next edition is to replace the current one: the queues that were empty since.
    emptied: Option<QueueSet>,
    /// Frames that the first queue of each priority is to send before the queues of far ports may.
    behind: [u64; Priority::COUNT],
    /// The queues that wait for these frames.
    held: QueueSet,
    pages: u64,
    editions: u64,
    refused: u64,
}

impl Directory {
    /// Knows nothing. `key` is that of the switch.
    pub fn new(layout: Layout, key: HashKey) -> Self {
        Self {
            hash: KeyedHash::new(key),
            layout,
            current: Edition::new(),
            next: Edition::new(),
            emptied: None,
            behind: [0; Priority::COUNT],
            held: QueueSet::EMPTY,
            pages: 0,
            editions: 0,
            refused: 0,
        }
    }

    /// The queue for frames of `priority` to `address`.
    #[inline]
    pub fn queue(&self, address: IpAddr, priority: Priority) -> QueueId {
        let queue = |edition: &Edition| self.layout.queue(edition.port(&self.hash, address), priority);
        let old = queue(&self.current);
        match self.emptied {
            Some(emptied) if emptied.contains(old) => queue(&self.next),
            _ => old,
        }
    }

    /// Takes a page, while so many frames wait in the `first` queue of each priority. Pages of another edition are ignored
    /// until the last one is in force. So is a page of the edition in force, unless it contradicts that: one of both is
    /// forged, and the list that goes on being told replaces it.
    pub fn take(&mut self, page: &Message, first: &[u64; Priority::COUNT]) {
        self.pages += 1;
        let is_contradicted = self.next.seen != 0 && self.next.number == page.edition;
        if self.emptied.is_some() || (self.current.told(page) == Some(page) && !is_contradicted) {
            return;
        }
        if self.next.add(&self.hash, page) {
            self.emptied = Some(QueueSet::first(Priority::COUNT));
            self.behind = *first;
            self.hold();
        }
    }

    /// Holds the queues of far ports at priorities of which frames are to be sent first.
    fn hold(&mut self) {
        let waits = |queue: &QueueId| {
            Priority::all().any(|it| {
                self.behind[it.index()] > 0
                    && (1..=self.layout.far_ports()).any(|port| self.layout.queue(port, it) == *queue)
            })
        };
        let far = QueueSet::first(QueueSet::CAPACITY).difference(QueueSet::first(Priority::COUNT));
        self.held = far.iter().filter(waits).collect();
    }

    /// The queues that may not send yet.
    #[inline]
    pub fn held(&self) -> QueueSet {
        self.held
    }

    /// Notes that a frame of `queue` has left.
    #[inline]
    pub fn note_sent(&mut self, queue: QueueId) {
        if !self.held.is_empty()
            && let Some(behind) = self.behind.get_mut(queue.index())
        {
            *behind = behind.saturating_sub(1);
            if *behind == 0 {
                self.hold();
            }
        }
    }

    /// Notes the queues that hold frames now, at a time when none is on its way to a queue.
    #[inline]
    pub fn note_waiting(&mut self, waiting: QueueSet) {
        if !self.held.is_empty() {
            self.release(waiting);
        }
        if let Some(emptied) = self.emptied {
            self.note_emptied(emptied.union(QueueSet::first(QueueSet::CAPACITY).difference(waiting)));
        }
    }

    /// Holds nothing for a queue that is empty: its frames may have been dropped.
    #[cold]
    fn release(&mut self, waiting: QueueSet) {
        for priority in Priority::all().filter(|it| !waiting.contains((*it).into())) {
            self.behind[priority.index()] = 0;
        }
        self.hold();
    }

    #[cold]
    fn note_emptied(&mut self, emptied: QueueSet) {
        self.emptied = Some(emptied);
        if emptied == QueueSet::first(QueueSet::CAPACITY) {
            core::mem::swap(&mut self.current, &mut self.next);
            self.next.restart(0);
            self.emptied = None;
            self.editions += 1;
            self.refused += self.current.refused;
        }
    }

    pub fn counters(&self) -> DirectoryCounters {
        let Self { pages, editions, refused, .. } = *self;
        DirectoryCounters { pages, editions, refused, destinations: self.current.entries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow_control::port_grants::settings::PortGrants;
    use core::net::Ipv4Addr;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use units::PrioritySet;

    const P3: Priority = Priority::from_low_bits(3);
    const NONE: QueueSet = QueueSet::EMPTY;

    fn directory() -> Directory {
        let settings = PortGrants::without_slots(14);
        let lossless = PrioritySet::EMPTY.with(P3);
        let queues = Priority::all().chain(settings.queues(lossless));
        Directory::new(Layout::new(&settings, lossless, queues), HashKey::from(7))
    }

    fn destination(prefix: &str, port: u8) -> Destination {
        let (address, length) = prefix.split_once('/').unwrap();
        Destination { address: address.parse().unwrap(), length: length.parse().unwrap(), port }
    }

    /// Tells it one edition of a single page, with empty queues.
    fn tell(directory: &mut Directory, edition: u32, destinations: &[(&str, u8)]) {
        let entries: Vec<_> = destinations.iter().map(|(prefix, port)| destination(prefix, *port)).collect();
        directory.take(&Message::new(edition, 0, 1, &entries), &[0; 8]);
        directory.note_waiting(NONE);
    }

    /// The far port whose queue frames for `address` take.
    fn port(directory: &Directory, address: &str) -> u8 {
        let queue = directory.queue(address.parse().unwrap(), P3);
        (0..=14).find(|port| directory.layout.queue(*port, P3) == queue).unwrap()
    }

    #[test]
    fn the_longest_prefix_decides_in_both_families_and_what_is_not_told_has_no_port() {
        let mut directory = directory();
        let list = [("10.0.0.0/8", 1), ("10.1.0.0/16", 2), ("10.1.2.3/32", 0), ("fd00::/8", 3), ("::/0", 4)];
        tell(&mut directory, 5, &list);
        let ports = ["10.9.9.9", "10.1.9.9", "10.1.2.3", "11.0.0.1", "fd01::1", "fe80::1"];
        assert_eq!(ports.map(|address| port(&directory, address)), [1, 2, 0, 0, 3, 4]);
        let expected = DirectoryCounters { pages: 1, editions: 1, refused: 0, destinations: 5 };
        assert_eq!(directory.counters(), expected);
    }

    #[test]
    fn an_edition_counts_once_all_its_pages_are_there_in_any_order() {
        let mut directory = directory();
        let page = |edition, number, prefix| Message::new(edition, number, 3, &[destination(prefix, 1)]);
        for (page, known) in [
            (page(1, 2, "10.2.0.0/16"), 0),
            (page(1, 0, "10.0.0.0/16"), 0),
            (page(1, 0, "10.0.0.0/16"), 0),
            (page(2, 1, "10.9.0.0/16"), 0),
            (page(1, 1, "10.1.0.0/16"), 0),
            (page(1, 2, "10.2.0.0/16"), 0),
            (page(1, 0, "10.0.0.0/16"), 3),
        ] {
            directory.take(&page, &[0; 8]);
            directory.note_waiting(NONE);
            assert_eq!(directory.counters().destinations, known);
        }
        assert_eq!(port(&directory, "10.9.0.1"), 0, "a page of another edition");
    }

    #[test]
    fn a_forged_page_of_an_edition_is_replaced_by_the_next_round_of_true_ones() {
        let pages = ["10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16"];
        let page =
            |number: u8, port| Message::new(1, number, 3, &[destination(pages[usize::from(number)], port)]);
        // Before its edition is complete, and with the edition in force; with fewer pages, so that it is one by itself.
        for before in 0..=6 {
            for forged in [page(1, 9), page(2, 9), Message::new(1, 0, 1, &[destination("0.0.0.0/0", 9)])] {
                let mut directory = directory();
                let mut take = |page: &Message| {
                    directory.take(page, &[0; 8]);
                    directory.note_waiting(NONE);
                };
                (0..before).for_each(|number| take(&page(number % 3, 1)));
                take(&forged);
                (0..6).for_each(|number| take(&page(number % 3, 1)));
                let ports = ["10.0.0.1", "10.1.0.1", "10.2.0.1", "11.0.0.1"].map(|it| port(&directory, it));
                assert_eq!(ports, [1, 1, 1, 0], "{before} true pages before {forged:?}");
            }
        }
    }

    #[test]
    fn a_destination_changes_its_queue_once_the_old_one_was_empty_and_never_goes_back() {
        let mut directory = directory();
        tell(&mut directory, 1, &[("10.1.0.0/16", 1), ("10.2.0.0/16", 2)]);
        let waiting = |ports: &[u8]| ports.iter().map(|it| directory.layout.queue(*it, P3)).collect();
        let [first, second, none] = [waiting(&[1]), waiting(&[2]), waiting(&[])];
        let page = Message::new(2, 0, 1, &[destination("10.1.0.0/16", 2), destination("10.2.0.0/16", 1)]);
        directory.take(&page, &[0; 8]);
        let ports = |directory: &Directory| ["10.1.0.1", "10.2.0.1"].map(|it| port(directory, it));
        assert_eq!(ports(&directory), [1, 2]);
        directory.note_waiting(first);
        assert_eq!(ports(&directory), [1, 1], "the second was empty");
        directory.note_waiting(first.union(second));
        assert_eq!(ports(&directory), [1, 1]);
        directory.take(&Message::new(3, 0, 1, &[]), &[0; 8]);
        directory.note_waiting(second);
        assert_eq!(ports(&directory), [2, 1]);
        directory.note_waiting(none);
        assert_eq!((ports(&directory), directory.counters().editions), ([2, 1], 2));
    }

    #[test]
    fn what_waits_when_a_list_comes_leaves_before_the_frames_of_far_ports_at_its_priority() {
        let mut directory = directory();
        let mut first = [0; Priority::COUNT];
        (first[P3.index()], first[5]) = (2, 9);
        let page = Message::new(1, 0, 1, &[destination("10.1.0.0/16", 1)]);
        directory.take(&page, &first);
        assert_eq!(port(&directory, "10.1.0.1"), 1, "though its old queue is not empty");
        let queue = directory.layout.queue(1, P3);
        for held in [true, true, false] {
            assert_eq!(directory.held().contains(queue), held);
            directory.note_sent(P3.into());
        }
        assert_eq!(directory.held(), NONE, "nothing is held for a lossy priority");
        let mut other = first;
        other[P3.index()] = 7;
        directory.note_waiting(NONE);
        directory.take(&Message::new(2, 0, 1, &[]), &other);
        assert!(directory.held().contains(queue));
        directory.note_waiting(NONE);
        assert_eq!(directory.held(), NONE, "what has been dropped holds nothing");
    }

    #[test]
    fn more_lengths_of_prefixes_than_a_look_up_may_try_are_refused() {
        let mut directory = directory();
        let entries: Vec<_> = (20..=32)
            .map(|length| {
                let address = IpAddr::V4(Ipv4Addr::from_bits(u32::MAX << (32 - length)));
                Destination { address, length, port: 1 }
            })
            .collect();
        for (chunk, page) in entries.chunks(PER_PAGE).zip(0..) {
            directory.take(&Message::new(1, page, 3, chunk), &[0; 8]);
        }
        directory.note_waiting(NONE);
        let counters = directory.counters();
        assert_eq!((counters.destinations, counters.refused), (LENGTHS as u64, 13 - LENGTHS as u64));
    }

    #[test]
    fn the_longest_list_finds_its_places() {
        let mut directory = directory();
        for page in 0..PAGES {
            let address = |index| IpAddr::V4(Ipv4Addr::new(10, 0, page, index));
            let entries: Vec<_> =
                (0..5).map(|index| Destination { address: address(index), length: 32, port: 1 }).collect();
            directory.take(&Message::new(1, page, PAGES, &entries), &[0; 8]);
        }
        directory.note_waiting(NONE);
        let counters = directory.counters();
        assert!(counters.destinations >= 495, "{counters:?}");
        assert_eq!(counters.destinations + counters.refused, 500);
    }

    proptest! {
        /// Any pages in any order, frames of four destinations, and queues that send in any order: no frame overtakes
        /// another one of its destination.
        #[test]
        fn no_frame_overtakes_another_one_to_its_destination(
            steps in prop::collection::vec((0_u8..4, 0_u32..4, 0_u8..2, [0_u8..=14, 0_u8..=14, 0_u8..=14]), 1..200),
        ) {
            let mut directory = directory();
            let mut queues: Vec<VecDeque<(u8, u64)>> = vec![VecDeque::new(); 64];
            let (mut sent, mut left) = ([0_u64; 4], [0_u64; 4]);
            let prefixes = ["10.0.0.0/16", "10.0.1.0/24", "0.0.0.0/0"];
            for (what, edition, page, ports) in steps {
                match what {
                    0 => {
                        let list: Vec<_> =
                            prefixes.iter().zip(ports).map(|(prefix, port)| destination(prefix, port)).collect();
                        let first = core::array::from_fn(|index| queues[index].len() as u64);
                        directory.take(&Message::new(edition, page, 2, &list), &first);
                    }
                    1 | 2 => {
                        for to in 0..4 {
                            let address = IpAddr::V4(Ipv4Addr::new(10, to / 2, to % 2, 1));
                            let queue = directory.queue(address, P3);
                            sent[usize::from(to)] += 1;
                            queues[queue.index()].push_back((to, sent[usize::from(to)]));
                        }
                    }
                    _ => for port in ports {
                        let queue = directory.layout.queue(port, P3);
                        if directory.held().contains(queue) {
                            continue;
                        }
                        if let Some((to, number)) = queues[queue.index()].pop_front() {
                            directory.note_sent(queue);
                            prop_assert_eq!(number, left[usize::from(to)] + 1);
                            left[usize::from(to)] = number;
                        }
                    },
                }
                let waiting = queues.iter().enumerate().filter(|(_, queue)| !queue.is_empty());
                directory.note_waiting(waiting.filter_map(|(index, _)| QueueId::new(index)).collect());
            }
        }
    }
}
