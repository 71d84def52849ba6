//! The certificate that the server makes for itself.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// Who the server is.
pub(super) struct Identity {
    /// Opens TLS on a connection.
    pub(super) acceptor: TlsAcceptor,
    /// The certificate as PEM.
    pub(super) certificate: String,
}

impl Identity {
    /// Makes a key and a certificate for `localhost`, `ip` and `names`.
    pub(super) fn new(ip: IpAddr, names: &[String]) -> io::Result<Self> {
        let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        if !ip.is_unspecified() && !ip.is_loopback() {
            all.push(ip.to_string());
        }
        all.extend(names.iter().cloned());
        let made = rcgen::generate_simple_self_signed(all).map_err(io::Error::other)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let chain = vec![made.cert.der().clone()];
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .and_then(|builder| {
                    builder.with_no_client_auth().with_single_cert(chain, key.into())
                })
                .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: Arc::new(config).into(), certificate: made.cert.pem() })
    }
}
