//! A proof under way as a certificate, and the work on it taken up again from there.

use super::candidates::{Coverage, Family};
use super::certificate::{
    CertificateError, damaged, multipliers, node, object, read_coverage, read_families,
    read_network, sealed_lines,
};
use super::model::Model;
use super::prover::Prover;
use super::tree::{End, ProofNode};
use crate::graph::Dag;
use crate::ids::NodeIdx;

/// What an unfinished proof has by then.
#[derive(Clone, Debug)]
pub struct StoredProof {
    /// The best network known.
    pub network: Dag,
    /// Which parent sets were listed.
    pub coverage: Vec<Coverage>,
    /// The parent sets of each variable.
    pub families: Vec<Vec<Family>>,
    /// The tree; parts that are not done end with the bound that they have.
    pub nodes: Vec<ProofNode>,
}

/// Reads the certificate of an unfinished proof, to continue it. Every score in it is counted again,
/// so that one of another table is refused; that no parent set is missing is taken on trust. None if
/// it holds no tree.
///
/// # Errors
/// If it is damaged, or about another table or score.
pub fn read_stored(text: &str, prover: &Prover) -> Result<Option<StoredProof>, CertificateError> {
    let nodes = prover.table().nodes();
    let mut lines = sealed_lines(text)?;
    let (network, _) = read_network(prover, &mut lines)?;
    let claim = object(lines.next())?;
    if claim["method"] != "tree" {
        return Ok(None);
    }
    let of = |most: Option<usize>| most.map_or(Coverage::All, Coverage::UpTo);
    let coverage = read_coverage(&claim, nodes)?.into_iter().map(of).collect();
    let mut families = Vec::new();
    for child in NodeIdx::all(nodes) {
        families.push(read_families(prover, child, &object(lines.next())?)?);
    }
    let model = Model::new(families.iter().map(|families| &families[..]));
    let unread = || ProofNode {
        fixings: Vec::new(),
        end: End::Open,
    };
    let (mut tree, mut next) = (vec![unread()], vec![0]);
    while let Some(id) = next.pop() {
        loop {
            let line = object(lines.next())?;
            if let Some(cuts) = line.get("fix") {
                let multipliers = multipliers(&model, cuts)?.into();
                tree[id].fixings.push(multipliers);
                continue;
            }
            tree[id].end = if let Some(cuts) = line.get("close") {
                End::Bounded(multipliers(&model, cuts)?.into())
            } else if line.get("empty").is_some() {
                End::Empty
            } else if let Some(edge) = line.get("branch") {
                let with = tree.len();
                tree.extend([unread(), unread()]);
                next.extend([with + 1, with]);
                End::Branch {
                    from: node(&edge[0], nodes)?,
                    to: node(&edge[1], nodes)?,
                    with,
                    without: with + 1,
                }
            } else {
                return Err(damaged("a line of the tree is none"));
            };
            break;
        }
    }
    Ok(Some(StoredProof {
        network,
        coverage,
        families,
        nodes: tree,
    }))
}
