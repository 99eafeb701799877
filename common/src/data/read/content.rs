//! Tells what bytes are by how they begin: a table in one of the formats that are read here, a
//! network, or something of another program, for which the way out is named.
//!
//! Endings of file names are not asked: people rename files, and pipes have no name.

use thiserror::Error;

/// What bytes seem to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text in UTF-8, or in an encoding of one byte a character.
    Text,
    /// Text in UTF-16.
    Utf16(ByteOrder),
    /// A Parquet file.
    Parquet,
    /// An Arrow file (also called Feather).
    ArrowFile,
    /// A stream of Arrow messages.
    ArrowStream,
    /// A workbook in Excel's format, .xlsx.
    Workbook,
    /// An object of JSON on each line, or a list of objects.
    JsonLines,
    /// A network, in this format.
    Network(&'static str),
    /// Something that is not read here.
    Foreign(Foreign),
}

/// Which byte of two comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    LittleEndian,
    BigEndian,
}

/// A format that is not read, and what to do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it is {what}; {way_out}")]
pub struct Foreign {
    /// What it is, with an article.
    pub what: &'static str,
    /// How to make a table of it that is read.
    pub way_out: &'static str,
}

/// Formats that are told by their first bytes alone.
const BEGINNINGS: &[(&[u8], &str, &str)] = &[
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file",
        "write a CSV file with pandas: read_hdf(...).to_csv(...)",
    ),
    (
        b"%PDF-",
        "a PDF document",
        "copy its table into a spreadsheet and save that as CSV",
    ),
    (
        b"$FL2",
        "an SPSS file",
        "write a CSV file with pandas: read_spss(...).to_csv(...)",
    ),
    (
        b"$FL3",
        "an SPSS file",
        "write a CSV file with pandas: read_spss(...).to_csv(...)",
    ),
    (
        b"<stata_dta>",
        "a Stata file",
        "write a CSV file: `export delimited` in Stata, or pandas' read_stata(...).to_csv(...)",
    ),
    (
        b"r\x01\x01\x00",
        "a Stata file",
        "write a CSV file: `export delimited` in Stata, or pandas' read_stata(...).to_csv(...)",
    ),
    (
        b"r\x02\x01\x00",
        "a Stata file",
        "write a CSV file: `export delimited` in Stata, or pandas' read_stata(...).to_csv(...)",
    ),
    (
        b"s\x01\x01\x00",
        "a Stata file",
        "write a CSV file: `export delimited` in Stata, or pandas' read_stata(...).to_csv(...)",
    ),
    (
        b"s\x02\x01\x00",
        "a Stata file",
        "write a CSV file: `export delimited` in Stata, or pandas' read_stata(...).to_csv(...)",
    ),
    (
        b"\0\0\0\0\0\0\0\0\0\0\0\0\xc2\xea\x81\x60",
        "a SAS file",
        "write a CSV file with pandas: read_sas(...).to_csv(...)",
    ),
    (
        b"HEADER RECORD*******LIB",
        "a SAS transport file",
        "write a CSV file with pandas: read_sas(...).to_csv(...)",
    ),
    (
        b"RDX2\n",
        "an .RData file of R",
        "write a CSV file in R: load(...), then write.csv(...)",
    ),
    (
        b"RDX3\n",
        "an .RData file of R",
        "write a CSV file in R: load(...), then write.csv(...)",
    ),
    (
        b"X\n\0\0\0\x02",
        "an .rds file of R",
        "write a CSV file in R: write.csv(readRDS(...), ...)",
    ),
    (
        b"X\n\0\0\0\x03",
        "an .rds file of R",
        "write a CSV file in R: write.csv(readRDS(...), ...)",
    ),
    (
        b"\xd0\xcf\x11\xe0",
        "an old Excel workbook (.xls)",
        "save it as .xlsx or as CSV",
    ),
    (
        b"SQLite format 3\0",
        "an SQLite database",
        "write a CSV file: sqlite3 -header -csv FILE \"select * from TABLE\"",
    ),
    (
        b"\x80\x02",
        "a pickle of Python",
        "write a Parquet or CSV file with pandas: read_pickle(...).to_csv(...)",
    ),
    (
        b"\x80\x03",
        "a pickle of Python",
        "write a Parquet or CSV file with pandas: read_pickle(...).to_csv(...)",
    ),
    (
        b"\x80\x04\x95",
        "a pickle of Python",
        "write a Parquet or CSV file with pandas: read_pickle(...).to_csv(...)",
    ),
    (
        b"\x80\x05\x95",
        "a pickle of Python",
        "write a Parquet or CSV file with pandas: read_pickle(...).to_csv(...)",
    ),
    (
        b"\x93NUMPY",
        "an array of NumPy",
        "write a CSV file with names of columns: pandas.DataFrame(numpy.load(...)).to_csv(...)",
    ),
    (
        b"FEA1",
        "a Feather file of version 1",
        "write it again with pandas: read_feather(...).to_feather(...)",
    ),
    (
        b"Obj\x01",
        "an Avro file",
        "write a Parquet or CSV file with polars: read_avro(...).write_csv(...)",
    ),
    (
        b"7z\xbc\xaf\x27\x1c",
        "a 7z archive",
        "unpack it with `7z x`",
    ),
    (
        b"\x1f\x8b",
        "packed twice, by gzip inside",
        "unpack it once with gunzip, zstd -d or unxz",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "packed twice, by zstd inside",
        "unpack it once with gunzip, zstd -d or unxz",
    ),
    (
        b"\xfd7zXZ\x00",
        "packed twice, by xz inside",
        "unpack it once with gunzip, zstd -d or unxz",
    ),
    (b"\x7fELF", "a program", "expected a table"),
    (b"\x89PNG\r\n", "a picture", "expected a table"),
    (b"\xff\xd8\xff", "a picture", "expected a table"),
];

