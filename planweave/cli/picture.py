"""Pictures of an action tree, drawn with Pillow: time runs to the right, the most sampled branch is at the top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from planweave.core.trees.action_tree import Status
from planweave.core.trees.rows import TreeRow, children_of

# status: (fill, outline, text, word in the legend)
COLOURS = {
    Status.DONE: ("#d7f2dd", "#2e9e4f", "#14532d", "done"),
    Status.CURRENT: ("#fff3c4", "#d69e00", "#5f4700", "current"),
    Status.FAILED: ("#ffd9d6", "#d0342c", "#7a120c", "failed"),
    Status.UNDONE: ("#eadcf8", "#8a4fd3", "#42206e", "undone"),
    Status.INVALID: ("#f3f3f3", "#d9a19e", "#9a6a67", "ruled out"),
    Status.UNTRIED: ("#f7f8fa", "#c3c9d1", "#5b6470", "not tried"),
}
ROW, GAP, PAD, MARGIN, HEAD = 34, 46, 9, 24, 70
MAX_LEAVES = 40


def draw_tree(rows: Sequence[TreeRow], path: Path, title: str = "") -> None:
    """Write a PNG of the tree with at most 40 leaves, preferring those tried and most sampled; a note counts the
    others.
    """
    kept, left_out = _most_telling(rows)
    by_parent = children_of(kept)
    lines = _lines(by_parent)
    font, small, big = (ImageFont.load_default(size) for size in (15, 12, 20))
    texts = {row.id: row.action for row in kept if row.parent >= 0}
    column_width: dict[int, float] = {}
    for row in kept:
        if row.parent >= 0:
            width = font.getlength(texts[row.id]) + 2 * PAD
            column_width[row.time_step] = max(column_width.get(row.time_step, 0.0), width)
    left: dict[int, float] = {}
    x = MARGIN + 62.0
    for step in sorted(column_width):
        left[step] = x
        x += column_width[step] + GAP
    legend = _legend(kept)
    note = f"{left_out} less sampled nodes are not shown" if left_out else ""
    needed = [x - GAP, MARGIN + big.getlength(title), MARGIN + sum(small.getlength(w) + 40 for _, w in legend) + 230]
    width = int(max(needed)) + MARGIN
    height = HEAD + int((max(lines.values(), default=0) + 1) * ROW) + MARGIN + (20 if note else 0)
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    draw.text((MARGIN, 14), title, "#1c2733", big)
    _draw_legend(draw, legend, small)
    most = max((row.samples for row in kept), default=1) or 1

    def middle(row_id: int) -> float:
        return HEAD + (lines[row_id] + 0.5) * ROW

    by_id = {row.id: row for row in kept}
    boxes = {
        row.id: (left[row.time_step], left[row.time_step] + font.getlength(texts[row.id]) + 2 * PAD)
        for row in kept
        if row.parent >= 0
    }
    for row in sorted(kept, key=lambda r: r.status in (Status.DONE, Status.CURRENT)):
        if row.parent < 0:
            continue
        start = boxes[row.parent][1] if row.parent in boxes else MARGIN + 12.0
        y0, y1, end = middle(row.parent), middle(row.id), boxes[row.id][0]
        colour, thick = COLOURS[row.status][1], 1 + round(4 * row.samples / most)
        bend = end - GAP * 0.7
        draw.line([(start, y0), (bend, y0), (bend, y1), (end, y1)], fill=colour, width=thick)
        if row.samples:
            draw.text((end - 5, y1 - 5), str(row.samples), "#5b6470", small, anchor="rb")
    if 0 in by_id:
        y = middle(0)
        draw.ellipse([MARGIN, y - 7, MARGIN + 14, y + 7], fill="#1c2733")
    for row in kept:
        if row.parent >= 0:
            fill, outline, ink, _ = COLOURS[row.status]
            y, (x0, x1) = middle(row.id), boxes[row.id]
            draw.rounded_rectangle([x0, y - 12, x1, y + 12], 6, fill, outline, 2 if row.status is Status.CURRENT else 1)
            draw.text((x0 + PAD, y), texts[row.id], ink, font, anchor="lm")
    if note:
        draw.text((MARGIN, height - MARGIN - 6), note, "#5b6470", small)
    image.save(path)


def _most_telling(rows: Sequence[TreeRow]) -> tuple[list[TreeRow], int]:
    """Rows on the paths to at most MAX_LEAVES leaves, and the number of nodes left out."""
    by_id = {row.id: row for row in rows}
    parents = {row.parent for row in rows}
    leaves = [row for row in rows if row.id not in parents]
    tried = (Status.DONE, Status.CURRENT, Status.FAILED, Status.UNDONE)
    leaves.sort(key=lambda leaf: (not any(r.status in tried for r in _up(leaf, by_id)), -leaf.samples, leaf.id))
    keep = {row.id for leaf in leaves[:MAX_LEAVES] for row in _up(leaf, by_id)}
    return [row for row in rows if row.id in keep], len(rows) - len(keep)


def _up(row: TreeRow, by_id: dict[int, TreeRow]) -> list[TreeRow]:
    path = [row]
    while row.parent >= 0:
        row = by_id[row.parent]
        path.append(row)
    return path


def _lines(by_parent: dict[int, list[TreeRow]]) -> dict[int, float]:
    """Line (row of the picture) of each node: leaves below each other, a parent on its first child's line."""
    lines: dict[int, float] = {}
    following = 0.0
    stack = [0]
    order: list[int] = []
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(child.id for child in reversed(by_parent.get(node, [])))
    for node in order:
        if not by_parent.get(node):
            lines[node] = following
            following += 1
    for node in reversed(order):
        if by_parent.get(node):
            lines[node] = lines[by_parent[node][0].id]
    return lines


def _legend(rows: Sequence[TreeRow]) -> list[tuple[Status, str]]:
    present = {row.status for row in rows if row.parent >= 0}
    return [(status, COLOURS[status][3]) for status in COLOURS if status in present]


def _draw_legend(
    draw: ImageDraw.ImageDraw, legend: list[tuple[Status, str]], font: ImageFont.ImageFont | ImageFont.FreeTypeFont
) -> None:
    x = float(MARGIN)
    for status, word in legend:
        fill, outline, ink, _ = COLOURS[status]
        draw.rounded_rectangle([x, 46, x + 14, 58], 3, fill, outline)
        draw.text((x + 19, 52), word, ink, font, anchor="lm")
        x += font.getlength(word) + 40
    draw.text((x, 52), "number: sampled plans that go this way", "#5b6470", font, anchor="lm")
