//! What is read, and what must hold whatever the bytes are: no panic, an answer soon, and what was
//! read is read again after it was written.

use prost::Message;
use rlbayes::journal::Journal;
use rlbayes_common::data::{DeclaredSchema, LoadOptions, check_table, parse_table};
use rlbayes_common::elite::Keying;
use rlbayes_common::hex;
use rlbayes_common::io::{
    Format, WriteOptions, parse_edge_lists, parse_name_lists, parse_network, write_network,
};
use rlbayes_common::network::NetworkFile;
use rlbayes_common::proof::{Prover, check_certificate, read_stored, read_subject};
use rlbayes_common::snapshot::{
    decode_chain, decode_row, decode_stored_chain, decode_table, encode_chain, encode_row,
    encode_stored_chain, encode_table,
};
use rlbayes_proto::convert::{
    KnownRows, description_from_wire, exchange_from_wire, hello_from_wire, network_from_wire,
    order_from_wire, reply_from_wire, row_from_wire, seeds_from_wire,
};
use rlbayes_proto::v1;
use sha2::{Digest, Sha256};
use std::cell::RefCell;
use std::fmt::Display;
use std::path::PathBuf;

/// Something that reads bytes.
#[derive(Clone, Debug)]
pub struct Target {
    /// What it is called, and its folder in the corpus.
    pub name: &'static str,
    /// How many turns it gets: those that are slow, or have little to find, get fewer.
    pub weight: u32,
    /// Reads an input: what came of it, or which law is broken.
    pub read: fn(&[u8]) -> Result<String, String>,
}

/// What comes of an input that was read.
pub const READ: &str = "read";

/// How many variables the networks in snapshots and messages have.
pub const NODES: usize = 4;

/// Returns everything that is read.
#[must_use]
pub fn all() -> Vec<Target> {
    let target = |name, weight, read| Target { name, weight, read };
    vec![
        target("bif", 4, |input| network(Some(Format::Bif), input)),
        target("xmlbif", 4, |input| network(Some(Format::XmlBif), input)),
        target("json", 4, |input| network(Some(Format::Json), input)),
        target("edges", 6, |input| network(Some(Format::Csv), input)),
        target("matrix", 6, |input| network(Some(Format::Adjacency), input)),
        target("model-string", 6, |input| {
            network(Some(Format::ModelString), input)
        }),
        target("any-network", 4, |input| network(None, input)),
        target("csv-table", 4, csv_table),
        target("table-file", 1, table_file),
        target("schema", 4, schema),
        target("name-lists", 6, name_lists),
        target("units", 2, units),
        target("certificate", 2, certificate),
        target("snapshot", 12, snapshot),
        target("message", 16, message),
        target("journal", 1, journal),
    ]
}

fn told<T, E: Display>(read: Result<T, E>) -> Result<String, String> {
    Ok(match read {
        Ok(_) => READ.to_owned(),
        Err(error) => error.to_string(),
    })
}

/// A network that is read is read again after it was written in any format that holds it.
fn network(format: Option<Format>, input: &[u8]) -> Result<String, String> {
    let network = match parse_network(format, input) {
        Ok(network) => network,
        Err(error) => return Ok(error.to_string()),
    };
    if network.named_dag().names().is_empty() {
        return Ok(READ.to_owned());
    }
    for format in [
        Format::Bif,
        Format::XmlBif,
        Format::Json,
        Format::Csv,
        Format::ModelString,
    ] {
        // A format may not be able to hold the names.
        let Ok(bytes) = write_network(format, &network, &WriteOptions::default()) else {
            continue;
        };
        let again = parse_network(Some(format), &bytes)
            .map_err(|error| format!("written as {format:?} it is not read: {error}"))?;
        if !is_same(&network, &again, format) {
            return Err(format!("written as {format:?} it is another network"));
        }
    }
    Ok(READ.to_owned())
}

/// Nodes may change their order, and edge lists leave out those without edges.
fn is_same(one: &NetworkFile, other: &NetworkFile, format: Format) -> bool {
    let sorted = |network: &NetworkFile| {
        let named = network.named_dag();
        let edges = named.named_edges();
        let mut edges: Vec<(String, String)> = edges
            .map(|(from, to)| (from.to_owned(), to.to_owned()))
            .collect();
        edges.sort();
        let mut names = match format {
            Format::Csv => Vec::new(),
            _ => named.names().to_vec(),
        };
        names.sort();
        (names, edges)
    };
    sorted(one) == sorted(other)
}

