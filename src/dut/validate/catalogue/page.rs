//! The page of a test in the manual, made from its description.

use crate::test::{Test, Topology};

/// Returns the page in Markdown.
#[must_use]
pub fn page(test: &Test) -> String {
    let aliases = if test.aliases.is_empty() { "-".into() } else { test.aliases.join(", ") };
    let Test { id, title, clause, level, source, purpose, procedure, uncertainty, .. } = test;
    let pass = test.criterion(None);
    format!(
        "# {id}: {title}\n\n\
         | | |\n| --- | --- |\n\
         | also known as | {aliases} |\n\
         | clause | {clause} |\n\
         | ports | {} |\n\
         | level | {level} |\n\
         | source | {source} |\n\n\
         **Purpose.** {purpose}\n\n\
         **Procedure.** {procedure}\n\n\
         **Pass.** {pass}\n\n\
         **Uncertainty.** {uncertainty}\n\n\
         **Command.** `sluice validate DUT.yaml --only {id}`\n",
        ports(test.topology)
    )
}

const fn ports(topology: Topology) -> &'static str {
    match topology {
        Topology::T1 => "1: A",
        Topology::Pair => "2: A and B, with a NIC at each",
        Topology::T2 => "2: A sends to B, and the tester pauses the device at B",
        Topology::T3 => "3: A and B send to C",
        Topology::Th => "4: A sends to C and D, B sends to D",
        Topology::Tm => "2: A sends to B, whose link has MACsec; at level full to each such port",
        Topology::Ts => "2 of different rates: the fastest sends to the slowest",
        Topology::Tn => "3 or more: all others send to the last one",
        Topology::Tr => "3 at the switches of a ring, in the direction of its frames",
    }
}
