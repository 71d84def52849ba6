//! Resolves devices, workers and the settings of EAL.
//!
//! The driver net_pcap takes any bytes of its capture files for a frame, so the files are read here before it does.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use super::{Cx, Place};
use crate::memory::Need;
use crate::plan::{DevicePlan, EalPlan, LESS_SLOTS, Machine, WorkerPlan};
use crate::raw::{self, Core};
use buffer::BufferPlan;
use contracts::frame::BURST;
use ground::units::{Mac, PortId};
use switch::Trust;
use text::captures::{self, CaptureError};

/// Range of descriptors that NIC drivers accept.
const DESCRIPTORS: (u16, u16) = (32, 32_768);
const RX_DESCRIPTORS_DEFAULT: u16 = 1024;
const TX_DESCRIPTORS_DEFAULT: u16 = 512;
/// Packets in the ring of an interface, each with memory for a large segment: 35 MiB.
const RX_PACKETS_DEFAULT: u16 = 512;
/// Beginning of the name of an interface that the kernel drives.
const INTERFACE: &str = "iface:";
/// Default for ports that send PFC: a PFC frame waits behind the frames in the ring.
const TX_DESCRIPTORS_LOSSLESS: u16 = 128;

/// Refuses fields in `defaults` that only one port can have.
pub fn check_defaults(cx: &mut Cx, place: &Place<'_>, defaults: Option<&raw::Port>) {
    let Some(d) = defaults else { return };
    let single =
        [("name", d.name.is_some()), ("device", d.device.is_some()), ("mac", d.mac.is_some())];
    for (field, given) in single {
        if given {
            cx.error(
                &place.key(field),
                format!("only one port can have this {field}; give it there"),
            );
        }
    }
}

struct Device<'a> {
    /// Device name; unique among ports.
    name: String,
    /// Kernel interface or file below a virtual device.
    below: Option<(&'a str, &'a str)>,
    is_virtual: bool,
}

fn device_of(text: &str) -> Result<Device<'_>, String> {
    if let Some(interface) = text.strip_prefix(INTERFACE) {
        check_interface(interface)?;
        return Ok(Device {
            name: text.to_owned(),
            below: Some(("iface", interface)),
            is_virtual: true,
        });
    }
    let name = text.split(',').next().unwrap_or_default();
    // The beginnings of names that DPDK has for virtual devices; a PCI address has a colon instead.
    let is_virtual = ["net_", "eth_", "virtio_user"].iter().any(|p| name.starts_with(p));
    if !is_virtual && !name.contains(':') {
        return Err(format!(
            "`{name}` is neither an interface (iface:eth1) nor a PCI address (0000:3b:00.0) nor a virtual device of \
             DPDK; for the kernel's interface {name} write `iface:{name}`"
        ));
    }
    let below = text
        .split(',')
        .skip(1)
        .filter_map(|arg| arg.split_once('='))
        .find(|(key, _)| matches!(*key, "iface" | "socket" | "path"));
    // `3b:00.0` is short for `0000:3b:00.0`.
    let short = !is_virtual && name.matches(':').count() == 1 && name.contains('.');
    let name = if short { format!("0000:{name}") } else { name.to_owned() };
    Ok(Device { name: name.to_lowercase(), below, is_virtual })
}

/// Refuses what cannot be the name of an interface (`dev_valid_name` of the kernel).
fn check_interface(name: &str) -> Result<(), String> {
    /// IFNAMSIZ less the terminating zero.
    const LEN_MAX: usize = 15;
    let fits = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
    if name.is_empty()
        || name.len() > LEN_MAX
        || matches!(name, "." | "..")
        || !name.chars().all(fits)
    {
        return Err(
            "after `iface:` comes the name of an interface of at most 15 octets, such as `eth1`"
                .into(),
        );
    }
    Ok(())
}

