//! Classes by definition: all members are listed, and an edge is compelled if they agree on it.

use super::*;
use crate::graph::{StructureKey, all_dags};
use crate::ids::Seed;
use crate::random::Random;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Edge = (NodeIdx, NodeIdx);

fn families(dag: &Dag) -> Vec<Vec<NodeIdx>> {
    let nodes = NodeIdx::all(dag.nodes());
    nodes.map(|node| dag.parents(node).to_vec()).collect()
}

fn key(dag: &Dag) -> StructureKey {
    StructureKey::of_class(&families(dag))
}

fn most_parents(dag: &Dag) -> usize {
    let counts = NodeIdx::all(dag.nodes()).map(|node| dag.parents(node).len());
    counts.max().unwrap_or(0)
}

/// A random graph over `nodes` nodes in a random order, an edge for a share of the pairs.
fn random_dag(nodes: usize, share: f64, random: &mut Random) -> Dag {
    let mut order: Vec<NodeIdx> = NodeIdx::all(nodes).collect();
    random.shuffle(&mut order);
    let mut dag = Dag::empty(nodes);
    for (at, &to) in order.iter().enumerate() {
        for &from in &order[..at] {
            if random.chance(share) {
                dag.add_edge(from, to).unwrap();
            }
        }
    }
    dag
}

/// Every member of the class: the directions of the skeleton that have the same key.
fn members(dag: &Dag) -> Vec<Dag> {
    let edges: Vec<Edge> = dag.edges().collect();
    let wanted = key(dag);
    let directions = 0..1u32 << edges.len();
    let turned = directions.map(|code| {
        let edges = edges.iter().enumerate();
        edges.map(move |(at, &(a, b))| if code >> at & 1 == 1 { (b, a) } else { (a, b) })
    });
    turned
        .filter_map(|edges| Dag::from_edges(dag.nodes(), edges).ok())
        .filter(|member| key(member) == wanted)
        .collect()
}

/// The pairs of the skeleton in order, and whether each points from higher to lower.
fn directions(dag: &Dag) -> BTreeMap<Edge, bool> {
    let edges = dag.edges();
    edges
        .map(|(from, to)| ((from.min(to), from.max(to)), from > to))
        .collect()
}

/// Checks a class against the list of its members.
fn agrees_with(class: &Cpdag, members: &[Dag]) {
    for (from, to) in members[0].edges() {
        let ways = members
            .iter()
            .filter(|member| member.has_edge(from, to))
            .count();
        let expected = if ways == members.len() {
            Joined::Forward
        } else if ways == 0 {
            Joined::Backward
        } else {
            Joined::Undirected
        };
        assert_eq!(class.joined(from, to), expected, "{from} and {to}");
    }
    assert_eq!(
        class.directed().len() + class.undirected().len(),
        members[0].edge_count()
    );
    let first = members
        .iter()
        .min_by_key(|member| directions(member))
        .unwrap();
    assert_eq!(&class.first_member(), first);
    let limits: BTreeSet<usize> = members.iter().map(most_parents).collect();
    assert_eq!(limits.len(), 1, "members differ in their most parents");
}

#[test]
fn the_543_networks_of_four_nodes_fall_into_185_classes() {
    let dags: Vec<Dag> = all_dags(4).collect();
    assert_eq!(dags.len(), 543);
    let mut classes: BTreeMap<StructureKey, Vec<Dag>> = BTreeMap::new();
    for dag in dags {
        classes.entry(key(&dag)).or_default().push(dag);
    }
    assert_eq!(classes.len(), 185);
    for members in classes.values() {
        for dag in members {
            agrees_with(&Cpdag::of(dag), members);
        }
    }
}

#[test]
fn every_set_of_fixed_edges_leaves_the_members_that_have_them() {
    for dag in all_dags(4) {
        let all = members(&dag);
        let edges: Vec<Edge> = dag.edges().collect();
        for code in 0..1u32 << edges.len() {
            let is_fixed = |from, to| {
                let at = edges.iter().position(|&edge| edge == (from, to)).unwrap();
                code >> at & 1 == 1
            };
            let class = Cpdag::of_constrained(&dag, is_fixed);
            let keeps = |member: &&Dag| {
                let mut fixed = edges.iter().filter(|&&(from, to)| is_fixed(from, to));
                fixed.all(|&(from, to)| member.has_edge(from, to))
            };
            let kept: Vec<Dag> = all.iter().filter(keeps).cloned().collect();
            agrees_with(&class, &kept);
        }
    }
}

