//! Programs that Tollgate starts itself and that run confined: hooks and MCP servers declared with `"confine": true`.
//!
//! They are started by `tollgate confine --run ID -- …`, which finds in the state what they may change. A host that can restrict a process
//! itself does so instead of starting that command.

use super::Gate;
use super::confined::ConfinementPlan;
use crate::augment::{LookupRequest, Plan};
use crate::call::shell;
use crate::config::confine::Capability;
use crate::confine::evidence::{self, EvidenceKey};
use crate::confine::wrapping::Launcher;
use crate::engine::{Command, Input, Order, RunEnding};
use crate::intents::scope::Scope;
use crate::ports::Expectation;
use crate::state;

/// Why a program cannot be confined, and what to do about it.
const CANNOT: &str =
    "nothing here can confine it; install the native `tollgate` on the search path, on a system listed in docs/confinement.md";

/// A program to start.
struct ProgramLaunch<'a> {
    /// Its name in messages.
    title: String,
    /// The name under which its temporary folder is kept.
    owner: String,
    /// The id of its run.
    run: String,
    /// The session whose intent says what it may change.
    session: Option<&'a str>,
    argv: &'a [String],
    /// The indexes of the words that lead to a copy of a script, once there is one.
    copied: Vec<usize>,
}

/// How a program is started.
enum LaunchMode {
    /// Confined, with this launcher.
    Confined(Launcher),
    /// Unconfined.
    Plain,
    /// Not at all; the reason.
    Refused(String),
}

/// The name under which the run and the temporary folder of an MCP server are kept.
fn server_owner(server: &str) -> String {
    format!("server {server}")
}

/// A confined program that is under way.
pub(super) struct Running {
    command: u64,
    key: EvidenceKey,
}

impl Gate {
    /// Makes programs that are declared as confined run confined. Returns the endings of those that may not run.
    pub(super) fn confine_runs(&mut self, commands: &mut Vec<Command>) -> Vec<Input> {
        let mut refused = Vec::new();
        for command in std::mem::take(commands) {
            match self.confine_run(command) {
                Ok(command) => commands.push(command),
                Err(ended) => refused.push(ended),
            }
        }
        refused
    }

    fn confine_run(&mut self, mut command: Command) -> Result<Command, Input> {
        let Order::Run { argv, copy, surroundings, confine, .. } = &mut command.order else { return Ok(command) };
        let Some(confine) = confine.take() else { return Ok(command) };
        let program = ProgramLaunch {
            title: format!("the hook `{}`", surroundings.hook),
            owner: format!("hook {}", surroundings.hook),
            run: surroundings.run.clone(),
            session: confine.session.as_deref(),
            argv,
            copied: copy.iter().flat_map(|copy| &copy.arguments).map(|(at, _)| *at).collect(),
        };
        match self.start_confined(&program) {
            LaunchMode::Confined(launcher) => {
                self.running.push(Running { command: command.id, key: EvidenceKey::of_program(&program.run) });
                for (at, _) in copy.iter_mut().flat_map(|copy| &mut copy.arguments) {
                    *at += launcher.words().len();
                }
                *argv = launcher.launch(argv);
                Ok(command)
            }
            LaunchMode::Plain => Ok(command),
            LaunchMode::Refused(why) => Err(Input::Ended { command: command.id, ending: RunEnding::Failed(why) }),
        }
    }

    /// Forgets what programs that have ended were allowed to change.
    pub(super) fn forget_ended(&mut self, inputs: &[Input]) {
        let is_over = |running: &Running| {
            inputs.iter().any(|input| matches!(input, Input::Ended { command, .. } if *command == running.command))
        };
        for ended in self.running.extract_if(.., |running| is_over(running)) {
            evidence::forget(&ended.key, &self.ports);
        }
    }

