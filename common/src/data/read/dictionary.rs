//! The different texts of a column, each with a number in order of appearance.
//!
//! A table has few different texts and many cells, so looking one up is what reading mostly does.
//! Texts of at most eight bytes are found as one word in a small table; longer ones by a hash map.

use rustc_hash::FxHashMap;

/// Longest text that is looked up as one word.
const WORD_BYTES: usize = 8;

/// Slots of a new table; it grows when half of them are taken.
const FIRST_SLOTS: usize = 16;

/// The number of a text within its column.
pub(crate) type TextCode = u16;

/// What stands in the place of a code where a cell has no value at all, as files with types have
/// it. (An empty text is a text.)
pub(crate) const NULL: TextCode = TextCode::MAX;

/// The different texts of a column.
#[derive(Clone, Debug)]
pub(crate) struct Dictionary {
    /// All texts, one behind the other.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The row in which each text first stood.
    rows: Vec<u64>,
    /// Open addressing with a power of two of slots.
    words: Vec<Slot>,
    words_taken: usize,
    /// Texts that are longer than a word; its order never reaches a result.
    long: FxHashMap<Box<[u8]>, TextCode>,
}

/// A text of at most eight bytes.
#[derive(Clone, Copy, Debug)]
struct Slot {
    word: u64,
    length: u8,
    code: TextCode,
}

/// A slot that is free: no text has this length.
const FREE: Slot = Slot {
    word: 0,
    length: u8::MAX,
    code: 0,
};

impl Default for Dictionary {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            ends: Vec::new(),
            rows: Vec::new(),
            words: vec![FREE; FIRST_SLOTS],
            words_taken: 0,
            long: FxHashMap::default(),
        }
    }
}

impl Dictionary {
    /// Most different texts: those of a column that could still become states by a declaration, and
    /// what columns of numbers are told by. [`NULL`] is none of their codes.
    pub(crate) const MAX_TEXTS: usize = TextCode::MAX as usize;

    /// Returns how many texts there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a text.
    pub(crate) fn text(&self, code: TextCode) -> &[u8] {
        let at = usize::from(code);
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }

    /// Returns all texts with the row in which each first stood, in order of their codes.
    pub(crate) fn texts(&self) -> impl ExactSizeIterator<Item = (&[u8], u64)> {
        let mut start = 0;
        self.ends.iter().zip(&self.rows).map(move |(&end, &row)| {
            let text = &self.bytes[start..end];
            start = end;
            (text, row)
        })
    }

    /// Returns the code of a text; a new one is added, unless there are too many: then `None`.
    #[inline]
    pub(crate) fn code(&mut self, text: &[u8], row: u64) -> Option<TextCode> {
        if text.len() > WORD_BYTES {
            return self.long_code(text, row);
        }
        let word = as_word(text);
        let mut at = self.first_slot(word);
        loop {
            let slot = self.words[at];
            if slot.word == word && usize::from(slot.length) == text.len() {
                return Some(slot.code);
            }
            if slot.length == FREE.length {
                return self.add_word(text, word, row);
            }
            at = (at + 1) & (self.words.len() - 1);
        }
    }

    fn long_code(&mut self, text: &[u8], row: u64) -> Option<TextCode> {
        if let Some(&code) = self.long.get(text) {
            return Some(code);
        }
        let code = self.add(text, row)?;
        self.long.insert(text.into(), code);
        Some(code)
    }

    #[cold]
    fn add_word(&mut self, text: &[u8], word: u64, row: u64) -> Option<TextCode> {
        let code = self.add(text, row)?;
        if 2 * (self.words_taken + 1) > self.words.len() {
            let grown = vec![FREE; 2 * self.words.len()];
            let old = std::mem::replace(&mut self.words, grown);
            for slot in old.into_iter().filter(|slot| slot.length != FREE.length) {
                self.put(slot);
            }
        }
        self.put(Slot {
            word,
            // At most WORD_BYTES.
            length: u8::try_from(text.len()).unwrap_or(FREE.length),
            code,
        });
        self.words_taken += 1;
        Some(code)
    }