#[test]
fn classes_of_200_random_networks_are_their_members() {
    let mut random = Random::new(Seed(13));
    let (mut constrained, mut fourth) = (0, 0);
    for round in 0..200 {
        let nodes = 5 + round % 3;
        let dag = loop {
            let dag = random_dag(
                nodes,
                0.3 + 0.2 * f64::from(u8::try_from(round % 3).unwrap()),
                &mut random,
            );
            if dag.edge_count() <= 14 {
                break dag;
            }
        };
        let all = members(&dag);
        let class = Cpdag::of(&dag);
        agrees_with(&class, &all);
        for member in &all {
            assert_eq!(Cpdag::of(member), class);
        }
        // A few edges are known beforehand.
        let fixed: BTreeSet<Edge> = dag.edges().filter(|_| random.chance(0.25)).collect();
        let kept: Vec<Dag> = all
            .iter()
            .filter(|member| fixed.iter().all(|&(from, to)| member.has_edge(from, to)))
            .cloned()
            .collect();
        constrained += usize::from(kept.len() < all.len());
        let class = Cpdag::of_constrained(&dag, |from, to| fixed.contains(&(from, to)));
        agrees_with(&class, &kept);
        for member in &kept {
            let same = Cpdag::of_constrained(member, |from, to| fixed.contains(&(from, to)));
            assert_eq!(same, class);
        }
        fourth += usize::from(class.undirected().is_empty());
        let alone = Cpdag::of_structure(&dag);
        assert!(alone.undirected().is_empty());
        assert_eq!(alone.first_member(), dag);
    }
    // The test says something: knowledge often left fewer members, and not always one only.
    assert!(constrained > 50, "{constrained}");
    assert!(fourth < 150, "{fourth}");
}

#[test]
fn the_fourth_rule_is_applied() {
    // a - b, a - c, a - d without direction; c -> d -> b known; c and b apart: a -> b follows.
    let [a, b, c, d] = [0, 1, 2, 3].map(NodeIdx::new);
    let dag = Dag::from_edges(4, [(a, b), (a, c), (a, d), (c, d), (d, b)]).unwrap();
    assert_eq!(Cpdag::of(&dag).joined(a, b), Joined::Undirected);
    let known = [(c, d), (d, b)];
    let class = Cpdag::of_constrained(&dag, |from, to| known.contains(&(from, to)));
    assert_eq!(class.joined(a, b), Joined::Forward);
    assert_eq!(class.joined(a, c), Joined::Undirected);
}

#[test]
fn a_large_class_is_done_at_once() {
    // A tree of 4000 nodes, none of whose edges is compelled, and a clique of 60.
    let mut tree = Dag::empty(4000);
    for child in 1..4000 {
        tree.add_edge(NodeIdx::new((child - 1) / 2), NodeIdx::new(child))
            .unwrap();
    }
    let class = Cpdag::of(&tree);
    assert_eq!(class.undirected().len(), 3999);
    assert_eq!(class.first_member(), tree);
    let clique = random_dag(60, 1.0, &mut Random::new(Seed(1)));
    let first = Cpdag::of(&clique).first_member();
    assert!(first.edges().all(|(from, to)| from < to));
}

proptest! {
    #[test]
    fn the_canonical_member_has_the_class_and_is_its_own_canonical_member(
        edges in prop::collection::vec((0usize..30, 0usize..30, any::<bool>()), 0..90)
    ) {
        let mut dag = Dag::empty(30);
        let mut fixed = BTreeSet::new();
        for (a, b, known) in edges {
            let edge = (NodeIdx::new(a), NodeIdx::new(b));
            if a != b && dag.add_edge(edge.0, edge.1).is_ok() && known {
                fixed.insert(edge);
            }
        }
        let class = Cpdag::of_constrained(&dag, |from, to| fixed.contains(&(from, to)));
        let first = class.first_member();
        prop_assert_eq!(key(&first), key(&dag));
        prop_assert!(fixed.iter().all(|&(from, to)| first.has_edge(from, to)));
        prop_assert_eq!(most_parents(&first), most_parents(&dag));
        let again = Cpdag::of_constrained(&first, |from, to| fixed.contains(&(from, to)));
        prop_assert_eq!(&again, &class);
        prop_assert_eq!(again.first_member(), first);
    }
}
