"""The package, on real outputs of the program that LONGSPAN names, or that is on the PATH."""

import csv
import json
import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

import longspan

ROOT = Path(__file__).resolve().parents[2]
DUMBBELL = ROOT / "config/scenarios/dumbbell.toml"
DEADLOCK = ROOT / "config/experiments/deadlock.toml"
GATEWAY = ROOT / "config/gateways/replay.toml"
BUNDLE = ROOT / "config/gateways/bundle.toml"
CAPTURE = ROOT / "tests/data/captures/rxe-cm-multiqp.pcap"
SOURCES = {"dc0": ["52:54:00:00:00:01"], "lh0": ["52:54:00:00:00:02"]}


class InDirectory(unittest.TestCase):
    """A test with an empty working directory."""

    def setUp(self):
        self.directory = Path(tempfile.mkdtemp(prefix="longspan-test-"))
        self.addCleanup(shutil.rmtree, self.directory)
        self.addCleanup(os.chdir, os.getcwd())
        if os.sep in os.environ.get("LONGSPAN", ""):
            self.environment(LONGSPAN=str(Path(os.environ["LONGSPAN"]).absolute()))
        os.chdir(self.directory)

    def environment(self, **variables):
        patch = mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)

    def program(self, name, script):
        """A program that is not longspan."""
        program = self.directory / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        return program

    def fails(self, status, pattern, call, *arguments, **options):
        with self.assertRaisesRegex(longspan.LongspanError, pattern) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.status, status)
        return caught.exception


