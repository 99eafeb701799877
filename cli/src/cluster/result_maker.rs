//! The result of a search as it stands: JSON, and the network with its probabilities where they can
//! be counted. It is made of what a status shows, whenever somebody asks for it. The network of the
//! last one is kept, since the best seldom changes.

use crate::html_report::shown_support;
use crate::provenance::about;
use crate::report::{Comparison, as_json};
use crate::support_report;
use bytes::Bytes;
use rlbayes::coordination::View;
use rlbayes::{BootstrapRequest, Found, SearchRequest, StoppedBy, Support, gap_below};
use rlbayes_common::data::Table;
use rlbayes_common::elite::Structure;
use rlbayes_common::fit::{entries, fit};
use rlbayes_common::graph::{Cpdag, Dag};
use rlbayes_common::io::viewer::{NetworkView, network_json};
use rlbayes_common::io::{Format, Provenance, WriteOptions, write_network};
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
    /// A score that no network exceeds, once it is known.
    bound: Arc<OnceLock<f64>>,
    last: Mutex<Option<(Structure, Arc<Fitted>)>>,
    /// How the support of edges is made, where there are replicates.
    support: Option<SupportOf>,
}

/// The replicates that support is counted from.
#[derive(Debug)]
pub(super) struct SupportOf {
    pub(super) request: Arc<BootstrapRequest>,
    /// Whether JSON lists their networks.
    pub(super) keep_networks: bool,
}

/// The network of a result.
#[derive(Debug)]
pub(super) struct Fitted {
    /// It has probabilities, unless these could not be counted.
    pub(super) network: NetworkFile,
    /// Why it has none.
    pub(super) not_fitted: Option<String>,
    /// As it is sent: many callers share it.
    encoded: OnceLock<Bytes>,
}

impl Fitted {
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
    pub(super) fitted: Arc<Fitted>,
    /// The networks that it stands for.
    pub(super) class: Cpdag,
    /// What each edge is worth.
    pub(super) gains: Vec<f64>,
    /// Where it comes from.
    pub(super) provenance: Provenance,
    /// The support of its edges, once a replicate is done.
    pub(super) support: Option<SupportMade>,
}

/// The support of edges.
#[derive(Debug)]
pub(super) struct SupportMade {
    pub(super) support: Support,
    /// As `learn --json` prints it.
    pub(super) json: Value,
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
        bound: Arc<OnceLock<f64>>,
        support: Option<SupportOf>,
    ) -> Result<Self, String> {
        let maker = Self {
            request,
            problem,
            truth,
            bound,
            last: Mutex::default(),
            support,
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
    pub(super) fn unlearned(&self) -> Fitted {
        let table = self.request.table().data();
        fitted(table, &Dag::empty(table.nodes()))
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
        let found = Found::new(&self.problem, &best).map_err(|error| error.to_string())?;
        let comparison = self.truth.as_ref();
        let comparison = comparison.map(|truth| Comparison::new(&self.problem, truth, &found.dag));
        let fitted = self.fitted(&found.best.structure, &found.dag);
        let provenance = about(&self.request, found.best.score.value(), 0.0);
        let mut json = as_json(&self.request, view, &found, comparison.as_ref());
        json["search_id"] = self.request.id().to_string().into();
        let gap = match self.bound.get() {
            _ if view.stopped_by == Some(StoppedBy::Proven) => Some(0.0),
            Some(bound) => gap_below(*bound, best.score.value()),
            None => None,
        };
        json["proven"] = (gap == Some(0.0)).into();
        json["gap"] = gap.into();
        json["not_fitted"] = fitted.not_fitted.clone().into();
        json["provenance"] = facts_json(&provenance);
        let support = self.support(view, &found.dag);
        if let Some(made) = &support {
            json["support"] = made.json.clone();
        }
        Ok(Some(Made {
            support,
            json,
            fitted,
            class: found.class,
            gains: found.gains,
            provenance,
        }))
    }

    /// Counts the support of edges; none while no replicate is done.
    fn support(&self, view: &View, best: &Dag) -> Option<SupportMade> {
        let of = self.support.as_ref()?;
        let done = &view.replicates.as_ref()?.done;
        if done.is_empty() {
            return None;
        }
        let support = Support::new(&of.request, done.clone(), Some(best.clone()));
        let json = support_report::as_json(&support, None, of.keep_networks);
        Some(SupportMade { support, json })
    }

    fn fitted(&self, structure: &Structure, dag: &Dag) -> Arc<Fitted> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, network)) = &*last
            && known == structure
        {
            return Arc::clone(network);
        }
        let network = Arc::new(fitted(self.request.table().data(), dag));
        *last = Some((structure.clone(), Arc::clone(&network)));
        network
    }
}

/// Counts the probabilities of a structure, if they are not too many.
fn fitted(table: &Table, dag: &Dag) -> Fitted {
    let entries = entries(table, dag);
    let counted = match entries > MOST_ENTRIES {
        true => Err(format!(
            "its tables of probabilities would have {entries} entries (expected at most \
             {MOST_ENTRIES}); limit the number of parents"
        )),
        false => fit(table, dag, 0.0).map_err(|error| error.to_string()),
    };
    match counted {
        Ok(network) => Fitted::new(NetworkFile::Parametrised(network), None),
        Err(why) => {
            let named = NamedDag::of(table.schema(), dag.clone());
            Fitted::new(NetworkFile::Structure(named), Some(why))
        }
    }
}

/// Returns facts as an object of JSON.
fn facts_json(provenance: &Provenance) -> Value {
    let facts = provenance.facts();
    facts
        .map(|(name, text)| (name.to_owned(), Value::from(text)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

impl MakeResult for ResultMaker {
    fn result(&self, view: &View) -> Result<Option<SearchResult>, String> {
        let Some(made) = self.make(view)? else {
            return Ok(None);
        };
        Ok(Some(SearchResult {
            json: format!("{:#}\n", made.json),
            network: made.fitted.encoded(),
            not_fitted: made.fitted.not_fitted.clone(),
        }))
    }

    fn file(&self, view: &View, format: Format) -> Result<Option<Vec<u8>>, String> {
        let Some(made) = self.make(view)? else {
            return Ok(None);
        };
        if format == Format::Json {
            return Ok(Some(format!("{:#}\n", made.json).into_bytes()));
        }
        if let (Format::Bif | Format::XmlBif, Some(why)) = (format, &made.fitted.not_fitted) {
            return Err(format!("the network has no probabilities: {why}"));
        }
        let options = WriteOptions {
            class: Some(&made.class),
            provenance: Some(&made.provenance),
            ..WriteOptions::default()
        };
        let written = write_network(format, &made.fitted.network, &options);
        written.map(Some).map_err(|error| error.to_string())
    }

    fn viewed(&self, view: &View) -> Result<Option<Vec<u8>>, String> {
        let Some(made) = self.make(view)? else {
            return Ok(None);
        };
        let shown = network_json(&NetworkView {
            network: &made.fitted.network,
            class: Some(&made.class),
            worths: Some(&made.gains),
            support: made
                .support
                .as_ref()
                .map(|made| shown_support(&made.support)),
        });
        let shown = shown.map_err(|error| error.to_string())?;
        Ok(Some(shown.into_bytes()))
    }
}
