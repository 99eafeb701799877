//! The support of edges as tables and graphs: CSV with bnlearn's columns first, JSON, DOT and
//! GraphML; written only. The picture is in `picture`.

use super::dot::{id, label};
use super::error::WriteError;
use super::format::Format;
use super::xmlbif::{escape, forbidden};
use crate::data::quoted;
use crate::graph::{Dag, Joined};
use crate::ids::NodeIdx;
use crate::support::{PairSupport, SupportTable};
use serde_json::{Value, json};

/// What is shown of a table of support as a graph.
#[derive(Clone, Copy, Debug)]
pub struct SupportPicture<'a> {
    /// The support of all pairs.
    pub table: &'a SupportTable,
    /// Pairs with less support are drawn only if the best network has them, and dashed.
    pub threshold: f64,
    /// The true network, to colour edges by.
    pub truth: Option<&'a Dag>,
}

impl SupportPicture<'_> {
    /// Returns the pairs to draw, each from where an arrow would start: those of the best network
    /// and those at or above the threshold.
    #[must_use]
    pub fn pairs(&self) -> Vec<PairSupport> {
        let mut pairs = self.table.pairs();
        if let Some(best) = self.table.best() {
            let seen = |from, to| self.table.tally().marks(from, to).joined() > 0;
            let unseen = best.edges().filter(|&(from, to)| !seen(from, to));
            pairs.extend(unseen.map(|(from, to)| self.table.pair(from, to)));
        }
        pairs.retain(|pair| !self.is_weak(pair) || self.table.is_in_best(pair));
        let forward = |pair| self.table.read_forward(pair);
        pairs.into_iter().map(forward).collect()
    }

    /// Returns whether a pair is drawn dashed.
    #[must_use]
    pub fn is_weak(&self, pair: &PairSupport) -> bool {
        pair.strength() < self.threshold
    }

    /// Returns what is written on a pair.
    #[must_use]
    pub fn label(&self, pair: &PairSupport) -> String {
        self.table.label(pair)
    }

    /// Returns whether a pair has a head: where the direction is the commonest mark.
    #[must_use]
    pub fn has_head(pair: &PairSupport) -> bool {
        pair.commonest() == Joined::Forward
    }
}

/// Writes a table with both orientations of every pair that some network joins:
/// `from,to,strength,direction` as bnlearn has them, then the shares of the three marks, the standard
/// error and, if a best network is known, whether it joins the two.
#[must_use]
pub fn support_csv(table: &SupportTable) -> String {
    let mut text = String::from("from,to,strength,direction,forward,backward,undirected,se");
    let has_best = table.best().is_some();
    text += if has_best { ",in_best\n" } else { "\n" };
    for pair in table.pairs() {
        for pair in [pair, pair.turned()] {
            let share = |count| pair.share(count);
            text += &format!(
                "{},{},{},{},{},{},{},{:.6}",
                quoted(table.name(pair.from)),
                quoted(table.name(pair.to)),
                pair.strength(),
                pair.direction(),
                share(pair.marks.forward),
                share(pair.marks.backward),
                share(pair.marks.undirected),
                pair.standard_error(),
            );
            if has_best {
                // As R and pandas read truth values.
                let in_best = table.is_in_best(&pair);
                text += if in_best { ",TRUE" } else { ",FALSE" };
            }
            text += "\n";
        }
    }
    text
}

/// Returns each pair that some network joins once, for JSON, the most supported first.
#[must_use]
pub fn support_json(table: &SupportTable) -> Value {
    let pairs = table.pairs().into_iter();
    pairs
        .map(|pair| {
            let pair = table.read_forward(pair);
            let mut edge = json!({
                "from": table.name(pair.from),
                "to": table.name(pair.to),
                "strength": pair.strength(),
                "se": pair.standard_error(),
                "forward": pair.share(pair.marks.forward),
                "backward": pair.share(pair.marks.backward),
                "undirected": pair.share(pair.marks.undirected),
                "direction": pair.direction(),
                "consensus": mark(&pair),
                "required": table.is_required(&pair),
            });
            if table.best().is_some() {
                edge["in_best"] = table.is_in_best(&pair).into();
            }
            edge
        })
        .collect()
}

