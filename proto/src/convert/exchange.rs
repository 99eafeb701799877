//! Hellos, exchanges, orders and replies.

use super::rows::{EDGE_BYTES, seeds_from_wire, seeds_to_wire};
use super::{KnownRows, WireError, at_most, fixed, make_whole};
use crate::{MAX_FINDS, MAX_LIST_BYTES, MAX_REPORTS, PROTOCOL_VERSION, v1};
use prost::Message;
use rlbayes_common::elite::{EliteRow, Found};
use rlbayes_common::exchange::{
    Answer, ChainCounters, ChainOrder, ChainReport, ChainStatus, Exchange, Hello, Origin, Reply,
    Snapshot, Work, WorkerStatistics,
};
use rlbayes_common::ids::{ChainId, Incarnation, SearchId, WorkerId};
use rlbayes_common::search::{SeedCounts, StoppedBy};
use std::time::Duration;

const MOST_CHAINS: usize = 65_536;
/// Maximum length of a worker's host name.
pub const MOST_HOST_BYTES: usize = 255;
const MOST_VERSION_BYTES: usize = 64;
/// Maximum number of threads of a worker.
pub const MOST_THREADS: u32 = 65_536;

/// Writes a worker's introduction.
#[must_use]
pub fn hello_to_wire(hello: &Hello) -> v1::JoinRequest {
    v1::JoinRequest {
        protocol_version: PROTOCOL_VERSION,
        program_version: hello.program_version.clone(),
        incarnation: hello.incarnation.0,
        replaces: hello.replaces.map_or(0, |incarnation| incarnation.0),
        host: hello.host.clone(),
        threads: hello.threads,
        memory_bytes: hello.memory.unwrap_or(0),
        chains: hello.chains.iter().map(|chain| chain.0).collect(),
        search_id: search_id_to_wire(hello.search),
    }
}

/// Reads a worker's introduction.
///
/// # Errors
/// If a field is out of range.
pub fn hello_from_wire(hello: v1::JoinRequest) -> Result<Hello, WireError> {
    at_most("host", hello.host.len(), MOST_HOST_BYTES)?;
    at_most(
        "program_version",
        hello.program_version.len(),
        MOST_VERSION_BYTES,
    )?;
    at_most("chains", hello.chains.len(), MOST_CHAINS)?;
    if hello.threads == 0 || hello.threads > MOST_THREADS {
        return Err(WireError::Range("threads"));
    }
    if hello.incarnation == 0 {
        return Err(WireError::Range("incarnation"));
    }
    let search = if hello.search_id.is_empty() {
        None
    } else {
        Some(SearchId(fixed("search_id", &hello.search_id)?))
    };
    Ok(Hello {
        incarnation: Incarnation(hello.incarnation),
        replaces: (hello.replaces != 0).then_some(Incarnation(hello.replaces)),
        host: hello.host,
        threads: hello.threads,
        memory: (hello.memory_bytes != 0).then_some(hello.memory_bytes),
        program_version: hello.program_version,
        chains: hello.chains.into_iter().map(ChainId).collect(),
        search,
        work: Work::Search,
        peer: None,
    })
}

fn search_id_to_wire(search: Option<SearchId>) -> bytes::Bytes {
    search.map_or_else(bytes::Bytes::new, |id| id.0.to_vec().into())
}

/// Writes an exchange for somebody who knows these rows, as the sender does; of chain states it holds
/// the digests only.
#[must_use]
pub fn exchange_to_wire(
    search: SearchId,
    exchange: &Exchange,
    known: &KnownRows,
) -> v1::ExchangeRequest {
    let reports = exchange.reports.iter();
    v1::ExchangeRequest {
        protocol_version: PROTOCOL_VERSION,
        search_id: search_id_to_wire(Some(search)),
        worker: exchange.worker.0,
        incarnation: exchange.incarnation.0,
        reports: reports
            .map(|report| report_to_wire(report, known))
            .collect(),
        statistics: Some(statistics_to_wire(exchange.statistics)),
        bases: known
            .digests()
            .map(|digest| digest.to_vec().into())
            .collect(),
    }
}

