//! The OTG server serves unmodified clients by every transport, and no input can block or crash it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice::otg::server::{Options, Server, limits, serve};
use tokio_rustls::rustls;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};

use crate::rehearsal::Rehearsal;

mod grpc;

/// Time limit of every step, which detects a server that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

fn start() -> (Server, Arc<Rehearsal>) {
    let engine = Arc::new(Rehearsal::default());
    let options = Options { addr: ([127, 0, 0, 1], 0).into(), ..Options::default() };
    (serve(&options, engine.clone()).expect("a free port"), engine)
}

fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&addr, PATIENCE).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Sends bytes and reads the answer until the connection ends.
fn exchange(addr: SocketAddr, octets: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = connect(addr);
    let mut answer = Vec::new();
    let sent = stream.write_all(octets);
    let read = stream.read_to_end(&mut answer);
    // A server that disconnects early may reset the connection, which is an answer, too.
    if answer.is_empty() {
        sent?;
        read?;
    }
    Ok(answer)
}

/// Makes a request of HTTP/1 and returns the status and the body.
fn request(addr: SocketAddr, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let answer = exchange(addr, &[head.as_bytes(), body].concat()).expect("an answer");
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains("content-type: application/json"), "{head}");
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).expect("a status");
    (status, serde_json::from_str(body).expect("JSON"))
}

/// Asserts that a request is refused, with a status and OTG's kind of error.
fn assert_refused(addr: SocketAddr, method: &str, path: &str, body: &[u8], status: u16, why: &str) {
    let (got, error) = request(addr, method, path, body);
    assert_eq!((got, &error["code"]), (status, &json!(status)), "{error}");
    assert_eq!(error["kind"], "validation");
    let errors = error["errors"].as_array().expect("a list");
    assert!(errors[0].as_str().expect("text").contains(why), "{error} lacks {why}");
}

fn assert_alive(addr: SocketAddr) {
    let begun = Instant::now();
    let (status, version) = request(addr, "GET", "/capabilities/version", b"");
    assert_eq!((status, &version["sdk_version"]), (200, &json!("1.62.0")));
    assert!(begun.elapsed() < Duration::from_secs(10), "an answer took {:?}", begun.elapsed());
}

#[test]
fn what_is_no_request_is_refused_with_a_reason() {
    let (server, engine) = start();
    let addr = server.addr();
    let refused = |method, path, body: &[u8], status, why| {
        assert_refused(addr, method, path, body, status, why);
    };
    refused("POST", "/config", b"flows: []", 400, "the body is not JSON: ");
    refused("POST", "/config", b"", 400, "the body is empty");
    refused("POST", "/config", b"\xff\xfe", 400, "the body is not JSON");
    refused("POST", "/config", b"{\"ports\": [{}]}", 400, "ports[0]: `name` is missing; ");
    refused("POST", "/config", &b"[".repeat(100_000), 400, "recursion limit exceeded");
    refused("POST", "/config", &[b'['; 3_000_000], 400, "more than 1000000 values");
    refused("DELETE", "/config", b"", 405, "DELETE does nothing on /config");
    refused("GET", "/metrics", b"", 404, "there is nothing at /metrics");
    refused("POST", "/otg.Openapi/SetConfig", b"{}", 404, "there is nothing at");
    assert_eq!(engine.asked(), []);
    assert_alive(addr);
}

#[test]
fn a_hundred_megabytes_are_refused_and_nobody_waits_for_them() {
    let (server, engine) = start();
    let addr = server.addr();
    let body = vec![b' '; 100_000_000];
    let posts: Vec<_> = (0..3)
        .map(|_| {
            let body = body.clone();
            std::thread::spawn(move || {
                assert_refused(addr, "POST", "/config", &body, 413, "longer than 32 MiB");
            })
        })
        .collect();
    for _ in 0..5 {
        assert_alive(addr);
    }
    for post in posts {
        post.join().unwrap();
    }
    // A client that waits for 100 Continue gets the error at once.
    let head = "POST /config HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000000\r\n\
                expect: 100-continue\r\nconnection: close\r\n\r\n";
    let answer = exchange(addr, head.as_bytes()).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(engine.asked(), []);
}