class Simulate(InDirectory):
    def test_each_run_has_a_row_with_its_seed(self):
        run = longspan.simulate(DUMBBELL, quick=True, seeds=2)
        self.assertEqual(list(run.summary["seed"]), [1, 2])
        self.assertEqual(list(run.summary["run"]), ["seed-1", "seed-2"])
        self.assertEqual(set(run.flows["seed"]), {1, 2})
        self.assertEqual(set(run.series["seed"]), {1, 2})
        run = longspan.simulate(DUMBBELL, quick=True, seeds=range(1001, 1003))
        self.assertEqual(list(run.summary["seed"]), [1001, 1002])

    def test_frames_have_the_figures_of_the_files(self):
        run = longspan.simulate(DUMBBELL, quick=True, seeds=2, out="out")
        self.assertEqual(run.files, self.directory / "out")
        for _, row in run.summary.iterrows():
            kept = json.loads((run.files / row["run"] / "summary.json").read_text(encoding="utf-8"))
            self.assertGreater(len(kept["metrics"]), 50)
            self.assertEqual({name: row[name] for name in kept["metrics"]}, kept["metrics"])
            self.assertEqual((row["ending"], row["end_ns"]), (kept["ending"], kept["end_ns"]))
        for frame, name in [(run.flows, "fct.csv"), (run.series, "series.csv")]:
            for directory, of_run in frame.groupby("run"):
                with open(run.files / directory / name, encoding="utf-8") as lines:
                    rows = list(csv.DictReader(lines))
                self.assertGreater(len(rows), 7)
                for column in rows[0]:
                    read = [str(value) for value in of_run[column]]
                    kept = [row[column] for row in rows]
                    self.assertEqual(len(read), len(kept))
                    for a, b in zip(read, kept):
                        self.assertTrue(a == b or (a, b) == ("nan", "") or float(a) == float(b), (column, a, b))

    def test_types_do_not_depend_on_values(self):
        sized = longspan.simulate(DUMBBELL, quick=True, set={"traffic.0.size": "10kB"})
        endless = longspan.simulate(DUMBBELL, quick=True, set={"traffic.0.priority": 3})
        self.assertTrue(sized.flows["slowdown"].notna().all() and endless.flows["slowdown"].isna().all())
        for run in [sized, endless]:
            kinds = {column: str(kind) for column, kind in run.flows.dtypes.items()}
            self.assertEqual({kinds[column] for column in ["seed", "bytes", "fct_ns", "acked_ns"]}, {"int64"})
            self.assertEqual({kinds[column] for column in ["ideal_ns", "slowdown"]}, {"float64"})
            self.assertEqual({str(kind) for kind in run.summary.dtypes[9:]}, {"float64"})

    def test_a_run_without_an_ended_flow_has_no_row_of_flows(self):
        # A deadlock that a claim expects is no failure.
        run = longspan.simulate(DEADLOCK)
        self.assertEqual(list(run.summary["ending"]), ["deadlock", "finished"])
        self.assertEqual(list(run.summary["flows_started"]), [8, 8])
        self.assertEqual(list(run.summary["flows_ended"]), [0, 8])
        self.assertEqual(list(run.flows["variant"]), ["remap"] * 8)
        self.assertEqual({str(run.flows[column].dtype) for column in ["seed", "fct_ns"]}, {"int64"})

    def test_a_group_and_a_variant_may_have_any_name(self):
        scenario = self.directory / "names.toml"
        variants = '\n[[variant]]\nname = "NA"\n[[variant]]\nname = "1"\n'
        scenario.write_text(DUMBBELL.read_text(encoding="utf-8") + variants, encoding="utf-8")
        group = {"traffic.0.group": "nan", "sampling.flows": ["nan"]}
        run = longspan.simulate(scenario, set={"scenario.until": "20us", **group}, variants="NA")
        self.assertEqual(set(run.flows["variant"]), {"NA"})
        self.assertEqual(set(run.flows["group"]), {"nan"})
        run = longspan.simulate(scenario, set={"scenario.until": "20us"}, variants=["1", "NA"])
        self.assertEqual(list(run.summary["variant"]), ["NA", "1"])
        self.assertEqual(set(longspan.simulate(DUMBBELL, quick=True).flows["variant"]), {""})

    def test_a_value_is_set_as_it_is(self):
        titles = ["two\nlines", "a=b", 'x, "y"', "5", "true", "1979-05-27", "-1us", "[1]", "", " ", "é\x7f\\", "10G"]
        for title in titles:
            with self.subTest(title=title):
                run = longspan.simulate(DUMBBELL, quick=True, set={"scenario.title": title, "scenario.until": "1us"})
                self.assertEqual(run.json["title"], title)
                self.assertEqual(list(run.summary["parameter.scenario.title"]), [title])
        run = longspan.simulate(DUMBBELL, quick=True, sweep={"scenario.title": titles}, set={"scenario.until": "1us"})
        self.assertEqual(list(run.summary["parameter.scenario.title"]), titles)

    def test_numbers_lists_and_tables_are_set_as_such(self):
        values = {"host.mtu": 1024, "traffic.0.sources": ["left0"], "traffic.0.destinations": ["right1"]}
        values["switch.ecn"] = {"on": False}
        run = longspan.simulate(DUMBBELL, quick=True, set=values)
        self.assertEqual(list(run.flows["destination"]), ["right1"])
        self.assertEqual(list(run.summary["ecn.marked"]), [0])
        self.assertEqual(str(run.summary["parameter.host.mtu"].dtype), "int64")
        run = longspan.simulate(DUMBBELL, quick=True, set={k: v for k, v in values.items() if k != "switch.ecn"})
        self.assertEqual(len(run.flows), 1)
        with self.assertRaisesRegex(TypeError, "no form in TOML"):
            longspan.simulate(DUMBBELL, set={"host.mtu": None})

    def test_a_text_a_table_or_a_number_is_one_value_of_a_sweep(self):
        run = longspan.simulate(DUMBBELL, quick=True, sweep={"scenario.title": "abc"})
        self.assertEqual(list(run.summary["parameter.scenario.title"]), ["abc"])
        run = longspan.simulate(DUMBBELL, quick=True, sweep={"switch.ecn": {"on": False}, "host.mtu": np.int64(1024)})
        self.assertEqual(list(run.summary["ecn.marked"]), [0])
        self.assertEqual(list(run.summary["parameter.host.mtu"]), [1024])

    def test_scalars_of_numpy_are_set_as_those_of_python(self):
        values = {"host.mtu": np.int64(1024), "scenario.title": np.str_("5"), "switch.ecn": {"on": np.bool_(False)}}
        run = longspan.simulate(DUMBBELL, quick=True, set=values)
        self.assertEqual(list(run.summary["parameter.host.mtu"]), [1024])
        self.assertEqual(list(run.summary["parameter.scenario.title"]), ["5"])
        self.assertEqual(list(run.summary["ecn.marked"]), [0])
        run = longspan.simulate(DUMBBELL, quick=True, sweep={"switch.ecn.on": np.array([False, True])})
        self.assertEqual(list(run.summary["parameter.switch.ecn.on"]), [False, True])
        self.assertEqual(list(run.summary["ecn.marked"] > 0), [False, True])
        with self.assertRaisesRegex(TypeError, "no form in TOML"):
            longspan.simulate(DUMBBELL, set={"host.mtu": np.datetime64("2026-01-01")})

    def test_a_key_with_an_equals_sign_is_refused(self):
        with self.assertRaisesRegex(ValueError, "'host.mtu=1024' cannot be"):
            longspan.simulate(DUMBBELL, set={"host.mtu=1024": 5})
        with self.assertRaisesRegex(ValueError, "consecutive"):
            longspan.simulate(DUMBBELL, seeds=range(1, 9, 2))

    def test_a_wrong_key_is_refused_in_the_words_of_the_program(self):
        failure = self.fails(2, "unknown key .did you mean", longspan.simulate, DUMBBELL, set={"hosts.mtu": 1024})
        self.assertIn("valid keys are", failure.message)
        self.assertIn("(exit status 2)", str(failure))
        self.fails(2, "nothing.toml: No such file", longspan.simulate, "nothing.toml")

    def test_one_failed_run_fails_the_simulation(self):
        blocks = re.split(r"\n(?=\[\[)", DEADLOCK.read_text(encoding="utf-8"))
        scenario = self.directory / "deadlock.toml"
        scenario.write_text("\n".join(b for b in blocks if not b.startswith("[[claim]]")), encoding="utf-8")
        failure = self.fails(1, "pfc/seed-1: seed 1: deadlock", longspan.simulate, scenario, out="out")
        self.assertIn("1 of 2 runs failed", failure.message)
        run = longspan.simulate(scenario, out="out", variants=["remap"])
        self.assertEqual(list(run.summary["ending"]), ["finished"])

    def test_a_scenario_may_have_any_path(self):
        for name in ["-s.toml", "a b.toml", "a=b,c.toml", "--help"]:
            shutil.copy(DUMBBELL, name)
            run = longspan.simulate(name, quick=True, out=f"-o {name}")
            self.assertEqual(len(run.summary), 1)
            self.assertTrue((self.directory / f"-o {name}" / "summary.json").exists())

    def test_results_that_others_replaced_are_refused(self):
        first = longspan.simulate(DUMBBELL, quick=True, out="out")
        Path("out/note").write_text("mine", encoding="utf-8")
        second = longspan.simulate(DUMBBELL, quick=True, out="out", set={"host.mtu": 4096})
        with self.assertRaisesRegex(RuntimeError, "another run's results"):
            first.flows
        self.assertEqual(len(second.flows), 8)
        self.assertEqual(Path("out/note").read_text(encoding="utf-8"), "mine")
        self.fails(2, "cannot be written", longspan.simulate, DUMBBELL, quick=True, out="out/note")

    def test_complete_runs_are_kept_unless_they_are_wanted_again(self):
        longspan.simulate(DUMBBELL, quick=True, out="out")
        flows = Path("out/seed-1/fct.csv")
        marked = flows.read_text(encoding="utf-8").replace("left0,", "mark0,")
        flows.write_text(marked, encoding="utf-8")
        self.assertIn("mark0", set(longspan.simulate(DUMBBELL, quick=True, out="out").flows["source"]))
        self.assertNotIn("mark0", set(longspan.simulate(DUMBBELL, quick=True, out="out", again=True).flows["source"]))

    def test_files_without_a_place_go_with_the_results(self):
        run = longspan.simulate(DUMBBELL, quick=True, jobs=1, threads=1)
        files = run.files
        self.assertTrue((files / "report.html").exists())
        del run
        self.assertFalse(files.exists())

    def test_results_of_an_earlier_run_are_read(self):
        before = longspan.simulate(DUMBBELL, quick=True, out="out")
        after = longspan.Simulation("out")
        pd.testing.assert_frame_equal(before.summary, after.summary)
        pd.testing.assert_frame_equal(before.series, after.series)
        summary = Path("out/summary.json")
        summary.write_text(summary.read_text(encoding="utf-8").replace('"format": 1', '"format": 2'), encoding="utf-8")
        with self.assertRaisesRegex(ValueError, "has format 2, and this package reads 1"):
            longspan.Simulation("out")

    def test_claims_and_warnings_come_through(self):
        experiment = ROOT / "config/experiments/lscc-innocent.toml"
        with self.assertWarnsRegex(longspan.LongspanWarning, "before its frames alone fill the queue") as warned:
            run = longspan.simulate(experiment, set={"scenario.until": "20us", "traffic.others.size": "1kB"})
        self.assertEqual(warned.filename, __file__)
        self.assertEqual(len(run.claims), len(run.json["claims"]))
        self.assertIn("undecided", set(run.claims["verdict"]))


