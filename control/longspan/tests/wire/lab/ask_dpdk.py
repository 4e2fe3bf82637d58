"""Asks DPDK for two open devices by way of a gateway until that is gone: ask_dpdk.py SOCKET

An answer says either what it was asked for, or why the gateway has not passed the command on. The null of DPDK alone is a
failure: DPDK was asked for a device that it had closed."""

import itertools
import json
import socket
import sys

COMMANDS = [f"/ethdev/{what}" for what in ("stats", "xstats", "info", "link_status")]
LONGEST_ANSWER = 1 << 18


def main(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect(path)
    client.recv(LONGEST_ANSWER)
    asked = 0
    for command, device in itertools.cycle(itertools.product(COMMANDS, (0, 1))):
        client.send(f"{command},{device}".encode())
        text = client.recv(LONGEST_ANSWER)
        if not text:
            return
        answer = json.loads(text)
        if answer[command] is None and "error" not in answer:
            sys.exit(f"{command},{device}: DPDK has no such device")
        asked += 1
        if asked == len(COMMANDS):
            print("asked", flush=True)


try:
    main(sys.argv[1])
except ConnectionError:
    pass
