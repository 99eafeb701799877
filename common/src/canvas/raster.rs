//! Filled shapes on pixels, with smooth edges.
//!
//! A shape is a set of closed polygons. Each side adds to the pixels of its rows the area that lies to
//! its right, with a sign by its direction; the sum from the left is how often the shape covers a
//! pixel, in fractions. Polygons that overlap must therefore turn the same way round.

use super::{Colour, Line, Point, Step};

/// How many shades lie between two colours.
const SHADES: f32 = 16.0;

/// Closed polygons; the last point is joined to the first.
pub(super) type Polygons = Vec<Vec<Point>>;

/// Pixels from left to right and top to bottom, in red, green and blue.
#[derive(Clone, Debug)]
pub(super) struct Raster {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<[u8; 3]>,
    /// Areas of the shape that is filled; all 0 between two shapes.
    areas: Vec<f32>,
    /// Which of them are not 0, row by row: the first and the one behind the last.
    touched: Vec<(usize, usize)>,
}

impl Raster {
    /// A white page.
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            pixels: vec![[255; 3]; width * height],
            areas: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Fills polygons, given in pixels.
    pub(super) fn fill(&mut self, polygons: &[Vec<Point>], colour: Colour) {
        let Some(window) = Window::around(polygons, self.width, self.height) else {
            return;
        };
        let room = (window.width + 2) * window.height;
        self.areas.resize(room.max(self.areas.len()), 0.0);
        self.touched.clear();
        self.touched.resize(window.height, (usize::MAX, 0));
        for polygon in polygons {
            let ends = polygon.iter().skip(1).chain(polygon.first());
            for (&from, &to) in polygon.iter().zip(ends) {
                self.side(&window, from, to);
            }
        }
        let ink = [colour.0, colour.1, colour.2];
        for (row, &(first, end)) in self.touched.iter().enumerate() {
            if first >= end {
                continue;
            }
            // Polygons are closed: right of what is touched, nothing is covered.
            let areas = &mut self.areas[row * (window.width + 2)..][first..end];
            let start = (window.top + row) * self.width + window.left + first;
            let pixels = &mut self.pixels[start..][..end.min(window.width).saturating_sub(first)];
            let mut covered = 0.0f32;
            for (pixel, &mut area) in pixels.iter_mut().zip(&mut *areas) {
                covered += area;
                // Few different shades: eyes see no more, and files are smaller.
                let share = (covered.abs().min(1.0) * SHADES).round() / SHADES;
                if share > 0.0 {
                    for (part, ink) in pixel.iter_mut().zip(ink) {
                        let mixed = f32::from(*part) + share * (f32::from(ink) - f32::from(*part));
                        *part = rounded(mixed);
                    }
                }
            }
            areas.fill(0.0);
        }
    }

    /// Adds a side of a polygon to the areas.
    fn side(&mut self, window: &Window, from: Point, to: Point) {
        let ((x0, y0), (x1, y1), sign) = match from.1 <= to.1 {
            true => (window.own(from), window.own(to), 1.0),
            false => (window.own(to), window.own(from), -1.0),
        };
        let (top, bottom) = (y0.max(0.0), y1.min(float(window.height)));
        if bottom <= top {
            return;
        }
        let slope = (x1 - x0) / (y1 - y0);
        let (mut y, mut x) = (top, x0 + (top - y0) * slope);
        while y < bottom {
            let row = whole(y).min(window.height - 1);
            let next = float(row + 1).min(bottom);
            let next_x = x + (next - y) * slope;
            self.part(window, row, (x, next_x), sign * (next - y));
            (y, x) = (next, next_x);
        }
    }

