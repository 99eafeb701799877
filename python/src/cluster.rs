//! A coordinator, asked over gRPC. Each call runs on the thread that makes it: nothing is left behind
//! that a fork could break.

use crate::failure;
use crate::network::Network;
use crate::signals::answer;
use pyo3::prelude::*;
use rlbayes::provenance::ProvenanceNotes;
use rlbayes_client::{ClientError, Connection, failed};
use rlbayes_coordinator::status::to_json;
use rlbayes_proto::v1::StatusReply;
use std::sync::Mutex;
use std::time::Duration;
use tokio::runtime::Runtime;

/// How a coordinator is reached.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct Coordinator(Connection);

fn runtime() -> PyResult<Runtime> {
    let made = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    made.map_err(|error| failure::input(format!("there is no runtime for the call: {error}")))
}

impl Coordinator {
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl Future<Output = Result<T, ClientError>> + Send,
    ) -> PyResult<T> {
        let runtime = runtime()?;
        let answer = answer(py, &runtime, question);
        // Without waiting for a name that is still being looked up.
        runtime.shutdown_background();
        answer?.map_err(failure::client)
    }
}

#[pymethods]
impl Coordinator {
    #[new]
    #[pyo3(signature = (url, token=None, authority=None, certificate=None, key=None, name=None))]
    fn new(
        url: String,
        token: Option<String>,
        authority: Option<Vec<u8>>,
        certificate: Option<Vec<u8>>,
        key: Option<Vec<u8>>,
        name: Option<String>,
    ) -> Self {
        Self(Connection {
            url,
            token,
            authority,
            identity: certificate.zip(key),
            name,
        })
    }

    /// Returns the status as JSON.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        let reply = self.ask(py, rlbayes_client::status(&self.0))?;
        Ok(to_json(&reply).to_string())
    }

    /// Ends the search; returns the status as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        let reply = self.ask(py, rlbayes_client::stop(&self.0))?;
        Ok(to_json(&reply).to_string())
    }

    /// Returns the result's JSON, its network, and why that has no probabilities, if it has none.
    fn result(&self, py: Python<'_>) -> PyResult<(String, Network, Option<String>)> {
        let found = self.ask(py, rlbayes_client::fetch(&self.0))?;
        let network = Network {
            class: Some(found.class()),
            notes: ProvenanceNotes::read(found.provenance()),
            inner: found.network.into(),
        };
        Ok((found.json, network, found.not_fitted))
    }

    /// Begins to watch.
    fn watch(&self, py: Python<'_>) -> PyResult<Watch> {
        let runtime = runtime()?;
        match answer(py, &runtime, rlbayes_client::watch(&self.0)) {
            Ok(Ok(stream)) => Ok(Watch {
                url: self.0.url.clone(),
                stream: Mutex::new((runtime, stream)),
            }),
            Ok(Err(error)) => Err(failure::client(error)),
            Err(raised) => {
                runtime.shutdown_background();
                Err(raised)
            }
        }
    }
}

/// The status, whenever it changes.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct Watch {
    url: String,
    stream: Mutex<(Runtime, tonic::Streaming<StatusReply>)>,
}

#[pymethods]
impl Watch {
    /// Waits for the next status: (whether there will be none any more, its JSON if there is one).
    fn next(&self, py: Python<'_>, seconds: f64) -> PyResult<(bool, Option<String>)> {
        let patience = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let news = py.detach(|| {
            let mut stream = self.stream.lock().map_err(failure::bug)?;
            let (runtime, stream) = &mut *stream;
            let next = async { tokio::time::timeout(patience, stream.message()).await };
            Ok::<_, PyErr>(runtime.block_on(next))
        })?;
        match news {
            Err(_) => Ok((false, None)),
            Ok(Ok(None)) => Ok((true, None)),
            Ok(Ok(Some(status))) => Ok((false, Some(to_json(&status).to_string()))),
            Ok(Err(status)) => {
                let error = answer(py, &runtime()?, failed(&self.url, &status))?;
                Err(failure::client(error))
            }
        }
    }
}
