"""The plugin of pytest, by runs of pytest inside of these tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BROKEN, ROOT, TINY, missing

import sluicegate


def inner(pytester, *arguments):
    return pytester.runpytest_subprocess("-p", "no:pytester", *arguments)


def test_a_marker_runs_a_lab_over_seeds(pytester, tiny):
    pytester.makefile(".yaml", tiny=TINY)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.lab("tiny.yaml", seeds=5)
        def test_over_seeds(lab):
            assert lab["lab"] == "tiny" and 1 <= lab["seed"] <= 5

        @pytest.mark.lab("tiny.yaml", seeds=[7, 9], set={"flows.a.rate": "10G"})
        def test_without_the_fixture():
            pass

        @pytest.mark.lab("tiny.yaml")
        def test_of_the_files_seed(lab):
            assert lab["seed"] == 1
        """
    )
    result = inner(pytester, "-v")
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(["*test_over_seeds?seed5? PASSED*", "*without_the_fixture?seed9? PASSED*"])


def test_a_failure_tells_how_to_repeat_it_and_keeps_its_page(pytester, sluice):
    pytester.makefile(".yaml", broken=BROKEN)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.lab("broken.yaml", seeds=[4], set={"flows.a.rate": "20G"})
        def test_checks(lab):
            raise SystemError("the body is not reached")

        @pytest.mark.lab("broken.yaml", checks=False)
        def test_own(lab):
            assert lab.figures["queue_peak_bytes"] == 0
        """
    )
    result = inner(pytester, "--lab-pages", "pages")
    result.assert_outcomes(failed=2)
    said = result.stdout.str()
    assert "pauses.xoffs: fail" in said and "SystemError" not in said
    commands = re.findall(r"^repeat: (.*)$", said, re.M)
    assert commands[0] == "sluice run broken.yaml --seed 4 --set flows.a.rate=20G"
    pages = [Path(page) for page in re.findall(r"^page: (.*)$", said, re.M)]
    assert len(pages) == 2 and all("<svg" in page.read_text() for page in pages)
    # The command is exact: the same trace.
    words = commands[0].split()[1:]
    again = subprocess.run([sluice, *words, "--format", "json"], cwd=pytester.path, capture_output=True, text=True)
    trace = sluicegate.run(BROKEN, seed=4, set={"flows.a.rate": "20G"}).trace_hash
    assert again.returncode == 1 and trace in again.stdout


def test_a_lab_without_a_file_is_kept_as_one(pytester, sluice):
    pytester.makeconftest(f"TEXT = {TINY!r}")
    pytester.makepyfile(
        """
        from conftest import TEXT

        def test_function(lab):
            outcome = lab(TEXT, seed=3)
            assert outcome.passed
            assert False, "on purpose"
        """
    )
    said = inner(pytester, "--lab-pages", "pages").stdout.str()
    [command] = re.findall(r"^repeat: (.*)$", said, re.M)
    assert re.fullmatch(r"sluice run pages/\S+\.yaml --seed 3", command)
    again = subprocess.run([sluice, *command.split()[1:]], cwd=pytester.path, capture_output=True)
    assert again.returncode == 0


def test_wrong_arguments_of_the_marker_are_told(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.lab('x.yaml', sedes=3)\ndef test_x(lab): pass\n")
    result = inner(pytester)
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*marker lab*sedes*"])


SWITCH = """
def test_ping(switch):
    running = switch(ports=2)
    a, b = running.hosts
    assert " 0% packet loss" in a.run("ping", "-n", "-c", "3", "-i", "0.1", b.address).stdout
    assert running.show()["ports"][0]["rx_frames"] >= 3
    summary = running.stop()
    assert summary["balance"]["holds"]
"""

OTG = """
import snappi

def test_flow(otg):
    config = snappi.Config()
    tx = config.ports.add(name="tx", location="ring:x.a")
    rx = config.ports.add(name="rx", location="ring:x.b")
    config.layer1.add(name="l1", port_names=["tx", "rx"], speed="speed_1_gbps")
    flow = config.flows.add(name="f")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = tx.name, [rx.name]
    flow.duration.fixed_packets.packets = 10
    flow.rate.pps = 1000
    flow.metrics.enable = True
    flow.packet.ethernet()
    otg.set_config(config)
    state = snappi.ControlState()
    state.traffic.flow_transmit.state = "start"
    otg.set_control_state(state)
    request = snappi.MetricsRequest()
    request.flow.flow_names = ["f"]
    import time
    for _ in range(100):
        [metric] = otg.get_metrics(request).flow_metrics
        if metric.frames_rx == 10:
            return
        time.sleep(0.1)
    raise AssertionError(metric)
"""


def dpdk(pytestconfig):
    """Arguments of the inner pytest with the program that has ports."""
    program = pytestconfig.getoption("--sluice")
    if program is None:
        missing("a program with DPDK is named by --sluice")
    return ["--sluice", str(pytestconfig.invocation_params.dir / program)]


def test_a_switch_runs_between_namespaces(pytester, pytestconfig):
    pytester.makepyfile(SWITCH)
    before = namespaces()
    result = inner(pytester, "-rs", *dpdk(pytestconfig))
    if os.geteuid() == 0:
        result.assert_outcomes(passed=1)
    assert namespaces() == before


def namespaces():
    said = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
    return {line for line in said.splitlines() if line.startswith("sluice-")}


def test_a_generator_serves_snappi(pytester, pytestconfig, monkeypatch):
    [*found] = (ROOT / "target" / "snappi" / "lib").glob("python*/site-packages/snappi")
    if not found:
        pytest.skip("snappi is missing: ./dev setup installs it")
    monkeypatch.setenv("PYTHONPATH", str(found[0].parent))
    pytester.makepyfile(OTG)
    inner(pytester, "-rs", *dpdk(pytestconfig)).assert_outcomes(passed=1)


def test_fixtures_skip_with_their_reasons(pytester, sluice):
    pytester.makepyfile(SWITCH + "\ndef test_otg(otg): pass\n")
    result = inner(pytester, "-rs", "--sluice", sluice)
    result.assert_outcomes(skipped=2)
    said = result.stdout.str()
    assert "built without DPDK" in said and "snappi is missing: pip install" in said
    result = inner(pytester, "-rs", "--sluice", "/nonexistent/sluice", "-k", "ping")
    assert "there is no program /nonexistent/sluice" in result.stdout.str()
