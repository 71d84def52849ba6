//! Converts gRPC messages to JSON and back, by the descriptors of `src/generator/otg/proto`.
//!
//! Names, words and numbers are those of the messages' JSON form, with 64-bit numbers as numbers,
//! as in requests over HTTP: one handler serves both transports. No field of a client is lost: an
//! unknown field number is refused, and a field without a type becomes an empty object under its
//! name. Fields that OTG does not define are omitted from responses.

use std::sync::LazyLock;

use prost::Message as _;
use prost::bytes::Bytes;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor,
    MethodDescriptor, ReflectMessage as _, Value as Field,
};
use serde_json::{Map, Number, Value};

use super::engine::Refusal;
use super::model::read::join;

/// The full name of the message that stands for unsupported types.
const UNSUPPORTED: &str = "otg.Unsupported";

/// A `FileDescriptorSet` of all messages.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/otg.bin"));

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(DESCRIPTORS).expect("the build script writes valid descriptors")
});

/// Returns a method of service `otg.Openapi` by its name.
pub fn method(name: &str) -> Option<MethodDescriptor> {
    let service = POOL.get_service_by_name("otg.Openapi").expect("otg.proto has the service");
    service.methods().find(|method| method.name() == name)
}

/// Returns a message descriptor by its name.
pub fn message(name: &str) -> Option<MessageDescriptor> {
    POOL.get_message_by_name(&format!("otg.{name}"))
}

/// Decodes a message.
///
/// # Errors
/// Malformed bytes; unknown field and enum numbers.
pub fn decode(message: MessageDescriptor, octets: Bytes) -> Result<Value, Refusal> {
    let name = message.name().to_owned();
    let message = DynamicMessage::decode(message, octets)
        .map_err(|e| Refusal::validation(format!("the message is no {name}: {e}")))?;
    let mut errors = Vec::new();
    let value = to_json(&message, "", &mut errors);
    if errors.is_empty() {
        return Ok(value);
    }
    Err(Refusal { errors, ..Refusal::validation("") })
}

/// Encodes a message.
///
/// # Errors
/// A value that does not fit the message, which is a bug of the caller.
pub fn encode(message: MessageDescriptor, value: &Value) -> Result<Vec<u8>, Refusal> {
    let name = message.name().to_owned();
    // Fields that OTG does not define have no place in gRPC, and are left out.
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    DynamicMessage::deserialize_with_options(message, value, &options)
        .map(|message| message.encode_to_vec())
        .map_err(|e| Refusal::internal(format!("the answer does not fit {name}: {e}")))
}

/// Encodes a message from JSON text.
///
/// # Errors
/// As [`encode`].
pub fn encode_text(message: MessageDescriptor, text: &[u8]) -> Result<Vec<u8>, Refusal> {
    let name = message.name().to_owned();
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let mut json = serde_json::Deserializer::from_slice(text);
    DynamicMessage::deserialize_with_options(message, &mut json, &options)
        .map(|message| message.encode_to_vec())
        .map_err(|e| Refusal::internal(format!("the answer does not fit {name}: {e}")))
}

fn to_json(message: &DynamicMessage, path: &str, errors: &mut Vec<String>) -> Value {
    let mut object = Map::new();
    // Its fields have no type here; that it is there is enough to refuse it by name.
    if message.descriptor().full_name() == UNSUPPORTED {
        return Value::Object(object);
    }
    // A field of a later version would otherwise be lost without a word.
    for unknown in message.unknown_fields() {
        let number = unknown.number();
        let what = message.descriptor().name().to_owned();
        let at = if path.is_empty() { String::new() } else { format!("{path}: ") };
        errors.push(format!("{at}field {number} of {what} is not known here; leave it out"));
    }
    for (field, value) in message.fields() {
        let path = join(path, field.name());
        if let Some(value) = field_to_json(&field, value, &path, errors) {
            object.insert(field.name().to_owned(), value);
        }
    }
    Value::Object(object)
}

/// Converts a field's value; `None` for an unspecified enum word.
fn field_to_json(
    field: &FieldDescriptor,
    value: &Field,
    path: &str,
    errors: &mut Vec<String>,
) -> Option<Value> {
    Some(match value {
        Field::List(items) => {
            let items = items.iter().enumerate();
            let item = |(i, item): (usize, &Field)| {
                field_to_json(field, item, &format!("{path}[{i}]"), errors)
            };
            Value::Array(items.filter_map(item).collect())
        }
        Field::Message(message) => to_json(message, path, errors),
        // Number 0 is no word: the field was left out.
        Field::EnumNumber(0) => return None,
        Field::EnumNumber(number) => match word(field, *number) {
            Some(word) => Value::String(word),
            None => {
                errors.push(format!("{path}: {number} is none of the words that are known here"));
                return None;
            }
        },
        Field::Bool(b) => Value::Bool(*b),
        Field::I32(n) => (*n).into(),
        Field::I64(n) => (*n).into(),
        Field::U32(n) => (*n).into(),
        Field::U64(n) => (*n).into(),
        Field::F32(n) => real(shortest(*n), path, errors)?,
        Field::F64(n) => real(*n, path, errors)?,
        Field::String(text) => Value::String(text.clone()),
        Field::Bytes(_) | Field::Map(_) => {
            // No request message has either.
            errors.push(format!("{path}: octets and maps cannot be here"));
            return None;
        }
    })
}

