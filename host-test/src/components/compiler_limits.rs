//! What `tollgate` and `tollgate-compiler` agree on. The compiler includes this file too, because it does not depend on the library.

use std::time::Duration;

/// How long compiling a hook may take in all, waiting for a processor included.
pub(crate) const MAX_ELAPSED: Duration = Duration::from_secs(150);

/// A longer component is refused.
pub(crate) const MAX_COMPONENT_BYTES: u64 = 32 << 20;

/// The compiler's exit code if another process compiles the same component.
pub(crate) const BUSY: u8 = 3;
