"""The figures of perception: random scenes with stacks and full containers, without a mistake."""

import pytest

from benchmarks.perception_figures import measure

pytestmark = pytest.mark.gl


def test_random_scenes_with_stacks_and_full_containers():
    figures = measure(scenes=12, seed=11)
    assert figures.mistakes == []
    assert figures.objects > 60
    assert figures.summary()["error_median_mm"] <= 5.0
