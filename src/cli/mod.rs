//! Commands: what the command line says to jobs, and their exit status.
//!
//! Results go to standard output, everything else to standard error. The exit status is 0 for a
//! good verdict, 1 for a bad one, 2 for bad input, 3 for a machine that cannot do it.

pub mod check;
