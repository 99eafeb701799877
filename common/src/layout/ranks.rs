//! Which layer each node is in: edges lead downwards, layers are not too wide, edges are short.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Turns edges so that none closes a cycle: an edge that leads back to a node on the way is turned.
/// Returns the edges downwards, and which were turned.
pub(super) fn downwards(nodes: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize, bool)> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    let mut has_parent = vec![false; nodes];
    for (edge, &(from, to)) in edges.iter().enumerate() {
        out[from].push(edge);
        has_parent[to] = true;
    }
    let mut turned = vec![false; edges.len()];
    // 0: not seen, 1: on the way, 2: done.
    let mut state = vec![0u8; nodes];
    let roots = (0..nodes).filter(|&node| !has_parent[node]);
    for start in roots.chain(0..nodes) {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        let mut way = vec![(start, 0)];
        while let Some((node, at)) = way.last_mut() {
            let Some(&edge) = out[*node].get(*at) else {
                state[*node] = 2;
                way.pop();
                continue;
            };
            *at += 1;
            let to = edges[edge].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    way.push((to, 0));
                }
                1 => turned[edge] = true,
                _ => {}
            }
        }
    }
    edges
        .iter()
        .zip(turned)
        .map(|(&(from, to), turned)| match turned {
            true => (to, from, true),
            false => (from, to, false),
        })
        .collect()
}

/// Returns each node's layer, from 0; no layer has more nodes than `widest`.
pub(super) fn ranks(nodes: usize, edges: &[(usize, usize, bool)], widest: usize) -> Vec<usize> {
    let mut graph = Graph {
        parents: vec![Vec::new(); nodes],
        children: vec![Vec::new(); nodes],
    };
    for &(from, to, _) in edges {
        graph.parents[to].push(from);
        graph.children[from].push(to);
    }
    let order = graph.order();
    let mut ranks = graph.scheduled(&order, widest.max(1));
    graph.shorten(&order, &mut ranks, widest.max(1));
    without_gaps(&mut ranks);
    ranks
}

struct Graph {
    parents: Vec<Vec<usize>>,
    children: Vec<Vec<usize>>,
}

impl Graph {
    /// Returns the nodes, parents before children.
    fn order(&self) -> Vec<usize> {
        let mut waiting: Vec<usize> = self.parents.iter().map(Vec::len).collect();
        let mut order: Vec<usize> = Vec::with_capacity(waiting.len());
        order.extend((0..waiting.len()).filter(|&node| waiting[node] == 0));
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            at += 1;
            for &child in &self.children[node] {
                waiting[child] -= 1;
                if waiting[child] == 0 {
                    order.push(child);
                }
            }
        }
        order
    }

    /// Fills layer after layer: first the nodes with the longest way below them (Coffman and Graham
    /// 1972).
    fn scheduled(&self, order: &[usize], widest: usize) -> Vec<usize> {
        let nodes = self.parents.len();
        let mut below = vec![0usize; nodes];
        for &node in order.iter().rev() {
            let longest = self.children[node].iter().map(|&child| below[child] + 1);
            below[node] = longest.max().unwrap_or(0);
        }
        let mut waiting: Vec<usize> = self.parents.iter().map(Vec::len).collect();
        let mut ready: BinaryHeap<(usize, Reverse<usize>)> = (0..nodes)
            .filter(|&node| waiting[node] == 0)
            .map(|node| (below[node], Reverse(node)))
            .collect();
        let mut ranks = vec![0; nodes];
        let mut layer = 0;
        while !ready.is_empty() {
            let mut next = Vec::new();
            for _ in 0..widest {
                let Some((_, Reverse(node))) = ready.pop() else {
                    break;
                };
                ranks[node] = layer;
                for &child in &self.children[node] {
                    waiting[child] -= 1;
                    if waiting[child] == 0 {
                        next.push((below[child], Reverse(child)));
                    }
                }
            }
            ready.extend(next);
            layer += 1;
        }
        ranks
    }

    /// Moves single nodes where the sum of edge lengths is smaller, or as small and lower.
    fn shorten(&self, order: &[usize], ranks: &mut [usize], widest: usize) {
        const PASSES: usize = 12;
        let layers = ranks.iter().copied().max().map_or(0, |rank| rank + 1);
        let mut filled = vec![0usize; layers];
        for &rank in ranks.iter() {
            filled[rank] += 1;
        }
        for _ in 0..PASSES {
            let mut moved = false;
            for &node in order.iter().rev() {
                let (up, down) = (self.parents[node].len(), self.children[node].len());
                let lowest = self.children[node].iter().map(|&child| ranks[child] - 1);
                if let Some(lowest) = lowest.min()
                    && up <= down
                    && let Some(to) = (ranks[node] + 1..=lowest)
                        .rev()
                        .find(|&layer| filled[layer] < widest)
                {
                    filled[ranks[node]] -= 1;
                    filled[to] += 1;
                    ranks[node] = to;
                    moved = true;
                }
            }
            for &node in order {
                let (up, down) = (self.parents[node].len(), self.children[node].len());
                let highest = self.parents[node].iter().map(|&parent| ranks[parent] + 1);
                if let Some(highest) = highest.max()
                    && up > down
                    && let Some(to) = (highest..ranks[node]).find(|&layer| filled[layer] < widest)
                {
                    filled[ranks[node]] -= 1;
                    filled[to] += 1;
                    ranks[node] = to;
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }
}

/// Renumbers layers so that none is empty.
fn without_gaps(ranks: &mut [usize]) {
    let mut used: Vec<usize> = ranks.to_vec();
    used.sort_unstable();
    used.dedup();
    for rank in ranks {
        *rank = used.partition_point(|&layer| layer < *rank);
    }
}
