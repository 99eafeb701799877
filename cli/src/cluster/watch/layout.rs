//! What `watch` shows, as lines that fit a screen: a bar, the facts, the curve, and as many workers as
//! there is room for.

use super::curve::{History, LABEL_WIDTH, draw};
use super::screen::{Line, Style};
use crate::cluster::client::{budget_left, state_in_words, steps_in_words};
use crate::units::{counted, show_bytes, show_count, show_counted, show_time};
use rlbayes_proto::v1;
use std::time::Duration;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What is shown.
pub(super) struct Watched<'a> {
    pub(super) status: &'a v1::StatusReply,
    pub(super) curve: &'a History,
    pub(super) url: &'a str,
    /// How long the coordinator has not answered, if it does not.
    pub(super) away: Option<Duration>,
    /// How long ago the status came.
    pub(super) received: Duration,
    /// The first worker to show: those before it were scrolled away.
    pub(super) first_worker: usize,
}

/// A picture of the screen.
pub(super) struct Frame {
    /// Never more than the screen has, and none wider than it.
    pub(super) lines: Vec<Line>,
    /// The first worker that is shown: no further than the list goes.
    pub(super) first_worker: usize,
    /// How many workers are shown.
    pub(super) shown_workers: usize,
}

/// The least lines that the curve and the list of workers are shown with.
const LEAST_CURVE: usize = 6;
const LEAST_WORKERS: usize = 3;
/// The widest name of a worker that is shown whole.
const WIDEST_HOST: usize = 40;

/// Draws the status for a screen of this size.
pub(super) fn frame(watched: &Watched<'_>, width: usize, height: usize) -> Frame {
    let mut lines = vec![bar(watched.status, width)];
    lines.extend(notices(watched));
    lines.extend(facts(watched));
    let room = height.saturating_sub(lines.len() + 1);
    let list = watched.status.workers.len().max(1) + 1;
    let curve_height = match room.saturating_sub(LEAST_WORKERS) {
        most if most < LEAST_CURVE => 0,
        most => room
            .saturating_sub(list)
            .max(room * 45 / 100)
            .clamp(LEAST_CURVE, most),
    };
    lines.extend(curve(watched, width, curve_height));
    let (workers, first_worker, shown_workers) =
        workers(watched, width, room.saturating_sub(curve_height));
    let folds = shown_workers < watched.status.workers.len();
    lines.extend(workers);
    lines.resize(height.saturating_sub(1).max(1), Line::new());
    if height > 1 {
        lines.push(footer(folds));
    }
    lines.truncate(height);
    Frame {
        lines: lines.into_iter().map(|line| clipped(line, width)).collect(),
        first_worker,
        shown_workers,
    }
}

