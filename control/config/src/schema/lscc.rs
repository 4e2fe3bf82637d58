//! `[port.lscc]`.

use core::net::Ipv4Addr;

use units::{BitRate, Interval, Priority};
use wire::ip::Dscp;
use wire::rate_feedback::Key;

use super::bifrost::{LEAST, MOST, countable, time};
use crate::problem::ProblemKind;
use crate::reader::{At, Place, Section};
use crate::value::SizeWish;

/// LSCC with the other end of a long link.
#[derive(Clone)]
pub(crate) struct LsccDecl {
    pub place: Place,
    pub local: At<Ipv4Addr>,
    pub peer: At<Ipv4Addr>,
    /// From `key` or `key_file`.
    pub key: At<KeyWish>,
    pub interval: Option<At<Interval>>,
    pub round_trip: Option<At<Interval>>,
    pub reference: Option<At<SizeWish>>,
    pub step: Option<At<Option<BitRate>>>,
    pub least: Option<At<BitRate>>,
    pub most: Option<At<BitRate>>,
    pub pseudo_reference: Option<At<SizeWish>>,
    pub cnp_interval: Option<At<Interval>>,
    pub long_flow: Option<At<SizeWish>>,
    pub far_cnp_interval: Option<At<Option<Interval>>>,
    pub flows: Option<At<u32>>,
    pub ageing: Option<At<Interval>>,
    pub cnp: CnpDecl,
    pub feedback_dscp: Option<At<Dscp>>,
}

/// Where the key is.
#[derive(Clone)]
pub(crate) enum KeyWish {
    Here(Key),
    /// Messages shall have no tag.
    None,
    /// In a file, as its path was written.
    File(String),
}

/// `cnp` of `[port.lscc]`.
#[derive(Clone, Default)]
pub(crate) struct CnpDecl {
    pub dscp: Option<At<Dscp>>,
    pub priority: Option<At<Priority>>,
}

impl LsccDecl {
    pub fn read(lscc: &mut Section<'_, '_>) -> Option<Self> {
        const AT_LEAST: &str = "1us to 1s";
        let local = lscc.required("local", "local = \"10.255.0.1\"");
        let peer = lscc.required("peer", "peer = \"10.255.0.2\"");
        let key = key(lscc);
        let interval = time(lscc, "interval", LEAST..=Interval::from_millis(10), "1us to 10ms");
        let round_trip = time(lscc, "round_trip", LEAST..=MOST, AT_LEAST);
        let cnp_interval = time(lscc, "cnp_interval", LEAST..=MOST, AT_LEAST);
        let far_cnp_interval = lscc.optional("far_cnp_interval").filter(|far| apart(lscc, far));
        let mut size = |key| lscc.optional(key).filter(|wish| countable(lscc, wish));
        let (reference, pseudo_reference) = (size("reference"), size("pseudo_reference"));
        let long_flow = size("long_flow");
        let step = lscc.optional("step");
        let (least, most) = (lscc.optional("least"), lscc.optional("most"));
        let (flows, ageing) = (lscc.optional("flows"), lscc.optional("ageing"));
        let cnp = lscc.table("cnp", CnpDecl::read).unwrap_or_default();
        let feedback_dscp = lscc.optional("feedback_dscp");
        Some(Self {
            place: lscc.place.clone(),
            local: local?,
            peer: peer?,
            key: key?,
            interval,
            round_trip,
            reference,
            step,
            least,
            most,
            pseudo_reference,
            cnp_interval,
            long_flow,
            far_cnp_interval,
            flows,
            ageing,
            cnp,
            feedback_dscp,
        })
    }
}

fn key(lscc: &mut Section<'_, '_>) -> Option<At<KeyWish>> {
    if !lscc.contains("key_file") {
        lscc.expect(
            "key",
            "key_file = \"link.key\", or key = \"none\" where nobody else can send into the link",
        );
    }
    let wish = |key: Option<Key>| key.map_or(KeyWish::None, KeyWish::Here);
    let here = lscc.optional::<Option<Key>>("key").map(|key| key.map(wish));
    let file = lscc.optional::<String>("key_file").map(|path| path.map(KeyWish::File));
    if let (Some(_), Some(file)) = (&here, &file) {
        lscc.problems.error(&file.place, ProblemKind::Conflict { other: "key" });
    }
    here.or(file)
}

/// Whether it is no time at all, or one that can be kept.
fn apart(lscc: &Section<'_, '_>, far: &At<Option<Interval>>) -> bool {
    let valid = far.value.is_none_or(|time| (LEAST..=MOST).contains(&time));
    if !valid {
        let got = far.value.unwrap_or_default().to_string();
        let kind = ProblemKind::OutOfRange { got, valid: "1us to 1s, or \"none\"" };
        lscc.problems.error(&far.place, kind);
    }
    valid
}

impl CnpDecl {
    fn read(cnp: &mut Section<'_, '_>) -> Self {
        Self { dscp: cnp.optional("dscp"), priority: cnp.optional("priority") }
    }
}
