//! Pages as files: their pixels, and what the formats ask for.

use super::raster::{Raster, stroked};
use super::*;
use flate2::read::ZlibDecoder;
use std::io::Read;

fn line(start: Point, steps: Vec<Step>, width: f64, head: bool) -> Shape {
    Shape::Line(Line {
        start,
        steps,
        colour: Colour(0, 0, 0),
        width,
        dashes: &[],
        head,
    })
}

fn page(shapes: Vec<Shape>) -> Canvas {
    Canvas {
        width: 60.0,
        height: 40.0,
        shapes,
    }
}

/// Reads a PNG of ours: its size and its pixels.
fn pixels(png: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()) as usize;
    let (width, height) = (number(16), number(20));
    let mut packed = Vec::new();
    let mut at = 8;
    let mut kinds = Vec::new();
    while at < png.len() {
        let length = number(at);
        let content = &png[at + 4..at + 8 + length];
        let mut sum = flate2::Crc::new();
        sum.update(content);
        assert_eq!(sum.sum() as usize, number(at + 8 + length));
        kinds.push(String::from_utf8_lossy(&content[..4]).into_owned());
        if &content[..4] == b"IDAT" {
            packed.extend(&content[4..]);
        }
        at += 12 + length;
    }
    assert_eq!(kinds, ["IHDR", "pHYs", "IDAT", "IEND"]);
    let mut rows = Vec::new();
    ZlibDecoder::new(&*packed).read_to_end(&mut rows).unwrap();
    let mut pixels = Vec::new();
    for row in rows.chunks(3 * width + 1) {
        assert_eq!(row[0], 0);
        let row = row[1..].chunks(3);
        pixels.extend(row.map(|pixel| <[u8; 3]>::try_from(pixel).unwrap()));
    }
    assert_eq!(pixels.len(), width * height);
    (width, height, pixels)
}

#[test]
fn areas_are_filled_by_how_much_of_a_pixel_they_cover() {
    let mut raster = Raster::new(6, 4);
    raster.fill(
        &[vec![(1.0, 1.0), (3.5, 1.0), (3.5, 2.5), (1.0, 2.5)]],
        Colour(0, 0, 0),
    );
    let row = |y: usize| raster.pixels[6 * y..6 * y + 6].iter().map(|pixel| pixel[0]);
    assert!(row(0).chain(row(3)).all(|pixel| pixel == 255));
    assert_eq!(row(1).collect::<Vec<_>>(), [255, 0, 0, 128, 255, 255]);
    assert_eq!(row(2).collect::<Vec<_>>(), [255, 128, 128, 191, 255, 255]);
    // A hole turns the other way round; the same way round is no hole.
    let square = |low: f64, high: f64| vec![(low, low), (high, low), (high, high), (low, high)];
    let reversed = |polygon: Vec<Point>| polygon.into_iter().rev().collect::<Vec<_>>();
    for (inner, middle) in [(reversed(square(2.0, 4.0)), 255), (square(2.0, 4.0), 0)] {
        let mut raster = Raster::new(6, 6);
        raster.fill(&[square(1.0, 5.0), inner], Colour(0, 0, 0));
        assert_eq!(raster.pixels[6 * 3 + 3][0], middle);
        assert_eq!(raster.pixels[6 + 3][0], 0);
    }
}

/// The slow twin of filling: many points in every pixel.
#[test]
fn triangles_cover_what_points_in_them_say() {
    let inside = |[a, b, c]: [Point; 3], (x, y): Point| {
        let side = |p: Point, q: Point| (q.0 - p.0) * (y - p.1) - (q.1 - p.1) * (x - p.0);
        let sides = [side(a, b), side(b, c), side(c, a)];
        sides.iter().all(|&s| s >= 0.0) || sides.iter().all(|&s| s <= 0.0)
    };
    for triangle in [
        [(1.3, 0.7), (10.2, 4.1), (3.9, 11.6)],
        [(-4.0, 3.0), (16.0, -2.0), (7.0, 20.0)],
        [(2.0, 2.0), (2.2, 11.0), (2.4, 2.0)],
        [(0.0, 11.9), (12.0, 11.8), (6.0, 11.1)],
    ] {
        let mut raster = Raster::new(12, 12);
        raster.fill(&[triangle.to_vec()], Colour(0, 0, 0));
        for y in 0..12u32 {
            for x in 0..12u32 {
                let mut hits = 0.0;
                for step in 0..1024 {
                    let at = (
                        f64::from(x) + (f64::from(step % 32) + 0.5) / 32.0,
                        f64::from(y) + (f64::from(step / 32) + 0.5) / 32.0,
                    );
                    hits += f64::from(u8::from(inside(triangle, at)));
                }
                let expected = 255.0 * (1.0 - hits / 1024.0);
                let found = f64::from(raster.pixels[(12 * y + x) as usize][0]);
                assert!(
                    (found - expected).abs() < 14.0,
                    "{triangle:?} {x} {y}: {found} {expected}"
                );
            }
        }
    }
}

