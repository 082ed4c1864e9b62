"""What a sentence names, for open-vocabulary eyes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planweave.perception.vocabulary import clean
from planweave.tasks.naming import MOST_NAMES, names_in


@pytest.mark.parametrize(
    "sentence, names",
    [
        ("put the red mug next to the laptop", ["red mug", "laptop"]),
        ("Put the banana in the bowl and the pear on the plate.", ["banana", "bowl", "pear", "plate"]),
        ("sort the fruits and the bottles", ["fruits", "bottles"]),
        ("hand me the crimson screw-driver!", ["crimson screw-driver"]),
        ("put it there", []),
        ("", []),
    ],
)
def test_names(sentence, names):
    assert names_in(sentence) == names


@given(st.text(max_size=300))
def test_whatever_is_said_the_names_are_taken(text):
    names = names_in(text)
    assert len(names) <= MOST_NAMES
    clean([name for name in names if len(name) <= 60])  # as perception_node checks them
