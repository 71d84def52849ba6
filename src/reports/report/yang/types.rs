//! YANG types of managed objects, and their values in RFC 7951 encoding. Both come from the kind of
//! the object, so a served value has the type of its leaf.

use serde_json::Value;

use switch::managed::{Counter, Kind, ObjectValue, Unit};

/// Smallest integer type of a range, its name and true if its values are strings in JSON.
fn integer(least: i64, most: i64) -> (&'static str, bool) {
    const SIGNED: [(&str, i64); 3] =
        [("int8", i8::MAX as i64), ("int16", i16::MAX as i64), ("int32", i32::MAX as i64)];
    const UNSIGNED: [(&str, i64); 3] =
        [("uint8", u8::MAX as i64), ("uint16", u16::MAX as i64), ("uint32", u32::MAX as i64)];
    let (types, wide) = if least < 0 { (SIGNED, "int64") } else { (UNSIGNED, "uint64") };
    // A signed type reaches one further down than up.
    let fits = |max: i64| most <= max && (least >= 0 || least > -max - 2);
    let found = types.into_iter().find(|(_, max)| fits(*max));
    found.map_or((wide, true), |(name, _)| (name, false))
}

/// Returns the statements of a leaf that state its type: `type`, and `units`.
#[must_use]
pub(super) fn statements(kind: Kind) -> Vec<String> {
    let plain = |name: &str| vec![format!("type {name};")];
    match kind {
        Kind::Bool => plain("boolean"),
        Kind::Mac => plain("ieee:mac-address"),
        Kind::Ipv4 => plain("inet:ipv4-address-no-zone"),
        Kind::Ipv6 => plain("inet:ipv6-address-no-zone"),
        Kind::Number { least, most, unit } => {
            let (name, _) = integer(least, most);
            let mut lines = vec![format!("type {name} {{ range \"{least}..{most}\"; }}")];
            lines.extend(units(unit).map(|units| format!("units \"{units}\";")));
            lines
        }
        Kind::Classes => {
            let bits = (0..8).map(|n| format!("bit class-{n} {{ position {n}; }}"));
            vec![format!("type bits {{ {} }}", bits.collect::<Vec<_>>().join(" "))]
        }
        // No object of this project has this kind.
        Kind::QueueMap => unreachable!("the published module has the queue map"),
        Kind::Choice(words) => {
            let words = words.iter().map(|word| format!("enum \"{word}\";"));
            vec![format!("type enumeration {{ {} }}", words.collect::<Vec<_>>().join(" "))]
        }
        Kind::Counter(Counter::TransmittedSfcms | Counter::TransmittedCnms) => {
            plain("yang:counter64")
        }
        // As in the MIB.
        Kind::Counter(Counter::PfcRequests | Counter::PfcIndications) => plain("yang:counter32"),
        Kind::Counter(Counter::LinkDelayAllowance) => {
            vec!["type uint32;".into(), "units \"bits\";".into()]
        }
    }
}

const fn units(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::One => None,
        Unit::Octets => Some("octets"),
        Unit::Centiseconds => Some("centiseconds"),
        Unit::Picoseconds => Some("picoseconds"),
        Unit::Share => Some("1/65536"),
        Unit::Percent => Some("percent"),
        Unit::BitsPerSecond => Some("bits/second"),
    }
}

/// Encodes a value; `None` for an absent address.
#[must_use]
pub(super) fn encoded(kind: Kind, value: ObjectValue) -> Option<Value> {
    Some(match value {
        ObjectValue::Unset => return None,
        ObjectValue::Bool(b) => b.into(),
        ObjectValue::Number(n) => match kind {
            Kind::Number { least, most, .. } if integer(least, most).1 => n.to_string().into(),
            _ => n.into(),
        },
        // ieee802-types writes addresses with dashes and capitals.
        ObjectValue::Mac(mac) => mac.to_string().replace(':', "-").to_uppercase().into(),
        ObjectValue::Classes(mask) => {
            let named = (0..8).filter(|n| mask >> n & 1 == 1).map(|n| format!("class-{n}"));
            named.collect::<Vec<_>>().join(" ").into()
        }
        ObjectValue::QueueMap(_) => return None,
        ObjectValue::Ipv4(_) | ObjectValue::Ipv6(_) | ObjectValue::Choice(_) => {
            value.to_string().into()
        }
    })
}

/// Encodes the value of a counter; one of 32 bits starts again at 0.
#[must_use]
pub(super) fn counted(counter: Counter, n: u64) -> Value {
    match counter {
        Counter::TransmittedSfcms | Counter::TransmittedCnms => n.to_string().into(),
        Counter::PfcRequests | Counter::PfcIndications => (n as u32).into(),
        Counter::LinkDelayAllowance => u32::try_from(n).unwrap_or(u32::MAX).into(),
    }
}

/// Returns the `default` of a leaf.
#[must_use]
pub(super) fn default(kind: Kind, value: ObjectValue) -> Option<String> {
    let value = encoded(kind, value)?;
    Some(match value {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

/// Type of a column of a table among the objects, and true if its numbers are strings in JSON.
pub(super) fn column(name: &str) -> (&'static str, bool) {
    match name {
        "stream-handle" | "octets" | "rate" => ("uint64", true),
        "create-time" | "paused-until" | "entry-until" | "pause" => ("uint64", true),
        "traffic-class" | "congesting-class" | "paused-priority" | "priority" => {
            ("uint8 { range \"0..7\"; }", false)
        }
        "queue-key" | "message-count" | "cim-count" | "worker" => ("uint32", false),
        "destination-address" | "source-address" => ("ieee:mac-address", false),
        "vlan-identifier" => ("uint16 { range \"0..4095\"; }", false),
        "source-ip" | "destination-ip" => ("inet:ip-address-no-zone", false),
        "source-port" | "destination-port" => ("inet:port-number", false),
        "protocol" | "create-mask" => ("uint8", false),
        "port" => ("string", false),
        other => unreachable!("{other} has no type"),
    }
}

pub(super) fn column_units(name: &str) -> Option<&'static str> {
    match name {
        "octets" => Some("octets"),
        "rate" => Some("bits/second"),
        "create-time" | "paused-until" | "entry-until" | "pause" => Some("nanoseconds"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_smallest_type_that_holds_it() {
        for (least, most, name) in [
            (0, 7, "uint8"),
            (0, 65_535, "uint16"),
            (0, 65_536, "uint32"),
            (1, 1 << 40, "uint64"),
            (-10, 10, "int8"),
            (-129, 10, "int16"),
            (-1, 1 << 40, "int64"),
        ] {
            assert_eq!(integer(least, most).0, name, "{least}..{most}");
        }
    }

    #[test]
    fn numbers_of_64_bits_are_strings_and_sets_are_words() {
        let wide = Kind::Number { least: 0, most: 1 << 40, unit: Unit::Octets };
        assert_eq!(encoded(wide, ObjectValue::Number(5)), Some(Value::from("5")));
        let narrow = Kind::Number { least: 0, most: 7, unit: Unit::One };
        assert_eq!(encoded(narrow, ObjectValue::Number(5)), Some(Value::from(5)));
        let classes = encoded(Kind::Classes, ObjectValue::Classes(0x18));
        assert_eq!(classes, Some(Value::from("class-3 class-4")));
        assert_eq!(encoded(Kind::Mac, ObjectValue::Unset), None);
        assert_eq!(counted(Counter::PfcRequests, (1 << 32) + 5), Value::from(5));
        assert_eq!(
            counted(Counter::TransmittedSfcms, 1 << 40),
            Value::from((1_u64 << 40).to_string())
        );
    }
}
