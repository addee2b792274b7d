//! `top`: which zvol hurts, and why, on one screen.
//!
//! Data runs one way. The observing side folds inputs and publishes a [`snapshot::Snapshot`];
//! keys change a [`state::State`] by [`update::update`]; a frame is drawn from those two and a
//! [`style::Style`] and nothing else. State, update and snapshot know neither a clock nor
//! ratatui: `render` draws with it, `terminal` holds the terminal, nothing else imports it.

pub mod column;
mod history;
mod jobs;
pub mod keys;
pub mod observe;
mod observing;
pub mod render;
mod replay;
mod run;
#[cfg(test)]
mod samples;
pub mod snapshot;
pub mod state;
pub mod style;
mod terminal;
#[cfg(test)]
mod tests;
mod threads;
pub mod update;

pub use run::{live, replay};
pub use threads::Recorded;
