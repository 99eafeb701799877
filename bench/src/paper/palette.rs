//! One colour per search, the same in every picture, and the strip that explains them.

use super::contender::Contender;
use plotters::coord::Shift;
use plotters::prelude::*;

/// A picture's surface.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What goes wrong while drawing.
pub(super) type DrawError = Box<dyn std::error::Error>;

/// Height of the strip.
pub(super) const STRIP: u32 = 30;

/// Returns the colour of a search.
pub(super) fn colour(search: Contender) -> RGBColor {
    let (r, g, b) = match search {
        Contender::Ga => (148, 103, 189),
        Contender::Hc => (140, 86, 75),
        Contender::Sa => (227, 119, 194),
        Contender::Iwo => (44, 160, 44),
        Contender::Ftta => (188, 150, 20),
        Contender::BncPso => (23, 170, 200),
        Contender::Paper => (214, 39, 40),
        Contender::Rlbayes => (20, 80, 180),
        Contender::HcRestarts => (40, 40, 40),
        Contender::Tabu => (120, 120, 120),
        Contender::Paper100 => (40, 120, 200),
        Contender::Paper500 => (50, 160, 60),
    };
    RGBColor(r, g, b)
}

/// Draws a strip of names with their colours, in the middle of an area.
pub(super) fn explain(area: &Area<'_>, entries: &[(String, RGBColor)]) -> Result<(), DrawError> {
    const LINE: i32 = 22;
    let widths: Vec<i32> = entries
        .iter()
        .map(|(name, _)| LINE + 14 + 7 * i32::try_from(name.chars().count()).unwrap_or(0))
        .collect();
    let (width, height) = area.dim_in_pixel();
    let width = i32::try_from(width)?;
    let middle = i32::try_from(height / 2)?;
    let mut left = (width - widths.iter().sum::<i32>()).max(0) / 2;
    for ((name, colour), width) in entries.iter().zip(widths) {
        let ends = vec![(left, middle), (left + LINE - 6, middle)];
        area.draw(&PathElement::new(ends, colour.stroke_width(3)))
            .map_err(|error| error.to_string())?;
        let place = (left + LINE - 2, middle - 7);
        area.draw(&Text::new(name.clone(), place, ("sans-serif", 13)))
            .map_err(|error| error.to_string())?;
        left += width;
    }
    Ok(())
}