#[test]
fn a_pen_covers_its_width_times_the_way() {
    let area = |polygon: &[Point]| {
        let ends = polygon.iter().skip(1).chain(polygon.first());
        let twice: f64 = polygon
            .iter()
            .zip(ends)
            .map(|(a, b)| a.0 * b.1 - a.1 * b.0)
            .sum();
        twice / 2.0
    };
    for (points, length) in [
        (vec![(0.0, 0.0), (10.0, 0.0)], 10.0),
        (vec![(0.0, 0.0), (0.0, 0.0), (3.0, 4.0)], 5.0),
        (
            vec![(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (0.0, 10.0)],
            30.0,
        ),
    ] {
        let made = stroked(&points, 2.0);
        let areas: Vec<f64> = made.iter().map(|polygon| area(polygon)).collect();
        let all: f64 = areas.iter().sum();
        assert!((all.abs() - 2.0 * length).abs() < 1e-9, "{all}");
        assert!(
            areas.iter().all(|one| one.signum() == all.signum()),
            "{areas:?}"
        );
    }
    assert!(stroked(&[(1.0, 1.0)], 2.0).is_empty());
}

#[test]
fn pixels_show_boxes_lines_heads_and_letters() {
    let shapes = vec![
        line((5.0, 20.0), vec![Step::Line((25.0, 20.0))], 2.0, true),
        Shape::Named {
            name: "x".into(),
            shapes: vec![Shape::Rect(Rect {
                at: (30.0, 10.0),
                width: 20.0,
                height: 20.0,
                corner: 4.0,
                fill: Some(Colour(0, 0, 255)),
                border: Some(Colour(255, 0, 0)),
            })],
        },
    ];
    let (width, height, found) = pixels(&page(shapes).to_png());
    assert_eq!((width, height), (120, 80));
    let at = |x: usize, y: usize| found[y * width + x];
    assert_eq!(at(20, 40), [0, 0, 0]);
    assert_eq!(at(20, 44), [255, 255, 255]);
    // The head is wider than the line.
    assert_eq!(at(38, 43), [0, 0, 0]);
    assert_eq!(at(80, 40), [0, 0, 255]);
    assert_eq!(at(60, 40), [255, 0, 0]);
    // The corner is round.
    assert_eq!(at(60, 20), [255, 255, 255]);

    let text = |anchor| {
        let shown = Text {
            at: (30.0, 25.0),
            anchor,
            text: "Hxé".into(),
            size: 14.0,
        };
        let (width, _, found) = pixels(&page(vec![Shape::Text(shown)]).to_png());
        let dark = (0..found.len()).filter(|&at| found[at][0] < 100);
        let columns: Vec<usize> = dark.map(|at| at % width).collect();
        (columns.iter().min().copied(), columns.iter().max().copied())
    };
    let (Some(left), Some(right)) = text(Anchor::Middle) else {
        panic!("no letters");
    };
    assert!((60 - left).abs_diff(right - 60) <= 4, "{left} {right}");
    assert!(text(Anchor::Start).0 >= Some(60) && text(Anchor::End).1 <= Some(60));
}

#[test]
fn large_pages_stay_within_the_limit_and_odd_ones_are_written() {
    let canvas = Canvas {
        width: 40_000.0,
        height: 30_000.0,
        shapes: vec![line(
            (0.0, 0.0),
            vec![Step::Line((40_000.0, 30_000.0))],
            9.0,
            true,
        )],
    };
    let (width, height, _) = pixels(&canvas.to_png());
    assert!(
        width * height <= 24_020_000 && width > 5000,
        "{width} {height}"
    );
    assert!(canvas.to_pdf().starts_with(b"%PDF-1.5"));
    for canvas in [
        Canvas::default(),
        page(vec![
            line((5.0, 5.0), vec![Step::Line((5.0, 5.0))], 1.0, true),
            line((5.0, 5.0), Vec::new(), 1.0, true),
            line(
                (-50.0, -9.0),
                vec![Step::Curve((900.0, 9.0), (0.0, -700.0), (5.0, 5.0))],
                1.0,
                true,
            ),
        ]),
    ] {
        assert!(pixels(&canvas.to_png()).0 >= 1);
        assert!(canvas.to_pdf().ends_with(b"%%EOF\n"));
        assert!(canvas.to_svg().ends_with("</svg>\n"));
    }
}

#[test]
fn dashes_leave_out_as_much_as_they_say() {
    let dashed = Shape::Line(Line {
        start: (0.0, 20.0),
        steps: vec![Step::Line((30.0, 20.0)), Step::Line((60.0, 20.0))],
        colour: Colour(0, 0, 0),
        width: 2.0,
        dashes: &[6.0, 4.0],
        head: false,
    });
    let (width, _, found) = pixels(&page(vec![dashed]).to_png());
    let dark: Vec<bool> = (0..width).map(|x| found[40 * width + x][0] < 128).collect();
    for (x, &dark) in dark.iter().enumerate() {
        assert_eq!(dark, x % 20 < 12, "{x}");
    }
}

/// The objects of a PDF by their number: where the table says they are.
#[test]
fn the_table_of_a_pdf_leads_to_its_objects() {
    let text = Text {
        at: (5.0, 20.0),
        anchor: Anchor::Start,
        text: "Größe Ω б 漢".into(),
        size: 14.0,
    };
    let pdf = page(vec![Shape::Text(text)]).to_pdf();
    let tail = String::from_utf8_lossy(&pdf[pdf.len() - 900..]).into_owned();
    let start: usize = tail
        .rsplit("startxref\n")
        .next()
        .and_then(|rest| rest.lines().next())
        .unwrap()
        .parse()
        .unwrap();
    let table = String::from_utf8_lossy(&pdf[start..]).into_owned();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("xref"));
    let entries: Vec<&str> = lines.take_while(|line| *line != "trailer").collect();
    assert_eq!(entries[0], "0 10");
    for (number, entry) in entries[2..].iter().enumerate() {
        let at: usize = entry[..10].parse().unwrap();
        let begins = format!("{} 0 obj\n", number + 1);
        assert!(pdf[at..].starts_with(begins.as_bytes()), "{number}");
    }
    assert_eq!(
        pdf,
        page(vec![Shape::Text(Text {
            at: (5.0, 20.0),
            anchor: Anchor::Start,
            text: "Größe Ω б 漢".into(),
            size: 14.0,
        })])
        .to_pdf()
    );
}

