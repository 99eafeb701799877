//! The certificate of a proof: a text file from which others can check it, with the table alone.
//!
//! One JSON object per line, in this order (docs/proofs.md explains each for people):
//!
//! 1. `format`, `rows`, `variables` (name and number of states, in the table's order), `score`,
//!    `units_per_nat`, `constraints` (by name);
//! 2. `network` (the parents of each variable, by number), `units` (its score);
//! 3. `bound_units`, `tolerance_units`, `coverage` (null: all parent sets; a number: up to so many
//!    parents), `method` (`tree` or `subsets`);
//! 4. for the tree, for each variable `family` (its number) and `sets`: `[units, parents]`;
//! 5. the tree's nodes, each before what is below it: any number of `fix` lines, then one of `close`,
//!    `empty` and `branch`. A branch on `[from, to]` is followed by the tree of networks with the edge,
//!    then by that of networks without it. `fix` and `close` hold multipliers: `["c", members, units]`
//!    for a cluster, `["p", members, units]` for a packing;
//! 6. `sha256` of everything before this line.

use super::candidates::{Coverage, Family};
use super::cuts::{Cut, CutKind, Multipliers, bound};
use super::model::{Alive, Model};
use super::prover::Prover;
use super::tree::{End, ProofNode};
use crate::graph::Dag;
use crate::hex;
use crate::ids::NodeIdx;
use crate::search::NamedConstraints;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use thiserror::Error;

/// The version of the layout.
const FORMAT: u64 = 1;

/// What a certificate is about and what it claims.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    /// The table, the score and the constraints.
    pub prover: &'a Prover,
    /// The constraints by name.
    pub constraints: &'a NamedConstraints,
    /// The network.
    pub network: &'a Dag,
    /// Its score, in units.
    pub units: i64,
    /// No network covered scores higher, in units.
    pub bound_units: i64,
    /// What counts as no higher.
    pub tolerance: i64,
    /// Which parent sets of each variable are covered.
    pub coverage: &'a [Coverage],
    /// The families and the tree; none: every family was scored.
    pub tree: Option<(&'a [Vec<Family>], &'a [ProofNode])>,
}

/// Writes a certificate.
#[must_use]
pub fn write_certificate(claim: &Claim<'_>) -> String {
    let prover = claim.prover;
    let schema = prover.table().schema();
    let mut text = String::new();
    let mut line = |value: Value| {
        text.push_str(&value.to_string());
        text.push('\n');
    };
    let variables: Vec<Value> = schema
        .variables()
        .iter()
        .map(|variable| json!({"name": variable.name(), "states": variable.arity()}))
        .collect();
    let spec = prover.spec();
    line(json!({
        "format": FORMAT,
        "rows": prover.table().rows(),
        "variables": variables,
        "score": {"name": spec.name().as_str(), "ess": spec.ess(), "penalty_scale": spec.penalty_scale()},
        "units_per_nat": prover.units_per_nat(),
        "constraints": {
            "required": claim.constraints.required,
            "forbidden": claim.constraints.forbidden,
            "tiers": claim.constraints.tiers,
            "max_parents": claim.constraints.max_parents,
        },
    }));
    let network: Vec<Vec<usize>> = NodeIdx::all(claim.network.nodes())
        .map(|node| numbers(claim.network.parents(node)))
        .collect();
    line(json!({"network": network, "units": claim.units}));
    let coverage: Vec<Option<usize>> = claim
        .coverage
        .iter()
        .map(|coverage| match coverage {
            Coverage::All => None,
            Coverage::UpTo(parents) => Some(*parents),
        })
        .collect();
    line(json!({
        "bound_units": claim.bound_units,
        "tolerance_units": claim.tolerance,
        "coverage": coverage,
        "method": if claim.tree.is_some() { "tree" } else { "subsets" },
    }));
    if let Some((families, nodes)) = claim.tree {
        for (child, families) in families.iter().enumerate() {
            let sets: Vec<Value> = families
                .iter()
                .map(|family| json!([family.units, numbers(&family.parents)]))
                .collect();
            line(json!({"family": child, "sets": sets}));
        }
        let mut next = vec![0];
        while let Some(node) = next.pop().and_then(|id| nodes.get(id)) {
            for multipliers in &node.fixings {
                line(json!({"fix": cuts(multipliers)}));
            }
            match &node.end {
                End::Bounded(multipliers) => line(json!({"close": cuts(multipliers)})),
                End::Empty | End::Open => line(json!({"empty": true})),
                End::Branch {
                    from,
                    to,
                    with,
                    without,
                } => {
                    line(json!({"branch": [from.index(), to.index()]}));
                    next.extend([*without, *with]);
                }
            }
        }
    }
    let digest = hex::encode(&Sha256::digest(text.as_bytes()));
    text.push_str(&json!({"sha256": digest}).to_string());
    text.push('\n');
    text
}

