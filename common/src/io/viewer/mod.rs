//! The network viewer of HTML pages: a script and a style without outside references, and the data
//! that they show. The page that uses them inlines both, or serves them as files of its own.
//!
//! Names in the data come from outside. As JSON here holds no `<`, `>`, `&` or line separator, it can
//! stand inside a `<script type="application/json">`.

use super::error::WriteError;
use super::picture::MAX_DRAWN_NODES;
use crate::graph::{Cpdag, Joined};
use crate::ids::NodeIdx;
use crate::layout::{labels, place};
use crate::network::{Network, NetworkFile};
use crate::support::SupportTable;
use serde_json::{Map, Value, json};

/// The script: `rlbayesViewer(container, data)` returns an object with `update(data)` and
/// `find(name)`, `rlbayesCurve(points, end, width, end_text)` the curve of a search.
pub const SCRIPT: &str = concat!(include_str!("viewer.js"), include_str!("curve.js"));
/// Its style.
pub const STYLE: &str = include_str!("viewer.css");

/// What the viewer shows of a network.
#[derive(Clone, Copy, Debug)]
pub struct NetworkView<'a> {
    /// The network; with probabilities, nodes have their tables.
    pub network: &'a NetworkFile,
    /// Its class: edges that may point either way are shown without heads.
    pub class: Option<&'a Cpdag>,
    /// What each edge is worth, in the order of the graph's edges.
    pub worths: Option<&'a [f64]>,
    /// The support of edges, and the support below which an edge is dashed.
    pub support: Option<(&'a SupportTable, f64)>,
}

/// The most states, the most rows of a table, and the most probabilities of all tables.
const MOST_STATES: usize = 24;
const MOST_ROWS: usize = 64;
const MOST_PROBABILITIES: usize = 200_000;
/// The longest name or state, in letters; the rest is cut.
const LONGEST_TEXT: usize = 300;

/// Returns the viewer's data as JSON for a `<script>` element. It is bounded: a node shows its first
/// 24 states and up to 64 rows of its table, and all tables together 200 000 probabilities.
///
/// # Errors
/// If there are too many nodes to draw.
pub fn network_json(view: &NetworkView<'_>) -> Result<String, WriteError> {
    network_value(view).map(|value| for_script(&value))
}

/// Returns the viewer's data.
///
/// # Errors
/// If there are too many nodes to draw.
pub fn network_value(view: &NetworkView<'_>) -> Result<Value, WriteError> {
    let named = view.network.named_dag();
    let dag = named.dag();
    let nodes = dag.nodes();
    if nodes > MAX_DRAWN_NODES {
        return Err(WriteError::TooLarge { nodes });
    }
    let edges: Vec<(NodeIdx, NodeIdx)> = dag.edges().collect();
    let labels = labels(named.names());
    let sizes: Vec<_> = labels.iter().map(|label| label.size).collect();
    let ends: Vec<(usize, usize)> = edges
        .iter()
        .map(|&(from, to)| (from.index(), to.index()))
        .collect();
    let drawing = place(&sizes, &ends);
    let shown_nodes: Vec<Value> = NodeIdx::all(nodes)
        .zip(labels.iter().zip(&drawing.boxes))
        .map(|(node, (label, place))| {
            let mut shown = json!({
                "name": cut(named.name(node)),
                "lines": label.lines,
                "x": place.x,
                "y": place.y,
                "width": place.width,
                "height": place.height,
            });
            if let (NetworkFile::Parametrised(network), Value::Object(shown)) =
                (view.network, &mut shown)
            {
                add_table(network, node, shown);
            }
            shown
        })
        .collect();
    let shown_edges: Vec<Value> = edges
        .iter()
        .zip(&drawing.routes)
        .enumerate()
        .map(|(number, (&(from, to), route))| {
            let is_free = |class: &Cpdag| class.joined(from, to) == Joined::Undirected;
            let mut shown = json!({
                "from": from.index(),
                "to": to.index(),
                "directed": !view.class.is_some_and(is_free),
                "path": route.path(),
            });
            if let Some(&worth) = view.worths.and_then(|worths| worths.get(number)) {
                shown["worth"] = rounded(worth, 1000.0);
            }
            if let Some((support, _)) = view.support {
                let pair = support.pair(from, to);
                shown["support"] = rounded(pair.strength(), 10_000.0);
                if support.is_required(&pair) {
                    shown["required"] = true.into();
                }
            }
            shown
        })
        .collect();
    let mut shown = json!({
        "width": drawing.size.width,
        "height": drawing.size.height,
        "nodes": shown_nodes,
        "edges": shown_edges,
    });
    if let Some((_, threshold)) = view.support {
        shown["threshold"] = threshold.into();
    }
    Ok(shown)
}

/// Writes JSON such that no text in it can end or change a `<script>` element.
#[must_use]
pub fn for_script(value: &Value) -> String {
    let mut text = String::new();
    for letter in value.to_string().chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text += &format!("\\u{:04x}", u32::from(letter));
            }
            letter => text.push(letter),
        }
    }
    text
}

/// Adds states and the first rows of a node's table.
fn add_table(network: &Network, node: NodeIdx, shown: &mut Map<String, Value>) {
    let variable = network.schema().variable(node);
    let arity = variable.arity();
    let states: Vec<String> = variable
        .states()
        .iter()
        .take(MOST_STATES)
        .map(|state| cut(state))
        .collect();
    let parents = network.dag().parents(node);
    let per_node = MOST_PROBABILITIES / network.dag().nodes().max(1);
    let rows = network.cpt(node).probabilities.chunks(arity.max(1));
    let all = rows.len();
    let most = (per_node / states.len().max(1)).clamp(1, MOST_ROWS);
    let rows: Vec<Vec<Value>> = rows
        .take(most)
        .map(|row| {
            let row = row.iter().take(MOST_STATES);
            row.map(|&p| rounded(p, 100_000.0)).collect()
        })
        .collect();
    let parents: Vec<usize> = parents.iter().map(|parent| parent.index()).collect();
    shown.insert("arity".into(), arity.into());
    shown.insert("states".into(), states.into());
    shown.insert(
        "table".into(),
        json!({ "parents": parents, "more": all - rows.len(), "rows": rows }),
    );
}

/// Keeps few digits: a picture shows no more.
fn rounded(number: f64, unit: f64) -> Value {
    ((number * unit).round() / unit).into()
}

/// Cuts the end of very long texts.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
