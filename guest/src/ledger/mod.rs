//! The ledger: one line per changed file in `.orchestration/agent_trace.jsonl`, appended and never rewritten.
//!
//! | module | what it is about |
//! | --- | --- |
//! | [`entry`] | one line |
//! | [`chain`] | how a line is linked to those before it |
//! | [`writing`], [`reading`] | entering lines; the newest ones, without reading the whole file |
//! | [`verify`], [`checkpoint`] | whether anything was changed afterwards, cut off or replaced |
//! | [`archive`] | archiving a ledger that has grown, without breaking the chain |
//! | [`map`], [`export`] | the ledger for people, and for other programs |
//! | [`revert`] | reverting a change |
//! | [`mutation`], [`line_ranges`] | what kind of change it was, and where |
//! | [`images`] | copies of files from before a change, so that it can be reverted |

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

/// Path of the ledger.
pub const PATH: &str = ".orchestration/agent_trace.jsonl";

/// Path of the folder with its older parts.
pub const ARCHIVE: &str = ".orchestration/archive";

/// Size from which on it should be archived.
pub const LARGE: u64 = 10_000_000;

/// Long-running ledger jobs, advanced step by step.
#[derive(Default)]
pub struct LedgerJobs {
    /// The verification under way; see [`verify`].
    pub verification: Option<verify::Verification>,
    /// The rebuild under way; see [`map`].
    pub rebuild: Option<map::Rebuild>,
}
