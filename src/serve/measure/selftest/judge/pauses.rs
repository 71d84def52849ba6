//! Verdicts on pauses: the NIC's own flow control, its PFC, and Sluice's.

use ::text::count;
use dpdk::{DriverCode, FlowControlSetting};

use crate::selftest::report::Line;

/// Share of the frames without pauses below which a sender has stopped, as a divisor.
const STOPPED: u64 = 10;

/// Share of the frames without pauses above which a sender goes on, as a divisor. Between the two
/// a busy machine may be the reason.
const GOES_ON: u64 = 4;

/// Frames that arrived from a raw port without and with pauses at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::selftest) struct PauseWatch {
    /// Frames offered to the port without pauses, and with them.
    pub(in crate::selftest) offered: [u64; 2],
    /// Frames that arrived at the peer.
    pub(in crate::selftest) arrived: [u64; 2],
    pub(in crate::selftest) pauses_sent: u64,
    /// Pauses that software received.
    pub(in crate::selftest) pauses_seen: u64,
}

/// Judges a NIC that must leave pauses to software.
pub(in crate::selftest) fn left_to_software(
    check: &str,
    claimed: Option<String>,
    w: &PauseWatch,
) -> Line {
    // Shares in thousandths, as the two windows are not of the same length.
    let share = |n: usize| w.arrived[n] * 1_000 / w.offered[n].max(1);
    let (free, paused) = (share(0), share(1));
    let tried = format!(
        "{} of {} pauses seen by software; frames sent: {:.1} % arrive, under pauses {:.1} %",
        count(w.pauses_seen),
        count(w.pauses_sent),
        free as f64 / 10.0,
        paused as f64 / 10.0
    );
    if free == 0 || w.pauses_sent == 0 || w.offered[1] == 0 {
        let why = "no frame arrived without pauses, or none was paused";
        return Line::unknown(check, claimed, Some(tried), why);
    }
    // Obeyed before swallowed: a NIC that obeys usually consumes the frames, too, and this is the cause.
    if paused * STOPPED <= free {
        let why = "the NIC obeys pauses itself: switch its flow control off";
        return Line::fails(check, claimed, tried, why);
    }
    if w.pauses_seen == 0 {
        let why = "the NIC, or something before it, swallows pauses: Sluice cannot obey them";
        return Line::fails(check, claimed, tried, why);
    }
    if paused * GOES_ON < free {
        let why = "fewer frames arrived under pauses, but they did not stop: try again when the \
                   machine is idle";
        return Line::unknown(check, claimed, Some(tried), why);
    }
    Line::ok(check, claimed, tried)
}

/// Frames of Sluice's own station before, during and after a pause of one priority: those of the
/// priority, and those of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::selftest) struct Obeyed {
    pub(in crate::selftest) before: (u64, u64),
    pub(in crate::selftest) during: (u64, u64),
    pub(in crate::selftest) after: (u64, u64),
    pub(in crate::selftest) pauses_sent: u64,
    /// Pauses that the station received.
    pub(in crate::selftest) pauses_seen: u64,
}

/// Judges the reaction of Sluice's port to PFC.
pub(in crate::selftest) fn obeyed(check: &str, o: &Obeyed) -> Line {
    let tried = format!(
        "{} of {} pauses seen; frames per window before, during, after: paused priority {}, {}, \
         {}; other priority {}, {}, {}",
        count(o.pauses_seen),
        count(o.pauses_sent),
        count(o.before.0),
        count(o.during.0),
        count(o.after.0),
        count(o.before.1),
        count(o.during.1),
        count(o.after.1),
    );
    if o.before.0 == 0 || o.before.1 == 0 || o.pauses_sent == 0 {
        let why = "too few frames or pauses were sent to tell";
        return Line::unknown(check, None, Some(tried), why);
    }
    // The order of these checks is that of the causes: a later one assumes that the earlier ones hold.
    if o.during.0 * 2 > o.before.0 {
        let why = "the paused priority went on: pauses do not reach software";
        return Line::fails(check, None, tried, why);
    }
    if o.during.0 * STOPPED > o.before.0 {
        let why = "the paused priority stopped late, or not at once: pauses or frames were held up";
        return Line::unknown(check, None, Some(tried), why);
    }
    if o.during.1 * STOPPED < o.before.1 {
        let why =
            "the other priority stopped, too: the NIC obeys pauses itself, or nothing is sent";
        return Line::fails(check, None, tried, why);
    }
    if o.after.0 == 0 {
        return Line::fails(check, None, tried, "the paused priority did not resume");
    }
    if o.after.0 * STOPPED < o.before.0 {
        let why = "the paused priority resumed slowly: try again when the machine is idle";
        return Line::unknown(check, None, Some(tried), why);
    }
    Line::ok(check, None, tried)
}

/// Judges the setting of the device's own flow control: as claimed before the start, and as read
/// after Sluice switched it off.
pub(in crate::selftest) fn off(
    check: &str,
    before: &Result<FlowControlSetting, DriverCode>,
    after: &Result<FlowControlSetting, DriverCode>,
    is_virtual: bool,
) -> Line {
    let shown = |setting: &FlowControlSetting| {
        let word = |on: bool| if on { "on" } else { "off" };
        format!(
            "obeying {}, sending {}, negotiation {}",
            word(setting.obeys),
            word(setting.sends),
            word(setting.autoneg)
        )
    };
    let claimed = Some(match before {
        Ok(setting) => format!("as opened: {}", shown(setting)),
        Err(code) => format!("no setting ({code})"),
    });
    match after {
        Ok(setting) if setting.obeys || setting.sends => {
            let why = "the driver did not switch it off";
            Line::fails(check, claimed, format!("switched off, reads {}", shown(setting)), why)
        }
        Ok(setting) => Line::ok(check, claimed, format!("switched off, reads {}", shown(setting))),
        // A virtual device without the setting is as it should be; a NIC without it may still obey pauses.
        Err(_) if is_virtual => {
            Line::not_tried(check, claimed, "a virtual device has no flow control of its own")
        }
        Err(code) => {
            let why = format!("the driver cannot set it ({code}): see nic_pause");
            Line::unknown(check, claimed, None, why)
        }
    }
}

/// Judges PFC by the device: the driver's claim, and the start with it.
pub(in crate::selftest) fn by_device(
    check: &str,
    claim: &Result<Option<u8>, DriverCode>,
    started: &Result<(), String>,
) -> Line {
    let claimed = Some(match claim {
        Ok(Some(classes)) => format!("{classes} priorities"),
        Ok(None) => "an unknown number of priorities".into(),
        Err(code) => format!("none ({code})"),
    });
    const STARTED: &str = "started with it for priority 3";
    match (claim, started) {
        // A start proves that the driver took the setting, not that the device acts on it.
        (Ok(_), Ok(())) => {
            let why = "whether the device obeys and sends pauses was not tried";
            Line::unknown(check, claimed, Some(STARTED.into()), why)
        }
        (Ok(None), Err(why)) => Line::not_tried(check, claimed, format!("it is refused: {why}")),
        (Ok(_), Err(why)) => {
            let tried = format!("refused: {why}");
            Line::fails(check, claimed, tried, "the driver claims it and refuses it")
        }
        (Err(_), Err(why)) => {
            let why = format!("the driver has none, and refuses to set it: {why}");
            Line::not_tried(check, claimed, why)
        }
        (Err(_), Ok(())) => {
            let why = "the port started with an ability that its driver does not have";
            Line::fails(check, claimed, STARTED, why)
        }
    }
}
