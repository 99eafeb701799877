//! What a network must and must not have: required and forbidden edges, tiers, a limit on parents,
//! and variables that stay out. They hold in every search, for every operation.

use crate::data::{Schema, Table};
use crate::graph::{Cpdag, Dag};
use crate::ids::NodeIdx;
use thiserror::Error;

/// Checked constraints: a required edge is allowed, and the required edges hold no cycle.
#[derive(Clone, Debug)]
pub struct Constraints {
    /// Words of the bit set of allowed parents, a row of `words` for each node.
    allowed: Vec<u64>,
    words: usize,
    required: Dag,
    max_parents: usize,
}

/// Constraints as people write them, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedConstraints {
    /// Edges that must be there.
    pub required: Vec<(String, String)>,
    /// Edges that must not be there.
    pub forbidden: Vec<(String, String)>,
    /// Groups of variables, earliest first: no edge leads from a later group to an earlier one.
    /// Variables in no group are free.
    pub tiers: Vec<Vec<String>>,
    /// The most parents that a node may have.
    pub max_parents: Option<usize>,
}

/// A list of names that people write down as constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintList {
    /// The edges that must be there.
    Required,
    /// The edges that must not be there.
    Forbidden,
    /// The groups of variables.
    Tiers,
}

impl std::fmt::Display for ConstraintList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Required => "the required edges",
            Self::Forbidden => "the forbidden edges",
            Self::Tiers => "the tiers",
        })
    }
}

/// Why constraints can't be met.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConstraintError {
    /// A name is not a column.
    #[error("{place} name the variable \"{name}\", which is not in the table")]
    UnknownName {
        /// Which constraints name it.
        place: ConstraintList,
        /// The name.
        name: String,
    },
    /// An edge leads to its own start.
    #[error("{place} hold the edge {name} -> {name}, which leads from a variable to itself")]
    SelfLoop {
        /// Which constraints hold it.
        place: ConstraintList,
        /// The variable.
        name: String,
    },
    /// An edge is both required and forbidden.
    #[error("the edge {from} -> {to} is both required and forbidden")]
    RequiredAndForbidden {
        /// Where the edge starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// A required edge leads back in time.
    #[error("the required edge {from} -> {to} leads from a later tier to an earlier one")]
    RequiredAgainstTiers {
        /// Where the edge starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// A required edge touches a column that holds one value only.
    #[error(
        "the required edge {from} -> {to} names \"{constant}\", whose column holds a single value"
    )]
    RequiredConstant {
        /// Where the edge starts.
        from: String,
        /// Where it ends.
        to: String,
        /// The constant one of the two.
        constant: String,
    },
    /// The required edges hold a cycle.
    #[error("the required edges hold a cycle: {from} -> {to} closes it")]
    RequiredCycle {
        /// Where the closing edge starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// A node has more required parents than it may have.
    #[error("\"{name}\" has {required} required parents, but max parents is {max_parents}")]
    TooManyRequired {
        /// The node.
        name: String,
        /// How many parents are required.
        required: usize,
        /// The limit.
        max_parents: usize,
    },
    /// A variable stands in two tiers.
    #[error("the tiers name \"{0}\" twice")]
    TwoTiers(String),
    /// The start network has an edge that is not allowed.
    #[error("the start network has the edge {from} -> {to}, which the constraints forbid")]
    StartForbidden {
        /// Where the edge starts.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// The start network has too many parents somewhere.
    #[error(
        "\"{name}\" has {parents} parents in the start network with the required edges, but max parents is {max_parents}"
    )]
    StartParents {
        /// The node.
        name: String,
        /// How many parents it would have.
        parents: usize,
        /// The limit.
        max_parents: usize,
    },
    /// A required edge closes a cycle with the start network.
    #[error("the required edge {from} -> {to} closes a cycle with the start network")]
    StartCycle {
        /// Where the edge starts.
        from: String,
        /// Where it ends.
        to: String,
    },
}

