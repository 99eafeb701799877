//! The Q-table of the default search: a bounded set of local optima, and the values of the places
//! where exploring has paid. Both decide what comes next: rows are what a stalled chain transfers
//! to, values are what the place of the next burst is drawn by.

use crate::elite::{EliteRow, Structure};
use crate::ids::NodeIdx;
use crate::random::Random;
use std::collections::VecDeque;

/// A chain's memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QTable {
    limit: usize,
    /// Local optima that a run ended on, best first.
    rows: Vec<EliteRow>,
    /// By node: what a burst there is expected to be worth; 1 where nothing is known.
    values: Vec<f64>,
    /// Places of the last bursts whose outcome was accepted: they share the credit of a record.
    recent: VecDeque<NodeIdx>,
}

/// How many places share the credit of a record.
const SHARING: usize = 8;
/// What a record adds to the value of the place that brought it, and to those before it.
const DIRECT_CREDIT: f64 = 4.0;
const SHARED_CREDIT: f64 = 1.0;
/// No place is drawn more often than this many times as often as an unknown one.
const MOST_VALUE: f64 = 8.0;
/// What is left of the surplus over 1 after a burst without a record.
const FADING: f64 = 0.95;

impl QTable {
    pub(super) fn new(nodes: usize, limit: usize) -> Self {
        Self {
            limit,
            rows: Vec::new(),
            values: vec![1.0; nodes],
            recent: VecDeque::new(),
        }
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.values.len()
    }

    /// Draws a place: nodes in proportion to their value.
    pub(super) fn draw_place(&self, random: &mut Random) -> NodeIdx {
        loop {
            let node = random.below(self.values.len());
            if random.unit() * MOST_VALUE < self.values[node] {
                return NodeIdx::new(node);
            }
        }
    }

    /// Notes that the outcome of a burst was accepted and changed the network.
    pub(super) fn moved(&mut self, place: NodeIdx) {
        if self.recent.len() == SHARING {
            self.recent.pop_front();
        }
        self.recent.push_back(place);
    }

    /// Credits a record to the burst that brought it and to those that led there.
    pub(super) fn credit_record(&mut self, place: NodeIdx) {
        for at in 0..self.recent.len() {
            self.add(self.recent[at], SHARED_CREDIT);
        }
        self.add(place, DIRECT_CREDIT);
    }

    /// Lets the value of a place fade where a burst brought no record.
    pub(super) fn fade(&mut self, place: NodeIdx) {
        let value = &mut self.values[place.index()];
        *value = 1.0 + (*value - 1.0) * FADING;
    }

    fn add(&mut self, place: NodeIdx, credit: f64) {
        let value = &mut self.values[place.index()];
        *value = (*value + credit).min(MOST_VALUE);
    }

    /// Puts a local optimum into the table; the worst goes when it is full. Tells whether it is in.
    pub(super) fn insert(&mut self, row: &EliteRow) -> bool {
        if self
            .rows
            .iter()
            .any(|known| known.structure == row.structure)
        {
            return false;
        }
        let at = self.rows.partition_point(|known| known.score >= row.score);
        if at >= self.limit {
            return false;
        }
        self.rows.insert(at, row.clone());
        self.rows.truncate(self.limit);
        true
    }

    /// Returns the rows, best first.
    pub(super) fn rows(&self) -> &[EliteRow] {
        &self.rows
    }

    /// Draws a row to transfer to: the best with probability theta, else any other.
    pub(super) fn draw_row(&self, theta: f64, random: &mut Random) -> Option<&EliteRow> {
        match self.rows.as_slice() {
            [] => None,
            [only] => Some(only),
            [best, ..] if random.chance(theta) => Some(best),
            [_, others @ ..] => random.pick(others),
        }
    }

    /// Returns values and recent places, for storing.
    pub(super) fn save(&self) -> (Vec<f64>, Vec<u64>) {
        let recent = self
            .recent
            .iter()
            .map(|place| place.index() as u64)
            .collect();
        (self.values.clone(), recent)
    }

    /// Goes on from stored parts; none if they do not fit.
    pub(super) fn load(
        nodes: usize,
        limit: usize,
        rows: &[EliteRow],
        values: &[f64],
        recent: &[u64],
    ) -> Option<Self> {
        let proper = |value: &f64| (0.0..=MOST_VALUE).contains(value);
        if values.len() != nodes || recent.len() > SHARING || !values.iter().all(proper) {
            return None;
        }
        let recent = recent
            .iter()
            .map(|&place| {
                usize::try_from(place)
                    .ok()
                    .filter(|&at| at < nodes)
                    .map(NodeIdx::new)
            })
            .collect::<Option<_>>()?;
        let mut table = Self {
            limit,
            rows: Vec::new(),
            values: values.to_vec(),
            recent,
        };
        table.rows = rows.iter().take(limit).cloned().collect();
        Some(table)
    }

    /// Returns how many bytes a table takes at most, its rows' families not shared with any other.
    pub(super) fn bytes_for(nodes: usize, limit: usize) -> usize {
        limit * (size_of::<Structure>() + nodes * 48) + nodes * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dag;
    use crate::ids::Seed;
    use crate::score::LogScore;

    fn row(to: usize, score: f64) -> EliteRow {
        let dag = Dag::from_edges(9, [(NodeIdx::new(0), NodeIdx::new(to))]).unwrap();
        EliteRow {
            structure: Structure::of(&dag),
            score: LogScore::new(score),
        }
    }

    #[test]
    fn the_table_keeps_the_best_rows_within_its_limit() {
        let mut table = QTable::new(9, 3);
        for (to, score) in [
            (1, -5.0),
            (2, -3.0),
            (3, -9.0),
            (4, -1.0),
            (5, -7.0),
            (2, -3.0),
        ] {
            table.insert(&row(to, score));
        }
        let scores: Vec<f64> = table.rows().iter().map(|row| row.score.value()).collect();
        assert_eq!(scores, [-1.0, -3.0, -5.0]);
    }

    #[test]
    fn a_credited_place_is_drawn_more_often_and_fades_back() {
        let mut table = QTable::new(9, 3);
        let place = NodeIdx::new(4);
        table.credit_record(place);
        let share = |table: &QTable| {
            let mut random = Random::new(Seed(1));
            (0..9000)
                .filter(|_| table.draw_place(&mut random) == place)
                .count()
        };
        // Value 5 against 1 for each of the eight others.
        assert!((3200..3750).contains(&share(&table)), "{}", share(&table));
        for _ in 0..200 {
            table.fade(place);
        }
        assert!((850..1150).contains(&share(&table)), "{}", share(&table));
    }
}
