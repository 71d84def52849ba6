//! Responses over HTTP, those to failed requests above all.

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode, Uri};
use axum::response::Response;
use serde_json::json;

use ground::printable;

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
