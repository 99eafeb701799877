//! The liberal BIF reader: quoted names, comments anywhere, missing commas, `default` rows, full
//! tables of nodes with parents (the variable's states run slowest there, the last parent's
//! fastest), and headers without a bar.

use super::lexer::{Lexer, Token, TokenKind};
use super::portable::Originals;
use crate::io::assemble::{ContentError, Declared, DeclaredTable, DeclaredVariable, assemble};
use crate::io::error::ReadError;
use crate::io::provenance::Provenance;
use crate::network::{Cpt, Network};

/// Reads a network.
pub(crate) fn read(text: &str) -> Result<(Network, Provenance), ReadError> {
    let mut lexer = Lexer::new(text);
    let mut variables = Vec::new();
    let mut blocks = Vec::new();
    loop {
        let token = lexer.take()?;
        if token.is_keyword("network") {
            skip_network(&mut lexer)?;
        } else if token.is_keyword("variable") {
            variables.push(variable(&mut lexer, token.line)?);
        } else if token.is_keyword("probability") {
            blocks.push(probability(&mut lexer, token.line)?);
        } else if token.kind == TokenKind::End {
            break;
        } else if !token.is_mark(b';') {
            return Err(token.unexpected("a network, variable or probability block"));
        }
    }
    let originals = Originals::of(text)?;
    let declared = Declared::new(variables)?;
    let mut total = 0usize;
    let mut tables = Vec::with_capacity(blocks.len());
    for block in blocks {
        let table = block.table(&declared)?;
        total += table.probabilities.len();
        if total > Cpt::MAX_ENTRIES {
            let name = declared.get(table.variable).name.clone();
            return Err(ContentError::TableTooLarge(name).at(table.line));
        }
        tables.push(table);
    }
    let network = assemble(&originals.restore(declared)?, tables)?;
    Ok((network, originals.provenance))
}

/// One or more words between separators: a name, perhaps with spaces in it.
type Group<'a> = Vec<Token<'a>>;

/// A probability block as it stands in the file; names are not looked up yet.
#[derive(Debug)]
struct Block<'a> {
    variable: Group<'a>,
    parents: Vec<Group<'a>>,
    rows: Vec<Row<'a>>,
    line: usize,
}

#[derive(Debug)]
struct Row<'a> {
    kind: RowKind<'a>,
    numbers: Vec<f64>,
    line: usize,
}

#[derive(Debug)]
enum RowKind<'a> {
    Table,
    Default,
    States(Vec<Group<'a>>),
}

fn skip_network(lexer: &mut Lexer<'_>) -> Result<(), ReadError> {
    loop {
        let token = lexer.take()?;
        if token.is_mark(b'{') {
            break;
        }
        if token.name().is_none() {
            return Err(token.unexpected("'{' after the network's name"));
        }
    }
    loop {
        let token = lexer.take()?;
        if token.is_mark(b'}') {
            return Ok(());
        }
        if !token.is_keyword("property") {
            return Err(token.unexpected("a property or '}' in the network block"));
        }
        skip_property(lexer)?;
    }
}

fn skip_property(lexer: &mut Lexer<'_>) -> Result<(), ReadError> {
    loop {
        let token = lexer.take()?;
        if token.is_mark(b';') {
            return Ok(());
        }
        if token.kind == TokenKind::End {
            return Err(token.unexpected("';' after the property"));
        }
    }
}

fn variable(lexer: &mut Lexer<'_>, line: usize) -> Result<DeclaredVariable, ReadError> {
    let mut words = Vec::new();
    loop {
        let token = lexer.take()?;
        match token.name() {
            Some(_) => words.push(token),
            None if token.is_mark(b'{') && !words.is_empty() => break,
            None => return Err(token.unexpected("the variable's name and '{'")),
        }
    }
    let name = joined(&words);
    let mut states = Vec::new();
    loop {
        let token = lexer.take()?;
        if token.is_mark(b'}') {
            return Ok(DeclaredVariable { name, states, line });
        }
        if token.is_keyword("property") {
            skip_property(lexer)?;
        } else if token.is_keyword("type") {
            states = type_line(lexer, &name)?;
        } else if !token.is_mark(b';') {
            return Err(token.unexpected("type, property or '}' in the variable block"));
        }
    }
}

