"""Reads /metrics of the gateway in this namespace repeatedly, until SIGTERM.

    scrape.py

Counters must never fall while a gateway runs. The last line of its output is JSON: the number of answers,
how often nobody listened or an answer had no end, and the faults of answers."""

import json
import signal
import socket
import time

# The default address of `metrics`.
ADDRESS = ("127.0.0.1", 9464)
# In seconds.
BETWEEN_SCRAPES = 0.1
PATIENCE = 20
START = "longspan_start_time_seconds"
GOOD = "HTTP/1.1 200 OK"
END = "# EOF\n"

stopping = False


def stop(*_):
    global stopping
    stopping = True


def scrape():
    with socket.create_connection(ADDRESS, PATIENCE) as connection:
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: it\r\nAccept: application/openmetrics-text\r\n\r\n")
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def samples(text):
    if not text.startswith(GOOD):
        return {}
    body = text.split("\r\n\r\n", 1)[-1]
    lines = (line.rsplit(" ", 1) for line in body.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, value in lines}


def complaint(text, before, now):
    if not text.startswith(GOOD):
        return text.split("\r\n", 1)[0]
    if before.get(START) != now.get(START):
        return None
    for name, value in before.items():
        if "_total" in name and now.get(name, value) < value:
            return f"{name} fell from {value} to {now[name]}"
    return None


def main():
    signal.signal(signal.SIGTERM, stop)
    told = {"answers": 0, "refused": 0, "wrong": []}
    before = {}
    print("scraping", flush=True)
    while not stopping:
        try:
            text = scrape()
        except OSError:
            # Nobody listens.
            text = ""
        if not text or (text.startswith(GOOD) and not text.endswith(END)):
            # Also where a gateway is killed that has read the request: the kernel ends its answer, as for one that is whole.
            told["refused"] += 1
        else:
            now = samples(text)
            wrong = complaint(text, before, now)
            if wrong:
                told["wrong"].append(wrong)
            told["answers"] += 1
            before = now or before
        time.sleep(BETWEEN_SCRAPES)
    print(json.dumps(told))


main()
