//! A part of the network: its nodes, and the events among them.

use super::calendar::Calendar;
use super::log::Log;
use super::odd::Odd;
use super::part_jobs::PartJobs;
use super::start::Start;
use super::turn::{Actors, Turn};
use crate::check::Checker;
use crate::flows::{Flow, Flows};
use crate::frame::{FramePool, SimFrame};
use crate::link::Direction;
use crate::network::NodeId;
use crate::nodes::{Place, Station, Switch};
use crate::observer::{Observer, PartView};
use crate::options::Options;
use crate::stall::Motion;
use crate::tournament::Actor;
use crate::violation::Broken;
use endpoint::FlowId;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Interval, Nanos};

/// The most frames that a switch receives in one burst, all of one port and instant.
pub(super) const BURST: usize = 32;

/// How far a part may run before the others are asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The turn before which it stops.
    pub end: Turn,
    /// The instant before which a switch may act ahead of the other nodes.
    pub reach: Nanos,
    /// The other parts have done all turns before this one, and it is known here which flows they have ended.
    pub heard: Turn,
    /// Whether the run goes on, whatever the flows of this part do.
    pub goes_on: bool,
    /// The count of events at which it stops.
    pub events: u64,
}

/// A flow that has arrived completely, for the part of its sender.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Arrived {
    pub flow: FlowId,
    pub source: NodeId,
    pub at: Nanos,
    /// The length of its message in bytes.
    pub message: u64,
}

/// A flow that its sender has ended, or a flow of a job that it has started, for the part of its receiver.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct News {
    pub turn: Turn,
    pub flow: FlowId,
    pub destination: NodeId,
    pub is_start: bool,
}

/// A part of the network, or all of it.
pub(super) struct Part {
    pub now: Nanos,
    /// The actor whose turn it is.
    pub actor: Actor,
    pub window: Window,
    pub options: Options,
    pub calendar: Calendar,
    /// The delay of the shortest link: no frame reaches another node sooner.
    pub lookahead: Interval,
    /// The delay of the shortest link between parts.
    pub crossing: Interval,
    pub actors: Actors,
    /// The place of each node of the network.
    pub places: Vec<Place>,
    /// All directions of the network. Of one that leads to another part, the sender's end is here, and of one that comes
    /// from there, the receiver's.
    pub directions: Vec<Direction>,
    /// Whether directions lead to other parts.
    pub is_joined: bool,
    pub switches: Vec<Switch>,
    pub stations: Vec<Station>,
    /// The station of each actor from [`Actors::stations`] on.
    pub timers: Vec<usize>,
    pub pool: FramePool,
    pub flows: Flows,
    pub checker: Checker,
    pub motion: Motion,
    /// Flows that start here in this round, in their order. Both their ends are here.
    pub starts: VecDeque<Start>,
    /// Flows of closed loops, with the instants at which they ended and start again.
    pub again: Vec<Flow>,
    /// For the parts of their senders.
    pub arrived: Vec<Arrived>,
    /// For the parts of their receivers.
    pub news: Vec<News>,
    /// From the parts of their senders, in the order of turns.
    pub heard: VecDeque<News>,
    pub jobs: PartJobs,
    /// The stations that have released a queue pair, and the turns in which they did. A part that is the whole network
    /// needs no such list.
    pub releases: Vec<(usize, Turn)>,
    pub burst: Vec<SimFrame>,
    pub odd: Odd,
    /// Whether frames of a queue pair never overtake each other in this network.
    pub keeps_order: bool,
    pub transmissions: u64,
    pub events: u64,
    /// How often it has ended a round early, because its next turn depended on another part.
    pub waits: u64,
    /// Events that the observer of the run has yet to be told.
    pub log: Log,
}

impl Part {
    /// The turn that comes next.
    #[inline]
    pub fn next(&self) -> Turn {
        self.calendar.actors.next()
    }

