//! Frames between the ports of a pair.

use anyhow::{Result, ensure};
use sluice::dpdk::{Error, PortOptions};

use crate::ends::{Ends, LOCAL, cross, frame};
use crate::model::Pair;

/// Multicast address of MAC control (IEEE 802.3 31B.1), and a source.
const MAC_CONTROL: [u8; 14] = [1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 0xb0, 0x88, 0x08];

/// A PFC frame that pauses priority 3 (opcode 0x0101), or a PAUSE frame of all traffic (0x0001).
fn pause(opcode: u8) -> Vec<u8> {
    let mut octets = MAC_CONTROL.to_vec();
    octets.extend([opcode >> 4, opcode & 1]);
    match opcode {
        0x11 => octets.extend([0, 8, 0, 0, 0, 0, 0, 0, 0xff, 0xff]),
        _ => octets.extend([0xff, 0xff]),
    }
    octets.resize(60, 0);
    octets
}

fn pfc() -> Vec<u8> {
    pause(0x11)
}

/// MAC control frames reach software as they were, both ways, among data.
pub fn mac_control(pair: &Pair) -> Result<String> {
    let mut ends = Ends::start(pair, &PortOptions::default())?;
    let among_data = (0..40).map(|n| match n % 4 {
        0 => pfc(),
        2 => pause(0x01),
        _ => frame(n, 200),
    });
    ends.exchange(&among_data.collect::<Vec<_>>())?;
    let info = ends.a.info();
    ensure!(info.promiscuous, "it is not promiscuous");
    Ok(format!("promiscuous; {:?}", info.mac_control))
}

/// Reports if they do so without promiscuous reception, which Sluice does not rely on.
pub fn mac_control_without_promiscuous(pair: &Pair) -> Result<String> {
    let options = PortOptions { promiscuous: false, ..PortOptions::default() };
    let mut ends = Ends::start(pair, &options)?;
    let Ends { a, b, pool } = &mut ends;
    let arrived = cross(pool, b, a, &[pfc()]).is_ok();
    let mut own = frame(0, 100);
    own[..6].copy_from_slice(&a.mac().map_or([0xff; 6], |mac| mac.0));
    cross(pool, b, a, &[own])?;
    let word = if arrived { "delivered" } else { "filtered out" };
    Ok(format!("{word} without promiscuous reception"))
}

/// A received PAUSE of the longest time does not stop the NIC: flow control belongs to Sluice.
pub fn flow_control_off(pair: &Pair) -> Result<String> {
    let mut ends = Ends::start(pair, &PortOptions::default())?;
    let Ends { a, b, pool } = &mut ends;
    cross(pool, b, a, &[pause(0x01), pfc(), pause(0x01)])?;
    let frames: Vec<_> = (0..500).map(|n| frame(n, 300)).collect();
    cross(pool, a, b, &frames)?;
    Ok(format!("{:?}", a.info().mac_control))
}

/// Frames up to the longest that the driver takes, and a refusal of longer ones.
pub fn jumbo(pair: &Pair) -> Result<String> {
    let mut longest = 9_216;
    let options = |max| PortOptions { max_frame: Some(max), ..PortOptions::default() };
    let pool = crate::ends::pool(&crate::ends::eal(pair)?, longest)?;
    let first = Ends::with_pool(pair, &options(longest), pool.clone());
    let mut note = String::new();
    let mut ends = match first {
        Err(error) => match error.downcast_ref::<Error>() {
            Some(Error::Option { why, .. }) if why.contains("takes up to") => {
                let limit =
                    why.split_whitespace().find_map(|word| word.trim_end_matches(':').parse().ok());
                longest = limit.filter(|&limit| limit > 2_000).unwrap_or(0);
                ensure!(longest > 0, "the limit is not said: {why}");
                note = format!("; 9216 refused: {why}");
                Ends::with_pool(pair, &options(longest), pool)?
            }
            _ => return Err(error),
        },
        ends => ends?,
    };
    let longest = longest as usize - 4;
    let lengths = [60, 1_514, 1_518, 2_048, 4_000, 8_000, longest - 1, longest];
    ends.exchange(&lengths.map(|len| frame(len, len)))?;
    Ok(format!("frames of {} bytes with FCS{note}", longest + 4))
}

/// Tags stay in frames: none is taken out or put in by the device.
pub fn vlan(pair: &Pair) -> Result<String> {
    let mut ends = Ends::start(pair, &PortOptions::default())?;
    let tagged = |tags: &[[u8; 4]], len: usize| {
        let mut octets = frame(len, len);
        let tags: Vec<u8> = tags.concat();
        octets.splice(12..12, tags);
        octets
    };
    let frames = [
        tagged(&[[0x81, 0, 0x60, 0]], 60),
        tagged(&[[0x81, 0, 0xa0, 0x64]], 60),
        tagged(&[[0x88, 0xa8, 0x20, 0x07], [0x81, 0, 0x6f, 0xff]], 1_000),
        tagged(&[[0x81, 0, 0x60, 1]], 1_514),
        frame(7, 60),
    ];
    ensure!(frames[0][16..18] == LOCAL, "the frames of this test are wrong");
    ends.exchange(&frames)?;
    Ok("802.1Q and 802.1ad tags stay".into())
}
