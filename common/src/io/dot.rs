//! Graphviz DOT; written only. Names are quoted and escaped.

use crate::graph::{Cpdag, Joined};
use crate::network::NamedDag;
use crate::support::SupportTable;

/// Writes a structure; with a class, edges that may point either way have no head; with their support,
/// edges have an attribute `strength`.
pub(super) fn write(
    network: &NamedDag,
    class: Option<&Cpdag>,
    support: Option<&SupportTable>,
) -> String {
    let mut text = String::from("digraph network {\n");
    for name in network.names() {
        text += &format!("  {} [label={}];\n", id(name), label(name));
    }
    for (from, to) in network.dag().edges() {
        let is_free = class.is_some_and(|class| class.joined(from, to) == Joined::Undirected);
        let mut attributes = Vec::new();
        if is_free {
            attributes.push("dir=none".to_owned());
        }
        if let Some(support) = support {
            let pair = support.pair(from, to);
            let (strength, label) = (pair.strength(), support.label(&pair));
            attributes.push(format!("strength={strength}, label=\"{label}\""));
        }
        let attributes = match attributes.is_empty() {
            true => String::new(),
            false => format!(" [{}]", attributes.join(", ")),
        };
        let (from, to) = (id(network.name(from)), id(network.name(to)));
        text += &format!("  {from} -> {to}{attributes};\n");
    }
    text += "}\n";
    text
}

/// Quotes an identifier: only quotes are special in it, and a backslash before the closing one.
pub(super) fn id(name: &str) -> String {
    let escaped = name.replace('"', "\\\"");
    // An odd number of final backslashes would escape the closing quote.
    let odd = escaped
        .bytes()
        .rev()
        .take_while(|&byte| byte == b'\\')
        .count()
        % 2
        == 1;
    format!("\"{escaped}{}\"", if odd { "\\" } else { "" })
}

/// Quotes a label, in which a backslash is an escape.
pub(super) fn label(name: &str) -> String {
    format!(
        "\"{}\"",
        name.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_escaped() {
        let names = vec!["a \"b\"".to_owned(), "c\\".to_owned(), "ü\n,".to_owned()];
        let network = NamedDag::new(names, [("a \"b\"", "c\\")]).unwrap();
        let text = write(&network, None, None);
        assert!(text.contains(r#""a \"b\"" -> "c\\";"#), "{text}");
        assert!(text.contains("label=\"ü\\n,\""), "{text}");
        let free = write(&network, Some(&Cpdag::of(network.dag())), None);
        assert!(free.contains(r#""a \"b\"" -> "c\\" [dir=none];"#), "{free}");
        assert!(text.starts_with("digraph network {\n") && text.ends_with("}\n"));
    }
}
