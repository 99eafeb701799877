//! Asks a coordinator what people want to know: status, live view, result; and tells it to stop. The
//! command line and the Python package are built on it; it knows neither flags nor printing.

mod connection;
mod error;
mod fetched;
mod questions;
mod web_server;

pub use connection::Connection;
pub use error::{ClientError, answered, failed};
pub use fetched::Fetched;
pub use questions::{fetch, status, stop, watch};
pub use web_server::{WebServer, web_server};
