//! Changes an input a little: bits, bytes, pieces that are dropped, repeated or taken from another
//! input, numbers at the edges of their range, words of the formats.

use rlbayes_common::ids::Seed;
use rlbayes_common::random::Random;

/// The longest input: what is longer takes longer and finds no more.
pub const MOST_BYTES: usize = 16 << 10;

/// Words that readers look for.
const WORDS: [&str; 48] = [
    "0",
    "1",
    "-1",
    "255",
    "256",
    "65535",
    "65536",
    "2147483648",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e-320",
    "NaN",
    "inf",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"",
    "\\",
    "\r\n",
    "\n\n",
    ",",
    ";",
    "\t",
    "|",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "<",
    "</",
    "/>",
    "&#x10FFFF;",
    "<!--",
    "//",
    "\u{feff}",
    "\0",
    "é",
    "𝔸",
    "variable",
    "probability",
    "from,to",
    "states",
];

/// Numbers that readers get wrong.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    u64::MAX >> 1,
    u64::MAX,
];

/// Draws changes.
#[derive(Debug)]
pub struct Mutator {
    random: Random,
}

impl Mutator {
    /// Draws from a seed: the same seed, the same changes.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(Seed(seed)),
        }
    }

    /// Returns a number below a limit; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        match limit {
            0 => 0,
            limit => self.random.below(limit),
        }
    }

    /// Changes an input; `other` is one to take pieces from.
    #[must_use]
    pub fn change(&mut self, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = input.to_vec();
        for _ in 0..1 + self.below(4) {
            self.step(&mut bytes, other);
        }
        bytes.truncate(MOST_BYTES);
        bytes
    }

    fn step(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        let (from, to) = self.piece(bytes.len());
        match self.below(11) {
            0 => self.on_byte(bytes, |random, byte| byte ^ (1 << random)),
            1 => self.on_byte(bytes, |random, byte| {
                byte.wrapping_add([1, 2, 3, 5, 8, 16, 32, 255][random])
            }),
            2 => self.on_byte(bytes, |random, _| {
                [0, 1, 127, 128, 255, b'0', b'\n', b'"'][random]
            }),
            3 => drop(bytes.drain(from..to)),
            4 => {
                let piece = bytes[from..to].to_vec();
                bytes.splice(at..at, piece);
            }
            5 => {
                let (from, to) = self.piece(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            6 => {
                let (other_from, other_to) = self.piece(other.len());
                bytes.splice(from..to, other[other_from..other_to].iter().copied());
            }
            7 => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(at..at, word.bytes());
            }
            8 => {
                let word = WORDS[self.below(WORDS.len())];
                let (from, to) = token(bytes, at);
                bytes.splice(from..to, word.bytes());
            }
            9 => {
                let number = EDGES[self.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][self.below(4)];
                for (byte, new) in bytes.iter_mut().skip(at).zip(&number[..width]) {
                    *byte = *new;
                }
            }
            _ => bytes.truncate(at),
        }
    }

    /// Changes one byte by a number below 8.
    fn on_byte(&mut self, bytes: &mut [u8], change: impl Fn(usize, u8) -> u8) {
        let (at, drawn) = (self.below(bytes.len()), self.below(8));
        if let Some(byte) = bytes.get_mut(at) {
            *byte = change(drawn, *byte);
        }
    }

    /// Draws a piece, mostly a short one.
    fn piece(&mut self, length: usize) -> (usize, usize) {
        let from = self.below(length + 1);
        let most = match self.below(4) {
            0 => length - from,
            _ => (length - from).min(16),
        };
        (from, from + self.below(most + 1))
    }
}

/// Returns the word or number around a place.
fn token(bytes: &[u8], at: usize) -> (usize, usize) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    let before = bytes[..at].iter().rev().take_while(|byte| is_part(byte));
    let after = bytes[at..].iter().take_while(|byte| is_part(byte));
    (at - before.count(), at + after.count())
}
