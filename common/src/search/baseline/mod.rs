//! The searches that RLBayes is compared with, one file each, on the same scorer and counters.

mod annealing;
mod football;
mod genetic;
mod hill_climbing;
mod particles;
mod population;
mod tabu;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod weeds;

pub use annealing::{Annealing, AnnealingParams};
pub use football::{Football, FootballParams};
pub use genetic::{Genetic, GeneticParams};
pub use hill_climbing::{HillClimbing, HillClimbingParams};
pub use particles::{Particles, ParticlesParams};
pub use tabu::{Tabu, TabuParams};
pub use weeds::{Weeds, WeedsParams};
