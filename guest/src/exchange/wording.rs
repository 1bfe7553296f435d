//! The wording of refusals for models and people.

/// Combines a reason with its code.
pub(super) fn reason(reason: &str, code: &str) -> String {
    format!("Tollgate: {reason} ({code})")
}

/// Turns a reason to ask a person into a refusal, if no one can be asked.
pub(super) fn without_person(why: &str) -> String {
    format!("{why}; no one can be asked here, so it does not run; let a person run it")
}

/// The reason to deny a payload that cannot be understood.
pub(super) fn not_understood(why: &str) -> String {
    reason(&format!("{why}; what the call does is not known, and unknown calls are not allowed"), "invalid_input")
}

/// The reason to ask a person if the gate did not answer.
pub(super) fn fault(why: &str) -> String {
    reason(&format!("{why}, so the call could not be checked, and a person has to decide whether it may run"), "gate_fault")
}

/// The reason to deny a call if the gate did not answer and no one can be asked.
pub(super) fn fault_without_person(why: &str) -> String {
    reason(&without_person(&format!("{why}, so the call could not be checked")), "gate_fault")
}

/// The reason if a hook stopped something without giving one.
pub(super) const HOOK_STOPPED: &str = "a hook stopped it without giving a reason";

/// The reason if a command has to run confined and its call has no place for that.
pub(super) const NOT_CONFINED: &str =
    "Tollgate: the command has to run confined, and the call has no way to request that; run it as a plain command (gate_fault)";

/// The reason if a hook wants other arguments, which the program cannot be given.
pub(super) fn other_arguments(hook: &str, program: &str, wanted: &str) -> String {
    format!(
        "{hook} changes the arguments of this call to {wanted}, but {program} does not let a hook replace them; make the call again with these arguments"
    )
}

/// Why a call does not run that a hook has changed and a person has to decide on: the person would see other arguments.
pub(super) fn asks_for_others(wanted: &str, reason: &str) -> String {
    format!(
        "{reason}; a hook changes the arguments of this call to {wanted}; make the call again with these arguments, so that a person can decide"
    )
}

/// Why a call that a hook has changed does not run: another one runs instead.
pub(super) const REWRITTEN: &str = "a hook changed its arguments";