impl Content {
    /// Tells what bytes are by the first few thousand of them.
    pub(crate) fn of(start: &[u8]) -> Self {
        if let Some(foreign) = foreign_beginning(start) {
            return Self::Foreign(foreign);
        }
        if start.starts_with(b"PAR1") {
            return Self::Parquet;
        }
        if start.starts_with(b"ARROW1") {
            return Self::ArrowFile;
        }
        if is_arrow_stream(start) {
            return Self::ArrowStream;
        }
        if start.starts_with(b"PK\x03\x04") {
            return of_zip(start);
        }
        if let Some(order) = utf16_order(start) {
            return Self::Utf16(order);
        }
        of_text(start)
    }

    /// Names what this is if it is anything but text in UTF-8, or an encoding like it.
    pub(crate) fn not_utf8_text(self) -> Option<&'static str> {
        match self {
            Self::Text | Self::JsonLines | Self::Network(_) => None,
            Self::Utf16(_) => Some("UTF-16 text"),
            Self::Parquet => Some("a Parquet file"),
            Self::ArrowFile => Some("an Arrow file"),
            Self::ArrowStream => Some("a stream of Arrow messages"),
            Self::Workbook => Some("an Excel workbook"),
            // Some network formats are close to these; their readers tell.
            Self::Foreign(foreign) if foreign == HTML => None,
            Self::Foreign(foreign) => Some(foreign.what),
        }
    }
}

const HTML: Foreign = Foreign {
    what: "an HTML page",
    way_out: "write a CSV file with pandas: read_html(...)[0].to_csv(...)",
};

fn foreign_beginning(start: &[u8]) -> Option<Foreign> {
    let found = BEGINNINGS
        .iter()
        .find(|(beginning, _, _)| start.starts_with(beginning));
    if let Some(&(_, what, way_out)) = found {
        return Some(Foreign { what, way_out });
    }
    // Bytes behind letters that a column's name could begin with.
    let behind = |at: usize| start.get(at..).unwrap_or_default();
    if start.starts_with(b"BZh") && behind(4).starts_with(b"1AY&SY") {
        return Some(Foreign {
            what: "packed by bzip2",
            way_out: "unpack it with bunzip2",
        });
    }
    if start.starts_with(b"ORC")
        && start
            .get(3)
            .is_some_and(|&byte| byte < b' ' && byte != b'\n' && byte != b'\r' && byte != b'\t')
    {
        return Some(Foreign {
            what: "an ORC file",
            way_out: "write a Parquet or CSV file with pandas: read_orc(...).to_parquet(...)",
        });
    }
    behind(257).starts_with(b"ustar").then_some(Foreign {
        what: "a tar archive",
        way_out: "unpack it with `tar -x`",
    })
}