    /// Adds the part of a side within one row, of this height. What is right of the window covers
    /// nothing in it; what is left of it covers all of the row.
    fn part(&mut self, window: &Window, row: usize, (a, b): (f64, f64), height: f64) {
        let most = float(window.width);
        let (left, right) = (a.min(b), a.max(b));
        let areas = &mut self.areas[row * (window.width + 2)..][..window.width + 2];
        let touched = &mut self.touched[row];
        // Behind the last pixel that the side passes, it adds to one more.
        let (from, behind) = (
            whole(left.clamp(0.0, most)),
            whole(right.clamp(0.0, most)) + 2,
        );
        *touched = (touched.0.min(from), touched.1.max(behind));
        let slope = if right > left {
            height / (right - left)
        } else {
            0.0
        };
        if right <= 0.0 {
            areas[0] += small(height);
            return;
        }
        if left >= most {
            return;
        }
        let before_it = (-left).max(0.0) * slope;
        areas[0] += small(before_it);
        let height = height - before_it - (right - most).max(0.0) * slope;
        let (left, right) = (left.max(0.0), right.min(most));
        let first = whole(left);
        let last = whole(right);
        if last == first {
            // All of it in one pixel: what lies to its right within the pixel, and all further ones.
            let beside = 1.0 - ((left + right) / 2.0 - float(first));
            areas[first] += small(height * beside);
            areas[first + 1] += small(height * (1.0 - beside));
            return;
        }
        let by_pixel = height / (right - left);
        let mut before = 0.0;
        for (at, area) in areas.iter_mut().enumerate().take(last + 1).skip(first) {
            let (start, end) = (left.max(float(at)), right.min(float(at + 1)));
            let own = (end - start) * by_pixel;
            let beside = 1.0 - ((start + end) / 2.0 - float(at));
            *area += small(before + own * beside);
            before = own * (1.0 - beside);
        }
        areas[last + 1] += small(before);
    }
}

/// The pixels that a shape can touch.
struct Window {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl Window {
    fn around(polygons: &[Vec<Point>], width: usize, height: usize) -> Option<Self> {
        let points = || polygons.iter().flatten();
        let least = |of: fn(&Point) -> f64| points().map(of).fold(f64::INFINITY, f64::min);
        let most = |of: fn(&Point) -> f64| points().map(of).fold(f64::NEG_INFINITY, f64::max);
        let span = |low: f64, high: f64, size: usize| {
            let end = whole(high.ceil()).min(size);
            let start = whole(low).min(end);
            (end > start).then_some((start, end - start))
        };
        let (left, wide) = span(least(|at| at.0), most(|at| at.0), width)?;
        let (top, high) = span(least(|at| at.1), most(|at| at.1), height)?;
        Some(Self {
            left,
            top,
            width: wide,
            height: high,
        })
    }

    fn own(&self, (x, y): Point) -> Point {
        (x - float(self.left), y - float(self.top))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative numbers become 0, and a page has far fewer pixels than a number holds"
)]
fn whole(number: f64) -> usize {
    number as usize
}

#[expect(clippy::cast_precision_loss, reason = "pixels of a page")]
fn float(number: usize) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, reason = "areas of pixels")]
fn small(number: f64) -> f32 {
    number as f32
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 0 and 255"
)]
fn rounded(number: f32) -> u8 {
    (number + 0.5) as u8
}

/// Returns the points of a line as its pieces that are drawn, dashes included.
pub(super) fn drawn_pieces(line: &Line, scale: f64) -> Vec<Vec<Point>> {
    let scaled = |(x, y): Point| (x * scale, y * scale);
    let mut pieces = vec![vec![scaled(line.start)]];
    let mut at = scaled(line.start);
    for step in &line.steps {
        let end = scaled(step.end());
        match *step {
            Step::Move(_) => pieces.push(vec![end]),
            Step::Line(_) => add(&mut pieces, end),
            Step::Curve(a, b, _) => {
                for point in curve_points(at, scaled(a), scaled(b), end) {
                    add(&mut pieces, point);
                }
            }
        }
        at = end;
    }
    match line.dashes.is_empty() {
        true => pieces,
        false => {
            let dashes: Vec<f64> = line.dashes.iter().map(|dash| dash * scale).collect();
            pieces
                .iter()
                .flat_map(|piece| dashed(piece, &dashes))
                .collect()
        }
    }
}

