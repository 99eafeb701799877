//! GraphML; written only. Nodes are numbered and carry their names as data.

use super::error::WriteError;
use super::format::Format;
use super::xmlbif::{escape, forbidden};
use crate::graph::{Cpdag, Joined};
use crate::ids::NodeIdx;
use crate::network::NamedDag;

/// Writes a structure; with a class, edges that may point either way are undirected.
pub(super) fn write(network: &NamedDag, class: Option<&Cpdag>) -> Result<String, WriteError> {
    let mut text = String::from(HEADER);
    for node in NodeIdx::all(network.names().len()) {
        let name = network.name(node);
        let escaped = escape(name).ok_or_else(|| forbidden(Format::GraphMl, name))?;
        text += &format!("    <node id=\"n{node}\"><data key=\"name\">{escaped}</data></node>\n");
    }
    for (from, to) in network.dag().edges() {
        let is_free = class.is_some_and(|class| class.joined(from, to) == Joined::Undirected);
        let undirected = if is_free { " directed=\"false\"" } else { "" };
        text += &format!("    <edge source=\"n{from}\" target=\"n{to}\"{undirected}/>\n");
    }
    text += "  </graph>\n</graphml>\n";
    Ok(text)
}

const HEADER: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">
  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>
  <graph edgedefault=\"directed\">
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_data_of_numbered_nodes() {
        let network = NamedDag::new(vec!["<b>".into(), "a".into()], [("a", "<b>")]).unwrap();
        let text = write(&network, None).unwrap();
        let free = write(&network, Some(&Cpdag::of(network.dag()))).unwrap();
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
            write(&odd, None)
                .unwrap_err()
                .to_string()
                .contains("\\u{1}")
        );
    }
}
