"""The simulation of a large cluster: what must hold whatever its parameters are."""

from dataclasses import replace

import pytest

pytest.importorskip("simpy", reason="simpy is not installed")

from tools.scale_simulation import Cluster, Simulation

SMALL = Cluster(words=1e7, workers=20, shard_words=1e4, spread=0.0, slow_share=0.0, failure=1e12)


def test_workers_that_never_fail_take_what_the_words_take():
    found = Simulation(SMALL, 0).run()
    assert found["shards"] == 1000
    assert 0.9 < found["efficiency"] <= 1  # what the words take, over all that is paid
    assert found == Simulation(SMALL, 0).run()


def test_what_costs_time_does():
    usual = Simulation(SMALL, 0).run()["efficiency"]
    for change in (
        {"failure": 60.0},
        {"slow_share": 0.3},
        {"head_shard": 1.0},
        {"metadata": 10.0},
        {"start": 100.0},
    ):
        assert Simulation(replace(SMALL, **change), 0).run()["efficiency"] < usual - 0.02
    lost = Simulation(replace(SMALL, failure=60.0), 0).run()["core hours lost"]
    assert lost["failures"] > 0
