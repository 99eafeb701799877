//! What is stored or sent as bytes: chains, rows, seeds and tables, bincode behind an envelope of magic, kind,
//! format version, length and checksum. The only module that touches bincode; stored types have
//! private twins here, so that the engine's own types can change freely.
//!
//! Everything that is decoded is checked: sizes, ranges, order of parents, acyclicity.

use crate::data::{Schema, Table, Variable};
use crate::elite::{EliteRow, Structure};
use crate::exchange::{ChainCounters, ChainStatus, Snapshot, StoredChain};
use crate::ids::NodeIdx;
use crate::score::LogScore;
use crate::search::{Fields, Lists, SavedChain, SeedCounts, Seeds};
use bincode::error::DecodeError;
use bincode::{Decode, Encode};
use std::cmp::Ordering;
use std::sync::Arc;
use thiserror::Error;

const MAGIC: [u8; 8] = *b"RLBAYES\n";
/// Goes up with every change of what is stored: nothing is guessed from bytes of another version.
const VERSION: u32 = 2;
const CHECKSUM_BYTES: usize = 32;
/// Magic, kind, version, length, checksum.
const HEADER_BYTES: usize = 8 + 4 + 4 + 8 + CHECKSUM_BYTES;
/// The largest content that is written or read.
pub const MAX_CONTENT_BYTES: usize = 1 << 30;

/// What an envelope holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Chain = 1,
    Row = 2,
    Table = 3,
    StoredChain = 4,
}

/// Why bytes are not a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SnapshotError {
    /// It does not begin like one.
    #[error("this is not an RLBayes snapshot")]
    Magic,
    /// It holds something else.
    #[error("the snapshot holds something else (kind {found}, expected {expected})")]
    Kind {
        /// The kind asked for.
        expected: u32,
        /// The kind found.
        found: u32,
    },
    /// It was written by an earlier program.
    #[error("it was written by an earlier version of rlbayes (format {0}, this one has {VERSION})")]
    Earlier(u32),
    /// It was written by a newer program.
    #[error("it was written by a newer version of rlbayes (format {0}, this one has {VERSION})")]
    Newer(u32),
    /// It is cut off or has bytes behind its end.
    #[error("the snapshot has {found} bytes of content where {expected} were expected")]
    Length {
        /// As the header says.
        expected: u64,
        /// As found.
        found: u64,
    },
    /// It was changed.
    #[error("the snapshot's checksum does not match: the file is damaged")]
    Checksum,
    /// The content does not decode.
    #[error("the snapshot's content cannot be read")]
    Content,
    /// A structure in it is not one of this search.
    #[error("the snapshot holds a structure that does not fit: {0}")]
    Structure(&'static str),
}

impl SnapshotError {
    /// Returns whether the bytes are of another version of the program: then they are not damaged,
    /// and that version can still use them.
    #[must_use]
    pub fn is_other_version(&self) -> bool {
        matches!(self, Self::Earlier(_) | Self::Newer(_))
    }
}

#[derive(Encode, Decode)]
struct RowV1 {
    parents: Vec<Vec<u16>>,
    score: f64,
}

#[derive(Encode, Decode)]
struct ChainV2 {
    random: [u64; 4],
    iterations: u64,
    evaluations: u64,
    computed: u64,
    seeds: [u64; 3],
    best: Option<RowV1>,
    search: String,
    version: u32,
    integers: Vec<(String, Vec<u64>)>,
    numbers: Vec<(String, Vec<f64>)>,
    rows: Vec<(String, Vec<RowV1>)>,
}

#[derive(Encode, Decode)]
struct TableV1 {
    variables: Vec<(String, Vec<String>)>,
    columns: Vec<Vec<u8>>,
}

#[derive(Encode, Decode)]
struct SeedsV2 {
    best: Option<RowV1>,
    mate: RowV1,
}

#[derive(Encode, Decode)]
struct StoredChainV2 {
    snapshot: Vec<u8>,
    seeds: Option<SeedsV2>,
    reseeds: u64,
    counters: [u64; 6],
    status: u8,
}

/// Writes a chain as it stands at a barrier.
#[must_use]
pub fn encode_stored_chain(chain: &StoredChain) -> Vec<u8> {
    let status = ChainStatus::ALL.iter().position(|&s| s == chain.status);
    let twin = StoredChainV2 {
        snapshot: chain.snapshot.bytes().to_vec(),
        seeds: chain.seeds.as_ref().map(seeds_twin),
        reseeds: chain.reseeds,
        counters: chain.counters.to_figures(),
        status: status.and_then(|at| u8::try_from(at).ok()).unwrap_or(0),
    };
    seal(Kind::StoredChain, &twin)
}

