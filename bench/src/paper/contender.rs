//! The searches that are compared, in the order of the paper's tables, then ours.

use clap::ValueEnum;
use rlbayes_common::search::SearchSpec;
use rlbayes_common::search::baseline::{
    AnnealingParams, FootballParams, GeneticParams, HillClimbingParams, ParticlesParams,
    TabuParams, WeedsParams,
};
use rlbayes_common::search::paper::PaperParams;
use rlbayes_common::search::rlbayes::RlBayesParams;

/// A search that is compared, with the settings that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Contender {
    /// The genetic algorithm
    Ga,
    /// One climb from the empty network; it ends long before the budget
    Hc,
    /// Simulated annealing
    Sa,
    /// Invasive weed optimisation
    Iwo,
    /// The football team training algorithm
    Ftta,
    /// Particle swarm optimisation
    BncPso,
    /// RLBayes as printed: the paper's own row
    Paper,
    /// The default search of this program
    Rlbayes,
    /// Hill climbing that is perturbed and starts again until the budget ends
    HcRestarts,
    /// Tabu search; it ends by itself
    Tabu,
    /// RLBayes as printed with MAX_LENGTH 100, for the paper's figure
    #[value(name = "paper-100")]
    Paper100,
    /// RLBayes as printed with MAX_LENGTH 500, for the paper's figure
    #[value(name = "paper-500")]
    Paper500,
}

impl Contender {
    /// Those that are compared by default.
    pub(super) const USUAL: [Self; 9] = [
        Self::Ga,
        Self::Hc,
        Self::Sa,
        Self::Iwo,
        Self::Ftta,
        Self::BncPso,
        Self::Paper,
        Self::Rlbayes,
        Self::HcRestarts,
    ];

    /// The printed walk with the three table lengths of the paper's figure, shortest first.
    pub(super) const WALKS: [Self; 3] = [Self::Paper100, Self::Paper500, Self::Paper];

    /// Returns the name as flags and files spell it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ga => "ga",
            Self::Hc => "hc",
            Self::Sa => "sa",
            Self::Iwo => "iwo",
            Self::Ftta => "ftta",
            Self::BncPso => "bnc-pso",
            Self::Paper => "paper",
            Self::Rlbayes => "rlbayes",
            Self::HcRestarts => "hc-restarts",
            Self::Tabu => "tabu",
            Self::Paper100 => "paper-100",
            Self::Paper500 => "paper-500",
        }
    }

    /// Returns the search of a name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::value_variants()
            .iter()
            .copied()
            .find(|contender| contender.name() == name)
    }

    /// Returns whether it is the printed walk, whatever its table's length.
    pub(super) fn is_walk(self) -> bool {
        self.table_rows().is_some()
    }

    /// Returns MAX_LENGTH of the printed walk.
    pub(super) fn table_rows(self) -> Option<usize> {
        match self {
            Self::Paper => Some(PaperParams::default().table_rows),
            Self::Paper100 => Some(100),
            Self::Paper500 => Some(500),
            _ => None,
        }
    }

    /// Returns the search with its settings for a number of variables.
    pub(super) fn spec(self, nodes: usize) -> SearchSpec {
        match self {
            Self::Ga => SearchSpec::Genetic(GeneticParams::default()),
            Self::Hc => SearchSpec::HillClimbing(HillClimbingParams::default()),
            Self::Sa => SearchSpec::Annealing(AnnealingParams::default()),
            Self::Iwo => SearchSpec::Weeds(WeedsParams::default()),
            Self::Ftta => SearchSpec::Football(FootballParams::default()),
            Self::BncPso => SearchSpec::Particles(ParticlesParams::default()),
            Self::Rlbayes => SearchSpec::RlBayes(RlBayesParams::default()),
            Self::HcRestarts => SearchSpec::HillClimbing(HillClimbingParams {
                restarts: u64::MAX,
                perturb: (nodes as u64 / 4).max(4),
            }),
            Self::Tabu => SearchSpec::Tabu(TabuParams::default()),
            Self::Paper | Self::Paper100 | Self::Paper500 => SearchSpec::Paper(PaperParams {
                table_rows: self.table_rows().unwrap_or(1000),
                ..PaperParams::default()
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_flags_and_lead_back() {
        for &contender in Contender::value_variants() {
            let flag = contender.to_possible_value().unwrap();
            assert_eq!(flag.get_name(), contender.name());
            assert_eq!(Contender::from_name(contender.name()), Some(contender));
        }
        assert_eq!(Contender::from_name("pc"), None);
    }

    #[test]
    fn each_contender_runs_the_search_that_it_is_named_after() {
        for contender in Contender::USUAL {
            let search = contender.spec(8).name();
            assert_eq!(contender.name().split("-restarts").next(), Some(search));
            assert_eq!(contender.spec(8).check(), Ok(()));
        }
        let rows = Contender::WALKS.map(|walk| walk.table_rows());
        assert_eq!(rows, [Some(100), Some(500), Some(1000)]);
    }
}
