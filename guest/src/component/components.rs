//! Converts calls of component hooks from and to the WIT types.

use super::bindings::exports::tollgate::hooks::components as contract;
use super::bindings::exports::tollgate::hooks::components::Guest;
use super::{Component, operation, types, with_gate};
use crate::hooks::components::files::{Granted, ReadFault};
use crate::hooks::components::{
    Ask, Call, ComponentAnswer, ComponentQuestion, ComponentReply, Limits, ObjectionSeverity, Subject, ToolOutcome,
};

impl Guest for Component {
    fn due() -> Vec<contract::Ask> {
        with_gate(|gate| gate.due()).into_iter().map(ask).collect()
    }

    fn report(number: u64, answers: Vec<contract::Answer>) {
        let answers: Vec<ComponentAnswer> = answers.into_iter().map(answer).collect();
        with_gate(|gate| gate.report(number, &answers));
    }

    fn read(files: Vec<Vec<String>>, path: String, limit_bytes: u64) -> Result<Vec<u8>, contract::ReadFault> {
        with_gate(|gate| Granted::new(&files).read(&path, limit_bytes, gate.ports())).map_err(read_fault)
    }

    fn find(files: Vec<Vec<String>>, glob: String) -> Result<Vec<String>, contract::ReadFault> {
        with_gate(|gate| Granted::new(&files).find(&glob, gate.ports())).map_err(read_fault)
    }
}

fn read_fault(fault: ReadFault) -> contract::ReadFault {
    match fault {
        ReadFault::Denied => contract::ReadFault::Denied,
        ReadFault::Missing => contract::ReadFault::Missing,
        ReadFault::TooLarge => contract::ReadFault::TooLarge,
        ReadFault::OtherKind => contract::ReadFault::OtherKind,
        ReadFault::Other => contract::ReadFault::Other,
    }
}

fn ask(ask: Ask) -> contract::Ask {
    let subject = match ask.subject {
        Subject::Augment(about) => contract::Subject::Augment(call(about)),
        Subject::PreTool(about) => contract::Subject::PreTool(call(about)),
        Subject::PostTool(about, outcome) => {
            let outcome = match outcome {
                ToolOutcome::Done(result) => contract::Outcome::Done(result),
                ToolOutcome::Failed(error) => contract::Outcome::Failed(error),
                ToolOutcome::Refused(why) => contract::Outcome::Refused(why),
            };
            contract::Subject::PostTool(contract::EndedCall { call: call(about), outcome })
        }
        Subject::Event { name, session, data } => contract::Subject::Event(contract::Event { name, session, data }),
    };
    let questions = ask.questions.into_iter().map(question).collect();
    contract::Ask { number: ask.number, round: contract::Round { subject, questions } }
}

fn call(call: Call) -> contract::Call {
    let Call { session, id, tool, args, effects, complete, facts } = call;
    let effects = effects.into_iter().map(|(path, done)| types::Effect { path, operation: operation(done) }).collect();
    contract::Call { session, id, tool, args, effects, complete, facts }
}

fn question(question: ComponentQuestion) -> contract::Question {
    let ComponentQuestion { hook, component, files, settings, limits } = question;
    let Limits { cpu_ms, wall_ms, start_ms, memory_bytes, lifted_bytes, read_bytes } = limits;
    let limits = contract::Limits { cpu_ms, wall_ms, start_ms, memory_bytes, lifted_bytes, read_bytes };
    contract::Question { hook, component, files, settings, limits }
}

fn answer(answer: contract::Answer) -> ComponentAnswer {
    let reply = match answer.reply {
        contract::Reply::Nothing => ComponentReply::Nothing,
        contract::Reply::Advice(contract::Advice { note, args }) => ComponentReply::Advice { note, args },
        contract::Reply::Objection(contract::Objection { severity, code, reason }) => {
            let severity = match severity {
                contract::Severity::Ask => ObjectionSeverity::Ask,
                contract::Severity::Deny => ObjectionSeverity::Deny,
            };
            ComponentReply::Objection { severity, code, reason }
        }
        contract::Reply::Remark(contract::Remark { code, text, withhold }) => ComponentReply::Remark { code, text, withhold },
        contract::Reply::Reaction(contract::Reaction { stop, message }) => ComponentReply::Reaction { stop, message },
        contract::Reply::UnusableSettings(why) => ComponentReply::UnusableSettings(why),
        contract::Reply::Failed(why) => ComponentReply::Failed(why),
        contract::Reply::Broke(why) => ComponentReply::Broke(why),
        contract::Reply::Late => ComponentReply::Late,
        contract::Reply::Absent(why) => ComponentReply::Absent(why),
    };
    let log = answer.log.into_iter().map(|line| (line.level, line.text)).collect();
    ComponentAnswer { hook: answer.hook, reply, took_us: answer.took_us, log }
}
