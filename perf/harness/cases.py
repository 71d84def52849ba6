"""The cases: subjects, peers, devices and targets of the comparisons."""

import tempfile

from . import cost, cryptodev, features, frames, generate, headroom, instructions, kernel, secure, sim
from .contestants import Ovs, Sluice, SluiceSwitch, Testpmd, build
from .machine import hugepages
from .machine import two_cpus as _two_cpus
from .measure import Sample, at_least, at_most, compare, rate_ratio, rounds, time_ratio

# 64 bytes on the wire: the devices count without the FCS.
NULL_DEVICES = ["net_null0,size=60", "net_null1,size=60"]

# Most hugepages that a contestant needs; OVS also works with less.
MIB_EACH = 128
MIB_OVS = 512
MIB_COLD = 256


def null_macswap(settings, gate, say):
    """Sluice between two net_null ports against testpmd's macswap between them."""
    cpu, main_cpu = _two_cpus()
    forward = build("forward", say)
    peer = Testpmd("testpmd macswap", NULL_DEVICES, cpu, main_cpu)
    contestants = [peer]
    for job in ["macswap", "plain", "lossless"]:
        contestants.append(Sluice(f"sluice {job}", forward, [job, "--huge"], [cpu]))
    with hugepages(MIB_EACH * len(contestants), say):
        samples = rounds(contestants, settings, gate, say)

    def against(subject):
        return compare("null-macswap", samples, f"sluice {subject}", peer.name, time_ratio)

    return [against("macswap"), at_most(against("plain"), 1.6), at_most(against("lossless"), 2.2)]


