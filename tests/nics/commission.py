"""The link of a NIC is commissioned: one end is in the guest, and the other one behind its tap."""

import json
import os
import re
from contextlib import contextmanager

from namespace import INTERFACE
from process import Process, run
from wait import expect, wait_until

KEY = "5c0ff1e5c0ff1e5c0ff1e5c0ff1e5c0f\n"
OPTIONS = ("--port", "lh0", "--for", "1s", "--json", "--key-file")
# RoCE packets of 4,096 bytes.
MTU = 4_200
# Frames that wait while another process has the core.
RING = "receive_descriptors = 4096"
# Packets of 2,048 bytes and more, by bits of their length. The next shorter ones of the course have 1,500.
LONG = ("0x0800 0x0800", "0x1000 0x1000")


@contextmanager
def joined(side, *lost):
    """Joins the tap to a veth, whose end `far` is for the other gateway. Packets of the lengths `lost` are
    dropped on the way to the guest. A filter sees what comes in by an interface, so the tap itself would not do."""

    def redirect(source, sink, place, protocol, match):
        rule = f"filter add dev {source} parent ffff: prio {place} protocol {protocol} u32 match {match}"
        run("tc", "-n", side.namespace, *rule.split(), "action", "mirred", "egress", "redirect", "dev", sink)

    side.ip("link add fibre type veth peer name far")
    try:
        for name in (INTERFACE, "fibre", "far"):
            side.ip(f"link set {name} mtu {MTU} up")
            run("tc", "-n", side.namespace, "qdisc", "add", "dev", name, "ingress")
        for place, length in enumerate(lost, 1):
            # An interface that is down.
            redirect("fibre", "lo", place, "ip", f"u16 {length} at 2")
        redirect("fibre", INTERFACE, 9, "all", "u32 0 0")
        redirect(INTERFACE, "fibre", 9, "all", "u32 0 0")
        yield
    finally:
        side.ip("link del fibre")
        run("tc", "-n", side.namespace, "qdisc", "del", "dev", INTERFACE, "ingress")


def course(bench, *lost):
    """Runs the command at both ends. Returns the report and the exit status of each, the guest first."""
    guest, side = bench.guest, bench.lh0
    bench.gateway.signal("TERM")
    bench.gateway.ended()
    with open(os.path.join(os.path.dirname(__file__), "gateway.toml")) as file:
        text = file.read().replace("mtu = 1500", f"mtu = {MTU}").replace("[port.device]", f"[port.device]\n{RING}")
    with joined(side, *lost):
        far = start_far(bench, text)
        guest.write("/tmp/commission.toml", text)
        guest.write("/tmp/key", KEY)
        command = f"longspan commission /tmp/commission.toml {' '.join(OPTIONS)} /tmp/key"
        guest.run(f"{command} </dev/null >/tmp/report.json 2>/tmp/commission.log & near=$!")
        wait_until("the other end to be done", far.has_ended)
        status = guest.execute("wait $near")[0]
    told = (guest.read("/tmp/report.json"), far.printed())
    expect(all(told), f"no report: {guest.read('/tmp/commission.log')}\n{far.printed('err')}")
    return list(map(json.loads, told)), [status, far.child.returncode]


def start_far(bench, text):
    """Starts the other end. Its file is the guest's but for name, memory and device."""
    side = bench.lh0
    text = text.replace('pci = "0000:00:03.0"', 'interface = "far"').replace('"nics"', f'"{side.namespace}"')
    text = text.replace('hugepages = "require"', 'hugepages = "never"')
    paths = [os.path.join(side.scratch, f"far.{ending}") for ending in ("toml", "key")]
    for path, content in zip(paths, (text, KEY)):
        with open(path, "w") as file:
            file.write(content)
    command = side.within(bench.longspan, "commission", paths[0], *OPTIONS, paths[1])
    far = Process("far", command, side.scratch)
    side.stations.callback(far.close)
    return far


def names(bench, faults, *lost):
    """Commissions the link. Both ends must name these faults and nothing else."""
    reports, statuses = course(bench, *lost)
    shown = json.dumps(reports, indent=1)
    expect(all(report["complete"] for report in reports), shown)
    found = {fault["fault"] for report in reports for step in report["steps"] for fault in step["faults"]}
    expect(found == faults, f"{found} and not {faults}:\n{shown}")
    expect(statuses == [1 if faults else 0] * 2, f"exit status {statuses}:\n{shown}")
    measured = {step["step"]: step["measured"] for step in reports[0]["steps"]}
    shares = [int(share) for share in re.findall(r"at (\d+)% of the link", shown)]
    named = ", ".join(sorted(faults)) or "nothing"
    obeyed = [measured[f"obedience of {end} end"][0].split(";")[1].split(",")[0] for end in ("this", "the other")]
    return (
        f"{named} named; {measured['delay'][0]}; {min(shares)} to {max(shares)}% of the link; "
        f"guest:{obeyed[0]}; other end:{obeyed[1]}"
    )


def names_nothing(bench):
    return names(bench, set())


def names_a_short_mtu(bench):
    return names(bench, {"length"}, *LONG)
