//! Inputs that are right, one or some for each target: what changes begin with.

#![expect(clippy::expect_used, reason = "inputs that are right by their making")]

use crate::targets::NODES;
use prost::Message;
use rlbayes::journal::{Batch, Journal};
use rlbayes::{LoadOptions, SearchRequest, SearchSettings};
use rlbayes_common::data::{Table, parse_table};
use rlbayes_common::elite::{EliteRow, Found, Keying, Structure};
use rlbayes_common::exchange::{ChainCounters, ChainStatus, Snapshot, StoredChain};
use rlbayes_common::graph::Dag;
use rlbayes_common::ids::{ChainId, NodeIdx};
use rlbayes_common::io::{Format, WriteOptions, parse_network, write_network};
use rlbayes_common::proof::Prover;
use rlbayes_common::score::{LogScore, ScoreSpec};
use rlbayes_common::search::{Constraints, Fields, NamedConstraints, SavedChain, Seeds};
use rlbayes_common::snapshot::{encode_chain, encode_row, encode_stored_chain, encode_table};
use rlbayes_proto::convert::{
    KnownRows, description_to_wire, network_to_wire, row_to_wire, seeds_to_wire,
};
use rlbayes_proto::v1;
use std::sync::Arc;

/// A table of four columns. Its schema and the proof beside it are made by
/// `rlbayes check small.csv --write-schema small.toml` and, for a network that `rlbayes learn` has
/// found, `rlbayes prove small.csv small.bif --certificate small.proof`.
const TABLE: &str = include_str!("../seeds/small.csv");

const BIF: &[u8] = include_bytes!("../../../data/networks/asia.bif");

const CONSTRAINED: &str = "# tiers\na,b\n\"c\", d\n";

fn table() -> Table {
    parse_table(TABLE.as_bytes(), &LoadOptions::default())
        .map(|(table, _)| table)
        .expect("the table is right")
}

/// Returns a prover of the small table.
#[must_use]
pub fn prover() -> Prover {
    let table = Arc::new(table());
    let constraints = Constraints::new(&table, &NamedConstraints::default());
    let constraints = constraints.expect("no constraint is wrong");
    Prover::new(&table, ScoreSpec::BIC, &constraints)
}

/// Returns what the search in a journal is.
#[must_use]
pub fn settings() -> Vec<(String, String)> {
    vec![("seed".to_owned(), "1".to_owned())]
}

fn row(edges: &[(usize, usize)], score: f64) -> EliteRow {
    let edges = edges
        .iter()
        .map(|&(from, to)| (NodeIdx::new(from), NodeIdx::new(to)));
    let dag = Dag::from_edges(NODES, edges).expect("no cycle");
    EliteRow {
        structure: Structure::of(&dag),
        score: LogScore::new(score),
    }
}

fn chain() -> SavedChain {
    SavedChain {
        random: [1, 2, 3, 4],
        iterations: 10,
        evaluations: 1 << 40,
        best: Some(row(&[(0, 1), (2, 1)], -12.5)),
        search: "hc".into(),
        version: 3,
        own: Fields::default()
            .with_rows(
                "some",
                [row(&[], f64::NEG_INFINITY), row(&[(3, 0)], -1e-300)],
            )
            .with_integers("whole", [0, u64::MAX])
            .with_numbers("other", [f64::NEG_INFINITY, 0.1]),
        ..SavedChain::default()
    }
}

fn seeds() -> Seeds {
    Seeds {
        best: Some(row(&[(0, 1)], -3.0)),
        mate: row(&[(2, 3)], -4.0),
    }
}

fn stored_chain() -> StoredChain {
    StoredChain {
        snapshot: Snapshot::new(encode_chain(&chain())),
        seeds: Some(seeds()),
        reseeds: 3,
        counters: ChainCounters::default(),
        status: ChainStatus::Running,
    }
}