#[test]
fn letters_that_the_font_lacks_are_told() {
    let letters = letters_without_glyph(["Größe Ω б", "漢字 漢", "ok\u{7}…"]);
    assert_eq!(letters.into_iter().collect::<String>(), "字漢");
}

#[test]
fn svg_escapes_names_and_has_a_head_for_each_colour() {
    let text = Shape::Text(Text {
        at: (1.005, -0.001),
        anchor: Anchor::End,
        text: "<a> & \"b\"\u{7}".into(),
        size: 10.0,
    });
    let mut red = line((0.0, 0.0), vec![Step::Line((1.0, 1.0))], 1.25, true);
    if let Shape::Line(line) = &mut red {
        line.colour = Colour(255, 0, 0);
    }
    let plain = line((0.0, 0.0), vec![Step::Move((1.0, 1.0))], 1.0, true);
    let svg = page(vec![text, red, plain]).to_svg();
    assert!(
        svg.contains("&lt;a&gt; &amp; \"b\"\u{fffd}</text>"),
        "{svg}"
    );
    assert!(
        svg.contains(" y=\"0\" text-anchor=\"end\" font-size=\"10\""),
        "{svg}"
    );
    assert_eq!(svg.matches("<marker ").count(), 2);
    assert!(svg.contains("url(#head-ff0000)") && svg.contains("url(#head-000000)"));
    assert_eq!(Colour(0, 100, 200).faded(0.0), Colour::WHITE);
    assert_eq!(Colour(0, 100, 200).faded(1.0), Colour(0, 100, 200));
}