impl Constraints {
    /// Returns constraints that allow every edge.
    #[must_use]
    pub fn none(nodes: usize) -> Self {
        let words = nodes.div_ceil(64);
        let mut free = Self {
            allowed: vec![0; words * nodes],
            words,
            required: Dag::empty(nodes),
            max_parents: nodes,
        };
        for to in NodeIdx::all(nodes) {
            for from in NodeIdx::all(nodes).filter(|&from| from != to) {
                free.allow(from, to);
            }
        }
        free
    }

    /// Checks constraints against a table; columns that hold one value stay out of the search.
    ///
    /// # Errors
    /// If a name is unknown or constraints contradict each other.
    pub fn new(table: &Table, named: &NamedConstraints) -> Result<Self, ConstraintError> {
        let schema = table.schema();
        let nodes = schema.len();
        let mut constraints = Self::none(nodes);
        let constant: Vec<bool> = NodeIdx::all(nodes)
            .map(|node| table.is_constant(node))
            .collect();
        for node in NodeIdx::all(nodes).filter(|node| constant[node.index()]) {
            for other in NodeIdx::all(nodes) {
                constraints.forbid(node, other);
                constraints.forbid(other, node);
            }
        }
        let tier_of = tiers(schema, &named.tiers)?;
        let backwards = |from: NodeIdx, to: NodeIdx| matches!((tier_of[from.index()], tier_of[to.index()]), (Some(a), Some(b)) if a > b);
        for from in NodeIdx::all(nodes) {
            for to in NodeIdx::all(nodes).filter(|&to| backwards(from, to)) {
                constraints.forbid(from, to);
            }
        }
        let forbidden = resolve(schema, &named.forbidden, ConstraintList::Forbidden)?;
        for &(from, to) in &forbidden {
            constraints.forbid(from, to);
        }
        let name = |node: NodeIdx| schema.variable(node).name().to_owned();
        for (from, to) in resolve(schema, &named.required, ConstraintList::Required)? {
            let edge = || (name(from), name(to));
            if forbidden.contains(&(from, to)) {
                let (from, to) = edge();
                return Err(ConstraintError::RequiredAndForbidden { from, to });
            }
            if backwards(from, to) {
                let (from, to) = edge();
                return Err(ConstraintError::RequiredAgainstTiers { from, to });
            }
            if let Some(&single) = [from, to].iter().find(|node| constant[node.index()]) {
                let ((from, to), constant) = (edge(), name(single));
                return Err(ConstraintError::RequiredConstant { from, to, constant });
            }
            if constraints.required.has_edge(from, to) {
                continue;
            }
            constraints.required.add_edge(from, to).map_err(|_| {
                let (from, to) = edge();
                ConstraintError::RequiredCycle { from, to }
            })?;
        }
        constraints.max_parents = named.max_parents.unwrap_or(nodes);
        for node in NodeIdx::all(nodes) {
            let (required, max_parents) = (
                constraints.required.parents(node).len(),
                constraints.max_parents,
            );
            if required > max_parents {
                let name = name(node);
                return Err(ConstraintError::TooManyRequired {
                    name,
                    required,
                    max_parents,
                });
            }
        }
        Ok(constraints)
    }

    /// Adds the required edges to a start network and checks it. Edges at constant columns are
    /// left out: those variables take no part.
    ///
    /// # Errors
    /// If the start network breaks a constraint.
    pub fn starting_point(&self, table: &Table, start: &Dag) -> Result<Dag, ConstraintError> {
        let name = |node: NodeIdx| table.schema().variable(node).name().to_owned();
        let mut dag = Dag::empty(self.nodes());
        for (from, to) in start.edges() {
            if table.is_constant(from) || table.is_constant(to) {
                continue;
            }
            if !self.is_allowed(from, to) {
                return Err(ConstraintError::StartForbidden {
                    from: name(from),
                    to: name(to),
                });
            }
            // A part of an acyclic graph is acyclic.
            let _ = dag.add_edge(from, to);
        }
        for (from, to) in self.required.edges() {
            if !dag.has_edge(from, to) && dag.add_edge(from, to).is_err() {
                return Err(ConstraintError::StartCycle {
                    from: name(from),
                    to: name(to),
                });
            }
        }
        for node in NodeIdx::all(self.nodes()) {
            let (parents, max_parents) = (dag.parents(node).len(), self.max_parents);
            if parents > max_parents {
                let name = name(node);
                return Err(ConstraintError::StartParents {
                    name,
                    parents,
                    max_parents,
                });
            }
        }
        Ok(dag)
    }

