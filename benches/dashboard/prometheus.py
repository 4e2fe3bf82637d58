"""Debian's Prometheus, for the time of a check."""

import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from .lab import end

ADDRESS = "127.0.0.1:9469"
# Grafana takes four scrapes.
RATE_INTERVAL = 4
PATIENCE_SECONDS = 60

CONFIGURATION = """
global:
  scrape_interval: 1s
  scrape_timeout: 1s
rule_files: [{rules}]
scrape_configs:
  - job_name: longspan
    static_configs:
      - targets: {targets}
"""


class QueryError(Exception):
    """Prometheus refused a query."""


def metrics_of(expression):
    """The names of Longspan's metrics in an expression."""
    return set(re.findall(r"\blongspan_\w+", expression))


class Server:
    """A Prometheus that scrapes `targets` and keeps its data in `scratch`."""

    def __init__(self, scratch, targets):
        self.scratch = scratch
        rules = json.dumps(str((scratch / "rules.yml").resolve()))
        with open("config/prometheus/longspan.rules.yml", encoding="utf-8") as source:
            (scratch / "rules.yml").write_text(source.read(), encoding="utf-8")
        (scratch / "prometheus.yml").write_text(
            CONFIGURATION.format(rules=rules, targets=json.dumps(targets)), encoding="utf-8"
        )
        self.process = None
        self.started = time.time()

    def __enter__(self):
        log = open(self.scratch / "prometheus.log", "w", encoding="utf-8")
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={self.scratch / 'prometheus.yml'}",
                f"--storage.tsdb.path={self.scratch / 'data'}",
                f"--web.listen-address={ADDRESS}",
            ],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        return self

    def __exit__(self, *_):
        self.process.terminate()
        end(self.process)

    def ask(self, path, **parameters):
        """The `data` of an answer."""
        url = f"http://{ADDRESS}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise QueryError(json.load(error).get("error", str(error))) from error

    def wait_for_scrapes(self, count):
        """Waits until each gateway has been scraped `count` times."""
        deadline = time.monotonic() + PATIENCE_SECONDS + count
        while time.monotonic() < deadline:
            try:
                results = self.ask("query", query='count_over_time(up{job="longspan"}[1h])')["result"]
                if results and all(int(float(it["value"][1])) >= count for it in results):
                    return
            except OSError:
                if self.process.poll() is not None:
                    raise RuntimeError((self.scratch / "prometheus.log").read_text()) from None
            time.sleep(0.5)
        raise RuntimeError("Prometheus did not scrape the gateways in time")

    def metric_names(self):
        """All names of metrics that it has."""
        return set(self.ask("label/__name__/values"))

    def range(self, expression):
        """The series of an expression since the start: labels, and (time, value) pairs."""
        parameters = {"query": expression, "start": self.started, "end": time.time(), "step": 1}
        return [
            (it["metric"], [(float(when) - self.started, float(value)) for when, value in it["values"]])
            for it in self.ask("query_range", **parameters)["result"]
        ]
