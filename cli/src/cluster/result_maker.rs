//! The result of a search as it stands: JSON, and the network with its probabilities where they can
//! be counted. It is made of what a status shows, whenever somebody asks for it. The network of the
//! last one is kept, since the best seldom changes.

use crate::report::{Comparison, as_json};
use bytes::Bytes;
use rlbayes::SearchRequest;
use rlbayes::coordination::View;
use rlbayes_common::data::Table;
use rlbayes_common::elite::Structure;
use rlbayes_common::fit::{entries, fit};
use rlbayes_common::graph::Dag;
use rlbayes_common::network::{NamedDag, NetworkFile};
use rlbayes_common::search::Problem;
use rlbayes_coordinator::service::{MakeResult, SearchResult};
use rlbayes_proto::MAX_RESULT_BYTES;
use rlbayes_proto::convert::{check_network, network_to_wire};
use serde_json::Value;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The most probabilities of a network that is fitted: its message has room for them, 8 bytes each,
/// and for [`MOST_NAME_BYTES`] of names.
const MOST_ENTRIES: usize = (MAX_RESULT_BYTES - MOST_NAME_BYTES) / 8;
/// The most bytes that the names and states of a table may take in a message.
const MOST_NAME_BYTES: usize = MAX_RESULT_BYTES / 4;

/// Makes results.
#[derive(Debug)]
pub(super) struct ResultMaker {
    request: SearchRequest,
    problem: Arc<Problem>,
    truth: Option<Dag>,
    last: Mutex<Option<(Structure, Arc<Found>)>>,
}

/// The network of a result.
#[derive(Debug)]
pub(super) struct Found {
    /// It has probabilities, unless these could not be counted.
    pub(super) network: NetworkFile,
    /// Why it has none.
    pub(super) not_fitted: Option<String>,
    /// As it is sent: many callers share it.
    encoded: OnceLock<Bytes>,
}

impl Found {
    /// Takes over a network.
    pub(super) fn new(network: NetworkFile, not_fitted: Option<String>) -> Self {
        Self {
            network,
            not_fitted,
            encoded: OnceLock::new(),
        }
    }

    fn encoded(&self) -> Bytes {
        let encoded = self.encoded.get_or_init(|| {
            let network = network_to_wire(&self.network);
            Bytes::from(prost::Message::encode_to_vec(&network))
        });
        encoded.clone()
    }
}

/// A result.
#[derive(Debug)]
pub(super) struct Made {
    /// As `learn --json` prints it.
    pub(super) json: Value,
    pub(super) found: Arc<Found>,
}

impl ResultMaker {
    /// Prepares results of a search.
    ///
    /// # Errors
    /// With a sentence, if no result of it could be sent.
    pub(super) fn new(
        request: SearchRequest,
        problem: Arc<Problem>,
        truth: Option<Dag>,
    ) -> Result<Self, String> {
        let maker = Self {
            request,
            problem,
            truth,
            last: Mutex::default(),
        };
        let wire = network_to_wire(&maker.unlearned().network);
        let bytes: usize = wire
            .variables
            .iter()
            .flat_map(|variable| std::iter::once(&variable.name).chain(&variable.states))
            // A few bytes say how long a name is.
            .map(|name| name.len() + 8)
            .sum();
        if bytes > MOST_NAME_BYTES {
            return Err(format!(
                "its names and states take {bytes} bytes of a message (expected at most \
                 {MOST_NAME_BYTES})"
            ));
        }
        check_network(&wire).map_err(|error| error.to_string())?;
        Ok(maker)
    }

    /// Returns the network without edges: whatever cannot hold its names holds no result.
    pub(super) fn unlearned(&self) -> Found {
        let table = self.request.table().data();
        found(table, &Dag::empty(table.nodes()))
    }

    /// Makes the result of a view; none: there is no network yet.
    ///
    /// # Errors
    /// With a sentence, if the best row is no network.
    pub(super) fn make(&self, view: &View) -> Result<Option<Made>, String> {
        let best = match &view.best {
            Some(row) => row.clone(),
            // A search that ends before anything is found ends with its start network.
            None if view.stopped_by.is_some() => self.request.start_row(&self.problem),
            None => return Ok(None),
        };
        let dag = best.structure.to_dag().map_err(|error| error.to_string())?;
        let comparison = self.truth.as_ref();
        let comparison = comparison.map(|truth| Comparison::new(&self.problem, truth, &dag));
        let found = self.found(&best.structure, &dag);
        let mut json = as_json(&self.request, view, &best, comparison.as_ref());
        json["search_id"] = self.request.id().to_string().into();
        json["not_fitted"] = found.not_fitted.clone().into();
        Ok(Some(Made { json, found }))
    }

    fn found(&self, structure: &Structure, dag: &Dag) -> Arc<Found> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, network)) = &*last
            && known == structure
        {
            return Arc::clone(network);
        }
        let network = Arc::new(found(self.request.table().data(), dag));
        *last = Some((structure.clone(), Arc::clone(&network)));
        network
    }
}

/// Counts the probabilities of a structure, if they are not too many.
fn found(table: &Table, dag: &Dag) -> Found {
    let entries = entries(table, dag);
    let fitted = match entries > MOST_ENTRIES {
        true => Err(format!(
            "its tables of probabilities would have {entries} entries (expected at most \
             {MOST_ENTRIES}); limit the number of parents"
        )),
        false => fit(table, dag, 0.0).map_err(|error| error.to_string()),
    };
    match fitted {
        Ok(network) => Found::new(NetworkFile::Parametrised(network), None),
        Err(why) => {
            let named = NamedDag::of(table.schema(), dag.clone());
            Found::new(NetworkFile::Structure(named), Some(why))
        }
    }
}

impl MakeResult for ResultMaker {
    fn result(&self, view: &View) -> Result<Option<SearchResult>, String> {
        let Some(made) = self.make(view)? else {
            return Ok(None);
        };
        Ok(Some(SearchResult {
            json: format!("{:#}\n", made.json),
            network: made.found.encoded(),
            not_fitted: made.found.not_fitted.clone(),
        }))
    }
}
