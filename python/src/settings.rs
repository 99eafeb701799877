//! The settings of a search, by keyword.

use crate::failure;
use crate::network::Network;
use pyo3::prelude::*;
use rlbayes::units::{parse_size, parse_stagnation, parse_time};
use rlbayes::{Algorithm, Budget, LogScore, NamedConstraints, Proving, Score, SearchSettings};

/// The settings of a search.
#[pyclass(frozen, module = "rlbayes._engine")]
pub(crate) struct Settings(pub(crate) SearchSettings);

#[pymethods]
impl Settings {
    #[new]
    #[pyo3(signature = (*, score="bic", ess=1.0, penalty_scale=1.0, required=Vec::new(), forbidden=Vec::new(), tiers=Vec::new(), max_parents=None, start=None, search="rlbayes", search_options=Vec::new(), seed=1, time=None, cpu_time=None, iterations=None, evaluations=None, target=None, stagnation=None, threads=None, chains=None, memory=None, deterministic=false, round_evaluations=200_000, prove="auto"))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        score: &str,
        ess: f64,
        penalty_scale: f64,
        required: Vec<(String, String)>,
        forbidden: Vec<(String, String)>,
        tiers: Vec<Vec<String>>,
        max_parents: Option<usize>,
        start: Option<&Network>,
        search: &str,
        search_options: Vec<(String, f64)>,
        seed: u64,
        time: Option<&str>,
        cpu_time: Option<&str>,
        iterations: Option<u64>,
        evaluations: Option<u64>,
        target: Option<f64>,
        stagnation: Option<&str>,
        threads: Option<u32>,
        chains: Option<u32>,
        memory: Option<&str>,
        deterministic: bool,
        round_evaluations: u64,
        prove: &str,
    ) -> PyResult<Self> {
        let target = match target {
            Some(number) => Some(
                LogScore::checked(number)
                    .ok_or_else(|| failure::input("target: NaN is not a score"))?,
            ),
            None => None,
        };
        Ok(Self(SearchSettings {
            score: score_of(score, ess)?,
            penalty_scale,
            constraints: NamedConstraints {
                required,
                forbidden,
                tiers,
                max_parents,
            },
            start: start.map(|network| network.inner.clone()),
            algorithm: algorithm(search, &search_options)?,
            seed,
            budget: Budget {
                cpu_time: cpu_time
                    .map(parse_time)
                    .transpose()
                    .map_err(failure::input)?,
                time: time.map(parse_time).transpose().map_err(failure::input)?,
                iterations,
                evaluations,
                target,
                stagnation: stagnation
                    .map(parse_stagnation)
                    .transpose()
                    .map_err(failure::input)?,
            },
            threads,
            chains,
            memory: memory.map(parse_size).transpose().map_err(failure::input)?,
            deterministic,
            round_evaluations,
            prove: match prove {
                "off" => Proving::Off,
                "auto" => Proving::Auto,
                "only" => Proving::Only,
                other => {
                    let what = format!("prove=\"{other}\" is none of off, auto and only");
                    return Err(failure::input(what));
                }
            },
            ..SearchSettings::default()
        }))
    }
}

/// Returns a score by its name.
pub(crate) fn score_of(name: &str, ess: f64) -> PyResult<Score> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "bic" | "bic-d" => Score::Bic,
        "aic" | "aic-d" => Score::Aic,
        "bdeu" => Score::Bdeu { ess },
        "k2" => Score::K2,
        "loglik" | "ll-d" => Score::LogLik,
        _ => {
            let what = format!("score=\"{name}\" is none of bic, aic, bdeu, k2 and loglik");
            return Err(failure::input(what));
        }
    })
}

/// Returns a search by its name, with some of its settings.
fn algorithm(name: &str, options: &[(String, f64)]) -> PyResult<Algorithm> {
    let known = Algorithm::defaults();
    let Some(usual) = known.iter().find(|spec| spec.name() == name) else {
        let names: Vec<&str> = known.iter().map(Algorithm::name).collect();
        let what = format!("search=\"{name}\" is none of {}", names.join(", "));
        return Err(failure::input(what));
    };
    let usual = usual.settings().into_iter();
    let mut settings: Vec<(String, f64)> = usual
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    for (option, value) in options {
        let Some(place) = settings.iter_mut().find(|(known, _)| known == option) else {
            let names: Vec<&str> = settings.iter().map(|(name, _)| name.as_str()).collect();
            let what = format!(
                "the search {name} has no setting {option} (it has {})",
                names.join(", ")
            );
            return Err(failure::input(what));
        };
        place.1 = *value;
    }
    Algorithm::from_settings(name, &settings).map_err(failure::input)
}