fn numbers(nodes: &[NodeIdx]) -> Vec<usize> {
    nodes.iter().map(|node| node.index()).collect()
}

fn cuts(multipliers: &Multipliers) -> Vec<Value> {
    multipliers
        .iter()
        .map(|(cut, units)| {
            let kind = match cut.kind {
                CutKind::Cluster => "c",
                CutKind::Packing => "p",
            };
            let members: Vec<usize> = cut.members().map(NodeIdx::index).collect();
            json!([kind, members, units])
        })
        .collect()
}

/// What a certificate that holds has shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The network's score.
    pub score: f64,
    /// No network covered scores higher.
    pub bound: f64,
    /// Whether no network that the constraints allow scores higher than the network.
    pub is_proven: bool,
    /// How many parents of each variable are covered; none: any number.
    pub coverage: Vec<Option<usize>>,
}

/// Why a certificate proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CertificateError {
    /// It is not one, or it was changed or cut off.
    #[error("it is not a certificate, or it was changed: {0}")]
    Damaged(String),
    /// A newer program wrote it.
    #[error("it has format {0}, and this program knows {FORMAT}")]
    Format(u64),
    /// It is about something else.
    #[error("it is about another table or another score: {0}")]
    AboutSomethingElse(String),
    /// What it says does not hold.
    #[error("it does not hold: {0}")]
    Wrong(String),
}

/// The head of a certificate: what it is about.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The score's name, equivalent sample size and factor on the penalty.
    pub score: (String, f64, f64),
    /// The constraints by name.
    pub constraints: NamedConstraints,
}

/// Reads what a certificate is about.
///
/// # Errors
/// If it is not a certificate.
pub fn read_subject(text: &str) -> Result<Subject, CertificateError> {
    let head = object(text.lines().next())?;
    match head["format"].as_u64() {
        Some(FORMAT) => {}
        Some(other) => return Err(CertificateError::Format(other)),
        None => return Err(damaged("the first line has no format")),
    }
    let score = &head["score"];
    let number = |value: &Value| value.as_f64().ok_or_else(|| damaged("a number is missing"));
    let names = |value: &Value| -> Result<Vec<String>, CertificateError> {
        let list = value
            .as_array()
            .ok_or_else(|| damaged("a list of names is missing"))?;
        list.iter()
            .map(|name| {
                name.as_str()
                    .map(str::to_owned)
                    .ok_or_else(|| damaged("a name is missing"))
            })
            .collect()
    };
    let lists = |value: &Value| -> Result<Vec<Vec<String>>, CertificateError> {
        let lists = value
            .as_array()
            .ok_or_else(|| damaged("a list is missing"))?;
        lists.iter().map(names).collect()
    };
    let edges = |value: &Value| -> Result<Vec<(String, String)>, CertificateError> {
        lists(value)?
            .into_iter()
            .map(|names| {
                <[String; 2]>::try_from(names).map_err(|_| damaged("an edge has two ends"))
            })
            .map(|edge| edge.map(|[from, to]| (from, to)))
            .collect()
    };
    let constraints = &head["constraints"];
    let max_parents = match &constraints["max_parents"] {
        Value::Null => None,
        most => Some(index(most)?),
    };
    Ok(Subject {
        score: (
            score["name"].as_str().unwrap_or_default().to_owned(),
            number(&score["ess"])?,
            number(&score["penalty_scale"])?,
        ),
        constraints: NamedConstraints {
            required: edges(&constraints["required"])?,
            forbidden: edges(&constraints["forbidden"])?,
            tiers: lists(&constraints["tiers"])?,
            max_parents,
        },
    })
}

