//! Resolves defects: the ports that have them, and the parameters of each kind.

mod kinds;

use kinds::Takes;

use super::fault_context::Context;
use crate::raw::{DefectFault, DefectKind};
use config::{Cx, Place};
use ground::time::Duration;
use ground::units::{PortId, Priority, PrioritySet, Quanta};
use sim::defect::Defect;
use sim::{End, FaultKind, NodeId};

/// Most frames of a parameter.
const FRAMES_MAX: u32 = 1_000_000;

/// Returns the names of the parameters that a kind of defect takes.
pub(crate) fn parameters(kind: DefectKind) -> &'static [&'static str] {
    Takes::of(kind).names()
}

/// Returns the names of the parameters that a kind of defect takes at a port with 802.3x PAUSE. `None` if the
/// kind is about PFC alone.
pub(crate) fn parameters_with_pause(kind: DefectKind) -> Option<Vec<&'static str>> {
    let takes = Takes::of(kind);
    let fits = |name: &&str| *name != "priorities" || !takes.is_of_pauses();
    (!kinds::needs_pfc(kind)).then(|| takes.names().iter().copied().filter(fits).collect())
}

/// Resolves a defect at each port that has it.
pub(super) fn defect(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &DefectFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let ports = ports(cx, at, said, context);
    let ports = ports.and_then(|(node, ports)| {
        let is_link_wide = |port| context.is_link_wide(node, port);
        Some((node, with_flow_control(cx, at, said, ports, is_link_wide)?))
    });
    let made = Parameters { cx, at, said }.defect();
    let (Some((node, ports)), Some(defect)) = (ports, made) else { return };
    for port in ports.into_iter().filter_map(|port| PortId::new(port as u16)) {
        push(FaultKind::Defect { end: End { node: NodeId(node as u32), port }, defect });
    }
}

/// Returns the node and those of its ports that have the defect.
fn ports(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &DefectFault,
    context: &Context<'_, '_>,
) -> Option<(usize, Vec<usize>)> {
    let node = context.graph.find(cx, &at.key("on"), &said.on)?;
    let count = context.graph.nodes[node].ports.len();
    let Some(name) = &said.port else { return Some((node, (0..count).collect())) };
    let mut ports = context.graph.ports_to(node, name);
    let number = name.parse::<usize>().ok().filter(|n| *n < count);
    if ports.is_empty() {
        ports.extend(number);
    }
    if ports.is_empty() {
        let what = format!(
            "`{}` has no port `{name}`; name the node at its other end or its link, or give its \
             number, 0 to {}",
            said.on,
            count.saturating_sub(1)
        );
        cx.error(&at.key("port"), what);
        return None;
    }
    Some((node, ports))
}

/// Returns those of the ports where the defect acts. One about priorities does not act on PAUSE, which names
/// none.
fn with_flow_control(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &DefectFault,
    mut ports: Vec<usize>,
    is_link_wide: impl Fn(usize) -> bool,
) -> Option<Vec<usize>> {
    let with_pause = parameters_with_pause(said.kind);
    let field = match &with_pause {
        None => "kind",
        Some(names) if said.priorities.is_some() && !names.contains(&"priorities") => "priorities",
        Some(_) => return Some(ports),
    };
    ports.retain(|port| !is_link_wide(*port));
    if ports.is_empty() {
        let on = &said.on;
        let what = match field {
            "kind" => format!(
                "is about priorities, and `{on}` has 802.3x PAUSE there, which names none; take \
                 another kind, or PFC"
            ),
            _ => format!("802.3x PAUSE of `{on}` stops all priorities; leave this out"),
        };
        cx.error(&at.key(field), what);
        return None;
    }
    Some(ports)
}

/// The parameters of a defect in the file.
struct Parameters<'c, 'p, 's> {
    cx: &'c mut Cx,
    at: &'c Place<'p>,
    said: &'s DefectFault,
}

