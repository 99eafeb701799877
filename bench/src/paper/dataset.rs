//! The tables: drawn from the generating networks, with the states that were drawn and the columns
//! in random order, so that neither unseen states nor the order of columns can help a search.

use crate::failure::Failure;
use crate::reference_scores::TableChoice;
use rlbayes::{Network, Score, Table};
use rlbayes_common::data::{self, Schema, Variable};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{NodeIdx, Seed};
use rlbayes_common::search::Random;
use std::path::Path;

/// Where the rows of the tables come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// Drawn from the network by this seed.
    Sampled {
        /// The seed of rows and of the order of columns.
        seed: u64,
        /// How many rows are drawn.
        rows: usize,
    },
    /// The bundled table of 1000 rows; the seed is that of the order of columns.
    Bundled {
        /// The seed of the order of columns.
        seed: u64,
    },
}

/// A table, the network that its rows come from, and what is known about its best network.
#[derive(Clone, Debug)]
pub(super) struct Dataset {
    /// The network's name.
    pub(super) network: String,
    /// Where the rows come from.
    pub(super) origin: Origin,
    /// The rows.
    pub(super) table: Table,
    /// The generating network over the table's columns.
    pub(super) truth: Dag,
    /// The score of the best network, where a proof is known.
    pub(super) optimum: Option<f64>,
}

impl Origin {
    /// Returns the seed of what is drawn.
    pub(super) fn seed(self) -> u64 {
        match self {
            Self::Sampled { seed, .. } | Self::Bundled { seed } => seed,
        }
    }

    /// Returns the name that files have for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sampled { .. } => "sampled",
            Self::Bundled { .. } => "bundled",
        }
    }
}

impl Dataset {
    /// Draws or reads the table of a network.
    pub(super) fn new(name: &str, data: &Path, origin: Origin) -> Result<Self, Failure> {
        let path = data.join("networks").join(format!("{name}.bif"));
        if !path.is_file() {
            let what = "there is no such network (is --data right?)";
            return Err(Failure::file(&path, what));
        }
        let network = Network::read(&path).map_err(Failure::input)?;
        let (rows, optimum) = match origin {
            Origin::Sampled { seed, rows } => {
                let drawn = network.sample(rows, seed);
                let drawn = drawn.map_err(|error| Failure::file(&path, error))?;
                (with_seen_states(&drawn)?, None)
            }
            Origin::Bundled { .. } => bundled(name, data)?,
        };
        let truth = on_columns(&network, &rows)
            .ok_or_else(|| Failure::file(&path, "the table has other columns"))?;
        let mut random = Random::new(Seed(origin.seed()).mix(SHUFFLE));
        let (table, truth) = shuffled(&rows, &truth, &mut random)?;
        Ok(Self {
            network: name.to_owned(),
            origin,
            table,
            truth,
            optimum,
        })
    }

    /// Returns the BIC of the generating network.
    pub(super) fn truth_score(&self) -> f64 {
        let truth = Network::of(&self.table, self.truth.clone());
        let parts = truth.score_by_node(&self.table, Score::Bic);
        // The network is over the table's own columns.
        parts.unwrap_or_default().iter().map(|(_, part)| part).sum()
    }

    /// Returns the share of ordered pairs that the generating network joins.
    pub(super) fn density(&self) -> f64 {
        let n = self.truth.nodes();
        self.truth.edge_count() as f64 / (n * n.saturating_sub(1)).max(1) as f64
    }
}

/// Keeps the order of columns apart from the draws of the rows.
const SHUFFLE: u64 = 0x5348_5546;

fn bundled(name: &str, data: &Path) -> Result<(Table, Option<f64>), Failure> {
    let choice = TableChoice {
        files: vec![data.join(format!("{name}_n1000_s1.csv.gz"))],
        data: data.to_owned(),
    };
    let mut chosen = choice
        .tables(|_| true)?
        .pop()
        .ok_or_else(|| Failure::Bug("one file is one table".into()))?;
    let table = Table::read(&chosen.path).map_err(Failure::input)?;
    chosen.check(&table);
    let optimum = chosen.known.filter(|known| known.proven);
    Ok((table, optimum.map(|known| known.score)))
}

