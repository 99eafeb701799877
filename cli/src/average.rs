//! `rlbayes average`: the support of edges over networks that one already has.

use crate::failure::Failure;
use crate::file_roles::FileRoles;
use crate::support_files::SupportFile;
use crate::support_report::edge_table;
use crate::target::Target;
use crate::terminal::{Messages, print, print_json};
use crate::units::counted;
use clap::Args;
use rlbayes::{Network, SupportTable};
use rlbayes_common::graph::{Cpdag, Dag};
use rlbayes_common::ids::NodeIdx;
use rlbayes_common::io::support_json;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Counts edges over several networks: strength and direction as bnlearn's custom.strength.
#[derive(Args, Clone, Debug)]
#[command(
    after_long_help = "Each network counts by its equivalence class: a reversible edge points half each way.\n\n\
    Example:\n  rlbayes average run1.bif run2.bif run3.bif -o support.csv -o support.svg"
)]
pub(crate) struct AverageCommand {
    /// The networks, in any readable format, over the same variables
    #[arg(required = true, value_name = "NET")]
    networks: Vec<PathBuf>,
    /// A result file; may be given several times: .csv (bnlearn's columns), .json, .svg, .png, .pdf, .dot, .graphml
    #[arg(short, long = "output", value_name = "FILE")]
    output: Vec<PathBuf>,
    /// Strength from which on edges are drawn
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    threshold: f64,
    /// Prints JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &AverageCommand) -> Result<(), Failure> {
    if !(0.0..=1.0).contains(&args.threshold) {
        let what = format!("--threshold must be from 0 to 1, not {}", args.threshold);
        return Err(Failure::input(what));
    }
    args.networks
        .iter()
        .fold(FileRoles::default(), |roles, path| {
            roles.reads("one of the networks", path)
        })
        .writes("the result", &args.output)
        .check()?;
    let files: Vec<SupportFile> = args
        .output
        .iter()
        .map(|path| {
            SupportFile::of(path)?.ok_or_else(|| {
                let what =
                    "holds a network, not support; expected .csv, .json, .svg, .png, .pdf, .dot or .graphml";
                Failure::file(path, what)
            })
        })
        .collect::<Result<_, _>>()?;
    let networks: Vec<Network> = args
        .networks
        .iter()
        .map(|path| Network::read(path).map_err(Failure::input))
        .collect::<Result<_, _>>()?;
    let names: BTreeSet<&str> = networks[0].nodes().into_iter().collect();
    for (path, network) in args.networks.iter().zip(&networks) {
        let own: BTreeSet<&str> = network.nodes().into_iter().collect();
        if let Some(name) = own.symmetric_difference(&names).next() {
            let has = if own.contains(name) { "has" } else { "lacks" };
            let what = format!(
                "{has} the node \"{name}\", unlike {}: all networks need the same nodes",
                args.networks[0].display()
            );
            return Err(Failure::file(path, what));
        }
    }
    let names: Vec<&str> = names.into_iter().collect();
    let classes: Vec<Cpdag> = networks
        .iter()
        .map(|network| Ok(Cpdag::of(&placed(network, &names)?)))
        .collect::<Result<_, Failure>>()?;
    let names = names.into_iter().map(str::to_owned).collect();
    let table = SupportTable::of(names, &classes);
    for file in &files {
        file.write(&table, args.threshold, None, || {
            as_json(&table, args.threshold)
        })?;
    }
    if args.json {
        return print_json(&as_json(&table, args.threshold));
    }
    let networks = table.tally().networks();
    let text = format!(
        "{}, L1 threshold {:.2}\n{}",
        counted(u64::from(networks), "network"),
        table.l1_threshold(),
        edge_table(&table)
    );
    let messages = Messages::new(false);
    // Standard output may be a result's.
    match files.iter().any(|file| *file.target() == Target::Stdout) {
        true => messages.line(text.trim_end()),
        false => print(&text)?,
    }
    for file in &files {
        messages.line(&format!("  written      {}", file.target()));
    }
    Ok(())
}

/// Returns a network's graph over names in order.
fn placed(network: &Network, names: &[&str]) -> Result<Dag, Failure> {
    let number = |name: &str| names.binary_search(&name).ok().map(NodeIdx::new);
    let edges = network.edges();
    let edges = edges
        .iter()
        .filter_map(|(from, to)| Some((number(from)?, number(to)?)));
    // The edges of an acyclic graph under other numbers.
    Dag::from_edges(names.len(), edges).map_err(|error| Failure::Bug(error.to_string()))
}

fn as_json(table: &SupportTable, threshold: f64) -> Value {
    let (least, mean, most) = table.tally().edges();
    json!({
        "method": "average",
        "replicates": table.tally().networks(),
        "threshold": { "rule": "fixed", "value": threshold, "l1": table.l1_threshold() },
        "edges_per_replicate": { "min": least, "mean": mean, "max": most },
        "variables": table.names(),
        "edges": support_json(table),
    })
}