fn csv_table(input: &[u8]) -> Result<String, String> {
    let read = parse_table(input, &LoadOptions::default());
    if let Ok((table, _)) = &read {
        let again = decode_table(&encode_table(table)).map_err(|error| error.to_string())?;
        if again != *table {
            return Err("a table changes when it is sent".into());
        }
    }
    told(read)
}

/// Tables of other formats are recognised by their content, in a file.
fn table_file(input: &[u8]) -> Result<String, String> {
    let read = with_file(input, |path| check_table(path, &LoadOptions::default()));
    told(read.and_then(|check| {
        check
            .map_err(|error| error.to_string())?
            .table
            .map_err(|problems| format!("{problems:?}"))
    }))
}

fn schema(input: &[u8]) -> Result<String, String> {
    told(DeclaredSchema::parse(&String::from_utf8_lossy(input)))
}

fn name_lists(input: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(input);
    let names = told(parse_name_lists(&text))?;
    let edges = told(parse_edge_lists(&text))?;
    match names == READ && edges == READ {
        true => Ok(names),
        false => Ok(names + &edges),
    }
}

fn units(input: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(input);
    let time = told(rlbayes::units::parse_time(&text))?;
    let size = told(rlbayes::units::parse_size(&text))?;
    let stagnation = told(rlbayes::units::parse_stagnation(&text))?;
    match [&time, &size, &stagnation].iter().any(|read| *read == READ) {
        true => Ok(READ.to_owned()),
        false => Ok(time + &size + &stagnation),
    }
}

thread_local! {
    static PROVER: Prover = crate::seeds::prover();
    static PLACE: RefCell<Option<(tempfile::TempDir, PathBuf)>> = const { RefCell::new(None) };
}

/// Proofs of a small table, with a checksum that fits.
fn certificate(input: &[u8]) -> Result<String, String> {
    let text = sealed_certificate(&String::from_utf8_lossy(input));
    let subject = told(read_subject(&text))?;
    PROVER.with(|prover| {
        let checked = told(check_certificate(&text, prover, &|| true))?;
        let stored = told(read_stored(&text, prover))?;
        match [&subject, &checked, &stored]
            .iter()
            .all(|read| *read == READ)
        {
            true => Ok(subject),
            false => Ok(subject + &checked + &stored),
        }
    })
}

/// Returns the text with a last line that holds its checksum.
fn sealed_certificate(text: &str) -> String {
    let body = text.trim_end_matches('\n');
    let before = body.rsplit_once('\n').map_or("", |(before, _)| before);
    let digest = hex::encode(&Sha256::digest(format!("{before}\n").as_bytes()));
    format!("{before}\n{{\"sha256\":\"{digest}\"}}\n")
}

/// The first byte says what is read; the rest is a content, which gets a header that fits.
fn snapshot(input: &[u8]) -> Result<String, String> {
    let Some((&kind, content)) = input.split_first() else {
        return Ok("empty".into());
    };
    let kind = kind % 4 + 1;
    let bytes = crate::seeds::sealed(kind, content);
    let (read, again) = match kind {
        1 => {
            let read = decode_chain(&bytes, NODES);
            let again = read.as_ref().map(|chain| {
                let bytes = encode_chain(chain);
                decode_chain(&bytes, NODES).is_ok_and(|again| encode_chain(&again) == bytes)
            });
            (told(read.clone())?, again.unwrap_or(true))
        }
        2 => {
            let read = decode_row(&bytes, NODES);
            let again = read
                .as_ref()
                .map(|row| decode_row(&encode_row(row), NODES).is_ok_and(|again| again == *row));
            (told(read.clone())?, again.unwrap_or(true))
        }
        3 => {
            let read = decode_table(&bytes);
            let again = read
                .as_ref()
                .map(|table| decode_table(&encode_table(table)).is_ok_and(|again| again == *table));
            (told(read.clone())?, again.unwrap_or(true))
        }
        _ => {
            let read = decode_stored_chain(&bytes, NODES);
            let again = read.as_ref().map(|chain| {
                let bytes = encode_stored_chain(chain);
                decode_stored_chain(&bytes, NODES).is_ok()
            });
            (told(read.clone())?, again.unwrap_or(true))
        }
    };
    match again {
        true => Ok(format!("{read}{}", if read == READ { "" } else { "." })),
        false => Err(format!(
            "a snapshot of kind {kind} changes when it is written"
        )),
    }
}

