"""The parts of the measurement, each with a table."""

import contextlib
import dataclasses
import functools
import statistics
import time

import machine
from latency import latency, latency_table
from longspan import COMPANIES, Longspan
from process import Failed
from table import against_table, budget_table, observed_table, tables
from workload import Workload, packets_per_flow

WARM_UP_SECONDS = 0.3


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where a contender runs."""

    directory: str
    housekeeping: int
    workers: tuple
    huge: bool


@dataclasses.dataclass(frozen=True)
class Plan:
    """How it is measured."""

    contenders: tuple
    directory: str
    maker: str
    probe: str
    noise: str
    cores: tuple  # the first is for housekeeping
    sizes: tuple
    flows: tuple
    packets_per_flow: int
    seconds: float
    repeats: int
    quick: bool
    say: object

    def workload(self, frame_bytes, flows):
        return Workload(frame_bytes, flows, packets_per_flow(flows, self.packets_per_flow))

    @property
    def probe_core(self):
        """One of its own where there are three."""
        return self.cores[-2]

    def setting(self, workers, huge):
        """So many workers on the last cores; where there are no others, one of them shares its core."""
        return Setting(self.directory, self.cores[0], self.cores[-workers:], huge)

    def memory_bytes(self, workloads):
        """The most that one of the contenders needs for one of them, since they take turns."""
        return max(
            contender.memory_bytes(workload)
            for contender in self.contenders
            for workload in workloads
            if contender.refuses(workload) is None
        )


def throughput(plan, row):
    """One core, all sizes and flows."""
    cases = [(plan.workload(size, flows), 1) for flows in plan.flows for size in plan.sizes]
    return measure_all(plan, row, cases)


def workers(plan, row):
    """One core, two with a pair of ports for each, and two that share one pair by two queues of each port. These have as many
    frames in all as the one queue has."""
    one = plan.workload(128, plan.flows[0])
    two = dataclasses.replace(one, pairs=2)
    cases = [(one, 1), (two, 1), (two, 2)]
    for frame_bytes in (128, 1082):
        alone = dataclasses.replace(one, frame_bytes=frame_bytes)
        shared = dataclasses.replace(alone, queues=2, packets_per_flow=max(one.packets_per_flow // 2, 1))
        cases += [(alone, 1)] if frame_bytes != one.frame_bytes else []
        cases += [(shared, 2)]
    return measure_all(plan, row, cases)


FLOWS_OF_SWEEP = (16, 4_096, 65_536, 1_048_576)
FRAMES_OF_SWEEP = 65_536


def of_sweep(frame_bytes, count, frames):
    """So many flows among as many frames as all others have, so that the source costs the same; more flows than
    there are frames need more of them, and what that costs is seen where flows are not looked at."""
    return Workload(frame_bytes, count, max(frames // (count // 2), 1))


def flows(plan, row):
    """One core, frames of 128 bytes, ever more flows."""
    counts = FLOWS_OF_SWEEP[:1] if plan.quick else FLOWS_OF_SWEEP
    return measure_all(plan, row, [(of_sweep(128, count, FRAMES_OF_SWEEP), 1) for count in counts])


OBSERVED_SIZES = (64, 1082)
BUDGET_FLOWS = (512, 4_096, 65_536, 1_048_576)
BUDGET_BYTES = 1082
# At each port: one of each flow where there are most, 16 where there are 65,536, and then sequence numbers start again.
FRAMES_OF_BUDGET = 524_288
BUDGET_CONTENDERS = ("testpmd-io", "longspan-forwarding", "longspan-everything")


def budget(plan, row):
    """One core, full frames of RoCEv2, ever more flows: whether a core keeps up with a link."""
    chosen = tuple(contender for contender in plan.contenders if contender.name in BUDGET_CONTENDERS)
    if not chosen:
        raise Failed(f"budget: needs one of {', '.join(BUDGET_CONTENDERS)}")
    plan = dataclasses.replace(plan, contenders=chosen)
    counts, frames = (BUDGET_FLOWS[:1], FRAMES_OF_SWEEP) if plan.quick else (BUDGET_FLOWS, FRAMES_OF_BUDGET)
    return measure_all(plan, row, [(of_sweep(BUDGET_BYTES, count, frames), 1) for count in counts])


def observed(plan, row):
    """One core, without and with `top`, events that are followed, a capture of control frames, and a scrape a second."""
    chosen = tuple(contender for contender in plan.contenders if isinstance(contender, Longspan))
    if not chosen:
        raise Failed("observed: needs one of longspan-forwarding, longspan-everything")
    plan = dataclasses.replace(plan, contenders=chosen)
    cases = [(plan.workload(size, plan.flows[0]), 1) for size in OBSERVED_SIZES]
    return measure_all(plan, row, cases, companies_take_turns)


AGAINST_BYTES = (128, 1082)
AGAINST_FLOWS = (65_536, 1_048_576)


def against(plan, row):
    """This tree and another commit: all sizes with few flows, two of them with many, and two workers."""
    few = [plan.workload(size, plan.flows[0]) for size in plan.sizes]
    sweep = () if plan.quick else AGAINST_FLOWS
    many = [of_sweep(size, count, FRAMES_OF_SWEEP) for count in sweep for size in AGAINST_BYTES]
    two = dataclasses.replace(plan.workload(128, plan.flows[0]), pairs=2)
    return measure_all(plan, row, [*((workload, 1) for workload in few + many), (two, 2)])


def measure_all(plan, row, cases, take_turns=None):
    rows = []
    with machine.huge_pages(plan.memory_bytes([workload for workload, _ in cases])) as huge:
        if not huge:
            plan.say("no huge pages: everybody runs with --no-huge, which costs all of them")
        for workload, count in cases:
            setting = plan.setting(count, huge)
            case = f"{workload}, {workload.packets_per_flow} packets of each, workers: {count}"
            measure = functools.partial(measure_case, plan, workload, setting, take_turns or contenders_take_turns)
            rows.append(row(case, measure))
    return rows


def measure_case(plan, workload, setting, take_turns):
    workload.make_captures(plan.maker, plan.directory)
    try:
        runs, refused = take_turns(plan, workload, setting)
    finally:
        workload.remove_captures(plan.directory)
    return {
        "frame_bytes": workload.frame_bytes,
        "flows": workload.flows,
        "packets_per_flow": workload.packets_per_flow,
        "ports": workload.ports,
        "queues": workload.queues,
        "workers": len(setting.workers),
        "huge_pages": setting.huge,
        "contenders": {name: summary(runs[name], refused[name]) for name in runs},
    }


def contenders_take_turns(plan, workload, setting):
    """What disturbs one contender disturbs all."""
    runs = {contender.name: [] for contender in plan.contenders}
    refused = {contender.name: contender.refuses(workload) for contender in plan.contenders}
    for turn in range(plan.repeats):
        for contender in plan.contenders:
            if refused[contender.name] is None:
                plan.say(f"{workload}, workers: {len(setting.workers)}, turn {turn + 1}: {contender.name}")
                run_or_failure(runs, refused, contender, workload, setting, plan)
    return runs, refused


def companies_take_turns(plan, workload, setting):
    """Each contender is one process in all turns, since two processes differ by more than watching costs."""
    runs, refused = {}, {}
    for contender in plan.contenders:
        plan.say(f"{workload}, turns: {plan.repeats}: {contender.name}")
        of_contender = {f"{contender.name}{suffix}": [] for suffix in COMPANIES}
        reason = None
        try:
            devices = workload.devices(setting.directory)
            with contender.forwarding(workload, devices, setting) as running:
                for turn in range(plan.repeats):
                    for suffix in rotated(list(COMPANIES), turn):
                        run_of_turn = run_in(COMPANIES[suffix], running, setting, plan.seconds)
                        of_contender[f"{contender.name}{suffix}"].append(run_of_turn)
        except Failed as failure:
            plan.say(str(failure))
            reason = str(failure)
            of_contender = {name: [] for name in of_contender}
        runs |= of_contender
        refused |= dict.fromkeys(of_contender, reason)
    return runs, refused


def rotated(items, by):
    """None comes after the same one in all turns: where the machine becomes slower, it does so for all."""
    by %= len(items)
    return items[by:] + items[:by]


def run_in(company, running, setting, seconds):
    with running.beside(company(running, setting.directory), setting):
        time.sleep(WARM_UP_SECONDS)
        return running.measure(time.sleep, seconds)


def run_or_failure(runs, refused, contender, workload, setting, plan):
    """A contender that fails once is left out of the row: half a median says nothing."""
    try:
        runs[contender.name].append(run(contender, workload, setting, plan.seconds))
    except Failed as failure:
        plan.say(str(failure))
        refused[contender.name] = str(failure)
        runs[contender.name].clear()


def run(contender, workload, setting, seconds):
    with contextlib.ExitStack() as stack:
        devices = workload.devices(setting.directory)
        running = stack.enter_context(contender.forwarding(workload, devices, setting))
        time.sleep(WARM_UP_SECONDS)
        return running.measure(time.sleep, seconds)


def summary(runs, refused):
    if not runs:
        return {"refused": refused}
    rates = [run["frames_per_second"] for run in runs]
    return {
        "frames_per_second": round(statistics.median(rates)),
        "least": min(rates),
        "most": max(rates),
        "worker_share": min(run["worker_share"] for run in runs),
        "runs": runs,
    }


# The function that measures a part, and the one that prints its tables.
PARTS = {
    "throughput": (throughput, tables),
    "workers": (workers, tables),
    "flows": (flows, tables),
    "budget": (budget, budget_table),
    "observed": (observed, observed_table),
    "latency": (latency, latency_table),
}
# With another commit, instead of those.
AGAINST = {"against": (against, against_table)}
