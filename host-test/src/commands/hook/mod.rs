//! `tollgate hook HOST`: one event of a host on standard input, one answer on standard output.
//!
//! The adapter in `hosts/` reads and writes the host's words; the gate decides. This file only carries one to the other, and
//! says what becomes of faults. A hook that crashes lets the tool run, in every host, so nothing here may: what goes wrong is
//! answered. Where the gate does not answer before a tool runs, a person is asked; where nobody can be asked, or the call cannot be
//! understood, it is denied.

mod ground;
mod knowledge;
mod lifecycle;
mod own_tools;

use std::io::{self, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use tollgate::{Error, Outcome as Ending, Tollgate, ToolCall, Verdict};

use super::{log, say};
use crate::hosts::{self, Answer, Call, Event, Host, Moment, cut, salvage};
use lifecycle::lifecycle;

/// A longer payload is not read: the gate would not understand it either.
const MOST_BYTES: u64 = 48 << 20;

/// The options of `tollgate hook`.
#[derive(Args)]
pub(crate) struct Options {
    /// The host whose words are spoken
    #[arg(value_name = "HOST", value_parser = hosts::NAMES)]
    host: String,
    /// The event, for hosts whose payload does not name it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
}

impl Options {
    /// The options of a plain command line, without what it takes to explain a wrong one: a host waits for every call.
    pub(crate) fn plain(words: &[std::ffi::OsString]) -> Option<Self> {
        let words: Vec<&str> = words.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
        let (host, event) = match words.as_slice() {
            [_, "hook", host] => (*host, None),
            [_, "hook", host, "--event", event] => (*host, Some((*event).to_owned())),
            _ => return None,
        };
        hosts::named(host).map(|host| Self { host: host.name().to_owned(), event })
    }
}

/// The exit code that keeps a tool from running where the answer cannot be told in the host's own words.
const BLOCKED: i32 = 2;

/// Answers one event.
pub(crate) fn run(options: &Options) -> ExitCode {
    let Some(host) = hosts::named(&options.host) else { return super::failed("there is no such host") };
    let code = catch_unwind(AssertUnwindSafe(|| told(host, options))).unwrap_or_else(|_| {
        say("error: the hook failed; whether the call may run is not known, so it does not");
        BLOCKED
    });
    // The operating system clears away what is left, faster than we would.
    std::process::exit(code)
}

/// Reads one event, tells the host the answer, and returns the exit code.
fn told(host: &dyn Host, options: &Options) -> i32 {
    let mut payload = Vec::new();
    let read = io::stdin().lock().take(MOST_BYTES + 1).read_to_end(&mut payload);
    let named = options.event.as_deref();
    let mut event = match serde_json::from_slice(&payload) {
        Ok(payload) => host.read(payload, named),
        Err(why) => salvage(host, &payload, named, &why),
    };
    if let Err(why) = read {
        event.fault = Some(format!("standard input cannot be read: {why}"));
    } else if payload.len() as u64 > MOST_BYTES {
        event.fault = Some(format!("the payload is longer than {} MiB", MOST_BYTES >> 20));
    }
    drop(payload);
    // What does not even say what it is may be a call.
    if event.fault.is_some() && event.moment.is_none() {
        (event.name, event.moment) = (hosts::before_tool(host), Some(Moment::BeforeTool));
    }
    let mut gate = None;
    let answer = match (event.moment(), ground::governed(host, &event)) {
        (Moment::Other, _) | (_, None) => None,
        (moment, Some(root)) => answered(host, &event, &root, moment, &mut gate),
    };
    let refused = match &answer {
        Some(Answer::Deny(reason) | Answer::Ask(reason)) => Some(reason.clone()),
        _ => None,
    };
    let text = answer
        .and_then(|answer| host.answer(&event, answer))
        .map_or_else(|| host.silence().to_owned(), |answer| answer.to_string());
    let mut out = io::stdout().lock();
    let mut code = 0;
    if !text.is_empty() && writeln!(out, "{text}").and_then(|()| out.flush()).is_err() {
        say("error: the answer could not be written");
        // Silence would let the tool run.
        if let Some(reason) = refused {
            say(&reason);
            code = BLOCKED;
        }
    }
    // What could not be entered is tried again; the host has its answer.
    if let Some(Err(fault)) = gate.as_mut().map(finish) {
        say(&format!("error: {fault}"));
    }
    code
}

/// Waits for what the gate wants to try again.
fn finish(gate: &mut Tollgate) -> Result<(), Error> {
    let start = Instant::now();
    let now = || u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    while let Some(deadline) = gate.step(now(), &[])?.next_deadline_ms {
        thread::sleep(Duration::from_millis(deadline.saturating_sub(now())));
    }
    Ok(())
}

/// The answer, also where something fails.
fn answered(host: &dyn Host, event: &Event, root: &Path, moment: Moment, gate: &mut Option<Tollgate>) -> Option<Answer> {
    if let Some(why) = &event.fault {
        say(&format!("error: {why}"));
        let reason = format!("{why}; what the call does is not known, and unknown is not allowed");
        return (moment == Moment::BeforeTool).then(|| Answer::Deny(worded(&reason, "invalid_input")));
    }
    let responded = catch_unwind(AssertUnwindSafe(|| {
        let gate = match gate {
            Some(gate) => gate,
            None => gate.insert(Tollgate::builder().workspace(root).log(log).open()?),
        };
        Hook { host, event, gate, root }.respond(moment)
    }));
    match responded {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(fault)) => fault_of_our_own(host, event, root, &fault.to_string()),
        Err(_) => fault_of_our_own(host, event, root, "the hook failed"),
    }
}

