//! A result as one HTML page without outside references: the network in the viewer, edges, columns,
//! warnings, curve, settings and the command. Scripts and styles stand in the page and are named by
//! their hashes in its content-security policy, so that nothing else runs and nothing is fetched.

use super::viewer::{self, NetworkView, cut, for_script, network_json};
use crate::data::Table;
use crate::graph::Joined;
use crate::ids::NodeIdx;
use serde_json::json;
use sha2::{Digest, Sha256};

/// What a report shows.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The heading: the table's name.
    pub title: &'a str,
    /// The network with its class, what edges are worth, and support.
    pub view: NetworkView<'a>,
    /// The rows that it was learned from.
    pub table: &'a Table,
    /// Facts by name, in this order.
    pub facts: Vec<(&'a str, String)>,
    /// What to be careful about.
    pub warnings: Vec<String>,
    /// What the directions of edges mean.
    pub directions: &'a str,
    /// Best scores by seconds searched.
    pub curve: Vec<(f64, f64)>,
    /// How long was searched, in seconds and in words.
    pub searched: (f64, String),
    /// The command that repeats it, if it was made by one.
    pub command: Option<&'a str>,
}

/// The most edges, columns, states of a column, warnings and points of the curve that a report holds.
const MOST_EDGES: usize = 20_000;
const MOST_COLUMNS: usize = 2000;
const MOST_STATES: usize = 12;
const MOST_WARNINGS: usize = 40;
const MOST_POINTS: usize = 2000;
const SCRIPT: &str = include_str!("report.js");
const STYLE: &str = include_str!("report.css");

/// Writes the page. It is bounded: up to 2000 nodes are drawn and listed with 12 states each, and
/// 20 000 edges are listed.
#[must_use]
pub fn report_html(report: &Report<'_>) -> String {
    let (network, not_drawn) = match network_json(&report.view) {
        Ok(network) => (network, String::new()),
        Err(error) => (
            "null".to_owned(),
            format!("The network is not drawn: {error}."),
        ),
    };
    let script = format!("{}\n{SCRIPT}", viewer::SCRIPT);
    let style = format!("{}\n{STYLE}", viewer::STYLE);
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(&style)
    );
    let mut warnings = String::new();
    if !report.warnings.is_empty() {
        warnings += "<h2>Warnings</h2>\n<ul class=\"warnings\">\n";
        for warning in report.warnings.iter().take(MOST_WARNINGS) {
            warnings += &format!("<li>{}</li>\n", escaped(warning));
        }
        if report.warnings.len() > MOST_WARNINGS {
            warnings += &format!(
                "<li>and {} more</li>\n",
                report.warnings.len() - MOST_WARNINGS
            );
        }
        warnings += "</ul>\n";
    }
    let command = report.command.map_or_else(String::new, |command| {
        let command = escaped(command);
        format!("<h2>The command that repeats it</h2>\n<pre>{command}</pre>\n")
    });
    let facts: String = report
        .facts
        .iter()
        .map(|(name, text)| format!("<dt>{}</dt><dd>{}</dd>\n", escaped(name), escaped(text)))
        .collect();
    let mut headings = vec!["From", "", "To", "Nats lost without it"];
    if report.view.support.is_some() {
        headings.push("Support");
    }
    let headings: String = headings
        .iter()
        .map(|heading| {
            let shown = if heading.is_empty() {
                "Direction"
            } else {
                heading
            };
            format!("<th scope=\"col\"><button type=\"button\">{shown}</button></th>")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}: learned network</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n<p class=\"quiet\">A Bayesian network learned from this table. {directions}</p>\n<noscript><p>This page needs JavaScript to draw the network; it loads nothing from elsewhere.</p></noscript>\n<dl class=\"facts\">\n{facts}</dl>\n{warnings}<h2>Network</h2>\n<div id=\"network\"></div>\n<h2>Edges</h2>\n<input class=\"filter\" id=\"edge-filter\" type=\"search\" placeholder=\"Filter by name\" aria-label=\"Filter edges by name\">\n<span class=\"quiet\" id=\"edge-more\" role=\"status\"></span>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Edges\"><table id=\"edges\"><thead><tr>{headings}</tr></thead><tbody id=\"edge-rows\"></tbody></table></div>\n<h2>Columns</h2>\n<input class=\"filter\" id=\"column-filter\" type=\"search\" placeholder=\"Filter by name\" aria-label=\"Filter columns by name\">\n<div class=\"cards\" id=\"columns\"></div>\n<p class=\"quiet\" id=\"column-more\" role=\"status\"></p>\n<h2>Search</h2>\n<p class=\"quiet\">Nats below the best network, over the time searched.</p>\n<div id=\"curve\"></div>\n{command}</main>\n<script type=\"application/json\" id=\"network-data\">{network}</script>\n<script type=\"application/json\" id=\"report-data\">{data}</script>\n<script>{script}</script>\n</body>\n</html>\n",
        title = escaped(report.title),
        directions = escaped(report.directions),
        data = for_script(&data(report, &not_drawn)),
    )
}

