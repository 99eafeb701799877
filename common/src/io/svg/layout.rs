//! Where boxes and lines go. Connected nodes are placed in layers by `layout-rs`; nodes without
//! edges stand in rows below, where they do not widen the picture.
//!
//! `layout-rs` panics on an empty graph and takes very long for dense ones (each long edge becomes
//! a chain of points), so it gets neither: dense graphs are placed in plain layers here.

use super::lines::{Bends, curve, lines};
use crate::graph::Dag;
use crate::ids::NodeIdx;
use layout::core::base::Orientation;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::{Point, Position};
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;

/// The size of letters.
pub(super) const FONT_SIZE: f64 = 14.0;

const BOX_HEIGHT: f64 = 30.0;
const GAP: f64 = 24.0;
const LAYER_GAP: f64 = 84.0;
/// The width of a page divided by its height.
const PAGE_RATIO: f64 = 1.5;
/// The height of a picture that any screen shows whole.
const SMALL_PAGE: f64 = 700.0;
/// The most points, nodes and bends, that layout-rs places in a second or two.
const MAX_POINTS: usize = 450;

/// A node's box, by its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Boxes of the nodes, SVG paths of the edges, and the size of it all.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawing {
    pub(super) boxes: Vec<Place>,
    pub(super) paths: Vec<String>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Places nodes, given by their labels, and edges, which hold no cycle among those of one network
/// but may with those of the true one.
pub(super) fn place(labels: &[String], edges: &[(usize, usize)]) -> Drawing {
    let sizes: Vec<f64> = labels.iter().map(|label| box_width(label)).collect();
    let mut linked = vec![false; labels.len()];
    for &(from, to) in edges {
        linked[from] = true;
        linked[to] = true;
    }
    let (downwards, levels) = oriented(labels.len(), edges);
    let points: usize = downwards
        .iter()
        .map(|&(a, b)| levels[b].abs_diff(levels[a]))
        .sum();
    let mut drawing = if edges.is_empty() {
        Drawing {
            boxes: sizes.iter().map(|&width| at_origin(width)).collect(),
            ..Drawing::default()
        }
    } else if points + labels.len() <= MAX_POINTS {
        layered(&sizes, edges, &downwards, &linked)
    } else {
        plain(&sizes, edges, &linked, &levels)
    };
    add_lone_nodes(&mut drawing, &linked);
    drawing
}

/// Estimates the width of a box from its label; wide scripts count double.
fn box_width(label: &str) -> f64 {
    let letters: f64 = label
        .chars()
        .map(|letter| match letter {
            'i' | 'j' | 'l' | 'I' | '.' | ',' | '\'' | '|' | ':' | ';' | '!' => 0.38,
            'm' | 'w' | 'M' | 'W' | '%' | '@' => 1.0,
            'A'..='Z' => 0.76,
            '\0'..='\u{2ff}' => 0.65,
            '\u{300}'..='\u{10ff}' => 0.75,
            _ => 1.15,
        })
        .sum();
    (letters * FONT_SIZE + 22.0).max(46.0)
}

fn at_origin(width: f64) -> Place {
    Place {
        x: 0.0,
        y: 0.0,
        width,
        height: BOX_HEIGHT,
    }
}

/// Turns round the edges that close a cycle with those before them, and returns each node's layer:
/// behind all nodes that lead to it.
fn oriented(n: usize, edges: &[(usize, usize)]) -> (Vec<(usize, usize)>, Vec<usize>) {
    let mut dag = Dag::empty(n);
    let mut downwards = Vec::with_capacity(edges.len());
    for &(from, to) in edges {
        let kept = dag.add_edge(NodeIdx::new(from), NodeIdx::new(to)).is_ok();
        if !kept {
            // It can't close a cycle both ways; if it is there already, it has its layers.
            let _ = dag.add_edge(NodeIdx::new(to), NodeIdx::new(from));
        }
        downwards.push(if kept { (from, to) } else { (to, from) });
    }
    let mut levels = vec![0usize; n];
    for &node in dag.topological_order() {
        let above = dag
            .parents(node)
            .iter()
            .map(|parent| levels[parent.index()] + 1);
        levels[node.index()] = above.max().unwrap_or(0);
    }
    (downwards, levels)
}

