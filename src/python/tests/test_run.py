"""Single labs: results, errors, the lock, Ctrl-C."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import ROOT, TINY, results

import sluicegate


def test_a_run_is_that_of_the_program(incast, sluice):
    outcome = sluicegate.run(incast, seed=7)
    same = results(sluice, "run", str(incast), "--seed", "7")
    assert json.loads(outcome.json()) == same
    assert outcome["trace_hash"] == outcome.trace_hash == same["trace_hash"]
    assert outcome.verdict == "pass" and outcome.passed and outcome.failed == []
    assert outcome.figures == same["figures"]
    assert outcome.find("flows.incast_h1.loss_frames") == 0
    assert sluicegate.run(incast, seed=7).trace_hash == outcome.trace_hash
    assert repr(outcome).startswith("<Outcome of incast: pass, seed 7, trace ")


def test_a_lab_is_a_path_a_text_or_a_dict(tiny):
    of_path = sluicegate.run(tiny).trace_hash
    assert sluicegate.run(str(tiny)).trace_hash == of_path
    assert sluicegate.run(TINY).trace_hash == of_path
    fields = {"topology": {"star": {"hosts": 3}}, "flows": [{"to": "h3", "priority": 3}], "duration": "5us"}
    assert sluicegate.run(fields)["lab"] == "lab"


def test_seeds_and_fields_change_the_run(tiny):
    first = sluicegate.run(tiny)
    assert sluicegate.run(tiny, seed=2).trace_hash != first.trace_hash
    assert sluicegate.run(tiny, seed=1).trace_hash == first.trace_hash
    longer = sluicegate.run(tiny, set={"duration": "40us"})
    assert longer["elapsed_ns"] > first["elapsed_ns"]
    assert longer.trace_hash == sluicegate.run(tiny, duration="40us").trace_hash
    assert sluicegate.run(tiny, set={"flows.a.rate": "10G"}).trace_hash != first.trace_hash


def test_a_command_repeats_the_run(tmp_path, tiny, sluice, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = sluicegate.run("tiny.yaml", seed=5, set={"flows.a.rate": "10G"}, duration="30us")
    command = outcome.command
    assert command == "sluice run tiny.yaml --seed 5 --duration 30us --set flows.a.rate=10G"
    environment = {**os.environ, "PATH": f"{os.path.dirname(sluice)}:{os.environ['PATH']}"}
    said = subprocess.run(f"{command} --format json", shell=True, capture_output=True, text=True, env=environment)
    assert json.loads(said.stdout)["trace_hash"] == outcome.trace_hash, said.stderr


def test_variants_are_named(sluice):
    file = ROOT / "configs" / "labs" / "compare" / "incast.yaml"
    names = sluicegate.variants(file)
    assert len(names) > 1
    with pytest.raises(ValueError, match=f"variant: none is given; there are {names[0]}, .*name one of them"):
        sluicegate.run(file)
    outcome = sluicegate.run(file, variant=names[0])
    same = results(sluice, "run", str(file), "--variant", names[0])
    assert (outcome["variant"], outcome.trace_hash) == (names[0], same["trace_hash"])


def test_errors_have_line_field_and_remedy(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(TINY.replace("hosts: 3", "hostes: 3"))
    for call in (sluicegate.run, sluicegate.check):
        with pytest.raises(ValueError) as error:
            call(file)
        text = str(error.value)
        assert f"{file}:11:" in text and "hostes" in text and "hosts" in text, text
    with pytest.raises(ValueError, match="no `flow`"):
        sluicegate.run(TINY, set={"flow.a.rate": "10G"})
    with pytest.raises(ValueError, match="duration"):
        sluicegate.run(TINY, duration="long")
    with pytest.raises(ValueError, match="seed: -1 is not a number from 0"):
        sluicegate.run(TINY, seed=-1)
    with pytest.raises(FileNotFoundError):
        sluicegate.run(tmp_path / "none.yaml")


def test_check_returns_the_resolved_configuration(incast, sluice):
    found = sluicegate.check(incast)
    assert found["name"] == "incast" and len(found["hosts"]) == 9
    [same] = results(sluice, "check", str(incast))
    assert same["lab"] == found
    assert sluicegate.check(incast, seed=9)["seed"] == 9


def test_tables_are_flat_and_complete(incast):
    outcome = sluicegate.run(incast)
    ports = outcome.frame("ports")
    assert len(ports) == 9 + 9 and set(ports["kind"]) == {"switch", "host"}
    assert ports[ports["node"] == "h9"]["rx_frames"].sum() == sum(f["rx_frames"] for f in outcome["flows"])
    assert outcome.frame("flows")["latency_ns.p99"].max() > 0
    assert outcome.frame("priorities")["priority"].isin(range(8)).all() and len(outcome.table("priorities")) > 9
    assert [row["name"] for row in outcome.table("checks")] == [c["name"] for c in outcome["checks"]]
    for name in outcome.tables:
        outcome.frame(name)
    with pytest.raises(ValueError, match="no table `port`; there are checks, flows, ports"):
        outcome.table("port")


def test_an_outcome_travels_between_processes(tiny, tmp_path):
    outcome = sluicegate.run(tiny)
    arrived = pickle.loads(pickle.dumps(outcome))
    assert dict(arrived) == dict(outcome) and arrived.figures == outcome.figures
    assert arrived.command == outcome.command and arrived.verdict == outcome.verdict
    assert arrived.find("flows.a_h1.name") == outcome.find("flows.a_h1.name")
    page = arrived.write_page(tmp_path / "page.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html>") and "<svg" in page


def test_headroom_is_that_of_the_command(sluice):
    options = {"rate": "400G", "length": "100m", "max_frame": 9216, "cell": 208}
    found = sluicegate.headroom("ieee", **options)
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    assert found == results(sluice, "headroom", "calc", "--model", "ieee", *words)
    assert sum(term["bits"] for term in found["terms"]) == found["bits"]
    assert sluicegate.headroom("cisco", complete=True)["bytes"] > sluicegate.headroom("cisco")["bytes"]
    with pytest.raises(ValueError, match="^complete: ieee has no such input"):
        sluicegate.headroom("ieee", complete=True)
    with pytest.raises(ValueError, match="rate"):
        sluicegate.headroom(rate="fast")
    with pytest.raises(ValueError, match="unexpected argument"):
        sluicegate.headroom(speed="1G")


def test_a_swarm_is_that_of_the_program(sluice):
    found = sluicegate.swarm(seed=3, count=16)
    same = results(sluice, "swarm", "--seed", "3", "--count", "16")
    assert found["trace_hash"] == same["trace_hash"] and found["verdict"] == "pass"
    assert found["labs"] == found["count"] == 16
    assert sluicegate.swarm(3, 16, 1)["trace_hash"] == found["trace_hash"]


def test_other_threads_go_on_during_a_run(incast):
    turns, ended = 0, threading.Event()

    def work():
        sluicegate.run(incast, set={"flows.incast.duration": {"bytes": "20MB"}})
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not ended.wait(0.002):
        turns += 1
    thread.join()
    assert turns > 5, "the interpreter was locked"


def test_ctrl_c_ends_a_run(incast):
    # A shell's background job, which the tests may be, ignores Ctrl-C and so do its children.
    script = f"""
import signal
import sluicegate
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begins", flush=True)
sluicegate.run({str(incast)!r}, duration="10s", set={{"until_done": False, "flows.incast.duration": {{"bytes": "500GB"}}}})
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        _, wrong = process.communicate(timeout=60)
        assert "KeyboardInterrupt" in wrong and process.returncode != 0, wrong
        assert time.monotonic() - begun < 20
    finally:
        process.kill()
