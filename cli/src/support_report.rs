//! The support of edges for people and for scripts.

use crate::units::counted;
use rlbayes::{Alternative, Draw, PairSupport, Support, SupportTable};
use rlbayes_common::graph::Joined;
use rlbayes_common::io::support_json;
use serde_json::{Value, json};
use std::fmt::Write;

/// What the numbers mean, in the help and in the report's last line.
pub(crate) const MEANING: &str = "\
Support 0.88 means: of 200 tables resampled from this one, 176 have a best network with an edge between \
the two variables. It is stability under resampling, not the probability that an edge is real or \
causal: an error that every resampled table repeats (a hidden common cause, a coarse binning, a score \
that is too strict) gets 1.00.";

/// The same in one line, where people see the numbers.
pub(crate) const IN_SHORT: &str =
    "stability under resampling, not the probability that an edge is real";

/// Pairs with less support are in the files only: nearly all of them are accidents.
const SHOWN: f64 = 0.1;
/// The most lines of the table; the rest is in the files.
const MOST_LINES: usize = 60;
/// The most alternatives that are named.
const MOST_ALTERNATIVES: usize = 10;

/// Returns the report.
pub(crate) fn report(support: &Support) -> String {
    let table = support.table();
    let request = support.request();
    let (least, mean, most) = table.tally().edges();
    let mut text = format!(
        "{} resampled {}, score {}, ",
        support.replicates(),
        if support.replicates() == 1 {
            "table"
        } else {
            "tables"
        },
        request.score_name()
    );
    if let Some(best) = table.best() {
        let _ = write!(
            text,
            "{} in the best network, ",
            counted(best.edge_count(), "edge")
        );
    }
    let _ = writeln!(text, "{mean:.1} in a replicate ({least} to {most})");
    if let Some(interrupted) = interrupted(support) {
        let _ = writeln!(text, "  {interrupted}");
    }
    text += &edge_table(table);
    let pairs = table.pairs();
    let threshold = request.threshold();
    let over = pairs.iter().filter(|pair| pair.strength() >= threshold);
    let unseen = pairs.iter().filter(|pair| pair.strength() < SHOWN).count();
    let _ = writeln!(
        text,
        "  {} at {threshold} or more, L1 threshold {:.2} (for information); {} below {SHOWN} not shown",
        counted(over.count(), "pair"),
        table.l1_threshold(),
        counted(unseen, "pair"),
    );
    for note in notes(support) {
        let _ = writeln!(text, "  {note}");
    }
    let _ = writeln!(text, "  support is {IN_SHORT}");
    text
}

/// Says so if there are fewer replicates than there were to be.
fn interrupted(support: &Support) -> Option<String> {
    let (done, of) = (support.replicates(), support.request().replicates());
    (done < of).then(|| format!("interrupted: based on {done} of {of} replicates"))
}

/// Returns what to be careful about, for a page: the table there has the edges of the best network
/// alone.
pub(crate) fn cautions(support: &Support) -> Vec<String> {
    let interrupted = interrupted(support).map(|text| format!("the support was {text}"));
    interrupted.into_iter().chain(notes(support)).collect()
}

/// Says where support and best network disagree, which edges stand in for each other, and what makes
/// support less than it looks.
fn notes(support: &Support) -> Vec<String> {
    let (table, request) = (support.table(), support.request());
    let mut notes = against_best(table, request.threshold());
    notes.extend(alternatives(table, &support.alternatives()));
    let (_, mean, _) = table.tally().edges();
    if let Some(best) = table.best()
        && best.edge_count() > 0
    {
        #[expect(clippy::cast_precision_loss, reason = "a count of edges")]
        let surplus = mean / best.edge_count() as f64;
        if surplus > 1.25 {
            notes.push(format!(
                "replicates have {surplus:.2} times the edges of the best network: low support overstates"
            ));
        }
    }
    let unfinished = support.replicates_unfinished();
    if unfinished > 0 {
        notes.push(format!(
            "{} had too few evaluations for one climb, and finished it all the same: raise --replicate-evaluations",
            counted(unfinished, "replicate")
        ));
    }
    notes
}

