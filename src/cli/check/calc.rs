//! Command line that repeats a group's headroom calculation: `sluice headroom calc` with the link's
//! parameters.

use crate::config::quantity::{Length, LinkRate, Size, Span};
use crate::headroom::{DelayInputs, Extender, Fec, Phy, SoftwareTerms};
use crate::time::Duration;

/// Returns the command that gives the same headroom to the byte. None if the link has a parameter
/// without an option in `calc` (another line overhead, or a delay that is not a length).
pub fn command(link: &DelayInputs, software: &SoftwareTerms, cell: u32) -> Option<String> {
    let standard = DelayInputs::standard(link.interface);
    if link.line_overhead != standard.line_overhead {
        return None;
    }
    let (length, per_metre) = length(link)?;
    let mut out = format!(
        "sluice headroom calc --model ieee --rate {} --length {length} --max-frame {} --cell {cell}",
        LinkRate(link.rate()),
        Size(link.max_frame.0),
    );
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out += &format!(" --{name} {value}");
            out.truncate(out.trim_end().len());
        }
    };
    let span = |span: Duration| Span(span).to_string();
    let usual = u64::from(DelayInputs::PS_PER_METRE);
    option("delay-per-metre", (per_metre != usual).then(|| span(Duration::from_picos(per_metre))));
    let interface = link.interface;
    let phy = match interface.phy() {
        Phy::Virtual(_) => Some("none".to_owned()),
        phy => (phy != Phy::of_rate(link.rate())).then(|| phy.to_string()),
    };
    option("phy", phy);
    option("fec", (interface.fec() != Fec::None).then(|| interface.fec().to_string()));
    let extender = (interface.extender() != Extender::None).then(|| interface.extender());
    option("extender", extender.map(|e| e.to_string().to_lowercase()));
    let reaction = link.higher_layer;
    option("reaction-delay", (reaction != standard.higher_layer).then(|| span(reaction)));
    macsec(link, &mut option)?;
    let some = |n: u64| (n > 0).then(|| Size(n).to_string());
    option("poll-gap", (software.poll_gap > Duration::ZERO).then(|| span(software.poll_gap)));
    option("rx-backlog", some(software.rx_backlog.0));
    option("tx-committed", some(software.tx_committed.0));
    option("peer-committed", some(software.peer_committed.0));
    Some(out)
}

/// Expresses the cable as a length and picoseconds per metre, within the ranges of `calc`.
fn length(link: &DelayInputs) -> Option<(Length, u64)> {
    let (metres, each) = (u64::from(link.cable_m), u64::from(link.cable_ps_per_m));
    if (3_300..=100_000).contains(&each) || metres == 0 {
        let each = if metres == 0 { DelayInputs::PS_PER_METRE.into() } else { each };
        return Some((Length(metres * 1_000), each));
    }
    // A delay is stored as one metre; express it as whole millimetres of 5 or 4 ps each.
    let ps = metres.checked_mul(each)?;
    let per_mm = [5, 4].into_iter().find(|n| ps % n == 0)?;
    Some((Length(ps / per_mm), per_mm * 1_000))
}

/// Options of the MACsec overhead, if `calc` has them.
fn macsec(link: &DelayInputs, option: &mut impl FnMut(&str, Option<String>)) -> Option<()> {
    let macsec = link.macsec;
    let (data, pfc) = (macsec.data_octets, macsec.pfc_octets);
    if data == 0 && pfc == 0 && macsec.data_delay + macsec.pfc_delay == Duration::ZERO {
        return Some(());
    }
    let pays = if pfc > 0 { macsec.data_delay } else { Duration::ZERO };
    let known = matches!(data, 24 | 32) && (pfc == 0 || pfc == data) && macsec.pfc_delay == pays;
    if !known {
        return None;
    }
    option("macsec", Some(data.to_string()));
    option("macsec-pfc", (pfc > 0).then(String::new));
    let shim = macsec.data_delay;
    option("shim-delay", (shim > Duration::ZERO).then(|| Span(shim).to_string()));
    Some(())
}