/// Places linked nodes with layout-rs, downwards or to the right, whichever fits a page better.
fn layered(
    sizes: &[f64],
    edges: &[(usize, usize)],
    downwards: &[(usize, usize)],
    linked: &[bool],
) -> Drawing {
    let along = |orientation| {
        let mut canvas = placed(orientation, sizes, downwards, linked);
        for ((bends, edge), downwards) in canvas.bends.iter_mut().zip(edges).zip(downwards) {
            bends.upwards = edge != downwards;
        }
        canvas.finish(orientation, edges, linked)
    };
    let down = along(Orientation::TopToBottom);
    let right = along(Orientation::LeftToRight);
    let page = |drawing: &Drawing| (drawing.width / PAGE_RATIO).max(drawing.height);
    // Downwards is what people expect of a small network.
    if page(&down) <= SMALL_PAGE || page(&down) <= page(&right) {
        down
    } else {
        right
    }
}

fn placed(
    orientation: Orientation,
    sizes: &[f64],
    edges: &[(usize, usize)],
    linked: &[bool],
) -> Canvas {
    let mut graph = VisualGraph::new(orientation);
    let look = StyleAttr::simple();
    let (across, along) = (Point::new(GAP, LAYER_GAP), Point::new(LAYER_GAP, GAP));
    let halo = if orientation.is_top_to_bottom() {
        across
    } else {
        along
    };
    let mut handles = Vec::with_capacity(sizes.len());
    for (node, (&width, &linked)) in sizes.iter().zip(linked).enumerate() {
        handles.push(linked.then(|| {
            // The label is the node's number: names never reach layout-rs.
            let shape = ShapeKind::new_box(&node.to_string());
            let size = Point::new(width, BOX_HEIGHT);
            let mut element = Element::create(shape, look.clone(), orientation, size);
            element.pos = Position::new(Point::zero(), size, Point::zero(), halo);
            graph.add_node(element)
        }));
    }
    for (number, &(from, to)) in edges.iter().enumerate() {
        if let (Some(from), Some(to)) = (handles[from], handles[to]) {
            let arrow = Arrow {
                properties: Some(number.to_string()),
                ..Arrow::default()
            };
            graph.add_edge(arrow, from, to);
        }
    }
    let mut canvas = Canvas {
        boxes: sizes.iter().map(|&width| at_origin(width)).collect(),
        bends: vec![Bends::default(); edges.len()],
        last: None,
    };
    graph.do_it(false, false, false, &mut canvas);
    canvas
}

/// Collects where layout-rs puts boxes and bends; the curves between them are drawn here, since
/// its own leave boxes sideways and run behind their neighbours.
#[derive(Debug)]
struct Canvas {
    boxes: Vec<Place>,
    bends: Vec<Bends>,
    last: Option<(Point, Point)>,
}

impl Canvas {
    fn finish(
        mut self,
        orientation: Orientation,
        edges: &[(usize, usize)],
        linked: &[bool],
    ) -> Drawing {
        // Everything is computed for layers from top to bottom and turned round at the end.
        let turned = !orientation.is_top_to_bottom();
        if turned {
            self.boxes.iter_mut().for_each(turn);
            let points = self.bends.iter_mut().flat_map(|bends| &mut bends.points);
            points.for_each(|point| *point = (point.1, point.0));
        }
        let drawn: Vec<Place> = self
            .boxes
            .iter()
            .zip(linked)
            .filter(|(_, linked)| **linked)
            .map(|(b, _)| *b)
            .collect();
        let mut lines = lines(&self.boxes, edges, &self.bends);
        let corners = |place: &Place| {
            [
                (place.x, place.y),
                (place.x + place.width, place.y + place.height),
            ]
        };
        let points = lines
            .iter()
            .flatten()
            .copied()
            .chain(drawn.iter().flat_map(corners));
        let (mut left, mut top, mut right, mut bottom) = (
            f64::INFINITY,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NEG_INFINITY,
        );
        for (x, y) in points {
            (left, top) = (left.min(x), top.min(y));
            (right, bottom) = (right.max(x), bottom.max(y));
        }
        for place in &mut self.boxes {
            (place.x, place.y) = (place.x - left, place.y - top);
        }
        for (x, y) in lines.iter_mut().flatten() {
            (*x, *y) = (*x - left, *y - top);
        }
        let paths = lines.iter().map(|points| curve(points, turned)).collect();
        let (mut width, mut height) = (right - left, bottom - top);
        if turned {
            self.boxes.iter_mut().for_each(turn);
            (width, height) = (height, width);
        }
        Drawing {
            boxes: self.boxes,
            paths,
            width,
            height,
        }
    }
}

