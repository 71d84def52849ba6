//! Opening devices, and refusals.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sluice::dpdk::{DpdkPort, Eal, EalOptions, Error, HardwarePfc, Memory, PortOptions};
use sluice::units::{Priority, PrioritySet, Quanta};

use crate::ends::{self, Ends};
use crate::model::{self, Pair};
use crate::programs::run;

/// Both open by their addresses, with their drivers and their own MAC addresses.
pub fn open(pair: &Pair) -> Result<String> {
    let mut ends = Ends::start(pair, &PortOptions::default())?;
    for port in [&ends.a, &ends.b] {
        ensure!(port.driver() == pair.model.dpdk, "its driver is {}", port.driver());
        ensure!(!port.is_virtual(), "it is taken for a virtual device");
    }
    let macs = [ends.a.mac(), ends.b.mac()];
    let [Some(a), Some(b)] = macs else { bail!("a MAC address is missing: {macs:?}") };
    ensure!(a.0[..5] == [2, 0, 0, 0, 0] && b.0[5] == a.0[5] + 1, "not its own MAC: {a} and {b}");
    ends.exchange(&(0..100).map(|n| ends::frame(n, 60 + n * 14)).collect::<Vec<_>>())?;
    let link = ends.a.link();
    let rate = link.rate.map_or("no rate".into(), |rate| rate.to_string());
    let duplex = if link.full_duplex { "full" } else { "half" };
    Ok(format!("{}, {rate}, {duplex} duplex", ends.a.driver()))
}

/// An address without a device is refused by its name, also with a valid device beside it.
pub fn absent(pair: &Pair) -> Result<String> {
    let options = EalOptions { memory: Memory::Hugepages, ..EalOptions::default() };
    let eal = Eal::start(&options.for_devices([pair.a.as_str(), "0000:1f:1f.7"]))?;
    match DpdkPort::open(&eal, "1f:1f.7") {
        Err(error @ Error::Absent { .. }) => {
            let text = error.to_string();
            ensure!(text.contains("0000:1f:1f.7") && text.contains("dpdk-devbind"), "{text}");
            Ok(String::new())
        }
        other => bail!("not refused as absent: {other:?}"),
    }
}

/// A device that the kernel uses is refused by its driver's name, and the kernel goes on using it.
pub fn kernel_bound(pair: &Pair) -> Result<String> {
    model::bind(&pair.a, pair.model.kernel)?;
    let result = refused(pair);
    model::bind(&pair.a, "uio_pci_generic")?;
    result
}

fn refused(pair: &Pair) -> Result<String> {
    let interface = model::interface(&pair.a)?;
    let name = interface.file_name().unwrap_or_default().to_string_lossy().into_owned();
    run("ip", &["link", "set", &name, "up"])?;
    let carrier = || fs::read_to_string(interface.join("carrier_changes")).context("its interface");
    let started = Instant::now();
    while !fs::read_to_string(interface.join("carrier")).is_ok_and(|text| text.trim() == "1") {
        ensure!(started.elapsed() < ends::LINK_WAIT, "the kernel's {name} has no carrier");
        thread::sleep(Duration::from_millis(50));
    }
    let before = carrier()?;
    for command in ["doctor", "headroom"] {
        let args: &[&str] = match command {
            "doctor" => &["doctor", "--port", &pair.a],
            _ => &["headroom", "measure", "--port", &pair.a],
        };
        let output = run("sluice", args)?;
        ensure!(output.status != Some(0), "{command} takes it");
        let words = format!("bound to the kernel's {}", pair.model.kernel);
        ensure!(output.all.contains(&words), "{command} does not say so: {}", output.all);
    }
    let driver = model::driver(&pair.a);
    ensure!(driver.as_deref() == Some(pair.model.kernel), "the kernel lost it to {driver:?}");
    // A driver that had reset the device would have taken its carrier away.
    ensure!(carrier()? == before, "its carrier changed");
    Ok(format!("the kernel's {} keeps it", pair.model.kernel))
}

/// PFC of the device is refused with the driver's reason and a remedy, and the device works without it.
pub fn hardware_pfc(pair: &Pair) -> Result<String> {
    let eal = ends::eal(pair)?;
    let pool = ends::pool(&eal, 1_522)?;
    let priorities: PrioritySet = Priority::new(3).into_iter().collect();
    let pfc = HardwarePfc { priorities, pause: Quanta(0xffff) };
    let options = PortOptions { hardware_pfc: Some(pfc), ..PortOptions::default() };
    match DpdkPort::open(&eal, &pair.a)?.start(&options, &pool) {
        Err(Error::NoHardwarePfc { device, driver, reason }) => {
            ensure!(
                device == pair.a && driver == pair.model.dpdk,
                "not about it: {device} {driver}"
            );
            let text = Error::NoHardwarePfc { device, driver, reason: reason.clone() }.to_string();
            ensure!(text.contains("Sluice does PFC in software"), "no remedy: {text}");
            let mut ends = Ends::with_pool(pair, &PortOptions::default(), pool)?;
            ends.exchange(&[ends::frame(0, 60)])?;
            Ok(reason)
        }
        Err(other) => bail!("not refused as such: {other}"),
        Ok(_) => Ok("the device has it".into()),
    }
}
