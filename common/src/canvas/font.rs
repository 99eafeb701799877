//! The letters of PNG and PDF files.

use super::{Anchor, Point, Text};
use std::collections::BTreeSet;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// A part of DejaVu Sans; see `make-font`.
pub(super) const FONT: &[u8] = include_bytes!("font.ttf");

/// The font, ready to be asked.
pub(super) struct Font {
    face: Face<'static>,
}

/// A letter that stands somewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) letter: char,
    pub(super) glyph: GlyphId,
    /// Where its origin is.
    pub(super) at: Point,
}

impl Font {
    /// Opens the font; none only if its file in this program is damaged.
    pub(super) fn open() -> Option<Self> {
        Some(Self {
            face: Face::parse(FONT, 0).ok()?,
        })
    }

    /// Returns the glyph of a letter: a small box, if there is none.
    pub(super) fn glyph(&self, letter: char) -> GlyphId {
        self.face.glyph_index(letter).unwrap_or(GlyphId(0))
    }

    /// Returns how far the next letter is, in units of which [`Self::units`] are the font's size.
    pub(super) fn advance(&self, glyph: GlyphId) -> u16 {
        self.face.glyph_hor_advance(glyph).unwrap_or(0)
    }

    /// Returns the units of the font's size.
    pub(super) fn units(&self) -> f64 {
        f64::from(self.face.units_per_em())
    }

    /// Returns how far letters reach up, and, negative, down.
    pub(super) fn reach(&self) -> (i16, i16) {
        (self.face.ascender(), self.face.descender())
    }

    /// Places the letters of a text.
    pub(super) fn placed(&self, text: &Text) -> Vec<Placed> {
        let scale = text.size / self.units();
        let glyphs: Vec<(char, GlyphId)> = text
            .text
            .chars()
            .map(|letter| (letter, self.glyph(letter)))
            .collect();
        let advance = |glyph: GlyphId| f64::from(self.advance(glyph)) * scale;
        let width: f64 = glyphs.iter().map(|&(_, glyph)| advance(glyph)).sum();
        let (mut x, y) = text.at;
        x -= match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => width / 2.0,
            Anchor::End => width,
        };
        glyphs
            .into_iter()
            .map(|(letter, glyph)| {
                let at = (x, y);
                x += advance(glyph);
                Placed { letter, glyph, at }
            })
            .collect()
    }

    /// Draws a letter.
    pub(super) fn outline(&self, glyph: GlyphId, builder: &mut dyn OutlineBuilder) {
        self.face.outline_glyph(glyph, builder);
    }
}

/// Returns the letters of a text that PNG and PDF files cannot show, each once.
#[must_use]
pub fn letters_without_glyph<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<char> {
    let Some(font) = Font::open() else {
        return BTreeSet::new();
    };
    texts
        .into_iter()
        .flat_map(str::chars)
        .filter(|&letter| !letter.is_control() && font.glyph(letter) == GlyphId(0))
        .collect()
}
