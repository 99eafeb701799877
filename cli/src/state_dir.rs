//! `--state DIR` of `learn`: the journal, and beside it the free-running chains. Chains whose journal
//! is lost are believed if a note says that they belong to this search.

use crate::failure::Failure;
use crate::local::Kept;
use rlbayes::chains::{Belongs, ChainFolder};
use rlbayes::coordination::{SearchPlan, State};
use rlbayes_common::elite::Keying;
use std::collections::BTreeMap;
use std::path::Path;

/// Opens a state folder and reads what is there. Settings that differ from the stored ones are an
/// error that names the first.
pub(crate) fn open(
    folder: &Path,
    settings: &[(String, String)],
    nodes: usize,
    keying: Keying,
    plan: SearchPlan,
    mut warn: impl FnMut(String),
) -> Result<Kept, Failure> {
    let (mut journal, stored) =
        rlbayes::state_folder::open(folder, settings, nodes, keying, &mut warn)
            .map_err(Failure::input)?;
    let chain_folder =
        ChainFolder::open(&folder.join("chains")).map_err(|error| Failure::file(folder, error))?;
    let mut chains = BTreeMap::new();
    match (stored.is_some(), chain_folder.belongs_to(settings)) {
        (_, Belongs::Here) => chains = chain_folder.read(nodes, &mut warn),
        (false, Belongs::Elsewhere(difference)) => {
            return Err(Failure::file(
                folder,
                format!("this folder holds another search: {difference}"),
            ));
        }
        (_, Belongs::Unknown | Belongs::Elsewhere(_)) => {
            chain_folder.set_aside("nothing tells which search it belongs to", &mut warn);
        }
    }
    if stored.is_none() {
        journal
            .begin(settings)
            .map_err(|error| Failure::file(folder, error))?;
    }
    chain_folder
        .begin(settings)
        .map_err(|error| Failure::file(folder, error))?;
    Ok(Kept {
        state: stored.map(|stored| State::recovered(plan, stored)),
        chains,
        journal: Some(journal),
        folder: Some(chain_folder),
    })
}
