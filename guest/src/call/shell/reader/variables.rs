//! Assigning and exporting variables.

use super::super::programs::environment;
use super::ShellReader;
use super::arg::display;
use super::state::{ShellState, Value};

/// The most variables that are tracked.
const MAX_VARIABLES: usize = 256;

impl ShellReader<'_> {
    /// Whether a name is a plain variable; if not, records why.
    pub(super) fn may_assign(&mut self, name: &str) -> bool {
        let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !environment::belongs_to_shell(name);
        if !plain {
            self.add_unknown(format!("`{}` is a variable that changes what the shell does", display(name)));
        }
        plain
    }

    /// `name=value` as a whole command.
    pub(super) fn assign(&mut self, name: &str, value: Value, state: &mut ShellState) {
        if !self.may_assign(name) {
            return;
        }
        if state.variables() >= MAX_VARIABLES {
            return self.add_unknown(format!("the command sets more than {MAX_VARIABLES} variables, `{name}` among them"));
        }
        // The variable may already be exported.
        if environment::may_influence(name) && !is_harmless(name, Some(&value)) {
            influence(state, name);
        }
        state.set_variable(name, value);
    }

    /// Exports a variable, so that programs see it.
    pub(super) fn export(&mut self, name: &str, value: Option<&Value>, state: &mut ShellState) {
        if self.may_assign(name) && !is_harmless(name, value) {
            influence(state, name);
        }
    }
}

/// Remembers that a variable may change what programs do. A variable that determines what they write is not replaced by another
/// one.
fn influence(state: &mut ShellState, name: &str) {
    if !state.influence.as_deref().is_some_and(environment::names_an_output) {
        state.influence = Some(name.into());
    }
}

fn is_harmless(name: &str, value: Option<&Value>) -> bool {
    let text = match value {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    environment::is_harmless(name, text)
}
