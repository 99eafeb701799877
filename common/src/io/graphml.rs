//! GraphML; written only. Nodes are numbered and carry their names as data.

use super::error::WriteError;
use super::format::Format;
use super::xmlbif::{escape, forbidden};
use crate::graph::{Cpdag, Joined};
use crate::ids::NodeIdx;
use crate::network::NamedDag;
use crate::support::SupportTable;

/// Writes a structure; with a class, edges that may point either way are undirected; with their
/// support, edges have `strength` as data.
pub(super) fn write(
    network: &NamedDag,
    class: Option<&Cpdag>,
    support: Option<&SupportTable>,
) -> Result<String, WriteError> {
    let mut text = String::from(HEADER);
    if support.is_some() {
        text += STRENGTH;
    }
    text += GRAPH;
    for node in NodeIdx::all(network.names().len()) {
        let name = network.name(node);
        let escaped = escape(name).ok_or_else(|| forbidden(Format::GraphMl, name))?;
        text += &format!("    <node id=\"n{node}\"><data key=\"name\">{escaped}</data></node>\n");
    }
    for (from, to) in network.dag().edges() {
        let is_free = class.is_some_and(|class| class.joined(from, to) == Joined::Undirected);
        let undirected = if is_free { " directed=\"false\"" } else { "" };
        let end = match support.map(|support| (support, support.pair(from, to))) {
            Some((support, pair)) => format!(
                "><data key=\"strength\">{}</data><data key=\"required\">{}</data></edge>",
                pair.strength(),
                support.is_required(&pair)
            ),
            None => "/>".to_owned(),
        };
        text += &format!("    <edge source=\"n{from}\" target=\"n{to}\"{undirected}{end}\n");
    }
    text += "  </graph>\n</graphml>\n";
    Ok(text)
}

const HEADER: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">
  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>
";
const STRENGTH: &str =
    "  <key id=\"strength\" for=\"edge\" attr.name=\"strength\" attr.type=\"double\"/>
  <key id=\"required\" for=\"edge\" attr.name=\"required\" attr.type=\"boolean\"/>\n";
const GRAPH: &str = "  <graph edgedefault=\"directed\">\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_data_of_numbered_nodes() {
        let network = NamedDag::new(vec!["<b>".into(), "a".into()], [("a", "<b>")]).unwrap();
        let text = write(&network, None, None).unwrap();
        let free = write(&network, Some(&Cpdag::of(network.dag())), None).unwrap();
        assert!(
            free.contains("target=\"n0\" directed=\"false\"/>"),
            "{free}"
        );
        assert!(
            text.contains("<data key=\"name\">&lt;b&gt;</data>"),
            "{text}"
        );
        assert!(
            text.contains("<edge source=\"n1\" target=\"n0\"/>"),
            "{text}"
        );
        let odd = NamedDag::new(vec!["\u{1}".into()], Vec::<(&str, &str)>::new()).unwrap();
        assert!(
            write(&odd, None, None)
                .unwrap_err()
                .to_string()
                .contains("\\u{1}")
        );
    }
}
