//! Learns the structure of Bayesian networks from tables of discrete data.

#[doc(hidden)]
pub mod chains;
#[doc(hidden)]
pub mod coordination;
#[doc(hidden)]
pub mod journal;
#[doc(hidden)]
pub mod machine;
#[doc(hidden)]
pub mod memory_layout;
#[doc(hidden)]
pub mod state_folder;
