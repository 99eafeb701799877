//! Named steps at which a test can end the process as `kill -9` would. Without the feature
//! `failpoints`, which only tests turn on, this is nothing.

/// Ends the process if `RLBAYES_FAILPOINT` is `NAME:K` with this name and this is the K-th pass.
#[cfg(feature = "failpoints")]
pub fn pass(name: &str) {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static WANTED: OnceLock<Option<(String, u64)>> = OnceLock::new();
    static PASSES: AtomicU64 = AtomicU64::new(0);
    let wanted = WANTED.get_or_init(|| {
        let text = std::env::var("RLBAYES_FAILPOINT").ok()?;
        let (name, pass) = text.split_once(':')?;
        Some((name.to_owned(), pass.parse().ok()?))
    });
    if let Some((wanted, pass)) = wanted
        && wanted == name
        && PASSES.fetch_add(1, Relaxed) + 1 == *pass
    {
        std::process::abort();
    }
}

/// Does nothing: the feature `failpoints` is off.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn pass(_name: &str) {}
