//! Chains at work: made, run in slices on OS threads, and kept on disk.

mod chain_folder;
mod maker;
mod running_chain;
mod threads;

pub use chain_folder::{Belongs, ChainFolder, OtherVersion};
pub use maker::{ChainMaker, WhyNot};
pub use running_chain::{RunningChain, SliceSettings};
pub use threads::{ChainThreads, Ended, NotPosted, ReportSink};
