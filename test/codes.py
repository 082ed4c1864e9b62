"""Assertions on the codes of errors (docs/codes.md). What an error says is for people and may change."""

import contextlib

import pytest

from planweave.core.base.errors import PlanweaveError


@contextlib.contextmanager
def raises_code(code, *data):
    """An error of this code must be raised, whose message has the data.

    data: names, numbers, places in files and commands, or tuples of them; never a phrase, which is the message's own.
    Yields what `pytest.raises` does, whose `value` is the error.
    """
    with pytest.raises(PlanweaveError) as caught:
        yield caught
    assert caught.value.code == code, f"{caught.value.code}: {caught.value}"
    wanted = [str(part) for datum in data for part in (datum if isinstance(datum, tuple) else (datum,))]
    assert not [part for part in wanted if part not in str(caught.value)], str(caught.value)
