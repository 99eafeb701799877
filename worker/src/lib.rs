//! The worker: runs chains on OS threads and carries what they find to a coordinator. How it gets
//! there is a [`link::Link`]: gRPC for the cluster, a channel for `learn`.

pub mod chains;
pub mod data_store;
pub mod grpc_link;
pub mod host;
pub mod link;
pub mod session;
mod session_log;
pub mod state;
#[cfg(test)]
mod test_values;
pub mod thread_chains;
