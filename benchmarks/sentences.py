"""Figures of reading sentences: how many of the set are read right, refused or read wrongly; how long one takes.

With a folder of instructions that others wrote, theirs as well; with --model, what the product makes of those with a
language model behind an endpoint (`benchmarks.sentence_reader`) and nothing else.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

from doubles.named_worlds import read, world_of

from benchmarks import libero_sentences, outside_sentences, sentence_reader
from benchmarks.figures import Row, figure
from benchmarks.sentence_set import ReadVerdict, Sentence, judged, sentences, unrelated

_ALONE = 0.9  # of LIBERO's sentences, by the grammar


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    if options.model:
        return sentence_reader.run(options, console)
    rows: list[Row] = []
    found: Counter[Any] = Counter()
    milliseconds = []
    of = sentences()
    for name in dict.fromkeys(s.world for s in of):
        judged(Sentence(name, "put everything away", (), True, None), read)  # the first reading builds the parser
    for sentence in of:
        start = time.process_time()
        verdict = judged(sentence, read)
        milliseconds.append(1000 * (time.process_time() - start))
        found[verdict.verdict] += 1
        found["suggests", _suggests_other(verdict)] += 1
        if verdict.verdict == "wrong":
            console.print(f"wrong: {sentence.world}: {sentence.text!r} -> {verdict.said}", markup=False)
    rows.append(figure("sentences read right, or refused where nothing can be right", f"{found['right']} of {len(of)}"))
    rows.append(figure("sentences refused that could be read", f"{found['refused']} of {len(of)}"))
    rows.append(figure("sentences read wrongly", f"{found['wrong']} of {len(of)}", "0", found["wrong"] == 0))
    rows.append(outside_sentences.suggesting(found))
    sets = [libero_sentences.libero()]
    for folder in options.folders:
        rows += outside_sentences.figures(Path(folder), read, console)
        sets.append(libero_sentences.libero_90(Path(folder)))
    for each in sets:
        of_set = list(each)
        lines = [{"id": one.id, **one.read_by(read)} for one in of_set]
        rows += sentence_reader.rows(of_set[0].set, lines, enough=_ALONE)
        for line in lines:
            if line["verdict"] == "wrong":
                console.print(f"wrong: {line['id']}: {line['said']}", markup=False)
    at = sorted(milliseconds)[int(0.95 * len(milliseconds))]
    rows.append(
        figure(
            "processor time a sentence, median and 95th percentile",
            f"{statistics.median(milliseconds):.1f} ms, {at:.1f} ms",
            "≤ 20 ms",
            at <= 20,
        )
    )
    return rows


def _suggests_other(verdict: ReadVerdict) -> bool | None:
    domain, world = world_of(verdict.sentence.world)
    return unrelated(domain, world, verdict.sentence.text, verdict.said)