/// Returns what the page's script shows.
fn data(report: &Report<'_>, not_drawn: &str) -> serde_json::Value {
    let named = report.view.network.named_dag();
    let edges: Vec<serde_json::Value> = named
        .dag()
        .edges()
        .enumerate()
        .take(MOST_EDGES)
        .map(|(number, (from, to))| {
            let is_free = report
                .view
                .class
                .is_some_and(|class| class.joined(from, to) == Joined::Undirected);
            let worth = report.view.worths.and_then(|worths| worths.get(number));
            let mut row = vec![
                json!(cut(named.name(from))),
                json!(if is_free { "—" } else { "→" }),
                json!(cut(named.name(to))),
                json!(worth.copied().unwrap_or(0.0)),
            ];
            if let Some((support, _)) = report.view.support {
                let pair = support.pair(from, to);
                row.push(json!(pair.strength()));
                row.push(json!(support.is_required(&pair)));
            }
            json!(row)
        })
        .collect();
    let table = report.table;
    let columns: Vec<serde_json::Value> = NodeIdx::all(table.nodes())
        .take(MOST_COLUMNS)
        .map(|node| {
            let variable = table.schema().variable(node);
            let counts = state_counts(table, node);
            let states: Vec<(String, usize)> = variable
                .states()
                .iter()
                .zip(counts)
                .take(MOST_STATES)
                .map(|(state, count)| (cut(state), count))
                .collect();
            json!({
                "name": cut(variable.name()),
                "more": variable.arity() - states.len(),
                "states": states,
            })
        })
        .collect();
    json!({
        "rows": table.rows(),
        "edges": edges,
        "more_edges": named.dag().edge_count().saturating_sub(MOST_EDGES),
        "columns": columns,
        "more_columns": table.nodes().saturating_sub(MOST_COLUMNS),
        "curve": thinned(&report.curve),
        "seconds": report.searched.0,
        "searched": report.searched.1,
        "not_drawn": not_drawn,
    })
}

/// Leaves out points of a long curve evenly; the first and the last stay.
fn thinned(curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let every = curve.len().div_ceil(MOST_POINTS).max(1);
    let is_last = |at: usize| at + 1 == curve.len();
    let points = curve.iter().enumerate();
    points
        .filter(|&(at, _)| at % every == 0 || is_last(at))
        .map(|(_, &point)| point)
        .collect()
}

/// Counts the rows of each state of a variable.
#[must_use]
pub fn state_counts(table: &Table, node: NodeIdx) -> Vec<usize> {
    let mut counts = vec![0; table.schema().variable(node).arity()];
    for &state in table.column(node) {
        if let Some(count) = counts.get_mut(usize::from(state)) {
            *count += 1;
        }
    }
    counts
}

/// Escapes text for an element or an attribute.
fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match letter {
            '<' => shown += "&lt;",
            '>' => shown += "&gt;",
            '&' => shown += "&amp;",
            '"' => shown += "&quot;",
            '\'' => shown += "&#39;",
            letter if letter.is_control() && letter != '\n' => shown.push('\u{fffd}'),
            letter => shown.push(letter),
        }
    }
    shown
}

/// Returns the hash of a script or style, as a content-security policy names it.
fn hash(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut base64 = String::new();
    for bytes in Sha256::digest(text.as_bytes()).chunks(3) {
        let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4u32 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            let is_there = at as usize <= bytes.len();
            base64.push(if is_there { char::from(letter) } else { '=' });
        }
    }
    base64
}

#[cfg(test)]
mod tests;
