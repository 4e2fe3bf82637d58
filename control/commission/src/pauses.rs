//! PFC frames that the course looks at, and those that it sends.

use units::{PauseQuanta, Priority, PrioritySet};
use wire::ethernet::{self, EtherType, MacAddress};
use wire::mac_control::Message as MacControl;
use wire::pfc;

/// The PFC frame that `frame` is.
pub fn read(frame: &[u8]) -> Option<pfc::View<&[u8]>> {
    let is_control = ethernet::View::parse(frame).ok()?.ether_type() == EtherType::MAC_CONTROL;
    match MacControl::parse(frame.get(ethernet::HEADER_LEN..)?) {
        Ok(MacControl::Pfc(pfc)) if is_control => Some(pfc),
        _ => None,
    }
}

/// Whether `frame` asks to stop `priority`.
pub fn asks_to_stop(frame: &[u8], priority: Priority) -> bool {
    let time = read(frame).and_then(|pfc| pfc.times()[priority.index()]);
    time.is_some_and(|it| it > PauseQuanta::ZERO)
}

/// Whether `frame` is one that [`of_nothing`] makes.
pub fn asks_for_nothing(frame: &[u8]) -> bool {
    read(frame).is_some_and(|pfc| pfc.times().into_iter().all(|it| it == Some(PauseQuanta::ZERO)))
}

/// A PFC frame that lets all priorities go on.
pub fn of_nothing(from: MacAddress) -> [u8; ethernet::MIN_FRAME_LEN] {
    let mut frame = [0; ethernet::MIN_FRAME_LEN];
    let all = Priority::all().collect::<PrioritySet>();
    let written = pfc::Frame::uniform(from, all, PauseQuanta::ZERO).emit(&mut frame);
    debug_assert!(written.is_ok(), "a PFC frame is this long");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_of_one_priority_stops_that_one_and_is_none_that_asks_for_nothing() {
        let mut frame = of_nothing(MacAddress([2, 0, 0, 0, 0, 1]));
        let stopped =
            |frame: &[u8]| Priority::all().filter(|it| asks_to_stop(frame, *it)).collect::<Vec<_>>();
        assert!(asks_for_nothing(&frame) && stopped(&frame).is_empty());
        frame[18 + 2 * 4] = 1;
        assert!(!asks_for_nothing(&frame));
        assert_eq!(stopped(&frame), Priority::all().skip(4).take(1).collect::<Vec<_>>());
        // That of one priority alone, as a gateway sends it.
        frame[17] = 1 << 3;
        assert!(!asks_for_nothing(&frame) && stopped(&frame).is_empty());
    }
}