/// Reads `discrete [ 2 ] { yes, no };`.
fn type_line(lexer: &mut Lexer<'_>, variable: &str) -> Result<Vec<String>, ReadError> {
    let token = lexer.take()?;
    if !token.is_keyword("discrete") {
        return Err(token.unexpected("discrete, the only type of variable that is supported"));
    }
    let mut declared = None;
    if lexer.take_mark(b'[')? {
        let token = lexer.take()?;
        let number = token.name().and_then(|text| text.parse::<usize>().ok());
        declared = Some(number.ok_or_else(|| token.unexpected("the number of states"))?);
        lexer.expect(b']', "']' after the number of states")?;
    }
    let line = lexer.peek()?.line;
    lexer.expect(b'{', "'{' before the states")?;
    let groups = groups_until(lexer, b'}', "a state or '}' after the states")?;
    lexer.take_mark(b';')?;
    // Without commas each word is a state; with them a state may be several words.
    let words: usize = groups.iter().map(Vec::len).sum();
    let declared = declared.unwrap_or(if groups.len() > 1 {
        groups.len()
    } else {
        words
    });
    if words == declared {
        return Ok(groups
            .iter()
            .flatten()
            .filter_map(|word| word.name())
            .map(Into::into)
            .collect());
    }
    if groups.len() == declared {
        return Ok(groups.iter().map(|group| joined(group)).collect());
    }
    let (variable, listed) = (variable.to_owned(), groups.len());
    Err(ContentError::StateCount {
        variable,
        declared,
        listed,
    }
    .at(line))
}

/// Reads names between commas until a closing mark.
fn groups_until<'a>(
    lexer: &mut Lexer<'a>,
    close: u8,
    expected: &'static str,
) -> Result<Vec<Group<'a>>, ReadError> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut group = Vec::new();
    loop {
        let token = lexer.take()?;
        let closes = token.is_mark(close);
        if closes || token.is_mark(b',') {
            if !group.is_empty() {
                groups.push(std::mem::take(&mut group));
            }
            if closes {
                return Ok(groups);
            }
        } else if token.name().is_some() {
            group.push(token);
        } else {
            return Err(token.unexpected(expected));
        }
    }
}

fn probability<'a>(lexer: &mut Lexer<'a>, start: usize) -> Result<Block<'a>, ReadError> {
    lexer.expect(b'(', "'(' after probability")?;
    let mut variable = Vec::new();
    while lexer.peek()?.name().is_some() {
        variable.push(lexer.take()?);
    }
    if variable.is_empty() {
        return Err(lexer
            .peek()?
            .unexpected("the variable that the probabilities are for"));
    }
    let _bar = lexer.take_mark(b'|')? || lexer.take_mark(b',')?;
    let parents = groups_until(lexer, b')', "a parent or ')'")?;
    lexer.expect(b'{', "'{' after the variables")?;
    let mut rows = Vec::new();
    loop {
        let token = lexer.take()?;
        let line = token.line;
        let kind = if token.is_mark(b'}') {
            return Ok(Block {
                variable,
                parents,
                rows,
                line: start,
            });
        } else if token.is_mark(b';') {
            continue;
        } else if token.is_keyword("property") {
            skip_property(lexer)?;
            continue;
        } else if token.is_keyword("table") {
            RowKind::Table
        } else if token.is_keyword("default") {
            RowKind::Default
        } else if token.is_mark(b'(') {
            RowKind::States(groups_until(lexer, b')', "a parent's state or ')'")?)
        } else {
            return Err(token.unexpected("table, default, '(' or '}' in the probability block"));
        };
        let numbers = numbers(lexer)?;
        rows.push(Row {
            kind,
            numbers,
            line,
        });
    }
}

/// Reads numbers up to `;`.
fn numbers(lexer: &mut Lexer<'_>) -> Result<Vec<f64>, ReadError> {
    let mut numbers = Vec::new();
    loop {
        let token = lexer.peek()?;
        if token.is_mark(b'}') {
            return Ok(numbers);
        }
        lexer.take()?;
        if token.is_mark(b';') {
            return Ok(numbers);
        }
        if token.is_mark(b',') {
            continue;
        }
        let number = token.name().and_then(|text| text.parse::<f64>().ok());
        match number.filter(|number| number.is_finite()) {
            Some(number) => numbers.push(number),
            None => return Err(token.unexpected("a probability or ';'")),
        }
    }
}

