//! The canonical member of a class keeps every kind of constraint.

use super::*;
use crate::data::Variable;
use crate::ids::Seed;
use crate::random::Random;

const NODES: usize = 12;

fn table() -> Table {
    let states = || vec!["no".to_owned(), "yes".to_owned()];
    let name = |node: usize| format!("v{node:02}");
    let variables = (0..NODES).map(|node| Variable::new(name(node), states()).unwrap());
    let schema = Schema::new(variables.collect()).unwrap();
    Table::new(schema, vec![vec![0, 1]; NODES]).unwrap()
}

fn random_dag(random: &mut Random) -> Dag {
    let mut dag = Dag::empty(NODES);
    for _ in 0..NODES * 2 {
        let (from, to) = (random.below(NODES), random.below(NODES));
        if from != to {
            let _ = dag.add_edge(NodeIdx::new(from), NodeIdx::new(to));
        }
    }
    dag
}

/// Draws constraints of every kind that a network keeps.
fn kept_by(dag: &Dag, table: &Table, random: &mut Random) -> NamedConstraints {
    let name = |node: NodeIdx| table.schema().variable(node).name().to_owned();
    let required = dag.edges().filter(|_| random.chance(0.1));
    let required: Vec<_> = required.map(|(from, to)| (name(from), name(to))).collect();
    let mut forbidden = Vec::new();
    for from in NodeIdx::all(NODES) {
        for to in NodeIdx::all(NODES).filter(|&to| to != from) {
            if !dag.has_edge(from, to) && random.chance(0.1) {
                forbidden.push((name(from), name(to)));
            }
        }
    }
    let cut = random.below(NODES);
    let (early, late) = dag.topological_order().split_at(cut);
    let mut tier = |nodes: &[NodeIdx]| {
        let nodes = nodes.iter().filter(|_| random.chance(0.4));
        nodes.map(|&node| name(node)).collect::<Vec<_>>()
    };
    let tiers = vec![tier(early), tier(late)];
    let parents = NodeIdx::all(NODES).map(|node| dag.parents(node).len());
    NamedConstraints {
        required,
        forbidden,
        tiers,
        max_parents: parents.max(),
    }
}

#[test]
fn the_canonical_member_keeps_required_forbidden_tiers_and_the_limit_on_parents() {
    let table = table();
    let mut random = Random::new(Seed(4));
    let mut moved = 0;
    for _ in 0..200 {
        let dag = random_dag(&mut random);
        let named = kept_by(&dag, &table, &mut random);
        let constraints = Constraints::new(&table, &named).unwrap();
        assert!(constraints.hold_for(&dag));
        let first = constraints.class_of(&dag, true).first_member();
        assert!(constraints.hold_for(&first), "{named:?}");
        assert_eq!(Cpdag::of(&first), Cpdag::of(&dag));
        moved += usize::from(first != dag);
        // Without constraints the class is wider, and its first member need not keep them.
        let free = Cpdag::of(&dag);
        assert!(free.undirected().len() >= constraints.class_of(&dag, true).undirected().len());
        // K2 tells the members apart: the network stays as it was found.
        assert_eq!(constraints.class_of(&dag, false).first_member(), dag);
    }
    assert!(
        moved > 50,
        "the canonical member was nearly always the one drawn: {moved}"
    );
}
