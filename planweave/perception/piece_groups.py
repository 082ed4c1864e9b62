"""Which pieces of surfaces are one thing: in several views, walls around a floor, halves behind another thing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from itertools import combinations

import cv2
import numpy as np

from planweave.perception.colours import other_surface
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Plane, hull_of, inward, outline, percentile
from planweave.perception.surface_pieces import Borders

VOXEL = 0.006  # m: cameras that show the same place agree within this
_SHARED = 0.25  # share of the smaller piece's voxels that another camera's piece shows, too, where both are one
_SLIVER, _THIN = 4e-4, 0.008  # m^2, and m of width, below which a piece is none by itself
_NARROW = 0.02  # m of width of the rim of a wall
_ATTACHED = 0.3  # share of a sliver's border with the piece that it touches most
_DIRECTIONS, _AROUND = 24, 0.7  # directions from the middle of a hollow, and share of them in which a wall rises
_BORDERED = 0.5  # share of them in which a floor borders on its walls
_WALL = 0.25  # share of the directions that a wall is in
_RIM = 0.012  # m that a wall rises above a floor
_EVEN = 0.004  # m from the height of a rim at which a bit of its wall ends, cut off by a thing before it
_CORNER = 0.06  # m that a corner of two walls is wide, seen from above, with their inner sides
_OUTER = 0.8  # share of a hollow's radius from which on what rises is its wall
_LEVEL_RIM = 0.4  # share of a hollow's depth that its walls may differ in height
_SURROUNDED, _FLUSH = 0.6, 0.008  # share of its border that a flush piece has with one other, and m it stands out
_PROFILE = 0.01  # m between the outlines of two halves of one thing, across the direction from one to the other
_BETWEEN, _OPEN = 19, 0.15  # points between two halves, and share of them that shows that nothing is there
_NEAR = 4  # pixels around the middle between two halves in which what hides it is seen
_LEAST_PROFILE = 16  # cells of the profile that tell a thing
_ALIKE = 0.75  # share of points that agree
_GAP = 0.02  # m above its support up to which the lowest visible point of a thing may be
_CAP, _CAP_DEPTH, _STEM = 14e-4, 0.05, 0.1  # m^2 of a cap, m that it reaches down, m of width of what bears it
_SMALLER = 0.9  # length of a cap, of that of what bears it
_LEAST_FOOT = 20e-4  # m^2 of the outline of what stands on another thing's side
_FOOT = 0.012  # m above its lowest point that a thing touches its support with
_FACES_UP, _BESIDE = 0.5, 0.03  # upward part of the normal of what bears a thing, and m around it that are looked at
_LOW, _EDGE = 0.03, 0.4  # m of height from which on a thing needs no edge, and share of the border that is one
_PLATE, _RAISED = 0.03, 0.004  # m of height below which a thing may be a plate, and by which a lid's middle is higher
SURE = 0.2  # share of a thing's pixels that are not beside a step, from which on only those are its points
_SAMPLE = 2000  # points
_CONTACT = 6  # pixels
_PART = 0.25  # of the size of the whole, up to which what hovers is a part
_LOWER = 0.4  # share of its border that is the lower part of a thing's
_WITHIN = 0.95  # share of a thing's points over what it lies in
_PARTED = 0.5  # share of the lower edge of a thing below which there is nothing
_NONE = np.zeros(0, np.int64)


class PieceGroups:
    """Pieces of all views, numbered throughout from 1, and which of them are joined.

    points, colours: (n, 3), areas, height, piece: (n,) of all pixels of pieces: metres, 0 to 255, m^2, metres above
    the ground; beside_steps: (n,) bool, where a pixel may show what lies behind. attached: pairs of (group of
    every piece before what hovers was joined, group that hovers).
    """

    def __init__(
        self,
        views: Sequence[DepthView],
        labels: Sequence[np.ndarray],
        borders: Sequence[Borders],
        ground: Plane,
        apart: Sequence[tuple[int, int]] = (),
    ) -> None:
        seen = [label > 0 for label in labels]
        self.piece = np.concatenate([label[s] for label, s in zip(labels, seen)])
        at = [np.flatnonzero(s) for s in seen]
        self.points, self.colours = (
            np.concatenate(
                [
                    np.stack([plane.ravel()[k] for plane in getattr(view, name).transpose(2, 0, 1)], axis=1)
                    for view, k in zip(views, at)
                ]
            )
            for name in ("points", "rgb")
        )
        self.areas, self.upward, self.beside_steps = (
            np.concatenate([getattr(view, name).ravel()[k] for view, k in zip(views, at)])
            for name in ("areas", "upward", "beside_steps")
        )
        self.height = self.points[:, 2] - ground.a * self.points[:, 0] - ground.b * self.points[:, 1] - ground.c
        self._ground, self._apart = ground, apart
        self.parent = np.arange(max(int(label.max(initial=0)) for label in labels) + 1)
        self.attached: list[tuple[np.ndarray, int]] = []
        self._eyes = [view.camera_to_frame.translation for view in views]
        self._views, self._labels = views, labels
        self._several = len(views) > 1
        self._view = np.concatenate([np.full(s.sum(), k) for k, s in enumerate(seen)])
        self._pairs, self._ends, self._cut, self._touches, self._nearer = (
            np.concatenate([getattr(b, field.name) for b in borders]) for field in fields(Borders)
        )
        self._pixel = np.sqrt(percentile(self.areas, 50)) if len(self.areas) else 0.0
        self._last: tuple[np.ndarray, dict[int, np.ndarray], dict[tuple[int, int], np.ndarray]] | None = None

    def root(self, piece: int) -> int:
        """The number of the group that a piece belongs to."""
        while self.parent[piece] != piece:
            self.parent[piece] = self.parent[self.parent[piece]]
            piece = int(self.parent[piece])
        return piece

    def join_two(self, one: int, two: int) -> None:
        """Make two pieces, and what they are joined with, one; not where that would join what is known to be two."""
        both = {self.root(one), self.root(two)}
        if not any({self.root(a), self.root(b)} == both for a, b in self._apart):
            self.parent[self.root(one)] = self.root(two)

    def owners(self) -> np.ndarray:
        """The group of every piece."""
        return np.array([self.root(k) for k in range(len(self.parent))])

    def join(self) -> None:
        """Join all pieces that are of one thing."""
        if self._several:
            self._join_views()
        self._join_slivers()
        self._join_strips()
        self._join_flush()
        self._join_divided()
        self._join_hollows()
        self._join_flush()
        self._join_caps()
        self._join_divided()
        self._join_hovering()

    # ---- what is known of groups

    def rows_of(self, owner: np.ndarray) -> dict[int, np.ndarray]:
        """Indices of the points of every group."""
        mine = owner.astype(np.min_scalar_type(len(owner)))[self.piece]  # short numbers are sorted faster
        order = np.argsort(mine, kind="stable")
        numbers, starts = np.unique(mine[order], return_index=True)
        return dict(zip(numbers.tolist(), np.split(order, starts[1:])))

    def _grouped(self) -> tuple[np.ndarray, dict[int, np.ndarray], dict[tuple[int, int], np.ndarray]]:
        """The group of every piece, with `rows_of` and `_contacts` of the groups."""
        owner = self.owners()
        if self._last is None or not np.array_equal(owner, self._last[0]):
            self._last = owner, self.rows_of(owner), self._contacts(owner)
        return self._last

    def _sure(self, rows: np.ndarray) -> np.ndarray:
        """Some points of these that do not show what lies behind them."""
        sure = rows[~self.beside_steps[rows]]
        rows = sure if len(sure) > SURE * len(rows) else rows
        return np.asarray(self.points[rows[:: max(1, len(rows) // _SAMPLE)]])

    def _contacts(self, owner: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
        """Rows of the borders between every two groups, for both orders of them."""
        one, two = owner[self._pairs].T
        rows = np.nonzero(one != two)[0]
        keys = (np.minimum(one, two) * len(owner) + np.maximum(one, two))[rows]
        order = np.argsort(keys.astype(np.min_scalar_type(len(owner) ** 2)), kind="stable")
        bounds = np.nonzero(np.diff(keys[order], prepend=-1))[0]
        found: dict[tuple[int, int], np.ndarray] = {}
        for chosen in np.split(rows[order], bounds[1:]) if len(rows) else ():
            a, b = int(one[chosen[0]]), int(two[chosen[0]])
            found[a, b] = found[b, a] = chosen
        return found

    def _sides(self, owner: np.ndarray, rows: np.ndarray, group: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of rows of the borders of a group: its points, the others' points, and how much nearer the others are."""
        first = owner[self._pairs[rows, 0]] == group
        mine = np.where(first[:, None], self._ends[rows, 0], self._ends[rows, 1])
        other = np.where(first[:, None], self._ends[rows, 1], self._ends[rows, 0])
        return mine, other, self._others_nearer(owner, rows, group)

    def _others_nearer(self, owner: np.ndarray, rows: np.ndarray, group: int) -> np.ndarray:
        """How much nearer the others are along the rows of the borders of a group, (n,) m."""
        return np.where(owner[self._pairs[rows, 0]] == group, -self._nearer[rows], self._nearer[rows])

    def uneven_ground(self) -> set[int]:
        """Groups that are the ground itself, which depth shows uneven: low, and without an edge around them."""
        owner, groups, contacts = self._grouped()
        found = set()
        for one, rows in groups.items():
            edge = contacts.get((one, 0))
            low = percentile(self.height[rows], 98) < _LOW
            if edge is not None and low and self._cut[edge].mean() < _EDGE:
                found.add(one)
        return found

    # ---- rules

    def _join_views(self) -> None:
        """Join the pieces that show the same place in several views."""
        voxel = np.floor(self.points / VOXEL).astype(np.int64)
        voxel -= voxel.min(axis=0, initial=0)
        cells = voxel.max(axis=0, initial=0) + 1
        flat = (voxel[:, 0] * cells[1] + voxel[:, 1]) * cells[2] + voxel[:, 2]
        rows = np.unique(np.stack((flat, self._view, self.piece)), axis=1)
        sizes = np.bincount(rows[2], minlength=len(self.parent))
        counts: dict[tuple[int, int], int] = {}
        bounds = np.nonzero(np.diff(rows[0], prepend=-1))[0]
        for views, pieces in zip(np.split(rows[1], bounds[1:]), np.split(rows[2], bounds[1:])):
            for i, j in combinations(range(len(pieces)), 2):
                if views[i] != views[j]:
                    pair = int(pieces[i]), int(pieces[j])
                    counts[pair] = counts.get(pair, 0) + 1
        for (a, b), count in sorted(counts.items(), key=lambda item: -item[1]):
            if count >= max(_SHARED * min(sizes[a], sizes[b]), 3):
                self.join_two(a, b)

    def _join_slivers(self) -> None:
        """Join small and thin groups with the one that they touch along most of their border."""
        owner, _, contacts = self._grouped()
        sizes = np.bincount(owner[self.piece], self.areas, len(self.parent))
        lengths = np.bincount(owner[self._pairs].ravel(), minlength=len(self.parent)) * self._pixel
        for one in sorted(np.nonzero(sizes)[0], key=lambda k: sizes[k]):
            if not (sizes[one] < _SLIVER or 2 * sizes[one] < _THIN * lengths[one]):
                continue
            touched = {b: int(self._touches[rows].sum()) for (a, b), rows in contacts.items() if a == one}
            touched.pop(0, None)
            most = max(touched, key=lambda k: touched[k], default=None)
            if most is not None and touched[most] >= max(_ATTACHED * lengths[one] / self._pixel, 3):
                self.join_two(int(one), most)

    def _join_strips(self) -> None:
        """Join narrow groups with what goes on at their ends, at one height: bits of the rim of a wall."""
        owner, groups, contacts = self._grouped()
        sizes = np.bincount(owner[self.piece], self.areas, len(self.parent))
        widths = (
            2 * sizes / np.maximum(np.bincount(owner[self._pairs].ravel(), minlength=len(sizes)) * self._pixel, 1e-9)
        )
        tops = {k: percentile(self.height[rows], 98) for k, rows in groups.items()}
        for (one, two), rows in contacts.items():
            if not (0 < widths[one] < _NARROW and two and len(rows) >= 3 and len(rows) * self._pixel < 2 * _NARROW):
                continue
            if self._touches[rows].mean() > _SURROUNDED and abs(tops[one] - tops[two]) < _FLUSH:
                self.join_two(one, two)

    def _join_hollows(self) -> None:
        """Join floors and inner sides with the walls that enclose them: a bowl, a tray, a box, a drawer."""
        owner, groups, contacts = self._grouped()
        for one, rows in groups.items():
            if self.areas[rows].sum() < 2 * _SLIVER:
                continue
            beside = {b: r for (a, b), r in contacts.items() if a == one}
            for wall in self._walls(one, groups, beside, owner):
                self.join_two(wall, one)

    def _walls(
        self, one: int, groups: dict[int, np.ndarray], beside: dict[int, np.ndarray], owner: np.ndarray
    ) -> list[int]:
        """The groups beside one that are its walls: that rise around it, to one height."""
        points = self._sure(groups[one])
        middle = np.array([(along.min() + along.max()) / 2 for along in points[:, :2].T])
        bins, away = _polar(points[:, :2] - middle)
        radius = np.zeros(_DIRECTIONS)
        np.maximum.at(radius, bins, away)
        inner = points[away < 0.5 * np.maximum(radius[bins], 0.01), 2]
        floor = percentile(inner if len(inner) >= 10 else points[:, 2], 20)
        tops = np.full(_DIRECTIONS, -np.inf)
        outer = away >= _OUTER * radius[bins]
        np.maximum.at(tops, bins[outer], points[outer, 2])
        own, highest, borders, eye = tops.copy(), {}, {}, self._eyes[self._view[groups[one][0]]][:2]
        for k, rows in beside.items():
            if k == 0:
                continue
            mine, edge, nearer = self._sides(owner, rows, one)
            if (nearer < -_RIM).mean() > 0.5 or len(rows) < _CONTACT:
                continue  # it lies behind
            b, a = _polar(edge[:, :2] - middle)
            if (a >= _OUTER * radius[b]).mean() < 0.5:
                continue  # it stands within
            borders[k] = np.bincount(b, minlength=_DIRECTIONS) > 0
            p = self._sure(groups[k])
            b, a = _polar(p[:, :2] - middle)
            beyond = a >= _OUTER * radius[b]
            around = np.count_nonzero(np.bincount(b[beyond])) > _DIRECTIONS / 2
            behind = self._away(p, eye).mean() - self._away(points, eye).mean()
            before = np.median(self._away(mine, eye) - self._away(edge, eye))
            above = len(groups[k]) > len(groups[one]) and percentile(p[:, 2], 2) > percentile(points[:, 2], 98)
            if above or (np.median(nearer) > _RIM and behind > _RIM and before > 0 and not around):
                continue  # it hangs over
            highest[k] = np.full(_DIRECTIONS, -np.inf)
            np.maximum.at(highest[k], b[beyond], p[beyond, 2])
            np.maximum(tops, highest[k], out=tops)
        there = radius > 0
        if there.mean() < 0.5 or (tops > floor + _RIM)[there].mean() < _AROUND:
            return []
        rim = float(np.median(tops[tops > floor + _RIM]))
        allowed = max(_RIM, _LEVEL_RIM * (rim - floor))
        likes = {k for k in highest if not self._differ(groups[k], groups[one])}
        walls = [
            k
            for k, top in highest.items()
            if abs(top.max() - rim) < allowed
            and (((top > floor + _RIM) & there).mean() > _WALL or (k in likes and self._is_bit(groups[k], beside[k])))
        ]
        alike = [k for k in walls if k in likes]
        for chosen in (alike, walls):  # a bowl in a drawer has walls of its own
            beside_one = np.any([own > floor + _RIM, *(borders[k] for k in chosen)], axis=0)
            if (beside_one & there).sum() < _BORDERED * there.sum():
                continue  # what encloses it encloses other things, too
            rims = np.max([own, *(highest[k] for k in chosen)], axis=0)
            if ((rims > floor + _RIM) & (np.abs(rims - rim) < allowed))[there].mean() > _AROUND:
                return [*chosen, *(k for k in likes if k not in chosen and self._ends_at(rim, groups[k]))]
        return []

    def _ends_at(self, rim: float, rows: np.ndarray) -> bool:
        """Whether a group ends at the height of a rim, as narrow there, and below no wider than a corner of walls."""
        z = self.points[rows, 2]
        thin = self.areas[rows[z > rim - _EVEN]].sum() < 2 * _SLIVER
        at_rim = abs(percentile(z, 99) - rim) < _EVEN
        return bool(at_rim and thin and outline(self.points[rows, :2]).short < _CORNER)

    def _is_bit(self, rows: np.ndarray, border: np.ndarray) -> bool:
        """Whether a group along a border is narrow, as a bit of a wall is."""
        return bool(self.areas[rows].sum() < _NARROW * len(border) * self._pixel)

    @staticmethod
    def _away(points: np.ndarray, eye: np.ndarray) -> np.ndarray:
        """Horizontal distances of points from a place (2,), metres."""
        x, y = points[:, 0] - eye[0], points[:, 1] - eye[1]
        return np.asarray(np.sqrt(x * x + y * y))

    def _join_flush(self) -> None:
        """Join what does not stand out of what surrounds it: the floor between walls, a burner, noise in a bowl."""
        owner, groups, contacts = self._grouped()
        for one in sorted(groups, key=lambda k: float(self.areas[groups[k]].sum())):
            beside = {b: rows for (a, b), rows in contacts.items() if a == one}
            total = sum(len(rows) for rows in beside.values())
            around = max(beside, key=lambda k: len(beside[k]), default=0)
            if around == 0 or len(beside[around]) < max(_SURROUNDED * total, _CONTACT):
                continue
            _, edge, _ = self._sides(owner, beside[around][self._touches[beside[around]]], one)
            if len(edge) < max(_ATTACHED * total, 4):
                continue
            middle = edge.mean(axis=0)
            normal = np.linalg.svd((edge - middle)[:: max(1, len(edge) // 200)], full_matrices=False)[2][2]
            points = self.points[groups[one]]
            outward = normal if normal @ (self._eyes[self._view[groups[one][0]]] - middle) > 0 else -normal
            if percentile((points - middle) @ outward, 95) < _FLUSH:
                self.join_two(one, around)

    def _join_divided(self) -> None:
        """Join what a nearer thing divides: two groups behind it whose outlines continue each other."""
        owner, groups, contacts = self._grouped()
        behind: dict[int, set[int]] = {}
        for (a, b), rows in contacts.items():
            if a and b and (self._others_nearer(owner, rows, a) > _RIM).sum() >= _CONTACT:
                behind.setdefault(b, set()).add(a)
        for before, hidden in behind.items():
            for a, b in combinations(sorted(hidden), 2):
                touching = contacts.get((a, b), _NONE)
                if self._touches[touching].sum() >= _CONTACT:
                    continue  # the cut between them is seen
                if self.root(a) == self.root(b) or not self._hides(before, groups[a], groups[b], owner):
                    continue
                on_one = any(self._touches[contacts[before, k]].sum() >= _CONTACT for k in (a, b))
                on_top = any(self._is_cap(groups[before], groups[k]) for k in (a, b))
                if on_top or (on_one and self._differ(groups[a], groups[b])):
                    continue  # it is a part of one of them, as a bottle's cap
                if self._continues(self.points[groups[a]], self.points[groups[b]]):
                    self.join_two(a, b)

    def _hides(self, before: int, one: np.ndarray, two: np.ndarray, owner: np.ndarray) -> bool:
        """Whether a group is seen in the middle between two others, where these are nearest to each other, and the
        ground nowhere on the way.
        """
        a, b = (self._sure(rows)[::4] for rows in (one, two))
        x, y, z = (along[:, None] - other for along, other in zip(a.T, b.T))
        k, m = np.unravel_index(np.argmin(x * x + y * y + z * z), (len(a), len(b)))
        view = self._view[one[0]]
        columns, rows, _, _ = self._views[view].projector.shown((a[k] + b[m])[None] / 2)
        for u, v in zip(columns, rows):
            near = self._labels[view][max(v - _NEAR, 0) : v + _NEAR + 1, max(u - _NEAR, 0) : u + _NEAR + 1]
            if (owner[near] == before).any():
                return not self._is_open(a[k] + np.linspace(0.0, 1.0, _BETWEEN + 2)[1:-1, None] * (b[m] - a[k]))
        return False

    def _is_open(self, between: np.ndarray) -> bool:
        """Whether the ground is seen where some of the points (n, 3) between two things would hide it."""
        shown = np.zeros(len(between), bool)
        for seen, labels in zip(self._views, self._labels):
            u, v, _, inside = seen.projector.shown(between)
            x, y, z = seen.points[v, u].T
            low = np.abs(z - self._ground.a * x - self._ground.b * y - self._ground.c) < _FLUSH
            shown[inside] |= (labels[v, u] == 0) & seen.valid[v, u] & low
        return bool(shown.mean() > _OPEN)

    @staticmethod
    def _continues(one: np.ndarray, two: np.ndarray) -> bool:
        """Whether two clouds have the same profile across the direction from one to the other."""
        ahead = np.median(two[:, :2], axis=0) - np.median(one[:, :2], axis=0)
        ahead /= max(float(np.linalg.norm(ahead)), 1e-9)
        aside = np.array((-ahead[1], ahead[0]))
        profiles = [np.column_stack((p[:, :2] @ aside, p[:, 2])) for p in (one, two)]
        cells = [np.unique(np.round(p / _PROFILE).astype(int), axis=0) for p in profiles]
        if min(len(c) for c in cells) < _LEAST_PROFILE:
            return False
        low = np.minimum(cells[0].min(axis=0), cells[1].min(axis=0)) - 1
        size = np.maximum(cells[0].max(axis=0), cells[1].max(axis=0)) - low + 2
        shares = []
        for mine, other in (cells, cells[::-1]):
            image = np.zeros(size, np.uint8)
            image[tuple((other - low).T)] = 1
            shares.append(cv2.dilate(image, np.ones((3, 3), np.uint8))[tuple((mine - low).T)].mean())
        return min(shares) > _ALIKE

    def _join_caps(self) -> None:
        """Join what sits in the middle of something taller than wide with it: a cap, a knob."""
        owner, groups, contacts = self._grouped()
        for one, two in ((a, b) for a, b in contacts if a and b):
            if self._is_cap(groups[one], groups[two]):
                self.join_two(one, two)

    def _is_cap(self, one: np.ndarray, two: np.ndarray) -> bool:
        """Whether a group is small and sits on top of another one in its middle, which is taller than wide."""
        cap, below = self._sure(one), self._sure(two)
        if len(cap) < 3 or len(below) < 3:
            return False
        low, top = float(cap[:, 2].min()), percentile(below[:, 2], 98)
        if percentile(cap[:, 2], 98) < top or low < top - _CAP_DEPTH:
            return False
        small, large = outline(cap[:, :2]), outline(below[:, :2])
        tall = percentile(self.height[two], 98) > large.short
        within = float(inward(np.array([small.circle_centre]), large.hull)[0])
        smaller = small.area < min(_CAP, large.area) and small.long < _SMALLER * large.long
        return smaller and tall and within > -_RIM and large.short < _STEM

    def _join_hovering(self) -> None:
        """Join what hovers with what it touches most: handles, lids, slats; kept as `attached`."""
        owner, groups, contacts = self._grouped()
        sizes = {k: float(self.areas[rows].sum()) for k, rows in groups.items()}
        view_of = np.zeros(len(self.parent), np.int64)
        view_of[self.piece] = self._view
        joined = []
        for one in sorted(groups, key=lambda k: sizes[k]):
            beside = {b: rows for (a, b), rows in contacts.items() if a == one}
            touched = {b: rows[self._touches[rows]] for b, rows in beside.items() if b}
            whole = max(touched, key=lambda k: len(touched[k]), default=None)
            if whole is None or len(touched[whole]) < _CONTACT or sizes[one] > _PART * sizes[whole]:
                continue
            best = np.argmax(np.bincount(self._view[groups[one]], self.areas[groups[one]]))
            seen_by = view_of[self._pairs[beside[whole]].max(axis=1)]  # the other one may be the ground, 0
            if (seen_by == best).sum() < _CONTACT:
                continue  # who sees it best sees it elsewhere
            if not self._stands(one, beside, touched, groups, owner) and not self._lies_in(groups[one], groups[whole]):
                joined.append((one, whole))
        for one, whole in joined:
            self.join_two(one, whole)
            if self.root(one) == self.root(whole):
                self.attached.append((owner, one))

    def _offset(self, rows: np.ndarray) -> float:
        """Height of the ground at some points, metres in the frame."""
        return float(self.points[rows[0], 2] - self.height[rows[0]])

    def _hovers(self, one: int, beside: dict[int, np.ndarray], owner: np.ndarray) -> bool:
        """Whether what lies behind a thing is seen below it: along the lower part of its border."""
        sides = [self._sides(owner, rows, one) for rows in beside.values()]
        z, nearer = np.concatenate([mine[:, 2] for mine, _, _ in sides]), np.concatenate([n for _, _, n in sides])
        return bool((nearer[z <= np.quantile(z, _LOWER)] < -_RIM).mean() > _PARTED)

    def _stands(
        self,
        one: int,
        beside: dict[int, np.ndarray],
        touched: dict[int, np.ndarray],
        groups: dict[int, np.ndarray],
        owner: np.ndarray,
    ) -> bool:
        """Whether a thing stands on the ground, on the upper side of what it touches, or on what is not seen."""
        rows = groups[one]
        low, high = (percentile(self.height[rows], share) for share in (2, 98))
        if low < _GAP or not self._hovers(one, beside, owner):
            return True
        if outline(self.points[rows, :2]).area < _LEAST_FOOT:
            return False
        for two, chosen in touched.items():
            if len(chosen) < _CONTACT:
                continue
            mine, other, _ = self._sides(owner, chosen, one)
            under, upper = (percentile(self.height[groups[two]], share) for share in (2, 98))
            foot, top = (np.median(side[:, 2]) - self._offset(rows) for side in (mine, other))
            above = top > upper - max(_FOOT, 0.3 * (upper - under)) or self._faces_up(groups[two], rows)
            if foot < low + max(_FOOT, 0.3 * (high - low)) and above:
                return True
        return False

    def _lies_in(self, rows: np.ndarray, around: np.ndarray) -> bool:
        """Whether a thing of another colour lies within the outline of what it touches: hardly higher, as in a hollow,
        or right on what is as low as a plate and no higher in its middle, where what is round seems to hover. A handle
        and a lid's knob stand out, and slats look like the rest.
        """
        own, whole = self.points[rows], self.points[around]
        within = inward(own[:, :2], hull_of(whole)) > -_RIM
        fits = np.median(own[:, 2]) < percentile(whole[:, 2], 98) + _RIM
        if not fits and (top := percentile(self.height[around], 98)) < _PLATE:
            near = (np.abs(whole[:, :2] - np.median(own[:, :2], axis=0)) < 2 * _BESIDE).all(axis=1)
            raised = near.any() and np.median(whole[near, 2]) > np.median(whole[:, 2]) + _RAISED
            fits = percentile(self.height[rows], 2) < top + _GAP and not raised
        return bool(within.mean() > _WITHIN and fits) and self._differ(rows, around)

    def _differ(self, one: np.ndarray, two: np.ndarray) -> bool:
        """Whether points are of surfaces of two colours."""
        return other_surface(*(np.median(self.colours[rows], axis=0) for rows in (one, two)))

    def _faces_up(self, around: np.ndarray, rows: np.ndarray) -> bool:
        """Whether most of what is seen of a group around and below the points of another one is its upper side."""
        low, high = self.points[rows].min(axis=0) - _BESIDE, self.points[rows].max(axis=0) + _BESIDE
        p = self.points[around]
        near = (p[:, :2] > low[:2]).all(axis=1) & (p[:, :2] < high[:2]).all(axis=1) & (p[:, 2] < high[2] - _BESIDE)
        sure = around[near & ~self.beside_steps[around]]
        return len(sure) > _CONTACT and bool(np.median(self.upward[sure]) > _FACES_UP)


def _polar(xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions 0 to _DIRECTIONS - 1 of vectors of the plane, and their lengths."""
    x, y = np.ascontiguousarray(xy.T)
    angle = np.arctan2(y, x) / (2 * np.pi) + 0.5
    return np.minimum((angle * _DIRECTIONS).astype(int), _DIRECTIONS - 1), np.sqrt(x * x + y * y)
