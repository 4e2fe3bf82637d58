//! The events of the gateway: those of the workers and its own, the latest of each kind, and who follows them.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use telemetry::events::{Event, KINDS, What};
use units::{Nanos, PortId, Priority, PrioritySet};
use worker::EventInlet;

use crate::lookup;
use crate::socket::{EventsRequest, Response, Subscription};

/// The most clients that follow events at once. Fewer than connections, so that others are served.
const FOLLOWERS: usize = 4;
/// The batches that may wait for a follower.
const BATCHES: usize = 16;
/// The most events of a batch.
const BATCH_EVENTS: usize = 4_096;

/// The events of a gateway. Each kind has its own history, so that a flood of one takes nothing from another.
pub struct Journal {
    names: Arc<[String]>,
    /// The core of each worker, and its events.
    inlets: Vec<(usize, EventInlet)>,
    /// By kind.
    histories: Vec<VecDeque<Event>>,
    /// The number of events of each kind that are kept.
    kept: usize,
    /// The number of the next event.
    next: u64,
    followers: Vec<Follower>,
    /// Events of one worker; empty between looks.
    taken: Vec<switch::Event>,
    /// Those of all, each with its core; empty between looks.
    merged: Vec<(usize, switch::Event)>,
}

/// A client that follows events.
struct Follower {
    filter: Filter,
    batches: SyncSender<Vec<Event>>,
    /// The next batch. A loss before its events is its first one, a loss after them is beyond [`BATCH_EVENTS`].
    batch: Vec<Event>,
}

/// The events that someone wants; an empty set means all.
struct Filter {
    ports: BTreeSet<PortId>,
    priorities: PrioritySet,
    /// By kind.
    kinds: Vec<bool>,
}

impl Filter {
    fn new(request: &EventsRequest, names: &[String]) -> Result<Self, Response> {
        let refuse = |why| Response::InvalidRequest(why);
        let port = |name: &String| lookup::port(name, names.iter().map(String::as_str));
        let priority = |number: &u8| lookup::priority(*number);
        for name in &request.kinds {
            if !KINDS.iter().any(|kind| kind.name == name) {
                return Err(refuse(format!("there is no kind of event {name}")));
            }
        }
        let wants = |name: &str| request.kinds.is_empty() || request.kinds.iter().any(|kind| kind == name);
        Ok(Self {
            ports: request.ports.iter().map(port).collect::<Result<_, _>>()?,
            priorities: request.priorities.iter().map(priority).collect::<Result<_, _>>()?,
            kinds: KINDS.iter().map(|kind| wants(kind.name)).collect(),
        })
    }

    /// Whether it lets an event through. Losses concern everybody.
    fn matches(&self, event: &Event) -> bool {
        if matches!(event.what, What::Lost { .. }) {
            return true;
        }
        self.kinds[event.what.index()]
            && (self.ports.is_empty() || event.port.is_some_and(|port| self.ports.contains(&port)))
            && (self.priorities.is_empty()
                || event.priority.is_some_and(|priority| self.priorities.contains(priority)))
    }
}

impl Journal {
    /// The journal of a gateway whose ports have these `names`, which keeps `kept` events of each kind.
    pub fn new(names: Vec<String>, inlets: Vec<(usize, EventInlet)>, kept: usize) -> Self {
        let histories = KINDS.iter().map(|_| VecDeque::new()).collect();
        let (followers, taken, merged) = (Vec::new(), Vec::new(), Vec::new());
        Self { names: names.into(), inlets, histories, kept, next: 0, followers, taken, merged }
    }

    /// Takes the events of the workers, and passes on all that are new.
    pub fn collect(&mut self) {
        let mut merged = core::mem::take(&mut self.merged);
        for (core, inlet) in &mut self.inlets {
            inlet.take(&mut self.taken);
            merged.extend(self.taken.drain(..).map(|event| (*core, event)));
        }
        if self.inlets.len() > 1 {
            // Several lanes note what happens at one port.
            merged.sort_by_key(|(_, event)| event.at);
        }
        for (core, event) in merged.drain(..) {
            let what = What::from(&event);
            self.enter(event.at, Some(core), event.port, event.priority, what);
        }
        self.merged = merged;
        self.followers.retain_mut(Follower::pass_on);
    }