/// The shortest decimal number that parses to `n`: 0.1 and not 0.10000000149011612.
fn shortest(n: f32) -> f64 {
    n.to_string().parse().unwrap_or_else(|_| n.into())
}

fn real(n: f64, path: &str, errors: &mut Vec<String>) -> Option<Value> {
    let number = Number::from_f64(n).map(Value::Number);
    if number.is_none() {
        errors.push(format!("{path}: {n} is no number to count with"));
    }
    number
}

fn word(field: &FieldDescriptor, number: i32) -> Option<String> {
    let Kind::Enum(words) = field.kind() else { return None };
    words.get_value(number).map(|word| word.name().to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::model::{self, Config};
    use super::*;

    fn both_ways(name: &str, value: &Value) -> Value {
        let octets = encode(message(name).unwrap(), value).unwrap();
        let text = value.to_string();
        assert_eq!(encode_text(message(name).unwrap(), text.as_bytes()).unwrap(), octets);
        decode(message(name).unwrap(), octets.into()).unwrap()
    }

    #[test]
    fn a_message_is_the_same_by_either_door() {
        let config = json!({
            "ports": [{"name": "p", "location": "ring:a.a"}],
            "flows": [{
                "name": "f",
                "tx_rx": {"choice": "port", "port": {"tx_name": "p", "rx_names": ["p", "q"]}},
                "rate": {"choice": "pps", "pps": 18_446_744_073_709_551_615_u64},
                "size": {"choice": "weight_pairs", "weight_pairs": {
                    "choice": "custom", "custom": [{"size": 90, "weight": 0.1}]}},
                "packet": [
                    {"choice": "pfcpause", "pfcpause": {
                        "pause_class_3": {"choice": "value", "value": 0}}},
                    {"choice": "gre", "gre": {}},
                ],
            }],
        });
        assert_eq!(both_ways("Config", &config), config);
    }

    #[test]
    fn fields_beyond_the_messages_are_left_out_of_answers() {
        let metric = json!({"name": "p", "frames_tx": 1, "priorities": [{"pauses_rx": 3}]});
        assert_eq!(both_ways("PortMetric", &metric), json!({"name": "p", "frames_tx": 1}));
    }

    #[test]
    fn what_is_unknown_is_refused_by_its_number() {
        // Field 6 of Config is a flow, whose unknown field 99 is a number.
        let why = decode(message("Config").unwrap(), vec![0x32, 3, 0x98, 6, 1].into()).unwrap_err();
        assert_eq!(why.to_string(), "flows[0]: field 99 of Flow is not known here; leave it out");
        let why = decode(message("FlowSize").unwrap(), vec![8, 77].into()).unwrap_err();
        assert_eq!(why.to_string(), "choice: 77 is none of the words that are known here");
        let why = decode(message("Config").unwrap(), vec![0x32, 200].into()).unwrap_err();
        assert!(why.to_string().starts_with("the message is no Config"), "{why}");
    }

    #[test]
    fn what_there_is_no_type_for_is_seen_by_name() {
        // Field 2 of Config: link aggregation, with content.
        let config = decode(message("Config").unwrap(), vec![0x12, 2, 0x18, 1].into()).unwrap();
        assert_eq!(config, json!({"lags": [{}]}));
    }

    /// A configuration that uses most of the supported types.
    fn rich() -> Vec<u8> {
        let config = json!({
            "ports": [{"name": "p"}],
            "layer1": [{"name": "l", "port_names": ["p"], "flow_control": {
                "choice": "ieee_802_1qbb", "ieee_802_1qbb": {"pfc_class_3": 3}}}],
            "devices": [{"name": "d", "ethernets": [{"name": "e", "connection": {
                "choice": "port_name", "port_name": "p"}}]}],
            "flows": [{"name": "f", "tx_rx": {"choice": "port", "port": {"tx_name": "p"}},
                "rate": {"choice": "percentage", "percentage": 50}, "packet": [
                {"choice": "ethernet", "ethernet": {"dst": {"choice": "value", "value": "x"}}},
                {"choice": "udp", "udp": {"src_port": {"choice": "random", "random": {}}}}]}],
        });
        encode(message("Config").unwrap(), &config).unwrap()
    }

    proptest! {
        #[test]
        fn octets_changed_anywhere_are_a_message_or_refused(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9),
            end in any::<prop::sample::Index>(),
        ) {
            let mut octets = rich();
            for (at, octet) in changes {
                let at = at.index(octets.len());
                octets[at] = octet;
            }
            octets.truncate(octets.len() - end.index(octets.len()) / 8);
            if let Ok(value) = decode(message("Config").unwrap(), octets.into()) {
                if let Ok(config) = model::parse::<Config>(&value) {
                    let written = serde_json::to_value(&config).unwrap();
                    prop_assert_eq!(model::parse::<Config>(&written).unwrap(), config);
                }
            }
        }
    }
}
