//! The state of a run as bytes, from which another run goes on.
//!
//! Settings, programs and routes are not in it: they are built again from the same network, and the state is put into
//! what was built. Everything that holds some of both is taken apart here without `..`, so that a new field is either
//! written or left out on purpose. All else says what it is by `derive`.

use super::Engine;
use super::part::Part;
use crate::link::Direction;
use crate::network::NetworkSpec;
use crate::nodes::{Station, Switch};
use crate::options::Options;
use postcard::ser_flavors::{AllocVec, Flavor};
use postcard::{Deserializer, Serializer};
use serde::{Deserialize, Serialize};

/// The state of a run cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state is not that of this network: {0}")]
pub struct NotResumed(#[from] postcard::Error);

const NEVER_FULL: &str = "a vector takes all that is written, and no value fails by itself";

/// Writes one value after the other.
struct Writer(Serializer<AllocVec>);

impl Writer {
    fn put(&mut self, value: &impl Serialize) {
        value.serialize(&mut self.0).expect(NEVER_FULL);
    }
}

/// Reads values in the order in which they were written.
struct Reader<'a>(Deserializer<'a, postcard::de_flavors::Slice<'a>>);

impl<'a> Reader<'a> {
    fn take<T: Deserialize<'a>>(&mut self) -> Result<T, NotResumed> {
        Ok(T::deserialize(&mut self.0)?)
    }
}

impl Engine {
    /// The engine of a run that goes on from `state`. Its parts are those of the run that wrote it, since flows and
    /// frames refer to them. As many threads as `options` allows run these.
    pub fn resumed(network: NetworkSpec, options: Options, state: &[u8]) -> Result<Self, NotResumed> {
        let mut from = Reader(Deserializer::from_bytes(state));
        let homes: Vec<usize> = from.take()?;
        if homes.len() != network.nodes.len() {
            return Err(NotResumed(postcard::Error::SerdeDeCustom));
        }
        let mut engine = Self::of_parts(network, options, homes);
        engine.restore(&mut from)?;
        Ok(engine)
    }

    /// The state of the run.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(Serializer { output: AllocVec::new() });
        self.save(&mut out);
        out.0.output.finalize().expect(NEVER_FULL)
    }

    fn save(&self, out: &mut Writer) {
        let Self {
            now,
            options: _,
            parts,
            lookahead: _,
            actors: _,
            homes,
            numbers: _,
            watch,
            paths: _,
            rng,
            pending,
            knows_all,
            ready,
            has_loops,
            stops,
            endless,
            again,
            sums_at,
            next_switch,
            samples,
            next_sample,
            fetched,
            progress_at,
            rounds,
        } = self;
        out.put(homes);
        out.put(&(now, watch, rng, pending, knows_all, ready, has_loops, stops, endless, again));
        out.put(&(sums_at, next_switch, samples, next_sample, fetched, progress_at, rounds));
        parts.iter().for_each(|part| part.save(out));
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), NotResumed> {
        (self.now, self.watch, self.rng, self.pending, self.knows_all) = from.take()?;
        (self.ready, self.has_loops, self.stops, self.endless, self.again) = from.take()?;
        (self.sums_at, self.next_switch, self.samples, self.next_sample) = from.take()?;
        (self.fetched, self.progress_at, self.rounds) = from.take()?;
        self.parts.iter_mut().try_for_each(|part| part.restore(from))
    }
}

impl Part {
    fn save(&self, out: &mut Writer) {
        let Self {
            now,
            actor,
            // Each round sets it anew.
            window: _,
            options: _,
            calendar,
            lookahead: _,
            crossing: _,
            actors: _,
            places: _,
            directions,
            is_joined: _,
            switches,
            stations,
            timers: _,
            pool,
            flows,
            checker,
            motion,
            starts,
            again,
            arrived,
            news,
            heard,
            jobs,
            releases,
            // Empty between two events.
            burst: _,
            odd: _,
            keeps_order: _,
            transmissions,
            events,
            waits,
            log,
        } = self;
        out.put(&(now, actor, calendar, flows, checker.balance, checker.checks, motion, starts, again));
        out.put(&(arrived, news, heard, jobs.left, &jobs.spans));
        out.put(&(releases, transmissions, events, waits, log));
        out.put(&pool.duplicates());
        directions.iter().for_each(|direction| out.put(direction));
        switches.iter().for_each(|switch| switch.save(out));
        stations.iter().for_each(|station| station.save(out));
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), NotResumed> {
        (self.now, self.actor, self.calendar, self.flows) = from.take()?;
        (self.checker.balance, self.checker.checks, self.motion, self.starts, self.again) = from.take()?;
        (self.arrived, self.news, self.heard, self.jobs.left, self.jobs.spans) = from.take()?;
        (self.releases, self.transmissions, self.events, self.waits, self.log) = from.take()?;
        self.pool.set_duplicates(from.take()?);
        let Self { pool, directions, switches, stations, .. } = self;
        pool.takes_frames(|| {
            directions.iter_mut().try_for_each(|direction| direction.restore(from))?;
            switches.iter_mut().try_for_each(|switch| switch.restore(from))?;
            stations.iter_mut().try_for_each(|station| station.restore(from))
        })
    }
}