/// Reads a chain as it stood at a barrier, for a problem with `nodes` variables.
///
/// # Errors
/// If the bytes are not a whole, undamaged chain of that size.
pub fn decode_stored_chain(bytes: &[u8], nodes: usize) -> Result<StoredChain, SnapshotError> {
    let twin: StoredChainV2 = open(Kind::StoredChain, bytes)?;
    decode_chain(&twin.snapshot, nodes)?;
    Ok(StoredChain {
        snapshot: Snapshot::new(twin.snapshot),
        seeds: twin
            .seeds
            .map(|seeds| seeds_back(seeds, nodes))
            .transpose()?,
        reseeds: twin.reseeds,
        counters: ChainCounters::from_figures(twin.counters),
        status: *ChainStatus::ALL
            .get(usize::from(twin.status))
            .ok_or(SnapshotError::Structure("its status is unknown"))?,
    })
}

/// Writes a table.
#[must_use]
pub fn encode_table(table: &Table) -> Vec<u8> {
    let variables = table.schema().variables().iter();
    let twin = TableV1 {
        variables: variables
            .map(|variable| (variable.name().to_owned(), variable.states().to_vec()))
            .collect(),
        columns: NodeIdx::all(table.nodes())
            .map(|node| table.column(node).to_vec())
            .collect(),
    };
    seal(Kind::Table, &twin)
}

/// Reads a table.
///
/// # Errors
/// If the bytes are not a whole, undamaged table.
pub fn decode_table(bytes: &[u8]) -> Result<Table, SnapshotError> {
    let twin: TableV1 = open(Kind::Table, bytes)?;
    let unfit = |_| SnapshotError::Structure("its variables are not those of a table");
    let variables = twin
        .variables
        .into_iter()
        .map(|(name, states)| Variable::in_order(name, states).map_err(unfit))
        .collect::<Result<Vec<_>, _>>()?;
    let in_order = variables.is_sorted_by(|a, b| a.name() < b.name());
    if !in_order {
        return Err(SnapshotError::Structure("its variables are not in order"));
    }
    let schema = Schema::new(variables).map_err(unfit)?;
    Table::new(schema, twin.columns)
        .map_err(|_| SnapshotError::Structure("its cells are not those of its variables"))
}

fn seeds_twin(seeds: &Seeds) -> SeedsV2 {
    SeedsV2 {
        best: seeds.best.as_ref().map(row_twin),
        mate: row_twin(&seeds.mate),
    }
}

fn seeds_back(twin: SeedsV2, nodes: usize) -> Result<Seeds, SnapshotError> {
    Ok(Seeds {
        best: twin.best.map(|row| row_back(row, nodes)).transpose()?,
        mate: row_back(twin.mate, nodes)?,
    })
}

/// Writes a chain's state.
#[must_use]
pub fn encode_chain(chain: &SavedChain) -> Vec<u8> {
    let SeedCounts {
        received,
        entered,
        made_current,
    } = chain.seeds;
    let twin = ChainV2 {
        random: chain.random,
        iterations: chain.iterations,
        evaluations: chain.evaluations,
        computed: chain.computed,
        seeds: [received, entered, made_current],
        best: chain.best.as_ref().map(row_twin),
        search: chain.search.to_string(),
        version: chain.version,
        integers: named(&chain.own.integers, u64::clone),
        numbers: named(&chain.own.numbers, f64::clone),
        rows: named(&chain.own.rows, row_twin),
    };
    seal(Kind::Chain, &twin)
}

/// Reads a chain's state for a problem with `nodes` variables.
///
/// # Errors
/// If the bytes are not a whole, undamaged chain of that size.
pub fn decode_chain(bytes: &[u8], nodes: usize) -> Result<SavedChain, SnapshotError> {
    let twin: ChainV2 = open(Kind::Chain, bytes)?;
    let [received, entered, made_current] = twin.seeds;
    Ok(SavedChain {
        random: twin.random,
        iterations: twin.iterations,
        evaluations: twin.evaluations,
        computed: twin.computed,
        seeds: SeedCounts {
            received,
            entered,
            made_current,
        },
        best: twin.best.map(|row| row_back(row, nodes)).transpose()?,
        search: twin.search.into(),
        version: twin.version,
        own: Fields {
            integers: lists(twin.integers, Ok)?,
            numbers: lists(twin.numbers, Ok)?,
            rows: lists(twin.rows, |row| row_back(row, nodes))?,
        },
    })
}

