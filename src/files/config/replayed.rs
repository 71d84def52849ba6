//! Checks the capture files that a port of the driver net_pcap receives from. The driver takes any
//! bytes of them for a frame, so they are read before.

use std::path::Path;

use text::captures::{self, CaptureError};

/// Returns the warnings about the files of `rx_pcap` in the arguments of a device, or the reason for
/// which one is refused.
pub fn check_captures(device: &str) -> Result<Vec<String>, String> {
    let mut arguments = device.split(',');
    let driver = arguments.next().unwrap_or_default();
    if !driver.starts_with("net_pcap") && !driver.starts_with("eth_pcap") {
        return Ok(Vec::new());
    }
    let mut warnings = Vec::new();
    for file in arguments.filter_map(|argument| argument.strip_prefix("rx_pcap=")) {
        let named = |what: String| format!("rx_pcap={file}: {what}");
        warnings.extend(check(Path::new(file)).map_err(named)?.into_iter().map(named));
    }
    Ok(warnings)
}

fn check(file: &Path) -> Result<Vec<String>, String> {
    // What is read from a pipe would be missing later.
    if file.exists() && !file.is_file() {
        return Ok(Vec::new());
    }
    let packets = captures::open(file).map_err(|error| error.to_string())?;
    if packets.is_compressed() {
        return Err("it is compressed, which the driver does not read; `gunzip` it".into());
    }
    let (mut all, mut cut, mut with_fcs) = (0, 0, 0);
    let mut warnings = Vec::new();
    for packet in packets {
        match packet {
            Ok(packet) => {
                all += 1;
                cut += u64::from(packet.octets.len() < packet.len as usize);
                with_fcs += u64::from(packet.fcs);
            }
            Err(error @ CaptureError::Cut(_)) => warnings.push(error.to_string()),
            Err(error @ CaptureError::NotEthernet { .. }) => {
                return Err(format!("{error}; capture on one interface, not on `any`"));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    if cut > 0 {
        warnings.push(format!(
            "{cut} of {all} packets were cut by the capture; the port receives them as shorter \
             frames (a generator's `replay` restores the length)"
        ));
    }
    if with_fcs > 0 {
        warnings.push(format!(
            "{with_fcs} of {all} packets end with their FCS, which the driver takes for data; \
             `editcap -C -4` removes it (a generator's `replay` needs no change)"
        ));
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testfolder::Folder;
    use text::packets::{Packet, Pcap};

    /// The check of a port with a file of one packet of 60 bytes, and these of its header's octets
    /// changed.
    fn checked(folder: &Folder, len: u32, fcs: bool, link: u8) -> Result<Vec<String>, String> {
        let mut out = Vec::new();
        let mut pcap = Pcap::new(&mut out, fcs).unwrap();
        pcap.packet(&Packet { at: Default::default(), octets: &[1; 60], len }).unwrap();
        out[20] = link;
        let file = folder.put("in.pcap", &out);
        check_captures(&format!("net_pcap0,rx_pcap={},tx_pcap=out.pcap", file.display()))
    }

    #[test]
    fn a_port_receives_whole_ethernet_frames_or_says_what_else() {
        let folder = Folder::new("replayed");
        assert_eq!(checked(&folder, 60, false, 1).unwrap(), [""; 0]);
        let any = checked(&folder, 60, false, 113).unwrap_err();
        assert!(any.contains("in.pcap: packet 1 was not captured on Ethernet"), "{any}");
        let cut = checked(&folder, 1_442, false, 1).unwrap();
        assert!(cut.len() == 1 && cut[0].contains("1 of 1 packets were cut"), "{cut:?}");
        let fcs = checked(&folder, 60, true, 1).unwrap();
        assert!(fcs.len() == 1 && fcs[0].contains("editcap -C -4"), "{fcs:?}");
        let missing = check_captures("net_pcap0,rx_pcap=/nonexistent/x.pcap").unwrap_err();
        assert!(missing.contains("rx_pcap=/nonexistent/x.pcap: No such file"), "{missing}");
        let text = folder.put("text", b"no capture");
        check_captures(&format!("net_pcap0,rx_pcap={}", text.display())).unwrap_err();
        // Other drivers, files that are written, and what is no file are not read.
        for other in ["net_null0,rx_pcap=none", "net_pcap0,tx_pcap=none", "0000:3b:00.0"] {
            assert_eq!(check_captures(other).unwrap(), [""; 0]);
        }
    }
}
