//! The parameters of each [`Algorithm`](crate::Algorithm).
//!
//! ```
//! use rlbayes::algorithms::HillClimbingParams;
//! use rlbayes::Algorithm;
//! let climbs = HillClimbingParams { restarts: 20, ..Default::default() };
//! assert_eq!(Algorithm::HillClimbing(climbs).name(), "hc");
//! ```

pub use rlbayes_common::search::baseline::{
    AnnealingParams, FootballParams, GeneticParams, HillClimbingParams, ParticlesParams,
    TabuParams, WeedsParams,
};
pub use rlbayes_common::search::paper::{Evict, Explore, PaperParams};
pub use rlbayes_common::search::rlbayes::{Learning, RlBayesParams};
