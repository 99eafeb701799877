//! The prover beside a cluster's search: a thread of the coordinator's process. It begins when the
//! first network is known, and ends the search when no better one is possible.

use super::bound_note::BoundNote;
use rlbayes::{SearchRequest, SideProof, StoppedBy, gap_below};
use rlbayes_coordinator::event_loop::{Handle, Published};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// How often the prover and the search are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Proves until the search is over. `bound` is set once no network scores higher than it, and is in
/// its note before.
pub(super) async fn prove_beside(
    request: SearchRequest,
    bound: Arc<OnceLock<f64>>,
    note: BoundNote,
    handle: Handle,
    published: watch::Receiver<Published>,
) {
    let mut prover: Option<SideProof> = None;
    let mut given = None;
    let mut proven = None;
    let mut refused = false;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let view = Arc::clone(&published.borrow().view);
        if view.stopped_by.is_some() || published.has_changed().is_err() {
            break;
        }
        let Some(best) = &view.best else { continue };
        if bound.get().is_none()
            && proven.is_none()
            && given != Some(best.score)
            && let Ok(dag) = best.structure.to_dag()
        {
            match (&prover, given) {
                (Some(prover), _) => prover.improved(dag),
                (None, None) => match SideProof::start(&request, &dag) {
                    Ok(Some(started)) => prover = Some(started),
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(%error, "there is no thread for the prover");
                        return;
                    }
                },
                (None, Some(_)) => {}
            }
            given = Some(best.score);
        }
        if let Some(proof) = prover.as_mut().and_then(SideProof::finished) {
            prover = None;
            if !proof.covers_all() || !proof.bound().is_finite() {
                return;
            }
            proven = Some(proof.bound());
        }
        // Nobody is shown a bound that a restart would forget.
        if let Some(shown) = proven
            && bound.get().is_none()
        {
            match note.write(shown) {
                Ok(()) => {
                    let _ = bound.set(shown);
                }
                Err(error) if !refused => {
                    refused = true;
                    tracing::warn!(%error, "the proven bound cannot be saved yet");
                }
                Err(_) => {}
            }
        }
        // The prover may know a better network than the workers: then they have still to find it.
        let is_proven =
            |bound: &f64| gap_below(*bound, best.score.value()).is_some_and(|gap| gap <= 0.0);
        if bound.get().is_some_and(is_proven) && handle.stop(StoppedBy::Proven).await.is_ok() {
            break;
        }
    }
    if let Some(prover) = prover {
        let _ = tokio::task::spawn_blocking(move || prover.end()).await;
    }
}