/// The first byte says which message it is.
fn message(input: &[u8]) -> Result<String, String> {
    let Some((&kind, bytes)) = input.split_first() else {
        return Ok("empty".into());
    };
    macro_rules! decoded {
        ($($number:literal => $message:ident),+ $(,)?) => {
            match kind % MESSAGES {
                $($number => told(v1::$message::decode(bytes)),)+
                _ => converted(kind % MESSAGES, bytes),
            }
        };
    }
    decoded! {
        8 => JoinReply, 9 => FetchDataRequest, 10 => Chunk, 11 => StoreChainChunk,
        12 => StoreChainReply, 13 => FetchChainRequest, 14 => LeaveReply, 15 => StatusRequest,
        16 => StatusReply, 17 => StopRequest, 18 => ResultRequest, 19 => ResultChunk,
        20 => ChainReport, 21 => Answer, 22 => WorkerStatistics,
    }
}

/// How many kinds of messages there are.
pub const MESSAGES: u8 = 23;

/// Messages that become values of the engine.
fn converted(kind: u8, bytes: &[u8]) -> Result<String, String> {
    fn message<M: Message + Default>(bytes: &[u8]) -> Result<M, String> {
        M::decode(bytes).map_err(|error| error.to_string())
    }
    let text = |error: &dyn Display| error.to_string();
    let read = match kind {
        0 => message(bytes).and_then(|wire| hello_from_wire(wire).map_err(|e| text(&e)).map(drop)),
        1 => message(bytes).and_then(|wire| {
            let row = |_, row: &v1::Row| row_from_wire(row, NODES).map(Some);
            let read = exchange_from_wire(wire, row, |_, _| None);
            read.map_err(|e| text(&e)).map(drop)
        }),
        2 => message(bytes).and_then(|wire: v1::ExchangeReply| {
            reply_from_wire(wire, NODES, &KnownRows::default())
                .map_err(|e| text(&e))
                .map(drop)
        }),
        3 => message(bytes).and_then(|wire: v1::ChainOrder| {
            order_from_wire(&wire, NODES)
                .map_err(|e| text(&e))
                .map(drop)
        }),
        4 => {
            message(bytes).and_then(|wire| network_from_wire(wire).map_err(|e| text(&e)).map(drop))
        }
        5 => message(bytes)
            .and_then(|wire| description_from_wire(wire).map_err(|e| text(&e)).map(drop)),
        6 => message(bytes)
            .and_then(|wire: v1::Row| row_from_wire(&wire, NODES).map_err(|e| text(&e)).map(drop)),
        _ => message(bytes).and_then(|wire: v1::Seeds| {
            seeds_from_wire(&wire, NODES)
                .map_err(|e| text(&e))
                .map(drop)
        }),
    };
    told(read)
}

/// A journal as it lies on the disk.
fn journal(input: &[u8]) -> Result<String, String> {
    let input = crate::seeds::unpacked_journal(input);
    let read = with_file(&input, |path| {
        Journal::open(path)
            .and_then(|mut journal| journal.load(&crate::seeds::settings(), NODES, Keying::ByClass))
    });
    told(read.and_then(|loaded| loaded.map_err(|error| error.to_string())))
}

/// Reads an input from a file, in memory where the system has a folder for that.
fn with_file<T>(input: &[u8], read: impl FnOnce(&std::path::Path) -> T) -> Result<T, String> {
    PLACE.with_borrow_mut(|place| {
        if place.is_none() {
            let memory = std::path::Path::new("/dev/shm");
            let folder = match memory.is_dir() {
                true => tempfile::tempdir_in(memory),
                false => tempfile::tempdir(),
            };
            let folder = folder.map_err(|error| error.to_string())?;
            let path = folder.path().join("input");
            *place = Some((folder, path));
        }
        let (_, path) = place.as_ref().ok_or("there is no place for files")?;
        std::fs::write(path, input).map_err(|error| error.to_string())?;
        Ok(read(path))
    })
}