    /// Returns the constraints of a part of the network: `nodes` are its own, in order, and edges are
    /// given by places among them. Only edges that a rule keeps are allowed; `fixed` ones are
    /// required besides, and are no one's to count against the most parents.
    #[must_use]
    pub(crate) fn of_part(
        &self,
        nodes: &[NodeIdx],
        keeps: impl Fn(usize, usize) -> bool,
        fixed: &[(usize, usize)],
    ) -> Self {
        let words = nodes.len().div_ceil(64);
        let mut part = Self {
            allowed: vec![0; words * nodes.len()],
            words,
            required: Dag::empty(nodes.len()),
            max_parents: self.max_parents,
        };
        for (to, &to_node) in nodes.iter().enumerate() {
            for (from, &from_node) in nodes.iter().enumerate() {
                if keeps(from, to) && self.is_allowed(from_node, to_node) {
                    part.allow(NodeIdx::new(from), NodeIdx::new(to));
                    if self.is_required(from_node, to_node) {
                        let _ = part.required.add_edge(NodeIdx::new(from), NodeIdx::new(to));
                    }
                }
            }
        }
        for &(from, to) in fixed {
            let (from, to) = (NodeIdx::new(from), NodeIdx::new(to));
            part.allow(from, to);
            let _ = part.required.add_edge(from, to);
        }
        part
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.required.nodes()
    }

    /// Returns the graph of the required edges, the smallest legal network.
    #[must_use]
    pub fn required(&self) -> &Dag {
        &self.required
    }

    /// Returns the same constraints with at most so many parents, or as many as are required.
    pub(crate) fn with_max_parents(&self, most: usize) -> Self {
        let required = NodeIdx::all(self.nodes()).map(|node| self.required.parents(node).len());
        let least = required.max().unwrap_or(0);
        Self {
            max_parents: self.max_parents.min(most.max(least)),
            ..self.clone()
        }
    }

    /// Returns the same constraints for a resampled table: columns that hold one value in it are
    /// isolated but for required edges.
    #[must_use]
    pub fn for_resampled(&self, table: &Table) -> Self {
        let nodes = self.nodes();
        let constant: Vec<bool> = NodeIdx::all(nodes)
            .map(|node| table.is_constant(node))
            .collect();
        self.only(|from, to| !constant[from.index()] && !constant[to.index()])
    }

    /// Returns the same constraints with only those edges allowed that a rule keeps, and the
    /// required ones.
    #[must_use]
    pub fn only(&self, keeps: impl Fn(NodeIdx, NodeIdx) -> bool) -> Self {
        let mut narrower = self.clone();
        for from in NodeIdx::all(self.nodes()) {
            for to in NodeIdx::all(self.nodes()) {
                if !self.is_required(from, to) && !keeps(from, to) {
                    narrower.forbid(from, to);
                }
            }
        }
        narrower
    }

    /// Returns the most parents that a node may have.
    #[must_use]
    pub fn max_parents(&self) -> usize {
        self.max_parents
    }

    /// Returns whether the edge may ever be there.
    #[must_use]
    #[inline]
    pub fn is_allowed(&self, from: NodeIdx, to: NodeIdx) -> bool {
        self.allowed[to.index() * self.words + from.index() / 64] >> (from.index() % 64) & 1 == 1
    }

    /// Returns whether the edge must be there.
    #[must_use]
    #[inline]
    pub fn is_required(&self, from: NodeIdx, to: NodeIdx) -> bool {
        self.required.has_edge(from, to)
    }

    /// Returns whether the constraints (not acyclicity) let `dag` gain the edge.
    #[must_use]
    pub fn may_add(&self, dag: &Dag, from: NodeIdx, to: NodeIdx) -> bool {
        self.is_allowed(from, to) && dag.parents(to).len() < self.max_parents
    }

