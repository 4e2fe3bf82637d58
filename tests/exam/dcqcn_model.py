"""DCQCN at one bottleneck, from its paper alone: a control for what the exam finds at Longspan's switch and hosts.

The rules are those of "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), section 3, with the
parameters of its testbed. Packets of one size are sent at the flows' rates, and marked as they leave the queue, which
loses nothing. There are no pauses, acknowledgements or links of hosts.
"""

import collections
import heapq
import random

LINE = 100e9
# 4,096 bytes with their headers, FCS, preamble and gap.
PACKET = 8 * 4178
DELAY = 2e-6
CNP_INTERVAL, TIMER, ALPHA_TIMER = 50e-6, 55e-6, 55e-6
BYTE_COUNTER, FAST_RECOVERY, GAIN = 8 * 10e6, 5, 1 / 256
ADDITIVE_INCREASE, HYPER_INCREASE = 40e6, 400e6
KMIN, KMAX, PMAX = 8 * 400e3, 8 * 1600e3, 0.2


class Sender:
    """The reaction point."""

    def __init__(self, rate):
        self.rate, self.target, self.alpha = rate, rate, 1.0
        self.due, self.reduced = float("inf"), None
        self.times = self.counts = self.sent = 0

    def advance(self, now):
        while self.due <= now:
            self.due += TIMER
            self.times += 1
            self.increase()

    def on_sent(self):
        self.sent += PACKET
        if self.reduced is not None and self.sent >= BYTE_COUNTER:
            self.sent -= BYTE_COUNTER
            self.counts += 1
            self.increase()

    def on_cnp(self, now):
        if self.reduced is not None:
            self.alpha *= (1 - GAIN) ** int((now - self.reduced) / ALPHA_TIMER)
        self.target = self.rate
        self.rate *= 1 - self.alpha / 2
        self.alpha = (1 - GAIN) * self.alpha + GAIN
        self.reduced, self.due = now, now + TIMER
        self.times = self.counts = self.sent = 0

    def increase(self):
        least, most = sorted((self.times, self.counts))
        if least > FAST_RECOVERY:
            self.target += (least - FAST_RECOVERY) * HYPER_INCREASE
        elif most >= FAST_RECOVERY:
            self.target += ADDITIVE_INCREASE
        self.target = min(self.target, LINE)
        self.rate = (self.target + self.rate) / 2


def departures(flows, until_ms, seed):
    """The bits of each flow that leave in each millisecond. The flows begin at twice their fair share."""
    drawn = random.Random(seed)
    senders = [Sender(2 * LINE / flows) for _ in range(flows)]
    notified = [float("-inf")] * flows
    events = [(drawn.random() * PACKET * flows / LINE, "send", flow) for flow in range(flows)]
    heapq.heapify(events)
    queue, free = 0, 0.0
    left = [collections.Counter() for _ in range(until_ms)]
    while events:
        now, what, flow = heapq.heappop(events)
        sender = senders[flow]
        sender.advance(now)
        if 1e3 * now >= until_ms:
            break
        if what == "send":
            queue, free = queue + PACKET, max(now, free) + PACKET / LINE
            sender.on_sent()
            heapq.heappush(events, (free, "leave", flow))
            heapq.heappush(events, (now + PACKET / sender.rate, "send", flow))
        elif what == "leave":
            queue -= PACKET
            left[int(1e3 * now)][flow] += PACKET
            ramp = PMAX * (queue - KMIN) / (KMAX - KMIN) if queue <= KMAX else 1
            if drawn.random() < ramp and now - notified[flow] >= CNP_INTERVAL:
                notified[flow] = now
                heapq.heappush(events, (now + DELAY, "notify", flow))
        else:
            sender.on_cnp(now)
    return left