impl Parameters<'_, '_, '_> {
    /// Returns the defect; `None` after an error.
    fn defect(&mut self) -> Option<Defect> {
        let takes = Takes::of(self.said.kind);
        self.refuse_others(takes.names());
        Some(match takes {
            Takes::Nothing(defect) => defect,
            Takes::Every(make) => make(self.number("every", self.said.every, "10")?),
            Takes::Frames(make) => make(self.number("frames", self.said.frames, "4")?),
            Takes::Cells(make) => {
                let cells = self.number("cells", self.said.cells, "1")?;
                make(cells, self.priorities(PrioritySet::ALL)?)
            }
            Takes::Ratio(make) => make(self.ratio()?),
            Takes::NamedRatio(make) => make(self.named()?, self.ratio()?),
            Takes::Most(make) => make(self.most()?),
            Takes::After(make) => make(self.after()?),
            Takes::Priorities(make) => make(self.priorities(PrioritySet::ALL)?),
            Takes::Named(make) => make(self.named()?),
            Takes::NamedAfter(make) => make(self.named()?, self.after()?),
            Takes::Quanta(make) => make(self.quanta()?, self.priorities(PrioritySet::ALL)?),
            Takes::Unasked(make) => {
                let every = self.number("every", self.said.every, "10")?;
                make(every, self.priorities(PrioritySet::ALL)?, self.quanta()?)
            }
        })
    }

    fn needs<T>(&mut self, name: &str, value: Option<T>, example: &str) -> Option<T> {
        if value.is_none() {
            let what = format!("is needed by this kind of defect; write `{name}: {example}`");
            self.cx.error(&self.at.key(name), what);
        }
        value
    }

    fn number(&mut self, name: &str, said: Option<u32>, example: &str) -> Option<u32> {
        let number = self.needs(name, said, example)?;
        Some(self.cx.ranged(&self.at.key(name), number, (1, FRAMES_MAX), 1))
    }

    fn most(&mut self) -> Option<u8> {
        let most = self.needs("most", self.said.most, "1")?;
        Some(self.cx.ranged(&self.at.key("most"), most, (0, 7), 1))
    }

    fn quanta(&mut self) -> Option<Quanta> {
        self.needs("quanta", self.said.quanta, "20").map(Quanta)
    }

    fn after(&mut self) -> Option<Duration> {
        let after = self.needs("after", self.said.after, "200us")?.0;
        if after == Duration::ZERO {
            self.cx.error(&self.at.key("after"), "must be above zero");
            return None;
        }
        Some(after)
    }

    fn named(&mut self) -> Option<PrioritySet> {
        self.needs("priorities", self.said.priorities.as_ref(), "[4]")?;
        self.priorities(PrioritySet::EMPTY)
    }

    /// Returns the priorities, or `all` if none are given.
    fn priorities(&mut self, all: PrioritySet) -> Option<PrioritySet> {
        let Some(said) = &self.said.priorities else { return Some(all) };
        let mut set = PrioritySet::EMPTY;
        for (i, n) in said.iter().enumerate() {
            let Some(priority) = Priority::new(*n) else {
                let at = self.at.key("priorities").index(i);
                self.cx.error(&at, format!("there is no priority {n}; 0 to 7"));
                return None;
            };
            set.insert(priority);
        }
        Some(set)
    }

    fn ratio(&mut self) -> Option<(u16, u16)> {
        let text = self.needs("ratio", self.said.ratio.as_deref(), "1/8")?;
        let number = |text: &str| text.trim().parse::<u16>().ok().filter(|n| *n > 0);
        let ratio = match text.split_once('/') {
            Some((numerator, denominator)) => number(numerator).zip(number(denominator)),
            None => number(text).map(|numerator| (numerator, 1)),
        };
        if ratio.is_none() {
            let what = format!("`{text}` is no ratio; write two numbers, 1 to 65535, as in `1/8`");
            self.cx.error(&self.at.key("ratio"), what);
        }
        ratio
    }

    /// Refuses parameters that the kind does not take.
    fn refuse_others(&mut self, names: &[&str]) {
        let said = self.said;
        let all = [
            ("priorities", said.priorities.is_some()),
            ("quanta", said.quanta.is_some()),
            ("ratio", said.ratio.is_some()),
            ("every", said.every.is_some()),
            ("frames", said.frames.is_some()),
            ("cells", said.cells.is_some()),
            ("most", said.most.is_some()),
            ("after", said.after.is_some()),
        ];
        for (name, is_said) in all {
            if is_said && !names.contains(&name) {
                let what = "has no effect on this kind of defect; remove it";
                self.cx.error(&self.at.key(name), what);
            }
        }
    }
}