/// The first message is the schema: its length, behind a marker or (in old streams) without one,
/// and then a flat buffer whose root is near.
fn is_arrow_stream(start: &[u8]) -> bool {
    let Some(rest) = start.strip_prefix(b"\xff\xff\xff\xff") else {
        return false;
    };
    let word = |at: usize| {
        let bytes = rest.get(at..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*bytes))
    };
    matches!((word(0), word(4)), (Some(length), Some(root)) if root < length && length < 1 << 28)
}

/// Workbooks are zip archives with certain names in them.
fn of_zip(start: &[u8]) -> Content {
    let has = |name: &[u8]| start.windows(name.len()).any(|window| window == name);
    if has(b"application/vnd.oasis.opendocument.spreadsheet") {
        return Content::Foreign(Foreign {
            what: "an OpenDocument spreadsheet",
            way_out: "save it as .xlsx or as CSV",
        });
    }
    if has(b"word/") || has(b"ppt/") || has(b"application/vnd.oasis.opendocument") {
        return Content::Foreign(Foreign {
            what: "a document of an office program",
            way_out: "copy its table into a spreadsheet and save that as CSV",
        });
    }
    if has(b"xl/workbook.bin") {
        return Content::Foreign(Foreign {
            what: "a binary Excel workbook (.xlsb)",
            way_out: "save it as .xlsx or as CSV",
        });
    }
    if has(b"[Content_Types].xml") || has(b"xl/") {
        return Content::Workbook;
    }
    Content::Foreign(Foreign {
        what: "a zip archive",
        way_out: "unpack it with `unzip`",
    })
}

/// Text in UTF-16 begins with a mark; if it doesn't, every second byte of plain letters is zero, and
/// none is a control character, as in binary data.
fn utf16_order(start: &[u8]) -> Option<ByteOrder> {
    if start.starts_with(b"\xff\xfe") {
        return Some(ByteOrder::LittleEndian);
    }
    if start.starts_with(b"\xfe\xff") {
        return Some(ByteOrder::BigEndian);
    }
    let pairs = start.chunks_exact(2).take(512);
    let (mut all, mut first_zero, mut second_zero) = (0, 0, 0);
    for pair in pairs {
        all += 1;
        let control = |byte: u8| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r');
        if matches!(*pair, [0, other] | [other, 0] if control(other)) {
            return None;
        }
        first_zero += usize::from(pair[0] == 0 && pair[1] != 0);
        second_zero += usize::from(pair[1] == 0 && pair[0] != 0);
    }
    // Text in a script other than Latin still has its separators and line ends in Latin.
    let few = (all / 5).max(2);
    if second_zero > few && first_zero == 0 {
        Some(ByteOrder::LittleEndian)
    } else if first_zero > few && second_zero == 0 {
        Some(ByteOrder::BigEndian)
    } else {
        None
    }
}

fn of_text(start: &[u8]) -> Content {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let text = text.trim_ascii_start();
    let has = |part: &[u8]| {
        text.windows(part.len())
            .any(|window| window.eq_ignore_ascii_case(part))
    };
    let begins = |part: &[u8]| {
        text.get(..part.len())
            .is_some_and(|beginning| beginning.eq_ignore_ascii_case(part))
    };
    match text.first() {
        Some(b'<') if has(b"<bif") => Content::Network("XMLBIF"),
        Some(b'<') if begins(b"<!doctype html") || begins(b"<html") || has(b"<table") => {
            Content::Foreign(HTML)
        }
        Some(b'{') if has(b"\"edges\"") && has(b"[") => Content::Network("JSON"),
        Some(b'{') => Content::JsonLines,
        // A list of objects; `[a][b|a]` is a network in bnlearn's notation.
        Some(b'[') => match text[1..].trim_ascii_start().first() {
            Some(b'{' | b']') => Content::JsonLines,
            Some(b'[') | None => Content::Text,
            Some(_) if is_model_string(text) => Content::Network("model string"),
            Some(_) => Content::Text,
        },
        _ if is_bif(text) => Content::Network("BIF"),
        _ => Content::Text,
    }
}

