//! A result as it was sent, and what its JSON says about the network.

use rlbayes_common::graph::Cpdag;
use rlbayes_common::io::Provenance;
use rlbayes_common::network::NetworkFile;
use serde_json::Value;
use std::collections::BTreeSet;

/// A result as it was sent.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// What `learn --json` prints.
    pub json: String,
    /// The best network.
    pub network: NetworkFile,
    /// Why it has no probabilities, if it has none.
    pub not_fitted: Option<String>,
}

impl Fetched {
    /// Returns the network's class under the constraints of the search.
    #[must_use]
    pub fn class(&self) -> Cpdag {
        let json = self.parsed();
        let directed: BTreeSet<[&str; 2]> = json["cpdag"]["directed"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|edge| Some([edge[0].as_str()?, edge[1].as_str()?]))
            .collect();
        let named = self.network.named_dag();
        let names = named.names();
        Cpdag::of_constrained(named.dag(), |from, to| {
            directed.contains(&[names[from.index()].as_str(), names[to.index()].as_str()])
        })
    }

    /// Returns where the network comes from.
    #[must_use]
    pub fn provenance(&self) -> Provenance {
        let mut provenance = Provenance::default();
        for (name, text) in self.parsed()["provenance"]
            .as_object()
            .into_iter()
            .flatten()
        {
            provenance.add(name, text.as_str().unwrap_or_default());
        }
        provenance
    }

    fn parsed(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or_default()
    }
}