class Binary(InDirectory):
    def test_a_missing_program_is_named_with_its_place(self):
        with self.assertRaisesRegex(longspan.BinaryNotFound, r"no program /no/longspan \(the argument binary\)"):
            longspan.plan("100G", distance="80km", binary="/no/longspan")
        self.environment(LONGSPAN="/nor/this")
        with self.assertRaisesRegex(longspan.BinaryNotFound, r"no program /nor/this \(the variable LONGSPAN\)"):
            longspan.plan("100G", distance="80km")
        self.environment(LONGSPAN="", PATH="/neither:/here")
        with self.assertRaisesRegex(longspan.BinaryNotFound, "longspan on the PATH, /neither:/here .no argument"):
            longspan.plan("100G", distance="80km")

    def test_the_argument_precedes_the_variable_and_that_the_path(self):
        argument, variable = self.program("argument", "echo argument >&2; exit 3"), self.program("variable", "exit 4")
        on_path = self.program("bin/longspan", "exit 5")
        self.environment(LONGSPAN=str(variable), PATH=f"{on_path.parent}:{os.environ['PATH']}")
        self.fails(3, "^argument .exit status 3.$", longspan.plan, "100G", binary=argument)
        self.fails(4, "said nothing", longspan.plan, "100G")
        self.environment(LONGSPAN="")
        self.assertEqual(self.fails(5, "said nothing", longspan.plan, "100G").command[0], str(on_path))

    def test_a_signal_that_ends_the_program_is_a_failure(self):
        killed = self.program("killed", "echo '{}'; kill -9 $$")
        self.fails(-9, "ended by signal 9", longspan.plan, "100G", binary=killed)