fn time(seconds: f64) -> String {
    show_time(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

/// The bar at the top: what is searched, and its state at the right.
fn bar(status: &v1::StatusReply, width: usize) -> Line {
    let state = format!(" {} ", state_in_words(status));
    let what = format!(
        " {}: {}, {}, score {}, seed {}",
        status.data_name,
        counted(status.variables, "variable"),
        counted(status.rows, "row"),
        status.score_name,
        status.seed
    );
    // The state comes first where there is no room for both.
    let room = width.saturating_sub(state.width());
    let what = shortened(&what, room);
    let gap = " ".repeat(room - what.width().min(room));
    vec![(Style::Bar, format!("{what}{gap}{state}"))]
}

/// What is wrong, or an empty line.
fn notices(watched: &Watched<'_>) -> Vec<Line> {
    let mut told = Vec::new();
    if let Some(away) = watched.away {
        told.push(format!(
            "the coordinator is away for {} s, trying again",
            away.as_secs()
        ));
    }
    if !watched.status.trouble.is_empty() {
        told.push(format!(
            "trouble: the journal cannot be written: {}",
            watched.status.trouble
        ));
    }
    if told.is_empty() {
        return vec![Line::new()];
    }
    let line = |text| vec![(Style::Alarm, format!(" {text}"))];
    told.into_iter().map(line).collect()
}

fn facts(watched: &Watched<'_>) -> Vec<Line> {
    let status = watched.status;
    let fact = |name: &str, style: Style, value: String| -> Line {
        vec![(Style::Dim, format!(" {name:<9}")), (style, value)]
    };
    // Time goes on between two statuses, while somebody searches.
    let runs = status.state == "running" && watched.away.is_none();
    let since = if runs {
        watched.received.as_secs_f64()
    } else {
        0.0
    };
    let best = match status.best_score {
        Some(best) => format!(
            "{best:.3}, found {} ago",
            time(status.best_age_seconds + since)
        ),
        None => "none yet".to_owned(),
    };
    let left = match budget_left(status) {
        left if left.is_empty() => String::new(),
        left => format!(", at most {left} left"),
    };
    let mut lines = vec![
        fact("best", Style::Bold, best),
        fact(
            "time",
            Style::Plain,
            format!("{} searched{left}", time(status.elapsed_seconds + since)),
        ),
        fact(
            "work",
            Style::Plain,
            format!(
                "{} ({}/s), {}",
                show_counted(status.evaluations, "local score"),
                show_count(status.evaluations_per_second),
                steps_in_words(status)
            ),
        ),
        fact(
            "pool",
            Style::Plain,
            format!(
                "{}, diversity {:.3}; seeds: {} sent, {} made current",
                counted(status.pool_size, "network"),
                status.diversity,
                status.seeds_sent,
                status.seeds_made_current
            ),
        ),
    ];
    if status.round > 0 {
        lines.push(fact("round", Style::Plain, status.round.to_string()));
    }
    if status.refused_rows > 0 {
        let refused = format!("{} from workers", counted(status.refused_rows, "network"));
        lines.push(fact("refused", Style::Alarm, refused));
    }
    lines
}

fn curve(watched: &Watched<'_>, width: usize, height: usize) -> Vec<Line> {
    if height == 0 {
        return Vec::new();
    }
    let status = watched.status;
    let end = status.elapsed_seconds;
    let dots = width.saturating_sub(LABEL_WIDTH + 3);
    let drawn = draw(watched.curve.points(), end, dots, height - 2);
    let mut lines = vec![vec![(Style::Dim, " nats below the best".to_owned())]];
    if drawn.is_empty() {
        lines.push(vec![(Style::Dim, "  nothing found yet".to_owned())]);
        lines.resize(height, Line::new());
        return lines;
    }
    for (label, dots) in drawn {
        lines.push(vec![
            (Style::Dim, format!(" {label} ")),
            (Style::Line, dots),
        ]);
    }
    let (from, to) = ("0 s", time(end));
    let gap = " ".repeat(dots.saturating_sub(from.len() + to.width()));
    let indent = " ".repeat(LABEL_WIDTH + 2);
    lines.push(vec![(Style::Dim, format!("{indent}{from}{gap}{to}"))]);
    lines
}

/// A column of the list of workers: its head, its width, and what it shows.
type Column = (&'static str, usize, fn(&v1::WorkerStatus) -> String);

/// In the order of their worth: on a narrow screen the last ones go.
const COLUMNS: [Column; 6] = [
    ("rate", 10, |worker| {
        format!("{}/s", show_count(worker.evaluations_per_second))
    }),
    ("heard", 13, |worker| {
        format!("{} ago", time(worker.last_exchange_seconds))
    }),
    ("chains", 7, |worker| worker.chains.to_string()),
    ("threads", 8, |worker| worker.threads.to_string()),
    ("memory", 11, |worker| {
        let bytes = worker.statistics.map_or(0, |s| s.memory_bytes);
        show_bytes(usize::try_from(bytes).unwrap_or(0))
    }),
    ("version", 9, |worker| worker.program_version.clone()),
];

/// The list of workers in `height` lines, the first that is shown and how many are.
fn workers(watched: &Watched<'_>, width: usize, height: usize) -> (Vec<Line>, usize, usize) {
    let status = watched.status;
    let (mut all, gone): (Vec<_>, Vec<_>) = status.workers.iter().partition(|worker| worker.alive);
    let alive = all.len();
    let mut head = format!(" {} taking part", counted(alive, "worker"));
    if !gone.is_empty() {
        head += &format!(", {} gone", gone.len());
    }
    all.extend(gone);
    if height == 0 {
        return (Vec::new(), 0, 0);
    }
    if all.is_empty() {
        let how = format!("  join by: rlbayes worker --coordinator {}", watched.url);
        let lines = vec![vec![(Style::Dim, head)], vec![(Style::Dim, how)]];
        return (lines, 0, 0);
    }
    const NUMBER: usize = 6;
    let least_host = 16.min(width / 3).max(head.width());
    let mut columns = COLUMNS.len();
    let taken =
        |columns: usize| -> usize { COLUMNS[..columns].iter().map(|(_, width, _)| width).sum() };
    while columns > 0 && NUMBER + least_host + taken(columns) + 2 > width {
        columns -= 1;
    }
    let widest = all
        .iter()
        .map(|worker| worker.host.width())
        .max()
        .unwrap_or(0);
    let room = width.saturating_sub(NUMBER + taken(columns) + 2);
    let host_width = widest
        .clamp(least_host, WIDEST_HOST.max(least_host))
        .min(room);
    let columns = &COLUMNS[..columns];

    let room = height - 1;
    let fits = all.len() <= room;
    // The last line tells how many there are besides.
    let shown = if fits {
        all.len()
    } else {
        room.saturating_sub(1)
    };
    let first = watched.first_worker.min(all.len() - shown);
    let mut line = padded(&head, NUMBER + host_width + 1);
    for (name, width, _) in columns {
        line += &format!("{name:>width$}");
    }
    let mut lines = vec![vec![(Style::Dim, line)]];
    for worker in &all[first..first + shown] {
        let host = padded(&shortened(&worker.host, host_width), host_width);
        let mut line = format!("{:>NUMBER$} {host}", worker.id);
        for (_, width, shows) in columns {
            line += &format!("{:>width$}", shows(worker));
        }
        let style = if worker.alive {
            Style::Plain
        } else {
            Style::Dim
        };
        let gone = if worker.alive { "" } else { " gone" };
        lines.push(vec![(style, format!("{line}{gone}"))]);
    }
    if !fits && room > 0 {
        let more = format!("       ... and {} more", all.len() - shown);
        lines.push(vec![(Style::Dim, more)]);
    }
    (lines, first, shown)
}

fn footer(folds: bool) -> Line {
    let scroll = if folds {
        ", arrow keys scroll the workers"
    } else {
        ""
    };
    vec![(Style::Dim, format!(" q quits{scroll}"))]
}

/// Fills a text with blanks.
fn padded(text: &str, width: usize) -> String {
    let gap = width.saturating_sub(text.width());
    format!("{text}{}", " ".repeat(gap))
}

/// Cuts a text that is wider.
fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(character);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// Cuts a line that is wider.
fn clipped(line: Line, width: usize) -> Line {
    let mut room = width;
    let mut kept = Line::new();
    for (style, text) in line {
        let text = shortened(&text, room);
        room -= text.width().min(room);
        kept.push((style, text));
        if room == 0 {
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(workers: u64) -> v1::StatusReply {
        let worker = |id| v1::WorkerStatus {
            id,
            host: format!("node{id:03}.cluster.example.org"),
            threads: 64,
            chains: 512,
            evaluations_per_second: 12_345_678.0,
            last_exchange_seconds: 1.5,
            alive: id % 10 != 0,
            statistics: Some(v1::WorkerStatistics {
                memory_bytes: 12_345_678_901,
                ..Default::default()
            }),
            program_version: "0.1.0".to_owned(),
        };
        v1::StatusReply {
            state: "running".to_owned(),
            data_name: "調査 with a long name that goes on".to_owned(),
            score_name: "bic".to_owned(),
            variables: 724,
            rows: 100_000,
            best_score: Some(-1_234_567.891),
            elapsed_seconds: 123_456.0,
            seconds_left: Some(3600.0),
            evaluations_left: Some(123_456_789),
            evaluations: 98_765_432_109,
            chains: 20_480,
            workers: (1..=workers).map(worker).collect(),
            curve: (0..400)
                .map(|at| v1::CurvePoint {
                    seconds: f64::from(at) * 300.0,
                    score: -1_234_567.891 - 10_000.0 * 0.95_f64.powi(at),
                    evaluations: None,
                })
                .collect(),
            ..Default::default()
        }
    }

    fn shown(status: &v1::StatusReply, away: Option<u64>, size: (usize, usize)) -> Vec<String> {
        let mut curve = History::default();
        curve.take(status);
        let watched = Watched {
            status,
            curve: &curve,
            url: "http://host:7400",
            away: away.map(Duration::from_secs),
            received: Duration::ZERO,
            first_worker: 0,
        };
        let lines = frame(&watched, size.0, size.1).lines;
        let text = |line: &Line| line.iter().map(|(_, text)| text.as_str()).collect();
        lines.iter().map(text).collect()
    }

    #[test]
    fn it_fits_every_screen_whatever_is_shown() {
        for workers in [0, 1, 2, 40, 1000] {
            let status = status(workers);
            for width in [1, 2, 10, 40, 79, 80, 81, 200, 300] {
                for height in [1, 2, 5, 10, 24, 50, 100] {
                    for away in [None, Some(12)] {
                        let lines = shown(&status, away, (width, height));
                        assert_eq!(lines.len(), height, "{workers} {width}x{height}");
                        for line in &lines {
                            let has = UnicodeWidthStr::width(line.as_str());
                            assert!(has <= width, "{has} in {width}x{height}: {line:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_usual_terminal_shows_all_that_matters_and_folds_the_workers() {
        let lines = shown(&status(40), Some(12), (80, 24));
        let text = lines.join("\n");
        for part in [
            "running",
            "the coordinator is away for 12 s, trying again",
            "-1234567.891, found 0.0 s ago",
            "34 h 17 min searched, at most 1 h 00 min, 123.5 M local scores left",
            "nats below the best",
            "10000",
            "36 workers taking part, 4 gone",
            "node001.cluster",
            "more",
            "q quits, arrow keys",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        let folded = lines.iter().find(|line| line.contains("... and ")).unwrap();
        let count = lines.iter().filter(|line| line.contains("node0")).count();
        assert!(count >= 4, "{text}");
        assert!(
            folded.contains(&format!("... and {} more", 40 - count)),
            "{text}"
        );
    }

    #[test]
    fn the_list_scrolls_no_further_than_it_goes() {
        let status = status(40);
        let mut curve = History::default();
        curve.take(&status);
        let mut watched = Watched {
            status: &status,
            curve: &curve,
            url: "http://host:7400",
            away: None,
            received: Duration::ZERO,
            first_worker: 1_000_000,
        };
        let last = frame(&watched, 80, 24);
        assert_eq!(last.first_worker, 40 - last.shown_workers);
        watched.first_worker = 3;
        assert_eq!(frame(&watched, 80, 24).first_worker, 3);
        // Everything fits here.
        assert_eq!(frame(&watched, 200, 90).first_worker, 0);
    }
}
