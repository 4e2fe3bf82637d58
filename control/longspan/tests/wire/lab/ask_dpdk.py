"""Asks DPDK for two open devices and its pools of frames by way of a gateway until that refuses: ask_dpdk.py SOCKET

The null of DPDK without a reason of the gateway is a failure: DPDK was asked for a device that it had closed. Nobody asks
on after a refusal: four clients that only spin keep the kernel from closing the gateway's sockets."""

import itertools
import json
import socket
import sys

DEVICES = [(f"/ethdev/{what}", f",{device}") for what in ("stats", "xstats", "info", "link_status") for device in (0, 1)]
COMMANDS = [*DEVICES, ("/mempool/list", "")]
LONGEST_ANSWER = 1 << 18
REFUSED = "DPDK is asked only while the gateway forwards"


def main(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(path)
    client.recv(LONGEST_ANSWER)
    asked = 0
    for command, parameters in itertools.cycle(COMMANDS):
        client.send((command + parameters).encode())
        text = client.recv(LONGEST_ANSWER)
        if not text:
            return
        answer = json.loads(text)
        if answer.get("error") == REFUSED:
            return
        if answer[command] is None and "error" not in answer:
            sys.exit(f"{command}{parameters}: DPDK has no such device")
        asked += answer[command] is not None
        if asked == len(COMMANDS):
            print("asked", flush=True)


try:
    main(sys.argv[1])
except ConnectionError:
    pass