class Replay(InDirectory):
    def test_frames_have_the_figures_of_the_report(self):
        run = longspan.replay(GATEWAY, split=CAPTURE, sources=SOURCES, out="out")
        self.assertEqual(sorted(path.name for path in run.files.glob("*.pcap")), ["dc0.pcap", "lh0.pcap"])
        self.assertEqual(list(run.ports["in.frames"]), [456, 255])
        row = run.summary.query("port == 'dc0' and priority == 3").iloc[0]
        self.assertEqual((row["pauses_sent.xoff"], row["pauses_sent.refresh"]), (2, 903))
        with open("out/series.csv", encoding="utf-8") as lines:
            self.assertEqual(len(run.series), len(list(lines)) - 1)
        self.assertEqual(str(run.series["time_ns"].dtype), "int64")
        with open("out/events.jsonl", encoding="utf-8") as lines:
            events = [json.loads(line) for line in lines]
        self.assertGreater(len(events), 3)
        for column in ["at_ns", "since_ns"]:
            kept = [event.get(column) for event in events]
            self.assertEqual([None if value is pd.NA else value for value in run.events[column]], kept)

    def test_options_reach_the_program(self):
        run = longspan.replay(GATEWAY, split=CAPTURE, sources=SOURCES, loop=2, speed="2x", sample="1ms", rows=10)
        self.assertEqual(run.json["input"]["read"]["frames"], 2 * 711)
        self.assertLessEqual(len(run.series), 10)

    def test_a_text_is_one_source(self):
        several = longspan.replay(GATEWAY, split=CAPTURE, sources=SOURCES)
        one = longspan.replay(GATEWAY, split=CAPTURE, sources={port: of_port for port, [of_port] in SOURCES.items()})
        self.assertEqual(list(one.ports["in.frames"]), list(several.ports["in.frames"]))

    def test_frames_leave_through_the_other_link_of_a_bundle_while_one_is_down(self):
        whole = longspan.replay(BUNDLE, {"dc0": CAPTURE}).ports.set_index("name")
        self.assertEqual(whole.loc[["lh0", "lh1"], "bundle.failures"].tolist(), [0, 0])
        times = ("0ms", "1000s")
        for faults in [[("lh0", *times)], {"lh0": [times]}]:
            ports = longspan.replay(BUNDLE, {"dc0": CAPTURE}, faults=faults).ports.set_index("name")
            self.assertEqual(ports.loc[["lh0", "lh1"], "bundle.failures"].tolist(), [1, 0])
            self.assertEqual(ports.loc[["lh0", "lh1"], "out.frames"].tolist(), [0, whole["out.frames"].sum()])
        both = {"lh0": [("1ms", "2ms"), ("3ms", "4ms")], "lh1": [("5ms", "6ms")]}
        ports = longspan.replay(BUNDLE, {"dc0": CAPTURE}, faults=both).ports.set_index("name")
        self.assertEqual(ports.loc[["lh0", "lh1"], "bundle.failures"].tolist(), [2, 1])

    def test_a_fault_without_two_instants_is_refused(self):
        for faults in ["lh0", ["lh0=3ms..5ms"], [("lh0", "3ms")], {"lh0": ("3ms", "5ms")}, {"lh0": [("1ms",) * 3]}]:
            with self.subTest(faults=faults), self.assertRaisesRegex(ValueError, "not the two instants of a fault"):
                longspan.replay(BUNDLE, {"dc0": CAPTURE}, faults=faults)
        self.fails(2, "belongs to no bundle", longspan.replay, BUNDLE, {"dc0": CAPTURE}, faults=[("dc0", "0s", "5ms")])

    def test_a_capture_may_have_any_path(self):
        for name in ["-", "a b=c.pcap"]:
            shutil.copy(CAPTURE, name)
            self.assertEqual(longspan.replay(GATEWAY, {"dc0": name}).json["input"]["read"]["frames"], 711)
        with self.assertRaisesRegex(ValueError, "'dc0=x' cannot be"):
            longspan.replay(GATEWAY, {"dc0=x": CAPTURE})

    def test_a_capture_that_breaks_off_gives_no_results(self):
        Path("cut.pcap").write_bytes(CAPTURE.read_bytes()[:50000])
        self.fails(1, "cut.pcap: truncated", longspan.replay, GATEWAY, {"dc0": "cut.pcap"})
        self.fails(2, "nothing.pcap: cannot be opened", longspan.replay, GATEWAY, {"dc0": "nothing.pcap"})