fn joined(words: &[Token<'_>]) -> String {
    let names: Vec<&str> = words.iter().filter_map(|word| word.name()).collect();
    names.join(" ")
}

impl Block<'_> {
    /// Looks up the names and fills the table.
    fn table(self, declared: &Declared) -> Result<DeclaredTable, ReadError> {
        let line = self.line;
        let (name, parents) = self.family(declared);
        let (variable, parents) = declared.family(&name, &parents, line)?;
        let arity = declared.get(variable).states.len();
        let configurations = declared.configurations(variable, &parents, line)?;
        let count = |found, expected, line| {
            let variable = name.clone();
            ContentError::EntryCount {
                variable,
                expected,
                found,
            }
            .at(line)
        };
        let is_default = |row: &Row<'_>| matches!(row.kind, RowKind::Default);
        let is_table = |row: &Row<'_>| matches!(row.kind, RowKind::Table);
        if let Some(row) = self.rows.iter().find(|row| is_table(row)) {
            let expected = configurations * arity;
            if row.numbers.len() != expected {
                return Err(count(row.numbers.len(), expected, row.line));
            }
            let probabilities = (0..expected)
                .map(|at| row.numbers[(at % arity) * configurations + at / arity])
                .collect();
            return Ok(DeclaredTable {
                variable,
                parents,
                probabilities,
                line,
            });
        }
        let default = self.rows.iter().find(|row| is_default(row));
        // Without a default every configuration needs a row: nothing large is made for a file
        // that cannot fill it.
        if default.is_none() && self.rows.is_empty() {
            return Err(ContentError::MissingTable(name).at(line));
        }
        let mut index: Vec<(usize, &Row<'_>)> = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            if row.numbers.len() != arity {
                return Err(count(row.numbers.len(), arity, row.line));
            }
            if let RowKind::States(states) = &row.kind {
                index.push((
                    configuration(declared, &name, &parents, states, row.line)?,
                    row,
                ));
            }
        }
        index.sort_by_key(|&(configuration, _)| configuration);
        let mut probabilities = Vec::new();
        let mut rows = index.into_iter().peekable();
        for configuration in 0..configurations {
            let row = rows
                .next_if(|&(at, _)| at == configuration)
                .map(|(_, row)| row);
            let Some(row) = row.or(default) else {
                let states = declared.describe(&parents, configuration);
                return Err(ContentError::MissingRow {
                    variable: name,
                    states,
                }
                .at(line));
            };
            if let Some((_, second)) = rows.next_if(|&(at, _)| at == configuration) {
                let states = declared.describe(&parents, configuration);
                let problem = ContentError::DuplicateRow {
                    variable: name,
                    states,
                };
                return Err(problem.at(second.line));
            }
            probabilities.extend_from_slice(&row.numbers);
        }
        Ok(DeclaredTable {
            variable,
            parents,
            probabilities,
            line,
        })
    }

    /// Decides which words are names: a group of words is one name if a variable has it, else
    /// each word is one, as in headers without bar and commas.
    fn family(&self, declared: &Declared) -> (String, Vec<String>) {
        let mut parents = Vec::new();
        let mut name = joined(&self.variable);
        if declared.find(&name).is_none() && self.variable.len() > 1 {
            name = joined(&self.variable[..1]);
            parents.extend(self.variable[1..].iter().map(|word| joined(&[*word])));
        }
        for group in &self.parents {
            let whole = joined(group);
            if declared.find(&whole).is_some() {
                parents.push(whole);
            } else {
                parents.extend(group.iter().map(|word| joined(&[*word])));
            }
        }
        (name, parents)
    }
}

/// Returns the number of the configuration that a row's states name.
fn configuration(
    declared: &Declared,
    variable: &str,
    parents: &[usize],
    states: &[Group<'_>],
    line: usize,
) -> Result<usize, ReadError> {
    let words: usize = states.iter().map(Vec::len).sum();
    let names: Vec<String> = if states.len() == parents.len() {
        states.iter().map(|group| joined(group)).collect()
    } else if words == parents.len() {
        states
            .iter()
            .flatten()
            .map(|word| joined(&[*word]))
            .collect()
    } else {
        let (variable, expected) = (variable.to_owned(), parents.len());
        return Err(ContentError::RowStates {
            variable,
            expected,
            found: states.len(),
        }
        .at(line));
    };
    let mut configuration = 0;
    for (&parent, state) in parents.iter().zip(names) {
        let parent = declared.get(parent);
        let Some(at) = parent.states.iter().position(|known| *known == state) else {
            let (variable, parent) = (variable.to_owned(), parent.name.clone());
            return Err(ContentError::UnknownState {
                variable,
                parent,
                state,
            }
            .at(line));
        };
        configuration = configuration * parent.states.len() + at;
    }
    Ok(configuration)
}
