"""The tests of UNH-IOL's suites for Data Center Bridging: PFC and ETS in replays, DCBX on a link in namespaces.

Of the suites for ETS (1.2) and DCBX (1.9) the names of tests are public; what they ask is restated from the clauses of
IEEE 802.1Q that they name. Nothing of the suite for PFC (2.0) could be had: its cases are those of the clauses.
"""

import functools

from case import Case, NotRun
from link import APPLICATIONS, ETS, ETS_RECOMMENDATION, PFC, Link, announcement, of_ieee, run, wait_until
from sonic import ALL, EVERY_TIME, LOSSY, RATE, WITHOUT, counted, lost, under_control_frames, under_storm, until
from traffic import (
    FOREVER, MAC_CONTROL, START, alone, pause_ns, pfc, play, rate_of, settings, stream, taking_turns,
    versus,
)

PFC_CLAUSE = "IEEE 802.1Q-2018 clause 36, 802.3-2018 annex 31D"
ETS_SUITE = "UNH-IOL ETS 1.2, test"
DCBX_SUITE = "UNH-IOL DCBX 1.9, test"
DCBX_CLAUSE = "IEEE 802.1Q-2018 D.2"

# PFC


def each_priority(longspan, work, quick, lossless=ALL):
    """A pause of each priority by itself, and of all eight together."""
    failed = []
    for stopped in [*((priority,) for priority in ALL), ALL]:
        own = work / f"{stopped[0]}-{len(stopped)}"
        held, _ = under_storm(longspan, own, True, stopped, stopped, lossless=lossless)
        failed += [] if held else [stopped]
    return not failed, f"{9 - len(failed)} of 9 sets of priorities held, and no other frame"


def gaps(longspan, work, quick, frames=(), wanted=None, lossless=(3, 4)):
    """For how long priorities are silent after PFC frames, each at a time after the start."""
    end = START + 4_000_000
    streams = {"a": taking_turns(START, end, RATE, ALL), "b": [[(START + at, pfc(times)) for at, times in frames]]}
    played = play(longspan, work, settings({"a": "10G", "b": "10G"}, lossless), streams)
    begins, texts, ok = START + frames[0][0], [], True
    for priority, quanta in wanted.items():
        due = begins + pause_ns(quanta, RATE)
        took = next(a.at for a in played.data("b", priority) if a.at > begins + 1_000) - begins
        # A frame of another priority may be on the link when the pause ends.
        ok &= 0 <= begins + took - due <= 10_000
        texts.append(f"priority {priority} {took / 1e3:.2f} us of {pause_ns(quanta, RATE) / 1e3:.2f}")
    return ok, ", ".join(texts)


def own_frames(longspan, work, quick):
    """The PFC frames that the gateway sends, field by field."""
    end = until(True)
    streams, _ = counted([stream(START, end, 2 * RATE, 3)])
    played = play(longspan, work, settings({"a": "20G", "b": "10G"}), {"a": streams, "b": []})
    own = [frame for _, _, frame in played.outputs["a"] if frame[12:14] == b"\x88\x08"]
    head = MAC_CONTROL + bytes.fromhex("020000000001") + b"\x88\x08\x01\x01\x00\x08"
    wrong = [frame for frame in own if len(frame) != 60 or frame[:18] != head or any(frame[18:24] + frame[26:])]
    times = [int.from_bytes(frame[24:26], "big") for frame in own]
    ok = not wrong and len(own) > 1 and times[-1] == 0 and all(times[:-1])
    return ok, f"{len(own)} frames, {len(wrong)} with a wrong field; the last one resumes: {times[-1:] == [0]}"


# ETS