class Plan(InDirectory):
    def test_frames_have_the_figures_of_the_plan(self):
        plan = longspan.plan("100G", distance="80km")
        self.assertTrue(plan.holds and plan.why == "")
        self.assertEqual(plan.schemes.to_dict("records"), plan.json["schemes"])
        self.assertEqual(plan.slots.to_dict("records"), plan.json["slots"])
        self.assertEqual(list(plan.steps["result"]), [s["result"] for p in plan.json["parts"] for s in p["steps"]])
        self.assertEqual(list(plan.configurations), ["gw-east", "gw-west"])
        self.assertIsNone(plan.files)

    def test_options_reach_the_program(self):
        plan = longspan.plan("40G", delay="1ms", scheme="pfc", priorities=[3, 4], watchdog={"SONiC": "1ms"}, lscc=True)
        self.assertEqual((plan.json["scheme"], plan.json["priorities"], plan.json["lscc"]), ("pfc", [3, 4], True))
        self.assertIn(("SONiC", 1_000_000), [(dog["name"], dog["detection_ns"]) for dog in plan.json["watchdogs"]])
        plan = longspan.plan("40G", delay="1ms", priorities=[np.int64(3)], lscc=np.bool_(True), prove=np.bool_(False))
        self.assertEqual((plan.json["priorities"], plan.json["lscc"]), ([3], True))
        self.fails(2, "unexpected argument '--schema'", longspan.plan, "40G", delay="1ms", schema="pfc")

    def test_a_plan_that_does_not_hold_says_why_and_writes_nothing(self):
        plan = longspan.plan("100G", distance="80km", memory="10MB")
        self.assertFalse(plan.holds)
        self.assertRegex(plan.why, "does not hold: memory")
        self.fails(1, "does not hold: memory", longspan.plan, "100G", distance="80km", memory="10MB", out="gateways")
        self.assertEqual(list(self.directory.iterdir()), [])

    def test_a_configuration_that_exists_is_not_overwritten(self):
        plan = longspan.plan("100G", distance="80km", out="gateways")
        self.assertEqual((plan.files / "gw-east.toml").read_text(encoding="utf-8"), plan.configurations["gw-east"])
        self.fails(2, "it exists already", longspan.plan, "100G", distance="80km", out="gateways")


if __name__ == "__main__":
    unittest.main()
