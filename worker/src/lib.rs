//! The worker of a cluster: its session with a coordinator. [`state`] decides, [`session`] drives it
//! over a [`link::Link`] and the chains, which run on the threads of the library (`rlbayes::chains`).

pub mod chains;
pub mod data_store;
pub mod folder_lock;
pub mod grpc_link;
pub mod host;
pub mod link;
pub mod replicate_chains;
pub mod session;
mod session_log;
pub mod state;
#[cfg(test)]
mod test_values;
pub mod thread_chains;
pub mod worker_chains;