impl Direction {
    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), NotResumed> {
        *self = from.take()?;
        Ok(())
    }
}

impl Switch {
    fn save(&self, out: &mut Writer) {
        let Self {
            node: _,
            driver,
            program: _,
            out: _,
            inputs: _,
            unreliable: _,
            deadlines,
            next,
            carriers,
            routes,
            held,
            taken,
            is_tapped: _,
            recorded,
        } = self;
        // Nobody asks for those of several lanes, which are not all of their state.
        driver.lanes().iter().for_each(|lane| out.put(&lane.state()));
        out.put(&(deadlines, next, carriers));
        out.put(&(routes.done, held, taken, recorded));
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), NotResumed> {
        self.driver.restore(&mut from.0)?;
        (self.deadlines, self.next, self.carriers) = from.take()?;
        (self.routes.done, self.held, self.taken, self.recorded) = from.take()?;
        if let Some(program) = self.routes.in_force() {
            self.driver.exchange_routes(program);
        }
        Ok(())
    }
}

impl Station {
    fn save(&self, out: &mut Writer) {
        let Self {
            node: _,
            host,
            settings: _,
            out: _,
            input: _,
            is_tapped: _,
            timers: _,
            released,
            progress,
        } = self;
        out.put(&host.state());
        out.put(&(released, progress));
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), NotResumed> {
        self.host.restore(&mut from.0)?;
        (self.released, self.progress) = from.take()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::{SITES, Seen, first_difference, flows, networks, numbered, options, run};
    use crate::network::FlowSpec;
    use crate::observer::{NetworkView, Observer, Progress, State, Tap};
    use crate::outcome::{FlowRecord, Outcome};
    use core::mem;
    use core::ops::ControlFlow;
    use proptest::prelude::*;
    use units::{Bytes, Nanos};

    /// Ends the run at its first checkpoint.
    #[derive(Default)]
    struct Leaving {
        /// Everything seen since the checkpoint, or since the start if there is none.
        seen: Seen,
        checkpoint: Option<(Seen, Vec<u8>)>,
    }

    impl Observer for Leaving {
        fn sample(&mut self, at: Nanos, view: &NetworkView<'_>) {
            self.seen.sample(at, view);
        }

        fn completed(&mut self, record: &FlowRecord) {
            self.seen.completed(record);
        }

        fn captured(&mut self, tap: Tap, at: Nanos, headers: &[u8], length: Bytes) {
            self.seen.captured(tap, at, headers, length);
        }

        fn progress(&mut self, _: Progress) -> ControlFlow<()> {
            ControlFlow::Break(())
        }

        fn checkpoint(&mut self, state: &State<'_>) {
            self.checkpoint = Some((mem::take(&mut self.seen), state.to_bytes()));
        }
    }

    /// A run of `engine` that is left after some `events`, or comes to its end before.
    fn left(mut engine: Engine, flows: &[FlowSpec], events: u64) -> (Outcome, Leaving) {
        let (mut leaving, fetched) = (Leaving::default(), engine.fetched() as usize);
        engine.progress_at = (engine.events() + engine.samples).saturating_add(events);
        let outcome = engine.run(flows.iter().skip(fetched).cloned(), &mut leaving).unwrap();
        (outcome, leaving)
    }

    proptest! {
        // Up to five runs each.
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_run_that_goes_on_from_any_checkpoint_ends_as_if_it_had_never_stopped(
            network in networks(), flows in flows(), parts in 0_usize..4, threads in 1_usize..4,
            stops in prop::collection::vec(1_u64..3_000, 1..4),
        ) {
            let flows = numbered(&network, flows);
            // The fourth division has a part between two halves of another one.
            let homes = SITES.map(|site| if parts == 3 { usize::from(site == 1) } else { site.min(parts) });
            let whole = run(&network, &flows, &homes, 1);
            let (mut engine, mut seen) = (Engine::of_parts(network.clone(), options(1), homes.to_vec()), Seen::default());
            let mut stops = stops.into_iter().chain([u64::MAX]);
            let outcome = loop {
                let (outcome, leaving) = left(engine, &flows, stops.next().unwrap());
                let Some((before, state)) = leaving.checkpoint else {
                    seen.append(leaving.seen);
                    break outcome;
                };
                seen.append(before);
                engine = Engine::resumed(network.clone(), options(threads), &state).unwrap();
            };
            prop_assert_eq!(first_difference(&(outcome, seen), &whole), None);
        }
    }
}
