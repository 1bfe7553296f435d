//! Plans what `tollgate init` changes.

use serde_json::{Value, json};

use super::files_read::{Seen, SeenContent};
use super::hook::HookFindings;
use super::layout::{Layout, is_within, join};
use super::prefix::{Prefix, prefix};
use super::receipt::Receipt;
use crate::json::document::{Document, DocumentFault};
use crate::programs::wiring::{HooksFormat, SettingsPlace, SettingsReach, SettingsSource};
use crate::programs::{AgentProgram, EventKind, Wiring};

/// The file with the intents of a workspace, and the content of a new one.
const INTENTS: &str = crate::intents::file::PATH;
const INTENTS_TEMPLATE: &str = include_str!("active_intents.yaml");

/// Whose settings are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsScope {
    /// The workspace's, which a team can share.
    Workspace,
    /// The user's own, which count in every folder.
    User,
}

/// A file and its new content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The program it is for; `None` for the intents.
    pub program: Option<&'static str>,
    /// The path of the file.
    pub path: String,
    /// Its current content; `None` if it does not exist.
    pub before: Option<String>,
    /// Its new content; `None` if it is removed.
    pub after: Option<String>,
}

/// What `tollgate init` is asked to do.
#[derive(Debug, Default)]
pub struct PlanRequest {
    /// The program that hooks run: a name on the search path, or a path.
    pub command: String,
    /// The path of the native program that runs commands confined, if it exists and the system supports that.
    pub confiner: Option<String>,
    /// The agent programs to wire; if empty, those in use.
    pub programs: Vec<&'static AgentProgram>,
    /// Whose settings are changed; by default, whichever suits each program better.
    pub scope: Option<SettingsScope>,
    /// What was done in this workspace before.
    pub receipt: Receipt,
    /// What was done in other workspaces.
    pub others: Vec<Receipt>,
}

