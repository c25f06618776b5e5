"""Right answers to tree_verification in other styles."""

import numpy as np


class by_going_up:
    """Loops in plain Python: from each node up to the root, for all three."""

    @staticmethod
    def tree_mask(parents, prefix_len):
        parents = [int(parent) for parent in parents]
        for node, parent in enumerate(parents):
            if parent < -1 or parent >= node:
                raise ValueError(f"parents[{node}] is {parent}")
        mask = np.full((len(parents), prefix_len + len(parents)), False)
        mask[:, :prefix_len] = True
        for row, node in enumerate(range(len(parents))):
            while node != -1:
                mask[row, prefix_len + node] = True
                node = parents[node]
        return mask

    @staticmethod
    def tree_positions(parents, prefix_len):
        result = []
        for node in range(len(parents)):
            depth, above = 0, int(parents[node])
            while above >= 0:
                depth, above = depth + 1, int(parents[above])
            result.append(prefix_len + depth)
        return np.array(result, dtype=np.int64)

    @staticmethod
    def verify_tree(tokens, parents, logits):
        best = []
        for leaf in range(len(parents)):
            path, node = [], leaf
            while node >= 0:
                path.insert(0, node)
                node = int(parents[node])
            rows = [0] + [node + 1 for node in path[:-1]]
            right = all(np.argmax(logits[row]) == tokens[node] for row, node in zip(rows, path, strict=True))
            if right and len(path) > len(best):
                best = path
        last = logits[best[-1] + 1] if best else logits[0]
        accepted = [int(tokens[node]) for node in best] + [int(np.argmax(last))]
        return np.array(best, dtype=np.int64), np.array(accepted)


class by_matrices:
    """Another way: powers of the matrix of parents say who is whose ancestor, all at once."""

    @staticmethod
    def tree_mask(parents, prefix_len):
        n = len(parents)
        if ((parents < -1) | (parents >= np.arange(n))).any():
            raise ValueError("a parent must stand before its child")
        return np.concatenate([np.ones((n, prefix_len), bool), _ancestors(parents)], axis=1)

    @staticmethod
    def tree_positions(parents, prefix_len):
        return prefix_len - 1 + _ancestors(parents).sum(axis=1)

    @staticmethod
    def verify_tree(tokens, parents, logits):
        choices = np.argmax(logits, axis=1)
        alright = tokens == choices[parents + 1]
        seen = _ancestors(parents)
        depth = np.where((seen <= alright).all(axis=1), seen.sum(axis=1), 0)
        if not depth.any():
            return np.empty(0, dtype=np.int64), choices[:1]
        path = np.flatnonzero(seen[depth.argmax()])
        return path, np.concatenate((tokens[path], choices[path[-1:] + 1]))


def _ancestors(parents):
    """[N, N], who is an ancestor of whom, each its own."""
    n = len(parents)
    step = np.eye(n, dtype=np.int64)
    step[np.arange(n)[parents >= 0], parents[parents >= 0]] = 1
    return np.linalg.matrix_power(step, n) > 0 if n else np.zeros((0, 0), bool)


class level_by_level:
    """Children by their parents; a frontier that goes down the tree."""

    @staticmethod
    def tree_mask(parents, prefix_len):
        nodes = parents.tolist()
        if any(not -1 <= parent <= node - 1 for node, parent in enumerate(nodes)):
            raise ValueError("order of the nodes")
        seen = []
        for node, parent in enumerate(nodes):
            seen.append({prefix_len + node} | (seen[parent] if parent > -1 else set(range(prefix_len))))
        keys = range(prefix_len + len(nodes))
        return np.array([[key in row for key in keys] for row in seen], dtype=bool).reshape(-1, len(keys))

    @staticmethod
    def tree_positions(parents, prefix_len):
        positions = np.empty_like(parents)
        frontier, position = np.array([-1]), prefix_len
        while len(frontier):
            frontier = np.flatnonzero(np.isin(parents, frontier))
            positions[frontier] = position
            position += 1
        return positions

    @staticmethod
    def verify_tree(tokens, parents, logits):
        levels = [[-1]]
        while levels[-1]:
            levels.append(
                [
                    node
                    for node in range(len(tokens))
                    if parents[node] in levels[-1] and tokens[node] == logits[parents[node] + 1].argmax()
                ]
            )
        node = levels[-2][0]
        path, accepted = [], [logits[node + 1].argmax()]
        while node != -1:
            path.append(node)
            accepted.append(tokens[node])
            node = parents[node]
        return np.array(path[::-1], dtype=np.int64), np.array(accepted[::-1], dtype=np.int64)


class by_recursion:
    """Depth first with a function that calls itself."""

    @staticmethod
    def tree_mask(parents, prefix_len):
        if np.any(parents >= np.arange(len(parents))) or np.any(parents < -1):
            raise ValueError(parents)

        def row(node):
            own = np.arange(prefix_len + len(parents)) == prefix_len + node
            return row(parents[node]) | own if node >= 0 else np.arange(len(own)) < prefix_len

        size = (len(parents), prefix_len + len(parents))
        return np.array([row(node) for node in range(len(parents))], dtype=bool).reshape(size)

    @staticmethod
    def tree_positions(parents, prefix_len):
        def position(node):
            return prefix_len - 1 if node == -1 else position(parents[node]) + 1

        return np.fromiter((position(node) for node in range(len(parents))), dtype=np.int64)

    @staticmethod
    def verify_tree(tokens, parents, logits):
        def deepest(node):
            choice = int(logits[node + 1].argmax())
            below = [deepest(c) for c in np.flatnonzero((parents == node) & (tokens == choice))]
            path = min(below, key=lambda path: (-len(path), path[-1]), default=[])
            return path if node == -1 else [node, *path]

        path = deepest(-1)
        bonus = logits[path[-1] + 1 if path else 0].argmax()
        return np.array(path, dtype=int), np.array([*tokens[path], bonus] if path else [bonus])
