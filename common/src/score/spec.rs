//! Which score a search maximises, and with which parameters.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The family of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScoreName {
    /// Log-likelihood, without a penalty.
    LogLik,
    /// Bayesian information criterion (also called MDL).
    Bic,
    /// Akaike information criterion.
    Aic,
    /// Bayesian Dirichlet equivalent uniform.
    Bdeu,
    /// Bayesian Dirichlet with all alpha = 1.
    K2,
}

/// A score with its parameters, checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreSpec {
    name: ScoreName,
    ess: f64,
    penalty_scale: f64,
}

/// Why a score can't be had.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ScoreSpecError {
    /// No score has that name.
    #[error("unknown score \"{0}\" (expected bic, aic, bdeu, k2 or loglik)")]
    UnknownName(String),
    /// The equivalent sample size must be positive.
    #[error("the equivalent sample size is {0} (expected a number above 0)")]
    Ess(f64),
    /// The penalty's factor must not be negative.
    #[error("the penalty scale is {0} (expected a number of at least 0)")]
    PenaltyScale(f64),
}

impl ScoreName {
    /// Returns the name as flags and JSON spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::LogLik => "loglik",
            Self::Bic => "bic",
            Self::Aic => "aic",
            Self::Bdeu => "bdeu",
            Self::K2 => "k2",
        }
    }

    /// Returns whether equivalent networks have equal scores.
    #[must_use]
    pub const fn is_score_equivalent(self) -> bool {
        !matches!(self, Self::K2)
    }
}

impl fmt::Display for ScoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ScoreName {
    type Err = ScoreSpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::LogLik, Self::Bic, Self::Aic, Self::Bdeu, Self::K2]
            .into_iter()
            .find(|name| name.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| ScoreSpecError::UnknownName(text.to_owned()))
    }
}

impl ScoreSpec {
    /// The default: BIC with the usual penalty.
    pub const BIC: Self = Self {
        name: ScoreName::Bic,
        ess: 1.0,
        penalty_scale: 1.0,
    };

    /// Makes a score.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn new(name: ScoreName, ess: f64, penalty_scale: f64) -> Result<Self, ScoreSpecError> {
        if !(ess > 0.0 && ess.is_finite()) {
            return Err(ScoreSpecError::Ess(ess));
        }
        if !(penalty_scale >= 0.0 && penalty_scale.is_finite()) {
            return Err(ScoreSpecError::PenaltyScale(penalty_scale));
        }
        Ok(Self {
            name,
            ess,
            penalty_scale,
        })
    }

    /// Returns the score with its usual parameters.
    #[must_use]
    pub const fn usual(name: ScoreName) -> Self {
        Self {
            name,
            ess: 1.0,
            penalty_scale: 1.0,
        }
    }

    /// Returns the family.
    #[must_use]
    pub const fn name(&self) -> ScoreName {
        self.name
    }

    /// Returns the equivalent sample size of BDeu.
    #[must_use]
    pub const fn ess(&self) -> f64 {
        self.ess
    }

    /// Returns the factor on the penalty of BIC and AIC (2 gives the paper's printed form).
    #[must_use]
    pub const fn penalty_scale(&self) -> f64 {
        self.penalty_scale
    }
}