/// What `tollgate init` changes.
#[derive(Debug, Default)]
pub struct WiringPlan {
    /// The programs that get wired.
    pub programs: Vec<&'static AgentProgram>,
    /// The files that change.
    pub changes: Vec<FileEdit>,
    /// What a person should know, each line prefixed with the title of its program.
    pub notes: Vec<String>,
    /// Programs that could not be wired, with the reason; `None` stands for the intents.
    pub problems: Vec<(Option<&'static AgentProgram>, String)>,
    /// The receipt for all changes.
    pub receipt: Receipt,
}

/// The file that is written to wire a program.
pub fn target(wiring: &Wiring, scope: SettingsScope, layout: &Layout) -> Option<String> {
    let everywhere =
        |settings: &&SettingsSource| settings.reach == SettingsReach::Everywhere && settings.content.file_to_write("").is_some();
    let settings = match scope {
        SettingsScope::Workspace => wiring.settings.first(),
        SettingsScope::User => wiring.settings.iter().find(everywhere),
    }?;
    settings.content.file_to_write(&layout.path(settings.place)?)
}

/// The file with the workspace's intents.
pub fn intents_file(layout: &Layout) -> String {
    join(&layout.workspace, INTENTS)
}

/// Whether a program is in use here, judging by its files or its commands.
pub fn is_in_use(wiring: &Wiring, layout: &Layout, seen: &Seen) -> bool {
    wiring.signs.iter().filter_map(|sign| layout.path(*sign)).any(|path| seen.exists(&path))
        || wiring.commands.iter().any(|command| seen.is_on_path(command))
}

/// Plans the requested changes. A program that cannot be wired does not prevent the others from being wired.
pub fn plan(request: PlanRequest, layout: &Layout, seen: &Seen) -> WiringPlan {
    let PlanRequest { command, confiner, programs, scope, receipt, others } = request;
    let mut plan = WiringPlan { receipt, ..WiringPlan::default() };
    plan.receipt.workspace.clone_from(&layout.workspace);
    let known = plan.receipt.files.clone();
    let intents = intents_file(layout);
    match seen.file(&intents) {
        SeenContent::Missing => {
            plan.receipt.enter(None, &intents, None, INTENTS_TEMPLATE, &[]);
            plan.changes.push(FileEdit { program: None, path: intents, before: None, after: Some(INTENTS_TEMPLATE.to_owned()) });
        }
        SeenContent::Text(_) => {}
        SeenContent::Fault(why) => plan.problems.push((None, format!("`{}` is invalid: {why}", layout.display(&intents)))),
    }
    let named = !programs.is_empty();
    for (program, wiring) in super::wired_programs() {
        let is_asked_for = programs.iter().any(|named| std::ptr::eq(*named, program));
        if !if named { is_asked_for } else { is_in_use(wiring, layout, seen) } {
            continue;
        }
        match wire(program, wiring, (&command, confiner.as_deref()), scope, layout, seen) {
            Err(why) => plan.problems.push((Some(program), why)),
            Ok(Wired { files, notes }) => {
                plan.programs.push(program);
                plan.notes.extend(notes.into_iter().map(|note| format!("{}: {note}", program.title)));
                for change in files {
                    plan.add_edit(program, change, layout, &others);
                }
            }
        }
    }
    if plan.programs.is_empty() && plan.problems.is_empty() {
        let names: Vec<&str> = super::wired_programs().map(|(program, _)| program.name()).collect();
        plan.notes.push(format!(
            "no agent program is in use here; set one up with `--host NAME`, where NAME is one of: {}",
            names.join(", ")
        ));
    }
    // If a new file also serves another workspace, its folder may have been created for that workspace.
    let is_made_by = |other: &Receipt, folder: &str| other.folders.iter().any(|made| made == folder);
    let is_made = |folder: &&str| !seen.exists(folder) || others.iter().any(|other| is_made_by(other, folder));
    let touched = plan.receipt.files.iter().filter(|file| !known.contains(file));
    let folders = touched.flat_map(|file| layout.folders_above(&file.path));
    let mut made: Vec<String> = folders.filter(is_made).map(str::to_owned).collect();
    made.append(&mut plan.receipt.folders);
    made.sort();
    made.dedup();
    plan.receipt.folders = made;
    plan
}

impl WiringPlan {
    fn add_edit(&mut self, program: &'static AgentProgram, change: FileEdit, layout: &Layout, others: &[Receipt]) {
        let (before, after) = (change.before.as_deref(), change.after.as_deref().unwrap_or_default());
        let changes = before != Some(after);
        // A setting for all folders applies to this workspace too, no matter which workspace it was written for.
        let is_shared = !is_within(&change.path, &layout.workspace);
        if changes || (is_shared && self.receipt.file(&change.path).is_none()) {
            self.receipt.enter(Some(program.name()), &change.path, before, after, others);
        }
        if changes {
            self.changes.push(change);
        }
    }
}

/// A program's files, including those that stay as they are, and what a person should know.
struct Wired {
    files: Vec<FileEdit>,
    notes: Vec<String>,
}

fn wire(
    program: &'static AgentProgram,
    wiring: &Wiring,
    (command, confiner): (&str, Option<&str>),
    scope: Option<SettingsScope>,
    layout: &Layout,
    seen: &Seen,
) -> Result<Wired, String> {
    let found = HookFindings::of(program, wiring, layout, seen);
    let (path, why) = choose(program, wiring, scope, &found, layout)?;
    let mut notes = vec![why];
    let is_wired = found.before_tool(wiring).any(|hook| hook.file == path);
    let mut files = Vec::new();
    if let HooksFormat::Plugin(plugin) = wiring.form {
        if !is_wired {
            files.push(FileEdit { after: Some(plugin.to_owned()), ..unchanged_edit(program, &path, layout, seen)? });
            notes.extend(wiring.note.map(str::to_owned));
        }
        return Ok(Wired { files, notes });
    }
    notes.extend(wiring.note.map(str::to_owned));
    let mut settings = unchanged_edit(program, &path, layout, seen)?;
    let document = apply_edit(&settings, layout, |document| add_hooks(document, program, wiring, command, layout.windows))?;
    let server = json!({"command": command, "args": ["mcp-serve"]});
    // MCP servers that belong in the same file as the hooks are added there.
    let own = wiring.settings.first().map(|settings| settings.place);
    match wiring.servers {
        Some(servers) if Some(servers) == own => {
            document.set(Some("mcpServers"), "tollgate", &server).map_err(|why| left_alone_note(&settings.path, &why, layout))?;
        }
        Some(servers) => {
            if let Some(servers) = layout.path(servers) {
                let mut listed = unchanged_edit(program, &servers, layout, seen)?;
                let servers = apply_edit(&listed, layout, |document| document.set(Some("mcpServers"), "tollgate", &server))?;
                listed.after = Some(servers.text());
                files.push(listed);
            }
        }
        None => {}
    }
    match prefix(wiring, confiner, &path, layout, seen) {
        Some(Prefix::Left(note)) => notes.push(note),
        Some(Prefix::Set { variable, file }) => {
            let mut holder = unchanged_edit(program, &file, layout, seen)?;
            let value = confiner.into();
            if holder.path == settings.path {
                document.set(Some("env"), variable, &value).map_err(|why| left_alone_note(&holder.path, &why, layout))?;
            } else {
                holder.after = Some(apply_edit(&holder, layout, |document| document.set(Some("env"), variable, &value))?.text());
                files.push(holder);
            }
            notes.push(format!("its commands run confined, because {} names `tollgate` in `{variable}`", layout.display(&file)));
        }
        None => {}
    }
    settings.after = Some(document.text());
    files.push(settings);
    Ok(Wired { files, notes })
}

/// Chooses the file to write, and explains the choice.
fn choose(
    program: &AgentProgram,
    wiring: &Wiring,
    scope: Option<SettingsScope>,
    found: &HookFindings,
    layout: &Layout,
) -> Result<(String, String), String> {
    let name = program.name();
    let nowhere = || format!("there is no home folder to write the settings of {} to; name one with --home", program.title);
    let first = wiring.settings.first().ok_or_else(nowhere)?;
    if scope.is_none()
        && let Some(hook) = found.before_tool(wiring).find(|hook| hook.source.applies)
    {
        return Ok((hook.file.clone(), format!("already set up in {}", layout.display(&hook.file))));
    }
    let reads_here_only = first.reach == SettingsReach::StartFolder;
    let chosen =
        scope.unwrap_or(if reads_here_only && layout.starts_below() { SettingsScope::User } else { SettingsScope::Workspace });
    let path = target(wiring, chosen, layout).ok_or_else(nowhere)?;
    let shown = layout.display(&path);
    let is_users = !matches!(first.place, SettingsPlace::Workspace(_)) || chosen == SettingsScope::User;
    // A plugin that is already loaded must not be loaded twice.
    if let (HooksFormat::Plugin(_), Some(hook)) =
        (wiring.form, found.before_tool(wiring).find(|hook| hook.source.applies && hook.source.of_workspace != is_users))
    {
        return Ok((hook.file.clone(), format!("already set up in {}", layout.display(&hook.file))));
    }
    let why = match (is_users, scope) {
        (true, None) if reads_here_only => format!(
            "set up in {shown}, your own settings: started in `{}`, it would not read those of the workspace; in folders that are not governed, the hook does nothing",
            layout.start
        ),
        (true, _) => {
            format!(
                "set up in {shown}, your own settings, for every folder; in folders that are not governed, the hook does nothing"
            )
        }
        (false, _) if reads_here_only => format!(
            "set up in {shown}, which a team can commit; it is read only where the program is started in `{}` itself, and \
             `tollgate init --host {name} --scope user` sets it up for every folder",
            layout.workspace
        ),
        (false, _) => format!("set up in {shown}, which a team can commit"),
    };
    Ok((path, why))
}

/// A file edit that does not change anything yet.
fn unchanged_edit(program: &'static AgentProgram, path: &str, layout: &Layout, seen: &Seen) -> Result<FileEdit, String> {
    let before = match seen.file(path) {
        SeenContent::Missing => None,
        SeenContent::Text(text) => Some(text.to_owned()),
        SeenContent::Fault(why) => return Err(left_alone_note(path, &why, layout)),
    };
    // If the file is a link, its target is edited.
    Ok(FileEdit { program: Some(program.name()), path: seen.real(path).to_owned(), after: before.clone(), before })
}

fn apply_edit(
    change: &FileEdit,
    layout: &Layout,
    edit: impl FnOnce(&Document) -> Result<(), DocumentFault>,
) -> Result<Document, String> {
    let document = Document::parse(change.before.as_deref().unwrap_or_default());
    let document = document.and_then(|document| edit(&document).map(|()| document));
    document.map_err(|why| left_alone_note(&change.path, &why, layout))
}

fn left_alone_note(path: &str, why: &dyn std::fmt::Display, layout: &Layout) -> String {
    format!("`{}` is left as it is: {why}; fix it, or add the hooks by hand as docs/hosts.md shows", layout.display(path))
}

/// Adds the missing hooks of every event, and corrects timeouts that the program does not accept.
fn add_hooks(
    document: &Document,
    program: &AgentProgram,
    wiring: &Wiring,
    command: &str,
    windows: bool,
) -> Result<(), DocumentFault> {
    if matches!(wiring.form, HooksFormat::Flat | HooksFormat::Shells) {
        document.set(None, "version", &json!(1))?;
    }
    let command = quote(command, windows);
    let settings = document.value();
    for event in wiring.events {
        let listed = settings.get("hooks").and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
        let ours = listed.into_iter().flatten().enumerate().filter(|(_, entry)| program.is_our_entry(entry));
        let mut is_there = false;
        for (at, entry) in ours {
            is_there = true;
            fix_timeouts(document, program, wiring, event, (at, entry));
        }
        if !is_there {
            document.push("hooks", event, &program.hook_entry(&command, event))?;
        }
    }
    Ok(())
}

/// Replaces a timeout that is in the wrong unit or longer than the program allows.
fn fix_timeouts(document: &Document, program: &AgentProgram, wiring: &Wiring, event: &str, entry: (usize, &Value)) {
    let (at, entry) = entry;
    let kind = program.speech.as_ref().and_then(|speech| speech.event_of(event)).map_or(EventKind::Other, |(_, kind)| kind);
    let right = wiring.timeout.timeout_for(kind);
    let is_limited = wiring.timeout.shorter.iter().any(|(limited, _)| *limited == kind);
    let is_wrong = |timeout: u64| wiring.timeout.has_wrong_unit(timeout) || (is_limited && timeout > right);
    let handlers = match wiring.form {
        HooksFormat::Nested => entry.get("hooks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice),
        _ => std::slice::from_ref(entry),
    };
    for (place, handler) in handlers.iter().enumerate() {
        let is_ours = handler.get("command").and_then(Value::as_str).is_some_and(|command| program.is_our_command(command));
        if is_ours && handler.get("timeout").and_then(Value::as_u64).is_some_and(is_wrong) {
            let place = place.to_string();
            let below: &[&str] = if wiring.form == HooksFormat::Nested { &["hooks", &place, "timeout"] } else { &["timeout"] };
            document.set_number("hooks", event, at, below, right);
        }
    }
}

/// A program's path, quoted if necessary so that a shell reads it as one word.
fn quote(path: &str, windows: bool) -> String {
    let is_plain =
        |character: char| character.is_alphanumeric() || "/._-+:@%,=~".contains(character) || (windows && character == '\\');
    if path.chars().all(is_plain) {
        path.to_owned()
    } else if windows {
        format!("\"{path}\"")
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}
