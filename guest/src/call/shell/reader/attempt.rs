//! Interprets a program on trial: its effects are collected first, and recorded afterwards or discarded.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::ShellReader;
use super::arg::Arg;
use super::input::StandardInput;
use super::state::ShellState;
use crate::effects::{PathAccess, Persistence, Placement, Unconfinable};

/// What a program would do, not recorded yet.
pub(in crate::call::shell) struct CollectedEffects {
    pub(in crate::call::shell) touches: Vec<PathAccess>,
    pub(in crate::call::shell) unknowns: Vec<String>,
    pub(in crate::call::shell) controls: Vec<String>,
    placements: Vec<Placement>,
    moved: BTreeSet<String>,
    programs: BTreeSet<String>,
    unconfinable: Vec<Unconfinable>,
    persistence: Persistence,
}

impl ShellReader<'_> {
    /// Follows a program without recording what it does.
    pub(in crate::call::shell) fn attempt(
        &mut self,
        argv: &[Arg],
        state: &ShellState,
        input: &StandardInput,
    ) -> CollectedEffects {
        self.try_out(|trial| trial.run_program(argv, state, input))
    }

    /// Runs `follow` on a separate reader, without recording what it finds.
    fn try_out(&mut self, follow: impl FnOnce(&mut Self)) -> CollectedEffects {
        let already = self.touches.len();
        let mut trial = ShellReader {
            touches: self.touches.clone(),
            names_tollgate: self.names_tollgate,
            scripts: self.scripts,
            steps: self.steps,
            shells: self.shells,
            looked: RefCell::new(self.looked.take()),
            listed: self.listed.clone(),
            moved: self.moved.clone(),
            ..ShellReader::new(self.workspace)
        };
        follow(&mut trial);
        (self.steps, self.listed, self.scripts) = (trial.steps, trial.listed, trial.scripts);
        self.names_tollgate |= trial.names_tollgate;
        self.runs_own_text |= trial.runs_own_text;
        self.looked = trial.looked;
        CollectedEffects {
            touches: trial.touches.split_off(already),
            unknowns: trial.unknowns,
            controls: trial.controls,
            placements: trial.placements,
            moved: trial.moved,
            programs: trial.programs,
            unconfinable: trial.unconfinable,
            persistence: trial.persistence,
        }
    }

    /// Runs `follow`, and records only those commands in it that are reserved for a person.
    pub(in crate::call::shell) fn look_for_controls(&mut self, follow: impl FnOnce(&mut Self)) {
        let attempt = self.try_out(follow);
        attempt.controls.into_iter().for_each(|command| self.add_control(command));
    }

    /// Records the findings of an attempt.
    pub(in crate::call::shell) fn adopt(&mut self, attempt: CollectedEffects) {
        attempt.unknowns.into_iter().for_each(|why| self.add_unknown(why));
        attempt.controls.into_iter().for_each(|command| self.add_control(command));
        attempt.unconfinable.into_iter().for_each(|why| self.add_unconfinable(why));
        self.programs.extend(attempt.programs);
        let unnamed = self.unnamed;
        attempt.touches.into_iter().for_each(|touch| self.touch_path(touch.path, touch.access));
        self.unnamed = unnamed;
        self.placements.extend(attempt.placements);
        self.moved.extend(attempt.moved);
        self.record_persistence(attempt.persistence);
    }
}
