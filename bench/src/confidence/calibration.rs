//! Whether support means what it says: of the pairs with some support, the share that is true.

use super::measures::{Judged, real};
use crate::report_table::Grid;
use plotters::prelude::*;

/// Where bins begin; the last ends at 1.
const BINS: [f64; 11] = [0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99];
/// Bins below this do not count towards the error: nearly all of their pairs are absent anyway.
const COUNTED_FROM: f64 = 0.05;
/// What counts as well supported.
const STRONG: f64 = 0.95;

/// Pairs of many tables by support.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    bins: Vec<Bin>,
    strong: Bin,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    from: f64,
    pairs: usize,
    is_true: usize,
    strengths: f64,
}

impl Bin {
    fn add(&mut self, pair: &Judged) {
        self.pairs += 1;
        self.is_true += usize::from(pair.is_true);
        self.strengths += pair.strength;
    }

    fn share(&self) -> f64 {
        real(self.is_true) / real(self.pairs.max(1))
    }

    fn mean(&self) -> f64 {
        self.strengths / real(self.pairs.max(1))
    }
}

impl Calibration {
    pub(super) fn of<'a>(pairs: impl IntoIterator<Item = &'a Judged>) -> Self {
        let begin = |from| Bin {
            from,
            ..Bin::default()
        };
        let mut calibration = Self {
            bins: BINS.map(begin).to_vec(),
            strong: begin(STRONG),
        };
        for pair in pairs {
            let mut bins = calibration.bins.iter_mut().rev();
            // A share of counts may lie a rounding below the bin that it begins.
            if let Some(bin) = bins.find(|bin| pair.strength >= bin.from - 1e-9) {
                bin.add(pair);
            }
            if pair.strength >= STRONG - 1e-9 {
                calibration.strong.add(pair);
            }
        }
        calibration
    }

    /// The mean distance between support and share of true pairs, weighted by pairs.
    fn error(&self) -> f64 {
        let counted = || self.bins.iter().filter(|bin| bin.from >= COUNTED_FROM);
        let pairs: usize = counted().map(|bin| bin.pairs).sum();
        let distance = |bin: &Bin| (bin.mean() - bin.share()).abs() * real(bin.pairs);
        counted().map(distance).sum::<f64>() / real(pairs.max(1))
    }

    pub(super) fn markdown(&self) -> String {
        let mut grid = Grid::new(&["support from", "pairs", "mean support", "share true"]);
        for bin in &self.bins {
            grid.row([
                bin.from.to_string(),
                bin.pairs.to_string(),
                format!("{:.3}", bin.mean()),
                format!("{:.3}", bin.share()),
            ]);
        }
        format!(
            "{}\nExpected calibration error over pairs from {COUNTED_FROM} on: {:.4}. Of {} pairs with support of \
             {STRONG} or more, {:.2} % are true.\n",
            grid.markdown(),
            self.error(),
            self.strong.pairs,
            100.0 * self.strong.share()
        )
    }

    /// Draws the share of true pairs over support.
    pub(super) fn picture(&self) -> Result<String, String> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| error.to_string())?;
        Ok(svg)
    }

    fn draw<'a>(&self, svg: &'a mut String) -> Result<(), Box<dyn std::error::Error + 'a>> {
        let root = SVGBackend::with_string(svg, (480, 440)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(
                "Of pairs with some support, the share that is true",
                ("sans-serif", 15),
            )
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(44)
            .build_cartesian_2d(0.0..1.0, 0.0..1.0)?;
        chart
            .configure_mesh()
            .x_desc("mean support of a bin")
            .y_desc("share true")
            .draw()?;
        chart.draw_series(LineSeries::new([(0.0, 0.0), (1.0, 1.0)], &BLACK.mix(0.3)))?;
        let blue = RGBColor(0, 114, 178);
        let points = || {
            let filled = self.bins.iter().filter(|bin| bin.pairs > 0);
            filled.map(|bin| (bin.mean(), bin.share(), bin.pairs))
        };
        let line = points().map(|(mean, share, _)| (mean, share));
        chart.draw_series(LineSeries::new(line, blue.stroke_width(2)))?;
        // Two standard errors either way.
        chart.draw_series(points().map(|(mean, share, pairs)| {
            let error = 2.0 * (share * (1.0 - share) / real(pairs)).sqrt();
            let (low, high) = ((share - error).max(0.0), (share + error).min(1.0));
            PathElement::new(vec![(mean, low), (mean, high)], blue)
        }))?;
        chart.draw_series(
            points().map(|(mean, share, _)| Circle::new((mean, share), 4, blue.filled())),
        )?;
        root.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_that_are_as_true_as_their_support_have_no_error() {
        let pair = |strength, is_true| Judged { strength, is_true };
        let mut pairs = vec![pair(0.0, false); 50];
        for at in 0..10 {
            pairs.push(pair(0.7, at < 7));
        }
        assert!(Calibration::of(&pairs).error() < 1e-9);
        pairs.extend(vec![pair(1.0, false); 10]);
        let calibration = Calibration::of(&pairs);
        assert!((calibration.error() - 0.5).abs() < 1e-9);
        assert_eq!(
            (calibration.strong.pairs, calibration.strong.is_true),
            (10, 0)
        );
        assert!(calibration.picture().unwrap().contains("<svg"));
    }
}