    /// Makes MCP servers of a plan that are declared as confined run confined.
    pub(super) fn confine_servers(&mut self, plan: &mut Plan, session: &str) {
        for lookup in &mut plan.lookups {
            let LookupRequest::Mcp { server, start, .. } = &mut lookup.request else { continue };
            let Some(program) = start.as_mut().filter(|program| program.confine) else { continue };
            program.confine = false;
            match self.confined_server(server, &program.argv) {
                Ok(argv) => program.argv = argv,
                Err(why) => {
                    if self.claim_first_notice(session, &server_owner(server)) {
                        self.ports.warn(&why);
                    }
                    *start = None;
                }
            }
        }
    }

    /// The words that start an MCP server confined, or unconfined if nothing can confine it; the error says why it is not
    /// started.
    pub(super) fn confined_server(&mut self, server: &str, argv: &[String]) -> Result<Vec<String>, String> {
        let own = ProgramLaunch {
            title: format!("the MCP server `{server}`"),
            run: server_owner(server),
            owner: server_owner(server),
            // A server is shared by all sessions.
            session: None,
            argv,
            copied: Vec::new(),
        };
        match self.start_confined(&own) {
            LaunchMode::Confined(launcher) => Ok(launcher.launch(argv)),
            LaunchMode::Plain => Ok(argv.to_vec()),
            LaunchMode::Refused(why) => Err(why),
        }
    }

    fn start_confined(&mut self, program: &ProgramLaunch<'_>) -> LaunchMode {
        let ProgramLaunch { title, session, argv, .. } = program;
        let config = self.settings();
        let Some(confiner) = self.confiner.command(&self.ports).map(str::to_owned) else {
            if config.strict {
                return LaunchMode::Refused(format!(
                    "{title} does not run: it has to run confined, the settings are strict, and {CANNOT}"
                ));
            }
            if self.claim_first_notice(session.unwrap_or_default(), &program.owner) {
                self.ports.warn(&format!("{title} runs unconfined: {CANNOT}"));
            }
            return LaunchMode::Plain;
        };
        let intent = session.and_then(|session| self.current(session)).filter(|intent| intent.status.is_open());
        self.guarded.look_up(&self.ports);
        let footprint = shell::footprint_of_words(argv, "", &*self.ports.workspace);
        let settings = self.confinement(&config);
        let key = EvidenceKey::of_program(&program.run);
        let confinement = ConfinementPlan::new(&program.owner, &footprint, settings, Capability::Trees, key.clone());
        // Without an intent the program owns nothing; what the settings name and what tools build is open to it all the same.
        let nothing = Scope::default();
        let scope = intent.as_ref().map_or(&nothing, |intent| &intent.owned_scope);
        let answer = confinement.run_plan(intent.as_ref(), Some(scope), &self.guarded, &self.ports);
        let word = |(at, word): (usize, &String)| (!program.copied.contains(&at)).then(|| word.clone());
        let words = argv.iter().enumerate().map(word).collect();
        match evidence::prepare(&key, words, &answer, self.ports.clock.now(), &self.ports) {
            Ok(()) => LaunchMode::Confined(Launcher::new(&confiner, &self.confiner.workspace, self.state_folder(), &program.run)),
            Err(fault) => LaunchMode::Refused(format!(
                "{title} does not run: it has to run confined, and what it may change cannot be saved: {fault}"
            )),
        }
    }

    /// The folder with the state of all workspaces; `None` if it cannot be told.
    fn state_folder(&self) -> Option<String> {
        let own = self.look(&[state::question(".")]).pop()?.real_path?;
        let (folder, _) = own.rsplit_once(['/', '\\'])?;
        // A folder inside the workspace is given relative to it.
        let is_absolute = own.starts_with('/') || own.get(1..2) == Some(":");
        Some(if is_absolute { folder.to_owned() } else { format!("{}/{folder}", self.confiner.workspace) })
    }

    /// Whether this is the first time that a session is told that a program runs unconfined.
    fn claim_first_notice(&self, session: &str, owner: &str) -> bool {
        state::replace(&state::path("unconfined", &[session, owner]), b"{}", Expectation::Absent, &self.ports).is_ok()
    }
}