def null_cold(settings, gate, say):
    """As null-macswap, where 65,536 buffers are received in turn: no frame is in a cache."""
    cpu, main_cpu = _two_cpus()
    forward = build("forward", say)
    buffers = 65_536
    peer = Testpmd("testpmd macswap", NULL_DEVICES, cpu, main_cpu, mbufs=buffers, cache=0)
    contestants = [peer]
    for job in ["macswap", "plain", "lossless"]:
        cold = [job, "--huge", "--cold", str(buffers // 2)]
        contestants.append(Sluice(f"sluice {job}", forward, cold, [cpu]))
    with hugepages(MIB_COLD * len(contestants), say):
        samples = rounds(contestants, settings, gate, say)
    return [
        compare("null-cold", samples, f"sluice {job}", peer.name, time_ratio)
        for job in ["macswap", "plain", "lossless"]
    ]


def pcap_ovs(settings, gate, say):
    """`sluice switch` on two pcap ports that repeat 256 flows each for ever, against OVS-DPDK."""
    cpu, main_cpu = _two_cpus()
    sluice = build("sluice", say)
    rows = []
    for tagged in [True, False]:
        with tempfile.TemporaryDirectory(prefix="sluice-perf-") as directory:
            devices = []
            for side in range(2):
                path = f"{directory}/{side}.pcap"
                frames.write(path, side, tagged)
                # No tx_pcap: sent frames are counted and dropped.
                devices.append(f"net_pcap{side},rx_pcap={path},infinite_rx=1")
            place = [devices, cpu, main_cpu]
            ovs = Ovs("ovs normal", *place, f"{directory}/ovs")
            testpmd = Testpmd("testpmd macswap", *place)
            ours = [
                SluiceSwitch(f"sluice {name}", sluice, lossless, tagged, *place,
                             f"{directory}/{name}")
                for name, lossless in [("plain", False), ("lossless", True)]
            ]
            with hugepages(MIB_EACH * 3 + MIB_OVS, say):
                samples = rounds([testpmd, *ours, ovs], settings, gate, say)

        def against(base, one):
            case = f"pcap-ovs {'tagged' if tagged else 'untagged'}"
            return compare(case, samples, one.name, base.name, rate_ratio, "Mpps")

        rows += [at_least(against(ovs, one), least) for one, least in zip(ours, [3.5, 2.8])]
        rows += [against(ovs, testpmd), *(against(testpmd, one) for one in ours)]
    return rows


def gen_rx(settings, gate, say):
    """A generator's receiving side, which counts, orders and times, against testpmd's rxonly."""
    cpu, main_cpu = _two_cpus()
    sink = build("sink", say)
    with tempfile.TemporaryDirectory(prefix="sluice-perf-") as directory:
        path = f"{directory}/probed.pcap"
        frames.write_probed(path)
        device = f"net_pcap0,rx_pcap={path},infinite_rx=1"
        peer = Testpmd("testpmd rxonly", [device], cpu, main_cpu, "rxonly", "Rx")
        ours = Sluice("sluice sink", sink, [device, "--huge"], [cpu])
        loop = Sluice("our receive loop", sink, [device, "--huge", "--raw"], [cpu])
        numbers = Sluice("our receive loop, numbering", sink,
                         [device, "--huge", "--raw", "--number"], [cpu])
        contestants = [peer, ours, loop, numbers]
        with hugepages(MIB_EACH * len(contestants), say):
            samples = rounds(contestants, settings, gate, say)

    def against(subject):
        return compare("gen-rx", samples, subject.name, peer.name, rate_ratio, "Mpps")

    # To number and date frames is the bench's, and no receiver's.
    own = [_less(*all_three) for all_three in zip(*(samples[c.name] for c in contestants[1:]))]
    samples["sluice sink, numbering off"] = own
    bare = compare("gen-rx", samples, "sluice sink, numbering off", peer.name, rate_ratio, "Mpps")
    return [against(ours), at_least(bare, 0.6), against(loop), against(numbers)]


def _less(whole, loop, numbering):
    """The sample `whole` without the time that `numbering` takes more than `loop`."""
    rate = 1 / (1 / whole.rate - (1 / numbering.rate - 1 / loop.rate))
    return Sample(rate, max(s.foreign for s in (whole, loop, numbering)),
                  max(s.waited for s in (whole, loop, numbering)))


def nohuge(settings, gate, say):
    """Sluice on ordinary pages against Sluice on hugepages, between net_null ports."""
    cpu, _ = _two_cpus()
    forward = build("forward", say)
    rows = []
    with hugepages(MIB_EACH, say):
        for job in ["plain", "lossless"]:
            huge = Sluice(f"{job}, hugepages", forward, [job, "--huge"], [cpu])
            small = Sluice(f"{job}, 4 KiB pages", forward, [job, "--no-huge"], [cpu])
            samples = rounds([huge, small], settings, gate, say)
            row = compare("nohuge", samples, small.name, huge.name, time_ratio)
            rows.append(at_most(row, 1.2))
    return rows


def workers(settings, gate, say):
    """Two workers, each with a pair of net_null ports, against one worker with one pair."""
    cpu, other = _two_cpus()
    forward = build("forward", say)
    rows = []
    with hugepages(2 * MIB_EACH, say):
        for job in ["plain", "lossless"]:
            options = [job, "--huge", "--workers"]
            one = Sluice(f"{job}, one worker", forward, [*options, "1"], [cpu])
            two = Sluice(f"{job}, two workers", forward, [*options, "2"], [cpu, other])
            samples = rounds([one, two], settings, gate, say)
            row = compare("workers", samples, two.name, one.name, rate_ratio, "Mpps")
            rows.append(at_least(row, 1.7))
    return rows


# Cases by verb, in the order of a run of all.
CASES = {
    "null-macswap": null_macswap,
    "null-cold": null_cold,
    "pcap-ovs": pcap_ovs,
    "gen-rx": gen_rx,
    "nohuge": nohuge,
    "workers": workers,
    "gen-tx": generate.tx,
    "gen-queues": generate.queues,
    "gen-pace": generate.pace,
    "responder": headroom.responder,
    "measuring": headroom.measuring,
    "congestion": features.run,
    "macsec-pfc": features.macsec,
    "secure": secure.run,
    "cryptodev": cryptodev.run,
    "sim": sim.run,
    "kernel": kernel.run,
    "cpu": cost.run,
    "instructions": instructions.run,
}