#[test]
fn a_thousand_clients_at_once_are_answered_or_refused() {
    let (server, _) = start();
    let addr = server.addr();
    // All connect before any sends a request.
    let all: Vec<_> = (0..1000).filter_map(|_| TcpStream::connect(addr).ok()).collect();
    let (mut answered, mut refused) = (0, 0);
    for mut stream in all {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let ask =
            "GET /capabilities/version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        let _ = stream.write_all(ask.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        match answer.get(9..12) {
            Some(b"200") => answered += 1,
            Some(b"503") => refused += 1,
            other => panic!("{other:?} after {answered} answers and {refused} refusals"),
        }
    }
    println!("{answered} answered, {refused} refused");
    assert!(answered >= limits::CONNECTIONS_MAX, "{answered} were answered");
    assert_alive(addr);
}

#[test]
fn a_client_too_many_is_told_so_until_another_leaves() {
    let (server, _) = start();
    let addr = server.addr();
    let others: Vec<_> = (0..limits::CONNECTIONS_MAX).map(|_| connect(addr)).collect();
    let (status, error) = request(addr, "GET", "/capabilities/version", b"");
    assert_eq!((status, &error["kind"]), (503, &json!("internal")));
    assert!(error["errors"][0].as_str().unwrap().starts_with("256 connections are open"));
    drop(others);
    let begun = Instant::now();
    while request(addr, "GET", "/capabilities/version", b"").0 != 200 {
        assert!(begun.elapsed() < PATIENCE, "nobody is served any more");
    }
}

#[test]
fn pages_of_browsers_are_refused() {
    let (server, engine) = start();
    let post = "POST /config HTTP/1.1\r\nhost: localhost\r\norigin: http://elsewhere\r\n\
                content-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    let answer = exchange(server.addr(), post.as_bytes()).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 403"), "{}", String::from_utf8_lossy(&answer));
    // A name that a page's owner can make to mean this machine.
    let renamed = post.replace("host: localhost", "host: page.example:8443");
    let renamed = renamed.replace("origin: http://elsewhere\r\n", "");
    let answer = exchange(server.addr(), renamed.as_bytes()).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 403"), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(engine.asked(), []);
}

#[test]
fn a_key_that_occurs_twice_is_refused() {
    let (server, engine) = start();
    let body = br#"{"ports":[{"name":"a","location":"ring:x.a","location":"iface:eth0"}]}"#;
    assert_refused(server.addr(), "POST", "/config", body, 400, "`location` occurs twice");
    assert_eq!(engine.asked(), []);
}

#[test]
fn clients_that_open_and_say_nothing_are_hung_up_on_while_others_are_served() {
    let (server, _) = start();
    let addr = server.addr();
    // Nothing, half a TLS hello, half a preface of HTTP/2, half a head, half a body.
    let halves: [&[u8]; 5] = [
        b"",
        b"\x16\x03\x01\x02\x00",
        b"PRI * HT",
        b"POST /config HTTP/1.1\r\nhos",
        b"POST /config HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{",
    ];
    let open: Vec<_> = halves
        .iter()
        .map(|half| {
            let mut stream = connect(addr);
            stream.write_all(half).unwrap();
            stream
        })
        .collect();
    assert_alive(addr);
    let begun = Instant::now();
    for (mut stream, half) in open.into_iter().zip(halves).take(4) {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap_or_default();
        assert!(begun.elapsed() < Duration::from_secs(20), "{half:?} was let stand");
    }
    assert_alive(addr);
}

#[test]
fn a_server_that_is_stopped_gives_its_port_back() {
    let (server, _) = start();
    let addr = server.addr();
    let idle = connect(addr);
    assert!(server.announcement().contains("this machine only"), "{}", server.announcement());
    let begun = Instant::now();
    server.stop();
    assert!(begun.elapsed() < Duration::from_secs(5), "stopping took {:?}", begun.elapsed());
    drop(idle);
    let options = Options { addr, ..Options::default() };
    let again = serve(&options, Arc::new(Rehearsal::default())).expect("the port is free");
    assert_alive(again.addr());
}

