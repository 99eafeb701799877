//! Flags of the searches that RLBayes is compared with.

use clap::Args;
use rlbayes_common::search::baseline::{
    AnnealingParams, FootballParams, GeneticParams, ParticlesParams, WeedsParams,
};

/// Settings of sa, ga, iwo, ftta and bnc-pso; the defaults are those of the papers.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Settings of the searches that RLBayes is compared with")]
pub(crate) struct OtherSearchArgs {
    /// sa: first temperature, in nats
    #[arg(long, value_name = "NATS", default_value_t = AnnealingParams::default().temperature)]
    sa_temperature: f64,
    /// sa: factor on the temperature after each proposal
    #[arg(long, value_name = "FACTOR", default_value_t = AnnealingParams::default().cooling)]
    sa_cooling: f64,
    /// sa: factor on the temperature when under 1 % were accepted over n^2 proposals
    #[arg(long, value_name = "FACTOR", default_value_t = AnnealingParams::default().reheating)]
    sa_reheating: f64,
    /// sa: most reheatings
    #[arg(long, value_name = "N", default_value_t = AnnealingParams::default().reheats)]
    sa_reheats: u64,
    /// ga: networks in a generation
    #[arg(long, value_name = "N", default_value_t = GeneticParams::default().population)]
    ga_population: usize,
    /// ga: networks that compete to be a parent
    #[arg(long, value_name = "N", default_value_t = GeneticParams::default().tournament)]
    ga_tournament: usize,
    /// ga: probability that a child has two parents
    #[arg(long, value_name = "P", default_value_t = GeneticParams::default().crossover)]
    ga_crossover: f64,
    /// ga: probability that a child is mutated
    #[arg(long, value_name = "P", default_value_t = GeneticParams::default().mutation)]
    ga_mutation: f64,
    /// ga: best networks that are kept in the next generation
    #[arg(long, value_name = "N", default_value_t = GeneticParams::default().elite)]
    ga_elite: usize,
    /// iwo: weeds at the beginning
    #[arg(long, value_name = "N", default_value_t = WeedsParams::default().initial)]
    iwo_initial: usize,
    /// iwo: weeds at most
    #[arg(long, value_name = "N", default_value_t = WeedsParams::default().maximum)]
    iwo_maximum: usize,
    /// iwo: seeds of the best weed
    #[arg(long, value_name = "N", default_value_t = WeedsParams::default().seeds_most)]
    iwo_seeds: usize,
    /// iwo: spread at the beginning [default: max(2, n / 4)]
    #[arg(long, value_name = "SIGMA")]
    iwo_spread_first: Option<f64>,
    /// iwo: spread at the end
    #[arg(long, value_name = "SIGMA", default_value_t = WeedsParams::default().spread_last)]
    iwo_spread_last: f64,
    /// iwo: generations until the spread has reached its last value
    #[arg(long, value_name = "N", default_value_t = WeedsParams::default().generations)]
    iwo_generations: u64,
    /// ftta: players
    #[arg(long, value_name = "N", default_value_t = FootballParams::default().population)]
    ftta_population: usize,
    /// ftta: training groups
    #[arg(long, value_name = "N", default_value_t = FootballParams::default().groups)]
    ftta_groups: usize,
    /// bnc-pso: particles
    #[arg(long, value_name = "N", default_value_t = ParticlesParams::default().swarm)]
    pso_swarm: usize,
    /// bnc-pso: generations until the probabilities have reached their last values
    #[arg(long, value_name = "N", default_value_t = ParticlesParams::default().generations)]
    pso_generations: u64,
}

impl OtherSearchArgs {
    pub(crate) fn annealing(&self) -> AnnealingParams {
        AnnealingParams {
            temperature: self.sa_temperature,
            cooling: self.sa_cooling,
            reheating: self.sa_reheating,
            reheats: self.sa_reheats,
            ..AnnealingParams::default()
        }
    }

    pub(crate) fn genetic(&self) -> GeneticParams {
        GeneticParams {
            population: self.ga_population,
            tournament: self.ga_tournament,
            crossover: self.ga_crossover,
            mutation: self.ga_mutation,
            elite: self.ga_elite,
        }
    }

    pub(crate) fn weeds(&self) -> WeedsParams {
        WeedsParams {
            initial: self.iwo_initial,
            maximum: self.iwo_maximum,
            seeds_most: self.iwo_seeds,
            spread_first: self.iwo_spread_first,
            spread_last: self.iwo_spread_last,
            generations: self.iwo_generations,
            ..WeedsParams::default()
        }
    }

    pub(crate) fn football(&self) -> FootballParams {
        FootballParams {
            population: self.ftta_population,
            groups: self.ftta_groups,
            ..FootballParams::default()
        }
    }

    pub(crate) fn particles(&self) -> ParticlesParams {
        ParticlesParams {
            swarm: self.pso_swarm,
            generations: self.pso_generations,
            ..ParticlesParams::default()
        }
    }
}
