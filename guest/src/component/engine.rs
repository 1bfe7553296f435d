//! Converts the engine's inputs and commands from and to the WIT types.

use super::bindings::exports::tollgate::hooks::engine::{
    Approval, CheckedFile, Command, CopiedArgument, Ended, Ending, Event, Exited, Found, Guest, Input, Listening, Machine, Order,
    Prompt, Reply, Run, ScriptCopy, Surroundings, Turn,
};
use super::{Component, answer, lookup, with_exchanges};
use crate::engine;

impl Guest for Component {
    fn step(now_ms: u64, inputs: Vec<Input>) -> Turn {
        let inputs: Vec<engine::Input> = inputs.into_iter().map(input).collect();
        let turn = with_exchanges(|gate, exchanges| exchanges.step(gate, now_ms, &inputs));
        let command = |command: engine::Command| Command { id: command.id, order: order(command.order) };
        Turn { commands: turn.commands.into_iter().map(command).collect(), next_deadline_ms: turn.next_deadline_ms }
    }
}

fn input(input: Input) -> engine::Input {
    match input {
        Input::Machine(Machine { workspace, search_path, temporary, runs_prompts, confines }) => {
            engine::Input::Machine(engine::MachineReport { workspace, search_path, temporary, runs_prompts, confines })
        }
        // Data that is not JSON becomes null, which carries nothing.
        Input::Event(Event { name, session, data }) => {
            engine::Input::Event { name, session, data: serde_json::from_slice(&data).unwrap_or_default() }
        }
        Input::Ended(Ended { command, ending }) => engine::Input::Ended {
            command,
            ending: match ending {
                Ending::Exited(Exited { code, stdout, stderr, truncated }) => {
                    engine::RunEnding::Exited { code, stdout, stderr, truncated }
                }
                Ending::Missing => engine::RunEnding::Missing,
                Ending::Changed(path) => engine::RunEnding::Changed(path),
                Ending::Canceled => engine::RunEnding::Canceled,
                Ending::Failed(why) => engine::RunEnding::Failed(why),
            },
        },
        Input::Found(Found { command, answer: found }) => engine::Input::Found { command, answer: answer(found) },
        Input::Listening(Listening { trigger, failed }) => engine::Input::Listening { trigger, failed },
        Input::Cancel(run) => engine::Input::Cancel(run),
        Input::Reload => engine::Input::Reload,
        Input::Shutdown(drain) => engine::Input::Shutdown(drain),
    }
}

fn order(order: engine::Order) -> Order {
    match order {
        engine::Order::Run { argv, stdin, copy, surroundings: with, .. } => {
            Order::Run(Run { argv, stdin, copy: copy.map(script_copy), surroundings: surroundings(with) })
        }
        engine::Order::Prompt { text, argv, surroundings: with } => {
            Order::Prompt(Prompt { text, argv, surroundings: surroundings(with) })
        }
        engine::Order::LookUp(asked) => Order::LookUp(lookup(asked)),
        engine::Order::Cancel(command) => Order::Cancel(command),
        engine::Order::Reply { number, answer, refused } => Order::Reply(Reply { number, answer, refused }),
        engine::Order::Record(record) => Order::Record(record.to_string().into_bytes()),
        engine::Order::Approval { hook, digest, why, notice, shows } => {
            let shows = shows.to_string().into_bytes();
            Order::Approval(Approval { hook, digest, why: why.to_owned(), notice, shows })
        }
        engine::Order::Listen(trigger) => Order::Listen(trigger),
        engine::Order::Unlisten(trigger) => Order::Unlisten(trigger),
        engine::Order::Stopped => Order::Stopped,
    }
}

fn surroundings(with: engine::RunEnvironment) -> Surroundings {
    let engine::RunEnvironment { hook, run, cwd, inherit, set, output_bytes } = with;
    Surroundings { hook, run, cwd, inherit, set, output_bytes }
}

fn script_copy(copy: engine::Copy) -> ScriptCopy {
    let argument = |(at, path): (usize, String)| CopiedArgument { index: u32::try_from(at).unwrap_or(u32::MAX), path };
    ScriptCopy {
        files: copy.files.into_iter().map(|(path, digest)| CheckedFile { path, digest }).collect(),
        arguments: copy.arguments.into_iter().map(argument).collect(),
        folders: copy.folders,
    }
}
