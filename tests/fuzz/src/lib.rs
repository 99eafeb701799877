//! Throws changed inputs at everything that reads bytes from outside: networks, tables, schemas,
//! lists, proofs, snapshots, journals and messages. [`targets`] says what is read and what must
//! hold, [`seeds`] has inputs that are right, [`mutate`] changes them, [`coverage`] tells which
//! change reached something new, [`drive`] ties them. The corpus in `corpus/` has what was worth
//! keeping; the tests replay it.

pub mod corpus;
pub mod coverage;
pub mod drive;
pub mod mutate;
pub mod seeds;
pub mod targets;