/// Reads an exchange. `row` reads and checks a row of a chain, or leaves it out; `state` finds states
/// that were uploaded. Whoever knows the search sets what work it belongs to.
///
/// # Errors
/// If a field is out of range, or a state was not uploaded.
pub fn exchange_from_wire(
    exchange: v1::ExchangeRequest,
    mut row: impl FnMut(ChainId, &v1::Row) -> Result<Option<EliteRow>, WireError>,
    mut state: impl FnMut(ChainId, [u8; 32]) -> Option<Snapshot>,
) -> Result<Exchange, WireError> {
    at_most("reports", exchange.reports.len(), MAX_REPORTS)?;
    let mut reports = Vec::with_capacity(exchange.reports.len());
    for report in exchange.reports {
        at_most("finds", report.finds.len(), MAX_FINDS)?;
        let chain = ChainId(report.chain);
        let status = report.status();
        let mut finds = Vec::with_capacity(report.finds.len());
        for find in report.finds {
            let found = match find.found() {
                v1::Found::Best => Found::Best,
                v1::Found::Stalled => Found::Stalled,
                v1::Found::Unspecified => return Err(WireError::Range("found")),
            };
            let found_row = find.row.as_ref().ok_or(WireError::Missing("row"))?;
            if let Some(row) = row(chain, found_row)? {
                finds.push((found, row));
            }
        }
        let snapshot = if report.snapshot.is_empty() {
            None
        } else {
            let digest = fixed("snapshot", &report.snapshot)?;
            Some(state(chain, digest).ok_or(WireError::Missing("snapshot, uploaded before"))?)
        };
        reports.push(ChainReport {
            chain,
            sequence: report.sequence,
            finds,
            counters: report.counters.map(counters_from_wire).unwrap_or_default(),
            wants_seeds: report.wants_seeds,
            status: match status {
                v1::ChainStatus::Running => ChainStatus::Running,
                v1::ChainStatus::OutOfEvaluations => ChainStatus::OutOfEvaluations,
                v1::ChainStatus::OutOfIterations => ChainStatus::OutOfIterations,
                v1::ChainStatus::Exhausted => ChainStatus::Exhausted,
                v1::ChainStatus::Unspecified => return Err(WireError::Range("status")),
            },
            snapshot,
        });
    }
    Ok(Exchange {
        worker: WorkerId(exchange.worker),
        incarnation: Incarnation(exchange.incarnation),
        work: Work::Search,
        reports,
        statistics: exchange
            .statistics
            .map(statistics_from_wire)
            .unwrap_or_default(),
    })
}

/// Reads who sends an exchange and how it is doing, without its reports: enough to renew a lease.
#[must_use]
pub fn heartbeat_from_wire(exchange: &v1::ExchangeRequest) -> Exchange {
    let statistics = exchange.statistics.map(statistics_from_wire);
    Exchange {
        worker: WorkerId(exchange.worker),
        incarnation: Incarnation(exchange.incarnation),
        work: Work::Search,
        reports: Vec::new(),
        statistics: statistics.unwrap_or_default(),
    }
}

/// Returns how many bytes a row of a report takes at most.
#[must_use]
pub fn find_bytes(row: &EliteRow) -> usize {
    const BESIDES: usize = 32;
    let families = row.structure.families();
    let edges: usize = families.iter().map(|family| family.len()).sum();
    BESIDES + EDGE_BYTES * edges
}

/// Returns how many bytes a report takes at most.
#[must_use]
pub fn report_bytes(report: &ChainReport) -> usize {
    const BESIDES: usize = 192;
    let finds = report.finds.iter().map(|(_, row)| find_bytes(row));
    BESIDES + finds.sum::<usize>()
}

/// Takes items from the front of a list for as long as they fit [`MAX_LIST_BYTES`]; one always
/// does.
pub fn fitting<T: Message>(items: impl Iterator<Item = T>) -> Vec<T> {
    // The field's tag and its length.
    const BESIDES: usize = 6;
    let mut bytes = 0;
    let mut taken = Vec::new();
    for item in items {
        bytes += BESIDES + item.encoded_len();
        if bytes > MAX_LIST_BYTES && !taken.is_empty() {
            break;
        }
        taken.push(item);
    }
    taken
}

