//! What result files say about where a network comes from. BIF and XMLBIF hold what the network
//! follows from (table, score, constraints, program), so that equal optima are equal files whatever
//! the threads and the seed; JSON adds how it was searched for.

use crate::bootstrap::Support;
use crate::outcome::Outcome;
use crate::request::SearchRequest;
use crate::table::Table;
use rlbayes_common::hex;
use rlbayes_common::io::{Format, Provenance};

/// The notes of both kinds.
#[derive(Clone, Debug, Default)]
pub struct ProvenanceNotes {
    result: Provenance,
    search: Provenance,
}

impl ProvenanceNotes {
    /// Takes over what a file said.
    pub fn read(provenance: Provenance) -> Self {
        Self {
            result: provenance.clone(),
            search: provenance,
        }
    }

    /// Notes what a search found and how.
    pub fn of_search(outcome: &Outcome, alpha: f64) -> Self {
        let request = outcome.request();
        let result = about(request, outcome.score(), alpha);
        let mut search = result.clone();
        search.add("search", request.algorithm_name());
        search.add("seed", request.seed().to_string());
        search.add("chains", request.chains().to_string());
        search.add("threads", request.threads().to_string());
        search.add("stopped_by", outcome.stopped_by().as_str());
        search.add("proven", outcome.is_proven().to_string());
        Self { result, search }
    }

    /// Notes what a bootstrap relearned: the best network among the pairs with enough support.
    pub fn of_bootstrap(
        support: &Support,
        request: &SearchRequest,
        score: f64,
        alpha: f64,
    ) -> Self {
        let mut result = about(request, score, alpha);
        result.add(
            "pairs_with_support_from",
            support.request().threshold().to_string(),
        );
        result.add("replicates", support.replicates().to_string());
        Self {
            search: result.clone(),
            result,
        }
    }

    /// Notes what probabilities were estimated from.
    pub fn of_fit(table: &Table, alpha: f64) -> Self {
        let mut result = of_table(table);
        result.add("alpha", alpha.to_string());
        Self {
            search: result.clone(),
            result,
        }
    }

    /// Returns the notes that a format holds.
    pub fn of(&self, format: Format) -> &Provenance {
        match format {
            Format::Json => &self.search,
            _ => &self.result,
        }
    }
}

/// Notes what a network follows from: the same whoever found it.
pub fn about(request: &SearchRequest, score: f64, alpha: f64) -> Provenance {
    let mut notes = of_table(request.table());
    notes.add("score", format!("{score:?}"));
    for (name, text) in request.score_settings() {
        notes.add(name, text);
    }
    notes.add("alpha", alpha.to_string());
    notes
}

/// Notes the program and the table.
fn of_table(table: &Table) -> Provenance {
    let mut notes = Provenance::default();
    notes.add("program", concat!("rlbayes ", env!("CARGO_PKG_VERSION")));
    notes.add("table", table.name());
    notes.add(
        "table_fingerprint",
        hex::encode(&table.data().fingerprint()),
    );
    notes.add("rows", table.rows().to_string());
    notes
}
