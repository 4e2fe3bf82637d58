//! The checks of the remap of frames that bounce.

use super::*;
use crate::program::{Orientation, Remap, RemapError, Trust};

const P5: Priority = Priority::from_low_bits(5);

/// As [`checked`], where all ports are uplinks and remap 3 to 5, which is lossless as 3 is, before the change.
fn checked_remap(change: impl FnOnce(&mut Settings)) -> Result<(), ProgramError> {
    checked(|it| {
        for port in &mut it.ports {
            port.orientation = Some(Orientation::Uplink);
            port.remap = Remap::default().with(P3, P5);
            port.groups[P5.index()] = port.groups[P3.index()];
        }
        change(it);
    })
}

fn refused(port: &str, error: RemapError) -> Result<(), ProgramError> {
    Err(E::Port { port: port.into(), error: error.into() })
}

#[test]
fn lossless_priorities_of_oriented_ports_are_remapped_and_never_come_back() {
    assert_eq!(checked_remap(|_| ()), Ok(()));
    assert_eq!(checked_remap(|it| it.ports[1].orientation = None), refused("b", RemapError::Unoriented));
    let lossy = checked_remap(|it| it.ports[1].remap = Remap::default().with(P4, P5));
    assert_eq!(lossy, refused("b", RemapError::Lossy { priority: P4 }));
    let ring = checked_remap(|it| it.ports[1].remap = Remap::default().with(P3, P5).with(P5, P3));
    assert_eq!(ring, refused("b", RemapError::Ring { priority: P3 }));
}

#[test]
fn a_bridge_does_not_remap() {
    let bridge = ForwardingSettings::Bridge(BridgeSettings::default());
    assert_eq!(checked_remap(|it| it.forwarding = bridge), refused("a", RemapError::Bridge));
}

#[test]
fn the_next_switch_can_tell_by_a_code_point_that_a_frame_is_remapped() {
    let with = |change: &dyn Fn(&mut crate::program::Classification)| {
        checked_remap(|it| it.ports.iter_mut().for_each(|port| change(&mut port.classification)))
    };
    let no_code = |field| refused("a", RemapError::NoCode { priority: P5, field });
    assert_eq!(with(&|it| it.default = P3), refused("a", RemapError::Default { priority: P3 }));
    assert_eq!(with(&|it| it.dscp[40..48].fill(P4)), no_code("DSCP"));
    assert_eq!(with(&|it| it.pcp[5] = P4), no_code("PCP"));
    let by_pcp = with(&|it| {
        it.trust = Trust::Pcp;
        it.dscp[40..48].fill(P4);
    });
    assert_eq!(by_pcp, Ok(()), "no one looks at the DSCP");
}

#[test]
fn ports_between_which_frames_bounce_agree_on_code_points_and_on_the_isolated_priority() {
    let other = || "c".into();
    let classified = |it: &mut Settings| it.ports[2].classification.dscp[0] = P4;
    let lossy = |it: &mut Settings| it.ports[2].groups[P5.index()] = GroupSettings::Lossy;
    assert_eq!(checked_remap(classified), refused("a", RemapError::Classification { other: other() }));
    assert_eq!(checked_remap(lossy), refused("a", RemapError::Isolated { other: other(), priority: P5 }));
    let down = |change: fn(&mut Settings)| {
        checked_remap(|it| {
            change(it);
            it.ports[2].orientation = Some(Orientation::Downlink);
        })
    };
    assert_eq!([down(classified), down(lossy)], [Ok(()), Ok(())], "nothing bounces to a downlink");
    let all_lossy = |it: &mut Settings| {
        it.ports.iter_mut().for_each(|port| port.groups[P5.index()] = GroupSettings::Lossy);
    };
    assert_eq!(checked_remap(all_lossy), Ok(()));
}