    /// Takes all turns up to the end of `window`. Returns earlier after its count of events, when the run may be over,
    /// and before a turn that depends on what other parts do at that time.
    pub fn run(&mut self, window: &Window, observer: &mut impl Observer) -> Result<(), Broken> {
        self.window = *window;
        // Events of switches rely on it.
        self.check_existence()?;
        loop {
            let (at, actor) = self.calendar.actors.next();
            if (at, actor) >= self.window.end || self.events >= self.window.events {
                return Ok(());
            }
            if self.flows.has_arrived() && self.is_to_wait((at, actor)) {
                self.waits += 1;
                return Ok(());
            }
            self.now = at;
            match self.places.get(actor) {
                Some(Place::Switch(switch)) => self.visit(*switch, actor, self.horizon(), observer)?,
                Some(place) => {
                    let Place::Station(station) = *place else { continue };
                    self.begin((at, actor));
                    self.arrive_at_station(station, observer)?;
                    self.check_event()?;
                }
                None if actor == self.actors.schedule => {
                    self.begin((at, actor));
                    self.start_next(observer)?;
                    self.check_event()?;
                }
                None => {
                    self.begin((at, actor));
                    self.attend(self.timers[actor - self.actors.stations], observer)?;
                    self.check_event()?;
                }
            }
            if !self.window.goes_on && self.is_idle() {
                return Ok(());
            }
        }
    }

    /// Whether its hosts have done everything, as far as is known here.
    pub fn is_idle(&self) -> bool {
        self.flows.active() == 0 && self.jobs.left.ranks == 0
    }

    /// Whether its hosts have yet to send something.
    #[inline]
    pub fn has_to_send(&self) -> bool {
        self.flows.has_unsent() || self.jobs.left.flows > 0
    }

    /// Begins the turn of a station, or that in which a flow starts.
    #[inline]
    fn begin(&mut self, turn: Turn) {
        self.actor = turn.1;
        if !self.heard.is_empty() {
            self.hear_until(turn);
        }
    }

    /// The instant before which a switch may act without the others; always later than now. All frames that
    /// arrive before it are under way already, nothing inspects the switch, and the run does not end.
    #[inline]
    pub fn horizon(&self) -> Nanos {
        // The run cannot end within the lookahead: a packet that is not sent yet has to cross a link first.
        let goes_on = self.window.goes_on || self.has_to_send();
        let ahead = if goes_on { self.now + self.lookahead } else { self.now };
        ahead.min(self.window.reach).max(Nanos(self.now.0 + 1))
    }

    /// Whether `turn` has to wait for another part, because a sender in that part may or may not have ended a flow
    /// before: a frame of that flow arrives, or a flow starts at its receiver, where it takes the first free queue pair.
    #[cold]
    fn is_to_wait(&self, turn: Turn) -> bool {
        let (now, actor) = turn;
        if turn < self.window.heard {
            return false;
        }
        if let Some(start) = self.starts.front()
            && actor == self.actors.schedule
        {
            // Its sender has the acknowledgement later than the flow arrived here by the delay of the link.
            let by = now.0.checked_sub(self.crossing.0).map(Nanos);
            return by.is_some_and(|by| self.flows.may_have_ended(start.flow.ends, by));
        }
        let Some(Place::Station(station)) = self.places.get(actor) else { return false };
        let Some(number) = self.stations[*station].input else { return false };
        let mut labels = self.directions[number].arrived(now).filter_map(SimFrame::label);
        labels.any(|label| self.flows.may_be_over(label))
    }

    /// Takes note of the flows that other parts have started and ended before `turn`.
    #[cold]
    pub fn hear_until(&mut self, turn: Turn) {
        while let Some(news) = self.heard.pop_front_if(|news| news.turn < turn) {
            self.hear(&news);
        }
    }

    /// Opens or closes a flow at its receiver. The turn in which its sender started or ended it may be over already. Returns
    /// a flow that is closed.
    pub fn hear(&mut self, ended: &News) -> Option<Flow> {
        if ended.is_start {
            self.hear_start(ended);
            return None;
        }
        let flow = self.flows.forget(ended.flow)?;
        let number = flow.ends[1]? as usize;
        let is_later = |(station, turn): &&(usize, Turn)| *station == number && *turn > ended.turn;
        let later = self.releases.iter().filter(is_later).count();
        let it = &mut self.stations[number];
        it.host.close_before(ended.flow, later);
        it.released = it.host.released();
        self.releases.push((number, ended.turn));
        Some(flow)
    }

    /// Takes note of the queue pairs that a station has released in this turn.
    #[cold]
    pub fn note_releases(&mut self, station: usize) {
        let it = &mut self.stations[station];
        let released = it.host.released();
        if self.is_joined {
            let turn = (self.now, self.actor);
            self.releases.extend((it.released..released).map(|_| (station, turn)));
        }
        it.released = released;
    }

    /// A view of its state.
    pub fn view(&self) -> PartView<'_> {
        let Self { places, switches, stations, directions, pool, .. } = self;
        PartView { places, switches, stations, directions, pool }
    }
}
