//! What a search is.

use super::rows::{edges_from_wire, edges_to_wire};
use super::{WireError, at_most, fixed};
use crate::{MAX_SEARCH_BYTES, v1};
use prost::Message;
use rlbayes_common::exchange::{Pace, ReplicateDescription, SearchDescription};
use rlbayes_common::ids::{NodeIdx, SearchId, Seed};
use rlbayes_common::score::{LogScore, ScoreSpec};
use rlbayes_common::search::{NamedConstraints, SearchSpec};
use rlbayes_common::support::{Draw, Resampling};
use std::time::Duration;

const MOST_NAMES: usize = 262_144;
const MOST_SETTINGS: usize = 32;

/// Writes a search.
#[must_use]
pub fn description_to_wire(search: &SearchDescription) -> v1::Search {
    v1::Search {
        id: search.id.0.to_vec().into(),
        data_fingerprint: search.data_fingerprint.to_vec().into(),
        data_hash: search.data_hash.to_vec().into(),
        data_bytes: search.data_bytes,
        variables: u32::try_from(search.nodes).unwrap_or(u32::MAX),
        score: Some(v1::Score {
            name: search.score.name().to_string(),
            ess: search.score.ess(),
            penalty_scale: search.score.penalty_scale(),
        }),
        constraints: Some(constraints_to_wire(&search.constraints)),
        start: Some(v1::Row {
            edges: edges_to_wire(search.start.iter().copied()),
            score: 0.0,
            ..Default::default()
        }),
        spec: Some(v1::SearchSpec {
            name: search.spec.name().to_owned(),
            settings: search
                .spec
                .settings()
                .into_iter()
                .map(|(name, value)| v1::Setting {
                    name: name.to_owned(),
                    value,
                })
                .collect(),
        }),
        seed: search.seed.0,
        ladder: search.ladder,
        lockstep: search.pace == Pace::Lockstep,
        round_evaluations: search.round_evaluations,
        target: search.target.map(LogScore::value),
        exchange_millis: u64::try_from(search.exchange_every.as_millis()).unwrap_or(u64::MAX),
        replicates: search.replicates.map(|replicates| v1::Replicates {
            rows: replicates.resampling.rows as u64,
            without_replacement: replicates.resampling.draw == Draw::WithoutReplacement,
            evaluations: replicates.evaluations,
        }),
    }
}

/// Checks that a search can be sent to workers.
///
/// # Errors
/// If its constraints are too many, or too large for a message.
pub fn check_description(search: &v1::Search) -> Result<(), WireError> {
    if let Some(constraints) = &search.constraints {
        at_most("constraints", count_names(constraints), MOST_NAMES)?;
    }
    let found = search.encoded_len();
    if found > MAX_SEARCH_BYTES {
        return Err(WireError::TooLarge {
            name: "the search with its constraints",
            found,
            most: MAX_SEARCH_BYTES,
        });
    }
    Ok(())
}

fn count_names(constraints: &v1::Constraints) -> usize {
    let in_tiers: usize = constraints.tiers.iter().map(|tier| tier.names.len()).sum();
    in_tiers + 2 * (constraints.required.len() + constraints.forbidden.len())
}

/// Reads a search.
///
/// # Errors
/// If a field is missing or out of range.
pub fn description_from_wire(search: v1::Search) -> Result<SearchDescription, WireError> {
    check_description(&search)?;
    let setting = |error: &dyn std::fmt::Display| WireError::Setting(error.to_string());
    let score = search.score.ok_or(WireError::Missing("score"))?;
    let name = score.name.parse().map_err(|error| setting(&error))?;
    let score =
        ScoreSpec::new(name, score.ess, score.penalty_scale).map_err(|error| setting(&error))?;
    let spec = search.spec.ok_or(WireError::Missing("spec"))?;
    at_most("settings", spec.settings.len(), MOST_SETTINGS)?;
    let settings: Vec<(String, f64)> = spec
        .settings
        .into_iter()
        .map(|setting| (setting.name, setting.value))
        .collect();
    let spec = SearchSpec::from_settings(&spec.name, &settings).map_err(|error| setting(&error))?;
    let start = search.start.ok_or(WireError::Missing("start"))?;
    let target = match search.target {
        Some(target) => Some(LogScore::checked(target).ok_or(WireError::Score)?),
        None => None,
    };
    let nodes = search.variables as usize;
    if nodes == 0 || nodes > NodeIdx::MAX_NODES {
        return Err(WireError::Range("variables"));
    }
    if search.ladder == 0 || search.round_evaluations == 0 {
        return Err(WireError::Range("ladder or round_evaluations"));
    }
    Ok(SearchDescription {
        id: SearchId(fixed("id", &search.id)?),
        data_fingerprint: fixed("data_fingerprint", &search.data_fingerprint)?,
        data_hash: fixed("data_hash", &search.data_hash)?,
        data_bytes: search.data_bytes,
        nodes,
        score,
        constraints: constraints_from_wire(search.constraints.unwrap_or_default()),
        start: edges_from_wire(&start.edges, nodes)?,
        spec,
        seed: Seed(search.seed),
        ladder: search.ladder,
        pace: match search.lockstep {
            true => Pace::Lockstep,
            false => Pace::Free,
        },
        round_evaluations: search.round_evaluations,
        target,
        exchange_every: Duration::from_millis(search.exchange_millis),
        replicates: search.replicates.map(replicates_from_wire).transpose()?,
    })
}

fn replicates_from_wire(replicates: v1::Replicates) -> Result<ReplicateDescription, WireError> {
    let rows = usize::try_from(replicates.rows).map_err(|_| WireError::Range("rows"))?;
    if rows == 0 || replicates.evaluations == 0 {
        return Err(WireError::Range("replicates"));
    }
    let draw = match replicates.without_replacement {
        true => Draw::WithoutReplacement,
        false => Draw::WithReplacement,
    };
    Ok(ReplicateDescription {
        resampling: Resampling { rows, draw },
        evaluations: replicates.evaluations,
    })
}

fn constraints_to_wire(constraints: &NamedConstraints) -> v1::Constraints {
    let edges = |edges: &[(String, String)]| {
        edges
            .iter()
            .map(|(from, to)| v1::NamedEdge {
                from: from.clone(),
                to: to.clone(),
            })
            .collect()
    };
    v1::Constraints {
        required: edges(&constraints.required),
        forbidden: edges(&constraints.forbidden),
        tiers: constraints
            .tiers
            .iter()
            .map(|names| v1::Tier {
                names: names.clone(),
            })
            .collect(),
        max_parents: constraints
            .max_parents
            .map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
    }
}

fn constraints_from_wire(constraints: v1::Constraints) -> NamedConstraints {
    let tiers: Vec<Vec<String>> = constraints
        .tiers
        .into_iter()
        .map(|tier| tier.names)
        .collect();
    let edges = |edges: Vec<v1::NamedEdge>| {
        edges
            .into_iter()
            .map(|edge| (edge.from, edge.to))
            .collect::<Vec<_>>()
    };
    NamedConstraints {
        required: edges(constraints.required),
        forbidden: edges(constraints.forbidden),
        tiers,
        max_parents: constraints.max_parents.map(|most| most as usize),
    }
}
