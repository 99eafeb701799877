//! Edge list: lines `from,to,directed` under that header. `directed` is `true` for an edge that is
//! compelled and `false` for one that may point either way; reading takes the two ends, whatever
//! else there is. Without a header, lines are `from,to`, and one with a single name is a node
//! without edges. Nodes without edges are not written: every line has three cells.

use super::csv_lines::records;
use super::edge_columns::EdgeColumns;
use super::error::ReadError;
use super::text::excerpt;
use crate::data::quoted;
use crate::graph::{Cpdag, Joined};
use crate::ids::NodeIdx;
use crate::network::NamedDag;
use std::collections::BTreeSet;

/// Reads a structure.
pub(super) fn read(text: &str) -> Result<NamedDag, ReadError> {
    let mut names = BTreeSet::new();
    let mut edges = Vec::new();
    let mut columns = None;
    for (index, record) in records(text).enumerate() {
        let record = record?;
        if index == 0 {
            columns = EdgeColumns::of_header(&record.fields);
            if columns.is_some() {
                continue;
            }
        }
        let ends = columns.and_then(|columns| columns.ends(&record.fields));
        let fields = match ends {
            Some(ends) => ends.map(String::clone).to_vec(),
            None => record.fields,
        };
        let mut fields = fields;
        if fields.len() == 2 && fields[1].is_empty() {
            fields.pop();
        }
        if fields.len() > 2 || fields.iter().any(String::is_empty) {
            let found = excerpt(&fields.join(","));
            return Err(ReadError::Syntax {
                line: record.line,
                expected: "two names, from,to, or one",
                found,
            });
        }
        names.extend(fields.iter().cloned());
        if names.len() > NodeIdx::MAX_NODES {
            return Err(ReadError::TooManyNodes(names.len()));
        }
        if let [from, to] = <[String; 2]>::try_from(fields).unwrap_or_default()
            && !from.is_empty()
        {
            edges.push((from, to));
        }
    }
    if names.is_empty() && columns.is_none() {
        return Err(ReadError::Empty);
    }
    Ok(NamedDag::new(names.into_iter().collect(), edges)?)
}

/// Writes the edges of a structure; with a class, those that may point either way are marked.
pub(super) fn write(network: &NamedDag, class: Option<&Cpdag>) -> String {
    let mut text = String::from("from,to,directed\n");
    for (from, to) in network.dag().edges() {
        let is_free = class.is_some_and(|class| class.joined(from, to) == Joined::Undirected);
        let (from, to) = (quoted(network.name(from)), quoted(network.name(to)));
        text += &format!("{from},{to},{}\n", !is_free);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_three_cells_and_free_edges_are_marked() {
        let names = ["a", "b", "c", "lone"].map(str::to_owned).to_vec();
        let named = NamedDag::new(names, [("a", "b"), ("b", "c")]).unwrap();
        let class = Cpdag::of(named.dag());
        assert_eq!(
            write(&named, Some(&class)),
            "from,to,directed\na,b,false\nb,c,false\n"
        );
        assert_eq!(
            write(&named, None),
            "from,to,directed\na,b,true\nb,c,true\n"
        );
        let back = read(&write(&named, Some(&class))).unwrap();
        assert!(back.named_edges().eq([("a", "b"), ("b", "c")]));
    }

    #[test]
    fn headers_say_where_the_ends_are() {
        for text in [
            "\"\",\"from\",\"to\"\n\"1\",\"a\",\"b\"\n\"2\",\"b\",\"c\"\n",
            "from,to\na,b\nb,c\n",
            "to,from\nb,a\nc,b\n",
            "From,To,strength\na,b,0.7\nb,c,1\n",
            "a,b\nb,c\n",
        ] {
            let named = read(text).unwrap();
            assert!(named.named_edges().eq([("a", "b"), ("b", "c")]), "{text}");
        }
        assert!(read("from,to,directed\n").unwrap().names().is_empty());
        assert!(read("").is_err());
        assert!(read("from,to,directed\na,b,true,x\n").is_err());
    }
}
