//! A page as PDF: lines and letters stay sharp at any size, and text can be searched and copied.

use super::font::{FONT, Font};
use super::{Canvas, Colour, Head, Line, Point, Rect, Shape, Step, Text};
use flate2::{Compression, write::ZlibEncoder};
use std::collections::BTreeMap;
use std::io::Write;

/// Points (1/72 inch) for a pixel of a screen (1/96 inch).
const POINTS: f64 = 0.75;
/// The largest page that programs show.
const LONGEST_SIDE: f64 = 14_400.0;

impl Canvas {
    /// Writes the page as PDF.
    #[must_use]
    pub fn to_pdf(&self) -> Vec<u8> {
        let longest = self.width.max(self.height).max(1.0);
        let scale = POINTS.min(LONGEST_SIDE / longest);
        let (width, height) = (self.width * scale, self.height * scale);
        let mut page = Page {
            // From here on, lengths are pixels and lead downwards, as everywhere.
            content: format!("{scale:.6} 0 0 {:.6} 0 {height:.3} cm\n", -scale),
            font: Font::open(),
            letters: BTreeMap::new(),
        };
        page.draw(&self.shapes);
        let mut file = File::default();
        file.add("<< /Type /Catalog /Pages 2 0 R >>");
        file.add("<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
        file.add(&format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width:.3} {height:.3}] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>"
        ));
        file.add_stream("", page.content.as_bytes());
        page.add_font(&mut file);
        file.ended()
    }
}

struct Page {
    content: String,
    font: Option<Font>,
    /// The letters that are used, by their glyphs.
    letters: BTreeMap<u16, char>,
}

impl Page {
    fn draw(&mut self, shapes: &[Shape]) {
        for shape in shapes {
            match shape {
                Shape::Line(line) => self.line(line),
                Shape::Rect(rect) => self.rect(rect),
                Shape::Text(text) => self.text(text),
                Shape::Named { shapes, .. } => self.draw(shapes),
            }
        }
    }

    fn colours(&mut self, colour: Colour) {
        let part = |part: u8| format!("{:.4}", f64::from(part) / 255.0);
        let rgb = [part(colour.0), part(colour.1), part(colour.2)].join(" ");
        self.content += &format!("{rgb} RG {rgb} rg\n");
    }

    fn line(&mut self, line: &Line) {
        self.colours(line.colour);
        let dashes: Vec<String> = line.dashes.iter().map(f64::to_string).collect();
        self.content += &format!("{:.2} w [{}] 0 d\n", line.width, dashes.join(" "));
        self.content += &format!("{} m\n", at(line.start));
        for step in &line.steps {
            self.content += &match *step {
                Step::Move(end) => format!("{} m\n", at(end)),
                Step::Line(end) => format!("{} l\n", at(end)),
                Step::Curve(a, b, end) => format!("{} {} {} c\n", at(a), at(b), at(end)),
            };
        }
        self.content += "S\n";
        if line.head
            && let Some((from, to)) = line.last_direction()
        {
            let [tip, left, right] = Head::corners(from, to).map(at);
            self.content += &format!("{tip} m {left} l {right} l f\n");
        }
    }

    fn rect(&mut self, rect: &Rect) {
        // Control points at this share of the radius make a quarter of a circle.
        const ROUND: f64 = 0.552_285;
        let radius = rect.corner;
        let near = radius * (1.0 - ROUND);
        let ((left, top), (right, bottom)) =
            (rect.at, (rect.at.0 + rect.width, rect.at.1 + rect.height));
        let mut path = format!("{} m\n", at((left + radius, top)));
        for (straight, a, b, end) in [
            (
                (right - radius, top),
                (right - near, top),
                (right, top + near),
                (right, top + radius),
            ),
            (
                (right, bottom - radius),
                (right, bottom - near),
                (right - near, bottom),
                (right - radius, bottom),
            ),
            (
                (left + radius, bottom),
                (left + near, bottom),
                (left, bottom - near),
                (left, bottom - radius),
            ),
            (
                (left, top + radius),
                (left, top + near),
                (left + near, top),
                (left + radius, top),
            ),
        ] {
            path += &format!("{} l {} {} {} c\n", at(straight), at(a), at(b), at(end));
        }
        if let Some(fill) = rect.fill {
            self.colours(fill);
            self.content += &format!("{path}h f\n");
        }
        if let Some(border) = rect.border {
            self.colours(border);
            self.content += &format!("1 w [] 0 d\n{path}h S\n");
        }
    }