    /// Notes an event of the control thread.
    pub fn note(&mut self, at: Nanos, port: Option<PortId>, priority: Option<Priority>, what: What) {
        if self.kept > 0 {
            self.enter(at, None, port, priority, what);
        }
    }

    fn enter(
        &mut self,
        at: Nanos,
        core: Option<usize>,
        port: Option<PortId>,
        priority: Option<Priority>,
        what: What,
    ) {
        let event = Event { number: self.next, at_ns: at.0, core, port, priority, what };
        self.next += 1;
        for follower in &mut self.followers {
            if follower.filter.matches(&event) {
                follower.add(&event);
            }
        }
        let history = &mut self.histories[event.what.index()];
        if history.len() >= self.kept {
            history.pop_front();
        }
        history.push_back(event);
    }

    /// Begins a stream of the past and future events that `request` asks for.
    ///
    /// # Errors
    /// The refusal: a name that is not known, or too many followers.
    pub fn subscribe(&mut self, request: &EventsRequest) -> Result<Subscription, Response> {
        let filter = Filter::new(request, &self.names)?;
        if self.kept == 0 {
            return Err(Response::InvalidRequest(
                "the gateway records no events (control.events = 0)".into(),
            ));
        }
        self.collect();
        let follow = request.follow;
        if follow && self.followers.len() >= FOLLOWERS {
            self.followers.retain(|follower| !follower.has_left());
            if self.followers.len() >= FOLLOWERS {
                return Err(Response::Busy(format!("{FOLLOWERS} clients follow events already")));
            }
        }
        let mut past: Vec<_> =
            self.histories.iter().flatten().filter(|event| filter.matches(event)).collect();
        past.sort_unstable_by_key(|event| event.number);
        let past = past[past.len().saturating_sub(request.last)..].iter().copied().cloned().collect();
        let (batches, received) = sync_channel(BATCHES);
        // The channel is empty.
        let _ = batches.try_send(past);
        if follow {
            self.followers.push(Follower { filter, batches, batch: Vec::new() });
        }
        Ok(Subscription { names: self.names.clone(), batches: received, follow })
    }
}

impl Follower {
    /// Whether it has gone, as far as its full channel shows.
    fn has_left(&self) -> bool {
        matches!(self.batches.try_send(Vec::new()), Err(TrySendError::Disconnected(_)))
    }

    /// Adds an event to its next batch, which counts those that are too many.
    fn add(&mut self, event: &Event) {
        if self.batch.len() < BATCH_EVENTS {
            self.batch.push(event.clone());
            return;
        }
        let lost = self.batch.split_off(BATCH_EVENTS);
        self.batch.extend(loss(lost.iter().chain([event])));
    }

    /// Sends its batch if there is room; otherwise counts it as lost. Returns whether it is still there.
    fn pass_on(&mut self) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        match self.batches.try_send(core::mem::take(&mut self.batch)) {
            Ok(()) => true,
            Err(TrySendError::Full(lost)) => {
                self.batch.extend(loss(lost.iter()));
                true
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }
}

/// The loss of `events`, some of which may be losses: it has the number and the time of the last of them.
fn loss<'a>(events: impl DoubleEndedIterator<Item = &'a Event> + Clone) -> Option<Event> {
    let count = |event: &Event| if let What::Lost { events } = event.what { events } else { 1 };
    let last = events.clone().next_back()?;
    let what = What::Lost { events: events.map(count).sum() };
    Some(Event { number: last.number, at_ns: last.at_ns, core: None, port: None, priority: None, what })
}

#[cfg(test)]
mod tests;
