//! Third-party hooks around a call: they change its arguments, object to it, or comment on how it ended.

use serde_json::Value;

use super::{Exchange, ExchangeStage, withdraw};
use crate::exchange::{lifecycle, wording};
use crate::gate::Gate;
use crate::hooks::components::feedback::HookFeedback;
use crate::hooks::components::sanitize::{MAX_NOTE, clean};
use crate::hooks::components::{Function, ObjectionSeverity};
use crate::programs::HookAnswer;

impl Exchange {
    /// Asks hooks for context and other arguments before the gate rules on the call; returns whether there are such hooks.
    pub(super) fn ask_to_augment(&mut self, gate: &mut Gate) -> bool {
        let asks = self.tool_call().is_some_and(|call| gate.ask_to_augment(&call, self.number));
        if asks {
            self.stage = ExchangeStage::Components(Function::Augment);
        }
        asks
    }

    /// Asks hooks whether they object to the call as the gate ruled on it; returns whether there are such hooks.
    pub(super) fn ask_to_check(&mut self, gate: &mut Gate) -> bool {
        let ruled = self.tool_call().zip(self.ruling.as_ref());
        let asks = ruled.is_some_and(|(call, ruling)| gate.ask_to_check(&call, ruling, self.number));
        if asks {
            self.stage = ExchangeStage::Components(Function::PreTool);
        }
        asks
    }

    /// Shows third-party hooks how a call ended; gives the answer if none is asked and nothing else is left to do.
    pub(in crate::exchange) fn remark(&mut self, gate: &mut Gate) -> Option<HookAnswer> {
        if let (Some(call), Some((outcome, result))) = (self.tool_call(), self.settled.take()) {
            gate.refresh_hooks(lifecycle::name(self.event.kind()).unwrap_or_default());
            if gate.ask_to_settle(&call, &outcome, result.as_deref(), self.number) {
                self.stage = ExchangeStage::Components(Function::PostTool);
                return None;
            }
        }
        self.announce(gate)
    }

    /// Continues with the answers of third-party hooks.
    pub(in crate::exchange) fn continue_with_feedback(
        &mut self,
        gate: &mut Gate,
        function: Function,
        feedback: HookFeedback,
    ) -> Option<HookAnswer> {
        let objection = if function == Function::PreTool { gate.objection(&feedback) } else { None };
        self.told.extend(feedback.notes);
        self.told.extend(feedback.notices);
        match function {
            Function::Augment => {
                if let Some((hook, args)) = feedback.args
                    && let Some(refused) = self.rewrite_first(gate, &hook, args)
                {
                    return Some(refused);
                }
                self.judge(gate)
            }
            Function::PreTool => {
                let call = self.tool_call()?;
                match objection {
                    Some(objection) if objection.severity == ObjectionSeverity::Deny => {
                        return Some(withdraw(gate, &call, wording::reason(&objection.reason, &objection.code)));
                    }
                    Some(objection) if !(self.speech.asks)(&self.event) => {
                        let reason = wording::without_person(&objection.reason);
                        return Some(withdraw(gate, &call, wording::reason(&reason, &objection.code)));
                    }
                    Some(objection) => self.objection = Some((objection.reason, objection.code)),
                    None => {}
                }
                match self.reply.take() {
                    Some(reply) => self.conclude(gate, reply),
                    None => self.announce(gate),
                }
            }
            Function::PostTool | Function::Events => {
                self.withheld = feedback.withheld;
                self.announce(gate)
            }
        }
    }

    /// Gives the call the arguments that a third-party hook wants, before the gate rules on it; denies the call if the program
    /// cannot be given other arguments.
    fn rewrite_first(&mut self, gate: &Gate, hook: &str, args: Value) -> Option<HookAnswer> {
        if self.event.call.as_ref().is_none_or(|call| call.args == args) {
            return None;
        }
        if !(self.speech.rewrites)(&self.event) {
            let wanted = gate.ports().secrets.redact(&args.to_string()).into_owned();
            let reason = wording::other_arguments(&format!("hook {hook}"), self.program.title, &clean(&wanted, MAX_NOTE));
            return Some(HookAnswer::Deny(wording::reason(&reason, "hook")));
        }
        self.replace_args(args);
        None
    }
}
