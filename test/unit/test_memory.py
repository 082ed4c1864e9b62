"""That a process gives back what it does not need, whichever of its threads freed it."""

import platform
import subprocess
import sys

import pytest

#: threads take and free large blocks, and keep small ones that were taken after them, as those of a simulator do
WORK = """
import sys, threading
import numpy as np
from planweave.core.base.memory import use_one_heap
if sys.argv[1] == "one":
    use_one_heap()
kept = []
def work():
    for _ in range(3):
        large = [np.ones(3_000_000) for _ in range(3)]  # 24 MB each
        kept.append(np.ones(12_000))
        del large
for _ in range(6):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(open("/proc/self/smaps_rollup").read().split("Rss:")[1].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not GNU's")
def test_large_blocks_are_given_back_whichever_thread_freed_them():
    one, many = (
        int(subprocess.run([sys.executable, "-c", WORK, how], capture_output=True, text=True, check=True).stdout)
        for how in ("one", "many")
    )
    assert one < 100_000 and one < many / 2, f"kB with one heap {one}, without {many}"
