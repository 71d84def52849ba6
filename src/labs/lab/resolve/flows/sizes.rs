//! Sizes of messages and flows: the same for all, or drawn from a distribution.

use std::path::Path;

use crate::cdf::{BadPoint, Cdf};
use crate::raw::{Bytes, Distribution, Published};
use config::{Cx, Place};
use ground::rand::Rng;

/// Validated sizes.
#[derive(Clone, Debug)]
pub(super) enum Sizes {
    /// The same for all, in bytes.
    Fixed(u64),
    /// Drawn from a distribution of this name.
    Drawn(String, Cdf),
}

impl Sizes {
    /// True if every message may have another size.
    pub(super) const fn is_drawn(&self) -> bool {
        matches!(self, Self::Drawn(..))
    }

    /// Returns the next size in bytes.
    pub(super) fn next(&self, rng: &mut Rng) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Drawn(_, cdf) => cdf.draw(rng),
        }
    }

    /// Returns the mean in bytes.
    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Drawn(_, cdf) => cdf.mean(),
        }
    }

    /// Returns the mean number of packets of up to `payload` bytes.
    pub(super) fn mean_packets(&self, payload: u32) -> f64 {
        match self {
            Self::Fixed(bytes) => bytes.div_ceil(payload.max(1).into()) as f64,
            Self::Drawn(_, cdf) => cdf.mean_packets(payload),
        }
    }

    /// Returns the description in tables.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Fixed(bytes) => format!("{bytes} bytes"),
            Self::Drawn(name, _) => name.clone(),
        }
    }
}

/// Resolves sizes. After an error they are one byte.
pub(super) fn sizes(cx: &mut Cx, at: &Place<'_>, said: &Bytes) -> Sizes {
    let published = |which, name: &str| Sizes::Drawn(name.into(), Cdf::published(which));
    match said {
        Bytes::Fixed(size) => {
            if size.0 == 0 {
                cx.error(at, "must be at least 1");
            }
            Sizes::Fixed(size.0)
        }
        Bytes::Published(Published::Websearch) => published(Published::Websearch, "websearch"),
        Bytes::Published(Published::Hadoop) => published(Published::Hadoop, "hadoop"),
        Bytes::Own(own) => self::own(cx, at, own),
    }
}

/// Reads a file of points; the error begins with its name.
fn read(path: &Path) -> Result<Cdf, String> {
    let (name, text) = config::read_text(path, "file of points").map_err(|e| e.to_string())?;
    let name = ground::printable::excerpt(&name);
    Cdf::parse(&text).map_err(|BadPoint { number, why }| format!("{name}:{number}: {why}"))
}

fn own(cx: &mut Cx, at: &Place<'_>, said: &Distribution) -> Sizes {
    let (found, name) = match (&said.cdf, &said.points) {
        (None, Some(points)) => {
            let found = Cdf::of_points(points);
            (
                found.map_err(|bad| (at.key("points").index(bad.number - 1), bad.why)),
                "points".into(),
            )
        }
        (Some(file), None) => {
            let at = at.key("cdf");
            let name = file.file_stem().map_or_else(|| "cdf".into(), |s| s.to_string_lossy());
            let name = ground::printable::excerpt(&name);
            (read(&cx.beside(file)).map_err(|why| (at, why)), name.into())
        }
        _ => (Err((at.clone(), "needs exactly one of `cdf` and `points`".into())), String::new()),
    };
    match found {
        Ok(cdf) => Sizes::Drawn(name, cdf),
        Err((at, why)) => {
            cx.error(&at, why);
            Sizes::Fixed(1)
        }
    }
}
