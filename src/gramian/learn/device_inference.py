"""Expectation and maximisation over observed trees on a device: what :mod:`gramian.learn.tree_inference` and
:mod:`gramian.learn.smoothing` do, with all vectors filled up to the most states of a symbol.

Nodes of one height and rule go through one matrix product, in tiles of a few; small groups are filled up with a node that weighs nothing.
Sums over the tiles of a rule are taken in their order, so that the same tables give the same bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import embedding_bag

from gramian.learn.smoothing import TINY, Smoothing
from gramian.learn.tables import LatentTables, Layout
from gramian.learn.tree_inference import Expectation, heights
from gramian.torch_device import find_device
from gramian.treebank import Treebank
from gramian.treebank.productions import Productions

_TILE = 16  # nodes
_MOST_BYTES = 2 << 30  # of the tensors of the tiles that are worked at together

Longs = npt.NDArray[np.int64]


class _Tiles(NamedTuple):
    """Nodes of one rule in each row; the last node of all, which is none, fills rows up."""

    rule: torch.Tensor  # (n_tiles,)
    node: torch.Tensor  # (n_tiles, _TILE)
    left: torch.Tensor
    right: torch.Tensor | None  # of phrases over tags, None


class DeviceInference:
    """Inside-outside over the observed trees of a treebank on a device; see :class:`gramian.learn.tree_inference.TreeInference`."""

    def __init__(self, bank: Treebank, productions: Productions, device: str) -> None:
        self.bank, self.productions, self._device = bank, productions, find_device(device)
        self._latest: _Padding | None = None
        self._tables: deque[tuple[npt.NDArray[np.floating], torch.Tensor]] = deque(maxlen=4)
        height = heights(bank)
        is_binary, is_unary = bank.right >= 0, (bank.right < 0) & (bank.word < 0)
        kinds = np.flatnonzero(is_binary), np.flatnonzero(is_unary)
        self._levels = [
            tuple(self._tiles(nodes[height[nodes] == level], kind == 0) for kind, nodes in enumerate(kinds))
            for level in range(1, int(height.max()) + 1)
        ]
        self._by_rule = tuple(self._tiles(nodes, kind == 0) for kind, nodes in enumerate(kinds))
        leaves = np.flatnonzero(bank.word >= 0)
        self._leaves = self._ordered(leaves, productions.node_production[leaves], len(productions.lexical))
        roots = bank.tree_start[1:] - 1
        self._roots = self._ordered(roots, bank.label[roots], bank.n_symbols)

    def _padding(self, layout: Layout) -> _Padding:
        if self._latest is None or not np.array_equal(self._latest.n_states, layout.n_states):
            self._latest = _Padding(layout, self._device)
        return self._latest

    def _tensor(self, array: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def _ordered(
        self, nodes: npt.NDArray[np.integer], group: npt.NDArray[np.integer], n_groups: int
    ) -> tuple[torch.Tensor, ...]:
        """Return nodes by their group, the group of each, and where each group begins."""
        order = np.argsort(group, kind="stable")
        first = np.searchsorted(group[order], np.arange(n_groups))
        return tuple(self._tensor(column.astype(np.int64)) for column in (nodes[order], group[order], first))

    def _tiles(self, nodes: Longs, is_binary: bool) -> _Tiles:
        bank, none = self.bank, len(self.bank.label)
        rule = self.productions.node_production[nodes]
        order = np.argsort(rule, kind="stable")
        rule, nodes = rule[order], nodes[order]
        rules, first, count = np.unique(rule, return_index=True, return_counts=True)
        tiles = -(-count // _TILE)
        tile_start = np.cumsum(tiles) - tiles
        flat = np.full(int(tiles.sum()) * _TILE, none)
        position = np.arange(len(nodes)) - np.repeat(first, count) + np.repeat(tile_start * _TILE, count)
        flat[position] = nodes
        table = flat.reshape(-1, _TILE)
        left, right = (np.append(column, -1)[table] for column in (bank.left, bank.right))
        columns = (
            np.repeat(rules, tiles),
            table,
            np.where(left < 0, none, left),
            np.where(right < 0, none, right),
        )
        tensors = [self._tensor(column.astype(np.int64)) for column in columns]
        return _Tiles(tensors[0], tensors[1], tensors[2], tensors[3] if is_binary else None)

    def expect(self, tables: LatentTables, n_jobs: int = 1) -> Expectation:
        """Return expected counts of all productions and states under `tables`; threads have no part in it."""
        with torch.no_grad():
            return self._expect(tables)

    def _expect(self, tables: LatentTables) -> Expectation:
        layout, bank = tables.layout, self.bank
        padded = self._padding(layout)
        binary, unary = self._padded(padded, tables.binary, True), self._padded(padded, tables.unary, False)
        none, width = len(bank.label), padded.width
        inside = torch.zeros(none + 1, width, device=self._device)
        scale = torch.ones(none + 1, device=self._device)
        leaf, pair, first_leaf = self._leaves
        values = padded.rows(tables.lexical, layout.lexical_start)[pair]
        self._scaled(inside, scale, leaf, values)
        for level in self._levels:
            for tiles, table in zip(level, (binary, unary), strict=True):
                for part in self._parts(tiles, table):
                    vectors = _below(inside, part) @ table[part.rule].transpose(1, 2)
                    self._scaled(inside, scale, part.node.flatten(), vectors.flatten(0, 1))
                    inside[none], scale[none] = 0, 1
        outside = torch.zeros_like(inside)
        root, symbol, first_root = self._roots
        prior = padded.rows(tables.root, layout.root_start)[symbol]
        mass = (prior * inside[root]).sum(1)
        share = prior / torch.where(mass > 0, mass, 1)[:, None]
        if bank.weight is not None:
            trees = np.searchsorted(bank.tree_start, root.cpu().numpy(), side="right") - 1
            share *= self._tensor(bank.weight[trees].astype(np.float32))[:, None]
        outside[root] = torch.where(mass[:, None] > 0, share, 0)
        inverse = torch.where(scale > 0, 1 / scale, 0)
        for level in reversed(self._levels):
            for tiles, table in zip(level, (binary, unary), strict=True):
                for part in self._parts(tiles, table):
                    above = outside[part.node] * inverse[part.node][..., None]
                    mixed = above @ table[part.rule]
                    if part.right is None:
                        outside[part.left.flatten()] = mixed.flatten(0, 1)
                    else:
                        pairs = mixed.unflatten(-1, (width, width))
                        outside[part.left] = (pairs @ inside[part.right].unsqueeze(-1)).squeeze(-1)
                        outside[part.right] = (inside[part.left].unsqueeze(-2) @ pairs).squeeze(-2)
                    outside[none] = 0
        weighed = outside * inverse[:, None]
        counted = []
        for tiles, table, cells in zip(
            self._by_rule, (binary, unary), (padded.binary_cells, padded.unary_cells), strict=True
        ):
            total = torch.zeros_like(table)
            for part in self._parts(tiles, table):
                block = weighed[part.node].transpose(1, 2) @ _below(inside, part)
                rules, count = torch.unique_consecutive(part.rule, return_counts=True)
                total[rules] += _summed(block.flatten(1), count.cumsum(0) - count).view(-1, *table.shape[1:])
            total *= table
            counted.append(self._kept(total, cells, tables.binary.dtype))
        for nodes, first, start in (
            (leaf, first_leaf, layout.lexical_start),
            (root, first_root, layout.root_start),
        ):
            rows = _summed(inside[nodes] * outside[nodes], first)
            counted.append(padded.flat(rows, start).astype(tables.binary.dtype, copy=False))
        counts = LatentTables(layout, counted[0], counted[1], counted[2], counted[3])
        return Expectation(counts, self._log_likelihood(scale[:none], root, mass), bank.weight)

    def _kept(
        self, padded: torch.Tensor, cells: torch.Tensor, dtype: npt.DTypeLike
    ) -> npt.NDArray[np.floating]:
        """Return a padded table as a flat one that nobody may write to, since the padded one is kept for when it comes back."""
        flat = padded.flatten()[cells]
        if flat.is_cuda:
            flat = torch.empty(flat.shape, dtype=flat.dtype, pin_memory=True).copy_(flat)
        array: npt.NDArray[np.floating] = flat.numpy().astype(dtype, copy=False)
        array.flags.writeable = False
        self._tables.append((array, padded))
        return array

    def _padded(self, padding: _Padding, flat: npt.NDArray[np.floating], is_binary: bool) -> torch.Tensor:
        """Return a flat table of rules as (n_rules, width, any)."""
        for array, padded in self._tables:
            if array is flat:
                return padded
        return padding.binary(flat) if is_binary else padding.unary(flat)

    def _log_likelihood(
        self, scale: torch.Tensor, root: torch.Tensor, mass: torch.Tensor
    ) -> npt.NDArray[np.float64]:
        tree_start = self.bank.tree_start
        root_mass = np.zeros(self.bank.n_trees)
        root_mass[np.searchsorted(tree_start, root.cpu().numpy(), side="right") - 1] = mass.cpu().numpy()
        with np.errstate(divide="ignore"):
            node_log = np.log(scale.double().cpu().numpy())
            return np.add.reduceat(node_log, tree_start[:-1]) + np.log(root_mass)

    def _scaled(
        self, inside: torch.Tensor, scale: torch.Tensor, nodes: torch.Tensor, values: torch.Tensor
    ) -> None:
        total = values.sum(1)
        inside[nodes] = values / torch.where(total > 0, total, 1)[:, None]
        scale[nodes] = total

    def _parts(self, tiles: _Tiles, table: torch.Tensor) -> Iterator[_Tiles]:
        """Yield tiles that fit into memory together."""
        size = 4 * (2 * table.shape[1] + 3 * _TILE) * table.shape[2]
        most = max(1, _MOST_BYTES // size)
        for first in range(0, len(tiles.rule), most):
            yield _Tiles(*(None if column is None else column[first : first + most] for column in tiles))

    def estimate_rules(self, counts: LatentTables, smoothing: Smoothing) -> LatentTables:
        """Return rule and root probabilities; see :func:`gramian.learn.smoothing.estimate_rules`."""
        layout, productions = counts.layout, counts.layout.productions
        padded = self._padding(layout)
        tables = self._padded(padded, counts.binary, True), self._padded(padded, counts.unary, False)
        rules = productions.binary, productions.unary, productions.lexical
        lexical = padded.rows(counts.lexical, layout.lexical_start).double()
        by_state = [*(table.sum(2, dtype=torch.float64) for table in tables), lexical]
        symbols = np.arange(len(layout.n_states))
        sums = [
            _summed(own_states, self._tensor(np.searchsorted(rows[:, 0], symbols)))
            for own_states, rows in zip(by_state, rules, strict=True)
        ]
        is_state = torch.arange(padded.width, device=self._device) < self._tensor(layout.n_states)[:, None]
        mass = sums[0] + sums[1]
        shares = mass + sums[2]
        total = shares.sum(1, keepdim=True)
        shares = torch.where(
            total > 0, shares / total.clamp(min=1e-300), is_state / is_state.sum(1, keepdim=True)
        )
        tables_of_rules = []
        for table, own_states, rows, cells in zip(
            tables, by_state, rules, (padded.binary_cells, padded.unary_cells), strict=False
        ):
            numbers = self._tensor(rows.astype(np.int64))
            smoothed = _smoothed(table, own_states, numbers, mass, shares, is_state, smoothing)
            tables_of_rules.append(self._kept(smoothed, cells, counts.binary.dtype))
        root = counts.root / max(counts.root.sum(), TINY)
        binary, unary = tables_of_rules
        return LatentTables(layout, binary, unary, np.zeros_like(counts.lexical), root)


def _summed(rows: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    """Return the sums of runs of rows, which begin at `first`, each in its order."""
    return embedding_bag(torch.arange(len(rows), device=rows.device), rows, first, mode="sum")


def _smoothed(
    count: torch.Tensor, by_state: torch.Tensor, rules: torch.Tensor, mass: torch.Tensor, shares: torch.Tensor,
    is_state: torch.Tensor, smoothing: Smoothing,
) -> torch.Tensor:  # fmt: skip
    """Return rule probabilities; the steps are those of :func:`gramian.learn.smoothing_kernels.estimate_rules`."""
    k, of_rule, sister = max(smoothing.state, TINY), max(smoothing.rule, TINY), float(smoothing.sister_share)
    total = by_state.sum(1, keepdim=True)
    below = count.sum(1, dtype=torch.float64)
    if rules.shape[1] == 2:
        below = (below + k * shares[rules[:, 1]]) / (total + k)
    else:
        pairs = below.unflatten(1, (mass.shape[1], -1))
        left, right = (
            (pairs.sum(3 - side) + k * shares[rules[:, side]]) / (total + k) for side in (1, 2)
        )  # fmt: skip
        below = (below + k * (left.unsqueeze(2) * right.unsqueeze(1)).flatten(1)) / (total + k)
    parent_mass = mass[rules[:, 0]]
    overall = total / parent_mass.sum(1, keepdim=True).clamp(min=1e-200)
    factor = (by_state + of_rule * overall) / (parent_mass + of_rule) / (by_state + k)
    factor = torch.where(is_state[rules[:, 0]], factor, 0)
    of_count, of_below = torch.where(by_state > 0, factor, 0).to(count.dtype), (k * factor).to(count.dtype)
    block = count * of_count.unsqueeze(2) + of_below.unsqueeze(2) * below.to(count.dtype).unsqueeze(1)
    states = is_state[rules[:, 0]].sum(1)[:, None]
    mean = sister * (block.sum(1, dtype=torch.float64) / states)
    return (1 - sister) * block + mean.to(count.dtype).unsqueeze(1)


def _below(inside: torch.Tensor, tiles: _Tiles) -> torch.Tensor:
    """Return what stands below the nodes: the products of two children's states, or the states of one; (n_tiles, _TILE, any)."""
    left = inside[tiles.left]
    if tiles.right is None:
        return left
    return (left.unsqueeze(-1) * inside[tiles.right].unsqueeze(-2)).flatten(2)