/// Swaps what is down and what is right.
fn turn(place: &mut Place) {
    std::mem::swap(&mut place.x, &mut place.y);
    std::mem::swap(&mut place.width, &mut place.height);
}

impl RenderBackend for Canvas {
    fn draw_rect(
        &mut self,
        corner: Point,
        size: Point,
        _: &StyleAttr,
        _: Option<String>,
        _: Option<ClipHandle>,
    ) {
        self.last = Some((corner, size));
    }

    fn draw_text(&mut self, _: Point, text: &str, _: &StyleAttr) {
        // A box is drawn just before its text, which is the node's number.
        if let (Some((corner, size)), Ok(node)) = (self.last.take(), text.parse::<usize>())
            && let Some(place) = self.boxes.get_mut(node)
        {
            *place = Place {
                x: corner.x,
                y: corner.y,
                width: size.x,
                height: size.y,
            };
        }
    }

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        _: bool,
        _: (bool, bool),
        _: &StyleAttr,
        properties: Option<String>,
        _: &str,
    ) {
        let number = properties.and_then(|number| number.parse::<usize>().ok());
        let Some(bends) = number.and_then(|number| self.bends.get_mut(number)) else {
            return;
        };
        // The first and the last pair are at the nodes; of the others the second is the bend.
        let inner = path
            .get(1..path.len().saturating_sub(1))
            .unwrap_or_default();
        bends.points = inner.iter().map(|&(_, bend)| (bend.x, bend.y)).collect();
    }

    fn draw_line(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn draw_circle(&mut self, _: Point, _: Point, _: &StyleAttr, _: Option<String>) {}

    fn create_clip(&mut self, _: Point, _: Point, _: usize) -> ClipHandle {
        0
    }
}

/// Places linked nodes in plain layers with straight edges, for graphs too dense to be untangled.
fn plain(sizes: &[f64], edges: &[(usize, usize)], linked: &[bool], levels: &[usize]) -> Drawing {
    let mut boxes: Vec<Place> = sizes.iter().map(|&width| at_origin(width)).collect();
    let deepest = levels.iter().copied().max().unwrap_or(0);
    let (mut width, mut y) = (0.0f64, 0.0);
    for level in 0..=deepest {
        let mut x = if level % 2 == 0 { 0.0 } else { 2.0 * GAP };
        for (node, place) in boxes.iter_mut().enumerate() {
            if linked[node] && levels[node] == level {
                (place.x, place.y) = (x, y);
                x += place.width + GAP;
            }
        }
        width = width.max(x - GAP);
        y += BOX_HEIGHT + LAYER_GAP;
    }
    let paths = edges
        .iter()
        .map(|&(from, to)| {
            let (a, b) = (boxes[from], boxes[to]);
            let down = a.y <= b.y;
            let (start, end) = if down {
                (a.y + a.height, b.y)
            } else {
                (a.y, b.y + b.height)
            };
            let (from_x, to_x) = (a.x + a.width / 2.0, b.x + b.width / 2.0);
            format!("M{from_x:.1} {start:.1} L{to_x:.1} {end:.1}")
        })
        .collect();
    Drawing {
        boxes,
        paths,
        width,
        height: y - LAYER_GAP,
    }
}

/// Adds the nodes without edges in rows below.
fn add_lone_nodes(drawing: &mut Drawing, linked: &[bool]) {
    let widest = drawing.width.max(900.0);
    let mut y = if drawing.height > 0.0 {
        drawing.height + GAP
    } else {
        0.0
    };
    let mut x = 0.0;
    for (place, _) in drawing
        .boxes
        .iter_mut()
        .zip(linked)
        .filter(|(_, linked)| !**linked)
    {
        if x > 0.0 && x + place.width > widest {
            x = 0.0;
            y += BOX_HEIGHT + GAP;
        }
        (place.x, place.y) = (x, y);
        x += place.width + GAP;
        drawing.width = drawing.width.max(x - GAP);
        drawing.height = drawing.height.max(y + BOX_HEIGHT);
    }
}
