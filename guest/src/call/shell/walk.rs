//! The grammar's tree, walked along every way a command line can take.

use std::rc::Rc;

use brush_parser::ast::{
    AndOr, AndOrList, Command, CompoundCommand, CompoundList, ExtendedTestExpr, FunctionDefinition, IfClauseCommand, Pipeline,
    Program, SeparatorOperator, WhileOrUntilClauseCommand,
};

use super::names::Names;
use super::trace::{Input, Trace};
use super::value::UNKNOWN;
use super::words::Words;
use super::world::{Function, World, blurred, merged};

/// A loop over more words is followed once, with a word that is not known.
const MOST_ROUNDS: usize = 256;

/// Where a piece of the tree stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    /// The words of the text that the tree was read from.
    pub(super) words: &'p Rc<Words>,
    /// What is read from here.
    pub(super) input: &'p Input,
}

pub(super) type Worlds = Vec<World>;
/// What a loop repeats.
type Body<'b, T> = dyn FnMut(&mut T, Worlds) -> Worlds + 'b;

impl Trace<'_> {
    /// Takes worlds together.
    pub(super) fn merge(&mut self, worlds: Worlds) -> Worlds {
        let (worlds, certain) = merged(worlds);
        if !certain {
            self.unknown("which functions are defined depends on what happens when it runs".to_owned());
        }
        worlds
    }

    pub(super) fn program(&mut self, program: &Program, mut worlds: Worlds, place: Place<'_>) -> Worlds {
        for list in &program.complete_commands {
            worlds = self.list(list, worlds, place);
        }
        worlds
    }

    pub(super) fn list(&mut self, list: &CompoundList, mut worlds: Worlds, place: Place<'_>) -> Worlds {
        for item in &list.0 {
            if worlds.is_empty() {
                return worlds;
            }
            match item.1 {
                SeparatorOperator::Sequence => worlds = self.and_or(&item.0, worlds, place),
                SeparatorOperator::Async => {
                    self.apart(|trace| trace.and_or(&item.0, worlds.clone(), place));
                    worlds.iter_mut().for_each(|world| world.status = Some(true));
                }
            }
        }
        worlds
    }

    /// Runs something in a process of its own: nothing of it comes back.
    pub(super) fn apart<T>(&mut self, go: impl FnOnce(&mut Self) -> T) -> T {
        let parked = [&mut self.broken, &mut self.continued, &mut self.returned].map(std::mem::take);
        let out = go(self);
        [self.broken, self.continued, self.returned] = parked;
        out
    }

    fn and_or(&mut self, list: &AndOrList, worlds: Worlds, place: Place<'_>) -> Worlds {
        let mut worlds = self.pipeline(&list.first, worlds, place);
        for next in &list.additional {
            let (pipeline, wanted) = match next {
                AndOr::And(pipeline) => (pipeline, true),
                AndOr::Or(pipeline) => (pipeline, false),
            };
            let (mut skipped, mut taken) = (Vec::new(), Vec::new());
            for world in worlds {
                if world.status != Some(wanted) {
                    skipped.push(world.clone().with_status(Some(!wanted)));
                }
                if world.status != Some(!wanted) {
                    taken.push(world);
                }
            }
            if !taken.is_empty() {
                skipped.extend(self.pipeline(pipeline, taken, place));
            }
            worlds = self.merge(skipped);
        }
        worlds
    }

    fn pipeline(&mut self, pipeline: &Pipeline, worlds: Worlds, place: Place<'_>) -> Worlds {
        let mut worlds = match pipeline.seq.as_slice() {
            [] => worlds,
            [command] => self.command(command, worlds, place),
            stages => {
                let mut input = place.input.clone();
                for stage in stages {
                    self.said = None;
                    let single = worlds.len() == 1;
                    let here = Place { input: &input, ..place };
                    self.apart(|trace| trace.command(stage, worlds.clone(), here));
                    let said = self.said.take().filter(|_| single && matches!(stage, Command::Simple(_)));
                    input = said.map_or(Input::Unknown, Input::Text);
                }
                self.said = None;
                worlds.into_iter().map(|world| world.with_status(None)).collect()
            }
        };
        if pipeline.bang {
            worlds.iter_mut().for_each(|world| world.status = world.status.map(|status| !status));
        }
        worlds
    }

    fn command(&mut self, command: &Command, worlds: Worlds, place: Place<'_>) -> Worlds {
        if !self.step() {
            return Vec::new();
        }
        match command {
            Command::Simple(simple) => {
                let mut after = Vec::new();
                for world in worlds {
                    after.extend(self.simple(simple, world, place));
                }
                self.merge(after)
            }
            Command::Compound(compound, redirects) => {
                self.redirected(redirects.as_ref(), worlds, place, |trace, worlds, place| {
                    trace.deeper(|trace| trace.compound(compound, worlds, place))
                })
            }
            Command::Function(definition) => self.define(definition, worlds, place),
            Command::ExtendedTest(test, redirects) => {
                self.redirected(redirects.as_ref(), worlds, place, |trace, mut worlds, place| {
                    for world in &mut worlds {
                        trace.test(&test.expr, world, place);
                        world.status = None;
                    }
                    worlds
                })
            }
        }
    }

    fn define(&mut self, definition: &FunctionDefinition, mut worlds: Worlds, place: Place<'_>) -> Worlds {
        let (name, _) = place.words.written(&definition.fname.value);
        let function = Function { body: Rc::new(definition.body.clone()), words: place.words.clone() };
        for world in &mut worlds {
            world.define(&name, function.clone());
            world.status = Some(true);
        }
        worlds
    }

    /// Follows a function's body.
    pub(super) fn call(&mut self, function: &Function, args: Vec<String>, world: World, input: &Input) -> Worlds {
        let outer = world.positional.clone();
        let mut inner = world;
        inner.positional = Some(Rc::new(args));
        let parked = std::mem::take(&mut self.returned);
        let place = Place { words: &function.words, input };
        let mut after = self.deeper(|trace| {
            trace.redirected(function.body.1.as_ref(), vec![inner], place, |trace, worlds, place| {
                trace.deeper(|trace| trace.compound(&function.body.0, worlds, place))
            })
        });
        after.extend(std::mem::replace(&mut self.returned, parked));
        after.iter_mut().for_each(|world| world.positional = outer.clone());
        self.said = None;
        self.merge(after)
    }

    pub(super) fn compound(&mut self, compound: &CompoundCommand, worlds: Worlds, place: Place<'_>) -> Worlds {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list, worlds, place),
            CompoundCommand::Subshell(subshell) => self.subshell(&subshell.list, worlds, place),
            CompoundCommand::Coprocess(coprocess) => {
                let place = Place { input: &Input::Unknown, ..place };
                self.apart(|trace| trace.command(&coprocess.body, worlds.clone(), place));
                worlds
            }
            CompoundCommand::IfClause(clause) => self.choose(clause, worlds, place),
            CompoundCommand::CaseClause(case) => {
                let mut after = Vec::new();
                let mut before = worlds;
                for world in &mut before {
                    self.word(&case.value.value, world, place);
                    for pattern in case.cases.iter().flat_map(|item| &item.patterns) {
                        self.word(&pattern.value, world, place);
                    }
                }
                for commands in case.cases.iter().filter_map(|item| item.cmd.as_ref()) {
                    // Some items go on into the next one, so each starts from whatever came before.
                    let from: Worlds = before.iter().chain(&after).cloned().collect();
                    let from = self.merge(from);
                    after.extend(self.list(commands, from, place));
                }
                after.extend(before.into_iter().map(|world| world.with_status(None)));
                self.merge(after)
            }
            CompoundCommand::WhileClause(clause) => self.repeat_while(clause, true, worlds, place),
            CompoundCommand::UntilClause(clause) => self.repeat_while(clause, false, worlds, place),
            CompoundCommand::Arithmetic(arithmetic) => {
                let mut worlds = worlds;
                for world in &mut worlds {
                    let (text, _) = place.words.written(&arithmetic.expr.value);
                    self.arithmetic(&text, world);
                    world.status = None;
                }
                worlds
            }
            CompoundCommand::ArithmeticForClause(clause) => {
                let mut worlds = worlds;
                for part in [&clause.initializer, &clause.condition, &clause.updater].into_iter().flatten() {
                    for world in &mut worlds {
                        let (text, _) = place.words.written(&part.value);
                        self.arithmetic(&text, world);
                    }
                }
                self.repeat(worlds, &mut |trace, worlds| trace.list(&clause.body.list, worlds, place))
            }
            CompoundCommand::ForClause(clause) => {
                let mut after = Vec::new();
                for mut world in worlds {
                    let name = clause.variable_name.as_str();
                    let values = match &clause.values {
                        Some(words) => {
                            let args: Vec<_> = words
                                .iter()
                                .flat_map(|word| {
                                    let (raw, _) = place.words.written(&word.value);
                                    self.fields(&raw, &mut world)
                                })
                                .collect();
                            let mut values = Vec::new();
                            for arg in args {
                                match self.names(&world, &arg) {
                                    Names::These(names) if arg.is_known() => values.extend(names),
                                    _ => values.push(UNKNOWN.to_string()),
                                }
                            }
                            values
                        }
                        None => world.positional.as_ref().map_or_else(|| vec![UNKNOWN.to_string()], |list| list.to_vec()),
                    };
                    after.extend(
                        self.each(name, values, world, &mut |trace, worlds| trace.list(&clause.body.list, worlds, place)),
                    );
                }
                self.merge(after)
            }
        }
    }

    pub(super) fn subshell(&mut self, list: &CompoundList, worlds: Worlds, place: Place<'_>) -> Worlds {
        self.apart(|trace| trace.list(list, worlds.clone(), place));
        self.said = None;
        worlds.into_iter().map(|world| world.with_status(None)).collect()
    }

    fn choose(&mut self, clause: &IfClauseCommand, worlds: Worlds, place: Place<'_>) -> Worlds {
        let mut after = Vec::new();
        let mut rest = self.list(&clause.condition, worlds, place);
        let taken = |worlds: &Worlds| worlds.iter().filter(|world| world.status != Some(false)).cloned().collect::<Worlds>();
        let left = |worlds: Worlds| worlds.into_iter().filter(|world| world.status != Some(true)).collect::<Worlds>();
        after.extend(self.list(&clause.then, taken(&rest), place));
        rest = left(rest);
        for clause in clause.elses.iter().flatten() {
            match &clause.condition {
                Some(condition) => {
                    rest = self.list(condition, rest, place);
                    after.extend(self.list(&clause.body, taken(&rest), place));
                    rest = left(rest);
                }
                None => after.extend(self.list(&clause.body, std::mem::take(&mut rest), place)),
            }
        }
        after.extend(rest.into_iter().map(|world| world.with_status(Some(true))));
        self.merge(after)
    }

    fn repeat_while(&mut self, clause: &WhileOrUntilClauseCommand, wanted: bool, worlds: Worlds, place: Place<'_>) -> Worlds {
        self.repeat(worlds, &mut |trace, worlds| {
            let tested = trace.list(&clause.0, worlds, place);
            let (mut stays, goes): (Worlds, Worlds) = tested.into_iter().partition(|world| world.status == Some(!wanted));
            stays.extend(trace.list(&clause.1.list, goes, place));
            stays
        })
    }

    /// Follows a loop's body until nothing new comes of it, or until what changes is taken as not known.
    fn repeat(&mut self, worlds: Worlds, body: &mut Body<'_, Self>) -> Worlds {
        let parked = [&mut self.broken, &mut self.continued].map(std::mem::take);
        let mut all = worlds;
        for round in 0..4 {
            let mut next = all.clone();
            next.extend(body(self, all.clone()));
            next.append(&mut self.continued);
            next = self.merge(next);
            let settled = next.len() == all.len();
            all = next;
            if settled {
                break;
            }
            if round == 2 {
                let (one, certain) = blurred(all);
                if !certain {
                    self.unknown("which functions are defined depends on what happens when it runs".to_owned());
                }
                all = one;
            }
        }
        all.append(&mut self.broken);
        [self.broken, self.continued] = parked;
        let all = all.into_iter().map(|world| world.with_status(None)).collect();
        self.merge(all)
    }

    /// Follows a loop's body once for every word.
    fn each(&mut self, name: &str, mut values: Vec<String>, world: World, body: &mut Body<'_, Self>) -> Worlds {
        let open_ended = values.iter().any(|value| value.contains(UNKNOWN));
        if values.len() > MOST_ROUNDS || open_ended {
            let known: Vec<String> = values.iter().filter(|value| !value.contains(UNKNOWN)).take(MOST_ROUNDS).cloned().collect();
            let mut after = if known.is_empty() { vec![world] } else { self.each(name, known, world, body) };
            // Words with an unknown part keep what is known of them.
            values.retain(|value| value.contains(UNKNOWN));
            values.truncate(4);
            values.resize(values.len().max(1), UNKNOWN.to_string());
            for value in values {
                after = self.repeat(after, &mut |trace, mut worlds| {
                    worlds.iter_mut().for_each(|world| world.set(name, value.clone()));
                    body(trace, worlds)
                });
            }
            return after;
        }
        let parked = [&mut self.broken, &mut self.continued].map(std::mem::take);
        let mut worlds = vec![world];
        for value in values {
            worlds.iter_mut().for_each(|world| world.set(name, value.clone()));
            if worlds.is_empty() {
                break;
            }
            worlds = body(self, worlds);
            worlds.append(&mut self.continued);
            worlds = self.merge(worlds);
        }
        worlds.append(&mut self.broken);
        [self.broken, self.continued] = parked;
        worlds.into_iter().map(|world| world.with_status(None)).collect()
    }

    /// Expands a word for what its expansion does.
    pub(super) fn word(&mut self, word: &str, world: &mut World, place: Place<'_>) {
        let (raw, _) = place.words.written(word);
        self.scalar(&raw, world);
    }

    fn test(&mut self, expression: &ExtendedTestExpr, world: &mut World, place: Place<'_>) {
        // A long chain of `&&` leans to the left, as deep as it is long.
        let mut rest = vec![expression];
        while let Some(expression) = rest.pop() {
            match expression {
                ExtendedTestExpr::And(left, right) | ExtendedTestExpr::Or(left, right) => rest.extend([&**left, &**right]),
                ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => rest.push(inner),
                ExtendedTestExpr::UnaryTest(_, word) => self.word(&word.value, world, place),
                ExtendedTestExpr::BinaryTest(_, left, right) => {
                    self.word(&left.value, world, place);
                    self.word(&right.value, world, place);
                }
            }
        }
    }
}
