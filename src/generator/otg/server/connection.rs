//! Accepts connections, detects their protocol, watches their activity, closes idle ones, and refuses those beyond
//! the limit.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::task::{Context, Poll, ready};

use super::body::error_body;
use super::limits::{
    CONNECTIONS_MAX, HEAD_MAX, HEAD_TIME, IDLE_TIME, REFUSAL_TIME, REFUSALS_MAX, STOP_TIME,
    STREAMS_MAX,
};
use super::{Shared, http};
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch as channel};
use tokio::time::{Duration, Instant, sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Length of the listen queue, enough for the connections that many clients open at once.
const BACKLOG: u32 = 1024;

/// Interval of the checks of a connection.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Opens the listening socket; needs a runtime around it.
pub(super) fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A server that was just stopped leaves its port in TIME_WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

/// Serves connections until `stopped` is true.
pub(super) async fn accept(
    listener: TcpListener,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    mut stopped: channel::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
    loop {
        let stream = tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Usually out of file descriptors; an immediate retry would spin.
                    tracing::warn!(target: "sluice::otg", "the OTG server cannot accept: {error}");
                    sleep(CHECK_INTERVAL).await;
                    continue;
                }
            },
        };
        // Responses are small, and the client waits for them.
        let _ = stream.set_nodelay(true);
        let refusal = if places.available_permits() > 0 {
            None
        } else {
            // Connections that cannot be refused at once stay in the listen queue.
            refusals.clone().acquire_owned().await.ok()
        };
        // Only this task takes places, so one that was free above is free still.
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let (tls, shared, stopped) = (tls.clone(), Arc::clone(&shared), stopped.clone());
            tokio::spawn(async move {
                serve(stream, tls, shared, stopped).await;
                drop(place);
            });
        } else {
            tokio::spawn(async move {
                let _ = timeout(REFUSAL_TIME, refuse_more(stream)).await;
                drop(refusal);
            });
        }
    }
    drop(listener);
    // Connections end by themselves once they are idle.
    let all = u32::try_from(CONNECTIONS_MAX).expect("a few hundred");
    let _ = timeout(STOP_TIME, places.acquire_many(all)).await;
}

/// Refuses a connection because there are too many.
async fn refuse_more(stream: TcpStream) -> io::Result<()> {
    let why = format!(
        "{CONNECTIONS_MAX} connections are open, which is all there may be; close some, or try \
         again later"
    );
    refuse(stream, 503, "Service Unavailable", "internal", &why).await
}

/// Refuses a connection with an HTTP response. A client with TLS or gRPC sees the connection
/// close.
async fn refuse<S>(mut stream: S, code: u16, reason: &str, kind: &str, why: &str) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let body = error_body(code, kind, &[why.to_owned()]);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {code} {reason}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await?;
    // A close with unread bytes would reset the connection before the client reads the response.
    let mut octets = [0; 1024];
    while stream.read(&mut octets).await? > 0 {}
    Ok(())
}

/// Serves a connection until it ends, is idle for too long, or the server stops.
async fn serve(
    stream: TcpStream,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    mut stopped: channel::Receiver<bool>,
) {
    let activity = Activity::new();
    let watching = Arc::clone(&activity);
    let hang_up = async move {
        let stop = async { drop(stopped.wait_for(|stop| *stop).await) };
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                () = sleep(CHECK_INTERVAL) => {}
            }
            if watching.is_over() {
                return;
            }
        }
        let begun = Instant::now();
        // Requests that are being served are finished first.
        while !watching.is_quiet() && begun.elapsed() < STOP_TIME {
            sleep(CHECK_INTERVAL / 50).await;
        }
    };
    tokio::select! {
        // Errors here are the client's, or its disconnect.
        _ = speak(stream, tls, shared, activity) => {}
        () = hang_up => {}
    }
}

/// Detects TLS and serves the connection.
async fn speak(
    stream: TcpStream,
    tls: TlsAcceptor,
    shared: Arc<Shared>,
    activity: Arc<Activity>,
) -> io::Result<()> {
    /// The content type of a TLS handshake record (RFC 8446 5.1).
    const HANDSHAKE: u8 = 0x16;
    let mut first = [0];
    // Peeked at, so that TLS or HTTP still reads the byte.
    if stream.peek(&mut first).await? == 0 {
        return Ok(());
    }
    let stream = Watched::new(stream, Arc::clone(&activity));
    if first == [HANDSHAKE] {
        talk(tls.accept(stream).await?, shared, activity).await;
    } else if shared.authenticates {
        let why = "this server speaks TLS alone, with clients that have a certificate";
        timeout(REFUSAL_TIME, refuse(stream, 403, "Forbidden", "validation", why)).await??;
    } else {
        talk(stream, shared, activity).await;
    }
    Ok(())
}

/// Serves HTTP/1 and HTTP/2.
async fn talk<S>(stream: S, shared: Arc<Shared>, activity: Arc<Activity>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(http::router(shared));
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let open = activity.open();
        let answer = router.call(request);
        async move {
            let answer = answer.await;
            drop(open);
            answer
        }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        // A client may close its sending side after its request and still wait for the response.
        .half_close(true)
        .max_buf_size(HEAD_MAX)
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(u32::try_from(HEAD_MAX).expect("a few KiB"))
        .max_concurrent_streams(STREAMS_MAX)
        .keep_alive_interval(IDLE_TIME / 2)
        .keep_alive_timeout(HEAD_TIME);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(target: "sluice::otg", "a connection has ended: {error}");
    }
}

/// The activity of a connection.
pub(super) struct Activity {
    begun: Instant,
    /// Time of the last byte in either direction, in milliseconds since the start of the
    /// connection.
    last_ms: AtomicU64,
    /// Number of requests.
    requests: AtomicUsize,
    /// Number of unanswered requests.
    open: AtomicUsize,
}

/// An unanswered request.
pub(super) struct Open(Arc<Activity>);

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            begun: Instant::now(),
            last_ms: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
        })
    }

    fn note(&self) {
        let ms = self.begun.elapsed().as_millis();
        // Relaxed: only the check for idle connections reads it, and a late value costs nothing.
        self.last_ms.store(u64::try_from(ms).unwrap_or(u64::MAX), Relaxed);
    }

    /// Records a request, which counts as answered once the result is dropped.
    pub(super) fn open(self: &Arc<Self>) -> Open {
        self.requests.fetch_add(1, Relaxed);
        self.open.fetch_add(1, Relaxed);
        Open(Arc::clone(self))
    }

    /// Returns true if all requests are answered.
    pub(super) fn is_quiet(&self) -> bool {
        self.open.load(Relaxed) == 0
    }

    /// Returns true if the connection was idle for too long.
    pub(super) fn is_over(&self) -> bool {
        let age = self.begun.elapsed();
        let silent = age.saturating_sub(Duration::from_millis(self.last_ms.load(Relaxed)));
        // A connection without a request takes a place from others.
        let never_asked = self.requests.load(Relaxed) == 0 && age > HEAD_TIME;
        never_asked || (self.is_quiet() && silent > IDLE_TIME)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
        self.0.note();
    }
}

/// A byte stream that records its activity.
pub(super) struct Watched<S> {
    stream: S,
    activity: Arc<Activity>,
}

impl<S> Watched<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        self.activity.note();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(Pin::new(&mut self.stream).poll_write(cx, octets))?;
        self.activity.note();
        Poll::Ready(Ok(taken))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, pieces))?;
        self.activity.note();
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
