//! A sketch of the network: hosts at the bottom, switches above them by their distance from a
//! host.

use std::collections::{BTreeMap, VecDeque};

use maud::{Markup, html};

use ground::time::Instant;
use lab::{LabPlan, Recording};
use sim::{LinkId, NodeKind};

const WIDTH: f64 = 520.0;
const LAYER: f64 = 92.0;
const TEXT: f64 = 13.0;

/// Maximum number of hosts that are drawn individually; beyond it, those of a switch are one box.
const HOSTS_MAX: usize = 16;
/// Maximum number of boxes with names in a layer; beyond it, they are dots.
const NAMES_MAX: usize = 10;

/// A box in the sketch.
struct Shape {
    name: String,
    host: bool,
    layer: usize,
    x: f64,
}

/// A line between two boxes, for all links between them.
#[derive(Default)]
struct Bundle {
    links: usize,
    /// The largest share of time that one of the links was paused in either direction.
    paused: f64,
    names: Vec<String>,
}

struct Sketch {
    shapes: Vec<Shape>,
    bundles: BTreeMap<(usize, usize), Bundle>,
    layers: usize,
}

/// Draws the network of a lab; links are the redder the longer they were paused.
pub(super) fn draw(plan: &LabPlan, recording: &Recording, end: Instant) -> Markup {
    let sketch = Sketch::new(plan, recording, end);
    let height = sketch.layers as f64 * LAYER;
    let y = |layer: usize| (sketch.layers - layer) as f64 * LAYER - LAYER / 2.0;
    let boxes = |layer: usize| sketch.shapes.iter().filter(|s| s.layer == layer).count();
    // Size of the dots in a layer without room for names.
    let dot = |layer: usize| {
        let n = boxes(layer);
        (n > NAMES_MAX).then(|| (WIDTH / n as f64 * 0.42).min(6.0))
    };
    let about = format!(
        "The network: {} nodes and {} links",
        plan.network.nodes.len(),
        plan.network.links.len()
    );
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(about)
            font-size=(TEXT) {
            @for ((a, b), bundle) in &sketch.bundles {
                @let (a, b) = (&sketch.shapes[*a], &sketch.shapes[*b]);
                line x1=(a.x) y1=(y(a.layer)) x2=(b.x) y2=(y(b.layer))
                    stroke="var(--link)" stroke-width=(1.5 + (bundle.links as f64).log2()) {}
                line x1=(a.x) y1=(y(a.layer)) x2=(b.x) y2=(y(b.layer))
                    stroke="var(--pause)" stroke-width=(2.5 + (bundle.links as f64).log2())
                    stroke-opacity=(format!("{:.2}", bundle.paused.sqrt())) {
                    title { (bundle.about()) }
                }
            }
            @for shape in &sketch.shapes {
                (one(shape, y(shape.layer), dot(shape.layer)))
            }
        }
    }
}

fn one(shape: &Shape, y: f64, dot: Option<f64>) -> Markup {
    let width = 14.0 + 7.6 * shape.name.chars().count() as f64;
    html! {
        @if let Some(radius) = dot {
            circle cx=(shape.x) cy=(y) r=(radius) stroke="var(--ink)" stroke-width="1.5"
                fill=(if shape.host { "var(--card)" } else { "var(--c0)" }) {
                title { (shape.name) }
            }
        } @else {
            rect x=(shape.x - width / 2.0) y=(y - 13.0) width=(width) height="26"
                rx=(if shape.host { 13 } else { 4 }) fill="var(--card)" stroke-width="1.5"
                stroke=(if shape.host { "var(--soft)" } else { "var(--c0)" }) {}
            text x=(shape.x) y=(y + 4.5) text-anchor="middle" fill="var(--ink)" { (shape.name) }
        }
    }
}

impl Bundle {
    fn about(&self) -> String {
        const SHOWN: usize = 6;
        let names = self.names[..self.names.len().min(SHOWN)].join(", ");
        let more = if self.names.len() > SHOWN { ", ..." } else { "" };
        format!("{names}{more}: paused for {:.1} % of the time at most", 100.0 * self.paused)
    }
}