/// Checks a certificate against the table: every score is counted again by the search's own scorer,
/// the parent sets are listed again, and the tree is replayed in whole units.
///
/// # Errors
/// If it is damaged, is about something else, or does not hold.
pub fn check_certificate(
    text: &str,
    prover: &Prover,
    go_on: &dyn Fn() -> bool,
) -> Result<Checked, CertificateError> {
    let nodes = prover.table().nodes();
    let mut lines = sealed_lines(text)?;
    let (_, units) = read_network(prover, &mut lines)?;
    let claim = object(lines.next())?;
    let bound_units = claim["bound_units"]
        .as_i64()
        .ok_or_else(|| damaged("there is no bound"))?;
    let tolerance = claim["tolerance_units"]
        .as_i64()
        .filter(|units| *units >= 0);
    let tolerance = tolerance.ok_or_else(|| damaged("there is no tolerance"))?;
    if prover.score(tolerance).value() > 1.1e-6 {
        return Err(wrong("the tolerance is more than a millionth of a nat"));
    }
    let coverage = read_coverage(&claim, nodes)?;
    let shown = match claim["method"].as_str() {
        Some("subsets") => {
            let best = prover
                .best_of_all(go_on)
                .ok_or_else(|| wrong("not all families can be scored"))?;
            if coverage.iter().any(Option::is_some) {
                return Err(wrong("every family was scored, yet not all are covered"));
            }
            best.units
        }
        Some("tree") => {
            let mut families = Vec::new();
            for (child, most) in NodeIdx::all(nodes).zip(&coverage) {
                let line = object(lines.next())?;
                families.push(check_families(prover, child, *most, &line, go_on)?);
            }
            let model = Model::new(families.iter().map(|families| &families[..]));
            let threshold = -units - tolerance;
            let least = replay(&model, &mut lines, threshold)?;
            // What was fixed is no better than the threshold.
            -least.min(threshold)
        }
        _ => return Err(damaged("there is no method")),
    };
    if lines.next().is_some() {
        return Err(damaged("there are lines after the tree"));
    }
    if shown > bound_units {
        return Err(wrong("the bound is not what the proof shows"));
    }
    Ok(Checked {
        score: prover.score(units).value(),
        bound: prover.score(bound_units).value(),
        is_proven: coverage.iter().all(Option::is_none) && bound_units <= units + tolerance,
        coverage,
    })
}

/// Checks the seal, and returns the lines before it.
pub(super) fn sealed_lines(text: &str) -> Result<std::str::Lines<'_>, CertificateError> {
    let body = text.trim_end_matches('\n');
    let (before, last) = body
        .rsplit_once('\n')
        .ok_or_else(|| damaged("it has one line only"))?;
    let digest = hex::encode(&Sha256::digest(format!("{before}\n").as_bytes()));
    if object(Some(last))?["sha256"] != Value::String(digest) {
        return Err(damaged("its checksum is not that of its content"));
    }
    Ok(before.lines())
}

/// Reads the first two lines: sees that they are about the table, and returns the network with its
/// score.
pub(super) fn read_network<'t>(
    prover: &Prover,
    lines: &mut impl Iterator<Item = &'t str>,
) -> Result<(Dag, i64), CertificateError> {
    let nodes = prover.table().nodes();
    let head = object(lines.next())?;
    let schema = prover.table().schema();
    let same_variables = head["variables"].as_array().is_some_and(|variables| {
        variables.len() == nodes
            && variables
                .iter()
                .zip(schema.variables())
                .all(|(stored, variable)| {
                    stored["name"] == variable.name() && stored["states"] == variable.arity()
                })
    });
    if !same_variables || head["rows"] != prover.table().rows() {
        return Err(CertificateError::AboutSomethingElse(
            "rows, variables or states differ".to_owned(),
        ));
    }
    let line = object(lines.next())?;
    let parents = list(&line["network"])?;
    let mut edges = Vec::new();
    for (to, parents) in NodeIdx::all(nodes).zip(parents) {
        for from in list(parents)? {
            edges.push((node(from, nodes)?, to));
        }
    }
    let network = Dag::from_edges(nodes, edges).map_err(|error| wrong(&error.to_string()))?;
    if parents.len() != nodes || !prover.constraints().hold_for(&network) {
        return Err(wrong("the network does not keep the constraints"));
    }
    let units: i64 = prover.units_of(&network).iter().sum();
    if line["units"] != units {
        return Err(wrong("the network has another score"));
    }
    Ok((network, units))
}

/// Reads how many parents of each variable are covered; none: any number.
pub(super) fn read_coverage(
    claim: &Value,
    nodes: usize,
) -> Result<Vec<Option<usize>>, CertificateError> {
    let coverage: Vec<Option<usize>> = list(&claim["coverage"])?
        .iter()
        .map(|most| {
            if most.is_null() {
                Ok(None)
            } else {
                index(most).map(Some)
            }
        })
        .collect::<Result<_, _>>()?;
    if coverage.len() != nodes {
        return Err(damaged("the coverage is not that of the variables"));
    }
    Ok(coverage)
}