fn named<T, U>(lists: &Lists<T>, twin: impl Fn(&T) -> U) -> Vec<(String, Vec<U>)> {
    let lists = lists.iter();
    lists
        .map(|(name, list)| (name.to_string(), list.iter().map(&twin).collect()))
        .collect()
}

fn lists<T, U>(
    named: Vec<(String, Vec<U>)>,
    back: impl Fn(U) -> Result<T, SnapshotError>,
) -> Result<Lists<T>, SnapshotError> {
    let lists = named.into_iter().map(|(name, list)| {
        let list: Result<Vec<T>, SnapshotError> = list.into_iter().map(&back).collect();
        Ok((name.into(), list?))
    });
    lists.collect()
}

/// Writes a row.
#[must_use]
pub fn encode_row(row: &EliteRow) -> Vec<u8> {
    seal(Kind::Row, &row_twin(row))
}

/// Reads a row for a problem with `nodes` variables.
///
/// # Errors
/// If the bytes are not a whole, undamaged row of that size.
pub fn decode_row(bytes: &[u8], nodes: usize) -> Result<EliteRow, SnapshotError> {
    row_back(open(Kind::Row, bytes)?, nodes)
}

fn row_twin(row: &EliteRow) -> RowV1 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "NodeIdx::MAX_NODES fits 16 bits"
    )]
    let index = |node: &NodeIdx| node.index() as u16;
    let parents = row
        .structure
        .families()
        .iter()
        .map(|family| family.iter().map(index).collect())
        .collect();
    RowV1 {
        parents,
        score: row.score.value(),
    }
}

fn row_back(row: RowV1, nodes: usize) -> Result<EliteRow, SnapshotError> {
    if row.parents.len() != nodes {
        return Err(SnapshotError::Structure("its number of variables differs"));
    }
    let mut families: Vec<Arc<[NodeIdx]>> = Vec::with_capacity(nodes);
    for family in row.parents {
        if family.iter().any(|&parent| usize::from(parent) >= nodes) {
            return Err(SnapshotError::Structure(
                "it names a variable that is not there",
            ));
        }
        if !family.is_sorted_by(|a, b| a < b) {
            return Err(SnapshotError::Structure("parents are not in order"));
        }
        families.push(
            family
                .iter()
                .map(|&parent| NodeIdx::new(usize::from(parent)))
                .collect(),
        );
    }
    let structure = Structure::from_families(families);
    if structure.to_dag().is_err() {
        return Err(SnapshotError::Structure("it has a cycle"));
    }
    let score = LogScore::checked(row.score)
        .ok_or(SnapshotError::Structure("its score is not a number"))?;
    Ok(EliteRow { structure, score })
}

fn seal(kind: Kind, content: &impl Encode) -> Vec<u8> {
    // Encoding plain vectors and numbers into memory can't fail.
    let content = bincode::encode_to_vec(content, bincode::config::standard()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + content.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&(kind as u32).to_le_bytes());
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    bytes.extend_from_slice(blake3::hash(&content).as_bytes());
    bytes.extend_from_slice(&content);
    bytes
}

fn open<T: Decode<()>>(kind: Kind, bytes: &[u8]) -> Result<T, SnapshotError> {
    let (header, content) = bytes
        .split_at_checked(HEADER_BYTES)
        .ok_or(SnapshotError::Magic)?;
    let (magic, header) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(SnapshotError::Magic);
    }
    let number = |range: std::ops::Range<usize>| {
        header[range]
            .iter()
            .rev()
            .fold(0u64, |number, &byte| number << 8 | u64::from(byte))
    };
    #[expect(clippy::cast_possible_truncation, reason = "four bytes each")]
    let (found, version) = (number(0..4) as u32, number(4..8) as u32);
    match version.cmp(&VERSION) {
        Ordering::Less => return Err(SnapshotError::Earlier(version)),
        Ordering::Greater => return Err(SnapshotError::Newer(version)),
        Ordering::Equal => {}
    }
    if found != kind as u32 {
        return Err(SnapshotError::Kind {
            expected: kind as u32,
            found,
        });
    }
    let (expected, found) = (number(8..16), content.len() as u64);
    if expected != found || content.len() > MAX_CONTENT_BYTES {
        return Err(SnapshotError::Length { expected, found });
    }
    if header[16..] != *blake3::hash(content).as_bytes() {
        return Err(SnapshotError::Checksum);
    }
    decode(content).map_err(|_| SnapshotError::Content)
}

