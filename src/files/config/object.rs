//! Text form of managed objects' values, with the units of configuration files.

use super::quantity::{Rate, Ratio, Size, Span};
use congestion::sfc::CENTISECOND;
use switch::managed::{Kind, Object, ObjectError, ObjectValue, Reason, Unit};

/// Parses a value of `object`: `true`, `6`, `100KB`, `10us`, `75%`, `[3,4]`, an address, a word.
///
/// # Errors
/// The text is not a value of this object; lists the valid ones, or names the wrong unit.
pub fn object_value(object: Object, text: &str) -> Result<ObjectValue, String> {
    let kind = object.kind();
    let out = || ObjectError::new(object, Reason::Range).to_string();
    let number =
        |n: Option<u64>| n.and_then(|n| n.try_into().ok()).map(ObjectValue::Number).ok_or_else(out);
    let named = |why| format!("{}: {why}", object.name());
    let value = match kind {
        Kind::Number { unit: Unit::Octets, .. } => {
            number(Some(text.parse::<Size>().map_err(named)?.0))?
        }
        Kind::Number { unit: Unit::Picoseconds, .. } => {
            number(Some(text.parse::<Span>().map_err(named)?.0.as_picos()))?
        }
        Kind::Number { unit: Unit::BitsPerSecond, .. } if text.trim().parse::<u64>().is_err() => {
            number(Some(text.parse::<Rate>().map_err(named)?.0.get()))?
        }
        Kind::Number { unit: Unit::Share, .. } => {
            number(Some(text.parse::<Ratio>().map_err(named)?.parts().into()))?
        }
        // A plain number in the object's unit, or a time with its unit.
        Kind::Number { unit: Unit::Centiseconds, .. } if text.trim().parse::<u64>().is_err() => {
            let Span(span) = text.parse().map_err(named)?;
            let (picos, unit) = (span.as_picos(), CENTISECOND.as_picos());
            if picos % unit != 0 {
                return Err(named("not a whole number of centiseconds (10ms)".into()));
            }
            number(Some(picos / unit))?
        }
        _ => kind.read(text).ok_or_else(out)?,
    };
    if kind.takes(&value) { Ok(value) } else { Err(out()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<ObjectValue, String> {
        object_value(Object::named(name).unwrap(), text)
    }

    #[test]
    fn values_take_the_units_that_files_have() {
        use ObjectValue as V;
        for (name, text, value) in [
            ("sfcMasterEnable", "off", V::Bool(false)),
            ("sfcmTransmitPriority", "5", V::Number(5)),
            ("sfc.queues.target", "64KiB", V::Number(65_536)),
            ("sfc.queues.target", "1500", V::Number(1_500)),
            ("sfc.spacing", "10us", V::Number(10_000_000)),
            ("sfcMaxFlowLife", "100", V::Number(100)),
            ("sfcMaxFlowLife", "1.5s", V::Number(150)),
            ("sfc_proxy.policy.share", "75%", V::Number(49_152)),
            ("sfcMonitoredQueues", "[3, 4]", V::Classes(0x18)),
            ("sfcMonitoredQueues", "24", V::Classes(0x18)),
            ("ieee8021CnCpFeedbackWeight", "-10", V::Number(-10)),
        ] {
            assert_eq!(read(name, text), Ok(value), "{name} {text}");
        }
    }

    #[test]
    fn what_is_shown_can_be_written() {
        for (name, n) in [
            ("sfc.pause_max", 4_294_967_295_000),
            ("sfc.spacing", 0),
            ("sfc.spacing", 1),
            ("sfc.spacing", 83_840),
            ("sfc.spacing", 1_000_000),
            ("sfc.spacing", 1_000_001),
            ("sfcMaxFlowLife", 150),
            ("sfc.queues.target", 65_536),
            ("sfc_proxy.policy.share", 49_152),
        ] {
            let object = Object::named(name).unwrap();
            let shown = object.kind().show(ObjectValue::Number(n));
            assert_eq!(object_value(object, &shown), Ok(ObjectValue::Number(n)), "{shown}");
        }
    }

    #[test]
    fn what_is_no_value_says_which_there_are() {
        for (name, text, why) in [
            ("sfcMasterEnable", "maybe", "sfcMasterEnable: wanted is true or false"),
            ("sfcmTransmitPriority", "8", "0 to 7"),
            ("sfcmUDPPort", "49151", "49152 to 65535"),
            ("sfc.queues.target", "64K", "can mean two things"),
            ("sfc.spacing", "2s", "sfc.spacing: wanted is 0 to 1s"),
            ("sfcMaxFlowLife", "15ms", "not a whole number of centiseconds"),
            ("sfcMaxFlowLife", "0", "1 to 864000000 centiseconds"),
            ("sfc.form", "long", "simplified or encapsulated"),
            ("sfcTransmittedSFCMs", "0", "a counter"),
        ] {
            let error = read(name, text).unwrap_err();
            assert!(error.contains(why) && error.starts_with(name), "{error}");
        }
    }
}
