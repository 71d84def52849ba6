"""Searches virtual devices with known loss curves with the MLRsearch library of FD.io CSIT.

Prints a line of JSON per device: its seed, the number of trials, and the bounds of each goal. The
devices are those of tests/outside/mlrsearch.rs.
"""

import json
import sys

from MLRsearch import (
    AbstractMeasurer,
    Config,
    MeasurementResult,
    MultipleLossRatioSearch,
    SearchGoal,
)

MASK = 2**64 - 1


def mix(value):
    """SplitMix64 of a value."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


class Device(AbstractMeasurer):
    def __init__(self, seed):
        self.seed = seed
        self.capacity = 20_000.0 + mix(seed) % 14_000_000
        self.trials = 0

    def loss_ratio(self, load):
        """Share of the frames that the next trial at a load loses."""
        lost = 0.0 if load <= self.capacity else 1.0 - self.capacity / load
        soft = 0.95 * self.capacity
        if self.seed % 3 == 1 and load > soft:
            lost = max(lost, 0.1 * (load / soft - 1.0))
        if self.seed % 3 == 2 and mix(self.seed * 1_000_003 + self.trials) % 8 == 0:
            lost += 0.01
        return min(lost, 1.0)

    def measure(self, intended_duration, intended_load):
        frames = int(intended_load * intended_duration)
        lost = int(frames * self.loss_ratio(intended_load) + 0.5)
        self.trials += 1
        return MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=frames,
            loss_count=lost,
        )


def search(seed):
    config = Config()
    config.goals = [SearchGoal(loss_ratio=0.0), SearchGoal(loss_ratio=0.005)]
    config.max_load = 14_880_952.0
    config.min_load = 9001.0
    config.warmup_duration = None
    device = Device(seed)
    results = MultipleLossRatioSearch(config).search(device, debug=lambda _: None)
    goals = []
    for goal in config.goals:
        result = results[goal]
        bounds = (result.relevant_lower_bound, result.relevant_upper_bound)
        goals.append([float(b.target_load if hasattr(b, "target_load") else b) for b in bounds])
    return {"seed": seed, "trials": device.trials, "goals": goals}


for seed in range(int(sys.argv[1])):
    print(json.dumps(search(seed)))
