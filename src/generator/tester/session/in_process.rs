//! Switches of this program at the other ends of ports in memory: a device under test in the same process.
//! The thread of the test polls them after its stations, at the same time of its clock.

use super::poller::{DEVICE_SPAN, Order};
use super::{Inner, Session, SessionError, TappedPort, lock};
use crate::plan::Place;
use contracts::port::Secured;
use contracts::stats::SwitchSnapshot;
use contracts::world::{Alone, World};
use crossbeam::channel::Sender;
use dpdk::Mbuf;
use ground::time::Instant;
use ground::units::PortId;
use sim::defect::{Broken, Defect};
use switch::{Change, Reconciler, Refused, Switch, SwitchPlan};

/// Most polls at one time: enough to empty the longest ring, a burst at a time.
const POLLS_MAX: u32 = 32;

/// Switches in the process of the test.
#[derive(Clone, Debug, Default)]
pub struct DevicePlan {
    pub switches: Vec<DeviceSwitch>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct DeviceSwitch {
    pub plan: SwitchPlan,
    /// Ends of rings, one for each port.
    pub places: Vec<Place>,
    /// Defects between its ports and their rings.
    pub defects: Vec<(PortId, Defect)>,
    /// Changes of its configuration before the first frame.
    pub changes: Vec<Change>,
}

impl DevicePlan {
    /// Returns the ends of rings of all switches, in their order.
    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.switches.iter().flat_map(|switch| &switch.places)
    }
}

/// Types of a switch between ports of a test.
pub(super) enum InProcess {}

impl World for InProcess {
    type Frame = Mbuf;
    type Port = Broken<Secured<TappedPort>>;
    type Events = ();
    type Handoff = Alone;
}

/// A switch as the thread polls it.
struct Polled {
    switch: Box<Switch<InProcess>>,
    reconciler: Option<Box<Reconciler>>,
    /// Ends of rings of its ports, each with its index among those of the test.
    places: Vec<(usize, Place)>,
}

/// The running switches of a test.
pub struct Device {
    switches: Vec<Polled>,
}

impl Device {
    /// Builds the switches. `ends` are the ends of rings in the order of the plan, each with its index
    /// among those of the test.
    pub(super) fn new(
        plan: &DevicePlan,
        ends: impl IntoIterator<Item = (usize, TappedPort)>,
    ) -> Result<Self, SessionError> {
        let mut ends = ends.into_iter();
        let one = |of: &DeviceSwitch| {
            Polled::new(of, ends.by_ref())
                .map_err(|why| SessionError::Device(format!("{}: {why}", of.plan.name)))
        };
        Ok(Self { switches: plan.switches.iter().map(one).collect::<Result<_, _>>()? })
    }

    /// Receives and sends until there is nothing more to do at this time; returns true if anything was done.
    pub(super) fn poll(&mut self, now: Instant) -> bool {
        let mut any = false;
        // What one switch sends may be for another one, at the same time.
        for _ in 0..POLLS_MAX {
            let mut progressed = false;
            for polled in &mut self.switches {
                progressed |= polled.poll(now);
            }
            any |= progressed;
            if !progressed {
                break;
            }
        }
        any
    }

    /// Changes the configuration of a switch.
    ///
    /// # Errors
    /// The reason for which the switch refuses the change.
    pub fn change(&mut self, now: Instant, index: usize, change: Change) -> Result<(), String> {
        self.switches[index].change(now, change)
    }

    /// Returns the counters of all switches.
    pub fn snapshots(&mut self, now: Instant) -> Vec<SwitchSnapshot> {
        self.switches.iter_mut().map(|polled| polled.switch.snapshot(now)).collect()
    }

    /// Tells the switch at an end of a ring that its link is down or up.
    fn set_link(&mut self, now: Instant, end: &Place, up: bool) -> Result<(), String> {
        for polled in &mut self.switches {
            let port = polled.places.iter().position(|(_, place)| place == end);
            if let Some(port) = port.and_then(|n| PortId::new(n as u16)) {
                return polled.change(now, Change::Link { port, up, rate: None });
            }
        }
        Ok(())
    }