fn report_to_wire(report: &ChainReport, known: &KnownRows) -> v1::ChainReport {
    let status = match report.status {
        ChainStatus::Running => v1::ChainStatus::Running,
        ChainStatus::OutOfEvaluations => v1::ChainStatus::OutOfEvaluations,
        ChainStatus::OutOfIterations => v1::ChainStatus::OutOfIterations,
        ChainStatus::Exhausted => v1::ChainStatus::Exhausted,
    };
    v1::ChainReport {
        chain: report.chain.0,
        sequence: report.sequence,
        finds: report
            .finds
            .iter()
            .map(|(found, row)| v1::Find {
                found: match found {
                    Found::Best => v1::Found::Best,
                    Found::Stalled => v1::Found::Stalled,
                }
                .into(),
                row: Some(known.row_to_wire(row)),
            })
            .collect(),
        counters: Some(counters_to_wire(report.counters)),
        wants_seeds: report.wants_seeds,
        status: status.into(),
        snapshot: report
            .snapshot
            .as_ref()
            .map_or_else(bytes::Bytes::new, |snapshot| {
                snapshot.digest().to_vec().into()
            }),
    }
}

fn counters_to_wire(counters: ChainCounters) -> v1::Counters {
    v1::Counters {
        iterations: counters.iterations,
        evaluations: counters.evaluations,
        computed: counters.computed,
        seeds_received: counters.seeds.received,
        seeds_entered: counters.seeds.entered,
        seeds_made_current: counters.seeds.made_current,
    }
}

fn counters_from_wire(counters: v1::Counters) -> ChainCounters {
    // No chain counts this far; made-up counters can't overflow the sum over all chains.
    const MOST: u64 = 1 << 46;
    let most = |number: u64| number.min(MOST);
    ChainCounters {
        iterations: most(counters.iterations),
        evaluations: most(counters.evaluations),
        computed: most(counters.computed),
        seeds: SeedCounts {
            received: most(counters.seeds_received),
            entered: most(counters.seeds_entered),
            made_current: most(counters.seeds_made_current),
        },
    }
}

/// Writes how a worker is doing.
#[must_use]
pub fn statistics_to_wire(statistics: WorkerStatistics) -> v1::WorkerStatistics {
    v1::WorkerStatistics {
        cache_hits: statistics.cache_hits,
        cache_misses: statistics.cache_misses,
        cache_bytes: statistics.cache_bytes,
        memory_bytes: statistics.memory_bytes,
    }
}

fn statistics_from_wire(statistics: v1::WorkerStatistics) -> WorkerStatistics {
    WorkerStatistics {
        cache_hits: statistics.cache_hits,
        cache_misses: statistics.cache_misses,
        cache_bytes: statistics.cache_bytes,
        memory_bytes: statistics.memory_bytes,
    }
}

/// Writes an order for a worker that knows these rows.
#[must_use]
pub fn order_to_wire(order: &ChainOrder, known: &KnownRows) -> v1::ChainOrder {
    use v1::chain_order::Origin as Wire;
    v1::ChainOrder {
        chain: order.chain.0,
        sequence: order.sequence,
        evaluations: order.evaluations,
        iterations: order.iterations,
        origin: Some(match &order.origin {
            Origin::Start => Wire::Start(v1::StartOrigin {}),
            Origin::Pool(seeds) => Wire::Pool(seeds_to_wire(seeds, known)),
            Origin::Stored { digest, seeds } => Wire::Stored(v1::StoredOrigin {
                snapshot: digest.to_vec().into(),
                seeds: seeds.as_ref().map(|seeds| seeds_to_wire(seeds, known)),
            }),
        }),
    }
}

/// Reads an order.
///
/// # Errors
/// If a field is missing or out of range.
pub fn order_from_wire(order: &v1::ChainOrder, nodes: usize) -> Result<ChainOrder, WireError> {
    use v1::chain_order::Origin as Wire;
    let origin = match order.origin.as_ref().ok_or(WireError::Missing("origin"))? {
        Wire::Start(_) => Origin::Start,
        Wire::Pool(seeds) => Origin::Pool(seeds_from_wire(seeds, nodes)?),
        Wire::Stored(stored) => Origin::Stored {
            digest: fixed("snapshot", &stored.snapshot)?,
            seeds: stored
                .seeds
                .as_ref()
                .map(|seeds| seeds_from_wire(seeds, nodes))
                .transpose()?,
        },
    };
    Ok(ChainOrder {
        chain: ChainId(order.chain),
        sequence: order.sequence,
        evaluations: order.evaluations,
        iterations: order.iterations,
        origin,
    })
}

