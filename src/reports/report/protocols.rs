//! Text tables of the link protocols of ports, and of their MACsec.

use ::text::Align::{Left, Right};
use ::text::{Table, count, delay as time};
use discovery::{Party, PeerState};
use ground::printable;
use results::{AgentsSummary, DcbxSummary, HeadroomSummary, MacsecSummary, TimesSummary};

/// Prints the neighbours of ports and the negotiated settings, or that there are none.
#[must_use]
pub fn neighbours_text<'a>(
    ports: impl Iterator<Item = (&'a str, &'a AgentsSummary)> + Clone,
) -> String {
    let mut table = Table::new([
        ("port", Left),
        ("neighbour", Left),
        ("its port", Left),
        ("chassis", Left),
        ("for", Right),
        ("DCBX", Left),
        ("description", Left),
    ]);
    for (port, agents) in ports.clone() {
        for n in &agents.neighbours {
            // The port says more about the cable than the system does.
            let description = match n.port_description.as_str() {
                "" => n.system_description.clone(),
                other => other.to_owned(),
            };
            table.row([
                port.to_owned(),
                n.system_name.clone(),
                n.port.clone(),
                n.chassis.clone(),
                format!("{:.0} s", n.ttl_s),
                if n.dcbx { "yes" } else { "no" }.to_owned(),
                // The first line alone: descriptions of systems often have several.
                description.lines().next().unwrap_or_default().to_owned(),
            ]);
        }
    }
    let mut out =
        if table.is_empty() { "no LLDP neighbour so far\n".to_owned() } else { table.to_string() };
    for (port, agents) in ports {
        if let Some(dcbx) = &agents.dcbx {
            out += &printable::lines([format!("{port}: {}", negotiated(dcbx))]);
        }
        // Refusals are shown although negotiation goes on: they explain a setting that is not as the peer asked.
        let peers = agents.neighbours.iter().flat_map(|n| &n.refused);
        let refused = peers.chain(agents.dcbx.iter().flat_map(|dcbx| &dcbx.refused));
        out += &printable::lines(refused.map(|what| format!("{port}: {what}")));
        out += &printable::lines(placed(port, agents));
    }
    out
}

/// Prints the place of the port and the congestion features of its neighbours, one line each.
fn placed(port: &str, agents: &AgentsSummary) -> Vec<String> {
    let own = agents.topology.as_ref().map(|own| {
        let level = own.level.map_or_else(|| "unknown".into(), |n| n.to_string());
        let orientation = format!("{:?}", own.orientation).to_lowercase();
        format!("{port}: level {level}, {orientation}")
    });
    let said = agents.neighbours.iter().map(|n| (&n.port, n.said.text()));
    let said = said.filter(|(_, text)| !text.is_empty());
    own.into_iter().chain(said.map(|(of, text)| format!("{port}: {of} says: {text}"))).collect()
}

/// Prints the result of DCBX in one line.
fn negotiated(dcbx: &DcbxSummary) -> String {
    let mut parts = vec![match dcbx.peers {
        PeerState::Present => "DCBX with its peer".to_owned(),
        PeerState::Several => "DCBX inactive: several neighbours send it".to_owned(),
        PeerState::Absent => "DCBX without a peer".to_owned(),
    }];
    if let Some(pfc) = &dcbx.pfc {
        let list: Vec<_> = pfc.enable.iter().map(|p| p.get().to_string()).collect();
        let list = if list.is_empty() { "no priority".to_owned() } else { list.join(", ") };
        parts.push(format!("PFC on {list} ({})", whose(pfc.from)));
    }
    if let Some(ets) = &dcbx.ets {
        let percent: Vec<_> = ets.bandwidth.iter().map(u8::to_string).collect();
        parts.push(format!("ETS {} % ({})", percent.join("/"), whose(ets.from)));
    }
    if let Some(methods) = &dcbx.methods {
        let can = if methods.is_empty() { "nothing".into() } else { methods.join(", ") };
        parts.push(format!("both can measure by {can}"));
    }
    parts.join("; ")
}

const fn whose(from: Party) -> &'static str {
    match from {
        Party::Peer => "the peer's",
        Party::Local => "its own",
    }
}

