//! A page as SVG. Fonts are those of the program that shows it.

use super::{Anchor, Canvas, Colour, Head, Line, Rect, Shape, Step, Text};
use crate::layout::FONT_SIZE;
use std::collections::BTreeSet;
use std::fmt;

impl Canvas {
    /// Writes the page as SVG.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\" font-size=\"{FONT_SIZE}\" fill=\"{ink}\">\n<rect width=\"100%\" height=\"100%\" fill=\"{white}\"/>\n",
            ink = Colour::INK,
            white = Colour::WHITE,
        );
        let mut heads = BTreeSet::new();
        heads_of(&self.shapes, &mut heads);
        if !heads.is_empty() {
            text += "<defs>\n";
            for colour in heads {
                // In units of a tenth of the head's length.
                let (tip, side) = (
                    10.0 - 10.0 * Head::BEYOND / Head::LENGTH,
                    10.0 * Head::HALF_WIDTH / Head::LENGTH,
                );
                text += &format!(
                    "<marker id=\"{}\" viewBox=\"0 0 10 10\" refX=\"{tip}\" refY=\"5\" markerWidth=\"{size}\" markerHeight=\"{size}\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 {} L10 5 L0 {} z\" fill=\"{colour}\"/></marker>\n",
                    head_id(colour),
                    5.0 - side,
                    5.0 + side,
                    size = Head::LENGTH,
                );
            }
            text += "</defs>\n";
        }
        write_shapes(&self.shapes, &mut text);
        text + "</svg>\n"
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Returns the name of the head of a colour.
fn head_id(Colour(red, green, blue): Colour) -> String {
    format!("head-{red:02x}{green:02x}{blue:02x}")
}

fn heads_of(shapes: &[Shape], heads: &mut BTreeSet<Colour>) {
    for shape in shapes {
        match shape {
            Shape::Line(line) if line.head => {
                heads.insert(line.colour);
            }
            Shape::Named { shapes, .. } => heads_of(shapes, heads),
            _ => {}
        }
    }
}

fn write_shapes(shapes: &[Shape], text: &mut String) {
    for shape in shapes {
        match shape {
            Shape::Line(line) => *text += &line_text(line),
            Shape::Rect(rect) => *text += &rect_text(rect),
            Shape::Text(shown) => *text += &text_text(shown),
            Shape::Named { name, shapes } => {
                *text += &format!("<g><title>{}</title>", escaped(name));
                write_shapes(shapes, text);
                *text += "</g>\n";
            }
        }
    }
}

fn line_text(line: &Line) -> String {
    let at = |(x, y): (f64, f64)| format!("{} {}", Short(x), Short(y));
    let mut path = format!("M{}", at(line.start));
    for step in &line.steps {
        path += &match *step {
            Step::Move(end) => format!(" M{}", at(end)),
            Step::Line(end) => format!(" L{}", at(end)),
            Step::Curve(a, b, end) => format!(" C{} {} {}", at(a), at(b), at(end)),
        };
    }
    let dashes: Vec<String> = line
        .dashes
        .iter()
        .map(|&dash| Short(dash).to_string())
        .collect();
    let dashes = match dashes.is_empty() {
        true => String::new(),
        false => format!(" stroke-dasharray=\"{}\"", dashes.join(" ")),
    };
    let head = match line.head {
        true => format!(" marker-end=\"url(#{})\"", head_id(line.colour)),
        false => String::new(),
    };
    format!(
        "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dashes}{head}/>\n",
        line.colour,
        Short(line.width),
    )
}

fn rect_text(rect: &Rect) -> String {
    let named = |name: &str, colour: Option<Colour>| match colour {
        Some(colour) => format!(" {name}=\"{colour}\""),
        None => String::new(),
    };
    let fill = match rect.fill {
        Some(_) => named("fill", rect.fill),
        None => " fill=\"none\"".to_owned(),
    };
    let corner = match rect.corner > 0.0 {
        true => format!(" rx=\"{}\"", Short(rect.corner)),
        false => String::new(),
    };
    format!(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{corner}{fill}{}/>",
        Short(rect.at.0),
        Short(rect.at.1),
        Short(rect.width),
        Short(rect.height),
        named("stroke", rect.border),
    )
}

fn text_text(shown: &Text) -> String {
    let anchor = match shown.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let size = match Short(shown.size).to_string() {
        size if size == FONT_SIZE.to_string() => String::new(),
        size => format!(" font-size=\"{size}\""),
    };
    format!(
        "<text x=\"{}\" y=\"{}\"{anchor}{size} xml:space=\"preserve\">{}</text>\n",
        Short(shown.at.0),
        Short(shown.at.1),
        escaped(&shown.text)
    )
}

/// A number with at most two digits behind the point.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.2}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.write_str(if text == "-0" { "0" } else { text })
    }
}

/// Escapes text, and shows what XML forbids as a replacement character.
fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match letter {
            '<' => shown += "&lt;",
            '>' => shown += "&gt;",
            '&' => shown += "&amp;",
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => {
                shown.push('\u{fffd}');
            }
            letter => shown.push(letter),
        }
    }
    shown
}
