"""The counters of both gateways while a test ran."""

from dataclasses import dataclass

from pair import DATA, DEVICE_LOSSES, LINK, LINK_LOSSES, LOSSLESS, port
from wait import Failure, wait_until

NEAR_TO_FAR, FAR_TO_NEAR = ("near", "far"), ("far", "near")
POINTS = ("in at the first gateway", "onto the link", "off the link", "out at the second gateway")
SETTLED_SECONDS = 20.0


@dataclass(frozen=True)
class Count:
    """Frames of one priority at a place, and their bytes without FCS."""

    frames: int
    bytes: int

    def __sub__(self, earlier):
        return Count(self.frames - earlier.frames, self.bytes - earlier.bytes)

    def __str__(self):
        return f"{self.frames} frames, {self.bytes} bytes"


def way(shown, direction, priority):
    """The counts at the four places that a frame passes, in their order."""
    first, second = direction
    places = (
        (first, DATA, "ingress", "received"),
        (first, LINK, "egress", "transmitted"),
        (second, LINK, "ingress", "received"),
        (second, DATA, "egress", "transmitted"),
    )
    return [Count(**port(shown[side], name)["priorities"][priority][half][what]) for side, name, half, what in places]


class Meter:
    """Counts from its creation on."""

    def __init__(self, pair, priority=LOSSLESS):
        self.pair, self.priority = pair, priority
        self.first = pair.show()

    def since(self, direction, shown=None):
        pairs = zip(way(shown or self.pair.show(), direction, self.priority), way(self.first, direction, self.priority))
        return [later - earlier for later, earlier in pairs]

    def settled(self, direction, least):
        """The count of a direction when all that came in is out again, and that is at least so many frames.

        Fails where the four places differ: then frames are missing, or there are too many. If the link loses frames,
        each gateway is looked at by itself, and the count is that of the first one."""

        def has_settled():
            counts = self.since(direction)
            parts = (counts[:2], counts[2:]) if self.pair.loses else (counts,)
            return counts if all(len(set(part)) == 1 for part in parts) and counts[0].frames >= least else None

        try:
            return wait_until("the counts of both gateways to agree", has_settled, SETTLED_SECONDS)[0]
        except Failure:
            told = "; ".join(f"{point}: {count}" for point, count in zip(POINTS, self.since(direction)))
            raise Failure(f"the counts differ, or are less than {least} frames: {told}") from None


def losses(shown):
    """Every counter of lost frames that is not zero, by its place."""
    found = {}
    for side, gateway in shown.items():
        for each in gateway["ports"]:
            place = f"{side} {each['name']}"
            for key in ("dropped_at_ingress", "dropped_at_egress"):
                found |= {f"{place} {reason}": count["frames"] for reason, count in each[key].items()}
            counters = {key: each["counters"][key] for key in DEVICE_LOSSES}
            counters["control"] = each["counters"]["control"]["lost"]
            counters |= {f"link {key}": (each["emulation"] or {}).get(key, 0) for key in LINK_LOSSES}
            found |= {f"{place} {key}": count for key, count in counters.items()}
    return {place: count for place, count in found.items() if count}
