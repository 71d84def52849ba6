//! Tracks the activity of a connection, so that the server can close idle ones.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant};

use super::limits::{HEAD_TIME, IDLE_TIME};

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
