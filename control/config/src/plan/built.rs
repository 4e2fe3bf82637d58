//! The gateway that a request leads to: its text, and what reading that text makes of it.

use switch::program::PortSettings;
use units::Distance;

use super::levels::Levels;
use super::request::{PlanError, Request};
use super::slot::slot;
use super::text::{ENDS, Form, read, text};
use crate::bundle_sum::BundleSum;
use crate::core_load::lanes_for;
use crate::gateway::Gateway;
use crate::link::Link;
use crate::lscc_sum::LsccSum;
use crate::repair::sum::RepairSum;
use crate::round_trip::RoundTripSum;

/// A key for the gateways in memory. The files of people name a file with their own key.
const KEY: &str = "6c6f6e677370616e20706c616e206b65";

/// A gateway of the plan.
#[derive(Clone, Debug)]
pub struct Built {
    /// The link and the scheme that it is for.
    pub request: Request,
    /// The name and the configuration of each gateway, for people.
    pub texts: [(&'static str, String); 2],
    /// Each gateway as it would run.
    pub gateways: [Gateway; 2],
    /// Gateway 0 with devices, for memory and cores.
    pub with_devices: Gateway,
}

impl Built {
    /// Builds the gateways for `request`.
    ///
    /// # Errors
    /// [`PlanError`] if there are none, or if they would run with warnings.
    pub fn new(request: &Request) -> Result<Self, PlanError> {
        request.check()?;
        let request = &with_enough_lanes(request)?;
        let slot = slot(request)?;
        let raw = Form { slot, key: Some(KEY), ..Form::default() };
        let gateway = read(request, 0, &raw)?;
        check_step(request, &gateway)?;
        let levels = Levels::of(&gateway, request);
        let form = Form { levels: levels.as_ref(), ..raw };
        let gateway = |end| {
            let gateway = read(request, end, &form)?;
            match gateway.warnings.is_empty() {
                true => Ok(gateway),
                false => Err(PlanError::Refused { problems: gateway.warnings }),
            }
        };
        let devices = Form { devices: true, ..form };
        // A core that is too slow is a warning here, and a lack of the plan. The devices of the other end may be wrong too.
        let with_devices = read(request, 0, &devices)?;
        read(request, 1, &devices)?;
        let people = Form { key: None, devices: !request.pci.is_empty(), ..form };
        Ok(Self {
            request: request.clone(),
            texts: [0, 1].map(|end| (ENDS[end], text(request, end, &people))),
            gateways: [gateway(0)?, gateway(1)?],
            with_devices,
        })
    }

    /// The port on the long link, the first one of several, and its link.
    pub fn long(&self) -> (&PortSettings, &Link) {
        self.port(1)
    }

    /// The figures of its bundle, of which cuts are noticed by the carrier; `None` for a single link.
    pub fn bundle(&self) -> Option<BundleSum> {
        BundleSum::all(&self.gateways[0]).pop()
    }

    /// What repair of the long link takes; `None` without it.
    pub fn repair(&self) -> Option<RepairSum> {
        RepairSum::new(self.long().0)
    }

    /// The port to the data center, and its link.
    pub fn local(&self) -> (&PortSettings, &Link) {
        self.port(0)
    }

    fn port(&self, index: usize) -> (&PortSettings, &Link) {
        let gateway = &self.gateways[0];
        (&gateway.program.settings().ports[index], &gateway.links[index])
    }

    /// The round trip of the long link.
    pub fn round_trip(&self) -> RoundTripSum {
        let (port, link) = self.long();
        RoundTripSum::new(port, link).expect("a plan states every distance")
    }
}

/// Refuses senders for which equation (12) has no solution.
fn check_step(request: &Request, gateway: &Gateway) -> Result<(), PlanError> {
    let Some((_, LsccSum { bounds, .. })) = gateway.lscc().next() else { return Ok(()) };
    if bounds.below > bounds.above.saturating_add(2) {
        return Ok(());
    }
    let increase = u128::from(request.senders.additive_increase.bits_per_second());
    let wanted = increase * u128::from(bounds.above + 3) / u128::from(bounds.below.max(1)) + 1;
    let wanted = u64::try_from(wanted.next_multiple_of(1_000_000)).unwrap_or(u64::MAX);
    let least = units::BitRate::new(wanted).unwrap_or(request.rate);
    Err(PlanError::NoStep { bounds, least })
}

/// The distance of a link, which every plan states.
pub(super) fn distance(link: &Link) -> Distance {
    link.distance.unwrap_or_default()
}

/// `request`, with as many lanes as the link needs where it leaves that open: one, if no more can be.
///
/// # Errors
/// Those of a plan with one lane.
fn with_enough_lanes(request: &Request) -> Result<Request, PlanError> {
    if request.lanes > 0 {
        return Ok(request.clone());
    }
    let one = Request { lanes: 1, ..request.clone() };
    let cores = Built::new(&one)?.with_devices.cores();
    let is_behind = cores.iter().any(|load| !load.keeps_up());
    let lanes = is_behind.then(|| lanes_for(&cores)).flatten();
    let several = lanes.map(|lanes| Request { lanes: lanes as u8, ..one.clone() });
    Ok(several.filter(|it| read(it, 0, &Form::default()).is_ok()).unwrap_or(one))
}
