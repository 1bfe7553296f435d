//! The grammar's tree, walked along every way a command line can take.

use std::rc::Rc;

use super::names::Names;
use super::trace::{Input, Trace};
use super::tree::{Body, Branch, Command, Compound, Item, List, Pipeline};
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
type Round<'b, T> = dyn FnMut(&mut T, Worlds) -> Worlds + 'b;

impl Trace<'_> {
    /// Takes worlds together.
    pub(super) fn merge(&mut self, worlds: Worlds) -> Worlds {
        let (worlds, certain) = merged(worlds);
        if !certain {
            self.unknown("which functions are defined depends on what happens when it runs".to_owned());
        }
        worlds
    }

    pub(super) fn list(&mut self, list: &List, mut worlds: Worlds, place: Place<'_>) -> Worlds {
        for item in list {
            if worlds.is_empty() {
                return worlds;
            }
            if item.background {
                self.apart(|trace| trace.item(item, worlds.clone(), place));
                worlds.iter_mut().for_each(|world| world.status = Some(true));
            } else {
                worlds = self.item(item, worlds, place);
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

    fn item(&mut self, item: &Item, worlds: Worlds, place: Place<'_>) -> Worlds {
        let mut worlds = self.pipeline(&item.first, worlds, place);
        for next in &item.rest {
            let wanted = next.wanted;
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
                skipped.extend(self.pipeline(&next.pipeline, taken, place));
            }
            worlds = self.merge(skipped);
        }
        worlds
    }

    fn pipeline(&mut self, pipeline: &Pipeline, worlds: Worlds, place: Place<'_>) -> Worlds {
        let mut worlds = match pipeline.stages.as_slice() {
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
        if pipeline.negated {
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
            Command::Compound(body) => self.body(body, worlds, place),
            Command::Function { name, body } => define(name, body, worlds, place),
            Command::Test(tests, redirects) => self.redirected(redirects, worlds, place, &mut |trace, mut worlds, place| {
                for world in &mut worlds {
                    // Backwards, which matters only where two tests of one command set the same variable.
                    for word in tests.iter().rev().flatten() {
                        trace.word(word, world, place);
                    }
                    world.status = None;
                }
                worlds
            }),
        }
    }

    fn body(&mut self, body: &Body, worlds: Worlds, place: Place<'_>) -> Worlds {
        self.redirected(&body.redirects, worlds, place, &mut |trace, worlds, place| {
            trace.deeper(|trace| trace.compound(&body.compound, worlds, place))
        })
    }

    /// Follows a function's body.
    pub(super) fn call(&mut self, function: &Function, args: Vec<String>, world: World, input: &Input) -> Worlds {
        let outer = world.positional.clone();
        let mut inner = world;
        inner.positional = Some(Rc::new(args));
        let parked = std::mem::take(&mut self.returned);
        let place = Place { words: &function.words, input };
        let mut after = self.deeper(|trace| trace.body(&function.body, vec![inner], place));
        after.extend(std::mem::replace(&mut self.returned, parked));
        after.iter_mut().for_each(|world| world.positional = outer.clone());
        self.said = None;
        self.merge(after)
    }

    fn compound(&mut self, compound: &Compound, worlds: Worlds, place: Place<'_>) -> Worlds {
        match compound {
            Compound::Group(list) => self.list(list, worlds, place),
            Compound::Subshell(list) => self.subshell(list, worlds, place),
            Compound::Coprocess(command) => {
                let place = Place { input: &Input::Unknown, ..place };
                self.apart(|trace| trace.command(command, worlds.clone(), place));
                worlds
            }
            Compound::If(branches) => self.choose(branches, worlds, place),
            Compound::Case { word, cases } => {
                let mut after = Vec::new();
                let mut before = worlds;
                for world in &mut before {
                    self.word(word, world, place);
                    for pattern in cases.iter().flat_map(|case| &case.patterns) {
                        self.word(pattern, world, place);
                    }
                }
                for case in cases.iter().filter(|case| !case.body.is_empty()) {
                    // Some items go on into the next one, so each starts from whatever came before.
                    let from: Worlds = before.iter().chain(&after).cloned().collect();
                    let from = self.merge(from);
                    after.extend(self.list(&case.body, from, place));
                }
                after.extend(before.into_iter().map(|world| world.with_status(None)));
                self.merge(after)
            }
            Compound::While { wanted, condition, body } => self.repeat(worlds, &mut |trace, worlds| {
                let tested = trace.list(condition, worlds, place);
                let (mut stays, goes): (Worlds, Worlds) = tested.into_iter().partition(|world| world.status == Some(!wanted));
                stays.extend(trace.list(body, goes, place));
                stays
            }),
            Compound::Arithmetic(text) => {
                let mut worlds = worlds;
                for world in &mut worlds {
                    let (text, _) = place.words.written(text);
                    self.arithmetic(&text, world);
                    world.status = None;
                }
                worlds
            }
            Compound::ArithmeticFor { parts, body } => {
                let mut worlds = worlds;
                for part in parts {
                    for world in &mut worlds {
                        let (text, _) = place.words.written(part);
                        self.arithmetic(&text, world);
                    }
                }
                self.repeat(worlds, &mut |trace, worlds| trace.list(body, worlds, place))
            }
            Compound::For { name, values, body } => {
                let mut after = Vec::new();
                for mut world in worlds {
                    let values = match values {
                        Some(words) => {
                            let args: Vec<_> = words
                                .iter()
                                .flat_map(|word| {
                                    let (raw, _) = place.words.written(word);
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
                    after.extend(self.each(name, values, world, &mut |trace, worlds| trace.list(body, worlds, place)));
                }
                self.merge(after)
            }
        }
    }

    pub(super) fn subshell(&mut self, list: &List, worlds: Worlds, place: Place<'_>) -> Worlds {
        self.apart(|trace| trace.list(list, worlds.clone(), place));
        self.said = None;
        worlds.into_iter().map(|world| world.with_status(None)).collect()
    }

    fn choose(&mut self, branches: &[Branch], mut rest: Worlds, place: Place<'_>) -> Worlds {
        let mut after = Vec::new();
        let taken = |worlds: &Worlds| worlds.iter().filter(|world| world.status != Some(false)).cloned().collect::<Worlds>();
        let left = |worlds: Worlds| worlds.into_iter().filter(|world| world.status != Some(true)).collect::<Worlds>();
        for branch in branches {
            match &branch.condition {
                Some(condition) => {
                    rest = self.list(condition, rest, place);
                    after.extend(self.list(&branch.body, taken(&rest), place));
                    rest = left(rest);
                }
                None => after.extend(self.list(&branch.body, std::mem::take(&mut rest), place)),
            }
        }
        after.extend(rest.into_iter().map(|world| world.with_status(Some(true))));
        self.merge(after)
    }

    /// Follows a loop's body until nothing new comes of it, or until what changes is taken as not known.
    fn repeat(&mut self, worlds: Worlds, body: &mut Round<'_, Self>) -> Worlds {
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
    fn each(&mut self, name: &str, mut values: Vec<String>, world: World, body: &mut Round<'_, Self>) -> Worlds {
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
}

fn define(name: &str, body: &Rc<Body>, mut worlds: Worlds, place: Place<'_>) -> Worlds {
    let (name, _) = place.words.written(name);
    let function = Rc::new(Function { body: body.clone(), words: place.words.clone() });
    for world in &mut worlds {
        world.define(&name, function.clone());
        world.status = Some(true);
    }
    worlds
}
