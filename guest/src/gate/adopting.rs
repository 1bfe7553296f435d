//! Sessions that have not selected an intent take the workspace's default, or the only open one.

use std::rc::Rc;

use super::{Gate, Refusal};
use crate::config::{Config, Select};
use crate::inflight::{lease, rulings};
use crate::intents::file::Intents;
use crate::intents::intent::{Intent, IntentId};
use crate::intents::selection::{self, Selection, SelectionSource};
use crate::ports::{Facts, FileFault, FileKind};

impl Gate {
    /// The intent that a session works for, given what the host saw of its selection. A session without an intent takes the
    /// default or the only open one, if there is one to take, and keeps it.
    pub(super) fn intent_of(&mut self, session: &str, own: &Facts, intents: &Intents, config: &Config) -> Option<IntentId> {
        let current = self.selections.current(session, own.stamp, &self.ports);
        let is_open = |id: &IntentId| intents.find(id).is_some_and(|intent| intent.status.is_open());
        if current.as_ref().is_some_and(is_open) {
            return current;
        }
        let has_default = self.has_default();
        if !has_default && config.select != Select::Single {
            return current;
        }
        let root = selection::root(session, &self.ports);
        // An explicit selection for this session, including none, is not overruled.
        if selection::is_known(&root, &self.ports) && selection::read(&root, &self.ports).by.is_none() {
            return current;
        }
        let by_default = selection::default_intent(&self.ports)
            .filter(|_| has_default)
            .filter(is_open)
            .map(|id| (id, SelectionSource::Default));
        let Some((intent, by)) = by_default.or_else(|| only_open_intent(intents, config)) else { return current };
        let now = self.ports.clock.now();
        let since = Some(now.to_string());
        let selection = Selection { session: root, intent: Some(intent.clone()), parent: None, by: Some(by), since };
        if let Err(fault) = selection::keep(&selection, &self.ports) {
            self.ports.warn(&format!("the intent `{intent}` cannot be saved for the session: {fault}"));
        }
        lease::sweep(now, &self.ports);
        rulings::sweep(now, &self.ports);
        Some(intent)
    }

    /// Whether a session without a selection would take an intent by itself.
    pub(super) fn would_adopt(&mut self) -> bool {
        self.has_default() || self.settings().select == Select::Single
    }

    /// Whether the workspace has a default intent, even one that cannot be used.
    fn has_default(&self) -> bool {
        self.look(&[selection::default_question()]).first().is_some_and(|facts| facts.kind != FileKind::Missing)
    }

    /// Sets the intent that new sessions work for; `None` removes it.
    pub fn select_default(&mut self, intent: Option<&str>) -> Result<Option<Intent>, Refusal> {
        let found = intent.map(|intent| self.selectable(intent)).transpose()?;
        selection::keep_default(found.as_ref().map(|intent| &intent.id), &self.ports).map_err(Refusal::NotKept)?;
        Ok(found)
    }

    /// The intent that new sessions work for.
    pub fn default_intent(&self) -> Option<IntentId> {
        selection::default_intent(&self.ports)
    }

    /// Leaves the session without an intent, its parent's included, even if it would otherwise take one by itself.
    pub fn clear(&mut self, session: &str) -> Result<(), FileFault> {
        let selected = selection::read(session, &self.ports);
        if selected.intent.is_none() && selected.parent.is_none() && !self.would_adopt() {
            return Ok(());
        }
        self.change(session, |selection| (selection.intent, selection.parent, selection.by) = (None, None, None))
    }

    pub(super) fn selected_intent(&mut self, session: &str, intents: &Rc<Intents>) -> Option<Intent> {
        let config = self.settings();
        let own = self.look(&[selection::question(session)]).pop()?;
        let id = self.intent_of(session, &own, intents, &config)?;
        intents.find(&id).cloned()
    }
}

fn only_open_intent(intents: &Intents, config: &Config) -> Option<(IntentId, SelectionSource)> {
    let mut open = intents.all().iter().filter(|intent| intent.status.is_open());
    match (config.select, open.next(), open.next()) {
        (Select::Single, Some(only), None) => Some((only.id.clone(), SelectionSource::Single)),
        _ => None,
    }
}
