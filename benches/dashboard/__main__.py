"""Runs every query of the dashboard against a Prometheus that scrapes live gateways, and draws each row as a picture.

See scripts/check-dashboard. Exits with 1 if a query fails, or is empty although the gateways export its metrics.
"""

import argparse
import json
import pathlib
import signal
import sys
import tempfile

from . import draw, lab, prometheus


# As someone would set them: the near gateway, all its ports, and the priority of RoCE.
VARIABLES = {
    "$__rate_interval": f"{prometheus.RATE_INTERVAL}s",
    "$instance": lab.Lab.METRICS[0],
    "$port": ".*",
    "$priority": "3",
}


def queries(panel):
    """The expressions of a panel, with Grafana's variables filled in."""
    for target in panel["targets"]:
        expression = target["expr"]
        for variable, value in VARIABLES.items():
            expression = expression.replace(variable, value)
        yield target, expression


def run(dashboard, server):
    """The panels with their answers, and complaints."""
    exported = server.metric_names()
    answered, complaints, silent = [], [], []
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            answered.append((panel, []))
            continue
        series = []
        for target, expression in queries(panel):
            try:
                answer = server.range(expression)
            except prometheus.QueryError as error:
                complaints.append(f"{panel['title']}: {expression}: {error}")
                continue
            # A filter by value may leave nothing, and schemes that no gateway runs have no series.
            may_be_empty = "> 0" in expression or not prometheus.metrics_of(expression) <= exported
            if not answer and not may_be_empty:
                complaints.append(f"{panel['title']}: no data: {expression}")
            series += [(draw.legend(target["legendFormat"], labels), values) for labels, values in answer]
        if not series:
            silent.append(panel["title"])
        answered.append((panel, series))
    return answered, complaints, sorted(silent)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longspan", required=True, type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, help="write a picture of each row into this directory")
    parser.add_argument("--scrapes", type=int, default=40, help="end after this many scrapes, one a second")
    arguments = parser.parse_args()
    # So that the gateways and namespaces end with it then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("check-dashboard: ended by SIGTERM"))
    dashboard = json.loads(pathlib.Path("config/grafana/longspan.json").read_text())
    with tempfile.TemporaryDirectory() as scratch, lab.Lab(arguments.longspan, pathlib.Path(scratch)) as gateways:
        with prometheus.Server(pathlib.Path(scratch), gateways.METRICS) as server:
            gateways.send()
            server.wait_for_scrapes(arguments.scrapes)
            answered, complaints, silent = run(dashboard, server)
    count = sum(len(panel.get("targets", [])) for panel in dashboard["panels"])
    print(f"{count} queries of {len(dashboard['panels'])} panels and rows, {len(complaints)} complaints")
    print(f"without data, since nothing of the kind happened or no gateway runs the scheme: {', '.join(silent)}")
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
        for path in draw.rows(answered, arguments.pictures):
            print(path)
    for complaint in complaints:
        print(f"check-dashboard: {complaint}", file=sys.stderr)
    sys.exit(1 if complaints else 0)


main()
