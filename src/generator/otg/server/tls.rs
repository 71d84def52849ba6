//! The self-signed certificate of the server, and the verification of clients' certificates.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

/// The TLS identity of the server.
pub(super) struct Identity {
    pub(super) acceptor: TlsAcceptor,
    /// In PEM.
    pub(super) certificate: String,
}

impl Identity {
    /// Generates a key and a certificate for `localhost`, `ip` and `names`. With `client_ca`, CA
    /// certificates in PEM, clients must present a certificate that one of them signed.
    pub(super) fn new(ip: IpAddr, names: &[String], client_ca: Option<&str>) -> io::Result<Self> {
        let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        if !ip.is_unspecified() && !ip.is_loopback() {
            all.push(ip.to_string());
        }
        all.extend(names.iter().cloned());
        let made = rcgen::generate_simple_self_signed(all).map_err(io::Error::other)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let chain = vec![made.cert.der().clone()];
        let verifier = client_ca.map(client_verifier).transpose()?;
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .and_then(|builder| {
                    let builder = match verifier {
                        Some(verifier) => builder.with_client_cert_verifier(verifier),
                        None => builder.with_no_client_auth(),
                    };
                    builder.with_single_cert(chain, key.into())
                })
                .map_err(io::Error::other)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: Arc::new(config).into(), certificate: made.cert.pem() })
    }
}

/// Returns a verifier for clients' certificates with the CA certificates in `pem`.
fn client_verifier(pem: &str) -> io::Result<Arc<dyn ClientCertVerifier>> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|e| wrong(format!("no certificate in PEM: {e}")))?;
        roots
            .add(certificate)
            .map_err(|e| wrong(format!("no certificate of an authority: {e}")))?;
    }
    if roots.is_empty() {
        return Err(wrong("there is no certificate in PEM in it".into()));
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
        .build()
        .map_err(|e| wrong(e.to_string()))
}
