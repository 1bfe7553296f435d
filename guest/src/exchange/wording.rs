//! The wording of refusals for models and people.

/// A reason and its code.
pub(super) fn reason(reason: &str, code: &str) -> String {
    format!("Tollgate: {reason} ({code})")
}

/// A reason to ask a person, if no one can be asked.
pub(super) fn without_person(why: &str) -> String {
    format!("{why}; no one can be asked here, so it does not run; let a person run it")
}

/// A payload that cannot be understood.
pub(super) fn not_understood(why: &str) -> String {
    reason(&format!("{why}; what the call does is not known, and unknown is not allowed"), "invalid_input")
}

/// A gate that did not answer, where a person can be asked.
pub(super) fn fault(why: &str) -> String {
    reason(&format!("{why}; so nothing is known about the call, and a person has to decide whether it may run"), "gate_fault")
}

/// The gate did not answer, and no one can be asked.
pub(super) fn fault_without_person(why: &str) -> String {
    reason(&without_person(&format!("{why}; so nothing is known about the call")), "gate_fault")
}

/// A hook that stopped something without saying why.
pub(super) const HOOK_STOPPED: &str = "a hook stopped it without giving a reason";

/// A command that was to run confined, and whose call has no place for that.
pub(super) const NOT_CONFINED: &str =
    "Tollgate: the command has to run confined, and the call has no way to request that; run it as a plain command (gate_fault)";

/// A hook that wants other arguments, which a program cannot be given.
pub(super) fn other_arguments(hook: &str, program: &str, wanted: &str) -> String {
    format!(
        "{hook} changes the arguments of this call to {wanted}, and {program} cannot be given others; make the call with these"
    )
}

/// Why a call that a hook has changed and a person has to decide on does not run: the person would see other arguments.
pub(super) fn asks_for_others(wanted: &str, reason: &str) -> String {
    format!(
        "{reason}; a hook changes the arguments of this call to {wanted}: make the call with these, so that a person can decide"
    )
}

/// Why a call does not run that a hook has changed: another one runs instead.
pub(super) const REWRITTEN: &str = "a hook changed its arguments";