/// Resolves the devices and the names of the ports.
pub fn devices(
    cx: &mut Cx,
    place: &Place<'_>,
    file: &raw::File,
    machine: &Machine,
) -> (Vec<DevicePlan>, Vec<String>) {
    let ports_at = place.key("ports");
    let (count, most) = (file.ports.len(), machine.ports_max);
    if count == 0 {
        cx.error(&ports_at, "a switch needs at least one port: `ports: [{device: ...}, ...]`");
    }
    if count > most {
        cx.error(&ports_at, format!("{count} ports, but DPDK is built for at most {most}"));
    }
    let mut plans = Vec::new();
    let mut names: Vec<String> = Vec::new();
    // Devices so far with their port, as findings name the port that was first.
    let mut earlier: Vec<(usize, Device<'_>)> = Vec::new();
    for (i, raw) in file.ports.iter().enumerate() {
        let place = ports_at.index(i);
        let text = raw.device.as_deref().unwrap_or_default();
        if text.is_empty() {
            cx.error(&place.key("device"), "a port needs a device, such as `iface:eth1`");
        }
        // A device that is missing was reported above; an empty reason adds nothing to that.
        let parsed = if text.is_empty() { Err(String::new()) } else { device_of(text) };
        // An unknown device counts as virtual, so that no findings about a NIC follow from the error.
        let is_virtual = parsed.as_ref().map_or(true, |d| d.is_virtual);
        match parsed {
            Ok(device) => {
                if let Some((other, why)) = clash(&device, &earlier) {
                    let what = format!("ports[{other}] is on {why} already; one port per device");
                    cx.error(&place.key("device"), what);
                }
                earlier.push((i, device));
            }
            Err(why) if !why.is_empty() => cx.error(&place.key("device"), why),
            Err(_) => {}
        }
        if machine.files {
            match check_captures(text) {
                Ok(warnings) => {
                    warnings.iter().for_each(|what| cx.warn(&place.key("device"), what))
                }
                Err(what) => cx.error(&place.key("device"), what),
            }
        }
        // The default is the device without its arguments, which is unique for DPDK, too, or the interface.
        let device = text.split(',').next().unwrap_or_default();
        let name = raw.name.as_deref().unwrap_or(device.strip_prefix(INTERFACE).unwrap_or(device));
        if let Some(other) = names.iter().position(|n| n == name && !n.is_empty()) {
            let what = format!("ports[{other}] is called `{name}` too; names must differ");
            cx.error(&place.key("name"), what);
        }
        names.push(name.to_owned());
        plans.push(device_plan(cx, &place, raw, text, is_virtual));
    }
    (plans, names)
}

/// Refuses devices that have no room for the longest frame; `place` is that of the ports.
pub fn check_frames(cx: &mut Cx, place: &Place<'_>, devices: &[DevicePlan], max_frame: u32) {
    for (i, device) in devices.iter().enumerate() {
        if let Some(why) = device.refusal(max_frame) {
            cx.error(&place.index(i).key("device"), why);
        }
    }
}

/// Returns an earlier port with the same device, and the shared name.
fn clash(device: &Device<'_>, earlier: &[(usize, Device<'_>)]) -> Option<(usize, String)> {
    earlier.iter().find_map(|(i, other)| {
        if other.name == device.name {
            return Some((*i, device.name.clone()));
        }
        // Files and sockets may be named by several devices; an interface of the kernel has one.
        let (key, value) = device.below?;
        (other.below == device.below && key == "iface").then(|| (*i, format!("{key} {value}")))
    })
}