/// Prints the headroom of ports and the measurements it is based on.
#[must_use]
pub fn headroom_text<'a>(ports: impl Iterator<Item = (&'a str, &'a AgentsSummary)>) -> String {
    let mut table = Table::new([
        ("port", Left),
        ("headroom", Left),
        ("bytes", Right),
        ("cells", Right),
        ("quanta", Right),
        ("measured", Left),
        ("rounds", Right),
        ("min", Right),
        ("mean", Right),
        ("p99", Right),
        ("max", Right),
        ("+-", Right),
        ("stamps", Left),
    ]);
    for (port, agents) in ports {
        let state = agents.headroom.as_ref().map_or("computed", |h| found(h));
        let need = agents.headroom.as_ref().and_then(|h| h.needs.as_ref());
        let number = |of: Option<u64>| of.map_or_else(|| "-".into(), count);
        let all = [
            ("round trip", &agents.round_trip),
            ("peer's t3 - t2", &agents.turnaround),
            ("path delay", &agents.path_delay),
        ];
        let mut measured: Vec<_> =
            all.into_iter().filter_map(|(name, times)| Some((name, times.as_ref()?))).collect();
        // The first measurement is in the row of the port; the others follow in rows of their own.
        let first = (!measured.is_empty()).then(|| measured.remove(0));
        let row = |first: Option<(&str, &TimesSummary)>, head: [String; 5]| {
            let times = first.map_or_else(|| vec!["-".into(); 7], |(name, t)| figures(name, t));
            let mut cells: Vec<_> = head.into_iter().chain(times).collect();
            cells.push(agents.stamps.source.clone());
            cells
        };
        let head = [
            port.to_owned(),
            state.to_owned(),
            number(need.map(|n| n.bytes)),
            number(need.map(|n| n.cells)),
            number(need.map(|n| n.quanta)),
        ];
        table.row(row(first, head));
        for more in measured {
            // The port and its headroom are not repeated.
            table.row(row(Some(more), Default::default()));
        }
    }
    if table.is_empty() {
        return "no port measures or answers measurements\n".to_owned();
    }
    table.to_string()
}

/// Describes the state of a port's headroom measurement.
fn found(headroom: &HeadroomSummary) -> &str {
    match headroom.state.as_str() {
        "found" if headroom.set => "measured",
        "found" => "too large",
        "waiting" => "waits for DCBX",
        "down" => "link down",
        other => other,
    }
}

fn figures(name: &str, times: &TimesSummary) -> Vec<String> {
    let (rounds, off) = (times.rounds.map(count), times.uncertainty_ns.map(time));
    let dash = || "-".to_owned();
    let spans = [times.min_ns, times.mean_ns, times.p99_ns, times.max_ns].map(time);
    let mut cells = vec![name.to_owned(), rounds.unwrap_or_else(dash)];
    cells.extend(spans);
    cells.push(off.unwrap_or_else(dash));
    cells
}

/// Prints both tables, below those of a switch; empty if no port has link protocols.
#[must_use]
pub fn agents_text<'a>(
    ports: impl Iterator<Item = (&'a str, &'a AgentsSummary)> + Clone,
) -> String {
    if ports.clone().next().is_none() {
        return String::new();
    }
    let mut out = String::new();
    let measure = ports
        .clone()
        .filter(|(_, a)| a.headroom.is_some() || a.round_trip.is_some() || a.path_delay.is_some());
    // A port that only advertises has no headroom to tell of.
    if measure.clone().next().is_some() {
        out += &format!("\n{}", headroom_text(measure));
    }
    if ports.clone().any(|(_, a)| a.counters.contains_key("lldp")) {
        out += &format!("\n{}", neighbours_text(ports));
    }
    out
}

/// Prints MACsec of ports as tables, with warnings; empty if no port has it.
#[must_use]
pub fn macsec_text<'a>(
    ports: impl Iterator<Item = (&'a str, &'a MacsecSummary)> + Clone,
) -> String {
    if ports.clone().next().is_none() {
        return String::new();
    }
    let mut out = format!("\n{}", associations(ports.clone()));
    let counters = counters(ports.clone());
    if !counters.is_empty() {
        out += &format!("\n{counters}");
    }
    // Below the tables, where the last thing that is read is what to do.
    for (name, summary) in ports {
        if let Some(alarm) = summary.alarm() {
            out += &format!("\n{}", printable::lines([format!("WARNING: {name}: {alarm}")]));
        }
    }
    out
}

/// Returns a row per association, and one per channel without associations.
fn associations<'a>(ports: impl Iterator<Item = (&'a str, &'a MacsecSummary)>) -> Table {
    let mut t = Table::new([
        ("macsec", Left),
        ("suite", Left),
        ("cipher", Left),
        ("channel", Left),
        ("way", Left),
        ("an", Right),
        ("next pn", Right),
        ("state", Left),
    ]);
    // An association that has sent its last number has no next one.
    let pn = |pn: Option<u64>| pn.map_or_else(|| "used up".to_owned(), count);
    for (port, s) in ports {
        let mut row = |sci: &str, way: &str, an: String, next: String, state: String| {
            let (port, suite, cipher) = (port.to_owned(), s.cipher_suite.clone(), s.cipher.clone());
            t.row([port, suite, cipher, sci.to_owned(), way.to_owned(), an, next, state]);
        };
        let none =
            |row: &mut dyn FnMut(&str, &str, String, String, String), sci: &str, way: &str| {
                row(sci, way, "-".into(), "-".into(), "no key".into());
            };
        // A channel without keys has a row: it is configured, and carries nothing.
        if s.transmit.associations.is_empty() {
            none(&mut row, &s.transmit.sci, "tx");
        }
        for sa in &s.transmit.associations {
            let state = match (sa.in_use, sa.nearly_used_up) {
                (true, false) => "in use",
                // The time to install the next key is before the last number.
                (true, true) => "in use, nearly used up",
                (false, _) => "installed",
            };
            row(&s.transmit.sci, "tx", sa.an.to_string(), pn(sa.next_pn), state.into());
        }
        for sc in &s.receive {
            if sc.associations.is_empty() {
                none(&mut row, &sc.sci, "rx");
            }
            for sa in &sc.associations {
                let state = format!("lowest {}", count(sa.lowest_pn));
                row(&sc.sci, "rx", sa.an.to_string(), pn(sa.next_pn), state);
            }
        }
    }
    t
}