def classes(longspan, work, quick, weights=(), offered=None, expected=None, strict=()):
    """Classes share a link by their weights, in per cent of it, while each offers the whole link or what is stated."""
    end = until(quick) if not quick else START + 10_000_000
    offered = {priority: 1.0 for priority, _ in weights} | (offered or {})
    total = sum(weight for _, weight in weights)
    expected = expected or {priority: weight / total for priority, weight in weights}
    queues = [f"[[port.queue]]\npriorities = [{p}]\nscheduling = \"weighted\"\nweight = {w}\n" for p, w in weights]
    queues += [f'[[port.queue]]\npriorities = [{priority}]\nscheduling = "strict"\n' for priority in strict]
    streams = [stream(START + p * 50, end, part * RATE, p) for p, part in offered.items()]
    configuration = settings({"a": "100G", "b": "10G"}, (), queues="".join(queues), mtu="1500")
    played = play(longspan, work, configuration, {"a": streams, "b": []})
    settled = START + (end - START) // 4
    got = {p: rate_of(played.data("b", p), settled, end) / RATE for p in expected}
    off = max(abs(got[p] / share - 1) for p, share in expected.items())
    return off <= 0.1, f"{', '.join(f'{got[p]:.1%} of {share:.1%}' for p, share in expected.items())}"


def lossy_and_lossless(longspan, work, quick, lossless=(3,)):
    """A lossless class and a lossy one of the same weight, each with 60 % of the link."""
    end = until(quick) if not quick else START + 10_000_000
    streams, sent = counted([stream(START, end, 0.6 * RATE, priority) for priority in (1, 3)])
    small = '[buffer]\nshared = "400kB"'
    configuration = settings({"a": "100G", "b": "10G"}, lossless, more=small, mtu="1500")
    played = play(longspan, work, configuration, {"a": streams, "b": []})
    gone = {priority: lost(played, sent, (priority,)) for priority in (1, 3)}
    got = [rate_of(played.data("b", priority), START + 2_000_000, end) / RATE for priority in (1, 3)]
    ok = max(abs(share - 0.5) for share in got) <= 0.05 and not gone[3] and gone[1] and played.paused("a") == [3]
    return bool(ok), f"shares {got[0]:.1%}, {got[1]:.1%}; lossy lost {gone[1]}, lossless lost {gone[3]}"


# DCBX

LOWER, HIGHER = bytes.fromhex("020000009901"), bytes.fromhex("020000009920")
ANNOUNCES, FOLLOWS = "roce = 3", "roce = 3\nwilling = [4]"
# Eight classes by number, each with an eighth of the link but one, by ETS.
OTHER_ETS = bytes.fromhex("0001234567") + bytes((16, 12, 12, 12, 12, 12, 12, 12)) + bytes([2] * 8)


def linked(longspan, work, quick, check=None, lldp=ANNOUNCES):
    with Link(longspan, work, lldp) as link:
        return check(link)


def one_of(link, subtype):
    """The only TLV of this subtype in the first announcement; None where there is none, or another number."""
    frame = link.announced(10)
    found = of_ieee(frame, subtype) if frame else []
    return found[0] if len(found) == 1 else None


def ets_is_well_formed(link, subtype):
    """Reserved bits zero, classes that exist, known algorithms, and bandwidths that add up to 100 where they count."""
    value = one_of(link, subtype)
    if value is None or len(value) != 21:
        return False, "no such TLV of the right length"
    first, map_, bandwidths, algorithms = value[0], value[1:5], value[5:13], value[13:]
    number = (first & 7 or 8) if subtype == ETS else 8
    assigned = [nibble for octet in map_ for nibble in (octet >> 4, octet & 15)]
    by_ets = [bandwidth for bandwidth, algorithm in zip(bandwidths, algorithms) if algorithm == 2]
    strict = [bandwidth for bandwidth, algorithm in zip(bandwidths, algorithms) if algorithm == 0]
    reserved = first & (0x38 if subtype == ETS else 0xFF)
    ok = not reserved and max(assigned) < number and set(algorithms) <= {0, 1, 2, 255}
    ok = ok and sum(by_ets) == 100 and not any(strict)
    return ok, f"{number} classes, bandwidths {'+'.join(map(str, by_ets))} = {sum(by_ets)}, {len(strict)} strict"


def pfc_is_well_formed(link):
    value = one_of(link, PFC)
    ok = value is not None and len(value) == 2 and not value[0] & 0x30 and 2 <= value[0] & 15 <= 8 and value[1] == 0x18
    return ok, f"TLV {value.hex() if value else 'missing'}"