    /// Appends a text; `None` if there are too many.
    fn add(&mut self, text: &[u8], row: u64) -> Option<TextCode> {
        let code = TextCode::try_from(self.ends.len()).ok()?;
        if code == NULL {
            return None;
        }
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.rows.push(row);
        Some(code)
    }

    /// Puts a text that is not there yet into the first free slot of its chain.
    fn put(&mut self, slot: Slot) {
        let mut at = self.first_slot(slot.word);
        while self.words[at].length != FREE.length {
            at = (at + 1) & (self.words.len() - 1);
        }
        self.words[at] = slot;
    }

    #[inline]
    fn first_slot(&self, word: u64) -> usize {
        // The upper bits of the product depend on all bits of the word.
        let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (mixed >> 40) as usize;
        place & (self.words.len() - 1)
    }
}

/// Returns a text of at most eight bytes as a number: its bytes, the first as the lowest.
#[inline]
fn as_word(text: &[u8]) -> u64 {
    // Two reads that overlap, instead of a loop over the bytes.
    let length = text.len();
    if let (Some(low), Some(high)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let low = u64::from(u32::from_le_bytes(*low));
        let high = u64::from(u32::from_le_bytes(*high));
        low | high << (8 * (length - 4))
    } else if let (Some(low), Some(high)) = (text.first_chunk::<2>(), text.last_chunk::<2>()) {
        let low = u64::from(u16::from_le_bytes(*low));
        let high = u64::from(u16::from_le_bytes(*high));
        low | high << (8 * (length - 2))
    } else {
        text.first().copied().map_or(0, u64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_word_has_the_bytes_of_its_text() {
        for length in 0..=8 {
            let text = &b"abcdefgh"[..length];
            let mut bytes = [0; 8];
            bytes[..length].copy_from_slice(text);
            assert_eq!(as_word(text), u64::from_le_bytes(bytes), "{length}");
        }
    }

    #[test]
    fn texts_that_differ_in_length_alone_are_different() {
        let mut dictionary = Dictionary::default();
        let codes: Vec<_> = [&b""[..], b"\0", b"\0\0", b"a", b"a\0"]
            .iter()
            .map(|text| dictionary.code(text, 1).unwrap())
            .collect();
        assert_eq!(codes, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn one_text_too_many_is_refused_and_known_ones_are_still_found() {
        let mut dictionary = Dictionary::default();
        for number in 0..Dictionary::MAX_TEXTS {
            let text = format!("text {number}");
            let code = dictionary.code(text.as_bytes(), number as u64).unwrap();
            assert_eq!(usize::from(code), number);
        }
        assert_eq!(dictionary.code(b"one more", 0), None);
        assert_eq!(dictionary.code(b"a", 0), None);
        assert_eq!(dictionary.code(b"text 65534", 0), Some(65_534));
        assert_eq!(dictionary.len(), Dictionary::MAX_TEXTS);
    }

    proptest! {
        #[test]
        fn codes_are_those_of_a_plain_map(
            texts in prop::collection::vec("[ab]{0,3}|[a-c]{7,10}|[0-9]{1,4}", 0..400),
        ) {
            let mut dictionary = Dictionary::default();
            let mut plain: BTreeMap<String, usize> = BTreeMap::new();
            for (row, text) in (2..).zip(&texts) {
                let next = plain.len();
                let expected = *plain.entry(text.clone()).or_insert(next);
                let code = dictionary.code(text.as_bytes(), row).unwrap();
                prop_assert_eq!(usize::from(code), expected);
                prop_assert_eq!(dictionary.text(code), text.as_bytes());
            }
            prop_assert_eq!(dictionary.len(), plain.len());
            for (code, (text, row)) in dictionary.texts().enumerate() {
                let first = texts.iter().position(|other| other.as_bytes() == text).unwrap();
                prop_assert_eq!(row, 2 + first as u64);
                prop_assert_eq!(plain[std::str::from_utf8(text).unwrap()], code);
            }
        }
    }
}
