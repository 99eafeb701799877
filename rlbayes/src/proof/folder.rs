//! A proof in a folder: its certificate as far as it goes, from which the same command continues.

use super::Proof;
use crate::request::SearchRequest;
use rlbayes_common::files::{set_aside, write_whole};
use rlbayes_common::proof::{CertificateError, Prover, StoredProof, read_stored, read_subject};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use std::{fs, io};
use thiserror::Error;

/// How often the proof is written while the gap is closed.
pub(super) const KEEP_EVERY: Duration = Duration::from_secs(5);

/// The name of the file in the folder.
const FILE: &str = "unfinished.proof";

/// Why a proof can't be kept in a folder.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProofFolderError {
    /// The folder or the file in it refuses.
    #[error("{}: {problem}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What it says.
        problem: io::Error,
    },
    /// The folder holds a proof about something else.
    #[error("{} holds a proof about another table, score or constraints", folder.display())]
    AnotherProof {
        /// The folder.
        folder: PathBuf,
    },
}

/// A folder that keeps a proof.
#[derive(Debug)]
pub(super) struct ProofFolder {
    path: PathBuf,
    /// Whether the last write failed: logged once.
    refused: AtomicBool,
}

impl ProofFolder {
    /// Opens or makes the folder, and reads the proof in it, if there is one. What cannot be read is
    /// set aside.
    pub(super) fn open(
        folder: &Path,
        request: &SearchRequest,
        prover: &Prover,
        warn: &mut dyn FnMut(String),
    ) -> Result<(Self, Option<StoredProof>), ProofFolderError> {
        let path = folder.join(FILE);
        let file = |path: &Path| {
            let path = path.to_owned();
            move |problem| ProofFolderError::File { path, problem }
        };
        fs::create_dir_all(folder).map_err(file(folder))?;
        let kept = Self {
            path: path.clone(),
            refused: AtomicBool::new(false),
        };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((kept, None)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                warn(set_aside(&path, "it is not text"));
                return Ok((kept, None));
            }
            Err(error) => return Err(file(&path)(error)),
        };
        let another = || ProofFolderError::AnotherProof {
            folder: folder.to_owned(),
        };
        let spec = prover.spec();
        let score = (
            spec.name().as_str().to_owned(),
            spec.ess(),
            spec.penalty_scale(),
        );
        let same = |text: &str| {
            let subject = read_subject(text)?;
            Ok(subject.score == score && subject.constraints == *request.named_constraints())
        };
        let stored = match same(&text) {
            Ok(false) => return Err(another()),
            Ok(true) => read_stored(&text, prover),
            Err(error) => Err(error),
        };
        match stored {
            Ok(stored) => Ok((kept, stored)),
            Err(error @ (CertificateError::Damaged(_) | CertificateError::Format(_))) => {
                warn(set_aside(&path, &error.to_string()));
                Ok((kept, None))
            }
            // Its seal is whole, so it is what was written: for other rows.
            Err(_) => Err(another()),
        }
    }

    /// Writes the proof as it is. A disk that refuses does not end the work.
    pub(super) fn keep(&self, proof: &Proof) {
        let Some(text) = proof.certificate() else {
            return;
        };
        match write_whole(&self.path, text.as_bytes()) {
            Ok(()) => self.refused.store(false, Relaxed),
            Err(error) => {
                if !self.refused.swap(true, Relaxed) {
                    tracing::warn!(%error, "the proof cannot be saved; the work continues");
                }
            }
        }
    }
}
