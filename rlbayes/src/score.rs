//! The scores by name, as people choose them.

use rlbayes_common::score::{ScoreName, ScoreSpec, ScoreSpecError};

/// What a search maximises. Higher is better; natural logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Score {
    /// Bayesian information criterion (also called MDL): log-likelihood - ln(rows) / 2 x parameters.
    #[default]
    Bic,
    /// Akaike information criterion: log-likelihood - parameters.
    Aic,
    /// Bayesian Dirichlet equivalent uniform.
    Bdeu {
        /// The equivalent sample size; 1 is usual.
        ess: f64,
    },
    /// Bayesian Dirichlet with all alpha = 1. Not the same for equivalent networks.
    K2,
    /// Log-likelihood without a penalty.
    LogLik,
}

impl Score {
    /// Returns the score's name, as flags and files spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.score_name().as_str()
    }

    fn score_name(self) -> ScoreName {
        match self {
            Self::Bic => ScoreName::Bic,
            Self::Aic => ScoreName::Aic,
            Self::Bdeu { .. } => ScoreName::Bdeu,
            Self::K2 => ScoreName::K2,
            Self::LogLik => ScoreName::LogLik,
        }
    }

    /// Checks the score and a factor on its penalty.
    pub(crate) fn spec(self, penalty_scale: f64) -> Result<ScoreSpec, ScoreSpecError> {
        let ess = match self {
            Self::Bdeu { ess } => ess,
            _ => 1.0,
        };
        ScoreSpec::new(self.score_name(), ess, penalty_scale)
    }
}