fn device_plan(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Port,
    text: &str,
    is_virtual: bool,
) -> DevicePlan {
    let hardware_pfc = raw.hardware_pfc.unwrap_or(false);
    if hardware_pfc && is_virtual && !text.is_empty() {
        cx.error(
            &place.key("hardware_pfc"),
            format!("{text} is virtual and has no hardware to do it"),
        );
    }
    if hardware_pfc && raw.trust != Some(Trust::Pcp) {
        let what = "the NIC finds the queue of a frame by the PCP of its tag, and a pause in the queue \
                    of another priority would stop the wrong one: write `trust: pcp`";
        cx.error(&place.key("hardware_pfc"), what);
    }
    let rings = |cx: &mut Cx, field: &str, given: Option<u16>, default: u16| {
        cx.ranged(&place.key(field), given.unwrap_or(default), DESCRIPTORS, default)
    };
    let is_interface = text.starts_with(INTERFACE);
    // Without the switch's shaper the ring of the device fills, and a PFC frame waits behind all of it.
    let pauses = raw.pfc.is_some() || raw.pause.is_some();
    let waits = !is_shaped(raw, is_virtual, is_interface) && pauses;
    let tx_default = if waits { TX_DESCRIPTORS_LOSSLESS } else { TX_DESCRIPTORS_DEFAULT };
    let rx_default = if is_interface { RX_PACKETS_DEFAULT } else { RX_DESCRIPTORS_DEFAULT };
    if raw.offload.is_some() && !is_interface && !text.is_empty() {
        cx.error(&place.key("offload"), "is of interfaces that the kernel drives (`iface:eth1`)");
    }
    DevicePlan {
        device: text.to_owned(),
        is_virtual,
        // A peer whose buffer has to hold what it is sent after a pause reckons with single frames.
        offload: is_interface && raw.offload.unwrap_or(!pauses),
        rx_descriptors: rings(cx, "rx_descriptors", raw.rx_descriptors, rx_default),
        tx_descriptors: rings(cx, "tx_descriptors", raw.tx_descriptors, tx_default),
        hardware_pfc,
        stated_rate: raw.rate.map(|r| r.0),
    }
}

/// True if the switch itself shapes to the port's rate.
pub fn is_shaped(raw: &raw::Port, is_virtual: bool, is_interface: bool) -> bool {
    match raw.shaped.unwrap_or_default() {
        // An interface of the kernel takes what it can, unless the file gives it a rate.
        raw::Shaping::Auto if is_interface => raw.rate.is_some(),
        raw::Shaping::Auto => is_virtual,
        raw::Shaping::On => true,
        raw::Shaping::Off => false,
    }
}

/// Resolves the workers: one per core that a port names, one for each port with `auto`, one for all ports
/// with `none`, and one for all ports without a core, whose core is chosen as well.
pub fn workers(
    cx: &mut Cx,
    place: &Place<'_>,
    file: &raw::File,
    machine: &Machine,
) -> Vec<WorkerPlan> {
    let mut workers: Vec<WorkerPlan> = Vec::new();
    // The field of its ports, by worker.
    let mut cores: Vec<Option<Core>> = Vec::new();
    let ids = (0..).map_while(PortId::new);
    for ((i, raw), id) in file.ports.iter().enumerate().zip(ids) {
        if let Some(Core::Number(core)) = raw.core {
            exists(cx, &place.key("ports").index(i).key("core"), core, machine);
        }
        // With `auto` a port has a worker for itself, so it never joins one.
        let is_shared = raw.core != Some(Core::Auto);
        match cores.iter().position(|core| is_shared && *core == raw.core) {
            Some(worker) => workers[worker].ports.push(id),
            None => {
                cores.push(raw.core);
                workers.push(WorkerPlan { core: raw.core.unwrap_or(Core::Auto), ports: vec![id] });
            }
        }
    }
    workers
}

/// Refuses a core that this machine does not have.
fn exists(cx: &mut Cx, here: &Place<'_>, core: usize, machine: &Machine) {
    let Some(cores) = machine.cores.as_ref().filter(|cores| !cores.contains(&core)) else { return };
    let list: Vec<String> = cores.iter().map(ToString::to_string).collect();
    let what = format!(
        "core {core} does not exist here or this process may not use it; there are: {}",
        list.join(", ")
    );
    cx.error(here, what);
}

/// See [`crate::SwitchFile::pool_frames`].
pub fn pool_frames(buffer: &BufferPlan, devices: &[DevicePlan]) -> usize {
    let rings: usize = devices
        .iter()
        .map(|d| {
            let (rx, tx) = d.queues();
            // Frames outside of the buffer: in all rings, a burst for each transmit queue, and one just received.
            rx * usize::from(d.rx_descriptors)
                + tx * (usize::from(d.tx_descriptors) + BURST)
                + BURST
        })
        .sum();
    buffer.total.0 as usize + rings
}