/// `network name {`, `variable name {` or `probability (`, perhaps below comments.
fn is_bif(text: &[u8]) -> bool {
    let mut lines = text
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && !line.starts_with(b"//"));
    let Some(line) = lines.next() else {
        return false;
    };
    let word = [&b"network"[..], b"variable", b"probability"]
        .into_iter()
        .find(|word| {
            line.get(..word.len())
                .is_some_and(|beginning| beginning.eq_ignore_ascii_case(word))
        });
    let Some(word) = word else {
        return false;
    };
    let behind = line[word.len()..].trim_ascii_start();
    // A brace on the line or on the next; a table's header has a separator instead.
    let brace = behind.contains(&b'{') || lines.next().is_some_and(|next| next.starts_with(b"{"));
    brace || behind.starts_with(b"(")
}

/// `[a][b|a][c|a:b]` on a line of its own.
fn is_model_string(text: &[u8]) -> bool {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.trim_ascii();
    line.contains(&b']') && !line.contains(&b',') && !line.contains(&b';') && !line.contains(&b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_told_by_their_first_bytes() {
        let cases: [(&[u8], Content); 17] = [
            (b"", Content::Text),
            (b"a,b\n1,2\n", Content::Text),
            (b"network,b\n1,2\n", Content::Text),
            (b"network b\n1 2\n", Content::Text),
            (b"[a],[b]\n1,2\n", Content::Text),
            (b"<b>,c\n", Content::Text),
            (b"BZhour,b\n", Content::Text),
            (b"ORC,b\n", Content::Text),
            (b"PAR1\x15\x04", Content::Parquet),
            (b"ARROW1\0\0", Content::ArrowFile),
            (b"\n {\"a\":1}\n", Content::JsonLines),
            (b"[\n{\"a\":1}]", Content::JsonLines),
            (b"[]", Content::JsonLines),
            (b"\xff\xfea\0", Content::Utf16(ByteOrder::LittleEndian)),
            (b"a\0,\0b\0\n\0", Content::Utf16(ByteOrder::LittleEndian)),
            (b"\0a\0,\0b\0\n", Content::Utf16(ByteOrder::BigEndian)),
            (b"\x8f\x03\0A\0\x07\xfe\n\0,\x8f\x03", Content::Text),
        ];
        for (bytes, content) in cases {
            assert_eq!(Content::of(bytes), content, "{bytes:?}");
        }
    }

    #[test]
    fn networks_are_told_from_tables() {
        let cases: [(&[u8], &str); 7] = [
            (b"network unknown {\n}\n", "BIF"),
            (b"// names\n\nnetwork unknown\n{\n", "BIF"),
            (b"probability ( a | b ) {", "BIF"),
            (b"<?xml version=\"1.0\"?>\n<BIF VERSION=\"0.3\">", "XMLBIF"),
            (b"{\"nodes\": [\"a\"], \"edges\": []}", "JSON"),
            (b"[a][b|a]\n", "model string"),
            (b"\xef\xbb\xbfnetwork x {", "BIF"),
        ];
        for (bytes, format) in cases {
            assert_eq!(Content::of(bytes), Content::Network(format), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_not_read_has_a_way_out() {
        let mut tar = vec![b'a'; 257];
        tar.extend(b"ustar\x0000");
        let cases: [(&[u8], &str); 8] = [
            (
                b"BZh91AY&SY\x01",
                "it is packed by bzip2; unpack it with bunzip2",
            ),
            (
                b"PK\x03\x04\x14\0data.csv",
                "it is a zip archive; unpack it with `unzip`",
            ),
            (
                b"ORC\x08\x03",
                "it is an ORC file; write a Parquet or CSV file with pandas: read_orc(...).to_parquet(...)",
            ),
            (
                b"X\n\0\0\0\x03\0\x04",
                "it is an .rds file of R; write a CSV file in R: write.csv(readRDS(...), ...)",
            ),
            (
                b" <!DOCTYPE HTML>\n<html>",
                "it is an HTML page; write a CSV file with pandas: read_html(...)[0].to_csv(...)",
            ),
            (
                b"\x80\x05\x95\x10",
                "it is a pickle of Python; write a Parquet or CSV file with pandas: read_pickle(...).to_csv(...)",
            ),
            (
                b"FEA1\0\0",
                "it is a Feather file of version 1; write it again with pandas: read_feather(...).to_feather(...)",
            ),
            (&tar, "it is a tar archive; unpack it with `tar -x`"),
        ];
        for (bytes, sentence) in cases {
            let Content::Foreign(foreign) = Content::of(bytes) else {
                panic!("{bytes:?}")
            };
            assert_eq!(foreign.to_string(), sentence);
        }
    }
}