def applications_are_well_formed(link):
    value = one_of(link, APPLICATIONS)
    return value == bytes.fromhex("006312b7"), f"TLV {value.hex() if value else 'missing'}"


def keeps_its_ets(link):
    """A neighbour that is not willing has, and recommends, another ETS: ours is not willing, and stays."""
    before = one_of(link, ETS)
    link.keep_saying(8, announcement(HIGHER, (ETS, OTHER_ETS), (ETS_RECOMMENDATION, OTHER_ETS)))
    after = one_of(link, ETS)
    told = "ets" in [mismatch["kind"] for mismatch in link.shown()["neighbours"][0]["mismatches"]]
    return before == after and not before[0] & 0x80 and told, f"unchanged: {before == after}, reported: {told}"


def ignores_a_malformed_recommendation(link):
    """The TLV is an octet short. It is ignored, and the PFC behind it is taken."""
    bad = (ETS_RECOMMENDATION, OTHER_ETS[:-1])
    link.keep_saying(8, announcement(HIGHER, bad, (PFC, bytes((8, 8)))))
    shown, enabled = link.shown(), link.enabled(4)
    discarded = shown["lldp"]["discarded_tlvs"]
    return discarded > 0 and enabled == [3], f"{discarded} TLVs discarded; PFC follows: {enabled == [3]}"


def pfc_of(priorities, willing=False, cut=False):
    value = bytes((willing << 7 | 8, sum(1 << priority for priority in priorities)))
    return (PFC, value[:1] if cut else value)


def hears(*frames, stays):
    """A check of what the gateway announces of its PFC once it has heard these announcements for long enough."""

    def check(link):
        link.keep_saying(12, *frames)
        enabled = link.enabled(8, lambda enabled: enabled == stays) or link.enabled(4)
        return enabled == stays, f"PFC for {enabled}"

    return check


def returns_when_the_neighbour_leaves(link):
    link.keep_saying(8, announcement(HIGHER, pfc_of([3])))
    first = link.enabled(4)
    link.socket.send(announcement(HIGHER, ttl=0))
    then = link.enabled(50, lambda enabled: enabled == [3, 4])
    return first == [3] and then == [3, 4], f"PFC for {first}, then for {then}"


# DCBX with lldpad


def lldpad_reads(link):
    """lldpad prints what the gateway announces."""
    link.start_lldpad(PFC="willing=no enabled=3,4")
    told = wait_until("lldpad to hear the gateway", lambda: "Ifname: g0" in (t := link.lldptool("-t", "-n")) and t)
    wanted = ("PFC enabled: 3 4", "Willing: no", "TC Bandwidth: 12% 11% 11% 33% 22% 11% 0% 0%")
    wanted += ("4:ets 5:ets 6:strict 7:strict", "UDP or DCCP Port: 4791")
    missing = [words for words in wanted if words not in told]
    neighbour = wait_until("the gateway to hear lldpad", lambda: link.shown()["neighbours"])[0]
    agree = "pfc_priorities" not in [mismatch["kind"] for mismatch in neighbour["mismatches"]]
    return not missing and agree and neighbour["pfc"]["enabled"] == [3, 4], f"missing: {missing or 'nothing'}"


def with_lldpad(link, pfc_words="", address=None, ours=None, lldpads=None):
    """What both ends have in force once they have talked: these priorities, or the same where none are stated."""
    if address:
        run("ip", "-n", link.tester, "link", "set", "e0", "address", address)
    link.start_lldpad(PFC=pfc_words)
    wait_until("the gateway to hear lldpad", lambda: link.shown()["neighbours"])
    # The two may agree for a moment on the way: only what stands after ten announcements of each is judged.
    link.keep_saying(10)
    enabled = link.enabled(4)
    [line] = [line for line in link.lldptool("-t", "-V", "PFC").splitlines() if "PFC enabled" in line]
    far = [int(word) for word in line.split(":")[1].split() if word.isdigit()]
    agree = enabled == far if ours is None else (enabled, far) == (ours, lldpads)
    return agree, f"gateway {enabled}, lldpad {far}"