/// Checks the parent sets of a variable: their scores, and that none that is needed is missing.
fn check_families(
    prover: &Prover,
    child: NodeIdx,
    covered: Option<usize>,
    line: &Value,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<Family>, CertificateError> {
    let families = read_families(prover, child, line)?;
    let needed = prover.candidates_up_to(child, covered, go_on);
    let Some(needed) = needed else {
        return Err(wrong("the parent sets covered could not all be listed"));
    };
    let is_missing =
        |family: &Family| !families.iter().any(|known| known.parents == family.parents);
    if needed.iter().any(is_missing) {
        return Err(wrong("a parent set is missing"));
    }
    Ok(families)
}

/// Reads the parent sets of a variable, and sees that they are allowed and have these scores.
pub(super) fn read_families(
    prover: &Prover,
    child: NodeIdx,
    line: &Value,
) -> Result<Vec<Family>, CertificateError> {
    let nodes = prover.table().nodes();
    if line["family"] != child.index() {
        return Err(damaged("the families of a variable are missing"));
    }
    let mut families = Vec::new();
    for set in list(&line["sets"])? {
        let mut parents = Vec::new();
        for parent in list(&set[1])? {
            parents.push(node(parent, nodes)?);
        }
        let is_set = parents.windows(2).all(|pair| pair[0] < pair[1]);
        if !is_set || !prover.allows(child, &parents) {
            return Err(wrong("a parent set is not allowed"));
        }
        let units = prover.family_units(child, &parents);
        if set[0] != units {
            return Err(wrong("a parent set has another score"));
        }
        families.push(Family { parents, units });
    }
    Ok(families)
}

/// Replays the tree; returns the least cost of its leaves.
fn replay<'t>(
    model: &Model,
    lines: &mut impl Iterator<Item = &'t str>,
    threshold: i64,
) -> Result<i64, CertificateError> {
    let mut least = i64::MAX;
    let mut open: Vec<Alive> = vec![model.all()];
    while let Some(mut alive) = open.pop() {
        loop {
            let line = object(lines.next())?;
            let is_left = model.propagate(&mut alive);
            if let Some(cuts) = line.get("fix") {
                if is_left {
                    let bound = bound(model, &alive, &multipliers(model, cuts)?);
                    for family in 0..model.len() {
                        if bound.cost.saturating_add(bound.reduced[family]) >= threshold {
                            alive.remove(family);
                        }
                    }
                }
                continue;
            }
            if let Some(cuts) = line.get("close") {
                if is_left {
                    least = least.min(bound(model, &alive, &multipliers(model, cuts)?).cost);
                }
            } else if line.get("empty").is_some() {
                if is_left {
                    return Err(wrong("a node is called empty and is not"));
                }
            } else if let Some(edge) = line.get("branch") {
                let (from, to) = (
                    node(&edge[0], model.nodes())?,
                    node(&edge[1], model.nodes())?,
                );
                let mut without = alive.clone();
                without.branch(model, from, to, false);
                alive.branch(model, from, to, true);
                open.extend([without, alive]);
            } else {
                return Err(damaged("a line of the tree is none"));
            }
            break;
        }
    }
    Ok(least)
}

pub(super) fn multipliers(
    model: &Model,
    value: &Value,
) -> Result<Vec<(Arc<Cut>, i64)>, CertificateError> {
    let mut found = Vec::new();
    for cut in list(value)? {
        let kind = match cut[0].as_str() {
            Some("c") => CutKind::Cluster,
            Some("p") => CutKind::Packing,
            _ => return Err(damaged("a cut is neither a cluster nor a packing")),
        };
        let mut members = Vec::new();
        for member in list(&cut[1])? {
            members.push(node(member, model.nodes())?);
        }
        let units = cut[2].as_i64().filter(|units| *units >= 0);
        let units = units.ok_or_else(|| wrong("a multiplier is negative"))?;
        if members.is_empty() || (kind == CutKind::Packing && members.len() < 2) {
            return Err(wrong("a cut has too few members"));
        }
        found.push((Arc::new(Cut::new(kind, model.words(), members)), units));
    }
    Ok(found)
}

pub(super) fn object(line: Option<&str>) -> Result<Value, CertificateError> {
    let line = line.ok_or_else(|| damaged("it ends too early"))?;
    let value: Value = serde_json::from_str(line).map_err(|error| damaged(&error.to_string()))?;
    match value.is_object() {
        true => Ok(value),
        false => Err(damaged("a line is not an object")),
    }
}

fn list(value: &Value) -> Result<&Vec<Value>, CertificateError> {
    value.as_array().ok_or_else(|| damaged("a list is missing"))
}

fn index(value: &Value) -> Result<usize, CertificateError> {
    let number = value
        .as_u64()
        .and_then(|number| usize::try_from(number).ok());
    number.ok_or_else(|| damaged("a whole number is missing"))
}

pub(super) fn node(value: &Value, nodes: usize) -> Result<NodeIdx, CertificateError> {
    let number = index(value)?;
    match number < nodes {
        true => Ok(NodeIdx::new(number)),
        false => Err(damaged("there is no such variable")),
    }
}

pub(super) fn damaged(what: &str) -> CertificateError {
    CertificateError::Damaged(what.to_owned())
}

pub(super) fn wrong(what: &str) -> CertificateError {
    CertificateError::Wrong(what.to_owned())
}
