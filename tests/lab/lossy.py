"""The run and checks over a link that loses frames, with repair or, as the control, without."""

from cell import KIB, Cell
from counts import FAR_TO_NEAR, NEAR_TO_FAR, losses
from pair import LINK, REPAIRED, port
from perftest import Volume
from wait import wait_until

# Messages of one frame, so that about as many acknowledgements come back. Of 12,000 frames none is lost in one run of
# 160,000.
LONG, SHORT = Volume("write", 4, 6_000, KIB), Volume("write", 4, 3_000, KIB)
# What rdma_rxe counts at a host that asks, if it sends again, ...
ASKED = ("completer_retry_err", "rcvd_seq_err", "retry_exceeded_err", "send_err")
# ... and at the one that answers, if a frame is missing or comes once more.
ANSWERED = ("out_of_seq_request", "duplicate_request")
# Frames that the link lost are no drops of a gateway, and copies of frames that had come are no losses.
EXPECTED = (" link lost", " repair_duplicate")
# What must not happen to a frame that is repaired.
FAULTS = ("abandoned", "skipped", "unkept", "outages")


class LossyCell(Cell):
    """A WRITE over a link that loses frames of all priorities. Hosts have data and acknowledgements in the one that is
    repaired."""

    def run(self, is_short):
        is_repaired = self.pair.scheme == REPAIRED
        if is_repaired:
            wait_until("both ends to repair", lambda: all(it["repair"]["is_up"] for it in self.links().values()))
        # Statuses are lost until the other gateway is there.
        before, lost = self.retries(), losses(self.pair.show())
        row = self.volume(SHORT if is_short else LONG)
        retries = self.record["retries"] = {key: count - before[key] for key, count in self.retries().items()}
        found = {place: count for place, count in losses(self.pair.show()).items() if count > lost.get(place, 0)}
        found = {place: count for place, count in found.items() if not place.endswith(EXPECTED)}
        self.check(not found, f"frames were lost elsewhere than on the link: {found}")
        none = {"sent_again": 0, "duplicates": 0}
        self.record["link"] = {
            side: {"lost": it["emulation"]["lost"]} | (it["repair"] or none) for side, it in self.links().items()
        }
        for side, link in self.record["link"].items():
            self.check(link["lost"] > 0, f"the {side} gateway's link lost nothing")
        if is_repaired:
            self.hosts_notice_nothing(retries)
        else:
            self.hosts_send_again(retries, row["counted"]["frames"] - row["expected"]["frames"])

    def links(self):
        return {side: port(shown, LINK) for side, shown in self.pair.show().items()}

    def retries(self):
        near, far = self.near.counters(), self.far.counters()
        return {f"near {key}": near[key] for key in ASKED} | {f"far {key}": far[key] for key in ANSWERED}

    def hosts_notice_nothing(self, retries):
        self.check(not any(retries.values()), f"the link is repaired, but hosts noticed losses: {retries}")
        for side, other in (NEAR_TO_FAR, FAR_TO_NEAR):
            link, in_vain = self.record["link"][side], self.record["link"][other]["duplicates"]
            self.check(link["sent_again"] > in_vain, f"the {side} gateway sent nothing again that was lost")
            faults = {key: link[key] for key in FAULTS if link[key]}
            self.check(not faults, f"the {side} gateway did not repair all: {faults}")

    def hosts_send_again(self, retries, more):
        self.check(more > 0, "nothing is repaired, but no host sent a frame again")
        for key in ("near completer_retry_err", "far out_of_seq_request"):
            self.check(retries[key] > 0, f"nothing is repaired, but {key} is 0")
