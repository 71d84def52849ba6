//! Text tables of the link protocols of ports, and of their MACsec.

use ::text::{Column, Table, columns, count, delay as time};
use discovery::{Party, PeerState};
use ground::printable;
use results::{
    AgentsSummary, DcbxSummary, MacsecSummary, NeedSummary, NeighbourSummary, TimesSummary,
};

/// Prints the neighbours of ports and the negotiated settings, or that there are none.
#[must_use]
pub fn neighbours_text<'a>(
    ports: impl Iterator<Item = (&'a str, &'a AgentsSummary)> + Clone,
) -> String {
    let columns: [Column<(&str, &NeighbourSummary)>; 7] = columns! { (port, n) =>
        Text ["port"] = *port;
        Text ["neighbour"] = &*n.system_name;
        Text ["its port"] = &*n.port;
        Text ["chassis"] = &*n.chassis;
        Printed ["for"] = format!("{:.0} s", n.ttl_s);
        Text ["DCBX"] = if n.dcbx { "yes" } else { "no" };
        Text ["description"] = {
            // The port says more about the cable than the system does.
            let all = [&n.port_description, &n.system_description];
            let description = all.into_iter().find(|text| !text.is_empty());
            // The first line alone: descriptions of systems often have several.
            description.and_then(|text| text.lines().next()).unwrap_or_default()
        };
    };
    let all = ports.clone();
    let rows = all.flat_map(|(port, agents)| agents.neighbours.iter().map(move |n| (port, n)));
    let table = Table::of(&rows.collect::<Vec<_>>(), &columns);
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
    /// A port and one of its measurements; only the first of a port has its headroom.
    type Row<'a> = (&'a str, &'a AgentsSummary, bool, Option<(&'static str, &'a TimesSummary)>);
    let columns: [Column<Row<'_>>; 13] = columns! { (port, agents, is_first, of) =>
        Text ["port"] = if *is_first { *port } else { "" };
        Text ["headroom"] = if *is_first { state(agents) } else { "" };
        Printed ["bytes"] = if *is_first { need(agents, |n| n.bytes) } else { String::new() };
        Printed ["cells"] = if *is_first { need(agents, |n| n.cells) } else { String::new() };
        Printed ["quanta"] = if *is_first { need(agents, |n| n.quanta) } else { String::new() };
        Text ["measured"] = of.map(|(name, _)| name);
        Whole ["rounds"] = of.and_then(|(_, times)| times.rounds);
        Printed ["min"] = of.map(|(_, times)| time(times.min_ns));
        Printed ["mean"] = of.map(|(_, times)| time(times.mean_ns));
        Printed ["p99"] = of.map(|(_, times)| time(times.p99_ns));
        Printed ["max"] = of.map(|(_, times)| time(times.max_ns));
        Printed ["+-"] = of.and_then(|(_, times)| times.uncertainty_ns).map(time);
        Text ["stamps"] = &*agents.stamps.source;
    };
    let rows = ports.flat_map(|(port, agents)| {
        let all = [
            ("round trip", &agents.round_trip),
            ("peer's t3 - t2", &agents.turnaround),
            ("path delay", &agents.path_delay),
        ];
        let mut measured =
            all.into_iter().filter_map(|(name, times)| Some((name, times.as_ref()?)));
        let first: Row<'_> = (port, agents, true, measured.next());
        core::iter::once(first).chain(measured.map(move |of| (port, agents, false, Some(of))))
    });
    let table = Table::of(&rows.collect::<Vec<_>>(), &columns);
    if table.is_empty() {
        return "no port measures or answers measurements\n".to_owned();
    }
    table.to_string()
}

/// Describes the state of a port's headroom.
fn state(agents: &AgentsSummary) -> &str {
    let Some(headroom) = &agents.headroom else { return "computed" };
    match headroom.state.as_str() {
        "found" if headroom.set => "measured",
        "found" => "too large",
        "waiting" => "waits for DCBX",
        "down" => "link down",
        other => other,
    }
}

fn need(agents: &AgentsSummary, amount: fn(&NeedSummary) -> u64) -> String {
    let needs = agents.headroom.as_ref().and_then(|headroom| headroom.needs.as_ref());
    needs.map_or_else(|| "-".into(), |needs| count(amount(needs)))
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
    /// Number, next packet number and state of an association.
    type Keyed = (u8, Option<u64>, String);
    type Row<'a> = (&'a str, &'a MacsecSummary, &'a str, &'static str, Option<Keyed>);
    let columns: [Column<Row<'_>>; 8] = columns! { (port, summary, sci, way, sa) =>
        Text ["macsec"] = *port;
        Text ["suite"] = &*summary.cipher_suite;
        Text ["cipher"] = &*summary.cipher;
        Text ["channel"] = *sci;
        Text ["way"] = *way;
        Printed ["an"] = sa.as_ref().map(|(an, ..)| an.to_string());
        // An association that has sent its last number has no next one.
        Printed ["next pn"] =
            sa.as_ref().map(|(_, pn, _)| pn.map_or_else(|| "used up".to_owned(), count));
        // A channel without keys has a row: it is configured, and carries nothing.
        Text ["state"] = sa.as_ref().map_or("no key", |(.., state)| state);
    };
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (port, summary) in ports {
        let transmit = summary.transmit.associations.iter().map(|sa| {
            let state = match (sa.in_use, sa.nearly_used_up) {
                (true, false) => "in use",
                // The time to install the next key is before the last number.
                (true, true) => "in use, nearly used up",
                (false, _) => "installed",
            };
            (sa.an, sa.next_pn, state.to_owned())
        });
        let receive = summary.receive.iter().map(|channel| {
            let of = channel.associations.iter();
            let of = of.map(|sa| (sa.an, sa.next_pn, format!("lowest {}", count(sa.lowest_pn))));
            (&*channel.sci, "rx", of.collect())
        });
        let transmit = (&*summary.transmit.sci, "tx", transmit.collect::<Vec<Keyed>>());
        for (sci, way, keyed) in core::iter::once(transmit).chain(receive) {
            let none = keyed.is_empty().then_some(None);
            let all = keyed.into_iter().map(Some).chain(none);
            rows.extend(all.map(|sa| (port, summary, sci, way, sa)));
        }
    }
    Table::of(&rows, &columns)
}

/// Returns the counters that are not 0.
fn counters<'a>(ports: impl Iterator<Item = (&'a str, &'a MacsecSummary)>) -> Table {
    type Row<'a> = (&'a str, (&'a str, &'a str, &'a u64));
    let columns: [Column<Row<'_>>; 4] = columns! { (port, (channel, name, n)) =>
        Text ["counter"] = *name;
        Text ["port"] = *port;
        Text ["channel"] = *channel;
        Whole ["count"] = **n;
    };
    let rows = ports.flat_map(|(port, summary)| summary.counted().map(move |of| (port, of)));
    Table::of(&rows.filter(|(_, (.., n))| **n > 0).collect::<Vec<_>>(), &columns)
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