/// Where the kind of a snapshot stands, its length, its checksum and its content.
const KIND: usize = 8;
const LENGTH: std::ops::Range<usize> = 16..24;
const CHECKSUM: std::ops::Range<usize> = 24..56;

/// Makes a snapshot of a kind and a content, with a checksum that fits.
#[must_use]
pub fn sealed(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = encode_row(&row(&[], 0.0));
    bytes.truncate(CHECKSUM.end);
    bytes[KIND] = kind;
    bytes[LENGTH].copy_from_slice(&(content.len() as u64).to_le_bytes());
    bytes[CHECKSUM].copy_from_slice(blake3::hash(content).as_bytes());
    bytes.extend_from_slice(content);
    bytes
}

/// A journal is mostly zeros: an input is a list of pages that are not, each with its number.
const PAGE: usize = 256;

fn packed_journal(bytes: &[u8]) -> Vec<u8> {
    let mut packed = u32::try_from(bytes.len())
        .unwrap_or(0)
        .to_le_bytes()
        .to_vec();
    for (number, page) in (0u32..).zip(bytes.chunks(PAGE)) {
        if page.iter().any(|&byte| byte != 0) {
            packed.extend_from_slice(&number.to_le_bytes());
            packed.extend_from_slice(page);
        }
    }
    packed
}

/// The largest journal that is made of an input.
const MOST_JOURNAL: usize = 4 << 20;

/// Returns the journal that an input stands for.
#[must_use]
pub fn unpacked_journal(packed: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0usize, |number, &byte| number << 8 | usize::from(byte))
    };
    let (length, pages) = packed.split_at(packed.len().min(4));
    let mut bytes = vec![0; number(length).min(MOST_JOURNAL)];
    for page in pages.chunks(4 + PAGE) {
        let (at, content) = page.split_at(page.len().min(4));
        let from = number(at).saturating_mul(PAGE);
        for (byte, &new) in bytes.iter_mut().skip(from).zip(content) {
            *byte = new;
        }
    }
    bytes
}

fn journal() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let mut journal = Journal::open(&path).expect("a new journal");
    journal.begin(&settings()).expect("a journal that is begun");
    let batch = Batch {
        rows: vec![(ChainId(0), Found::Best, row(&[(0, 1)], -5.0))],
        overall: vec![row(&[(2, 3)], -4.0)],
        chains: vec![(ChainId(3), stored_chain())],
        ..Batch::default()
    };
    journal.write(Keying::ByClass, &batch).expect("a batch");
    drop(journal);
    packed_journal(&std::fs::read(&path).expect("the journal"))
}

fn messages() -> Vec<Vec<u8>> {
    let text = |name: &str| rlbayes::Table::parse(name, TABLE.as_bytes(), &LoadOptions::default());
    let table = text("t").expect("the table is right");
    let request = SearchRequest::new(&table, &SearchSettings::default()).expect("a search");
    let description = request.description(&encode_table(table.data()));
    let network = parse_network(Some(Format::Bif), BIF).expect("asia");
    let with = |kind: u8, bytes: Vec<u8>| [vec![kind], bytes].concat();
    let wire_seeds = seeds_to_wire(&seeds(), &KnownRows::default());
    let report = v1::ChainReport {
        chain: 1,
        sequence: 2,
        finds: vec![v1::Find {
            found: 1,
            row: Some(row_to_wire(&row(&[(0, 1)], -3.0))),
        }],
        counters: Some(v1::Counters::default()),
        wants_seeds: true,
        status: 1,
        snapshot: Default::default(),
    };
    let order = v1::ChainOrder {
        chain: 4,
        sequence: 5,
        evaluations: Some(6),
        iterations: None,
        origin: Some(v1::chain_order::Origin::Pool(wire_seeds.clone())),
    };
    let reply = v1::ExchangeReply {
        answers: vec![v1::Answer {
            chain: 1,
            sequence: 2,
            next: Some(v1::answer::Next::Continue(v1::Continue {
                seeds: Some(wire_seeds.clone()),
                snapshot: true,
            })),
        }],
        orders: vec![order.clone()],
        lease_millis: 1500,
        ..Default::default()
    };
    let join = v1::JoinRequest {
        protocol_version: 3,
        program_version: "1".into(),
        incarnation: 7,
        host: "here".into(),
        threads: 2,
        memory_bytes: 1 << 30,
        chains: vec![0, 1],
        search_id: vec![1; 16].into(),
        ..Default::default()
    };
    let exchange = v1::ExchangeRequest {
        protocol_version: 3,
        search_id: vec![1; 16].into(),
        worker: 1,
        incarnation: 7,
        reports: vec![report.clone()],
        statistics: Some(v1::WorkerStatistics::default()),
        bases: vec![vec![7; 32].into()],
    };
    vec![
        with(0, join.encode_to_vec()),
        with(1, exchange.encode_to_vec()),
        with(2, reply.encode_to_vec()),
        with(3, order.encode_to_vec()),
        with(4, network_to_wire(&network).encode_to_vec()),
        with(5, description_to_wire(&description).encode_to_vec()),
        with(6, row_to_wire(&row(&[(0, 1)], -3.0)).encode_to_vec()),
        with(7, wire_seeds.encode_to_vec()),
        with(20, report.encode_to_vec()),
    ]
}