/// The parts of a switch that take memory.
pub struct MemoryUse<'a> {
    /// Number of mbufs in the pool.
    pub frames: usize,
    /// Longest frame in bytes.
    pub max_frame: u32,
    pub devices: &'a [DevicePlan],
    pub eal: &'a EalPlan,
}

/// Refuses a configuration that needs more memory than the machine has: the mbuf pool, DPDK's
/// reserved memory, and the rings that devices share with the kernel.
pub fn memory(cx: &mut Cx, place: &Place<'_>, machine: &Machine, needs: &MemoryUse<'_>) {
    let MemoryUse { frames, max_frame, devices, eal } = *needs;
    let Some(limit) = machine.memory else { return };
    let mut refuse = |place: &Place<'_>, need: Need, remedy: &str| {
        if need.bytes() > limit {
            cx.error(place, need.refusal(limit, "that are available here", remedy));
        }
    };
    // The kernel fills a slot with any frame that fits, so mbufs have room for the largest slot.
    let longest = devices.iter().filter_map(DevicePlan::room).fold(max_frame, u32::max);
    // Data room in whole KiB, mbuf headroom, and the metadata of DPDK and the pool per frame.
    let each = u64::from(longest).next_multiple_of(1_024) + 128 + 192;
    let pool = Need { count: frames as u64, of: "frames of the pool", each };
    let remedy = "lower `buffer.total`, or raise `buffer.cell` so that fewer frames fit into it";
    refuse(&place.key("buffer").key("total"), pool, remedy);
    if let Some(mib) = eal.memory_mib {
        let set_aside = Need { count: mib.into(), of: "MiB of `memory`", each: 1 << 20 };
        let remedy = "lower it, or leave it out to have the size that the pool needs";
        refuse(&place.key("eal").key("memory"), set_aside, remedy);
    }
    for (i, device) in devices.iter().enumerate() {
        let place = place.key("ports").index(i).key("device");
        device.kernel_memory().into_iter().for_each(|rings| refuse(&place, rings, LESS_SLOTS));
    }
}

/// Derives a locally administered address from a name (FNV-1a) and a number, so that two switches
/// in one network differ and each has the same address at every start.
pub fn made_up_mac(switch: &str, number: u16) -> Mac {
    let hash =
        switch.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    let [a, b, c, _] = hash.to_be_bytes();
    let [hi, lo] = number.to_be_bytes();
    // 0x02 is the bit of locally administered addresses.
    Mac([0x02, a, b, c, hi, lo])
}

/// Parses the address of the Prometheus endpoint: loopback if only a port is given.
pub fn listen(cx: &mut Cx, place: &Place<'_>, raw: &raw::Observe) -> Option<SocketAddr> {
    let (place, text) = (&place.key("prometheus"), raw.prometheus.as_deref()?);
    let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
    // A TCP port alone is on the loopback: a server is opened to the network only by an explicit address.
    let parsed = text.parse().ok().or_else(|| Some(SocketAddr::new(here, text.parse().ok()?)));
    match parsed {
        None => cx.error(place, format!("`{text}` is no address; write 127.0.0.1:9464 or 9464")),
        Some(addr) => {
            if let Some(what) = text::open_to_network(addr) {
                cx.warn(place, what);
            }
        }
    }
    parsed
}

/// Resolves the settings of EAL.
pub fn eal(cx: &mut Cx, place: &Place<'_>, raw: &raw::Eal) -> EalPlan {
    const MIB: u64 = 1 << 20;
    let memory_mib = raw.memory.and_then(|size| {
        // EAL counts its memory in MiB; rounded up, so that the configured size is there.
        let mib = u32::try_from(size.0.div_ceil(MIB)).ok().filter(|n| *n > 0);
        if mib.is_none() {
            cx.error(&place.key("memory"), "must be at least 1 MiB, and no more than 4 PiB");
        }
        mib
    });
    EalPlan { hugepages: raw.hugepages, memory_mib, args: raw.args.clone() }
}

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
        // Only files that are received from; what `tx_pcap` names is written.
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
