//! XMLBIF 0.3: holds every name that XML can hold, and probabilities in full precision.
//!
//! In a `TABLE` the variable's states run fastest, then the last `GIVEN`; the first runs slowest.

use super::assemble::{ContentError, Declared, DeclaredTable, DeclaredVariable, assemble};
use super::error::{ReadError, WriteError};
use super::format::Format;
use super::provenance::Provenance;
use super::text::{excerpt, line_of};
use crate::ids::NodeIdx;
use crate::network::Network;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// Reads a network.
pub(super) fn read(text: &str) -> Result<(Network, Provenance), ReadError> {
    let mut reader = Reader::from_str(text);
    let mut parser = Parser::default();
    loop {
        let start = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let event = reader.read_event().map_err(|error| {
            let at = usize::try_from(reader.error_position()).unwrap_or(usize::MAX);
            let found = error.to_string();
            let expected = "well-formed XML";
            ReadError::Syntax {
                line: line_of(text.as_bytes(), at),
                expected,
                found,
            }
        })?;
        parser.count_lines(text, start);
        match event {
            Event::Start(tag) => parser.open(&tag)?,
            Event::Empty(tag) => {
                parser.open(&tag)?;
                parser.close()?;
            }
            Event::End(_) => parser.close()?,
            Event::Text(content) => {
                parser.content.push_text(&content);
            }
            Event::CData(content) => {
                parser.content.push_kept(&content);
            }
            Event::GeneralRef(reference) => {
                let letter = resolve(&reference).ok_or_else(|| ReadError::Syntax {
                    line: parser.line,
                    expected: "a character reference or one of &amp; &lt; &gt; &quot; &apos;",
                    found: excerpt(&reference),
                })?;
                parser.content.push_kept(letter.encode_utf8(&mut [0; 4]));
            }
            Event::Comment(_) => parser.content.push_text(" "),
            Event::Eof => return parser.finish(),
            Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

fn resolve(reference: &BytesRef<'_>) -> Option<char> {
    if let Some(letter) = reference.resolve_char_ref().ok()? {
        return Some(letter);
    }
    match &**reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}

/// The text of an element. Literal white space at its ends does not count; escaped does.
#[derive(Debug, Default)]
struct Content {
    text: String,
    kept: Option<(usize, usize)>,
}

impl Content {
    fn push_text(&mut self, text: &str) {
        self.text += text;
    }

    fn push_kept(&mut self, text: &str) {
        let start = self.text.len();
        self.text += text;
        let first = self.kept.map_or(start, |(first, _)| first);
        self.kept = Some((first, self.text.len()));
    }

    fn take(&mut self) -> String {
        let Self { text, kept } = std::mem::take(self);
        let mut start = text.len() - text.trim_start().len();
        let mut end = text.trim_end().len();
        if let Some((first, last)) = kept {
            (start, end) = (start.min(first), end.max(last));
        }
        text.get(start..end).unwrap_or_default().to_owned()
    }
}

/// A `DEFINITION` as it stands in the file.
#[derive(Debug)]
struct Definition {
    variable: Option<String>,
    parents: Vec<String>,
    numbers: Option<Vec<f64>>,
    line: usize,
}

#[derive(Debug, Default)]
struct Parser {
    path: Vec<Element>,
    content: Content,
    variables: Vec<DeclaredVariable>,
    definitions: Vec<Definition>,
    provenance: Provenance,
    saw_network: bool,
    counted: usize,
    line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Variable,
    Definition,
    Name,
    Outcome,
    For,
    Given,
    Table,
    Property,
    Other,
}

impl Parser {
    fn count_lines(&mut self, text: &str, position: usize) {
        let passed = text
            .as_bytes()
            .get(self.counted..position)
            .unwrap_or_default();
        self.line = self.line.max(1) + line_of(passed, passed.len()) - 1;
        self.counted = position;
    }

    fn open(&mut self, tag: &BytesStart<'_>) -> Result<(), ReadError> {
        let name = tag.local_name().as_ref().to_ascii_uppercase();
        let parent = self.path.last().copied().unwrap_or(Element::Other);
        let element = match (name.as_str(), parent) {
            ("NETWORK", Element::Other) => {
                self.saw_network = true;
                Element::Other
            }
            ("VARIABLE", Element::Other) => {
                let line = self.line;
                let (name, states) = (String::new(), Vec::new());
                self.variables.push(DeclaredVariable { name, states, line });
                Element::Variable
            }
            ("DEFINITION" | "PROBABILITY", Element::Other) => {
                let (variable, parents, numbers) = (None, Vec::new(), None);
                let line = self.line;
                self.definitions.push(Definition {
                    variable,
                    parents,
                    numbers,
                    line,
                });
                Element::Definition
            }
            ("PROPERTY", Element::Other) => Element::Property,
            ("NAME", Element::Variable) => Element::Name,
            ("OUTCOME" | "VALUE", Element::Variable) => Element::Outcome,
            ("FOR", Element::Definition) => Element::For,
            ("GIVEN", Element::Definition) => Element::Given,
            ("TABLE", Element::Definition) => Element::Table,
            (
                _,
                Element::Name
                | Element::Outcome
                | Element::For
                | Element::Given
                | Element::Table
                | Element::Property,
            ) => {
                return Err(self.syntax("text only", &name));
            }
            _ => Element::Other,
        };
        self.path.push(element);
        self.content = Content::default();
        Ok(())
    }

    fn close(&mut self) -> Result<(), ReadError> {
        let content = self.content.take();
        match (
            self.path.pop(),
            self.variables.last_mut(),
            self.definitions.last_mut(),
        ) {
            (Some(Element::Property), _, _) => {
                let fact = content
                    .strip_prefix(PROPERTY)
                    .and_then(|fact| fact.split_once(" = "));
                if let Some((name, text)) = fact {
                    self.provenance.add(name, text);
                }
            }
            (Some(Element::Name), Some(variable), _) => variable.name = content,
            (Some(Element::Outcome), Some(variable), _) => variable.states.push(content),
            (Some(Element::For), _, Some(definition)) => {
                let before = definition.variable.replace(content);
                if before.is_some() {
                    return Err(self.syntax("one FOR in a DEFINITION", "a second one"));
                }
            }
            (Some(Element::Given), _, Some(definition)) => definition.parents.push(content),
            (Some(Element::Table), _, Some(definition)) => {
                let mut numbers = Vec::new();
                for word in content.split_ascii_whitespace() {
                    match word.parse::<f64>().ok().filter(|number| number.is_finite()) {
                        Some(number) => numbers.push(number),
                        None => return Err(self.syntax("a probability", word)),
                    }
                }
                definition.numbers = Some(numbers);
            }
            _ => {}
        }
        Ok(())
    }

    fn syntax(&self, expected: &'static str, found: &str) -> ReadError {
        ReadError::Syntax {
            line: self.line,
            expected,
            found: excerpt(found),
        }
    }

    fn finish(self) -> Result<(Network, Provenance), ReadError> {
        if !self.path.is_empty() {
            return Err(self.syntax("the end of every element", "the end of the file"));
        }
        if !self.saw_network {
            return Err(self.syntax("a NETWORK element", "the end of the file"));
        }
        let declared = Declared::new(self.variables)?;
        let mut tables = Vec::with_capacity(self.definitions.len());
        for Definition {
            variable,
            parents,
            numbers,
            line,
        } in self.definitions
        {
            let variable = variable.ok_or_else(|| ReadError::Syntax {
                line,
                expected: "a FOR element in the DEFINITION",
                found: "none".to_owned(),
            })?;
            let (index, parents) = declared.family(&variable, &parents, line)?;
            let probabilities =
                numbers.ok_or_else(|| ContentError::MissingTable(variable).at(line))?;
            tables.push(DeclaredTable {
                variable: index,
                parents,
                probabilities,
                line,
            });
        }
        Ok((assemble(&declared, tables)?, self.provenance))
    }
}

/// How the properties of ours that hold provenance begin.
const PROPERTY: &str = "rlbayes.";

/// Writes a network.
pub(super) fn write(
    network: &Network,
    provenance: Option<&Provenance>,
) -> Result<String, WriteError> {
    let schema = network.schema();
    let table = provenance.and_then(|provenance| provenance.get("table"));
    let name = table.filter(|table| !table.trim().is_empty());
    let name = name.and_then(escape).unwrap_or_else(|| "unknown".into());
    let mut text = format!("{HEADER}<NAME>{name}</NAME>\n");
    for (name, fact) in provenance.into_iter().flat_map(Provenance::facts) {
        // What XML forbids is left out: a fact is a note.
        if let Some(fact) = escape(&format!("{PROPERTY}{name} = {fact}")) {
            text += &format!("<PROPERTY>{fact}</PROPERTY>\n");
        }
    }
    let mut names = Vec::with_capacity(schema.len());
    for variable in schema.variables() {
        let name =
            escape(variable.name()).ok_or_else(|| forbidden(Format::XmlBif, variable.name()))?;
        text += &format!("<VARIABLE TYPE=\"nature\">\n\t<NAME>{name}</NAME>\n");
        for state in variable.states() {
            let escaped = escape(state).ok_or_else(|| WriteError::StateName {
                format: Format::XmlBif,
                variable: variable.name().to_owned(),
                state: state.clone(),
                reason: FORBIDDEN,
                instead: RENAME,
            })?;
            text += &format!("\t<OUTCOME>{escaped}</OUTCOME>\n");
        }
        text += "</VARIABLE>\n";
        names.push(name);
    }
    for node in NodeIdx::all(schema.len()) {
        text += &format!("<DEFINITION>\n\t<FOR>{}</FOR>\n", names[node.index()]);
        for parent in network.dag().parents(node) {
            text += &format!("\t<GIVEN>{}</GIVEN>\n", names[parent.index()]);
        }
        text += "\t<TABLE>";
        for (at, number) in network.cpt(node).probabilities.iter().enumerate() {
            text += &format!("{}{number:?}", if at == 0 { "" } else { " " });
        }
        text += "</TABLE>\n</DEFINITION>\n";
    }
    text += "</NETWORK>\n</BIF>\n";
    Ok(text)
}

const HEADER: &str =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<BIF VERSION=\"0.3\">\n<NETWORK>\n";
const FORBIDDEN: &str = "it holds a character that XML forbids";
const RENAME: &str = "rename it in the data";

/// Says that XML can't hold a variable's name.
pub(super) fn forbidden(format: Format, name: &str) -> WriteError {
    WriteError::VariableName {
        format,
        name: name.to_owned(),
        reason: FORBIDDEN,
        instead: RENAME,
    }
}

/// Escapes a name for XML text or an attribute, or returns nothing if XML forbids a character.
/// White space other than inner single spaces becomes references, which no reader drops.
pub(super) fn escape(name: &str) -> Option<String> {
    let mut escaped = String::with_capacity(name.len());
    let last = name.chars().count().saturating_sub(1);
    let mut before = ' ';
    for (at, letter) in name.chars().enumerate() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            ' ' if at != 0 && at != last && before != ' ' => escaped.push(' '),
            '\t' | '\n' | '\r' => escaped += &format!("&#{};", u32::from(letter)),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => return None,
            _ if letter.is_whitespace() || letter.is_control() => {
                escaped += &format!("&#{};", u32::from(letter));
            }
            _ => escaped.push(letter),
        }
        before = letter;
    }
    Some(escaped)
}
