//! Reads bodies of requests within bounds.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::Shared;
use super::limits::{BODY_MAX, BODY_SMALL, BODY_TIME, DRAIN_MAX};

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
    let told = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse().ok());
    let waits = headers.contains_key(header::EXPECT);
    if waits && told.is_some_and(|length: u64| length > BODY_MAX as u64) {
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
        if rest > DRAIN_MAX {
            break;
        }
    }
    BodyError::Long
}
