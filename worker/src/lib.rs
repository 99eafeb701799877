//! The worker: runs chains on OS threads and carries what they find to a coordinator. How it gets
//! there is a [`link::Link`]: gRPC for the cluster, a channel for `learn`.

pub mod backoff;
pub mod chains;
pub mod data_store;
pub mod grpc_link;
pub mod host;
pub mod link;
pub mod outbox;
pub mod retry;
pub mod session;
#[cfg(test)]
mod test_values;
pub mod thread_chains;
