//! What a picture shows: the whole network or the neighbourhood of a node, and how each edge
//! compares with a true network.

use crate::graph::{Cpdag, Joined};
use crate::ids::NodeIdx;
use crate::io::error::WriteError;
use crate::layout::{Label, labels};
use crate::network::NamedDag;
use std::collections::BTreeMap;

/// The largest number of nodes that a picture shows.
pub const MAX_DRAWN_NODES: usize = 2000;

/// The largest number of nodes in the neighbourhood of one.
const MOST_NEIGHBOURS: usize = 150;

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
    /// It is in both, but the classes do not agree on its direction.
    Turned,
}

/// The nodes and edges to draw.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) names: Vec<String>,
    /// The names as boxes show them.
    pub(super) labels: Vec<Label>,
    pub(super) edges: Vec<(usize, usize)>,
    pub(super) verdicts: Vec<Verdict>,
    /// Which edges have a head; those that may point either way have none.
    pub(super) heads: Vec<bool>,
    /// How many nodes of the neighbourhood do not fit.
    pub(super) left_out: usize,
}

impl Part {
    /// Chooses nodes and edges.
    pub(super) fn of(
        network: &NamedDag,
        around: Option<Around<'_>>,
        truth: Option<&NamedDag>,
        class: Option<&Cpdag>,
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
        let edges = compared_edges(network, truth, class);
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
            labels: labels(&names),
            names,
            edges: Vec::new(),
            verdicts: Vec::new(),
            heads: Vec::new(),
            left_out,
        };
        for Compared {
            ends: (from, to),
            verdict,
            has_head,
        } in edges
        {
            if let (Some(&from), Some(&to)) = (place.get(&from), place.get(&to)) {
                part.edges.push((from, to));
                part.verdicts.push(verdict);
                part.heads.push(has_head);
            }
        }
        Ok(part)
    }
}

/// An edge beside the true network.
#[derive(Clone, Copy, Debug)]
struct Compared {
    ends: (usize, usize),
    verdict: Verdict,
    has_head: bool,
}

/// Returns the edges of both networks. One that both have counts as different only if the classes
/// join its nodes differently: the data cannot tell more. With a class, it is the network's own.
fn compared_edges(
    network: &NamedDag,
    truth: Option<&NamedDag>,
    class: Option<&Cpdag>,
) -> Vec<Compared> {
    let dag = network.dag();
    let classes = truth.map(|truth| (Cpdag::of(dag), truth.dag(), Cpdag::of(truth.dag())));
    let is_free = |class: Option<&Cpdag>, (from, to)| {
        class.is_some_and(|class| class.joined(from, to) == Joined::Undirected)
    };
    let edges = dag.edges().map(|(from, to)| {
        let verdict = match &classes {
            Some((_, truth, _)) if !truth.has_edge(from, to) && !truth.has_edge(to, from) => {
                Verdict::Extra
            }
            Some((own, _, true_class)) if own.joined(from, to) != true_class.joined(from, to) => {
                Verdict::Turned
            }
            _ => Verdict::Common,
        };
        Compared {
            ends: (from.index(), to.index()),
            verdict,
            has_head: !is_free(class, (from, to)),
        }
    });
    let mut edges: Vec<Compared> = edges.collect();
    if let Some((_, truth, true_class)) = &classes {
        let missing = truth
            .edges()
            .filter(|&(from, to)| !dag.has_edge(from, to) && !dag.has_edge(to, from));
        edges.extend(missing.map(|(from, to)| Compared {
            ends: (from.index(), to.index()),
            verdict: Verdict::Missing,
            has_head: !is_free(class.and(Some(true_class)), (from, to)),
        }));
    }
    edges
}

/// Returns the nodes within the radius, nearest first up to the limit, in node order, and how
/// many did not fit.
fn neighbourhood(
    network: &NamedDag,
    edges: &[Compared],
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
    for &Compared {
        ends: (from, to), ..
    } in edges
    {
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
    let left_out = nodes.len().saturating_sub(MOST_NEIGHBOURS);
    nodes.truncate(MOST_NEIGHBOURS);
    nodes.sort_unstable();
    Ok((nodes, left_out))
}