fn mark(pair: &PairSupport) -> &'static str {
    match pair.commonest() {
        Joined::No => "none",
        Joined::Undirected => "--",
        Joined::Forward => "->",
        Joined::Backward => "<-",
    }
}

/// Writes the picture's graph for Graphviz, with `strength` as an attribute.
#[must_use]
pub fn support_dot(picture: &SupportPicture<'_>) -> String {
    let table = picture.table;
    let mut text = String::from("digraph support {\n");
    for name in table.names() {
        text += &format!("  {} [label={}];\n", id(name), label(name));
    }
    for pair in picture.pairs() {
        let (from, to) = (id(table.name(pair.from)), id(table.name(pair.to)));
        let strength = pair.strength();
        text += &format!(
            "  {from} -> {to} [strength={strength}, label=\"{}\", penwidth={:.2}",
            picture.label(&pair),
            0.5 + 2.5 * strength
        );
        if !SupportPicture::has_head(&pair) {
            text += ", dir=none";
        }
        if picture.is_weak(&pair) {
            text += ", style=dashed";
        }
        text += "];\n";
    }
    text += "}\n";
    text
}

/// Writes the picture's graph as GraphML, with `strength`, `direction`, `in_best` and `required` as data.
///
/// # Errors
/// If XML can't hold a name.
pub fn support_graphml(picture: &SupportPicture<'_>) -> Result<String, WriteError> {
    let table = picture.table;
    let mut text = String::from(GRAPHML);
    for node in NodeIdx::all(table.names().len()) {
        let name = table.name(node);
        let escaped = escape(name).ok_or_else(|| forbidden(Format::GraphMl, name))?;
        text += &format!("    <node id=\"n{node}\"><data key=\"name\">{escaped}</data></node>\n");
    }
    for pair in picture.pairs() {
        text += &format!(
            "    <edge source=\"n{}\" target=\"n{}\" directed=\"{}\"><data key=\"strength\">{}</data><data key=\"direction\">{}</data><data key=\"in_best\">{}</data><data key=\"required\">{}</data></edge>\n",
            pair.from,
            pair.to,
            SupportPicture::has_head(&pair),
            pair.strength(),
            pair.direction(),
            table.is_in_best(&pair),
            table.is_required(&pair),
        );
    }
    text += "  </graph>\n</graphml>\n";
    Ok(text)
}

