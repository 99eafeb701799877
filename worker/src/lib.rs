//! The worker: runs chains on OS threads and posts what they find. How posts reach a coordinator
//! is not its business: `learn` reads the mailbox in the same process, the cluster's session will
//! carry it over gRPC.

pub mod chain_thread;