/// Returns the counters that are not 0.
fn counters<'a>(ports: impl Iterator<Item = (&'a str, &'a MacsecSummary)>) -> Table {
    let mut t =
        Table::new([("counter", Left), ("port", Left), ("channel", Left), ("count", Right)]);
    for (port, summary) in ports {
        for (channel, name, n) in summary.counted().filter(|(.., n)| **n > 0) {
            t.row([name.to_owned(), port.to_owned(), channel.to_owned(), count(*n)]);
        }
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::units::Mac;
    use secure::{
        An, ChannelSnapshot, CipherSuite, ReceiveCounters, ReceiveSaSnapshot, Sci, SecyCounters,
        SecySnapshot, TransmitCounters, TransmitSaSnapshot,
    };

    fn snapshot(suite: CipherSuite, next_pn: Option<u64>) -> SecySnapshot {
        let sci = |n| Sci { mac: Mac([2, 0, 0, 0, 0, n]), port: 1 };
        let sa = TransmitSaSnapshot::new(An::ALL[0], true, next_pn, suite.last_pn());
        let received = ChannelSnapshot {
            sci: sci(2),
            counters: ReceiveCounters { in_pkts_late: 7, ..ReceiveCounters::default() },
            associations: [
                None,
                Some(ReceiveSaSnapshot { an: 1, next_pn: Some(9), lowest_pn: 9 }),
                None,
                None,
            ],
        };
        let mut receive = [None; secure::SecyPlan::CHANNELS_MAX];
        receive[0] = Some(received);
        SecySnapshot {
            suite,
            cipher: "aws-lc-rs",
            declined: 0,
            counters: SecyCounters { in_pause_plain: 3, ..SecyCounters::default() },
            encoding: An::ALL[0],
            transmit: ChannelSnapshot {
                sci: sci(1),
                counters: TransmitCounters { out_pkts_encrypted: 5, ..TransmitCounters::default() },
                associations: [Some(sa), None, None, None],
            },
            receive,
        }
    }

    #[test]
    fn counters_have_the_names_of_the_standard_and_those_that_counted_are_in_the_table() {
        let summary = MacsecSummary::new(&snapshot(CipherSuite::GcmAes128, Some(6)));
        assert_eq!(summary.transmit.counters["OutPktsEncrypted"], 5);
        assert_eq!(summary.receive[0].counters["InPktsLate"], 7);
        assert_eq!(summary.counters["in_pause_plain"], 3);
        assert_eq!(summary.alarm(), None);
        let text = macsec_text([("p0", &summary)].into_iter());
        for part in ["InPktsLate", "in_pause_plain", "02:00:00:00:00:02/1", "in use", "lowest 9"] {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        assert!(!text.contains("InPktsOK") && !text.contains("WARNING"), "{text}");
        assert_eq!(macsec_text(core::iter::empty()), "");
        // The JSON parses to the same summary.
        let json = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<MacsecSummary>(&json).unwrap(), summary);
    }

    #[test]
    fn an_association_near_its_end_is_said_aloud() {
        let of = |suite, pn| MacsecSummary::new(&snapshot(suite, pn));
        use CipherSuite::{GcmAes128, GcmAesXpn256};
        let quarters = |last: u64| (u128::from(last) * 3 / 4) as u64;
        for suite in [GcmAes128, GcmAesXpn256] {
            let last = suite.last_pn();
            assert_eq!(of(suite, Some(quarters(last) - 2)).alarm(), None);
            let due = of(suite, Some(quarters(last) + 3)).alarm().unwrap();
            assert!(due.contains("install association 1"), "{due}");
            assert_eq!(of(suite, Some(last)).transmit.associations[0].left, 1);
            let over = of(suite, None).alarm().unwrap();
            assert!(over.contains("nothing protected leaves"), "{over}");
        }
        // An XPN suite has 2^64 - 1 packet numbers.
        assert_eq!(of(GcmAesXpn256, Some(1)).transmit.associations[0].left, u64::MAX);
    }
}