/// Writes a reply for a worker that knows these rows: as many answers and orders as fit. A worker that
/// misses an answer asks again, and orders are repeated until the worker reports on them.
#[must_use]
pub fn reply_to_wire(reply: &Reply, refused: Vec<String>, known: &KnownRows) -> v1::ExchangeReply {
    let answers = reply.answers.iter();
    let answers =
        answers.map(|(chain, sequence, answer)| answer_to_wire(*chain, *sequence, answer, known));
    let orders = reply.orders.iter();
    v1::ExchangeReply {
        answers: fitting(answers),
        orders: fitting(orders.map(|order| order_to_wire(order, known))),
        lease_millis: u64::try_from(reply.lease.as_millis()).unwrap_or(u64::MAX),
        stopped_by: reply.stopped_by.map_or("", StoppedBy::as_str).to_owned(),
        refused,
        more_work: reply.more_work,
    }
}

/// Reads a reply to somebody who knows these rows.
///
/// # Errors
/// If a field is missing or out of range.
pub fn reply_from_wire(
    mut reply: v1::ExchangeReply,
    nodes: usize,
    known: &KnownRows,
) -> Result<Reply, WireError> {
    make_whole(rows_of_reply(&mut reply), known)?;
    Ok(Reply {
        answers: reply
            .answers
            .iter()
            .map(|answer| answer_from_wire(answer, nodes))
            .collect::<Result<_, _>>()?,
        orders: reply
            .orders
            .iter()
            .map(|order| order_from_wire(order, nodes))
            .collect::<Result<_, _>>()?,
        lease: Duration::from_millis(reply.lease_millis),
        stopped_by: stopped_from_wire(&reply.stopped_by)?,
        more_work: reply.more_work,
    })
}

/// Returns the rows of all seeds in a reply.
fn rows_of_reply(reply: &mut v1::ExchangeReply) -> impl Iterator<Item = &mut v1::Row> {
    use v1::answer::Next;
    use v1::chain_order::Origin as Wire;
    let of_answers = reply
        .answers
        .iter_mut()
        .filter_map(|answer| match &mut answer.next {
            Some(Next::Continue(next)) => next.seeds.as_mut(),
            _ => None,
        });
    let of_orders = reply
        .orders
        .iter_mut()
        .filter_map(|order| match &mut order.origin {
            Some(Wire::Pool(seeds)) => Some(seeds),
            Some(Wire::Stored(stored)) => stored.seeds.as_mut(),
            _ => None,
        });
    let seeds = of_answers.chain(of_orders);
    seeds.flat_map(|seeds| seeds.best.iter_mut().chain(&mut seeds.mate))
}

/// Reads why a search ended; nothing if it has not.
pub(super) fn stopped_from_wire(text: &str) -> Result<Option<StoppedBy>, WireError> {
    match (text, StoppedBy::from_name(text)) {
        ("", _) => Ok(None),
        (_, Some(reason)) => Ok(Some(reason)),
        (_, None) => Err(WireError::Range("stopped_by")),
    }
}

fn answer_to_wire(chain: ChainId, sequence: u64, answer: &Answer, known: &KnownRows) -> v1::Answer {
    use v1::answer::Next;
    v1::Answer {
        chain: chain.0,
        sequence,
        next: Some(match answer {
            Answer::Continue { seeds, snapshot } => Next::Continue(v1::Continue {
                seeds: seeds.as_ref().map(|seeds| seeds_to_wire(seeds, known)),
                snapshot: *snapshot,
            }),
            Answer::Stop => Next::Stop(v1::Stop {}),
            Answer::Revoke => Next::Revoke(v1::Revoke {}),
        }),
    }
}

fn answer_from_wire(
    answer: &v1::Answer,
    nodes: usize,
) -> Result<(ChainId, u64, Answer), WireError> {
    use v1::answer::Next;
    let next = match answer.next.as_ref().ok_or(WireError::Missing("next"))? {
        Next::Continue(next) => Answer::Continue {
            seeds: next
                .seeds
                .as_ref()
                .map(|seeds| seeds_from_wire(seeds, nodes))
                .transpose()?,
            snapshot: next.snapshot,
        },
        Next::Stop(_) => Answer::Stop,
        Next::Revoke(_) => Answer::Revoke,
    };
    Ok((ChainId(answer.chain), answer.sequence, next))
}