const GRAPHML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">
  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>
  <key id=\"strength\" for=\"edge\" attr.name=\"strength\" attr.type=\"double\"/>
  <key id=\"direction\" for=\"edge\" attr.name=\"direction\" attr.type=\"double\"/>
  <key id=\"in_best\" for=\"edge\" attr.name=\"in_best\" attr.type=\"boolean\"/>
  <key id=\"required\" for=\"edge\" attr.name=\"required\" attr.type=\"boolean\"/>
  <graph edgedefault=\"directed\">
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::Shape;
    use crate::graph::Cpdag;
    use crate::io::draw_support;

    fn table() -> SupportTable {
        let dag = |edges: &[(usize, usize)]| {
            let edges = edges
                .iter()
                .map(|&(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
            Dag::from_edges(4, edges).unwrap()
        };
        let names = ["a,1", "b", "c", "d"].map(str::to_owned).to_vec();
        // a -> c <- b three times of four; c - d once, in the best network all the same.
        let collider = Cpdag::of(&dag(&[(0, 2), (1, 2)]));
        let chain = Cpdag::of(&dag(&[(3, 2)]));
        let classes = [collider.clone(), collider.clone(), collider, chain];
        SupportTable::of(names, &classes).with_best(Some(dag(&[(0, 2), (1, 2), (3, 1)])))
    }

    #[test]
    fn the_csv_has_bnlearns_columns_first_and_both_orientations() {
        let text = support_csv(&table());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "from,to,strength,direction,forward,backward,undirected,se,in_best",
                "\"a,1\",c,0.75,1,0.75,0,0,0.216506,TRUE",
                "c,\"a,1\",0.75,0,0,0.75,0,0.216506,TRUE",
                "b,c,0.75,1,0.75,0,0,0.216506,TRUE",
                "c,b,0.75,0,0,0.75,0,0.216506,TRUE",
                "c,d,0.25,0.5,0,0,0.25,0.216506,FALSE",
                "d,c,0.25,0.5,0,0,0.25,0.216506,FALSE",
            ]
        );
    }

    #[test]
    fn required_edges_are_marked_wherever_support_is_written() {
        let required = Dag::from_edges(4, [(NodeIdx::new(1), NodeIdx::new(2))]).unwrap();
        let table = table().with_required(&required);
        let picture = SupportPicture {
            table: &table,
            threshold: 0.5,
            truth: None,
        };
        assert!(support_dot(&picture).contains("label=\"0.75 required\""));
        let graphml = support_graphml(&picture).unwrap();
        let marked = graphml.matches("<data key=\"required\">true</data>");
        assert_eq!(marked.count(), 1, "{graphml}");
        let svg = draw_support(&picture).unwrap().to_svg();
        assert!(svg.contains(">0.75 required</text>"), "{svg}");
        let json = support_json(&table);
        let marked = |edge: &&Value| edge["required"] == true;
        assert_eq!(json.as_array().unwrap().iter().filter(marked).count(), 1);
    }

    #[test]
    fn labels_of_crossing_edges_keep_apart() {
        let edges =
            [(0, 2), (0, 3), (1, 2), (1, 3)].map(|(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
        let crossing = Cpdag::of(&Dag::from_edges(4, edges).unwrap());
        let names = ["TEMPERATURE", "ANAESTHESIA", "VENTILATION", "HEART_RATES"];
        let names = names.map(str::to_owned).to_vec();
        let table = SupportTable::of(names, &[crossing]);
        let picture = SupportPicture {
            table: &table,
            threshold: 0.5,
            truth: None,
        };
        let svg = draw_support(&picture).unwrap().to_svg();
        let number = |line: &str, name: &str| -> f64 {
            let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
            rest.split_once('"').unwrap().0.parse().unwrap()
        };
        let labels = svg.lines().filter(|line| line.ends_with(">1.00</text>"));
        let places: Vec<(f64, f64)> = labels
            .map(|it| (number(it, "x"), number(it, "y")))
            .collect();
        assert_eq!(places.len(), 4, "{svg}");
        for (at, one) in places.iter().enumerate() {
            for other in &places[at + 1..] {
                let apart = (one.0 - other.0).abs() >= 24.0 || (one.1 - other.1).abs() >= 11.0;
                assert!(apart, "{places:?}");
            }
        }
    }

    #[test]
    fn picture_and_table_agree() {
        let table = table();
        let picture = SupportPicture {
            table: &table,
            threshold: 0.5,
            truth: None,
        };
        let dot = support_dot(&picture);
        assert!(
            dot.contains("\"b\" -> \"c\" [strength=0.75, label=\"0.75\""),
            "{dot}"
        );
        // An edge of the best network that no replicate has, and none of a pair that is weak.
        assert!(
            dot.contains(
                "\"d\" -> \"b\" [strength=0, label=\"0.00\", penwidth=0.50, dir=none, style=dashed]"
            ),
            "{dot}"
        );
        assert!(!dot.contains("\"c\" -> \"d\""), "{dot}");
        let graphml = support_graphml(&picture).unwrap();
        let heads = graphml.matches("directed=\"true\"").count();
        assert_eq!((heads, graphml.matches("<edge ").count()), (2, 3));
        assert!(!dot.contains("required"), "{dot}");
        let canvas = draw_support(&picture).unwrap();
        let heads = canvas.to_svg().matches("marker-end").count();
        assert_eq!(heads, 2, "{}", canvas.to_svg());
        let numbers =
            |shape: &&Shape| matches!(shape, Shape::Rect(ground) if ground.border.is_none());
        assert_eq!(canvas.shapes.iter().filter(numbers).count(), 3);
        for line in support_json(&table).as_array().unwrap() {
            let head = line["consensus"] == "->";
            let name = format!(
                "\"{}\" -> \"{}\"",
                line["from"].as_str().unwrap(),
                line["to"].as_str().unwrap()
            );
            if let Some(drawn) = dot.lines().find(|line| line.contains(&name)) {
                assert_eq!(!drawn.contains("dir=none"), head, "{drawn}");
            }
        }
    }
}
