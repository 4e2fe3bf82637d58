//! A plan as JSON. Times are in nanoseconds, rates in bits per second.

use config::RepairSum;
use config::plan::{LinkPlan, Neighbour, Part, Step, WatchdogVerdict};
use serde_json::{Value, json};
use units::BitRate;

/// The plan, and its proof if there is one.
pub fn plan(plan: &LinkPlan, proof: Option<Value>) -> Value {
    let request = &plan.built.request;
    let bundle = plan.built.bundle().map(|sum| crate::check::bundle_report(&sum));
    let memory = plan.built.with_devices.memory().map(|sum| sum.frames().0);
    let repair = plan.built.repair().map(|sum| repair(&sum));
    let rows = plan.schemes.iter().map(|(scheme, row)| match row {
        Ok(row) => json!({
            "scheme": scheme.word(),
            "buffer_bytes": row.buffer.0,
            "control_rate": row.control,
            "reaction_ns": row.reaction.0,
            "needs": row.needs,
        }),
        Err(error) => json!({ "scheme": scheme.word(), "refused": error.to_string() }),
    });
    let windows = plan.hosts.windows.iter().map(|window| {
        json!({
            "message_bytes": window.bytes,
            "depth": window.depth,
            "reading_pairs": window.reading_pairs,
        })
    });
    json!({
        "distance_m": request.distance.0,
        "rate": request.rate.bits_per_second(),
        "links": request.links,
        "bundle": bundle,
        "mtu_bytes": request.mtu.0,
        "priorities": request.priorities.iter().map(|it| it.number()).collect::<Value>(),
        "scheme": request.scheme.word(),
        "holds": plan.lacks.is_empty(),
        "lacks": plan.lacks.iter().map(|lack| json!({ "of": lack.of, "why": lack.why })).collect::<Value>(),
        "lscc": request.lscc,
        "repair": repair,
        "parts": plan.parts.iter().map(part).collect::<Value>(),
        "pauses": part(&plan.pauses.part),
        "pause_long_ns": plan.pauses.long.0,
        "pause_local_ns": plan.pauses.local.0,
        "priorities_without_limit": plan.pauses.unlimited.iter().map(|it| it.number()).collect::<Value>(),
        "watchdogs": plan.pauses.neighbours.iter().map(neighbour).collect::<Value>(),
        "note": super::summary::note(plan),
        "schemes": rows.collect::<Value>(),
        "slots": plan.slots.iter().map(|row| json!({ "slot_ns": row.slot.0, "buffer_bytes": row.buffer.0 })).collect::<Value>(),
        "hosts": {
            "rate": plan.hosts.rate.bits_per_second(),
            "steps": part(&plan.hosts.part),
            "windows": windows.collect::<Value>(),
            "one_pair_suffices": plan.hosts.fits_sequence,
        },
        "memory_bytes": memory,
        "proof": proof,
        "gateways": plan.built.texts.iter().map(|(name, text)| json!({ "name": name, "toml": text })).collect::<Value>(),
    })
}

fn repair(sum: &RepairSum) -> Value {
    json!({
        "period_ns": sum.repair.period.0,
        "retention_bytes": sum.repair.retention.0,
        "frames": sum.repair.frames,
        "numbers_bytes": sum.repair.numbers().0,
        "more_buffer_bytes": sum.more.0,
        "overhead_millionths": sum.overhead.number(),
    })
}

fn part(part: &Part) -> Value {
    json!({ "title": part.title, "steps": part.steps.iter().map(step).collect::<Value>() })
}

fn step(step: &Step) -> Value {
    json!({
        "name": step.name,
        "formula": step.formula,
        "numbers": step.numbers,
        "result": step.result.number(),
        "unit": step.result.unit(),
        "source": step.source,
    })
}

fn neighbour(it: &Neighbour) -> Value {
    let (trips, drain) = match it.verdict {
        WatchdogVerdict::Calm => (false, None),
        WatchdogVerdict::Trips { drain } => (true, drain.map(BitRate::bits_per_second)),
        WatchdogVerdict::Unlimited => (true, None),
    };
    json!({
        "name": it.name,
        "detection_ns": it.detection.0,
        "source": it.source,
        "at": if it.port.0 == 0 { "dc0" } else { "lh0" },
        "can_trip": trips,
        "drain_that_does_not": drain,
    })
}

#[cfg(test)]
mod tests {
    use config::plan::Request;
    use units::Distance;

    #[test]
    fn repair_has_its_sizes_and_a_plan_without_it_none() {
        let of = |repair| {
            let request =
                Request { repair, ..Request::new(Distance(3_000_000), super::BitRate::gigabits(50)) };
            super::plan(&super::LinkPlan::new(&request).unwrap(), None)
        };
        assert_eq!(of(false)["repair"], serde_json::Value::Null);
        let repair = &of(true)["repair"];
        let of = |key: &str| repair[key].as_u64().unwrap();
        assert_eq!(
            (of("period_ns"), of("numbers_bytes")),
            (100_000, switch::repair::Repair::NUMBER.0 * of("frames"))
        );
        let kept = of("retention_bytes");
        assert_eq!((of("more_buffer_bytes"), of("frames")), (kept, kept / 512));
        assert_eq!(of("overhead_millionths"), 2_872);
    }

    #[test]
    fn several_links_have_the_figures_of_their_bundle_and_a_single_one_has_none() {
        let of = |links| {
            let request = Request { links, ..Request::new(Distance(80_000), super::BitRate::gigabits(10)) };
            super::plan(&super::LinkPlan::new(&request).unwrap(), None)
        };
        let (one, three) = (of(1), of(3));
        assert_eq!((&one["links"], &one["bundle"]), (&1.into(), &serde_json::Value::Null));
        let bundle = &three["bundle"];
        assert_eq!(
            (&bundle["rate"], &bundle["one_less"]["rate"]),
            (&30_000_000_000_u64.into(), &20_000_000_000_u64.into())
        );
        assert_eq!(bundle["one_less"]["held_back_rate"], 10_000_000_000_u64);
        let each = bundle["members"][2]["buffer_bytes"].as_u64().unwrap();
        assert_eq!(
            (&bundle["buffer_bytes"], &bundle["one_less"]["buffer_bytes"]),
            (&(3 * each).into(), &(2 * each).into())
        );
        assert_eq!((&bundle["detection"], &bundle["detection_ns"]), (&"carrier".into(), &5_000_000.into()));
        assert_eq!(bundle["cut_destroys_bytes"], bundle["members"][0]["cut_destroys_bytes"]);
    }
}
