"""The tables that a run prints."""


def volumes(cells):
    rows = [
        [
            cell["scheme"], cell["delay_ms"], row["test"], row["perftest_messages"], row["perftest_bytes"],
            row["expected"]["frames"], row["expected"]["bytes"], row["counted"]["frames"], row["counted"]["bytes"],
            sum(cell["losses"].values()),
        ]
        for cell in cells
        for row in cell["volumes"] + cell.get("sweep", [])
    ]  # fmt: skip
    head = ["scheme", "ms", "test", "messages", "bytes", "= frames", "= bytes", "gateways: frames", "bytes", "lost"]
    print("\nBYTES: perftest's, the frames that they take, and what both gateways counted, at four places alike")
    table(head, rows)


def latencies(cells):
    rows = [
        [cell["scheme"], cell["delay_ms"], row["test"], row["light_us"], row["min_us"], row["median_us"]]
        for cell in cells
        for row in cell["latencies"]
    ]
    print("\nLATENCY in microseconds, beside the time of light over the emulated distance (there and back for READ)")
    table(["scheme", "ms", "test", "light", "minimum", "median"], rows)


def slow_receivers(cells):
    rows = []
    for cell in cells:
        acted = cell["slow_receiver"]
        told = f"{len(acted['pairs_told'])} of {len(acted['pairs_printed'])}"
        rows.append([
            cell["scheme"], cell["delay_ms"], acted["pauses"], acted["paused_ms"], acted["paused_slots"],
            acted["headroom_bytes"], acted["cnps"], acted["cnps_captured"], told if acted["cnps"] else "none",
        ])  # fmt: skip
    head = ["scheme", "ms", "pauses", "paused ms", "paused slots", "host's headroom", "CNPs counted", "captured", "told"]
    print("\nSLOW RECEIVER: what the link's scheme did, and the queue pairs that LSCC told, of those that perftest printed")
    table(head, rows)


def sweeps(cells):
    rows = [
        [
            cell["delay_ms"], row["test"], row["asked_bytes"], row["outstanding_bytes"],
            *(megabits(row[f"{key}bits_per_second"]) for key in ("most_", "simulated_", "")),
        ]
        for cell in cells
        for row in cell.get("sweep", [])
    ]  # fmt: skip
    if rows:
        head = ["ms", "test", "size x depth", "outstanding", "at most Mb/s", "simulated", "perftest"]
        print("\nWINDOW: throughput by what is outstanding; at most that in a round trip")
        table(head, rows)


def controls(cells):
    for cell in cells:
        for key, missing in (("lossy", "a lossless priority"), ("short_timeout", "a timeout longer than 67 ms")):
            if key in cell:
                seen = cell[key]
                print(
                    f"\nCONTROL: {cell['scheme']}, {cell['delay_ms']} ms, a slow receiver without {missing}:"
                    f" {seen['sent_frames']} frames sent for {seen['expected_frames']}, {seen['dropped']} dropped"
                )


def repairs(cells):
    rows = []
    for cell in cells:
        [volume], link = cell["volumes"], cell["link"]
        told = ", ".join(f"{key} {count}" for key, count in cell["retries"].items() if count)
        rows.append([
            cell["scheme"], cell["delay_ms"], volume["perftest_bytes"], volume["expected"]["frames"],
            volume["counted"]["frames"], *(there_and_back(link, key) for key in ("lost", "sent_again", "duplicates")),
            megabits(volume["bits_per_second"]), told or "nothing",
        ])  # fmt: skip
    if rows:
        gateways = ("link lost", "gateways again", "of these in vain")
        head = ["link", "ms", "bytes", "= frames", "host sent", *gateways, "Mb/s", "rdma_rxe counts"]
        print("\nREPAIR: a link that loses one frame in a thousand, there + back, and what hosts noticed")
        table(head, rows)


def there_and_back(link, key):
    """Copies that came in vain are counted at the end that got them."""
    sides = ("far", "near") if key == "duplicates" else ("near", "far")
    return " + ".join(str(link[side][key]) for side in sides)


def megabits(bits):
    return f"{bits / 1e6:.2f}"


def table(head, rows):
    cells = [list(map(str, row)) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for row in cells:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths)))


def show(cells):
    whole = [cell for cell in cells if "losses" in cell]
    if whole:
        for each in (volumes, latencies, slow_receivers, sweeps, controls):
            each(whole)
    repairs([cell for cell in cells if "retries" in cell])
