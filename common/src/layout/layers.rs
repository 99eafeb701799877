//! The graph of points that is ordered and placed: nodes, and a point in every layer that an edge
//! passes, so that all segments lead from a layer to the next.

use std::collections::BTreeMap;

/// Points in layers.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    /// How many of the points, the first ones, are nodes.
    pub(super) nodes: usize,
    /// The points of each layer, from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// The points that segments lead to and come from.
    pub(super) below: Vec<Vec<usize>>,
    pub(super) above: Vec<Vec<usize>>,
    /// The points of each edge, downwards.
    pub(super) chains: Vec<Vec<usize>>,
}

/// More points than this are not placed in layers.
const MOST_POINTS: usize = 60_000;

impl Layers {
    /// Makes the points; none if there are too many. Where edges pass very many layers, those from one
    /// node run together until they part.
    pub(super) fn new(ranks: &[usize], edges: &[(usize, usize, bool)]) -> Option<Self> {
        let nodes = ranks.len();
        let span = |&(from, to, _): &(usize, usize, bool)| ranks[to] - ranks[from];
        let passed: usize = edges.iter().map(|edge| span(edge) - 1).sum();
        let together = passed > 2 * (nodes + edges.len());
        let mut made = Self {
            nodes,
            layers: vec![Vec::new(); ranks.iter().max().map_or(0, |rank| rank + 1)],
            ..Self::default()
        };
        let mut points = nodes;
        let mut ranks_of = ranks.to_vec();
        let mut trunks: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for &(from, to, _) in edges {
            let mut chain = vec![from];
            for rank in ranks[from] + 1..ranks[to] {
                let known = trunks.get(&(from, rank)).copied().filter(|_| together);
                let point = known.unwrap_or_else(|| {
                    ranks_of.push(rank);
                    points += 1;
                    points - 1
                });
                if together {
                    trunks.insert((from, rank), point);
                }
                chain.push(point);
            }
            chain.push(to);
            made.chains.push(chain);
            if points > MOST_POINTS {
                return None;
            }
        }
        made.below = vec![Vec::new(); points];
        made.above = vec![Vec::new(); points];
        for pair in made.chains.iter().flat_map(|chain| chain.windows(2)) {
            if let &[upper, lower] = pair
                && !made.below[upper].contains(&lower)
            {
                made.below[upper].push(lower);
                made.above[lower].push(upper);
            }
        }
        made.first_order(&ranks_of);
        Some(made)
    }

    /// Whether a point only lets an edge pass.
    pub(super) fn is_bend(&self, point: usize) -> bool {
        point >= self.nodes
    }

    /// Returns each point's place in its layer.
    pub(super) fn positions(&self) -> Vec<usize> {
        let mut positions = vec![0; self.below.len()];
        for layer in &self.layers {
            for (at, &point) in layer.iter().enumerate() {
                positions[point] = at;
            }
        }
        positions
    }

    /// Orders the layers by a walk through the graph, so that what belongs together is together.
    fn first_order(&mut self, ranks: &[usize]) {
        let mut seen = vec![false; ranks.len()];
        let mut starts: Vec<usize> = (0..ranks.len()).collect();
        starts.sort_by_key(|&point| (ranks[point], point));
        for start in starts {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            self.layers[ranks[start]].push(start);
            let mut way = vec![(start, 0usize)];
            while let Some((point, at)) = way.last_mut() {
                let (below, above) = (&self.below[*point], &self.above[*point]);
                let next = below.get(*at).or_else(|| above.get(*at - below.len()));
                let Some(&next) = next else {
                    way.pop();
                    continue;
                };
                *at += 1;
                if !std::mem::replace(&mut seen[next], true) {
                    self.layers[ranks[next]].push(next);
                    way.push((next, 0));
                }
            }
        }
    }
}