def lldpad_leaves(link):
    lldpad = link.start_lldpad(PFC="willing=no enabled=3,4")
    wait_until("the gateway to hear lldpad", lambda: link.shown()["neighbours"])
    lldpad.terminate()
    left = wait_until("the neighbour to leave", lambda: not link.shown()["neighbours"])
    return left, "the neighbour left with lldpad's shutdown"


p = functools.partial


def on_link(check, lldp=ANNOUNCES, control=None):
    """A case on a link. Its control is another check, or none, and other keys of the agent."""
    run_ = p(linked, check=check, lldp=lldp)
    return versus(run_, p(linked, check=control[0] or check, lldp=control[1])) if control else alone(run_)


BOTH_TIMES = ((1_000_000, {3: 1_000, 4: 3_000}),)
SHORTER = ((1_000_000, {3: 60_000}), (1_050_000, {3: 1_000}))
# 50 us and 1,000 quanta, in quanta.
SHORTENED = {3: 1_977}
TIE = "willing=yes enabled=3"
NO_DCBX = (None, "dcbx = false")
WITHIN = "within 10 % of its bandwidth"
UNWILLING, WILLING = announcement(HIGHER, pfc_of([3])), announcement(HIGHER, pfc_of([3], willing=True))
FOLLOWED = hears(UNWILLING, stays=[3])


def ets_case(number, what, weights, threshold=WITHIN, **more):
    """A case of ETS, whose control gives all classes one weight."""
    total = sum(weight for _, weight in weights)
    expected = more.pop("expected", {priority: weight / total for priority, weight in weights})
    check = p(classes, expected=expected, **more)
    equal = tuple((priority, 1) for priority, _ in weights)
    run_ = versus(p(check, weights=weights), p(check, weights=equal))
    return Case(f"37.1.{number}", what, threshold, f"{ETS_SUITE} 37.1.{number}; IEEE 802.1Q-2018 37.3", run_)