fn networks(format: Format) -> Vec<Vec<u8>> {
    let network = parse_network(Some(Format::Bif), BIF).expect("asia");
    let small = parse_network(Some(Format::ModelString), b"[a][b|a][c|a:b]").expect("a network");
    let digits = parse_network(Some(Format::ModelString), b"[0][1|0]").expect("a network");
    [network, small, digits]
        .iter()
        .filter_map(|network| write_network(format, network, &WriteOptions::default()).ok())
        .collect()
}

fn contents() -> Vec<Vec<u8>> {
    let of = |kind: u8, bytes: Vec<u8>| [&[kind - 1], &bytes[CHECKSUM.end..]].concat();
    vec![
        of(1, encode_chain(&chain())),
        of(2, encode_row(&row(&[(0, 1), (0, 3)], -3.25))),
        of(3, encode_table(&table())),
        of(4, encode_stored_chain(&stored_chain())),
    ]
}

/// Returns the inputs of a target.
#[must_use]
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let text = |text: &str| text.as_bytes().to_vec();
    match target {
        "bif" => networks(Format::Bif),
        "xmlbif" => networks(Format::XmlBif),
        "json" => networks(Format::Json),
        "edges" => networks(Format::Csv),
        "matrix" => vec![
            text("a,b,c\n0,1,1\n0,0,1\n0,0,0\n"),
            text(",a,b\na,0,1\nb,0,0\n"),
        ],
        "model-string" => networks(Format::ModelString),
        "any-network" => [Format::Bif, Format::XmlBif, Format::Json, Format::Csv]
            .into_iter()
            .flat_map(networks)
            .collect(),
        "csv-table" => vec![text(TABLE), text("n;\"q \"\"q\"\n1,5;a\n2,5;\n3,25;b\n")],
        "table-file" => vec![
            include_bytes!("../../../common/src/data/read/fixtures/plain.parquet").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/snappy.parquet").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/polars.arrow").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/types.arrows").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/pandas.feather").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/openpyxl.xlsx").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/pandas.jsonl").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/pandas.json").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/text.csv.zst").to_vec(),
            include_bytes!("../../../common/src/data/read/fixtures/text.csv.xz").to_vec(),
        ],
        "schema" => vec![include_bytes!("../seeds/small.toml").to_vec()],
        "name-lists" => vec![text(CONSTRAINED), text("from,to\na,b\nb,c\n")],
        "units" => vec![text("1h30m"), text("4GiB"), text("10s:0.1"), text("1.5")],
        "certificate" => vec![include_bytes!("../seeds/small.proof").to_vec()],
        "snapshot" => contents(),
        "message" => messages(),
        "journal" => vec![journal()],
        _ => Vec::new(),
    }
}
