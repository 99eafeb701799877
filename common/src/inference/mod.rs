//! Exact inference: what a network says about some variables once others are known. Variable
//! elimination over the nodes that matter, with a limit on what it may hold.

mod elimination;
mod factor;

pub use elimination::{Evidence, InferenceError, MAX_HELD, Posterior, posterior};

#[cfg(test)]
mod tests;