/// Drops states that no row has: a network's own list of states must not change a score.
fn with_seen_states(table: &Table) -> Result<Table, Failure> {
    let table = table.data();
    let mut variables = Vec::with_capacity(table.nodes());
    let mut columns = Vec::with_capacity(table.nodes());
    for node in NodeIdx::all(table.nodes()) {
        let variable = table.schema().variable(node);
        let cells = table.column(node);
        let mut seen = vec![false; variable.arity()];
        cells
            .iter()
            .for_each(|&cell| seen[usize::from(cell)] = true);
        let mut number = vec![0; seen.len()];
        let mut states = Vec::new();
        for (at, state) in variable.states().iter().enumerate() {
            number[at] = u8::try_from(states.len()).unwrap_or(u8::MAX);
            if seen[at] {
                states.push(state.clone());
            }
        }
        variables.push(Variable::new(variable.name(), states).map_err(Failure::input)?);
        columns.push(
            cells
                .iter()
                .map(|&cell| number[usize::from(cell)])
                .collect(),
        );
    }
    made("sampled", variables, columns)
}

/// Makes a table of variables and their columns.
fn made(name: &str, variables: Vec<Variable>, columns: Vec<Vec<u8>>) -> Result<Table, Failure> {
    let schema = Schema::new(variables).map_err(Failure::input)?;
    let table = data::Table::new(schema, columns).map_err(Failure::input)?;
    Ok(Table::from_data(name, table))
}

/// Gives the network's structure the numbers of a table's columns.
fn on_columns(network: &Network, table: &Table) -> Option<Dag> {
    let dag = network.placed_on(table).ok()?;
    (dag.nodes() == network.nodes().len()).then_some(dag)
}

/// Puts the columns in random order. Columns are ordered by name inside, so each name gets a
/// number in front.
fn shuffled(table: &Table, truth: &Dag, random: &mut Random) -> Result<(Table, Dag), Failure> {
    let table = table.data();
    let mut order: Vec<NodeIdx> = NodeIdx::all(table.nodes()).collect();
    random.shuffle(&mut order);
    let mut place = vec![NodeIdx::new(0); order.len()];
    let mut variables = Vec::with_capacity(order.len());
    let mut columns = Vec::with_capacity(order.len());
    for (at, &node) in order.iter().enumerate() {
        place[node.index()] = NodeIdx::new(at);
        let variable = table.schema().variable(node);
        let name = format!("{at:05}_{}", variable.name());
        variables.push(Variable::new(name, variable.states().to_vec()).map_err(Failure::input)?);
        columns.push(table.column(node).to_vec());
    }
    let edges = truth
        .edges()
        .map(|(from, to)| (place[from.index()], place[to.index()]));
    let truth = Dag::from_edges(order.len(), edges).map_err(Failure::input)?;
    Ok((made("shuffled", variables, columns)?, truth))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../data"))
    }

    #[test]
    fn shuffling_and_unseen_states_leave_the_score_of_the_truth_alone() {
        // The score of the generating network on the bundled rows is known from elsewhere.
        let origin = Origin::Bundled { seed: 1 };
        let insurance = Dataset::new("insurance", data(), origin).unwrap();
        assert!((insurance.truth_score() + 15907.308).abs() < 0.001);
        assert_eq!(insurance.optimum, Some(-14537.03));
        let other = Dataset::new("insurance", data(), Origin::Bundled { seed: 2 }).unwrap();
        assert!((other.truth_score() - insurance.truth_score()).abs() < 1e-6);
        let names = |dataset: &Dataset| -> Vec<String> {
            let names = dataset.table.variables();
            names.into_iter().map(str::to_owned).collect()
        };
        assert_ne!(names(&insurance), names(&other));
    }

    #[test]
    fn sampled_tables_hold_only_states_that_occur_and_repeat_with_their_seed() {
        let origin = |seed| Origin::Sampled { seed, rows: 200 };
        let one = Dataset::new("win95pts", data(), origin(1)).unwrap();
        assert_eq!((one.table.rows(), one.truth.nodes()), (200, 76));
        assert_eq!(one.truth.edge_count(), 112);
        assert!((one.density() - 112.0 / (76.0 * 75.0)).abs() < 1e-12);
        for node in NodeIdx::all(76) {
            let highest = one.table.data().column(node).iter().max().unwrap();
            let states = one.table.data().schema().variable(node).arity();
            assert_eq!(usize::from(*highest) + 1, states);
        }
        let again = Dataset::new("win95pts", data(), origin(1)).unwrap();
        assert_eq!(
            (again.table.data(), &again.truth),
            (one.table.data(), &one.truth)
        );
        let other = Dataset::new("win95pts", data(), origin(2)).unwrap();
        assert_ne!(other.table.data(), one.table.data());
    }

    #[test]
    fn an_unknown_network_is_refused_with_its_file() {
        let origin = Origin::Sampled { seed: 1, rows: 10 };
        let failure = Dataset::new("nowhere", data(), origin).unwrap_err();
        assert!(failure.to_string().contains("nowhere.bif"));
    }
}
