//! Ctrl-C, and whatever else politely asks a program to end.

use super::say;

/// Calls this each time, with how often it has happened. Where that cannot be, Ctrl-C ends the program as always.
pub(crate) fn on_interrupt(mut told: impl FnMut(u32) + Send + 'static) {
    let mut times = 0;
    let installed = ctrlc::set_handler(move || {
        times += 1;
        told(times);
    });
    if let Err(why) = installed {
        say(&format!("warn: Ctrl-C cannot be handled ({why}); what hooks have started may outlive it"));
    }
}
