//! A bench driven by another process.

use std::io::BufRead;
use std::process::exit;
use std::time::Duration;

/// For each line of the standard input, a number of seconds, measures for that time, and prints a
/// line of frames and nanoseconds.
pub fn serve(mut measure: impl FnMut(f64) -> (u64, Duration)) {
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("text");
        let Ok(seconds) = line.trim().parse() else {
            eprintln!("not a number of seconds");
            exit(2)
        };
        let (frames, time) = measure(seconds);
        println!("{frames} {}", time.as_nanos());
    }
}