impl Sketch {
    fn new(plan: &LabPlan, recording: &Recording, end: Instant) -> Self {
        let network = &plan.network;
        let depth = depths(plan);
        let hosts = depth.iter().filter(|d| **d == 0).count();
        let mut shapes: Vec<Shape> = Vec::new();
        // By node: index of the box that represents it.
        let mut of = vec![usize::MAX; network.nodes.len()];
        for (n, node) in network.nodes.iter().enumerate() {
            let host = matches!(node.kind, NodeKind::Host(_));
            if host && hosts > HOSTS_MAX {
                continue;
            }
            of[n] = shapes.len();
            shapes.push(Shape { name: node.name().into(), host, layer: depth[n], x: 0.0 });
        }
        // The hosts of a switch share a box, so a fabric of hundreds still fits.
        if hosts > HOSTS_MAX {
            gather_hosts(plan, &mut shapes, &mut of);
        }
        let layers = shapes.iter().map(|shape| shape.layer + 1).max().unwrap_or(1);
        let mut bundles = BTreeMap::<_, Bundle>::new();
        let span = end.since(Instant::ZERO).as_secs_f64();
        for (n, link) in (0u32..).zip(&network.links) {
            let (a, b) = (of[link.a.node.index()], of[link.b.node.index()]);
            let bundle = bundles.entry((a.min(b), a.max(b))).or_default();
            bundle.links += 1;
            bundle.names.push(link.name.clone());
            for direction in [LinkId(n).ab(), LinkId(n).ba()] {
                for (_, line) in recording.events.pauses(direction) {
                    // A run without length would give shares that are no numbers.
                    let share = line.total.as_secs_f64() / span.max(1e-12);
                    bundle.paused = bundle.paused.max(share.min(1.0));
                }
            }
        }
        let mut sketch = Self { shapes, bundles, layers };
        sketch.place();
        sketch
    }

    /// Arranges the boxes of each layer below the boxes that they are linked to.
    fn place(&mut self) {
        for layer in (0..self.layers).rev() {
            let mut order: Vec<usize> =
                (0..self.shapes.len()).filter(|n| self.shapes[*n].layer == layer).collect();
            let above = |n: usize| {
                let linked = self.bundles.keys().filter_map(|(a, b)| match (*a == n, *b == n) {
                    (true, _) => Some(*b),
                    (_, true) => Some(*a),
                    _ => None,
                });
                let xs: Vec<f64> = linked
                    .filter(|m| self.shapes[*m].layer > layer)
                    .map(|m| self.shapes[m].x)
                    .collect();
                if xs.is_empty() { 0.0 } else { xs.iter().sum::<f64>() / xs.len() as f64 }
            };
            // Calculated once for each box, as sorting asks for it often.
            let keys: BTreeMap<usize, f64> = order.iter().map(|n| (*n, above(*n))).collect();
            order.sort_by(|a, b| keys[a].total_cmp(&keys[b]));
            let gap = WIDTH / order.len() as f64;
            for (place, n) in order.into_iter().enumerate() {
                self.shapes[n].x = gap * (place as f64 + 0.5);
            }
        }
    }
}

/// Returns the distance of each node from a host.
fn depths(plan: &LabPlan) -> Vec<usize> {
    let network = &plan.network;
    let mut linked = vec![Vec::new(); network.nodes.len()];
    for link in &network.links {
        let (a, b) = (link.a.node.index(), link.b.node.index());
        linked[a].push(b);
        linked[b].push(a);
    }
    let is_host = |n: &usize| matches!(network.nodes[*n].kind, NodeKind::Host(_));
    let mut depth = vec![usize::MAX; network.nodes.len()];
    // A search from all hosts at once gives each node the nearest one.
    let mut queue: VecDeque<usize> = (0..network.nodes.len()).filter(is_host).collect();
    for host in &queue {
        depth[*host] = 0;
    }
    while let Some(n) = queue.pop_front() {
        for m in &linked[n] {
            if depth[*m] == usize::MAX {
                depth[*m] = depth[n] + 1;
                queue.push_back(*m);
            }
        }
    }
    // Nodes that no host reaches are placed beside the lowest switches.
    depth.into_iter().map(|d| if d == usize::MAX { 1 } else { d }).collect()
}

/// Makes one box for all hosts of a switch.
fn gather_hosts(plan: &LabPlan, shapes: &mut Vec<Shape>, of: &mut [usize]) {
    let network = &plan.network;
    let mut boxes = BTreeMap::<usize, usize>::new();
    for link in &network.links {
        let ends = [link.a.node.index(), link.b.node.index()];
        for (host, switch) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            if !matches!(network.nodes[host].kind, NodeKind::Host(_)) {
                continue;
            }
            of[host] = *boxes.entry(switch).or_insert_with(|| {
                shapes.push(Shape { name: String::new(), host: true, layer: 0, x: 0.0 });
                shapes.len() - 1
            });
        }
    }
    for place in boxes.values() {
        let hosts = of.iter().filter(|of| *of == place).count();
        shapes[*place].name = if hosts == 1 { "1 host".into() } else { format!("{hosts} hosts") };
    }
}
