//! Bodies: reads those of requests within bounds, and writes responses over HTTP, those to failed requests above
//! all.
//!
//! JSON has no key twice. Readers disagree on which of the two counts, so a check in front
//! of this server may have seen another value than the engine.

use core::fmt;

use super::Shared;
use super::limits::{BODY_MAX, BODY_SMALL, BODY_TIME, DRAIN_MAX};
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::Response;
use bytes::BytesMut;
use ground::printable;
use http_body_util::BodyExt as _;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

/// A body, and its permit for memory.
pub(super) struct Whole {
    pub(super) octets: Bytes,
    /// Released when the request is done.
    pub(super) _place: Option<OwnedSemaphorePermit>,
}

/// The reason for which there is no body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the body is longer than {} MiB, which is the most that is taken", BODY_MAX >> 20)]
    Long,
    #[error("the body was not complete after {} s", BODY_TIME.as_secs())]
    Slow,
    #[error("the body broke off before its end")]
    Broken,
}

/// Reads a body to its end.
pub(super) async fn read(
    shared: &Shared,
    headers: &HeaderMap,
    body: Body,
) -> Result<Whole, BodyError> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
    let waits = headers.contains_key(header::EXPECT);
    // A client that waits for `100 Continue` sends no body after a refusal.
    if waits && length.is_some_and(|bytes: u64| bytes > BODY_MAX as u64) {
        return Err(BodyError::Long);
    }
    timeout(BODY_TIME, collect(shared, body)).await.unwrap_or(Err(BodyError::Slow))
}

async fn collect(shared: &Shared, mut body: Body) -> Result<Whole, BodyError> {
    let mut octets = BytesMut::new();
    let mut place = None;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
        if octets.len() + data.len() > BODY_MAX {
            // The memory is free while the rest is discarded.
            drop((octets, place));
            return Err(drain(body).await);
        }
        if octets.len() + data.len() > BODY_SMALL && place.is_none() {
            // The semaphore is never closed.
            place = shared.large_bodies.clone().acquire_owned().await.ok();
        }
        octets.extend_from_slice(&data);
    }
    Ok(Whole { octets: octets.freeze(), _place: place })
}

/// Discards the rest of a body that is too long.
async fn drain(mut body: Body) -> BodyError {
    let mut rest = 0;
    while let Some(Ok(frame)) = body.frame().await {
        rest += frame.data_ref().map_or(0, Bytes::len);
        // A client that sends without an end is cut off.
        if rest > DRAIN_MAX {
            break;
        }
    }
    BodyError::Long
}

/// Parses a document.
///
/// # Errors
/// The text is not JSON, or an object in it has a key twice.
pub(super) fn parse_json(octets: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(octets).map(|Unique(value)| value)
}

struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values).map(Self)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` occurs twice")));
            }
            let Unique(value) = entries.next_value()?;
            all.insert(key, value);
        }
        Ok(all.into())
    }
}

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

pub(super) fn response(status: StatusCode, kind: HeaderValue, body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

pub(super) fn error(status: StatusCode, kind: &str, errors: &[String]) -> Response {
    response(status, JSON, error_body(status.as_u16(), kind, errors).into())
}

/// Returns an error as OTG's clients read it; quoted text of the client is bounded.
pub(super) fn error_body(code: u16, kind: &str, errors: &[String]) -> Vec<u8> {
    let errors: Vec<_> = errors.iter().map(|error| printable::message(error)).collect();
    json!({"code": code, "kind": kind, "errors": errors}).to_string().into_bytes()
}

/// The response to an unknown path.
pub(super) fn not_found(uri: &Uri) -> Response {
    let why = format!(
        "there is nothing at {}; there are /config, /config/append, /config/delete, \
         /control/state, /control/action, /monitor/metrics, /monitor/states, /monitor/capture and \
         /capabilities/version, and the gRPC service otg.Openapi",
        uri.path()
    );
    error(StatusCode::NOT_FOUND, "validation", &[why])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_usual_reader() {
        let text = r#"{"a":[1,-2,3.5,1e300,"x\u00e9",true,null,{}],"b":{"a":{"a":[[]]}}}"#;
        assert_eq!(
            parse_json(text.as_bytes()).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
        assert!(parse_json(&[b'['; 100_000]).is_err(), "depth is bounded");
    }

    #[test]
    fn a_key_that_occurs_twice_is_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"x":{"a":1,"b":2,"a":3}}]"#, r#"{"a":1,"\u0061":2}"#]
        {
            let error = parse_json(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("`a` occurs twice"), "{error}");
        }
    }
}