    /// Returns the ends of rings.
    pub(super) fn into_ports(self) -> Vec<(usize, TappedPort)> {
        let of = |polled: Polled| {
            let ports = polled.switch.into_ports().into_iter().map(|(_, port)| port);
            let ports = ports.map(|port| port.into_port().into_port());
            let indices: Vec<usize> = polled.places.into_iter().map(|(n, _)| n).collect();
            indices.into_iter().zip(ports).collect::<Vec<_>>()
        };
        self.switches.into_iter().flat_map(of).collect()
    }
}

impl Polled {
    fn new(
        of: &DeviceSwitch,
        ends: impl Iterator<Item = (usize, TappedPort)>,
    ) -> Result<Self, String> {
        let mut plan = of.plan.clone();
        // Rings have no rate, so ports are shaped, and catch up after the longest gap between polls.
        for port in &mut plan.ports {
            port.schedule.shaper_burst = port.rate.bytes_in(DEVICE_SPAN);
        }
        let ids = (0..).map_while(PortId::new);
        let (mut ports, mut places) = (Vec::new(), Vec::new());
        for (((id, port), place), (n, end_port)) in ids.zip(&plan.ports).zip(&of.places).zip(ends) {
            let secured = Secured::new(end_port, port.secy.as_deref());
            let secured = secured.map_err(|error| error.to_string())?;
            let mut broken = Broken::over(secured, port.rate, port.pfc.mode);
            for (_, defect) in of.defects.iter().filter(|(at, _)| *at == id) {
                broken.add(*defect).map_err(|error| error.to_string())?;
            }
            ports.push((id, broken));
            places.push((n, place.clone()));
        }
        let switch = Switch::new(&plan, ports, Alone::default(), ());
        let switch = Box::new(switch.map_err(|error| error.to_string())?);
        let reconciler = Reconciler::new(&plan).map(Box::new);
        let mut polled = Self { switch, reconciler, places };
        for change in &of.changes {
            polled.change(Instant::ZERO, *change)?;
        }
        Ok(polled)
    }

    fn poll(&mut self, now: Instant) -> bool {
        for n in 0..self.places.len() {
            let port = PortId::new(n as u16).and_then(|id| self.switch.port_mut(id));
            // A ring has no clock, so its defects go by the time of the poll.
            port.into_iter().for_each(|port| port.at(now));
        }
        let progressed = self.switch.poll(now).progressed;
        if let Some(reconciler) = &mut self.reconciler {
            // What the link protocols have agreed takes effect with the next poll.
            if self.switch.has_news() || reconciler.next_deadline() <= now {
                self.switch.reconcile(now, reconciler);
            }
        }
        progressed
    }

    fn change(&mut self, now: Instant, change: Change) -> Result<(), String> {
        let change = match &mut self.reconciler {
            Some(reconciler) => reconciler.amend(change),
            None => change,
        };
        self.switch.apply(now, change).map_err(|error| match error.as_refused() {
            Refused::Now(why) | Refused::Never(why) => why,
        })
    }
}

impl core::fmt::Debug for Device {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Device").field("switches", &self.switches.len()).finish()
    }
}

impl Session {
    /// Executes an operation on the device of the test by its thread, and waits for the result.
    ///
    /// # Errors
    /// [`SessionError::Gone`], also without a device.
    pub fn device<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut Device, Instant) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        self.inner.device(operation)
    }
}

impl Inner {
    fn device<T: Send + 'static>(
        &self,
        operation: impl FnOnce(&mut Device, Instant) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        let order = |answer: Sender<T>| {
            Order::Device(Box::new(move |device, now| {
                // A caller that has given up needs no answer.
                let _ = answer.try_send(operation(device, now));
            }))
        };
        // The first thread has the device.
        Ok(self.pollers.one(0, order)?)
    }

    /// Tells the device, if the test has one, that the link of a port is down or up.
    pub(super) fn tell_device(&self, port: usize, up: bool) -> Result<(), SessionError> {
        let Place::Ring { pair, end } = &self.wants[port].place else { return Ok(()) };
        if !self.has_device {
            return Ok(());
        }
        // The device has the other end of the pair.
        let far = Place::Ring { pair: pair.clone(), end: 1 - end };
        let told = self.device(move |device, now| device.set_link(now, &far, up))?;
        told.err().into_iter().for_each(|why| lock(&self.board).warn(why));
        Ok(())
    }
}
