//! The ledger: one line per changed file in `.orchestration/agent_trace.jsonl`, appended and never rewritten.
//!
//! | module | what lives there |
//! | --- | --- |
//! | [`entry`] | one line |
//! | [`chain`] | how a line is tied to those before it |
//! | [`writing`], [`reading`] | entering lines; the newest ones, without reading the whole file |
//! | [`verify`], [`checkpoint`] | whether anything was changed afterwards, cut off or replaced |
//! | [`archive`] | a ledger that has grown, put aside without breaking the chain |
//! | [`map`], [`export`] | the same for people, and for other programs |
//! | [`revert`] | taking a change back |
//! | [`mutation`], [`line_ranges`] | what kind of change it was, and where |
//! | [`images`] | copies of files from before a change, so that it can be taken back |

pub mod archive;
pub mod chain;
pub mod checkpoint;
pub mod entry;
pub mod export;
pub mod images;
pub mod line_ranges;
pub mod map;
pub mod mutation;
pub mod reading;
pub mod revert;
pub mod verify;
pub mod writing;

/// Where the ledger stands.
pub const PATH: &str = ".orchestration/agent_trace.jsonl";

/// Where its older parts stand.
pub const ARCHIVE: &str = ".orchestration/archive";

/// From this size on it should be put aside.
pub const LARGE: u64 = 10_000_000;

/// Long-running ledger jobs, advanced step by step.
#[derive(Default)]
pub struct LedgerJobs {
    /// See [`verify`].
    pub verification: Option<verify::Verification>,
    /// See [`map`].
    pub rebuild: Option<map::Rebuild>,
}
