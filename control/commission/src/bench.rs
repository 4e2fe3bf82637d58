//! A course around the device of a port, and in the place of the other ports.

use crate::course::Course;
use core::cell::RefCell;
use std::rc::Rc;
use units::Nanos;
use worker::{BURST, Clock, Device, DeviceCounters, ReceiveRing};

/// One of the two devices of a worker that runs a course.
pub enum Bench<D, P, C, H> {
    /// The device of the port. The course looks at what passes, and speaks through it. What is last is called in each
    /// turn.
    Link(D, Rc<RefCell<Course>>, C, H),
    /// The test device: generator and sink.
    Test(P, Rc<RefCell<Course>>, C),
}

impl<D, P, C, H> Bench<D, P, C, H>
where
    D: Device,
    P: FnMut(&[u8]) -> Option<D::Frame>,
    C: Clock + Clone,
{
    /// Both devices of `course`: that of the port, around `device`, and the test device, with frames that `pool` makes.
    /// `each_turn` may tell the course what it cannot see, and hear what it has found.
    pub fn pair(device: D, pool: P, course: Course, clock: &C, each_turn: H) -> [Self; 2] {
        let course = Rc::new(RefCell::new(course));
        [
            Self::Link(device, Rc::clone(&course), clock.clone(), each_turn),
            Self::Test(pool, course, clock.clone()),
        ]
    }
}

impl<D, P, C, H> Device for Bench<D, P, C, H>
where
    D: Device,
    P: FnMut(&[u8]) -> Option<D::Frame>,
    C: Clock,
    H: FnMut(Nanos, &mut Course),
{
    type Frame = D::Frame;

    fn receive(&mut self, burst: &mut Vec<D::Frame>) {
        match self {
            Self::Link(device, course, clock, each_turn) => {
                device.receive(burst);
                let (mut course, now) = (course.borrow_mut(), clock.now());
                burst.retain(|frame| !course.arrive(now, frame));
                each_turn(now, &mut course);
                course.poll(now, &mut |frame| device.transmit_control(frame));
            }
            Self::Test(pool, course, clock) => {
                course.borrow_mut().send(clock.now(), &mut |bytes| {
                    let room = burst.len() < BURST;
                    let frame = if room { pool(bytes) } else { None };
                    frame.map(|frame| burst.push(frame)).is_some()
                });
            }
        }
    }

    fn room(&self) -> usize {
        match self {
            Self::Link(device, course, ..) if course.borrow().may_send() => device.room(),
            Self::Link(..) => 0,
            Self::Test(_, course, _) if course.borrow().sink_is_stopped() => 0,
            Self::Test(..) => BURST,
        }
    }

    fn transmit(&mut self, frame: D::Frame) {
        match self {
            Self::Link(device, ..) => device.transmit(frame),
            Self::Test(_, course, clock) => course.borrow_mut().count(clock.now(), &frame),
        }
    }

    fn transmit_control(&mut self, frame: &[u8]) {
        match self {
            Self::Link(device, course, clock, _) => {
                let mut course = course.borrow_mut();
                course.see_control(clock.now(), frame);
                if course.may_send() {
                    device.transmit_control(frame);
                }
            }
            Self::Test(_, course, clock) => course.borrow_mut().obey(clock.now(), frame),
        }
    }

    fn make(&mut self, bytes: &[u8]) -> Option<D::Frame> {
        match self {
            Self::Link(device, ..) => device.make(bytes),
            Self::Test(pool, ..) => pool(bytes),
        }
    }

    fn flush(&mut self) {
        if let Self::Link(device, ..) = self {
            device.flush();
        }
    }

    fn memory_is_low(&mut self) -> bool {
        match self {
            Self::Link(device, ..) => device.memory_is_low(),
            Self::Test(..) => false,
        }
    }

    fn receive_ring(&mut self) -> ReceiveRing {
        match self {
            Self::Link(device, ..) => device.receive_ring(),
            Self::Test(..) => ReceiveRing::Endless,
        }
    }

    fn counters(&self) -> DeviceCounters {
        match self {
            Self::Link(device, ..) => device.counters(),
            Self::Test(..) => DeviceCounters::default(),
        }
    }
}

impl<D, P, C, H> Bench<D, P, C, H> {
    /// The course.
    pub fn course(&self) -> Rc<RefCell<Course>> {
        match self {
            Self::Link(_, course, ..) | Self::Test(_, course, _) => Rc::clone(course),
        }
    }
}