/// What is answered where the gate has not answered: before a tool runs a person decides, unless the user lets faults pass.
fn fault_of_our_own(host: &dyn Host, event: &Event, root: &Path, why: &str) -> Option<Answer> {
    say(&format!("error: {why}"));
    if event.moment() != Moment::BeforeTool || ground::lets_faults_pass(root) {
        return None;
    }
    let why = format!("{why}; so nothing is known about the call");
    Some(if host.asks(event) {
        Answer::Ask(worded(&format!("{why}, and a person has to decide whether it may run"), "gate_fault"))
    } else {
        Answer::Deny(worded(&unaskable(&why), "gate_fault"))
    })
}

/// A reason as a model and a person read it, between the words of others.
fn worded(reason: &str, code: &str) -> String {
    format!("Tollgate: {reason} ({code})")
}

/// One event under way.
struct Hook<'a> {
    host: &'a dyn Host,
    event: &'a Event,
    gate: &'a mut Tollgate,
    root: &'a Path,
}

impl Hook<'_> {
    fn respond(&mut self, moment: Moment) -> Result<Answer, Error> {
        self.inherit()?;
        match (moment, &self.event.call) {
            (Moment::BeforeTool, Some(call)) => self.before_tool(call),
            (Moment::AfterTool, Some(call)) => self.after_tool(call),
            (Moment::SessionStart, _) => self.tell(Some("session_start")),
            (Moment::BeforeAgent, _) => self.tell(Some("before_agent")),
            (Moment::SubagentStart | Moment::Prompt, _) => self.tell(None),
            (Moment::AfterAgent, _) => self.tell(Some("after_agent")),
            (Moment::SessionEnd, _) => self.tell(Some("session_end")),
            (Moment::BeforeTool | Moment::AfterTool | Moment::Other, _) => Ok(Answer::Tell(String::new())),
        }
    }

    /// A sub-agent with a session of its own works for its parent's intent until it selects one.
    fn inherit(&mut self) -> Result<(), Error> {
        let Event { session, parent, .. } = self.event;
        match parent {
            Some(parent) if parent != session && self.gate.current_intent(session)?.is_none() => {
                self.gate.inherit_intent(session, parent)
            }
            _ => Ok(()),
        }
    }

    fn before_tool(&mut self, call: &Call) -> Result<Answer, Error> {
        let own = own_tools::own(&call.tool, &call.args);
        // Whatever the host puts before its name, it is ours, and the gate knows it.
        let asked = self.tool_call(call, own.as_ref().map_or(&call.tool, |own| own.name));
        let ruling = self.gate.pre_tool(&asked)?;
        if ruling.verdict == Verdict::Deny {
            return Ok(Answer::Deny(worded(&ruling.reason, &ruling.code)));
        }
        if ruling.verdict == Verdict::Ask && !self.host.asks(self.event) {
            return self.withdraw(&asked, worded(&unaskable(&ruling.reason), &ruling.code));
        }
        let session = &self.event.session;
        let said =
            lifecycle(self.gate, "before_tool", session, &json!({"tool_name": call.tool, "call_id": call.id, "args": call.args}));
        let said = match said {
            Ok(said) => said,
            Err(fault) => match fault_of_our_own(self.host, self.event, self.root, &fault.to_string()) {
                Some(Answer::Deny(reason)) => return self.withdraw(&asked, reason),
                Some(answer) => return Ok(answer),
                None => lifecycle::Word::default(),
            },
        };
        if !said.goes_on {
            let reason = said.message.unwrap_or_else(|| "a hook stopped the call and did not say why".to_owned());
            return self.withdraw(&asked, worded(&reason, "hook"));
        }
        // The server that carries the tool out does not learn which session called it.
        if let Some(Err(fault)) = own.map(|own| own.perform(self.gate, session)) {
            return self.withdraw(&asked, worded(&fault.to_string(), fault.code()));
        }
        if ruling.verdict == Verdict::Ask {
            return Ok(Answer::Ask(worded(&ruling.reason, &ruling.code)));
        }
        // What is amiss though the call may run, a person and the model should know.
        let amiss = Some(ruling.reason).filter(|reason| !reason.is_empty());
        if let Some(reason) = &amiss {
            say(&format!("warn: {reason}"));
        }
        let mut told: Vec<String> = said.message.into_iter().chain(amiss.map(|reason| format!("Tollgate: {reason}"))).collect();
        let known = knowledge::about(self.gate, &asked, self.root);
        let args = match known {
            Some(known) if known.args.is_some() && self.host.rewrites(self.event) => known.args,
            Some(known) => {
                // Where the host takes nothing now, it is told after the tool ran.
                told.extend(self.host.limit(Moment::BeforeTool).map(|_| known.text));
                None
            }
            None => None,
        };
        Ok(Answer::Allow { args, told: self.fitting(&told) })
    }

    fn after_tool(&mut self, call: &Call) -> Result<Answer, Error> {
        let own = own_tools::own(&call.tool, &call.args);
        let asked = self.tool_call(call, own.as_ref().map_or(&call.tool, |own| own.name));
        let settled = self.gate.post_tool(&asked, &call.outcome)?;
        let done = matches!(call.outcome, Ending::Done(_));
        let data = json!({"tool_name": call.tool, "call_id": call.id, "args": call.args, "success": done});
        let said = lifecycle(self.gate, "after_tool", &self.event.session, &data)?;
        let mut told: Vec<String> = settled.notice.into_iter().chain(said.message).collect();
        // Where nothing could be said before the tool ran, what is known is told now.
        if self.host.limit(Moment::BeforeTool).is_none()
            && let Some(known) = knowledge::about(self.gate, &asked, self.root)
            && !(known.args.is_some() && self.host.rewrites(self.event))
        {
            told.push(known.text);
        }
        Ok(Answer::Tell(self.fitting(&told)))
    }

    /// Tells what the session works for, and what hooks say.
    fn tell(&mut self, name: Option<&str>) -> Result<Answer, Error> {
        let session = &self.event.session;
        let said = match name {
            Some(name) => lifecycle(self.gate, name, session, &json!({"session_id": session}))?,
            None => lifecycle::Word::default(),
        };
        if let (false, Moment::BeforeAgent) = (said.goes_on, self.event.moment()) {
            let reason = said.message.unwrap_or_else(|| "a hook stopped it and did not say why".to_owned());
            return Ok(Answer::Stop(worded(&reason, "hook")));
        }
        let mut told = Vec::new();
        let ends = matches!(self.event.moment(), Moment::AfterAgent | Moment::SessionEnd);
        if let (Some(limit), false) = (self.host.limit(self.event.moment()), ends || session.is_empty()) {
            let room = limit.most().saturating_sub(said.message.as_ref().map_or(0, |message| message.len() + 2));
            told.push(self.gate.context(session, u32::try_from(room).unwrap_or(u32::MAX))?);
        }
        told.extend(said.message);
        Ok(Answer::Tell(self.fitting(&told)))
    }

    /// The call does not run after all: nobody waits for it, and nothing is entered as if it had.
    fn withdraw(&mut self, asked: &ToolCall, reason: String) -> Result<Answer, Error> {
        if let Err(fault) = self.gate.post_tool(asked, &Ending::Refused(reason.clone())) {
            say(&format!("error: {fault}"));
        }
        Ok(Answer::Deny(reason))
    }

    fn tool_call(&self, call: &Call, tool: &str) -> ToolCall {
        let Event { session, agent, cwd, .. } = self.event;
        ToolCall {
            session: session.clone(),
            agent: agent.clone(),
            call: call.id.clone(),
            host: Some(self.host.name().to_owned()),
            tool: tool.to_owned(),
            args: call.args.to_string().into_bytes(),
            cwd: cwd.clone(),
        }
    }

    /// What is told, within what the host takes at this moment. Where it takes nothing, a person may read it.
    fn fitting(&self, told: &[String]) -> String {
        let told: Vec<&str> = told.iter().map(|text| text.trim_end()).filter(|text| !text.is_empty()).collect();
        let told = told.join("\n\n");
        match self.host.limit(self.event.moment()) {
            Some(limit) => cut(&told, limit),
            None if matches!(self.event.moment(), Moment::AfterAgent | Moment::SessionEnd) => told,
            None => {
                if !told.is_empty() {
                    say(&told);
                }
                String::new()
            }
        }
    }
}

/// Why a call is denied that a person should decide on.
fn unaskable(why: &str) -> String {
    format!("{why}; nobody can be asked here, so it does not run: let a person run it")
}
