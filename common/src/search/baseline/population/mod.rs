//! What searches over a population have in common: members that know the scores of their families,
//! the repair of what a crossover made cyclic, and the driver that scores what a search proposes.

mod driver;
mod individual;
mod repair;

pub(super) use driver::{About, Draw, Population, PopulationSearch};
pub(super) use individual::{Individual, UNKNOWN, best_of, load_scored, save_all};
pub(super) use repair::repair;