/// Returns the lines of pairs, the most supported first.
pub(crate) fn edge_table(table: &SupportTable) -> String {
    let mut text = String::from("  support  s.e.    ->    <-    --   edge\n");
    let shown: Vec<PairSupport> = table
        .pairs()
        .into_iter()
        .filter(|pair| pair.strength() >= SHOWN)
        .collect();
    for &pair in shown.iter().take(MOST_LINES) {
        let pair = table.read_forward(pair);
        let share = |count| pair.share(count);
        let _ = write!(
            text,
            "  {:>7.2} {:>5.2} {:>5.2} {:>5.2} {:>5.2}   {}",
            pair.strength(),
            pair.standard_error(),
            share(pair.marks.forward),
            share(pair.marks.backward),
            share(pair.marks.undirected),
            edge(table, &pair),
        );
        text += if table.is_in_best(&pair) { " *" } else { "" };
        text += if table.is_required(&pair) {
            " (required)"
        } else {
            ""
        };
        text += "\n";
    }
    if shown.len() > MOST_LINES {
        let _ = writeln!(
            text,
            "  … {} more (-o support.csv has all)",
            shown.len() - MOST_LINES
        );
    }
    if table.best().is_some() {
        text += "  * in the best network\n";
    }
    text
}

/// Writes a pair as people read it: an arrow where the direction is the commonest mark.
fn edge(table: &SupportTable, pair: &PairSupport) -> String {
    let (from, to) = (table.name(pair.from), table.name(pair.to));
    let mark = match pair.commonest() {
        Joined::Forward => "->",
        _ => "--",
    };
    format!("{from} {mark} {to}")
}

/// Says where support and best network disagree.
fn against_best(table: &SupportTable, threshold: f64) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(best) = table.best() else {
        return notes;
    };
    let weak: Vec<String> = best
        .edges()
        .map(|(from, to)| table.pair(from, to))
        .filter(|pair| pair.strength() < threshold)
        .map(|pair| named(table, &pair))
        .collect();
    if !weak.is_empty() {
        let have = if weak.len() == 1 { "has" } else { "have" };
        notes.push(format!(
            "{} of the best network {have} support below {threshold}: {}",
            counted(weak.len(), "edge"),
            listed(&weak)
        ));
    }
    let missing: Vec<String> = table
        .pairs()
        .iter()
        .filter(|pair| pair.strength() >= threshold && !table.is_in_best(pair))
        .map(|pair| named(table, pair))
        .collect();
    if !missing.is_empty() {
        notes.push(format!(
            "{} with support of {threshold} or more that the best network lacks: {}",
            counted(missing.len(), "pair"),
            listed(&missing)
        ));
    }
    notes
}

fn alternatives(table: &SupportTable, found: &[Alternative]) -> Vec<String> {
    let shown = found.iter().take(MOST_ALTERNATIVES).map(|pair| {
        format!(
            "{} and {} stand in for each other: {} of {} replicates have exactly one of them",
            named(table, &pair.one),
            named(table, &pair.other),
            pair.either,
            pair.one.networks
        )
    });
    let more = found.len().saturating_sub(MOST_ALTERNATIVES);
    let more = (more > 0).then(|| format!("… {more} more such pairs of edges"));
    shown.chain(more).collect()
}

fn named(table: &SupportTable, pair: &PairSupport) -> String {
    let (from, to) = (table.name(pair.from), table.name(pair.to));
    format!("{from} - {to} ({:.2})", pair.strength())
}

fn listed(names: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    crate::args::shorten(&names)
}

/// Returns the JSON that scripts rely on.
pub(crate) fn as_json(support: &Support, best_score: Option<f64>, keep_networks: bool) -> Value {
    let request = support.request();
    let table = support.table();
    let (least, mean, most) = table.tally().edges();
    let resampling = request.resampling();
    let mut result = json!({
        "method": "bootstrap",
        "replicates": support.replicates(),
        "replicates_wanted": request.replicates(),
        "rows": request.table().rows(),
        "rows_per_replicate": resampling.rows,
        "replacement": resampling.draw == Draw::WithReplacement,
        "score": request.score_name(),
        "seed": request.seed(),
        "evaluations_per_replicate": request.evaluations(),
        "replicates_unfinished": support.replicates_unfinished(),
        "threshold": {
            "rule": "fixed",
            "value": request.threshold(),
            "l1": table.l1_threshold(),
        },
        "edges_per_replicate": { "min": least, "mean": mean, "max": most },
        "edges_in_best": table.best().map(rlbayes_common::graph::Dag::edge_count),
        "distinct_classes": support.distinct_classes(),
        "variables": table.names(),
        "edges": support_json(table),
        "alternatives": support
            .alternatives()
            .iter()
            .map(|found| {
                let pair = |pair: &PairSupport| json!([table.name(pair.from), table.name(pair.to)]);
                json!({
                    "pairs": [pair(&found.one), pair(&found.other)],
                    "exactly_one": found.either,
                    "both": found.both,
                })
            })
            .collect::<Vec<_>>(),
    });
    if let Some(score) = best_score {
        result["best_score"] = score.into();
    }
    if keep_networks {
        result["networks"] = support
            .networks()
            .iter()
            .map(|(number, score, network)| {
                json!({ "replicate": number, "score": score, "edges": network.edges() })
            })
            .collect();
    }
    result
}