class _Padding:
    """Where the numbers of flat tables lie in tables filled up to the most states of a symbol."""

    def __init__(self, layout: Layout, device: torch.device) -> None:
        self.width = int(layout.n_states.max())
        self._device, self.n_states = device, layout.n_states.astype(np.int64)
        self._rules = layout.productions.binary, layout.productions.unary
        self.binary_cells, self.unary_cells = (self._cells(rules) for rules in self._rules)

    def _cells(self, rules: npt.NDArray[np.int32]) -> torch.Tensor:
        """Return the place of each number of flat tables of rules."""
        states = torch.from_numpy(self.n_states[rules]).to(self._device)
        size = states.prod(1)
        rule = torch.repeat_interleave(torch.arange(len(states), device=self._device), size)
        rest = torch.arange(len(rule), device=self._device) - (size.cumsum(0) - size)[rule]
        cell, factor = torch.zeros_like(rest), 1
        for side in range(rules.shape[1] - 1, -1, -1):
            n_states = states[:, side][rule]
            cell += rest % n_states * factor
            rest //= n_states
            factor *= self.width
        return cell + rule * factor

    def binary(self, flat: npt.NDArray[np.floating]) -> torch.Tensor:
        """Return a flat table of binary rules as (n_rules, width, width * width)."""
        return self._spread(flat, self.binary_cells, len(self._rules[0]), self.width * self.width)

    def unary(self, flat: npt.NDArray[np.floating]) -> torch.Tensor:
        """Return a flat table of unary rules as (n_rules, width, width)."""
        return self._spread(flat, self.unary_cells, len(self._rules[1]), self.width)

    def _spread(
        self, flat: npt.NDArray[np.floating], cells: torch.Tensor, count: int, size: int
    ) -> torch.Tensor:
        table = torch.zeros(count * self.width * size, device=self._device)
        table[cells] = torch.from_numpy(flat.astype(np.float32, copy=False)).to(self._device)
        return table.view(count, self.width, size)

    def _row_cells(self, start: Longs) -> torch.Tensor:
        first = torch.from_numpy(start).to(self._device)
        size = first[1:] - first[:-1]
        row = torch.repeat_interleave(torch.arange(len(size), device=self._device), size)
        return row * self.width + torch.arange(len(row), device=self._device) - first[row]

    def rows(self, flat: npt.NDArray[np.floating], start: Longs) -> torch.Tensor:
        """Return flat vectors of states as rows."""
        table = torch.zeros((len(start) - 1) * self.width, device=self._device)
        table[self._row_cells(start)] = torch.from_numpy(flat.astype(np.float32, copy=False)).to(self._device)
        return table.view(-1, self.width)

    def flat(self, rows: torch.Tensor, start: Longs) -> npt.NDArray[np.float32]:
        """Return rows as flat vectors."""
        values: npt.NDArray[np.float32] = rows.flatten()[self._row_cells(start)].cpu().numpy()
        return values
