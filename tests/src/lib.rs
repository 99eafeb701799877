//! The system seen from outside.
