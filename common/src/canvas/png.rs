//! A page as PNG.

use super::font::Font;
use super::raster::{Raster, curve_points, drawn_pieces, stroked};
use super::{Canvas, Colour, Head, Line, Point, Rect, Shape, Text};
use flate2::{Compression, Crc, write::ZlibEncoder};
use std::io::Write;
use ttf_parser::OutlineBuilder;

/// Two pixels of the file for one of a screen: pictures stay sharp when they are enlarged.
const SCALE: f64 = 2.0;
/// The most pixels of a file; larger pages are drawn smaller.
const MOST_PIXELS: f64 = 24e6;

impl Canvas {
    /// Writes the page as PNG: twice the size of a screen, or less if it would have more than 24 million
    /// pixels.
    #[must_use]
    pub fn to_png(&self) -> Vec<u8> {
        let (width, height) = (self.width.max(1.0), self.height.max(1.0));
        let scale = SCALE.min((MOST_PIXELS / (width * height)).sqrt());
        let pixels = |length: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at least one, and a file has few enough"
            )]
            {
                (length * scale).ceil().max(1.0) as u32
            }
        };
        let (columns, rows) = (pixels(width), pixels(height));
        let mut page = Page {
            raster: Raster::new(columns as usize, rows as usize),
            font: Font::open(),
            scale,
        };
        page.draw(&self.shapes);
        encoded(&page.raster, (columns, rows), scale)
    }
}

struct Page {
    raster: Raster,
    font: Option<Font>,
    scale: f64,
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

    fn at(&self, (x, y): Point) -> Point {
        (x * self.scale, y * self.scale)
    }

    fn line(&mut self, line: &Line) {
        for piece in drawn_pieces(line, self.scale) {
            self.raster
                .fill(&stroked(&piece, line.width * self.scale), line.colour);
        }
        if line.head
            && let Some((from, to)) = line.last_direction()
        {
            let head = Head::corners(from, to).map(|corner| self.at(corner));
            self.raster.fill(&[head.to_vec()], line.colour);
        }
    }

    fn rect(&mut self, rect: &Rect) {
        let (around, inside) = (self.outline(rect, 0.5), self.outline(rect, -0.5));
        match (rect.fill, rect.border) {
            (fill, Some(border)) => {
                if let Some(fill) = fill {
                    self.raster.fill(&[self.outline(rect, 0.0)], fill);
                }
                // The border is what lies between: the inner outline turns the other way round.
                let inside = inside.into_iter().rev().collect();
                self.raster.fill(&[around, inside], border);
            }
            (Some(fill), None) => self.raster.fill(&[self.outline(rect, 0.0)], fill),
            (None, None) => {}
        }
    }

    /// Returns the outline of a box that is larger by some pixels of a screen on each side.
    fn outline(&self, rect: &Rect, more: f64) -> Vec<Point> {
        // Control points at this share of the radius make a quarter of a circle.
        const ROUND: f64 = 0.552_285;
        let (left, top) = (rect.at.0 - more, rect.at.1 - more);
        let (right, bottom) = (
            rect.at.0 + rect.width + more,
            rect.at.1 + rect.height + more,
        );
        if rect.corner <= 0.0 {
            let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
            return corners.map(|corner| self.at(corner)).to_vec();
        }
        let radius = rect.corner + more;
        let corners = [
            ((right, top), (-1.0, 0.0), (0.0, 1.0)),
            ((right, bottom), (0.0, -1.0), (-1.0, 0.0)),
            ((left, bottom), (1.0, 0.0), (0.0, -1.0)),
            ((left, top), (0.0, 1.0), (1.0, 0.0)),
        ];
        let mut points = Vec::new();
        for (corner, back, ahead) in corners {
            let off = |(dx, dy): Point, share: f64| {
                self.at((
                    corner.0 + dx * radius * share,
                    corner.1 + dy * radius * share,
                ))
            };
            let start = off(back, 1.0);
            points.push(start);
            let (a, b) = (off(back, 1.0 - ROUND), off(ahead, 1.0 - ROUND));
            points.extend(curve_points(start, a, b, off(ahead, 1.0)));
        }
        points
    }

    fn text(&mut self, text: &Text) {
        let Some(font) = &self.font else {
            return;
        };
        for placed in font.placed(text) {
            let mut glyph = Glyph {
                at: self.at(placed.at),
                scale: text.size * self.scale / font.units(),
                contours: Vec::new(),
            };
            font.outline(placed.glyph, &mut glyph);
            self.raster.fill(&glyph.contours, Colour::INK);
        }
    }
}

/// The outline of a letter on the page.
struct Glyph {
    at: Point,
    scale: f64,
    contours: Vec<Vec<Point>>,
}

impl Glyph {
    fn place(&self, x: f32, y: f32) -> Point {
        (
            self.at.0 + f64::from(x) * self.scale,
            self.at.1 - f64::from(y) * self.scale,
        )
    }

    fn push(&mut self, points: impl IntoIterator<Item = Point>) {
        if let Some(contour) = self.contours.last_mut() {
            contour.extend(points);
        }
    }

    fn last(&self) -> Point {
        let contour = self.contours.last();
        contour
            .and_then(|contour| contour.last())
            .copied()
            .unwrap_or(self.at)
    }
}

impl OutlineBuilder for Glyph {
    fn move_to(&mut self, x: f32, y: f32) {
        self.contours.push(vec![self.place(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.push([self.place(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (from, middle, to) = (self.last(), self.place(x1, y1), self.place(x, y));
        let towards = |(x, y): Point| {
            let third = |a: f64, b: f64| a + (b - a) * 2.0 / 3.0;
            (third(x, middle.0), third(y, middle.1))
        };
        self.push(curve_points(from, towards(from), towards(to), to));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (from, a, b, to) = (
            self.last(),
            self.place(x1, y1),
            self.place(x2, y2),
            self.place(x, y),
        );
        self.push(curve_points(from, a, b, to));
    }

    fn close(&mut self) {}
}

/// Writes the file: a head, how large a pixel is, the rows, an end.
fn encoded(raster: &Raster, (columns, rows): (u32, u32), scale: f64) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = Vec::new();
    head.extend(columns.to_be_bytes());
    head.extend(rows.to_be_bytes());
    // Eight bits each of red, green and blue; the only compression and filters there are; no interlacing.
    head.extend([8, 2, 0, 0, 0]);
    chunk(&mut file, *b"IHDR", &head);
    // Pixels in a metre: a screen has 96 in an inch.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few thousand"
    )]
    let density = (scale * 96.0 / 0.0254).round() as u32;
    let mut size = Vec::new();
    size.extend(density.to_be_bytes());
    size.extend(density.to_be_bytes());
    size.push(1);
    chunk(&mut file, *b"pHYs", &size);
    chunk(&mut file, *b"IDAT", &packed(raster));
    chunk(&mut file, *b"IEND", &[]);
    file
}

/// Compresses the rows. They are written as they are: differences from a neighbour, which other pictures
/// gain from, make these larger.
fn packed(raster: &Raster) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in raster.pixels.chunks(raster.width.max(1)) {
        // Writing into memory does not fail.
        let _ = packer.write_all(&[0]);
        let _ = packer.write_all(row.as_flattened());
    }
    packer.finish().unwrap_or_default()
}

/// Adds a part of the file with its length and its checksum.
fn chunk(file: &mut Vec<u8>, kind: [u8; 4], content: &[u8]) {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    file.extend(length.to_be_bytes());
    file.extend(kind);
    file.extend(content);
    let mut sum = Crc::new();
    sum.update(&kind);
    sum.update(content);
    file.extend(sum.sum().to_be_bytes());
}
