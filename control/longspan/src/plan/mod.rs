//! `longspan plan`.

mod files;
mod json;
mod page;
mod prove;

use crate::cli::plan::PlanArgs;
use crate::console;
use crate::failure::Failure;
use config::plan::{Plan, Request};
use units::{Bytes, Priority, PrioritySet};

/// Plans a link, writes the configurations if asked, and prints the plan.
///
/// # Errors
/// [`Failure::Usage`] if there is no such link, [`Failure::Write`], [`Failure::Unproved`], [`Failure::Print`].
pub fn run(args: &PlanArgs) -> Result<(), Failure> {
    let plan = Plan::new(&request(args)?).map_err(|error| Failure::usage(error.to_string()))?;
    let proved = match args.prove {
        true => Some(prove::prove(&plan).map_err(|error| Failure::usage(error.to_string()))?),
        false => None,
    };
    // A plan that is not proved leaves no files.
    let written = match proved.as_ref().and_then(prove::Proved::failure) {
        Some(_) => Vec::new(),
        None => files::write(args, &plan)?,
    };
    let text = match args.json {
        true => console::json(&json::plan(&plan, proved.as_ref().map(prove::Proved::json))),
        false => {
            let proof = proved.as_ref().map(prove::Proved::page).unwrap_or_default();
            page::page(&plan) + &proof + &files::told(&plan, &written)
        }
    };
    console::print(&text)?;
    match proved.and_then(|proved| proved.failure()) {
        Some(why) => Err(Failure::Unproved(why)),
        None => Ok(()),
    }
}

fn request(args: &PlanArgs) -> Result<Request, Failure> {
    let mut priorities = PrioritySet::EMPTY;
    for number in &args.priorities {
        let priority = Priority::new(*number).map_err(|error| Failure::usage(error.to_string()))?;
        priorities = priorities.with(priority);
    }
    let distance = args.delay.map(Request::distance_of).or(args.distance).unwrap_or_default();
    let usual = Request::new(distance, args.rate);
    let senders = usual.senders;
    Ok(Request {
        mtu: args.mtu.map_or(usual.mtu, Bytes),
        priorities,
        scheme: args.scheme,
        slot: args.slot,
        lscc: args.lscc,
        senders: config::Senders {
            rate: args.senders.unwrap_or(senders.rate),
            additive_increase: args.additive_increase.unwrap_or(senders.additive_increase),
            rate_timer: args.rate_timer.unwrap_or(senders.rate_timer),
        },
        drain: args.drain,
        local_distance: args.local_distance.unwrap_or(usual.local_distance),
        interface_delay: args.interface_delay.unwrap_or(usual.interface_delay),
        tx_window: args.tx_window.unwrap_or(usual.tx_window),
        key_file: args.key_file.clone(),
        watchdogs: args.watchdogs.iter().map(|it| (it.name.clone(), it.detection)).collect(),
        ..usual
    })
}