/// How many times its encoding a value may take in memory: an empty list is one byte, and a `Vec`
/// of 24 in its place.
const MOST_GROWTH: usize = size_of::<Vec<u8>>();
/// The least that may be reserved, whatever the length.
const LEAST_LIMIT: usize = 1 << 12;

/// Decodes a content, and reserves no more memory than such a content can need. bincode counts
/// lists as they are announced, before they are read, against a limit that is part of the type:
/// hence the steps, each four times the one before, so that at most `4 * MOST_GROWTH` bytes are
/// reserved for each byte of the content.
fn decode<T: Decode<()>>(content: &[u8]) -> Result<T, DecodeError> {
    let needed = content.len().saturating_mul(MOST_GROWTH);
    macro_rules! within {
        ($($step:literal)+) => {
            $(if needed <= LEAST_LIMIT << $step {
                return decode_within::<T, { LEAST_LIMIT << $step }>(content);
            })+
        };
    }
    within!(0 2 4 6 8 10 12 14 16);
    decode_within::<T, MAX_CONTENT_BYTES>(content)
}

fn decode_within<T: Decode<()>, const LIMIT: usize>(content: &[u8]) -> Result<T, DecodeError> {
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let (value, used) = bincode::decode_from_slice(content, config)?;
    if used != content.len() {
        return Err(DecodeError::Other("there are bytes behind the end"));
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Dag;

    fn row(edges: &[(usize, usize)], score: f64) -> EliteRow {
        let edges = edges
            .iter()
            .map(|&(a, b)| (NodeIdx::new(a), NodeIdx::new(b)));
        let structure = Structure::of(&Dag::from_edges(4, edges).unwrap());
        EliteRow {
            structure,
            score: LogScore::new(score),
        }
    }

    fn chain() -> SavedChain {
        SavedChain {
            random: [1, 2, 3, u64::MAX],
            iterations: 10,
            evaluations: 1 << 40,
            computed: 7,
            seeds: SeedCounts {
                received: 1,
                entered: 2,
                made_current: 3,
            },
            best: Some(row(&[(0, 1), (2, 1)], -12.5)),
            search: "hc".into(),
            version: 3,
            own: Fields::default()
                .with_rows(
                    "some",
                    [row(&[], f64::NEG_INFINITY), row(&[(3, 0)], -1e-300)],
                )
                .with_rows("none", [])
                .with_integers("whole", [0, u64::MAX])
                .with_numbers("other", [f64::NEG_INFINITY, 0.1]),
        }
    }

    #[test]
    fn chains_and_rows_survive_the_round_trip() {
        assert_eq!(decode_chain(&encode_chain(&chain()), 4).unwrap(), chain());
        let row = row(&[(0, 1), (0, 3)], -3.25);
        assert_eq!(decode_row(&encode_row(&row), 4).unwrap(), row);
    }

    #[test]
    fn tables_and_stored_chains_survive_the_round_trip() {
        let variable = |name: &str| Variable::new(name, vec!["no".into(), "yes".into()]).unwrap();
        let schema = Schema::new(vec![variable("a"), variable("b")]).unwrap();
        let table = Table::new(schema, vec![vec![0, 1, 1], vec![1, 0, 1]]).unwrap();
        let bytes = encode_table(&table);
        assert_eq!(decode_table(&bytes).unwrap(), table);
        assert!(decode_table(&bytes[1..]).is_err());
        let stored = StoredChain {
            snapshot: Snapshot::new(encode_chain(&chain())),
            seeds: Some(Seeds {
                best: Some(row(&[(0, 1)], -3.0)),
                mate: row(&[(2, 3)], -4.0),
            }),
            reseeds: 3,
            counters: ChainCounters {
                iterations: 1,
                evaluations: 2,
                computed: 3,
                seeds: chain().seeds,
            },
            status: ChainStatus::Exhausted,
        };
        let bytes = encode_stored_chain(&stored);
        assert_eq!(decode_stored_chain(&bytes, 4).unwrap(), stored);
        assert!(decode_stored_chain(&bytes, 3).is_err());
    }

    #[test]
    fn a_table_with_a_cell_that_is_no_state_is_refused() {
        let states = vec!["no".to_owned(), "yes".to_owned()];
        let sealed = |variables: Vec<(String, Vec<String>)>, columns| {
            seal(Kind::Table, &TableV1 { variables, columns })
        };
        let one = |name: &str| (name.to_owned(), states.clone());
        assert!(decode_table(&sealed(vec![one("a")], vec![vec![0, 2]])).is_err());
        assert!(decode_table(&sealed(vec![one("b"), one("a")], vec![vec![0]; 2])).is_err());
        assert!(decode_table(&sealed(vec![one("a"), one("a")], vec![vec![0]; 2])).is_err());
        assert!(decode_table(&sealed(vec![], vec![])).is_err());
    }

    #[test]
    fn a_snapshot_cut_at_any_length_is_refused() {
        let bytes = encode_chain(&chain());
        for length in 0..bytes.len() {
            assert!(
                decode_chain(&bytes[..length], 4).is_err(),
                "cut at {length}"
            );
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(matches!(
            decode_chain(&longer, 4),
            Err(SnapshotError::Length { .. })
        ));
    }

    #[test]
    fn a_snapshot_with_any_bit_flipped_is_refused() {
        let bytes = encode_chain(&chain());
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert!(decode_chain(&damaged, 4).is_err(), "bit {at}");
        }
    }

    #[test]
    fn what_another_version_has_written_is_refused_by_name() {
        let written_by = |version: u32| {
            let mut bytes = encode_chain(&chain());
            bytes[12..16].copy_from_slice(&version.to_le_bytes());
            decode_chain(&bytes, 4).unwrap_err()
        };
        let earlier = written_by(VERSION - 1);
        assert_eq!(earlier, SnapshotError::Earlier(VERSION - 1));
        assert!(
            earlier
                .to_string()
                .contains("an earlier version of rlbayes")
        );
        let newer = written_by(VERSION + 1);
        assert_eq!(newer, SnapshotError::Newer(VERSION + 1));
        assert!(newer.to_string().contains("a newer version of rlbayes"));
        assert!(earlier.is_other_version() && newer.is_other_version());
    }

    /// Returns whether a list that is announced with a length is refused before it is reserved.
    fn is_too_long(length: u64, content_bytes: usize) -> bool {
        let config = bincode::config::standard();
        let mut content = bincode::encode_to_vec(length, config).unwrap();
        content.resize(content_bytes.max(content.len()), 1);
        matches!(
            decode::<Vec<Vec<u16>>>(&content),
            Err(DecodeError::LimitExceeded)
        )
    }

    #[test]
    fn a_content_reserves_at_most_a_stated_multiple_of_its_bytes() {
        for content_bytes in [100, 1000, 50_000, 3_000_000] {
            let most = (4 * MOST_GROWTH * content_bytes).max(LEAST_LIMIT) as u64;
            let lists = most / size_of::<Vec<u16>>() as u64 + 1;
            assert!(is_too_long(lists, content_bytes), "{content_bytes}");
            assert!(is_too_long(u64::MAX >> 8, content_bytes));
            assert!(!is_too_long(content_bytes as u64 - 9, content_bytes));
        }
    }

    #[test]
    fn a_row_of_empty_families_needs_the_most_and_is_read() {
        for nodes in [1, 150, 171, 2000, 16_000] {
            let dag = Dag::empty(nodes);
            let row = EliteRow {
                structure: Structure::of(&dag),
                score: LogScore::new(-1.0),
            };
            assert_eq!(decode_row(&encode_row(&row), nodes).unwrap(), row);
        }
    }

    #[test]
    fn what_does_not_fit_the_search_is_refused() {
        let sealed = |parents: Vec<Vec<u16>>, score| seal(Kind::Row, &RowV1 { parents, score });
        let cyclic = sealed(vec![vec![1], vec![0]], 0.0);
        let unsorted = sealed(vec![vec![], vec![], vec![1, 0]], 0.0);
        let outside = sealed(vec![vec![2], vec![]], 0.0);
        let nan = sealed(vec![vec![], vec![]], f64::NAN);
        assert!(matches!(
            decode_row(&cyclic, 2),
            Err(SnapshotError::Structure(_))
        ));
        assert!(matches!(
            decode_row(&unsorted, 3),
            Err(SnapshotError::Structure(_))
        ));
        assert!(matches!(
            decode_row(&outside, 2),
            Err(SnapshotError::Structure(_))
        ));
        assert!(matches!(
            decode_row(&nan, 2),
            Err(SnapshotError::Structure(_))
        ));
        assert!(matches!(
            decode_row(&nan, 3),
            Err(SnapshotError::Structure(_))
        ));
        assert!(matches!(
            decode_row(&encode_chain(&chain()), 4),
            Err(SnapshotError::Kind { .. })
        ));
    }
}
