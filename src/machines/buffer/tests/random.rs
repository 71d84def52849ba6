//! Random sequences: the ledger against the model, and invariants.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::super::*;
use super::model::{Fault, Model, Outcome, slot};
use super::{UNUSED, lossless, lossy, port};
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup};

const PORTS: usize = 2;
const GROUPS: usize = 2;

#[derive(Clone, Debug)]
enum Op {
    /// Frames of equal length arrive.
    Admit {
        at: usize,
        len: u32,
        times: usize,
    },
    /// The same, admitted in one step where that is certain to be the same.
    AdmitAll {
        at: usize,
        len: u32,
        times: usize,
    },
    /// Frames leave, from anywhere in the queues.
    Release {
        picks: Vec<usize>,
    },
    /// Frames leave by another worker, which reports the sum per group later.
    Elsewhere {
        picks: Vec<usize>,
    },
    /// Update of the pool's use by others.
    Others(u32),
    /// Sizes of a group are changed.
    Change {
        at: usize,
        plan: GroupPlan,
    },
    ClearPeaks,
}

fn id(at: usize) -> (PortId, PriorityGroup) {
    (port(at / GROUPS), PriorityGroup::ALL[at % GROUPS])
}

fn group_plan() -> impl Strategy<Value = GroupPlan> {
    let limit = prop_oneof![
        (0_u32..200).prop_map(|n| SharedLimit::Static(Cells(n))),
        (-8_i8..=8).prop_map(|n| SharedLimit::Dynamic(Alpha::new(n).unwrap())),
        (-3_i8..=1).prop_map(|n| SharedLimit::Dynamic(Alpha::new(n).unwrap())),
        Just(SharedLimit::Unlimited),
    ];
    let some_or_none = |n: u32| prop_oneof![Just(0_u32), 0..n];
    let sizes = (some_or_none(20), some_or_none(60), some_or_none(60), some_or_none(30));
    (limit, sizes, any::<bool>()).prop_map(|(limit, (reserved, headroom, xon, offset), pauses)| {
        let xon = match limit {
            SharedLimit::Static(n) => xon.min(n.0),
            _ => xon,
        };
        if pauses {
            lossless(reserved, limit, headroom.max(1), xon, offset)
        } else {
            lossy(reserved, limit)
        }
    })
}

fn buffer_plan() -> impl Strategy<Value = BufferPlan> {
    let plans = prop::collection::vec(group_plan(), PORTS * GROUPS);
    (plans, 0_u32..400, 0_u32..20, 1_u32..400).prop_map(|(plans, pool, slack, cell_bytes)| {
        let mut groups = vec![[UNUSED; PRIORITIES]; PORTS];
        let mut total = pool + slack;
        for (at, plan) in plans.into_iter().enumerate() {
            let (p, g) = id(at);
            groups[p.index()][g.index()] = plan;
            total += plan.reserved.0;
            if let GroupKind::Lossless { headroom, .. } = plan.kind {
                total += headroom.0;
            }
        }
        BufferPlan { cell_bytes, total: Cells(total), groups, slack: Cells(slack) }
    })
}

fn op() -> impl Strategy<Value = Op> {
    let at = || 0..PORTS * GROUPS;
    let picks = || prop::collection::vec(any::<usize>(), 1..80);
    prop_oneof![
        8 => (at(), 64_u32..2_000, 1_usize..60)
            .prop_map(|(at, len, times)| Op::Admit { at, len, times }),
        6 => (at(), 64_u32..2_000, 1_usize..60)
            .prop_map(|(at, len, times)| Op::AdmitAll { at, len, times }),
        5 => picks().prop_map(|picks| Op::Release { picks }),
        2 => picks().prop_map(|picks| Op::Elsewhere { picks }),
        1 => (0_u32..200).prop_map(Op::Others),
        1 => (at(), group_plan()).prop_map(|(at, plan)| Op::Change { at, plan }),
        1 => Just(Op::ClearPeaks),
    ]
}

fn sequence() -> impl Strategy<Value = (BufferPlan, Vec<Op>)> {
    (buffer_plan(), prop::collection::vec(op(), 1..60))
}

/// Both ledgers, in step.
struct Pair {
    ledger: Ledger,
    model: Model,
    held: Vec<(Charge, usize, i64)>,
}

/// Returns the first difference as an error.
fn same<T: PartialEq + core::fmt::Debug>(what: &str, ledger: T, model: T) -> Result<(), String> {
    if ledger == model { Ok(()) } else { Err(format!("{what}: {ledger:?}, the model {model:?}")) }
}

