//! Handles Ctrl-C and other requests to terminate.

use super::print_message;

/// Calls `handler` on every interrupt with the number of interrupts so far. If no handler can be installed, Ctrl-C ends the
/// process as usual.
pub(crate) fn on_interrupt(mut handler: impl FnMut(u32) + Send + 'static) {
    let mut times = 0;
    let installed = ctrlc::set_handler(move || {
        times += 1;
        handler(times);
    });
    if let Err(why) = installed {
        print_message(&format!("warn: Ctrl-C cannot be handled ({why}); programs started by hooks may keep running"));
    }
}
