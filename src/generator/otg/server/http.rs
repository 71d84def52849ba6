//! The HTTP transport: maps paths to calls and converts JSON.

use std::net::IpAddr;
use std::sync::Arc;

use super::body::{self, BodyError, JSON, error, not_found, response};
use super::call::{Call, Reply, apart};
use super::limits::{BODY_SMALL, VALUES_MAX};
use super::{Shared, grpc};
use crate::engine::{Engine, JsonText, Refusal, RefusalKind};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{ALLOW, HOST, ORIGIN};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{any, get, patch, post};
use serde_json::Value;

const OCTETS: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Routes every path of the API, and gRPC's.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    macro_rules! does {
        ($method:ident, $call:ident) => {
            $method(|shared, request| answer(Call::$call, shared, request))
        };
        ($router:expr, $method:ident, $call:ident) => {
            $router.$method(|shared, request| answer(Call::$call, shared, request))
        };
    }
    let config = does!(get, GetConfig);
    let config = does!(config, post, SetConfig);
    let config = does!(config, patch, UpdateConfig);
    let append = does!(patch, AppendConfig);
    let append = does!(append, post, AppendConfig);
    let delete = does!(patch, DeleteConfig);
    let delete = does!(delete, post, DeleteConfig);
    Router::new()
        .route("/config", config)
        .route("/config/append", append)
        .route("/config/delete", delete)
        .route("/control/state", does!(post, SetControlState))
        .route("/control/action", does!(post, SetControlAction))
        .route("/monitor/metrics", does!(post, GetMetrics))
        .route("/monitor/states", does!(post, GetStates))
        .route("/monitor/capture", does!(post, GetCapture))
        .route("/capabilities/version", does!(get, GetVersion))
        // Fixed paths go first, so this is any other one of two parts.
        .route("/{service}/{method}", any(grpc::answer))
        .method_not_allowed_fallback(async |method: Method, uri: Uri| {
            let path = uri.path();
            let why =
                format!("{method} does nothing on {path}; the header `{ALLOW}` says what does");
            error(StatusCode::METHOD_NOT_ALLOWED, "validation", &[why])
        })
        .fallback(async |uri: Uri| not_found(&uri))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), no_pages))
        .with_state(shared)
}

/// Refuses requests of web pages in a browser, because any page can reach loopback. Browsers send
/// the page's origin; API clients do not.
///
/// On the loopback the host must be an address or `localhost`: the name of a page can be made to
/// mean this machine (DNS rebinding), and its requests then have no origin.
async fn no_pages(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let header = || request.headers().get(HOST).map(|host| host.to_str().unwrap_or("?"));
    let host = request.uri().authority().map(|host| host.as_str()).or_else(header);
    if let Some(host) = host.filter(|host| shared.local && !is_local(host)) {
        let why = format!("`{HOST}: {host}` is no address and not `localhost`; use one of these");
        return error(StatusCode::FORBIDDEN, "validation", &[why]);
    }
    if request.headers().contains_key(ORIGIN) {
        let why = format!("pages of browsers are not served (they send `{ORIGIN}`)");
        return error(StatusCode::FORBIDDEN, "validation", &[why]);
    }
    next.run(request).await
}

/// Returns true for a host, with or without a port, that no DNS server can give another meaning.
fn is_local(host: &str) -> bool {
    // Behind the last colon is a port, or the end of an IPv6 address in brackets.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

async fn answer(call: Call, State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let whole = match body::read(&shared, &head.headers, body).await {
        Ok(whole) => whole,
        Err(why) => {
            let status = match why {
                BodyError::Long => StatusCode::PAYLOAD_TOO_LARGE,
                BodyError::Slow => StatusCode::REQUEST_TIMEOUT,
                BodyError::Broken => StatusCode::BAD_REQUEST,
            };
            return error(status, "validation", &[why.to_string()]);
        }
    };
    let work = move |engine: &dyn Engine| {
        // The body of a call without parameters is read to its end, and then ignored.
        let request = if call.asks_nothing() { Value::Null } else { parse(&whole.octets)? };
        let reply = call.make(engine, &request);
        // A large request leaves memory that the allocator would keep.
        if whole.octets.len() > BODY_SMALL {
            drop((request, whole));
            engine.settle();
        }
        Ok(match reply? {
            Reply::Json(value) => (JSON, value.to_string().into_bytes()),
            Reply::Text(JsonText(text)) => (JSON, text),
            Reply::Octets(octets) => (OCTETS, octets),
        })
    };
    match apart(&shared.engine, work).await {
        Ok((kind, octets)) => response(StatusCode::OK, kind, octets.into()),
        Err(Refusal { kind: RefusalKind::Validation, errors }) => {
            error(StatusCode::BAD_REQUEST, "validation", &errors)
        }
        Err(Refusal { kind: RefusalKind::Internal | RefusalKind::Starved, errors }) => {
            error(StatusCode::INTERNAL_SERVER_ERROR, "internal", &errors)
        }
    }
}

/// Parses JSON. Values take up to fifty times the memory of their text, so they are counted
/// first.
fn parse(octets: &[u8]) -> Result<Value, Refusal> {
    if octets.trim_ascii().is_empty() {
        return Err(Refusal::validation("the body is empty; send JSON"));
    }
    // An upper bound: such bytes inside of texts count as well.
    let values = octets.iter().filter(|octet| matches!(octet, b',' | b'[' | b'{')).count();
    if values > VALUES_MAX {
        let why = format!("the body has more than {VALUES_MAX} values; send fewer");
        return Err(Refusal::validation(why));
    }
    body::parse_json(octets).map_err(|e| Refusal::validation(format!("the body is not JSON: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_an_address_or_localhost() {
        for local in
            ["127.0.0.1", "127.0.0.1:8080", "[::1]:8443", "[::1]", "localhost", "LocalHost:1"]
        {
            assert!(is_local(local), "{local}");
        }
        for other in ["evil.example", "evil.example:8080", "localhost.evil.example", "", ":80", "?"]
        {
            assert!(!is_local(other), "{other}");
        }
    }
}