    fn text(&mut self, text: &Text) {
        let Some(font) = &self.font else {
            return;
        };
        let placed = font.placed(text);
        let Some(first) = placed.first() else {
            return;
        };
        let mut glyphs = String::new();
        for letter in &placed {
            glyphs += &format!("{:04x}", letter.glyph.0);
            self.letters.entry(letter.glyph.0).or_insert(letter.letter);
        }
        let start = at(first.at);
        self.colours(Colour::INK);
        // Letters stand upright on a page whose lengths lead downwards.
        self.content += &format!(
            "BT /F {:.2} Tf 1 0 0 -1 {start} Tm <{glyphs}> Tj ET\n",
            text.size
        );
    }

    /// Adds the font: its file, how wide its letters are, and which letters they are.
    fn add_font(&self, file: &mut File) {
        let Some(font) = &self.font else {
            file.add("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
            return;
        };
        let thousandths = |units: f64| units * 1000.0 / font.units();
        let widths: String = self
            .letters
            .keys()
            .map(|&glyph| {
                let advance = font.advance(ttf_parser::GlyphId(glyph));
                format!("{glyph} [{:.1}] ", thousandths(f64::from(advance)))
            })
            .collect();
        let (up, down) = font.reach();
        let (up, down) = (thousandths(f64::from(up)), thousandths(f64::from(down)));
        file.add("<< /Type /Font /Subtype /Type0 /BaseFont /DejaVuSans /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 9 0 R >>");
        file.add(&format!(
            "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /DejaVuSans /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor 7 0 R /CIDToGIDMap /Identity /DW 600 /W [{widths}] >>"
        ));
        file.add(&format!(
            "<< /Type /FontDescriptor /FontName /DejaVuSans /Flags 4 /FontBBox [-1000 {down:.0} 2000 {up:.0}] /ItalicAngle 0 /Ascent {up:.0} /Descent {down:.0} /CapHeight 729 /StemV 80 /FontFile2 8 0 R >>"
        ));
        file.add_stream(&format!(" /Length1 {}", FONT.len()), FONT);
        file.add_stream("", self.unicode().as_bytes());
    }

    /// Says which letter each glyph is, so that text can be searched and copied.
    fn unicode(&self) -> String {
        let mut text = String::from(
            "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n/CMapName /Letters def\n/CMapType 2 def\n1 begincodespacerange\n<0000> <ffff>\nendcodespacerange\n",
        );
        let letters: Vec<(&u16, &char)> = self.letters.iter().collect();
        // A block holds up to a hundred.
        for block in letters.chunks(100) {
            text += &format!("{} beginbfchar\n", block.len());
            for (glyph, letter) in block {
                let mut units = [0; 2];
                let code: String = letter
                    .encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("{unit:04x}"))
                    .collect();
                text += &format!("<{glyph:04x}> <{code}>\n");
            }
            text += "endbfchar\n";
        }
        text + "endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n"
    }
}

fn at((x, y): Point) -> String {
    format!("{x:.2} {y:.2}")
}

/// A file of numbered objects.
struct File {
    bytes: Vec<u8>,
    /// Where each object begins.
    starts: Vec<usize>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            // The second line tells programs that bytes follow.
            bytes: b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n".to_vec(),
            starts: Vec::new(),
        }
    }
}

impl File {
    fn begin(&mut self) {
        self.starts.push(self.bytes.len());
        let number = self.starts.len();
        self.bytes.extend(format!("{number} 0 obj\n").bytes());
    }

    fn add(&mut self, content: &str) {
        self.begin();
        self.bytes.extend(content.bytes());
        self.bytes.extend(b"\nendobj\n");
    }

    /// Adds bytes, compressed, with further entries of what describes them.
    fn add_stream(&mut self, entries: &str, content: &[u8]) {
        let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
        // Writing into memory does not fail.
        let _ = packer.write_all(content);
        let packed = packer.finish().unwrap_or_default();
        self.begin();
        let head = format!(
            "<< /Length {} /Filter /FlateDecode{entries} >>\nstream\n",
            packed.len()
        );
        self.bytes.extend(head.bytes());
        self.bytes.extend(packed);
        self.bytes.extend(b"\nendstream\nendobj\n");
    }

    /// Adds the table of objects.
    fn ended(mut self) -> Vec<u8> {
        let table = self.bytes.len();
        let size = self.starts.len() + 1;
        let mut text = format!("xref\n0 {size}\n0000000000 65535 f \n");
        for start in &self.starts {
            text += &format!("{start:010} 00000 n \n");
        }
        text += &format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n");
        self.bytes.extend(text.bytes());
        self.bytes
    }
}
