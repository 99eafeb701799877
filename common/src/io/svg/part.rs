//! What a picture shows: the whole network or the neighbourhood of a node, and how each edge
//! compares with a true network.

use crate::ids::NodeIdx;
use crate::io::error::WriteError;
use crate::network::NamedDag;
use std::collections::BTreeMap;

/// The largest number of nodes that a picture shows.
pub const MAX_DRAWN_NODES: usize = 150;

/// Which part of a network to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around<'a> {
    /// The node in the middle.
    pub node: &'a str,
    /// How many edges, in any direction, the drawn nodes may be away.
    pub radius: usize,
}

impl<'a> Around<'a> {
    /// The radius if none is given.
    pub const DEFAULT_RADIUS: usize = 2;

    /// Asks for the neighbourhood of a node with the default radius.
    #[must_use]
    pub fn node(node: &'a str) -> Self {
        Self {
            node,
            radius: Self::DEFAULT_RADIUS,
        }
    }
}

/// How an edge compares with the true network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Common,
    Extra,
    Missing,
    Reversed,
}

/// The nodes and edges to draw.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) names: Vec<String>,
    /// The names, shortened if they are very long.
    pub(super) labels: Vec<String>,
    pub(super) edges: Vec<(usize, usize)>,
    pub(super) verdicts: Vec<Verdict>,
    /// How many nodes of the neighbourhood do not fit.
    pub(super) left_out: usize,
}

impl Part {
    /// Chooses nodes and edges.
    pub(super) fn of(
        network: &NamedDag,
        around: Option<Around<'_>>,
        truth: Option<&NamedDag>,
    ) -> Result<Self, WriteError> {
        if let Some(truth) = truth {
            let differ = |a: &NamedDag, b: &NamedDag| {
                a.names()
                    .iter()
                    .find(|name| b.names().binary_search(name).is_err())
                    .cloned()
            };
            if let Some(name) = differ(network, truth).or_else(|| differ(truth, network)) {
                return Err(WriteError::OtherNodes(name));
            }
        }
        let edges = compared_edges(network, truth);
        let n = network.names().len();
        let (nodes, left_out) = match around {
            Some(around) => neighbourhood(network, &edges, around)?,
            None if n > MAX_DRAWN_NODES => return Err(WriteError::TooLarge { nodes: n }),
            None => ((0..n).collect(), 0),
        };
        let names: Vec<String> = nodes
            .iter()
            .map(|&node| network.names()[node].clone())
            .collect();
        let place: BTreeMap<usize, usize> = nodes
            .iter()
            .enumerate()
            .map(|(at, &node)| (node, at))
            .collect();
        let mut part = Self {
            labels: names.iter().map(|name| shortened(name)).collect(),
            names,
            edges: Vec::new(),
            verdicts: Vec::new(),
            left_out,
        };
        for (from, to, verdict) in edges {
            if let (Some(&from), Some(&to)) = (place.get(&from), place.get(&to)) {
                part.edges.push((from, to));
                part.verdicts.push(verdict);
            }
        }
        Ok(part)
    }
}

/// Returns the edges of both networks; one that is reversed stands as in the network itself.
fn compared_edges(network: &NamedDag, truth: Option<&NamedDag>) -> Vec<(usize, usize, Verdict)> {
    let dag = network.dag();
    let mut edges: Vec<(usize, usize, Verdict)> = dag
        .edges()
        .map(|(from, to)| {
            let verdict = match truth.map(NamedDag::dag) {
                Some(truth) if truth.has_edge(to, from) => Verdict::Reversed,
                Some(truth) if !truth.has_edge(from, to) => Verdict::Extra,
                _ => Verdict::Common,
            };
            (from.index(), to.index(), verdict)
        })
        .collect();
    if let Some(truth) = truth {
        let missing = truth
            .dag()
            .edges()
            .filter(|&(from, to)| !dag.has_edge(from, to) && !dag.has_edge(to, from));
        edges.extend(missing.map(|(from, to)| (from.index(), to.index(), Verdict::Missing)));
    }
    edges
}

/// Returns the nodes within the radius, nearest first up to the limit, in node order, and how
/// many did not fit.
fn neighbourhood(
    network: &NamedDag,
    edges: &[(usize, usize, Verdict)],
    around: Around<'_>,
) -> Result<(Vec<usize>, usize), WriteError> {
    let n = network.names().len();
    let Some(centre) = NodeIdx::all(n)
        .find(|&node| network.name(node) == around.node)
        .map(NodeIdx::index)
    else {
        return Err(WriteError::UnknownNode(around.node.to_owned()));
    };
    let mut neighbours = vec![Vec::new(); n];
    for &(from, to, _) in edges {
        neighbours[from].push(to);
        neighbours[to].push(from);
    }
    let mut seen = vec![false; n];
    seen[centre] = true;
    let mut nodes = vec![centre];
    let mut ring = vec![centre];
    for _ in 0..around.radius.min(n) {
        let mut next: Vec<usize> = Vec::new();
        for &neighbour in ring.iter().flat_map(|&node| &neighbours[node]) {
            if !std::mem::replace(&mut seen[neighbour], true) {
                next.push(neighbour);
            }
        }
        next.sort_unstable();
        nodes.extend(&next);
        ring = next;
    }
    let left_out = nodes.len().saturating_sub(MAX_DRAWN_NODES);
    nodes.truncate(MAX_DRAWN_NODES);
    nodes.sort_unstable();
    Ok((nodes, left_out))
}

pub(super) fn shortened(name: &str) -> String {
    const LONGEST: usize = 32;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST - 1).chain(['…']).collect()
}
