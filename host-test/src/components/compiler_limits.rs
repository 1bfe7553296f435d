//! Constants that `tollgate` and `tollgate-compiler` share. The compiler includes this file, because it does not depend on the
//! library.

use std::time::Duration;

/// The limit on the elapsed time of compiling a hook, including the time spent waiting for a processor.
pub(crate) const MAX_ELAPSED: Duration = Duration::from_secs(150);

/// The size limit of a component. Larger ones are refused.
pub(crate) const MAX_COMPONENT_BYTES: u64 = 32 << 20;

/// The compiler's exit code if another process compiles the same component.
pub(crate) const BUSY: u8 = 3;