    /// Returns whether the constraints let the edge be turned round.
    #[must_use]
    pub fn may_reverse(&self, dag: &Dag, from: NodeIdx, to: NodeIdx) -> bool {
        !self.is_required(from, to) && self.may_add(dag, to, from)
    }

    /// Returns whether a whole network keeps the constraints.
    #[must_use]
    pub fn hold_for(&self, dag: &Dag) -> bool {
        dag.nodes() == self.nodes()
            && dag.edges().all(|(from, to)| self.is_allowed(from, to))
            && self
                .required
                .edges()
                .all(|(from, to)| dag.has_edge(from, to))
            && NodeIdx::all(dag.nodes()).all(|node| {
                let most = self.max_parents.max(self.required.parents(node).len());
                dag.parents(node).len() <= most
            })
    }

    /// Returns the members of a network's equivalence class that keep the constraints. With a score
    /// that tells equivalent networks apart, the network is the only one.
    #[must_use]
    pub fn class_of(&self, dag: &Dag, is_score_equivalent: bool) -> Cpdag {
        if !is_score_equivalent {
            return Cpdag::of_structure(dag);
        }
        Cpdag::of_constrained(dag, |from, to| {
            self.is_required(from, to) || !self.is_allowed(to, from)
        })
    }

    /// Returns whether the network of the required edges is the only one that keeps the constraints:
    /// a table of one column, columns that are all constant, or every other edge forbidden.
    #[must_use]
    pub fn leave_no_choice(&self) -> bool {
        NodeIdx::all(self.nodes()).all(|node| self.addable(node, self.required.parents(node)) == 0)
    }

    /// Returns how many further parents the node could get.
    pub(crate) fn addable(&self, node: NodeIdx, parents: &[NodeIdx]) -> usize {
        if parents.len() >= self.max_parents {
            return 0;
        }
        let allowed: u32 = self.row(node).iter().map(|word| word.count_ones()).sum();
        allowed as usize - parents.len()
    }

    /// Lists the further parents that the node could get, in order.
    pub(crate) fn list_addable(&self, node: NodeIdx, parents: &[NodeIdx], list: &mut Vec<NodeIdx>) {
        list.clear();
        if parents.len() >= self.max_parents {
            return;
        }
        for (index, &word) in self.row(node).iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                let candidate = NodeIdx::new(index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
                if !parents.contains(&candidate) {
                    list.push(candidate);
                }
            }
        }
    }

    fn row(&self, node: NodeIdx) -> &[u64] {
        &self.allowed[node.index() * self.words..][..self.words]
    }

    fn allow(&mut self, from: NodeIdx, to: NodeIdx) {
        self.allowed[to.index() * self.words + from.index() / 64] |= 1 << (from.index() % 64);
    }

    fn forbid(&mut self, from: NodeIdx, to: NodeIdx) {
        self.allowed[to.index() * self.words + from.index() / 64] &= !(1 << (from.index() % 64));
    }
}

fn tiers(schema: &Schema, tiers: &[Vec<String>]) -> Result<Vec<Option<usize>>, ConstraintError> {
    let mut tier_of = vec![None; schema.len()];
    for (tier, names) in tiers.iter().enumerate() {
        for name in names {
            let node = find(schema, name, ConstraintList::Tiers)?;
            if tier_of[node.index()].replace(tier).is_some() {
                return Err(ConstraintError::TwoTiers(name.clone()));
            }
        }
    }
    Ok(tier_of)
}

fn resolve(
    schema: &Schema,
    edges: &[(String, String)],
    place: ConstraintList,
) -> Result<Vec<(NodeIdx, NodeIdx)>, ConstraintError> {
    edges
        .iter()
        .map(|(from, to)| {
            if from == to {
                return Err(ConstraintError::SelfLoop {
                    place,
                    name: from.clone(),
                });
            }
            Ok((find(schema, from, place)?, find(schema, to, place)?))
        })
        .collect()
}

fn find(schema: &Schema, name: &str, place: ConstraintList) -> Result<NodeIdx, ConstraintError> {
    schema
        .find(name)
        .ok_or_else(|| ConstraintError::UnknownName {
            place,
            name: name.to_owned(),
        })
}

#[cfg(test)]
mod tests;