/// Prefixes that reach further into the server than random bytes.
fn beginnings() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        Just(vec![0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]),
        Just(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec()),
        Just(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec()),
        Just(
            b"POST /config HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
                .to_vec()
        ),
        Just(b"POST /config HTTP/1.1\r\ncontent-length: 64\r\n\r\n".to_vec()),
        Just(b"GET / HTTP/1.1\r\n".to_vec()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_octets_neither_hang_nor_stop_the_server(
        sent in prop::collection::vec(
            (beginnings(), prop::collection::vec(any::<u8>(), 0..600)), 1..16)
    ) {
        let (server, _) = start();
        for (beginning, rest) in sent {
            let mut stream = connect(server.addr());
            let _ = stream.write_all(&[beginning, rest].concat());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            if let Err(error) = stream.read_to_end(&mut answer) {
                prop_assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "the server hangs");
            }
        }
        assert_alive(server.addr());
        server.stop();
    }
}

/// An authority, as PEM, and a certificate that it signed with its key.
fn authority(name: &str) -> (String, Vec<CertificateDer<'static>>, Vec<u8>) {
    let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    let root = params.self_signed(&key).unwrap();
    let issuer = rcgen::Issuer::new(params, key);
    let own = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["client".to_owned()]).unwrap();
    let signed = params.signed_by(&own, &issuer).unwrap();
    (root.pem(), vec![signed.der().clone()], own.serialize_der())
}

/// Status that a client with or without a certificate receives over TLS.
fn version_over_tls(
    server: &Server,
    shown: Option<(Vec<CertificateDer<'static>>, Vec<u8>)>,
) -> io::Result<String> {
    let mut roots = rustls::RootCertStore::empty();
    let own = CertificateDer::from_pem_slice(server.certificate().as_bytes()).unwrap();
    roots.add(own).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown {
        Some((chain, key)) => {
            let key = PrivatePkcs8KeyDer::from(key);
            builder.with_client_auth_cert(chain, key.into()).unwrap()
        }
        None => builder.with_no_client_auth(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = rustls::StreamOwned::new(client, connect(server.addr()));
    let ask = b"GET /capabilities/version HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(ask)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned())
}

#[test]
fn a_server_that_asks_for_certificates_answers_nobody_else() {
    let (ca, chain, key) = authority("lab");
    let (_, foreign_chain, foreign_key) = authority("another");
    let options =
        Options { addr: ([127, 0, 0, 1], 0).into(), client_ca: Some(ca), ..Options::default() };
    let server = serve(&options, Arc::new(Rehearsal::default())).expect("a free port");
    assert!(server.announcement().contains("with a certificate"), "{}", server.announcement());
    let answered = version_over_tls(&server, Some((chain, key))).expect("its own client");
    assert_eq!(answered, "HTTP/1.1 200");
    assert!(version_over_tls(&server, None).is_err());
    assert!(version_over_tls(&server, Some((foreign_chain, foreign_key))).is_err());
    let (status, error) = request(server.addr(), "GET", "/capabilities/version", b"");
    assert_eq!((status, &error["kind"]), (403, &json!("validation")), "{error}");
    // gRPC without TLS begins with HTTP/2's preface.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let answer = exchange(server.addr(), preface).expect("a refusal");
    assert!(answer.starts_with(b"HTTP/1.1 403"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn an_authority_without_a_certificate_is_refused() {
    for pem in ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        let addr = ([127, 0, 0, 1], 0).into();
        let options = Options { addr, client_ca: Some(pem.into()), ..Options::default() };
        let error = serve(&options, Arc::new(Rehearsal::default())).err().expect("refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
    }
}

#[test]
fn a_client_that_has_closed_its_side_hears_its_answer() {
    let (server, _engine) = start();
    for round in 0..50 {
        let mut stream = connect(server.addr());
        stream.write_all(b"GET /capabilities/version HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "round {round}: {} octets", answer.len());
    }
}
