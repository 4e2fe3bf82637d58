//! The exchange between parts: frames on the links that join them, and news of the flows between them.

use super::Engine;
use super::part::Part;
use super::turn::Turn;
use crate::flows::Flow;
use core::mem;

impl Engine {
    /// Hands over what parts have for each other. The arrivals at a part, and their times, do not depend on how far the
    /// parts have run since the last exchange.
    pub(super) fn exchange(&mut self) {
        if self.parts.len() == 1 {
            return;
        }
        (0..self.parts.len()).for_each(|part| self.hand_frames_over(part));
        for part in 0..self.parts.len() {
            self.again.append(&mut self.parts[part].again);
            for arrived in mem::take(&mut self.parts[part].arrived) {
                let there = &mut self.parts[self.homes[arrived.source.0 as usize]];
                there.flows.note_received(arrived.flow, arrived.at, arrived.message);
            }
            for news in mem::take(&mut self.parts[part].news) {
                let there = &mut self.parts[self.homes[news.destination.0 as usize]];
                // Mostly it is the last one. That of one turn stays in order.
                let place = there.heard.partition_point(|other| other.turn <= news.turn);
                there.heard.insert(place, news);
            }
        }
        // A start that a part did not come to may be earlier than its next turn, and takes a queue pair before those that
        // are released later.
        let next = self.next_turn();
        for part in &mut self.parts {
            hear(part, next, &mut self.again);
        }
    }

    /// Moves the frames that a part has sent to other parts.
    fn hand_frames_over(&mut self, from: usize) {
        let mut leaving = mem::take(&mut self.parts[from].calendar.leaving);
        for number in leaving.drain(..) {
            let to = self.homes[self.parts[from].directions[number].to.node.0 as usize];
            let both = self.parts.get_disjoint_mut([from, to]);
            let [here, there] = both.expect("a direction that leaves leads to another part");
            let direction = &mut there.directions[number];
            let volume = here.directions[number].hand_over(direction, &there.pool);
            if volume.frames > 0 {
                there.calendar.note_arrival(direction);
                let [before, after] = [here, there].map(|part| &mut part.checker.balance.inside);
                (*before, *after) = (*before - volume, *after + volume);
            }
        }
        self.parts[from].calendar.leaving = leaving;
    }

    /// The first turn of all parts.
    pub(super) fn next_of_parts(&self) -> Turn {
        let turns = self.parts.iter().map(Part::next);
        turns.min().expect("a network has a part")
    }
}

/// Tells a part which flows started and ended before `next`, the first turn that is yet to be taken. Flows of closed loops
/// that start `again` keep the serial number of the frame that was delivered last.
fn hear(part: &mut Part, next: Turn, again: &mut [Flow]) {
    while let Some(news) = part.heard.pop_front_if(|news| news.turn < next) {
        let flow = part.hear(&news);
        let same = again.iter_mut().find(|other| other.spec.id == news.flow);
        if let Some((flow, same)) = flow.zip(same) {
            same.delivered = flow.delivered;
        }
    }
    // Flows that end from now on do so later than these.
    part.releases.retain(|(_, turn)| *turn >= next);
}