impl Pair {
    fn step(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Admit { at, len, times } => {
                for _ in 0..*times {
                    self.admit(*at, *len)?;
                }
            }
            Op::AdmitAll { at, len, times } => self.admit_all(*at, *len, *times)?,
            Op::Release { picks } => {
                for pick in picks {
                    if self.held.is_empty() {
                        break;
                    }
                    let (charge, i, cells) = self.held.swap_remove(pick % self.held.len());
                    let crossed = self.ledger.release(charge);
                    same("release", crossed, self.model.release(i, cells))?;
                    self.compare()?;
                }
            }
            Op::Elsewhere { picks } => self.release_elsewhere(picks)?,
            Op::Others(cells) => {
                self.ledger.set_elsewhere(Cells(*cells));
                self.model.elsewhere = i64::from(*cells);
            }
            Op::Change { at, plan } => {
                let (p, g) = id(*at);
                let ours = self.ledger.set_group(p, g, *plan).ok();
                same("set_group", ours, self.model.change(slot(p, g), *plan))?;
            }
            Op::ClearPeaks => self.ledger.clear_peaks(),
        }
        self.compare()
    }

    fn admit_all(&mut self, at: usize, len: u32, times: usize) -> Result<(), String> {
        let ((p, g), cells) = (id(at), self.ledger.cells_for(len).0);
        let Some(mut last) = self.ledger.admit_all(p, g, Cells(cells * times as u32)) else {
            self.compare()?;
            return (0..times).try_for_each(|_| self.admit(at, len));
        };
        let cells_of = i64::from(cells);
        for n in 0..times {
            same("admit_all", Ok((cells_of, None)), self.model.admit(slot(p, g), len))?;
            if n > 0 {
                self.held.push((last.split(cells), slot(p, g), cells_of));
            }
        }
        self.held.push((last, slot(p, g), cells_of));
        self.compare()
    }

    fn admit(&mut self, at: usize, len: u32) -> Result<(), String> {
        let (p, g) = id(at);
        let i = slot(p, g);
        let theirs = self.model.admit(i, len);
        let ours: Outcome = match self.ledger.admit(p, g, len) {
            Admission::Refused(why) => Err(why),
            Admission::Admitted { charge, crossed } => {
                let cells = i64::from(charge.cells().0);
                self.held.push((charge, i, cells));
                Ok((cells, crossed))
            }
        };
        same("admit", ours, theirs)?;
        self.compare()
    }

    fn release_elsewhere(&mut self, picks: &[usize]) -> Result<(), String> {
        let mut sums = [0_u32; PORTS * GROUPS];
        for pick in picks {
            if self.held.is_empty() {
                break;
            }
            let (charge, ..) = self.held.swap_remove(pick % self.held.len());
            let (p, g, cells) = Ledger::part(charge);
            sums[p.index() * GROUPS + g.index()] += cells.0;
        }
        for (at, sum) in sums.into_iter().enumerate().filter(|(_, sum)| *sum > 0) {
            let (p, g) = id(at);
            let crossed = self.ledger.credit(p, g, Cells(sum));
            same("credit", crossed, self.model.release(slot(p, g), i64::from(sum)))?;
        }
        Ok(())
    }

    fn compare(&self) -> Result<(), String> {
        self.ledger.check();
        let count = |cells: Cells| i64::from(cells.0);
        same("shared_used", count(self.ledger.shared_used()), self.model.shared_used())?;
        for at in 0..PORTS * GROUPS {
            let (p, g) = id(at);
            let (ours, theirs) = (self.ledger.usage(p, g), &self.model.groups[slot(p, g)]);
            same("used", count(ours.used), theirs.used())?;
            same("shared", count(ours.shared), theirs.shared)?;
            same("headroom", count(ours.headroom), theirs.headroom)?;
            same("xoff", ours.xoff, theirs.xoff)?;
        }
        Ok(())
    }
}

/// Runs a sequence and then lets every frame leave: the buffer is empty then, and no sender is
/// paused.
fn run(plan: &BufferPlan, ops: &[Op], fault: Option<Fault>) -> Result<(), String> {
    let ledger = Ledger::new(plan).map_err(|e| e.to_string())?;
    let mut pair = Pair { ledger, model: Model::new(plan, fault), held: Vec::new() };
    for op in ops {
        pair.step(op)?;
    }
    let all = vec![0; pair.held.len()];
    pair.step(&Op::Release { picks: all })?;
    for at in 0..PORTS * GROUPS {
        let (p, g) = id(at);
        let u = pair.ledger.usage(p, g);
        let left = (u.used, u.headroom, u.xoff);
        same("drained", left, (Cells(0), Cells(0), false))?;
    }
    same("drained pool", pair.ledger.shared_used(), Cells(0))
}

proptest! {
    #![proptest_config(Config { cases: 400, ..Config::default() })]

    #[test]
    fn the_ledger_is_the_model((plan, ops) in sequence()) {
        run(&plan, &ops, None).map_err(TestCaseError::fail)?;
    }
}

/// The property above finds every planted bug.
#[test]
fn every_planted_bug_is_caught() {
    for fault in Fault::ALL {
        let mut runner = TestRunner::deterministic();
        let caught = (1..=400).find(|_| {
            let (plan, ops) = sequence().new_tree(&mut runner).unwrap().current();
            run(&plan, &ops, Some(fault)).is_err()
        });
        assert!(caught.is_some(), "{fault:?} went unseen");
    }
}
