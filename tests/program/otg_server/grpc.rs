//! Malformed gRPC requests.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper::{HeaderMap, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::{assert_alive, start};

/// Posts a body to a method and returns the trailers, or the head if there are none.
fn post(addr: std::net::SocketAddr, path: &str, body: Vec<u8>) -> HeaderMap {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(addr).await.unwrap();
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        let request = Request::post(format!("http://{addr}{path}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        let (head, body) = sender.send_request(request).await.unwrap().into_parts();
        let trailers = body.collect().await.unwrap().trailers().cloned();
        trailers.unwrap_or(head.headers)
    })
}

/// A message in gRPC's frame: compression flag, length, message.
fn framed(flag: u8, told: u32, message: &[u8]) -> Vec<u8> {
    [&[flag], &told.to_be_bytes()[..], message].concat()
}

#[test]
fn what_is_no_message_is_refused_with_a_status() {
    let (server, _) = start();
    let addr = server.addr();
    let set = "/otg.Openapi/SetConfig";
    let lags = [0x0a, 5, 0x12, 3, 0xba, 0x3e, 0];
    let cases = [
        // Unknown method, unknown service.
        ("/otg.Openapi/Reboot", framed(0, 0, &[]), "12", "no%20method%20Reboot"),
        ("/otg.Closedapi/SetConfig", framed(0, 0, &[]), "12", "no%20method"),
        // Truncated in the frame's head, in the message; no message at all.
        (set, vec![0, 0], "13", ""),
        (set, framed(0, 100, &[1, 2]), "13", ""),
        (set, Vec::new(), "13", ""),
        // Compressed without a header, longer than allowed, not a message, without its field.
        (set, framed(1, 2, &[1, 2]), "13", ""),
        (set, framed(0, u32::MAX, &[1, 2]), "11", ""),
        (set, framed(0, 2, &[0xff, 0xff]), "3", "is%20no%20SetConfigRequest"),
        (set, framed(0, 0, &[]), "3", "is%20missing"),
        // A known field without a type is read; an unknown enum number is refused.
        (set, framed(0, 7, &lags), "0", ""),
        (set, framed(0, 4, &[0x0a, 2, 0x98, 6]), "3", "is%20no%20SetConfigRequest"),
        (set, framed(0, 5, &[0x0a, 3, 0x98, 6, 1]), "3", "field%2099%20of%20Config"),
        ("/otg.Openapi/streamSetConfig", framed(0, 2, &[0xff, 0xff]), "3", "no%20Data"),
    ];
    for (path, body, status, message) in cases {
        let trailers = post(addr, path, body.clone());
        let header = |name| trailers.get(name).map_or("", |value| value.to_str().unwrap());
        let (got, why) = (header("grpc-status"), header("grpc-message"));
        assert_eq!(got, status, "{path} {body:?}: {why}");
        assert!(why.contains(message), "{path} {body:?}: {why} lacks {message}");
    }
    assert_alive(addr);
}

#[test]
fn a_message_that_is_too_long_is_refused_while_it_is_read() {
    let (server, _) = start();
    let long = framed(0, 40_000_000, &vec![0; 40_000_000]);
    let trailers = post(server.addr(), "/otg.Openapi/SetConfig", long);
    assert_eq!(trailers.get("grpc-status").unwrap(), "8");
    assert_alive(server.addr());
}