fn add(pieces: &mut [Vec<Point>], point: Point) {
    if let Some(piece) = pieces.last_mut() {
        piece.push(point);
    }
}

/// Returns points along a cubic curve, close enough to look smooth.
pub(super) fn curve_points(from: Point, a: Point, b: Point, to: Point) -> Vec<Point> {
    let far = |(x0, y0): Point, (x1, y1): Point| (x1 - x0).hypot(y1 - y0);
    let length = far(from, a) + far(a, b) + far(b, to);
    let steps = whole((length / 4.0).sqrt() * 4.0).clamp(4, 200);
    (1..=steps)
        .map(|step| {
            let t = float(step) / float(steps);
            let u = 1.0 - t;
            let mix = |p: f64, q: f64, r: f64, s: f64| {
                u * u * u * p + 3.0 * u * u * t * q + 3.0 * u * t * t * r + t * t * t * s
            };
            (mix(from.0, a.0, b.0, to.0), mix(from.1, a.1, b.1, to.1))
        })
        .collect()
}

/// Cuts a piece into its dashes.
fn dashed(points: &[Point], dashes: &[f64]) -> Vec<Vec<Point>> {
    let mut made = Vec::new();
    let (mut number, mut left) = (0, dashes[0]);
    let Some(&first) = points.first() else {
        return made;
    };
    let mut dash = vec![first];
    for pair in points.windows(2) {
        let &[(mut x, mut y), (x1, y1)] = pair else {
            continue;
        };
        let mut rest = (x1 - x).hypot(y1 - y);
        while rest > left {
            let share = left / rest;
            (x, y) = (x + (x1 - x) * share, y + (y1 - y) * share);
            rest -= left;
            dash.push((x, y));
            let full = std::mem::replace(&mut dash, vec![(x, y)]);
            if number % 2 == 0 {
                made.push(full);
            }
            number += 1;
            left = dashes[number % dashes.len()].max(0.1);
        }
        left -= rest;
        dash.push((x1, y1));
    }
    if number % 2 == 0 {
        made.push(dash);
    }
    made
}

/// Returns the area that a pen of some width covers along points: a polygon for each step, all turning
/// the same way round, with corners that meet.
pub(super) fn stroked(points: &[Point], width: f64) -> Polygons {
    let mut way: Vec<Point> = points.to_vec();
    way.dedup_by(|a, b| (a.0 - b.0).hypot(a.1 - b.1) < 1e-9);
    let sides: Vec<Point> = way
        .windows(2)
        .map(|pair| {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let length = (x1 - x0).hypot(y1 - y0);
            ((y0 - y1) / length, (x1 - x0) / length)
        })
        .collect();
    let Some(last) = sides.len().checked_sub(1) else {
        return Vec::new();
    };
    // Where the pen's ends are at a point: in the direction between its two sides.
    let offset = |at: usize| {
        let (a, b) = (sides[at.saturating_sub(1)], sides[at.min(last)]);
        let a = if at == 0 { b } else { a };
        let (x, y) = (a.0 + b.0, a.1 + b.1);
        let square = x * x + y * y;
        // 2 / |a + b| is how much longer the mitre is; a turn on the spot has none.
        let reach = if square > 0.5 {
            width / square
        } else {
            width / 2.0
        };
        if square > 0.5 {
            (x * reach, y * reach)
        } else {
            (b.0 * reach, b.1 * reach)
        }
    };
    way.windows(2)
        .enumerate()
        .map(|(at, pair)| {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let ((ax, ay), (bx, by)) = (offset(at), offset(at + 1));
            vec![
                (x0 + ax, y0 + ay),
                (x0 - ax, y0 - ay),
                (x1 - bx, y1 - by),
                (x1 + bx, y1 + by),
            ]
        })
        .collect()
}
