//! Whether the texts of an SVG picture stay inside it, for tests. Fonts differ, so that a letter is
//! taken to be as wide as those of wide fonts.

/// Width of a letter in font sizes: the mean of wide sans-serif fonts.
const LETTER: f64 = 0.58;

/// Returns the texts that may leave the view box.
pub(crate) fn texts_outside(svg: &str) -> Vec<String> {
    let (root, _) = svg.split_once('>').unwrap();
    let size: Vec<f64> = attribute(root, "viewBox")
        .unwrap()
        .split(' ')
        .map(|number| number.parse().unwrap())
        .collect();
    let mut outside = Vec::new();
    for element in svg.split("<text ").skip(1) {
        let (attributes, rest) = element.split_once('>').unwrap();
        let words = rest.split_once("</text>").unwrap().0.trim();
        let number = |name: &str| -> f64 { attribute(attributes, name).unwrap().parse().unwrap() };
        let (x, y, font) = (number("x"), number("y"), number("font-size"));
        let length = words.chars().count() as f64 * font * LETTER;
        let before = match attribute(attributes, "text-anchor").unwrap_or("start") {
            "middle" => length / 2.0,
            "end" => length,
            _ => 0.0,
        };
        let is_turned = attribute(attributes, "transform").is_some();
        let (start, most) = if is_turned {
            (y, size[3])
        } else {
            (x, size[2])
        };
        let (from, to) = (start - before, start - before + length);
        if from < size[0] || to > most || y < 0.0 || y > size[3] {
            outside.push(format!("{words:?} from {from:.0} to {to:.0} of {most}"));
        }
    }
    outside
}

fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = element.split_once(&format!("{name}=\""))?;
    Some(rest.split_once('"')?.0)
}
