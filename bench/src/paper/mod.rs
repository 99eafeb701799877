//! `paper`: the experiments of the RLBayes paper, repeated. Its tables are sampled anew, its
//! seven searches and ours run under equal budgets, and the printed values stand beside ours.
//!
//! `command` is the order of it all; `dataset`, `contender` and `budget_rule` say what runs, `trial`
//! runs one search once, `journal` keeps what has ended; `results` answers questions about all of
//! it, and the rest writes answers down.

mod budget_rule;
mod command;
mod contender;
mod dataset;
mod dot_plot;
mod files;
mod journal;
mod line_plot;
mod palette;
mod pictures;
mod printed;
mod ranks;
mod report;
mod results;
mod trial;
mod walk_table;

pub(crate) use command::{PaperArgs, run};