CASES = [
    Case("PFC-each", "a pause of each priority, and of all eight",
        "exactly no frame of it; all others within 2 %", PFC_CLAUSE,
        versus(each_priority, p(each_priority, lossless=(3, 4)))),
    Case("PFC-off", "pauses of priorities without PFC", "all flows within 2 % of their rate, none lost",
        PFC_CLAUSE,
        versus(
            p(under_control_frames, frames=(pfc(dict.fromkeys(LOSSY, FOREVER)),)),
            p(under_control_frames, frames=(pfc(dict.fromkeys(LOSSY, FOREVER)),), lossless=ALL),
        )),
    Case("PFC-vector", "times of priorities that the vector does not enable", "as before", PFC_CLAUSE,
        versus(
            p(under_control_frames, frames=(pfc(EVERY_TIME, vector=0),)),
            p(under_control_frames, frames=(pfc(EVERY_TIME),)),
        )),
    Case("PFC-zero", "times of zero where nothing is paused", "as before", PFC_CLAUSE,
        alone(p(under_control_frames, frames=(pfc(dict.fromkeys(ALL, 0)),)))),
    Case("PFC-times", "two priorities in one frame, each with its time",
        "each waits for its own, within a turn of others", PFC_CLAUSE,
        versus(
            p(gaps, frames=BOTH_TIMES, wanted={3: 1_000, 4: 3_000}),
            p(gaps, frames=BOTH_TIMES, wanted={3: 1_000, 4: 3_000}, **WITHOUT),
        )),
    Case("PFC-newest", "a shorter time while a longer one runs", "the newest holds", PFC_CLAUSE,
        versus(p(gaps, frames=SHORTER, wanted=SHORTENED), p(gaps, frames=SHORTER[:1], wanted=SHORTENED))),
    Case("PFC-format", "the PFC frames that the gateway sends",
        "60 bytes, 01-80-C2-00-00-01, opcode 0x0101, only its bit and its time; zero at last", PFC_CLAUSE,
        alone(own_frames)),
    ets_case(1, "two classes, 30 and 70 %", ((0, 30), (1, 70))),
    ets_case(2, "three classes, 10, 30 and 60 %", ((0, 10), (1, 30), (2, 60))),
    ets_case(3, "four classes, 10 to 40 %", ((0, 10), (1, 20), (2, 30), (3, 40))),
    ets_case(4, "eight classes, 5 to 20 %", tuple(zip(ALL, (5, 5, 10, 10, 15, 15, 20, 20)))),
    ets_case(5, "a class of 50 % offers 10 %: two of 20 and 30 % share the rest",
        ((0, 20), (1, 30), (2, 50)), offered={2: 0.1}, expected={0: 0.36, 1: 0.54, 2: 0.1}),
    Case("37.1.6", "a lossy and a lossless class of one weight, 60 % each",
        "half of the link each within 10 %; the lossy one alone loses",
        f"{ETS_SUITE} 37.1.6; IEEE 802.1Q-2018 37.3",
        versus(lossy_and_lossless, p(lossy_and_lossless, **WITHOUT))),
    ets_case(7, "a strict class offers 40 %, two of 25 and 75 % share the rest", ((0, 25), (1, 75)),
        "the strict one has all that it offers, the others are " + WITHIN, strict=(7,), offered={7: 0.4},
        expected={7: 0.4, 0: 0.15, 1: 0.45}),
    Case("38.1.1", "the ETS configuration TLV",
        "one, 25 octets, reserved bits zero, bandwidths add up to 100",
        f"{DCBX_SUITE} 38.1.1; {DCBX_CLAUSE}.8",
        on_link(p(ets_is_well_formed, subtype=ETS), control=NO_DCBX)),
    Case("38.1.2", "the ETS recommendation TLV", "as before", f"{DCBX_SUITE} 38.1.2; {DCBX_CLAUSE}.9",
        on_link(p(ets_is_well_formed, subtype=ETS_RECOMMENDATION), control=NO_DCBX)),
    Case("38.1.3", "a neighbour recommends another ETS",
        "not willing, so nothing changes; the difference is reported",
        f"{DCBX_SUITE} 38.1.3; IEEE 802.1Q-2018 D.4", on_link(keeps_its_ets)),
    Case("38.1.4", "a malformed ETS recommendation TLV before a good PFC TLV",
        "the first ignored, the second followed", f"{DCBX_SUITE} 38.1.4; IEEE 802.1AB-2016 9.2",
        on_link(ignores_a_malformed_recommendation, FOLLOWS)),
    Case("38.2.1", "the PFC TLV", "one, 6 octets, reserved bits zero, PFC for 3 and 4",
        f"{DCBX_SUITE} 38.2.1; {DCBX_CLAUSE}.10", on_link(pfc_is_well_formed, control=NO_DCBX)),
    Case("38.2.2-keeps", "not willing, a willing neighbour has PFC for 3", "PFC stays for 3 and 4",
        f"{DCBX_SUITE} 38.2.2; IEEE 802.1Q-2018 D.4",
        on_link(hears(WILLING, stays=[3, 4]), control=(hears(UNWILLING, stays=[3, 4]), FOLLOWS))),
    Case("38.2.2-follows", "willing, a neighbour that is not has PFC for 3", "PFC for 3 alone",
        f"{DCBX_SUITE} 38.2.2; IEEE 802.1Q-2018 D.4",
        on_link(FOLLOWED, FOLLOWS, control=(None, ANNOUNCES))),
    Case("38.2.2-lower", "both willing, the neighbour's address is the lower one", "PFC for 3 alone",
        f"{DCBX_SUITE} 38.2.2; IEEE 802.1Q-2018 D.4",
        on_link(
            hears(announcement(LOWER, pfc_of([3], willing=True)), stays=[3]), FOLLOWS,
            control=(hears(WILLING, stays=[3]), FOLLOWS),
        )),
    Case("38.2-malformed", "willing, a PFC TLV that is an octet short", "PFC stays for 3 and 4",
        "UNH-IOL DCBX sample report (2011); IEEE 802.1AB-2016 9.2",
        on_link(
            hears(announcement(HIGHER, pfc_of([3], cut=True)), stays=[3, 4]), FOLLOWS,
            control=(hears(UNWILLING, stays=[3, 4]), FOLLOWS),
        )),
    Case("38.2-leaves", "willing, and the neighbour leaves", "PFC for 3 and 4 again",
        "IEEE 802.1Q-2018 D.4", on_link(returns_when_the_neighbour_leaves, FOLLOWS)),
    Case("38.3-application", "the application priority TLV", "one entry: UDP port 4791 in priority 3",
        f"UNH-IOL DCBX sample report (2011); {DCBX_CLAUSE}.11",
        on_link(applications_are_well_formed, control=NO_DCBX)),
    Case("38-neighbours", "willing, two neighbours on the link", "PFC stays for 3 and 4",
        "UNH-IOL DCBX sample report (2011); IEEE 802.1Q-2018 D.4",
        on_link(
            hears(UNWILLING, announcement(LOWER, pfc_of([3])), stays=[3, 4]), FOLLOWS,
            control=(hears(UNWILLING, stays=[3, 4]), FOLLOWS),
        )),
    Case("lldpad-reads", "lldpad 1.1 as the neighbour, PFC for 3 and 4 at both ends",
        "it prints our PFC, ETS and application priority, and there is no difference", "lldptool(8)",
        on_link(lldpad_reads, control=NO_DCBX)),
    Case("lldpad-follows", "a willing lldpad without PFC", "it has PFC for 3 and 4", "lldptool-pfc(8)",
        on_link(
            p(with_lldpad, pfc_words="willing=yes enabled=none", ours=[3, 4], lldpads=[3, 4]),
            control=(p(with_lldpad, pfc_words="willing=no enabled=none", ours=[3, 4], lldpads=[3, 4]), ANNOUNCES),
        )),
    Case("lldpad-leads", "willing, and an lldpad that is not, with PFC for 3", "PFC for 3 at both ends",
        "lldptool-pfc(8)",
        on_link(
            p(with_lldpad, pfc_words="willing=no enabled=3", ours=[3], lldpads=[3]), FOLLOWS,
            control=(None, ANNOUNCES),
        )),
    Case("lldpad-lower", "both willing, lldpad's address is the lower one",
        "PFC for 3 at both ends, by IEEE 802.1Q D.4.3", "lldptool-pfc(8)",
        on_link(p(with_lldpad, pfc_words=TIE, address="02:00:00:00:99:01", ours=[3], lldpads=[3]), FOLLOWS),
        "lldpad 1.1 follows the higher address, so both ends have what the gateway began with"),
    Case("lldpad-higher", "both willing, lldpad's address is the higher one", "the same PFC at both ends",
        "lldptool-pfc(8)", on_link(p(with_lldpad, pfc_words=TIE, address="02:00:00:00:99:20"), FOLLOWS),
        "of two willing ends lldpad 1.1 lets the one with the lower address follow, the gateway the one with the "
        "higher address, by IEEE 802.1Q D.4.3: here each keeps its own"),
    Case("lldpad-leaves", "lldpad ends", "the neighbour is gone within 60 s, before its TTL of 120 s",
        "IEEE 802.1AB-2016 9.1",
        on_link(lldpad_leaves)),
]

NOT_RUN = [
    NotRun("PFC 2.0", "the cases of the suite for PFC by their numbers", "its text could not be had"),
    NotRun("PFC-MACsec", "bypass of MACsec (MBC)", "the gateway has no MACsec"),
    NotRun("38-CEE", "DCBX in its older form", "the agent does not read it, and reports it"),
    NotRun("38-CN", "congestion notification TLVs, and the suite for 802.1Qau", "the gateway has no 802.1Qau"),
    NotRun("38-CBS", "the credit-based shaper in ETS", "the gateway has none, and says so"),
    NotRun("38.1-willing", "following a recommended ETS", "the agent compares ETS and never applies it"),
    NotRun("38.3-FCoE", "priorities of applications that a neighbour states", "compared, and never applied"),
]
